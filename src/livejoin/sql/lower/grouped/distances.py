"""Frames of all rows within a distance of each, by the one key of ORDER BY.

    SUM(x) OVER (ORDER BY n RANGE BETWEEN 10 PRECEDING AND CURRENT ROW)
    AVG(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND INTERVAL 30 MINUTES FOLLOWING)

A distance is a constant: a number for numbers, days for a DATE, an interval without months for a TIMESTAMP.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from sqlglot import exp

from livejoin.query.orders import RangeAround, SortKey
from livejoin.schema import SqlType
from livejoin.sql.parse.source import Source, shown
from livejoin.sql.scalars.intervals import interval
from livejoin.sql.scalars.operands import Interval, Mismatch, Unsayable

Amount: TypeAlias = Decimal | Interval

_DAY = 86_400_000_000
_NARROW_DIGITS = 18
_MOST = 1 << 62


@dataclass(frozen=True)
class Distance:
    """The ends of a frame, as they are written.

    Args:
        begin: Of the first row, and whether it is FOLLOWING.
        end: Of the last row, likewise.
        written: The frame in the text.
    """

    begin: tuple[Amount, bool]
    end: tuple[Amount, bool]
    written: str


def distance_of(spec: exp.Expr) -> Distance | None:
    """The distance of a RANGE frame; None for other frames."""
    if str(spec.args.get("kind") or "").upper() != "RANGE":
        return None
    ends = []
    for which in ("start", "end"):
        value, side = spec.args.get(which), str(spec.args.get(f"{which}_side") or "").upper()
        if value is None and which == "end":
            value = "CURRENT ROW"
        amount = _amount(value)
        if amount is None:
            return None
        ends.append((amount, side == "FOLLOWING"))
    begin, end = ends
    return Distance(begin, end, shown(spec))


def _amount(value: object) -> Amount | None:
    if isinstance(value, str):
        return Decimal(0) if value.upper() == "CURRENT ROW" else None
    if isinstance(value, exp.Literal) and not value.is_string:
        return Decimal(value.name)
    if isinstance(value, exp.Interval):
        try:
            return interval(value)
        except (Mismatch, Unsayable):
            return None
    return None


def around(
    found: Distance, order: Sequence[SortKey], types: Sequence[SqlType], name: str, source: Source, at: int
) -> RangeAround:
    """A frame by the key that rows are ordered by.

    Raises:
        UnsupportedQueryError: There are several keys, or the distance does not fit the key.
    """
    if len(order) != 1:
        msg = f"{name} OVER {found.written} takes one key in ORDER BY, from which the distance is"
        raise source.unsupported(name, msg, at)
    kind = types[order[0].column]
    begin, end = (
        _in_units(amount, is_behind, kind, found, name, source, at) for amount, is_behind in (found.begin, found.end)
    )
    if begin > end:
        msg = f"{name} OVER {found.written}: the frame begins behind its end; exchange the two"
        raise source.unsupported(name, msg, at)
    return RangeAround(begin, end)


def _in_units(
    amount: Amount, is_behind: bool, kind: SqlType, found: Distance, name: str, source: Source, at: int
) -> int | float:
    """What is added to a key for an end of its frame: days, microseconds, units of a decimal's last digit."""
    wanted = ""
    units: int | float = 0
    match kind.kind:
        case "double":
            wanted = "" if isinstance(amount, Decimal) else "a number"
            units = float(amount) if isinstance(amount, Decimal) else 0.0
        case "integer" | "decimal" if kind.precision <= _NARROW_DIGITS:
            scaled = amount.scaleb(kind.scale) if isinstance(amount, Decimal) else Decimal("0.5")
            wanted = "" if scaled == scaled.to_integral_value() else f"a number that {kind} holds"
            units = int(scaled)
        case "decimal":
            wanted = (
                f"a key of at most {_NARROW_DIGITS} digits: cast it to DECIMAL({_NARROW_DIGITS}, {kind.scale}), say"
            )
        case "date":
            is_days = isinstance(amount, Decimal) or not (amount.months or amount.microseconds)
            whole = is_days and (not isinstance(amount, Decimal) or amount == amount.to_integral_value())
            wanted = "" if whole else "a whole number of days, as INTERVAL 7 DAYS"
            units = int(amount) if isinstance(amount, Decimal) else amount.days
        case "timestamp":
            is_time = not amount.months if isinstance(amount, Interval) else amount == 0
            wanted = "" if is_time else "an interval of days and time, as INTERVAL 1 HOUR; months have no one length"
            units = amount.days * _DAY + amount.microseconds if isinstance(amount, Interval) else 0
        case _:
            wanted = "numbers, dates or timestamps in ORDER BY"
    if not wanted and not 0 <= units < (math.inf if kind.kind == "double" else _MOST):
        wanted = "a distance that is not below 0, and not beyond its type"
    if wanted:
        msg = f"{name} OVER {found.written}, by a key that is {kind}, takes {wanted}"
        raise source.unsupported(name, msg, at)
    return units if is_behind else -units
