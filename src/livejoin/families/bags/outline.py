"""A join tree over bags as people see it."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.families.outline import AtomOutline, EdgeOutline, NodeOutline, PlanOutline
from livejoin.search.problem import Problem
from livejoin.theory.cyclic.decomposition import Bag, Decomposition


def bag_outline(found: Decomposition, problem: Problem, atoms: Sequence[AtomOutline], live: bool) -> PlanOutline:
    nodes = []
    total = sum(problem.weights) if len(set(problem.weights)) > 1 else 0.0
    for position, (node, depth) in enumerate(zip(found.tree.nodes, found.tree.depths, strict=True)):
        bag = None if node.atom is None else found.bags[node.atom]
        views = ["V_s"]
        if bag is not None and not bag.is_atom:
            views.insert(0, f"join of {_names(bag, atoms)}")
        if node.parent is not None:
            views.append("V_p")
            if live and node.children:
                views.append("V_l")
        nodes.append(
            NodeOutline(
                label=f"[{', '.join(node.variables)}]" if bag is None else _label(bag, atoms),
                variables=node.variables,
                atoms=() if bag is None else tuple(atoms[a].alias for a in bag.atoms),
                key=node.key,
                connex=position in found.tree.connex,
                views=tuple(views),
                indexes=() if node.parent is None else (f"by ({', '.join(node.key)})",),
                predicate=None if bag is None or not bag.is_atom else atoms[bag.atoms[0]].predicate,
                depth=depth - (bag is not None),
                changes=sum(problem.weights[a] for a in bag.atoms) / total if bag is not None and total else None,
            )
        )
    edges = tuple(
        EdgeOutline(node.parent, position, node.key, found.tree.nodes[node.parent].atom is None)
        for position, node in enumerate(found.tree.nodes)
        if node.parent is not None
    )
    height = found.tree.height
    title = (
        f"join tree of height {height} over {_count(found)} of width {found.width}, joins inside the bags, "
        "change propagation without joins across them (CROWN, section 7.1)"
    )
    return PlanOutline("bags", title, tuple(nodes), edges, height)


def _count(found: Decomposition) -> str:
    number = len(found.bags)
    return "1 bag" if number == 1 else f"{number} bags"


def _label(bag: Bag, atoms: Sequence[AtomOutline]) -> str:
    if bag.is_atom:
        return atoms[bag.atoms[0]].name
    return f"bag {{{_names(bag, atoms)}}}"


def _names(bag: Bag, atoms: Sequence[AtomOutline]) -> str:
    """The atoms of a bag; those that only filter it in angle brackets."""
    return ", ".join([*(atoms[a].alias for a in bag.atoms), *(f"<{atoms[a].alias}>" for a in bag.filters)])


def bag_line(found: Decomposition, atoms: Sequence[AtomOutline]) -> str:
    def show(position: int) -> str:
        node = found.tree.nodes[position]
        head = f"[{', '.join(node.variables)}]" if node.atom is None else f"({_names(found.bags[node.atom], atoms)})"
        below = ", ".join(show(child) for child in node.children)
        return f"{head}{{{below}}}" if below else head

    return show(0)
