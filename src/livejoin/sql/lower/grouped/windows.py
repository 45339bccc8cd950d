"""Window functions: ranks within partitions, and aggregates over whole partitions and over parts of them.

    SELECT a, SUM(x) OVER (PARTITION BY k) AS s FROM R
      =  SELECT r.a, g.s FROM R r, (SELECT k, SUM(x) AS s FROM R GROUP BY k) g WHERE r.k <=> g.k

A partition may have NULL as its key, which a join does not find. So a key that may be NULL is joined as two columns,
``k IS NULL`` and ``COALESCE(k, 0)``. The rows below are the SELECT without windows, so a window may be over groups:
SUM(COUNT(*)) OVER (). A rank is kept for all rows of a partition, or for the first ones if a condition on it gives a
bound, in QUALIFY or in the query around (`livejoin.query.relational.Ranked`). `livejoin.sql.lower.grouped.running` has
windows over a part of each partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.query.relational import Relation
from livejoin.schema import Column, SqlType, Table
from livejoin.sql.lower.bounded_ranks import bounded
from livejoin.sql.lower.grouped.distances import Distance, around
from livejoin.sql.lower.grouped.running import (
    RunningWindow,
    check_argument,
    has_type_of_argument,
    with_running,
)
from livejoin.sql.lower.grouped.several_ranks import Rank, Stack, stacks, told_apart
from livejoin.sql.lower.grouped.window_functions import ROWS, Below, Window
from livejoin.sql.lower.lowering import Lowering
from livejoin.sql.lower.project import project, refuse_lists
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.resolved.column import REF, bound_column, column_at
from livejoin.sql.resolved.item import Item, distinct_names
from livejoin.sql.resolved.query import NestedQuery, Occurrence, Scope, SelectBlock
from livejoin.sql.resolved.typed import cast_to
from livejoin.sql.scalars.labels import STANDS_FOR, standing_for


def windowed(block: SelectBlock, items: Sequence[Item], qualify: exp.Expr | None, lowering: Lowering) -> Relation:
    """The relation of a SELECT with window functions, before DISTINCT and ORDER BY.

    Args:
        block: The SELECT.
        items: The columns of the SELECT, and those that only its ORDER BY needs.
        qualify: The condition of QUALIFY.
        lowering: Makes the relation of a SELECT.

    Raises:
        UnsupportedQueryError: An unsupported window function.
        SqlError: A SELECT that this one is composed of is not valid.
    """
    below = Below(block)
    values = [below.over(item.value) for item in items]
    condition = None if qualify is None else below.over(qualify)
    rows = lowering.relation(below.block())
    refuse_lists(rows, "OVER", block.source, block.source.tokens[0].start)
    joined, places = _with_windows(rows, below, lowering)

    def placed(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column):
            return part
        ref = part.meta[REF]
        column = column_at(ref.column if ref.atom == ROWS else places[ref.column])
        return standing_for(column, part.meta[STANDS_FOR])

    over = [(item, rewritten(value, placed)) for item, value in zip(items, values, strict=True)]
    kept = None if condition is None or qualify is None else (qualify, rewritten(condition, placed))
    found = project(joined, over, kept, block.source)
    return found if found.predicate is None else replace(found, input=bounded(joined, [found.predicate]))


def _with_windows(rows: Relation, below: Below, lowering: Lowering) -> tuple[Relation, list[int]]:
    """The rows with the results of the windows after their columns, and the position of each result."""
    places = [0] * len(below.windows)
    plain = rows
    running = [i for i, window in enumerate(below.windows) if window.frame is not None]
    rows, found_at = with_running(rows, [_running(plain, below.windows[i], below, lowering) for i in running])
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
        groups = _groups(plain, partition, [window.function for window in chosen], below, lowering)
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
    return lowering.relation(_plain(below.block(), scope, conditions, items)), places


def _running(rows: Relation, window: Window, below: Below, lowering: Lowering) -> RunningWindow:
    """A window over a part of each partition, with the type of its result."""
    frame = window.frame
    assert frame is not None
    if frame.argument is not None:
        check_argument(frame.function, rows.types[frame.argument], window.name, below.source, window.offset)
    if frame.function == "ntile":
        kind = SqlType.integer(32)
    elif has_type_of_argument(frame.function) and frame.argument is not None:
        kind = rows.types[frame.argument]
    else:
        kind = _groups(rows, (), [window.function], below, lowering).types[0]
    over = frame.over
    if isinstance(over, Distance):
        over = around(over, window.order, rows.types, window.name, below.source, window.offset)
    return RunningWindow(frame, over, window.partition, window.order, kind)


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
        """The relation with further columns."""
        copied = [(Item(name, column_at(i), 0), column_at(i)) for i, name in enumerate(self._names())]
        added = [(Item(f"k{self.width + i}", value, self.block.start), value) for i, value in enumerate(values)]
        return replace(self, relation=project(self.relation, [*copied, *added], None, self.block.source))

    def occurrence(self, atom: int) -> Occurrence:
        """The relation as an occurrence in a scope."""
        names = tuple(self._names())
        columns = tuple(Column(name, kind, is_made=True) for name, kind in zip(names, self.relation.types, strict=True))
        query = NestedQuery("", names, self.relation, None, None)
        return Occurrence(atom, self.name, Table(f"window {self.name}", columns), query, self.offset)

    def _names(self) -> list[str]:
        return distinct_names(self.relation.schema.names)


def _stacks(rows: Relation, below: Below) -> list[Stack]:
    """The rows with the ranks among the windows."""
    ranks = (window for window in below.windows if window.rank is not None)
    return stacks(rows, [Rank(w.rank, w.partition, w.order) for w in ranks if w.rank is not None])


def _to_compare(column: int, rows: Relation, below: Below) -> list[exp.Expr]:
    """A column that tells rows apart, as columns that are not NULL; the first one after the rows' numbers copies."""
    if column >= len(rows.types):
        return [column_at(column)]
    return _key_columns(column_at(column), rows.types[column], below.never_null(column))


