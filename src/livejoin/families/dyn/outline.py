"""DYN's tree as people see it, with what the T-representation has at each node (DYN, Definition 4.8)."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.families.dyn.structure import DynNode
from livejoin.families.outline import AtomOutline, EdgeOutline, NodeOutline, PlanOutline


def dyn_outline(tree: Sequence[DynNode], atoms: Sequence[AtomOutline]) -> PlanOutline:
    """DYN's tree with what the T-representation has at each node (DYN, Definition 4.8)."""
    depths: list[int] = []
    nodes = []
    for node in tree:
        depths.append(0 if node.parent is None else depths[node.parent] + 1)
        atom = None if node.atom is None else atoms[node.atom]
        indexes = [] if node.parent is None else [f"live rows by ({', '.join(node.key)})"]
        for child in node.children[node.guards :]:
            indexes.append(f"rows of all guards by ({', '.join(tree[child].key)})")
        nodes.append(
            NodeOutline(
                label=f"[{', '.join(node.variables)}]" if atom is None else atom.name,
                variables=node.variables,
                atoms=() if atom is None else (atom.alias,),
                key=node.key,
                connex=node.connex,
                views=("Lambda", "Psi") if atom is not None else ("Lambda", "Psi", "Gamma"),
                indexes=tuple(indexes),
                predicate=None if atom is None else atom.predicate,
                depth=0,
            )
        )
    edges = tuple(
        EdgeOutline(node.parent, position, node.key, node.key == tree[node.parent].variables)
        for position, node in enumerate(tree)
        if node.parent is not None
    )
    title = "T-representation over a generalized join tree, every multiplicity kept up to the root (DYN)"
    return PlanOutline("T-representation", title, tuple(nodes), edges, 1)
