"""Arguments of aggregates as products of one factor an atom, so that an annotated join tree can sum them.

Let an argument be x = f_1 * ... * f_k with every f_i over the columns of one atom a_i. Over the results of the join

    sum(x) = sum over the results of f_1(t[a_1]) * ... * f_k(t[a_k]),

a sum of products in the ring Z of unscaled integers (CROWN, section 7.3). A condition c_1 AND ... AND c_m with every
c_j over one atom is the product of [c_j]. x is NULL if one factor is; a row that a FILTER leaves out has a NULL factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from livejoin.query.conjunctive import Factor, Product
from livejoin.query.filters import conjunction
from livejoin.query.scalar import Call, Constant, Expression
from livejoin.query.total import fails_on_large_numbers_only
from livejoin.schema import SqlType
from livejoin.sql.lower.conditions.split import conjuncts
from livejoin.sql.lower.conditions.substitute import onto_one_atom
from livejoin.sql.lower.parts.null_rejection import gives_null, rejects
from livejoin.sql.lower.select_join import Joined
from livejoin.sql.resolved.column import refs_of
from livejoin.sql.scalars.bind import Unsaid, filtered
from livejoin.sql.scalars.expression import RowType, bind_tree

NARROW_DIGITS = 18  # a word holds the unscaled value of every decimal of so many digits


@dataclass(frozen=True)
class _Parts:
    """An argument as factors to multiply and conditions under which it is not NULL."""

    factors: tuple[exp.Expr, ...]
    conditions: tuple[exp.Expr, ...] = ()


def product_of(
    value: exp.Expr, condition: exp.Expr | None, kind: SqlType, joined: Joined, offset: int
) -> Product | None:
    """An argument of SUM, AVG or VARIANCE as a product; None if it is none, or its factors may be wide decimals.

    Args:
        value: The argument, resolved.
        condition: The condition of its FILTER clause, resolved.
        kind: The argument's type, whose scale is that of the product.
        joined: The join.
        offset: The offset of the argument.
    """
    if joined.query is not None or kind.kind not in ("integer", "decimal"):
        return None
    parts = _parts(value, joined)
    conditions = (*(conjuncts(condition) if condition is not None else ()), *parts.conditions)
    values = _by_atom(parts.factors, joined)
    guards = _by_atom(conditions, joined)
    if values is None or guards is None or not _is_null_without_match(values, guards, joined):
        return None
    factors: list[Factor] = []
    scale, decimal = 0, False
    for atom in sorted({*values, *guards}):
        for found in _factors(values.get(atom, []), guards.get(atom, []), atom, joined, offset):
            if found is None or found.scalar is None:
                return None
            factors.append(Factor(atom, found))
            own = found.scalar.type
            scale, decimal = scale + own.scale, decimal or own.kind == "decimal"
    fits = scale == kind.scale and decimal == (kind.kind == "decimal")
    return Product(tuple(factors)) if fits else None


def count_of(present: Sequence[exp.Expr], condition: exp.Expr | None, joined: Joined, offset: int) -> Product | None:
    """The product of [x IS NOT NULL] for each argument of a COUNT and of its FILTER's condition; None if it is none."""
    if joined.query is not None:
        return None
    conditions: list[exp.Expr] = [exp.Not(this=exp.Is(this=exp.paren(x), expression=exp.null())) for x in present]
    guards = _by_atom([*(conjuncts(condition) if condition is not None else ()), *conditions], joined)
    if guards is None or not _is_null_without_match({}, guards, joined):
        return None
    factors = []
    for atom in sorted(guards):
        found = _narrow(_indicator(exp.and_(*guards[atom])), atom, joined, offset)
        if found is None:
            return None
        factors.append(Factor(atom, found))
    return Product(tuple(factors))


def never_null(node: exp.Expr, joined: Joined) -> bool:
    """Whether an expression has only NOT NULL columns, numbers, and + - *."""
    match node:
        case exp.Column():
            refs = refs_of(node)
            return all(not joined.scope.declared(ref).nullable and ref.atom not in joined.optional for ref in refs)
        case exp.Literal() | exp.Boolean():
            return True
        case exp.Mul() | exp.Add() | exp.Sub():
            return never_null(node.left, joined) and never_null(node.right, joined)
        case exp.Neg() | exp.Paren():
            return never_null(node.this, joined)
        case _:
            return False


def _parts(value: exp.Expr, joined: Joined) -> _Parts:
    node = value.unnest()
    placed = onto_one_atom(node, joined.conditions.equal, joined.scope)
    if placed is not None and not (isinstance(node, exp.Mul) and _is_wide(*placed, joined)):
        return _Parts((node,))
    match node:
        case exp.Mul():
            left, right = _parts(node.left, joined), _parts(node.right, joined)
            return _Parts(left.factors + right.factors, left.conditions + right.conditions)
        case exp.Neg():
            inner = _parts(node.this, joined)
            return _Parts((exp.Literal.number(-1), *inner.factors), inner.conditions)
        case exp.Case() if node.this is None and len(node.args["ifs"]) == 1:
            only = node.args["ifs"][0]
            return _guarded(node, only.this, only.args["true"], node.args.get("default"), joined)
        case exp.If():
            return _guarded(node, node.this, node.args["true"], node.args.get("false"), joined)
        case _:
            return _Parts((node,))


