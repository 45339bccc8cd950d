"""Names of the columns of relations for people: where livejoin named a column, what it is made of.

>>> from livejoin.query.relational import Numbers
>>> readable_names(Numbers(2))
['number']
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from livejoin.query.aggregates import AggregateCall
from livejoin.query.relational import (
    Aggregate,
    AsOf,
    Distinct,
    Join,
    Numbers,
    Project,
    Ranked,
    Relation,
    Repeated,
    Running,
    SetOperation,
    TopK,
)

_MADE = re.compile(r"(?:[ackvx]\d+|rank(?:_\d+)?)")
"""What livejoin calls a column: a part of an aggregate, a key of a sub-query, its value."""


def is_unnamed(name: str) -> bool:
    """Whether livejoin may have named a column so."""
    return _MADE.fullmatch(name) is not None


def readable_names(relation: Relation) -> list[str]:
    """A name for each column of a relation, no two alike: the user's, or what the column is made of."""
    found = list[str]()
    for name in _names(relation):
        fresh, number = name, 2
        while fresh in found:
            fresh, number = f"{name} ({number})", number + 1
        found.append(fresh)
    return found


def _names(relation: Relation) -> Sequence[str]:
    match relation:
        case Numbers():
            return ["number"]
        case Repeated():
            return [*_names(relation.input), "number"]
        case Distinct() | TopK():
            return _names(relation.input)
        case SetOperation():
            return _names(relation.left)
        case Ranked():
            return [*_names(relation.input), relation.function.upper()]
        case Running():
            return [*_names(relation.input), *(call.function.upper() for call in relation.calls)]
        case AsOf():
            return [*_names(relation.left), *_names(relation.right)]
        case Aggregate():
            below = _names(relation.input)
            return [*below[: relation.groups], *(_of_call(call, below) for call in relation.calls)]
        case Project():
            below = _names(relation.input)
            return [
                below[one.source] if _MADE.fullmatch(one.name) and isinstance(one.source, int) else one.name
                for one in relation.outputs
            ]
        case Join():
            return _of_join(relation)
        case _:
            assert_never(relation)


def _of_call(call: AggregateCall, below: Sequence[str]) -> str:
    argument = "*" if call.argument is None else below[call.argument]
    return f"{call.function.upper()}({'DISTINCT ' * call.distinct}{argument})"


def _of_join(join: Join) -> list[str]:
    query, derived = join.query, {one.table.name: one.relation for one in join.inputs}
    found = list[str]()
    for output in query.outputs:
        name = output.name
        if _MADE.fullmatch(name) and isinstance(output.source, int):
            ref = query.head[output.source]
            table = query.atoms[ref.atom].table
            below = derived.get(table.name)
            name = table.columns[ref.column].name if below is None else _names(below)[ref.column]
        found.append(name)
    return found
