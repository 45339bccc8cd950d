"""Split conditions into equalities that join, and predicates of single atoms.

A conjunction is true if and only if each conjunct is. An equality of two columns of different atoms joins them. Every
other conjunct is a predicate of the atom whose columns it uses, or of one that has columns equal to these by the joins
(see `substitute`); one that no atom can decide is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import TokenType, exp

from livejoin.errors import SqlTypeError, UnsupportedQueryError
from livejoin.query.conjunctive import ColumnRef
from livejoin.query.scalar import Call, Constant, Expression, Scalar, conjunction
from livejoin.sql.lower.join_types import can_join, cannot_join
from livejoin.sql.lower.substitute import onto_one_atom
from livejoin.sql.lower.variables import classes
from livejoin.sql.names.from_clause import Equality
from livejoin.sql.names.scope import Relation, Scope
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.scalars.expression import RowType, bind_expression
from livejoin.sql.scalars.operands import BOOLEAN
from livejoin.sql.to_duckdb.scalar_text import REF, refs_of

GUARDED = "guarded"
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
    """The classes of equal columns, and for each atom its predicates."""

    equal: tuple[tuple[ColumnRef, ...], ...]
    predicates: dict[int, tuple[Expression, ...]]


def split_conditions(
    conditions: Iterable[exp.Expr], merged: Sequence[Equality], scope: Scope, source: Source, offset: int
) -> Conditions:
    """Split resolved conditions; one with `GUARDED` in its ``meta`` is decided behind those before it (see `merge`).

    Args:
        conditions: ON and WHERE conditions whose columns are resolved.
        merged: The columns that USING and NATURAL make equal.
        scope: All occurrences of tables.
        source: The SQL text.
        offset: A position for conjuncts without one.

    Raises:
        SqlTypeError: A predicate is not BOOLEAN, DuckDB cannot bind it, or two columns cannot be joined.
        UnsupportedQueryError: A conjunct that is neither an equality of columns nor a predicate of an atom.
    """
    for using in merged:
        if not can_join(using, scope):
            raise cannot_join(using, scope, source)
    joined = list(merged)
    others: list[tuple[exp.Expr, int]] = []
    for conjunct in (part for condition in conditions for part in conjuncts(condition)):
        at = source.behind(_BOUNDARIES, offset_of(conjunct, offset))
        equality = column_equality(conjunct, at)
        if equality is not None and can_join(equality, scope):
            joined.append(equality)
            if equality.left.atom != equality.right.atom:
                continue
        others.append((conjunct, at))
    equal = classes(joined)
    found: dict[int, list[tuple[Expression, bool]]] = {}
    for conjunct, at in others:
        placed = onto_one_atom(conjunct, equal, scope)
        if placed is None:
            equality = column_equality(conjunct, at)
            raise cannot_join(equality, scope, source) if equality else _refusal(conjunct, scope, source, at)
        atom, predicate = placed
        if not _is_true(predicate):
            bound = _predicate(conjunct, predicate, scope.relations[atom], source, at)
            found.setdefault(atom, []).append((bound, bool(conjunct.meta.get(GUARDED))))
    return Conditions(equal, {atom: _in_order(bound) for atom, bound in found.items()})


def _in_order(predicates: Sequence[tuple[Expression, bool]]) -> tuple[Expression, ...]:
    """Predicates of which each guarded one is decided for those rows alone for which all before it are true.

    Args:
        predicates: Each with whether it is guarded. All up to the last guarded one become one predicate, in which each
            of them stands once, however many there are.
    """
    steps: list[list[Expression]] = []
    for predicate, is_guarded in predicates:
        if is_guarded or not steps:
            steps.append([])
        steps[-1].append(predicate)
    *before, (last, *rest) = steps
    conditions = [whole for step in before if (whole := conjunction(step)) is not None]
    return (_guarded(conditions, last), *rest) if conditions else (last, *rest)


def _guarded(conditions: Sequence[Expression], last: Expression) -> Expression:
    """``CASE WHEN a IS NOT TRUE THEN FALSE WHEN b IS NOT TRUE THEN FALSE ... ELSE last END``."""
    cases = " ".join(f"WHEN ({condition.text}) IS NOT TRUE THEN FALSE" for condition in conditions)
    text = f"CASE {cases} ELSE {last.text} END"
    arguments: list[Scalar] = []
    for condition in conditions:
        if condition.scalar is None:
            return Expression(text, None)
        is_true = Call("null_safe_equal", (condition.scalar, Constant(True, BOOLEAN)), BOOLEAN)
        arguments += [Call("not", (is_true,), BOOLEAN), Constant(False, BOOLEAN)]
    return Expression(text, last.scalar and Call("case", (*arguments, last.scalar), BOOLEAN, text))


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conjuncts of a condition, without parentheses around them."""
    waiting = [node]
    while waiting:
        part = waiting.pop().unnest()
        if isinstance(part, exp.And):
            waiting += [part.expression, part.this]
        else:
            yield part


def column_equality(node: exp.Expr, offset: int) -> Equality | None:
    """The equality of two columns that a conjunct is, None if it is none."""
    if not isinstance(node, exp.EQ):
        return None
    left, right = node.this.unnest(), node.expression.unnest()
    if not (isinstance(left, exp.Column) and isinstance(right, exp.Column)):
        return None
    return Equality(left.meta[REF], right.meta[REF], offset)


def _is_true(node: exp.Expr) -> bool:
    return isinstance(node, exp.Boolean) and bool(node.this)


def _predicate(written: exp.Expr, node: exp.Expr, relation: Relation, source: Source, offset: int) -> Expression:
    """A predicate of an atom; errors show the condition as it was written."""
    if isinstance(node, exp.Null):
        return Expression("CAST(NULL AS BOOLEAN)", Constant(None, BOOLEAN))
    row = RowType.of_table(relation.table.columns, relation.rows)
    predicate, found = bind_expression(node, row, source, offset, written)
    if found != pa.bool_():
        msg = f"the condition {shown(written)} has the type {found}; a condition is BOOLEAN"
        raise source.error(SqlTypeError, msg, offset)
    return predicate


def _refusal(node: exp.Expr, scope: Scope, source: Source, offset: int) -> UnsupportedQueryError:
    atoms = sorted({ref.atom for ref in refs_of(node)})
    aliases = " and ".join(repr(scope.relations[atom].alias) for atom in atoms)
    name = node.sql_name() if isinstance(node, exp.Func) else node.key.upper()
    clause = _COMPARISONS.get(type(node), name)
    match node:
        case exp.EQ(this=exp.Tuple()):
            remedy = "write a = c AND b = d for (a, b) = (c, d)"
        case exp.EQ():
            remedy = "store the value that is computed in a column of its table and join on that column"
        case exp.Or():
            remedy = "create a view of each alternative, and when you read one leave out what satisfies an earlier one"
        case exp.NullSafeEQ():
            remedy = "write =, which joins no NULLs"
        case _:
            remedy = "leave it out, return its columns, and filter what you read"
    msg = (
        f"the condition {shown(node)} is over {aliases}, and by the joins no single table has columns equal to all of "
        f"its columns. Allowed across tables is column = column; {remedy}"
    )
    return source.unsupported(clause, msg, offset)
