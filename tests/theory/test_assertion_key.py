"""Unconstrained pairs, assertion keys and auxiliary attributes: figures 4 to 7, and the definitions by brute force."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from foreign_key_brute import (
    Instance,
    graph_of,
    least_number_of_auxiliary_attributes,
    live_by_assertion_keys,
    live_by_definition,
    pairs,
    random_dag,
    random_instance,
    satisfies_condition_5,
)
from tpch_joins import JOINS, tpch_join

from livejoin.errors import UnsupportedQueryError
from livejoin.theory.keys.assertion_key import (
    AuxiliaryAttribute,
    AuxiliaryAttributes,
    MissingPath,
    UnconstrainedPair,
    assertion_keys,
    auxiliary_attributes,
    condition_5,
    unconstrained_pairs,
)
from livejoin.theory.keys.foreign_key import ForeignKeyGraph, foreign_key_graph, foreign_key_graph_of
from strategies import seeds

# Relation R_i of a figure stands at position i - 1.
FIGURE_4 = graph_of("1", "21", "31", "423")
FIGURE_7 = graph_of("1", "21", "321", "42", "51", "634", "756")


def rows(graph: ForeignKeyGraph, *relations: list[str]) -> Instance:
    """Rows written as digits, in the order of the sorted attributes of their relation."""
    return [
        [dict(zip(sorted(attributes), map(int, row), strict=True)) for row in given]
        for attributes, given in zip(graph.relations, relations, strict=True)
    ]


def test_figure_4() -> None:
    assert unconstrained_pairs(FIGURE_4) == (UnconstrainedPair(descendant=0, ancestor=3),)
    assert assertion_keys(FIGURE_4) == ((), (), (), (0,))
    assert condition_5(FIGURE_4)
    assert auxiliary_attributes(FIGURE_4) == AuxiliaryAttributes((), complete=True)


def test_figure_5_a_row_of_r1_brings_one_of_r4_to_life() -> None:
    """The example of section 3.3: (3) in R1 makes (3, 3) in R2 and in R3 alive, and then (3, 3, .) in R4."""
    before = rows(FIGURE_4, ["1"], ["11", "33"], ["11", "33"], ["118", "339"])
    after = rows(FIGURE_4, ["1", "3"], ["11", "33"], ["11", "33"], ["118", "339"])
    live = [
        [len(r) for r in live_by_assertion_keys(FIGURE_4, assertion_keys(FIGURE_4), (), i)] for i in (before, after)
    ]
    assert live == [[1, 1, 1, 1], [2, 2, 2, 2]]


def test_figure_6_alive_on_every_child_and_dead() -> None:
    """Both rows of R4 are alive on R2 and on R3, which refer to different rows of R1."""
    instance = rows(FIGURE_4, ["1", "2"], ["11", "22"], ["12", "21"], ["118", "229"])
    without = live_by_assertion_keys(FIGURE_4, [()] * 4, (), instance)
    assert len(without[3]) == 2
    assert live_by_definition(FIGURE_4, instance, 3) == []
    assert live_by_assertion_keys(FIGURE_4, assertion_keys(FIGURE_4), (), instance)[3] == []


def test_figure_7() -> None:
    assert [(p.descendant + 1, p.ancestor + 1) for p in unconstrained_pairs(FIGURE_7)] == [
        (1, 3),
        (1, 6),
        (1, 7),
        (2, 6),
    ]
    assert [[i + 1 for i in keys] for keys in assertion_keys(FIGURE_7)] == [[], [], [1], [], [], [1, 2], [1]]
    assert condition_5(FIGURE_7).missing == (MissingPath(UnconstrainedPair(0, 5), child=3),)
    assert auxiliary_attributes(FIGURE_7) == AuxiliaryAttributes((AuxiliaryAttribute(3, 0),), complete=True)
    assert condition_5(FIGURE_7, [AuxiliaryAttribute(3, 0)])


def test_figure_7_without_its_auxiliary_attribute_calls_a_dead_row_alive() -> None:
    """R6 reaches R1 through R3 itself and through R4 and R2; R4 must bring the key of R1 up to be heard."""
    graph = graph_of("1", "21", "31", "42", "634")
    asserted, least = assertion_keys(graph), auxiliary_attributes(graph).attributes
    assert (asserted[4], least) == ((0,), (AuxiliaryAttribute(3, 0),))
    instance = rows(graph, ["1", "2"], ["11"], ["23"], ["14"], ["346"])
    assert live_by_definition(graph, instance, 4) == []
    assert live_by_assertion_keys(graph, asserted, least, instance)[4] == []
    assert len(live_by_assertion_keys(graph, asserted, (), instance)[4]) == 1


def test_tpch_q5_asserts_the_nation_of_a_line() -> None:
    query = tpch_join("Q5")
    at = {atom.alias: position for position, atom in enumerate(query.atoms)}
    graph = foreign_key_graph(query)
    assert unconstrained_pairs(graph) == (UnconstrainedPair(at["nation"], at["lineitem"]),)
    assert auxiliary_attributes(graph).attributes == (AuxiliaryAttribute(at["orders"], at["nation"]),)


@pytest.mark.parametrize("name", sorted(set(JOINS) - {"Q5"}))
def test_other_tpch_joins_are_trees(name: str) -> None:
    assert unconstrained_pairs(foreign_key_graph(tpch_join(name))) == ()


def test_an_edge_beside_a_longer_path_is_unconstrained() -> None:
    assert unconstrained_pairs(graph_of("1", "21", "321")) == (UnconstrainedPair(0, 2),)


def test_paths_that_meet_are_constrained_below() -> None:
    """AJU, below figure 7: all paths from R7 to R2 pass through R6."""
    assert unconstrained_pairs(graph_of("1", "21", "32", "42", "534")) == (UnconstrainedPair(1, 4),)


def test_one_auxiliary_attribute_for_two_ways() -> None:
    """Two relations need the lowest key, and each has two ways to it, of which one is the other's too."""
    graph = graph_of("1", "21", "32", "42", "52", "634", "745", "8671")
    assert auxiliary_attributes(graph) == AuxiliaryAttributes(
        (AuxiliaryAttribute(3, 0), AuxiliaryAttribute(5, 0), AuxiliaryAttribute(6, 0)), complete=True
    )


