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
    made = r"STRING|length|format_string|printf|\|\|"
    if not ({"h", "o"} & set(case.used) or "FLOAT" in case.sql) or not re.search(made, case.sql):
        return False
    if isinstance(theirs, int) and isinstance(ours, int):
        return theirs == ours + 1
    numbers = [np.float32(re.sub("^[^-0-9]+|[^0-9]+$", "", text)) for text in (str(theirs), str(ours))]
    return bool(numbers[0] == numbers[1]) and len(str(theirs)) > len(str(ours))


def _is_no_text(case: Case, row: Row, theirs: Any, ours: Any) -> bool:
    """Whether bytes are read as a text that is none: an error, or NULL by TRY_CAST."""
    values = [row[name] for name in case.used if isinstance(row[name], bytes)]
    return ours in (ERROR, None) and any("\ufffd" in value.decode(errors="replace") for value in values)


def _is_wrapped_quotient(case: Case, row: Row, theirs: Any, ours: Any) -> bool:
    """Whether one DIV of two operands gives a number in Spark, and an error here."""
    return ours == ERROR and isinstance(theirs, int) and re.fullmatch(r"\S+ div \S+", case.sql) is not None


def _is_rounded_decimal(case: Case, row: Row, theirs: Any, ours: Any) -> bool:
    """Whether a change of the sign alone does not fit."""
    is_sign = re.fullmatch(r"-\w|(?:negative|abs)\(\w\)", case.sql)
    return is_sign is not None and isinstance(theirs, Failure) and "OUT_OF_RANGE" in theirs.condition


def _is_error_beside_null(case: Case, row: Row, theirs: Any, ours: Any) -> bool:
    """Whether Spark fails for an operand of || beside a NULL, of a column, of NULL itself or of CASE without ELSE."""
    has_null = any(row[name] is None for name in case.used) or re.search(r"\bNULL\b(?<!IS NULL)|END", case.sql)
    return _fails_there_alone(theirs, ours) and "||" in case.sql and bool(has_null) and "BETWEEN" not in case.sql


def _is_error_before_between(case: Case, row: Row, theirs: Any, ours: Any) -> bool:
    """Whether Spark fails in a condition with BETWEEN, AND or OR, and here another condition decides."""
    is_chain = re.search(r"\b(AND|OR)\b", re.sub(r"BETWEEN \S+ AND", "", case.sql))
    return _fails_there_alone(theirs, ours) and "BETWEEN" in case.sql and is_chain is not None


def _is_known_before(case: Case, row: Row, theirs: Any, ours: Any) -> bool:
    """Whether an expression fails here, and is NULL or not NULL in Spark whatever its operands are."""
    is_known = re.search(rf"{_NULL_OPERAND}|(<=>.*|{_BY_NULL}.*)IS (NOT )?NULL", case.sql)
    return ours == ERROR and not isinstance(theirs, Failure) and case.group == "precedence" and is_known is not None


def _fails_there_alone(theirs: Any, ours: Any) -> bool:
    return isinstance(theirs, Failure) and ours != ERROR


_BY_NULL = r"(?:>=|<=|<|>|=|<>) NULL"
_NULL_OPERAND = r"(?:[-+*/%^&|]|<<|>>|div) NULL|NULL (?:[-+*/%^&|]|<<|>>|div)"

DIFFERENCES = (
    Difference(
        "Spark reads bytes that are not UTF-8 as a string that is none; here they are malformed",
        _is_no_text,
        49,
    ),
    Difference(
        "before Java 19 the text of some FLOATs had a digit too many (JDK-4511638); here it is always the shortest",
        _is_float_text,
        18,
    ),
    Difference(
        "livejoin has one zero: -0.0 is 0.0 when it comes in, so that its text and its powers are those of 0.0",
        _has_negative_zero,
        63,
    ),
    Difference(
        "the quotient of two decimals by DIV is taken modulo 2**64 in Spark where no BIGINT holds it; here it fails",
        _is_wrapped_quotient,
        31,
    ),
    Difference(
        "Spark rounds a decimal to 34 digits where it changes its sign, which may then not fit; here it is exact",
        _is_rounded_decimal,
        5,
    ),
    Difference(
        "the least INT has no negative, by which `d - i` is evaluated; Spark wraps around",
        lambda case, row, theirs, ours: (
            ours == ERROR and row["i32"] == -(1 << 31) and "i32" in case.used and case.group != "precedence"
        ),
        3,
    ),
    Difference(
        "|| fails in Spark for an error of any operand; here it is NULL where one of them is, if that is known first",
        _is_error_beside_null,
        5,
    ),
    Difference(
        "Spark computes what stands before BETWEEN ahead of the conditions around it; here they come first",
        _is_error_before_between,
        6,
    ),
    Difference(
        "what NULL as an operand makes NULL, and `... <=> ...` that never is, Spark's optimizer knows before it looks "
        "at the other operand; here that is computed, and fails",
        _is_known_before,
        7,
    ),
    Difference(
        "Spark's FROM_UNIXTIME wraps around for seconds that no TIMESTAMP holds; here it fails",
        lambda case, row, theirs, ours: (
            ours == ERROR and isinstance(theirs, str) and case.sql.startswith("from_unixtime(")
        ),
        2,
    ),
)
