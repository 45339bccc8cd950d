"""What an explanation says of a join that another algorithm than the planner's choice maintains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from livejoin.families.bags.plan import BaggedPlan
from livejoin.families.chain.plan import ChainPlan
from livejoin.families.dyn.plan import DynPlan
from livejoin.families.dyn.structure import DynNode
from livejoin.families.program import Program
from livejoin.plan.explain.explanation import AtomOutline, EdgeOutline, Explanation, NodeOutline, PlanOutline
from livejoin.search.guarantee import Guarantee, UpdateBound

_DELAY = "constant delay a row, full and delta"
_DISTINCT = "constant delay a row; the deltas of distinct results look at every result whose multiplicity changes"


def as_maintained(told: Explanation, physical: Program) -> Explanation:
    """An explanation with the plan and the guarantee of the algorithm that a physical plan is for.

    Args:
        told: The explanation of the planner's choice.
        physical: The plan that maintains the join.
    """
    match physical:
        case DynPlan():
            return _named(told, "dyn", dyn_outline(physical, told.atoms), dyn_guarantee(physical))
        case ChainPlan():
            return _named(told, "change-propagation", chain_outline(physical, told.atoms), chain_guarantee(physical))
        case BaggedPlan() if isinstance(physical.outer, DynPlan):
            title = f"{told.plan.title}; across the bags a T-representation (DYN)"
            return _named(told, "dyn", replace(told.plan, title=title), told.guarantee)
        case _:
            return told


def _named(told: Explanation, name: str, plan: PlanOutline, guarantee: Guarantee) -> Explanation:
    reason = f"asked for by algorithm={name!r}; the planner takes {told.plan.title}"
    return replace(
        told, plan=plan, guarantee=guarantee, reason=reason, executable=True, obstacle="", suggestions=(), log=None
    )


def dyn_guarantee(plan: DynPlan) -> Guarantee:
    """What Dynamic Yannakakis promises (DYN, section 4)."""
    wide = _no_guard(plan.nodes)
    linear = "linear in the base rows"
    if wide is None:
        bound, source = UpdateBound.ALWAYS, "DYN, Theorem 4.15"
        update = "O(1) a change, for every change sequence: every child of the tree contains its parent (it is simple)"
    else:
        bound, source = UpdateBound.LINEAR, "DYN, Proposition 4.16"
        update = f"O(|D|) a change at most: one change of ({', '.join(wide.key)}) reaches every row above with this key"
    delay = _DISTINCT if plan.query.free is not None and not plan.query.sums else _DELAY
    return Guarantee(bound, update, delay, f"{linear}, whatever the size of the result", linear, source)


def _no_guard(nodes: Sequence[DynNode]) -> DynNode | None:
    """A child that does not contain its parent."""
    for node in nodes:
        if node.parent is not None and node.key != nodes[node.parent].variables:
            return node
    return None


def dyn_outline(plan: DynPlan, atoms: Sequence[AtomOutline]) -> PlanOutline:
    """DYN's tree with what the T-representation has at each node (DYN, Definition 4.8)."""
    depths: list[int] = []
    nodes = []
    for node in plan.nodes:
        depths.append(0 if node.parent is None else depths[node.parent] + 1)
        atom = None if node.atom is None else atoms[node.atom]
        indexes = [] if node.parent is None else [f"live rows by ({', '.join(node.key)})"]
        for child in node.children[node.guards :]:
            indexes.append(f"rows of all guards by ({', '.join(plan.nodes[child].key)})")
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
        EdgeOutline(node.parent, position, node.key, node.key == plan.nodes[node.parent].variables)
        for position, node in enumerate(plan.nodes)
        if node.parent is not None
    )
    title = "T-representation over a generalized join tree, every multiplicity kept up to the root (DYN)"
    return PlanOutline("T-representation", title, tuple(nodes), edges, 1)


def chain_guarantee(plan: ChainPlan) -> Guarantee:
    """What standard change propagation promises: nothing but what the joins make."""
    results = "all rows that the joins on the way make"
    return Guarantee(
        UpdateBound.POLYNOMIAL if plan.height else UpdateBound.ALWAYS,
        f"O(changes in {results}) a change",
        "constant delay a row, for the result is kept",
        f"{results}, and the result",
        f"{results}, and the result",
        "standard change propagation (CROWN, section 1)",
    )


def chain_outline(plan: ChainPlan, atoms: Sequence[AtomOutline]) -> PlanOutline:
    """The joins, the last one at the top, each with what was joined before it and one atom."""
    nodes: list[NodeOutline] = []
    edges: list[EdgeOutline] = []
    number = len(plan.order)

    def add(store: int, aliases: tuple[str, ...], depth: int) -> int:
        position = len(nodes)
        found = plan.stores[store]
        atom = atoms[plan.order[store]] if store < number else None
        key = found.key or ()
        nodes.append(
            NodeOutline(
                label=f"join of {', '.join(aliases)}" if atom is None else atom.name,
                variables=found.variables,
                atoms=aliases,
                key=key,
                connex=False,
                views=("all rows with their multiplicities",),
                indexes=() if found.key is None else (f"by ({', '.join(key)})",),
                predicate=None if atom is None else atom.predicate,
                depth=depth,
            )
        )
        return position

    def join(last: int, depth: int) -> int:
        """The node of the join of the first atoms up to a position in the order."""
        aliases = tuple(atoms[a].alias for a in plan.order[: last + 1])
        position = add(0 if last == 0 else number + last - 1, aliases, depth)
        if last:
            for child in (join(last - 1, depth + 1), add(last, aliases[-1:], depth + 1)):
                edges.append(EdgeOutline(position, child, nodes[child].key, False))
        return position

    join(number - 1, 0)
    joins = f"{plan.height} binary join{'' if plan.height == 1 else 's'}"
    title = f"chain of {joins}, all results kept (standard change propagation)"
    return PlanOutline("chain of joins", title, tuple(nodes), tuple(edges), plan.height + 1)
