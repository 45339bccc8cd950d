"""Dynamic Yannakakis, change propagation and the join-tree plan against brute force, after every version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product as cartesian
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithm_driver import AlgorithmDriver, Change, Problem, Row, brute
from factors import factor
from livejoin.errors import CapacityError, UnsupportedQueryError
from livejoin.families.chain import checks as chain_invariants
from livejoin.families.chain.plan import compile_chain
from livejoin.families.crown.compile import compile_plan
from livejoin.families.crown.join import CrownJoin
from livejoin.families.dyn import checks as dyn_invariants
from livejoin.families.dyn.multiplicities import multiplicities
from livejoin.families.dyn.plan import compile_dyn
from livejoin.query import ConjunctiveQuery, Product
from livejoin.theory import is_acyclic
from livejoin.theory.trees.join_tree import least_height_tree
from strategies import FUZZ


def crown(query: ConjunctiveQuery) -> Any:
    return CrownJoin(compile_plan(query, least_height_tree(query.edges, query.free), True))


def dyn(query: ConjunctiveQuery) -> Any:
    return compile_dyn(query, least_height_tree(query.edges, query.free), True).open()


def chain(query: ConjunctiveQuery) -> Any:
    return compile_chain(query, True).open()


ALL = (crown, dyn, chain)


@st.composite
def problems(draw: st.DrawFn, cyclic: bool) -> Problem:
    """A query; free-connex if it is acyclic and its results are distinct."""
    names = st.sets(st.sampled_from("abcde"), min_size=0, max_size=3).map(lambda s: "".join(sorted(s)))
    if cyclic:
        core = draw(
            st.sampled_from(
                [("ab", "bc", "ac"), ("ab", "bc", "cd", "ad"), ("abc", "cd", "ad"), ("ab", "ab", "bc", "ac")]
            )
        )
        variables = (*core, *draw(st.lists(names, max_size=5 - len(core) - 1)))
    else:
        variables = tuple(draw(st.lists(names, min_size=1, max_size=4)))
        while not is_acyclic([frozenset(v) for v in variables]):
            variables = variables[:-1]
    output = "".join(
        sorted(draw(st.sets(st.sampled_from(sorted(set("".join(variables)) or "a")))) & set("".join(variables)))
    )
    free = draw(st.booleans())
    if free and not cyclic and not is_acyclic([*map(frozenset, variables), frozenset(output)]):
        free = False
    tables = tuple(range(len(variables)))
    if draw(st.booleans()):  # self-joins
        tables = tuple(next(i for i, other in enumerate(variables) if len(other) == len(v)) for v in variables)
    sums: tuple[Product, ...] = ()
    if free and draw(st.booleans()):
        named = len(set(tables)) == len(tables)
        sums = tuple(draw(products(variables, named)))
    wide = frozenset(draw(st.sets(st.sampled_from(tables), max_size=2)))
    odd = frozenset(draw(st.sets(st.integers(0, len(variables) - 1), max_size=1)))
    return Problem(variables, output, free, sums, tables, wide, odd)


@st.composite
def products(draw: st.DrawFn, variables: Sequence[str], named: bool) -> list[Product]:
    """A count, and sums over products of columns and numbers of different atoms. All of them fit their words."""
    sums = [Product((), draw(st.booleans()))]
    for _ in range(draw(st.integers(0, 2))):
        atoms = draw(st.lists(st.integers(0, len(variables) - 1), unique=True, max_size=2))
        wide = draw(st.booleans())
        values = [st.sampled_from([*(variables[a] if named else ""), "-3"]) for a in sorted(atoms)]
        if wide and values:
            values[0] = st.just(str(1 << 62))
        factors = tuple(factor(a, draw(v)) for a, v in zip(sorted(atoms), values, strict=True))
        sums.append(Product(factors, wide))
    return sums


@st.composite
def logs(draw: st.DrawFn, problem: Problem) -> list[list[Change]]:
    """Calls, each with one version or more; a version changes a row once."""
    contents: dict[tuple[int, Row], int] = {}
    version = 0
    calls = []
    for _ in range(draw(st.integers(2, 8))):
        call: list[Change] = []
        for _ in range(draw(st.sampled_from([1, 1, 2]))):
            version += 1
            chosen: set[tuple[int, Row]] = set()
            for _ in range(draw(st.sampled_from([1, 2, 5]))):
                table = draw(st.sampled_from(problem.table_of))
                row = tuple(draw(st.integers(-1, 1)) for _ in range(problem.width(table)))
                there = contents.get((table, row), 0)
                weight = draw(st.sampled_from([1, 1, 2, -1, -there]))
                if weight and there + weight >= 0 and (table, row) not in chosen:
                    chosen.add((table, row))
                    contents[table, row] = there + weight
                    call.append((table, row, weight, version))
        calls.append(call)
    return calls


def agree(
    problem: Problem,
    calls: Sequence[Sequence[Change]],
    algorithms: Sequence[Callable[[ConjunctiveQuery], Any]],
    capacity: int,
) -> None:
    """Every algorithm gives the delta of every version, the result and the count, and keeps its invariants."""
    drivers = [AlgorithmDriver(problem, build, capacity) for build in algorithms]
    contents: list[Counter[Row]] = [Counter() for _ in range(len(problem.variables))]
    before = brute(problem, contents)
    for call in calls:
        expected: dict[int, Counter[Row]] = {}
        for version in dict.fromkeys(change[3] for change in call):
            for table, row, weight, _ in (change for change in call if change[3] == version):
                contents[table][row] += weight
            after = brute(problem, contents)
            delta = Counter({r: n for r in {*before, *after} if (n := after[r] - before[r])})
            if delta:
                expected[version] = delta
            before = after
        for driver in drivers:
            name = driver.build.__name__
            assert {v: d for v, d in driver.apply(call).items() if d} == expected, name
            assert driver.result() == before, name
            assert driver.join.count() == sum(before.values()), name
            driver.join._check()


@FUZZ
@given(st.data())
def test_acyclic_queries(data: st.DataObject) -> None:
    problem = data.draw(problems(cyclic=False))
    agree(problem, data.draw(logs(problem)), ALL, data.draw(st.sampled_from([1, 3, 1000])))


@FUZZ
@given(st.data())
def test_cyclic_queries(data: st.DataObject) -> None:
    problem = data.draw(problems(cyclic=True))
    agree(problem, data.draw(logs(problem)), (chain,), data.draw(st.sampled_from([1, 3, 1000])))


@pytest.mark.nojit
@pytest.mark.parametrize("problem", [
    Problem(("ab", "bc", "cd"), "abcd"),
    Problem(("ab", "bc", "cd"), "ad", tables=(0, 0, 0), odd=frozenset({2})),
    Problem(("ab", "bc", "cd"), "bc", True, wide=frozenset({1})),
    Problem(("ab", "bc", "cd"), "b", True, (Product(), Product((factor(0, "a"), factor(2, "d")), True))),
    Problem(("ab", "", "c"), "", True, (Product((), True),)),
    Problem(("ab", "a", "abc"), "abc"),
], ids=str)  # fmt: skip
def test_filled_and_emptied(problem: Problem) -> None:
    """All rows over a small domain in one version, each away in a version of its own, and back again."""
    rows = [
        (table, row)
        for table in dict.fromkeys(problem.table_of)
        for row in cartesian(range(2), repeat=problem.width(table))
    ]
    fill: list[Change] = [(table, row, 1, 1) for table, row in rows]
    empty: list[Change] = [(table, row, -1, 2 + i) for i, (table, row) in enumerate(rows)]
    again: list[Change] = [(table, row, 3, 99) for table, row in rows]
    gone: list[Change] = [(table, row, -3, 100) for table, row in rows]
    agree(problem, [fill, empty, again, gone], ALL, 7)


def test_an_emptied_state_keeps_nothing() -> None:
    """What is left after the last row are headers, records, hash slots and free lists, which `_check` accounts for."""
    for build in (dyn, chain):
        driver = AlgorithmDriver(Problem(("ab", "bc", "cd"), "abcd"), build)
        rows = [(table, row) for table in range(3) for row in cartesian(range(3), repeat=2)]
        driver.apply([(table, row, 1, 1) for table, row in rows], emit=False)
        assert driver.join.count() == 81
        used = driver.join.arena.used_bytes
        for _ in range(3):
            driver.apply([(table, row, -1, 2) for table, row in rows], emit=False)
            assert (driver.join.count(), driver.join.registered, driver.result()) == (0, 0, Counter())
            driver.apply([(table, row, 1, 3) for table, row in rows], emit=False)
        assert driver.join.arena.used_bytes <= used * 1.25, "words of removed entries are used again"
        driver.join._check()


@pytest.mark.parametrize("build", [dyn, chain])
def test_a_batch_larger_than_the_first_delta_and_the_first_arena(build: Callable[[ConjunctiveQuery], Any]) -> None:
    """Space runs out many times inside of one version, wherever it does."""
    problem = Problem(("ab", "bc"), "abc")
    driver = AlgorithmDriver(problem, build, capacity=100)
    rows = [(t, (i % 40, i % 37)) for t in range(2) for i in range(700)]
    delta = driver.apply([(table, row, 1, 1) for table, row in rows])[1]
    contents = [Counter(row for table, row in rows if table == t) for t in range(2)]
    assert delta == driver.result() == brute(problem, contents)
    assert driver.join.count() == sum(delta.values())


@pytest.mark.parametrize("build", [dyn, chain])
def test_results_beyond_64_bits_are_counted_about(build: Callable[[ConjunctiveQuery], Any]) -> None:
    """2**64 results, whose number is zero modulo 2**64, are not taken for none, and go away again."""
    driver = AlgorithmDriver(Problem(("a", "b", "c", "d"), ""), build)
    big = 1 << 16
    driver.apply([(t, (0,), big, 1) for t in range(4)], emit=False)
    assert driver.join.size() == pytest.approx(2.0**64)
    driver.apply([(0, (0,), 1 - big, 2)], emit=False)
    assert driver.join.count() == 2**48
    driver.join._check()


@pytest.mark.parametrize("build", [dyn, chain])
@pytest.mark.parametrize("emit", [True, False])
def test_groups_whose_count_would_wrap_are_refused(build: Callable[[ConjunctiveQuery], Any], emit: bool) -> None:
    """2**64 results of a group are no count of zero; with 128 bits they are counted."""
    atoms, big = ("ga", "gb", "gc", "gd"), 1 << 16
    changes = [(t, (1, 0), big, 1) for t in range(4)]
    narrow = AlgorithmDriver(Problem(atoms, "g", True, (Product(),)), build)
    with pytest.raises(CapacityError, match="does not fit 64 bits"):
        narrow.apply(changes, emit=emit)
    wide = AlgorithmDriver(Problem(atoms, "g", True, (Product((), True),)), build)
    wide.apply(changes, emit=emit)
    assert wide.result() == Counter({(1, 0, 1): 1})


@FUZZ
@given(st.data())
def test_proposition_4_18_the_multiplicity_of_any_row(data: st.DataObject) -> None:
    """Of every row over the domain and beyond, in the result or not."""
    problem = data.draw(problems(cyclic=False))
    if not problem.free:
        problem = replace(problem, output="".join(sorted(set("".join(problem.variables)))))
    driver = AlgorithmDriver(problem, dyn)
    contents: list[Counter[Row]] = [Counter() for _ in range(len(problem.variables))]
    for call in data.draw(logs(problem)):
        driver.apply(call, emit=False)
        for table, row, weight, _ in call:
            contents[table][row] += weight
    rows = list(cartesian(range(-1, 3), repeat=len(problem.output)))
    found = multiplicities(driver.join, np.array(rows, np.int64).T.reshape(len(problem.output), len(rows)))
    result = brute(problem, contents)
    expected = dict(result)
    if problem.sums:
        expected = {row[: len(problem.output)]: row[len(problem.output) :] for row in result}
    nothing = (0,) * found.shape[0] if problem.sums else 0
    for row, value in zip(rows, found.T.tolist(), strict=True):
        assert expected.get(row, nothing) == (tuple(value) if problem.sums else value[0]), row


def test_rows_that_stand_for_several_results_have_no_multiplicity() -> None:
    driver = AlgorithmDriver(Problem(("ab", "bc"), "ac"), dyn)
    with pytest.raises(UnsupportedQueryError, match="without b is the sum of many"):
        multiplicities(driver.join, np.zeros((2, 1), np.int64))


@pytest.mark.parametrize("build", [dyn, chain])
def test_a_snapshot_is_the_state(build: Callable[[ConjunctiveQuery], Any]) -> None:
    problem = Problem(("ab", "bc"), "abc")
    driver = AlgorithmDriver(problem, build)
    driver.apply([(t, (i % 3, i % 2), 1, 1) for t in range(2) for i in range(6)], emit=False)
    arrays = {name: words.copy() for name, words in driver.join.arrays().items()}
    other = AlgorithmDriver(problem, build)
    other.join.restore(arrays)
    other.ids = driver.ids
    for one in (driver, other):
        one.apply([(0, (0, 0), -1, 2)])
        one.join._check()
    assert driver.result() == other.result()


def test_a_wrong_multiplicity_is_noticed() -> None:
    """The invariants can fail: base rows' multiplicities changed behind the algorithm's back."""
    for build, invariants, word in (
        (dyn, dyn_invariants, "Psi of a key"),
        (chain, chain_invariants, "rows of a store"),
    ):
        driver = AlgorithmDriver(Problem(("ab", "bc"), "abc"), build)
        driver.apply([(t, (1, 1), 1, 1) for t in range(2)])
        driver.join._check()
        words = driver.join.arena.words
        state = invariants.State(driver.join.plan, words)
        offset = driver.join.plan.tables[0].stride - (2 if build is chain else 3)
        record = next(r for r in state.records(0) if words[r + offset] == 1)
        words[record + offset] = 2
        with pytest.raises(AssertionError, match=word):
            driver.join._check()
