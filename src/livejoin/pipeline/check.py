"""The check at the end: a pipeline's result against DuckDB, which reads the same files by itself.

Three multisets must be equal for each view: the result that DuckDB computes from the input files, the engine's result
in the checkpoint, and the sum of all Parquet deltas. Neither the engine nor Spark takes part in the first one.

If changes may be left out (``on_conflict`` and ``on_bad_rows``), the files do not say which ones were. A table whose
rows in the engine differ from its files is then taken from the engine, and the views are recomputed from it.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from livejoin.catalog import Catalog
from livejoin.checkpoint import read_checkpoint
from livejoin.database import Database
from livejoin.database.base_rows import all_rows
from livejoin.errors import PipelineError
from livejoin.pipeline.load import Pipeline
from livejoin.query.bound_query import Query
from livejoin.query.session import reason
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, SEQUENCE
from livejoin.spark.sinks import ParquetSink
from livejoin.spark.sinks.output_files import readable
from livejoin.spark.sources import FileSource
from livejoin.sql import bind_query, to_duckdb
from livejoin.state.store_folder import Place, named

_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
_TO_MICROSECONDS = {"milliseconds": "* 1000", "microseconds": "", "nanoseconds": "// 1000"}
_SIGN = f"CASE WHEN {CHANGE_TYPE} IN ('insert', 'update_postimage') THEN 1 ELSE -1 END"


class NotYetError(PipelineError):
    """There is nothing to compare yet: it comes with the next batch. No difference was found."""


@dataclass(frozen=True)
class ViewCheck:
    """How the three results of a view compare.

    Args:
        view: The view's name.
        recomputed: Rows of the view as DuckDB recomputes it.
        maintained: Rows of the engine's result.
        delta_rows: Rows of all Parquet deltas together, deletions included.
        differing: Rows that are not in all three equally often.
        example: A differing row, for a message; empty if there is none.
        taken: The tables whose rows were taken from the engine, because changes were left out, each with a note.
    """

    view: str
    recomputed: int
    maintained: int
    delta_rows: int
    differing: int
    example: str
    taken: Mapping[str, str] = field(default_factory=dict)

    @property
    def identical(self) -> bool:
        """Whether all three are the same multiset."""
        return self.differing == 0


def check(pipeline: Pipeline) -> list[ViewCheck]:
    """Compare each view with its recomputation. Cost: computing the joins once, and linear in the results and deltas.

    Raises:
        PipelineError: DuckDB cannot read the files, or cannot compute a view.
    """
    with duckdb.connect() as connection:  # of its own, so that nothing of its failures is left
        try:
            return _compare(pipeline, connection)
        except duckdb.Error as error:
            msg = f"DuckDB cannot recompute the views for the check: {reason(error)}"
            raise PipelineError(msg, str(pipeline.output)) from error


def _compare(pipeline: Pipeline, connection: duckdb.DuckDBPyConnection) -> list[ViewCheck]:
    database = read_checkpoint(named(pipeline.checkpoint))
    assert pipeline.output is not None  # a file with another sink and a check is refused
    sink = ParquetSink(pipeline.output)
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET TimeZone = 'UTC'")
    catalog = Catalog()
    taken: dict[str, str] = {}
    for source in pipeline.sources.values():
        catalog.add(source.table)
        name = source.table.name
        if source.table.static or pipeline.options.policy.fails:
            try:
                connection.execute(f"CREATE TABLE {_quoted(name)} AS {table_now(source)}")
            except duckdb.Error as error:
                msg = f"DuckDB cannot read the files of table {name!r} for the check: {reason(error)}"
                raise PipelineError(msg, str(source.path)) from error
        elif found := _or_taken(source, database, connection):
            taken[name] = found
        if source.table.static:
            _check_read(source, database, connection)
    results = []
    views: dict[str, Query] = {}
    for view, sql in pipeline.views.items():
        kept = database.views[view].to_arrow()
        columns = ", ".join(_quoted(name) for name in kept.column_names)
        connection.execute(f"CREATE OR REPLACE VIEW {_quoted(view)} AS {to_duckdb(sql, catalog, views)}")
        connection.execute(f"CREATE OR REPLACE TEMP TABLE recomputed AS FROM {_quoted(view)}")
        views[view.lower()] = bind_query(sql, catalog, views, pipeline.options.allow_product)
        connection.register("maintained", kept)
        deltas = _deltas(sink.files(view), connection)
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE differing AS "
            f"SELECT {columns}, sum(_r) AS _r, sum(_m) AS _m, sum(_d) AS _d FROM ("
            f"SELECT {columns}, 1 AS _r, 0 AS _m, 0 AS _d FROM recomputed AS _({columns}) UNION ALL "
            f"SELECT {columns}, 0, 1, 0 FROM maintained UNION ALL SELECT {columns}, 0, 0, {_SIGN} FROM {deltas}"
            f") GROUP BY {columns} HAVING sum(_r) <> sum(_m) OR sum(_r) <> sum(_d)"
        )
        results.append(
            ViewCheck(
                view=view,
                recomputed=_count(connection, "recomputed"),
                maintained=kept.num_rows,
                delta_rows=_count(connection, deltas),
                differing=_count(connection, "differing"),
                example=_example(connection, kept.schema),
                taken=taken,
            )
        )
        connection.unregister("maintained")
    return results


def _deltas(files: Sequence[Place], connection: duckdb.DuckDBPyConnection) -> str:
    """DuckDB's text for the rows of the files of a view; those in a store are read by our own layer."""
    if not files:
        return f"(SELECT *, 'insert' AS {CHANGE_TYPE} FROM maintained LIMIT 0)"
    if all(isinstance(file, Path) for file in files):
        return f"read_parquet({_listed([str(file) for file in files])})"
    connection.register("delivered", pa.concat_tables([pq.read_table(readable(file)) for file in files]))
    return "delivered"


