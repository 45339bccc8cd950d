"""Debezium's envelopes as changes: a message for each row that a database inserted, updated or deleted.

An envelope has ``op``, the row ``before`` and the row ``after``. As in Debezium's own sinks, changes go by key: ``c``
(created), ``u`` (updated) and ``r`` (read for a snapshot) are upserts of ``after``, and ``d`` deletes the key of
``before``. A message without a value, Kafka's *tombstone*, follows a deletion and is skipped. Law: applied in order,
the changes leave the rows that the source has, also if messages come twice.

Debezium's transform ExtractNewRecordState leaves the row alone, without an envelope, and adds fields that begin with
two underscores: ``__op``, or ``__deleted`` where deletions are rewritten to rows. Such *flat* rows are read as well.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.errors import ChangeFormatError
from livejoin.schema import CHANGE_TYPE
from livejoin.shown import shown, type_name

Converters: TypeAlias = Mapping[str, Callable[[Any], Any]]
"""What makes values of a message those of a column, by the column's name; other values are taken as they are."""

_OPERATIONS = "allowed are 'c', 'r', 'u' and 'd'"
_BRINGS = ("c", "r", "u")
_EPOCH = dt.datetime(1970, 1, 1)
_NO_BEFORE = (
    "the message has the op {op!r} and no row before, so that it does not say which row is gone; let the source send "
    "it (in PostgreSQL REPLICA IDENTITY)"
)


def from_debezium(
    messages: object, key: str | Sequence[str] | None = None, fields: Mapping[str, str] | None = None
) -> pa.Table | list[dict[str, Any]]:
    """The changes in Debezium's messages, for `livejoin.Database.apply`.

    Args:
        messages: The messages of one table in their order. Either an Arrow table with the columns ``op``, ``before``
            and ``after``, where the rows are structs; or a list of JSON texts, bytes or mappings, with or without
            ``payload`` around them. A message's ``schema`` gives the types of dates, times and decimals; without a
            schema, values are taken as they are. None and empty messages are tombstones and skipped. A message may also
            be a flat row with ``__op`` or ``__deleted``, whose other fields with two underscores are no columns.
        key: The columns of the table's primary key. Changes then go by key, and deletions have no other column. Without
            ``key`` changes are whole rows, and updates and deletions need all of ``before``.
        fields: Columns that are filled from other fields of the envelope, as ``{"lsn": "source.lsn"}`` for a table with
            ``sequence_by="lsn"``.

    Returns:
        An Arrow table if the messages are one, else a list of dicts, with the columns and ``_change_type``.

    Raises:
        ChangeFormatError: A message is no envelope, lacks the row that it needs, or has another operation, such as
            ``t``, which truncates a table. The error names the message's position.

    Cost: O(messages); for Arrow no Python object is made for a row.

    >>> created = '{"op": "c", "before": null, "after": {"id": 1, "name": "Ada"}}'
    >>> from_debezium([created, '{"op": "d", "before": {"id": 2, "name": "Bob"}, "after": null}', None], key="id")
    [{'id': 1, 'name': 'Ada', '_change_type': 'upsert'}, {'id': 2, '_change_type': 'delete'}]
    """
    keys = (key,) if isinstance(key, str) else tuple(key or ())
    paths = {column: path.split(".") for column, path in (fields or {}).items()}
    try:
        if isinstance(messages, pa.Table):
            return _from_arrow(messages, keys, paths)
        if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
            msg = f"the messages are of type {type_name(messages)}; allowed are an Arrow table and a list of messages"
            raise ChangeFormatError(msg)
        return _from_python(messages, keys, paths)
    except (ChangeFormatError, MemoryError):
        raise
    except Exception as error:  # the messages may be of anybody's class, which may raise anything
        msg = f"the messages, of type {type_name(messages)}, cannot be read: {type(error).__name__}: {error}"
        raise ChangeFormatError(msg) from error


