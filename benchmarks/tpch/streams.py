"""Sequences of changes over the tables of TPC-H (AJU, section 6.2).

The rows of all tables but nation and region come in turns, so that each table has come to the same share at any moment:

- ``fifo``: each row leaves when so many others came after it as are a fifth of all, its window. Lambda is 1.
- ``insert``: no row leaves.
- ``random``: rows come in random order, and each leaves after a random time, twice the window at most.
- ``lambda``: as ``fifo``, but customers and suppliers leave and come back, so that the lifespan of an order or a line
  has a given number of theirs within it. That is the enclosureness of the rows that join them.
- ``refresh``: all but a tenth of the orders is there; new orders come with their lines, as RF1 of the benchmark, and as
  many of the oldest go with theirs, as RF2, each a commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.tpch.data import FIXED

WINDOW = 0.2
KINDS = ("fifo", "insert", "random", "lambda", "refresh")
_FLIPPED = ("customer", "supplier")
_AWAY = 0.25  # of each of their lifespans customers and suppliers are away
_REFRESHED = 0.001  # of the orders come, and go, in a refresh (TPC-H, 5.3.2)

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Stream:
    """Changes in order.

    Args:
        name: What is said of it.
        tables: The rows that its changes name; those that it does not change are there from the beginning.
        changing: The tables that it changes.
        table: For each change the position of its table in ``changing``.
        row: For each change its row in the table.
        came: For each change whether the row comes.
        first: How many changes are loaded before the measurement.
        ends: Where commits end, if the stream says so itself; the first is ``first``.
    """

    name: str
    tables: Mapping[str, pa.Table]
    changing: tuple[str, ...]
    table: Numbers
    row: Numbers
    came: npt.NDArray[np.bool_]
    first: int = 0
    ends: tuple[int, ...] = field(default=())

    @property
    def changes(self) -> int:
        """How many there are to measure."""
        return int(self.table.shape[0]) - self.first

    def logs(self, begin: int, end: int) -> dict[str, pa.Table]:
        """The changes from one place to another, as `livejoin.Database.replay` takes them."""
        found = {}
        for number, name in enumerate(self.changing):
            places = begin + np.flatnonzero(self.table[begin:end] == number)
            if places.shape[0]:
                rows = self.tables[name].take(pa.array(self.row[places])).combine_chunks()
                kinds = self._kinds.take(pa.array(self.came[places].astype(np.int8)))
                found[name] = rows.append_column("_change_type", kinds).append_column("_seq", pa.array(places))
        return found

    def commit_ends(self, commit: int) -> tuple[int, ...]:
        """The number of changes after which each commit ends, behind that of the changes before the measurement.

        Args:
            commit: Changes a commit, where the stream does not say it.
        """
        if self.ends:
            return self.ends
        last = int(self.table.shape[0])
        return (self.first, *range(self.first + commit, last, commit), last)

    def points(self, commit: int, parts: int) -> tuple[int, ...]:
        """The ends of the commits at which so many equal parts of the changes are done."""
        ends = np.array(self.commit_ends(commit))
        places = [self.first + self.changes * part // parts for part in range(1, parts + 1)]
        return tuple(np.unique(ends[np.searchsorted(ends, places)]).tolist())

    def cut(self) -> list[dict[str, pa.Table]]:
        """The changes to measure as logs, one for each commit where the stream says these, else one in all."""
        places = [self.first, *(self.ends[1:] or (self.table.shape[0],))]
        return [self.logs(begin, end) for begin, end in pairwise(places)]

    @cached_property
    def _kinds(self) -> pa.Array:
        return pa.array(["delete", "insert"])

    def contents(self, end: int) -> dict[str, pa.Table]:
        """The tables as they are after so many changes."""
        found = dict(self.tables)
        for number, name in enumerate(self.changing):
            mine = self.table[:end] == number
            signs = np.where(self.came[:end][mine], 1, -1)
            there = np.bincount(self.row[:end][mine], signs, self.tables[name].num_rows)
            found[name] = self.tables[name].take(pa.array(np.flatnonzero(there > 0)))
        return found


def stream(kind: str, tables: Mapping[str, pa.Table], times: int = 1, window: float = WINDOW) -> Stream:
    """The stream of a kind.

    Args:
        kind: One of `KINDS`.
        tables: The tables that are used.
        times: For ``lambda``: how many lifespans of a customer lie within that of an order.
        window: The share of all rows that is there at a time.
    """
    if kind == "refresh":
        return _refresh(tables)
    changing = tuple(name for name in tables if name not in FIXED)
    sizes = [tables[name].num_rows for name in changing]
    table = np.repeat(np.arange(len(sizes)), sizes)
    row = np.concatenate([np.arange(size) for size in sizes])
    order = np.argsort(np.concatenate([(np.arange(size) + 0.5) / size for size in sizes]), kind="stable")
    chance = np.random.default_rng(11)
    if kind == "random":
        order = chance.permutation(order)
    table, row, number = table[order], row[order], order.shape[0]
    comes, there = np.arange(number, dtype=np.float64), window * number
    lives = there * (2 * chance.random(number) if kind == "random" else np.ones(number))
    if kind == "insert":
        lives[:] = np.inf
    leaves = comes + np.maximum(lives, 1) + 0.5
    begins, ends, who = [comes], [leaves], [np.arange(number)]
    if kind == "lambda" and times > 1:
        flipped = np.flatnonzero(np.isin(table, [i for i, name in enumerate(changing) if name in _FLIPPED]))
        piece = there / times
        away = comes[flipped, None] + piece * (np.arange(1, times) - _AWAY)
        begins.append((away + piece * _AWAY).reshape(-1))
        ends.append(away.reshape(-1))
        who += [np.repeat(flipped, times - 1)]
    comings, goings = np.concatenate(begins), np.concatenate(ends)
    who_comes = np.concatenate(who)
    times_of = np.concatenate([comings, goings])
    kept = times_of < number
    changed = np.concatenate([who_comes, who_comes])[kept]
    came = np.repeat([True, False], comings.shape[0])[kept]
    in_order = np.argsort(times_of[kept], kind="stable")
    named = f"lambda = {times}" if kind == "lambda" else kind
    return Stream(named, tables, changing, table[changed[in_order]], row[changed[in_order]], came[in_order])


def _refresh(tables: Mapping[str, pa.Table]) -> Stream:
    """RF1 and RF2, again and again."""
    changing = tuple(name for name in ("orders", "lineitem") if name in tables)
    if not changing:
        nothing = np.empty(0, np.int64)
        return Stream("refresh", tables, (), nothing, nothing, nothing > 0)
    keys = [tables[name][f"{name[0]}_orderkey"].to_numpy() for name in changing]
    known = np.unique(np.concatenate(keys))
    size = max(1, round(_REFRESHED * known.shape[0]))
    begin = known.shape[0] - 100 * size if known.shape[0] > 200 * size else known.shape[0] // 2
    pieces: list[tuple[Numbers, Numbers, bool]] = []
    ends: list[int] = []

    def add(first: int, last: int, came: bool) -> None:
        for number, own in enumerate(keys):
            low, high = known[first], known[last - 1]
            rows = np.flatnonzero((own >= low) & (own <= high))
            pieces.append((np.full(rows.shape[0], number), rows, came))
        ends.append(sum(rows.shape[0] for _, rows, _ in pieces))

    add(0, begin, True)
    for step, place in enumerate(range(begin, known.shape[0] - size + 1, size)):
        add(place, place + size, True)
        add(step * size, (step + 1) * size, False)
    came = np.concatenate([np.full(rows.shape[0], came) for _, rows, came in pieces])
    table, row = (np.concatenate([piece[i] for piece in pieces]) for i in (0, 1))
    return Stream("refresh", tables, changing, table, row, came, ends[0], tuple(ends))
