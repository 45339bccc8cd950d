"""Sub-queries as values: an ``optional`` part with the needed columns, and an expression over these.

Let K be the outer sides of the equalities that correlate a sub-query q, and let G(q) be its rows grouped by the inner
sides. The part has one row for each key of G(q), and is joined on its key.

* A scalar sub-query that aggregates: the part has the aggregates of the key, and the expression over them is computed
  above. So a key without rows gives the result of an aggregate over no rows: 0 for COUNT, else NULL.
* A scalar sub-query that does not aggregate: the value of the key's only row. If no key of the rows guarantees a single
  row, rows are counted, and a second one is an error of the commit that brings it.
* EXISTS: TRUE if the key is there. With one more comparison, ``s < r``: if the smallest s of the key is below r; for
  ``<>``: if its smallest or its greatest s differs from r.
* ``x IN (q)``: TRUE if the pair of key and x is there; else FALSE if the key has no rows; else NULL if x is NULL or a
  row has a NULL; else FALSE. ANY and ALL likewise, by the smallest and the greatest value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.query.keys import keys
from livejoin.query.relational import Project
from livejoin.schema import SqlType
from livejoin.schema.now import NOW
from livejoin.sql.lower.conditions.split import conjuncts
from livejoin.sql.lower.grouped.aggregates import aggregate_call
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.parse.source import offset_of, shown
from livejoin.sql.resolved.column import REF, bound_column, key_of
from livejoin.sql.resolved.item import Item
from livejoin.sql.resolved.query import SelectBlock, SubSelect
from livejoin.sql.scalars.labels import STANDS_FOR, standing_for, text_of
from livejoin.sql.sub_queries.correlation import Compared, Comparison, correlation
from livejoin.sql.sub_queries.domain import wants_domain
from livejoin.sql.sub_queries.first_rows import one_row
from livejoin.sql.sub_queries.keyed import Asked, keyed
from livejoin.sql.sub_queries.not_in import unknown_ways
from livejoin.sql.sub_queries.parts import Parts
from livejoin.sql.sub_queries.plain import plain_of
from livejoin.sql.sub_queries.rewriter import select_all

_COUNTS = ("count", "count_if", "regr_count")  # 0 over no rows; other aggregates are NULL


def value_of(around: Parts, sub: SubSelect, operands: Sequence[exp.Expr], *, as_condition: bool) -> exp.Expr:
    """The value of a sub-query as an expression over the SELECT around, which gets the needed parts.

    Args:
        around: The SELECT.
        sub: The sub-query.
        operands: The operands that it is compared with, without sub-queries.
        as_condition: Whether NULL counts as FALSE.

    Raises:
        UnsupportedQueryError: The correlation is not supported.
        SqlError: The sub-query is not valid.
    """
    maker = _Values(around, sub)
    match sub.form:
        case "scalar":
            return maker.scalar()
        case "exists":
            return maker.exists(as_condition=as_condition)
        case "in":
            return maker.is_in(operands, as_condition=as_condition)
        case _ if (sub.form, sub.comparison) == ("any", exp.EQ):
            return maker.is_in(operands, as_condition=as_condition)
        case _ if (sub.form, sub.comparison) == ("all", exp.NEQ):
            return exp.not_(exp.paren(maker.is_in(operands, as_condition=False)))
        case _:
            return maker.quantified(operands)


def aggregated(around: Parts, sub: SubSelect, block: SelectBlock, value: exp.Expr) -> exp.Expr:
    """An expression over the aggregates of a SELECT without GROUP BY and HAVING, as `value_of`."""
    return _Values(around, sub).over_aggregates(block, value)


class _Values:
    """The values of one sub-query."""

    def __init__(self, around: Parts, sub: SubSelect) -> None:
        self._around = around
        self._sub = sub

    def scalar(self) -> exp.Expr:
        """The value of the only row; NULL if there is none."""
        query = self._sub.query
        if isinstance(query, SelectBlock):
            block = one_row(self._around.unnested(query))
            self._around.check_width(len(block.outputs), 1, self._sub)
            if block.is_global and block.order is None and not block.has_windows:
                return self.over_aggregates(block, block.items[0].value)
        block = plain_of(self._around, self._sub)
        self._around.check_width(len(block.items), 1, self._sub)
        return self._only(block)

    def exists(self, *, as_condition: bool) -> exp.Expr:
        """Whether there is a row."""
        query = self._sub.query
        if isinstance(query, SelectBlock) and query.is_global and query.order is None and not query.has_windows:
            block = self._around.unnested(query)
            if block.is_global and block.having is None:
                return exp.true()
            if block.is_global:
                return self.over_aggregates(block, exp.true(), otherwise=exp.false())
        return self._is_there(plain_of(self._around, self._sub), as_condition=as_condition)

    def is_in(self, operands: Sequence[exp.Expr], *, as_condition: bool) -> exp.Expr:
        """Whether the operands are among the rows: TRUE, FALSE or NULL."""
        value = self._one_row(operands)
        if value is not None:
            return exp.EQ(this=exp.paren(operands[0].copy()), expression=value)
        around, sub = self._around, self._sub
        block = plain_of(around, sub)
        equal = around.equal_to(block, operands, sub)
        conditions = (*block.conditions, *equal)
        never_null = all(
            around.never_null(item.value, block) and around.never_null(operand, around.block)
            for item, operand in zip(block.items, operands, strict=True)
        )
        is_there = self._is_there(replace(block, conditions=conditions), as_condition=as_condition)
        if as_condition or never_null:
            return is_there
        if len(operands) > 1:
            ways = unknown_ways(around, block, operands, equal, sub)
            found = [replace(block, conditions=(*block.conditions, *way)) for way in ways]
            maybe = [self._is_there(one, as_condition=True) for one in found]
            return _case([(is_there, exp.true()), (exp.or_(*maybe, copy=True), exp.null())], exp.false())
        rows, values, _, _ = self._counted(block)
        nothing = exp.EQ(this=_or_zero(rows), expression=_number(0))
        unknown = exp.or_(_is_null(operands[0]), exp.LT(this=values, expression=rows.copy()), copy=True)
        return _case([(is_there, exp.true()), (nothing, exp.false()), (unknown, exp.null())], exp.false())

    def quantified(self, operands: Sequence[exp.Expr]) -> exp.Expr:
        """``x < ANY (q)`` and its like: TRUE, FALSE or NULL."""
        comparison = self._sub.comparison
        assert comparison is not None, "ANY and ALL compare"
        if len(operands) != 1:
            msg = "a comparison of several columns with ANY or ALL is not supported; write EXISTS with conditions"
            raise self._sub.source.unsupported("sub-query", msg, self._sub.offset)
        operand = exp.paren(operands[0].copy())
        value = self._one_row(operands)
        if value is not None:
            return comparison(this=operand, expression=value)
        block = plain_of(self._around, self._sub)
        self._around.check_width(len(block.items), 1, self._sub)
        rows, values, least, greatest = self._counted(block)
        is_any = self._sub.form == "any"

        def compared(bound: exp.Expr) -> exp.Expr:
            return comparison(this=operand.copy(), expression=bound.copy())

        if comparison in (exp.EQ, exp.NEQ):
            connector = exp.Or if is_any else exp.And
            decided: exp.Expr = exp.paren(connector(this=compared(least), expression=compared(greatest)))
        else:
            is_low = (comparison in (exp.GT, exp.GTE)) == is_any
            decided = compared(least if is_low else greatest)
        decided = decided if is_any else exp.not_(exp.paren(decided))
        nothing = exp.EQ(this=_or_zero(rows), expression=_number(0))
        unknown = exp.or_(_is_null(operand), exp.LT(this=values, expression=rows.copy()), copy=True)
        first, last = (exp.true(), exp.false()) if is_any else (exp.false(), exp.true())
        return _case([(nothing, last), (decided, first), (unknown, exp.null())], last.copy())

    def _one_row(self, operands: Sequence[exp.Expr]) -> exp.Expr | None:
        """The value of a correlated aggregate, which always has one row; None for another query."""
        query = self._sub.query
        if not isinstance(query, SelectBlock) or not query.is_global or query.order is not None or query.has_windows:
            return None
        block = self._around.unnested(query)
        if not block.is_global or block.having is not None or len(block.items) != 1:
            return None
        self._around.check_width(1, len(operands), self._sub)
        return exp.paren(self.over_aggregates(block, block.items[0].value))

    def over_aggregates(self, block: SelectBlock, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Expr:
        """An expression over the aggregates of a SELECT without GROUP BY, if HAVING keeps its row."""
        if block.having is not None:
            value = _case([(block.having, value)], otherwise or exp.null())
        calls: dict[str, exp.Expr] = {}

        def found(part: exp.Expr) -> exp.Expr:
            if aggregate_call(part, block.source, offset_of(part, self._sub.offset)) is None:
                return part
            calls.setdefault(key_of(part), part.copy())
            place = list(calls).index(key_of(part))
            column = bound_column(ColumnRef(0, place), f"a{place}")
            column.meta["aggregate"] = place
            return column

        over = rewritten(exp.paren(value), found)
        for column in over.find_all(exp.Column):
            if "aggregate" not in column.meta:
                msg = (
                    f"the column {shown(column)} is neither grouped (there is no GROUP BY) nor within an aggregate, "
                    "so there is no single value of it. Take MIN, MAX or another aggregate of it"
                )
                raise block.source.unsupported("GROUP BY", msg, offset_of(column, self._sub.offset))
        if not calls:
            calls["rows"] = exp.Count(this=exp.Star())
        part = keyed(self._around, Asked(block, list(calls.values())), self._sub)
        start = self._around.attach(part, "optional")
        is_sure = not part.conditions
        first = _width(part) - len(calls)

        def placed(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or "aggregate" not in node.meta:
                return node
            place = node.meta["aggregate"]
            written = list(calls.values())[place]
            column = standing_for(_column(start, first + place), text_of(written))
            call = aggregate_call(written, block.source, self._sub.offset)
            assert call is not None, "it is an aggregate"
            return column if is_sure or call.name not in _COUNTS else _or_zero(column)

        whole = self._around.placed(rewritten(over, placed), 0)
        if [one.table.name for one in block.scope.relations] == [NOW]:
            whole.meta[STANDS_FOR] = "now()"
        return whole

    def _only(self, block: SelectBlock) -> exp.Expr:
        """The value of a SELECT's only row; a second row of a key is an error."""
        around, item = self._around, block.items[0]
        if (place := self._by_declared_key(block)) is not None:
            start = around.attach(block, "optional")
            value = around.placed(item.value, start)
            if isinstance(item.value, exp.Column):
                return value
            return exp.paren(_case([(_is_value(around.placed(place, start)), value)], exp.null()))
        rows = keyed(around, Asked(block, [item.value], is_grouped=False, distinct=block.distinct), self._sub)
        number = _width(rows) - 1
        query = rows.scope.relations[0].nested
        assert query is not None, "it is over a relation"
        if not any(key <= frozenset(range(number)) for key in keys(query.relation)):
            rows = self._counted_once(rows, number, query.relation.types[number])
        return standing_for(_column(around.attach(rows, "optional"), number), "(SELECT ...)")

    def _by_declared_key(self, block: SelectBlock) -> exp.Expr | None:
        """The column of a SELECT of one table whose correlation covers a declared key; else None."""
        relation = block.scope.relations[0]
        if len(block.scope.relations) > 1 or relation.nested is not None or block.parts:
            return None
        found = correlation(block.conditions)
        if found.compared or found.others or not found.keys:
            return None
        equal = [key for key in found.keys if key.comparison is exp.EQ]
        columns = {ref.column: key.inner for key in equal if (ref := _ref(key.inner)) is not None}
        if not any(columns.keys() >= set(key) for key in relation.table.keys):
            return None
        return next(iter(columns.values()))

    def _counted_once(self, rows: SelectBlock, number: int, kind: SqlType) -> SelectBlock:
        """A SELECT's relation with one row for each key, the first ``number`` columns; a second is an error."""
        relation = rows.scope.relations[0]
        columns = [bound_column(relation.column(i), name) for i, name in enumerate(relation.names)]
        count = exp.Count(this=exp.Star())
        text = exp.DPipe(this=exp.Literal.string("rows: "), expression=exp.cast(count.copy(), "STRING"))
        runs = ("string", "binary")
        refused = exp.cast(
            exp.cast(exp.cast(text, "INT"), "STRING") if kind.kind in runs else text, str(kind)
        )  # no value
        value = _case([(exp.GT(this=count, expression=_number(1)), refused)], exp.Min(this=columns[number].copy()))
        values = [*columns[:number], value]
        block = replace(
            rows,
            conditions=(),
            items=tuple(Item(f"c{i}", v, self._sub.offset, written=f"c{i}") for i, v in enumerate(values)),
            groups=tuple(columns[:number]),
            is_global=number == 0,
        )
        computed = self._around.rewriter.bound(block).relation
        assert isinstance(computed, Project), "it is computed from groups"
        line, column = self._sub.source.position(self._sub.offset)
        msg = (
            f"the scalar sub-query at line {line}, column {column} gives more than one row"
            f"{' for the same values outside' if number else ''}; take MIN, MAX or another aggregate of it"
        )
        found = select_all(
            self._around.rewriter, replace(computed, refusal=msg), "query", rows.source, self._sub.offset
        )
        return replace(found, conditions=rows.conditions)

    def _is_there(self, block: SelectBlock, *, as_condition: bool) -> exp.Expr:
        """Whether a plain SELECT has a row."""
        found = correlation(block.conditions)
        if len(found.compared) == 1 and not found.others:
            return self._is_beyond(block, found.compared[0], as_condition=as_condition)
        if wants_domain(block, found, ()) or any(key.comparison is not exp.EQ for key in found.keys):  # NULL keys
            part = keyed(self._around, Asked(block, [exp.true()], is_grouped=False, distinct=True), self._sub)
        elif found.keys:
            part = keyed(self._around, Asked(block, [], is_grouped=False, distinct=True), self._sub)
        else:  # one row always: nothing is joined with more
            is_some = exp.GT(this=exp.Count(this=exp.Star()), expression=_number(0))
            part = keyed(self._around, Asked(block, [exp.Case(ifs=[exp.If(this=is_some, true=exp.true())])]), self._sub)
        mark = _width(part) - 1 if part.items else 0  # a key is not NULL where it is there
        return exp.paren(_is_value(_column(self._around.attach(part, "optional"), mark)))

    def _is_beyond(self, block: SelectBlock, compared: Compared, *, as_condition: bool) -> exp.Expr:
        """Whether a plain SELECT has a row for which one more comparison is true besides its equalities."""
        rest = tuple(c for c in _conjuncts(block) if c is not compared.written)
        functions = _BOUNDS[compared.comparison]
        bounds = [function(this=compared.inner.copy()) for function in functions]
        part = keyed(self._around, Asked(replace(block, conditions=rest), bounds), self._sub)
        start = self._around.attach(part, "optional")
        first = _width(part) - len(bounds)
        outer = self._around.placed(compared.outer, 0)
        tests = [
            compared.comparison(this=_column(start, first + i), expression=exp.paren(outer.copy()))
            for i in range(len(bounds))
        ]
        found = exp.paren(exp.or_(*tests, copy=True))
        return found if as_condition else exp.Coalesce(this=found, expressions=[exp.false()])

    def _counted(self, block: SelectBlock) -> tuple[exp.Expr, exp.Expr, exp.Expr, exp.Expr]:
        """Of a plain SELECT: the number of rows and of values not NULL, the smallest and the greatest value."""
        value = block.items[0].value
        calls = [
            exp.Count(this=exp.Star()),
            exp.Count(this=value.copy()),
            exp.Min(this=value.copy()),
            exp.Max(this=value.copy()),
        ]
        part = keyed(self._around, Asked(block, calls), self._sub)
        start = self._around.attach(part, "optional")
        rows, values, least, greatest = (_column(start, _width(part) - len(calls) + i) for i in range(len(calls)))
        return rows, values, least, greatest


