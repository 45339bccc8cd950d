"""A join tree as people see it, with the views and indexes of each node (CROWN, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.families.outline import AtomOutline, EdgeOutline, NodeOutline, PlanOutline
from livejoin.search.problem import Problem
from livejoin.search.spread import spreads
from livejoin.theory.trees.join_tree import JoinTree, Node


def tree_outline(tree: JoinTree, problem: Problem, atoms: Sequence[AtomOutline], live: bool) -> PlanOutline:
    """A join tree with the views and indexes of each node (CROWN, section 4.1).

    Args:
        tree: The tree.
        problem: The query that it is a tree of.
        atoms: The query's atoms.
        live: Whether live views are kept for deltas.
    """
    nodes = []
    kinds = spreads(tree, problem)
    total = sum(problem.weights) if len(set(problem.weights)) > 1 else 0.0
    for position, (node, depth) in enumerate(zip(tree.nodes, tree.depths, strict=True)):
        atom = None if node.atom is None else atoms[node.atom]
        views = ["V_s"]
        if node.parent is not None:
            views.append("V_p")
            if live and node.children:
                views.append("V_l")
        nodes.append(
            NodeOutline(
                label=f"[{', '.join(node.variables)}]" if atom is None else atom.name,
                variables=node.variables,
                atoms=() if atom is None else (atom.alias,),
                key=node.key,
                connex=position in tree.connex,
                views=tuple(views),
                indexes=_indexes(tree, position, kinds[position] == "quiet"),
                predicate=None if atom is None else atom.predicate,
                depth=depth - (atom is not None),
                changes=problem.weights[node.atom] / total if node.atom is not None and total else None,
            )
        )
    edges = tuple(
        EdgeOutline(node.parent, position, _equal(node), kinds[position] not in ("once", "wide"), node.edge)
        for position, node in enumerate(tree.nodes)
        if node.parent is not None
    )
    title = f"join tree of height {tree.height}, change propagation without joins (CROWN)"
    return PlanOutline("join tree", title, tuple(nodes), edges, tree.height)


def _equal(node: Node) -> tuple[str, ...]:
    """What is equal over the edge above a node."""
    if node.edge == "inner":
        return node.key
    return tuple(f"{outer} = {inner}" for outer, inner in zip(node.parent_key, node.key, strict=True))


def _indexes(tree: JoinTree, position: int, is_quiet: bool) -> tuple[str, ...]:
    """The directory of the edge above a node: it finds the node's rows and its parent's by the key between them.

    Where nothing below changes, the parent's are found for a refresh alone.
    """
    node = tree.nodes[position]
    if node.parent is None:
        return ()
    key = f"by ({', '.join(node.key)})"
    if tree.nodes[node.parent].atom is None:
        return (f"{key}, shared by all children of [{', '.join(node.key)}]",)
    if is_quiet:
        return (f"{key}, of its rows; a refresh first loads the join anew, with its parent's",)
    return (f"{key}, of its rows and of its parent's",)
