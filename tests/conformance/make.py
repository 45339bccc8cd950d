"""Ask a real Spark for the type and the values of every expression of the corpus, and write or compare the fixture.

One local session, ANSI, UTC. Spark analyses and optimizes each expression over a file of the rows; the optimized tree
is evaluated row by row by Catalyst's interpreter, so that an error belongs to its row. What fails for no row runs once
more as Spark runs it, in generated code over all rows; where that gives something else, it counts, and is named. Cost:
some ten minutes for all groups.

Run as ``make conformance``, or ``python tests/conformance/make.py --write`` for a new fixture; ``--groups casts logic``
takes these groups alone and leaves the others as they are.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from conformance import corpus, edge_rows
from conformance.expressions import GROUPS, expressions
from livejoin.schema import SqlType
from livejoin.spark.session import local_session

_BATCH = 40
_TEXTS = re.compile(r"'(?:[^'\\]|\\.)*'")
_FAILURES = (Py4JJavaError, PySparkException)
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.legacy.interval.enabled": "false",
    "spark.default.parallelism": "1",
    # What fails by its constants alone would fail for every row, also for those that do not need its value.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConstantFolding",
    # The rows must go through the expression, and not the expression through statistics of the file.
    "spark.sql.parquet.filterPushdown": "false",
}


def main() -> int:
    """Write the fixture, or say how Spark differs from it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the fixture instead of comparing")
    parser.add_argument("--groups", nargs="*", default=GROUPS, choices=GROUPS, help="these groups alone")
    options = parser.parse_args()
    logging.disable(logging.ERROR)  # PySpark logs every refusal
    chosen = [pair for pair in expressions() if pair[0] in options.groups]
    found = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in _ask(chosen)]
    before = _written(options.groups)
    if options.write:
        return _write(found, _written([group for group in GROUPS if group not in options.groups])[1:])
    differing = [line for line in found if line not in set(before)] + [
        line for line in before if line not in set(found)
    ]
    print("\n".join(differing[:50]) or f"Spark {pyspark.__version__} says the same of {len(found) - 1} expressions")
    return min(len(differing), 1)


def _written(groups: Sequence[str]) -> list[str]:
    """The lines of the fixture for some groups, behind its first one; none if there is no fixture."""
    if not corpus.PATH.exists():
        return []
    with pa.input_stream(str(corpus.PATH), compression="zstd") as stream:
        head, *lines = stream.read().decode().splitlines()
    return [head, *(line for line in lines if json.loads(line)["group"] in groups)]


def _write(found: list[str], others: list[str]) -> int:
    head, *lines = found
    order = {pair: number for number, pair in enumerate(expressions())}
    lines = [line for line in others + lines if _pair(line) in order]
    lines.sort(key=lambda line: order[_pair(line)])
    text = "\n".join([head, *lines]) + "\n"
    corpus.PATH.write_bytes(pa.Codec("zstd", compression_level=22).compress(text.encode(), asbytes=True))
    print(f"{corpus.PATH.name}: {len(lines)} expressions, {corpus.PATH.stat().st_size} bytes")
    return 0


def _pair(line: str) -> tuple[str, str]:
    found = json.loads(line)
    return found["group"], found["sql"]


