"""View trees as people see them: the join tree across the bags that are made once (ICDT 2025, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from livejoin.families.outline import BagOutline, NodeOutline, PlanOutline, StaticOutline
from livejoin.families.view_trees.cut import StaticCut
from livejoin.query import ConjunctiveQuery
from livejoin.theory.static.variable_order import OrderNode, VariableOrder


def static_outline(
    cut: StaticCut, across: PlanOutline, rows: tuple[float, ...] | None, limit: int | None
) -> PlanOutline:
    """The plan of a query with static tables.

    Args:
        cut: The bags.
        across: The join tree across them.
        rows: The rows that each bag is expected to have, if that is known.
        limit: The most rows that each of them may have; None if that was not asked for.
    """
    expected: Sequence[float | None] = rows or [None] * len(cut.derived)
    bags = dict(zip((bag.title for bag in cut.derived), expected, strict=True))

    def node(found: NodeOutline) -> NodeOutline:
        alias = next((alias for alias in found.atoms if alias in bags), None)
        if alias is None:
            return found
        size = bags[alias]
        made = "joined once" if size is None else f"joined once, about {size:,.0f} rows"
        return replace(found, label=alias, views=(made, *found.views), promise="static")

    number = len(cut.derived)
    over = "" if not number else f" over {number} static bag{'' if number == 1 else 's'} of width {_width(cut)}"
    title = (
        f"join tree of height {across.height}{over}, with nothing but look-ups above the tables that change (ICDT 2025)"
    )
    assert cut.found.order is not None
    static = StaticOutline(
        str(cut.found.tractability),
        _named(cut.found.order.order, cut.ordered),
        _width(cut),
        tuple(BagOutline(bag.title, size) for bag, size in zip(cut.derived, expected, strict=True)),
        limit,
    )
    return replace(across, kind="view trees", title=title, nodes=tuple(map(node, across.nodes)), static=static)


def _named(order: VariableOrder, query: ConjunctiveQuery) -> str:
    """A variable order on one line, as ``a{R, b{S}}``."""

    def node(found: OrderNode) -> str:
        below = [*(query.atoms[atom].alias for atom in found.atoms), *map(node, found.children)]
        return f"{found.variable}{{{', '.join(below)}}}"

    return ", ".join([*(query.atoms[atom].alias for atom in order.atoms), *map(node, order.roots)])


def _width(cut: StaticCut) -> str:
    return str(cut.found.exponent)
