"""By which columns a relation's rows replace each other: those of the group."""

from __future__ import annotations

from livejoin.plan.operators import (
    Annotated,
    Bag,
    Combine,
    Compute,
    First,
    FirstOfEach,
    Group,
    Numbers,
    Operator,
    RunningOver,
    Scan,
    Selected,
    Stored,
    Threshold,
    ThresholdGroup,
)


def replaced_by(operator: Operator) -> tuple[int, ...] | None:
    """Positions of the columns of which no two rows have the same values at any version, because they are groups.

    None for rows that are not groups, or do not show all columns of theirs: then two groups may look alike.
    """
    match operator:
        case Group() | ThresholdGroup():
            return tuple(range(operator.groups))
        case Annotated():
            return tuple(range(len(operator.physical.query.head)))
        case Compute():
            below = replaced_by(operator.input)
            places = {output.source: place for place, output in enumerate(operator.outputs)}
            if below is None or not places.keys() >= set(below):
                return None
            return tuple(places[column] for column in below)
        case Scan() | Selected() | Numbers() | Combine() | First() | FirstOfEach() | RunningOver():
            return None
        case Threshold() | Stored() | Bag():
            return None
