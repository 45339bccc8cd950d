"""The plan over the bags of a decomposition, for cyclic queries (CROWN, section 7.1).

Inside a bag, a change is joined with the bag's other relations; across the bags, the join-tree plan runs. What a change
costs in the worst case is a power of the base rows N. Let x be the power for the rows that a change of a relation R
makes in its bag B: rho* of the variables of B without those of R. On its way up, a bag's change of N^x rows reaches at
most N^y rows of the bag above, with ``y = min(rho*(parent), x + rho*(parent without the key))``; a generalized relation
changes in no more rows than its child. The largest power on any way to the root bounds the change. For the dumbbell it
is 1 (CROWN, Lemma 7.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from livejoin.plan.explain.explanation import AtomOutline, EdgeOutline, NodeOutline, PlanOutline
from livejoin.search.guarantee import Guarantee, UpdateBound, bag_guarantee
from livejoin.search.problem import FANOUT, Problem
from livejoin.theory.cyclic.decomposition import Bag, Decomposition, decompose
from livejoin.theory.cyclic.edge_cover import fractional_edge_cover


@dataclass(frozen=True)
class BagPlan:
    """A plan over bags.

    Args:
        decomposition: The bags and the tree over them.
        outline: The plan, to be drawn.
        line: It on one line.
        guarantee: What it promises.
        cost: Sum over the atoms of the depth of their bags times their expected changes.
        propagation: Predicted rows that a change visits.
    """

    decomposition: Decomposition
    outline: PlanOutline
    line: str
    guarantee: Guarantee
    cost: float
    propagation: float


def bag_plan(problem: Problem, atoms: Sequence[AtomOutline], live: bool) -> BagPlan:
    """The plan over the bags of the best decomposition.

    Cost: that of `decompose`, and a linear program for each atom of a bag and each edge of the tree.

    Args:
        problem: The query.
        atoms: Its atoms.
        live: Whether live views are kept for deltas.
    """
    found = decompose(problem.edges, problem.free)
    exponent = update_exponent(found, problem)
    bound = UpdateBound.LINEAR if exponent <= 1 else UpdateBound.POLYNOMIAL
    sizes = [rows for rows in problem.rows if rows is not None]
    mean = sum(sizes) / len(sizes) if sizes else FANOUT
    cost = sum(
        (depth - 1) * problem.weights[atom]
        for node, depth in zip(found.tree.nodes, found.tree.depths, strict=True)
        if node.atom is not None
        for atom in found.bags[node.atom].atoms
    )
    return BagPlan(
        decomposition=found,
        outline=_outline(found, problem, atoms, live),
        line=_line(found, atoms),
        guarantee=bag_guarantee(bound, str(exponent), str(found.width)),
        cost=float(cost),
        propagation=max(1.0, mean) ** float(exponent),
    )


def update_exponent(found: Decomposition, problem: Problem) -> Fraction:
    """The power of the base rows that bounds the cost of a change."""
    place = {node.atom: position for position, node in enumerate(found.tree.nodes) if node.atom is not None}
    return max(
        (
            _on_the_way(found, problem, place[number], _rest(problem, bag, problem.edges[atom]))
            for number, bag in enumerate(found.bags)
            for atom in (*bag.atoms, *bag.filters)
            if atom in problem.dynamic
        ),
        default=Fraction(0),
    )


def _on_the_way(found: Decomposition, problem: Problem, position: int, changed: Fraction) -> Fraction:
    """The largest power between a bag in which so many rows change and the root."""
    largest = changed
    node = found.tree.nodes[position]
    while node.parent is not None:
        parent = found.tree.nodes[node.parent]
        if parent.atom is not None:
            bag = found.bags[parent.atom]
            changed = min(bag.width, changed + _rest(problem, bag, frozenset(node.key)))
        largest = max(largest, changed)
        node = parent
    return largest


def _rest(problem: Problem, bag: Bag, fixed: frozenset[str]) -> Fraction:
    """rho* of a bag's variables when some of them have given values."""
    free = bag.variables - fixed
    if not free:
        return Fraction(0)
    parts = [problem.edges[atom] & free for atom in (*bag.atoms, *bag.filters)]
    return fractional_edge_cover(parts, free).number


def _outline(found: Decomposition, problem: Problem, atoms: Sequence[AtomOutline], live: bool) -> PlanOutline:
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


def _line(found: Decomposition, atoms: Sequence[AtomOutline]) -> str:
    def show(position: int) -> str:
        node = found.tree.nodes[position]
        head = f"[{', '.join(node.variables)}]" if node.atom is None else f"({_names(found.bags[node.atom], atoms)})"
        below = ", ".join(show(child) for child in node.children)
        return f"{head}{{{below}}}" if below else head

    return show(0)
