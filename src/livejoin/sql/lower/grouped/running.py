"""Window functions over a part of each partition: aggregates up to each row, and values of neighbouring rows.

    SUM(x) OVER (PARTITION BY k ORDER BY t)                                      RANGE: with all rows of the same t
    SUM(x) OVER (PARTITION BY k ORDER BY t ROWS UNBOUNDED PRECEDING)             ROWS: up to the row itself
    SUM(x) OVER (PARTITION BY k ORDER BY t DESC ROWS ... CURRENT ROW AND UNBOUNDED FOLLOWING)
    AVG(x) OVER (PARTITION BY k ORDER BY t ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)
    LAG(x, 2, 0) OVER (PARTITION BY k ORDER BY t)        LEAD(x) OVER (...)      FIRST_VALUE, LAST_VALUE

Functions that look forward are those that look back, in the reverse order. `livejoin.query.relational.Running` adds the
results as columns. Its rows must be distinct: without a key, copies are numbered first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from livejoin.query.keys import keys
from livejoin.query.orders import (
    EVERY_RANK,
    RangeAround,
    RowsAround,
    RowsUpTo,
    RunningCall,
    RunningFrame,
    RunningFunction,
    SortKey,
    Tiles,
)
from livejoin.query.relational import Ranked, Relation, Running
from livejoin.schema import SqlType
from livejoin.sql.lower.grouped.distances import Distance, distance_of
from livejoin.sql.parse.source import Source, shown

Reach = Literal["before", "whole", "behind"]
"""Which rows of its partition a row's frame has: those up to it, all, or those from it on."""

BACKWARD: tuple[Reach, RunningFrame] = ("before", "rows")
"""What LAG is over."""
KNOWN_BEFORE: tuple[Reach, RunningFrame] = ("before", RowsUpTo(-1))
"""What LAG is over that ignores NULL."""

_FUNCTIONS: dict[type[exp.Expr], RunningFunction] = {
    exp.Sum: "sum",
    exp.Count: "count",
    exp.CountIf: "count",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.First: "first",
    exp.FirstValue: "first",
    exp.Last: "last",
    exp.LastValue: "last",
    exp.VariancePop: "var_pop",
    exp.Variance: "var_samp",
    exp.StddevPop: "stddev_pop",
    exp.StddevSamp: "stddev_samp",
    exp.Stddev: "stddev_samp",
    exp.Lag: "lag",
    exp.Lead: "lag",
    exp.NthValue: "nth",
}
_OF_ROW: tuple[RunningFunction, ...] = ("first", "last", "first_peer", "first_known", "last_known", "lag")
_NTHS: tuple[RunningFunction, ...] = ("nth", "nth_known")
_SPREADS: tuple[RunningFunction, ...] = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")
_OFFSETS = (exp.Lag, exp.Lead)
_NUMBERS = ("integer", "decimal", "double")
_MOST_BACK = 10_000


@dataclass(frozen=True)
class Frame:
    """The window function and the rows that it is over.

    Args:
        function: The window function.
        argument: The column of its argument, None for COUNT(*).
        back: For LAG and LEAD, how many rows away.
        nth: For NTH_VALUE, which row.
        over: The rows that it is over, relative to the row; by a distance as it is written, before types are known.
        reverse: Whether the rows are taken from the last to the first.
    """

    function: RunningFunction
    argument: int | None
    back: int
    nth: int
    over: RunningFrame | Distance
    reverse: bool


@dataclass(frozen=True)
class RunningWindow:
    """A window function over a part of each partition.

    Args:
        frame: The function and its rows.
        over: The rows, relative to the row.
        partition: The columns of PARTITION BY.
        order: The keys of ORDER BY.
        type: The type of the result.
    """

    frame: Frame
    over: RunningFrame
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    type: SqlType


def is_offset(call: exp.Expr) -> bool:
    """Whether a call gives the value of another row: LAG, LEAD."""
    return isinstance(call, _OFFSETS)


def is_of_row(call: exp.Expr) -> bool:
    """Whether a call gives the value of the first or the last row of its frame."""
    return isinstance(call, (exp.First, exp.FirstValue, exp.Last, exp.LastValue))


def is_spread(call: exp.Expr) -> bool:
    """Whether a call is a variance or a standard deviation, which sum DOUBLEs."""
    return _FUNCTIONS.get(type(call)) in _SPREADS


def has_type_of_argument(function: RunningFunction) -> bool:
    """Whether the result of a function is one of the values of its argument."""
    return function in ("min", "max", *_OF_ROW, *_NTHS)


def is_nth(call: exp.Expr) -> bool:
    """Whether a call gives the value of a row by its number in the frame: NTH_VALUE."""
    return isinstance(call, exp.NthValue)


def up_to_nth(reach: Reach, over: RunningFrame | Distance, nth: int) -> tuple[Reach, RunningFrame | Distance] | None:
    """The frame that ends with the row of a number where one goes on to the last row; None if there is no such frame.

    The first rows of a frame up to the last row of the partition are those of one up to so many rows behind each.
    """
    match reach, over:
        case "before", _:
            return reach, over
        case "whole", _:
            return "before", RowsUpTo(nth - 1)
        case "behind", "rows":
            return "before", RowsAround(0, nth - 1)
        case "behind", RowsUpTo(begin):
            return "before", RowsAround(begin, nth - 1 + max(-begin, 0))
    return None


