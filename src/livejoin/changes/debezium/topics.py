"""The messages of several tables as the changes of one commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from livejoin.changes.debezium.envelopes import Reader, opened
from livejoin.changes.debezium.values import DECIMALS, INTEGER_TIMES, Decimals, IntegerTimes, Written
from livejoin.changes.reading import reading
from livejoin.errors import ChangeFormatError, SchemaError
from livejoin.schema import CHANGE_TYPE, Table
from livejoin.shown import shown, type_name

_EMPTY = (None, "", b"")
_ON_BAD_ROWS = ("fail", "skip", "dead_letter")


@dataclass(frozen=True)
class BadMessage:
    """A message that was left out.

    Args:
        row: The message's position among all that were given.
        table: The table that it is of; None where it does not say that.
        reason: The message that an error would have had.
        message: The message as it was given.
    """

    row: int
    table: str | None
    reason: str
    message: Any


@dataclass(frozen=True, eq=False)
class TopicChanges(Mapping[str, list[dict[str, Any]]]):
    """The changes of each table, for `livejoin.Database.apply`, and what is to be said of them.

    Attributes:
        changes: The changes of each table that a message is of, in the order of the messages.
        new_columns: The columns that rows of the messages have and their table does not, by table. They are among the
            changes: add them to the table, or give ``apply`` the argument ``extra_columns="ignore"``.
        bad_rows: How many messages were left out, as they are no changes of their table.
        dead_letters: The messages that were left out, with ``on_bad_rows="dead_letter"``.
        skipped: Tombstones, and messages of topics that were to be skipped.
    """

    changes: dict[str, list[dict[str, Any]]]
    new_columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    bad_rows: int = 0
    dead_letters: tuple[BadMessage, ...] = ()
    skipped: int = 0

    def __getitem__(self, table: str) -> list[dict[str, Any]]:
        return self.changes[table]

    def __iter__(self) -> Iterator[str]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)


def from_debezium_topics(
    messages: Iterable[Any],
    tables: Mapping[str, Table],
    *,
    topics: Mapping[str, str | None] | None = None,
    fields: Mapping[str, str] | None = None,
    integer_times: IntegerTimes | None = None,
    decimals: Decimals | None = None,
    on_bad_rows: Literal["fail", "skip", "dead_letter"] = "fail",
) -> TopicChanges:
    """The changes in Debezium's messages of several tables, for one `livejoin.Database.apply`.

    What a message without a schema leaves open is read by the columns of its table: integers in a DATE are days, texts
    in a BINARY are base 64. Changes of a table with a PRIMARY KEY go by key, those of others are whole rows.

    Args:
        messages: The messages, each as `from_debezium` takes it. A pair ``(topic, message)``, or an object with
            ``topic`` and ``value`` as clients of Kafka have it, also says where it comes from.
        tables: The tables: ``db.tables``.
        topics: The table of a topic, or of a source's table, by its name; None skips its messages. By default the table
            has the name of the topic's last part, as in ``shop.public.orders``; without a topic, that of
            ``source.table``, or of ``__table`` in a flat row.
        fields: As for `from_debezium`; a table without the column goes without it.
        integer_times: The unit of integers in a TIMESTAMP: ``milliseconds``, ``microseconds`` or ``nanoseconds``, as
            the connector's ``time.precision.mode`` has it. Without it a message with such a value is bad.
        decimals: How DECIMAL is written: ``base64`` with the connector's ``decimal.handling.mode=precise``, its
            default, where the scale is that of the column; ``text`` with ``string``. Without it a text that may be
            either makes its message bad.
        on_bad_rows: What happens to a message that is no change of a table: ``fail`` raises the error, ``skip`` leaves
            the message out and counts it, ``dead_letter`` also gives it back with the reason.

    Raises:
        ChangeFormatError: A message is no change of a table, or the messages cannot be read.
        SchemaError: An argument has another word, or a topic's table is not there.

    Cost: O(messages).

    >>> import livejoin
    >>> db = livejoin.Database()
    >>> db.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, amount DECIMAL(10, 2))")
    >>> text = '{"op": "c", "before": null, "after": {"id": 1, "amount": "AMg="}, "source": {"table": "orders"}}'
    >>> from_debezium_topics([text], db.tables, decimals="base64")["orders"]
    [{'id': 1, 'amount': Decimal('2.00'), '_change_type': 'upsert'}]
    """
    for name, word, allowed in (
        ("integer_times", integer_times, (None, *INTEGER_TIMES)),
        ("decimals", decimals, (None, *DECIMALS)),
        ("on_bad_rows", on_bad_rows, _ON_BAD_ROWS),
    ):
        if word not in allowed:
            msg = f"{name} is {shown(word)}; allowed are {', '.join(map(repr, allowed))}"
            raise SchemaError(msg)
    routes = _Routes(tables, topics or {})
    readers = _Readers({column: path.split(".") for column, path in (fields or {}).items()}, integer_times, decimals)
    changes: dict[str, list[dict[str, Any]]] = {}
    bad: list[BadMessage] = []
    skipped = 0
    for row, given in enumerate(_each(messages)):
        table = None
        try:
            topic, message = _parted(given)
            envelope, schema = (None, None) if message in _EMPTY else opened(message, row)
            if envelope is None or routes.skips(topic, envelope):
                skipped += 1
                continue
            table = routes.table(topic, envelope, row)
            changes.setdefault(table.name, []).extend(readers.of(table).changes(envelope, schema, row))
        except ChangeFormatError as error:
            if on_bad_rows == "fail":
                raise
            bad.append(BadMessage(row, None if table is None else table.name, str(error), given))
    return TopicChanges(
        {name: found for name, found in changes.items() if found},
        _new_columns(changes, tables),
        len(bad),
        tuple(bad) if on_bad_rows == "dead_letter" else (),
        skipped,
    )


def _each(messages: object) -> Iterator[Any]:
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        msg = f"the messages are of type {type_name(messages)}; allowed is a list of messages"
        raise ChangeFormatError(msg)
    with reading("messages", messages):
        yield from messages


def _parted(given: Any) -> tuple[str | None, Any]:
    """The topic that a message comes from, if that is said, and the message."""
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
        return given
    if hasattr(given, "topic") and hasattr(given, "value"):
        topic, value = (one() if callable(one) else one for one in (given.topic, given.value))
        return str(topic), value
    return None, given


class _Routes:
    """Which table a message is of.

    Args:
        tables: The tables.
        topics: The table of a topic; None where its messages are skipped.

    Raises:
        SchemaError: A topic's table is not there.
    """

    def __init__(self, tables: Mapping[str, Table], topics: Mapping[str, str | None]) -> None:
        self._tables = {name.lower(): table for name, table in tables.items()}
        self._topics = topics
        for topic, name in topics.items():
            if name is not None and name.lower() not in self._tables:
                msg = f"topics has {shown(name)} for {topic!r}; {self._there()}"
                raise SchemaError(msg)

    def skips(self, topic: str | None, envelope: Mapping[str, Any]) -> bool:
        """Whether a message is to be skipped."""
        return any(name in self._topics and self._topics[name] is None for name in _names(topic, envelope))

    def table(self, topic: str | None, envelope: Mapping[str, Any], row: int) -> Table:
        """The table of a message.

        Raises:
            ChangeFormatError: The message does not say what it is of, or there is no such table.
        """
        names = _names(topic, envelope)
        if not names:
            msg = (
                "the message has no source.table and no __table, so that it does not say which table it is of; give "
                "pairs (topic, message)"
            )
            raise ChangeFormatError(msg, row=row)
        named = next((name for one in names if (name := self._topics.get(one)) is not None), names[-1])
        found = self._tables.get(named.lower())
        if found is None:
            msg = f"the message is of {names[0]!r}; {self._there()}. topics={{{names[0]!r}: None}} skips such messages"
            raise ChangeFormatError(msg, row=row)
        return found

    def _there(self) -> str:
        return f"the tables are {', '.join(table.name for table in self._tables.values()) or 'none'}"


def _names(topic: str | None, envelope: Mapping[str, Any]) -> list[str]:
    """What a message calls its table: the topic and its last part, or what the source says."""
    if topic is not None:
        return list(dict.fromkeys((topic, topic.rpartition(".")[2])))
    source = envelope.get("source")
    said = source.get("table") if isinstance(source, Mapping) else None
    found = said or envelope.get("__table") or envelope.get("__source_table")
    return [found] if isinstance(found, str) else []


class _Readers:
    """What makes changes of the messages of each table; mutable."""

    def __init__(
        self, paths: Mapping[str, list[str]], integer_times: IntegerTimes | None, decimals: Decimals | None
    ) -> None:
        self._paths = paths
        self._written = Written(integer_times, decimals)
        self._made: dict[str, Reader] = {}

    def of(self, table: Table) -> Reader:
        """What makes them of a table's messages."""
        found = self._made.get(table.name)
        if found is None:
            columns = {column.name.lower(): column for column in table.columns}
            keys = [table.columns[at].name for at in table.primary_key]
            paths = {column: path for column, path in self._paths.items() if column.lower() in columns}
            found = self._made[table.name] = Reader(keys, paths, columns, self._written)
        return found


def _new_columns(
    changes: Mapping[str, list[dict[str, Any]]], tables: Mapping[str, Table]
) -> dict[str, tuple[str, ...]]:
    """The columns that changes have and their tables do not, by table."""
    known = {table.name: {column.name.lower() for column in table.columns} for table in tables.values()}
    found = {}
    for name, rows in changes.items():
        there = dict.fromkeys(column for row in rows for column in row if column != CHANGE_TYPE)
        fresh = tuple(column for column in there if column.lower() not in known[name])
        if fresh:
            found[name] = fresh
    return found
