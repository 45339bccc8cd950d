"""Cyclic queries over bags against brute force, after every change: the delta, the result, its size, all invariants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product as cartesian

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithm_driver import AlgorithmDriver, Change, Problem, Row, brute
from bagged_join import BaggedJoin
from factors import factor
from livejoin.errors import CapacityError
from livejoin.families.bags.plan import cut_into_bags
from livejoin.families.crown.compile import compile_plan
from livejoin.query import ConjunctiveQuery, Product
from livejoin.query.scalar import Expression
from livejoin.theory.trees.join_tree import least_height_tree
from strategies import FUZZ

TRIANGLE = ("ab", "bc", "ca")
FOUR_CYCLE = ("ab", "bc", "cd", "da")
LOLLIPOP = ("ab", "bc", "ca", "cd")
DUMBBELL = ("ab", "bc", "ca", "cd", "de", "ef", "fd")
CLIQUE = ("ab", "ac", "ad", "bc", "bd", "cd")
SHAPES = (
    TRIANGLE,
    FOUR_CYCLE,
    LOLLIPOP,
    ("ab", "bc", "ca", "cde"),
    ("abc", "bcd", "cda"),
    ("ab", "bc", "cd", "de", "ea"),
    ("abp", "bcq", "car"),
    ("ab", "bc", "ca", "ca"),
    ("ab", "bc", "ca", "d"),
    ("abc", "ade", "bd", "ce"),
)


def driver_of(problem: Problem, capacity: int | None = None, live: bool = True) -> AlgorithmDriver:
    """The join over bags at work, with any tree across them; atoms that only odd rows take part in have a predicate."""

    def build(query: ConjunctiveQuery) -> BaggedJoin:
        atoms = [
            replace(a, predicate=Expression("odd", None) if i in problem.odd else None)
            for i, a in enumerate(query.atoms)
        ]
        cut = cut_into_bags(replace(query, atoms=tuple(atoms)))
        return BaggedJoin(cut, compile_plan(cut.outer, least_height_tree(cut.outer.edges, cut.outer.free), live))

    return AlgorithmDriver(problem, build, capacity)


@st.composite
def products(draw: st.DrawFn, atoms: Sequence[str], tables: Sequence[int]) -> tuple[Product, ...]:
    """A count, and sums over products of columns and numbers of different atoms.

    All of them fit their words. The driver names a column of a table by the variable that the table's first atom with
    it has there.
    """

    def names(atom: int) -> list[str]:
        before = "".join(a for a, t in zip(atoms[:atom], tables, strict=False) if t == tables[atom])
        return [v for v in atoms[atom] if v not in before]

    sums = [Product((), draw(st.booleans()))]
    for _ in range(draw(st.integers(0, 2))):
        chosen = draw(st.lists(st.integers(0, len(atoms) - 1), unique=True, max_size=3))
        wide = draw(st.booleans())
        large = [str(1 << 62)] if wide and chosen else []
        factors = [*large, *(draw(st.sampled_from([*names(a), "-3"])) for a in sorted(chosen)[len(large) :])]
        sums.append(Product(tuple(map(factor, sorted(chosen), factors)), wide))
    return tuple(sums)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """A query that is cyclic most of the time, with self-joins, unused columns and conditions."""
    shape = draw(
        st.one_of(
            st.sampled_from(SHAPES),
            st.lists(st.text("abcd", min_size=1, max_size=3), min_size=3, max_size=5).map(
                lambda atoms: tuple("".join(dict.fromkeys(a)) for a in atoms)
            ),
        )
    )
    tables: list[int] = []
    for i, atom in enumerate(shape):
        like = [t for j, t in enumerate(tables) if len(shape[j]) == len(atom)]
        tables.append(draw(st.sampled_from([i, *like])) if like else i)
    variables = sorted(set("".join(shape)))
    output = "".join(draw(st.lists(st.sampled_from(variables), unique=True)))
    free = draw(st.booleans())
    sums = draw(products(shape, tables)) if free and draw(st.booleans()) else ()
    wide = frozenset(draw(st.sets(st.sampled_from(tables), max_size=1)))
    odd = frozenset(draw(st.sets(st.integers(0, len(shape) - 1), max_size=1)))
    return Problem(shape, output, free, sums, tuple(tables), wide, odd)


def step(driver: AlgorithmDriver, contents: list[Counter[Row]], changes: Sequence[Change]) -> None:
    """Apply changes and compare everything."""
    before = brute(driver.problem, contents)
    expected: dict[int, Counter[Row]] = {}
    for version in sorted({change[3] for change in changes}):
        for table, row, weight, _ in (change for change in changes if change[3] == version):
            contents[table][row] += weight
        after = brute(driver.problem, contents)
        expected[version] = Counter({r: n for r in {*before, *after} if (n := after[r] - before[r])})
        before = after
    found = driver.apply(changes, driver.join.plan.live)
    if driver.join.plan.live:
        assert {v: d for v, d in found.items() if d} == {v: d for v, d in expected.items() if d}
    assert driver.result() == +before
    assert driver.join.count() == before.total()
    driver.join._check()


@FUZZ
@given(st.data())
def test_every_change_of_a_random_query(data: st.DataObject) -> None:
    problem = data.draw(problems())
    driver = driver_of(
        problem, data.draw(st.sampled_from([1, 3, None])), data.draw(st.sampled_from([True, True, False]))
    )
    tables = sorted(set(problem.table_of))
    contents: list[Counter[Row]] = [Counter() for _ in range(max(tables) + 1)]
    version = 0
    for _ in range(data.draw(st.integers(3, 20))):
        changes: list[Change] = []
        now = [Counter(rows) for rows in contents]
        for _ in range(data.draw(st.sampled_from([1, 1, 1, 4]))):
            version += data.draw(st.integers(0, 1))
            table = data.draw(st.sampled_from(tables))
            row = tuple(data.draw(st.integers(0, 1)) for _ in range(problem.width(table)))
            weight = data.draw(st.sampled_from([1, 1, 2, -1, -now[table][row]]))
            named = [change[:2] for change in changes if change[3] == version]
            if weight and now[table][row] + weight >= 0 and (table, row) not in named:
                now[table][row] += weight
                changes.append((table, row, weight, version))
        version += 1
        step(driver, contents, changes)
    step(driver, contents, [(t, r, -n, version) for t in tables for r, n in contents[t].items() if n])
    assert driver.join.registered == 0


@pytest.mark.parametrize("shape", [TRIANGLE, FOUR_CYCLE, LOLLIPOP, DUMBBELL, CLIQUE])
@pytest.mark.parametrize("free", [None, "", "a", "ab"])
@pytest.mark.parametrize("shared", [False, True])
def test_filled_and_emptied(shape: tuple[str, ...], free: str | None, shared: bool) -> None:
    tables = (0,) * len(shape) if shared else ()
    output = "".join(sorted(set("".join(shape)))) if free is None else free
    sums = () if free is None else (Product((), True), Product((factor(0, "a"), factor(1, shape[1][1])), True))
    problem = Problem(shape, output, free is not None, sums, tables)
    driver = driver_of(problem)
    contents: list[Counter[Row]] = [Counter() for _ in shape]
    rows = [(t, row) for t in sorted(set(problem.table_of)) for row in cartesian(range(3 if shared else 2), repeat=2)]
    for version, (table, row) in enumerate(rows):
        step(driver, contents, [(table, row, 1, version)])
    for version, (table, row) in enumerate(rows):
        step(driver, contents, [(table, row, -1, version)])
    assert driver.join.registered == 0 and not driver.result()


@pytest.mark.nojit
def test_a_triangle_count_keeps_one_row() -> None:
    driver = driver_of(Problem(TRIANGLE, "", True, (Product(),), (0, 0, 0)))
    edges = [(a, b) for a in range(6) for b in range(6)]
    driver.apply([(0, edge, 1, 0) for edge in edges])
    assert driver.result() == {(216,): 1}
    assert driver.join.bags[0].table.rows == 1


def test_a_self_join_keeps_its_tuples_once() -> None:
    driver = driver_of(Problem(TRIANGLE, "abc", False, (), (0, 0, 0)))
    assert [(store.relations, len(store.nodes)) for store in driver.join.bags[0].plan.stores] == [([0, 1, 2], 3)]


def test_the_state_is_taken_over() -> None:
    problem = Problem(LOLLIPOP, "ad", True, (Product(),), (0, 0, 0, 0))
    driver, other = driver_of(problem), driver_of(problem)
    contents: list[Counter[Row]] = [Counter()]
    step(driver, contents, [(0, row, 1, 0) for row in cartesian(range(3), repeat=2)])
    other.join.restore({name: words.copy() for name, words in driver.join.arrays().items()})
    other.ids = dict(driver.ids)
    assert other.result() == driver.result()
    step(other, contents, [(0, (0, 1), -1, 1), (0, (2, 1), -1, 1)])


def test_a_product_of_multiplicities_that_does_not_fit() -> None:
    driver = driver_of(Problem(TRIANGLE, "abc"))
    with pytest.raises(CapacityError, match=r"the join inside of bag \{A0, A1, A2\}"):
        driver.apply([(table, (0, 0), 1 << 30, 0) for table in range(3)])


@pytest.mark.nojit
def test_large_results_come_in_pieces() -> None:
    driver = driver_of(Problem(TRIANGLE, "abc", False, (), (0, 0, 0)), capacity=7)
    rows = [tuple(pair) for pair in np.ndindex(5, 5)]
    contents: list[Counter[Row]] = [Counter()]
    step(driver, contents, [(0, row, 1, 0) for row in rows])
    assert driver.join.count() == 125
