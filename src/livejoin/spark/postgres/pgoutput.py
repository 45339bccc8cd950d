"""The messages of PostgreSQL's logical replication (protocol version 1 of pgoutput), and the changes that they say.

PostgreSQL's documentation, "Logical Replication Message Formats". Values stay text here, as bytes; what becomes of them
is `livejoin.spark.postgres.values`.

Law: applied in order, the changes of the transactions up to a position bring a table from its rows at one position to
those at a later one. A table with a key goes by it: ``upsert`` and ``delete``; one without has rows that come and go
whole, for which PostgreSQL wants ``REPLICA IDENTITY FULL``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from struct import Struct

from livejoin.errors import ChangeFormatError
from livejoin.spark.postgres.published import PublishedTable

_BEGIN = Struct("!Q")
_HEAD = Struct("!I")
_COUNT = Struct("!H")
_LENGTH = Struct("!I")

Value = bytes | None
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Change:
    """One change of a table.

    Args:
        table: The table.
        kind: Its ``_change_type``.
        row: The values of the table's columns; of a deletion by key those of the key, and None.
    """

    table: str
    kind: str
    row: Row


class _Unchanged:
    """In place of a large value that an update did not touch, and that PostgreSQL does not send."""


_UNCHANGED = _Unchanged()
_Sent = tuple[Value | _Unchanged, ...]


def changes(
    messages: Iterable[tuple[bytes]], tables: Mapping[tuple[str, str], PublishedTable], start: int, end: int
) -> Iterator[Change]:
    """The changes of the transactions whose commits lie in ``start <= position < end``.

    Args:
        messages: The messages of a slot in their order.
        tables: What is read, by schema and name; changes of other tables are left out.
        start: A position in the log.
        end: A later one.

    Raises:
        ChangeFormatError: A table was truncated or has lost a column, or a value was not sent.
    """
    relations: dict[int, _Relation | None] = {}
    inside = False
    for (message,) in messages:
        kind = message[:1]
        if kind == b"B":
            inside = start <= _BEGIN.unpack_from(message, 1)[0] < end
        elif kind == b"R":
            oid, relation = _relation(message, tables)
            relations[oid] = relation
        elif inside and kind in b"IUD":
            oid = _HEAD.unpack_from(message, 1)[0]
            found = relations[oid]
            if found is not None:
                yield from found.changes(kind, message)
        elif inside and kind == b"T":
            _refuse_truncation(message, relations)


class _Relation:
    """A table as the messages that follow have it.

    Args:
        table: The table.
        places: Where each of its columns stands in the rows that are sent.
    """

    def __init__(self, table: PublishedTable, places: tuple[int, ...]) -> None:
        self.table = table
        self._places = places
        self._key = [position for position, column in enumerate(table.columns) if column.name in table.key]

    def changes(self, kind: bytes, message: bytes) -> Iterator[Change]:
        """The changes of one message."""
        old: _Sent | None = None
        mark, at = message[5:6], 6
        if mark in b"KO":
            old, at = _tuple(message, at)
            mark, at = message[at : at + 1], at + 1
        new = _tuple(message, at)[0] if mark == b"N" else None
        if kind == b"D":
            assert old is not None
            yield self._change("delete", self._row(old, None))
            return
        assert new is not None
        row = self._row(new, old)
        if kind == b"I":
            yield self._change("upsert" if self._key else "insert", row)
            return
        before = None if old is None else self._row(old, None)
        if not self._key:
            if before is None:
                msg = "an update came without the row before; it needs ALTER TABLE ... REPLICA IDENTITY FULL"
                raise ChangeFormatError(msg, self.table.name)
            yield self._change("update_preimage", before)
            yield self._change("update_postimage", row)
            return
        if before is not None and any(before[position] != row[position] for position in self._key):
            yield self._change("delete", before)
        yield self._change("upsert", row)

    def _change(self, kind: str, row: Row) -> Change:
        return Change(self.table.name, kind, row)

    def _row(self, sent: _Sent, old: _Sent | None) -> Row:
        """The values of the table's columns; those that were not sent are the old ones."""
        values: list[Value] = []
        for place, column in zip(self._places, self.table.columns, strict=True):
            value = sent[place]
            if isinstance(value, _Unchanged) and old is not None:
                value = old[place]
            if isinstance(value, _Unchanged):
                msg = (
                    f"column {column.name!r} of an updated row is large and was not changed, so that PostgreSQL does "
                    "not send it; it does after ALTER TABLE ... REPLICA IDENTITY FULL, or leave the column out of the "
                    "publication (CREATE PUBLICATION ... FOR TABLE t (columns))"
                )
                raise ChangeFormatError(msg, self.table.name)
            values.append(value)
        return tuple(values)


def _relation(message: bytes, tables: Mapping[tuple[str, str], PublishedTable]) -> tuple[int, _Relation | None]:
    """The table that a message describes, by its number; None for one that is not read."""
    oid = _HEAD.unpack_from(message, 1)[0]
    schema, at = _text(message, 5)
    name, at = _text(message, at)
    table = tables.get((schema, name))
    if table is None:
        return oid, None
    (columns,) = _COUNT.unpack_from(message, at + 1)
    at += 3
    places: dict[str, int] = {}
    for place in range(columns):
        column, at = _text(message, at + 1)
        places[column] = place
        at += 8
    missing = [column.name for column in table.columns if column.name not in places]
    if missing:
        msg = f"the column {missing[0]!r} is not there any more; start over with an empty checkpoint and another slot"
        raise ChangeFormatError(msg, table.name)
    return oid, _Relation(table, tuple(places[column.name] for column in table.columns))


def _refuse_truncation(message: bytes, relations: Mapping[int, _Relation | None]) -> None:
    (number,) = _HEAD.unpack_from(message, 1)
    for place in range(number):
        found = relations.get(_HEAD.unpack_from(message, 6 + 4 * place)[0])
        if found is not None:
            msg = (
                "it was truncated, which names no rows. Start over with an empty checkpoint and another slot; DELETE "
                "is carried, and a publication WITH (publish = 'insert, update, delete') leaves TRUNCATE out"
            )
            raise ChangeFormatError(msg, found.table.name)


def _text(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(b"\0", at)
    return message[at:end].decode(), end + 1


def _tuple(message: bytes, at: int) -> tuple[_Sent, int]:
    """The values of a row, and where it ends."""
    (columns,) = _COUNT.unpack_from(message, at)
    at += 2
    values: list[Value | _Unchanged] = []
    for _ in range(columns):
        kind = message[at]
        at += 1
        if kind == 0x74:  # t, text
            (length,) = _LENGTH.unpack_from(message, at)
            at += 4
            values.append(message[at : at + length])
            at += length
        else:
            values.append(_UNCHANGED if kind == 0x75 else None)  # u, n
    return tuple(values), at
