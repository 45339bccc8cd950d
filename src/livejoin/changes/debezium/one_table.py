"""The messages of one table as changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from livejoin.changes.debezium.arrow import from_arrow
from livejoin.changes.debezium.envelopes import Reader, opened
from livejoin.changes.reading import reading
from livejoin.errors import ChangeFormatError
from livejoin.shown import type_name


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
    with reading("messages", messages):
        if isinstance(messages, pa.Table):
            return from_arrow(messages, keys, paths)
        if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
            msg = f"the messages are of type {type_name(messages)}; allowed are an Arrow table and a list of messages"
            raise ChangeFormatError(msg)
        return _from_python(messages, keys, paths)


def _from_python(messages: Iterable[Any], keys: Sequence[str], paths: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = []
    reader = Reader(keys, paths)
    for row, message in enumerate(messages):
        if message is None or message in ("", b""):
            continue
        envelope, schema = opened(message, row)
        if envelope is not None:
            changes += reader.changes(envelope, schema, row)
    return changes
