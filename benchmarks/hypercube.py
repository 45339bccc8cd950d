"""``python -m benchmarks hypercube``: how evenly rows come to cells, and how often they are sent, to 10,000 cells.

Relations of random rows whose values are as frequent as Zipf's law says, so that a few have a good part of all rows.
For each query and number of cells two dispatches are chosen from a sample, with one grid and with grids of their own
for heavy values (Beame, Koutris, Suciu), and all rows are sent by them. Figures are in parts of what a cell would have
if rows were divided evenly and sent once; the floor is what no dispatch goes below, by the even part or by the product
of the rows with one hot value. A figure stands only if the cells together have as many results as DuckDB counts without
cells, of the first rows of each relation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.figures import Figure, report, verify
from livejoin.plan.dispatch import Dispatch, Router, choose, sampled
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.schema import Column, SqlType, Table

ROWS = 200_000  # of each relation
CELLS = (1, 2, 4, 7, 64, 256, 1_024, 10_000)
EXPONENT = 1.2
_VALUES = 20_000
_CHECKED = 3_000  # rows of each relation whose results are counted
_PIECE = 20_000  # rows that are sent at once
_BIGINT = SqlType.integer(64)


@dataclass(frozen=True)
class Workload:
    """A join of relations with two columns each: the variables of each atom, and the relation that it is over."""

    name: str
    atoms: tuple[tuple[str, str], ...]

    @property
    def query(self) -> ConjunctiveQuery:
        """The join."""
        tables = {relation: Table(relation, (Column("x", _BIGINT), Column("y", _BIGINT))) for _, relation in self.atoms}
        atoms = (Atom(f"A{i}", tables[name], (0, 1), tuple(ends)) for i, (ends, name) in enumerate(self.atoms))
        return ConjunctiveQuery("", tuple(atoms), (ColumnRef(0, 0),), (Output("o", pa.int64(), 0),))

    def counting(self) -> str:
        """How many results there are, in SQL over tables A0, A1, ... of cells, variables and numbers of equal rows."""
        known = set(self.atoms[0][0])
        text = "SELECT SUM(" + " * ".join(f"A{i}.n" for i in range(len(self.atoms))) + ")::BIGINT FROM A0"
        for i, (ends, _) in enumerate(self.atoms[1:], 1):
            shared = [f"A{self._first(v)}.{v} = A{i}.{v}" for v in ends if v in known]
            text += f" JOIN A{i} ON " + " AND ".join([f"A0.cell = A{i}.cell", *shared])
            known |= set(ends)
        return text

    def _first(self, variable: str) -> int:
        return next(i for i, (ends, _) in enumerate(self.atoms) if variable in ends)


WORKLOADS = (
    Workload("3-Hop", (("ab", "G"), ("bc", "G"), ("cd", "G"))),
    Workload("triangle", (("ab", "G"), ("bc", "G"), ("ca", "G"))),
    Workload("star", (("ab", "R"), ("ac", "S"), ("ad", "T"))),
    Workload("keyed join", (("ab", "facts"), ("bc", "keys"))),
)


def relations(rows: int, exponent: float) -> dict[str, pa.Table]:
    """Different edges G, hot at both ends; R, S, T, hot at the first; facts of which a few keys have many, and keys."""
    random = np.random.default_rng(rows)
    chances = 1 / np.arange(1, _VALUES + 1) ** exponent
    names = random.permutation(_VALUES)

    def drawn() -> np.ndarray:
        return names[random.choice(_VALUES, rows, p=chances / chances.sum())]

    pairs = np.empty(0, np.int64)
    while len(pairs) < rows:
        pairs = np.unique(np.append(pairs, drawn() * _VALUES + drawn()))
    edges = np.divmod(random.permutation(pairs)[:rows], _VALUES)
    number = np.arange(rows)
    found = {"G": edges, "facts": (number, drawn()), "keys": (np.arange(_VALUES), np.arange(_VALUES))}
    found |= {name: (drawn(), number) for name in "RST"}
    return {name: pa.table({"x": one, "y": other}) for name, (one, other) in found.items()}


def measure(rows: int = ROWS, cells: tuple[int, ...] = CELLS, exponent: float = EXPONENT) -> Iterator[Figure]:
    """All figures.

    Raises:
        WrongAnswerError: The cells together have more or fewer results than there are.
    """
    given = relations(rows, exponent)
    for workload in WORKLOADS:
        query = workload.query
        samples = {a.table.name: sampled(a.table, given[a.table.name]) for a in query.atoms}
        expected = _results(workload, {i: _placed(given[a.table.name][:_CHECKED]) for i, a in enumerate(query.atoms)})
        for count in cells:
            for kind, residual in (("one grid", False), ("grids for heavy values", True)):
                begin = time.process_time()
                dispatch = choose(query, samples, count, residual=residual)
                seconds = time.process_time() - begin
                name = f"{workload.name}, {count:,} cells, {kind}"
                yield _figure(name, workload, given, dispatch, expected, seconds)


def _figure(
    name: str, workload: Workload, given: Mapping[str, pa.Table], dispatch: Dispatch, expected: int, seconds: float
) -> Figure:
    """The busiest cell of one dispatch of all rows."""
    query = workload.query
    load, placed, taken, places = np.zeros(dispatch.cells), {}, 0.0, 0
    for table in {atom.table.name: atom.table for atom in query.atoms}.values():
        router, rows = Router(dispatch, table), given[table.name]
        for first in range(0, rows.num_rows, _PIECE):
            begin = time.process_time()
            sent = router.send(rows[first : first + _PIECE])
            taken += time.process_time() - begin
            places += len(sent.rows)
            for i, atom in enumerate(query.atoms):
                if atom.table.name == table.name:
                    load += np.bincount(sent.cells[(sent.masks >> i & 1) == 1], minlength=dispatch.cells)
        part = rows[:_CHECKED]
        sent = router.send(part)
        for i, atom in enumerate(query.atoms):
            if atom.table.name == table.name:
                own = np.flatnonzero(sent.masks >> i & 1)
                placed[i] = _placed(part, sent.rows[own], sent.cells[own])
    check = verify("results = DuckDB without cells", _results(workload, placed), expected)
    total = sum(given[atom.table.name].num_rows for atom in query.atoms)
    even = total / dispatch.cells
    check += (
        f"; {load.max():,.0f} rows, {dispatch.estimate.busiest / load.max():.2f} of them expected, "
        f"{load.max() / load.mean():.2f} times the mean; a row is sent {load.sum() / total:.1f} times; "
        f"{len(dispatch.grids)} grids, chosen in {seconds:.2f} s, {1e9 * taken / max(1, places):.0f} ns a place"
    )
    return Figure(name, load.max() / even, "even parts", check, dispatch.estimate.bound / even, _limit(dispatch))


def _limit(dispatch: Dispatch) -> str:
    return f"the product of the rows with {dispatch.estimate.hot}" if dispatch.estimate.hot else "an even part"


def _placed(rows: pa.Table, chosen: Any = None, cells: Any = None) -> pa.Table:
    """Rows and their cells; all of them in one cell if none are chosen."""
    number = np.arange(rows.num_rows) if chosen is None else chosen
    cell = np.zeros(rows.num_rows, np.int64) if cells is None else cells
    return pa.table({"cell": cell, **{name: rows.column(name).to_numpy()[number] for name in ("x", "y")}})


def _results(workload: Workload, placed: Mapping[int, pa.Table]) -> int:
    """How many results the cells have together."""
    with duckdb.connect(config={"threads": 1}) as connection:
        for i, (ends, _) in enumerate(workload.atoms):
            connection.register("placed", placed[i])
            columns = f"cell, x AS {ends[0]}, y AS {ends[1]}"
            connection.execute(f"CREATE TABLE A{i} AS SELECT {columns}, COUNT(*) AS n FROM placed GROUP BY ALL")
        ((found,),) = connection.sql(workload.counting()).fetchall()
    return int(found or 0)


def add_parser(commands: Any) -> None:
    """The options of the benchmark."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "hypercube", help="how evenly rows are sent to 1 to 10,000 cells, by one grid and by several"
    )
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of each relation ({ROWS:,})")
    parser.add_argument("--cells", type=_numbers, default=CELLS, help="numbers of cells, as 1,2,64")
    parser.add_argument("--zipf", type=float, default=EXPONENT, help=f"exponent of Zipf's law ({EXPONENT})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def run(options: argparse.Namespace) -> int:
    """Measure, print and write; the exit code is 1 if an answer was wrong."""
    title = f"HyperCube, {options.rows:,} rows a relation, Zipf {options.zipf}"
    return report(
        lambda: list(measure(options.rows, options.cells, options.zipf)), title, 180, options.json, "hypercube"
    )
