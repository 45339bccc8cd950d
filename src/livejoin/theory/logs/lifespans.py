"""Lifespans: when the tuples of a change log were there.

The lifespan of a tuple t is the interval I(t) = [t+, t-] from its insertion to its deletion; t+ is minus infinity for
a tuple of the initial database and t- is plus infinity for one that is never deleted. A row that is inserted again
after its deletion is a new tuple (CROWN, section 6.1; AJU, section 1).

Tables are multisets here and sets in the papers. Each copy of a row is a tuple of its own, and a deletion takes the
oldest copy: copies leave first in, first out. The law: at every time, as many lifespans of a row contain that time as
the table has copies of the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livejoin.errors import ChangeFormatError
from livejoin.words import Words

BEFORE = int(np.iinfo(np.int64).min)
"""Minus infinity: the start of a tuple of the initial database."""
AFTER = int(np.iinfo(np.int64).max)
"""Plus infinity: the end of a tuple that is never deleted."""


@dataclass(frozen=True, eq=False)
class Lifespans:
    """Lifespans of tuples, as closed intervals; equal times are the same moment.

    Args:
        relation: int64 of shape (n,), the relation of each tuple, numbered by the caller.
        start: int64 of shape (n,), the time of its insertion or `BEFORE`.
        end: int64 of shape (n,), the time of its deletion or `AFTER`; not before the start.

    Raises:
        ChangeFormatError: The arrays differ in shape, or a tuple ends before it starts.
    """

    relation: Words
    start: Words
    end: Words

    def __post_init__(self) -> None:
        for name in ("relation", "start", "end"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.int64))
        _check_shapes(relation=self.relation, start=self.start, end=self.end)
        if np.any(bad := self.end < self.start):
            first = int(np.argmax(bad))
            msg = f"tuple {first} ends at {self.end[first]}, before its start at {self.start[first]}; swap the two"
            raise ChangeFormatError(msg, row=first)

    def __len__(self) -> int:
        return len(self.start)

    def of(self, relation: int) -> Lifespans:
        """The lifespans of one relation, in the same order."""
        chosen = self.relation == relation
        return Lifespans(self.relation[chosen], self.start[chosen], self.end[chosen])


def lifespans(relation: npt.ArrayLike, row: npt.ArrayLike, sign: npt.ArrayLike, initial: int = 0) -> Lifespans:
    """The lifespans of a change log; times are positions in the log.

    A deletion of a row of which the log has inserted no copy takes one from the initial database: the log does not
    need to begin with an empty one. Cost: O(n log n) for n changes.

    Args:
        relation: The relation of each change, whole numbers.
        row: The row of each change, whole numbers; equal numbers in one relation are equal rows.
        sign: +1 for an insertion, -1 for a deletion.
        initial: The number of first changes that are the initial database; all of them insertions.

    Returns:
        A lifespan for each insertion in the order of the log, then for each row that the log deletes and has not
        inserted, in the order of their deletions.

    Raises:
        ChangeFormatError: The arrays differ in length, a sign is neither +1 nor -1, or the initial database is longer
            than the log or has deletions.

    >>> spans = lifespans([0, 1, 0, 1], [7, 7, 7, 9], [+1, +1, -1, -1])
    >>> spans.start.tolist() == [0, 1, BEFORE], spans.end.tolist() == [2, AFTER, 3]
    (True, True)
    """
    relations, rows, signs = (np.ascontiguousarray(part, dtype=np.int64) for part in (relation, row, sign))
    _check_shapes(relation=relations, row=rows, sign=signs)
    _check_signs(signs, initial)
    inserted = np.flatnonzero(signs > 0)
    ends, unmatched = _deletions(relations, rows, signs)
    starts = np.where(inserted < initial, BEFORE, inserted)
    return Lifespans(
        np.concatenate([relations[inserted], relations[unmatched]]),
        np.concatenate([starts, np.full(len(unmatched), BEFORE)]),
        np.concatenate([ends[inserted], unmatched]),
    )


def _deletions(relation: Words, row: Words, sign: Words) -> tuple[Words, Words]:
    """The deletion of each insertion (`AFTER` if none), by position, and the deletions of initial rows, ascending.

    A row had at least so many initial copies as its count of deletions exceeds that of its insertions at most. If these
    are c, they are the oldest, and deletion number j of the row takes insertion number j - c.
    """
    ends = np.full(len(sign), AFTER)
    if not len(sign):
        return ends, np.empty(0, np.int64)
    order = np.lexsort((row, relation))
    signs = sign[order]
    fresh = np.ones(len(order), bool)
    fresh[1:] = (np.diff(row[order]) != 0) | (np.diff(relation[order]) != 0)
    firsts = np.flatnonzero(fresh)
    group = np.cumsum(fresh) - 1
    running = np.cumsum(signs)
    net = running - (running[firsts] - signs[firsts])[group]
    copies = np.maximum(0, -np.minimum.reduceat(net, firsts))

    insertions, deletions = order[signs > 0], order[signs < 0]
    group_of_deletion = group[signs < 0]
    earlier_insertions: Words = np.cumsum(signs > 0)[firsts] - (signs[firsts] > 0)
    earlier_deletions: Words = np.cumsum(signs < 0)[firsts] - (signs[firsts] < 0)
    number = np.arange(len(deletions)) - earlier_deletions[group_of_deletion] - copies[group_of_deletion]
    matched = number >= 0
    ends[insertions[(earlier_insertions[group_of_deletion] + number)[matched]]] = deletions[matched]
    return ends, np.sort(deletions[~matched])


def _check_shapes(**arrays: Words) -> None:
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) != 1 or any(len(shape) != 1 for shape in shapes.values()):
        found = ", ".join(f"{name} has shape {shape}" for name, shape in shapes.items())
        msg = f"{found}; allowed are one-dimensional arrays of equal length"
        raise ChangeFormatError(msg)


def _check_signs(signs: Words, initial: int) -> None:
    if np.any(bad := (signs != 1) & (signs != -1)):
        first = int(np.argmax(bad))
        msg = f"the sign is {signs[first]}; allowed are +1 for an insertion and -1 for a deletion"
        raise ChangeFormatError(msg, row=first)
    if not 0 <= initial <= len(signs):
        msg = f"the initial database has {initial} changes; allowed are 0 to {len(signs)}, the length of the log"
        raise ChangeFormatError(msg)
    if np.any(bad := signs[:initial] < 0):
        msg = "a deletion in the initial database; allowed there are insertions only"
        raise ChangeFormatError(msg, row=int(np.argmax(bad)))
