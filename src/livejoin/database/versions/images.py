"""Images: the rows of a view or a table at a version, read once and shared.

Words are copied under the lock of the database, and become Arrow outside of it. An image of another version is made
from one that is there, by the steps between the two (`livejoin.database.versions.rolling`), without the lock.
"""

from __future__ import annotations

import weakref
from contextlib import nullcontext
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from livejoin.database.durable.history import StoredDelta
from livejoin.database.transactions.guard import alone
from livejoin.database.versions.links import Link, Links, Step, Stepped, between, pays
from livejoin.database.versions.rolling import CHUNK, rolled
from livejoin.database.versions.shape import Shape, shape_of_table
from livejoin.dataflow.batches import Rows
from livejoin.dataflow.blocks.block import Change, RowChange
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.deltas.arrow_delta import MarkedRows
from livejoin.dataflow.deltas.repeated import repeated
from livejoin.dataflow.deltas.view_delta import MemoryDelta, ViewDelta, tables_of
from livejoin.dataflow.node import Node
from livejoin.dataflow.of_view import of_view
from livejoin.errors import ReadError
from livejoin.kernels.compiling import python_lock
from livejoin.schema import Table
from livejoin.state.budget import SMALL
from livejoin.words import WORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from livejoin.database.contents import Contents
    from livejoin.database.transactions.guard import Guard
    from livejoin.database.versions.following import Changes
    from livejoin.database.view import View
    from livejoin.words import Words

T = TypeVar("T")

_SOON_COPIED = 16  # chunks, whose words are copied in a millisecond or two
_SHARE = 8  # of the memory limit, that the deltas of a chain may take
_WORD_BYTES = 16  # of a value, about