def reach_of(node: exp.Window, name: str, source: Source, at: int) -> tuple[Reach, RunningFrame | Distance]:
    """The rows in the frame of a window function: up to each row, all, from each row on, or some around it.

    Raises:
        UnsupportedQueryError: The frame is another one.
    """
    spec = node.args.get("spec")
    if spec is not None and spec.args.get("exclude") is not None:
        msg = (
            f"{name} OVER a frame that leaves out rows, by EXCLUDE, is not supported, nor is it by Spark. Take the "
            "row's own value away from the result, or write ROWS between other bounds"
        )
        raise source.unsupported("EXCLUDE", msg, at)
    if spec is None:
        return ("before" if node.args.get("order") else "whole"), "range"
    is_rows = str(spec.args.get("kind") or "").upper() == "ROWS"
    is_range = str(spec.args.get("kind") or "").upper() == "RANGE"
    frame: RunningFrame = "range" if is_range else "rows"
    match _bound(spec, "start"), _bound(spec, "end"):
        case "first", 0 | None if is_rows or is_range:
            return "before", frame
        case "first", "last" if is_rows or is_range:
            return "whole", frame
        case 0, "last" if is_rows or is_range:
            return "behind", frame
        case int(begin), int(end) if is_rows and begin <= end:
            return "before", RowsAround(-begin, end)
        case int(begin), None if is_rows and begin <= 0:
            return "before", RowsAround(-begin, 0)
        case "first", int(end) if is_rows:
            return "before", RowsUpTo(end)
        case int(begin), "last" if is_rows:
            return "behind", RowsUpTo(-begin)
    distance = distance_of(spec)
    if distance is not None:
        return "before", distance
    msg = f"{name} OVER this frame, {shown(spec)}, is not supported{_why_not(spec)}"
    raise source.unsupported(name, msg, at)


def _why_not(spec: exp.Expr) -> str:
    """Why a frame is none that is kept up to date, and what to write, behind "is not supported"."""
    kind = str(spec.args.get("kind") or "").upper()
    begin, end = _bound(spec, "start"), _bound(spec, "end")
    if kind == "ROWS" and isinstance(begin, int) and begin > (end if isinstance(end, int) else 0):
        return ": it ends before it begins, so that no row is in it. Write the end that comes first behind BETWEEN"
    if kind == "RANGE" and ("first" in (begin, end) or "last" in (begin, end)):
        written = spec.args.get("end" if begin == "first" else "start")
        if isinstance(written, exp.Interval) or (isinstance(written, exp.Literal) and not written.is_string):
            far = "INTERVAL '36500' DAY" if isinstance(written, exp.Interval) else "1000000000"
            side = "PRECEDING" if begin == "first" else "FOLLOWING"
            return (
                ": a RANGE frame has a distance at both of its ends, or at none. In place of UNBOUNDED write a "
                f"distance that no two rows have between them, as {far} {side}"
            )
    return (
        f". ROWS may begin and end at the first row of the partition, at the last one, or at most {_MOST_BACK:,} rows "
        "before or behind each row. RANGE may go from the first row to the current one, from the current one to the "
        "last, over all rows, or between two constant distances, as RANGE BETWEEN 5 PRECEDING AND CURRENT ROW"
    )


def _bound(spec: exp.Expr, which: str) -> Literal["first", "last", "elsewhere"] | int | None:
    """One end of a frame: the first row, the last one, or an offset from the row; None if it is missing."""
    value, side = spec.args.get(which), str(spec.args.get(f"{which}_side") or "").upper()
    if value is None:
        return None
    text = value.upper() if isinstance(value, str) else ""
    if text == "CURRENT ROW":
        return 0
    if text == "UNBOUNDED":
        return "first" if side == "PRECEDING" else "last"
    number = value.name if isinstance(value, exp.Literal) and not value.is_string else ""
    if not number.isdigit() or int(number) > _MOST_BACK:
        return "elsewhere"
    return -int(number) if side == "PRECEDING" else int(number)


def function_of(
    call: exp.Expr, reach: Reach, over: RunningFrame | Distance, *, known: bool
) -> tuple[RunningFunction, bool] | None:
    """The running function of a call, and whether it takes the rows from the last one; None for other calls.

    ``known`` says that a function of one row skips NULLs. In whole partitions, rows with values then come first.
    """
    function = _FUNCTIONS.get(type(call))
    match function, reach:
        case None, _:
            return None
        case "nth", _:
            return ("nth_known" if known else "nth"), False
        case "lag", _:
            return ("last_known" if known else "lag"), isinstance(call, exp.Lead)
        case "first" | "last", "whole":
            return "first", function == "last"
        case "first", "behind" if over == "range" and not known:
            return "first_peer", False
        case "first" | "last", _:
            reverse = reach == "behind"
            is_first = (function == "first") != reverse
            if known:
                return ("first_known" if is_first else "last_known"), reverse
            return ("first" if is_first else "last"), reverse
        case _:
            return function, reach == "behind"


