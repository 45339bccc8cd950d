"""The rows of a stream as Arrow: rows of tables and changes.

A row has its position in the order, its change type, the values that it lacks, and a struct for each table; only the
struct of its own table is not NULL.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
from psycopg import sql
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from livejoin.schema import CHANGE_TYPE, SEQUENCE, WITHOUT
from livejoin.spark.arrow_columns import mark_texts
from livejoin.spark.postgres import slot as slots
from livejoin.spark.postgres.connection import Connection
from livejoin.spark.postgres.pgoutput import Change, changes
from livejoin.spark.postgres.published import PublishedTable, gone_from, numbers_of
from livejoin.spark.postgres.snapshot import filtered, ranges_of
from livejoin.spark.postgres.values import rows_of

_OWN = 3  # columns of the stream before those of tables
_PIECE = 50_000  # changes in an Arrow batch


def schema_of(tables: Sequence[PublishedTable]) -> pa.Schema:
    """The columns of the stream."""
    own = [pa.field(SEQUENCE, pa.int64()), pa.field(CHANGE_TYPE, pa.string()), pa.field(WITHOUT, pa.string())]
    return pa.schema([*own, *(pa.field(table.name, table.row_type) for table in tables)])


def types_of(tables: Sequence[PublishedTable]) -> StructType:
    """The columns of the stream as Spark's types."""
    types: StructType = from_arrow_schema(schema_of(tables), prefer_timestamp_ntz=True)
    for table in tables:
        mark_texts(types[table.name].dataType, table.arrow_schema)
    return types


def piece_rows(
    connection: Connection, tables: Sequence[PublishedTable], offset: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """The rows of a piece of the first snapshot."""
    schema = schema_of(tables)
    if offset["again"]:
        nothing = [Change(table.name, "truncate", (None,) * len(table.columns)) for table in tables]
        yield _numbered(schema, tables, nothing, -len(nothing))
    for piece in ranges_of(offset):
        table = tables[piece.table]
        columns = sql.SQL(", ").join(map(sql.Identifier, table.selected))
        statement = sql.SQL("COPY ({}) TO STDOUT (FORMAT csv)").format(filtered(table, piece, columns))
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            lines: list[bytes] = []
            for line in copy:
                lines.append(bytes(line))
                if len(lines) == _PIECE:
                    yield _batch(schema, piece.table, table, lines)
                    lines.clear()
            if lines:
                yield _batch(schema, piece.table, table, lines)


def _texts(lines: Sequence[bytes], columns: int) -> list[pa.Array]:
    """The texts of rows in CSV, where NULL is nothing and the empty string is in quotes."""
    names = [str(position) for position in range(columns)]
    read = pacsv.read_csv(
        io.BytesIO(b"".join(lines)),
        read_options=pacsv.ReadOptions(column_names=names, use_threads=False),
        parse_options=pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return [column.combine_chunks() for column in read.columns]


def _batch(schema: pa.Schema, place: int, table: PublishedTable, lines: Sequence[bytes]) -> pa.RecordBatch:
    """Insertions of one table, from CSV; their order does not matter."""
    rows, missing = rows_of(table, _texts(lines, len(table.columns)))
    count = len(rows)
    without = [json.dumps(missing[row]) if row in missing else None for row in range(count)] if missing else None
    arrays = [
        pa.repeat(pa.scalar(0, pa.int64()), count),
        pa.repeat("upsert" if table.key else "insert", count),
        pa.nulls(count, pa.string()) if without is None else pa.array(without, pa.string()),
    ]
    arrays += [rows if place == at else pa.nulls(count, field.type) for at, field in enumerate(list(schema)[_OWN:])]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def change_rows(
    connection: Connection, slot: str, publication: str, tables: Sequence[PublishedTable], start: int, end: int
) -> Iterator[pa.RecordBatch]:
    """The changes between two positions, numbered in their order."""
    schema = schema_of(tables)
    messages = slots.read(connection, slot, publication, end)
    by_name = {(table.schema, table.table): table for table in tables}
    gone = {table.name: gone_from(table, numbers_of(connection, table)) for table in tables}
    taken: list[Change] = []
    first = 0
    for change in changes(messages, by_name, gone, start, end):
        taken.append(change)
        if len(taken) == _PIECE:
            yield _numbered(schema, tables, taken, first)
            first += len(taken)
            taken.clear()
    if taken:
        yield _numbered(schema, tables, taken, first)


def _numbered(
    schema: pa.Schema, tables: Sequence[PublishedTable], taken: Sequence[Change], first: int
) -> pa.RecordBatch:
    """Changes of several tables as rows of the stream."""
    without = [dict(change.without) for change in taken]
    arrays = []
    for table in tables:
        places = [at for at, change in enumerate(taken) if change.table == table.name]
        columns = zip(*(taken[at].row for at in places), strict=True) if places else [()] * len(table.columns)
        rows, missing = rows_of(table, [pa.array(column, pa.binary()) for column in columns])
        for row, texts in missing.items():
            without[places[row]] |= texts
        chosen: list[int | None] = [None] * len(taken)
        for position, at in enumerate(places):
            chosen[at] = position
        arrays.append(rows.take(pa.array(chosen, pa.int64())))
    own = [
        pa.array(range(first, first + len(taken)), pa.int64()),
        pa.array([change.kind for change in taken], pa.string()),
        pa.array([json.dumps(columns) if columns else None for columns in without], pa.string()),
    ]
    return pa.RecordBatch.from_arrays([*own, *arrays], schema=schema)


def earlier_of(table: PublishedTable) -> dict[str, str | None]:
    """The values of columns in older rows, as texts that Arrow casts, as far as the catalog tells them."""
    row, missing = rows_of(table, [pa.array([text], pa.string()) for text in table.before])
    unknown = {column.name for column in table.columns if not column.knows_before} | missing.get(0, {}).keys()
    known: dict[str, str | None] = {}
    for column, values in zip(table.columns, row.flatten(), strict=True):
        kind = values.type
        if column.name in unknown or (pa.types.is_binary(kind) and values.null_count == 0):
            continue
        plain = values.cast(pa.timestamp("us")) if pa.types.is_timestamp(kind) else values
        known[column.name] = plain.cast(pa.string())[0].as_py()
    return known