class Images:
    """The images of a database's views and tables.

    Args:
        contents: The database's contents.
    """

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self._waited_for: tuple[weakref.ref[Changes], ...] = ()
        self._shapes: dict[str, tuple[Table, Shape]] = {}  # of tables, by name in lower case

    def wait_for(self, changes: Changes) -> None:
        """Let commits wait where too much waits for one who follows, while it is there; called with the lock held."""
        self._waited_for = (*(one for one in self._waited_for if one() is not None), weakref.ref(changes))
        self.guard.room = self._make_room

    def _make_room(self) -> None:
        """Wait for those who follow, in a thread that is to commit and holds no lock.

        Raises:
            ChangeError: The thread is the one that reads what waits.
        """
        for known in self._waited_for:
            changes = known()
            if changes is not None:
                changes.make_room()

    @property
    def guard(self) -> Guard:
        """Lets one call of the database run at a time."""
        return self.contents.guard

    @property
    def _guard(self) -> Guard:
        return self.contents.guard

    @property
    def links(self) -> Links:
        """The chains of versions."""
        return self.contents.links

    @property
    def version(self) -> int:
        """The present version of the database."""
        return self.contents.version

    def keep(self, name: str, rows: int) -> None:
        """As `livejoin.database.view.View.keep_history`, by the name in lower case; called with the lock held."""
        contents = self.contents
        if contents.log is None:
            self.links.keep(name, self.link(name), rows)
        else:
            contents.keep_history(name, rows)

    def kept(self, name: str) -> int:
        """As `livejoin.database.view.View.history`, by the name in lower case; called with the lock held."""
        if name in self.contents.histories:
            return self.contents.histories[name].limit
        return self.links.kept[name][1] if name in self.links.kept else 0

    def oldest(self, name: str) -> int | None:
        """The first version of a view that can be told; None if it keeps no history. Called with the lock held."""
        if name in self.contents.histories:
            return self.contents.histories[name].base
        return self.links.kept[name][0].version if name in self.links.kept else None

    def since(self, name: str, version: int, *, in_order: bool = False) -> Link | None:
        """The link whose rows were those of a version; None if nobody has it any more. Called with the lock held.

        Args:
            name: The view's name in lower case.
            version: A version that was.
            in_order: Whether the order of the rows counts too. The history in a folder has the columns that the view
                shows, and does not tell an order by others.

        Cost: O(versions since then).
        """
        found = self.links.since(name, version, in_order=in_order)
        if found is None and name in self.contents.histories and not (in_order and self.shape(name).is_below):
            return self._stored(name, version)
        return found

    def _stored(self, name: str, version: int) -> Link | None:
        """A chain of the deltas that the folder has since a version, up to the first link that somebody holds."""
        tip = self.link(name)
        link = self.links.first(name) or tip
        pieces = self.contents.histories[name].since(version)
        if pieces is None:
            return None
        while link.step is not None and link.step.link.version <= version:
            link = link.step.link
        if link.version <= version:
            return link
        view, is_below = self.contents.views[name], self.shape(name).is_below
        for number in range(len(pieces) - 1, -1, -1):
            piece = pieces[number]
            if piece.version <= link.version:
                begins = pieces[number - 1].version if number else min(version, piece.first)
                before = Link(begins, 0, link.total - piece.rows, link.ordered_at if is_below else None)
                delta = StoredDelta(piece, view.types, view.delta_schema)
                before.step = Step(delta, None if is_below else delta, link)
                link = before
        return link

    def make_told(self) -> None:
        """Make the present version durable, if who reads it is to be told no other; called with the lock held.

        Raises:
            StorageError: The disk refused.
        """
        log = self.contents.log
        if log is not None and log.told < log.written:
            log.sync()

    def is_told(self, link: Link) -> bool:
        """Whether a version is durable, or need not be."""
        log = self.contents.log
        return log is None or link.place <= log.told

    def is_open(self) -> bool:
        """Whether there may be further versions.

        Raises:
            StorageError: The log has failed.
        """
        contents = self.contents
        if contents.is_closed:
            return False
        if contents.log is not None and contents.log.has_failed:
            contents.log.refuse()
        return True

    def shape(self, name: str) -> Shape:
        """The shape of a view or table.

        Args:
            name: The name in lower case.
        """
        contents = self.contents
        if name in contents.views:
            return contents.views[name].shape
        table = contents.tables[name].table
        known = self._shapes.get(name)
        if known is None or known[0] is not table:  # it was altered, or is another one of the name
            known = self._shapes[name] = table, shape_of_table(table)
        return known[1]

    def view(self, name: str) -> View | None:
        """A view, by its name in lower case; None if there is none."""
        return self.contents.views.get(name)

    def told(self, name: str) -> tuple[pa.Schema, tuple[str, ...] | None]:
        """The schema of a view's deltas, and the columns of a key, at least one; None if no key is known.

        Args:
            name: The name in lower case.
        """
        view = self.contents.views[name]
        key = next((key for key in view.keys if key), tuple(view.schema.names) if view.keys else None)
        return view.delta_schema, key

    @alone
    def count(self, name: str) -> int:
        """How many rows a view or table has now, by its name in lower case; 0 if it is gone."""
        contents = self.contents
        if name in contents.views:
            return contents.views[name].count()
        return contents.tables[name].total if name in contents.tables else 0

    @alone
    def asked_now(self, name: str, link: Link, ask: Callable[[View], T]) -> T | None:
        """What a view says, if it is still as it was at a version; None if it is not, or is a table.

        Args:
            name: The name in lower case.
            link: The version.
            ask: Asks it.
        """
        view = self.contents.views.get(name)
        if view is None or link.step is not None or link.ended:
            return None
        return ask(view)

    def publish(self, name: str) -> int:
        """Make the rows of the present version of a view, by its name in lower case, and keep them; the version."""
        link, version = self._published(name)
        self.image(name, link, self.shape(name))
        return version

    @alone
    def _published(self, name: str) -> tuple[Link, int]:
        self.make_told()
        link = self.links.published[name] = self.link(name)
        return link, self.version

    def link(self, name: str) -> Link:
        """The present version of a view or table; called with the lock held."""
        return link_of(self.contents, name)

    def image(self, name: str, link: Link, shape: Shape) -> pa.Table:
        """The rows that are kept of a version, in their order.

        Args:
            name: The name of the view or table, in lower case.
            link: The version.
            shape: The columns and the order of the image.

        Raises:
            ReadError: The rows of the version cannot be told any more.
            ExpressionError: An output has no value on some row.
            CapacityError, MemoryLimitError: The rows take more memory than there is.

        Cost: nothing if it is there. O(rows of the steps) and a look at each row from an image that is there; else
        O(rows), where words are copied under the lock.
        """
        if link.image is None:
            # Who has the database's lock must not wait for one whose owner may wait for the database's.
            with nullcontext() if self._guard.is_held() else link.making:
                if link.image is None:
                    link.image = self._made(name, link, shape)
                    self.links.note_image(name, link)
                    self._refuse_too_large(name, link)
        published = self.links.published.get(name)
        if published is not None and published.version < link.version:
            self.links.published[name] = link
        known = self.links.recent.get(name)
        if known is None or known[0].version <= link.version:
            self.links.recent[name] = link, monotonic()
        return link.image

    def _refuse_too_large(self, name: str, link: Link) -> None:
        """Let go of an image that does not fit into the memory that there may be.

        Raises:
            MemoryLimitError: There is no room for it.
        """
        image, budget = link.image, self.contents.budget
        if image is not None and image.nbytes >= SMALL and not budget.has_room(0):
            link.image = None
            budget.refuse_read(image.nbytes, f"the rows of {name!r} at a version")

    def _refuse_before(self, name: str, shape: Shape) -> None:
        """Refuse to copy rows for which there is no room; called with the lock held.

        Raises:
            MemoryLimitError: There is no room for them.
        """
        contents = self.contents
        view = contents.views[name]
        if contents.memory_limit is None or not view.deltas:
            return
        size = int(WORD_BYTES * view._kept.size() * max(1, len(shape.types)))
        if size >= SMALL and not contents.budget.has_room(size):
            contents.budget.refuse_read(
                size,
                f"the rows of {name!r} at a version (count(), sample() and lookup() read few as long as it has not "
                "changed, and so does view.batches())",
            )

    def _made(self, name: str, link: Link, shape: Shape) -> pa.Table:
        known = self.links.images.get(name)
        near = None if known is None else known()
        if near is not None and near.image is not None:
            for first, last, back in ((near, link, False), (link, near, True)):
                steps = between(first, last)
                if steps is not None and _pays(steps, near.image):
                    return self._rolled(name, near.image, steps, shape, back)
        tip, pieces = self._present(name, link, shape)
        whole = shape.ordered(table_of(pieces, shape.kept))
        if tip is not link:
            if tip.image is None:
                tip.image = whole
                self.links.note_image(name, tip)
            steps = between(link, tip)
            assert steps is not None
            whole = self._rolled(name, whole, steps, shape, back=True)
        return whole

    def _rolled(self, name: str, rows: pa.Table, steps: Sequence[Step], shape: Shape, back: bool) -> pa.Table:
        known = [step.rows for step in steps if step.rows is not None]
        if len(known) < len(steps):
            raise ReadError(_unknown(name))
        with of_view(name):
            deltas = tables_of(known, shape.deltas)
        return shape.ordered(rolled(rows, deltas, shape.types, back))

    @alone
    def _present(self, name: str, link: Link, shape: Shape) -> tuple[Link, list[tuple[Rows, Words]]]:
        """The present rows as words that nobody writes to, with the link of their version.

        Raises:
            ReadError: There are no steps to the present version.
        """
        contents = self.contents
        last = link
        while last.step is not None:
            if last.step.rows is None:
                raise ReadError(_unknown(name))
            last = last.step.link
        if last.ended:
            raise ReadError(last.ended)
        if name in contents.views:
            self._refuse_before(name, shape)
            node = contents.views[name]._node
            return last, words_of(node.inputs[0] if shape.is_below else node, *node.shown_by)
        base = contents.tables[name]
        ids, weights = base.live_rows()
        rows = Rows(contents.codec, shape.types, list(base.values_of(ids)), ids.shape[0])
        return last, [(rows.values(), weights)]


