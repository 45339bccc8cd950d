"""Names in scope: which column or occurrence a name stands for.

A scope is the view of a FROM clause, or of a part of one, that expressions have: occurrences of tables by alias, and
columns by name. JOIN ... USING and NATURAL JOIN merge two columns into one, which an unqualified name and ``*`` show
once and first, as in Spark. Names are compared without regard to case.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from livejoin.errors import UnknownNameError
from livejoin.query.conjunctive import ColumnRef
from livejoin.shown import meant
from livejoin.sql.names.char_padding import pad_comparisons
from livejoin.sql.names.uuid_texts import fit_uuids
from livejoin.sql.parse.other_dialects import QUALIFIERS
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.parse.walking import nodes_of
from livejoin.sql.resolved.column import REF
from livejoin.sql.resolved.outer import Outer, outer_column
from livejoin.sql.resolved.query import Occurrence, Scope, Shown, Side


def resolve(node: exp.Expr, scope: Scope, source: Source) -> exp.Expr:
    """Resolve the columns of an expression, in their ``meta``; returns the same expression.

    Columns that are resolved already stay; those of a query around become outer columns (see
    `livejoin.sql.resolved.outer`). Comparisons of CHAR columns are padded (see `livejoin.sql.names.char_padding`),
    constants beside UUID columns are in the form of these (see `livejoin.sql.names.uuid_texts`).

    Raises:
        UnknownNameError: A name is unknown or ambiguous.
        UnsupportedQueryError: ``alias.*`` stands in the expression, or a CHAR column is compared with a computed
            constant.
    """
    for column in nodes_of(node, exp.Column):
        if REF in column.meta:
            continue
        level, around = _level(column, scope)
        ref = _resolve(column, around, source)
        if level == 0:
            column.meta[REF] = ref
            continue
        outer = outer_column(Outer(level, ref, around.qualified(ref)), offset_of(column, 0))
        if column is node:
            return outer
        column.replace(outer)
    if scope.has_char:
        pad_comparisons(node, scope.char_length, source)
    if scope.has_uuid:
        fit_uuids(node, scope.is_uuid)
    return node


def _level(column: exp.Column, scope: Scope) -> tuple[int, Scope]:
    """How many queries further out a name is in scope, and that scope; the first scope if there is none."""
    level, around = 0, scope
    while True:
        if around.relation(column.table) is not None if "table" in column.args else around.named(column.name):
            return level, around
        if around.outer is None:
            return 0, scope
        level, around = level + 1, around.outer


def relation_named(qualifier: exp.Expr, scope: Scope, source: Source) -> Occurrence | Side:
    """The occurrence that a qualifier names.

    Raises:
        UnknownNameError: There is no such occurrence.
    """
    relation = scope.relation(qualifier.name)
    if relation is None:
        _refuse_correlation(qualifier, source)
        _refuse_field(qualifier.name, scope.named(qualifier.name), scope, source, offset_of(qualifier, 0))
        known = ", ".join(repr(r.alias) for r in scope.aliased)
        hint = _instead(qualifier.name, [r.alias for r in scope.aliased])
        msg = f"no table or alias {qualifier.name!r} is in scope here{hint}; in scope: {known}"
        raise source.error(UnknownNameError, msg, offset_of(qualifier, 0))
    return relation


def _instead(name: str, known: list[str]) -> str:
    """What may be meant by a name in front of a column that no table here has, to stand behind it."""
    if hint := QUALIFIERS.get(name.lower()):
        return f"; {hint}"
    if any(one.upper() == "OF" for one in known):
        return "; AS OF names a table OF: write t ASOF JOIN q"
    return meant(name, known)


def _resolve(column: exp.Column, scope: Scope, source: Source) -> ColumnRef:
    offset = offset_of(column, 0)
    if len(column.parts) > 2:
        _refuse_part(column, scope, source, offset)
        msg = f"{shown(column)!r}: allowed are names of the form column or alias.column"
        raise source.error(UnknownNameError, msg, offset)
    if isinstance(column.this, exp.Star):
        msg = f"{shown(column)} within an expression is not supported; name the columns"
        raise source.unsupported("*", msg, offset)
    if "table" in column.args:
        relation = relation_named(column.args["table"], scope, source)
        return _column_of(relation, column.this, source, offset)
    return resolve_bare(column.name, scope, source, offset)


def _column_of(relation: Occurrence | Side, name: exp.Identifier, source: Source, offset: int) -> ColumnRef:
    """The column of an occurrence by its name."""
    places = [i for i, own in enumerate(relation.names) if own.lower() == name.name.lower()]
    if len(places) == 1:
        return relation.column(places[0])
    if places:
        msg = f"{relation.alias!r} has {len(places)} columns {name.name!r}; give each its own name with AS in the query"
    else:
        msg = (
            f"{relation.alias!r} ({relation.described}) has no column {name.name!r}{meant(name.name, relation.names)}; "
            f"it has {', '.join(relation.names)}"
        )
    raise source.error(UnknownNameError, msg, offset_of(name, offset))


def _refuse_part(column: exp.Column, scope: Scope, source: Source, offset: int) -> None:
    """Refuse ``column.part.part`` and ``alias.column.part``.

    Raises:
        UnknownNameError: The name is one of the two.
    """
    first, second, *_ = column.parts
    around = scope.relation(first.name)
    if around is not None:
        inner = [Shown(name, around.column(i)) for i, name in enumerate(around.names)]
        inner = [one for one in inner if one.name.lower() == second.name.lower()]
        _refuse_field(f"{first.name}.{second.name}", inner, scope, source, offset)
    _refuse_field(first.name, scope.named(first.name), scope, source, offset)


def _refuse_field(name: str, columns: Sequence[Shown], scope: Scope, source: Source, offset: int) -> None:
    """Refuse ``name.part`` where the name is that of a column.

    Raises:
        UnknownNameError: There is such a column.
    """
    if columns:
        kind = scope.declared(columns[0].ref).type
        reason = "which has no parts"
        if kind.is_payload:
            reason = "of which no part is read: it is only passed through; keep the part in a column of its own"
        raise source.error(UnknownNameError, f"{name} is a column here and no table; it is {kind}, {reason}", offset)


def _refuse_correlation(qualifier: exp.Expr, source: Source) -> None:
    """Refuse a qualifier of an item that stands beside the sub-query in FROM."""
    select = qualifier.parent_select
    outer = None if select is None else select.parent_select
    while outer is not None:
        if isinstance(outer, exp.Select) and any(
            isinstance(item, (exp.Table, exp.Subquery)) and item.alias_or_name.lower() == qualifier.name.lower()
            for item in _from_items(outer)
        ):
            name = qualifier.name
            msg = (
                f"{name} stands beside this sub-query in FROM, which does not see it. Write LATERAL before the query, "
                "or return the columns that are compared, and join on them outside"
            )
            raise source.unsupported("sub-query", msg, offset_of(qualifier, 0))
        outer = outer.parent_select


def _from_items(select: exp.Select) -> list[exp.Expr]:
    """The items in the FROM clause of a SELECT, joined tables in parentheses included."""
    if select.args.get("from_") is None:
        return []
    items = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]
    for item in items:
        items += [join.this for join in item.args.get("joins") or ()]
        if isinstance(item, exp.Subquery) and isinstance(item.this, (exp.Table, exp.Subquery)):
            items.append(item.this)
    return items


def resolve_bare(name: str, scope: Scope, source: Source, offset: int) -> ColumnRef:
    """The column of an unqualified name.

    Raises:
        UnknownNameError: There is no such column, or several.
    """
    match scope.named(name):
        case (one,):
            return one.ref
        case ():
            known = dict.fromkeys(s.name for s in scope.shown)
            msg = f"no column {name!r} is in scope here{meant(name, known)}; in scope: {', '.join(known) or 'none'}"
            if scope.relation(name):
                msg = f"{name!r} is a table here, not a column; write {name}.column with one of its columns"
        case several:
            choices = list(dict.fromkeys(scope.qualified(s.ref) for s in several))
            msg = f"column {name!r} is ambiguous; write one of {', '.join(choices)}"
            if len(choices) == 1:
                msg = f"column {name!r} is ambiguous: the query has it twice; give each its own name with AS there"
    raise source.error(UnknownNameError, msg, offset)
