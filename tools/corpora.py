"""Runs public corpora of SQL queries: what of them is maintained, refused with which reason, and wrong.

    python tools/corpora.py dbtoaster FOLDER     # test/queries of dbtoaster-a5
    python tools/corpora.py duckdb FOLDER ...    # test/sql/join, subquery, aggregate, setops of DuckDB

The corpora do not lie in this project; FOLDER is where you have them. Each query becomes a view. Tables get rows (those
of the corpus, or random ones where it has none), lose them again and get them back, in several commits; each time the
view and the sum of its deltas are compared with DuckDB, which runs the query as it is written. What DuckDB does not run
is left out. Numbers are compared to five digits, for Spark's types of aggregates differ from DuckDB's. What differs is
printed as wrong, but for queries by which Spark means another thing than DuckDB (`_OTHERWISE`): these are counted by
the reason.
"""

from __future__ import annotations

import argparse
import datetime
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from livejoin import Database
from livejoin.errors import LivejoinError, SqlError

Row = tuple[Any, ...]
_ROWS = 40
_KINDS = {"INT": "INTEGER", "DECIMAL": "DOUBLE", "FLOAT": "DOUBLE", "CHAR": "VARCHAR", "STRING": "VARCHAR"}
_CREATE = r"CREATE\s+(?:STREAM|TABLE)\s+(\w+)\s*\(((?:[^()]|\(\d+(?:,\s*\d+)?\))*)\)"
_BEHIND = r"\)\s*(?:FROM\s+FILE[^;]*?(?:CSV|ORDERBOOK)[^;]*?)?;?\s*(SELECT\b.*)$"
_TYPES = {
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INTEGER": "INT",
    "BIGINT": "BIGINT",
    "DOUBLE": "DOUBLE",
    "FLOAT": "FLOAT",
    "VARCHAR": "STRING",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "BOOLEAN": "BOOLEAN",
}


# What Spark means otherwise than DuckDB: a pattern of the query, one of the difference, and the reason.
_OTHERWISE = (
    (r"\bPOSITIONAL\s+JOIN", "", "POSITIONAL is an alias in Spark"),
    (r"\bEXPORT_STATE\b", "", "EXPORT_STATE is an alias in Spark"),
    (r"\bSUBSTR(ING)?\s*\([^,]*,\s*0", "", "SUBSTRING counts 0 as 1"),
    (r"\b(CUBE|ROLLUP|GROUPING\s+SETS)\b", r"has \{\}, lacks", "several grouping sets over no rows give no row"),
    (r"\bDISTINCT\s+ON\b", "", "of rows that the order does not tell apart another one"),
    (r"\bAPPROX_\w+", "", "what is approximate is exact, or by other rules"),
    (r"\b(ARG_MIN|ARG_MAX|MIN_BY|MAX_BY)\b", "", "of ties, and of arguments that are NULL, another one"),
    (r"\b(STRING_AGG|GROUP_CONCAT|LISTAGG)\b", "", "the separator is none, and the order that of the values"),
    (r"\b(CORR|REGR_\w+)\b", "lacks .*nan", "a division by 0 gives NULL"),
    (r"\b(KURTOSIS|SKEWNESS)\b", "", "moments of the rows, not of a sample"),
    (r"\bAVG\s*\(\w+\)::\s*INT", "", "a cast cuts off, and does not round"),
    (r"\bSUM\s*\(", "BIGINT cannot hold", "a SUM of BIGINT overflows"),
    (r"\(\s*SELECT\s+q1\s+AS\s+q2\s*\)\s*x\s*,", "", "a query in FROM sees what stands beside it behind LATERAL only"),
)


@dataclass(frozen=True)
class Case:
    """A query over tables with rows.

    Args:
        name: Where it stands.
        sql: Its text.
        tables: The types of the columns of each table, by its name.
        rows: The rows of each table.
    """

    name: str
    sql: str
    tables: dict[str, dict[str, str]]
    rows: dict[str, list[Row]]


@dataclass
class Report:
    """What became of the queries.

    Args:
        right: Those that were maintained, of them those that needed ``allow_product``.
        refused: The reasons of those that were refused, each with an example.
        otherwise: The reasons why Spark means another thing, of those that DuckDB answers otherwise.
        wrong: Those whose answer was wrong, or that failed otherwise.
    """

    right: int = 0
    products: int = 0
    left_out: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    otherwise: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def show(self) -> None:
        """Print it."""
        for reason, times in self.refused.most_common():
            print(f"  refused {times:4}  {reason}\n                e.g. {self.examples[reason]}")
        for reason, times in self.otherwise.most_common():
            print(f"  as in Spark {times:4}  {reason}")
        for line in self.wrong:
            print(f"  WRONG {line}")
        print(
            f"{self.right} right ({self.products} of them with allow_product), {self.refused.total()} refused, "
            f"{self.otherwise.total()} as in Spark, {len(self.wrong)} wrong, {self.left_out} not run by DuckDB"
        )


