"""Aggregates over a LEFT JOIN by a comparison: those of the pairs, and the rows without a match.

    SELECT l.g, COUNT(*), COUNT(r.x), SUM(r.x) FROM l LEFT JOIN r ON l.k = r.k AND r.t < l.t GROUP BY l.g

    =  SELECT g, SUM(n), SUM(c), SUM(s) FROM (
         SELECT l.g, COUNT(*) n, COUNT(r.x) c, SUM(r.x) s FROM l JOIN r ON l.k = r.k AND r.t < l.t GROUP BY l.g
         UNION ALL
         SELECT l.g, COUNT(*), 0, NULL FROM l
         WHERE NOT EXISTS (SELECT 1 FROM r WHERE l.k = r.k AND r.t < l.t) GROUP BY l.g
       ) GROUP BY g

The first SELECT makes no pair (docs/decisions/0066), and the rows of the second one are found by the least or greatest
t of their key (docs/decisions/0037). With two bounds, as of BETWEEN, they are those whose key and bounds have no pair.

Law: a group has one row at most in each of the SELECTs. An aggregate of r that is NULL for rows without a match has one
value at most that is not NULL, so that the sum is that value, and has its type. So an AVG needs no quotient, and no sum
grows wider. COUNT, BOOL_AND and BOOL_OR of columns of l are put together of both. SUM and AVG of columns of l are not:
one of two sums may be too large for a type that the whole one fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.aggregates import AggregateCall
from livejoin.query.as_table import relation_columns
from livejoin.query.conjunctive import ColumnRef, Output
from livejoin.query.inequality import inequality_groups
from livejoin.query.inequality_sides import InequalitySides
from livejoin.query.relational import Aggregate, Project, Relation, SetOperation
from livejoin.query.scalar import Constant, Expression
from livejoin.schema import SqlType, Table
from livejoin.sql.lower.grouped.determined import with_determined
from livejoin.sql.lower.grouped.grouping import Grouping
from livejoin.sql.lower.parts.null_rejection import gives_null, rejects
from livejoin.sql.lower.parts.part_tree import atoms_of, flat
from livejoin.sql.lower.select_join import Joined
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.parse.source import offset_of
from livejoin.sql.parse.sub_queries import mark_of
from livejoin.sql.resolved.column import REF, bound_column, over, refs_of
from livejoin.sql.resolved.item import Item, SortBy, distinct_names
from livejoin.sql.resolved.outer import Outer, outer_column
from livejoin.sql.resolved.part import Part
from livejoin.sql.resolved.query import NestedQuery, Occurrence, Scope, SelectBlock, SubSelect
from livejoin.sql.scalars.operands import BIGINT
from livejoin.sql.sub_queries.correlation import correlation
from livejoin.sql.sub_queries.rewriter import Rewriter

_BY_ORDER = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_ADDED = ("count", "bool_and", "bool_or")  # what is known of parts of the rows gives what is known of all


@dataclass(frozen=True)
class _LeftJoin:
    """A SELECT with groups over ``kept LEFT JOIN other``, with flat conditions.

    Args:
        block: The SELECT.
        kept: The occurrence whose rows all stand in the join.
        other: The occurrence whose columns are NULL where there is no match.
    """

    block: SelectBlock
    kept: Occurrence
    other: Occurrence

    @property
    def on(self) -> tuple[exp.Expr, ...]:
        """The conditions of ON."""
        return self.block.parts[0].conditions

    @property
    def below(self) -> tuple[exp.Expr, ...]:
        """The conditions of ON that read the optional side, as a sub-query over that has them."""
        return tuple(_from_below(self, one) for one in self.on if self.of_other(one))

    @property
    def has_one_comparison(self) -> bool:
        """Whether the least or greatest value of a key decides whether a row has a match."""
        on = correlation(self.below)
        return len(on.compared) == 1 and on.compared[0].comparison in _BY_ORDER and not on.others

    @property
    def on_kept(self) -> tuple[exp.Expr, ...]:
        """The conditions of ON over the kept side alone, or over no column: who does not pass has no match."""
        return tuple(one for one in self.on if not self.of_other(one))

    @property
    def pairs(self) -> SelectBlock:
        """The SELECT over the inner join."""
        return replace(self.block, parts=(), conditions=(*self.block.conditions, *self.on))

    def of_other(self, value: exp.Expr) -> bool:
        """Whether an expression reads the optional side."""
        return self.other.atom in atoms_of(value)


def add_up_left_joins(block: SelectBlock, rewriter: Rewriter) -> SelectBlock:
    """A SELECT with the same rows, over the sums of pairs and of rows without a match where it asks for such sums.

    Args:
        block: The SELECT.
        rewriter: Makes relations of SELECTs.

    Raises:
        SqlError: An expression or a condition that is not valid.
    """
    found = _left_join(block)
    if found is None or block.groups is None:
        return block
    crossed = Joined.of(replace(found.block, parts=()), allow_product=True)
    groups = with_determined(block.groups, list(_over_groups(block)), crossed, block.start)
    if any(atoms_of(value) != {found.kept.atom} for value in groups):
        return block
    joined = replace(Joined.of(found.pairs, rewriter.allow_product), padded=frozenset({found.other.atom}))
    grouping = Grouping(groups, joined, block.source.tokens[0].start)
    above = _above(block, grouping)
    matched = grouping.relation(block.is_global)
    sides = inequality_groups(matched)
    if not isinstance(matched, Aggregate) or not isinstance(sides, InequalitySides):
        return block
    if not (found.has_one_comparison or (sides.low and sides.high)):
        return block  # a row of the optional side meets half of the rows that its groups are asked for
    if not all(_adds_up(call, grouping.values, found) for call in matched.calls):
        return block
    total = _total(matched, _unmatched(found, matched, grouping.values, rewriter))
    names = tuple(distinct_names(total.schema.names))
    table = Table(rewriter.names.fresh("sums"), relation_columns(names, total))
    occurrence = Occurrence(0, "sums", table, NestedQuery("", names, total, None, None), block.start)
    return replace(above, scope=Scope.of(occurrence))


def _left_join(block: SelectBlock) -> _LeftJoin | None:
    """The LEFT JOIN by one comparison that a SELECT with groups reads; None if it reads anything else."""
    if block.groups is None or block.sets is not None or block.has_windows or len(block.parts) != 1:
        return None
    (part,), core = block.parts, block.core
    if part.kind != "optional" or len(part.atoms) != 1 or len(core) != 1:
        return None
    sides = [next(one for one in block.scope.relations if one.atom == atom) for atom in (*core, *part.atoms)]
    found = _LeftJoin(flat(block), *sides)
    if any(found.of_other(one) for one in found.block.conditions):
        return None
    on = correlation(found.below)
    return found if on.compared or on.others else None


def _over_groups(block: SelectBlock) -> Iterator[exp.Expr]:
    """The expressions over the groups of a SELECT."""
    yield from (item.value for item in block.items)
    if block.having is not None:
        yield block.having
    if block.order is not None:
        yield from (key.value for key in block.order.keys)


def _above(block: SelectBlock, grouping: Grouping) -> SelectBlock:
    """The SELECT over the groups: HAVING is its WHERE."""

    def changed(value: exp.Expr, offset: int) -> exp.Expr:
        return grouping.over(value, offset)

    def sorted_by(key: SortBy) -> SortBy:
        return replace(key, value=changed(key.value, key.offset))

    items = tuple(replace(item, value=changed(item.value, item.offset)) for item in block.items)
    having = () if block.having is None else (changed(block.having, offset_of(block.having, block.start)),)
    order = None if block.order is None else replace(block.order, keys=tuple(map(sorted_by, block.order.keys)))
    return replace(
        block,
        items=items,
        equalities=(),
        conditions=having,
        groups=None,
        is_global=False,
        having=None,
        order=order,
        parts=(),
    )


def _adds_up(call: AggregateCall, values: Sequence[Item], found: _LeftJoin) -> bool:
    """Whether the results of a call over the pairs and over the rows without a match give the one over all."""
    if call.argument is None:
        return call.function == "count"
    value = values[call.argument].value
    if not found.of_other(value):
        return call.function in _ADDED
    return _is_null(value, lambda ref: ref.atom == found.other.atom)


def _is_null(value: exp.Expr, nulls: Callable[[ColumnRef], bool]) -> bool:
    """Whether an argument is NULL if some columns are; that of a call with FILTER is a CASE."""
    node = value.unnest()
    if not isinstance(node, exp.Case) or node.this is not None:
        return gives_null(node, nulls)
    default = node.args.get("default")
    is_null = default is None or isinstance(default, exp.Null) or _is_null(default, nulls)
    return is_null and all(_drops(one.this, nulls) or _is_null(one.args["true"], nulls) for one in node.args["ifs"])


def _drops(condition: exp.Expr, nulls: Callable[[ColumnRef], bool]) -> bool:
    """Whether a condition is not true if some columns are NULL; COUNT(CASE ...) asks whether the CASE is NULL."""
    match condition.unnest():
        case exp.And() as both:
            return _drops(both.this, nulls) or _drops(both.expression, nulls)
        case exp.Not(this=inner) if isinstance(is_ := inner.unnest(), exp.Is) and isinstance(is_.expression, exp.Null):
            return _is_null(is_.this, nulls)
        case other:
            return rejects(other, nulls)


def _unmatched(found: _LeftJoin, matched: Aggregate, values: Sequence[Item], rewriter: Rewriter) -> list[Project]:
    """The aggregates over the rows without a match, with the columns of those over the pairs.

    Rows that a condition of ON over them alone is not true for are apart from those that meet no row.
    """
    own = [
        call.argument
        for call in matched.calls
        if call.argument is not None and not found.of_other(values[call.argument].value)
    ]
    read = list(dict.fromkeys([*range(matched.groups), *own]))
    rows = _Rows(found, tuple(values[place] for place in read), rewriter)
    return [_padded(one, matched, read) for one in (rows.without_match(), *rows.not_asked())]


def _padded(rows: Relation, matched: Aggregate, read: Sequence[int]) -> Project:
    """Aggregates over rows without a match, which have the columns of ``read`` alone."""
    groups = matched.groups
    calls = [AggregateCall("count", None, False, BIGINT)]
    shown = [Output(matched.schema.names[i], matched.types[i].arrow, i) for i in range(groups)]
    for name, call in zip(matched.schema.names[groups:], matched.calls, strict=True):
        source: int | Expression
        if call.argument is None or call.argument in read:
            argument = None if call.argument is None else read.index(call.argument)
            counted = replace(call, argument=argument, product=None)
            if counted not in calls:
                calls.append(counted)
            source = groups + calls.index(counted)
        else:
            source = _nothing(call)
        shown.append(Output(name, call.type.arrow, source))
    below = Aggregate(rows, groups, tuple(calls), matched.is_global)
    return Project(below, tuple(shown), matched.types)


def _nothing(call: AggregateCall) -> Expression:
    """The result of a call over no value."""
    return _constant(0 if call.function == "count" else None, call.type)


def _constant(value: int | None, kind: SqlType) -> Expression:
    return Expression(f"CAST({'NULL' if value is None else value} AS {kind})", Constant(value, kind))


@dataclass(frozen=True)
class _Rows:
    """The rows of the kept side that have no match.

    Args:
        found: The LEFT JOIN.
        items: The columns that are read of them.
        rewriter: Makes relations of SELECTs.
    """

    found: _LeftJoin
    items: tuple[Item, ...]
    rewriter: Rewriter

    def without_match(self) -> Relation:
        """``SELECT items FROM kept WHERE NOT EXISTS (SELECT 1 FROM other WHERE on)``."""
        if not self.found.has_one_comparison:
            return self._without_pairs()
        found, source, start = self.found, self.found.block.source, self.found.block.start
        below = tuple(map(_alone, found.below))
        query = SelectBlock(Scope.of(replace(found.other, atom=0)), (_one(start),), source, start, conditions=below)
        missing = exp.Not(this=mark_of(0, [], start))
        rows = self._selected((*map(_alone, found.on_kept), missing))
        return self.rewriter.bound(
            replace(rows, sub_queries=(SubSelect("exists", None, query, source, start),))
        ).relation

    def _without_pairs(self) -> Relation:
        """The same by what ON reads of the kept side: values of which no row has a match."""
        found, start = self.found, self.found.block.start
        read = [ref for one in found.on for ref in refs_of(one) if ref.atom == found.kept.atom]
        keys = tuple(bound_column(ref, f"k{i}") for i, ref in enumerate(dict.fromkeys(read)))
        count = Item("pairs", exp.Count(this=exp.Star()), start, written="pairs")
        items = (*(Item(key.name, key, start, written=key.name) for key in keys), count)
        pairs = replace(found.pairs, items=items, groups=keys, is_global=False, having=None, distinct=False, order=None)
        met = self.rewriter.merged(pairs).relation
        table = Table(self.rewriter.names.fresh("met"), relation_columns(met.schema.names, met))
        nested = NestedQuery("", tuple(met.schema.names), met, None, None)
        rows = self._selected(tuple(map(_alone, found.on_kept)))
        equal = tuple(
            exp.EQ(this=_alone(key), expression=bound_column(ColumnRef(1, i), key.name)) for i, key in enumerate(keys)
        )
        return self.rewriter.bound(
            replace(
                rows,
                scope=rows.scope.beside(Scope((Occurrence(1, "met", table, nested, start),))),
                parts=(Part("not exists", (1,), equal),),
            )
        ).relation

    def not_asked(self) -> Iterator[Relation]:
        """The rows that a condition of ON over them alone is not true for, if there is one."""
        if self.found.on_kept:
            asked = exp.and_(*(exp.paren(_alone(one)) for one in self.found.on_kept))
            is_true = exp.Coalesce(this=asked, expressions=[exp.false()])
            yield self.rewriter.bound(self._selected((exp.Not(this=is_true),))).relation

    def _selected(self, conditions: tuple[exp.Expr, ...]) -> SelectBlock:
        """``SELECT items FROM kept WHERE conditions``, and what WHERE says."""
        block = self.found.block
        names = distinct_names([item.name for item in self.items])
        named = zip(names, self.items, strict=True)
        items = tuple(replace(item, name=name, value=_alone(item.value), written=name) for name, item in named)
        return SelectBlock(
            Scope.of(replace(self.found.kept, atom=0)),
            items or (_one(block.start),),
            block.source,
            block.start,
            conditions=(*map(_alone, block.conditions), *conditions),
        )


def _one(start: int) -> Item:
    """A column for rows of which none is read."""
    return Item("one", exp.Literal.number(1), start, written="one")


def _alone(value: exp.Expr) -> exp.Expr:
    """An expression over the only occurrence of a SELECT."""
    return over(value, lambda ref: ColumnRef(0, ref.column))


def _from_below(found: _LeftJoin, condition: exp.Expr) -> exp.Expr:
    """A condition of ON as a sub-query over the optional side has it: columns of the other one are outer columns."""

    def exchanged(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.meta[REF].atom != found.kept.atom:
            return node
        ref = ColumnRef(0, node.meta[REF].column)
        return outer_column(Outer(1, ref, node.sql("spark", comments=False)), node.meta.get("start"))

    return rewritten(condition, exchanged)


def _total(matched: Aggregate, unmatched: Sequence[Project]) -> Aggregate:
    """The sums over all of them, each with the type that it has in one."""
    united: Relation = matched
    for one in unmatched:
        united = SetOperation("union", True, united, one)
    calls = []
    for place, call in enumerate(matched.calls, matched.groups):
        function = call.function if call.function in ("bool_and", "bool_or") else "sum"
        calls.append(AggregateCall(function, place, False, call.type))
    return Aggregate(united, matched.groups, tuple(calls), matched.is_global)