def _from_python(messages: Iterable[Any], keys: Sequence[str], paths: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = []
    known, converters = None, _converters(None)
    for row, message in enumerate(messages):
        if message is None or message in ("", b""):
            continue
        envelope, schema = _opened(message, row)
        if envelope is None:
            continue
        if schema != known:
            known, converters = schema, _converters(schema)
        changes += _changes(envelope, converters, keys, paths, row)
    return changes


def _opened(message: Any, row: int) -> tuple[Mapping[str, Any] | None, Any]:
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


def _changes(
    envelope: Mapping[str, Any], converters: Converters, keys: Sequence[str], paths: Mapping[str, list[str]], row: int
) -> list[dict[str, Any]]:
    """The changes of one message."""
    op = envelope["op"]
    before, after = (_image(envelope, side, converters, row) for side in ("before", "after"))
    beside = {column: _at(envelope, path) for column, path in paths.items()}
    if op not in (*_BRINGS, "d"):
        raise _other(op, row)
    if op in _BRINGS and after is None:
        raise _no_after(op, row)
    if before is None and (op == "d" or (op == "u" and not keys)):
        raise ChangeFormatError(_NO_BEFORE.format(op=op), row=row)
    if not keys:
        kinds = {"u": ("update_preimage", "update_postimage"), "d": ("delete", "")}.get(op, ("", "insert"))
        found = zip((before, after), kinds, strict=True)
        return [{**(image or {}), **beside, CHANGE_TYPE: kind} for image, kind in found if kind]
    changes = []
    for image in (before, after):
        absent = [name for name in keys if image is not None and name not in image]
        if absent:
            named, others = ", ".join(map(repr, absent)), ", ".join(image or {})
            msg = f"the message has no {named}, which is in the key; it has {others}"
            raise ChangeFormatError(msg, row=row)
    moved = op == "u" and before is not None and after is not None and any(before[k] != after[k] for k in keys)
    if before is not None and (op == "d" or moved):
        changes.append({**{name: before[name] for name in keys}, **beside, CHANGE_TYPE: "delete"})
    if op != "d" and after is not None:
        changes.append({**after, **beside, CHANGE_TYPE: "upsert"})
    return changes


def _image(envelope: Mapping[str, Any], side: str, converters: Converters, row: int) -> dict[str, Any] | None:
    """A row of an envelope as Python values; None if the row is missing."""
    image = envelope.get(side)
    if image is None:
        return None
    if not isinstance(image, Mapping):
        msg = f"{side} of the message is {shown(image)}; allowed are the columns of a row, and null"
        raise ChangeFormatError(msg, row=row)
    if not converters:
        return dict(image)
    found = {}
    for name, value in image.items():
        convert = converters.get(name)
        try:
            found[name] = value if value is None or convert is None else convert(value)
        except (ValueError, TypeError, LookupError, ArithmeticError, binascii.Error) as error:
            msg = f"{name!r} of {side} is {shown(value)}, which is not what the schema of the message says: {error}"
            raise ChangeFormatError(msg, row=row) from error
    return found


def _at(envelope: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The value at a path of an envelope; None if there is none."""
    found: Any = envelope
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _other(op: object, row: int) -> ChangeFormatError:
    why = ""
    if op == "t":
        why = ", which truncates the table and names no rows; delete the rows that are there"
    elif op == "m":
        why = ", which is no change of a row; leave such messages out"
    return ChangeFormatError(f"op of a Debezium envelope is {shown(op)}{why}; {_OPERATIONS}", row=row)


def _no_after(op: object, row: int) -> ChangeFormatError:
    return ChangeFormatError(f"the message has the op {op!r} and no row after", row=row)


def _converters(schema: object) -> Converters:
    """Functions that convert the values of messages to the types of their schema."""
    found: dict[str, Callable[[Any], Any]] = {}
    sides = [side for side in _fields(schema) if side.get("field") in ("before", "after") and _fields(side)]
    # Of a flat row the columns are the schema's own fields.
    for field in [field for side in sides for field in _fields(side)] if sides else _fields(schema):
        convert = _converter(field)
        if convert is not None:
            found[str(field.get("field"))] = convert
    return found


def _fields(schema: object) -> list[Mapping[str, Any]]:
    fields = schema.get("fields") if isinstance(schema, Mapping) else None
    return [field for field in fields if isinstance(field, Mapping)] if isinstance(fields, list) else []


def _converter(field: Mapping[str, Any]) -> Callable[[Any], Any] | None:
    """The function that converts values to a semantic type of Debezium or Kafka Connect; None if none is needed."""
    parameters = field.get("parameters")
    match str(field.get("name", "")):
        case "io.debezium.time.Date" | "org.apache.kafka.connect.data.Date":
            return lambda days: (_EPOCH + dt.timedelta(days=days)).date()
        case "io.debezium.time.Timestamp" | "org.apache.kafka.connect.data.Timestamp":
            return lambda thousandths: _EPOCH + dt.timedelta(milliseconds=thousandths)
        case "io.debezium.time.MicroTimestamp":
            return lambda millionths: _EPOCH + dt.timedelta(microseconds=millionths)
        case "io.debezium.time.NanoTimestamp":
            return _of_nanoseconds
        case "io.debezium.time.ZonedTimestamp":
            return dt.datetime.fromisoformat
        case "org.apache.kafka.connect.data.Decimal":
            scale = int(parameters.get("scale", 0)) if isinstance(parameters, Mapping) else 0
            return lambda text: _decimal(text, scale)
        case "io.debezium.data.VariableScaleDecimal":
            return lambda parts: _decimal(parts["value"], int(parts["scale"]))
    return None


def _of_nanoseconds(count: int) -> dt.datetime:
    if count % 1000:
        msg = "a TIMESTAMP has whole microseconds"
        raise ValueError(msg)
    return _EPOCH + dt.timedelta(microseconds=count // 1000)


def _decimal(text: str | bytes, scale: int) -> Decimal:
    """A decimal from its unscaled digits, a big-endian number in base 64."""
    written = base64.b64decode(text, validate=True)
    if not written:
        msg = "a decimal has a byte at least"
        raise ValueError(msg)
    digits = int.from_bytes(written, "big", signed=True)
    return Decimal(f"{digits}E{-scale}")  # exact, whatever the context's precision


def _from_arrow(messages: pa.Table, keys: Sequence[str], paths: Mapping[str, list[str]]) -> pa.Table:
    if "payload" in messages.column_names:
        payload = messages["payload"]
        messages = pa.Table.from_struct_array(payload.filter(payload.is_valid()))
    missing = [name for name in ("op", "before", "after") if name not in messages.column_names]
    if missing or not all(pa.types.is_struct(messages.schema.field(name).type) for name in ("before", "after")):
        found = ", ".join(f"{field.name} {field.type}" for field in messages.schema)
        msg = f"the messages have the columns {found}; an envelope has op, and the structs before and after"
        raise ChangeFormatError(msg)
    op, before, after = (messages[name].combine_chunks() for name in ("op", "before", "after"))
    there = {"before": _flags(before.is_valid()), "after": _flags(after.is_valid())}
    known = {name: _flags(pc.fill_null(pc.equal(op, name), False)) for name in (*_BRINGS, "d")}
    brings = known["c"] | known["r"] | known["u"]
    tombstone = _flags(op.is_null()) & ~there["before"] & ~there["after"]
    _refuse(~(brings | known["d"] | tombstone), lambda row: _other(op[row].as_py(), row))
    lacking = brings & ~there["after"]
    _refuse(
        lacking, lambda row: ChangeFormatError(f"the message has the op {op[row].as_py()!r} and no row after", row=row)
    )
    takes = known["d"] | (known["u"] if not keys else _moved(before, after, keys) & known["u"] & there["before"])
    _refuse(takes & ~there["before"], lambda row: ChangeFormatError(_NO_BEFORE.format(op=op[row].as_py()), row=row))
    gone, come = np.flatnonzero(takes), np.flatnonzero(brings)
    old = _rows(before, gone, messages, paths)
    new = _rows(after, come, messages, paths)
    if keys:
        beside = [name for name in paths if name not in keys]
        old = old.select([*keys, *beside])
        if not come.shape[0]:  # where nothing comes there are no other columns, so that all goes by key
            new = old.slice(0, 0)
        kinds = np.repeat(np.array(["delete", "upsert"], object), [gone.shape[0], come.shape[0]])
    else:
        updated = known["u"]
        kinds = np.concatenate(
            [
                np.where(updated[gone], "update_preimage", "delete").astype(object),
                np.where(updated[come], "update_postimage", "insert").astype(object),
            ]
        )
    both = pa.concat_tables([old, new], promote_options="default").select(new.column_names)
    both = both.append_column(CHANGE_TYPE, pa.array(kinds, pa.string()))
    return both.take(np.argsort(np.concatenate([2 * gone, 2 * come + 1]), kind="stable"))


def _rows(side: pa.Array, at: np.ndarray[Any, Any], messages: pa.Table, paths: Mapping[str, list[str]]) -> pa.Table:
    """The rows of one side at some positions, with columns from other fields of the envelope."""
    rows = pa.Table.from_struct_array(side.take(pa.array(at)))
    for column, path in paths.items():
        if path[0] not in messages.column_names:
            msg = f"the messages have no {path[0]!r}, of which {column!r} is filled; they have {messages.column_names}"
            raise ChangeFormatError(msg)
        try:
            values = messages[path[0]] if not path[1:] else pc.struct_field(messages[path[0]], path[1:])
        except (pa.ArrowException, TypeError, ValueError) as error:
            msg = f"the messages have nothing at {'.'.join(path)!r}, of which {column!r} is filled: {error}"
            raise ChangeFormatError(msg) from error
        values = values.take(pa.array(at))
        if column in rows.column_names:
            rows = rows.set_column(rows.column_names.index(column), column, values)
        else:
            rows = rows.append_column(column, values)
    return rows


def _moved(before: pa.StructArray, after: pa.StructArray, keys: Sequence[str]) -> np.ndarray[Any, Any]:
    """Whether each update changes the key of its row."""
    names = [field.name for field in before.type]
    absent = [name for name in keys if name not in names or name not in [field.name for field in after.type]]
    if absent:
        msg = f"the messages have no {', '.join(map(repr, absent))}, which is in the key; they have {', '.join(names)}"
        raise ChangeFormatError(msg)
    moved = np.zeros(len(before), bool)
    for name in keys:
        differs = pc.not_equal(pc.struct_field(before, name), pc.struct_field(after, name))
        moved |= _flags(pc.fill_null(differs, False))
    return moved


def _flags(values: Any) -> np.ndarray[Any, Any]:
    flags: np.ndarray[Any, Any] = values.to_numpy(zero_copy_only=False).astype(bool)
    return flags


def _refuse(wrong: np.ndarray[Any, Any], error: Callable[[int], ChangeFormatError]) -> None:
    """Raise the error of the first message that is wrong."""
    if wrong.any():
        raise error(int(np.argmax(wrong)))
