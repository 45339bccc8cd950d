"""A transition system as people see it: the static tables, and below them the dynamic tables whose rows matter."""

from __future__ import annotations

from livejoin.families.outline import EdgeOutline, NodeOutline, PlanOutline, StatesOutline, atom_outlines
from livejoin.families.transitions.cut import StaticHub
from livejoin.families.transitions.sizes import RowsThatMatter
from livejoin.families.transitions.system import MOST_BYTES


def transition_outline(hub: StaticHub, sizes: RowsThatMatter | None) -> PlanOutline:
    """The plan of a query across its static tables.

    Args:
        hub: The query across the static tables.
        sizes: The expected sizes, if they are known.
    """
    system, query = hub.system, hub.outer
    first, *atoms = atom_outlines(query)
    joined = "" if sizes is None else f", about {sizes.joined:,.0f} rows"
    what = f"joined once{joined}" if hub.derived else f"read once{joined}"
    nodes = [
        NodeOutline(
            label=first.alias if hub.derived else first.name,
            variables=first.variables,
            atoms=(first.alias,),
            key=(),
            connex=True,
            views=(what, "states and the transitions between them"),
            indexes=tuple(f"by ({', '.join(sorted(decided))}), its rows that matter" for decided in system.decided),
            predicate=first.predicate,
            depth=0,
            promise="static",
        )
    ]
    for place, (atom, decided) in enumerate(zip(atoms, system.decided, strict=True)):
        count = "" if sizes is None else f", about {sizes.of_atoms[place]:,.0f}"
        nodes.append(
            NodeOutline(
                label=atom.name,
                variables=atom.variables,
                atoms=(atom.alias,),
                key=tuple(sorted(decided)),
                connex=False,
                views=(f"which of the rows that matter are there{count}",),
                indexes=(),
                predicate=atom.predicate,
                depth=1,
                promise="append-only" if atom.append_only else "",
            )
        )
    edges = tuple(EdgeOutline(0, place, nodes[place].key, False) for place in range(1, len(nodes)))
    each = f" for each ({', '.join(sorted(system.shared))})" if system.shared else ""
    title = f"transition system: a state{each} is the set of dynamic rows that matter (ICDT 2025)"
    matter: list[float | None] = [None] * len(atoms) if sizes is None else [*sizes.of_atoms]
    states = StatesOutline(
        None if sizes is None else sizes.joined,
        dict(zip((atom.alias for atom in atoms), matter, strict=True)),
        tuple(sorted(system.shared)),
        MOST_BYTES,
    )
    return PlanOutline("transition system", title, tuple(nodes), edges, 1, states=states)
