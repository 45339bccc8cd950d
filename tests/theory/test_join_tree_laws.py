"""The laws of a free-connex join tree: each is checked, and the connex law agrees with trying all subtrees."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest
from theory_brute_force import general_trees, random_edges

from livejoin.theory import JoinTree, is_acyclic, is_valid, least_height_tree, violations
from livejoin.theory.trees.join_tree import Shape, connex_subtree, to_join_tree
from strategies import EXAMPLES


def edges_of(*names: str) -> list[frozenset[str]]:
    return [frozenset(name) for name in names]


def node(variables: str, atom: int | None, *children: Shape) -> Shape:
    return Shape(frozenset(variables), atom, children)


AB_BC = edges_of("ab", "bc")
PATH = edges_of("ab", "bc", "cd")


@pytest.mark.parametrize(
    ("shape", "law"),
    [
        (node("ab", 0), "cover: the tree has atoms"),
        (node("ab", 0, node("ab", 1)), "cover: node 1 has variables"),
        (node("b", None, node("ab", 0), node("bc", 1), node("b", None)), "cover: leaf 3"),
        (node("", None, node("ab", 0), node("bc", 1)), "connect: b"),
        (node("ab", None, node("ab", 0), node("bc", 1)), "guard"),
        (node("ab", 0, node("b", None, node("bc", 1))), "above"),
    ],
)
def test_each_law_is_checked(shape: Shape, law: str) -> None:
    tree = to_join_tree(shape)
    assert any(message.startswith(law) for message in violations(tree, AB_BC))
    assert not is_valid(tree, AB_BC)


@pytest.mark.parametrize(
    ("free", "connex", "law"),
    [
        ("abcd", {0, 1, 2, 3}, None),
        ("bcd", {0, 1, 2, 3}, None),
        ("bcd", {0, 2, 3}, None),
        ("abcd", {0, 2, 3}, "connex: no node of the connex subtree has the output variables a"),
        ("b", {0}, None),
        ("", {0}, None),
        ("b", {1}, "connex: the root is not in the connex subtree"),
        ("bd", {0, 3}, "connex: node 3 is in the connex subtree, its parent 2 is not"),
        ("bd", {0, 2, 3}, "connex: node 3 has key c, of which c is not output"),
        ("a", {0, 1}, "connex: node 1 has key b, of which b is not output"),
        ("b", {0, 4}, "connex: there are no nodes [4]"),
    ],
)
def test_each_part_of_the_connex_law_is_checked(free: str, connex: set[int], law: str | None) -> None:
    tree = replace(least_height_tree(PATH), connex=frozenset(connex))
    assert str(tree) == "[b]{0, 1{2}}"
    found = violations(tree, PATH, frozenset(free))
    assert (law in found) if law else found == []


@pytest.mark.parametrize(
    ("position", "change"),
    [
        (1, {"key": ()}),
        (3, {"parent": 1}),
        (0, {"children": (2, 1)}),
        (0, {"children": (1,)}),
        (3, {"parent": None}),
    ],
)
def test_the_bookkeeping_of_a_tree_is_checked(position: int, change: dict[str, object]) -> None:
    tree = least_height_tree(PATH)
    nodes = list(tree.nodes)
    nodes[position] = replace(nodes[position], **change)  # type: ignore[arg-type]
    assert any(m.startswith("form") for m in violations(replace(tree, nodes=tuple(nodes)), PATH))


def connected_subsets(tree: JoinTree) -> Iterator[frozenset[int]]:
    """All sets of nodes that contain the root and, with a node, its parent."""
    for size in range(1, len(tree.nodes) + 1):
        for chosen in map(frozenset, combinations(range(len(tree.nodes)), size)):
            if all(i == 0 or tree.nodes[i].parent in chosen for i in chosen) and 0 in chosen:
                yield chosen


def is_connex(tree: JoinTree, chosen: frozenset[int], free: frozenset[str]) -> bool:
    """CROWN, definition 3.2, connex property (ii) and (iii)."""
    covered = {v for i in chosen for v in tree.nodes[i].variables}
    return free <= covered and all(set(tree.nodes[i].key) <= free for i in chosen)


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 10)))
def test_the_connex_subtree_is_the_least_one_if_there_is_any(seed: int) -> None:
    generator = random.Random(seed)
    counts = [0, 0]
    for _ in range(6):
        edges = random_edges(generator, atoms=generator.randint(1, 4), widths=(1, 2, 2, 3))
        if not is_acyclic(edges):
            continue
        variables = sorted(frozenset[str]().union(*edges))
        free = frozenset(generator.sample(variables, generator.randint(0, len(variables) - 1)))
        trees = list(general_trees(edges))
        for brute in generator.sample(trees, min(10, len(trees))):
            tree = to_join_tree(brute.shape(), free)
            candidates = [c for c in connected_subsets(tree) if is_connex(tree, c, free)]
            counts[bool(candidates)] += 1
            assert is_valid(tree, edges, free) == bool(candidates)
            if candidates:
                assert all(tree.connex <= candidate for candidate in candidates)
                assert tree.connex in candidates
            for chosen in connected_subsets(tree):
                assert is_valid(replace(tree, connex=chosen), edges, free) == (chosen in candidates)
    assert counts[1]


def test_the_whole_tree_is_the_connex_subtree_of_a_full_query() -> None:
    nodes = to_join_tree(node("ab", 0, node("a", 1))).nodes
    assert connex_subtree(nodes) == connex_subtree(nodes, frozenset("ab")) == {0, 1}
    assert connex_subtree(nodes, frozenset("a")) == {0}
