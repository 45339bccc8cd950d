"""Windows of time in a SELECT, as Spark has them.

    SELECT window.start, window.end, SUM(v) FROM t GROUP BY window(ts, '10 minutes')

A call in GROUP BY is the start of the window. Elsewhere its fields are read: ``window.start``, ``window.end``, or a
field of the same call. `mark_windows` writes all of them as fields of one call, before other names are resolved. The
end is the start plus the duration, and so one value a group.

*Tumbling* windows, whose slide is their duration, hold each time once: their start is an expression, and nothing more
is done. `apart` makes a nested query of what other windows need:

- *hopping* windows: each row as often as there are windows with its time,

      SELECT ..., ts, number FROM (SELECT ... FROM t WHERE ts IS NOT NULL), the numbers from 0 up to duration / slide

  where the start is the last one before ``ts`` less ``number`` slides;
- *sessions*: each row with the start of its session, which is the last row in front of it that no row comes close
  before,

      MAX(CASE WHEN before IS NULL OR ts - before > gap THEN ts END) OVER (PARTITION BY groups ORDER BY ts)
      where before = LAG(ts) OVER (PARTITION BY groups ORDER BY ts)

  and the end is MAX(ts) + gap of the group.

A row without a time is in no window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.errors import SqlTypeError
from livejoin.query.as_table import relation_columns
from livejoin.query.conjunctive import ColumnRef
from livejoin.schema import Table
from livejoin.sql.lower.grouped.aggregates import is_within_aggregate
from livejoin.sql.names.known import Names
from livejoin.sql.names.scope import resolve
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.parse.sub_queries import has_marks
from livejoin.sql.parse.walking import nodes, nodes_of
from livejoin.sql.resolved.column import bound_column, key_of, over, refs_of
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.query import NestedQuery, Occurrence, Scope, SelectBlock
from livejoin.sql.resolved.typed import cast_to
from livejoin.sql.scalars.intervals import interval
from livejoin.sql.scalars.labels import standing_for
from livejoin.sql.scalars.operands import TIMESTAMP, Mismatch, Refused, Unsayable
from livejoin.sql.scalars.time_window import (
    DAY,
    FIELDS,
    SESSION,
    WINDOW,
    TimeWindow,
    field,
    field_of,
    interval_of,
    is_call,
    window_of,
)

_CLAUSES = ("expressions", "where", "group", "having", "qualify", "order", "distinct")
_MOST_COPIES = 100_000


def mark_windows(select: exp.Select, scope: Scope, source: Source) -> None:
    """Write the windows of time in the clauses behind FROM as fields of calls whose times are resolved, in place.

    Raises:
        SqlTypeError: A length of a window is not one.
        UnknownNameError: The time names no column.
        UnsupportedQueryError: There are two windows, or one is used as a whole.
    """
    clauses = [one for name in _CLAUSES for one in _nodes(select.args.get(name))]
    calls = [node for clause in clauses for node in nodes_of(clause, exp.Anonymous) if is_call(node)]
    if not calls:
        return
    keys = {}
    for call in calls:
        time, *lengths = call.expressions
        lengths = [_length(one, source) for one in lengths]
        call.set("expressions", [resolve(time.unnest(), scope, source), *lengths])
        keys[(_window(call, source), call.name.lower(), key_of(call.expressions[0]))] = call
    if len(keys) > 1:
        first, second, *_ = keys.values()
        msg = (
            f"a SELECT has one window of time, and here are {shown(first)} and {shown(second)}; a row would be in each "
            "pair of theirs. Write one of them in a query in FROM"
        )
        raise source.unsupported("window", msg, offset_of(second, 0))
    for clause in clauses:
        for node in nodes(clause):
            _mark(node, calls[0], scope, source)


def _length(node: exp.Expr, source: Source) -> exp.Expr:
    """A length, with the microseconds of an interval in its place.

    Raises:
        SqlTypeError: The interval has months, or is not understood.
    """
    if not isinstance(node, exp.Interval):
        return node
    try:
        found = interval(node)
    except Mismatch as error:
        raise source.error(SqlTypeError, str(error), offset_of(node, 0)) from None
    except Unsayable:
        return node  # it is no constant, which is refused as any length that is none
    if found.months or found.unit == "months":
        msg = f"{shown(node)} has months, which differ in length; write days, as INTERVAL '30 days'"
        raise source.error(SqlTypeError, msg, offset_of(node, 0))
    width = found.days * DAY + found.microseconds
    number = exp.Literal.number(abs(width))
    return number if width >= 0 else exp.Neg(this=number)


def _nodes(value: object) -> Iterator[exp.Expr]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, exp.Expr):
            yield one


def _window(call: exp.Expr, source: Source) -> TimeWindow:
    try:
        window = window_of(call)
    except Refused as error:
        raise source.unsupported(call.name.upper(), str(error), offset_of(call, 0)) from None
    except Mismatch as error:
        raise source.error(SqlTypeError, f"{shown(call)}: {error}", offset_of(call, 0)) from None
    if window.copies > _MOST_COPIES:
        msg = f"a row would be in {window.copies:,} windows; allowed are {_MOST_COPIES:,}: write a longer slide"
        raise source.unsupported(call.name.upper(), msg, offset_of(call, 0))
    return window


def _mark(node: exp.Expr, call: exp.Expr, scope: Scope, source: Source) -> None:
    """Write a node that is a field of the window, or the window in GROUP BY, as a field of the call."""
    name = call.name.lower()
    if isinstance(node, exp.Dot) and is_call(node.this):
        _check_field(node.expression.name, node, source)
        _exchange(node, _field(node.this, node.expression.name.lower(), shown(node)), "")
        return
    is_column = isinstance(node, exp.Column) and len(node.parts) <= 2
    if is_column and node.text("table").lower() == name and scope.relation(name) is None:
        _check_field(node.name, node, source)
        _exchange(node, _field(call, node.name.lower(), shown(node)), node.name)
        return
    is_bare = is_column and not node.text("table") and node.name.lower() == name and not scope.named(name)
    if not (is_bare or (is_call(node) and not isinstance(node.parent, exp.Dot))):
        return
    if is_call(node) and node.find_ancestor(exp.Group):
        _exchange(node, field(node.copy(), "start"), "")
        return
    msg = (
        f"{shown(node)} is a STRUCT of its start and its end, of which no column is made; write {name}.start and "
        f"{name}.end, or {shown(call)}.start"
    )
    raise source.unsupported(name, msg, offset_of(node, 0))


def _check_field(name: str, node: exp.Expr, source: Source) -> None:
    if name.lower() not in FIELDS:
        msg = f"a window of time has a start and an end, and no {name!r}"
        raise source.unsupported("window", msg, offset_of(node, 0))


def _exchange(node: exp.Expr, value: exp.Expr, name: str) -> None:
    """Put a value in the place of a node; an item of SELECT keeps the name of the column."""
    is_item = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
    for part in nodes(value):
        if "start" in node.meta:
            part.meta.setdefault("start", node.meta["start"])
    node.replace(exp.alias_(value, name, copy=False) if is_item and name else value)


def _field(call: exp.Expr, name: str, text: str) -> exp.Expr:
    """A field; the end of a window is its start plus the duration, that of a session is known from its rows."""
    window = window_of(call)
    if name == "start" or window.is_session:
        return field(call.copy(), name)
    ends = exp.Add(this=field(call.copy(), "start"), expression=interval_of(window.duration))
    return standing_for(exp.paren(ends, copy=False), text)


def apart(block: SelectBlock, names: Names) -> SelectBlock:
    """A SELECT whose hopping windows or sessions are columns of a nested query; others stay.

    Args:
        block: The SELECT, resolved.
        names: Binds the nested query.

    Raises:
        SqlTypeError: The time of the window is none.
        UnsupportedQueryError: A window stands where it has no meaning, or beside a sub-query.
    """
    values = [*block.values, *(key.value for key in block.read_order)]
    call = next((node.this for value in values for node in nodes_of(value, exp.Dot) if field_of(node)), None)
    if call is None:
        return block
    window, time = window_of(call), call.expressions[0]
    if not window.is_session and window.copies == 1:
        return replace(block, conditions=(*block.conditions, _is_known(time)))
    at = offset_of(call, block.start)
    _refuse(block, call, window, values, at)
    return _Apart(block, names, window, time, at).block(call, values)


def _refuse(block: SelectBlock, call: exp.Expr, window: TimeWindow, values: Sequence[exp.Expr], at: int) -> None:
    what = call.name.lower()
    if any(map(has_marks, values)):
        msg = (
            f"a sub-query in SELECT, GROUP BY, HAVING or ORDER BY beside {shown(call)} is not supported; write the "
            "SELECT with the window as a query in FROM, and the sub-query around it"
        )
        raise block.source.unsupported("sub-query", msg, at)
    if not window.is_session:
        return
    start = key_of(field(call, "start"))
    if block.groups is None or start not in map(key_of, block.groups):
        msg = f"{what} is a key of GROUP BY, and of nothing else: rows are in one session because they are in one group"
        raise block.source.unsupported(what, f"{msg}; write GROUP BY {shown(call)}", at)
    if block.sets is not None:
        msg = f"{what} in ROLLUP, CUBE or GROUPING SETS is not supported: the sessions differ from set to set; write a "
        raise block.source.unsupported(what, f"{msg}UNION ALL of a query for each", at)
    for value in values:
        for node in value.find_all(exp.Dot):
            if field_of(node) == "end" and is_within_aggregate(node):
                msg = f"{shown(node)} within an aggregate is not supported: it is one value a group; aggregate the time"
                raise block.source.unsupported(what, msg, at)


@dataclass(frozen=True)
class _Apart:
    """Makes the nested query of a window."""

    original: SelectBlock
    names: Names
    window: TimeWindow
    time: exp.Expr
    at: int

    def block(self, call: exp.Expr, values: Sequence[exp.Expr]) -> SelectBlock:
        """The SELECT over the nested query."""
        start = key_of(field(call, "start"))
        keys = [value for value in self.original.groups or () if key_of(value) != start]
        refs = dict.fromkeys(ref for value in values for ref in refs_of(value))
        columns: list[exp.Expr] = [bound_column(ref, self.original.scope.name(ref)) for ref in refs]
        place = {ref: number for number, ref in enumerate(refs)}
        if self.window.is_session:
            query = self._sessions(columns, keys)
            ends = exp.Add(
                this=exp.Max(this=self._column(query, len(refs))), expression=interval_of(self.window.duration)
            )
            fields = {
                "start": self._column(query, len(query.columns) - 1),
                "end": standing_for(exp.paren(ends, copy=False), f"{SESSION}.end"),
            }
            conditions: tuple[exp.Expr, ...] = ()
        else:
            query = self._nested(self.original, [*columns, self._time(columns)], self.window.copies)
            fields, conditions = self._hopping(query, len(refs))

        def exchanged(node: exp.Expr) -> exp.Expr:
            return fields[field_of(node)].copy() if field_of(node) else node

        def changed(value: exp.Expr) -> exp.Expr:
            moved = over(value, lambda ref: ColumnRef(0, place[ref]))
            return moved.transform(exchanged, copy=False)

        scope = replace(self._scope(query), outer=self.original.scope.outer)
        alone = replace(self.original, conditions=(), parts=(), equalities=(), sub_queries=())
        return replace(alone.mapped(changed), scope=scope, conditions=conditions)

    def _hopping(self, query: NestedQuery, time: int) -> tuple[dict[str, exp.Expr], tuple[exp.Expr, ...]]:
        """The fields of hopping windows, and which copies of a row are in a window."""
        lengths = [exp.Literal.number(self.window.slide)] * 2
        offset = exp.Literal.number(abs(self.window.offset))
        last = exp.Anonymous(
            this=WINDOW,
            expressions=[
                self._column(query, time),
                *(one.copy() for one in lengths),
                offset if self.window.offset >= 0 else exp.Neg(this=offset),
            ],
        )
        back = exp.Mul(this=interval_of(self.window.slide), expression=self._column(query, time + 1))
        start = exp.paren(exp.Sub(this=field(last, "start"), expression=back), copy=False)
        conditions: tuple[exp.Expr, ...] = ()
        if self.window.duration % self.window.slide:
            ends = exp.paren(exp.Add(this=start.copy(), expression=interval_of(self.window.duration)), copy=False)
            inside = exp.LT(this=self._column(query, time), expression=ends)
            conditions = (standing_for(inside, f"the time is before {WINDOW}.end"),)
        return {"start": standing_for(start, f"{WINDOW}.start")}, conditions

    def _sessions(self, columns: Sequence[exp.Expr], keys: Sequence[exp.Expr]) -> NestedQuery:
        """Each row with its time, the keys of its group, the time before it, and the start of its session."""
        wide = [*columns, self._time(columns), *keys]
        time, key = len(columns), range(len(columns) + 1, len(wide))
        before = exp.Lag(this=wide[time].copy())
        first = self._nested(self.original, [*wide, _over(before, keys, wide[time])])
        own = [self._column(first, number) for number in range(len(wide) + 1)]
        gap = exp.Sub(this=own[time].copy(), expression=own[-1].copy())
        is_late = exp.GT(this=exp.paren(gap, copy=False), expression=interval_of(self.window.duration))
        begins = exp.or_(exp.Is(this=own[-1].copy(), expression=exp.null()), is_late, copy=False)
        start = exp.Max(this=exp.Case(ifs=[exp.If(this=begins, true=own[time].copy())]))
        block = SelectBlock(self._scope(first), (), self.original.source, self.original.start)
        return self._nested(block, [*own, _over(start, [own[number] for number in key], own[time])], is_first=False)

    def _time(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """The time of the window, cast to a TIMESTAMP where it is a DATE or a text.

        Raises:
            SqlTypeError: The time is something else.
        """
        kind = self._nested(self.original, [self.time]).relation.types[0]
        if kind.kind == "timestamp":
            return self.time
        if kind.kind not in ("date", "string"):
            msg = f"a window is one of a TIMESTAMP, and {shown(self.time)} is {kind}; cast it"
            raise self.original.source.error(SqlTypeError, msg, self.at)
        return cast_to(self.time.copy(), TIMESTAMP)

    def _nested(
        self, block: SelectBlock, values: Sequence[exp.Expr], copies: int = 1, is_first: bool = True
    ) -> NestedQuery:
        """A SELECT of some values from the rows of a block, of those that have a time."""
        written = distinct_names([value.name or shown(value) for value in values])
        items = tuple(
            Item(name, value.copy(), self.at, written=name) for name, value in zip(written, values, strict=True)
        )
        conditions = (*block.conditions, _is_known(self.time)) if is_first else block.conditions
        plain = replace(
            block,
            items=items,
            conditions=conditions,
            groups=None,
            is_global=False,
            sets=None,
            having=None,
            distinct=False,
            order=None,
            read_order=(),
            qualified=False,
        )
        return self.names.rows(plain, copies)

    def _scope(self, query: NestedQuery) -> Scope:
        own = distinct_names(query.relation.schema.names)
        table = Table(self.names.fresh(self.window.name), relation_columns(own, query.relation))
        return Scope.of(Occurrence(0, self.window.name, table, query, self.at))

    def _column(self, query: NestedQuery, place: int) -> exp.Column:
        return bound_column(ColumnRef(0, place), query.columns[place])


def _over(function: exp.Expr, partition: Sequence[exp.Expr], order: exp.Expr) -> exp.Window:
    """A window function over the rows up to each, by time; rows with one time have one value."""
    by = exp.Order(expressions=[exp.Ordered(this=order.copy(), desc=False, nulls_first=True)])
    return exp.Window(this=function, partition_by=[one.copy() for one in partition], order=by, over="OVER")


def _is_known(time: exp.Expr) -> exp.Expr:
    return exp.not_(exp.Is(this=exp.paren(time.copy(), copy=False), expression=exp.null()), copy=False)
