"""Frames of changes: what a DataFrame says about its table, and how several tables travel through one stream.

Spark commits the offsets of one streaming query at a time, so all tables must be in one query for a micro-batch to be
one commit. A row of the packed frame has the number of its table in ``_table``, and the row itself in the struct column
of that table; the struct columns of other tables are NULL. Each row also has the time of the micro-batch. Spark takes
that time from its log of offsets, so a micro-batch that runs again has the same time.

The law: ``unpack(pack(frames))`` gives for each table the multiset of rows of its frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from livejoin.checkpoint.batch import Arrival
from livejoin.checkpoint.batch_delta import TIMESTAMP
from livejoin.errors import SchemaError
from livejoin.schema import (
    CHANGE_COLUMNS,
    CHANGE_TYPE,
    CORRUPT,
    NOTHING_SAID,
    ORIGIN,
    REFUSED,
    SEQUENCE,
    WITHOUT,
    Column,
    ForeignKey,
    SqlType,
    Table,
    TableSettings,
    is_variant,
)
from livejoin.schema.names import backticked
from livejoin.spark.failures import OF_SPARK, unread
from livejoin.spark.paths import path_of
from livejoin.spark.streams.stream_part import StreamPart

TAG = "_table"
_PLAIN_TYPES: dict[type[T.DataType], SqlType] = {
    T.BooleanType: SqlType("boolean"),
    T.ByteType: SqlType.integer(8),
    T.ShortType: SqlType.integer(16),
    T.IntegerType: SqlType.integer(32),
    T.LongType: SqlType.integer(64),
    T.FloatType: SqlType.real(),
    T.DoubleType: SqlType("double"),
    T.DateType: SqlType("date"),
    T.BinaryType: SqlType("binary"),
    T.VariantType: SqlType("variant"),
    T.TimestampType: SqlType("timestamp"),
    T.TimestampNTZType: SqlType.local_time(),
}
_CARRIED = (CHANGE_TYPE, SEQUENCE, CORRUPT, ORIGIN, REFUSED)
_OF_PARTS = (CHANGE_TYPE, SEQUENCE)
_NO_SEQUENCE = f"{SEQUENCE} is NULL; it orders the changes, so that every one needs it"
_TEXT_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
_TEXT = re.compile(r"(char|varchar)\(([1-9]\d*)\)")


@dataclass(frozen=True)
class ForeignColumns:
    """Columns that refer to a key of another table.

    Args:
        columns: The referring columns.
        table: The referenced table, which is declared before.
        references: The referenced columns; empty for the primary key.
        enforced: Whether batches are refused that break it.
    """

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...] = ()
    enforced: bool = False


@dataclass(frozen=True)
class Declared:
    """The declaration of a table, beside the columns of its frame.

    Args:
        key: The columns of the primary key; empty for a multiset.
        unique: The columns of each UNIQUE constraint.
        foreign_keys: Foreign keys: promises to the planner, which are not checked.
        columns: Columns with more than the frame says: NOT NULL, VARCHAR(n) and CHAR(n).
        settings: The options of the table.
    """

    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignColumns, ...] = ()
    columns: tuple[Column, ...] = ()
    settings: TableSettings = NOTHING_SAID


def table_of(name: str, frame: DataFrame, declared: Declared | None = None) -> Table:
    """The table of a frame of changes: the frame's columns without those of the change stream.

    Spark has the type STRING for columns of CHAR(n) and VARCHAR(n); the column's metadata tell them apart.

    Raises:
        SchemaError: A column has a type that livejoin does not support; ``_change_type`` or ``_seq`` has a wrong type;
            a declared column is missing; ``tombstones`` stands without ``sequence_by``; or a window or a foreign key
            does not fit.
    """
    declared = declared or Declared()
    known = {column.name.lower(): column for column in declared.columns}
    columns = []
    for field in frame.schema.fields:
        lowered = field.name.lower()
        if lowered in CHANGE_COLUMNS or lowered in _CARRIED:
            _check_change_column(name, field)
            continue
        column = _text_column(Column(field.name, _sql_type(name, field)), field)
        if lowered in known:
            said = known[lowered]
            column = replace(column, nullable=said.nullable, length=said.length, is_char=said.is_char)
        columns.append(column)
    plain = Table(name, tuple(columns))
    key = tuple(dict.fromkeys(plain.position(column) for column in declared.key))
    foreign = tuple(
        ForeignKey(tuple(map(plain.position, one.columns)), one.table, one.references, one.enforced)
        for one in declared.foreign_keys
    )
    unique = tuple(tuple(plain.position(column) for column in columns) for columns in declared.unique)
    table = Table(name, tuple(columns), key, foreign, unique, declared.settings)
    if table.window_range is None:
        return table
    place = table.window_range.column
    columns[place] = replace(columns[place], nullable=False)
    return replace(table, columns=tuple(columns))


def rows_of(name: str, frame: DataFrame, columns: Sequence[str]) -> pa.Table:
    """The rows of a static table, as `row_frame` has them.

    Raises:
        LivejoinError: Spark cannot read the rows.
    """
    rows = row_frame(name, frame, columns)
    try:
        return without_zones(rows.toArrow())
    except OF_SPARK as error:
        raise unread(f"the rows of the static table {name!r}", error) from error


def row_frame(name: str, frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The rows of a static table: some columns of a batch frame.

    Raises:
        SchemaError: The frame is a stream, carries changes, or has unreadable texts: ``on_bad_rows`` is for changes.
    """
    carried = [column for column in frame.columns if column.lower() in (*CHANGE_COLUMNS, *_CARRIED)]
    if frame.isStreaming or carried:
        found = "a stream" if frame.isStreaming else f"a frame of changes, with {', '.join(carried)}"
        msg = f"table {name!r} is static, and comes as {found}; give a frame of its rows, as spark.read has it"
        raise SchemaError(msg)
    return frame.select(*(_row_column(frame, column) for column in columns))