def test_a_composite_key_is_one_attribute() -> None:
    relations = [frozenset(r) for r in ("ab", "cab", "dc", "ed", "fabe")]
    graph = foreign_key_graph_of(relations, ["ab", "c", "d", "e", "f"])
    assert assertion_keys(graph)[4] == (0,)
    assert auxiliary_attributes(graph).attributes == (AuxiliaryAttribute(2, 0), AuxiliaryAttribute(3, 0))


def test_a_key_that_is_implied_by_a_composite_one_is_carried() -> None:
    """The line has the part's key itself, though it references the part through the composite key only."""
    relations = [frozenset(r) for r in ("p", "ps", "zp", "lpsz")]
    graph = foreign_key_graph_of(relations, ["p", "ps", "z", ""])
    assert [(e.parent, e.child) for e in graph.references] == [(1, 0), (2, 0), (3, 1), (3, 2)]
    assert assertion_keys(graph)[3] == (0,)
    assert auxiliary_attributes(graph).attributes == ()


def test_cycles_are_refused() -> None:
    for function in (unconstrained_pairs, assertion_keys, condition_5, auxiliary_attributes):
        with pytest.raises(UnsupportedQueryError, match="cycle through the relations 0, 1"):
            function(graph_of("ab", "ba"))


def test_a_search_that_stops_early_says_so_and_is_still_right() -> None:
    graph = graph_of("1", "21", "32", "42", "52", "634", "745", "8671")
    hasty = auxiliary_attributes(graph, budget=0)
    assert not hasty.complete
    assert len(hasty.attributes) == 4
    assert condition_5(graph, hasty.attributes)


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_unconstrained_pairs_have_disjoint_paths(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(100):
        graph = random_dag(generator, generator.randint(2, 8), generator.uniform(0.2, 0.7))
        found = unconstrained_pairs(graph)
        assert {(pair.descendant, pair.ancestor) for pair in found} == pairs(graph)
        assert all(
            set(keys) == {pair.descendant for pair in found if pair.ancestor == relation}
            for relation, keys in enumerate(assertion_keys(graph))
        )


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_condition_5_word_by_word(seed: int) -> None:
    generator = random.Random(seed)
    both = set()
    for _ in range(100):
        graph = random_dag(generator, generator.randint(3, 7), generator.uniform(0.3, 0.6))
        size = len(graph.relations)
        auxiliary = {(r, i) for r in range(size) for i in range(r) if generator.random() < 0.3}
        found = condition_5(graph, [AuxiliaryAttribute(r, i) for r, i in auxiliary])
        assert bool(found) == (not found.missing) == satisfies_condition_5(graph, auxiliary)
        both.add(bool(found))
    assert both == {True, False}


@pytest.mark.parametrize("seed", seeds(10, 30))
def test_the_auxiliary_attributes_are_least(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(25):
        graph = random_dag(generator, generator.randint(3, 7), generator.uniform(0.2, 0.45))
        found = auxiliary_attributes(graph)
        assert found.complete
        assert satisfies_condition_5(graph, {(a.relation, a.key_of) for a in found.attributes})
        assert len(found.attributes) == least_number_of_auxiliary_attributes(graph)


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_the_auxiliary_attributes_hit_every_set(seed: int) -> None:
    """Relations that need the lowest key choose among two or three children that could bring it: a hitting set."""
    generator = random.Random(seed)
    for _ in range(40):
        size = generator.randint(2, 5)
        middle = range(2, 2 + size)
        choices = [generator.sample(middle, generator.randint(1, min(3, size))) for _ in range(generator.randint(1, 6))]
        children = [[], [0], *([1] for _ in middle), *choices, [0, *range(2 + size, 2 + size + len(choices))]]
        attributes = [frozenset({f"x{r}"} | {f"x{c}" for c in below}) for r, below in enumerate(children)]
        graph = foreign_key_graph_of(attributes, [{f"x{r}"} for r in range(len(children))])
        lowest = [a for a in auxiliary_attributes(graph).attributes if a.key_of == 0]
        sets = (set(hit) for number in range(size + 1) for hit in combinations(middle, number))
        hit = next(found for found in sets if all(found & set(choice) for choice in choices))
        assert len(lowest) == len(choices) + len(hit)


@pytest.mark.parametrize("seed", seeds(10, 30))
def test_lemma_4_tells_the_live_rows(seed: int) -> None:
    """With its assertion keys and auxiliary attributes, a row's own children decide whether it is alive."""
    generator = random.Random(seed)
    for _ in range(40):
        graph = random_dag(generator, generator.randint(2, 7), generator.uniform(0.2, 0.6))
        instance = random_instance(generator, graph, rows=3, values=3)
        found = live_by_assertion_keys(graph, assertion_keys(graph), auxiliary_attributes(graph).attributes, instance)
        for relation, live in enumerate(found):
            assert live == live_by_definition(graph, instance, relation)


def test_lemma_4_needs_the_assertion_keys() -> None:
    """On the same kind of instances, rows come out wrong without the keys, so that the test above can fail."""
    generator = random.Random(0)
    wrong = 0
    for _ in range(300):
        graph = random_dag(generator, generator.randint(4, 6), 0.5)
        instance = random_instance(generator, graph, rows=3, values=3)
        found = live_by_assertion_keys(graph, [()] * len(graph.relations), (), instance)
        wrong += any(live != live_by_definition(graph, instance, r) for r, live in enumerate(found))
    assert wrong > 20
