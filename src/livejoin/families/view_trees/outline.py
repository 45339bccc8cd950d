"""View trees as people see them: the join tree across the bags that are made once (ICDT 2025, section 3)."""

from __future__ import annotations

from dataclasses import replace

from livejoin.families.outline import NodeOutline, PlanOutline
from livejoin.families.view_trees.cut import StaticCut


def static_outline(cut: StaticCut, across: PlanOutline) -> PlanOutline:
    """The plan of a query with static tables.

    Args:
        cut: The bags.
        across: The join tree across them.
    """
    bags = {bag.title for bag in cut.derived}

    def node(found: NodeOutline) -> NodeOutline:
        inside = bags.intersection(found.atoms)
        return replace(found, label=found.atoms[0], views=("joined once", *found.views)) if inside else found

    number = len(cut.derived)
    over = "" if not number else f" over {number} static bag{'' if number == 1 else 's'} of width {_width(cut)}"
    title = (
        f"join tree of height {across.height}{over}, with nothing but look-ups above the tables that change "
        "(ICDT 2025)"
    )
    return replace(across, kind="view trees", title=title, nodes=tuple(map(node, across.nodes)))


def _width(cut: StaticCut) -> str:
    return str(cut.found.exponent)
