"""Messages in an Arrow table as changes, without a Python object for a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes.debezium.envelopes import BRINGS, NO_BEFORE, no_after, refuse_op
from livejoin.changes.debezium.values import PLACEHOLDER
from livejoin.errors import ChangeFormatError
from livejoin.schema import CHANGE_TYPE


def from_arrow(messages: pa.Table, keys: Sequence[str], paths: Mapping[str, list[str]]) -> pa.Table:
    """As `livejoin.changes.debezium.from_debezium`, of an Arrow table."""
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
    known = {name: _flags(pc.fill_null(pc.equal(op, name), False)) for name in (*BRINGS, "d")}
    brings = known["c"] | known["r"] | known["u"]
    tombstone = _flags(op.is_null()) & ~there["before"] & ~there["after"]
    _refuse(~(brings | known["d"] | tombstone), lambda row: refuse_op(op[row].as_py(), row))
    lacking = brings & ~there["after"]
    _refuse(lacking, lambda row: no_after(op[row].as_py(), row))
    takes = known["d"] | (known["u"] if not keys else _moved(before, after, keys) & known["u"] & there["before"])
    _refuse(takes & ~there["before"], lambda row: ChangeFormatError(NO_BEFORE.format(op=op[row].as_py()), row=row))
    gone, come = np.flatnonzero(takes), np.flatnonzero(brings)
    for side, at in ((after, come), *(() if keys else ((before, gone),))):
        _refuse_absent(side, at)
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


def _refuse_absent(side: pa.StructArray, at: np.ndarray[Any, Any]) -> None:
    """Refuse texts that stand for values which were not sent: a column of Arrow has a value in every row."""
    for place, part in enumerate(side.type):
        if pa.types.is_string(part.type) or pa.types.is_large_string(part.type):
            flags = _flags(pc.fill_null(pc.equal(side.field(place), PLACEHOLDER), False))[at]
            if flags.any():
                msg = (
                    f"{part.name!r} was not sent, as the update left it as it was (a large value of PostgreSQL); give "
                    "the messages as a list of texts and the key, by which columns that were not sent stay as they are"
                )
                raise ChangeFormatError(msg, row=int(at[int(np.argmax(flags))]))
