"""Who follows a view: its rows at a version, and then every delta, in order and without a gap."""

from __future__ import annotations

import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database.row_words import groups, row_words
from livejoin.database.transactions.guard import alone
from livejoin.database.versions.links import Link, Step, between
from livejoin.database.versions.places import moved
from livejoin.database.versions.rolling import comes, insertions, netted
from livejoin.dataflow.of_view import of_view
from livejoin.errors import ChangeError, ReadError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.shown import shown
from livejoin.state.codec import Codec

if TYPE_CHECKING:
    from livejoin.database.transactions.guard import Guard
    from livejoin.database.versions.images import Images
    from livejoin.database.versions.shape import Shape
    from livejoin.database.view import View
    from livejoin.dataflow.deltas.view_delta import ViewDelta
    from livejoin.schema import SqlType

WhenFull = Literal["forget", "block"]
WHEN_FULL = ("forget", "block")
"""What becomes of deltas of which more wait than may: they are forgotten, or commits wait."""
Waiting = Literal["each", "merge"]
WAITING = ("each", "merge")
"""How deltas that wait are given: one by one, or as one net delta."""

_LONGEST = 10**9  # seconds
_LOOK = 1.0  # seconds after which who waits looks whether the database is still there


Sides: TypeAlias = tuple[pa.Table, pa.Table | str]
"""Rows to put and keys to remove; or why there are no keys."""


@dataclass(frozen=True, eq=False)
class Update:
    """What one who follows a view is told.

    Args:
        version: The version of the database that it leads to.
        delta: The delta, with the schema `View.delta_schema`.
        reset: Whether it is no change of what was told before, but all rows as insertions: forget what you have, and
            begin with these. So is the first one, and one behind a gap.
        positions: Where ``positions=True`` asked for them, the position of each row of the delta, from 0: before the
            change of those that go, behind it of those that come. Take the ones out, then put the others in, in
            ascending order. Else None.
    """

    version: int
    delta: pa.Table
    reset: bool
    _sides: Callable[[], Sides] = field(repr=False)
    positions: pa.Array | None = field(default=None, repr=False)

    @property
    def puts(self) -> pa.Table:
        """The rows that there are now, of those that changed, to be written over what has their key; for stores by key.

        The columns are those of the view. Cost: O(delta), for the first of all who follow that asks.
        """
        return self._sides()[0]

    @property
    def gone(self) -> pa.Table:
        """The keys of rows that are gone, and that no row of `puts` has: the columns of the view's smallest key.

        Of a view with one row at most, which has a key without columns, they are all columns.

        Raises:
            ReadError: No key of the view is known (`View.keys`).

        Cost: as for `puts`.
        """
        keys = self._sides()[1]
        if isinstance(keys, str):
            raise ReadError(keys)
        return keys

    def __repr__(self) -> str:
        return f"Update(version={self.version}, {self.delta.num_rows} rows{', reset' if self.reset else ''})"


def _sides_of(delta: pa.Table, view: str, key: tuple[str, ...] | None, types: tuple[SqlType, ...]) -> Sides:
    """What a store by key is to put, and the keys that it is to remove."""
    versions = delta[COMMIT_VERSION]
    if len(versions) and versions[0] != versions[-1]:  # of a replay: what came and went in between is nothing
        delta = netted([delta], types)
    there = comes(delta).to_numpy(zero_copy_only=False)
    rows = delta.drop_columns([CHANGE_TYPE, COMMIT_VERSION])
    puts = rows if there.all() else rows.filter(pa.array(there))
    if key is None:
        return puts, (
            f"no key of view {view!r} is known, so that its rows are no upserts; take the delta, or let the view show "
            "a primary key, or the columns of GROUP BY"
        )
    places = [delta.schema.names.index(name) for name in key]
    if there.all():
        return puts, delta.select(places).slice(0, 0)
    words = row_words(delta.select(places), [types[place] for place in places], Codec())
    order, begins = groups(words)
    has = np.logical_or.reduceat(there[order], begins)
    return puts, delta.select(places).take(pa.array(np.sort(order[begins][~has])))


