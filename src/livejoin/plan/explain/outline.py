"""Plans drawn as outlines: a join tree, a foreign-key graph, the view trees of a safe rewriting."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.plan.explain.explanation import AtomOutline, EdgeOutline, NodeOutline, PlanOutline
from livejoin.query import ConjunctiveQuery
from livejoin.search.problem import Problem
from livejoin.search.spread import spreads
from livejoin.theory.keys.foreign_key import ForeignKeyGraph
from livejoin.theory.static.view_tree import Rewriting, View
from livejoin.theory.trees.join_tree import JoinTree


def atom_outlines(query: ConjunctiveQuery) -> tuple[AtomOutline, ...]:
    """The atoms of a query."""
    return tuple(
        AtomOutline(atom.alias, atom.table.name, atom.variables, atom.predicate, atom.table.static)
        for atom in query.atoms
    )


def tree_outline(tree: JoinTree, problem: Problem, atoms: Sequence[AtomOutline], live: bool) -> PlanOutline:
    """A join tree with the views and indexes of each node (CROWN, section 4.1).

    Args:
        tree: The tree.
        problem: The query that it is a tree of.
        atoms: The query's atoms.
        live: Whether live views are kept for deltas.
    """
    nodes = []
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
                indexes=_indexes(tree, position),
                predicate=None if atom is None else atom.predicate,
                depth=depth - (atom is not None),
                changes=problem.weights[node.atom] / total if node.atom is not None and total else None,
            )
        )
    kinds = spreads(tree, problem)
    edges = tuple(
        EdgeOutline(node.parent, position, node.key, kinds[position] != "wide")
        for position, node in enumerate(tree.nodes)
        if node.parent is not None
    )
    title = f"join tree of height {tree.height}, change propagation without joins (CROWN)"
    return PlanOutline("join tree", title, tuple(nodes), edges, tree.height)


def tree_line(tree: JoinTree, atoms: Sequence[AtomOutline]) -> str:
    """A join tree on one line, with aliases for atoms."""

    def show(position: int) -> str:
        node = tree.nodes[position]
        head = f"[{', '.join(node.variables)}]" if node.atom is None else atoms[node.atom].alias
        below = ", ".join(show(child) for child in node.children)
        return f"{head}{{{below}}}" if below else head

    return show(0)


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


def view_tree_outline(rewriting: Rewriting, dynamic: frozenset[int], atoms: Sequence[AtomOutline]) -> PlanOutline:
    """The view trees of a safe rewriting; views over static tables are computed once (ICDT 2025, section 3)."""
    nodes: list[NodeOutline] = []
    edges: list[EdgeOutline] = []

    def add(view: View, parent: int | None, above: frozenset[str], depth: int) -> int:
        position = len(nodes)
        key = tuple(sorted(view.variables & above))
        variables = tuple(sorted(view.variables))
        atom = None if view.atom is None else atoms[view.atom]
        how = "base rows" if atom else "join" if len(view.children) > 1 else "projection"
        moving = "maintained" if view.is_dynamic(dynamic) else "computed once"
        nodes.append(
            NodeOutline(
                label=f"V{1 + sum(not node.atoms for node in nodes)}" if atom is None else atom.name,
                variables=variables,
                atoms=() if atom is None else (atom.alias,),
                key=key,
                connex=False,
                views=(f"{how}, {moving}",),
                indexes=() if parent is None else (f"by ({', '.join(key)}), for look-ups",),
                predicate=None if atom is None else atom.predicate,
                depth=depth,
            )
        )
        if parent is not None:
            edges.append(EdgeOutline(parent, position, key, True))
        return 1 + max((add(child, position, view.variables, depth + 1) for child in view.children), default=0)

    height = max(add(tree, None, frozenset(), 0) for tree in rewriting.trees)
    title = "view trees of a safe rewriting, the static ones computed once (ICDT 2025)"
    return PlanOutline("view trees", title, tuple(nodes), tuple(edges), height)


def view_line(view: View, atoms: Sequence[AtomOutline]) -> str:
    """A view tree on one line, with aliases for atoms."""
    if view.atom is not None:
        return atoms[view.atom].alias
    return f"({', '.join(sorted(view.variables))}){{{', '.join(view_line(child, atoms) for child in view.children)}}}"


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


def _indexes(tree: JoinTree, position: int) -> tuple[str, ...]:
    """The directory of the edge above a node: it finds the node's rows and its parent's by the key between them."""
    node = tree.nodes[position]
    if node.parent is None:
        return ()
    key = f"by ({', '.join(node.key)})"
    if tree.nodes[node.parent].atom is None:
        return (f"{key}, shared by all children of [{', '.join(node.key)}]",)
    return (f"{key}, of its rows and of its parent's",)
