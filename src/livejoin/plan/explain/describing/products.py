"""A product, as of tables by commas without a condition between them: it is said before all else, with its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from livejoin.plan.explain.describing.classify import listed
from livejoin.plan.explain.effects.amount import Amount
from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.effects.reach import reach
from livejoin.plan.explain.effects.sizes import Sizes, most_rows
from livejoin.plan.explain.number_words import rows
from livejoin.plan.operators import AnyJoin, Operator
from livejoin.query import ConjunctiveQuery


def product_sentences(operators: Iterable[Operator], figures: Figures) -> Iterator[str]:
    """A sentence for each join whose tables no condition connects.

    What has one row at most, as a maximum, multiplies nothing.

    Args:
        operators: The operators of a query.
        figures: The known figures of the tables.
    """
    for one in operators:
        if not isinstance(one, AnyJoin):
            continue
        single = {name for name, given in one.named if most_rows(given) <= 1}
        parts = [part for part in parts_of(one.query) if any(_name(one.query, atom) not in single for atom in part)]
        if len(parts) > 1:
            said = [*_said(one, parts)]
            names = listed(said) if len(said) == sum(map(len, parts)) else " with ".join(said)
            yield (
                f"This is a product: no condition connects {names}, so that each row of the one is combined with each "
                f"row of the other: {rows(_size(one, figures))}."
            )


def parts_of(query: ConjunctiveQuery) -> list[tuple[int, ...]]:
    """The atoms of the core in parts, of which no variable joins one with another."""
    parts: list[tuple[frozenset[str], tuple[int, ...]]] = []
    for atom in query.core:
        joined = [part for part in parts if part[0] & query.edges[atom]]
        parts = [part for part in parts if part not in joined]
        variables = query.edges[atom].union(*(own for own, _ in joined))
        parts.append((variables, (*(other for _, own in joined for other in own), atom)))
    return [atoms for _, atoms in parts]


def _said(plan: AnyJoin, parts: Sequence[tuple[int, ...]]) -> Iterator[str]:
    nested = {name for name, _ in plan.named}
    for part in parts:
        yield listed(
            "a nested query" if _name(plan.query, atom) in nested else plan.query.atoms[atom].alias for atom in part
        )


def _name(query: ConjunctiveQuery, atom: int) -> str:
    return query.atoms[atom].table.name


def _size(plan: AnyJoin, figures: Figures) -> Amount:
    """The rows of the product: those of one table, times the results that each is part of."""
    nested = Sizes(figures).nested(plan)
    start = next((one for one in plan.query.core if _name(plan.query, one) not in nested), None)
    there = None if start is None else figures.rows(plan.query.atoms[start].table)
    if start is None or there is None:
        return Amount(None, None)
    each = reach(plan.query, start, None, figures, nested).results
    return Amount(there.expected, None).times(each)
