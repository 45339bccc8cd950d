"""The choice of a tree: the least of all trees by bound, depth times changes, height, predicted propagation."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from problems import comb, path, problem, random_acyclic, random_problem, star

from livejoin.errors import UnsupportedQueryError
from livejoin.search.choose import choose, measure
from livejoin.search.cost import propagation
from livejoin.search.guarantee import UpdateBound
from livejoin.theory.trees.all_trees import all_trees
from strategies import seeds


@pytest.mark.parametrize("keyed", [False, True])
def test_the_least_of_all_trees(keyed: bool) -> None:
    chance = random.Random(3)
    for _ in seeds(30, 100):
        given = random_problem(chance, chance.randint(1, 5), keyed=keyed, static=keyed)
        trees = list(all_trees(given.edges, given.free))
        if not trees:
            continue
        found = choose(given, most_trees=10_000)
        least = min(measure(tree, given).rank for tree in trees)
        assert found.all_compared
        assert found.searched
        assert found.best.rank == least
        assert found.best.rank <= min((other.rank for other in found.others), default=found.best.rank)
        assert found.compared == len(trees)


def test_a_bound_counts_more_than_depth() -> None:
    """Height 2 keeps windows at O(1), although the deep end changes most."""
    given = problem(path(4), weights=[1000, 1, 1, 1])
    assert choose(given).best.bound == UpdateBound.FIFO
    assert str(choose(given).best.tree) == "[x2]{1{0}, 2{3}}"


def test_beyond_height_two_depth_counts_more_than_height() -> None:
    given = problem(path(5), weights=[1000, 1, 1, 1, 1])
    found = choose(given).best
    assert (str(found.tree), found.height, found.cost) == ("[x1]{0, 1{2{3{4}}}}", 4, 6.0)
    assert choose(problem(path(5))).best.height == 3


def test_predicted_propagation_decides_last() -> None:
    """Two trees of a path of three differ in what a change of an end visits in the middle."""
    given = problem(path(3))
    spread = {frozenset(["x1"]): 2.0, frozenset(["x2"]): 1000.0}
    given = replace(given, rows=(1000.0,) * 3, distinct=((), tuple(spread.items()), ()))
    found = choose(given)
    assert str(found.best.tree) == "[x1]{0, 1{2}}"
    assert found.best.propagation < found.others[0].propagation
    assert found.best.rank[:3] == found.others[0].rank[:3]
    assert "fewest rows" in found.reason


def test_predicted_propagation_by_hand() -> None:
    """A change of the leaf flips one key in 10 rows, which visits 5 rows of the root: 1 + 5 / 10 rows."""
    given = problem(["ab", "bc"], weights=[0, 1])
    b = frozenset("b")
    given = replace(given, rows=(50.0, 100.0), distinct=(((b, 10.0),), ((b, 10.0),)))
    tree = next(tree for tree in all_trees(given.edges) if str(tree) == "0{1}")
    assert propagation(tree, given) == pytest.approx(1.5)


@pytest.mark.parametrize(
    "edges",
    [path(12), star(12), comb(6), *(random_acyclic(random.Random(seed), 12) for seed in range(10))],
)
def test_twelve_atoms(edges: list[list[str]]) -> None:
    """Bounded work, counted in trees and steps."""
    found = choose(problem(edges))
    assert found.searched
    assert found.steps < 3000
    assert found.compared <= 301


def test_a_choice_that_was_cut_off_is_still_a_tree_and_says_so() -> None:
    found = choose(problem(path(12)), most_trees=3, budget=10)
    assert not found.searched
    assert not found.all_compared
    assert found.best.bound == UpdateBound.LAMBDA


def test_the_same_problem_gives_the_same_tree() -> None:
    chance = random.Random(5)
    for _ in range(20):
        given = random_problem(chance, 5, keyed=True, static=False)
        if next(all_trees(given.edges, given.free), None) is not None:
            assert choose(given).best.tree == choose(given).best.tree


def test_a_cyclic_query_has_no_tree() -> None:
    with pytest.raises(UnsupportedQueryError):
        choose(problem(["ab", "bc", "ca"]))
