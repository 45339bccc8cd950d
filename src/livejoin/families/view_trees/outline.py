"""View trees as people see them: the join tree across the bags that are made once (ICDT 2025, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from livejoin.families.outline import NodeOutline, PlanOutline
from livejoin.families.view_trees.cut import StaticCut


def static_outline(cut: StaticCut, across: PlanOutline, rows: tuple[float, ...] | None) -> PlanOutline:
    """The plan of a query with static tables.

    Args:
        cut: The bags.
        across: The join tree across them.
        rows: The rows that each bag is expected to have, if that is known.
    """
    expected: Sequence[float | None] = rows or [None] * len(cut.derived)
    bags = dict(zip((bag.title for bag in cut.derived), expected, strict=True))

    def node(found: NodeOutline) -> NodeOutline:
        alias = next((alias for alias in found.atoms if alias in bags), None)
        if alias is None:
            return found
        size = bags[alias]
        made = "joined once" if size is None else f"joined once, about {size:,.0f} rows"
        return replace(found, label=alias, views=(made, *found.views))

    number = len(cut.derived)
    over = "" if not number else f" over {number} static bag{'' if number == 1 else 's'} of width {_width(cut)}"
    title = (
        f"join tree of height {across.height}{over}, with nothing but look-ups above the tables that change (ICDT 2025)"
    )
    return replace(across, kind="view trees", title=title, nodes=tuple(map(node, across.nodes)))


def _width(cut: StaticCut) -> str:
    return str(cut.found.exponent)