class Changes(Iterator[Update], AsyncIterator[Update]):
    """Follows a view; made by `View.changes`. An iterator, for one thread or one task at a time, that waits.

    >>> import livejoin
    >>> db = livejoin.Database()
    >>> db.execute("CREATE TABLE t (a INT)")
    >>> with db.create_view("twice", "SELECT 2 * a AS a FROM t").changes() as changes:
    ...     _ = db.apply("t", [(1,), (2,)])
    ...     for update in changes:
    ...         print(update.version, update.reset, update.delta["a"].to_pylist())
    ...         if update.version == 1:
    ...             break
    0 True []
    1 False [2, 4]

    Args:
        name: The view's name.
        images: Makes the view's images.
        since: The version up to which the deltas are known already; None to begin with all rows.
        waiting: How deltas that wait are given.
        max_waiting: How many rows of deltas may wait.
        patience: For how many seconds a commit waits where more do; 0 where they are forgotten at once.
        pairs: Whether rows that change under the view's key are updates in the deltas.
        places: Whether updates have the positions of rows.
    """

    def __init__(  # what it shares with its view, and its options
        self,
        name: str,
        images: Images,
        since: int | None,
        waiting: Waiting,
        max_waiting: int,
        patience: float,
        pairs: bool,
        places: bool,
    ) -> None:
        self.name = name
        self._images = images
        self._waiting = waiting
        self.max_waiting = max_waiting
        self.is_waited_for = patience > 0
        self._patience = patience
        self._pairs = pairs
        self._places = places
        self._room = threading.Condition()
        self._reader: weakref.ref[threading.Thread] | None = None
        self._is_closed = False
        self._view: View | None = None
        self.link: Link | None = None
        self.seen = 0
        self._begin(since)
        if self.is_waited_for:
            self._let_commits_wait()

    @alone
    def _let_commits_wait(self) -> None:
        self._images.wait_for(self)

    @property
    def _guard(self) -> Guard:
        return self._images.guard

    @alone
    def _begin(self, since: int | None) -> None:
        images = self._images
        images.make_told()
        view = images.view(self.name.lower())
        if view is None or self._view not in (None, view):
            msg = f"view {self.name!r} was dropped, or replaced by one with other columns, while it was followed"
            raise ReadError(msg)
        self._view = view
        self._shape: Shape = images.shape(self.name.lower())
        self._schema, self._key = images.told(self.name.lower())
        version = images.version
        if since is not None and since > version:
            msg = f"since is {since}, and the database is at version {version}; give a version that was"
            raise ReadError(msg)
        self.link = images.link(self.name.lower())
        self._reset_version: int | None = version
        self._known_up_to: int | None = None
        if since is not None:
            known: Link | None = self.link
            if since < (self.link.ordered_at if self._places else self.link.version):
                known = images.since(self.name.lower(), since, in_order=self._places)
            if known is not None:
                self.link, self.seen, self._reset_version = known, since, None
                self._known_up_to = since if known.version < since else None
        images.links.follow(self.name.lower(), self)

    def lose(self) -> None:
        """Forget what waits, as it is more than may: the next update is a reset. Called by the commit that adds it."""
        self.link = None
        self._note_room()

    def make_room(self) -> None:
        """Wait until no more rows wait than may, in a thread that is to commit; lose the place when patience ends.

        Raises:
            ChangeError: This thread reads what waits, and would wait for itself.
        """
        if not self._is_full():
            return
        if self._reader is not None and self._reader() is threading.current_thread():
            msg = (
                f"this thread follows view {self.name!r} with when_full='block', and is to commit while more rows wait "
                f"for it than max_waiting, {self.max_waiting:,}: it would wait for itself. Read them before it commits "
                "(changes.next(timeout=0)), or follow in another thread"
            )
            raise ChangeError(msg)
        end = monotonic() + self._patience
        with self._room:
            while self._is_full():
                left = end - monotonic()
                if left <= 0:
                    self.lose()
                    return
                self._room.wait(min(left, _LOOK))

    def _is_full(self) -> bool:
        link = self.link
        if link is None or self._is_closed:
            return False
        return self._images.links.ahead(self.name.lower(), link) > self.max_waiting

    def _note_reader(self) -> None:
        if self.is_waited_for:
            self._reader = weakref.ref(threading.current_thread())

    def _note_room(self) -> None:
        """Wake the commits that wait."""
        if self.is_waited_for:
            with self._room:
                self._room.notify_all()

    def close(self) -> None:
        """End it: who waits is told that there is no more. Once more changes nothing. May be called in any thread."""
        self._is_closed = True
        link, self.link = self.link, None
        self._note_room()
        if link is not None:
            for waiter in list(link.waiters):
                waiter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Update:
        """The next update; waits for it.

        Raises:
            StopIteration: The iterator was closed, or the database was.
            ReadError: The view was dropped, or replaced by one with other columns.
            StorageError: The database's log failed, so that no version comes any more.
        """
        found = self.next()
        if found is None:
            raise StopIteration
        return found

    def next(self, timeout: float | None = None) -> Update | None:
        """The next update; None if it was closed.

        Args:
            timeout: How many seconds to wait at most; None for no limit, 0 to look only.

        Raises:
            TimeoutError: There was no update in time; a later call gives it.
            ReadError: The timeout is no number of seconds; or as for a loop.
        """
        if timeout is not None and (
            isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 <= timeout <= _LONGEST
        ):
            msg = f"timeout is {shown(timeout)}; allowed are seconds from 0 to {_LONGEST:,}, and None"
            raise ReadError(msg)
        self._note_reader()
        left = timeout
        while True:
            link = self.link
            if self._is_ready(link):
                return self._take()
            if self._has_ended():
                return None
            if left is not None and left <= 0:
                msg = f"no commit changed view {self.name!r} within {timeout} s"
                raise TimeoutError(msg)
            event = threading.Event()
            pause = _LOOK if left is None else min(left, _LOOK)
            assert link is not None
            link.waiters.append(event.set)
            try:
                if not self._is_ready(link):
                    event.wait(pause)
            finally:
                link.waiters.remove(event.set)
            if left is not None:
                left -= pause

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Update:
        """As `__next__`, awaited; rows are read in another thread."""
        import asyncio  # noqa: PLC0415  # whoever awaits has it

        if not await self.wait():
            raise StopAsyncIteration
        found = await asyncio.get_running_loop().run_in_executor(None, self._take)
        if found is None:
            raise StopAsyncIteration
        return found

    async def wait(self) -> bool:
        """Await the next update, which `next` gives then at once; false if none will come, as it was closed.

        Raises:
            StorageError: The database's log failed, so that no version comes any more.
        """
        import asyncio  # noqa: PLC0415  # whoever awaits has it

        loop = asyncio.get_running_loop()
        self._note_reader()
        while True:
            link = self.link
            if self._is_ready(link):
                return True
            if self._has_ended():
                return False
            event = asyncio.Event()
            assert link is not None

            def wake(event: asyncio.Event = event) -> None:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(event.set)

            link.waiters.append(wake)
            try:
                if not self._is_ready(link):
                    await asyncio.wait_for(event.wait(), _LOOK)
            except TimeoutError:
                pass
            finally:
                link.waiters.remove(wake)

    @property
    def waiting(self) -> int | None:
        """How many rows of deltas wait; None if all rows come next. Cost: O(commits that wait)."""
        link = self.link
        if link is None or self._reset_version is not None:
            return None
        begin = link.total
        while link.step is not None:
            link = link.step.link
        return link.total - begin

    def _is_ready(self, link: Link | None) -> bool:
        if self._is_closed:
            return False
        if link is None or self._reset_version is not None or link.ended:
            return True
        return link.step is not None and self._images.is_told(link.step.link)

    def _has_ended(self) -> bool:
        """Whether it or the database is closed.

        Raises:
            StorageError: The log has failed.
        """
        return self._is_closed or not self._images.is_open()

    def _take(self) -> Update | None:
        """What is ready."""
        link = self.link
        if self._is_closed:
            return None
        if link is None or self._reset_version is not None:
            return self._reset()
        if link.ended:
            raise ReadError(link.ended)
        steps = list[Step]()
        while link.step is not None and self._images.is_told(link.step.link):
            steps.append(link.step)
            link = link.step.link
            if self._waiting == "each":
                break
        if self._places:
            return self._take_places(link)
        known = self._known_up_to
        deltas = self._deltas(steps, known)
        delta = deltas[0] if len(deltas) == 1 else netted(deltas, self._types())
        if self._pairs and self._view is not None:
            delta = self._view.paired(delta)
        update = self._update(link.version, delta, False, link if len(deltas) == 1 and known is None else None)
        self._go_on(link)
        return update

    def _take_places(self, link: Link) -> Update:
        """What led to a version, with positions."""
        name, before = self.name.lower(), self.link
        if before is None or self._is_closed:
            return self._reset()
        first, second = (self._images.image(name, one, self._shape) for one in (before, link))
        delta, positions = moved(first, second, self._shape, link.version, self._schema)
        if self._pairs and self._view is not None:
            delta = self._view.paired(delta)
        update = replace(self._update(link.version, delta, False, None), positions=pa.array(positions))
        self._go_on(link)
        return update

    def _go_on(self, link: Link) -> None:
        """Know a version, as the update that leads to it is made: what fails before is made again by the next call."""
        self._known_up_to = None
        if self.link is not None and not self._is_closed:  # else it was lost meanwhile: a reset comes next
            self.link = link
        self.seen = link.version
        self._note_room()

    def first_of(self, link: Link, version: int, since: int | None) -> Update | None:
        """What another one is told first who goes on from where this one was; in any thread.

        Args:
            link: Where this one was, which is `link` behind an update.
            version: The version of that update.
            since: The version that the other one knows; None if it knows nothing.

        Returns:
            All rows, or the net delta since then if it is still known; None if nothing has changed since then.

        Cost: as for the first update, or O(delta).
        """
        if since is not None and since <= version:
            if since >= link.version:
                return None
            known = self._known(since)
            steps = None if known is None else between(known, link)
            if steps is not None and not steps:
                return None
            if steps:
                assert known is not None
                up_to = since if known.version < since else None
                delta = netted(self._deltas(steps, up_to), self._types())
                delta = self._view.paired(delta) if self._pairs and self._view is not None else delta
                return self._update(version, delta, False, None)
        rows = self._shape.shown(self._images.image(self.name.lower(), link, self._shape))
        return self._update(version, insertions(rows, version, self._schema), True, None)

    @alone
    def _known(self, since: int) -> Link | None:
        return self._images.since(self.name.lower(), since)

    def _reset(self) -> Update:
        if self.link is None:
            self._begin(None)
        link, version = self.link, self._reset_version
        assert link is not None
        rows = self._shape.shown(self._images.image(self.name.lower(), link, self._shape))
        assert version is not None
        update = self._update(version, insertions(rows, version, self._schema), True, None)
        if self._places:
            update = replace(update, positions=pa.array(np.arange(rows.num_rows)))
        self.seen, self._reset_version = version, None
        return update

    def _update(self, version: int, delta: pa.Table, reset: bool, shared: Link | None) -> Update:
        """An update; what is computed of it is kept with a link whose delta others have too."""

        def sides() -> Sides:
            if shared is None:
                return _sides_of(delta, self.name, self._key, self._types())
            if shared.sides is None:
                shared.sides = _sides_of(delta, self.name, self._key, self._types())
            known: Sides = shared.sides
            return known

        return Update(version, delta, reset, sides)

    def _types(self) -> tuple[SqlType, ...]:
        return self._shape.types[: len(self._shape.schema)]

    def _deltas(self, steps: Sequence[Step], known: int | None) -> list[pa.Table]:
        """The deltas of steps, of the first one what came behind a version that is known: a replay has many."""
        deltas = [self._delta(step.delta) for step in steps]
        if known is not None:
            deltas[0] = deltas[0].filter(pc.greater(deltas[0][COMMIT_VERSION], known))
        return deltas

    def _delta(self, delta: ViewDelta | None) -> pa.Table:
        assert delta is not None
        with of_view(self.name):
            return delta.table()

    def __repr__(self) -> str:
        return f"Changes({self.name!r}, version={self.seen})"