def _compared(
    read: list[_Read], other: _Read, own: Sequence[exp.Expr], theirs: Sequence[exp.Expr]
) -> list[tuple[int, int, int]]:
    """Add a relation to the join, equal in some columns to the first one; gives the equal columns.

    ``read`` gets the relation, and its first relation the columns.
    """
    before, behind = read[0].width, other.width
    read[0] = read[0].with_columns(own)
    read.append(other.with_columns(theirs))
    return [(before + i, len(read) - 1, behind + i) for i in range(len(own))]


def _groups(
    rows: Relation, partition: Sequence[int], functions: Sequence[exp.Expr], below: Below, lowering: Lowering
) -> Relation:
    """The partitions with the results of functions after their columns."""
    scope = Scope((_Read("rows", rows, below.block(), below.windows[0].offset).occurrence(0),))
    columns = [column_at(position) for position in partition]
    found = _plain(below.block(), scope, (), [*columns, *functions])
    return lowering.relation(replace(found, groups=tuple(columns), is_global=not columns))


def _plain(
    block: SelectBlock, scope: Scope, conditions: tuple[exp.Expr, ...], values: Sequence[exp.Expr]
) -> SelectBlock:
    """A SELECT of some values in the text of another one."""
    items = tuple(Item(f"c{i}", value, block.start, written=f"c{i}") for i, value in enumerate(values))
    return SelectBlock(scope, items, block.source, block.start, conditions=conditions)


def _key_columns(column: exp.Column, kind: SqlType, never_null: bool) -> list[exp.Expr]:
    """A column that may be NULL, as columns that are not NULL and equal where the column is."""
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
    instead = cast_to(literal, kind)
    return [is_null, exp.Coalesce(this=column, expressions=[instead])]