def tiles_of(call: exp.Expr, name: str, source: Source, at: int) -> Tiles:
    """How many tiles NTILE cuts a partition into.

    Raises:
        UnsupportedQueryError: The argument is no number from 1 to 10,000.
    """
    given = call.this
    number = given.name if isinstance(given, exp.Literal) and not given.is_string else ""
    if number.isdigit() and 1 <= int(number) <= _MOST_BACK:
        return Tiles(int(number))
    found = "nothing" if given is None else shown(given)
    msg = f"{name} takes a whole number of tiles from 1 to {_MOST_BACK:,}, written as one, and {found} is found"
    raise source.unsupported(name, msg, at)


def back_of(call: exp.Expr, name: str, source: Source, at: int) -> int:
    """How many rows LAG looks back, or LEAD ahead.

    Raises:
        UnsupportedQueryError: The argument is no number from 0 to 10,000.
    """
    return _rows_of(call, 0, name, source, at)


def nth_of(call: exp.Expr, name: str, source: Source, at: int) -> int:
    """Which row of its frame NTH_VALUE gives.

    Raises:
        UnsupportedQueryError: The argument is no number from 1 to 10,000.
    """
    return _rows_of(call, 1, name, source, at)


def _rows_of(call: exp.Expr, least: int, name: str, source: Source, at: int) -> int:
    """A number of rows that a call is given, which is 1 if there is none."""
    given = call.args.get("offset")
    if given is None:
        return 1
    number = given.name if isinstance(given, exp.Literal) and not given.is_string else ""
    if number.isdigit() and least <= int(number) <= _MOST_BACK:
        return int(number)
    msg = (
        f"{name} takes a whole number of rows from {least} to {_MOST_BACK:,}, written as one, and {shown(given)} is "
        "found"
    )
    raise source.unsupported(name, msg, at)


def check_argument(function: RunningFunction, kind: SqlType, name: str, source: Source, at: int) -> None:
    """Refuse an argument that a function does not accept.

    Raises:
        UnsupportedQueryError: The argument of a sum is no number.
    """
    if function in ("sum", "avg") and kind.kind not in _NUMBERS:
        msg = f"{name} OVER a part of each partition adds up numbers, and its argument is {kind}: cast it"
        raise source.unsupported(name, msg, at)


def with_running(rows: Relation, windows: Sequence[RunningWindow]) -> tuple[Relation, list[int]]:
    """Rows with the results of windows after their columns, and the position of each result."""
    if not windows:
        return rows, []
    width = len(rows.types)
    found = rows
    if not keys(rows):
        found = Ranked(rows, tuple(range(width)), (), "row_number", EVERY_RANK, follows=True)
    apart = len(found.types)
    places = [0] * len(windows)
    groups: dict[tuple[tuple[int, ...], tuple[SortKey, ...], RunningFrame], list[int]] = {}
    for i, window in enumerate(windows):
        order = _reversed(window, apart) if window.frame.reverse else window.order
        groups.setdefault((window.partition, order, _over(window)), []).append(i)
    # Those that change fewer rows come first, as the others see each row that changes.
    for (partition, order, over), chosen in sorted(groups.items(), key=lambda one: _moves(windows, one[1])):
        calls: list[RunningCall] = []
        for i in chosen:
            frame = windows[i].frame
            call = RunningCall(frame.function, frame.argument, windows[i].type, frame.back, frame.nth)
            if call not in calls:
                calls.append(call)
            places[i] = len(found.types) + calls.index(call)
        found = Running(found, partition, order, over, tuple(calls))
    return found, places


def _over(window: RunningWindow) -> RunningFrame:
    """The rows of the results, in the order; for LAG and for the first row of a partition those up to each row."""
    frame, over = window.frame, window.over
    if isinstance(over, RowsAround):
        return RowsAround(over.behind, over.before) if frame.reverse else over
    return "rows" if frame.function in ("lag", "first") and isinstance(over, str) else over


def _moves(windows: Sequence[RunningWindow], chosen: Sequence[int]) -> bool:
    around = RowsAround | RangeAround | Tiles
    return any(windows[i].frame.function != "lag" and not isinstance(windows[i].over, around) for i in chosen)


def _reversed(window: RunningWindow, width: int) -> tuple[SortKey, ...]:
    """The order from the last row to the first; with all columns unless rows with equal keys have equal results."""
    turned = tuple(SortKey(key.column, not key.descending, not key.nulls_first) for key in window.order)
    if _over(window) == "range":
        return turned
    named = {*window.partition, *(key.column for key in window.order)}
    return (*turned, *(SortKey(column, True, False) for column in range(width) if column not in named))


def with_filter(value: exp.Expr | None, condition: exp.Expr | None) -> exp.Expr | None:
    """An argument that is NULL where a FILTER clause is not true; None for all rows."""
    if condition is None:
        return value
    counted = exp.Literal.number(1) if value is None else value.copy()
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=counted)])
