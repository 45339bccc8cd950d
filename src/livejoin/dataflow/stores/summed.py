"""Groups whose rows are added up elsewhere, before they come: what a row adds, and the plan of a store of such sums."""

from __future__ import annotations

from dataclasses import replace

from livejoin.dataflow.stores.aggregate_plan import AggregatePlan, Line
from livejoin.kernels.groups import layout as g
from livejoin.words import Words

_WORDS = {g.COUNT: 1, g.TRUE: 1, g.SUM: 2, g.SUM_WIDE: 3}


def layout_of(plan: AggregatePlan) -> tuple[int, int]:
    """Words of what rows add to a group, laid out as in its record, and which go on the number of the word before."""
    carried = 0
    for accumulator in _accumulators(plan.words):
        for i in range(1, _WORDS[int(accumulator[g.A_KIND])]):
            carried |= 1 << (int(accumulator[g.A_AT]) + i)
    return int(plan.words[g.P_KEY]), carried


def of_sums(plan: AggregatePlan, values: int) -> AggregatePlan:
    """The plan of the same groups, each row of which brings sums of what rows of the other plan add, and a zero."""
    words = plan.words.copy()
    for accumulator in _accumulators(words):
        accumulator[g.A_DETAIL] = _WORDS[int(accumulator[g.A_KIND])]
        accumulator[g.A_KIND] = g.SUMMED
        accumulator[g.A_LINE] = plan.groups + accumulator[g.A_AT]
        accumulator[g.A_NULL] = plan.groups + values
    words[g.P_PLAIN] = words[g.P_ACCUMULATORS_END]
    return replace(plan, words=words, lines=(Line(0, False),) * (values + 1))


def _accumulators(words: Words) -> list[Words]:
    """The accumulators of a plan, views of its words."""
    return list(words[words[g.P_ACCUMULATORS] : words[g.P_ACCUMULATORS_END]].reshape(-1, g.ACCUMULATOR))
