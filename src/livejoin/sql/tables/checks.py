"""CHECK in a CREATE TABLE, after a column or as a constraint of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, count

from sqlglot import exp

from livejoin.errors import UnknownNameError
from livejoin.schema import Check, Column
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.tables.expression_text import expression_text


def is_check(part: exp.Expr) -> bool:
    """Whether a constraint of a table is a CHECK, with or without a name."""
    if isinstance(part, exp.Constraint) and len(part.expressions) == 1:
        part = part.expressions[0]
    return isinstance(part, exp.CheckColumnConstraint)


def declared_checks(parts: Sequence[exp.Expr], columns: Sequence[Column], source: Source) -> tuple[Check, ...]:
    """The conditions in the parts of a CREATE TABLE; those without a name get one.

    Raises:
        UnknownNameError: A condition names no column of the table.
        UnsupportedQueryError: A condition cannot be kept, as one with a sub-query.
    """
    found = list[Check]()
    taken = {name.lower() for name, _, _ in _conditions(parts) if name}
    for name, near, condition in _conditions(parts):
        base = f"{near}_check" if near else "check"
        free = (one for one in chain((base,), (f"{base}_{number}" for number in count(1))) if one.lower() not in taken)
        chosen = name or next(free)
        taken.add(chosen.lower())
        found.append(check_of(chosen, condition, columns, source))
    return tuple(found)


def check_of(name: str, condition: exp.Expr, columns: Sequence[Column], source: Source) -> Check:
    """A condition with a name.

    Raises:
        UnknownNameError: The condition names no column of the table.
        UnsupportedQueryError: The condition cannot be kept, as one with a sub-query.
    """
    start = source.tokens[0].start
    nested = condition.find(exp.Query)
    if nested is not None:
        msg = f"CHECK {name}: {shown(condition)} has a sub-query; allowed are conditions on the columns of one row"
        raise source.unsupported("CHECK", msg, offset_of(nested, start))
    places = {column.name.lower(): place for place, column in enumerate(columns)}
    named = dict[int, None]()
    for column in condition.find_all(exp.Column):
        if column.name.lower() not in places:
            known = ", ".join(one.name for one in columns)
            msg = f"CHECK {name} names {column.name!r}, which is no column; there are {known}"
            raise source.error(UnknownNameError, msg, offset_of(column, start))
        named[places[column.name.lower()]] = None
    return Check(name, expression_text(condition, source, offset_of(condition, start)), tuple(sorted(named)))


def _conditions(parts: Sequence[exp.Expr]) -> Iterator[tuple[str, str, exp.Expr]]:
    """The name of each condition, the column that it stands behind, and the condition; names are empty for none."""
    for part in parts:
        if isinstance(part, exp.ColumnDef):
            for constraint in part.args.get("constraints") or ():
                if isinstance(constraint.args["kind"], exp.CheckColumnConstraint):
                    yield constraint.name, part.name, constraint.args["kind"].this
        elif is_check(part):
            name, check = (part.name, part.expressions[0]) if isinstance(part, exp.Constraint) else ("", part)
            yield name, "", check.this
