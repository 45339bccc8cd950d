"""Each combination of rows that join is in one cell: the disjoint union of the cells' results is the result."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from random_dispatches import random_dispatch, random_join, random_rows

from livejoin.errors import CapacityError, StateError, UnknownNameError
from livejoin.plan.dispatch import Dispatch, Router, Sent, choose, sampled
from livejoin.query import Atom, Branch, ColumnRef, ConjunctiveQuery, Output
from livejoin.schema import Column, SqlType, Table
from livejoin.theory.hypercube.grid import Grid
from naive_branches import heads
from random_branches import TABLES
from strategies import seeds

Row = tuple[Any, ...]
Rows = dict[str, list[Row]]
BIGINT = SqlType.integer(64)
EDGES = Table("G", (Column("src", BIGINT), Column("dst", BIGINT)))


def drawn(random: Random) -> Rows:
    return {table.name: random_rows(random, len(table.columns)) for table in TABLES}


def arrow(table: Table, rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(table.columns)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, table.arrow, strict=True)], schema=table.arrow)


def in_cells(query: ConjunctiveQuery, dispatch: Dispatch, rows: Rows) -> Counter[Row]:
    """The sum of the cells' results: each cell joins, for every atom, the rows that came to it as rows of the atom."""
    received: list[dict[str, list[Row]]] = [{a.alias: [] for a in query.atoms} for _ in range(dispatch.cells)]
    for table in TABLES:
        if any(atom.table.name == table.name for atom in query.atoms):
            sent = Router(dispatch, table).send(arrow(table, rows[table.name]))
            for row, cell, mask in zip(sent.rows.tolist(), sent.cells.tolist(), sent.masks.tolist(), strict=True):
                for i, atom in enumerate(query.atoms):
                    if mask >> i & 1:
                        received[cell][atom.alias].append(rows[table.name][row])
    apart = replace(
        query, atoms=tuple(replace(atom, table=replace(atom.table, name=atom.alias)) for atom in query.atoms)
    )
    return sum((Counter(heads(apart, own)) for own in received), Counter())


@pytest.mark.parametrize("seed", seeds(40, 120))
def test_cells_add_up_to_the_result_however_boxes_and_shares_are(seed: int) -> None:
    random = Random(seed)
    query = random_join(random)
    dispatch, rows = random_dispatch(random, query), drawn(random)
    assert in_cells(query, dispatch, rows) == Counter(heads(query, rows))


@pytest.mark.parametrize("seed", seeds(10, 25))
def test_cells_add_up_to_the_result_with_what_is_chosen(seed: int) -> None:
    random = Random(seed)
    query, rows = random_join(random), drawn(random)
    samples = {table.name: sampled(table, arrow(table, rows[table.name])) for table in TABLES}
    dispatch = choose(query, samples, random.choice((1, 2, 4, 7, 30)))
    assert in_cells(query, dispatch, rows) == Counter(heads(query, rows))
    assert sum(grid.cells for grid in dispatch.grids) <= dispatch.cells


@pytest.mark.nojit
@pytest.mark.parametrize("seed", seeds(10, 25))
def test_a_row_goes_where_the_definition_says_beside_whatever_rows(seed: int) -> None:
    random = Random(seed)
    query = random_join(random)
    dispatch, rows = random_dispatch(random, query), drawn(random)
    for table in {atom.table for atom in query.atoms}:
        router, given = Router(dispatch, table), rows[table.name]
        whole = by_row(router.send(arrow(table, given)), len(given))
        assert whole == [defined(dispatch, table, row) for row in given]
        turned = by_row(router.send(arrow(table, given[::-1])), len(given))
        assert turned == whole[::-1]
        assert [by_row(router.send(arrow(table, [row])), 1) for row in given] == [[one] for one in whole]


