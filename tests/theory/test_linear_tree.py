"""The join trees of queries in C_lin: there is one exactly for these, and every change of it costs O(1)."""

from __future__ import annotations

import random

import pytest
from static_dynamic_brute import Query, query, random_query, random_well_structured
from static_dynamic_queries import GUARDED_TRIANGLE, Q1_LIKE, Q2

from livejoin.search.cheapest_tree import cheapest_tree
from livejoin.search.choose import choose
from livejoin.search.guarantee import UpdateBound
from livejoin.search.problem import Problem
from livejoin.search.spread import tree_bound
from livejoin.theory.static.linear_tree import linear_tree
from livejoin.theory.static.static_dynamic import Tractability, static_dynamic
from livejoin.theory.trees.join_tree_laws import violations

BETWEEN = (
    query("abd", ["bcd", "bcd", "b"], ["da"]),
    query("acde", ["abd", "abd", "abd", "ae"], ["cd"]),
    query("cde", ["bce", "bce", "e"], ["cd"]),
    query("abe", ["bde", "bde", "bc"], ["e", "ae"]),
)


def problem_of(query: Query) -> Problem:
    atoms = len(query.edges)
    nothing: tuple[None, ...] = (None,) * atoms
    return Problem(query.edges, query.free, ((),) * atoms, query.dynamic, (1.0,) * atoms, nothing, ((),) * atoms)


def doubled(generator: random.Random) -> Query:
    """Two equal dynamic atoms with a bound variable, which keep others apart from what else is there."""
    big = "".join(generator.sample("abcde", 3))
    edges = [frozenset(big), frozenset(big)]
    edges += [frozenset(generator.sample("abcde", generator.choice((1, 2, 2, 3)))) for _ in range(2)]
    known = sorted(frozenset[str]().union(*edges))
    free = frozenset(v for v in known if generator.random() < 0.6)
    return Query(tuple(edges), free, frozenset(i for i in range(4) if i < 2 or generator.random() < 0.5))


@pytest.mark.parametrize("seed", range(4))
def test_a_query_has_one_exactly_if_it_is_in_c_lin(seed: int) -> None:
    generator = random.Random(seed)
    found = 0
    for number in range(300):
        make = (random_query, random_well_structured, doubled)[number % 3]
        drawn = make(generator)
        if not drawn.dynamic:
            continue
        tree = linear_tree(drawn.edges, drawn.free, drawn.dynamic)
        known = static_dynamic(drawn.edges, drawn.free, drawn.dynamic, budget=10)
        assert (tree is not None) == (known.tractability is Tractability.LINEAR), drawn
        if tree is not None:
            found += 1
            assert violations(tree, drawn.edges, drawn.free, drawn.dynamic) == [], drawn
            assert tree_bound(tree, problem_of(drawn)) is UpdateBound.ALWAYS, drawn
    assert found > 100


@pytest.mark.parametrize("drawn", [Q1_LIKE, GUARDED_TRIANGLE, *BETWEEN])
def test_the_tree_that_is_chosen_is_as_good(drawn: Query) -> None:
    assert choose(problem_of(drawn)).best.bound is UpdateBound.ALWAYS


@pytest.mark.parametrize("drawn", BETWEEN)
def test_what_the_searches_leave_out(drawn: Query) -> None:
    """A generalized relation has to stand between dynamic atoms and a static part, over a proper part of the first."""
    assert cheapest_tree(problem_of(drawn), UpdateBound.ALWAYS).tree is None
    tree = linear_tree(drawn.edges, drawn.free, drawn.dynamic)
    assert tree is not None
    assert [law for law in violations(tree, drawn.edges, drawn.free) if not law.startswith("guard")] == []


def test_a_key_that_is_a_proper_part_is_for_static_subtrees_alone() -> None:
    tree = linear_tree(BETWEEN[0].edges, BETWEEN[0].free, BETWEEN[0].dynamic)
    assert tree is not None
    assert violations(tree, BETWEEN[0].edges, BETWEEN[0].free) == [
        "guard: generalized relation 2 is not contained in its child 6"
    ]


def test_no_tree_without_dynamic_atoms_or_outside_of_the_class() -> None:
    assert linear_tree(Q2.edges, Q2.free, Q2.dynamic) is None
    assert linear_tree(Q2.edges, frozenset("abcd"), frozenset()) is None
