"""The source of one table that a pipeline file reads from files."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from livejoin.catalog import Catalog
from livejoin.errors import SqlError, SqlSyntaxError, UnknownNameError
from livejoin.pipeline.model import AVAILABLE_NOW, PipelineFile, TableSource
from livejoin.pipeline.reader_options import unknown_options, wrong_values
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, SEQUENCE
from livejoin.schema.names import backticked
from livejoin.spark.paths import WILD, local_path
from livejoin.spark.sources import FileSource
from livejoin.sql import bind_query, parse_columns

_KEY = re.compile(
    r"(CONSTRAINT\s+\S+\s+)?(PRIMARY\s+KEY\b|FOREIGN\s+KEY\b|UNIQUE\s*\(|WATERMARK\s+FOR\b)", re.IGNORECASE
)
_CARRIED = {CHANGE_TYPE: "STRING", SEQUENCE: "BIGINT"}


class RefusedKey(Exception):
    """A key of a table is wrong.

    Args:
        key: The key below ``tables.<name>``.
        messages: The text of the error, or of several.
    """

    def __init__(self, key: str, *messages: str) -> None:
        self.key = key
        self.messages = messages
        super().__init__("; ".join(messages))


def file_source(name: str, table: TableSource, parsed: PipelineFile, folder: Path) -> FileSource:
    """The source of a table.

    Args:
        name: The table's name.
        table: The keys of the table in the file.
        parsed: The whole file.
        folder: The folder of the file.

    Raises:
        RefusedKey: A key is wrong.
        LivejoinError: The columns are wrong.
    """
    definitions = _definitions(table.columns)
    carried = {text: text.split()[0].lower() for text in definitions if text.lower().startswith(tuple(_CARRIED))}
    for text, column in carried.items():
        if text.upper().split()[1:] != [_CARRIED[column]]:
            msg = f"{column} has the type {_CARRIED[column]}, found {text!r}"
            raise RefusedKey("schema", msg)
    if said := [*unknown_options(table.format, table.options), *wrong_values(_given(table))]:
        raise RefusedKey("options", *said)
    _check_feed(table, carried.values())
    own = ", ".join(text for text in definitions if text not in carried)
    declared = parse_columns(name, own, table.table_settings)
    declared.refuse_rules()
    if declared.static and carried:
        msg = f"a static table has no changes that {', '.join(carried.values())} could order; leave it out"
        raise RefusedKey("schema", msg)
    if table.feed == "upsert" and not declared.primary_key:
        msg = "feed 'upsert' goes by a key; add a PRIMARY KEY"
        raise RefusedKey("schema", msg)
    unchecked = next((column for column in declared.columns if column.is_uuid), None)
    if unchecked is not None:
        msg = f"column {unchecked.name!r} is UUID, which Spark has no type for and does not check; declare STRING"
        raise RefusedKey("schema", msg)
    of_rows = iter(declared.columns)
    columns = []
    for text in definitions:
        if text in carried:
            columns.append((carried[text], _CARRIED[carried[text]]))
        elif not _KEY.match(text):
            of_row = next(of_rows)
            columns.append((of_row.name, str(of_row.type)))
    if table.feed == "delta":
        columns += [(CHANGE_TYPE, "STRING"), (COMMIT_VERSION, "BIGINT")]
    source = FileSource(
        table=declared,
        columns=tuple(columns),
        format=table.format,
        path=folder / local_path(table.path, "path"),
        options=_options(table),
        feed=table.feed,
        by_name=table.arrival == "by-name",
        apply_as_deletes=table.apply_as_deletes,
        integer_times=table.integer_times,
        decimals=table.decimals,
    )
    _check_deletes(source)
    _check_run(source, parsed)
    return source


def _definitions(columns: str) -> list[str]:
    """Split a list of columns at the commas outside of brackets.

    >>> _definitions("a DECIMAL(5, 2), b MAP<STRING, ARRAY<INT>> NOT NULL, PRIMARY KEY (a, c)")
    ['a DECIMAL(5, 2)', 'b MAP<STRING, ARRAY<INT>> NOT NULL', 'PRIMARY KEY (a, c)']
    """
    depth, parts = 0, [""]
    for character in columns:
        depth += (character in "(<") - (character in ")>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _options(table: TableSource) -> dict[str, str]:
    """Spark's reader options: the given ones, and strict defaults, so that no bad value becomes NULL."""
    strict = {"csv": {"mode": "FAILFAST", "enforceSchema": "false"}, "json": {"mode": "FAILFAST"}}
    given = _given(table)
    named = {key.lower() for key in given}
    return {k: v for k, v in strict.get(table.format, {}).items() if k.lower() not in named} | given


