"""PostgreSQL's logical replication: the messages of pgoutput (protocol version 1) as changes.

See PostgreSQL's documentation, "Logical Replication Message Formats". Values stay text here, as bytes;
`livejoin.spark.postgres.values` converts them.

Law: applied in order, the changes of the transactions between two positions bring a table from its rows at the first to
those at the second. A table with a key has changes by key: ``upsert`` and ``delete``, and ``update_preimage`` with
``update_postimage`` when the key changes. A table without one has whole rows, for which PostgreSQL needs ``REPLICA
IDENTITY FULL``. ``truncate`` deletes all rows. A row has the columns that its table had at that time. A change names
the columns that it has no value of: newer columns, and large values that an update did not touch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from struct import Struct

from livejoin.errors import ChangeFormatError
from livejoin.schema import ABSENT, GONE, UNCHANGED
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
        kind: The ``_change_type``.
        row: The values of the table's columns; for a deletion by key the key's values, and None.
        without: The columns without a value, and why: `UNCHANGED`, `ABSENT` or `GONE`.
    """

    table: str
    kind: str
    row: Row
    without: tuple[tuple[str, str], ...] = ()


class _Unchanged:
    """Stands for a large value that an update did not touch and that PostgreSQL does not send."""


_UNCHANGED = _Unchanged()
_Sent = tuple[Value | _Unchanged, ...]


def changes(
    messages: Iterable[tuple[bytes]],
    tables: Mapping[tuple[str, str], PublishedTable],
    gone: Mapping[str, frozenset[str]],
    start: int,
    end: int,
) -> Iterator[Change]:
    """The changes of the transactions whose commits lie in ``start <= position < end``.

    Args:
        messages: The messages of a slot in their order.
        tables: The tables to read, by schema and name; changes of other tables are left out.
        gone: For each table the columns that do not exist any more.
        start: A position in the log.
        end: A later position.

    Raises:
        ChangeFormatError: An update of a row without a key came without the row before.
    """
    relations: dict[int, _Relation | None] = {}
    deferred: dict[str, _Deferred] = {}
    inside = False
    for (message,) in messages:
        kind = message[:1]
        if kind == b"B":
            inside = start <= _BEGIN.unpack_from(message, 1)[0] < end
        elif kind == b"R":
            oid, relation = _relation(message, tables, gone)
            relations[oid] = relation
        elif inside and kind in b"IUD":
            found = relations[_HEAD.unpack_from(message, 1)[0]]
            if found is not None and found.table.is_deferrable:
                deferred.setdefault(found.table.name, _Deferred(found.table)).add(found, kind, message)
            elif found is not None:
                yield from found.changes(kind, message)
        elif inside and kind == b"T":
            for table in _truncated(message, relations):
                deferred.pop(table.name, None)
                yield Change(table.name, "truncate", (None,) * len(table.columns))
        elif inside and kind == b"C":
            for one in deferred.values():
                yield from one.changes()
            deferred.clear()


