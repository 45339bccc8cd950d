"""The one error tree of livejoin.

Every message names what was found, where it was found, what is allowed there and what to do next::

    LivejoinError
    ├── SqlError                      a SQL text; carries `sql`, `line` and `column`
    │   ├── SqlSyntaxError            the text does not parse
    │   ├── UnknownNameError          a table, column or alias that does not exist, or is ambiguous
    │   ├── SqlTypeError              an expression whose types do not fit
    │   └── UnsupportedQueryError     a query outside of what livejoin maintains; carries `clause`
    ├── SchemaError                   a table or view declaration, or a name that the database does not know
    ├── AbsentNameError               a name that a mapping such as `Database.views` lacks; a KeyError too
    ├── ChangeError                   a change that cannot be applied; nothing of its commit was applied
    │   ├── ChangeFormatError         missing, unknown or malformed columns; a bad `_change_type`
    │   ├── ChangeValueError          a value outside of its column's type; NULL where it is not allowed
    │   ├── AbsentRowError            the deletion of a row that is not there
    │   ├── DuplicateKeyError         a second row with the same primary key, or values of UNIQUE
    │   └── ViolationError            an assertion that would not hold; carries `assertion`, `rows` and `count`
    ├── ExpressionError               a predicate or scalar expression has no value on the data
    ├── ReadError                     a result that cannot be read in this way or any more
    │   └── AbsentIndexError          a look-up by columns for which a view keeps no index
    ├── StateError                    a snapshot that does not belong to this database or version, or is damaged
    ├── StorageError                  the disk or the system refused to read or write; the cause is chained
    ├── PipelineError                 a pipeline file; carries `path`, `key` and `line`
    ├── WeakGuaranteeError            a query whose plan promises less than was asked for
    ├── CapacityError                 a size beyond what the state can address
    │   ├── PreprocessingLimitError   static tables that join to more rows than ``preprocessing_limit``
    │   └── MemoryLimitError          memory beyond the database's ``memory_limit``; nothing was changed
    └── ServerError                   a server that refuses a request or fails; carries `kind` and `status`
        └── UnreachableError          a server that did not answer, however often it was asked

`livejoin.spark.QueryFailedError` is the end of a query on Spark by one of these, and is an error of PySpark, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from typing import Any

_LONGEST_LINE = 400  # characters of a line of SQL that an error shows, around its place


class LivejoinError(Exception):
    """Root of every error that livejoin raises on purpose."""


class SqlError(LivejoinError):
    """An error at a position of a SQL text.

    Args:
        message: The text of the error: what was found and what is allowed.
        sql: The whole SQL text.
        line: One-based line of the offending token, 0 if unknown.
        column: One-based column of the offending token, 0 if unknown.
    """

    def __init__(self, message: str, sql: str = "", line: int = 0, column: int = 0) -> None:
        self.message = message
        self.sql = sql
        self.line = line
        self.column = column
        super().__init__(self._render())

    def move(self, message: str, sql: str, line: int, column: int) -> None:
        """Say the error of another text, in which its own stands; the arguments are those of the class."""
        self.message, self.sql, self.line, self.column = message, sql, line, column
        self.args = (self._render(),)

    def _render(self) -> str:
        if not self.line:
            return self.message
        lines = self.sql.splitlines()
        source = lines[self.line - 1] if self.line <= len(lines) else ""
        place = self.column - 1
        if len(source) > _LONGEST_LINE:
            begin = max(0, place - _LONGEST_LINE // 2)
            before, behind = "... " if begin else "", " ..." if begin + _LONGEST_LINE < len(source) else ""
            source = f"{before}{source[begin : begin + _LONGEST_LINE]}{behind}"
            place += len(before) - begin
        caret = " " * place + "^"
        return f"{self.message}\n  at line {self.line}, column {self.column}:\n    {source}\n    {caret}"


class SqlSyntaxError(SqlError):
    """The SQL text does not parse."""


class UnknownNameError(SqlError):
    """A table, column or alias that does not exist or is ambiguous."""


class SqlTypeError(SqlError):
    """An expression whose types do not fit together."""


class UnsupportedQueryError(SqlError):
    """A query that livejoin does not maintain. Its last line names the page of the manual with all refusals.

    Args:
        clause: The clause that livejoin does not maintain, for example ``GROUP BY``.
    """

    def __init__(self, message: str, sql: str = "", line: int = 0, column: int = 0, clause: str = "") -> None:
        self.clause = clause
        super().__init__(message, sql, line, column)

    def _render(self) -> str:
        return f"{super()._render()}\n  see: livejoin docs refused"


class SchemaError(LivejoinError):
    """A declaration that is contradictory or refused, or a name that the database does not know."""


class AbsentNameError(LivejoinError, KeyError):
    """A mapping by name, such as ``db.views``, has no such name."""

    def __str__(self) -> str:
        return str(self.args[0])


class ChangeError(LivejoinError):
    """A change that cannot be applied; nothing of its commit was applied.

    Args:
        message: The text of the error: what was found and what is allowed.
        table: The table, empty if unknown.
        row: Zero-based position of the change in the data given for the table, -1 if unknown.
    """

    def __init__(self, message: str, table: str = "", row: int = -1) -> None:
        self.message = message
        self.table = table
        self.row = row
        where = f"table {table!r}" if table else ""
        if row >= 0:
            where += f", row {row} of the given changes" if where else f"row {row} of the given changes"
        super().__init__(f"{where}: {message}" if where else message)

    def of_row(self, shown: str) -> Self:
        """The same error of a row that is named by what is in it: of SQL nobody sees the changes that it makes."""
        where = f"table {self.table!r}, the row with {shown}: " if self.table else ""
        self.row, self.args = -1, (f"{where}{self.message}",)
        return self


class ChangeFormatError(ChangeError):
    """Columns that are missing, unknown or malformed, or a bad ``_change_type``."""


class ChangeValueError(ChangeError):
    """A value outside of its column's type, or NULL where it is not allowed."""


