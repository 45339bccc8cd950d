"""Where the value of an expression differs from Spark's, for each row and with the reason.

The counts are exact: `test_values` fails for a difference that no reason explains, and for a reason that explains more
expressions or fewer than it says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.corpus import Case, Failure

ERROR = "an error"
"""What stands for an error here."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """A reason for which values differ.

    Args:
        reason: Why, and what it means for a user.
        explains: Whether it is the reason for a row of a case: the case, the row, Spark's value and the value here.
        expressions: How many expressions differ for it.
    """

    reason: str
    explains: Callable[[Case, Row, Any, Any], bool]
    expressions: int


def _is_negative_zero(value: Any) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1, value) < 0


def _has_negative_zero(case: Case, row: Row, theirs: Any, ours: Any) -> bool:
    return (
        "-0.0e0" in case.sql or str(theirs).startswith("-0") or any(_is_negative_zero(row[name]) for name in case.used)
    )


def _is_float_text(case: Case, row: Row, theirs: Any, ours: Any) -> bool:
    """Whether two texts, or the lengths of two, are those of one FLOAT, of which Spark's has a digit more."""
    if not ({"h", "o"} & set(case.used) or "FLOAT" in case.sql) or not re.search(r"STRING|length|\|\|", case.sql):
        return False
    if isinstance(theirs, int) and isinstance(ours, int):
        return theirs == ours + 1
    numbers = [np.float32(re.sub("^[^-0-9]+|[^0-9]+$", "", text)) for text in (str(theirs), str(ours))]
    return bool(numbers[0] == numbers[1]) and len(str(theirs)) > len(str(ours))


def _is_no_text(case: Case, row: Row, theirs: Any, ours: Any) -> bool:
    """Whether bytes are read as a text that is none: an error, or NULL by TRY_CAST."""
    values = [row[name] for name in case.used if isinstance(row[name], bytes)]
    return ours in (ERROR, None) and any("\ufffd" in value.decode(errors="replace") for value in values)


def _is_error_of_one(case: Case, row: Row, theirs: Any, ours: Any) -> bool:
    """Whether a random expression fails in one of both alone, and has an operator whose errors Spark places by rules of
    its optimizer."""
    fails = (isinstance(theirs, Failure), ours == ERROR)
    return case.group == "precedence" and any(fails) and not all(fails) and _LOOKS.search(case.sql) is not None


_LOOKS = re.compile(r"\|\||<=>|IS |NULL|NOT (IN|BETWEEN)|AND|OR")

DIFFERENCES = (
    Difference(
        "Spark reads bytes that are not UTF-8 as a string that is none; here they are malformed",
        _is_no_text,
        47,
    ),
    Difference(
        "before Java 19 the text of some FLOATs had a digit too many (JDK-4511638); here it is always the shortest",
        _is_float_text,
        10,
    ),
    Difference(
        "livejoin has one zero: -0.0 is 0.0 when it comes in, so that its text and its powers are those of 0.0",
        _has_negative_zero,
        36,
    ),
    Difference(
        "the quotient of two decimals by DIV is taken modulo 2**64 in Spark where no BIGINT holds it; here it fails",
        lambda case, row, theirs, ours: ours == ERROR and " div " in case.sql,
        34,
    ),
    Difference(
        "Spark rounds a decimal to 34 digits where it changes its sign, which may then not fit; here it is exact",
        lambda case, row, theirs, ours: case.sql.startswith(("-", "negative(", "abs(")) and isinstance(theirs, Failure),
        6,
    ),
    Difference(
        "the least INT has no negative, by which `d - i` is evaluated; Spark wraps around",
        lambda case, row, theirs, ours: (
            ours == ERROR and row["i32"] == -(1 << 31) and "i32" in case.used and case.group != "precedence"
        ),
        3,
    ),
    Difference(
        "|| fails in Spark for an error on either side, here not beside a NULL before it; and what Spark's optimizer "
        "takes for NULL or TRUE without a look, as `... <=> NULL` and `(... <=> ...) IS NOT NULL`, fails here",
        _is_error_of_one,
        14,
    ),
)

REFUSED = {
    "the escape character": 6,
    "which livejoin does not evaluate as Spark does": 5,
    "a pattern is written into the query": 3,
    "the replacement ": 2,
    " groups, and no group ": 3,
    "which date_format does not show here": 12,
}
"""Expressions that livejoin refuses to evaluate, by what the message says."""
