"""Transition systems against their definition: the rows that matter are those that change some result."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest
from static_dynamic_brute import Query, Relation, Row, query, random_query
from static_dynamic_queries import BODY_HARD, HEAD_HARD, Q1_LIKE, Q2, Q3, Q4, Q5, Q6, REDUCED_HARD

from livejoin.theory.static.static_dynamic import Tractability, static_dynamic
from livejoin.theory.static.transition_system import NoTransitionSystem, TransitionSystem, transition_system
from strategies import seeds

DOMAIN = (0, 1)


def result(of: Query, relations: dict[int, Relation]) -> frozenset[Row]:
    """The query over sets of rows, by trying all combinations."""
    found = set()
    for rows in product(*(relations[atom] for atom in range(len(of.edges)))):
        values: dict[str, int] = {}
        if all(values.setdefault(v, x) == x for row in rows for v, x in sorted(row)):
            found.add(frozenset((v, values[v]) for v in of.free))
    return frozenset(found)


def all_rows(edge: frozenset[str]) -> list[Row]:
    names = sorted(edge)
    return [frozenset(zip(names, values, strict=True)) for values in product(DOMAIN, repeat=len(names))]


def rows_that_matter(of: Query, static: dict[int, Relation], atom: int) -> Iterator[Row]:
    """The rows of an atom that change the result of some dynamic database; one row of each other atom is enough."""
    others = sorted(of.dynamic - {atom})
    for row in all_rows(of.edges[atom]):
        for chosen in product(*(all_rows(of.edges[other]) for other in others)):
            given = static | {other: frozenset({one}) for other, one in zip(others, chosen, strict=True)}
            if result(of, given | {atom: frozenset({row})}) != result(of, given | {atom: frozenset()}):
                yield row
                break


def small(of: Query) -> bool:
    return len(of.dynamic) < 4 and sum(len(of.edges[atom]) for atom in of.dynamic) < 7


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_the_rows_that_matter_are_those_of_the_static_join(seed: int) -> None:
    generator = random.Random(seed)
    while True:
        of = random_query(generator, 4, "abcd")
        found = transition_system(of.edges, of.free, of.dynamic)
        if isinstance(found, TransitionSystem) and small(of):
            break
    assert found.dynamic == tuple(sorted(of.dynamic))
    static = {
        atom: frozenset(row for row in all_rows(edge) if generator.random() < 0.6)
        for atom, edge in enumerate(of.edges)
        if atom not in of.dynamic
    }
    edges = tuple(of.edges[atom] for atom in static)
    for atom, decided in zip(found.dynamic, found.decided, strict=True):
        body = Query(edges, decided, frozenset())
        maximum = result(body, dict(enumerate(static.values())))
        matter = {frozenset(pair for pair in row if pair[0] in decided) for row in rows_that_matter(of, static, atom)}
        assert matter == maximum


def test_it_is_the_class_of_the_paper_and_what_shares_returned_variables() -> None:
    generator = random.Random(7)
    seen = set()
    for _ in range(600):
        of = random_query(generator)
        found = transition_system(of.edges, of.free, of.dynamic)
        mixed = 0 < len(of.dynamic) < len(of.edges)
        covered = not static_dynamic(of.edges, of.free, of.dynamic, 10).uncovered
        assert isinstance(found, TransitionSystem) or not (mixed and covered)
        if isinstance(found, TransitionSystem):
            assert mixed
            assert covered is not bool(found.shared)
            assert found.shared <= of.free
            assert all(found.shared <= of.edges[atom] for atom in of.dynamic)
            for atom, decided in zip(found.dynamic, found.decided, strict=True):
                assert decided | found.shared == of.edges[atom]
        seen.add((isinstance(found, TransitionSystem), covered))
    assert len(seen) == 4  # C_exp, beyond it, refused in either: without a static or a dynamic atom


@pytest.mark.parametrize(
    ("of", "shared"), [(Q3, ""), (BODY_HARD, ""), (HEAD_HARD, ""), (Q1_LIKE, "b"), (Q2, "b"), (Q4, "a")]
)
def test_queries_of_the_paper_with_a_system(of: Query, shared: str) -> None:
    found = transition_system(of.edges, of.free, of.dynamic)
    assert isinstance(found, TransitionSystem)
    assert found.shared == frozenset(shared)


@pytest.mark.parametrize(("of", "variables"), [(Q5, "a"), (Q6, "a"), (REDUCED_HARD, "")])
def test_queries_of_the_paper_without_one(of: Query, variables: str) -> None:
    found = transition_system(of.edges, of.free, of.dynamic)
    assert isinstance(found, NoTransitionSystem)
    assert found.variables == frozenset(variables)


def test_three_static_edges_have_the_exponent_of_their_cover() -> None:
    of = query("abc", ["a", "b"], ["ab", "bc", "ac"])
    assert static_dynamic(of.edges, of.free, of.dynamic).tractability is Tractability.EXPONENTIAL
    found = transition_system(of.edges, of.free, of.dynamic)
    assert isinstance(found, TransitionSystem)
    assert str(found.exponent) == "3/2"