def by_row(sent: Sent, length: int) -> list[dict[int, int]]:
    """For each row its cells, each once, with the atoms there."""
    found: list[dict[int, int]] = [{} for _ in range(length)]
    for row, cell, mask in zip(sent.rows.tolist(), sent.cells.tolist(), sent.masks.tolist(), strict=True):
        assert cell not in found[row]
        found[row][cell] = mask
    assert (np.diff(sent.rows) >= 0).all()
    return found


def defined(dispatch: Dispatch, table: Table, row: Row) -> dict[int, int]:
    """Where a row goes, by the definition of a grid."""
    found: dict[int, int] = {}
    for i, atom in enumerate(dispatch.atoms):
        if atom.table != table.name or any(row[column] is None for column in atom.required):
            continue
        values = {v: hash_of(row[column]) for v, column in atom.columns}
        for grid in dispatch.grids:
            if any((values[v] in said.values) != said.inside for v, said in grid.box.items() if v in values):
                continue
            ways = [coordinates(dispatch, grid, variable, values) for variable in grid.shares]
            for way in product(*ways):
                cell = grid.first + sum(c * s for c, s in zip(way, grid.strides.values(), strict=True))
                found[cell] = found.get(cell, 0) | 1 << i
    return found


def coordinates(dispatch: Dispatch, grid: Grid, variable: str, values: dict[str, int]) -> list[int]:
    share = grid.shares[variable]
    if variable not in values:
        return list(range(share))
    dimension = dispatch.dimensions.index(variable) + dispatch.salt * len(dispatch.dimensions)
    salt = (dimension + 1) * 0x9E3779B97F4A7C15 % 2**64
    return [(mixed(values[variable] ^ salt) >> 32) * share >> 32]


def hash_of(value: int | None) -> int:
    word = 0x7FF94E554C4C0001 if value is None else value % 2**64
    z = mixed((word + 0x9E3779B97F4A7C15) % 2**64)
    return z ^ z >> 31


def mixed(z: int) -> int:
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    return (z ^ z >> 27) * 0x94D049BB133111EB % 2**64


def hop(atoms: str) -> ConjunctiveQuery:
    """A join of edges whose ends are given, as ab bc cd."""
    found = tuple(Atom(f"A{i}", EDGES, (0, 1), tuple(ends)) for i, ends in enumerate(atoms.split()))
    return ConjunctiveQuery("", found, (ColumnRef(0, 0),), (Output("o", pa.int64(), 0),))


def edges(rows: int, hot: float = 0.0) -> pa.Table:
    """Random edges, of which a part has one value at one end, and as many at the other."""
    random = np.random.default_rng(rows)
    ends = random.integers(1, rows, (2, rows))
    ends[random.random((2, rows)) < hot] = 0
    return pa.table({"src": ends[0], "dst": ends[1]})


def test_a_hot_value_gets_cells_of_its_own_where_that_helps() -> None:
    query = hop("ab bc")
    sample = {"g": sampled(EDGES, edges(20_000, 0.2))}
    one, more = choose(query, sample, 64, residual=False), choose(query, sample, 64)
    assert more.estimate.busiest < 0.7 * one.estimate.busiest
    assert more.estimate.bound <= more.estimate.busiest
    assert more.estimate.hot == "b = 0"
    assert any("b in (0)" in line for line in more.lines())
    assert "b = 0 join one with another" in more.lines()[-1]
    even = choose(query, {"G": sampled(EDGES, edges(20_000))}, 16)
    assert [grid.shares for grid in even.grids] == [{"b": 16}]
    assert even.skew < 1.2
    assert even.estimate.replication == 1


def test_what_is_expected_is_what_comes() -> None:
    for cells, most in ((7, 0.05), (300, 0.6)):
        rows = edges(10_000, 0.1)
        dispatch = choose(hop("ab bc ca"), {"G": sampled(EDGES, rows)}, cells)
        sent = Router(dispatch, EDGES).send(rows)
        each = sum(np.bincount(sent.cells[sent.masks >> i & 1 == 1], minlength=cells) for i in range(3))
        assert abs(dispatch.estimate.busiest / each.max() - 1) < most
        assert abs(dispatch.estimate.sent / each.sum() - 1) < 0.05


