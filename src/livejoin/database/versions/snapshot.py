"""All views and tables at one version, however many commits come meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from livejoin.database.names import ByName
from livejoin.database.transactions.guard import alone
from livejoin.database.versions.images import Images
from livejoin.database.versions.queried import queried, read_by
from livejoin.database.versions.rows_at import RowsAt
from livejoin.errors import ReadError

if TYPE_CHECKING:
    from livejoin.database.contents import Contents
    from livejoin.database.transactions.guard import Guard


class Snapshot:
    """All views and tables at one version; made by `Database.snapshot`. May be used from any thread.

    Taking one copies nothing. As long as it is open, each commit keeps the deltas that it makes, until the snapshot is
    closed or gone.

    Args:
        contents: The database's contents.

    Attributes:
        version: The version of the database that is read.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._images = Images(contents)
        self.version = 0
        self._views: Mapping[str, RowsAt] = {}
        self._tables: Mapping[str, RowsAt] = {}
        self._take()

    @property
    def _guard(self) -> Guard:
        return self._contents.guard

    @alone
    def _take(self) -> None:
        contents = self._contents
        self.version = contents.version
        self._views = ByName((view.name, self._rows(view.name)) for view in contents.views.values())
        self._tables = ByName((base.table.name, self._rows(base.table.name)) for base in contents.tables.values())

    def _rows(self, name: str) -> RowsAt:
        link, shape = self._images.link(name.lower()), self._images.shape(name.lower())
        return RowsAt(name, self.version, link, shape, self._images)

    @property
    def views(self) -> Mapping[str, RowsAt]:
        """The views by name."""
        return self._views

    @property
    def tables(self) -> Mapping[str, RowsAt]:
        """The tables by name."""
        return self._tables

    def __getitem__(self, name: str) -> RowsAt:
        """A view or a table.

        Raises:
            ReadError: There was none of this name.
        """
        for named in (self._views, self._tables):
            if isinstance(name, str) and name in named:
                return named[name]
        known = ", ".join([*self._views, *self._tables]) or "none"
        msg = f"there is no view or table {name!r} at version {self.version}; known are {known}"
        raise ReadError(msg)

    def sql(self, query: str, parameters: Any = None) -> pa.Table:
        """The result of a query over the views and tables at this version; the database goes on meanwhile.

        Args:
            query: A SELECT, as for `livejoin.Database.sql`.
            parameters: The values of ``?`` in a list, or of ``:name`` in a dict.

        Raises:
            SqlError: The text is no query, is wrong, or is outside of what livejoin has.
            ReadError: As for `RowsAt.to_arrow` of what the query names; or that has a column of a type that no table
                can have, as a list that an aggregate made.
            ExpressionError: An expression has no value on some row.

        Cost: O(rows of the views and tables that it names, and result).
        """
        named = {**self._tables, **self._views}
        return queried(query, parameters, read_by(query, {name: one.named for name, one in named.items()}))[0]

    def close(self) -> None:
        """Let go of the version: nothing is kept for it from now on. Once more changes nothing."""
        for rows in (*self._views.values(), *self._tables.values()):
            rows._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Snapshot(version={self.version}, {len(self._views)} views, {len(self._tables)} tables)"