def link_of(contents: Contents, name: str) -> Link:
    """The link of the present version of a view or table, by its name in lower case; called with the lock held.

    A history in a folder knows since when the rows are these, but nothing of an order by columns that are not shown.
    """
    known = contents.histories.get(name)
    version = contents.version if known is None else known.version
    ordered_at = contents.version if contents.images.shape(name).is_below else version
    return contents.links.tip(name, version, 0 if contents.log is None else contents.log.written, ordered_at)


def steps_of(
    contents: Contents,
    deltas: Mapping[str, ViewDelta],
    blocks: Mapping[Node, Change],
    staged: Mapping[str, TableChange],
) -> dict[str, Stepped]:
    """What a commit under way does to the views and tables whose versions somebody holds, by name in lower case.

    Args:
        contents: The database's contents.
        deltas: The deltas of the views.
        blocks: The changes of the blocks.
        staged: The changes of the tables.
    """
    found = dict[str, Stepped]()
    _let_go(contents)
    for name in contents.links.held():
        if name in staged:
            if staged[name].staged.rows.shape[0]:
                found[name] = (None, _table_delta(contents, name, staged[name]))
        elif name in contents.views:
            view = contents.views[name]
            delta = deltas.get(view.name)
            below = view._node.inputs[0] if view.shape.is_below else view._node
            if not view.deltas:
                if any(view._reads_table(table) for table in staged):
                    found[name] = (None, None)
            elif not view.shape.is_below:
                if delta is not None and delta.num_rows:
                    found[name] = (delta, delta)
            elif below in blocks:
                with of_view(view.name):
                    change = RowChange(blocks[below].delta())
                    rows = change.shown(view.shape.deltas, contents.scratch)
                if rows.num_rows or (delta is not None and delta.num_rows):
                    found[name] = (delta, rows)
    return found


