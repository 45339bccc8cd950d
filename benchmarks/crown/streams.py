"""Change streams in which rows come and leave in the same order (CROWN, section 8.1).

A row has a time at which it comes, and leaves a lifespan later: so many edges for graphs, so many days for the social
network. Rows that leave go before rows that come at the same time. What has no time is there before the first change
and stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.crown.job import SEQUENCE, SIGN, changes_file
from benchmarks.stream import open_text
from livejoin.words import Words


@dataclass(frozen=True, eq=False)
class Timed:
    """Rows of a table and when they come; None: before everything else, to stay."""

    rows: pa.Table
    times: Words | None


@dataclass(frozen=True, eq=False)
class ChangeStream:
    """Changes of several tables in one order.

    Args:
        name: What it is called.
        tables: Of each table its columns, a sign and the change's place in the stream, ascending.
        events: Number of changes.
    """

    name: str
    tables: Mapping[str, pa.Table]
    events: int

    def points(self, shares: tuple[float, ...]) -> tuple[int, ...]:
        """The numbers of changes at shares of the stream."""
        return tuple(dict.fromkeys(max(1, round(share * self.events)) for share in shares))

    def only(self, names: Iterable[str]) -> ChangeStream:
        """The changes of some tables, with new places."""
        chosen = {name: self.tables[name] for name in names}
        places = np.sort(np.concatenate([table[SEQUENCE].to_numpy() for table in chosen.values()]))
        renumbered = {}
        for name, table in chosen.items():
            new = pa.array(np.searchsorted(places, table[SEQUENCE].to_numpy()))
            renumbered[name] = table.drop_columns(SEQUENCE).append_column(SEQUENCE, new)
        return ChangeStream(self.name, renumbered, len(places))

    def until(self, events: int) -> ChangeStream:
        """The first changes."""
        first = {name: table.filter(pc.less(table[SEQUENCE], events)) for name, table in self.tables.items()}
        return ChangeStream(self.name, first, min(events, self.events))

    def write(self, folder: Path, tables: Mapping[str, object]) -> None:
        """Write the changes of some tables for a measuring process."""
        for name in tables:
            schema = self.tables[name].schema
            with pa.OSFile(str(changes_file(folder, name)), "wb") as file, pa.ipc.new_file(file, schema) as writer:
                writer.write_table(self.tables[name])


def first_in_first_out(name: str, tables: Mapping[str, Timed], lifespan: int, most: int | None = None) -> ChangeStream:
    """The stream of tables whose rows live for a lifespan each.

    Args:
        name: Its name.
        tables: The rows.
        lifespan: In the unit of the times; a row that came at t is gone when a row comes at t + lifespan.
        most: So many changes at most.
    """
    last = max((int(t.times.max()) for t in tables.values() if t.times is not None and len(t.times)), default=0)
    owners: list[Words] = []
    rows: list[Words] = []
    signs: list[Words] = []
    times: list[Words] = []
    for position, timed in enumerate(tables.values()):
        came = np.full(timed.rows.num_rows, np.iinfo(np.int64).min) if timed.times is None else timed.times
        leaving = np.flatnonzero(came <= last - lifespan) if timed.times is not None else np.empty(0, np.int64)
        rows += [np.arange(len(came)), leaving]
        times += [came, came[leaving] + lifespan]
        signs += [np.ones(len(came), np.int64), np.full(len(leaving), -1)]
        owners.append(np.full(len(came) + len(leaving), position))
    owner, row, sign = np.concatenate(owners), np.concatenate(rows), np.concatenate(signs)
    order = np.lexsort((row, owner, sign, np.concatenate(times)))[:most]
    changes = {}
    for number, (table, timed) in enumerate(tables.items()):
        places = np.flatnonzero(owner[order] == number)
        chosen = order[places]
        changed = timed.rows.take(pa.array(row[chosen]))
        changes[table] = changed.append_column(SIGN, pa.array(sign[chosen])).append_column(SEQUENCE, pa.array(places))
    return ChangeStream(name, changes, len(order))


def graph_stream(name: str, edges: Words, window: int, most: int | None = None) -> ChangeStream:
    """Edges in their order, ``window`` of them at a time; V1 and V2 are one in ten vertices each, and stay."""
    vertices = np.unique(edges)
    tables = {
        "V1": Timed(pa.table({"v": vertices[vertices % 10 == 0]}), None),
        "V2": Timed(pa.table({"v": vertices[vertices % 10 == 5]}), None),
        "G": Timed(pa.table({"src": edges[:, 0], "dst": edges[:, 1]}), np.arange(len(edges))),
    }
    return first_in_first_out(name, tables, window, most)


def load_temporal(path: Path) -> Words:
    """Edges ``src dst time``, one a line, in the order of their times.

    Raises:
        ValueError: There are no edges.
    """
    with open_text(path) as lines:
        rows = np.loadtxt(lines, dtype=np.int64, usecols=(0, 1, 2), ndmin=2)
    if not len(rows):
        msg = f"{path}: no edges; a line should look like '9 8 1251147057'"
        raise ValueError(msg)
    return rows[np.argsort(rows[:, 2], kind="stable"), :2]