def test_only_variables_that_are_allowed_have_shares() -> None:
    query = hop("ab bc cd")
    sample = {"G": sampled(EDGES, edges(10_000, 0.1))}
    assert choose(query, sample, 8, among={"a", "c"}).variables <= {"a", "c"}
    alone = choose(query, sample, 8, among=())
    assert alone.variables == frozenset()
    assert set(Router(alone, EDGES).send(edges(10)).cells) == {0}
    with pytest.raises(UnknownNameError, match="the variables z cannot have a share; allowed are a, b, c, d"):
        choose(query, sample, 8, among={"z"})


def test_without_samples_values_are_taken_to_be_even() -> None:
    (grid,) = choose(hop("ab bc ca"), {}, 64).grids
    assert grid.shares == {"a": 4, "b": 4, "c": 4}
    (grid,) = choose(hop("ab bc"), {}, 7, weights=[1.0, 5.0]).grids
    assert grid.shares == {"b": 7}


def test_variables_of_branches_have_no_share() -> None:
    """R(a, b) with an anti edge b = k to S(k, l), on which T(m, n) hangs by l = m: S follows b, T is everywhere."""
    tables = [Table(name, EDGES.columns) for name in "RST"]
    atoms = tuple(Atom(t.name, t, (0, 1), v) for t, v in zip(tables, (("a", "b"), ("k", "l"), ("m", "n")), strict=True))
    branches = (Branch("not exists", (1,), (("b", "k"),)), Branch("exists", (2,), (("l", "m"),), 0))
    query = ConjunctiveQuery("", atoms, (ColumnRef(0, 0),), (Output("o", pa.int64(), 0),), branches=branches)
    dispatch = choose(query, {}, 4, among={"b"})
    rows = pa.table({"src": [1, 2, None], "dst": [5, None, 5]})
    sent = [by_row(Router(dispatch, table).send(rows), 3) for table in tables]
    assert [[len(cells) for cells in one] for one in sent] == [[1, 1, 1], [1, 0, 0], [4, 4, 0]]
    assert choose(query, {}, 4).variables <= {"a", "b"}


def test_predicates_leave_atoms_out() -> None:
    dispatch = choose(hop("ab bc"), {}, 4)
    rows = edges(50)
    some = Router(dispatch, EDGES).send(rows, np.arange(50) % 4)
    every = by_row(Router(dispatch, EDGES).send(rows), 50)
    for row, cells in enumerate(by_row(some, 50)):
        assert cells == {cell: mask & row % 4 for cell, mask in every[row].items() if mask & row % 4}


def test_it_is_stored_and_read_again() -> None:
    query = hop("ab bc cd")
    dispatch = choose(query, {"G": sampled(EDGES, edges(20_000, 0.2))}, 30)
    stored = json.dumps(dispatch.plain())
    again = Dispatch.from_plain(json.loads(stored))
    assert again == dispatch
    assert (again.digest, again.lines(), again.estimate) == (dispatch.digest, dispatch.lines(), dispatch.estimate)
    assert replace(dispatch, salt=dispatch.salt + 1).digest != dispatch.digest
    damaged = json.loads(stored)
    damaged["grids"][0]["first"] += 1
    with pytest.raises(StateError, match="is damaged: its digest is"):
        Dispatch.from_plain(damaged)
    del damaged["grids"]
    with pytest.raises(StateError, match="is damaged: KeyError"):
        Dispatch.from_plain(damaged)
    with pytest.raises(StateError, match="hashes values by version 0"):
        Dispatch.from_plain({**damaged, "hash": 0})


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(CapacityError, match="0 cells; allowed are 1 to 65,536"):
        choose(hop("ab"), {}, 0)
    with pytest.raises(UnknownNameError, match="no atom over the table 'T0'; its tables are G"):
        Router(choose(hop("ab"), {}, 2), TABLES[0])