def _guarded(
    node: exp.Expr, condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None, joined: Joined
) -> _Parts:
    """``CASE WHEN condition THEN value [ELSE otherwise] END``."""
    inner = _parts(value, joined)
    if otherwise is None or isinstance(otherwise.unnest(), exp.Null):
        return _Parts(inner.factors, (*inner.conditions, *conjuncts(condition)))
    # The product must not be NULL where the condition is false, so that its value must never be.
    if _is_zero(otherwise.unnest()) and never_null(value, joined):
        return _Parts((*inner.factors, *(_indicator(part) for part in conjuncts(condition))), inner.conditions)
    return _Parts((node,))


def _indicator(condition: exp.Expr) -> exp.Expr:
    return filtered(condition, exp.Literal.number(1), exp.Literal.number(0))


def _is_zero(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and not node.name.strip("0.")


def _by_atom(nodes: Sequence[exp.Expr], joined: Joined) -> dict[int, list[exp.Expr]] | None:
    """The expressions by their atoms, constants with the first other one; None if one is over several atoms."""
    found: dict[int, list[exp.Expr]] = {}
    for node in sorted(nodes, key=lambda node: not refs_of(node)):
        placed = onto_one_atom(node, joined.conditions.equal, joined.scope)
        if placed is None:
            return None
        atom = placed[0] if refs_of(node) else min(found, default=joined.first)
        found.setdefault(atom, []).append(placed[1])
    return found


def _is_null_without_match(
    values: Mapping[int, Sequence[exp.Expr]], guards: Mapping[int, Sequence[exp.Expr]], joined: Joined
) -> bool:
    """Whether an argument is NULL if an optional atom of its factors has no match; the factor then counts as zero.

    >>> from livejoin.catalog import Catalog
    >>> from livejoin.sql import bind_query, parse_columns
    >>> catalog = Catalog()
    >>> for name in "RS":
    ...     catalog.add(parse_columns(name, "a INT, b INT"))
    >>> sql = "SELECT SUM(S.b) AS s, SUM(COALESCE(S.b, 1)) AS c FROM R LEFT JOIN S ON R.a = S.a"
    >>> [call.product is None for call in bind_query(sql, catalog).root.input.calls]
    [False, True]
    """
    return all(
        any(gives_null(value, refs_of(value)) for value in values.get(atom, ()))
        or any(rejects(guard, refs_of(guard)) for guard in guards.get(atom, ()))
        for atom in joined.optional & {*values, *guards}
    )


def _factors(
    nodes: Sequence[exp.Expr], guards: Sequence[exp.Expr], atom: int, joined: Joined, offset: int
) -> list[Expression | None]:
    """The factors of an atom, as few as possible: a product of decimals has the digits of all factors.

    Args:
        nodes: The factors.
        guards: The conditions under which the product is not NULL.
        atom: The atom.
        joined: The join.
        offset: The offset of the argument.

    Returns:
        None in place of a factor that does not fit into words.
    """
    products: list[exp.Expr] = []
    for node in nodes or [exp.Literal.number(1)]:
        if products:
            product = exp.Mul(this=exp.paren(products[-1]), expression=exp.paren(node))
            if _narrow(product, atom, joined, offset) is not None:
                products[-1] = product
                continue
        products.append(node)
    if guards:
        products[0] = filtered(exp.and_(*guards), products[0])
    return [_narrow(product, atom, joined, offset) for product in products]


def _is_wide(atom: int, node: exp.Expr, joined: Joined) -> bool:
    """Whether an expression of an atom is a decimal with more digits than fit into a word."""
    found = _bound(node, atom, joined, 0)
    return not isinstance(found, Unsaid) and found[1].precision > NARROW_DIGITS


def _narrow(node: exp.Expr, atom: int, joined: Joined, offset: int) -> Expression | None:
    """A factor as an expression of its atom. It must not fail for rows that the atom's predicates drop.

    Returns:
        None if its values do not fit into words, if it may fail for rows without a match, or if it cannot be a tree.
    """
    found = _bound(node, atom, joined, offset)
    if isinstance(found, Unsaid):
        return None
    value, kind = found
    if kind.kind not in ("integer", "decimal") or kind.precision > NARROW_DIGITS:
        return None
    if len(joined.scope.relations) > 1 and (value.scalar is None or not fails_on_large_numbers_only(value.scalar)):
        return None
    if joined.scope.relations[atom].nested is not None or isinstance(node, (exp.Column, exp.Literal)):
        return value  # an input has the rows that its predicates keep
    return _kept(value, conjunction(joined.conditions.predicates.get(atom, ())))


def _bound(node: exp.Expr, atom: int, joined: Joined, offset: int) -> tuple[Expression, SqlType] | Unsaid:
    """Bind an expression over the table of an atom; gives its type too."""
    table = joined.scope.relations[atom].table
    return bind_tree(node, RowType.of_table(table.columns, table.arrow), joined.source, offset)


def _kept(value: Expression, predicate: Expression | None) -> Expression | None:
    """A value where a predicate is true, else NULL; None if DuckDB evaluates the predicate."""
    if predicate is None or value.scalar is None:
        return value
    if predicate.scalar is None:
        return None
    text = f"CASE WHEN {predicate.text} THEN {value.text} END"
    kind = value.scalar.type
    return Expression(text, Call("case", (predicate.scalar, value.scalar, Constant(None, kind)), kind, text))
