"""The enclosureness of a stream as it goes on, between two bounds that are at most 1 apart for each row.

`livejoin.theory.logs.enclosureness` has it exactly, from all lifespans. Here eight bytes a row are enough. Choose
lifespans greedily over the whole stream: the first that ends, then always the first that ends of those that began
behind the last one chosen. Let K(t) be how many chosen ones end while the row t is there, its first and last moment
included. Law::

    max(1, K(t) - 1) <= lambda(t) <= max(1, K(t))

For each of any disjoint lifespans within that of t contains the end of a chosen one, or it would have been chosen
instead; and of the chosen ones that end there, all but the first begin behind an end that is there too. K(t) is the
number of chosen ends now, less what it was when t came. All changes of a version happen at one moment. A row that is
there several times is one, from its first coming to its last going. Rows that were there at the beginning are of the
initial database.

How long rows live follows from how many there are (Little's law): the rows of a table summed over all changes of the
stream, by the rows that left. That is what is most likely where rows leave by chance, those still there counted too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livejoin.kernels import lifespans as kernel
from livejoin.words import Words

MOST_ROWS = 1 << 22
"""The most rows of a table that are followed: those with the smallest ids, 32 MB; of others nothing is known."""


@dataclass(frozen=True)
class TableLives:
    """The lives of the rows of a table.

    Args:
        began: How many began, those at the beginning included.
        ended: How many ended.
        mean: How long a row lives on average, in changes of all tables of the stream; None if none has left.
        lower: A bound below the average enclosureness of its rows; None if there were none.
        upper: A bound above it, at most 1 more.
    """

    began: int
    ended: int
    mean: float | None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class StreamLives:
    """The lives of all rows of a stream.

    Args:
        lower: A bound below lambda(S), the average enclosureness.
        upper: A bound above it, at most 1 more.
        largest: A bound above the largest enclosureness of a row.
        tables: The lives of the rows of each table.
        is_whole: Whether all rows were followed.
    """

    lower: float
    upper: float
    largest: int
    tables: tuple[TableLives, ...]
    is_whole: bool


class Enclosing:
    """The bounds as changes come; mutable.

    Args:
        rows: Of each table the ids of the rows that are there, and how often each is.

    >>> empty = np.empty(0, np.int64)
    >>> stream = Enclosing([(empty, empty), (empty, empty)])
    >>> comes, goes, first = np.array([1]), np.array([-1]), np.array([0])
    >>> stream.note([(0, first, comes, np.array([1]))], 1)
    >>> for version in (2, 4, 6):
    ...     stream.note([(1, first, comes, np.array([version]))], version)
    ...     stream.note([(1, first, goes, np.array([version + 1]))], version + 1)
    >>> stream.note([(0, first, goes, np.array([8]))], 8)
    >>> found = stream.found()
    >>> found.lower, found.upper, found.largest  # 1, 1, 1 and 3
    (1.25, 1.5, 3)
    >>> [one.mean for one in found.tables]
    [7.0, 1.0]
    """

    def __init__(self, rows: Sequence[tuple[Words, Words]]) -> None:
        self._tables = len(rows)
        # A row of a table has the place ``id * tables + table``, so that tables grow without moving one another.
        self._copies = np.zeros(0, np.int32)
        self._began = np.zeros(0, np.int32)
        self._stream = np.zeros(kernel.STREAM_FIELDS, np.int64)
        self._lives = np.zeros((self._tables, kernel.LIFE_FIELDS), np.int64)
        self._numbered: dict[int, Words] = {}  # the last ids that the rows of a table had before others
        self._is_whole = True
        for table, (ids, weights) in enumerate(rows):
            places, followed = self._places(table, ids)
            self._copies[places] = weights if followed is None else weights[followed]
            self._lives[table, kernel.T_BEGAN] = places.shape[0]

    def note(self, changes: Sequence[tuple[int, Words, Words, Words]], commit: int) -> None:
        """Bring a commit to the counts; a call that was cut off is repeated, and counts once.

        Args:
            changes: Of each table that changes its number, the row ids, the changes of their multiplicities, and the
                versions.
            commit: The version of the commit, another one than that of the last.

        Cost: O(changes), and of growing amortised O(1) a row.
        """
        if not changes or self._stream[kernel.L_COMMIT] == commit:
            return
        parts = [self._part(*one) for one in changes]
        tables, places, weights, versions = (
            parts[0] if len(parts) == 1 else (np.concatenate(line) for line in zip(*parts, strict=True))
        )
        if versions.shape[0] > 1 and (versions[1:] < versions[:-1]).any():
            order = np.argsort(versions, kind="stable")
            tables, places, weights, versions = (line[order] for line in (tables, places, weights, versions))
        kernel.follow_lives(
            tables, places, weights, versions, self._copies, self._began, self._stream, self._lives, commit
        )

    def renumber(self, table: int, ids: Words) -> None:
        """Follow the rows of a table under other ids; once more changes nothing.

        Args:
            table: The table's number.
            ids: The old id of the row with each new id, from 0 on.
        """
        if self._numbered.get(table) is ids:
            return
        moved = []
        for line in (self._copies, self._began):
            other = line.copy()
            of_table = other.reshape(-1, self._tables)[:, table]
            kept = of_table[ids[ids < of_table.shape[0]]]
            of_table[:] = 0
            of_table[: kept.shape[0]] = kept
            moved.append(other)
        copies, began = moved
        vars(self).update(_copies=copies, _began=began, _numbered={**self._numbered, table: ids})  # all at once

    def found(self) -> StreamLives:
        """What is known so far; O(rows)."""
        ends, lives = int(self._stream[kernel.L_ENDS]), self._lives
        there = np.flatnonzero(self._copies > 0)
        began = self._began[there].astype(np.int64)
        most = ends + int((began == ends).any()) - began  # those that are there end together, behind all others
        tables = there % self._tables
        uppers = lives[:, kernel.T_UPPER] + np.bincount(tables, np.maximum(most, 1), self._tables)
        lowers = lives[:, kernel.T_LOWER] + np.bincount(tables, np.maximum(most - 1, 1), self._tables)
        total = max(1, int(lives[:, kernel.T_BEGAN].sum()))
        return StreamLives(
            max(1.0, float(lowers.sum()) / total),
            max(1.0, float(uppers.sum()) / total),
            max(int(self._stream[kernel.L_MOST]), int(most.max(initial=0))),
            tuple(
                TableLives(
                    int(of[kernel.T_BEGAN]),
                    int(of[kernel.T_ENDED]),
                    float(of[kernel.T_PRESENT] / 2 / of[kernel.T_ENDED]) if of[kernel.T_ENDED] else None,
                    max(1.0, float(low) / int(of[kernel.T_BEGAN])) if of[kernel.T_BEGAN] else None,
                    max(1.0, float(high) / int(of[kernel.T_BEGAN])) if of[kernel.T_BEGAN] else None,
                )
                for of, low, high in zip(lives, lowers, uppers, strict=True)
            ),
            self._is_whole,
        )

    def _part(self, table: int, ids: Words, weights: Words, versions: Words) -> tuple[Words, Words, Words, Words]:
        """The changes of a table as the kernel takes them."""
        places, followed = self._places(table, ids)
        tables = np.empty(places.shape[0], np.int64)
        tables.fill(table)
        return (
            (tables, places, weights, versions)
            if followed is None
            else (tables, places, weights[followed], versions[followed])
        )

    def _places(self, table: int, ids: Words) -> tuple[Words, npt.NDArray[np.bool_] | None]:
        """The places of those rows that are followed, and which these are; None for all."""
        chosen, followed, largest = ids, None, int(ids.max(initial=-1))
        if largest >= MOST_ROWS:
            self._is_whole = False
            followed = ids < MOST_ROWS
            chosen = ids[followed]
            largest = int(chosen.max(initial=-1))
        needed = (largest + 1) * self._tables
        if needed > self._copies.shape[0]:
            size = max(needed, 2 * self._copies.shape[0], 64 * self._tables)
            vars(self).update(_copies=_larger(self._copies, size), _began=_larger(self._began, size))  # at once
        return chosen * self._tables + table, followed


def _larger(line: npt.NDArray[np.int32], size: int) -> npt.NDArray[np.int32]:
    made = np.zeros(size, np.int32)
    made[: line.shape[0]] = line
    return made
