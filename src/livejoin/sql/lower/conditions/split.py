"""Split conditions into equalities that join, predicates of single atoms, and residuals.

A conjunction is true if and only if each conjunct is. An equality across two atoms joins them, on existing columns or
on computed ones (see `equalities`). Every other conjunct becomes a predicate of one atom: that of its columns, or one
with columns that the joins make equal to these (see `substitute`). A conjunct that no atom can decide is a *residual*.
It is checked on each row of the join,

    R |><|_(e AND p) S = sigma_p(R |><|_e S),

and needs no state, but the join also makes the rows that it drops. So equalities must connect all atoms of a residual;
otherwise it would be checked on a product.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import TokenType, exp

from livejoin.errors import SqlTypeError, UnsupportedQueryError
from livejoin.query.filters import conjunction
from livejoin.query.scalar import Constant, Expression, Scalar
from livejoin.query.total import fails_on_large_numbers_only, is_total
from livejoin.sql.lower.conditions.equalities import Classes, Equalities
from livejoin.sql.lower.conditions.factored import factors, implied, parts, without_not
from livejoin.sql.lower.conditions.substitute import onto_one_atom
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.resolved.column import REF, bound_column, refs_of
from livejoin.sql.resolved.part import Equality
from livejoin.sql.resolved.query import Occurrence, Scope
from livejoin.sql.scalars.expression import RowType, bind_expression
from livejoin.sql.scalars.labels import whole_text
from livejoin.sql.scalars.operands import BOOLEAN

BEHIND = "behind"
AT = "at"  # in the ``meta`` of a condition that is not written as one, or elsewhere: where the text says it
_BOUNDARIES = (TokenType.ON, TokenType.WHERE, TokenType.AND)
_BY_ORDER = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
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


@dataclass(frozen=True, eq=False)
class Residual:
    """A condition over several atoms that is checked on the rows of the join.

    Args:
        condition: The condition, resolved.
        offset: The offset of the condition in the text.
    """

    condition: exp.Expr
    offset: int


@dataclass(frozen=True, eq=False)
class Unconnected:
    """A comparison by order over atoms that no equality connects, which sums over their pairs may need no pairs for.

    Args:
        condition: The condition, resolved.
        between: The names of the atoms, as a message has them.
        source: The SQL text.
        offset: The offset of the condition in the text.
    """

    condition: exp.Expr
    between: str
    source: Source
    offset: int

    def error(self, not_summed: str = "") -> UnsupportedQueryError:
        """The refusal of the product.

        Args:
            not_summed: Why sums over the pairs need the pairs; empty where no sums are asked for.
        """
        sums = "sums of the pairs of an inner join or a LEFT JOIN (COUNT, SUM, AVG)"
        hint = (
            f"{sums} would make no pair, but {not_summed}"
            if not_summed
            else f"or ask for {sums}, which make no pair (livejoin docs guides/validity)"
        )
        return _refusal(self.condition, self.between, self.source, self.offset, hint)


@dataclass(frozen=True)
class Conditions:
    """The conditions of a SELECT, sorted by what decides them.

    Args:
        scope: The occurrences of tables, with the columns that were computed for joins.
        joins: The classes of columns that are joined, computed ones among them.
        equal: The classes without computed columns: the columns of FROM that are equal in each row of the join.
        predicates: The predicates of each atom.
        residuals: The residuals, in the order of the text.
        unconnected: A comparison over atoms that no equality connects.
    """

    scope: Scope
    joins: Classes
    equal: Classes
    predicates: dict[int, tuple[Expression, ...]]
    residuals: tuple[Residual, ...] = ()
    unconnected: Unconnected | None = None

    def residual(self, row: RowType, source: Source) -> Expression:
        """All residuals as one predicate over the rows of the join.

        Raises:
            SqlTypeError: A residual is not BOOLEAN, or its types do not fit.
            UnsupportedQueryError: A residual is no function of its row.
        """
        whole = conjunction(_bound(one.condition, one.condition, row, source, one.offset) for one in self.residuals)
        assert whole is not None, "there are residuals"
        return whole

    @property
    def written(self) -> str:
        """The residuals as the text has them, for messages."""
        return " AND ".join(whole_text(one.condition) for one in self.residuals)


def split_conditions(
    conditions: Iterable[exp.Expr],
    merged: Sequence[Equality],
    scope: Scope,
    source: Source,
    offset: int,
    allow_product: bool = False,
    among: Collection[int] | None = None,
    links: Classes = (),
) -> Conditions:
    """Sort resolved conditions. One with `BEHIND` in its ``meta`` stands behind those before it (see `view_merging`).

    Such a condition is a residual if it stands behind a residual and may fail.

    Args:
        conditions: ON and WHERE conditions whose columns are resolved.
        merged: The columns that USING and NATURAL make equal.
        scope: All occurrences of tables.
        source: The SQL text.
        offset: A position for conjuncts without one.
        allow_product: Whether a residual may compare atoms that no equality connects.
        among: The atoms that are joined and have predicates; all of them if None.
        links: Columns that connect atoms, but need not be equal.

    Returns:
        The conditions; where they have one that is `Unconnected`, the caller raises its error, or needs no pairs.

    Raises:
        SqlTypeError: A predicate is not BOOLEAN, DuckDB cannot bind it, or the sides of a comparison have no common
            type.
        UnsupportedQueryError: A residual compares atoms that no equality connects, but not by order.
    """
    joined = join_conditions(conditions, merged, scope, source, offset, among)
    return _placed(*joined, source, allow_product, among, links)


def join_conditions(
    conditions: Iterable[exp.Expr],
    merged: Sequence[Equality],
    scope: Scope,
    source: Source,
    offset: int,
    among: Collection[int] | None = None,
) -> tuple[Equalities, list[tuple[exp.Expr, int]]]:
    """The equalities that join, and the other conjuncts with their offsets; arguments as for `split_conditions`."""
    found = Equalities(scope, source, among)
    others = [(equality_of(using, scope), using.offset) for using in merged if not found.add(using)]
    for conjunct in (part for condition in conditions for part in conjuncts(condition)):
        at = _begin(conjunct, source, offset)
        equality = column_equality(conjunct, at)
        if equality is None or not found.add(equality) or equality.left.atom == equality.right.atom:
            others.append((conjunct, at))
    return found, _without_computed(others, found)


def note_places(condition: exp.Expr, source: Source, offset: int) -> None:
    """Note where each conjunct stands in the text, for a condition that moves to a SELECT with other tokens.

    Args:
        condition: A resolved condition.
        source: The tokens of the SELECT in whose text it stands.
        offset: A position for conjuncts without one.
    """
    for conjunct in conjuncts(condition):
        conjunct.meta[AT] = _begin(conjunct, source, offset)


def _begin(conjunct: exp.Expr, source: Source, offset: int) -> int:
    at: int | None = conjunct.meta.get(AT)
    return source.behind(_BOUNDARIES, offset_of(conjunct, offset)) if at is None else at


def _without_computed(conditions: Sequence[tuple[exp.Expr, int]], found: Equalities) -> list[tuple[exp.Expr, int]]:
    """The conditions without those that join computed columns.

    A condition that must be decided behind a residual joins nothing.
    """
    left: list[tuple[exp.Expr, int]] = []
    has_residual = False
    for conjunct, at in conditions:
        across = onto_one_atom(conjunct, found.equal, found.scope, found.among) is None
        waits = has_residual and BEHIND in conjunct.meta and not _is_harmless(found.tree(conjunct, at))
        if not across or waits or not found.add_computed(conjunct, at):
            left.append((conjunct, at))
            has_residual = has_residual or across
    return left


def _placed(
    found: Equalities,
    conditions: Sequence[tuple[exp.Expr, int]],
    source: Source,
    allow_product: bool,
    among: Collection[int] | None,
    links: Classes,
) -> Conditions:
    """The conditions that join nothing, sorted into predicates and residuals."""
    scope, equal = found.scope, found.equal
    connecting = (*found.joins, *links)
    predicates: dict[int, list[Expression]] = {}
    residuals: list[Residual] = []
    unconnected: Unconnected | None = None
    for conjunct, at in conditions:
        placed = onto_one_atom(conjunct, equal, scope, among)
        if placed is not None:
            atom, predicate = placed
            if _is_true(predicate):
                continue
            bound = _over_atom(conjunct, predicate, scope.relations[atom], source, at)
            if not (residuals and BEHIND in conjunct.meta) or _is_harmless(bound.scalar):
                predicates.setdefault(atom, []).append(bound)
                continue
        if not allow_product and not are_connected(conjunct, connecting, scope):
            between = _between(conjunct, connecting, scope)
            if not isinstance(conjunct, _BY_ORDER):
                raise _refusal(conjunct, between, source, at)
            unconnected = unconnected or Unconnected(conjunct, between, source, at)
        residuals.append(Residual(conjunct, at))
        for atom, predicate in implied(conjunct, conjuncts):
            if among is not None and atom not in among:
                continue  # below an edge a filter would make rows without a match of those that it drops
            bound = _over_atom(conjunct, predicate, scope.relations[atom], source, at)
            if bound.scalar is not None and is_total(bound.scalar):
                predicates.setdefault(atom, []).append(bound)
    in_order = {atom: tuple(bound) for atom, bound in predicates.items()}
    return Conditions(scope, found.joins, equal, in_order, tuple(residuals), unconnected)


def _is_harmless(scalar: Scalar | None) -> bool:
    """Whether a condition may be evaluated for rows that earlier conditions drop, as it cannot fail."""
    return scalar is not None and fails_on_large_numbers_only(scalar)


def equality_of(using: Equality, scope: Scope) -> exp.Expr:
    """The condition that two columns are equal."""
    left, right = (bound_column(ref, scope.name(ref)) for ref in (using.left, using.right))
    return exp.EQ(this=left, expression=right)


def are_connected(node: exp.Expr, equal: Classes, scope: Scope) -> bool:
    """Whether equalities connect all atoms of a resolved condition, maybe through other atoms.

    An atom with at most one row, as an uncorrelated scalar sub-query, needs no equality: it makes no more pairs.
    """
    atoms = {ref.atom for ref in refs_of(node) if not scope.is_single(ref.atom)}
    return not atoms or any(atoms <= part for part in connected(equal, scope))


def connected(equal: Classes, scope: Scope) -> list[set[int]]:
    """The parts of FROM that equalities connect, as sets of atoms."""
    parts = [{relation.atom} for relation in scope.relations]
    for members in equal:
        atoms = {ref.atom for ref in members}
        joined = [part for part in parts if part & atoms]
        parts = [part for part in parts if not part & atoms]
        parts.append(set[int]().union(*joined))
    return parts


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conjuncts of a resolved condition, without parentheses around them.

    Factors common to all terms of a disjunction over several atoms are taken out, and an equality of tuples is split
    (see `factored`). If the condition stands behind others, so do all of its conjuncts.
    """
    waiting = [(node, False)]
    while waiting:
        whole, behind = waiting.pop()
        part = whole.unnest()
        behind = behind or BEHIND in whole.meta or BEHIND in part.meta
        if isinstance(part, exp.And):
            waiting += [(part.expression, behind), (part.this, behind)]
            continue
        if isinstance(part, exp.Not) and len({ref.atom for ref in refs_of(part)}) > 1:
            positive = without_not(part)
            if positive is not None:
                waiting.append((positive, behind))
                continue
        for one in _inner_conjuncts(part):
            if behind:
                one.meta[BEHIND] = True
            yield one


