"""Equalities across tables as joins on columns, some of which are computed.

An equality of two columns joins them if equal values have equal codes. Every other equality between an expression over
one atom and one over another atom joins computed columns:

    R |><|_(f(R) = g(S)) S  =  pi(R' |><|_(x = y) S')    where R' = R with a column x = f(R), S' = S with y = g(S),

both of the type in which SQL compares them. So ``INT = DOUBLE`` joins ``CAST(a AS DOUBLE)``. It never makes the two
columns one variable: equality after a conversion is not transitive over the columns themselves. A NULL-safe equality
joins two pairs of columns: the value, with a constant in place of NULL, and whether it is NULL.

An atom with computed columns is a relation of its own that is stored, O(rows of the table). Each expression is
evaluated for the rows that satisfy the predicates of its atom, and its error is one of the commit that brings the row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.query.scalar import Call, Scalar
from livejoin.schema import SqlType
from livejoin.sql.lower.conditions.computed import with_column
from livejoin.sql.lower.conditions.join_types import can_join
from livejoin.sql.lower.conditions.substitute import onto_one_atom
from livejoin.sql.lower.variables import classes
from livejoin.sql.parse.source import Source
from livejoin.sql.resolved.column import refs_of
from livejoin.sql.resolved.part import Equality
from livejoin.sql.resolved.query import Scope
from livejoin.sql.resolved.typed import cast_to
from livejoin.sql.scalars.bind import Unsaid
from livejoin.sql.scalars.expression import RowType, bind_tree

Classes = tuple[tuple[ColumnRef, ...], ...]
_Side = tuple[int, exp.Expr]

_STAND_INS = {
    "boolean": "FALSE",
    "string": "''",
    "binary": "X''",
    "date": "DATE '1970-01-01'",
    "timestamp": "DATE '1970-01-01'",
}


class Equalities:
    """The classes of equal columns while conditions are added; mutable.

    Args:
        scope: All occurrences of tables.
        source: The SQL text.
        among: The atoms that are joined; all of them if None.
    """

    def __init__(self, scope: Scope, source: Source, among: Collection[int] | None = None) -> None:
        self._source = source
        self.among = among
        self._pairs: list[Equality] = []
        self.scope = scope
        """The occurrences, with the columns that were computed for joins."""
        self._found: tuple[Classes, Classes] | None = None

    @property
    def joins(self) -> Classes:
        """The classes of columns that are joined, computed ones among them."""
        return self._classes()[0]

    @property
    def equal(self) -> Classes:
        """The classes of existing columns that are equal in each row of the join."""
        return self._classes()[1]

    def _classes(self) -> tuple[Classes, Classes]:
        if self._found is None:
            joins = classes(self._pairs)
            own = (tuple(ref for ref in members if not self.scope.is_computed(ref)) for members in joins)
            self._found = joins, tuple(members for members in own if members)
        return self._found

    def add(self, equality: Equality) -> bool:
        """Join two columns; False, and nothing is done, if equal values may have different codes."""
        within = self.among is None or {equality.left.atom, equality.right.atom} <= set(self.among)
        if not within or not can_join(equality, self.scope):
            return False
        self._pairs.append(equality)
        self._found = None
        return True

    def add_computed(self, conjunct: exp.Expr, offset: int) -> bool:
        """Join the two sides of an equality. False, and nothing is done, if it is no equality across two atoms.

        Law: no class gets two columns of one atom of which one is computed; such an equality is not joined.

        Args:
            conjunct: A resolved condition.
            offset: A position for parts without one.

        Raises:
            SqlTypeError: The sides have no common type.
        """
        found = computed_pairs(conjunct, self.equal, self.scope, self._source, offset, self.among)
        if found is None:
            return False
        scope, pairs = found
        if any(_is_doubled(members, scope) for members in classes([*self._pairs, *pairs])):
            return False
        self.scope = scope
        self._pairs += pairs
        self._found = None
        return True

    def tree(self, conjunct: exp.Expr, offset: int) -> Scalar | None:
        """A resolved condition as a scalar tree; None if it cannot be one. Raises as `add_computed`."""
        return _tree(conjunct, self.scope, self._source, offset)

    def joins_all(self, pairs: Iterable[Equality]) -> bool:
        """Whether some pairs of columns are equal in each row of the join."""
        joins = self.joins
        return all(any({one.left, one.right} <= set(members) for members in joins) for one in pairs)


def computed_pairs(
    conjunct: exp.Expr,
    equal: Classes,
    scope: Scope,
    source: Source,
    offset: int,
    among: Collection[int] | None = None,
) -> tuple[Scope, tuple[Equality, ...]] | None:
    """The pairs of columns that are equal if and only if two expressions are.

    Args:
        conjunct: A resolved condition.
        equal: The classes of existing columns that are equal in each row of the join.
        scope: All occurrences.
        source: The SQL text.
        offset: A position for parts without one.
        among: The atoms that are joined; all of them if None.

    Returns:
        The occurrences with the columns that had to be computed, and the pairs: one for ``=``, two for a NULL-safe
        equality. None if the condition is no equality, its sides are not over two different atoms, or one cannot be a
        scalar tree.

    Raises:
        SqlTypeError: The sides have no common type.
    """
    if not isinstance(conjunct, (exp.EQ, exp.NullSafeEQ)):
        return None
    left, right = (_side(part, equal, scope, among) for part in (conjunct.this, conjunct.expression))
    if left is None or right is None or left[0] == right[0]:
        return None
    whole = _tree(type(conjunct)(this=left[1], expression=right[1]), scope, source, offset)
    if not isinstance(whole, Call):
        return None
    common = whole.arguments[0].type
    pairs = []
    for sides in _joined(left, right, common, isinstance(conjunct, exp.NullSafeEQ), scope, source, offset):
        refs = []
        for atom, value in sides:
            found = with_column(scope, atom, value, source, offset)
            if found is None:
                return None
            scope, ref = found
            refs.append(ref)
        pairs.append(Equality(refs[0], refs[1], offset))
    return scope, tuple(pairs)


def _side(part: exp.Expr, equal: Classes, scope: Scope, among: Collection[int] | None) -> _Side | None:
    """The atom of one side of an equality, and the side over that atom's columns."""
    side = part.unnest()
    return onto_one_atom(side, equal, scope, among) if refs_of(side) else None


