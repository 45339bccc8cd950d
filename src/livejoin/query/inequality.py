"""Which aggregates are those of a join by one comparison, so that they are sums in front of rows of two ordered sides.

    Aggregate COUNT(*), SUM(q.p) BY t.a             groups, calls
      Project                                       q.ts < t.ts
        Join T, Q                                   t.k = q.k, or nothing

The condition compares one value of a row, its *point*, with one value of the other row, its *bound*, or with two of
them, as in ``q.ts BETWEEN t.ts - 5 AND t.ts`` or ``ABS(q.ts - t.ts) <= 5`` (`livejoin.query.differences`). The rows
with bounds are the left side here, whichever FROM names first.
Each column that is read is of one side, and each aggregate is a sum without rounding: COUNT, SUM and AVG of integers
and decimals, BOOL_AND and BOOL_OR.

Law: the aggregates over the sides are those over the join. What is evaluated for rows that meet no other has a value
for each row, and a bound and a point have one but where a number or a time does not fit its type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from livejoin.query.aggregates import AggregateCall
from livejoin.query.conjunctive import ConjunctiveQuery
from livejoin.query.differences import TURNED, taken_apart, unwidened
from livejoin.query.filters import conjunction, conjuncts_of
from livejoin.query.inequality_sides import Compared, InequalitySides, Many, Side, atoms_of, sides_of
from livejoin.query.relational import Aggregate, Join, Project, Relation
from livejoin.query.scalar import Call, Expression, Scalar
from livejoin.query.total import fails_on_large_numbers_only, fails_on_large_values_only, is_total
from livejoin.schema import SqlType, Table

_UPPER = ("less", "less_equal")
_SUMS = ("count", "sum", "avg", "bool_and", "bool_or")
_EXACT = ("integer", "decimal")
_MOST_CALLS = 12  # whose sums a node of the tree has words for


def _unknown(table: Table, columns: tuple[int, ...]) -> bool | None:
    return None


def inequality_groups(relation: Relation, many: Many = _unknown) -> InequalitySides | str | None:
    """Aggregates of a join by one comparison; else why they are none, or None where nothing is compared across tables.

    Args:
        relation: A relation.
        many: Which groups are so many that rows are better kept in the order of what is compared than in theirs. Where
            it is unknown, rows within two bounds are taken to be fewer than groups.
    """
    if not isinstance(relation, Aggregate) or not isinstance(relation.input, Project):
        return None
    rows = relation.input
    if not rows.across or rows.predicate is None or not isinstance(rows.input, Join):
        return None
    query = rows.input.query
    if len(query.atoms) != 2 or query.branches:
        return "the join is not one of two relations"
    if rows.predicate.scalar is None:
        return "the condition is one that DuckDB evaluates"
    parts = tuple(each for one in conjuncts_of(rows.predicate.scalar) for each in taken_apart(one))
    compared = _compared(parts, query)
    if isinstance(compared, str):
        return compared
    if reason := _not_summed(relation, rows):
        return reason
    return sides_of(relation, rows, rows.input, compared, many)


def inequality_rows(rows: Relation) -> InequalitySides | str | None:
    """The rows of a join by one comparison; else why each pair is looked at, or None where none is compared.

    Args:
        rows: A relation.
    """
    if not isinstance(rows, Project) or not rows.across or rows.predicate is None or not isinstance(rows.input, Join):
        return None
    join = rows.input
    if len(join.query.atoms) != 2 or join.query.branches:
        return "the join is not one of two relations"
    if rows.predicate.scalar is None:
        return "the condition is one that DuckDB evaluates"
    parts = tuple(dict.fromkeys(conjuncts_of(rows.predicate.scalar)))
    reasons = []
    for chosen, compared in _comparisons(parts, join.query):
        found = compared if isinstance(compared, str) else _rows_of(rows, join, compared)
        if isinstance(found, str):
            reasons.append(found)
            continue
        rest = tuple(part for i, part in enumerate(parts) if i not in chosen)
        return replace(found, written=_texts([parts[i] for i in sorted(chosen)], rows.across), rest=_rest(rest, rows))
    return reasons[0]


def _comparisons(parts: Sequence[Scalar], query: ConjunctiveQuery) -> Iterator[tuple[frozenset[int], Compared | str]]:
    """What some of the conjuncts compare, and which these are: two bounds before one, and else why there is nothing."""
    alone = [(frozenset((i,)), _compared(taken_apart(part), query)) for i, part in enumerate(parts)]
    ones = [(chosen, found) for chosen, found in alone if isinstance(found, Compared)]
    for (one, _), (other, _) in combinations(ones, 2):
        found = _compared([each for i in sorted(one | other) for each in taken_apart(parts[i])], query)
        if isinstance(found, Compared):
            yield one | other, found
    yield from sorted(ones, key=lambda one: one[1].low is None or one[1].high is None)
    yield from alone[:1]


def _rows_of(rows: Project, join: Join, compared: Compared) -> InequalitySides | str:
    """The pairs that compare so; or why each pair is looked at."""
    shown = tuple(replace(output, source=i) for i, output in enumerate(join.query.outputs))
    whole = replace(rows, outputs=shown, types=join.types)
    found = sides_of(Aggregate(whole, len(shown), (), False), whole, join, compared, lambda *_: True)
    if isinstance(found, str):
        return found
    left, right = (Side(side.groups, True) for side in found.sides)
    return replace(found, sides=(left, right))


def _texts(parts: Sequence[Scalar], whole: str) -> str:
    """Some conjuncts of a condition as users wrote them; all of it where one has no text of its own."""
    texts = dict.fromkeys(part.text if isinstance(part, Call) else "" for part in parts)  # BETWEEN is two conjuncts
    return " AND ".join(texts) if all(texts) else whole


def _rest(parts: Sequence[Scalar], rows: Project) -> Expression | None:
    """Conjuncts of the condition of rows as a condition."""
    if not parts:
        return None
    return conjunction(Expression(_texts([part], rows.across), part) for part in parts)


def counted_groups(relation: Relation) -> Iterator[tuple[Table, tuple[int, ...]]]:
    """Sets of columns of base tables, at any depth, whose number of different values says how groups are kept."""
    asked: list[tuple[Table, tuple[int, ...]]] = []

    def ask(table: Table, columns: tuple[int, ...]) -> bool | None:
        asked.append((table, columns))
        return None

    inequality_groups(relation, ask)
    yield from asked
    for one in relation.below:
        yield from counted_groups(one)


def _not_summed(relation: Aggregate, rows: Project) -> str:
    """Why the aggregates are no sums of columns of one side each; empty if they are."""
    for call in relation.calls:
        if not _is_sum(call, rows.types):
            is_rounded = call.function in ("sum", "avg") and not call.distinct
            what = "of doubles is rounded once, over single values" if is_rounded else "is no sum of its rows"
            return f"{'DISTINCT ' if call.distinct else ''}{call.function.upper()} {what}"
    if len(relation.calls) > _MOST_CALLS:
        return f"there are more than {_MOST_CALLS} aggregates"
    for output in rows.outputs:
        if isinstance(output.source, int):
            continue
        if output.source.scalar is None:
            return "a column is one that DuckDB evaluates"
        if not is_total(output.source.scalar):
            is_large = fails_on_large_numbers_only(output.source.scalar)
            what = "may not fit its type in" if is_large else "has no value for"
            return f"{_texts([output.source.scalar], output.name)} {what} some rows, which the comparison may drop"
    return ""


def _is_sum(call: AggregateCall, types: Sequence[SqlType]) -> bool:
    if call.distinct or call.function not in _SUMS:
        return False
    return call.function not in ("sum", "avg") or (call.argument is not None and types[call.argument].kind in _EXACT)


def _compared(parts: Sequence[Scalar], query: ConjunctiveQuery) -> Compared | str:
    """What a condition compares; or why it is no comparison of a point with one bound or two."""
    found: list[tuple[str, tuple[Scalar, Scalar]]] = []
    for part in parts:
        if not isinstance(part, Call) or part.function not in TURNED:
            return "the condition is no comparison by <, <=, >, >= or BETWEEN"
        of = [atoms_of(side, query) for side in part.arguments]
        if sorted(map(sorted, of)) != [[0], [1]]:
            return "a side of the comparison is not of one relation alone"
        one, other = part.arguments
        found.append((part.function, (one, other)) if of[0] == {0} else (TURNED[part.function], (other, one)))
    for sides in zip(*(sides for _, sides in found), strict=True):
        for side in sides:
            if not fails_on_large_values_only(side):
                return _not_evaluated(side)
    # Each comparison is of the first atom with the second one.
    for points in (1, 0):
        values = [unwidened(sides[points]) for _, sides in found]
        if any(value != values[0] for value in values):
            continue
        stands = [(TURNED[name] if points == 1 else name, sides[1 - points]) for name, sides in found]
        upper = [one for one in stands if one[0] in _UPPER]
        lower = [one for one in stands if one[0] not in _UPPER]
        if len(upper) < 2 and len(lower) < 2:
            return Compared(points, values[0], lower[0] if lower else None, upper[0] if upper else None)
    return "there are several comparisons, which are not a lower and an upper bound of one value"


def _not_evaluated(side: Scalar) -> str:
    """Why an expression is not evaluated for rows that may meet no other row."""
    waiting = [side]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, Call):
            continue
        (first, *_) = part.arguments or (part,)
        if part.function == "cast" and first.type.kind == "string" and part.type.kind != "string":
            return (
                f"a STRING is compared as {part.type}, which fails for texts that are none, though their rows may meet "
                f"no other; compare TRY_CAST(... AS {part.type})"
            )
        waiting += part.arguments
    return "a side of the comparison has no value for some rows, which may meet no other row"
