"""Where livejoin differs from Spark in what type an expression has, and what the tree of scalars cannot say.

Both are exact: `test_types` fails for a difference that is not here, and for one that is here and is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from conformance import corpus

REFUSED = "refused"


@dataclass(frozen=True)
class Difference:
    """Expressions that differ for one reason.

    Args:
        reason: Why, and what it means for a user.
        expressions: For each the type in Spark and the one here; `REFUSED` where it is refused.
    """

    reason: str
    expressions: dict[str, tuple[str, str]]


DIFFERENCES = (
    Difference(
        "sqlglot reads IS UNKNOWN as IS NULL, which takes any type; Spark refuses it for some that are no BOOLEAN",
        {f"{value} IS {word}": (REFUSED, "boolean") for value in ("'no'", "1") for word in ("UNKNOWN", "NOT UNKNOWN")},
    ),
    Difference(
        "concat without arguments is the empty string in Spark; sqlglot does not parse it",
        {"concat()": ("string", REFUSED)},
    ),
    Difference(
        "to_timestamp without a pattern is CAST, which refuses BOOLEAN and BINARY; Spark reads them as texts",
        {f"to_timestamp({column})": ("timestamp", REFUSED) for column in ("b", "w")},
    ),
)

UNSAID: dict[str, dict[str, int]] = {
    "literals": {"NULL": 1},
    "arithmetic": {
        "+": 3,
        "-": 92,
        "TRY_ADD": 9,
        "TRY_SUBTRACT": 8,
    },
    "comparisons": {},
    "logic": {},
    "conditionals": {"IFF": 1, "NULL": 3},
    "casts": {
        "CAST to INTERVAL DAY": 1,
        "CAST to TIMESTAMP_NTZ": 1,
        "TYPEOF": 1,
    },
    "times": {
        "+": 2,
        "-": 14,
        "CONVERT_TIMEZONE": 1,
        "CURRENT_DATE": 2,
        "CURRENT_TIMESTAMP": 1,
        "DATEADD": 19,
        "DATE_PART": 1,
        "INTERVAL": 1,
        "MAKE_INTERVAL": 1,
        "MAKE_TIMESTAMP": 1,
        "NEXT_DAY": 2,
        "NOW": 1,
        "TIMESTAMP_MICROS": 8,
        "TIMESTAMP_MILLIS": 8,
        "TIMESTAMP_SECONDS": 3,
        "TO_TIMESTAMP_NTZ": 8,
        "TRUNC": 2,
        "TRY_ADD": 1,
        "TRY_TO_DATE": 5,
        "TRY_TO_TIMESTAMP": 5,
    },
    "mathematics": {
        "FACTORIAL": 1,
        "FLOOR": 1,
        "LOG": 18,
        "RAND": 1,
        "ROUND": 3,
    },
    "strings": {
        "CHARINDEX": 6,
        "CHR": 3,
        "COLLATE": 2,
        "ELT": 1,
        "FIND_IN_SET": 1,
        "FORMAT_NUMBER": 1,
        "ILIKE": 2,
        "LIKE": 4,
        "OVERLAY": 1,
        "REGEXP_LIKE": 2,
        "SOUNDEX": 1,
        "STRPOS": 7,
        "SUBSTRING_INDEX": 1,
        "SUM": 1,
        "UNKNOWN_FUNCTION": 1,
    },
    "floats": {"-": 3, "NULL": 1},
    "binaries": {"LPAD": 1},
    "host": {
        "DATE_FORMAT": 14,
        "REGEXP_EXTRACT": 4,
        "REGEXP_REPLACE": 7,
        "[...]": 2,
    },
    "spans": {"-": 12},
    "precedence": {},
    "bits": {},
    "hashes": {},
    "joins": {},
    "formats": {
        "DATE_FORMAT": 24,
        "FORMAT_STRING": 192,
        "FROM_UTC_TIMESTAMP": 11,
        "TO_CHAR": 12,
        "TO_DATE": 15,
        "TO_TIMESTAMP": 27,
        "TO_UTC_TIMESTAMP": 11,
        "TO_VARCHAR": 3,
        "TRY_TO_DATE": 20,
        "TRY_TO_TIMESTAMP": 26,
        "UNIX_TIMESTAMP": 2,
    },
}
"""For each group of expressions, how many the tree cannot say, or have a pattern that is refused, by the function."""


def of(group: str) -> dict[str, tuple[str, str]]:
    """The differences of a group of expressions."""
    members = {case.sql for case in corpus.cases() if case.group == group}
    return {sql: kinds for each in DIFFERENCES for sql, kinds in each.expressions.items() if sql in members}
