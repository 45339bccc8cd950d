"""How many ranks of each partition are kept, from conditions on the rank.

    ... WHERE rn <= 3        WHERE rn = 1        WHERE 5 > rn        QUALIFY ROW_NUMBER() OVER (...) < 4

A rank without a bound is kept for all rows; one change may then move the ranks of all later rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from livejoin.query.conjunctive import Output
from livejoin.query.filters import conjuncts_of
from livejoin.query.orders import EVERY_RANK
from livejoin.query.relational import Input, Join, Project, Ranked, Relation
from livejoin.query.scalar import Call, Constant, Expression, Field, Scalar

_SWAPPED = {"greater": "less", "greater_equal": "less_equal", "equal": "equal"}


def bounded(relation: Relation, predicates: Iterable[Expression]) -> Relation:
    """A relation with fewer ranks, if only rows are read for which predicates over its columns are true."""
    for predicate in predicates:
        trees = [step.scalar for step in predicate.steps or (predicate,) if step.scalar is not None]
        for part in (one for tree in trees for one in conjuncts_of(tree)):
            for column, most in _bounds(part):
                relation = _within(relation, column, most)
    return relation


def _bounds(tree: Scalar) -> Iterator[tuple[int, int]]:
    """The columns that a conjunct bounds from above, with their greatest values."""
    if not isinstance(tree, Call):
        return
    if tree.function == "in" and all(isinstance(one, Constant) for one in tree.arguments[1:]):
        column = _column(tree.arguments[0])
        values = [_number(one) for one in tree.arguments[1:]]
        if column is not None and all(value is not None for value in values):
            yield column, max(value for value in values if value is not None)
        return
    if len(tree.arguments) != 2:
        return
    left, right = tree.arguments
    function: str = tree.function
    if _column(left) is None:
        left, right, function = right, left, _SWAPPED.get(function, "")
    column, most = _column(left), _number(right)
    if column is None or most is None or function not in ("less", "less_equal", "equal"):
        return
    yield column, most - 1 if function == "less" else most


def _column(tree: Scalar) -> int | None:
    """The column of a value, maybe cast to a wider type; None if the value is no column."""
    if isinstance(tree, Call) and tree.function == "cast" and tree.type.kind in ("integer", "decimal"):
        return _column(tree.arguments[0])
    return tree.position if isinstance(tree, Field) and tree.type.kind == "integer" else None


def _number(tree: Scalar) -> int | None:
    if isinstance(tree, Call) and tree.function == "cast" and tree.type.kind in ("integer", "decimal"):
        return _number(tree.arguments[0])
    value = tree.value if isinstance(tree, Constant) else None
    return int(value) if value is not None and tree.type.kind in ("integer", "decimal") else None


def _within(relation: Relation, column: int, most: int) -> Relation:
    """A relation with at most ``most`` ranks in a column, if the column is a rank."""
    match relation:
        case Ranked():
            return _stacked(relation, column, most) or relation
        case Project():
            source = relation.outputs[column].source
            if not isinstance(source, int):
                return relation
            return replace(relation, input=_within(relation.input, source, most))
        case Join():
            place = relation.query.outputs[column].source
            if not isinstance(place, int):
                return relation
            ref = relation.query.head[place]
            name = relation.query.atoms[ref.atom].table.name
            if sum(atom.table.name == name for atom in relation.query.atoms) > 1:
                return relation  # another occurrence asks for other ranks
            inputs = tuple(
                Input(one.table, _within(one.relation, ref.column, most)) if one.table.name == name else one
                for one in relation.inputs
            )
            return replace(relation, inputs=inputs)
        case _:
            return relation


def _stacked(relation: Ranked, column: int, most: int) -> Relation | None:
    """A rank, or those of the same stack below it (see `several_ranks`), with a bound on one of them; else None."""
    line = [relation]
    while line[-1].follows and isinstance(line[-1].input, Ranked):
        line.append(line[-1].input)
    line.reverse()
    width = len(line[0].input.types)
    if column < width:
        return None
    chosen = column - width
    if line[0].limit < EVERY_RANK or chosen == 0:
        line[chosen] = _bounded(line[chosen], most)
        return _over(line[0].input, line)
    if line[chosen].partition != line[0].partition or line[chosen].keys != line[0].keys:
        return None
    # The one with a bound goes to the bottom, the others follow it, and their columns stand where they stood.
    moved = [chosen, *(place for place in range(len(line)) if place != chosen)]
    bottom = replace(line[chosen], limit=max(most, 0), follows=False)
    others = [replace(line[place], limit=EVERY_RANK, follows=True) for place in moved[1:]]
    ranked = _over(line[0].input, [bottom, *others])
    places = [*range(width), *(width + moved.index(place) for place in range(len(line)))]
    fields = zip(relation.schema, places, strict=True)
    return Project(ranked, tuple(Output(field.name, field.type, place) for field, place in fields), relation.types)


def _bounded(rank: Ranked, most: int) -> Ranked:
    return replace(rank, limit=max(min(rank.limit, most), 0))


def _over(rows: Relation, line: Sequence[Ranked]) -> Relation:
    """Put ranks, from the lowest one, over some rows."""
    found = rows
    for rank in line:
        found = replace(rank, input=found)
    return found
