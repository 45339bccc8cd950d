"""From the changes that a user gives to staged tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from livejoin.changes import ChangeBatch
from livejoin.dataflow.selection import Selection, Selector
from livejoin.errors import AbsentRowError, ChangeError, ChangeFormatError, DuplicateKeyError
from livejoin.schema import Table
from livejoin.shown import shown_row
from livejoin.state.table import BaseTable, Conflict, Staged
from livejoin.words import Words

Granularity = Literal["commit", "change"]

_SHOWN_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class TableInput:
    """The changes of one table on their way into a commit.

    Args:
        base: The table.
        batch: The changes as they were given.
        words: Their words.
        versions: The version of each.
        selections: What each join that reads the table has to know of them.
    """

    base: BaseTable
    batch: ChangeBatch
    words: Words
    versions: Words
    selections: Mapping[Selector, Selection]

    @property
    def table(self) -> Table:
        return self.base.table


def refuse_static(batch: ChangeBatch, views: Sequence[str]) -> None:
    """Refuse changes of a static table that views use: their plans rest on it as it is.

    Args:
        batch: The changes of a static table; none are no change.
        views: Names of the views that use it.

    Raises:
        ChangeError: A view uses it, and there are changes.
    """
    if views and batch.weights.shape[0]:
        msg = (
            f"the table is static and used by {', '.join(map(repr, views))}, so that it does not change any more; fill "
            "it before its views are created, drop them first, or declare the table without static"
        )
        raise ChangeError(msg, batch.table.name)


def stage(given: TableInput, granularity: Granularity, ignore: bool) -> Staged:
    """Stage a table's changes in the order of ``_seq`` where they have one."""
    apply = given.base.stage_commit if granularity == "commit" else given.base.stage_changes
    order = _order(given.batch.sequence)
    try:
        if order is None:
            return apply(given.words, given.batch.weights, ignore)
        staged = apply(given.words.take(order, axis=1), given.batch.weights[order], ignore)
    except Conflict as conflict:
        row = conflict.change if order is None else int(order[conflict.change])
        raise _refusal(given.batch, conflict, row) from None
    changes = np.where(staged.changes >= 0, order[staged.changes], -1)
    return Staged(staged.rows, staged.weights, changes, staged.ignored)


def _order(sequence: Words | None) -> Words | None:
    """The order of ``_seq``; None where the changes are in it as they were given."""
    if sequence is None or (sequence[1:] > sequence[:-1]).all():
        return None
    return np.argsort(sequence, kind="stable")


def _refusal(batch: ChangeBatch, conflict: Conflict, row: int) -> ChangeError:
    """The error for a change that breaks a rule of its table."""
    table = batch.table
    values = batch.rows.slice(row, 1)
    if conflict.absent:
        msg = (
            f"the change deletes the row ({shown_row(values, _SHOWN_COLUMNS)}), which is not in the table; "
            "delete only rows that are there, or apply with on_conflict='ignore'"
        )
        return AbsentRowError(msg, table.name, row)
    key = shown_row(values.select(list(table.primary_key)), len(table.primary_key))
    remedy = "or apply with on_conflict='ignore'"
    if table.has_window:
        remedy = "or replay the changes one by one (granularity='change') with on_conflict='ignore'"
    msg = (
        f"the change inserts a second row with the primary key ({key}); delete the old row in the same commit, {remedy}"
    )
    return DuplicateKeyError(msg, table.name, row)


def ranks_by_sequence(batches: Sequence[ChangeBatch]) -> list[Words]:
    """For each batch the position of its changes in the order of ``_seq`` across all batches, from 0."""
    sequences = [np.empty(0, np.int64) if batch.sequence is None else batch.sequence for batch in batches]
    whole = np.concatenate([np.empty(0, np.int64), *sequences])
    order = np.argsort(whole, kind="stable")
    ordered = whole[order]
    equal = np.flatnonzero(ordered[1:] == ordered[:-1])
    if equal.size:
        msg = f"_seq has the value {int(ordered[equal[0]])} twice; it must order all changes across all tables"
        raise ChangeFormatError(msg)
    ranks = np.empty(whole.shape[0], np.int64)
    ranks[order] = np.arange(whole.shape[0])
    ends = np.cumsum([sequence.shape[0] for sequence in sequences])
    return [ranks[end - s.shape[0] : end] for s, end in zip(sequences, ends, strict=True)]
