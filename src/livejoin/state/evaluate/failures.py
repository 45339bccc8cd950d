"""Why an expression has no value for a row: the codes of errors in words."""

from __future__ import annotations

from livejoin.kernels.evaluate import layout as k
from livejoin.query.growth import MOST_COPIES
from livejoin.query.scalar import Call
from livejoin.words import NULL_CODE

MOST_PAIRS = 1 << 28
"""Pairs of characters that the distance of two strings looks at, which takes about a second."""


def reason(code: int, call: Call) -> str:
    """What went wrong, and what gives NULL instead, in Spark's terms."""
    match code:
        case k.OVERFLOW:
            return f"the result does not fit {call.type}; use {_try(call)} to get NULL instead"
        case k.DIVISION_BY_ZERO:
            return "division by zero; use try_divide to get NULL instead"
        case k.REMAINDER_BY_ZERO:
            return "remainder by zero; use try_mod to get NULL instead"
        case k.CAST_OVERFLOW:
            return f"the value does not fit {call.type}; use try_cast to get NULL instead"
        case k.DECIMAL_OVERFLOW:
            return f"the result has more digits than {call.type} holds; use {_try(call)} to get NULL instead"
        case k.MALFORMED if call.function in ("parse_time", "parse_date"):
            return f"the text does not fit the pattern; use try_to_{call.type.kind} to get NULL instead"
        case k.MALFORMED if call.function in ("time_in_zone", "time_from_zone"):
            return "there is no such time zone; write one as America/New_York or +02:00"
        case k.MALFORMED:
            if call.type.kind == "boolean" and call.function != "cast":
                return "the pattern has its escape character before another one than %, _ and itself"
            return f"the value is malformed for {call.type}; use try_cast to get NULL instead"
        case k.BAD_DATE:
            return "there is no such day"
        case k.ZERO_INDEX if call.function == "split_item":
            return "there are fewer parts than the index says, which counts them from 0"
        case k.ZERO_INDEX:
            return "the index 0 is invalid: parts are counted from 1, or from -1 at the end"
        case k.TIME_OVERFLOW:
            return f"the result is beyond the range of {call.type}"
        case k.RESERVED:
            return f"the result is {NULL_CODE}, the one BIGINT that livejoin reserves, for NULL"
        case _ if call.function == "edit_distance":
            return f"the two strings have more than {MOST_PAIRS:,} pairs of characters to be compared"
        case _:
            return f"the result has more than {MOST_COPIES} copies or padded characters, or is a string beyond 64 MiB"


def _try(call: Call) -> str:
    match call.function:
        case "add" | "subtract" | "multiply" | "divide":
            return f"try_{call.function}"
        case "remainder":
            return "try_mod"
        case _:
            return "try_cast"
