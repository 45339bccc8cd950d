"""Pages of the SQL reference, made of the code: functions, aggregates, window functions, clauses.

The examples are run, and each type is what the binder says; nothing is written down that a run does not give.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

import pyarrow as pa

import livejoin
from livejoin.errors import SqlError
from livejoin.schema.models import declared_columns
from livejoin.sql.function_list import AGGREGATES, EXAMPLES, WINDOWS, name_of
from livejoin.sql.scalars.functions.by_name import accepted_arguments
from manual.clauses import CLAUSES, TABLES

_FUNCTIONS = """# Functions

These functions make a value of one row. They mean what Spark 4 means by them in ANSI mode. Any other function is
refused by its name. [Aggregates](aggregates.md) and [window functions](window-functions.md) have pages of their own.

Operators: `+ - * / % DIV`, `||`, `= <> < <= > >= <=>`, `AND OR NOT`, `BETWEEN`, `IN`, `LIKE`, `ILIKE` and `RLIKE`,
`LIKE ANY` and `ALL`, `IS [NOT] NULL`, `IS [NOT] TRUE`, `IS [NOT] DISTINCT FROM`, `<< >> >>>`, `CASE`, `CAST`,
`TRY_CAST` and `::`, `EXTRACT(field FROM time)`, `dateadd(unit, n, time)`, `datediff(unit, start, end)`, and intervals.

"Takes" is what the function is defined for. Spark converts values of some other types by itself, and so does livejoin.
The examples were run; the last column is the type of the result.
"""
_AGGREGATES = """# Aggregates

An aggregate makes one value of the rows of a group: `SELECT k, sum(x) FROM t GROUP BY k`. Every aggregate takes
`FILTER (WHERE ...)`, and those of one column take `DISTINCT`. Rows whose argument is NULL do not count.

Sums and averages are exact. So are `approx_count_distinct` and `percentile_approx`, which Spark approximates. Without
an order, `first` and `any_value` give the least value, and `last` gives the greatest.

The examples were run over these rows:

{rows}

"INT → BIGINT" says: of an INT the result is a BIGINT. A type that is missing is refused; `CAST` the argument. "number"
is INT, BIGINT, DECIMAL(10, 2) or DOUBLE. The second argument of `corr`, `covar_*` and `regr_*` is a number too. That of
`min_by` and `max_by` has any type that can be ordered.

| aggregate | gives here | argument → result |
|---|---|---|
"""
_WINDOWS = """# Window functions

A window function gives each row a value that depends on other rows: `rank() OVER (PARTITION BY k ORDER BY t)`.
`PARTITION BY` says which rows belong together, `ORDER BY` which comes first. Without `ORDER BY`, every
[aggregate](aggregates.md) is a window function over the whole partition.

The examples were run over these rows, with `OVER (PARTITION BY k ORDER BY t)`:

{rows}

| function | gives, row by row | argument → result |
|---|---|---|
"""
_FRAMES = """
## Frames

A frame says which rows of the partition count. These are the sums of `i` over the same rows:

| `sum(i) OVER (PARTITION BY k ORDER BY t ...)` | gives, row by row |
|---|---|
"""
_BEHIND = """
`RANGE` by a distance takes one key: a number, a date (days) or a timestamp (`INTERVAL 1 HOUR PRECEDING`).

`IGNORE NULLS` behind `first_value`, `last_value`, `nth_value`, `lag` and `lead` passes over NULL. `WINDOW w AS (...)`
gives a window a name. [Top n](guides/top-n.md) keeps the first rows of each partition. What is refused is
[here](refused.md).
"""
_CLAUSES = """# Clauses

What a query may have, each with a query and its rows. The queries were run, and DuckDB gives the same rows. They read:

{tables}
What is refused, and what to write instead, is [here](refused.md).
"""

_COLUMNS = {
    "b": "BOOLEAN",
    "i": "INT",
    "l": "BIGINT",
    "n": "DECIMAL(10, 2)",
    "x": "DOUBLE",
    "s": "STRING",
    "z": "BINARY",
    "d": "DATE",
    "t": "TIMESTAMP",
}
_NUMBERS = ("INT", "BIGINT", "DECIMAL(10, 2)", "DOUBLE")
_KINDS = "(k STRING, y DOUBLE, {})".format(", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items()))
_SHOWN = ("k", "t", "i", "x", "y", "b", "s")
_ROWS = [
    {"k": "a", "t": 1, "i": 4, "x": 1.5, "y": 10.0, "b": True, "s": "p"},
    {"k": "a", "t": 2, "i": 1, "x": 2.5, "y": 15.0, "b": True, "s": "q"},
    {"k": "a", "t": 3, "i": 1, "x": None, "y": 20.0, "b": False, "s": "q"},
    {"k": "b", "t": 4, "i": 7, "x": 4.0, "y": 60.0, "b": False, "s": "r"},
]
_OVER_FRAMES = (
    "",
    "ROWS UNBOUNDED PRECEDING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
)


def functions() -> str:
    """The text of ``docs/functions.md``."""
    lines = [_FUNCTIONS]
    db = livejoin.Database()
    for topic, examples in EXAMPLES.items():
        lines += [f"## {topic}", "", "| function | takes | example | gives | |", "|---|---|---|---|---|"]
        alike: dict[object, list[str]] = {}
        for example in examples:
            alike.setdefault(accepted_arguments(name_of(example)), []).append(example)
        for arguments, calls in alike.items():
            named = ", ".join(code(_spelled(name_of(call))) for call in calls)
            value, kind = _run(db, f"SELECT {calls[0]} AS r")
            lines.append(f"| {named} | {arguments!s} | {code(calls[0])} | {code(value[0])} | {kind} |")
        lines.append("")
    return "\n".join(lines)


def aggregates() -> str:
    """The text of ``docs/aggregates.md``."""
    db = _example()
    lines = [_AGGREGATES.format(rows=_table(_SHOWN, _ROWS)).rstrip()]
    for call in AGGREGATES:
        value, _ = _run(db, f"SELECT {call} AS r FROM t")
        lines.append(f"| {code(call)} | {code(value[0])} | {_types(db, call, '')} |")
    return "\n".join(lines) + "\n"


def window_functions() -> str:
    """The text of ``docs/window-functions.md``."""
    db = _example()
    lines = [_WINDOWS.format(rows=_table(_SHOWN, _ROWS)).rstrip()]
    over = " OVER (PARTITION BY k ORDER BY t)"
    for call in WINDOWS:
        value, _ = _run(db, f"SELECT t, {call}{over} AS r FROM t ORDER BY t")
        lines.append(f"| {code(call)} | {code(', '.join(value))} | {_types(db, call, over)} |")
    lines.append(_FRAMES.rstrip())
    for frame in _OVER_FRAMES:
        value, _ = _run(db, f"SELECT t, sum(i) OVER (PARTITION BY k ORDER BY t {frame}) AS r FROM t ORDER BY t")
        lines.append(f"| {code(frame) if frame else 'no frame: up to the row'} | {code(', '.join(value))} |")
    return "\n".join(lines) + "\n" + _BEHIND


def clauses() -> str:
    """The text of ``docs/clauses.md``."""
    db = livejoin.Database()
    shown = []
    for name, (columns, rows) in TABLES.items():
        db.create_table(name, columns)
        db.apply({name: rows})
        names = [column.split()[0] for column in columns.split(", ")]
        shown.append(f"`{name}`\n\n{_table(names, [dict(zip(names, row, strict=True)) for row in rows])}\n")
    lines = [_CLAUSES.format(tables="\n".join(shown))]
    for topic, cases in CLAUSES.items():
        lines += [f"## {topic}", ""]
        for said, sql in cases:
            found = answer(db, sql)
            lines += [said, "", f"```sql\n{sql}\n```", "", _table(found.column_names, found.to_pylist()), ""]
    return "\n".join(lines).rstrip() + "\n"


def answer(db: livejoin.Database, sql: str) -> pa.Table:
    """The rows of a view of a query, in its order or sorted."""
    with_view = db.create_view("answer", sql)
    rows = with_view.to_arrow()
    db.drop_view("answer")
    return (
        rows if re.search(r"ORDER BY [^()]*$", sql) else rows.sort_by([(name, "ascending") for name in _sortable(rows)])
    )


def _sortable(rows: pa.Table) -> Iterator[str]:
    return (field.name for field in rows.schema if not pa.types.is_nested(field.type))


def _example() -> livejoin.Database:
    db = livejoin.Database()
    db.execute(f"CREATE TABLE t {_KINDS}")
    stamps = [row | {"t": datetime.datetime(2024, 1, int(row["t"]))} for row in _ROWS]  # type: ignore[call-overload]
    db.apply({"t": [{name: row.get(name) for name in ("k", "y", *_COLUMNS)} for row in stamps]})
    return db


def _run(db: livejoin.Database, sql: str) -> tuple[list[str], str]:
    """The values of the column r, and its type."""
    view = db.create_view("r", sql)
    column = view.to_arrow()["r"]
    db.drop_view("r")
    return [literal(value) for value in column.to_pylist()], kind_of(column.type)


def _types(db: livejoin.Database, call: str, over: str) -> str:
    """What the first argument may be, and what the result is then."""
    place = re.search(r"(?<=BY )[xs](?=\))|(?<=\()[xibs](?=[,)])", call)
    if place is None:
        return f"→ {_bound(db, f'SELECT {call}{over} AS r FROM t')}"
    found: dict[str, list[str]] = {}
    for name, kind in _COLUMNS.items():
        text = call[: place.start()] + name + call[place.end() :]
        result = _bound(db, f"SELECT {text}{over} AS r FROM t")
        if result:
            found.setdefault(result, []).append(kind)
    pairs = {result: kinds for result, kinds in found.items() if kinds != [result]}
    same = [result for result, kinds in found.items() if kinds == [result]]
    everything = len(_COLUMNS)
    if len(same) == everything:
        return "any → the same"
    if len(found) == 1 and len(next(iter(found.values()))) == everything:
        return f"any → {next(iter(found))}"
    if len(found) == everything and all(result == f"ARRAY<{kinds[0]}>" for result, kinds in found.items()):
        return "any → an ARRAY of it"
    texts = [f"{_listed(kinds)} → {result}" for result, kinds in pairs.items()]
    return "; ".join([*([f"{_listed(same)} → the same"] if same else []), *texts])


def _listed(kinds: list[str]) -> str:
    """Types, and all numbers as one word."""
    rest = [kind for kind in kinds if kind not in _NUMBERS]
    return ", ".join(["number", *rest] if len(kinds) - len(rest) == len(_NUMBERS) else kinds)


def _bound(db: livejoin.Database, sql: str) -> str:
    try:
        view = db.create_view("r", sql)
    except SqlError:
        return ""
    kind = kind_of(view.schema.field("r").type)
    db.drop_view("r")
    return kind


def kind_of(kind: pa.DataType) -> str:
    """The name of a type in SQL."""
    if pa.types.is_list(kind):
        return f"ARRAY<{kind_of(kind.value_type)}>"
    if pa.types.is_interval(kind):
        return "INTERVAL YEAR TO MONTH"
    return declared_columns("r", {"r": kind}, None).removeprefix("r ").removeprefix("`r` ")


def literal(value: object) -> str:
    """A value as one writes it in SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return f"'{value}'"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case datetime.datetime():
            return f"TIMESTAMP '{value}'"
        case datetime.date():
            return f"DATE '{value}'"
        case list():
            return f"[{', '.join(map(literal, value))}]"
        case Decimal():
            return str(value)
        case pa.MonthDayNano():
            return f"INTERVAL '{value.months // 12}-{value.months % 12}' YEAR TO MONTH"
        case float():
            return repr(round(value, 12))
    return str(value)


def code(text: str) -> str:
    """Code in a cell of a table."""
    escaped = text.replace("|", "\\|")
    return f"`{escaped}`"


def _spelled(name: str) -> str:
    known = {
        "split()[]": "split(text, pattern)[number]",
        "window().start": "window(time, length).start",
        "~": "~a",
        **{sign: f"a {sign} b" for sign in "&^|"},
    }
    return known.get(name, name)


def _table(names: Iterable[str], rows: Sequence[dict[str, object]]) -> str:
    names = list(names)
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(_cell(row[name]) for name in names)} |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    return str(value) if isinstance(value, (str, datetime.date)) else literal(value)


PAGES = {
    "functions": functions,
    "aggregates": aggregates,
    "window-functions": window_functions,
    "clauses": clauses,
}