class _Relation:
    """A table as the following messages describe it.

    Args:
        table: The table.
        places: The position of each of its columns in the sent rows; None for columns that did not exist then.
        gone: Columns that do not exist now. One that is missing in the message may have been dropped or renamed.
    """

    def __init__(self, table: PublishedTable, places: tuple[int | None, ...], gone: frozenset[str]) -> None:
        self.table = table
        self._gone = gone
        self._places = places
        self._key = [position for position, column in enumerate(table.columns) if column.name in table.key]

    def changes(self, kind: bytes, message: bytes) -> Iterator[Change]:
        """The changes of one message."""
        old, new = self._sent(kind, message)
        if kind == b"I":
            yield self._change("upsert" if self._key else "insert", new, None)
        elif kind == b"D":
            yield self._change("delete", old, None)
        elif not self._key or (old is not None and self._has_other_key(old, new)):
            yield self._change("update_preimage", old, None)
            yield self._change("update_postimage", new, old)
        else:
            yield self._change("upsert", new, old)

    def rows(self, kind: bytes, message: bytes) -> Iterator[tuple[int, Change]]:
        """The whole rows that a message deletes (-1) and inserts (1)."""
        old, new = self._sent(kind, message)
        if kind != b"I":
            yield -1, self._change("delete", old, None)
        if kind != b"D":
            yield 1, self._change("upsert", new, old)

    def _sent(self, kind: bytes, message: bytes) -> tuple[_Sent | None, _Sent | None]:
        """The row before (whole or its key) and the row after, as far as the message has them."""
        old: _Sent | None = None
        mark, at = message[5:6], 6
        is_whole = mark == b"O"
        if mark in b"KO":
            old, at = _tuple(message, at)
            mark, at = message[at : at + 1], at + 1
        new = _tuple(message, at)[0] if mark == b"N" else None
        if kind != b"I" and not is_whole and (not self._key or self.table.is_deferrable):
            msg = "a change came without the row before; it needs ALTER TABLE ... REPLICA IDENTITY FULL"
            raise ChangeFormatError(msg, self.table.name)
        return old, new

    def _has_other_key(self, old: _Sent, new: _Sent | None) -> bool:
        """Whether the key was changed. A large key that was not changed is sent in the row before alone."""
        assert new is not None
        places = [place for position in self._key if (place := self._places[position]) is not None]
        return any(old[place] != new[place] for place in places if not isinstance(new[place], _Unchanged))

    def _change(self, kind: str, sent: _Sent | None, old: _Sent | None) -> Change:
        """A change with all values of the table's columns; those that were not sent come from the old row."""
        assert sent is not None
        values: list[Value] = []
        without: list[tuple[str, str]] = []
        for place, column in zip(self._places, self.table.columns, strict=True):
            if place is None:
                values.append(None if column.before is None else column.before.encode())
                if column.name in self._gone:
                    without.append((column.name, GONE))
                elif not column.knows_before:
                    without.append((column.name, ABSENT))
                continue
            value = sent[place]
            if isinstance(value, _Unchanged) and old is not None and old[place] is not None:
                value = old[place]  # of a large value that is NULL in the key of a row nothing is known
            if isinstance(value, _Unchanged):
                without.append((column.name, UNCHANGED))
                value = None
            values.append(value)
        return Change(self.table.name, kind, tuple(values), tuple(without))


class _Deferred:
    """The changes of a transaction of a table in which two rows may temporarily have one key.

    They are collected as whole rows. Law: after deletions and insertions of equal rows cancel, at most one row of each
    key is deleted and at most one inserted, since keys are unique before and after the transaction.
    """

    def __init__(self, table: PublishedTable) -> None:
        self._key = [position for position, column in enumerate(table.columns) if column.name in table.key]
        self._counts: Counter[tuple[Row, tuple[tuple[str, str], ...]]] = Counter()
        self._table = table.name

    def add(self, relation: _Relation, kind: bytes, message: bytes) -> None:
        """Add the rows of a message."""
        for weight, change in relation.rows(kind, message):
            self._counts[change.row, change.without] += weight

    def changes(self) -> Iterator[Change]:
        """The deletions, then the insertions."""
        coming = {self._key_of(row) for (row, _), count in self._counts.items() if count > 0}
        for (row, without), count in self._counts.items():
            if count < 0 and self._key_of(row) not in coming:
                yield Change(self._table, "delete", row, without)
        for (row, without), count in self._counts.items():
            if count > 0:
                yield Change(self._table, "upsert", row, without)

    def _key_of(self, row: Row) -> Row:
        return tuple(row[position] for position in self._key)


def _relation(
    message: bytes, tables: Mapping[tuple[str, str], PublishedTable], gone: Mapping[str, frozenset[str]]
) -> tuple[int, _Relation | None]:
    """The number and the table of a message that describes one; None for a table that is not read."""
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
    found = [places.get(column.source, places.get(column.name)) for column in table.columns]
    return oid, _Relation(table, tuple(found), gone.get(table.name, frozenset()))


def _truncated(message: bytes, relations: Mapping[int, _Relation | None]) -> Iterator[PublishedTable]:
    """The truncated tables of a message, among those that are read."""
    (number,) = _HEAD.unpack_from(message, 1)
    for place in range(number):
        found = relations.get(_HEAD.unpack_from(message, 6 + 4 * place)[0])
        if found is not None:
            yield found.table


def _text(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(b"\0", at)
    return message[at:end].decode(), end + 1


def _tuple(message: bytes, at: int) -> tuple[_Sent, int]:
    """The values of a row, and the position after it."""
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
