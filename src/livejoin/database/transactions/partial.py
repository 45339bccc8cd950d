"""Upserts that leave columns out: what they leave out stays as it is in the row with their key.

Law: the changes that come out bring whole rows, and applied in their order they leave what each of those that go in,
applied by itself to the table as it is then, says: its own columns, and of the others what the row with its key has,
its DEFAULT or NULL where there is none. So the log of a database has whole rows too.

In the order of the changes those of one key form a *run*. A change that brings a row is the start of one if its key has
a row before it only in the table, or none: a deletion before it ends what came before. What a change leaves out is what
the last change of its run says of it, and at the start what the table has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from livejoin.changes.batch import Flags
from livejoin.database.transactions.staging import Granularity, OnConflict, TableInput, order_of
from livejoin.errors import ChangeError, ChangeValueError
from livejoin.kernels.relation.staging import AT_ONCE
from livejoin.shown import shown_row
from livejoin.state.tombstones import late_changes
from livejoin.words import Words


def completed(given: TableInput, granularity: Granularity, on_conflict: OnConflict) -> tuple[Words, Flags]:
    """The words of changes, of which those that replace a row and leave columns out have all of them.

    Args:
        given: The changes, before they are staged.
        granularity: Whether each has a version of its own.
        on_conflict: What happens to those that cannot be applied.

    Returns:
        The words, and whether each change is a whole one now. A late one that leaves columns out is not: what it leaves
        out is not known, and nothing becomes of it.

    Raises:
        ChangeValueError: A change leaves out a column that is NOT NULL, and no row has its key.
        ChangeError: The table has a window, or UNIQUE where conflicts are skipped, so that what stands before a change
            is known only when it is staged.

    Cost: O(n log n) for n changes, and a look at an index for each.
    """
    batch, base = given.batch, given.base
    assert batch.given is not None and batch.replaces is not None
    order = order_of(given, granularity)
    whole = np.ones(batch.length, np.bool_)
    at = np.arange(batch.length) if order is None else order
    if base.table.sequence_by is not None:
        late = late_changes(base, given.words[:, at])
        lost = at[late]
        whole[lost] = batch.given[:, lost].all(axis=0)
        at = at[~late]
    runs = _runs(given, at)
    _refuse_unknown_before(given, runs, on_conflict)
    words = given.words.copy()
    lacking = np.zeros(runs.at.shape, np.bool_)
    for column in np.flatnonzero(~batch.given[:, runs.at].all(axis=1)).tolist():
        has = batch.given[column, runs.at]
        values = given.words[column, runs.at]
        stays = np.flatnonzero(runs.starts & ~has & (runs.row >= 0))
        values[stays] = base.columns_of(runs.row[stays], [column])[0]
        known = has.copy()
        known[stays] = True
        last = np.maximum.accumulate(np.where(has | runs.starts, np.arange(has.shape[0]), 0))
        words[column, runs.at] = values[last]
        if not base.table.may_lack[column]:
            lacking |= ~known[last] & batch.replaces[runs.at]
    if lacking.any():
        raise _incomplete(given, int(runs.at[lacking].min()))
    return words, whole


@dataclass(frozen=True, eq=False)
class _Runs:
    """Changes sorted by their keys, those of one key in their order.

    Args:
        at: The positions of these changes among all.
        first: Whether each is the first of its key.
        starts: Whether each begins anew: from the table's row, or from none.
        row: At the first change of a key the id of the row that the table has of it; -1 for all others.
    """

    at: Words
    first: Flags
    starts: Flags
    row: Words


def _runs(given: TableInput, at: Words) -> _Runs:
    """The runs of changes that are not late; insertions that a row with their key keeps from it are left out."""
    batch, base = given.batch, given.base
    assert batch.replaces is not None
    keys = np.ascontiguousarray(given.words[list(base.table.primary_key)][:, at])
    by_key = np.lexsort(keys[::-1])
    at, keys = at[by_key], keys[:, by_key]
    pieces = [keys[:, begin : begin + AT_ONCE] for begin in range(0, max(keys.shape[1], 1), AT_ONCE)]
    row = np.concatenate([base.find_key(np.ascontiguousarray(piece)) for piece in pieces])
    first, after_deletion = _first(keys), _after(batch.weights[at] < 0)
    there = np.where(first, row >= 0, ~after_deletion)
    stands = ~(there & (batch.weights[at] > 0) & ~batch.replaces[at])
    at, keys, row = at[stands], keys[:, stands], row[stands]
    first, after_deletion = _first(keys), _after(batch.weights[at] < 0)
    starts = first | after_deletion | ~batch.replaces[at]
    return _Runs(at, first, starts, np.where(first, row, -1))


def _first(keys: Words) -> Flags:
    """Whether each of sorted keys is another one than that before it."""
    found = np.ones(keys.shape[1], np.bool_)
    found[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    return found


def _after(flags: Flags) -> Flags:
    """Whether the one before each has a flag."""
    found = np.zeros_like(flags)
    found[1:] = flags[:-1]
    return found


def _refuse_unknown_before(given: TableInput, runs: _Runs, on_conflict: OnConflict) -> None:
    """Refuse changes where staging alone tells which row they meet.

    Raises:
        ChangeError: There are such changes.
    """
    batch, table = given.batch, given.table
    assert batch.given is not None
    partial = ~batch.given[:, runs.at].all(axis=0)
    if table.has_window and partial.any():
        why = (
            "the table has a window, from which the row may be gone that it would keep values of; give all columns of "
            "the upserts of tables with a window"
        )
    elif table.unique and on_conflict == "ignore" and (partial & ~runs.first).any():
        partial &= ~runs.first
        why = (
            "another change of its key stands before it, which on_conflict='ignore' may skip for UNIQUE; give all "
            "columns, or each key once in a commit"
        )
    else:
        return
    row = int(runs.at[partial].min())
    absent = ", ".join(repr(table.columns[place].name) for place in np.flatnonzero(~batch.given[:, row]))
    msg = f"the change leaves {absent} as it was: {why}"
    raise ChangeError(msg, table.name, row)


def _incomplete(given: TableInput, row: int) -> ChangeValueError:
    batch, table = given.batch, given.table
    assert batch.given is not None
    absent = [
        column.name
        for place, column in enumerate(table.columns)
        if not batch.given[place, row] and not table.may_lack[place]
    ]
    values = batch.rows.slice(row, 1).select(list(table.primary_key))
    msg = (
        f"the change leaves out {', '.join(map(repr, absent))}, which is NOT NULL, and no row has the key "
        f"({shown_row(values, len(table.primary_key))}) whose value could stay; give every column that is NOT NULL "
        "where a row is new"
    )
    return ChangeValueError(msg, table.name, row)
