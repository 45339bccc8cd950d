"""The order in which an enumeration visits the nodes of a tree: up from where it begins, then down everywhere else."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.families.crown.structure import PlanNode
from livejoin.kernels.crown import layout as u
from livejoin.query import ConjunctiveQuery


def enumeration_steps(
    query: ConjunctiveQuery, nodes: Sequence[PlanNode], begin: int | None
) -> tuple[list[int | None], list[tuple[int, int, int]]]:
    """Order of the connex nodes by depth, and the steps (kind, node, depth of the source) that open depths 1, 2, ...

    Args:
        query: The query.
        nodes: The nodes of its plan.
        begin: Where enumeration begins: at a node that changed, or for None above the root, for all results.
    """
    order: list[int | None] = [begin]
    steps: list[tuple[int, int, int]] = []

    def is_inline(parent: int, child: int) -> bool:
        return nodes[parent].children.index(child) < nodes[parent].inline

    if begin is None:
        order.append(0)
        steps.append((u.STEP_ROOT, 0, 0))
    else:
        below = begin
        for above in _ancestors(nodes, begin):
            kind = u.STEP_UP_INLINE if is_inline(above, below) else u.STEP_UP_LINKED
            steps.append((kind, above, len(order) - 1))
            order.append(above)
            below = above
    visited = set(order)

    def descend(node: int, depth: int) -> None:
        for child in sorted(nodes[node].children, key=lambda c: _inwardness(query, nodes, c)):
            if nodes[child].connex and child not in visited:
                kind = u.STEP_DOWN_INLINE if is_inline(node, child) else u.STEP_DOWN_LINKED
                visited.add(child)
                steps.append((kind, child, depth))
                order.append(child)
                descend(child, len(order) - 1)

    for depth, node in enumerate(list(order)):
        if node is not None:
            descend(node, depth)
    return order, steps


def _ancestors(nodes: Sequence[PlanNode], node: int) -> list[int]:
    """The nodes above a node, from its parent to the root."""
    above = []
    parent = nodes[node].parent
    while parent is not None:
        above.append(parent)
        parent = nodes[parent].parent
    return above


def _inwardness(query: ConjunctiveQuery, nodes: Sequence[PlanNode], child: int) -> tuple[bool, int]:
    """Sorts siblings for an enumeration: the innermost block should be long, so unfiltered leaves come last."""
    below = [child]
    for node in below:
        below.extend(nodes[node].children)
    atoms = [a for node in below if (a := nodes[node].atom) is not None]
    return all(query.atoms[a].predicate is None for a in atoms), -len(atoms)
