"""GROUP BY and aggregates: expressions over groups in place of expressions over rows.

    SELECT ... GROUP BY g  =  Project(Aggregate(Join(g, arguments))),

where every expression of the SELECT list, of HAVING and of ORDER BY is rewritten over the columns of the Aggregate: an
expression of GROUP BY becomes its column, an aggregate becomes the column of its call. Equal arguments and equal calls
are maintained once.

Grouping sets are UNION ALL of one such Project for each set, over the same rows. A group that the set lacks is NULL.
Several sets over no rows give no row, as in Spark; in DuckDB the empty set gives one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from livejoin.errors import SqlTypeError, UnsupportedQueryError
from livejoin.query.aggregates import AggregateCall
from livejoin.query.conjunctive import Output
from livejoin.query.functions import is_known
from livejoin.query.relational import Aggregate, Distinct, Project, Relation
from livejoin.schema import SqlType
from livejoin.sql.lower.grouped.aggregates import (
    WrittenAggregate,
    aggregate_call,
    call_offset,
    refuse_windows,
    written_name,
)
from livejoin.sql.lower.grouped.composed import Wanted, composed, where
from livejoin.sql.lower.grouped.sums_of_products import count_of, never_null
from livejoin.sql.lower.project import list_columns, project_nothing
from livejoin.sql.lower.select_join import Joined
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.parse.source import offset_of, shown
from livejoin.sql.resolved.column import column_at, key_of, place_of
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.typed import null_of
from livejoin.sql.scalars.functions.by_name import no_function
from livejoin.sql.scalars.labels import standing_for, text_of
from livejoin.sql.scalars.operands import BIGINT, BOOLEAN

_OF_NULLS = ("min", "max", "bool_and", "bool_or", "mode")  # NULL, of any type, where all arguments are
_EPOCH = "TIMESTAMP '1970-01-01 00:00:00'"


class Grouping:
    """The Aggregate of a SELECT while its expressions are rewritten; mutable.

    Args:
        groups: The expressions of GROUP BY, resolved, each once.
        joined: The join.
        start: The offset of the SELECT, for nodes without one.
    """

    def __init__(self, groups: tuple[exp.Expr, ...], joined: Joined, start: int) -> None:
        self._joined = joined
        self._source = joined.source
        self._start = start
        self._columns: dict[str, int] = {}
        self._values: list[Item] = []
        for value in groups:
            self._column(value, offset_of(value, start), "group")
        self._grouped = dict(self._columns)
        self._groups = len(self._values)
        self._set: tuple[int, ...] | None = None
        self._by_connector = any(isinstance(value.unnest(), exp.Connector) for value in groups)
        self._calls: list[AggregateCall] = []

    @property
    def values(self) -> tuple[Item, ...]:
        """The columns below the Aggregate: the groups, then the arguments of the calls that were rewritten."""
        return tuple(self._values)

    def of_set(self, chosen: tuple[int, ...]) -> None:
        """Rewrite from now on over the Aggregate of one grouping set, given by the positions of its groups."""
        self._set = chosen

    def over(self, value: exp.Expr, offset: int) -> exp.Expr:
        """A resolved expression over the columns of the Aggregate: column i is the `ColumnRef` (0, i).

        Raises:
            UnsupportedQueryError: A column that is neither grouped nor in an aggregate, or an unsupported call.
            SqlTypeError: The argument of an aggregate has a type that it does not accept, or there is no such function.
        """
        refuse_windows(value, self._source, offset)
        return rewritten(value, lambda part: self._exchanged(part, offset))

    def relation(self, is_global: bool) -> Relation:
        """The Aggregate with all calls that were rewritten; without calls, each group once."""
        names = distinct_names([item.name for item in self._values])
        items = [Item(name, item.value, item.offset, item.role) for name, item in zip(names, self._values, strict=True)]
        products = [call.product for call in self._calls if call.product is not None]
        rows, found = self._joined.rows_with(items, products)
        left = iter(found)
        placed = [call if call.product is None else replace(call, product=next(left, None)) for call in self._calls]
        for position in list_columns(rows.schema):
            item = items[position]
            msg = f"the {item.role} {item.name!r} is a list, which groups and aggregates would compare; leave it out"
            raise self._source.unsupported("GROUP BY", msg, item.offset)
        if not self._calls and not is_global:
            return Distinct(rows)
        calls = tuple(placed) or (AggregateCall("count", None, False, BIGINT),)
        return Aggregate(rows, self._groups, calls, is_global)

    def relations(self, sets: Sequence[tuple[int, ...]]) -> list[Relation]:
        """An Aggregate for each grouping set with all calls that were rewritten, over one relation."""
        whole = self.relation(is_global=False)
        rows = whole.input if isinstance(whole, (Aggregate, Distinct)) else whole
        calls = whole.calls if isinstance(whole, Aggregate) else ()
        arguments = sorted({place for call in calls for place in (call.argument, call.other) if place is not None})
        found: list[Relation] = []
        for chosen in sets:
            kept = [*chosen, *arguments]
            places = {None: None} | {place: len(chosen) + i for i, place in enumerate(arguments)}
            outputs = tuple(Output(name, rows.schema.types[place], place) for name, place in _named(rows, kept))
            narrow = (
                Project(rows, outputs, tuple(rows.types[place] for place in kept)) if kept else project_nothing(rows)
            )
            own = tuple(
                replace(call, argument=places[call.argument], other=places[call.other], product=None) for call in calls
            )
            if not calls and chosen:
                found.append(Distinct(narrow))
            else:
                found.append(
                    Aggregate(narrow, len(chosen), own or (AggregateCall("count", None, False, BIGINT),), False)
                )
        return found

    def _exchanged(self, part: exp.Expr, offset: int) -> exp.Expr:
        if isinstance(part, exp.Null):
            return part  # it has any type, a column of NULLs has one
        if isinstance(part, exp.Connector) and not self._by_connector:
            return part  # a long condition would be written down once for each of its terms
        group = place_of(part, self._grouped)
        if group is not None:
            return standing_for(self._group(group), text_of(part))
        if isinstance(part, (exp.Grouping, exp.GroupingId)) and self._set is not None:
            return self._which(part, self._set, offset)
        call = aggregate_call(part, self._source, offset)
        if call is not None:
            return standing_for(self._result(call), text_of(part))
        if isinstance(part, exp.Anonymous) and not is_known(part.name):
            msg = f"{part.name.upper()} is not supported: {no_function(part.name)}"
            raise self._source.error(SqlTypeError, msg, offset_of(part, offset))
        if isinstance(part, exp.Column):
            raise self._not_grouped(part, offset_of(part, offset))
        return part

    def _group(self, place: int) -> exp.Expr:
        """The column of a group, NULL if the set lacks it."""
        if self._set is None:
            return column_at(place)
        if place in self._set:
            return column_at(self._set.index(place))
        item = self._values[place]
        kind = self._joined.type_of(item.value, item.name, item.role, item.offset)
        return null_of(kind)

    def _which(self, call: exp.Expr, chosen: tuple[int, ...], offset: int) -> exp.Expr:
        """GROUPING and GROUPING_ID: a bit for each group, the first one the highest; 1 if the set lacks the group."""
        at = call_offset(call, self._source, offset)
        name = written_name(call, self._source, at)
        parts = call.expressions or [self._values[place].value for place in range(self._groups)]
        if isinstance(call, exp.Grouping) and len(parts) != 1:
            raise self._source.unsupported(name, f"{name} has {len(parts)} arguments; allowed is one", at)
        number = 0
        for part in parts:
            place = place_of(part, self._grouped)
            if place is None:
                msg = f"{name} of {shown(part)}, which is no expression of GROUP BY; name one of these"
                raise self._source.unsupported(name, msg, at)
            number = 2 * number + (place not in chosen)
        kind = "TINYINT" if isinstance(call, exp.Grouping) else "BIGINT"
        return exp.Cast(this=exp.Literal.number(number), to=exp.DataType.build(kind, dialect="spark"))

    def _not_grouped(self, column: exp.Column, offset: int) -> UnsupportedQueryError:
        where = "in GROUP BY" if self._groups else "grouped (there is no GROUP BY)"
        msg = (
            f"the column {shown(column)} is neither {where} nor within an aggregate, so a group has no single value of "
            "it. Add it to GROUP BY, or take MIN, MAX or another aggregate of it"
        )
        return self._source.unsupported("GROUP BY", msg, offset)

    def _result(self, call: WrittenAggregate) -> exp.Expr:
        """The result of a call as an expression over the columns of the Aggregate that it becomes."""
        if call.name in _OF_NULLS and isinstance(call.arguments[0], exp.Null):
            return exp.null()
        if call.condition is not None:
            self._check(call, call.condition, BOOLEAN, "condition")
        if call.name in ("count", "count_if"):
            return self._add(self._count(call), call)
        return composed(call, self._joined, lambda wanted: self._add(wanted, call))

    def _add(self, wanted: Wanted, call: WrittenAggregate) -> exp.Column:
        """The column of a call of the Aggregate; the call is added if it is new."""
        role = f"argument of {call.written}"
        places = [
            None if value is None else self._column(value, call.offset, role) for value in (wanted.value, wanted.other)
        ]
        place = replace(wanted.call, argument=places[0], other=places[1])
        if place not in self._calls:
            self._calls.append(place)
        groups = self._groups if self._set is None else len(self._set)
        return column_at(groups + self._calls.index(place))

    def _column(self, value: exp.Expr, offset: int, role: str) -> int:
        """The position of a value among the columns of the join; the column is added if it is new."""
        key = key_of(value)
        if key not in self._columns:
            self._columns[key] = len(self._values)
            name = value.name if isinstance(value, exp.Column) else shown(value)
            self._values.append(Item(name, value, offset, role))
        return self._columns[key]

    def _count(self, call: WrittenAggregate) -> Wanted:
        """COUNT: rows in which no argument is NULL; with DISTINCT each combination of arguments once."""
        condition = call.condition
        values = call.arguments
        if call.name == "count_if":
            self._check(call, values[0], BOOLEAN)
            condition = values[0] if condition is None else exp.and_(condition, values[0])
            values = values if call.distinct else ()
        if call.distinct:
            value = values[0] if len(values) == 1 else self._combination(values, call)
            return Wanted(AggregateCall("count", None, True, BIGINT), where(value, condition))
        values = tuple(value for value in values if not never_null(value, self._joined))
        if not values and condition is None:
            return Wanted(AggregateCall("count", None, False, BIGINT))
        product = count_of(values, condition, self._joined, call.offset)
        single = values[0] if len(values) == 1 and condition is None else None
        if not isinstance(single, exp.Column):
            present = [exp.Not(this=exp.Is(this=exp.paren(value), expression=exp.null())) for value in values]
            single = where(exp.Literal.number(1), exp.and_(*([condition] if condition is not None else []), *present))
        return Wanted(AggregateCall("count", None, False, BIGINT, product), single)

    def _combination(self, values: tuple[exp.Expr, ...], call: WrittenAggregate) -> exp.Expr:
        """Several values as one text, different for different combinations; NULL if one value is."""
        text = exp.DataType.build(exp.DType.TEXT)
        parts: list[exp.Expr] = []
        for value in values:
            # 0.0 and -0.0 are one value with two texts; a sum with 0 has the first.
            kind = self._joined.type_of(value, shown(value), f"argument of {call.written}", call.offset).kind
            single = exp.Add(this=exp.paren(value), expression=exp.Literal.number(0)) if kind == "double" else value
            if kind == "binary":  # which need not be the UTF-8 of a text
                single = exp.Hex(this=value)
            elif kind == "months":
                single = exp.cast(exp.paren(value), exp.DType.INT)
            elif kind == "interval":  # which has no text
                single = exp.UnixMicros(
                    this=exp.Add(this=exp.maybe_parse(_EPOCH, dialect="spark"), expression=exp.paren(value))
                )
            written = exp.cast(exp.paren(single), text)
            parts += [exp.cast(exp.Length(this=written), text), exp.Literal.string(":"), written.copy()]
        combined, *rest = parts
        for part in rest:
            combined = exp.DPipe(this=combined, expression=part)
        return combined

    def _check(self, call: WrittenAggregate, value: exp.Expr, kind: SqlType, role: str = "argument") -> None:
        if isinstance(value, exp.Null):
            return
        found = self._joined.type_of(value, shown(value), f"{role} of {call.written}", call.offset)
        if found != kind:
            msg = f"the {role} {shown(value)} of {call.written} has the type {found}; allowed is {kind}"
            raise self._source.error(SqlTypeError, msg, offset_of(value, call.offset))


def _named(rows: Relation, places: Sequence[int]) -> list[tuple[str, int]]:
    """Distinct names for columns of a relation, where one column may occur twice."""
    return list(zip(distinct_names([rows.schema.names[place] for place in places]), places, strict=True))
