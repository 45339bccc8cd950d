"""The join of the static tables as arrays: rows, the keys of each dynamic atom in them, and what results show of them.

Laws: the rows are distinct and ascending; every key is in a row; a row has one key of each atom, and one unit. The keys
are the maximum dynamic database (ICDT 2025, definition 34). Cost: O(rows log rows) for each column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from livejoin.errors import CapacityError
from livejoin.kernels.transitions.layout import Joined
from livejoin.words import Words

_MOST_ROWS = 1 << 31


@dataclass(frozen=True, eq=False)
class StaticJoin:
    """The join of the static tables.

    Args:
        joined: The join as the kernels read it.
        keys: For each dynamic atom its keys, int64 of shape (variables, keys).
        decided: For each dynamic atom the lines of its keys.
        shown: The lines that results show.
        is_set: Whether results are distinct; else each row is a unit of its own.
    """

    joined: Joined
    keys: tuple[Words, ...]
    decided: tuple[tuple[int, ...], ...]
    shown: tuple[int, ...]
    is_set: bool

    @property
    def rows_that_matter(self) -> int:
        """Keys of all atoms."""
        return sum(one.shape[1] for one in self.keys)

    def lines(self) -> Words:
        """The rows, of shape (lines, rows), where each is a unit. Cost: O(rows)."""
        found = dict(zip(self.shown, self.joined.shown, strict=True))
        row_keys = self.joined.row_keys.reshape(-1, max(1, len(self.keys)))
        first = 0
        for atom, (lines, keys) in enumerate(zip(self.decided, self.keys, strict=True)):
            found |= {line: keys[place, row_keys[:, atom] - first] for place, line in enumerate(lines)}
            first += keys.shape[1]
        return np.array([found[line] for line in sorted(found)], np.int64).reshape(len(found), row_keys.shape[0])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(array.nbytes) for array in (*self.joined, *self.keys))


def static_join(
    values: Words, times: Words, decided: tuple[tuple[int, ...], ...], shown: tuple[int, ...], is_set: bool
) -> StaticJoin:
    """Number the rows of the static join, their keys and their units.

    Args:
        values: int64 of shape (lines, n): rows, which may be equal.
        times: int64: how often each is there.
        decided: For each dynamic atom the lines of its keys.
        shown: The lines that results show.
        is_set: Whether results are distinct; else each row is a unit of its own.

    Raises:
        CapacityError: There are more rows than numbers for them.
    """
    numbers, firsts = numbered(values)
    if firsts.shape[0] * max(1, len(decided)) >= _MOST_ROWS:
        msg = f"the static tables are joined to {firsts.shape[0]:,} rows, more than a transition system can number"
        raise CapacityError(msg)
    rows = np.ascontiguousarray(values[:, firsts])
    count = rows.shape[1]
    weights = np.zeros(count, np.int64)
    np.add.at(weights, numbers, times)
    keys = []
    row_keys = np.empty((count, len(decided)), np.int64)
    first_key = 0
    for atom, lines in enumerate(decided):
        of_rows = rows[list(lines)]
        own, places = numbered(of_rows)
        row_keys[:, atom] = own + first_key
        first_key += places.shape[0]
        keys.append(np.ascontiguousarray(of_rows[:, places]))
    key_at, by_key = _grouped(row_keys.ravel(), first_key)
    units, unit_rows = numbered(rows[list(shown)]) if is_set else (np.arange(count), np.arange(count))
    unit_at, by_unit = _grouped(units, unit_rows.shape[0])
    joined = Joined(
        row_keys=row_keys.ravel().astype(np.int32),
        key_at=key_at,
        key_rows=(by_key // max(1, len(decided))).astype(np.int32),
        unit_of=units.astype(np.int32),
        unit_at=unit_at,
        unit_rows=by_unit.astype(np.int32),
        weights=np.empty(0, np.int64) if is_set or (weights == 1).all() else weights,
        shown=np.ascontiguousarray(rows[list(shown)][:, unit_rows]),
    )
    return StaticJoin(joined, tuple(keys), decided, shown, is_set)


def numbered(values: Words) -> tuple[Words, Words]:
    """Number the distinct columns of a matrix in their order: the number of each column, the place of each number.

    >>> numbers, places = numbered(np.array([[5, 4, 5], [1, 2, 1]]))
    >>> numbers.tolist(), places.tolist()
    ([1, 0, 1], [1, 0])
    """
    numbers = np.zeros(values.shape[1], np.int64)
    places = np.arange(min(1, values.shape[1]))
    for line in values:
        of_line, own = np.unique(line, return_inverse=True)
        _, places, numbers = np.unique(numbers * of_line.shape[0] + own, return_index=True, return_inverse=True)
    return numbers, places


def _grouped(numbers: Words, count: int) -> tuple[Words, Words]:
    """Places by their numbers: where those of a number begin, with the end behind them, and the places."""
    begins = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=count), out=begins[1:])
    return begins, np.argsort(numbers, kind="stable")
