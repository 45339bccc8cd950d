"""Split conditions into equalities that join, and predicates of single atoms.

A conjunction is true if and only if each conjunct is. A conjunct over one atom, or over none, is a predicate of that
atom (of the first for none); an equality of two columns joins; everything else over several atoms is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import TokenType, exp

from livejoin.errors import SqlTypeError, UnsupportedQueryError
from livejoin.sql.duckdb_text import REF, check_scalar, refs_of, to_duckdb
from livejoin.sql.from_clause import Equality
from livejoin.sql.scope import Scope
from livejoin.sql.source import Source, offset_of, shown

_BOUNDARIES = (TokenType.ON, TokenType.WHERE, TokenType.AND)
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.Between: "BETWEEN",
}


@dataclass(frozen=True)
class Conditions:
    """Equalities of columns, and for each atom the DuckDB texts of its predicates."""

    equalities: tuple[Equality, ...]
    predicates: dict[int, tuple[str, ...]]


def split_conditions(conditions: Iterable[exp.Expr], scope: Scope, source: Source, offset: int) -> Conditions:
    """Split resolved conditions.

    Args:
        conditions: ON and WHERE conditions whose columns are resolved.
        scope: All occurrences of tables.
        source: The SQL text.
        offset: A position for conjuncts without one.

    Raises:
        SqlTypeError: A predicate is not BOOLEAN, or DuckDB cannot bind it.
        UnsupportedQueryError: A conjunct over several atoms that is not an equality of two columns.
    """
    equalities: list[Equality] = []
    predicates: dict[int, tuple[str, ...]] = {}
    for conjunct in (part for condition in conditions for part in conjuncts(condition)):
        at = source.behind(_BOUNDARIES, offset_of(conjunct, offset))
        atoms = sorted({ref.atom for ref in refs_of(conjunct)})
        sides = _column_equality(conjunct)
        if sides is not None:
            equalities.append(Equality(sides[0].meta[REF], sides[1].meta[REF], at))
        if len(atoms) > 1 and sides is None:
            raise _refusal(conjunct, atoms, scope, source, at)
        if len(atoms) <= 1 and not _is_true(conjunct):
            atom = atoms[0] if atoms else 0
            predicates[atom] = (*predicates.get(atom, ()), _predicate(conjunct, atom, scope, source, at))
    return Conditions(tuple(equalities), predicates)


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conjuncts of a condition, without parentheses around them."""
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
        return
    yield node


def _column_equality(node: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    if not isinstance(node, exp.EQ):
        return None
    sides = node.this.unnest(), node.expression.unnest()
    return sides if all(isinstance(side, exp.Column) for side in sides) else None


def _is_true(node: exp.Expr) -> bool:
    return isinstance(node, exp.Boolean) and bool(node.this)


def _predicate(node: exp.Expr, atom: int, scope: Scope, source: Source, offset: int) -> str:
    if isinstance(node, exp.Null):
        return "CAST(NULL AS BOOLEAN)"
    relation = scope.relations[atom]
    text = to_duckdb(node, lambda ref: relation.table.columns[ref.column].name, source, offset)
    found = check_scalar(node, text, relation.table.arrow, source, offset)
    if found != pa.bool_():
        msg = f"the condition {shown(node)} has the type {found}; a condition is BOOLEAN"
        raise source.error(SqlTypeError, msg, offset)
    return text


def _refusal(node: exp.Expr, atoms: list[int], scope: Scope, source: Source, offset: int) -> UnsupportedQueryError:
    aliases = " and ".join(repr(scope.relations[atom].alias) for atom in atoms)
    clause = _COMPARISONS.get(type(node), node.key.upper())
    match node:
        case exp.EQ():
            remedy = "allowed is column = column: store the value in a column of its table and join on that"
        case exp.Or():
            remedy = "allowed is OR over the columns of one table; create a view of each alternative"
        case exp.NullSafeEQ():
            remedy = "allowed is column = column, which joins no NULLs"
        case _:
            remedy = "allowed across tables is column = column only; filter what you read from the view of the rest"
    return source.unsupported(clause, f"the condition {shown(node)} is over {aliases}: {remedy}", offset)
