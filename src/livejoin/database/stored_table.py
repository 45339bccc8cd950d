"""A table of a database: its declaration, and its rows as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from livejoin.database.transactions.guard import alone
from livejoin.database.versions.readable import Readable
from livejoin.database.versions.snapshot import Snapshot
from livejoin.errors import ReadError
from livejoin.schema import Table
from livejoin.state.trusted_table import TrustedTable

if TYPE_CHECKING:
    from livejoin.database.contents import Contents
    from livejoin.database.transactions.guard import Guard


class StoredTable(Table, Readable):
    """A table of a database, as `Database.tables` gives it. Its rows are read as those of a view.

    It equals its declaration, and a copy by `pickle` is the declaration alone. The declaration is that of the moment at
    which it was asked for; the rows are those of the moment at which they are read.

    >>> from livejoin import Database
    >>> db = Database()
    >>> db.execute("CREATE TABLE stock (item STRING PRIMARY KEY, pieces INT)")
    >>> _ = db.apply("stock", [("nuts", 7)])
    >>> len(db.tables["stock"]), db.tables["stock"].to_pylist(), list(db.tables["stock"])
    (1, [{'item': 'nuts', 'pieces': 7}], [('nuts', 7)])
    """

    declaration: Table
    """The declaration alone."""

    @staticmethod
    def of(declaration: Table, contents: Contents) -> StoredTable:
        """The table of a declaration.

        Args:
            declaration: The declaration.
            contents: The contents of the database that has the table.
        """
        found = object.__new__(StoredTable)  # the declaration was checked when it was made
        found.__dict__.update(declaration.__dict__, declaration=declaration, _contents=contents)
        return found

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return self.arrow

    def to_arrow(self) -> pa.Table:
        """All rows; one of multiplicity m stands there m times.

        Raises:
            ReadError: The table was dropped or renamed.
            StateError: The database is closed.

        Cost: O(rows), as of a `Snapshot`. One row by its key is cheaper by ``db.sql("SELECT ... WHERE key = ?", [7])``.
        """
        with Snapshot(self._contents) as at:
            found = at.tables.get(self.name)
            if found is None:
                raise ReadError(self._gone())
            return found.to_arrow()

    @alone
    def count(self) -> int:
        """Rows, counted with multiplicities.

        Raises:
            ReadError: The table was dropped or renamed, or keeps no rows.

        Cost: O(1).
        """
        base = self._contents.tables.get(self.name.lower())
        if base is None:
            raise ReadError(self._gone())
        if isinstance(base, TrustedTable):
            raise base.unread()
        return base.total

    def __len__(self) -> int:
        """As `count`. What is empty is false, as an empty list is."""
        return self.count()

    def __eq__(self, other: object) -> bool:
        """Whether two tables are declared alike."""
        return isinstance(other, Table) and self.declaration == getattr(other, "declaration", other)

    def __hash__(self) -> int:
        return hash(self.declaration)

    def __reduce__(self) -> Any:
        return _itself, (self.declaration,)

    @property
    def _guard(self) -> Guard:
        return self._contents.guard

    def _gone(self) -> str:
        known = ", ".join(base.table.name for base in self._contents.tables.values()) or "none"
        return f"there is no table {self.name!r} any more; known are {known}"

    _contents: Contents


def _itself(declaration: Table) -> Table:
    """A declaration, for `pickle`."""
    return declaration
