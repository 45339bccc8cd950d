"""A foreign-key graph as people see it (AJU)."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.families.foreign_keys.graph import Link, LinkGraph
from livejoin.families.outline import AtomOutline, EdgeOutline, NodeOutline, PlanOutline


def graph_outline(graph: LinkGraph, atoms: Sequence[AtomOutline]) -> PlanOutline:
    """A foreign-key graph with one root; a row is alive if it is on all children and its assertion keys agree (AJU).

    Args:
        graph: The graph, a DAG.
        atoms: The query's atoms.
    """
    order = _preorder(graph)
    place = {relation: position for position, relation in enumerate(order)}
    nodes = []
    for relation in order:
        asserted = [f"PK({atoms[other].alias})" for other in graph.asserted[relation]]
        kept = ["live and other rows"] + ([f"assertion keys {', '.join(asserted)}"] if asserted else [])
        key = next((tuple(sorted(link.key)) for link in graph.above[relation]), ())
        indexes = [f"by ({', '.join(key)}), its primary key"] if key else []
        indexes += [
            f"by ({', '.join(link.over)}), its key of {atoms[link.child].alias}" for link in graph.below[relation]
        ]
        nodes.append(
            NodeOutline(
                label=atoms[relation].name,
                variables=tuple(sorted(atoms[relation].variables)),
                atoms=(atoms[relation].alias,),
                key=key,
                connex=False,
                views=tuple(kept),
                indexes=tuple(indexes),
                predicate=atoms[relation].predicate,
                depth=graph.depths[relation],
            )
        )
    edges = tuple(EdgeOutline(place[one.parent], place[one.child], _equal(one), False, one.kind) for one in graph.links)
    title = (
        f"foreign-key graph of height {graph.height}, each row joins at most one row of each relation below it (AJU)"
    )
    return PlanOutline("foreign keys", title, tuple(nodes), edges, graph.height)


def _equal(link: Link) -> tuple[str, ...]:
    """What is equal over an edge."""
    if link.kind == "inner":
        return link.key
    return tuple(f"{outer} = {inner}" for outer, inner in zip(link.over, link.key, strict=True))


def _preorder(graph: LinkGraph) -> list[int]:
    """The relations from the root downwards, each when it is met first."""
    order: list[int] = []
    todo = [graph.root]
    while todo:
        relation = todo.pop()
        if relation not in order:
            order.append(relation)
            todo.extend(link.child for link in reversed(graph.below[relation]))
    return order