def _let_go(contents: Contents) -> None:
    """Let go of versions whose deltas take more than a share of the memory that there may be."""
    if contents.memory_limit is None:
        return
    for name in contents.links.held():
        row = _WORD_BYTES * len(contents.images.shape(name).types)
        if contents.links.rows(name) * row > contents.memory_limit // _SHARE:
            contents.links.let_go(
                name,
                f"the rows of {name!r} at this version were let go: what has changed since then takes more than an "
                f"{_SHARE}th of memory_limit; read and close snapshots sooner, or give more memory",
            )


def _table_delta(contents: Contents, name: str, change: TableChange) -> ViewDelta:
    base, staged = contents.tables[name], change.staged
    changed, weights, versions = staged.rows, staged.weights, change.event_versions()
    times = np.abs(weights)
    if not (times == 1).all():
        changed, weights, versions = (np.repeat(one, times) for one in (changed, weights, versions))
    shape = contents.images.shape(name)
    rows = Rows.of_words(contents.codec, shape.types, base.columns_of(changed, np.arange(len(shape.types))))
    marked = MarkedRows(rows.values(), (weights > 0).view(np.int8), versions.copy())
    return MemoryDelta([marked], shape.deltas)


def words_of(node: Node, *views: str) -> list[tuple[Rows, Words]]:
    """The rows of a block as words that nobody writes to, with their multiplicities; called with the lock held."""
    _ = node.block  # a state that is loaded only now
    found = []
    python_lock.keep()  # or whoever waits for this call waits for Python's lock behind each kernel
    try:
        with of_view(*views):
            for rows, weights in node.scan(CHUNK):
                found.append((rows.values(), _kept(weights)))
                if len(found) == _SOON_COPIED:
                    python_lock.give_back()
    finally:
        python_lock.give_back()
    return found


def _kept(weights: Words) -> Words:
    """Multiplicities that nobody writes to."""
    return weights.copy() if weights.flags.writeable else weights


def table_of(pieces: Sequence[tuple[Rows, Words]], schema: pa.Schema) -> pa.Table:
    """Rows in words as Arrow, each as often as it stands there."""
    found = []
    for rows, weights in pieces:
        table = pa.table([rows.arrow(i) for i in range(len(schema))], schema=schema)
        found += list(repeated(table, weights, CHUNK))
    return pa.concat_tables(found) if found else schema.empty_table()


def _pays(steps: Sequence[Step], image: pa.Table) -> bool:
    """Whether an image is made faster by steps than by reading: they have at most half as many rows as it."""
    rows = [0 if step.rows is None else step.rows.num_rows for step in steps]
    return all(step.rows is not None for step in steps) and pays(sum(rows), image)


def _unknown(name: str) -> str:
    return (
        f"{name!r} has changed since this snapshot was taken, and what changed is not known (it has deltas=False, or "
        "it was replaced): read it before that, or create it with deltas"
    )
