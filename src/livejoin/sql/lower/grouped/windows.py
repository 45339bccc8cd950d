"""Window functions: ranks within partitions, and aggregates over whole partitions and over parts of them.

    SELECT a, SUM(x) OVER (PARTITION BY k) AS s FROM R
      =  SELECT r.a, g.s FROM R r, (SELECT k, SUM(x) AS s FROM R GROUP BY k) g WHERE r.k <=> g.k

A partition has a group for NULL, which a join does not find: a key that may be NULL is joined as the two columns
``k IS NULL`` and ``COALESCE(k, 0)``. The rows below are the SELECT's without windows, so that a window may be over
groups: SUM(COUNT(*)) OVER (). A rank is kept for all rows of a partition, or for the first ones, where a condition
on it says how many, in QUALIFY or in the query around (`livejoin.query.relational.Ranked`). What is over a part of each
partition is in `livejoin.sql.lower.grouped.running`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.query.relational import RankFunction, Relation, SortKey
from livejoin.schema import Column, SqlType, Table
from livejoin.sql.lower.grouped.aggregates import aggregate_call, call_offset, find_aggregate, written_name
from livejoin.sql.lower.grouped.bounded_ranks import bounded
from livejoin.sql.lower.grouped.running import (
    BACKWARD,
    KNOWN_BEFORE,
    Frame,
    RunningWindow,
    back_of,
    check_argument,
    function_of,
    has_type_of_argument,
    is_of_row,
    is_offset,
    is_spread,
    reach_of,
    with_filter,
    with_running,
)
from livejoin.sql.lower.grouped.several_ranks import Rank, Stack, stacks, told_apart
from livejoin.sql.lower.grouped.unmaintained import OVER
from livejoin.sql.lower.project import column_at, project, refuse_lists
from livejoin.sql.lower.select_block import SelectBlock, key_of
from livejoin.sql.names.nested import NestedQuery
from livejoin.sql.names.outputs import Item, distinct_names
from livejoin.sql.names.scope import Relation as Occurrence
from livejoin.sql.names.scope import Scope
from livejoin.sql.parse.source import shown
from livejoin.sql.to_duckdb.scalar_text import REF, bound_column

Bind = Callable[[SelectBlock], Relation]

_RANKS: dict[type[exp.Expr], RankFunction] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
}
_ROWS, _WINDOWS = 0, 1  # what a column of an expression over windows is one of


@dataclass(frozen=True)
class _Window:
    """A window function over the columns of the rows below.

    Args:
        function: Its call, over `ColumnRef` (0, i).
        partition: The columns of PARTITION BY.
        order: Those of ORDER BY.
        rank: Which rank it is; None of another function.
        frame: What it is if it is over a part of each partition, else None.
        name: Its name in the text.
        offset: Where it stands.
    """

    function: exp.Expr
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    rank: RankFunction | None
    frame: Frame | None
    name: str
    offset: int


def windowed(block: SelectBlock, items: Sequence[Item], qualify: exp.Expr | None, bind: Bind) -> Relation:
    """The relation of a SELECT with window functions, but for DISTINCT and ORDER BY.

    Args:
        block: The SELECT.
        items: Its columns, and those that only its ORDER BY needs.
        qualify: The condition of QUALIFY.
        bind: What makes the relation of a SELECT.

    Raises:
        UnsupportedQueryError: A window function that is not maintained.
        SqlError: As the SELECTs that it is made of.
    """
    below = _Below(block)
    values = [below.over(item.value) for item in items]
    condition = None if qualify is None else below.over(qualify)
    rows = bind(below.block())
    refuse_lists(rows, "OVER", block.source, block.source.tokens[0].start)
    joined, places = _with_windows(rows, below, bind)

    def placed(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column):
            return part
        ref = part.meta[REF]
        return column_at(ref.column if ref.atom == _ROWS else places[ref.column])

    over = [(item, value.transform(placed)) for item, value in zip(items, values, strict=True)]
    kept = None if condition is None or qualify is None else (qualify, condition.transform(placed))
    found = project(joined, over, kept, block.source)
    return found if found.predicate is None else replace(found, input=bounded(joined, [found.predicate]))


class _Below:
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
        self.windows: list[_Window] = []

    def over(self, value: exp.Expr) -> exp.Expr:
        """An expression over the columns of the rows, and over the windows."""
        return value.transform(self._exchanged)

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
            return bound_column(ColumnRef(_ROWS, self._column(part)), "c")
        return part

    def _is_of_rows(self, part: exp.Expr) -> bool:
        """Whether an expression is one of the rows, and not of those that QUALIFY leaves of them: it may fail."""
        if not self._block.qualified or isinstance(part, exp.Column):
            return True
        if self._block.groups is None:
            return False
        if isinstance(part, (exp.Grouping, exp.GroupingId)) or key_of(part) in map(key_of, self._block.groups):
            return True
        return aggregate_call(part, self._source, self._block.start) is not None

    def _result(self, node: exp.Window) -> exp.Expr:
        """The result of a window function; the default of LAG is that where there is no row so far away."""
        call = node.this.this if isinstance(node.this, (exp.IgnoreNulls, exp.RespectNulls)) else node.this
        self._refuse_within(node)
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
        return bound_column(ColumnRef(_WINDOWS, self._found[key]), f"w{self._found[key]}")

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

    def _window(self, node: exp.Window) -> _Window:
        at = call_offset(node.this, self._source, self._block.start)
        if isinstance(node.this, exp.RespectNulls):
            node = node.copy()
            node.set("this", node.this.this)
        inner = node.this.this if isinstance(node.this, (exp.Filter, exp.IgnoreNulls)) else node.this
        name = written_name(inner, self._source, at)
        rank = _RANKS.get(type(inner))
        order = node.args.get("order")
        if rank is not None and node.args.get("spec"):
            msg = f"{name} OVER a frame is not supported: a rank is that among all rows of the partition"
            raise self._source.unsupported(name, msg, at)
        frame = None if rank is not None else self._frame(node, inner, name, at)
        if frame is None and rank is None and (find_aggregate(inner.copy()) is None or _is_window_function(inner)):
            raise self._source.unsupported(name, f"{name} OVER is not supported yet: {OVER}", at)
        if (rank is not None or frame is not None) and order is None:
            msg = f"{name} needs an order: write OVER (PARTITION BY ... ORDER BY ...)"
            raise self._source.unsupported(name, msg, at)
        partition = tuple(dict.fromkeys(self._column(part.unnest()) for part in node.args.get("partition_by") or ()))
        is_ordered = rank is not None or frame is not None
        keys = [self._key(key) for key in order.expressions] if is_ordered and order is not None else []
        if isinstance(node.this, exp.IgnoreNulls) and frame is not None and frame.function == "first":
            # Of a whole partition: the rows that have a value come first, from whichever side.
            keys = [self._value_first(inner.this, last=frame.reverse), *keys]
        return _Window(self._function(node.this), partition, tuple(keys), rank, frame, name, at)

    def _frame(self, node: exp.Window, call: exp.Expr, name: str, at: int) -> Frame | None:
        """What a window function is over, None if that is the whole of each partition in whichever order."""
        if is_offset(call) and node.args.get("spec"):
            msg = f"{name} takes no frame: it says itself how many rows before or behind it looks"
            raise self._source.unsupported(name, msg, at)
        ignores = isinstance(node.this, exp.IgnoreNulls)
        if is_offset(call):
            reach, over = KNOWN_BEFORE if ignores else BACKWARD
        else:
            reach, over = reach_of(node, name, self._source, at)
        if reach == "whole" and not (is_of_row(call) and node.args.get("order")):
            return None
        found = function_of(call, reach, over, known=ignores)
        if ignores and is_offset(call) and self._back(call) != 1:
            msg = f"{name} with IGNORE NULLS takes one row: leave the number out"
            raise self._source.unsupported(name, msg, at)
        if isinstance(node.this, exp.Filter) and (is_offset(call) or is_of_row(call)):
            msg = f"{name} OVER takes no FILTER: write CASE WHEN ... END as its value, and IGNORE NULLS"
            raise self._source.unsupported(name, msg, at)
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
        return Frame(function, argument, self._back(call) if function == "lag" else 0, over, reverse)

    def _value_first(self, value: exp.Expr, *, last: bool) -> SortKey:
        """The key by which rows that have a value come first in an order, or last."""
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


def _is_window_function(call: exp.Expr) -> bool:
    return isinstance(call, (exp.Lag, exp.Lead, exp.NthValue, exp.Ntile, exp.CumeDist, exp.PercentRank, exp.RowNumber))


def _with_windows(rows: Relation, below: _Below, bind: Bind) -> tuple[Relation, list[int]]:
    """The rows with the results of the windows behind their columns, and the position of each."""
    places = [0] * len(below.windows)
    plain = rows
    running = [i for i, window in enumerate(below.windows) if window.frame is not None]
    rows, found_at = with_running(rows, [_running(plain, below.windows[i], below, bind) for i in running])
    for i, place in zip(running, found_at, strict=True):
        places[i] = place
    asked = [i for i, window in enumerate(below.windows) if window.rank is not None]
    first, *others = _stacks(rows, below) or [Stack(rows, ())]
    found = first.relation
    for position, rank in enumerate(first.ranks):
        places[asked[rank]] = len(rows.types) + position
    whole = [window for window in below.windows if window.rank is None and window.frame is None]
    partitions = dict.fromkeys(window.partition for window in whole)
    if not partitions and not others:
        return found, places
    items = [bound_column(ColumnRef(0, i), f"c{i}") for i in range(len(found.types))]
    keys: list[tuple[int, int, int]] = []
    own_columns: tuple[int, ...] = ()
    if others:
        found, own_columns = told_apart(first, len(rows.types), rows)
    read = [_Read("rows", found, below.block(), below.windows[0].offset)]
    for stack in others:
        relation, their_columns = told_apart(stack, len(rows.types), rows)
        for position, rank in enumerate(stack.ranks):
            places[asked[rank]] = len(items)
            items.append(bound_column(ColumnRef(len(read), len(rows.types) + position), f"w{asked[rank]}"))
        ranked = _Read("ranks", relation, below.block(), below.windows[asked[stack.ranks[0]]].offset)
        pairs = list(zip(own_columns, their_columns, strict=True))
        own = [value for column, _ in pairs for value in _to_compare(column, rows, below)]
        theirs = [value for _, column in pairs for value in _to_compare(column, rows, below)]
        keys += _compared(read, ranked, own, theirs)
    for partition in partitions:
        chosen = [window for window in whole if window.partition == partition]
        groups = _groups(plain, partition, [window.function for window in chosen], below, bind)
        own, theirs = [], []
        for place, column in enumerate(partition):
            sure = below.never_null(column)
            own += _key_columns(column_at(column), rows.types[column], sure)
            theirs += _key_columns(column_at(place), rows.types[column], sure)
        if not partition:
            own, theirs = [exp.Literal.number(0)], [exp.Literal.number(0)]
        for i, window in enumerate(chosen):
            places[below.windows.index(window)] = len(items)
            items.append(bound_column(ColumnRef(len(read), len(partition) + i), f"w{i}"))
        keys += _compared(read, _Read("groups", groups, below.block(), chosen[0].offset), own, theirs)
    scope = Scope(tuple(one.occurrence(atom) for atom, one in enumerate(read)))
    conditions = tuple(
        exp.EQ(this=bound_column(ColumnRef(0, own), "k"), expression=bound_column(ColumnRef(atom, theirs), "k"))
        for own, atom, theirs in keys
    )
    return bind(_plain(below.block(), scope, conditions, items)), places


def _running(rows: Relation, window: _Window, below: _Below, bind: Bind) -> RunningWindow:
    """A window over a part of each partition, with the type of its result."""
    frame = window.frame
    assert frame is not None
    if frame.argument is not None:
        check_argument(frame.function, rows.types[frame.argument], window.name, below.source, window.offset)
    if has_type_of_argument(frame.function) and frame.argument is not None:
        kind = rows.types[frame.argument]
    else:
        kind = _groups(rows, (), [window.function], below, bind).types[0]
    return RunningWindow(frame, window.partition, window.order, kind)


@dataclass(frozen=True)
class _Read:
    """A relation that the join of rows and groups reads."""

    name: str
    relation: Relation
    block: SelectBlock
    offset: int

    @property
    def width(self) -> int:
        return len(self.relation.types)

    def with_columns(self, values: Sequence[exp.Expr]) -> _Read:
        """With further columns."""
        copied = [(Item(name, column_at(i), 0), column_at(i)) for i, name in enumerate(self._names())]
        added = [(Item(f"k{self.width + i}", value, self.block.start), value) for i, value in enumerate(values)]
        return replace(self, relation=project(self.relation, [*copied, *added], None, self.block.source))

    def occurrence(self, atom: int) -> Occurrence:
        """It in a scope."""
        names = tuple(self._names())
        columns = tuple(Column(name, kind) for name, kind in zip(names, self.relation.types, strict=True))
        query = NestedQuery("", names, self.relation, None, None)
        return Occurrence(atom, self.name, Table(f"window {self.name}", columns), query, self.offset)

    def _names(self) -> list[str]:
        return distinct_names(self.relation.schema.names)


def _stacks(rows: Relation, below: _Below) -> list[Stack]:
    """The rows with the ranks among the windows."""
    ranks = (window for window in below.windows if window.rank is not None)
    return stacks(rows, [Rank(w.rank, w.partition, w.order) for w in ranks if w.rank is not None])


def _to_compare(column: int, rows: Relation, below: _Below) -> list[exp.Expr]:
    """A column that tells rows apart as columns that are not NULL; one behind the rows' is the number of a copy."""
    if column >= len(rows.types):
        return [column_at(column)]
    return _key_columns(column_at(column), rows.types[column], below.never_null(column))


