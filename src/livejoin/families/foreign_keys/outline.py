"""A foreign-key graph as people see it (AJU)."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.families.outline import AtomOutline, EdgeOutline, NodeOutline, PlanOutline
from livejoin.theory.keys.foreign_key import ForeignKeyGraph


def graph_outline(
    graph: ForeignKeyGraph, assertions: Sequence[Sequence[int]], atoms: Sequence[AtomOutline]
) -> PlanOutline:
    """A foreign-key graph with one root; a row is alive if it is on all children and its assertion keys agree (AJU).

    Args:
        graph: The graph, a DAG.
        assertions: For each relation, those whose primary keys are its assertion keys.
        atoms: The query's atoms.
    """
    depths: dict[int, int] = {}
    for relation in graph.digraph.order:
        depths[relation] = 1 + max((depths[p] for p in graph.digraph.parents[relation]), default=-1)
    order = _preorder(graph)
    place = {relation: position for position, relation in enumerate(order)}
    nodes = []
    for relation in order:
        parents = graph.digraph.parents[relation]
        asserted = [f"PK({atoms[other].alias})" for other in assertions[relation]]
        kept = ["live and other rows"] + ([f"assertion keys {', '.join(asserted)}"] if asserted else [])
        key = tuple(sorted(graph.keys[relation])) if parents else ()
        indexes = [f"by ({', '.join(key)}), its primary key"] if key else []
        children = graph.digraph.children[relation]
        indexes += [f"by ({', '.join(sorted(graph.keys[c]))}), its key of {atoms[c].alias}" for c in children]
        nodes.append(
            NodeOutline(
                label=atoms[relation].name,
                variables=tuple(sorted(graph.relations[relation])),
                atoms=(atoms[relation].alias,),
                key=key,
                connex=False,
                views=tuple(kept),
                indexes=tuple(indexes),
                predicate=atoms[relation].predicate,
                depth=depths[relation],
            )
        )
    edges = tuple(
        EdgeOutline(place[edge.parent], place[edge.child], tuple(sorted(graph.keys[edge.child])), False)
        for edge in graph.references
    )
    height = 1 + max(depths.values())
    title = f"foreign-key graph of height {height}, each row joins at most one row of each relation below it (AJU)"
    return PlanOutline("foreign keys", title, tuple(nodes), edges, height)


def _preorder(graph: ForeignKeyGraph) -> list[int]:
    """The relations from the root downwards, each when it is met first."""
    order: list[int] = []
    todo = list(reversed(graph.digraph.roots))
    while todo:
        relation = todo.pop()
        if relation not in order:
            order.append(relation)
            todo.extend(reversed(graph.digraph.children[relation]))
    return order