def pack(frames: Mapping[str, DataFrame | StreamPart], columns: Mapping[str, Sequence[str]]) -> DataFrame:
    """One frame with the changes of all tables. Several parts of one stream stay one stream.

    Args:
        frames: The frame of each table.
        columns: The columns of each table that are sent; the change columns are added.

    Raises:
        SchemaError: Two tables are the same part of a stream.
    """
    packed = []
    tags = {name: tag for tag, name in enumerate(frames)}
    for names in streams(frames):
        first = frames[names[0]]
        if isinstance(first, DataFrame):
            tag = tags[names[0]]
            packed.append(first.select(F.lit(tag).alias(TAG), _row(first, columns[names[0]]).alias(f"t{tag}")))
            continue
        parts = {tags[name]: (part, columns[name]) for name in names if isinstance(part := frames[name], StreamPart)}
        taken = [part.column for part, _ in parts.values()]
        for name, column in zip(names, taken, strict=True):
            if taken.count(column) > 1:
                msg = f"table {name!r} is the same part {column!r} of a stream as another table; a part is one"
                raise SchemaError(msg)
        packed.append(_packed_parts(first.stream, parts))
    union = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), packed)
    return union.withColumn(TIMESTAMP, F.current_timestamp())


def streams(frames: Mapping[str, DataFrame | StreamPart]) -> list[tuple[str, ...]]:
    """The tables of each stream, in the order in which `pack` has the streams."""
    found: list[tuple[DataFrame, list[str]]] = []
    for name, frame in frames.items():
        stream = frame.stream if isinstance(frame, StreamPart) else frame
        names = next((names for other, names in found if other is stream), None)
        if names is None or not isinstance(frame, StreamPart):
            found.append((stream, [name]))
        else:
            names.append(name)
    return [tuple(names) for _, names in found]


def _packed_parts(stream: DataFrame, parts: Mapping[int, tuple[StreamPart, Sequence[str]]]) -> DataFrame:
    """Several tables of one stream, each row with the number of its table."""
    tags = F.lit(None).cast("int")
    rows = []
    for tag, (part, columns) in parts.items():
        row = F.col(backticked(part.column))
        tags = F.when(row.isNotNull(), F.lit(tag)).otherwise(tags)
        fields = [row.getField(name).alias(name) for name in columns]
        also = [WITHOUT] if WITHOUT in stream.columns else []
        carried = F.struct(*fields, *(F.col(name) for name in (*_OF_PARTS, *also)))
        rows.append(F.when(row.isNotNull(), carried).alias(f"t{tag}"))
    return stream.select(tags.alias(TAG), *rows).where(F.col(TAG).isNotNull())


def unpack(names: Sequence[str], rows: pa.Table, *, in_sequence: bool = True, keeps_sequence: bool = False) -> Arrival:
    """The changes by table from the rows of a packed frame; a table without changes is missing.

    Timestamps with a time zone (Spark's TIMESTAMP) become the same instants in UTC without one. A row without ``_seq``
    says in `REFUSED` that it is no change.

    Args:
        names: The tables, in the order in which they were packed.
        rows: The rows.
        in_sequence: Whether the rows of a table are sorted by ``_seq``, which is then dropped; else it is kept.
        keeps_sequence: Whether sorted rows keep ``_seq``, for dead letters. Parts of a stream have one of their own,
            which goes in any case.

    Cost: linear in the rows, and a sort if ``_seq`` does not ascend already.
    """
    return unpack_pieces(names, [rows], in_sequence=in_sequence, keeps_sequence=keeps_sequence)