def _inner_conjuncts(part: exp.Expr) -> Sequence[exp.Expr]:
    """The conjuncts of a condition that is not written as a conjunction."""
    if len({ref.atom for ref in refs_of(part)}) < 2:
        return [part]
    if not isinstance(part, exp.Or):
        return parts(part)
    common, rest = factors(part, conjuncts)
    return common if rest is None else [*common, rest]


def column_equality(node: exp.Expr, offset: int) -> Equality | None:
    """The conjunct as an equality of two columns, None if it is none."""
    if not isinstance(node, exp.EQ):
        return None
    left, right = node.this.unnest(), node.expression.unnest()
    if not (isinstance(left, exp.Column) and isinstance(right, exp.Column)):
        return None
    return Equality(left.meta[REF], right.meta[REF], offset)


def _is_true(node: exp.Expr) -> bool:
    return isinstance(node, exp.Boolean) and bool(node.this)


def _over_atom(written: exp.Expr, node: exp.Expr, relation: Occurrence, source: Source, offset: int) -> Expression:
    """A predicate of an atom."""
    return _bound(written, node, RowType.of_table(relation.base.columns, relation.rows), source, offset)


def _bound(written: exp.Expr, node: exp.Expr, row: RowType, source: Source, offset: int) -> Expression:
    """Bind a condition over some rows; errors show the text of the condition."""
    if isinstance(node, exp.Null):
        return Expression("CAST(NULL AS BOOLEAN)", Constant(None, BOOLEAN))
    predicate, found = bind_expression(node, row, source, offset, written)
    if found != pa.bool_():
        msg = f"the condition {shown(written)} has the type {found}; a condition is BOOLEAN"
        raise source.error(SqlTypeError, msg, offset)
    return predicate


def _between(node: exp.Expr, equal: Classes, scope: Scope) -> str:
    """The names of the atoms of a condition, those that are connected side by side."""
    atoms = {ref.atom for ref in refs_of(node)}
    parts = [sorted(part & atoms) for part in connected(equal, scope) if part & atoms]
    return " and ".join(", ".join(repr(scope.relations[atom].alias) for atom in part) for part in sorted(parts))


def _refusal(node: exp.Expr, between: str, source: Source, offset: int, hint: str = "") -> UnsupportedQueryError:
    name = node.sql_name() if isinstance(node, exp.Func) else node.key.upper()
    msg = (
        f"the condition {shown(node)} is over {between}, which no equality connects. It would be checked on each pair "
        "of their rows. Join them by an equality too (column = column). Or allow the product with allow_product=True: "
        f"then a read costs all pairs, and a change all rows on the other side{hint and f'; {hint}'}"
    )
    return source.unsupported(_COMPARISONS.get(type(node), name), msg, offset)
