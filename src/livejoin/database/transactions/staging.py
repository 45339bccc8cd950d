"""From given changes to staged tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from livejoin.changes import ChangeBatch
from livejoin.dataflow.graph import Graph
from livejoin.dataflow.selection import Selection, Selector
from livejoin.errors import AbsentRowError, ChangeError, ChangeFormatError, DuplicateKeyError
from livejoin.kernels.relation.staging import DELETE_BY_KEY, DROP_BY_KEY, FORGET_BY_KEY, INSERT, UPSERT
from livejoin.schema import Table
from livejoin.shown import shown_row
from livejoin.state.table import BaseTable, Conflict, Staged
from livejoin.state.tombstones import stage_in_sequence
from livejoin.words import Words

Granularity = Literal["commit", "change"]
OnConflict = Literal["error", "ignore", "update"]
Apply: TypeAlias = Callable[[Words, Words, bool], Staged]
"""Stages words of changes of some kinds; skips conflicts if it is said to."""

_SHOWN_COLUMNS = 8


@dataclass(eq=False)
class TableInput:
    """The changes of one table on their way into a commit.

    Args:
        base: The table.
        batch: The changes as they were given.
        words: The words of the changes.
        versions: The version of each change.
        selections: The predicates and factors of the changes, for each join that reads the table. For changes by key
            they are computed later, when it is known which changes bring a row.
        fresh: New dictionary entries by column; None if they were not counted.
        whole: The same with the changes that were left out as late; None if none was.
        places_in_whole: The positions of these changes in it; None if there is none.
    """

    base: BaseTable
    batch: ChangeBatch
    words: Words
    versions: Words
    selections: Mapping[Selector, Selection]
    fresh: Words | None = None
    whole: TableInput | None = None
    places_in_whole: Words | None = None

    @property
    def table(self) -> Table:
        return self.base.table


def refuse_static(batch: ChangeBatch, views: Sequence[str]) -> None:
    """Refuse changes of a static table that views use: the views' plans rest on the rows as they are.

    Args:
        batch: The changes of a static table; an empty batch is allowed.
        views: Names of the views that use it.

    Raises:
        ChangeError: A view uses it, and there are changes.
    """
    if views and batch.weights.shape[0]:
        msg = (
            f"the table is static and used by {', '.join(map(repr, views))}, so that no changes are applied to it; "
            "fill it before its views are created, give it all of its new rows by refresh, or let it change by ALTER "
            f"TABLE {batch.table.name} SET DYNAMIC"
        )
        raise ChangeError(msg, batch.table.name)


def refuse_looking(table: Table, on_conflict: OnConflict) -> None:
    """Refuse an ``on_conflict`` for which the rows of a table would have to be known, of one that keeps none.

    Raises:
        ChangeFormatError: The table would have to look for rows.
    """
    if on_conflict != "error":
        msg = (
            f"on_conflict is {on_conflict!r}, and the table has deletes = 'trusted': its rows are not kept, so that "
            "nobody knows which changes conflict; leave on_conflict out, and give deletions of rows that are there"
        )
        raise ChangeFormatError(msg, table.name)


def refuse_by_key(batch: ChangeBatch) -> None:
    """Refuse changes by key of a table that keeps no rows, and those of rows that are not given whole.

    Raises:
        ChangeFormatError: There are such changes.
    """
    if batch.by_key or batch.given is not None:
        msg = (
            "a change goes by the key, or leaves columns out, and the table has deletes = 'trusted': its rows are not "
            "kept, so that the row that it means is not known; give each row whole, and of an update the old row too, "
            "as update_preimage and update_postimage"
        )
        raise ChangeFormatError(msg, batch.table.name)


def refuse_leaving(batch: ChangeBatch) -> None:
    """Refuse changes by which a row may leave an append-only table: plans rest on it that none does.

    Raises:
        ChangeError: There is a deletion, or the changes go by key.
    """
    if batch.replaces is not None and batch.replaces.any():
        refuse_replacing(batch.table, int(np.argmax(batch.replaces)))
    leaving = np.flatnonzero(batch.weights < 0)
    if leaving.size:
        msg = (
            "the change takes a row from an append-only table, from which none leaves; insert rows alone, or "
            f"{_let_leave(batch.table)}"
        )
        raise ChangeError(msg, batch.table.name, int(leaving[0]))


def refuse_replacing(table: Table, row: int) -> NoReturn:
    """Refuse a change that would replace a row of an append-only table.

    Raises:
        ChangeError: Always.
    """
    msg = (
        "the table is append-only, so that no row takes the place of another; insert rows (on_conflict='ignore' "
        f"skips those with a key that is there), or {_let_leave(table)}"
    )
    raise ChangeError(msg, table.name, row)


def _let_leave(table: Table) -> str:
    return f"let rows leave it by ALTER TABLE {table.name} SET TBLPROPERTIES ('livejoin.append_only' = 'false')"


def stage(given: TableInput, granularity: Granularity, on_conflict: OnConflict) -> Staged:
    """Stage a table's changes in the order of ``_seq`` where they have one."""
    batch, base = given.batch, given.base
    ignore = on_conflict == "ignore"
    if granularity == "commit" and batch.replaces is None and batch.sequence is None and base.tombstones is None:
        try:
            return base.stage_commit(given.words, batch.weights, ignore)
        except Conflict as conflict:
            raise _refusal(batch, conflict, conflict.change) from None
    apply: Apply
    if granularity == "change":
        apply = base.stage_changes
    else:
        apply = base.stage_commit if batch.replaces is None else base.stage_in_order
    kinds = _kinds(batch, on_conflict)
    if batch.table.sequence_by is not None:
        apply = partial(_stage_in_sequence, base, apply)
    order = order_of(given, granularity)
    try:
        if order is None:
            return apply(given.words, kinds, ignore)
        staged = apply(given.words.take(order, axis=1), kinds[order], ignore)
    except Conflict as conflict:
        row = conflict.change if order is None else int(order[conflict.change])
        raise _refusal(batch, conflict, row) from None
    return replace(staged, changes=np.where(staged.changes >= 0, order[staged.changes], -1))