_BOUNDS: dict[Comparison, tuple[type[exp.Expr], ...]] = {
    exp.NEQ: (exp.Min, exp.Max),
    exp.LT: (exp.Min,),
    exp.LTE: (exp.Min,),
    exp.GT: (exp.Max,),
    exp.GTE: (exp.Max,),
}


def _conjuncts(block: SelectBlock) -> list[exp.Expr]:
    return [part for condition in block.conditions for part in conjuncts(condition)]


def _width(block: SelectBlock) -> int:
    """The number of columns of the one relation that a SELECT reads."""
    return len(block.scope.relations[0].names)


def _column(atom: int, position: int) -> exp.Expr:
    return bound_column(ColumnRef(atom, position), f"c{position}")


def _ref(node: exp.Expr) -> ColumnRef | None:
    found: ColumnRef | None = node.meta.get(REF)
    return found


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _or_zero(value: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=value.copy(), expressions=[_number(0)])


def _is_null(value: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.paren(value.copy()), expression=exp.null())


def _is_value(value: exp.Expr) -> exp.Expr:
    return exp.not_(_is_null(value))


def _case(cases: Sequence[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr) -> exp.Expr:
    return exp.paren(exp.Case(ifs=[exp.If(this=c.copy(), true=v.copy()) for c, v in cases], default=otherwise))
