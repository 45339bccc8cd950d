"""livejoin keeps the result of a SQL query over changing tables up to date and says exactly what changed.

>>> import livejoin
>>> db = livejoin.Database()
>>> db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
>>> view = db.create_view("pairs", "SELECT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src")
>>> db.apply("G", [(1, 2), (2, 3)])["pairs"].to_pylist()
[{'src': 1, 'dst': 3, '_change_type': 'insert', '_commit_version': 1}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from livejoin import errors
from livejoin.aside import imported
from livejoin.errors import (
    AbsentIndexError,
    AbsentNameError,
    AbsentRowError,
    CapacityError,
    ChangeError,
    ChangeFormatError,
    ChangeValueError,
    DuplicateKeyError,
    ExpressionError,
    LivejoinError,
    MemoryLimitError,
    PipelineError,
    PreprocessingLimitError,
    ReadError,
    SchemaError,
    ServerError,
    SqlError,
    SqlSyntaxError,
    SqlTypeError,
    StateError,
    StorageError,
    UnknownNameError,
    UnreachableError,
    UnsupportedQueryError,
    ViolationError,
    WeakGuaranteeError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from livejoin.changes import from_debezium, from_debezium_topics, from_delta
    from livejoin.client import connect
    from livejoin.database import Changes, Commit, Database, Preview, Replay, RowsAt, Snapshot, Update, View

    __version__: str

_HOMES = {
    **dict.fromkeys(
        ("Changes", "Commit", "Database", "Preview", "Replay", "RowsAt", "Snapshot", "Update", "View"),
        "livejoin.database",
    ),
    **dict.fromkeys(("from_debezium", "from_debezium_topics", "from_delta"), "livejoin.changes"),
    "connect": "livejoin.client",
}

__all__ = [
    "AbsentIndexError",
    "AbsentNameError",
    "AbsentRowError",
    "CapacityError",
    "ChangeError",
    "ChangeFormatError",
    "ChangeValueError",
    "Changes",
    "Commit",
    "Database",
    "DuplicateKeyError",
    "ExpressionError",
    "LivejoinError",
    "MemoryLimitError",
    "PipelineError",
    "PreprocessingLimitError",
    "Preview",
    "ReadError",
    "Replay",
    "RowsAt",
    "SchemaError",
    "ServerError",
    "Snapshot",
    "SqlError",
    "SqlSyntaxError",
    "SqlTypeError",
    "StateError",
    "StorageError",
    "UnknownNameError",
    "UnreachableError",
    "UnsupportedQueryError",
    "Update",
    "View",
    "ViolationError",
    "WeakGuaranteeError",
    "__version__",
    "connect",
    "errors",
    "from_debezium",
    "from_debezium_topics",
    "from_delta",
    "open",
    "serve",
]


def open(folder: str | Path, **options: Any) -> Database:  # as of shelve, dbm and gzip
    """Open the database in a folder, which is made if it is missing: all that it is told stays there.

    Args:
        folder: The folder, or a URL in an object store, as ``s3://bucket/prefix``, with the extra ``livejoin[cloud]``.
            One database at a time has it open; `Database.close`, or leaving a ``with``, gives it back.
        options: As for `Database`: ``threads``, ``memory_limit``, ``spill``, ``sync`` and others.

    Raises:
        StateError, StorageError, SchemaError, MemoryLimitError: As for `Database`.

    Cost: O(rows), that of loading the views, and of the commits since the last snapshot, which is made in a process
    beside when there are 64 MB or 20,000 of them.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(folder) as db:
    ...     db.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, amount DOUBLE)")
    ...     view = db.create_view("total", "SELECT SUM(amount) AS total FROM orders")
    ...     _ = db.apply("orders", [(1, 20.0), (2, 22.0)])
    >>> with open(folder) as db:  # in another process, tomorrow
    ...     db.version, db.views["total"].to_arrow().to_pylist()
    (1, [{'total': 42.0}])
    """
    if folder is None:  # as where a variable of the environment is not set
        msg = "the folder is None; allowed is the path of one. A database that is not to stay is livejoin.Database()"
        raise errors.StateError(msg)
    database: type[Database] = __getattr__("Database")
    return database(folder, **options)


def serve(db: Database, **options: Any) -> None:
    """Serve a database over HTTP, until Ctrl-C or SIGTERM; needs ``pip install 'livejoin[serve]'``.

    Args:
        db: The database; it stays open afterwards.
        options: As for `livejoin.server.Server`: ``host``, ``port``, ``access``, ``limits`` and others.

    Raises:
        SchemaError: The address is not of this machine, and there are no tokens; or an option is wrong.
        StorageError: The port is taken.
        ImportError: The packages of the server are not installed.
    """
    imported("livejoin.server").serve(db, **options)


def __getattr__(name: str) -> Any:
    """Import the engine when it is first used: the compiler and Arrow take a second and 150 MB.

    The import runs where no signal arrives: after Ctrl-C in the middle, NumPy, Arrow or Numba cannot be imported again
    in the same process.
    """
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = getattr(imported(_HOMES[name]), name)
    globals()[name] = found
    return found


def _version() -> str:
    """The installed version. It is looked up on demand, because ``importlib.metadata`` is slow to import."""
    from importlib import metadata  # noqa: PLC0415

    try:
        return metadata.version("livejoin")
    except metadata.PackageNotFoundError:  # a source tree that is not installed
        return "0+unknown"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
