"""Which kernels an operator takes: where none came compiled, they are compiled before those of other operators."""

from __future__ import annotations

from livejoin.plan.operators import (
    AggregateOperator,
    AnnotatedOperator,
    AnyJoin,
    AsOfOperator,
    BagOperator,
    InequalityAggregateOperator,
    InequalityJoinOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RunningOperator,
    SelectedOperator,
    SetOperator,
    ThresholdAggregateOperator,
    ThresholdOperator,
    TopKOperator,
)

_OF_OPERATORS: dict[type[Operator], tuple[str, ...]] = {
    AggregateOperator: ("groups",),
    AnnotatedOperator: ("crown.maintain", "crown.build", "groups"),
    AsOfOperator: ("as_of",),
    BagOperator: ("bag", "relation.derived_rows"),
    InequalityAggregateOperator: ("inequality", "groups"),
    InequalityJoinOperator: ("inequality",),
    ProjectOperator: ("evaluate",),
    RankedOperator: ("ordered.partitions", "ordered.ranks"),
    RunningOperator: ("ordered.running",),
    SelectedOperator: ("evaluate", "relation.derived_rows"),
    SetOperator: ("relation.multiset",),
    ThresholdAggregateOperator: ("thresholds", "groups"),
    ThresholdOperator: ("thresholds",),
    TopKOperator: ("ordered.top_k", "ordered.horizon"),
}
_CALLED_ELSE = {"view_trees": ("crown",), "bags": ("bag", "crown")}
"""What families take whose kernels are in no package of the family's name."""


def kernels_of(plan: Operator) -> tuple[str, ...]:
    """What the names of an operator's kernels begin with, without those that every commit takes.

    >>> from livejoin.plan.operators import TopKOperator
    >>> kernels_of(object.__new__(TopKOperator))
    ('ordered.top_k', 'ordered.horizon')
    """
    found = _OF_OPERATORS.get(type(plan), ())
    if not found and isinstance(plan, AnyJoin):
        family = type(plan.physical).__module__.removeprefix("livejoin.families.").partition(".")[0]
        found = _CALLED_ELSE.get(family, (family,))
    return found