def _compared(
    read: list[_Read], other: _Read, own: Sequence[exp.Expr], theirs: Sequence[exp.Expr]
) -> list[tuple[int, int, int]]:
    """Read one more relation, equal in some columns to the first; which column of which relation equals which.

    ``read`` gets it, and its first relation the columns.
    """
    before, behind = read[0].width, other.width
    read[0] = read[0].with_columns(own)
    read.append(other.with_columns(theirs))
    return [(before + i, len(read) - 1, behind + i) for i in range(len(own))]


def _groups(
    rows: Relation, partition: Sequence[int], functions: Sequence[exp.Expr], below: _Below, bind: Bind
) -> Relation:
    """The partitions with the results of functions behind their columns."""
    scope = Scope((_Read("rows", rows, below.block(), below.windows[0].offset).occurrence(0),))
    columns = [column_at(position) for position in partition]
    found = _plain(below.block(), scope, (), [*columns, *functions])
    return bind(replace(found, groups=tuple(columns), is_global=not columns))


def _plain(
    block: SelectBlock, scope: Scope, conditions: tuple[exp.Expr, ...], values: Sequence[exp.Expr]
) -> SelectBlock:
    """A SELECT of some values in the text of another one."""
    items = tuple(Item(f"c{i}", value, block.start, written=f"c{i}") for i, value in enumerate(values))
    return SelectBlock(
        scope=scope,
        equalities=(),
        conditions=conditions,
        items=items,
        groups=None,
        is_global=False,
        having=None,
        distinct=False,
        order=None,
        source=block.source,
        start=block.start,
    )


def _key_columns(column: exp.Column, kind: SqlType, never_null: bool) -> list[exp.Expr]:
    """A column that may be NULL as columns that are not, and are equal where it is."""
    if never_null:
        return [column]
    is_null = exp.Is(this=column.copy(), expression=exp.null())
    none = {
        "boolean": "FALSE",
        "string": "",
        "binary": "",
        "date": "1970-01-01",
        "timestamp": "1970-01-01 00:00:00",
    }.get(kind.kind)
    literal = exp.Literal.number(0) if none is None else exp.Literal.string(none)
    instead = exp.Cast(this=literal, to=exp.DataType.build(str(kind), dialect="spark"))
    return [is_null, exp.Coalesce(this=column, expressions=[instead])]
