"""Generalized join trees: their laws, and the search for one of least height against exhaustive enumeration."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from theory_brute_force import general_trees, random_acyclic_edges, random_edges, traditional_trees

from livejoin.errors import UnsupportedQueryError
from livejoin.theory import JoinTree, is_acyclic, is_valid, least_height_tree, violations
from livejoin.theory.join_tree import Shape, to_join_tree

Cost = tuple[int, float, int]


def edges_of(*names: str) -> list[frozenset[str]]:
    return [frozenset(name) for name in names]


def cost(tree: JoinTree, weights: Sequence[float]) -> Cost:
    depths = sum(weights[n.atom] * d for n, d in zip(tree.nodes, tree.depths, strict=True) if n.atom is not None)
    return tree.height, depths, sum(n.atom is None for n in tree.nodes)


def node(variables: str, atom: int | None, *children: Shape) -> Shape:
    return Shape(frozenset(variables), atom, children)


@pytest.mark.parametrize(
    ("names", "tree"),
    [
        (["ab"], "0"),
        ([""], "0"),
        (["ab", "bc"], "[b]{0, 1}"),
        (["ab", "bc", "cd"], "[b]{0, 1{2}}"),
        (["ab", "bc", "cd", "de"], "[c]{1{0}, 2{3}}"),
        (["xa", "xb", "xc", "xd"], "[x]{0, 1, 2, 3}"),
        (["ab", "cd"], "[]{0, 1}"),
        (["ab", "bc", "xy", "yz"], "[]{[b]{0, 1}, [y]{2, 3}}"),
        (["", "", "a"], "[]{0, 1, 2}"),
        (["ab", "ab"], "[a, b]{0, 1}"),
        (["ab", "abc", "b"], "[b]{[a, b]{0, 1}, 2}"),
        (["abc", "a", "b", "c"], "[a]{0{2, 3}, 1}"),
    ],
)
def test_known_trees(names: list[str], tree: str) -> None:
    assert str(least_height_tree(edges_of(*names))) == tree


def test_keys_and_preorder() -> None:
    tree = least_height_tree(edges_of("ab", "bc", "cd"))
    assert [n.key for n in tree.nodes] == [(), ("b",), ("b",), ("c",)]
    assert [n.parent for n in tree.nodes] == [None, 0, 0, 2]
    assert [n.children for n in tree.nodes] == [(1, 2), (), (3,), ()]


def test_weights_keep_the_heavy_atoms_up() -> None:
    path = edges_of("ab", "bc", "cd")
    assert str(least_height_tree(path, weights=[1, 1, 9])) == "[c]{1{0}, 2}"
    assert str(least_height_tree(path, weights=[9, 1, 1])) == "[b]{0, 1{2}}"


def test_a_cyclic_hypergraph_is_refused_with_its_cycle() -> None:
    with pytest.raises(UnsupportedQueryError, match="atoms 0, 1, 2 form a cycle"):
        least_height_tree(edges_of("ab", "bc", "ca", "cd"))


@pytest.mark.parametrize("seed", range(30))
def test_no_generalized_tree_is_better(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(10):
        edges = random_edges(generator, atoms=generator.randint(1, 4), variables="abcd")
        if is_acyclic(edges):
            weights = [generator.choice((1, 1, 2, 5)) for _ in edges]
            best = min(cost(tree, weights) for tree in general_trees(edges))
            found = least_height_tree(edges, weights=weights)
            assert violations(found, edges) == []
            assert cost(found, weights) == best, (edges, str(found))


@pytest.mark.parametrize("seed", range(10))
def test_no_traditional_tree_of_five_atoms_is_lower(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(30):
        edges = random_acyclic_edges(generator, atoms=5)
        found = least_height_tree(edges)
        assert violations(found, edges) == []
        assert found.height <= min(tree.height for tree in traditional_trees(edges))


@pytest.mark.parametrize("seed", range(10))
def test_larger_trees_are_valid_with_and_without_budget(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(30):
        edges = random_acyclic_edges(generator, atoms=generator.randint(1, 12))
        best = least_height_tree(edges)
        quick = least_height_tree(edges, budget=0)
        assert violations(best, edges) == []
        assert violations(quick, edges) == []
        assert best.height <= quick.height


def is_hierarchical(edges: Sequence[frozenset[str]]) -> bool:
    """The q-hierarchical full queries: any two variables' atoms contain each other or are disjoint."""
    atoms = [{i for i, e in enumerate(edges) if v in e} for v in sorted(frozenset[str]().union(*edges))]
    return all(a <= b or b <= a or not a & b for a in atoms for b in atoms)


