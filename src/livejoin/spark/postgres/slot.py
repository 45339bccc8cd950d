"""Slots of logical replication: a slot makes the server keep its log from a position on, for one reader.

Positions are LSNs, as integers. Law: a transaction belongs to ``start <= position of its commit < end``. `read` gives
the same transactions for the same positions each time, until `advance` lets the server forget those before a position.
The server uses the same rule for forgetting, so no transaction is lost between.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from struct import Struct

from psycopg import sql
from psycopg.pq import ExecStatus

from livejoin.errors import StateError, StorageError
from livejoin.spark.postgres.connection import Connection, where

_FETCHED = 10_000  # messages at a time
_PAGE, _HEADERS = 8192, (24, 40)  # bytes of a page of the log, and of its header
_PATIENCE = 2.0  # seconds to wait for the log to be flushed
_PEEK = (
    "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, NULL, 'proto_version', '1', "
    "'publication_names', %s)"
)
_KINDS = (
    "SELECT get_byte(data, 0), CASE WHEN get_byte(data, 0) = 67 THEN substring(data FROM 3 FOR 16) END "
    "FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, %s, 'proto_version', '1', 'publication_names', %s)"
)
_COMMIT = Struct("!QQ")  # where a commit is in the log, and where it ends
_OF_A_CHANGE = 4  # messages of a transaction of one change: begin, its table, the change, commit


def newest_position(connection: Connection) -> int | None:
    """A position before which all commits are durable in the log; None if the log is not flushed soon.

    The end of the flushed log may lie within a record. The end of the written log does not, so it is taken when it is
    flushed, which the server does within a fraction of a second.
    """
    end = _asked(connection, "SELECT pg_current_wal_insert_lsn()")
    # At the beginning of a page the next record goes behind the page's header, which is not there before the record is.
    header = end % _PAGE if end % _PAGE in _HEADERS else 0
    deadline = time.monotonic() + _PATIENCE
    while _asked(connection, "SELECT pg_current_wal_flush_lsn()") < end - header:
        if time.monotonic() > deadline:
            return None
        time.sleep(0.01)
    return end


def confirmed(connection: Connection, slot: str) -> int | None:
    """The position up to which the server has forgotten the changes; None if there is no such slot."""
    found = connection.execute(
        "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = %s AND database = current_database()",
        (slot,),
    ).fetchone()
    return None if found is None or found[0] is None else number(found[0])


def is_taken(connection: Connection, slot: str) -> bool:
    """Whether a slot of this name exists, for any database of the server."""
    found = connection.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", (slot,))
    return found.fetchone() is not None


def check_holds(connection: Connection, slot: str, start: int) -> None:
    """Check that a slot still has the changes from a position on.

    Raises:
        StateError: The changes are gone, or the slot is.
    """
    held = confirmed(connection, slot)
    if held is None or held > start:
        found = "is not there" if held is None else f"has only the changes from {text(held)} on"
        msg = (
            f"the slot {slot!r} of {where(connection.info.dsn)} {found}, and the checkpoint needs those from "
            f"{text(start)} on: they are lost. Start over with an empty checkpoint and another slot"
        )
        raise StateError(msg)


def read(connection: Connection, slot: str, publication: str, end: int) -> Iterator[tuple[bytes]]:
    """The messages of a slot up to a position, and possibly some more.

    Cost: the server decodes the log from the confirmed position on, and holds the messages, in a file if there are
    many.
    """
    with connection.transaction(), connection.cursor(name="livejoin_changes", binary=True) as cursor:
        cursor.itersize = _FETCHED
        cursor.execute(_PEEK, (slot, text(end), publication))
        yield from cursor


def position_behind(connection: Connection, slot: str, publication: str, start: int, end: int, most: int) -> int:
    """A position up to which there are at most ``most`` changes, in whole transactions.

    Args:
        connection: The database.
        slot: The slot.
        publication: The publication.
        start: The position from which on changes count.
        end: A later position; given back if there are not more changes before it.
        most: The most changes. A transaction with more is taken alone.

    Cost: the server decodes that part of the log once more, without sending it.
    """
    asked = most * _OF_A_CHANGE
    while True:
        at, changes, messages = start, 0, 0
        with connection.transaction(), connection.cursor(name="livejoin_kinds", binary=True) as cursor:
            cursor.itersize = _FETCHED
            cursor.execute(_KINDS, (slot, text(end), asked, publication))
            of_transaction = 0
            for kind, places in cursor:
                messages += 1
                if kind in b"IUD":
                    of_transaction += 1
                elif kind == ord("C"):
                    commit, behind = _COMMIT.unpack(places)
                    if commit >= end:
                        return end
                    if commit >= start:
                        if changes and changes + of_transaction > most:
                            return at
                        at, changes = behind, changes + of_transaction
                    of_transaction = 0
        if messages < asked:  # that is all there is
            return end
        if changes >= most:
            return at
        asked *= 2  # some of what was there is before the start


def advance(connection: Connection, slot: str, position: int) -> None:
    """Let the server forget the changes before a position."""
    held = confirmed(connection, slot)
    if held is not None and held < position:
        connection.execute("SELECT pg_replication_slot_advance(%s, %s::pg_lsn)", (slot, text(position)))


def drop(connection: Connection, slot: str) -> None:
    """Drop a slot if it is there."""
    connection.execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", (slot,)
    )


def created(walsender: Connection, conninfo: str, slot: str) -> tuple[int, str]:
    """Make a temporary slot; gives its position and the name of a snapshot of the database at that position.

    Law: the rows in the snapshot and the changes of the slot are all changes, none of them twice.

    Args:
        walsender: A connection for replication; the slot and the snapshot end with it.
        conninfo: The database.
        slot: The slot.

    Raises:
        StorageError: The server refuses: ``wal_level`` is below ``logical``, no slot is left, or the user lacks the
            attribute REPLICATION.
    """
    # The statements of a replication connection go by the simple protocol, which psycopg's cursors do not speak.
    statement = sql.SQL("CREATE_REPLICATION_SLOT {} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT")
    result = walsender.pgconn.exec_(statement.format(sql.Identifier(slot)).as_bytes(walsender))
    if result.status != ExecStatus.TUPLES_OK:
        msg = (
            f"PostgreSQL at {where(conninfo)} does not make the slot {slot!r}: "
            f"{' '.join(result.get_error_message().split())}. It needs wal_level = logical, two slots that are free "
            "(max_replication_slots; one is for the first batches alone) and a user with the attribute REPLICATION"
        )
        raise StorageError(msg)
    position, snapshot = result.get_value(0, 1), result.get_value(0, 2)
    assert position is not None and snapshot is not None
    return number(position.decode()), snapshot.decode()


def copy(connection: Connection, temporary: str, slot: str) -> None:
    """Make a permanent slot at the position of a temporary one."""
    connection.execute("SELECT pg_copy_logical_replication_slot(%s, %s, false)", (temporary, slot))


def number(position: str) -> int:
    """A position as an integer.

    >>> number("1/A0"), text(4294967456)
    (4294967456, '1/A0')
    """
    high, _, low = position.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def text(position: int) -> str:
    """A position as PostgreSQL writes it."""
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


def _asked(connection: Connection, question: str) -> int:
    found = connection.execute(question).fetchone()
    assert found is not None
    return number(found[0])
