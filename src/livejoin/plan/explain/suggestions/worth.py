"""Whether a declaration that is suggested would make a verdict better: it is supposed, and the figures are compared.

A better bound for one join of a query is worth nothing where another one has a worse bound, or a store above it takes
as long: then no line of the verdict would be another one. What NOT NULL spares was found by trying it already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from livejoin.catalog import Catalog
from livejoin.plan.explain.effects.amount import Amount
from livejoin.plan.explain.effects.effect import Effect
from livejoin.plan.explain.effects.effects import effects
from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.explanation import Explanation
from livejoin.plan.explain.suggestions.supposed import supposing
from livejoin.plan.query_plan import plan_with_reasons
from livejoin.query.bound_query import Query
from livejoin.schema import Table
from livejoin.search.algorithm import Algorithm
from livejoin.search.guarantee import UpdateBound
from livejoin.search.statistics import Statistics

Verdict = tuple[UpdateBound, Sequence[Effect]]
"""The worst bound of the joins of a query, and what a change of each table does."""


def with_what_helps(
    explanation: Explanation,
    tables: Iterable[Table],
    bind: Callable[[Catalog], Query],
    judge: Callable[[Query], Verdict],
) -> Explanation:
    """An explanation without the declarations that would change no figure of it.

    Args:
        explanation: The explanation of the query.
        tables: All tables, in an order in which each refers to those before it.
        bind: Binds the query's text over other declarations of them.
        judge: Gives the verdict of such a query.

    Cost: a plan for each suggestion, of which there are about ten at most.
    """
    tables = tuple(tables)
    if not explanation.suggestions:
        return explanation
    now = judge(bind(supposing(tables, ())))
    kept = tuple(
        one
        for one in explanation.suggestions
        if not one.supposed or one.kind == "not null" or is_better(judge(bind(supposing(tables, one.supposed))), now)
    )
    return replace(explanation, suggestions=kept)


def verdict_of(
    query: Query, known: Statistics, deltas: bool, algorithm: Algorithm, threads: int, figures: Figures
) -> Verdict:
    """The verdict of a query, as `with_what_helps` compares it."""
    plan = plan_with_reasons(query, known, deltas, algorithm, threads)
    bounds = [ranked[0].first.guarantee.bound for ranked in plan.ranked.values()]
    return max(bounds, default=UpdateBound.ALWAYS), effects(plan.operator, query.tables, figures)


def is_better(new: Verdict, old: Verdict) -> bool:
    """Whether the bound is better, or a number of a change of some table."""
    before = {one.table: one for one in old[1]}
    return new[0] < old[0] or any(
        less < more
        for one in new[1]
        if one.table in before
        for less, more in zip(_figures(one), _figures(before[one.table]), strict=True)
    )


def _figures(effect: Effect) -> Iterator[float]:
    yield float(effect.growth)
    for amount in (effect.met, effect.looked_up, effect.result, effect.delta):
        yield from (_number(amount.expected), _number(amount.most), float(amount != Amount(0.0, 0.0)))


def _number(value: float | None) -> float:
    return math.inf if value is None else value