def check(case: Case, report: Report) -> None:
    """Maintain a query and compare it with DuckDB."""
    with duckdb.connect(config={"threads": 1, "disabled_optimizers": "common_subplan"}) as connection:
        connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")  # as Spark has it
        for name, columns in case.tables.items():
            declared = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
            connection.execute(f'CREATE TABLE "{name}" ({declared})')
        try:
            connection.execute(case.sql).fetchall()
        except duckdb.Error:
            report.left_out += 1
            return
        database = Database()
        try:
            for name, columns in case.tables.items():
                declared = ", ".join(f"`{column}` {_spark(kind)}" for column, kind in columns.items())
                database.execute(f"CREATE TABLE `{name}` ({declared})")
            try:
                database.create_view("checked view", case.sql)
            except SqlError as error:
                if "allow_product" not in str(error):
                    raise
                database.create_view("checked view", case.sql, allow_product=True)
                report.products += 1
            _live(case, database, connection)
            report.right += 1
        except SqlError as error:
            reason = re.sub(r"'[^']*'|\d+", "_", str(error).splitlines()[0].split(": ", 1)[-1])[:110]
            report.refused[reason] += 1
            report.examples.setdefault(reason, f"{case.name}: {' '.join(case.sql.split())[:160]}")
        except Exception as error:  # whatever it is, it is what the report is for
            reason = next(
                (
                    why
                    for query, difference, why in _OTHERWISE
                    if re.search(query, case.sql, re.I) and re.search(difference, str(error))
                ),
                None,
            )
            if reason is not None:
                report.otherwise[reason] += 1
                return
            if isinstance(error, _OtherOrderError):
                report.otherwise["columns that USING and NATURAL merge come first"] += 1
                return
            text = " ".join(str(error).split())[:300]
            query = " ".join(case.sql.split())[:400]
            report.wrong.append(f"{case.name}: {type(error).__name__} {text}\n        {query}")


def _live(case: Case, database: Database, connection: duckdb.DuckDBPyConnection) -> None:
    view = database.views["checked view"]
    seen: Counter[Row] = _rows(view.to_arrow())
    for step in range(4):
        for name in case.tables:
            given, half = case.rows[name], len(case.rows[name]) // 2
            kind, rows = (("insert", given), ("delete", given), ("insert", given[:half]), ("insert", given[half:]))[
                step
            ]
            columns = list(case.tables[name])
            if rows:
                changes = [{**dict(zip(columns, row, strict=True)), "_change_type": kind} for row in rows]
                try:
                    commit = database.apply(name, changes)
                except LivejoinError as error:
                    _same_error(error, name, rows, kind, connection, case)
                    return
                _add(seen, commit["checked view"])
                _change(connection, name, rows, kind)
            expected = _rows(connection.sql(case.sql).to_arrow_table())
            found = _rows(view.to_arrow())
            more, less = found - expected, expected - found
            if found != expected and _reordered(found) == _reordered(expected):
                raise _OtherOrderError
            assert _are_close(more, less), f"step {step}, {name}: has {dict(more)}, lacks {dict(less)}"
            assert Counter({row: n for row, n in seen.items() if n}) == found, f"step {step}, {name}: the deltas' sum"


class _OtherOrderError(Exception):
    """The rows are the same, with their columns in another order."""


def _reordered(rows: Counter[Row]) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for row, times in rows.items():
        found[tuple(sorted(map(repr, row)))] += times
    return found


def _are_close(more: Counter[Row], less: Counter[Row]) -> bool:
    """Whether rows differ in the last digit that is compared alone, where rounding goes the other way."""
    left = list(less.elements())
    for row in more.elements():
        same = next((other for other in left if all(map(_is_close, row, other))), None)
        if same is None:
            return False
        left.remove(same)
    return not left


def _is_close(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=3e-5)
    return bool(one == other)


def _add(seen: Counter[Row], delta: pa.Table) -> None:
    """Add a delta to what a view has."""
    signs = [1 if kind in ("insert", "update_postimage") else -1 for kind in delta["_change_type"].to_pylist()]
    for row, sign in zip(_list(delta.drop_columns(["_change_type", "_commit_version"])), signs, strict=True):
        seen[row] += sign


def _same_error(
    error: LivejoinError, name: str, rows: Sequence[Row], kind: str, connection: duckdb.DuckDBPyConnection, case: Case
) -> None:
    """A commit is refused: right if DuckDB fails too, or where Spark's ANSI mode fails and DuckDB gives NULL."""
    _change(connection, name, rows, kind)
    try:
        connection.execute(case.sql).fetchall()
    except duckdb.Error:
        return
    if any(word in str(error).lower() for word in ("zero", "cast", "fit", "overflow", "number", "more than one row")):
        return
    raise error


def _change(connection: duckdb.DuckDBPyConnection, name: str, rows: Sequence[Row], kind: str) -> None:
    marks = ", ".join("?" * len(rows[0]))
    if kind == "insert":
        connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
    else:
        connection.execute(f'DELETE FROM "{name}"')


def _spark(kind: str) -> str:
    return kind if kind.startswith("DECIMAL") else _TYPES.get(kind, kind)


def _rows(table: pa.Table) -> Counter[Row]:
    return Counter(_list(table))


