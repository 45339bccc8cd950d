"""Safe paths and well-behaved queries, against all paths of random queries and the paper's examples."""

from __future__ import annotations

import random

import pytest
from static_dynamic_brute import Query, q_hierarchical, query, random_query, unsafe_pairs
from static_dynamic_queries import BODY_HARD, HEAD_HARD, Q1_LIKE, Q2, Q3, Q4, Q5, Q6, REDUCED_HARD

from livejoin.theory.static.well_behaved import UnsafePath, WellBehaved, well_behaved
from strategies import seeds


def answer(query: Query) -> WellBehaved:
    return well_behaved(query.edges, query.free, query.dynamic)


@pytest.mark.parametrize("query", [Q1_LIKE, Q2])
def test_well_behaved_queries_of_the_paper(query: Query) -> None:
    assert answer(query) == WellBehaved(())
    assert answer(query)
    assert answer(query).holds


@pytest.mark.parametrize(
    ("query", "path"),
    [
        pytest.param(Q3, UnsafePath(0, 1, ("a", "b"), (2,), frozenset()), id="Q3"),
        pytest.param(Q4, UnsafePath(0, 1, ("b", "c"), (2,), frozenset("a")), id="Q4"),
        pytest.param(Q5, UnsafePath(0, None, ("a", "c"), (1,), frozenset("b")), id="Q5, the head"),
        pytest.param(Q6, UnsafePath(0, 2, ("a", "b"), (1,), frozenset()), id="Q6"),
        pytest.param(BODY_HARD, UnsafePath(0, 1, ("a", "b"), (2,), frozenset()), id="section 7, bodies"),
        pytest.param(HEAD_HARD, UnsafePath(0, None, ("b", "a"), (1,), frozenset()), id="section 7, head"),
        pytest.param(REDUCED_HARD, UnsafePath(0, 2, ("a", "b"), (1,), frozenset()), id="section 8"),
    ],
)
def test_unsafe_paths_of_the_paper(query: Query, path: UnsafePath) -> None:
    assert not answer(query)
    assert path in answer(query).paths


def test_a_path_is_a_shortest_one_and_names_its_atoms() -> None:
    long = query("", ["ax", "dx"], ["ab", "bc", "cd"])
    assert answer(long).paths == (UnsafePath(0, 1, ("a", "b", "c", "d"), (2, 3, 4), frozenset("x")),)
    short = query("", ["ax", "dx"], ["ab", "bc", "cd", "bd"])
    assert answer(short).paths[0].variables == ("a", "b", "d")


def test_a_path_through_a_shared_variable_is_safe() -> None:
    assert answer(query("", ["ax", "bx"], ["ax", "bx"]))
    assert not answer(query("", ["ax", "bx"], ["ab"]))


def test_static_atoms_alone_and_empty_atoms_are_well_behaved() -> None:
    assert answer(query("ac", [], ["ab", "bc", "ca"]))
    assert answer(query("a", ["", ""], ["a"]))


def test_all_variables_are_free_and_all_atoms_dynamic_by_default() -> None:
    path = [frozenset("ab"), frozenset("bc")]
    assert well_behaved(path)
    assert not well_behaved(path, free=frozenset("a"))
    assert well_behaved(path, free=frozenset("c"), dynamic=frozenset({0})).paths[0].end is None
    assert well_behaved(path, free=frozenset("ab"), dynamic=frozenset({0}))


def test_a_path_is_told_in_words() -> None:
    assert str(answer(Q5).paths[-2]) == "a - c connects dynamic atom 0 and the head, which share b"
    assert str(answer(Q3).paths[0]) == "a - b connects dynamic atom 0 and dynamic atom 1, which share no variable"


@pytest.mark.parametrize("seed", seeds(6, 20))
def test_the_unsafe_paths_are_those_among_all_paths(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(100):
        query = random_query(generator)
        paths = answer(query).paths
        assert {(p.start, p.end): len(p.variables) for p in paths} == unsafe_pairs(query), query
        for path in paths:
            target = query.free if path.end is None else query.edges[path.end]
            assert path.variables[0] in query.edges[path.start]
            assert path.variables[-1] in target
            assert path.shared == query.edges[path.start] & target
            assert not path.shared & set(path.variables)
            steps = zip(path.through, path.variables, path.variables[1:], strict=False)
            assert all({a, b} <= query.edges[atom] for atom, a, b in steps)


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_without_static_atoms_well_behaved_is_q_hierarchical(seed: int) -> None:
    """Proposition 21, first statement."""
    generator = random.Random(seed)
    answers = set()
    for _ in range(300):
        query = random_query(generator, variables="abcd")
        holds = bool(well_behaved(query.edges, query.free))
        assert holds == q_hierarchical(query.edges, query.free), query
        answers.add(holds)
    assert answers == {False, True}


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_the_dynamic_sub_query_of_a_well_behaved_query_is_q_hierarchical(seed: int) -> None:
    """Proposition 21, second statement."""
    generator = random.Random(seed)
    for _ in range(200):
        query = random_query(generator)
        if answer(query):
            dynamic = [query.edges[atom] for atom in sorted(query.dynamic)]
            assert q_hierarchical(dynamic, query.free & frozenset().union(*dynamic)), query


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_making_a_relation_static_never_hurts(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(100):
        query = random_query(generator)
        for atom in query.dynamic:
            fewer = well_behaved(query.edges, query.free, query.dynamic - {atom})
            assert set(fewer.paths) <= set(answer(query).paths)
