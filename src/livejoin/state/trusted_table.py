"""A table whose deletions are trusted, which keeps no rows: what views keep of them is all that is left.

A change is applied to the blocks and goes. What a view keeps is a store of groups. From time to time the table takes a
copy of each store (`TrustedTable.fold`), as words that stand alone; the changes since then stay with it. Law: behind
each commit a store of groups is what was copied, and the changes since. So a store that is lost, or has to be made
anew, is made of these, as others are made of the rows of their tables.

Cost of a change: a copy of the columns that views read. Memory: that of the groups, and of as many changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from livejoin.errors import ReadError, SchemaError, StateError
from livejoin.schema import Table
from livejoin.state.budget import Budget
from livejoin.state.kept import Kept
from livejoin.state.recoding import Recoding
from livejoin.state.table import BaseTable, Staged
from livejoin.words import NULL_CODE, Words

_FEW = 1 << 16  # changes that stay, however few groups there are
_PIECE = 1 << 12  # changes of small commits that are kept as one


@dataclass(frozen=True, eq=False)
class Changes:
    """Changes of a commit.

    Args:
        values: Words of some columns, of shape (columns, n).
        weights: +1 or -1 a change.
        lines: The line of each column of the table; -1 for those that no view reads. None: these are all columns.
    """

    values: Words
    weights: Words
    lines: Words | None = None

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self.values.nbytes + self.weights.nbytes

    def columns_of(self, columns: Sequence[int] | Words, places: Words | slice) -> Words:
        """Words of some columns of some changes, of shape (columns, n)."""
        lines = np.asarray(columns, np.int64)
        if self.lines is not None:
            lines = self.lines[lines]
            assert (lines >= 0).all(), "the changes that stay have what views read"
        found: Words = self.values[lines]
        return found[:, places]

    def keeping(self, columns: Iterable[int], of_all: int) -> Changes:
        """A copy with some columns alone, which nobody else has."""
        kept = np.array(sorted(columns), np.int64)
        lines = np.full(of_all, -1, np.int64)
        lines[kept] = np.arange(kept.shape[0])
        return Changes(self.values[kept], self.weights.copy(), lines)

    def followed_by(self, others: Changes) -> Changes | None:
        """These changes with others behind them, if they are few and have the same columns; else None."""
        few = self.weights.shape[0] + others.weights.shape[0] <= _PIECE
        if not few or self.lines is None or others.lines is None or not np.array_equal(self.lines, others.lines):
            return None
        values = np.concatenate([self.values, others.values], axis=1)
        return Changes(values, np.concatenate([self.weights, others.weights]), self.lines)

    def line_of(self, column: int) -> Words:
        """Words of one column; NULL where no view reads it."""
        line = column if self.lines is None else int(self.lines[column])
        return np.full(self.weights.shape[0], NULL_CODE) if line < 0 else self.values[line]

    def recoded(self, table: Table, recoding: Recoding) -> Changes:
        """The same changes with the words of new dictionaries."""
        values = self.values.copy()
        for place, column in enumerate(table.columns):
            line = place if self.lines is None else int(self.lines[place])
            if line >= 0:
                values[line] = recoding.words(column.type, values[line])
        return replace(self, values=values)


class TrustedTable(BaseTable):
    """A table that keeps no rows; mutable. As `livejoin.state.table.BaseTable`, but who asks for rows is refused.

    Args:
        table: The declaration, with ``deletes = "trusted"``.
        budget: The memory of its database; None where it stands alone.

    Attributes:
        came: Changes that came since the table was made.
        offered: The rows that are there, for a view that is made now; None at all other times.
    """

    def __init__(self, table: Table, budget: Budget | None = None) -> None:
        super().__init__(table, budget)
        self.came = 0
        self.offered: Changes | None = None
        self._truth: tuple[Mapping[str, Kept | None], tuple[Changes, ...]] = ({}, ())
        self._kept_bytes = self._changed_bytes = 0
        self._pending: Changes | None = None
        self._events = np.empty(0, np.int64)

    @property
    def changes(self) -> tuple[Changes, ...]:
        """The changes since groups were copied."""
        return self._truth[1]

    @property
    def scanned(self) -> tuple[Changes, ...]:
        """The changes that a block is loaded from, beside what it kept."""
        return self.changes if self.offered is None else (self.offered,)

    @property
    def is_long(self) -> bool:
        """Whether the changes take as much as the groups, so that these should be copied."""
        return self._changed_bytes > max(self._kept_bytes, 8 * _FEW * len(self.table.columns))

    def kept_of(self, digest: str) -> Kept | None:
        """The groups that a store begins with, before the changes; None for none.

        Args:
            digest: The digest of the store's block.

        Raises:
            SchemaError: Changes came before the store was there.
        """
        groups, changes = self._truth
        if digest in groups:
            return groups[digest]
        if self.offered is not None:
            return None
        if self.came:
            msg = (
                f"table {self.table.name!r} has deletes = 'trusted', so that its rows are not kept, and {self.came:,} "
                "changes came before this view, which cannot know of them. Give it the rows that are there now, "
                f"create_view(..., backfill={{{self.table.name!r}: rows}}); or read a view that was there; or create "
                "the views of such a table before its first rows come"
            )
            raise SchemaError(msg)
        self._hold({**groups, digest: None}, changes)
        return None

    def fold(self, groups: Mapping[str, Kept | None]) -> int:
        """Take copies of the groups of all stores as they are, so that the changes go; how many these were."""
        folded: int = sum(one.weights.shape[0] for one in self.changes)
        self._hold(groups, ())
        return folded

    def forget_others(self, digests: Iterable[str]) -> None:
        """Forget the groups of stores that are gone; with the last one the changes go too."""
        groups, changes = self._truth
        known = set(digests)
        left = {digest: one for digest, one in groups.items() if digest in known}
        self._hold(left, changes if left else ())

    def _hold(self, groups: Mapping[str, Kept | None], changes: tuple[Changes, ...]) -> None:
        """Have other copies and changes from here on."""
        vars(self).update(  # at once
            _truth=(groups, changes),
            _kept_bytes=sum(one.nbytes for one in groups.values() if one is not None),
            _changed_bytes=sum(one.nbytes for one in changes),
        )

    def recoded(self, recoding: Recoding) -> TrustedTable:
        """The same groups and changes with the words of new dictionaries."""
        made = TrustedTable(self.table, self._budget)
        groups, changes = self._truth
        made._hold(
            {digest: None if one is None else one.recoded(recoding) for digest, one in groups.items()},
            tuple(one.recoded(self.table, recoding) for one in changes),
        )
        made.came, made.kept, made.renumbered = self.came, self.kept, self.renumbered
        return made

    @property
    def nbytes(self) -> int:
        return self._kept_bytes + self._changed_bytes

    def sizes(self) -> tuple[int, int]:
        return self.nbytes, self.nbytes

    @property
    def is_sparse(self) -> bool:
        return False

    def trim(self) -> None:
        """Nothing: what is there is needed."""

    def stage_commit(self, values: Words, weights: Words, ignore: bool) -> Staged:
        if self._pending is not None:
            msg = f"table {self.table.name!r} has a staging that was neither committed nor rolled back"
            raise StateError(msg)
        events = np.arange(weights.shape[0])
        vars(self).update(_pending=Changes(values, weights), _events=events)  # at once
        return Staged(events, weights, events, 0)

    def stage_changes(self, values: Words, weights: Words, ignore: bool) -> Staged:
        return self.stage_commit(values, weights, ignore)

    def stage_in_order(self, values: Words, kinds: Words, ignore: bool) -> Staged:
        raise self.unread("changes by key look for the row that they replace")

    def commit(self) -> None:
        pending = self._pending
        if pending is None:
            return
        (groups, changes), changed = self._truth, self._changed_bytes
        if groups:
            columns = range(len(self.table.columns)) if self.kept is None else self.kept
            come = pending.keeping(columns, len(self.table.columns))
            changed += come.nbytes
            if changes and (both := changes[-1].followed_by(come)) is not None:
                changes, come = changes[:-1], both
            changes = (*changes, come)
        vars(self).update(  # at once
            _truth=(groups, changes),
            _changed_bytes=changed,
            came=self.came + pending.weights.shape[0],
            _pending=None,
            _events=self._events[:0],
        )

    def rollback(self) -> None:
        vars(self).update(_pending=None, _events=self._events[:0])

    def columns_of(self, rows: Words, columns: Sequence[int] | Words) -> Words:
        if self._pending is None:
            raise self.unread("nobody can name a row of it")
        return self._pending.columns_of(columns, slice(None) if rows is self._events else rows)

    def used_ids(self) -> Words:
        return np.arange(sum(one.weights.shape[0] for one in self.changes))

    def used_words(self, column: int, ids: Words | None = None) -> Words:
        return np.concatenate([np.empty(0, np.int64), *(one.line_of(column) for one in self.changes)])

    def mark_codes(self, columns: Sequence[int], ids: Words, marks: npt.NDArray[np.bool_]) -> Words:
        counts = np.zeros(len(columns), np.int64)
        for place, column in enumerate(columns):
            words = np.unique(self.used_words(column))
            there = words[words != NULL_CODE]
            marks[there] = True
            counts[place] = there.shape[0]
        return counts

    def live_rows(self) -> tuple[Words, Words]:
        raise self.unread()

    def values_of(self, rows: Words) -> Words:
        raise self.unread()

    def find(self, values: Words) -> Words:
        raise self.unread()

    def find_key(self, values: Words, key: tuple[int, ...] | None = None) -> Words:
        raise self.unread()

    def unread(self, why: str = "") -> ReadError:
        """The error for who asks for rows, and why the table has to have them."""
        return ReadError(
            f"table {self.table.name!r} has deletes = 'trusted', so that its rows are not kept{why and ', and '}{why}; "
            "read a view that groups them, or declare the table without it"
        )

    def _check(self) -> None:
        assert self._pending is None, "no staging is left"
        assert self._changed_bytes == sum(one.nbytes for one in self.changes), "the bytes of the changes"
        assert not self.changes or self._truth[0], "changes stay for stores alone"


def refuse_without_rows(table: Table, why: str) -> NoReturn:
    """Refuse what would need the rows of a table that keeps none.

    Raises:
        SchemaError: Always.
    """
    msg = (
        f"table {table.name!r} has deletes = 'trusted', so that its rows are not kept, and {why}; create "
        "another table, and fill it and its views from the source"
    )
    raise SchemaError(msg)
