"""Variable orders: their laws, the construction for well-behaved queries and the search for the least width."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from static_dynamic_brute import (
    Query,
    all_parents,
    least_width,
    query,
    random_query,
    random_well_structured,
    well_structured,
    width_of,
)
from static_dynamic_queries import GUARDED_TRIANGLE, Q1_LIKE, Q2, TRIANGLE

from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.static.least_width_order import least_width_order
from livejoin.theory.static.preprocessing_width import order_width
from livejoin.theory.static.static_parts import StaticPart, construct_order, static_parts
from livejoin.theory.static.variable_order import (
    OrderNode,
    VariableOrder,
    dependencies,
    order_violations,
    variable_order,
)
from livejoin.theory.static.well_behaved import well_behaved
from strategies import seeds


def construct(query: Query) -> VariableOrder:
    return construct_order(query.edges, query.free, query.dynamic)


def broken(order: VariableOrder, query: Query) -> list[str]:
    return order_violations(order, query.edges, query.free, query.dynamic)


def free_connex(query: Query) -> bool:
    return is_acyclic(query.edges) and is_acyclic([*query.edges, query.free])


def test_example_29_and_31() -> None:
    """The order of Q2 puts the bound variable at the bottom, where the static relations meet: width 2."""
    found = least_width_order(Q2.edges, Q2.free, Q2.dynamic)
    assert str(found.order) == "b{1, a{0, d{c{2, 3}}}}"
    assert dependencies(found.order, Q2.edges) == {
        "b": frozenset(),
        "a": frozenset("b"),
        "d": frozenset("a"),
        "c": frozenset("ad"),
    }
    assert (found.width, found.complete) == (2, True)


def test_example_4() -> None:
    assert least_width_order(GUARDED_TRIANGLE.edges, GUARDED_TRIANGLE.free, GUARDED_TRIANGLE.dynamic).width == 1
    assert least_width_order(TRIANGLE.edges, TRIANGLE.free, TRIANGLE.dynamic).width == 2
    assert least_width_order(Q1_LIKE.edges, Q1_LIKE.free, Q1_LIKE.dynamic).width == 1


def test_a_static_triangle_has_width_3_2_as_lemma_49_says() -> None:
    """By the definition of section 5.1 it has 2: the atom that closes the triangle is not below the last variable."""
    triangle = Query(TRIANGLE.edges, TRIANGLE.free, frozenset())
    assert least_width_order(triangle.edges, triangle.free, frozenset()).width == Fraction(3, 2)
    assert (least_width(triangle), least_width(triangle, by_paper=True)) == (Fraction(3, 2), 2)


@pytest.mark.parametrize("seed", range(4))
def test_the_least_width_is_never_above_that_of_the_paper(seed: int) -> None:
    """R(a) dynamic over a static triangle: 3/2 where section 5.1 has 2; width 1 is the same by both (decision 45)."""
    over = query("axy", ["a"], ["ax", "xy", "ay"])
    assert (least_width(over), least_width(over, by_paper=True)) == (Fraction(3, 2), 2)
    generator = random.Random(seed)
    done = 0
    while done < 5:
        drawn = random_well_structured(generator, size=5, parts=6)
        if free_connex(drawn):
            continue
        done += 1
        ours, papers = least_width(drawn), least_width(drawn, by_paper=True)
        assert ours is not None
        assert papers is not None
        assert ours <= papers, drawn
        assert (ours == 1) == (papers == 1), drawn


def test_static_parts_as_in_example_43() -> None:
    """A part with one intersection variable hangs below it; the lowest of several is the one to hang below."""
    found = query("abc", ["abc", "abd", "a"], ["ab", "cx", "xy", "bv", "avw", "z", ""])
    assert static_parts(found.edges, found.dynamic) == (
        StaticPart((3,), frozenset("ab"), frozenset()),
        StaticPart((4, 5), frozenset("c"), frozenset("xy")),
        StaticPart((6, 7), frozenset("ab"), frozenset("vw")),
        StaticPart((8,), frozenset(), frozenset("z")),
        StaticPart((9,), frozenset(), frozenset()),
    )
    assert str(construct(found)) == "9, a{2, b{3, c{0, x{4, y{5}}}, d{1}, v{6, w{7}}}}, z{8}"
    assert broken(construct(found), found) == []


@pytest.mark.parametrize(
    ("parents", "query", "law"),
    [
        ({"a": None, "b": None}, query("ab", ["ab"]), "path: atom 0 stands below a and has a, b"),
        (
            {"a": None, "c": "a", "b": "c"},
            query("abc", ["ab"], ["c"]),
            "canonical: dynamic atom 0 stands below a, c, b",
        ),
        ({"a": None, "b": "a"}, query("b", [], ["ab"]), "free-top: bound a is above free b"),
        ({"a": None}, query("ab", [], ["a", "b"]), "cover: the order has variables ['a']"),
        ({"a": None, "b": "a", "x": None}, query("ab", [], ["ab"]), "cover: the order has variables ['a', 'b', 'x']"),
    ],
)
def test_every_law_is_noticed(parents: dict[str, str | None], query: Query, law: str) -> None:
    edges = [edge & frozenset(parents) for edge in query.edges]
    order = variable_order(edges, parents)
    assert any(text.startswith(law) for text in broken(order, query)), broken(order, query)


def test_atoms_that_are_missing_twice_or_elsewhere_are_noticed() -> None:
    two = query("ab", ["a"], ["ab"])
    root = OrderNode("a", (0, 0), (OrderNode("b", (), ()),))
    assert broken(VariableOrder((root,)), two) == ["cover: the order has atoms [0, 0], the query has 2"]
    assert broken(VariableOrder((OrderNode("a", (), (OrderNode("b", (1,), ()),)),), (0,)), two) == [
        "path: atom 0 has variables and stands below none"
    ]
    swapped = OrderNode("a", (1,), (OrderNode("b", (0,), ()),))
    assert broken(VariableOrder((swapped,)), two) == [
        "path: atom 1 stands below a and has a, b",
        "path: atom 0 stands below a, b and has a",
    ]


@pytest.mark.parametrize("seed", range(8))
def test_the_laws_are_the_definition(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(12):
        query = random_query(generator, variables="abcd")
        for parents in all_parents(query.variables):
            order = variable_order(query.edges, parents)
            assert (broken(order, query) == []) == well_structured(query, parents), (query, parents)
            if well_structured(query, parents):
                assert order.parents == parents
                assert order_width(order, query.edges, query.dynamic) == width_of(query, parents)


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_well_behaved_if_and_only_if_there_is_a_well_structured_order(seed: int) -> None:
    """Proposition 28 and its converse, over all orders."""
    generator = random.Random(seed)
    for _ in range(30):
        query = random_query(generator, variables="abcde" if seed < 2 else "abcd")
        exists = any(well_structured(query, parents) for parents in all_parents(query.variables))
        assert bool(well_behaved(query.edges, query.free, query.dynamic)) == exists, query


@pytest.mark.parametrize("seed", seeds(6, 20))
def test_the_construction_is_well_structured(seed: int) -> None:
    """Proposition 28, lemma 41 and lemma 45; and proposition 30: width 1 if and only if free-connex."""
    generator = random.Random(seed)
    for size in (4, 6, 9):
        for _ in range(20):
            query = random_well_structured(generator, size=size)
            order = construct(query)
            assert well_behaved(query.edges, query.free, query.dynamic), query
            assert broken(order, query) == [], query
            assert (order_width(order, query.edges, query.dynamic) == 1) == free_connex(query), query
            for part in static_parts(query.edges, query.dynamic):
                assert any(part.intersection <= query.edges[atom] for atom in query.dynamic) or not part.intersection
                assert not part.private & query.free or part.intersection <= query.free


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_the_search_finds_the_least_width_of_all_orders(seed: int) -> None:
    generator = random.Random(seed)
    done = 0
    while done < 8:
        query = random_well_structured(generator, size=5, parts=6)
        if free_connex(query):
            continue
        done += 1
        found = least_width_order(query.edges, query.free, query.dynamic)
        assert found.complete
        assert broken(found.order, query) == []
        assert found.width == order_width(found.order, query.edges, query.dynamic)
        assert found.width == least_width(query), query


def test_components_that_help_each_other_need_not_stand_on_one_path() -> None:
    """By the paper the atom of x covers what v depends on only with v above x: then 5/3, with both apart 3."""
    found = query("abcvx", ["abc"], ["va", "vb", "vc", "xabc"])
    parents = {"a": None, "b": "a", "c": "b", "v": "c", "x": "c"}
    apart = variable_order(found.edges, parents)
    assert broken(apart, found) == []
    assert order_width(apart, found.edges, found.dynamic) == Fraction(5, 3)
    assert width_of(found, parents, by_paper=True) == 3
    best = least_width_order(found.edges, found.free, found.dynamic)
    assert (best.width, best.complete) == (Fraction(5, 3), True)
    assert least_width(found) == least_width(found, by_paper=True) == Fraction(5, 3)


@pytest.mark.parametrize("length", [4, 5, 6])
def test_a_static_cycle_has_width_2(length: int) -> None:
    names = "abcdefgh"[:length]
    cycle = query(names, [], [names[i - 1] + names[i] for i in range(length)])
    found = least_width_order(cycle.edges, cycle.free, cycle.dynamic)
    assert (found.width, found.complete) == (2, True)


def test_a_free_connex_query_needs_no_search() -> None:
    star = query("", ["abcdefghijkl"], ["az", *(f"{v}{v.upper()}" for v in "abcdefghijkl")])
    found = least_width_order(star.edges, star.free, star.dynamic, budget=0)
    assert (found.width, found.complete, found.steps) == (1, True, 0)


def test_the_construction_prefers_a_covered_variable_to_one_with_few_neighbours() -> None:
    """x has two neighbours that no atom has together; the wide atoms' own variables have four that one atom has."""
    bridge = query("", [], ["pabcd", "xp", "xq", "qefgh"])
    assert order_width(construct(bridge), bridge.edges, bridge.dynamic) == 1


