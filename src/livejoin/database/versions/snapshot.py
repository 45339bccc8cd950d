"""All views and tables at one version, however many commits come meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from livejoin.database import reading
from livejoin.database.names import ByName
from livejoin.database.transactions.guard import alone
from livejoin.database.versions.images import Images
from livejoin.database.versions.links import Link
from livejoin.database.versions.queried import Named, queried, read_by
from livejoin.database.versions.readable import Readable
from livejoin.database.versions.shape import Shape
from livejoin.errors import ReadError

if TYPE_CHECKING:
    from livejoin.database.contents import Contents
    from livejoin.database.transactions.guard import Guard
    from livejoin.schema import SqlType


class RowsAt(Readable):
    """A view or a table at the version of a snapshot. May be read from any thread.

    Args:
        name: The name of the view or table.
        version: The version of the snapshot.
        link: The version in the chain of the view or table.
        shape: The columns and the order.
        images: Makes its rows.

    Attributes:
        name: As given.
        version: As given.
    """

    def __init__(self, name: str, version: int, link: Link, shape: Shape, images: Images) -> None:
        self.name = name
        self.version = version
        self._link: Link | None = link
        self._shape = shape
        self._images = images

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return self._shape.schema

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of the columns."""
        return self._shape.types[: len(self._shape.schema)]  # what is not shown comes behind

    @property
    def named(self) -> Named:
        """The rows as a query reads them."""
        count = partial(self._images.count, self.name.lower())
        return Named(self.name, self.schema, self.types, self.to_arrow, count)

    def to_arrow(self) -> pa.Table:
        """All rows; one of multiplicity m stands there m times.

        Raises:
            ReadError: The snapshot is closed. Or the view is gone, or keeps no deltas (``deltas=False``), and has
                changed since before anybody read it at this version.
            StateError: The database is closed, and nobody has read the rows before.

        Cost: the first reader of a version copies the rows, O(rows), or makes them from another version of them that
        somebody has read, with a look at each and O(rows that changed); who comes later gets the same table.
        """
        link = self._link
        if link is None:
            msg = f"the snapshot of version {self.version} is closed; read what you need within its block"
            raise ReadError(msg)
        return self._shape.shown(self._images.image(self.name.lower(), link, self._shape))

    def count(self) -> int:
        """Rows, counted with multiplicities; read whole first."""
        rows: int = self.to_arrow().num_rows
        return rows

    def __len__(self) -> int:
        """As `count`. What is empty is false, as an empty list is."""
        return self.count()

    def at(self, position: int) -> tuple[Any, ...]:
        """The row at a position of `to_arrow`; negative positions count from the end.

        Raises:
            ReadError: There is no such position, or the row has a value that Python cannot hold.
        """
        table = self.to_arrow()
        return reading.only_row(table.slice(reading.place_of(position, table.num_rows), 1))

    def sample(self, rows: int, seed: int | None = None) -> pa.Table:
        """Rows drawn uniformly and independently of each other; as `View.sample`, of rows that are read whole first."""
        table = self.to_arrow()
        return table.take(pa.array(reading.drawn(rows, seed, table.num_rows)))

    def __repr__(self) -> str:
        return f"RowsAt({self.name!r}, version={self.version})"

    def _close(self) -> None:
        self._link = None


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
