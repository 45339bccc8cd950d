"""The parts of a SELECT while its sub-queries become parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.errors import UnsupportedQueryError
from livejoin.query.conjunctive import ColumnRef, EdgeKind
from livejoin.sql.lower.conditions import conjuncts
from livejoin.sql.lower.parts.part_tree import below
from livejoin.sql.lower.view_merging import merge_views
from livejoin.sql.parse.source import offset_of
from livejoin.sql.parse.sub_queries import has_marks
from livejoin.sql.resolved.column import REF, column_at, key_of, over, refs_of
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.outer import Outer, landed, lifted, outer_column, outer_of
from livejoin.sql.resolved.part import Equality, Part
from livejoin.sql.resolved.query import NestedQuery, Occurrence, SelectBlock, SubSelect
from livejoin.sql.sub_queries.correlation import Compared, Correlation, correlation
from livejoin.sql.sub_queries.domain import wants_domain, widened
from livejoin.sql.sub_queries.first_rows import first_rows, one_row, refuse_global, windowed
from livejoin.sql.sub_queries.free import free_columns
from livejoin.sql.sub_queries.rewriter import Rewriter, select_all

Keyed = tuple[exp.Expr, exp.Expr]  # a column, and the condition that an outer one equals it


class SkipsLevelError(UnsupportedQueryError):
    """A sub-query reads a column of a query that is not right around it; the query between can have it beside."""


@dataclass(frozen=True)
class Place:
    """Where a sub-query stands, and where the part that it becomes is hung.

    Args:
        within: The part in whose ON it stands; None for any other clause.
        above: The part that it is hung on; None for the core.
    """

    within: int | None = None
    above: int | None = None


class Parts:
    """The occurrences of tables and the parts of a SELECT; mutable.

    Args:
        block: The SELECT, whose own ones come first.
        rewriter: How relations are made.

    Attributes:
        place: Where a sub-query that is made a part is hung.
        own: For each part its number among the SELECT's own; None for those that sub-queries became.
    """

    def __init__(self, block: SelectBlock, rewriter: Rewriter) -> None:
        self.block = block
        self.rewriter = rewriter
        self.relations = list(block.scope.relations)
        self.parts = list(block.parts)
        self.place = Place()
        self.own: list[int | None] = list(range(len(self.parts)))

    def plain(self, sub: SubSelect) -> SelectBlock:
        """A sub-query as a SELECT that neither groups nor sorts; DISTINCT is left as it is written.

        Raises:
            UnsupportedQueryError: It is correlated and has several grouping sets, or aggregates without GROUP BY.
        """
        if isinstance(sub.query, NestedQuery):
            return select_all(self.rewriter, sub.query.relation, "query", sub.source, sub.offset)
        block = one_row(self.rewriter.unnested(sub.query))
        if block.sets is not None:
            for outer, node in free_columns(block):
                msg = (
                    f"{outer.name} is a column of the query around, and the sub-query that reads it has several "
                    "grouping sets; return their rows from a query in FROM, and compare its columns outside of it"
                )
                raise block.source.unsupported("sub-query", msg, offset_of(node, sub.offset))
        if (block.order is not None or block.sets is not None or block.has_windows) and not any(free_columns(block)):
            return select_all(self.rewriter, self.rewriter.bound(block).relation, "query", block.source, block.start)
        if block.order is not None:
            return first_rows(self, block, block.order, sub)
        if block.has_windows:
            return windowed(self, block, sub)
        if block.groups is None:
            return merge_views(block)
        if block.is_global:
            refuse_global(block, sub)
        groups = None if block.is_global else block.groups
        return self.keyed(block, [item.value for item in block.items], sub, groups=groups, having=block.having)

    def keyed(
        self,
        block: SelectBlock,
        values: Sequence[exp.Expr],
        sub: SubSelect,
        *,
        groups: Sequence[exp.Expr] | None = None,
        having: exp.Expr | None = None,
        qualify: exp.Expr | None = None,
        is_grouped: bool = True,
        distinct: bool = False,
    ) -> SelectBlock:
        """A sub-query as a SELECT of one relation, which has the columns that it is correlated by, and then values.

        Args:
            block, values, sub, groups, having, qualify, is_grouped, distinct: As of `with_keys`.

        Returns:
            ``SELECT values FROM relation WHERE key = outer``; column i of the relation is key i. Where the sub-query is
            correlated by more than equalities the keys are outer columns themselves, and may be NULL.

        Raises:
            UnsupportedQueryError: It reads a column of a query further out.
        """
        kept, conditions = self.with_keys(
            block,
            values,
            sub,
            groups=groups,
            having=having,
            qualify=qualify,
            is_grouped=is_grouped,
            distinct=distinct,
        )
        bound = self.rewriter.bound(kept)
        over = select_all(self.rewriter, bound.relation, "query", block.source, sub.offset, bound)
        first = len(kept.outputs) - len(values)
        return replace(over, conditions=conditions, items=over.items[first:])

    def with_keys(
        self,
        block: SelectBlock,
        values: Sequence[exp.Expr],
        sub: SubSelect,
        *,
        groups: Sequence[exp.Expr] | None = None,
        having: exp.Expr | None = None,
        qualify: exp.Expr | None = None,
        is_grouped: bool = True,
        distinct: bool = False,
    ) -> tuple[SelectBlock, tuple[exp.Expr, ...]]:
        """A sub-query as a SELECT of the columns that it is correlated by, and then of values.

        Args:
            block: The sub-query without sub-queries of its own; what it selects does not matter.
            values: The values, over the rows of the sub-query or over its groups.
            sub: Where it stands.
            groups: What is grouped by besides the keys; None for the keys alone.
            having: A condition on groups.
            qualify: A condition on window functions, which are over the rows of one key each.
            is_grouped: Whether there are groups.
            distinct: Whether equal rows count once.

        Returns:
            The SELECT, and the conditions ``key = outer`` over its columns.

        Raises:
            UnsupportedQueryError: It reads a column of a query further out.
        """
        found = correlation(block.conditions)
        block = self._nearer(block, found)
        values = [*values, *([] if qualify is None else [qualify])]
        if wants_domain(block, found, [*values, *(groups or ()), *([] if having is None else [having])]):
            block, values, groups, having, keys = self._over_domain(block, found, values, groups, having)
        else:
            keys = [(key.inner, _equal(key)) for key in found.keys]
            block = replace(block, conditions=tuple(found.own))
        values = [_within(value, [key for key, _ in keys]) for value in values]
        named = [*((f"k{i}", key) for i, (key, _) in enumerate(keys)), *((f"v{i}", v) for i, v in enumerate(values))]
        grouped = {key_of(value): value for value in (*(key for key, _ in keys), *(groups or ()))}
        kept = replace(
            block,
            items=tuple(Item(name, value, offset_of(value, sub.offset), written=name) for name, value in named),
            groups=tuple(grouped.values()) if is_grouped else None,
            is_global=is_grouped and not keys and groups is None,
            having=having,
            distinct=distinct,
            qualified=qualify is not None,
            order=None,
            read_order=(),
        )
        for outer, node in free_columns(kept):
            msg = (
                f"{outer.name} is a column of a query that is not right around this sub-query, and no column of "
                f"the query between is equal to it; add such a column there, as T.x = {outer.name}, and compare that"
            )
            line, column = block.source.position(offset_of(node, sub.offset))
            raise SkipsLevelError(msg, block.source.sql, line, column, clause="sub-query")
        conditions = []
        for position, (_, condition) in enumerate(keys):
            equal = condition.copy()
            equal.set("this", column_at(position))
            conditions.append(equal)
        return kept, (*conditions, *found.above)

    def _over_domain(
        self,
        block: SelectBlock,
        found: Correlation,
        values: Sequence[exp.Expr],
        groups: Sequence[exp.Expr] | None,
        having: exp.Expr | None,
    ) -> tuple[SelectBlock, Sequence[exp.Expr], Sequence[exp.Expr] | None, exp.Expr | None, list[Keyed]]:
        """A sub-query that reads the values of outer columns from a relation of these (see `domain`)."""
        computed = [*values, *(groups or ()), *([] if having is None else [having])]
        wide = widened(block, found, computed, self.around(), self.rewriter)
        left = iter(wide.values)
        values = [next(left) for _ in values]
        groups = None if groups is None else [next(left) for _ in groups]
        having = None if having is None else next(left)
        keys: list[Keyed] = []
        for column, outer in wide.keys:
            outside = _as_column(outer)
            equal = exp.EQ if self.never_null(outside, self.block) else exp.NullSafeEQ
            keys.append((column, equal(this=column.copy(), expression=outer_column(outer, None))))
        return wide.block, values, groups, having, keys

    def state(self) -> tuple[list[Occurrence], list[Part], list[int | None], Place]:
        """What `restore` brings back."""
        return list(self.relations), list(self.parts), list(self.own), self.place

    def restore(self, state: tuple[list[Occurrence], list[Part], list[int | None], Place]) -> None:
        """Forget the parts that were made since."""
        self.relations, self.parts, self.own, self.place = (list(state[0]), list(state[1]), list(state[2]), state[3])

    def around(self) -> SelectBlock:
        """The SELECT around, of whose rows the sub-query is asked: for one in ON before that decides."""
        within = self.place.within
        if within is None:
            return self.block
        scope = replace(self.block.scope, relations=tuple(self.relations))
        block = replace(self.block, scope=scope, parts=tuple(self.parts))
        line: set[int | None] = {within}
        while (above := block.parts[min(i for i in line if i is not None)].above) is not None:
            line.add(above)
        kept = [i for i in range(len(block.parts)) if i <= within or i in below(block, within)]
        numbers = {i: place for place, i in enumerate(kept)}
        parts = []
        for i in kept:
            part = block.parts[i]
            above = None if part.above is None else numbers[part.above]
            conditions = tuple(c for one in part.conditions for c in conjuncts(one) if not has_marks(c))
            kind: EdgeKind = "optional" if i in line else part.kind
            parts.append(replace(part, kind=kind, above=above, conditions=conditions))
        core = set(block.core)
        rows = (c for one in block.conditions for c in conjuncts(one))
        return replace(
            block, parts=tuple(parts), conditions=tuple(c for c in rows if {ref.atom for ref in refs_of(c)} <= core)
        )

    def attach(self, block: SelectBlock, kind: EdgeKind) -> int:
        """Add a plain sub-query as a part; returns the number of its first table."""
        start, place = len(self.relations), self.place
        # What is hung beside the part in whose ON it is stands before it, whose condition reads it.
        is_beside = place.within is not None and place.above != place.within
        first = place.within if is_beside and place.within is not None else len(self.parts)
        aliases = {relation.alias.lower() for relation in self.relations}
        for relation in block.scope.relations:
            alias, number = relation.alias, 1
            while alias.lower() in aliases:
                number += 1
                alias = f"{relation.alias}_{number}"
            aliases.add(alias.lower())
            self.relations.append(replace(relation, atom=start + relation.atom, alias=alias))
        hanging = {atom for part in block.parts for atom in part.atoms}
        core = tuple(start + r.atom for r in block.scope.relations if r.atom not in hanging)
        conditions, equalities = self._placed(block.conditions, start), _moved(block.equalities, start)
        found = [Part(kind, core, conditions, equalities, place.above)]
        for part in block.parts:
            found.append(
                Part(
                    part.kind,
                    tuple(start + atom for atom in part.atoms),
                    self._placed(part.conditions, start),
                    _moved(part.equalities, start),
                    first if part.above is None else first + 1 + part.above,
                )
            )
        self.parts[first:] = [*found, *(_behind(part, first, len(found)) for part in self.parts[first:])]
        self.own[first:first] = [None] * len(found)
        if is_beside:
            self.place = replace(place, within=first + len(found))
        return start

    def placed(self, value: exp.Expr, start: int) -> exp.Expr:
        """An expression of a sub-query that `attach` has given the number of its first table."""
        return landed(over(value, lambda ref: ColumnRef(start + ref.atom, ref.column)), _as_column)

    def _placed(self, conditions: Sequence[exp.Expr], start: int) -> tuple[exp.Expr, ...]:
        return tuple(self.placed(condition, start) for condition in conditions)

    def equal_to(self, block: SelectBlock, operands: Sequence[exp.Expr], sub: SubSelect) -> list[exp.Expr]:
        """The conditions that the columns of a sub-query equal what they are compared with."""
        self.check_width(len(block.items), len(operands), sub)
        return [
            _at(exp.EQ(this=item.value.copy(), expression=lifted(operand)), operand)
            for item, operand in zip(block.items, operands, strict=False)
        ]

    def check_width(self, columns: int, operands: int, sub: SubSelect) -> None:
        """Refuse a sub-query with another number of columns than it is compared with."""
        wanted = 1 if sub.form == "scalar" else operands
        if sub.form != "exists" and columns != wanted:
            msg = f"the sub-query has {columns} columns, and {wanted} are asked for; name as many in its SELECT list"
            raise sub.source.unsupported("sub-query", msg, sub.offset)

    def never_null(self, value: exp.Expr, block: SelectBlock) -> bool:
        """Whether an expression over the rows of a SELECT that its conditions keep is never NULL."""
        node = value.unnest()
        match node:
            case exp.Literal() | exp.Boolean():
                return True
            case exp.Add() | exp.Sub() | exp.Mul():
                return self.never_null(node.this, block) and self.never_null(node.expression, block)
            case exp.Neg():
                return self.never_null(node.this, block)
            case exp.Column():
                ref = node.meta[REF]
                if any(ref in _not_null(part) for condition in block.conditions for part in conjuncts(condition)):
                    return True
                optional = {atom for part in block.parts for atom in part.atoms}
                inside = ref.atom < len(block.scope.relations) and ref.atom not in optional
                return inside and not block.scope.declared(ref).nullable
            case _:
                return False

    def attachable(self, block: SelectBlock, sub: SubSelect) -> SelectBlock:
        """A plain sub-query whose tables can be a part; one relation in their place where they cannot."""
        found = correlation(block.conditions)
        hanging = {atom for part in block.parts for atom in part.atoms}
        used = {ref.atom for condition in block.conditions for ref in refs_of(condition)}
        if used & hanging:
            values = [] if found.keys else [exp.true()]
            return self.keyed(block, values, sub, is_grouped=False, distinct=True)
        return self._nearer(block, found)

    def _nearer(self, block: SelectBlock, found: Correlation) -> SelectBlock:
        """A sub-query whose parts read its own columns in the place of the outer ones that these equal."""
        own: dict[Outer, exp.Expr] = {}
        for key in found.keys:
            outer = outer_of(key.outer)
            if outer is not None and isinstance(key.inner, exp.Column):
                own.setdefault(outer, key.inner)

        def exchanged(node: exp.Expr) -> exp.Expr:
            outer = outer_of(node)
            return node if outer is None or outer not in own else _at(own[outer].copy(), node)

        if not own:
            return block
        return replace(block, parts=tuple(part.mapped(lambda c: c.transform(exchanged)) for part in block.parts))


def _within(value: exp.Expr, keys: Sequence[exp.Expr]) -> exp.Expr:
    """An expression whose window functions are over the rows of one key each."""
    found = value.copy()
    for window in found.find_all(exp.Window):
        window.set("partition_by", [*(window.args.get("partition_by") or ()), *(key.copy() for key in keys)])
    return found


def _behind(part: Part, first: int, number: int) -> Part:
    """A part behind so many that come at a position."""
    return part if part.above is None or part.above < first else replace(part, above=part.above + number)


def _as_column(outer: Outer) -> exp.Expr:
    """An outer column as a column of the query around, shown with its alias."""
    alias, _, name = outer.name.rpartition(".")
    column = exp.column(name, table=alias or None)
    column.meta[REF] = outer.ref
    return column


def _equal(key: Compared) -> exp.Expr:
    return _at(key.comparison(this=key.inner.copy(), expression=key.outer.copy()), key.written)


def _at(node: exp.Expr, written: exp.Expr) -> exp.Expr:
    """A node that stands where another one is written."""
    offset = offset_of(written, -1)
    if offset >= 0:
        node.meta["start"] = offset
    return node


def _not_null(conjunct: exp.Expr) -> set[ColumnRef]:
    """The columns that are not NULL where a conjunct is true."""
    if isinstance(conjunct, exp.Not):
        inner = conjunct.this.unnest()
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null) and isinstance(inner.this, exp.Column):
            return {inner.this.meta[REF]}
        return set()
    if isinstance(conjunct, (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)):
        sides = (conjunct.this.unnest(), conjunct.expression.unnest())
        return {side.meta[REF] for side in sides if isinstance(side, exp.Column)}
    return set()


def _moved(equalities: Sequence[Equality], start: int) -> tuple[Equality, ...]:
    def moved(ref: ColumnRef) -> ColumnRef:
        return ColumnRef(start + ref.atom, ref.column)

    return tuple(Equality(moved(e.left), moved(e.right), e.offset) for e in equalities)
