"""UNION, EXCEPT and INTERSECT: both sides with as many columns, cast to common types."""

from __future__ import annotations

from livejoin.errors import SqlTypeError
from livejoin.query.conjunctive import Output
from livejoin.query.relational import Distinct, Join, Project, Relation, SetKind, SetOperation
from livejoin.query.scalar import Call, Expression, Field
from livejoin.schema import SqlType
from livejoin.sql.lower.project import refuse_lists
from livejoin.sql.parse.source import Source
from livejoin.sql.scalars.result_types import common_type


def combine(
    kind: SetKind, keep_all: bool, sides: tuple[Relation, Relation], source: Source, offset: int
) -> SetOperation:
    """A set operation of two relations; its columns are named as on the left.

    Raises:
        SqlTypeError: The sides differ in their number of columns, or in types that have none in common.
        UnsupportedQueryError: A column is a list.
    """
    name = kind.upper()
    left, right = sides
    if len(left.types) != len(right.types):
        msg = (
            f"{name} of {len(left.types)} columns on the left and {len(right.types)} on the right; allowed are as many "
            "on both sides"
        )
        raise source.error(SqlTypeError, msg, offset)
    for side in sides:
        refuse_lists(side, name, source, offset)
    types = []
    for position in range(len(left.types)):
        found = _common(left, right, position)
        if found is None:
            msg = (
                f"{name}: column {position + 1} is {left.types[position]} ({left.schema.names[position]}) on the left "
                f"and {right.types[position]} ({right.schema.names[position]}) on the right, which have no type in "
                "common; CAST one of them"
            )
            raise source.error(SqlTypeError, msg, offset)
        types.append(found)
    return SetOperation(kind, keep_all, _cast(left, types), _cast(right, types))


def _common(left: Relation, right: Relation, position: int) -> SqlType | None:
    """The common type; a side that is always NULL takes that of the other."""
    if _is_null(right, position):
        return left.types[position]
    if _is_null(left, position):
        return right.types[position]
    return common_type(left.types[position], right.types[position])


def _is_null(relation: Relation, position: int) -> bool:
    match relation:
        case Join():
            return _is_bare_null(relation.query.outputs[position])
        case Project():
            return _is_bare_null(relation.outputs[position])
        case Distinct():
            return _is_null(relation.input, position)
        case _:
            return False


def _is_bare_null(output: Output) -> bool:
    return isinstance(output.source, Expression) and output.source.text == "NULL"


def _cast(relation: Relation, types: list[SqlType]) -> Relation:
    if relation.types == tuple(types):
        return relation
    outputs = tuple(
        Output(field.name, kind.arrow, i if kind == own else _cast_column(i, own, kind))
        for i, (field, kind, own) in enumerate(zip(relation.schema, types, relation.types, strict=True))
    )
    return Project(relation, outputs, tuple(types))


def _cast_column(position: int, own: SqlType, kind: SqlType) -> Expression:
    text = f"CAST(c{position} AS {kind})"
    return Expression(text, Call("cast", (Field(position, own),), kind, text))