def _check_read(source: FileSource, database: Database, connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse to compare if the files of a static table have rows that no batch has brought yet.

    Raises:
        NotYetError: There are such rows.
    """
    name = source.table.name
    if found := _differing(name, all_rows(database, name), connection):
        msg = (
            f"table {name!r} is static, and {found:,} rows of its files are others than when they were last read into "
            "a batch: they come with the next one, and are compared then"
        )
        raise NotYetError(msg, str(source.path))


def _or_taken(source: FileSource, database: Database, connection: duckdb.DuckDBPyConnection) -> str:
    """Load a table into DuckDB of which changes may have been left out. Gives a note if its rows are the engine's.

    The note is empty if the files add up to the engine's rows.
    """
    name = source.table.name
    kept = all_rows(database, name)
    try:
        connection.execute(f"CREATE TABLE {_quoted(name)} AS {table_now(source)}")
        differing = _differing(name, kept, connection)
        differ = "row differs" if differing == 1 else "rows differ"
        found = f"{differing:,} {differ} from what its files add up to" if differing else ""
    except duckdb.Error as error:
        found = f"DuckDB cannot read its files: {reason(error)}"
    if found:
        nothing = {column.name: pa.nulls(kept.num_rows, column.type.arrow) for column in source.table.columns}
        given = pa.table({**nothing, **{column: kept.column(column) for column in kept.column_names}})
        connection.register("given", given)
        connection.execute(f"CREATE OR REPLACE TABLE {_quoted(name)} AS FROM given")
        connection.unregister("given")
    return found


def _differing(name: str, kept: pa.Table, connection: duckdb.DuckDBPyConnection) -> int:
    """How many rows differ between DuckDB's table and the engine's, in the kept columns."""
    if not kept.num_columns:
        return abs(int(kept.num_rows) - _count(connection, _quoted(name)))
    columns = ", ".join(_quoted(column) for column in kept.column_names)
    connection.register("kept", kept)
    rows = f"SELECT {columns} FROM {_quoted(name)}"
    try:
        return _count(connection, f"(({rows} EXCEPT ALL FROM kept) UNION ALL (FROM kept EXCEPT ALL {rows}))")
    finally:
        connection.unregister("kept")


def table_now(source: FileSource) -> str:
    """DuckDB's query for the rows that a table holds after all files.

    The order of the rows is that of ``_seq``, or else that of the files and of the rows in them.
    """
    row = ", ".join(_quoted(column.name) for column in source.table.columns)
    rows = _reader(source)
    if source.table.takes_place:
        return _last_of_keys(source, row, rows)
    if source.feed == "debezium":
        images = [("after", "op IN ('c', 'r', 'u')", "1"), ("before", "op IN ('u', 'd')", "-1")]
        fields = [_side(source, side) for side, _, _ in images]
        signed = " UNION ALL ".join(
            f"SELECT {names}, {sign} AS _n FROM {rows} WHERE {condition}"
            for names, (_, condition, sign) in zip(fields, images, strict=True)
        )
        return _expanded(row, signed)
    if source.feed in ("change-feed", "delta"):
        return _expanded(row, f"SELECT {row}, {_SIGN} AS _n FROM {rows}")
    if source.table.window_rows is None:
        return f"SELECT {row} FROM {rows}"
    order = SEQUENCE if (SEQUENCE, "BIGINT") in source.columns else "row_number() OVER ()"
    numbered = f"SELECT {row}, {order} AS _position FROM {rows}"
    return f"SELECT {row} FROM ({numbered}) ORDER BY _position DESC LIMIT {source.table.window_rows}"


def _last_of_keys(source: FileSource, row: str, rows: str) -> str:
    """The query for the rows of the last change of each key."""
    table = source.table
    carried = SEQUENCE if (SEQUENCE, "BIGINT") in source.columns else "row_number() OVER ()"
    if source.feed == "delta":
        carried = COMMIT_VERSION
    if source.feed == "debezium":
        fields = [_side(source, side) for side in ("before", "after")]
        numbered = f"(SELECT *, {carried} AS _position FROM {rows})"
        changes = (
            f"SELECT {fields[0]}, 0 AS _comes, _position FROM {numbered} WHERE op IN ('u', 'd') AND before IS NOT NULL "
            f"UNION ALL SELECT {fields[1]}, 1, _position FROM {numbered} WHERE op IN ('c', 'r', 'u')"
        )
    else:
        sign = f"CASE WHEN {CHANGE_TYPE} IN ('delete', 'update_preimage') THEN 0 ELSE 1 END"
        comes = "1" if source.feed == "append" else sign
        changes = f"SELECT {row}, {comes} AS _comes, {carried} AS _position FROM {rows}"
    key = ", ".join(_quoted(table.columns[column].name) for column in table.primary_key)
    newest = "" if table.sequence_by is None else f"{_quoted(table.columns[table.sequence_by].name)} DESC, "
    order = f"{newest}_position DESC, _comes DESC"
    last = f"SELECT *, row_number() OVER (PARTITION BY {key} ORDER BY {order}) AS _age FROM ({changes})"
    return f"SELECT {row} FROM ({last}) WHERE _age = 1 AND _comes = 1"


def _side(source: FileSource, side: str) -> str:
    """The columns of a side of Debezium's envelopes; a date or time is a text or an integer, a decimal also bytes."""
    factor = _TO_MICROSECONDS[source.integer_times or "milliseconds"]
    found = []
    for column in source.table.columns:
        value, kind = f"{side}.{_quoted(column.name)}", column.type.kind
        text = f"{value} AS {_quoted(column.name)}"
        if kind in ("date", "timestamp"):
            number = f"TRY_CAST({value} AS BIGINT)"
            counted = f"DATE '1970-01-01' + {number}::INT" if kind == "date" else f"make_timestamp({number} {factor})"
            read = f"TRY_CAST({value} AS {kind})"
            text = f"CASE WHEN {number} IS NULL THEN {read} ELSE {counted} END AS {_quoted(column.name)}"
        elif kind == "decimal":
            text = f"{_decimal(value, str(column.type), source.decimals == 'base64')} AS {_quoted(column.name)}"
        found.append(text)
    return ", ".join(found)


def _decimal(value: str, kind: str, in_base64: bool) -> str:
    """A JSON value as a decimal: a number, a text, bytes in base64, or these with their scale."""
    plain = f"CAST({value} ->> '$' AS {kind})"
    scale = kind.rpartition(",")[2].strip(" )") if "," in kind else "0"
    of_bytes = _of_bytes(f"{value} ->> '$'", scale, kind)
    of_object = _of_bytes(f"{value} ->> '$.value'", f"({value} ->> '$.scale')::INT", kind)
    of_text = f"WHEN 'VARCHAR' THEN {of_bytes} " if in_base64 else ""
    return f"CASE json_type({value}) {of_text}WHEN 'OBJECT' THEN {of_object} ELSE {plain} END"


def _of_bytes(base64: str, scale: str, kind: str) -> str:
    """The decimal with a scale whose digits stand in base64; the bits of a negative number are turned for DuckDB."""
    digits = f"hex(from_base64({base64}))"
    turned = f"CAST('0x' || translate({digits}, '0123456789ABCDEF', 'FEDCBA9876543210') AS HUGEINT)"
    unscaled = f"CASE WHEN {digits} >= '8' THEN -1 - {turned} ELSE CAST('0x' || {digits} AS HUGEINT) END"
    # Not with an exponent: DuckDB does not cast 38 digits and one behind them. A negative scale adds zeros.
    size = f"abs({unscaled})::VARCHAR || repeat('0', greatest(-({scale}), 0))"
    places = f"greatest({scale}, 0)"
    padded = f"lpad({size}, greatest(length({size}), {places} + 1)::INT, '0')"
    pointed = f"left({padded}, length({padded}) - {places}) || '.' || right({padded}, {places})"
    return f"CAST(CASE WHEN {digits} >= '8' THEN '-' ELSE '' END || {pointed} AS {kind})"


def _reader(source: FileSource) -> str:
    """DuckDB's table function for the files of a source."""
    files = _listed([str(file) for file in source.files()])
    # DuckDB's TIMESTAMP has no zone, and all that it reads here is in UTC.
    columns = [(name, kind.replace("TIMESTAMP_NTZ", "TIMESTAMP")) for name, kind in source.columns]
    if source.format == "parquet":
        casts = ", ".join(f"CAST({_quoted(name)} AS {kind}) AS {_quoted(name)}" for name, kind in columns)
        return f"(SELECT {casts} FROM read_parquet({files}))"
    types = dict(columns)
    if source.format == "json":
        if source.feed == "debezium":
            written = [(name, _read_as(kind)) for name, kind in columns]
            row = ", ".join(f"{_quoted(name)} {kind}" for name, kind in written if name != SEQUENCE)
            beside = {name: kind for name, kind in columns if name == SEQUENCE}
            types = {**beside, "op": "STRING", "before": f"STRUCT({row})", "after": f"STRUCT({row})"}
        return f"read_json({files}, columns = {_struct(types)}, format = 'newline_delimited')"
    options = {key.lower(): value for key, value in source.options.items()}
    delimiter = options.get("sep", options.get("delimiter", ","))
    return (
        f"read_csv({files}, columns = {_struct(types)}, header = {options.get('header', 'false')}, "
        f"delim = {_text(delimiter)}, nullstr = {_text(options.get('nullvalue', ''))}, auto_detect = false)"
    )


def _read_as(kind: str) -> str:
    """The type as which DuckDB reads a column of Debezium's rows."""
    return "VARCHAR" if kind in _TIMES else "JSON" if kind.startswith("DECIMAL") else kind


def _expanded(row: str, signed: str) -> str:
    """The query for a multiset of rows from rows with signs."""
    net = f"SELECT {row}, sum(_n) AS _n FROM ({signed}) GROUP BY {row} HAVING sum(_n) > 0"
    return f"SELECT {row} FROM (SELECT {row}, unnest(range(_n::BIGINT)) FROM ({net}))"


def _count(connection: duckdb.DuckDBPyConnection, relation: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {relation}").fetchall()[0][0])


def _example(connection: duckdb.DuckDBPyConnection, schema: pa.Schema) -> str:
    found = connection.execute("SELECT * FROM differing LIMIT 1").fetchall()
    if not found:
        return ""
    *values, recomputed, maintained, summed = found[0]
    row = ", ".join(f"{name} = {value!r}" for name, value in zip(schema.names, values, strict=True))
    return f"({row}): {recomputed} times in DuckDB, {maintained} in the engine, {summed} in the sum of the deltas"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _listed(files: list[str]) -> str:
    """The list of files as DuckDB takes it; DuckDB reads each name as a pattern."""
    return "[" + ", ".join(_text(glob.escape(file)) for file in files) + "]"


def _struct(types: dict[str, str]) -> str:
    return "{" + ", ".join(f"{_text(name)}: {_text(kind)}" for name, kind in types.items()) + "}"