def _joined(
    left: _Side, right: _Side, common: SqlType, null_safe: bool, scope: Scope, source: Source, offset: int
) -> list[tuple[_Side, _Side]]:
    """The expressions whose values are joined for an equality."""

    def compared(side: _Side) -> _Side:
        atom, value = side
        own = _tree(value, scope, source, offset)
        fits = own is not None and own.type.join_class == common.join_class
        return atom, value if fits else _cast(value, common)

    def is_null(side: _Side) -> _Side:
        return side[0], exp.Is(this=exp.paren(side[1]), expression=exp.null())

    def without_null(side: _Side) -> _Side:
        stand_in: exp.Expr = exp.maybe_parse(_STAND_INS.get(common.kind, "0"), dialect="spark")
        return side[0], exp.Coalesce(this=side[1].copy(), expressions=[_cast(stand_in, common)])

    values = compared(left), compared(right)
    if not null_safe:
        return [values]
    return [(without_null(values[0]), without_null(values[1])), (is_null(left), is_null(right))]


def _tree(node: exp.Expr, scope: Scope, source: Source, offset: int) -> Scalar | None:
    """An expression over columns of some atoms as a tree, for its type; None if it cannot be one."""
    refs = refs_of(node)
    row = RowType.of_types([scope.declared(ref).type for ref in refs], [scope.arrow(ref) for ref in refs], refs.index)
    found = bind_tree(node, row, source, offset)
    return None if isinstance(found, Unsaid) else found[0].scalar


def _cast(value: exp.Expr, kind: SqlType) -> exp.Expr:
    return cast_to(value.copy(), kind)


def _is_doubled(members: Sequence[ColumnRef], scope: Scope) -> bool:
    """Whether a class has a computed column beside another column of its atom."""
    atoms = [ref.atom for ref in members]
    return any(scope.is_computed(ref) and atoms.count(ref.atom) > 1 for ref in members)
