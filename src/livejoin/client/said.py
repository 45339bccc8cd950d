"""What a server says of its tables, its views and its commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from livejoin.errors import ServerError


@dataclass(frozen=True)
class ColumnInfo:
    """A column of a table or view.

    Args:
        name: The name.
        type: The type in SQL, as ``DECIMAL(10, 2)``.
        nullable: Whether it may be NULL.
    """

    name: str
    type: str
    nullable: bool


@dataclass(frozen=True)
class TableInfo:
    """A table.

    Args:
        name: The name.
        columns: The columns in their order.
        key: The columns of its PRIMARY KEY; None if it has none.
    """

    name: str
    columns: tuple[ColumnInfo, ...]
    key: tuple[str, ...] | None


@dataclass(frozen=True)
class ViewInfo:
    """A view.

    Args:
        name: The name.
        columns: The columns in their order.
        key: Columns on which no two rows agree; None if no such columns are known, empty if there is one row at most.
        sql: The query.
    """

    name: str
    columns: tuple[ColumnInfo, ...]
    key: tuple[str, ...] | None
    sql: str


@dataclass(frozen=True)
class Applied:
    """A commit that stands.

    Args:
        version: The version of the database behind it.
        changes: How many changes it had.
        ignored: How many were left out for ``on_conflict="ignore"`` or ``"update"``.
        late: How many came behind their window.
        bad_rows: How many were left out for ``on_bad_rows="skip"`` or ``"dead_letter"``.
        repeated: Whether it was done when it was sent before, and is not done again.
        dead_letters: The rows that were left out for ``on_bad_rows="dead_letter"``: table, row and reason.
    """

    version: int
    changes: int
    ignored: int = 0
    late: int = 0
    bad_rows: int = 0
    repeated: bool = False
    dead_letters: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Previewed:
    """What a commit would do, of `Client.preview`; nothing was done.

    Args:
        version: The version of the database that the changes were tried on.
        changes: How many changes the commit would have.
        ignored: How many would be left out for ``on_conflict="ignore"`` or ``"update"``.
        late: How many would come behind their window.
        deltas: The changes of each view that you may read, by its name: dicts with ``_change_type``, as in `changes`.
        violations: The assertions that would refuse the commit, each with its ``assertion`` and ``message``.
        bad_rows: How many would be left out for ``on_bad_rows="skip"`` or ``"dead_letter"``.
        dead_letters: The rows that would be left out for ``on_bad_rows="dead_letter"``: table, row and reason.
    """

    version: int
    changes: int
    ignored: int
    late: int
    deltas: Mapping[str, Sequence[Mapping[str, Any]]]
    violations: tuple[Mapping[str, Any], ...] = ()
    bad_rows: int = 0
    dead_letters: tuple[Mapping[str, Any], ...] = ()


def read_previewed(said: Any) -> Previewed:
    """What a commit would do, as the server says it.

    Raises:
        ServerError: The server says something else.
    """
    try:
        return Previewed(
            int(said["version"]),
            int(said["changes"]),
            int(said["ignored"]),
            int(said["late"]),
            dict(said["deltas"]),
            tuple(said.get("violations", ())),
            int(said.get("bad_rows", 0)),
            tuple(said.get("dead_letters", ())),
        )
    except _WRONG as error:
        raise _other(said) from error


def read_applied(said: Any) -> Applied:
    """A commit, as the server says it.

    Raises:
        ServerError: The server says something else.
    """
    try:
        return Applied(
            int(said["version"]),
            int(said["changes"]),
            int(said.get("ignored", 0)),
            int(said.get("late", 0)),
            int(said.get("bad_rows", 0)),
            bool(said.get("repeated", False)),
            tuple(said.get("dead_letters", ())),
        )
    except _WRONG as error:
        raise _other(said) from error


def read_tables(said: Any) -> dict[str, TableInfo]:
    """Tables by their names, as the server says them.

    Raises:
        ServerError: The server says something else.
    """
    try:
        found = [TableInfo(str(one["name"]), _columns(one), _key(one)) for one in said["tables"]]
    except _WRONG as error:
        raise _other(said) from error
    return {one.name: one for one in found}


def read_views(said: Any) -> dict[str, ViewInfo]:
    """Views by their names, as the server says them.

    Raises:
        ServerError: The server says something else.
    """
    try:
        found = [ViewInfo(str(one["name"]), _columns(one), _key(one), str(one["sql"])) for one in said["views"]]
    except _WRONG as error:
        raise _other(said) from error
    return {one.name: one for one in found}


_WRONG = (LookupError, TypeError, ValueError, AttributeError)


def _columns(said: Any) -> tuple[ColumnInfo, ...]:
    return tuple(ColumnInfo(str(one["name"]), str(one["type"]), bool(one["nullable"])) for one in said["columns"])


def _key(said: Any) -> tuple[str, ...] | None:
    return None if said["key"] is None else tuple(map(str, said["key"]))


def _other(said: Any) -> ServerError:
    msg = f"the server answered {str(said)[:200]!r}, which this client does not understand; are both of one release?"
    return ServerError(msg)
