"""Rules by which an answer that differs from the recorded one is not wrong.

They are what Spark leaves open, or takes from outside, and where livejoin means another thing on purpose. A rule looks
at the query and at the difference, and knows no query by its name.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import sqlglot
from sqlglot import exp

from .answers import Answer
from .recorded import Recorded

_ZONE = ZoneInfo("America/Los_Angeles")
"""That of the sessions of Spark's tests; livejoin computes in UTC."""
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
_SHOWS_TIMES = re.compile(r"\b(date_format|to_char|to_varchar)\s*\(", re.I)
_OPEN = {
    "ANY_VALUE", "APPROX_COUNT_DISTINCT", "APPROX_PERCENTILE", "ARRAY_AGG", "COLLECT_LIST", "COLLECT_SET", "FIRST",
    "FIRST_VALUE", "LAST", "LAST_VALUE", "LISTAGG", "MAX_BY", "MIN_BY", "MODE", "PERCENTILE_APPROX", "STRING_AGG",
}  # fmt: skip
"""Aggregates of which Spark gives one of several values, or values in some order."""


@dataclass(frozen=True)
class _Rule:
    """A rule: its reason, and whether it holds of a query, Spark's lines and livejoin's answer."""

    reason: str
    holds: Callable[[exp.Expr, Recorded, Answer], bool]


def otherwise(recorded: Recorded, answer: Answer) -> str | None:
    """Why rows that differ are not wrong; None if nothing says so."""
    try:
        tree = sqlglot.parse_one(recorded.sql, dialect="spark")
    except sqlglot.errors.SqlglotError:
        return None
    return next((rule.reason for rule in _RULES if rule.holds(tree, recorded, answer)), None)


def error_otherwise(recorded: Recorded, message: str) -> str | None:
    """Why an error where Spark has an answer is not wrong; None if nothing says so."""
    return next(
        (reason for reason, sql, error, output in _ERRORS if _all_found(recorded, message, sql, error, output)), None
    )


def _all_found(recorded: Recorded, message: str, sql: str, error: str, output: str) -> bool:
    return bool(re.search(sql, recorded.sql, re.I) and re.search(error, message) and re.search(output, recorded.output))


_ERRORS = (
    (
        "CEIL and FLOOR of what no BIGINT holds fail in newer versions",
        r"\b(CEIL|CEILING|FLOOR)\b",
        "does not fit BIGINT",
        "9223372036854775807",
    ),
    ("a time of day without a date is one of today", r"'\s*T?\d{1,2}:\d", "malformed for TIMESTAMP", ""),
)
"""Reasons for errors, each with patterns for the query, the message and Spark's answer."""


def _takes_any_rows(tree: exp.Expr, recorded: Recorded, answer: Answer) -> bool:
    """Whether a LIMIT or OFFSET, in the query or within it, takes rows without an order."""
    queries = tree.find_all(exp.Select, exp.SetOperation, exp.Subquery)
    return any((one.args.get("limit") or one.args.get("offset")) and not one.args.get("order") for one in queries)


def _limits_correlated_rows(tree: exp.Expr, recorded: Recorded, answer: Answer) -> bool:
    """Whether ``x = (SELECT y ... WHERE ... ORDER BY y LIMIT n)`` lacks rows: NULL was left out before LIMIT."""
    inner = (part.this for node in tree.find_all(exp.EQ) for part in node.find_all(exp.Subquery))
    is_there = any(one.args.get("limit") and one.args.get("order") and one.args.get("where") for one in inner)
    return is_there and not Counter(answer.rows) - Counter(recorded.output.split("\n"))


def _has_open_aggregate(tree: exp.Expr, recorded: Recorded, answer: Answer) -> bool:
    names = {name.upper() for name in re.findall(r"\b(\w+)\s*\(", recorded.sql)}
    return bool(names & _OPEN) and not re.search(r"WITHIN\s+GROUP", recorded.sql, re.I)


def _is_of_another_zone(tree: exp.Expr, recorded: Recorded, answer: Answer) -> bool:
    """Whether the instants of the answer are the recorded ones, which are shown in the zone of Spark's session."""
    instants = [kind.kind == "timestamp" and not kind.is_local for kind in answer.types]
    return _equal_by(recorded, answer, lambda place, cell: _in_zone(cell) if instants[place] else cell)


def _in_zone(cell: str) -> str:
    if not _INSTANT.fullmatch(cell):
        return cell
    shown = dt.datetime.fromisoformat(cell).replace(tzinfo=dt.UTC).astimezone(_ZONE)
    return shown.replace(tzinfo=None).isoformat(" ", "seconds") + cell[19:]


def _shows_times_of_another_zone(tree: exp.Expr, recorded: Recorded, answer: Answer) -> bool:
    """Whether the rows have the recorded instants, by the zone of Spark's session, beside what shows their times."""
    places = [place for place, kind in enumerate(answer.types) if kind.kind == "timestamp" and not kind.is_local]
    lines = [line.split("\t") for line in recorded.output.split("\n")]
    rows = [row.split("\t") for row in answer.rows]
    is_short = any(len(one) <= max(places, default=0) for one in lines + rows)
    if not places or is_short or not _SHOWS_TIMES.search(recorded.sql):
        return False
    theirs = Counter(tuple(line[place] for place in places) for line in lines)
    return theirs == Counter(tuple(_in_zone(row[place]) for place in places) for row in rows)


def _is_made_of_another_zone(tree: exp.Expr, recorded: Recorded, answer: Answer) -> bool:
    """Whether a time is taken as one of the session's zone: CONVERT_TIMEZONE without a zone that it is of."""
    return any(node.args.get("source_tz") is None for node in tree.find_all(exp.ConvertTimezone))


def _is_unknown_in(tree: exp.Expr, recorded: Recorded, answer: Answer) -> bool:
    """Whether ``x IN (SELECT ...)`` outside of WHERE is NULL where Spark says FALSE."""
    is_there = any(node.args.get("query") and not node.find_ancestor(exp.Where) for node in tree.find_all(exp.In))
    booleans = [kind.kind == "boolean" for kind in answer.types]
    return is_there and _equal_by(
        recorded, answer, lambda place, cell: "false" if booleans[place] and cell == "NULL" else cell
    )


def _equal_by(recorded: Recorded, answer: Answer, change: Callable[[int, str], str]) -> bool:
    """Whether the rows are the recorded ones if each cell is changed."""
    rows = []
    for row in answer.rows:
        cells = row.split("\t")
        if len(cells) != len(answer.types):
            return False
        rows.append("\t".join(change(place, cell) for place, cell in enumerate(cells)))
    return Counter(rows) == Counter(recorded.output.split("\n"))


_RULES: Sequence[_Rule] = (
    _Rule("LIMIT or OFFSET of rows without an order", _takes_any_rows),
    _Rule(
        "a correlated sub-query with LIMIT leaves NULL out before it; newer versions do not", _limits_correlated_rows
    ),
    _Rule("an aggregate of which Spark leaves open which value, or which order, it gives", _has_open_aggregate),
    _Rule("instants are shown in the zone of the session", _is_of_another_zone),
    _Rule("what clocks show at an instant, in the zone of the session", _shows_times_of_another_zone),
    _Rule("a time is taken as one of the session's zone", _is_made_of_another_zone),
    _Rule("IN of a sub-query is NULL where SQL says so; outside of WHERE Spark says FALSE", _is_unknown_in),
)
