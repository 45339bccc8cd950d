"""The frame of a table's changes together with the table's settings.

The meaning is that of Spark's AUTO CDC: a table with a key holds, for each key, the row of its newest change, and no
row if that is a deletion. The newest change is the one with the largest ``sequence_by``, in whatever order and however
often changes come; without ``sequence_by``, it is the last one to come.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from livejoin.errors import SchemaError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, CORRUPT, NOTHING_SAID, ORIGIN, Late, Retain, TableSettings
from livejoin.spark.feeds import from_envelopes, from_versions, upserts
from livejoin.spark.streams.event_time import watermarks_of
from livejoin.spark.streams.frames import Declared, ForeignColumns
from livejoin.spark.streams.stream_part import StreamPart

Changes = Literal["append", "cdf", "debezium", "upsert"]
ForeignKeys = Mapping[str | tuple[str, ...], str | tuple[str, Sequence[str]]]
_ALLOWED = ("append", "cdf", "debezium", "upsert")


@dataclass(frozen=True)
class TableStream:
    """The frame of a table's changes, and the table's settings; made by `stream`.

    Args:
        frame: The changes, or the rows of a static table.
        key: As for `stream`, with columns in tuples.
        changes: As for `stream`.
        apply_as_deletes: As for `stream`.
        unique: The UNIQUE constraints.
        foreign_keys: The foreign keys.
        settings: The other settings of the table.
    """

    frame: DataFrame | StreamPart
    key: tuple[str, ...] = ()
    changes: Changes | None = None
    apply_as_deletes: str | None = None
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: ForeignKeys = field(default_factory=dict)
    settings: TableSettings = NOTHING_SAID

    def declared(self, table: str) -> Declared:
        """The declaration of the table.

        Raises:
            SchemaError: The table is append-only, and its kind of changes deletes rows.
        """
        if self.settings.append_only:
            self._check_grows(table)
        said = self.settings
        if said.sequence_by is not None and self.changes == "debezium":
            said = replace(said, sequence_by=said.sequence_by.rpartition(".")[2])
        said = self._watched(table, said)
        key = self.frame.key if isinstance(self.frame, StreamPart) and not self.key else self.key
        foreign = tuple(_foreign(columns, target) for columns, target in self.foreign_keys.items())
        return Declared(key, self.unique, foreign, settings=said)

    def with_change_type(self, table: str) -> DataFrame | StreamPart:
        """The changes with ``_change_type``, from the kind of ``changes`` and ``apply_as_deletes``.

        Raises:
            SchemaError: The frame lacks columns of its kind of changes, or there is a condition of deletions without a
                key or with another kind of changes.
        """
        deletes, frame = self.apply_as_deletes, self.frame
        kind = self.changes or (None if deletes is None else "upsert")
        if kind is None:
            return frame
        if kind not in _ALLOWED:
            msg = f"table {table!r}: changes = {kind!r} is unknown; allowed are {', '.join(map(repr, _ALLOWED))}"
            raise SchemaError(msg)
        if isinstance(frame, StreamPart):
            msg = f"table {table!r} is a part of a stream that says itself what its changes are; leave changes= out"
            raise SchemaError(msg)
        by_key = bool(self.key) and not self.settings.append_only
        if deletes is not None and kind != "upsert":
            msg = f"table {table!r}: apply_as_deletes is for changes = 'upsert', and these are {kind!r}; leave one out"
            raise SchemaError(msg)
        if kind == "upsert" and not by_key:
            msg = f"table {table!r}: upserts go by a key, and it has none; give key= to stream()"
            raise SchemaError(msg)
        if kind == "append" and CHANGE_TYPE in map(str.lower, frame.columns):
            msg = f"table {table!r} has {CHANGE_TYPE}, and its changes are to be 'append'; leave one of them out"
            raise SchemaError(msg)
        match kind:
            case "upsert":
                return upserts(frame, table, deletes)
            case "cdf":
                return self._of_versions(table, frame, by_key)
            case "debezium":
                return self._of_envelopes(table, frame, by_key)
            case "append":
                return frame
            case _:
                assert_never(kind)

    def _watched(self, table: str, said: TableSettings) -> TableSettings:
        """The settings with the watermark that Spark's ``withWatermark`` has set, if it has.

        Raises:
            SchemaError: There are several, or another one than ``watermark``, or the table has a window.
        """
        found = [] if isinstance(self.frame, StreamPart) or said.static else watermarks_of(self.frame)
        if not found or said.watermark in found:
            return said
        shown = " and ".join(f"of {column!r} by {delay}" for column, delay in found)
        if said.watermark is not None:
            column, delay = said.watermark
            msg = f"watermark= is of {column!r} by {delay}, and withWatermark {shown}; leave one of the two out"
        elif len(found) > 1:
            msg = f"withWatermark {shown}: a table has one watermark; name it, as watermark=({found[0][0]!r}, ...)"
        elif said.has_window:
            msg = (
                f"withWatermark {shown}, and a window takes out rows that a watermark says stay as they are; leave the "
                "window or withWatermark out"
            )
        else:
            return replace(said, watermark=found[0])
        msg = f"table {table!r}: {msg}"
        raise SchemaError(msg)

    def _check_grows(self, table: str) -> None:
        """Refuse a kind of changes that may replace rows, for an append-only table."""
        reasons = (
            (self.changes == "upsert", "changes = 'upsert'", "an upsert takes the place of a row"),
            (self.apply_as_deletes is not None, "apply_as_deletes", "it says which rows go"),
            (
                isinstance(self.frame, StreamPart) and bool(self.frame.key),
                "a stream by key",
                "it tells insertions and updates of a key alike, as upserts",
            ),
        )
        for stands, what, why in reasons:
            if stands:
                msg = f"table {table!r} has append_only and {what}: {why}; leave one of the two out"
                raise SchemaError(msg)

    def _of_versions(self, table: str, frame: DataFrame, by_key: bool) -> DataFrame:
        _check_there(table, "cdf", frame, (CHANGE_TYPE, COMMIT_VERSION))
        own = {CHANGE_TYPE, COMMIT_VERSION, "_commit_timestamp", CORRUPT, ORIGIN}
        return from_versions(frame, [c for c in frame.columns if c.lower() not in own], by_key)

    def _of_envelopes(self, table: str, frame: DataFrame, by_key: bool) -> DataFrame:
        _check_there(table, "debezium", frame, ("op", "before", "after"))
        inside = frame.schema["after"].dataType
        if not isinstance(inside, T.StructType):
            found = inside.simpleString()
            msg = f"table {table!r}: 'after' of a Debezium envelope is a struct, not {found}; read it with from_json()"
            raise SchemaError(msg)
        path = self.settings.sequence_by or ""
        beside = {path.rpartition(".")[2]: path} if "." in path else {}
        columns = [column for column in inside.names if column not in beside]
        return from_envelopes(frame, columns, by_key, beside)


def stream(  # noqa: PLR0913  # the options of a table
    frame: DataFrame | StreamPart,
    *,
    key: str | Sequence[str] = (),
    changes: Changes | None = None,
    apply_as_deletes: str | None = None,
    unique: Sequence[str | Sequence[str]] = (),
    foreign_keys: ForeignKeys | None = None,
    sequence_by: str | None = None,
    tombstones: int | None = None,
    watermark: tuple[str, dt.timedelta | int] | None = None,
    late: Late = "skip",
    window_rows: int | None = None,
    window_range: tuple[str, dt.timedelta | int] | None = None,
    retain: Retain = "all",
    append_only: bool = False,
    static: bool = False,
) -> TableStream:
    """The changes of a table with the table's settings, for ``tables`` of `maintain`.

    ``maintain(spark, views, tables={"orders": stream(orders, key="id", sequence_by="lsn"), "rates": rates}, ...)``: a
    frame without settings stands by itself.

    Args:
        frame: The changes, as `maintain` describes them; or the rows of a static table.
        key: The columns of the primary key. Changes then go by key: a new row, also an ``insert``, replaces the row
            with its key; a ``delete`` looks at the key alone, and does nothing if the key is absent.
        changes: The kind of rows in the frame, as in Spark's AUTO CDC. ``append``: insertions. ``upsert``: each row
            replaces the row with its key. ``cdf``: a Delta table's change data feed, with ``_change_type`` and
            ``_commit_version``. ``debezium``: envelopes, with ``op`` and the structs ``before`` and ``after``. By
            default the column ``_change_type`` says it.
        apply_as_deletes: With a key: a condition in Spark SQL over the columns of the frame. Rows that meet it delete
            their key; all others are upserts.
        unique: UNIQUE constraints, each a column or a list of columns, as ``["email", ["org", "no"]]``. If two rows
            have the same values after a batch, the query ends with `DuplicateKeyError`.
        foreign_keys: For columns the table that they refer to, as ``{"customer": "customers"}``, or ``{("a", "b"):
            ("other", ["x", "y"])}``. This is a promise for better plans and is not checked. The other table stands
            before in ``tables``.
        sequence_by: With a key: the column that orders the changes of each key, as for
            `livejoin.Database.create_table`. A change that is older than the row, or than its deletion, is skipped. For
            Debezium it may be a path in the envelope, as ``source.lsn``, which becomes a column ``lsn``.
        tombstones: With ``sequence_by``: how many deleted keys are remembered.
        watermark: A column of times and a delay, as ``("ts", timedelta(minutes=10))``: changes are late whose time is
            before the newest time that the table had after a batch, less the delay; as for
            `livejoin.Database.create_table`. A frame with ``withWatermark`` has it already.
        late: With a watermark: ``skip`` leaves late changes out and counts them in `BatchReport.late`; with ``refuse``
            they are bad rows (``on_bad_rows``), so that they may become dead letters.
        window_rows: How many rows the table keeps: the oldest leave when newer ones come.
        window_range: A column of times and a range, as ``("ts", timedelta(hours=1))``: the table keeps rows that are
            less than the range older than the newest row.
        retain: With ``"used"``, only the columns that a view or a key uses are sent, even if rows are deleted as a
            whole or leave a window: rows that differ in other columns alone are equal. Tables with a key, and tables
            whose rows stay for ever, are sent so anyway.
        append_only: Rows are inserted only, and plans rest on that. A deletion or an update in the stream is a bad row
            (``on_bad_rows``), a second row with a key is a conflict (``on_conflict``). Not with upserts,
            ``sequence_by`` or windows.
        static: The table does not change while the query runs: its frame is a batch frame, and is read whole at each
            start. Plans may rest on that; see ``on_static_change``.

    Raises:
        SchemaError: ``frame`` is no frame, or an argument that takes names of columns has other values.
    """
    if not isinstance(frame, (DataFrame, StreamPart)):
        msg = (
            f"stream() has got {frame!r:.80}, which is no frame; give a DataFrame, as "
            "spark.readStream.table(...) or spark.readStream.schema(...).parquet(...) makes one"
        )
        raise SchemaError(msg)
    settings = TableSettings(
        static=static,
        append_only=append_only,
        watermark=watermark,
        late=late,
        window_rows=window_rows,
        window_range=window_range,
        sequence_by=sequence_by,
        tombstones=tombstones,
        retain=retain,
    )
    own = tuple(map(_columns, unique))
    return TableStream(frame, _columns(key), changes, apply_as_deletes, own, foreign_keys or {}, settings)


def _check_there(name: str, kind: str, frame: DataFrame, wanted: Sequence[str]) -> None:
    there = {column.lower() for column in frame.columns}
    missing = [column for column in wanted if column not in there]
    if missing:
        msg = (
            f"table {name!r}: changes = {kind!r} have the columns {', '.join(wanted)}; "
            f"{', '.join(missing)} is missing among {', '.join(frame.columns)}"
        )
        raise SchemaError(msg)


def _foreign(columns: str | tuple[str, ...], target: str | tuple[str, Sequence[str]]) -> ForeignColumns:
    if isinstance(target, str):
        return ForeignColumns(_columns(columns), target)
    return ForeignColumns(_columns(columns), target[0], _columns(target[1]))


def _columns(written: object) -> tuple[str, ...]:
    """The names of columns from one name or several.

    Raises:
        SchemaError: The argument is neither.
    """
    names = (written,) if isinstance(written, str) else written
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        msg = f"{written!r:.80} stands in the place of columns; give the name of one, or a list of names"
        raise SchemaError(msg)
    return tuple(names)