def _list(table: pa.Table) -> list[Row]:
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _plain(value: Any) -> Any:
    """A value that compares alike whichever of the two engines gave it."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float, Decimal)):
        number = float(value)
        return number if not math.isfinite(number) or number == 0 else float(f"{number:.5g}")
    if isinstance(value, list):
        return tuple(sorted((_plain(one) for one in value), key=str))
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    return value


def dbtoaster(folder: Path) -> Iterator[Case]:
    """The queries of dbtoaster-a5, over random rows."""
    for file in sorted(folder.rglob("*.sql")):
        text = _included(file.read_text(errors="replace"), folder)
        text = re.sub(r"--[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
        tables = {}
        for name, inside in re.findall(_CREATE, text, re.I):
            columns = [part.split() for part in re.sub(r"\(\d+(?:,\s*\d+)?\)", "", inside).split(",")]
            written = {column[0].lower(): column[1].upper() for column in columns if len(column) > 1}
            tables[name.lower()] = {column: _KINDS.get(kind, kind) for column, kind in written.items()}
        queries = [part for part in re.split(r";", text) if re.match(r"\s*(SELECT|WITH)\b", part, re.I)]
        behind = re.search(_BEHIND, text, re.I | re.DOTALL)
        if not queries and behind:
            queries = [behind[1]]
        for number, sql in enumerate(queries):
            chance = random.Random(f"{file.name}{number}")
            rows = {name: _random_rows(columns, sql, chance) for name, columns in tables.items()}
            used = {name for name in tables if re.search(rf"\b{name}\b", sql, re.I)}
            yield Case(
                f"{file.parent.name}/{file.name}",
                sql.strip(),
                {n: c for n, c in tables.items() if n in used},
                {n: r for n, r in rows.items() if n in used},
            )


def _included(text: str, folder: Path) -> str:
    for path in re.findall(r"INCLUDE\s+'([^']+)'\s*;", text, re.I):
        name = path.split("test/queries/")[-1]
        found = folder / name
        text = (found.read_text(errors="replace") if found.exists() else "") + text
    return re.sub(r"INCLUDE\s+'[^']+'\s*;", "", text, flags=re.I)


def _random_rows(columns: dict[str, str], sql: str, chance: random.Random) -> list[Row]:
    texts = [*re.findall(r"'([^']*)'", sql), "a", "b"]
    days = [datetime.date(1995, 1, 1) + datetime.timedelta(days=9 * i) for i in range(120)]

    def value(kind: str) -> Any:
        if kind == "DATE":
            return chance.choice(days)
        if kind == "VARCHAR":
            return chance.choice(texts).replace("%", "")
        if kind == "DOUBLE":
            return float(chance.randrange(1, 40)) / chance.choice((1, 2, 10))
        return chance.randrange(1, 9)

    return [tuple(value(kind) for kind in columns.values()) for _ in range(_ROWS)]


def duckdb_tests(folder: Path) -> Iterator[Case]:
    """The queries of DuckDB's sqllogictest files, over the rows that their tables have there."""
    for file in sorted(folder.rglob("*.test")):
        connection = duckdb.connect(config={"threads": 1})
        for kind, sql in _steps(file.read_text(errors="replace")):
            if kind == "statement":
                with suppress(duckdb.Error):
                    connection.execute(sql)
            elif re.match(r"\s*(SELECT|WITH|\()", sql, re.I):
                case = _case(f"{file.parent.name}/{file.name}", sql, connection)
                if case is not None:
                    yield case
        connection.close()


def _steps(text: str) -> Iterator[tuple[str, str]]:
    if re.search(r"^(loop|foreach|concurrentloop|require )", text, re.MULTILINE):
        return
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines and lines[0].startswith(("statement", "query")):
            body = "\n".join(lines[1:]).split("\n----")[0]
            yield lines[0].split()[0], body.strip().rstrip(";")


def _case(name: str, sql: str, connection: duckdb.DuckDBPyConnection) -> Case | None:
    listed = connection.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal AND schema_name = 'main' "
        "AND database_name = current_database() "
        "AND table_name IN (SELECT table_name FROM duckdb_tables()) ORDER BY table_name, column_index"
    ).fetchall()
    tables: dict[str, dict[str, str]] = {}
    for table, column, kind in listed:
        if re.search(rf"\b{re.escape(table)}\b", sql, re.I):
            tables.setdefault(table, {})[column] = kind
    kinds = {kind for columns in tables.values() for kind in columns.values()}
    if not tables or any(kind not in _TYPES and not kind.startswith("DECIMAL") for kind in kinds):
        return None
    rows = {table: connection.execute(f'SELECT * FROM "{table}" LIMIT 300').fetchall() for table in tables}
    return Case(name, sql, tables, rows)


def main() -> int:
    """Run a corpus; the exit code is 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", choices=("dbtoaster", "duckdb"))
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="only the files with this in their name")
    options = parser.parse_args()
    report = Report()
    for folder in options.folders:
        for case in (dbtoaster if options.corpus == "dbtoaster" else duckdb_tests)(folder):
            if options.only in case.name:
                check(case, report)
    report.show()
    return int(bool(report.wrong))


if __name__ == "__main__":
    sys.exit(main())
