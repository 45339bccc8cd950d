"""Enclosureness with respect to a join tree against all sets of effective lifespans, and on the papers' sequences."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifespan_brute_force import (
    Change,
    Tuple,
    changes,
    naive_tree_enclosureness,
    naive_tuple_reading,
    queues,
    random_distinct_tuples,
    random_tree,
    random_tuples,
    spans_of,
    tree_of,
    trees,
    tuples_of,
)
from theory_brute_force import general_trees

from livejoin.errors import SchemaError
from livejoin.theory.logs.enclosureness import Enclosureness, enclosureness
from livejoin.theory.logs.lifespans import AFTER, BEFORE, Lifespans, lifespans
from livejoin.theory.logs.sequence_class import first_in_first_out
from livejoin.theory.logs.tree_enclosureness import crossing_enclosureness, has_inner_branch, tree_enclosureness
from livejoin.theory.trees.join_tree import JoinTree, Shape, least_height_tree, to_join_tree
from strategies import FUZZ, seeds


def spans_of_log(log: list[Change]) -> Lifespans:
    return lifespans(*np.array(log, np.int64).reshape(-1, 3).T)


def lists(found: Enclosureness) -> list[list[int]]:
    return [part.tolist() for part in found.counts]


@pytest.mark.nojit
@FUZZ
@given(changes(relations=5, most=16), trees())
def test_definitions_6_3_and_6_4(log: list[Change], tree: JoinTree) -> None:
    spans = spans_of_log(log)
    expected = naive_tree_enclosureness(tuples_of(spans), tree)
    found = tree_enclosureness(spans, tree)
    assert lists(found) == expected
    total, number = sum(map(sum, expected)), sum(map(len, expected))
    assert (found.total, found.tuples, found.average) == (total, number, max(1, total / max(1, number)))


@pytest.mark.parametrize("seed", seeds(33, 100))
@pytest.mark.parametrize("tuples_with", [random_tuples, random_distinct_tuples])
def test_many_trees_and_lifespans(tuples_with: Callable[[random.Random, int], list[Tuple]], seed: int) -> None:
    """With equal times too; with crossing lifespans and without them."""
    generator = random.Random(seed)
    for _ in range(8):
        atoms = generator.randint(2, 6)
        tuples, tree = tuples_with(generator, atoms), random_tree(generator, atoms)
        plain, crossing = tree_enclosureness(spans_of(tuples), tree), crossing_enclosureness(spans_of(tuples), tree)
        assert lists(plain) == naive_tree_enclosureness(tuples, tree)
        assert lists(crossing) == naive_tree_enclosureness(tuples, tree, crossing=True)
        assert crossing.total >= plain.total
        assert has_inner_branch(tree) or crossing.total == plain.total


@FUZZ
@given(changes(relations=3, most=10), trees(most=3))
def test_sets_of_tuples_and_sets_of_intervals_differ_by_a_factor_of_2(log: list[Change], tree: JoinTree) -> None:
    spans = spans_of_log(log)
    for atom, counts in enumerate(lists(tree_enclosureness(spans, tree))):
        one_each = naive_tuple_reading(tuples_of(spans), tree, atom)
        assert all(one <= both <= 2 * one for one, both in zip(one_each, counts, strict=True))


def test_a_tuple_counts_twice_where_its_two_effective_lifespans_are_disjoint() -> None:
    """The middle one joins from 1 to 3 and from 6 to 9, so the counter of the upper one changes four times."""
    tree = tree_of([None, 0, 1])
    tuples = [(0, 0, 10), (1, 1, 9), (2, -5, 3), (2, 6, 20)]
    assert lists(tree_enclosureness(spans_of(tuples), tree)) == [[2], [0], [0, 0]]
    assert naive_tuple_reading(tuples, tree, 0) == [1]


@FUZZ
@given(changes(relations=2, most=12), trees(most=4))
def test_self_joins(log: list[Change], tree: JoinTree) -> None:
    """A row is a tuple of every atom over its table."""
    atoms = sum(node.atom is not None for node in tree.nodes)
    relations = [atom % 2 for atom in range(atoms)]
    spans = spans_of_log(log)
    tuples = [(a, s, e) for a, relation in enumerate(relations) for r, s, e in tuples_of(spans) if r == relation]
    found = tree_enclosureness(spans, tree, relations)
    assert lists(found) == naive_tree_enclosureness(tuples, tree)
    assert lists(found) == lists(tree_enclosureness(spans_of(tuples), tree))


@FUZZ
@given(changes(relations=4, most=30), trees(most=4, height=1))
def test_height_1_has_enclosureness_1_on_every_log(log: list[Change], tree: JoinTree) -> None:
    found = crossing_enclosureness(spans_of_log(log), tree)
    assert found.largest == 0
    assert found.average == 1


@FUZZ
@given(queues(relations=4, most=30), trees(most=4, height=2))
def test_lemma_6_9_height_2_has_enclosureness_1_on_first_in_first_out_logs(log: list[Change], tree: JoinTree) -> None:
    found = crossing_enclosureness(spans_of_log(log), tree)
    assert found.largest <= 1
    assert found.average == 1


@FUZZ
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from((1, -1))), max_size=20), trees(most=4, height=2))
def test_rows_that_are_always_there_may_contain_one_that_leaves_and_one_that_comes(
    steps: list[tuple[int, int]], tree: JoinTree
) -> None:
    spans = spans_of_log([(relation, row, sign) for row, (relation, sign) in enumerate(steps)])
    always = Lifespans(np.arange(4), np.full(4, BEFORE), np.full(4, AFTER))
    parts = [(getattr(spans, name), getattr(always, name)) for name in ("relation", "start", "end")]
    joined = Lifespans(*map(np.concatenate, parts))
    assert first_in_first_out(joined)
    assert tree_enclosureness(joined, tree).largest <= 2
    assert lists(tree_enclosureness(joined, tree)) == naive_tree_enclosureness(tuples_of(joined), tree)


@FUZZ
@given(queues(relations=4, most=30, oldest=-1), trees())
def test_lemma_6_10_one_kind_of_change_or_nested_lifespans(log: list[Change], tree: JoinTree) -> None:
    """Insertions only, deletions only, and all deletions after all insertions, last in first out."""
    inserted = [change for change in log if change[2] > 0]
    deleted = [(relation, row, -1) for relation, row, _ in inserted]
    for part in (inserted, deleted, inserted + deleted[::-1]):
        found = crossing_enclosureness(spans_of_log(part), tree)
        assert found.largest <= 1
        assert found.average == 1


def test_example_6_5() -> None:
    """R1(x1, x2) and R2(x2, x3): n * n tuples of R1 live while n of R2 come and go, then the other way round."""
    n = 6
    log: list[Change] = []
    for long, short in ((0, 1), (1, 0)):
        rows = [(long, 1000 * short + i) for i in range(n * n)]
        log += [(*row, 1) for row in rows]
        log += [(short, 9000 + i, sign) for i in range(n) for sign in (1, -1)]
        log += [(*row, -1) for row in rows]
    r1, r2 = frozenset({"x1", "x2"}), frozenset({"x2", "x3"})
    t1 = to_join_tree(Shape(r1, 0, (Shape(r2, 1),)))
    t2 = to_join_tree(Shape(r2, 1, (Shape(r1, 0),)))
    t3 = to_join_tree(Shape(frozenset({"x2"}), None, (Shape(r1, 0), Shape(r2, 1))))
    spans = spans_of_log(log)
    share = n * n / (2 * n * n + 2 * n)  # of the tuples are long ones in the upper atom
    for tree in (t1, t2):
        found = tree_enclosureness(spans, tree)
        assert found.largest == n
        # the other half's short tuples of the upper atom contain nothing, its long ones of the lower atom are no child
        assert found.average == pytest.approx(n * share)
    assert tree_enclosureness(spans, t3).average == 1
    assert enclosureness(spans).largest == n


def test_example_6_12() -> None:
    """Insertions only, over the tree of figure 1: R2, R3 and R4 first, then R1."""
    n = 4
    pairs = n * n
    tree = least_height_tree([frozenset({f"x{i}", f"x{i + 1}"}) for i in range(1, 5)])
    log = [(relation, row, 1) for relation in (1, 2, 3) for row in range(pairs)] + [(0, row, 1) for row in range(pairs)]
    assert tree.height == 2
    found = tree_enclosureness(spans_of_log(log), tree)
    assert found.average == 1
    assert found.largest == 1


def test_theorem_6_2() -> None:
    """A first in, first out sequence that is hard for each tree of the query; matrix and vectors are all ones."""
    n = k = 4
    rows: dict[int, list[tuple[int, int]]] = {-1: [(2, i) for i in range(n * n)]}
    log = [(relation, i, 1) for i in range(n) for relation in (0, 4)] + [(2, i, 1) for i in range(n * n)]
    for i in range(n):
        rows[i] = [(relation, 100 * i + j) for j in range(n) for relation in (1, 3)]
        log += [(*row, 1) for row in rows[i]] + [(0, i, -1), (4, i, -1)]
    log += [(*row, -1) for i in range(-1, k) for row in rows[i]]
    spans = spans_of_log(log)
    assert first_in_first_out(spans)
    assert enclosureness(spans).average == 1

    edges = [frozenset(e) for e in ("1", "12", "23", "34", "4")]
    found = [(tree.height, tree_enclosureness(spans, to_join_tree(tree.shape()))) for tree in general_trees(edges)]
    assert min(height for height, _ in found) == 3
    for _, with_respect in found:
        assert with_respect.largest >= n
        assert with_respect.average >= n * n * n / len(spans)
    best = tree_enclosureness(spans, tree_of([1, 2, None, 2, 3]))
    assert lists(best) == [[0] * n, [0] * n * n, [n] * n * n, [0] * n * n, [0] * n]


def test_there_is_one_relation_for_each_atom() -> None:
    with pytest.raises(SchemaError, match="2 relations are given for a tree of 3 atoms"):
        tree_enclosureness(spans_of_log([]), tree_of([None, 0, 0]), [0, 1])