def test_a_bound_centre_needs_no_search() -> None:
    """All output variables of a star stand above its bound centre, so that its width is known beforehand."""
    leaves = "abcdefghijk"
    star = query(leaves, [], [leaf + "z" for leaf in leaves])
    found = least_width_order(star.edges, star.free, star.dynamic, budget=0)
    assert (found.width, found.complete) == (len(leaves), True)


def test_the_search_says_when_its_budget_was_spent() -> None:
    grid = query("abcdefghi", [], ["ab", "bc", "de", "ef", "gh", "hi", "ad", "dg", "be", "eh", "cf", "fi"])
    stopped = least_width_order(grid.edges, grid.free, grid.dynamic, budget=20)
    assert (stopped.complete, stopped.steps) == (False, 20)
    assert broken(stopped.order, grid) == []
    assert stopped.width == order_width(stopped.order, grid.edges, grid.dynamic)
    finished = least_width_order(grid.edges, grid.free, grid.dynamic)
    assert finished.complete
    assert finished.width <= stopped.width


def test_atoms_without_variables_stand_by_themselves() -> None:
    found = least_width_order([frozenset(), frozenset()], frozenset(), frozenset({0}))
    assert found.order == VariableOrder((), (0, 1))
    assert (found.width, found.complete) == (1, True)
