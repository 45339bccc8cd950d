"""The nodes of plans of Dynamic Yannakakis, and the chains of change propagation."""

from __future__ import annotations

import random

import pytest

from algorithm_driver import Problem
from livejoin.families.chain.order import chain_stores, join_order
from livejoin.families.dyn.plan import compile_dyn
from livejoin.families.dyn.structure import DynNode, dyn_nodes, enumeration_order
from livejoin.theory import is_acyclic
from livejoin.theory.trees.dyn_tree_laws import dyn_violations
from livejoin.theory.trees.join_tree import JoinTree, Node, least_height_tree


def edges_of(*names: str) -> list[frozenset[str]]:
    return [frozenset(name) for name in names]


def line(nodes: tuple[DynNode, ...], position: int = 0) -> str:
    """Nodes on one line; those in N are marked."""
    node = nodes[position]
    head = ("*" if node.connex else "") + (f"[{''.join(node.variables)}]" if node.atom is None else str(node.atom))
    below = ", ".join(line(nodes, child) for child in node.children)
    return f"{head}{{{below}}}" if below else head


def nodes_of(names: list[str], free: str | None, distinct: bool = True) -> tuple[DynNode, ...]:
    output = None if free is None else frozenset(free)
    return dyn_nodes(least_height_tree(edges_of(*names), output), output, [distinct] * len(names))


@pytest.mark.parametrize(
    ("free", "expected"),
    [
        (None, "*[b]{*0, *[bc]{*1, *2}}"),
        ("abcd", "*[b]{*0, *[bc]{1, *2}}"),
        ("b", "*[b]{0, [bc]{1, 2}}"),
        ("", "*[]{[b]{0, [bc]{1, 2}}}"),
    ],
)
def test_a_path_of_three(free: str | None, expected: str) -> None:
    """Guards come first; with distinct results, leaves that add no variable leave N."""
    assert line(nodes_of(["ab", "bc", "cd"], free)) == expected


def test_atoms_of_n_whose_rows_may_agree_get_a_hyperedge() -> None:
    assert line(nodes_of(["ab", "bc"], "abc", distinct=False)) == "*[b]{*[ab]{0}, *[bc]{1}}"
    assert line(nodes_of(["ab"], "ab", distinct=False)) == "*[ab]{0}"
    assert line(nodes_of(["ab"], None, distinct=False)) == "*0"


def test_random_trees_keep_dyns_laws() -> None:
    """With the hyperedges added a tree is still one of DYN's, and N has exactly the output variables."""
    rng = random.Random(5)
    seen = 0
    while seen < 300:
        edges = [frozenset(rng.sample("abcdef", rng.randint(1, 3))) for _ in range(rng.randint(1, 5))]
        free = frozenset(v for v in frozenset[str]().union(*edges) if rng.random() < 0.6)
        if not (is_acyclic(edges) and is_acyclic([*edges, free])):
            continue
        seen += 1
        distinct = [rng.random() < 0.5 for _ in edges]
        nodes = dyn_nodes(least_height_tree(edges, free), free, distinct)
        plain = tuple(Node(n.variables, n.atom, n.parent, n.children, n.key) for n in nodes)
        broken = dyn_violations(JoinTree(tuple(_ordered(plain)), frozenset()), edges)
        assert [b for b in broken if not b.startswith("form")] == []
        connex = {i for i, n in enumerate(nodes) if n.connex}
        assert frozenset[str]().union(*(nodes[i].variables for i in connex)) == free
        assert all(nodes[i].parent is None or nodes[i].parent in connex for i in connex)
        assert all(distinct[a] for i in connex if (a := nodes[i].atom) is not None)
        for node in nodes:
            guards = [set(node.variables) <= set(nodes[c].variables) for c in node.children]
            assert guards == [True] * node.guards + [False] * (len(guards) - node.guards)


def _ordered(nodes: tuple[Node, ...]) -> list[Node]:
    return [Node(n.variables, n.atom, n.parent, tuple(sorted(n.children)), n.key) for n in nodes]


def test_enumeration_goes_along_the_changed_path_first_and_filtered_subtrees_before_others() -> None:
    nodes = nodes_of(["ab", "bc", "cd"], None)
    assert line(nodes) == "*[b]{*0, *[bc]{*1, *2}}"
    assert enumeration_order(nodes, [], [False, False, True]) == [0, 2, 4, 3, 1]
    assert enumeration_order(nodes, [0, 1], [False, False, False]) == [0, 1, 2, 3, 4]


def test_the_height_counts_hyperedges() -> None:
    query = Problem(("ab", "bc", "cd"), "abcd").query
    assert compile_dyn(query, least_height_tree(query.edges), True).height == 2


def test_the_order_of_a_chain_shares_variables_and_begins_with_filters() -> None:
    assert join_order(edges_of("ab", "bc", "cd"), [False, False, False]) == (0, 1, 2)
    assert join_order(edges_of("ab", "bc", "cd"), [False, False, True]) == (2, 1, 0)
    assert join_order(edges_of("ab", "cd", "bc", "ac"), [False] * 4) == (0, 2, 3, 1)


def test_a_chain_keeps_what_is_needed_and_no_more() -> None:
    query = Problem(("ab", "bc", "cd"), "ad").query
    stores = chain_stores(query, (0, 1, 2))
    assert [("".join(s.variables), None if s.key is None else "".join(s.key)) for s in stores] == [
        ("ab", "b"),
        ("bc", "b"),
        ("cd", "c"),
        ("ac", "c"),
        ("ad", None),
    ]


def test_a_cycle_is_closed_by_all_shared_variables() -> None:
    query = Problem(("ab", "bc", "ac"), "ab").query
    stores = chain_stores(query, (0, 1, 2))
    assert [("".join(s.variables), None if s.key is None else "".join(s.key)) for s in stores] == [
        ("ab", "b"),
        ("bc", "b"),
        ("ac", "ac"),
        ("abc", "ac"),
        ("ab", None),
    ]