def unpack_pieces(
    names: Sequence[str], pieces: Iterable[pa.Table], *, in_sequence: bool = True, keeps_sequence: bool = False
) -> Arrival:
    """As `unpack`, of rows that come piece by piece; beside the changes one piece is in memory.

    Args:
        names: As there.
        pieces: The rows, all with the same columns.
        in_sequence: As there.
        keeps_sequence: As there.
    """
    found: dict[str, list[pa.Table]] = {}
    time = None
    for rows in pieces:
        if rows.num_rows and time is None:
            time = rows[TIMESTAMP][0].as_py()
        for tag, name in enumerate(names):
            of_table = rows[f"t{tag}"]
            if len(names) > 1:
                of_table = of_table.filter(pc.equal(rows[TAG], tag))
            if len(of_table):
                plain = pa.Table.from_struct_array(of_table)
                found.setdefault(name, []).append(without_zones(_with_variants(plain)))
    changes = {}
    for name in [name for name in names if name in found]:
        rows = _refused_without_sequence(_with_paths(pa.concat_tables(found.pop(name))))
        changes[name] = _in_sequence(rows, keeps_sequence) if in_sequence else rows
    return Arrival(changes, time)


def _known_type(kind: T.DataType) -> SqlType | None:
    """The SQL type of a column with a Spark type; None if livejoin does not support it."""
    match kind:
        case T.DecimalType():
            return SqlType.decimal(kind.precision, kind.scale)
        case T.DayTimeIntervalType():
            return SqlType("interval") if kind.simpleString() == "interval day to second" else None
        case T.StringType():
            return SqlType("string") if kind.simpleString() == "string" else None
        case T.ArrayType() | T.MapType() | T.StructType() if _has_variant(kind):
            return None
        case T.ArrayType():
            element = _known_type(kind.elementType)
            return None if element is None else SqlType.array(element)
        case T.MapType():
            key, value = _known_type(kind.keyType), _known_type(kind.valueType)
            return None if key is None or value is None else SqlType.map(key, value)
        case T.StructType():
            fields = [(field.name, _known_type(field.dataType)) for field in kind.fields]
            found = [(name, inner) for name, inner in fields if inner is not None]
            return SqlType.struct(found) if len(found) == len(fields) else None
        case _:
            return _PLAIN_TYPES.get(type(kind))


def _has_variant(kind: T.DataType) -> bool:
    """Whether a type contains a VARIANT: Spark cannot convert a struct with a nullable VARIANT to Arrow."""
    match kind:
        case T.ArrayType():
            return _has_variant(kind.elementType)
        case T.MapType():
            return _has_variant(kind.keyType) or _has_variant(kind.valueType)
        case T.StructType():
            return any(_has_variant(field.dataType) for field in kind.fields)
        case _:
            return isinstance(kind, T.VariantType)


def _sql_type(table: str, field: T.StructField) -> SqlType:
    kind = field.dataType
    found = SqlType("months") if isinstance(kind, T.YearMonthIntervalType) else _known_type(kind)
    if found is None:
        msg = (
            f"table {table!r}, column {field.name!r} has the Spark type {kind.simpleString()}; allowed are boolean, "
            "tinyint, smallint, int, bigint, float, double, decimal, date, timestamp, timestamp_ntz, string, "
            "binary, interval day to second, variant, intervals of years and months, and array, map and struct of "
            "these but variant and months: cast the column, or leave it out with select() or drop()"
        )
        raise SchemaError(msg)
    return found


def _text_column(column: Column, field: T.StructField) -> Column:
    """A column as CHAR(n) or VARCHAR(n), if Spark's metadata say so."""
    found = _TEXT.fullmatch(str(field.metadata.get(_TEXT_TYPE, "")))
    if found is None or column.type.kind != "string":
        return column
    return replace(column, length=int(found[2]), is_char=found[1] == "char")


def _check_change_column(table: str, field: T.StructField) -> None:
    lowered = field.name.lower()
    wrong_sequence = lowered == SEQUENCE and not isinstance(field.dataType, T.IntegralType)
    wrong_type = lowered in (CHANGE_TYPE, CORRUPT, ORIGIN, REFUSED) and not isinstance(field.dataType, T.StringType)
    if wrong_sequence or wrong_type:
        allowed = "an integer" if wrong_sequence else "a string"
        found = field.dataType.simpleString()
        msg = f"table {table!r}, column {field.name!r} has the Spark type {found}; allowed is {allowed}: cast it"
        raise SchemaError(msg)


