"""The bounds of trees against what the engine does: counters that P-UPDATE changed, over adversarial sequences."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from problems import problem, random_problem

from join_driver import JoinDriver
from livejoin.search.guarantee import UpdateBound
from livejoin.search.problem import Problem
from livejoin.search.spread import spreads, tree_bound
from livejoin.theory.trees.all_trees import all_trees
from livejoin.theory.trees.join_tree import JoinTree
from strategies import seeds

Change = tuple[int, tuple[int, ...], int]  # atom, row, sign


def tree_of(given: Problem, line: str) -> JoinTree:
    return next(tree for tree in all_trees(given.edges, given.free) if str(tree) == line)


def work(given: Problem, tree: JoinTree, changes: Sequence[Change]) -> float:
    """Counters changed a change of a relation that is not static, after the static ones have been loaded."""
    driver = JoinDriver([sorted(edge) for edge in given.edges], tree, live=False)
    for atom, row, sign in changes:
        if atom not in given.dynamic:
            driver.change(atom, row, sign)
    loaded = driver.join.counters()["touched"]
    mine = [change for change in changes if change[0] in given.dynamic]
    for atom, row, sign in mine:
        driver.change(atom, row, sign)
    return (driver.join.counters()["touched"] - loaded) / max(1, len(mine))


def sequence(given: Problem, chance: random.Random, changes: int, windows: bool) -> Iterator[Change]:
    """Random changes that respect primary keys; first in, first out over all changing relations if ``windows``."""
    columns = [sorted(edge) for edge in given.edges]
    there: list[tuple[int, tuple[int, ...]]] = []

    def key(atom: int, row: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        own = given.keys[atom]
        names = sorted(own[0]) if own else columns[atom]
        return atom, tuple(row[columns[atom].index(name)] for name in names)

    for _ in range(changes):
        dynamic = [i for i, (atom, _) in enumerate(there) if atom in given.dynamic]
        if dynamic and (len(dynamic) > 12 or chance.random() < 0.4):
            atom, row = there.pop(dynamic[0] if windows else chance.choice(dynamic))
            yield atom, row, -1
            continue
        atom = chance.randrange(len(columns))
        row = tuple(chance.randrange(3) for _ in columns[atom])
        if all(key(atom, row) != key(*other) for other in there):
            there.append((atom, row))
            yield atom, row, 1


@pytest.mark.parametrize("seed", seeds(10, 25))
def test_without_wide_edges_a_change_visits_one_row_a_node(seed: int) -> None:
    """For every sequence."""
    chance = random.Random(seed)
    given = random_problem(chance, chance.randint(2, 4), keyed=True, static=True)
    for tree in list(all_trees(given.edges, given.free, limit=20)):
        if tree_bound(tree, given) == UpdateBound.ALWAYS:
            full = JoinTree(tree.nodes, frozenset(range(len(tree.nodes))))
            assert work(given, full, list(sequence(given, chance, 60, windows=False))) <= len(tree.nodes)


@pytest.mark.parametrize("seed", seeds(10, 25))
def test_first_in_first_out(seed: int) -> None:
    """At most twice for each of the rows below that a row can meet at a time, which are few where edges are single."""
    chance = random.Random(1000 + seed)
    given = random_problem(chance, chance.randint(2, 4), keyed=True, static=True)
    for tree in list(all_trees(given.edges, given.free, limit=20)):
        if tree_bound(tree, given) == UpdateBound.FIFO:
            full = JoinTree(tree.nodes, frozenset(range(len(tree.nodes))))
            assert work(given, full, list(sequence(given, chance, 80, windows=True))) <= 2 ** len(tree.nodes)


def chain_sequence(rows: int) -> list[Change]:
    """First in, first out: tuples of the deepest relation, rows of the root, then one pair after the other is cut."""
    changes = [(2, (i,), 1) for i in range(rows)]
    changes += [(0, (0, i), 1) for i in range(rows)]
    for i in range(rows):
        changes += [(1, (0, i), 1), (2, (i,), -1)]
    return changes


def test_height_three_is_not_constant_for_windows() -> None:
    """The law is tight: a relation between two that change is enough (CROWN, Theorem 6.2 needs one more)."""
    given = problem(["aw", "ac", "c"])
    tree = tree_of(given, "0{1{2}}")
    assert tree_bound(tree, given) == UpdateBound.LAMBDA
    few, many = (work(given, tree, chain_sequence(rows)) for rows in (10, 40))
    assert many > 3 * few


def test_a_key_in_the_middle_is_not_enough_for_windows() -> None:
    """The middle has a key that the root does not refer to: what comes up still reaches many rows."""
    given = problem(["aw", "ac", "c"], keys=[None, "c", "c"])
    assert tree_bound(tree_of(given, "0{1{2}}"), given) == UpdateBound.LAMBDA


def test_keys_from_the_root_down_are_enough_for_windows() -> None:
    given = problem(["aw", "ac", "c"], keys=[None, "a", "c"])
    assert tree_bound(tree_of(given, "0{1{2}}"), given) == UpdateBound.FIFO


def test_keys_from_the_leaf_up_are_enough_for_everything() -> None:
    given = problem(["aw", "ac", "c"], keys=[None, "a", "c"])
    tree = tree_of(given, "2{1{0}}")
    assert spreads(tree, given) == (None, "unique", "unique")
    assert tree_bound(tree, given) == UpdateBound.ALWAYS


def test_a_window_beside_a_static_table() -> None:
    """Every change of b visits all rows of the static a that join it, again and again: no window makes that O(1)."""
    given = problem(["ab", "b"], dynamic=[1])
    tree = tree_of(given, "0{1}")
    assert tree_bound(tree, given) == UpdateBound.LAMBDA
    changes: list[Change] = [(0, (i, 0), 1) for i in range(30)] + [(1, (0,), 1), (1, (0,), -1)] * 20
    assert work(given, tree, changes) >= 30
    other = tree_of(given, "1{0}")
    assert spreads(other, given) == (None, "quiet")
    assert tree_bound(other, given) == UpdateBound.ALWAYS
    assert work(given, other, changes) == 0


@pytest.mark.parametrize("seed", seeds(15, 40))
def test_without_keys_the_height_is_the_bound(seed: int) -> None:
    """CROWN, Lemmas 6.8 to 6.10."""
    given = random_problem(random.Random(seed), 5, keyed=False, static=False)
    for tree in all_trees(given.edges, given.free, limit=50):
        assert tree_bound(tree, given) == min(tree.height - 1, UpdateBound.LAMBDA)
