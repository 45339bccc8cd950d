"""The rows of a derived relation with stable ids, which a join reads as it reads a base table.

Law: after `apply` the rows are the multiset that the weights so far add up to, and the events are its net change in
each version. Cost of a change: O(1) expected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from livejoin.errors import CapacityError
from livejoin.kernels.memory import layout as k
from livejoin.kernels.memory.layout import MAX_MULTIPLICITY
from livejoin.kernels.relation import derived_rows, find
from livejoin.kernels.relation import rows as kernel
from livejoin.kernels.relation.buffers import TableBuffers
from livejoin.kernels.relation.staging import G_MADE, PROGRESS
from livejoin.state.addressed import Addressed
from livejoin.state.budget import Budget
from livejoin.state.slots import (
    empty_slots,
    extended,
    ids_in_use,
    is_sparse,
    roomy,
    rows_with,
    trimmed,
    values_of,
)
from livejoin.words import Words

_NOTHING = np.zeros(1, np.int64)  # of what base tables have beside rows


@dataclass(frozen=True, eq=False)
class DerivedEvents:
    """Net changes of the multiplicities of rows: versions ascending, deletions first within a version.

    Args:
        rows: Row ids.
        weights: The change of the row's multiplicity, for each event.
        versions: The version of each.
    """

    rows: Words
    weights: Words
    versions: Words


class DerivedRows:
    """The rows of a derived relation; mutable.

    Args:
        columns: Number of columns, at least one.
        name: The relation's name in messages.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, columns: int, name: str, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self.stride = 1 + columns
        self._name = name
        self._at = Addressed(
            TableBuffers(
                header=np.zeros(kernel.ROWS_HEADER, np.int64),
                words=np.zeros(16 * self.stride, np.int64),
                slots=empty_slots(4),
                key=_NOTHING,
                unique_slots=_NOTHING,
                uniques=_NOTHING,
                queue=_NOTHING,
                window=_NOTHING,
                phase=_NOTHING,
                stride=self.stride,
                first=1,
            )
        )
        self._named: list[Words] = []
        self._budget.register(self)

    @property
    def words(self) -> Words:
        """The rows, ``stride`` words each, by their ids."""
        found: Words = self._at.buffers.words
        return found

    @property
    def _header(self) -> Words:
        found: Words = self._at.buffers.header
        return found

    @property
    def _slots(self) -> Words:
        found: Words = self._at.buffers.slots
        return found

    @property
    def rows(self) -> int:
        """Distinct rows."""
        return int(self._header[kernel.R_ROWS])

    @property
    def total(self) -> int:
        """Rows counted with their multiplicities."""
        return int(self._header[kernel.R_TOTAL])

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self.words.nbytes + self._slots.nbytes

    def sizes(self) -> tuple[int, int]:
        """Bytes of the rows that are there, each with a place in the index, and bytes allocated; O(1)."""
        return self.rows * (self.stride + 1) * self.words.itemsize, self.nbytes

    @property
    def is_sparse(self) -> bool:
        """Whether the rows under dense ids would take at most a quarter of the words that were given out.

        Words that a call might have needed and did not are not counted: they take no memory, and rows that are loaded
        anew reserve as many again. So rows of which each call changes few many times are not sparse.
        """
        issued = self.words[: int(self._header[kernel.R_NEXT]) * self.stride]
        return is_sparse(self._header, issued, self.stride)

    def apply(self, values: Words, weights: Words, versions: Words) -> DerivedEvents:
        """Apply changes in order; `finish` must follow once their events are used; until then no id is reused.

        Args:
            values: int64 of shape (columns, n).
            weights: int64, what each change adds to its row's multiplicity, which is never negative.
            versions: int64, ascending.

        Raises:
            CapacityError: A multiplicity or the table becomes too large; the table is of no use any more.
        """
        changes = weights.shape[0]
        self._make_room(changes)
        named = np.empty(changes, np.int64)
        touched = np.empty((changes, 2), np.int64)
        events = np.empty((derived_rows.ROW_EVENT, changes), np.int64)
        progress = np.zeros(PROGRESS, np.int64)
        arguments = (self._at.line, values, weights, versions)
        status = k.MORE
        while status == k.MORE:
            status = derived_rows.apply(*arguments, touched, named, events, progress)
        self._named.append(named)
        if status != k.DONE:
            raise too_large(self._name)
        rows, net, at = (
            events[line, : progress[G_MADE]]
            for line in (derived_rows.E_ROW, derived_rows.E_WEIGHT, derived_rows.E_VERSION)
        )
        return DerivedEvents(rows, net, at)

    def finish(self) -> None:
        """End what was applied: ids of rows that are gone may be used again. May be called again."""
        for named in self._named:
            for begin in range(0, named.shape[0], k.AT_ONCE):
                piece = named[begin : begin + k.AT_ONCE]
                derived_rows.finish(self._at.line, piece)
        self._named = []

    def live_rows(self) -> tuple[Words, Words]:
        """Ids and multiplicities of all rows, ids ascending; O(rows log rows), whatever was there before."""
        rows = ids_in_use(self._header, self._slots)
        return rows, self.words[rows * self.stride] >> 1

    def column_words(self, column: int) -> Words:
        """The words of a column of all rows; O(rows)."""
        words: Words = self.words.reshape(-1, self.stride)[self.live_rows()[0], 1 + column]
        return words

    def value_offset(self, column: int) -> int:
        """Offset of a column's word in a row."""
        return 1 + column

    def find(self, values: Words) -> Words:
        """Ids of given rows, -1 for those that are not there; as `livejoin.state.table.BaseTable.find`."""
        found = np.empty(values.shape[1], np.int64)
        find.find_rows(self._at.line, values, found)
        return found

    def values_of(self, rows: Words) -> Words:
        """Words of shape (columns, n) of the given rows."""
        return values_of(self.words, self.stride, 1, rows)

    def arrays(self) -> dict[str, Words]:
        """Everything, for a snapshot."""
        return {"header": self._header, "words": self.words, "slots": self._slots}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a table with as many columns."""
        self._at = self._at.replaced(**arrays)

    def _make_room(self, changes: int) -> None:
        """Make room for the worst case, so that the kernel never allocates."""
        header, words = trimmed(self._header, self.words, self.stride, self._slots)
        self._at = self._at.replaced(header=header, words=words)
        rows = rows_with(self._header, changes)
        if rows >= k.MAX_WORDS // self.stride:
            msg = f"{self._name} would have {rows:,} rows, more than one table can address"
            raise CapacityError(msg)
        words = extended(self._header, self.words, self.stride, changes, self._budget)
        self._at = self._at.replaced(words=words)
        slots = roomy(self._slots, int(self._header[kernel.R_USED]) + changes, self._budget)
        self._at = self._at.replaced(slots=slots)

    def _check(self) -> None:
        """Assert all invariants between two applications; for tests."""
        issued = int(self._header[kernel.R_NEXT])
        matrix = self.words.reshape(-1, self.stride)[:issued]
        taken = self._slots[1:][self._slots[1:] != 0]
        used = np.zeros(issued, bool)
        used[(taken & k.MASK32) - 1] = True
        assert int(used.sum()) == taken.shape[0] == self.rows == int(self._header[kernel.R_USED]), "rows in the index"
        assert not (matrix[used, 0] & 1).any() and (matrix[~used, 0] == 1).all(), "marks"
        assert (matrix[used, 0] > 0).all(), "rows that are gone have no id"
        assert int((matrix[used, 0] >> 1).sum()) == int(self._header[kernel.R_TOTAL]), "total multiplicity"
        content = [tuple(r) for r in matrix[used, 1:].tolist()]
        assert len(set(content)) == len(content), "every row has one id"
        free, at = set(), int(self._header[kernel.R_FREE])
        while at:
            assert at - 1 not in free and not used[at - 1], "the free list names unused ids, each once"
            free.add(at - 1)
            at = int(matrix[at - 1, 1])
        assert len(free) + int(used.sum()) == issued, "every id is used or free"


def too_large(what: str) -> CapacityError:
    """The error for a multiplicity that does not fit."""
    msg = (
        f"a row of {what} has a multiplicity of more than {MAX_MULTIPLICITY:,}, the product of those of the rows that "
        "it is made of; declare primary keys, or keep fewer equal rows"
    )
    return CapacityError(msg)