@pytest.mark.parametrize("seed", range(10))
def test_height_one_if_and_only_if_q_hierarchical(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(150):
        edges = random_edges(generator, atoms=generator.randint(1, 6))
        if is_acyclic(edges):
            assert (least_height_tree(edges).height == 1) == is_hierarchical(edges), edges
        else:
            assert not is_hierarchical(edges)


def path(atoms: int) -> list[frozenset[str]]:
    return [frozenset((f"x{i}", f"x{i + 1}")) for i in range(atoms)]


SHAPES = {
    "path": path(12),
    "star": [frozenset(("x", f"y{i}")) for i in range(12)],
    "comb": [*path(6), *(frozenset((f"x{i}", f"y{i}")) for i in range(6))],
    "snowflake": [frozenset(f"x{i}" for i in range(11)), *(frozenset((f"x{i}", f"y{i}")) for i in range(11))],
    "product": [frozenset((f"x{i}", f"y{i}")) for i in range(12)],
    "binary tree": [frozenset((f"x{i // 2}", f"x{i}")) for i in range(1, 13)],
    "chain of containments": [frozenset(f"x{j}" for j in range(i)) for i in range(1, 13)],
}


@pytest.mark.parametrize("name", SHAPES)
def test_twelve_atoms_take_less_than_a_second(name: str) -> None:
    start = time.perf_counter()
    tree = least_height_tree(SHAPES[name])
    assert time.perf_counter() - start < 1
    assert violations(tree, SHAPES[name]) == []


def test_paths_have_half_their_length_as_height() -> None:
    assert [least_height_tree(path(n)).height for n in range(1, 11)] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


AB_BC = edges_of("ab", "bc")


@pytest.mark.parametrize(
    ("shape", "edges", "law"),
    [
        (node("ab", 0), AB_BC, "cover: the tree has atoms"),
        (node("ab", 0, node("ab", 1)), AB_BC, "cover: node 1 has variables"),
        (node("b", None, node("ab", 0), node("bc", 1), node("b", None)), AB_BC, "cover: leaf 3"),
        (node("", None, node("ab", 0), node("bc", 1)), AB_BC, "connect: b"),
        (node("ab", None, node("ab", 0), node("bc", 1)), AB_BC, "guard"),
        (node("ab", 0, node("b", None, node("bc", 1))), AB_BC, "above"),
    ],
)
def test_each_law_is_checked(shape: Shape, edges: list[frozenset[str]], law: str) -> None:
    tree = to_join_tree(shape)
    assert any(message.startswith(law) for message in violations(tree, edges))
    assert not is_valid(tree, edges)


def test_the_bookkeeping_of_a_tree_is_checked() -> None:
    tree = least_height_tree(edges_of("ab", "bc", "cd"))
    for position, change in [
        (1, {"key": ()}),
        (3, {"parent": 1}),
        (0, {"children": (2, 1)}),
        (0, {"children": (1,)}),
        (3, {"parent": None}),
    ]:
        nodes = list(tree.nodes)
        nodes[position] = replace(nodes[position], **change)
        assert any(
            m.startswith("form") for m in violations(replace(tree, nodes=tuple(nodes)), edges_of("ab", "bc", "cd"))
        ), change
