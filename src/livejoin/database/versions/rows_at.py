"""The rows of a view or a table at one version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from livejoin.database import reading
from livejoin.database.arguments import check_number
from livejoin.database.reading import MOST_AT_ONCE, no_order
from livejoin.database.versions.links import Link
from livejoin.database.versions.readable import Readable
from livejoin.database.versions.shape import Shape
from livejoin.errors import AbsentIndexError, MemoryLimitError, ReadError

if TYPE_CHECKING:
    from livejoin.changes import Coerce
    from livejoin.database.versions.images import Images
    from livejoin.database.view import View
    from livejoin.schema import SqlType

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Named:
    """Rows that a query may name.

    Args:
        name: The name.
        schema: The columns.
        types: The types of the columns.
        read: Reads the rows.
        count: Counts the rows of the present version, without reading them; None if they are there already.
    """

    name: str
    schema: pa.Schema
    types: tuple[SqlType, ...]
    read: Callable[[], pa.Table]
    count: Callable[[], int] | None = None


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
        link = self._open_link()
        return self._shape.shown(self._images.image(self.name.lower(), link, self._shape))

    def count(self) -> int:
        """Rows, counted with multiplicities, by a view that has not changed since; else they are read whole."""
        counted = None if self._is_read else self._asked(lambda view: view.count() if view.deltas else None)
        return self.to_arrow().num_rows if counted is None else counted

    def __len__(self) -> int:
        """As `count`. What is empty is false, as an empty list is."""
        return self.count()

    def at(self, position: int) -> tuple[Any, ...]:
        """The row at a position of `to_arrow`; negative positions count from the end.

        Raises:
            ReadError: There is no such position, or the row has a value that Python cannot hold.
            MemoryLimitError: All rows do not fit into the memory that there may be, and the view has changed since.
        """
        try:
            table = self.to_arrow()
        except MemoryLimitError:
            found = self._asked(lambda view: view.at(position))
            if found is None:
                raise
            return found
        return reading.only_row(table.slice(reading.place_of(position, table.num_rows), 1))

    def top(self, rows: int) -> pa.Table:
        """The first rows of a view with ORDER BY, in this order; all of them if there are fewer.

        Raises:
            ReadError: The view has no ORDER BY, or the number is none.
            MemoryLimitError: All rows do not fit into the memory that there may be.

        Cost: as for `to_arrow`.
        """
        check_number(rows, "rows", 0, MOST_AT_ONCE)
        if not self._shape.order:
            raise ReadError(no_order(self.name))
        return self.to_arrow().slice(0, rows).combine_chunks()

    def sample(self, rows: int, seed: int | None = None) -> pa.Table:
        """Rows drawn uniformly and independently of each other; as `View.sample`.

        A view that has not changed since draws them; else they are read whole.
        """
        drawn = None if self._is_read else self._asked(lambda view: view.sample(rows, seed=seed))
        if drawn is not None:
            return drawn
        table = self.to_arrow()
        return table.take(pa.array(reading.drawn(rows, seed, table.num_rows)))

    def get(self, key: Any) -> tuple[Any, ...] | None:
        """The row with a key, or None; as `View.get`, as long as the view has not changed since.

        Raises:
            AbsentIndexError: The view has changed, or this is a table: only present rows of views have indexes.
            ReadError: As for `View.get`.
        """
        found = self._asked(lambda view: (view.get(key),))
        if found is None:
            raise AbsentIndexError(self._no_index())
        return found[0]

    def lookup(
        self, values: Mapping[str, Any] | None = None, /, *, coerce: Coerce = "strict", **columns: Any
    ) -> pa.Table:
        """The rows with some values; as `View.lookup`, as long as the view has not changed since.

        Raises:
            AbsentIndexError: The view has changed, or this is a table: only present rows of views have indexes.
            ReadError: As for `View.lookup`.
        """
        found = self._asked(lambda view: view.lookup(values, coerce=coerce, **columns))
        if found is None:
            raise AbsentIndexError(self._no_index())
        return found

    def _asked(self, ask: Callable[[View], T]) -> T | None:
        """What the view says, if it has not changed since; None if it has, or is a table.

        Args:
            ask: Asks the view.
        """
        return self._images.asked_now(self.name.lower(), self._open_link(), ask)

    @property
    def _is_read(self) -> bool:
        """Whether somebody has read all rows at this version."""
        return self._open_link().image is not None

    def _open_link(self) -> Link:
        link = self._link
        if link is None:
            msg = f"the snapshot of version {self.version} is closed; read what you need within its block"
            raise ReadError(msg)
        return link

    def _no_index(self) -> str:
        return (
            f"{self.name!r} at version {self.version} has no index: those of a view lead to its present rows, and it "
            "has changed since, or is a table. Read all rows by to_arrow() and filter them, ask "
            "snapshot.sql('SELECT ... WHERE ...'), or look up in the view itself, which has its present rows"
        )

    def __repr__(self) -> str:
        return f"RowsAt({self.name!r}, version={self.version})"

    def _close(self) -> None:
        self._link = None