def _ask(chosen: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    table = edge_rows.rows()
    kinds = [column.type for column in edge_rows.COLUMNS]
    data = [[corpus.encoded(value, kind) for value in _plain(table.column(i), kind)] for i, kind in enumerate(kinds)]
    names = list(table.column_names)
    yield {
        "spark": pyspark.__version__,
        "columns": [[column.name, _name(column.type)] for column in edge_rows.COLUMNS],
        "values": data,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        zoned = [pa.timestamp("us", "UTC") if pa.types.is_timestamp(kind) else kind for kind in table.schema.types]
        pq.write_table(table.cast(pa.schema(list(zip(names, zoned, strict=True)))), path)
        session = local_session("conformance", 1, Path(folder) / "spark.log", _SETTINGS)
        try:
            asker = _Asker(session, session.read.parquet(str(path)), names, data)
            lines = []
            for number, (group, sql) in enumerate(chosen):
                lines.append(asker.line(group, sql))
                if number % 1000 == 999:
                    print(f"{number + 1} of {len(chosen)}", file=sys.stderr)
            asker.check_generated([line for line in lines if "values" in line])
            yield from lines
        finally:
            session.stop()


def _plain(values: pa.ChunkedArray, kind: SqlType) -> list[Any]:
    """Values as `livejoin.query.scalar.Value`s."""
    if kind.kind == "date":
        values = values.cast(pa.int32())
    if kind.kind in ("timestamp", "interval"):
        values = values.cast(pa.int64())
    if kind.kind == "string":  # Spark's strings may hold what is not UTF-8
        return [
            None if value is None else value.decode(errors="replace") for value in values.cast(pa.binary()).to_pylist()
        ]
    return list(values.to_pylist())


def _name(kind: SqlType) -> str:
    return str(kind).lower().replace(" ", "")


class _Asker:
    """One session with the rows."""

    def __init__(self, session: Any, rows: Any, names: list[str], data: list[list[Any]]) -> None:
        self._rows = rows
        self._names = names
        self._data = data
        self._jvm = session._jvm
        execution = rows._jdf.queryExecution()
        self._input = execution.analyzed().output()
        self._internal = list(execution.executedPlan().executeCollect())
        if len(self._internal) != len(data[0]):
            msg = f"Spark reads {len(self._internal)} rows of {len(data[0])}"
            raise AssertionError(msg)

    def line(self, group: str, sql: str) -> dict[str, Any]:
        """What the fixture says of an expression."""
        line: dict[str, Any] = {"group": group, "sql": sql}
        try:
            frame = self._rows.selectExpr(f"{sql} AS value")
        except _FAILURES as error:
            return line | {"refusal": _condition(self._jvm, error)}
        line["type"] = frame.schema[0].dataType.simpleString()
        kind = corpus.sql_type(line["type"])
        words = set(re.findall(r"\w+", _TEXTS.sub("''", sql)))
        line["used"] = [name for name in self._names if name in words]
        if kind is not None and not re.search(r"\b(current_\w+|now|rand)\b", sql):
            values = self._values(frame, kind, line["used"])
            line |= {} if values is None else {"values": values}
        return line

    def _values(self, frame: Any, kind: SqlType, used: Sequence[str]) -> list[Any] | None:
        """A value for each row that differs in the columns that are used; None for what is not of one row."""
        at = corpus.places(used, self._data, self._names)
        rows = [self._internal[at.index(place)] for place in range(max(at) + 1)]
        try:
            plan = frame._jdf.queryExecution().optimizedPlan()
        except _FAILURES as error:
            return [[_condition(self._jvm, error)]] * len(rows)
        projections = []
        while plan.nodeName() == "Project":  # what is used twice, as by NULLIF, has a projection below
            projections.insert(0, plan)
            plan = plan.child()
        if plan.children().nonEmpty():
            return None
        interpreted = self._jvm.org.apache.spark.sql.catalyst.expressions.InterpretedMutableProjection
        found = []
        for row in rows:
            try:
                given, attributes = row, self._input
                for projection in projections:
                    given = interpreted(projection.projectList(), attributes).apply(given)
                    attributes = projection.output()
                found.append(_read(given, attributes.head().dataType(), kind))
            except _FAILURES as error:
                found.append([_condition(self._jvm, error)])
        return found

    def check_generated(self, lines: Sequence[dict[str, Any]]) -> None:
        """What fails for no row, evaluated as Spark evaluates it, is what the interpreter gave."""
        sound = [line for line in lines if not any(isinstance(value, list) for value in line["values"])]
        for begin in range(0, len(sound), _BATCH):
            self._check_batch(sound[begin : begin + _BATCH])

    def _check_batch(self, batch: Sequence[dict[str, Any]]) -> None:
        try:
            result = self._rows.selectExpr(*[f"{line['sql']} AS c{i}" for i, line in enumerate(batch)]).toArrow()
        except _FAILURES as error:
            # Code for several expressions takes what they share out of TRY_ functions.
            if len(batch) == 1:
                print(f"generated code fails: {batch[0]['sql']}: {_condition(self._jvm, error)}", file=sys.stderr)
            else:
                for line in batch:
                    self._check_batch([line])
        else:
            for i, line in enumerate(batch):
                kind = corpus.sql_type(line["type"])
                assert kind is not None
                given = [corpus.encoded(value, kind) for value in _plain(result.column(i), kind)]
                at = corpus.places(line["used"], self._data, self._names)
                expected = [line["values"][place] for place in at]
                if json.dumps(given) != json.dumps(expected):
                    print(f"generated code differs: {line['sql']}", file=sys.stderr)
                    line["values"] = [given[at.index(place)] for place in range(max(at) + 1)]


def _read(row: Any, type_: Any, kind: SqlType) -> Any:
    if row.isNullAt(0):
        return None
    value = row.get(0, type_)
    match kind.kind:
        case "decimal":
            return corpus.encoded(value.toJavaBigDecimal(), kind)
        case "string":
            return value.toString()
        case "binary":
            return corpus.encoded(bytes(value), kind)
        case _:
            return corpus.encoded(value, kind)


def _condition(jvm: Any, error: Py4JJavaError | PySparkException) -> str:
    """Spark's name for an error, from the innermost that has one."""
    if isinstance(error, PySparkException):
        return error.getCondition() or type(error).__name__
    named = jvm.java.lang.Class.forName("org.apache.spark.SparkThrowable")
    cause, found = error.java_exception, ""
    while cause is not None:
        if named.isInstance(cause):
            found = cause.getCondition() or found
        cause = cause.getCause()
    return found or str(error.java_exception.getClass().getSimpleName())


if __name__ == "__main__":
    os.environ.setdefault("PYARROW_IGNORE_TIMEZONE", "1")
    sys.exit(main())
