"""The cheapest tree under a bound, against all trees."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from problems import comb, path, problem, random_acyclic, random_problem, star

from livejoin.search.cheapest_tree import cheapest_tree
from livejoin.search.choose import choose, measure
from livejoin.search.cost import depth_cost
from livejoin.search.guarantee import UpdateBound
from livejoin.search.problem import Problem
from livejoin.search.spread import tree_bound
from livejoin.theory.classes.free_connex import is_free_connex
from livejoin.theory.trees.all_trees import all_trees
from livejoin.theory.trees.join_tree_laws import violations
from strategies import seeds

BOUNDS = (UpdateBound.ALWAYS, UpdateBound.FIFO, UpdateBound.LAMBDA)


def best_of_all(given: Problem, bound: UpdateBound) -> tuple[float, int] | None:
    """Least cost and height over all trees that keep the bound."""
    costs = [
        (round(depth_cost(tree, given), 6), tree.height)
        for tree in all_trees(given.edges, given.free)
        if tree_bound(tree, given) <= bound
    ]
    return min(costs, default=None)


def compare(given: Problem) -> int:
    """Check the cheapest trees under all bounds; how many are not as cheap as the best of all trees."""
    worse = 0
    for bound in BOUNDS:
        found = cheapest_tree(given, bound)
        best = best_of_all(given, bound)
        assert found.complete
        if found.tree is not None:
            assert violations(found.tree, given.edges, given.free) == []
            assert tree_bound(found.tree, given) <= bound
        cost = found.tree and (round(depth_cost(found.tree, given), 6), found.tree.height)
        assert best is not None or cost is None
        worse += cost != best
    return worse


@pytest.mark.parametrize("static", [False, True])
def test_the_cheapest_of_all_trees(static: bool) -> None:
    chance = random.Random(7)
    for _ in seeds(40, 120):
        given = random_problem(chance, chance.randint(1, 5), keyed=False, static=static)
        assert compare(given) == 0, given


def test_with_primary_keys_nearly_always_the_cheapest() -> None:
    """A component hangs as high as it goes, which can lose with keys; the planner also looks at all trees."""
    chance = random.Random(8)
    worse = sum(compare(random_problem(chance, chance.randint(2, 5), keyed=True, static=True)) for _ in range(150))
    assert worse <= 5  # of 450


@pytest.mark.parametrize("keyed", [False, True])
def test_append_only_relations_get_the_best_bound_of_all_trees(keyed: bool) -> None:
    """With static and arbitrary ones beside them; of equal bounds the one that no earlier change has to pay for."""
    chance = random.Random(9)
    found = Counter[UpdateBound]()
    for _ in range(60):
        given = random_problem(chance, chance.randint(2, 5), keyed=keyed, static=True)
        given = replace(given, growing=frozenset(atom for atom in given.dynamic if chance.random() < 0.6))
        if not is_free_connex(given.edges, given.free):
            continue
        best = choose(given, most_trees=10_000).best
        trees = [measure(tree, given) for tree in all_trees(given.edges, given.free)]
        assert (best.bound, best.is_paid_before) <= min((one.bound, one.is_paid_before) for one in trees), given
        found[best.bound] += best.is_paid_before or best.bound is not UpdateBound.ALWAYS
    assert len(found) > 1 and found[UpdateBound.ALWAYS]


def test_a_static_relation_on_the_way_of_a_foreign_key() -> None:
    """Every change of c visits all rows of the static b that refer to it, again and again."""
    given = problem(["ab", "bc", "c"], keys=[None, "b", "c"], dynamic=[0, 2], weights=[1, 0, 0.1])
    tree = next(tree for tree in all_trees(given.edges) if str(tree) == "0{1{2}}")
    assert tree_bound(tree, given) == UpdateBound.LAMBDA
    compare(given)


def test_a_component_that_should_hang_lower() -> None:
    """T(b) hangs below S, whose key is b; beside S it would come to R by a wide edge."""
    given = problem(["ab", "ab", "b"], keys=["a", "b", None])
    assert best_of_all(given, UpdateBound.ALWAYS) is not None
    assert cheapest_tree(given, UpdateBound.ALWAYS).tree is not None


@pytest.mark.parametrize(
    "edges",
    [path(12), star(12), comb(6), *(random_acyclic(random.Random(seed), 12) for seed in range(20))],
)
def test_twelve_atoms_take_few_steps(edges: list[list[str]]) -> None:
    """A step takes some 10 microseconds."""
    for bound in BOUNDS:
        found = cheapest_tree(problem(edges), bound)
        assert found.complete
        assert found.steps < 1000


def test_a_search_that_is_cut_off_says_so() -> None:
    found = cheapest_tree(problem(path(12)), UpdateBound.LAMBDA, budget=10)
    assert (found.tree, found.complete, found.steps) == (None, False, 10)
