"""The fields of a window of time that has one value a row: ``window(ts, '10 minutes').start`` and ``.end``."""

from __future__ import annotations

from livejoin.query.scalar import Constant, Scalar
from livejoin.schema import SqlType
from livejoin.sql.scalars.arithmetic import binary
from livejoin.sql.scalars.functions import times
from livejoin.sql.scalars.operands import (
    BIGINT,
    INTERVAL,
    LOCAL_TIME,
    TIMESTAMP,
    Mismatch,
    Operand,
    Refused,
    call,
    is_kind,
    type_of,
)
from livejoin.sql.scalars.time_window import WINDOW, TimeWindow, of_operands


def start(time: Operand, *lengths: Operand) -> Operand:
    """The start of the window of a time: the last one that is not behind it.

    It counts in microseconds since 1970, also in time zones with summer time, as Spark does.
    """
    return _start(time, _single(lengths))


def end(time: Operand, *lengths: Operand) -> Operand:
    """The end of the window of a time, which is not within it."""
    window = _single(lengths)
    found = _start(time, window)
    return call("add", found.type, found, Constant(window.duration, INTERVAL))


def _single(lengths: tuple[Operand, ...]) -> TimeWindow:
    window = of_operands(WINDOW, lengths)
    if window.copies > 1:
        msg = (
            f"a row is in {window.copies} windows here, and an expression has one value a row; write the window in "
            "SELECT or GROUP BY alone, and read it from a query in FROM elsewhere"
        )
        raise Refused(msg)
    return window


def _start(time: Operand, window: TimeWindow) -> Scalar:
    kind = type_of(time)
    if kind != "VOID" and not is_kind(kind, "timestamp", "date", "string"):
        msg = f"a window is one of a TIMESTAMP, and {kind} is found; cast it"
        raise Mismatch(msg)
    since = times.microseconds(time)
    from_start = binary("subtract", since, Constant(window.offset, BIGINT)) if window.offset else since
    behind = binary("positive_remainder", from_start, Constant(window.slide, BIGINT))
    exact: SqlType = LOCAL_TIME if kind == LOCAL_TIME else TIMESTAMP
    gone = call("multiply", INTERVAL, Constant(1, INTERVAL), behind)
    return call("add", exact, times.with_clock(time), call("negate", INTERVAL, gone))