def _row(frame: DataFrame, columns: Sequence[str]) -> Expression:
    """The row as a struct whose fields may all be NULL; the whole struct is NULL in rows of other tables."""
    present = {name.lower(): name for name in frame.columns}
    carried = [_named(frame, present[name]).alias(name) for name in _CARRIED if name in present]
    row = F.struct(*(_sent(frame, name).alias(name) for name in columns), *carried)
    fields = frame.select(row.alias("row")).select("row.*").schema
    return row.cast(T.StructType([T.StructField(field.name, field.dataType, nullable=True) for field in fields]))


def _sent(frame: DataFrame, column: str) -> Expression:
    """A column as it is sent: types that Spark cannot convert to Arrow are sent as other types.

    A VARIANT is an array with at most one element, empty for NULL. An interval of years and months is the number of
    months.
    """
    found = _named(frame, column)
    if isinstance(frame.schema[column].dataType, T.YearMonthIntervalType):
        return found.cast("interval month").cast("int")
    if not isinstance(frame.schema[column].dataType, T.VariantType):
        return found
    return F.when(found.isNull(), F.array().cast(T.ArrayType(T.VariantType()))).otherwise(F.array(found))


def _row_column(frame: DataFrame, column: str) -> Expression:
    """A column of a batch frame, where a VARIANT may stand by itself."""
    is_months = isinstance(frame.schema[column].dataType, T.YearMonthIntervalType)
    return _sent(frame, column).alias(column) if is_months else _named(frame, column)


def _named(frame: DataFrame, column: str) -> Expression:
    return frame[backticked(column)]


def _with_paths(rows: pa.Table) -> pa.Table:
    """The rows with paths in place of Spark's URIs of files."""
    if ORIGIN not in rows.column_names or rows[ORIGIN].null_count == rows.num_rows:
        return rows
    paths = [None if uri is None else path_of(uri) for uri in rows[ORIGIN].to_pylist()]
    return rows.set_column(rows.column_names.index(ORIGIN), ORIGIN, pa.array(paths, pa.string()))


def _refused_without_sequence(rows: pa.Table) -> pa.Table:
    """Mark rows without ``_seq`` as no changes, except for unreadable texts."""
    if SEQUENCE not in rows.column_names or not rows[SEQUENCE].null_count:
        return rows
    lacks = rows[SEQUENCE].is_null()
    if CORRUPT in rows.column_names:
        lacks = pc.and_(lacks, rows[CORRUPT].is_null())
    nothing = pa.scalar(None, pa.string())
    if REFUSED not in rows.column_names:
        return rows.append_column(REFUSED, pc.if_else(lacks, pa.scalar(_NO_SEQUENCE), nothing))
    said = pc.if_else(pc.and_(lacks, rows[REFUSED].is_null()), pa.scalar(_NO_SEQUENCE), rows[REFUSED])
    return rows.set_column(rows.column_names.index(REFUSED), REFUSED, said)


def _in_sequence(rows: pa.Table, keeps: bool) -> pa.Table:
    """Sort rows by ``_seq``, and drop it unless it is to be kept; rows with equal ``_seq`` keep their order."""
    if SEQUENCE not in rows.column_names:
        return rows
    sequence = rows[SEQUENCE]
    rows = rows if keeps and WITHOUT not in rows.column_names else rows.drop_columns([SEQUENCE])
    ascends = not sequence.null_count and pc.all(pc.less_equal(sequence[:-1], sequence[1:])).as_py()
    return rows if ascends is not False else rows.take(pc.array_sort_indices(sequence))


def _with_variants(rows: pa.Table) -> pa.Table:
    """The rows with VARIANTs taken out of the arrays in which they were sent."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_list(field.type) and is_variant(field.type.value_type):
            lists = rows.column(place).combine_chunks()
            lengths = pc.fill_null(pc.list_value_length(lists), 0)
            places = pc.subtract(pc.cumulative_sum(lengths), 1)
            found = lists.flatten().take(pc.if_else(pc.equal(lengths, 1), places, pa.scalar(None, places.type)))
            rows = rows.set_column(place, field.name, found)
    return rows


def without_zones(rows: pa.Table) -> pa.Table:
    """Rows with times as microseconds of UTC."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type) and field.type != pa.timestamp("us"):
            rows = rows.set_column(place, field.name, rows.column(place).cast(pa.timestamp("us")))
    return rows
