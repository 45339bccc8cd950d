"""What a change looks at above the joins: groups, rows in an order, equal rows, the other side of an ASOF join."""

from __future__ import annotations

from dataclasses import dataclass

from livejoin.plan.explain.effects.amount import Amount
from livejoin.plan.explain.effects.nested import origin_of
from livejoin.plan.operators import (
    AggregateOperator,
    AsOfOperator,
    InequalityAggregateOperator,
    InequalityJoinOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RunningOperator,
    SelectedOperator,
    SetOperator,
    StoredOperator,
    ThresholdAggregateOperator,
    ThresholdOperator,
    TopKOperator,
)


@dataclass(frozen=True)
class StoredStep:
    """A step to rows that are stored above a join.

    Args:
        what: The rows, in words.
        rows: How many of them a change looks at.
        last_alone: Whether a row that comes behind all others in their order looks at itself alone.
    """

    what: str
    rows: Amount
    last_alone: bool = False


def is_last_alone(plan: Operator) -> bool:
    """Whether a row of a table that comes behind all others in the order of a window changes no other row.

    So it is with ranks and with aggregates of the rows up to each.
    """
    match plan:
        case RankedOperator():
            moves_behind = plan.ranks_all
        case RunningOperator():
            moves_behind = plan.is_behind and isinstance(plan.frame, str)
        case _:
            return False
    below: Operator = plan.input
    while isinstance(below, (ProjectOperator, StoredOperator)):
        below = below.input
    return moves_behind and bool(plan.keys) and isinstance(below, SelectedOperator) and not below.inputs


def stored_words(plan: Operator, several: bool, from_left: bool, from_right: bool) -> str:
    """The rows that a change looks at in a store, in words.

    Args:
        plan: The store.
        several: Whether several rows change below it.
        from_left: Whether the change comes from the left side of an ASOF join, or of one by a comparison.
        from_right: Whether it comes from the right one.
    """
    match plan:
        case AsOfOperator():
            left, right = _called(plan.left), _called(plan.right)
            if from_left and from_right:
                return f"the rows of {left} and {right} beside it in their order"
            if from_left:
                return f"the last row of {right} in front of it"
            return f"the rows of {left} behind it, up to the next row of {right}"
        case AggregateOperator() if plan.writes_lists:
            whose = ("these groups" if several else "its group") if plan.groups else "the list"
            return f"all values of {whose}"
        case AggregateOperator():
            return ("the groups of these rows" if several else "its group") if plan.groups else "the one row of totals"
        case InequalityAggregateOperator():
            others = [_called(one) for one, comes in ((plan.right, from_left), (plan.left, from_right)) if comes]
            by_row = any(side.by_row for side, comes in zip(plan.sides, (from_right, from_left), strict=True) if comes)
            what = "the rows" if by_row else "sums of the rows"
            return f"{what} of {' and '.join(dict.fromkeys(others))} that it compares with"
        case InequalityJoinOperator():
            others = [_called(one) for one, comes in ((plan.right, from_left), (plan.left, from_right)) if comes]
            return f"the rows of {' and '.join(dict.fromkeys(others))} that it meets"
        case ThresholdAggregateOperator():
            return "its group, and groups that its bound lets in or out"
        case ThresholdOperator() if plan.watched:
            windows = "the places of its windows" if several else "the place of its window"
            return f"{windows} in the order of their ends, and windows that the watermark closes"
        case ThresholdOperator():
            return "its place in an order, and rows that its bound lets in or out"
        case RankedOperator() | RunningOperator() if plan.moves:
            return f"itself and the rows behind it{_in_order(plan)}"
        case RunningOperator() if plan.is_behind:
            return f"itself, and the rows behind it that show its value,{_in_order(plan)}"
        case RunningOperator():
            return f"the rows around it{_in_order(plan)}"
        case RankedOperator() | TopKOperator():
            return f"{'their places' if several else 'its place'} in an order"
        case SetOperator():
            return f"rows equal to {'these' if several else 'it'}"
        case _:
            return "stored rows"


def _in_order(plan: RankedOperator | RunningOperator) -> str:
    return f" in the order of the window{_by(plan)}{_same(plan)}"


def _by(plan: RankedOperator | RunningOperator) -> str:
    """The order of a window, so that several windows are told apart; empty where it is not of columns of one table."""
    columns = tuple(key.column for key in plan.keys)
    found = origin_of(plan.input, columns) if columns else None
    if found is None:
        return ""
    named = zip((found.table.columns[place].name for place in found.columns), plan.keys, strict=True)
    return f" by {', '.join(name + (' DESC' if key.descending else '') for name, key in named)}"


def _same(plan: RankedOperator | RunningOperator) -> str:
    found = origin_of(plan.input, plan.partition) if plan.partition else None
    names = "" if found is None else " and ".join(found.table.columns[place].name for place in found.columns)
    return f", with the same {names}" if names else ", in its partition" if plan.partition else ""


def _called(plan: Operator) -> str:
    while isinstance(plan, (ProjectOperator, SelectedOperator, StoredOperator)) and len(plan.below) == 1:
        plan = plan.below[0]
    if isinstance(plan, SelectedOperator):
        return plan.query.atoms[0].table.name
    return "the nested query"
