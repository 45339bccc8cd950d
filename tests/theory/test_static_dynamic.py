"""The classes C_lin, C_poly and C_exp, with the queries of the paper and random ones."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from static_dynamic_brute import Query, least_width, q_hierarchical, query, random_query, unsafe_pairs
from static_dynamic_queries import (
    BODY_HARD,
    GUARDED_TRIANGLE,
    HEAD_HARD,
    Q1_LIKE,
    Q2,
    Q3,
    Q4,
    Q5,
    Q6,
    REDUCED_HARD,
    TRIANGLE,
)

from livejoin.errors import SchemaError, UnknownNameError
from livejoin.theory.static.safe_rewriting import rewriting_violations
from livejoin.theory.static.static_dynamic import StaticDynamic, Tractability, static_dynamic
from livejoin.theory.static.variable_order import order_violations


def classify(query: Query) -> StaticDynamic:
    return static_dynamic(query.edges, query.free, query.dynamic)


@pytest.mark.parametrize(
    ("query", "tractability", "preprocessing"),
    [
        pytest.param(Q1_LIKE, "C_lin", "O(N)", id="Q2 with all variables free"),
        pytest.param(GUARDED_TRIANGLE, "C_lin", "O(N)", id="example 4, guarded triangle"),
        pytest.param(Q2, "C_poly", "O(N^2)", id="Q2"),
        pytest.param(TRIANGLE, "C_poly", "O(N^2)", id="example 4, triangle"),
        pytest.param(Q3, "C_exp", "2^O(N)", id="Q3"),
        pytest.param(BODY_HARD, "C_exp", "2^O(N)", id="section 7, bodies"),
        pytest.param(HEAD_HARD, "C_exp", "2^O(N)", id="section 7, head"),
        pytest.param(query("abc", ["a", "b", "c"], ["ab", "bc", "ac"]), "C_exp", "2^O(N^(3/2))", id="C_exp, triangle"),
        pytest.param(Q4, "none", "no preprocessing is known that makes changes O(1)", id="Q4"),
        pytest.param(Q5, "none", "no preprocessing is known that makes changes O(1)", id="Q5"),
        pytest.param(Q6, "none", "no preprocessing is known that makes changes O(1)", id="Q6"),
    ],
)
def test_classes_of_the_paper(query: Query, tractability: str, preprocessing: str) -> None:
    found = classify(query)
    assert found.tractability.value == tractability
    assert found.preprocessing == preprocessing


def test_example_24_what_keeps_q2_out_of_c_lin() -> None:
    assert classify(Q1_LIKE).free_connex
    assert classify(Q2).well_behaved
    assert not classify(Q2).free_connex


def test_example_26_the_variables_that_no_static_atom_has() -> None:
    assert classify(Q3).uncovered == frozenset()
    assert classify(Q4).uncovered == classify(Q5).uncovered == frozenset("a")
    assert classify(Q6).uncovered == frozenset("ab")


def test_section_8_what_is_known_outside_of_c_exp() -> None:
    """The reduced dynamic sub-query of Q6 is R(a), S(a, b), T(b); those of Q4 and Q5 are q-hierarchical."""
    hard = classify(Q6)
    assert [(path.start, path.end) for path in hard.reduced.paths] == [(0, 2)]
    assert hard.update == "not O(1) together with constant delay, unless the OMv conjecture fails or a relation repeats"
    assert hard.delay == "not known to be constant"
    for open_question in (Q4, Q5):
        assert classify(open_question).reduced
        assert classify(open_question).update == "not known to be O(1): the query is outside of C_exp"
    assert not classify(REDUCED_HARD).reduced


def test_a_tractable_query_says_what_it_costs() -> None:
    found = classify(Q2)
    assert (found.update, found.delay) == ("O(1) a change of a dynamic relation", "O(1) a row")
    assert (found.exponent, classify(Q3).exponent, classify(Q4).exponent) == (2, 1, None)
    assert str(found.rewriting) == "(b){1, (b){(a, b){0, (a){(a, d){(a, c, d){2, 3}}}}}}"
    assert classify(Q3).order is None
    assert classify(Q3).rewriting is None


def test_a_static_table_makes_the_difference() -> None:
    """Two dynamic atoms of a path with three atoms are hard; with the ends or the middle static it is in C_lin."""
    path = [frozenset("ab"), frozenset("bc"), frozenset("cd")]
    classes = {
        tuple(sorted(dynamic)): static_dynamic(path, dynamic=dynamic).tractability
        for dynamic in map(frozenset, [(), (0,), (1,), (0, 1), (0, 2), (0, 1, 2)])
    }
    assert classes == {
        (): Tractability.LINEAR,
        (0,): Tractability.LINEAR,
        (1,): Tractability.LINEAR,
        (0, 1): Tractability.LINEAR,
        (0, 2): Tractability.NONE,
        (0, 1, 2): Tractability.NONE,
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_classes_are_their_definitions(seed: int) -> None:
    generator = random.Random(seed)
    seen: Counter[Tractability] = Counter()
    for _ in range(200):
        query = random_query(generator, variables="abcd")
        found = classify(query)
        tame = not unsafe_pairs(query)
        static = [edge for atom, edge in enumerate(query.edges) if atom not in query.dynamic]
        fixed = frozenset().union(*static)
        covered = all(query.edges[atom] <= fixed for atom in query.dynamic)
        if tame:
            width = least_width(query)
            expected = Tractability.LINEAR if width == 1 else Tractability.POLYNOMIAL
            assert found.exponent == width
            assert found.order is not None
            assert found.rewriting is not None
            assert not order_violations(found.order.order, query.edges, query.free, query.dynamic)
            assert not rewriting_violations(found.rewriting, query.edges, query.free, query.dynamic)
        else:
            expected = Tractability.EXPONENTIAL if covered else Tractability.NONE
        assert found.tractability is expected, query
        reduced = [query.edges[atom] - fixed for atom in sorted(query.dynamic)]
        assert bool(found.reduced) == q_hierarchical(reduced, query.free), query
        assert found.reduced or expected is Tractability.NONE
        seen[expected] += 1
    assert set(seen) == set(Tractability), seen


@pytest.mark.parametrize("seed", range(5))
def test_all_dynamic_and_all_static_are_the_known_classes(seed: int) -> None:
    """Example 2: C_lin is q-hierarchical without static atoms, and free-connex without dynamic ones."""
    generator = random.Random(seed)
    for _ in range(40):
        query = random_query(generator, variables="abcd")
        linear = static_dynamic(query.edges, query.free).tractability is Tractability.LINEAR
        assert linear == q_hierarchical(query.edges, query.free)
        static = static_dynamic(query.edges, query.free, frozenset())
        assert (static.tractability is Tractability.LINEAR) == static.free_connex == (static.exponent == Fraction(1))


def test_names_and_positions_that_do_not_exist() -> None:
    edges = [frozenset("ab")]
    with pytest.raises(UnknownNameError, match="no atom has the output variables x, y; the atoms have a, b"):
        static_dynamic(edges, frozenset("axy"))
    with pytest.raises(SchemaError, match="dynamic atoms -1, 1 do not exist; the query has atoms 0 to 0"):
        static_dynamic(edges, dynamic=frozenset({-1, 0, 1}))