def _given(table: TableSource) -> dict[str, str]:
    return {key: _option(value) for key, value in table.options.items()}


def _check_feed(table: TableSource, carried: Collection[str]) -> None:
    typed = CHANGE_TYPE in carried
    if table.feed == "delta" and carried:
        msg = (
            f"{', '.join(sorted(carried))} among the columns: feed 'delta' has {CHANGE_TYPE} and {COMMIT_VERSION} by "
            "itself, and goes in the order of the versions; leave it out"
        )
        raise RefusedKey("schema", msg)
    if typed and table.feed != "change-feed":
        msg = f"{CHANGE_TYPE} is among the columns, so that the feed must be 'change-feed', not {table.feed!r}"
        raise RefusedKey("feed", msg)
    if not typed and table.feed == "change-feed":
        msg = f"feed 'change-feed' needs the column {CHANGE_TYPE} STRING among the files' columns"
        raise RefusedKey("schema", msg)


def _check_deletes(source: FileSource) -> None:
    """Refuse a condition of deletions that Spark would refuse; one with functions that only Spark has is left to it."""
    condition = source.apply_as_deletes
    if condition is None or any(name in condition.lower() for name, _ in source.columns if name in _CARRIED):
        return
    catalog = Catalog()
    catalog.add(replace(source.table, foreign_keys=()))
    of_table = f"FROM {backticked(source.table.name)}"
    try:
        bind_query(f"SELECT 1 AS one {of_table} WHERE\n{condition}", catalog)
    except (UnknownNameError, SqlSyntaxError) as error:
        error.move(error.message, condition, max(error.line - 1, 0), error.column)
        msg = f"is no condition over the columns of the table: {error}"
        raise RefusedKey("apply_as_deletes", msg) from None
    except SqlError:
        with suppress(SqlError):  # an expression that Spark alone has
            kind = bind_query(f"SELECT (\n{condition}\n) AS one {of_table}", catalog).root.types[0]
            if kind.kind not in ("boolean", "null"):
                msg = f"is {kind!s} and no condition: {condition!r}; write a comparison, as in \"op = 'DELETE'\""
                raise RefusedKey("apply_as_deletes", msg) from None


def _check_run(source: FileSource, parsed: PipelineFile) -> None:
    ends = parsed.run.trigger == AVAILABLE_NOW
    if source.by_name and not ends:
        msg = "'by-name' puts the files that are there in order; it needs run.trigger = 'available-now'"
        raise RefusedKey("arrival", msg)
    if ends and not source.files():
        msg = f"there is no file at {source.path}"
        raise RefusedKey("path", msg)
    absent = source.place[1]
    if not ends and absent and not set(absent) & WILD:
        msg = f"there is no folder at {source.path}; make it, as Spark waits for files in a folder that is there"
        raise RefusedKey("path", msg)
    if not parsed.run.check:
        return
    if source.format == "orc":
        msg = "run.check reads the files with DuckDB, which does not read 'orc'; allowed are csv, json and parquet"
        raise RefusedKey("format", msg)
    if source.table.watermark is not None:
        msg = (
            "run.check recomputes the views over all rows, those too late for a watermark too; leave one of the two out"
        )
        raise RefusedKey("watermark", msg)
    nested = next((column for column in source.table.columns if column.type.is_payload), None)
    if nested is not None:
        msg = f"run.check does not compare columns of {nested.type}, as {nested.name!r}; leave one of the two out"
        raise RefusedKey("schema", msg)
    if source.table.window_range is not None:
        msg = "run.check recomputes no window of times; leave one of the two out"
        raise RefusedKey("window_range", msg)
    if source.feed == "upsert":
        msg = "run.check does not recompute feed 'upsert'; leave one of the two out"
        raise RefusedKey("feed", msg)
    if source.table.window_rows and source.feed != "append":
        msg = f"run.check recomputes a window over append feeds only, and this one is {source.feed!r}; leave one out"
        raise RefusedKey("window_rows", msg)
    if source.table.window_rows and source.table.primary_key:
        msg = "run.check recomputes no window of a table with a PRIMARY KEY; leave one of the two out"
        raise RefusedKey("window_rows", msg)


def _option(value: str | bool | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
