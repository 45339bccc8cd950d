"""One message as changes of its table: an envelope, or a flat row, which is made one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from livejoin.changes.debezium.values import CANNOT_CONVERT, Converters, Written, by_schema, is_absent
from livejoin.errors import ChangeFormatError
from livejoin.schema import CHANGE_TYPE, Column
from livejoin.shown import shown

OPERATIONS = "allowed are 'c', 'r', 'u' and 'd'"
BRINGS = ("c", "r", "u")
NO_BEFORE = (
    "the message has the op {op!r} and no row before, so that it does not say which row is gone; let the source send "
    "it (in PostgreSQL REPLICA IDENTITY)"
)


def opened(message: Any, row: int) -> tuple[Mapping[str, Any] | None, Any]:
    """The envelope of a message (None for a tombstone), and its schema if it has one."""
    try:
        found = json.loads(message) if isinstance(message, str | bytes | bytearray) else message
    except ValueError as error:
        msg = f"the message {shown(message)} is no JSON: {error}"
        raise ChangeFormatError(msg, row=row) from error
    schema = None
    if isinstance(found, Mapping) and "payload" in found:
        found, schema = found["payload"], found.get("schema")
    if found is None:
        return None, None
    if isinstance(found, Mapping):
        is_flat = ("__op" in found or "__deleted" in found) and not ("before" in found and "after" in found)
        if is_flat or "op" in found:
            return _enveloped(found) if is_flat else found, schema
    msg = (
        f"the message {shown(found)} is no envelope of Debezium's, which has op, before and after, and no flat row "
        "with __op or __deleted"
    )
    raise ChangeFormatError(msg, row=row)


def _enveloped(flat: Mapping[str, Any]) -> Mapping[str, Any]:
    """A flat row as an envelope; a row that says only that it is not deleted is as if it were read."""
    is_gone = flat.get("__deleted") in (True, "true")
    op = flat.get("__op") or ("d" if is_gone else "r")
    image = {name: value for name, value in flat.items() if not name.startswith("__")}
    beside = {name: value for name, value in flat.items() if name.startswith("__")}
    return {**beside, "op": op, "before": image if op == "d" else None, "after": None if op == "d" else image}


@dataclass
class Reader:
    """Makes changes of the messages of one table; mutable, as it knows the last schema.

    Args:
        keys: The columns of the primary key; empty where changes are whole rows.
        paths: Where in an envelope the columns are that the row does not have.
        columns: The columns of the table, by their names in lower case; empty where nobody said which table it is.
        written: How values are written in messages without a schema.
    """

    keys: Sequence[str] = ()
    paths: Mapping[str, list[str]] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)
    written: Written = field(default_factory=Written)
    _schema: Any = None
    _converters: Converters = field(default_factory=dict)

    def changes(self, envelope: Mapping[str, Any], schema: Any, row: int) -> list[dict[str, Any]]:
        """The changes of one message.

        Args:
            envelope: The envelope.
            schema: The schema of the message; None if it has none.
            row: The position of the message, for errors.

        Raises:
            ChangeFormatError: The envelope lacks what it needs, or a value is none.
        """
        if schema != self._schema:
            self._schema, self._converters = schema, by_schema(schema)
        op = envelope["op"]
        if op not in (*BRINGS, "d"):
            raise refuse_op(op, row)
        before, after = (self._image(envelope, side, row) for side in ("before", "after"))
        beside = {column: _at(envelope, path) for column, path in self.paths.items()}
        if op in BRINGS and after is None:
            raise no_after(op, row)
        if before is None and (op == "d" or (op == "u" and not self.keys)):
            raise ChangeFormatError(NO_BEFORE.format(op=op), row=row)
        return (
            self._by_key(op, before, after, beside, row) if self.keys else self._whole(op, before, after, beside, row)
        )

    def _whole(
        self, op: str, before: dict[str, Any] | None, after: dict[str, Any] | None, beside: dict[str, Any], row: int
    ) -> list[dict[str, Any]]:
        kinds = {"u": ("update_preimage", "update_postimage"), "d": ("delete", "")}.get(op, ("", "insert"))
        found = [(image or {}, kind) for image, kind in zip((before, after), kinds, strict=True) if kind]
        absent = [name for image, _ in found for name, value in image.items() if is_absent(value)]
        if absent:
            raise not_sent(absent[0], row)
        return [{**image, **beside, CHANGE_TYPE: kind} for image, kind in found]

    def _by_key(
        self, op: str, before: dict[str, Any] | None, after: dict[str, Any] | None, beside: dict[str, Any], row: int
    ) -> list[dict[str, Any]]:
        for image in (before, after):
            absent = [name for name in self.keys if image is not None and name not in image]
            if absent:
                named, others = ", ".join(map(repr, absent)), ", ".join(image or {})
                msg = f"the message has no {named}, which is in the key; it has {others}"
                raise ChangeFormatError(msg, row=row)
        changes = []
        moved = op == "u" and before is not None and after is not None and any(before[k] != after[k] for k in self.keys)
        if after is not None and before is not None and moved:
            # What was not sent is as it was, in the row that goes.
            after = {name: before.get(name, value) if is_absent(value) else value for name, value in after.items()}
            absent = [name for name, value in after.items() if is_absent(value)]
            if absent:
                raise not_sent(absent[0], row)
        if before is not None and (op == "d" or moved):
            changes.append({**{name: before[name] for name in self.keys}, **beside, CHANGE_TYPE: "delete"})
        if op != "d" and after is not None:
            sent = {name: value for name, value in after.items() if not is_absent(value)}
            changes.append({**sent, **beside, CHANGE_TYPE: "upsert"})
        return changes

    def _image(self, envelope: Mapping[str, Any], side: str, row: int) -> dict[str, Any] | None:
        """A row of an envelope as Python values; None if the row is missing."""
        image = envelope.get(side)
        if image is None:
            return None
        if not isinstance(image, Mapping):
            msg = f"{side} of the message is {shown(image)}; allowed are the columns of a row, and null"
            raise ChangeFormatError(msg, row=row)
        if not self._converters and not self.columns:
            return dict(image)
        return {self._spelt(name): self._value(name, value, side, row) for name, value in image.items()}

    def _spelt(self, name: str) -> str:
        """A column's name as its table spells it; of one that the table does not have, as it comes."""
        column = self.columns.get(name.lower())
        return name if column is None else column.name

    def _value(self, name: str, value: Any, side: str, row: int) -> Any:
        if value is None or is_absent(value):
            return value
        said = "not what the schema of the message says"
        try:
            if (by_message := self._converters.get(name)) is not None:
                return by_message(value)
            if (column := self.columns.get(name.lower())) is not None:
                said = f"no {column.declared}"
                convert = self.written.of_column(column, self._schema is not None)
                return value if convert is None else convert(value)
        except CANNOT_CONVERT as error:
            msg = f"{name!r} of {side} is {shown(value)}, which is {said}: {error}"
            raise ChangeFormatError(msg, row=row) from error
        return value


def not_sent(column: str, row: int) -> ChangeFormatError:
    """The error for a value that the connector did not send, where it is needed."""
    msg = (
        f"{column!r} was not sent, as the update left it as it was (a large value of PostgreSQL); let the source send "
        "whole rows (REPLICA IDENTITY FULL), or give the key, by which columns that were not sent stay as they are"
    )
    return ChangeFormatError(msg, row=row)


def _at(envelope: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The value at a path of an envelope; None if there is none."""
    found: Any = envelope
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def refuse_op(op: object, row: int) -> ChangeFormatError:
    why = ""
    if op == "t":
        why = ", which truncates the table and names no rows; delete the rows that are there"
    elif op == "m":
        why = ", which is no change of a row; leave such messages out"
    return ChangeFormatError(f"op of a Debezium envelope is {shown(op)}{why}; {OPERATIONS}", row=row)


def no_after(op: object, row: int) -> ChangeFormatError:
    return ChangeFormatError(f"the message has the op {op!r} and no row after", row=row)