def _stage_in_sequence(base: BaseTable, apply: Apply, words: Words, kinds: Words, ignore: bool) -> Staged:
    """`apply`, without the changes that are late."""
    return stage_in_sequence(base, words, kinds, lambda values, of_values: apply(values, of_values, ignore))


def _kinds(batch: ChangeBatch, on_conflict: OnConflict) -> Words:
    """The kind of each change, as a number of the kernels."""
    if batch.replaces is None:
        return batch.weights
    delete = DROP_BY_KEY if on_conflict == "update" else DELETE_BY_KEY
    if batch.table.sequence_by is not None:
        delete = FORGET_BY_KEY
    return np.where(batch.weights < 0, delete, np.where(batch.replaces, UPSERT, INSERT))


def select_brought(graph: Graph, given: TableInput, staged: Staged) -> Mapping[Selector, Selection]:
    """The predicates and factors of changes by key, for each join, computed for the changes that bring a row.

    A deletion by key has no whole row, and a change that a later one replaces brings none.

    Raises:
        ExpressionError: A predicate or a factor has no value for some row.
    """
    name = given.table.name.lower()
    brought = np.zeros(given.batch.weights.shape, np.bool_)
    brought[staged.changes[staged.weights > 0]] = True
    if brought.all():
        return graph.select(name, given.words)
    found = graph.select(name, given.words.compress(brought, axis=1))
    return {selector: _spread(selection, brought) for selector, selection in found.items()}


def _spread(selection: Selection, brought: npt.NDArray[np.bool_]) -> Selection:
    """Put the predicates and factors of some changes at the places of these changes among all."""
    masks = np.zeros(brought.shape, np.int64)
    masks[brought] = selection.masks
    if not selection.factors.shape[0]:
        return Selection(masks, selection.factors)
    factors = np.zeros((selection.factors.shape[0], *brought.shape), np.int64)
    factors[:, brought] = selection.factors
    return Selection(masks, factors)


def order_of(given: TableInput, granularity: Granularity) -> Words | None:
    """The order in which changes apply; None if they apply as given.

    This is the order of ``_seq``. In a commit of a table with ``sequence_by`` it is the order of that column, and
    ``_seq`` decides among equal values, so that no change of the commit makes another one late.
    """
    sequence, column = given.batch.sequence, given.base.table.sequence_by
    if sequence is None and column is None:
        return None
    order = _ascending(sequence)
    if column is None or granularity == "change":
        return order
    line = given.words[column]
    if order is None:
        return _ascending(line)
    return order[np.argsort(line[order], kind="stable")]


