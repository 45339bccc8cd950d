"""What the arguments of `maintain` say of each table, and what a table's changes become by it.

The meaning is that of Spark's AUTO CDC: a table with keys holds of each key what its newest change says, and nothing
where that is a deletion. Newest is what has the largest ``sequence_by``, in whatever order and however often the
changes come; without it, what comes last.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from livejoin.errors import SchemaError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, CORRUPT, Retain
from livejoin.spark.feeds import from_envelopes, from_versions, upserts
from livejoin.spark.frames import Declared, ForeignColumns
from livejoin.spark.stream_part import StreamPart

Changes = Literal["append", "cdf", "debezium", "upsert"]
ForeignKeys = Mapping[str | tuple[str, ...], str | tuple[str, Sequence[str]]]
_ALLOWED = ("append", "cdf", "debezium", "upsert")


@dataclass(frozen=True)
class TableOptions:
    """The arguments of `maintain` that name tables, of the same names."""

    keys: Mapping[str, str | Sequence[str]]
    sequence_by: Mapping[str, str]
    apply_as_deletes: Mapping[str, str]
    changes: Mapping[str, Changes]
    windows: Mapping[str, int]
    window_range: Mapping[str, tuple[str, dt.timedelta | int]]
    unique: Mapping[str, Sequence[str | Sequence[str]]]
    foreign_keys: Mapping[str, ForeignKeys]
    tombstones: Mapping[str, int]
    retain: Mapping[str, Retain]
    static: Collection[str] = ()
    append_only: Collection[str] = ()

    def declared(self, tables: Mapping[str, DataFrame | StreamPart]) -> dict[str, Declared]:
        """What is declared of each table.

        Raises:
            SchemaError: One is named that is not there, or a table that only grows has changes that let rows go.
        """
        for argument, given in vars(self).items():
            for name in given:
                if name not in tables:
                    known = ", ".join(map(repr, tables))
                    msg = f"{argument}= names the table {name!r}, which is not in tables=; it has {known or 'none'}"
                    raise SchemaError(msg)
        for name in self.append_only:
            self._check_grows(name, tables[name])
        return {name: self._declared(name, frame) for name, frame in tables.items()}

    def frames(self, tables: Mapping[str, DataFrame | StreamPart]) -> dict[str, DataFrame | StreamPart]:
        """The changes of each table with ``_change_type``, as ``changes`` and ``apply_as_deletes`` have it.

        Raises:
            SchemaError: A frame does not have the columns of its kind of changes, or there is a condition of deletions
                without a key, or beside another kind of changes.
        """
        return {name: self._frame(name, frame) for name, frame in tables.items()}

    def _declared(self, name: str, frame: DataFrame | StreamPart) -> Declared:
        sequence = self.sequence_by.get(name)
        if sequence is not None and self.changes.get(name) == "debezium":
            sequence = sequence.rpartition(".")[2]
        foreign = self.foreign_keys.get(name, {})
        return Declared(
            _columns(self.keys.get(name, frame.key if isinstance(frame, StreamPart) else ())),
            sequence,
            self.windows.get(name),
            tuple(map(_columns, self.unique.get(name, ()))),
            self.retain.get(name, "all"),
            self.tombstones.get(name),
            tuple(_foreign(columns, target) for columns, target in foreign.items()),
            self.window_range.get(name),
            name in self.static,
            append_only=name in self.append_only,
        )

    def _check_grows(self, name: str, frame: DataFrame | StreamPart) -> None:
        """Refuse changes of an append-only table of which each may take the place of a row."""
        reasons = (
            (self.changes.get(name) == "upsert", "changes = 'upsert'", "an upsert takes the place of a row"),
            (name in self.apply_as_deletes, "apply_as_deletes", "it says which rows go"),
            (
                isinstance(frame, StreamPart) and bool(frame.key),
                "a stream by key",
                "it tells insertions and updates of a key alike, as upserts",
            ),
        )
        for stands, what, why in reasons:
            if stands:
                msg = f"table {name!r} has append_only and {what}: {why}; leave one of the two out"
                raise SchemaError(msg)

    def _frame(self, name: str, frame: DataFrame | StreamPart) -> DataFrame | StreamPart:
        deletes = self.apply_as_deletes.get(name)
        kind = self.changes.get(name, "upsert" if deletes is not None else None)
        if kind is None:
            return frame
        if kind not in _ALLOWED:
            msg = f"table {name!r}: changes = {kind!r} is unknown; allowed are {', '.join(map(repr, _ALLOWED))}"
            raise SchemaError(msg)
        if isinstance(frame, StreamPart):
            msg = f"table {name!r} is a part of a stream that says itself what its changes are; leave changes= out"
            raise SchemaError(msg)
        by_key = name in self.keys and name not in self.append_only
        if deletes is not None and kind != "upsert":
            msg = f"table {name!r}: apply_as_deletes is for changes = 'upsert', and these are {kind!r}; leave one out"
            raise SchemaError(msg)
        if kind == "upsert" and not by_key:
            msg = f"table {name!r}: upserts go by a key, and it has none; give keys = {{{name!r}: ...}}"
            raise SchemaError(msg)
        if kind == "append" and CHANGE_TYPE in map(str.lower, frame.columns):
            msg = f"table {name!r} has {CHANGE_TYPE}, and its changes are to be 'append'; leave one of them out"
            raise SchemaError(msg)
        match kind:
            case "upsert":
                return upserts(frame, name, deletes)
            case "cdf":
                return self._of_versions(name, frame, by_key)
            case "debezium":
                return self._of_envelopes(name, frame, by_key)
            case _:
                return frame

    def _of_versions(self, name: str, frame: DataFrame, by_key: bool) -> DataFrame:
        _check_there(name, "cdf", frame, (CHANGE_TYPE, COMMIT_VERSION))
        own = {CHANGE_TYPE, COMMIT_VERSION, "_commit_timestamp", CORRUPT}
        return from_versions(frame, [c for c in frame.columns if c.lower() not in own], by_key)

    def _of_envelopes(self, name: str, frame: DataFrame, by_key: bool) -> DataFrame:
        _check_there(name, "debezium", frame, ("op", "before", "after"))
        inside = frame.schema["after"].dataType
        if not isinstance(inside, T.StructType):
            found = inside.simpleString()
            msg = f"table {name!r}: 'after' of a Debezium envelope is a struct, not {found}; read it with from_json()"
            raise SchemaError(msg)
        path = self.sequence_by.get(name, "")
        beside = {path.rpartition(".")[2]: path} if "." in path else {}
        columns = [column for column in inside.names if column not in beside]
        return from_envelopes(frame, columns, by_key, beside)


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


def _columns(written: str | Sequence[str]) -> tuple[str, ...]:
    return (written,) if isinstance(written, str) else tuple(written)
