"""The view trees of a safe rewriting as people see them (ICDT 2025, section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.families.outline import AtomOutline, EdgeOutline, NodeOutline, PlanOutline
from livejoin.theory.static.view_tree import Rewriting, View


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
