"""The messages of PostgreSQL's logical replication (protocol version 1 of pgoutput), and the changes that they say.

PostgreSQL's documentation, "Logical Replication Message Formats". Values stay text here, as bytes; what becomes of them
is `livejoin.spark.postgres.values`.

Law: applied in order, the changes of the transactions up to a position bring a table from its rows at one position to
those at a later one. A table with a key goes by it: ``upsert`` and ``delete``, and ``update_preimage`` and
``update_postimage`` where the key changes; one without has rows that come and go whole, for which PostgreSQL wants
``REPLICA IDENTITY FULL``. ``truncate`` is a deletion of all rows. The columns of a row are those that its table had
then: of those that have come since, and of large values that an update did not touch, a change says that it has none.
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
        kind: Its ``_change_type``.
        row: The values of the table's columns; of a deletion by key those of the key, and None.
        without: The columns that it has no value of, and why: `UNCHANGED`, `ABSENT` or `GONE`.
    """

    table: str
    kind: str
    row: Row
    without: tuple[tuple[str, str], ...] = ()


class _Unchanged:
    """In place of a large value that an update did not touch, and that PostgreSQL does not send."""


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
        tables: What is read, by schema and name; changes of other tables are left out.
        gone: For each table the columns that are not there any more.
        start: A position in the log.
        end: A later one.

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
    """A table as the messages that follow have it.

    Args:
        table: The table.
        places: Where each of its columns stands in the rows that are sent; None for those that were not there then.
        gone: Those that are not there now: where one is missing, it may be one that was dropped or renamed.
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
        """The whole rows that one message takes away (-1) and brings (1)."""
        old, new = self._sent(kind, message)
        if kind != b"I":
            yield -1, self._change("delete", old, None)
        if kind != b"D":
            yield 1, self._change("upsert", new, old)

    def _sent(self, kind: bytes, message: bytes) -> tuple[_Sent | None, _Sent | None]:
        """The row before, whole or its key, and the row after, as far as they are sent."""
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
        """Whether the key was changed; one that is large, and was not, is sent as that of the row before alone."""
        assert new is not None
        places = [place for position in self._key if (place := self._places[position]) is not None]
        return any(old[place] != new[place] for place in places if not isinstance(new[place], _Unchanged))

    def _change(self, kind: str, sent: _Sent | None, old: _Sent | None) -> Change:
        """A change whose row has the values of the table's columns; those that were not sent are the old ones."""
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
    """The changes of a transaction of a table in which two rows may have one key in between.

    They come by whole rows. Law: what is left when rows that come and go are set against each other takes away at most
    one row of each key and brings at most one, since keys are unique before and behind the transaction.
    """

    def __init__(self, table: PublishedTable) -> None:
        self._key = [position for position, column in enumerate(table.columns) if column.name in table.key]
        self._counts: Counter[tuple[Row, tuple[tuple[str, str], ...]]] = Counter()
        self._table = table.name

    def add(self, relation: _Relation, kind: bytes, message: bytes) -> None:
        """Take a message in."""
        for weight, change in relation.rows(kind, message):
            self._counts[change.row, change.without] += weight

    def changes(self) -> Iterator[Change]:
        """What goes, then what comes."""
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
    found = [places.get(column.source, places.get(column.name)) for column in table.columns]
    return oid, _Relation(table, tuple(found), gone.get(table.name, frozenset()))


def _truncated(message: bytes, relations: Mapping[int, _Relation | None]) -> Iterator[PublishedTable]:
    """The tables that a message says to be truncated, of those that are read."""
    (number,) = _HEAD.unpack_from(message, 1)
    for place in range(number):
        found = relations.get(_HEAD.unpack_from(message, 6 + 4 * place)[0])
        if found is not None:
            yield found.table


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
