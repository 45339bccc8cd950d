"""A view as it was, and what happened between two versions, as far as its history reaches.

Law: the rows as of a version, and the net change from it to a later one, are the rows as of that one. A replay makes
many versions in one step of the chain; its delta says of each row at which of them it came or went, so that these can
be told apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database.transactions.guard import alone
from livejoin.database.versions.links import Link
from livejoin.database.versions.rolling import netted, rolled
from livejoin.dataflow.of_view import of_view
from livejoin.errors import ReadError
from livejoin.schema import COMMIT_VERSION

if TYPE_CHECKING:
    from livejoin.database.transactions.guard import Guard
    from livejoin.database.versions.images import Images
    from livejoin.database.versions.shape import Shape

KEEP = "view.keep_history(rows=N) keeps what comes from then on"
"""What helps where there is no history, in the process of the database; a server says what helps its clients."""


class Past:
    """The versions of a view that were.

    Args:
        name: The view's name.
        images: Makes the rows of versions.
        shape: The columns and the order of the view.
        schema: The schema of the view's deltas.
    """

    def __init__(self, name: str, images: Images, shape: Shape, schema: pa.Schema) -> None:
        self._name = name
        self._key = name.lower()
        self._images = images
        self._shape = shape
        self._schema = schema

    @property
    def _guard(self) -> Guard:
        return self._images.guard

    def link(self, version: int) -> Link:
        """The place of a version in the chain; its image has the rows if the version is in the middle of a replay.

        Raises:
            ReadError: The history does not reach there, or the version is not there yet.

        Cost: O(versions since then); in the middle of a replay also that of its rows.
        """
        link = self._known(version, in_order=True)
        step = link.step
        if step is None or link.version == version:
            return link
        if step.rows is None:
            return self._unknown_within(link, version)
        with of_view(self._name):
            delta = step.rows.table()
        part = delta.filter(pc.less_equal(delta[COMMIT_VERSION], version))
        if not part.num_rows:
            return link
        found = Link(version, link.place)
        rows = self._images.image(self._key, link, self._shape)
        found.image = self._shape.ordered(rolled(rows, [part], self._shape.types))
        return found

    def _unknown_within(self, link: Link, version: int) -> Link:
        assert link.step is not None
        if link.step.link.version > version and link.step.delta is not None:
            with of_view(self._name):
                versions = link.step.delta.table()[COMMIT_VERSION]
            if not pc.any(pc.less_equal(versions, version)).as_py():
                return link
        msg = f"view {self._name!r} cannot be read as of version {version}: what its order needs is not in the history"
        raise ReadError(msg)

    def between(self, first: int, last: int) -> pa.Table:
        """The net change from one version to a later one; deletions come first.

        Raises:
            ReadError: As for `link`.

        Cost: O(versions since the first one, and rows of their deltas).
        """
        link, deltas = self._known(first), []
        while link.step is not None and link.version < last:
            step = link.step
            if step.delta is None:
                msg = f"view {self._name!r} was created with deltas=False, and nothing says what changed in it"
                raise ReadError(msg)
            with of_view(self._name):
                delta = step.delta.table()
            versions = delta[COMMIT_VERSION]
            is_within = pc.and_(pc.greater(versions, first), pc.less_equal(versions, last))
            if (delta := delta.filter(is_within)).num_rows:
                deltas.append(delta)
            link = step.link
        if not deltas:
            return self._schema.empty_table()
        return netted(deltas, self._shape.types[: len(self._shape.schema)])

    @alone
    def _known(self, version: int, *, in_order: bool = False) -> Link:
        images = self._images
        images.make_told()
        if version > images.version:
            msg = f"version {version} is not there yet; the database is at version {images.version}"
            raise ReadError(msg)
        present = images.link(self._key)
        if (present.ordered_at if in_order else present.version) <= version:
            return present
        found = images.since(self._key, version, in_order=in_order)
        if found is None:
            oldest = images.oldest(self._key)
            if oldest is not None and oldest <= version:
                msg = (
                    f"view {self._name!r} cannot be read as of version {version}: it is ordered by columns that it "
                    "does not show, and the history in the folder has those that it shows; name them in SELECT too, or "
                    "follow by changes(since=...), which needs no order"
                )
                raise ReadError(msg)
            reach = "keeps no history" if oldest is None else f"has a history from version {oldest} on"
            msg = f"view {self._name!r} {reach}, and cannot be read as of version {version}; {KEEP}"
            raise ReadError(msg)
        return found
