"""The window functions of a SELECT's expressions, over the columns of its rows without windows.

An expression with windows becomes one over two kinds of columns: those of the rows below, and the results of windows.
Columns that windows need, such as those of PARTITION BY, are added to the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.query.orders import RankFunction, RunningFrame, SortKey
from livejoin.shown import meant
from livejoin.sql.lower.grouped.aggregates import aggregate_call, call_offset, find_aggregate, written_name
from livejoin.sql.lower.grouped.distances import Distance
from livejoin.sql.lower.grouped.running import (
    BACKWARD,
    KNOWN_BEFORE,
    Frame,
    Reach,
    back_of,
    function_of,
    is_nth,
    is_of_row,
    is_offset,
    is_spread,
    nth_of,
    reach_of,
    tiles_of,
    up_to_nth,
    with_filter,
)
from livejoin.sql.lower.grouped.unmaintained import OVER, WINDOW_FUNCTIONS
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.resolved.column import REF, bound_column, key_of
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.query import SelectBlock
from livejoin.sql.scalars.labels import standing_for, text_of

_RANKS: dict[type[exp.Expr], RankFunction] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
}
_WITHOUT_ARGUMENTS: tuple[type[exp.Func], ...] = (
    *(exp.RowNumber, exp.Rank, exp.DenseRank),
    *(exp.PercentRank, exp.CumeDist),
)
ROWS, WINDOWS = 0, 1  # what a column of an expression over windows is one of


@dataclass(frozen=True)
class Window:
    """A window function over the columns of the rows below.

    Args:
        function: The call, over `ColumnRef` (0, i).
        partition: The columns of PARTITION BY.
        order: The keys of ORDER BY.
        rank: The kind of rank; None for other functions.
        frame: The function and its rows, if it is over a part of each partition; else None.
        name: The name in the text.
        offset: The offset of the call.
    """

    function: exp.Expr
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    rank: RankFunction | None
    frame: Frame | None
    name: str
    offset: int


class Below:
    """The rows below the windows of a SELECT while its expressions are rewritten; mutable.

    Attributes:
        items: The columns of the rows.
        windows: The windows, each once.
    """

    def __init__(self, block: SelectBlock) -> None:
        self._block = block
        self._source = self.source = block.source
        self._places: dict[str, int] = {}
        self._found: dict[str, int] = {}
        self.items: list[Item] = []
        self.windows: list[Window] = []

    def over(self, value: exp.Expr) -> exp.Expr:
        """An expression over the columns of the rows, and over the windows."""
        return rewritten(value, self._exchanged)

    def block(self) -> SelectBlock:
        """The SELECT of the rows."""
        items = self.items or [Item("one", exp.Literal.number(1), self._block.start)]
        names = distinct_names([item.name for item in items])
        named = tuple(replace(item, name=name, written=name) for item, name in zip(items, names, strict=True))
        return replace(self._block, items=named, qualified=False, distinct=False, order=None, read_order=())

    def never_null(self, position: int) -> bool:
        """Whether a column of the rows is a column of a table that is never NULL."""
        if position >= len(self.items):
            return False  # a result of a window
        value = self.items[position].value
        if not isinstance(value, exp.Column) or self._block.parts or self._block.sets is not None:
            return False
        return not self._block.scope.declared(value.meta[REF]).nullable

    def _exchanged(self, part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Window):
            return self._result(part)
        is_value = isinstance(part, (exp.Condition, exp.Filter, exp.WithinGroup)) and not part.find(exp.Window)
        if is_value and (part.find(exp.Column) or find_aggregate(part)) and self._is_of_rows(part):
            return standing_for(bound_column(ColumnRef(ROWS, self._column(part)), "c"), text_of(part))
        return part

    def _is_of_rows(self, part: exp.Expr) -> bool:
        """Whether an expression may be computed before QUALIFY drops rows: it cannot fail."""
        if not self._block.qualified or isinstance(part, exp.Column):
            return True
        if self._block.groups is None:
            return False
        if isinstance(part, (exp.Grouping, exp.GroupingId)) or key_of(part) in map(key_of, self._block.groups):
            return True
        return aggregate_call(part, self._source, self._block.start) is not None

    def _result(self, node: exp.Window) -> exp.Expr:
        """The result of a window function; for LAG, the default if there is no row that far away."""
        call = node.this.this if isinstance(node.this, (exp.IgnoreNulls, exp.RespectNulls)) else node.this
        self._refuse_within(node)
        if isinstance(call, _WITHOUT_ARGUMENTS):
            _refuse_arguments(call, self._source, self._block.start)
        if isinstance(call, (exp.PercentRank, exp.CumeDist)):
            return self._share(node, call)
        if is_offset(call) and self._back(call) == 0:
            return self.over(call.this.copy())
        default = call.args.get("default") if is_offset(call) else None
        if default is None:
            return self._placed(node)
        plain, there = node.copy(), node.copy()
        for one in (plain, there):
            (one.this if isinstance(one.this, (exp.Lag, exp.Lead)) else one.this.this).set("default", None)
        if not isinstance(node.this, exp.IgnoreNulls):  # whose value is NULL where there is none
            there.set("this", there.this.this if isinstance(there.this, exp.RespectNulls) else there.this)
            there.this.set("this", exp.true())
        is_beyond = exp.Is(this=self._placed(there), expression=exp.null())
        return exp.Case(ifs=[exp.If(this=is_beyond, true=self.over(default.copy()))], default=self._placed(plain))

    def _share(self, node: exp.Window, call: exp.Expr) -> exp.Expr:
        """The result of PERCENT_RANK or CUME_DIST, from a rank or a running count and the number of all rows."""
        at = call_offset(call, self._source, self._block.start)
        name = written_name(call, self._source, at)
        _refuse_frame(node, name, self._source, at)
        if node.args.get("order") is None:
            raise self._source.unsupported(name, _needs_order(name), at)
        rows, before = node.copy(), node.copy()
        rows.set("this", exp.Count(this=exp.Star()))
        rows.set("order", None)
        is_share = isinstance(call, exp.CumeDist)
        before.set("this", exp.Count(this=exp.Star()) if is_share else exp.Rank())
        number, place = (exp.cast(self._placed(one), "DOUBLE") for one in (rows, before))
        if is_share:
            return exp.paren(exp.Div(this=place, expression=number))
        one = exp.cast(exp.Literal.number(1), "DOUBLE")
        share = exp.Div(
            this=exp.paren(exp.Sub(this=place, expression=one.copy())),
            expression=exp.paren(exp.Sub(this=number.copy(), expression=one.copy())),
        )
        several = exp.GT(this=number, expression=one)
        nothing = exp.cast(exp.Literal.number(0), "DOUBLE")
        return exp.paren(exp.Case(ifs=[exp.If(this=several, true=share)], default=nothing))

    def _refuse_within(self, node: exp.Window) -> None:
        within = next((one for one in node.find_all(exp.Window) if one is not node), None)
        if within is not None:
            at = call_offset(within.this, self._source, self._block.start)
            name = written_name(within.this, self._source, at)
            msg = f"{name} OVER stands within another window function: compute it in a query in FROM, and read that"
            raise self._source.unsupported(name, msg, at)

    def _placed(self, node: exp.Window) -> exp.Expr:
        key = key_of(node)
        if key not in self._found:
            self._found[key] = len(self.windows)
            self.windows.append(self._window(node))
        column = bound_column(ColumnRef(WINDOWS, self._found[key]), f"w{self._found[key]}")
        return standing_for(column, text_of(node))

    def _back(self, call: exp.Expr) -> int:
        at = call_offset(call, self._source, self._block.start)
        return back_of(call, written_name(call, self._source, at), self._source, at)

    def _column(self, value: exp.Expr) -> int:
        key = key_of(value)
        if key not in self._places:
            self._places[key] = len(self.items)
            name = value.name if isinstance(value, exp.Column) else shown(value)
            self.items.append(Item(name, value.copy(), call_offset(value, self._source, self._block.start)))
        return self._places[key]

    def _window(self, node: exp.Window) -> Window:
        at = call_offset(node.this, self._source, self._block.start)
        if isinstance(node.this, exp.RespectNulls):
            node = node.copy()
            node.set("this", node.this.this)
        inner = node.this.this if isinstance(node.this, (exp.Filter, exp.IgnoreNulls)) else node.this
        name = written_name(inner, self._source, at)
        rank = _RANKS.get(type(inner))
        order = node.args.get("order")
        if rank is not None:
            _refuse_frame(node, name, self._source, at)
        frame = None if rank is not None else self._frame(node, inner, name, at)
        if frame is None and rank is None and (find_aggregate(inner.copy()) is None or _is_window_function(inner)):
            raise self._source.unsupported(name, f"{name} OVER is not supported yet: {OVER}", at)
        if (rank is not None or frame is not None) and order is None:
            raise self._source.unsupported(name, _needs_order(name), at)
        partition = tuple(dict.fromkeys(self._column(part.unnest()) for part in node.args.get("partition_by") or ()))
        is_ordered = rank is not None or frame is not None
        keys = [self._key(key) for key in order.expressions] if is_ordered and order is not None else []
        if isinstance(node.this, exp.IgnoreNulls) and frame is not None and frame.function == "first":
            # Of a whole partition: the rows that have a value come first, from whichever side.
            keys = [self._value_first(inner.this, last=frame.reverse), *keys]
        return Window(self._function(node.this), partition, tuple(keys), rank, frame, name, at)

    def _frame(self, node: exp.Window, call: exp.Expr, name: str, at: int) -> Frame | None:
        """The frame of a window function; None if it is over whole partitions in any order."""
        if is_offset(call) and node.args.get("spec"):
            msg = f"{name} takes no frame: it says itself how many rows before or behind it looks"
            raise self._source.unsupported(name, msg, at)
        if isinstance(call, exp.Ntile):
            _refuse_frame(node, name, self._source, at)
            if node.this is not call:
                said = "IGNORE NULLS" if isinstance(node.this, exp.IgnoreNulls) else "FILTER"
                msg = f"{name} OVER takes no {said}: it counts all rows of the partition"
                raise self._source.unsupported(name, msg, at)
            return Frame("ntile", None, 0, 0, tiles_of(call, name, self._source, at), False)
        ignores = isinstance(node.this, exp.IgnoreNulls)
        reach: Reach
        over: RunningFrame | Distance
        if is_offset(call):
            reach, over = KNOWN_BEFORE if ignores else BACKWARD
        else:
            reach, over = reach_of(node, name, self._source, at)
        nth = nth_of(call, name, self._source, at) if is_nth(call) else 0
        if nth:
            if node.args.get("order") is None:
                raise self._source.unsupported(name, _needs_order(name), at)
            # The rows that have a value may be any of a frame that goes on to the last row.
            bounded = up_to_nth(reach, over, nth) if reach == "before" or not ignores else None
            if bounded is None:
                said = "IGNORE NULLS " if ignores else ""
                msg = f"{name} {said}OVER a frame to the last row is not supported: write ROWS to so many FOLLOWING"
                raise self._source.unsupported(name, msg, at)
            reach, over = bounded
        if reach == "whole" and not (is_of_row(call) and node.args.get("order")):
            return None
        found = function_of(call, reach, over, known=ignores)
        if ignores and is_offset(call) and self._back(call) != 1:
            msg = f"{name} with IGNORE NULLS takes one row: leave the number out"
            raise self._source.unsupported(name, msg, at)
        if isinstance(node.this, exp.Filter) and (is_offset(call) or is_of_row(call) or nth):
            msg = f"{name} OVER takes no FILTER: write CASE WHEN ... END as its value, and IGNORE NULLS"
            raise self._source.unsupported(name, msg, at)
        if found is None and isinstance(call, exp.Anonymous) and (hint := meant(name, WINDOW_FUNCTIONS)):
            raise self._source.unsupported(name, f"{name} is no window function{hint}: {OVER}", at)
        if found is None or call.args.get("expressions"):
            msg = f"{name} OVER a part of each partition is not supported yet: {OVER}"
            raise self._source.unsupported(name, msg, at)
        function, reverse = found
        value = None if isinstance(call.this, exp.Star) else call.this
        if isinstance(call, exp.CountIf):
            value = exp.Case(ifs=[exp.If(this=call.this.copy(), true=exp.Literal.number(1))])
        if isinstance(node.this, exp.Filter):
            value = with_filter(value, node.this.expression.this)
        if isinstance(value, exp.Distinct):
            msg = f"{name}(DISTINCT ...) OVER a part of each partition is not maintained: {OVER}"
            raise self._source.unsupported(name, msg, at)
        if is_spread(call) and value is not None:
            value = exp.Cast(this=value.copy(), to=exp.DataType.build("double"))
        argument = None if value is None else self._column(value.unnest())
        return Frame(function, argument, self._back(call) if function == "lag" else 0, nth, over, reverse)

    def _value_first(self, value: exp.Expr, *, last: bool) -> SortKey:
        """The key that puts rows with a value first in an order, or last."""
        is_null = exp.Is(this=exp.paren(value.copy()), expression=exp.null())
        return SortKey(self._column(is_null), descending=last, nulls_first=False)

    def _key(self, node: exp.Expr) -> SortKey:
        column = self._column(node.this.unnest())
        return SortKey(column, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))

    def _function(self, node: exp.Expr) -> exp.Expr:
        """A call over the columns of the rows."""
        found = node.copy()
        outside = [found] if not isinstance(found, (exp.Filter, exp.IgnoreNulls)) else [found, found.this]
        for call in outside:
            for name, value in list(call.args.items()):
                if call is found and len(outside) == 2 and name == "this":
                    continue
                if isinstance(value, exp.Expr):
                    call.set(name, value.transform(self._exchanged))
                elif isinstance(value, list):
                    call.set(name, [part.transform(self._exchanged) for part in value])
        return found


def _needs_order(name: str) -> str:
    return f"{name} needs an order: write OVER (PARTITION BY ... ORDER BY ...)"


def _refuse_arguments(call: exp.Func, source: Source, default: int) -> None:
    """Refuse arguments of a rank, which ranks by ORDER BY alone.

    Raises:
        UnsupportedQueryError: There is one.
    """
    given = next((one for one in (call.args.get("this"), *call.expressions) if isinstance(one, exp.Expr)), None)
    if given is not None:
        name = call.sql_name()
        msg = (
            f"{name} takes no argument, and {shown(given)} is given; it ranks by ORDER BY: {name}() OVER (ORDER BY ...)"
        )
        raise source.unsupported(name, msg, offset_of(given, offset_of(call, default)))


def _refuse_frame(node: exp.Window, name: str, source: Source, at: int) -> None:
    """Refuse the frame of a rank, or of what is like one."""
    if node.args.get("spec"):
        msg = f"{name} OVER a frame is not supported: a rank is that among all rows of the partition"
        raise source.unsupported(name, msg, at)


def _is_window_function(call: exp.Expr) -> bool:
    return isinstance(call, (exp.Lag, exp.Lead, exp.NthValue, exp.Ntile, exp.CumeDist, exp.PercentRank, exp.RowNumber))