def _ascending(line: Words | None) -> Words | None:
    """The positions that sort a column, stable; None if it ascends already."""
    if line is None or (line[1:] >= line[:-1]).all():
        return None
    return np.argsort(line, kind="stable")


def _refusal(batch: ChangeBatch, conflict: Conflict, row: int) -> ChangeError:
    """The error of a change that breaks a rule of its table."""
    table = batch.table
    values = batch.rows.slice(row, 1)
    place = int(batch.origins(np.array([row]))[0])
    key = shown_row(values.select(list(table.primary_key)), len(table.primary_key))
    if conflict.absent and batch.by_key:
        msg = (
            f"the change deletes the primary key ({key}), which is not in the table; delete only keys that are there, "
            "or apply with on_conflict='ignore' or 'update'"
        )
        return AbsentRowError(msg, table.name, place)
    if conflict.absent:
        msg = (
            f"the change deletes the row ({shown_row(values, _SHOWN_COLUMNS)}), which is not in the table; "
            "delete only rows that are there, or apply with on_conflict='ignore'"
        )
        return AbsentRowError(msg, table.name, place)
    if conflict.unique is not None:
        columns = table.unique[conflict.unique]
        held = shown_row(values.select(list(columns)), len(columns))
        if batch.given is not None and not batch.given[list(columns), row].all():
            held = "values of which some stay as they were"
        remedy = "" if table.has_window and not batch.by_key else ", or apply with on_conflict='ignore'"
        msg = (
            f"the change brings a second row with ({held}) in {table.describe_unique(columns)}; delete or change the "
            f"other row in the same commit{remedy}. Changes by key go by the PRIMARY KEY alone"
        )
        return DuplicateKeyError(msg, table.name, place)
    can_replace = not table.has_window or batch.by_key
    remedy = "or apply with on_conflict='ignore', or with 'update' to replace it"
    if not can_replace:
        remedy = "or replay the changes one by one (granularity='change') with on_conflict='ignore'"
    if (others := _inserted_with_the_key_of(batch, row)).size:
        msg = (
            f"the changes bring {others.size + 1} rows with the primary key ({key}), this one and row "
            f"{batch.origins(others)[0]}; bring one row of each key"
        )
        if can_replace:
            msg += ", or apply with on_conflict='ignore', which keeps the first, or with 'update', which keeps the last"
        return DuplicateKeyError(msg, table.name, place)
    msg = (
        f"the change inserts a second row with the primary key ({key}); bring one row of each key, and delete the one "
        f"that the table has in the same commit, {remedy}"
    )
    return DuplicateKeyError(msg, table.name, place)


def _inserted_with_the_key_of(batch: ChangeBatch, row: int) -> npt.NDArray[np.int64]:
    """The other rows of a batch that are inserted with the primary key of a given row."""
    same = batch.weights > 0
    same[row] = False
    for column in (batch.rows.column(place) for place in batch.table.primary_key):
        same &= pc.equal(column, column[row]).to_numpy(zero_copy_only=False)
    return np.flatnonzero(same)


def ranks_by_sequence(batches: Sequence[ChangeBatch]) -> list[Words]:
    """For each batch the positions of its changes, from 0, in the order of ``_seq`` across all batches."""
    sequences = [np.empty(0, np.int64) if batch.sequence is None else batch.sequence for batch in batches]
    unsorted = _ranks_unsorted(sequences)
    if unsorted is not None:
        return unsorted
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


def _ranks_unsorted(sequences: Sequence[Words]) -> list[Words] | None:
    """Ranks without sorting, if one sequence ascends or the numbers leave none out; else None.

    Cost: O(changes), where a sort takes 50 ns a change of a million.
    """
    given = [sequence for sequence in sequences if sequence.size]
    if len(given) == 1 and (given[0][1:] > given[0][:-1]).all():
        return [np.arange(sequence.size) for sequence in sequences]
    if not given:
        return None
    first, last = min(int(sequence.min()) for sequence in given), max(int(sequence.max()) for sequence in given)
    there = sum(sequence.size for sequence in given)
    if last - first + 1 != there:
        return None
    found = np.zeros(there, np.bool_)
    for sequence in given:
        found[sequence - first] = True
    return [sequence - first for sequence in sequences] if found.all() else None
