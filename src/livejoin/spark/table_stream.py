"""What is said of a table whose changes come in a frame, and what these become by it.

The meaning is that of Spark's AUTO CDC: a table with a key holds of each key what its newest change says, and nothing
where that is a deletion. Newest is what has the largest ``sequence_by``, in whatever order and however often the
changes come; without it, what comes last.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from livejoin.errors import SchemaError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, CORRUPT, NOTHING_SAID, ORIGIN, Retain, TableSettings
from livejoin.spark.feeds import from_envelopes, from_versions, upserts
from livejoin.spark.frames import Declared, ForeignColumns
from livejoin.spark.stream_part import StreamPart

Changes = Literal["append", "cdf", "debezium", "upsert"]
ForeignKeys = Mapping[str | tuple[str, ...], str | tuple[str, Sequence[str]]]
_ALLOWED = ("append", "cdf", "debezium", "upsert")


@dataclass(frozen=True)
class TableStream:
    """The frame of a table's changes, and what is said of the table; `stream` makes one.

    Args:
        frame: The changes, or the rows of a static table.
        key: As of `stream`, and so are the next four; columns in tuples.
        changes: What the rows of the frame are.
        apply_as_deletes: Which of them delete their key.
        unique: UNIQUE constraints.
        foreign_keys: Foreign keys.
        settings: What else is said of the table.
    """

    frame: DataFrame | StreamPart
    key: tuple[str, ...] = ()
    changes: Changes | None = None
    apply_as_deletes: str | None = None
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: ForeignKeys = field(default_factory=dict)
    settings: TableSettings = NOTHING_SAID

    def declared(self, table: str) -> Declared:
        """What is declared of the table.

        Raises:
            SchemaError: A table that only grows has changes that let rows go.
        """
        if self.settings.append_only:
            self._check_grows(table)
        said = self.settings
        if said.sequence_by is not None and self.changes == "debezium":
            said = replace(said, sequence_by=said.sequence_by.rpartition(".")[2])
        key = self.frame.key if isinstance(self.frame, StreamPart) and not self.key else self.key
        foreign = tuple(_foreign(columns, target) for columns, target in self.foreign_keys.items())
        return Declared(key, self.unique, foreign, settings=said)

    def with_change_type(self, table: str) -> DataFrame | StreamPart:
        """The changes with ``_change_type``, as ``changes`` and ``apply_as_deletes`` have it.

        Raises:
            SchemaError: The frame does not have the columns of its kind of changes, or there is a condition of
                deletions without a key, or beside another kind of changes.
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

    def _check_grows(self, table: str) -> None:
        """Refuse changes of an append-only table of which each may take the place of a row."""
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
    window_rows: int | None = None,
    window_range: tuple[str, dt.timedelta | int] | None = None,
    retain: Retain = "all",
    append_only: bool = False,
    static: bool = False,
) -> TableStream:
    """The changes of a table, and what is said of it, for ``tables`` of `maintain`.

    ``maintain(spark, views, tables={"orders": stream(orders, key="id", sequence_by="lsn"), "rates": rates}, ...)``: a
    frame of which there is nothing to say stands there by itself.

    Args:
        frame: The changes, as `maintain` describes them; the rows of a static table.
        key: The columns of the primary key. Changes go by key then: what comes, also as ``insert``, takes the place of
            the row with its key, a ``delete`` looks at the key alone, and that of an absent key is none.
        changes: What the rows of the frame are, as in Spark's AUTO CDC: ``append``, insertions; ``upsert``, they take
            the place of the row with their key; ``cdf``, a Delta table's change data feed, with ``_change_type`` and
            ``_commit_version``; ``debezium``, envelopes, with ``op`` and the structs ``before`` and ``after``. Without
            it, ``_change_type`` says it.
        apply_as_deletes: With a key, a condition in Spark's SQL over the columns of the frame: the rows for which it is
            true delete their key, all others are upserts.
        unique: UNIQUE constraints, each a column or a list of them, as ``["email", ["org", "no"]]``. A batch behind
            which two rows have the same values ends the query with `DuplicateKeyError`.
        foreign_keys: Which columns refer to which table, as ``{"customer": "customers"}``, or
            ``{("a", "b"): ("other", ["x", "y"])}``. A promise, which makes better plans possible and is not checked;
            the other table stands before in ``tables``.
        sequence_by: With a key, the column that orders the changes of each key, as for
            `livejoin.Database.create_table`: those that are older than what is there, or was, are skipped. Of
            Debezium's envelopes it may be a path in the envelope, as ``source.lsn``, which becomes a column ``lsn``.
        tombstones: With ``sequence_by``, how many deleted keys are remembered.
        window_rows: How many rows the table keeps: the oldest leave as new ones come.
        window_range: A column of times and a range, as ``("ts", timedelta(hours=1))``: rows stay while they are less
            than that older than the newest one.
        retain: ``"used"`` lets only the columns be sent that a view or a key uses, also if rows are deleted as a whole
            or leave a window: rows that differ in others alone are equal. Tables whose rows stay for ever, or are found
            by a key, are sent so in any case.
        append_only: Rows come to the table and none leaves; plans rest on that. A deletion or an update in the stream
            is a bad row (``on_bad_rows``), a second row with a key a conflict (``on_conflict``). Upserts,
            ``sequence_by`` and windows cannot stand beside it.
        static: The table does not change while the query runs: its frame is no stream, and is read whole at each start.
            The views' plans may rest on that; see ``on_static_change``.

    Raises:
        SchemaError: The frame is none, or what is to be names of columns.
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
    """The names of columns: one, or several.

    Raises:
        SchemaError: They are no names.
    """
    names = (written,) if isinstance(written, str) else written
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        msg = f"{written!r:.80} stands in the place of columns; give the name of one, or a list of names"
        raise SchemaError(msg)
    return tuple(names)
