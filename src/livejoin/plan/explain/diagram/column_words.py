"""What the columns of a relation are called in a picture: by the names that users gave, else by what they are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from livejoin.query.conjunctive import Output
from livejoin.query.orders import Tiles
from livejoin.query.relational import Aggregate, AsOf, Join, Numbers, Project, Ranked, Relation, Repeated, Running
from livejoin.query.scalar import Expression

_MADE = re.compile(r"[a-z]+\d+")  # as `v0`, `k1`, `a0`
_COLUMN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\bc(\d+)\b")


def column_words(relation: Relation) -> tuple[str, ...]:
    """What each column of a relation is called. Cost: linear in the relation.

    >>> from livejoin.catalog import Catalog
    >>> from livejoin.sql import bind_query, parse_columns
    >>> catalog = Catalog()
    >>> catalog.add(parse_columns("R", "k INT, a INT"))
    >>> column_words(bind_query("SELECT k, SUM(a * 2) AS s FROM R GROUP BY k", catalog).root.input)
    ('k', 'SUM(a * 2)')
    >>> column_words(bind_query("SELECT NTILE(4) OVER (ORDER BY a) AS n FROM R", catalog).root.input)[-1]
    'NTILE(4)'
    """
    match relation:
        case Join():
            return tuple(_output_word(relation, output) for output in relation.query.outputs)
        case Project():
            below = column_words(relation.input)
            return tuple(
                (below[one.source] if isinstance(one.source, int) else in_words(one.source, below))
                if _MADE.fullmatch(one.name)
                else one.name
                for one in relation.outputs
            )
        case Aggregate():
            below = column_words(relation.input)
            calls = (_call(call.function, call.argument, call.distinct, below) for call in relation.calls)
            return (*below[: relation.groups], *calls)
        case Ranked():
            return (*column_words(relation.input), relation.function.upper())
        case Running():
            below = column_words(relation.input)
            if isinstance(relation.frame, Tiles):
                return (*below, *(f"NTILE({relation.frame.number})" for _ in relation.calls))
            return (*below, *(_call(call.function, call.argument, False, below) for call in relation.calls))
        case AsOf():
            return (*column_words(relation.left), *column_words(relation.right))
        case Repeated():
            return (*column_words(relation.input), "number")
        case Numbers():
            return ("number",)
        case _:
            return column_words(relation.below[0])


def _output_word(join: Join, output: Output) -> str:
    """What a column of a join is called: of a nested query that gives it no name, what it is there."""
    if isinstance(output.source, int):
        ref = join.query.head[output.source]
        table = join.query.atoms[ref.atom].table
        derived = {one.table.name: one.relation for one in join.inputs}
        if table.name in derived and table.columns[ref.column].is_made:
            return column_words(derived[table.name])[ref.column]
    return output.name.strip('"')


def in_words(expression: Expression, columns: Sequence[str]) -> str:
    """An expression over the columns of a relation with what these are called.

    >>> in_words(Expression("c0 > 3 AND c1 <> 'c0'", None), ["a", "b"])
    "a > 3 AND b <> 'c0'"
    """

    def named(found: re.Match[str]) -> str:
        place = found.group(1)
        return columns[int(place)] if place and int(place) < len(columns) else found.group()

    return _COLUMN.sub(named, expression.text)


def _call(function: str, argument: int | None, is_distinct: bool, below: Sequence[str]) -> str:
    what = "*" if argument is None else below[argument]
    return f"{function.upper()}({'DISTINCT ' if is_distinct else ''}{what})"
