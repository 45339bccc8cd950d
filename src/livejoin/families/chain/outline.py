"""A chain of joins as people see it."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.families.chain.order import Store
from livejoin.families.outline import AtomOutline, EdgeOutline, NodeOutline, PlanOutline


def chain_outline(order: Sequence[int], stores: Sequence[Store], atoms: Sequence[AtomOutline]) -> PlanOutline:
    """The joins, the last one at the top, each with what was joined before it and one atom."""
    nodes: list[NodeOutline] = []
    edges: list[EdgeOutline] = []
    number = len(order)

    def add(store: int, aliases: tuple[str, ...], depth: int) -> int:
        position = len(nodes)
        found = stores[store]
        atom = atoms[order[store]] if store < number else None
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
        aliases = tuple(atoms[a].alias for a in order[: last + 1])
        position = add(0 if last == 0 else number + last - 1, aliases, depth)
        if last:
            for child in (join(last - 1, depth + 1), add(last, aliases[-1:], depth + 1)):
                edges.append(EdgeOutline(position, child, nodes[child].key, False))
        return position

    join(number - 1, 0)
    height = number - 1
    joins = f"{height} binary join{'' if height == 1 else 's'}"
    title = f"chain of {joins}, all results kept (standard change propagation)"
    return PlanOutline("chain of joins", title, tuple(nodes), tuple(edges), number)