class AbsentRowError(ChangeError):
    """The deletion of a row that is not in the table."""


class DuplicateKeyError(ChangeError):
    """A second row with the same PRIMARY KEY, or with the same values in columns that are UNIQUE."""


class ViolationError(ChangeError):
    """A commit, or what is there, for which an assertion does not hold.

    Args:
        message: The text of the error.
        table: The table of whose FOREIGN KEY the assertion is, empty if it is none.
        row: As for `ChangeError`.
        assertion: The name of the assertion.
        count: How many rows violate it.
        rows: The first 100 of them, a ``pyarrow.Table``; from a server a list of dicts, and None for those who may not
            read the assertion.
    """

    def __init__(
        self, message: str, table: str = "", row: int = -1, *, assertion: str = "", count: int = 0, rows: object = None
    ) -> None:
        self.assertion = assertion
        self.count = count
        self.rows: Any = rows
        super().__init__(message, table, row)

    def with_more(self, more: str) -> ViolationError:
        """The same error with a longer message."""
        of = {"assertion": self.assertion, "count": self.count, "rows": self.rows}
        return ViolationError(self.message + more, self.table, self.row, **of)


class ExpressionError(LivejoinError):
    """A predicate or expression that fails on a row, such as an overflow, or that livejoin does not evaluate.

    Args:
        message: The text of the error: which expression, of which row, and why.
        part: The text of the part that fails; empty if it is not known.
    """

    def __init__(self, message: str, part: str = "") -> None:
        self.part = part
        super().__init__(message)


class ReadError(LivejoinError):
    """A result that cannot be read in this way, or not any more."""


class AbsentIndexError(ReadError):
    """A look-up by columns for which a view keeps no index."""


class StateError(LivejoinError):
    """A snapshot that does not belong to this database or version, or is damaged."""


class StorageError(LivejoinError):
    """The disk or the system refused to read or write; ``__cause__`` is the system's error. Old data stays."""


class PipelineError(LivejoinError):
    """A pipeline file that is not valid.

    Args:
        message: The text of the error: what was found and what is allowed.
        path: The file.
        key: The dotted key, for example ``tables.G.window_rows``.
        line: One-based line of the key, 0 if unknown.
    """

    def __init__(self, message: str, path: str = "", key: str = "", line: int = 0) -> None:
        self.path = path
        self.key = key
        self.line = line
        where = f"{path}:{line}" if line else path
        named = f"{key}: " if key else ""
        super().__init__(f"{where}: {named}{message}" if where else f"{named}{message}")


class WeakGuaranteeError(LivejoinError):
    """A query whose plan cannot promise the update cost that was asked for."""


class CapacityError(LivejoinError):
    """A size beyond 64 bits, or beyond the memory or rows that are allowed."""


class PreprocessingLimitError(CapacityError):
    """Static tables that are joined to more rows than ``preprocessing_limit`` allows; nothing was changed."""


class MemoryLimitError(CapacityError):
    """Memory beyond the ``memory_limit`` of the database, with the parts that take most; nothing was changed."""


class ServerError(LivejoinError):
    """An answer of a server that is no error of a database: a token that is missing, a server that is busy or fails.

    Args:
        message: The text of the error.
        kind: The name of the error in the server, empty if unknown.
        status: The status of HTTP, 0 if there was no answer.
    """

    def __init__(self, message: str, kind: str = "", status: int = 0) -> None:
        self.kind = kind
        self.status = status
        super().__init__(message)


class UnreachableError(ServerError):
    """A server that cannot be reached, or whose answer did not come; ``__cause__`` is the system's error."""
