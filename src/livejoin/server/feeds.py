"""What all who follow a view share: its changes, netted for each tick, and encoded once for each form.

A feed follows a view and makes a chain of messages, each with the net delta of a tick. Who follows holds a node of the
chain, and sends what comes behind it at its own pace; a slow one holds up nobody. Who comes first gets all rows as they
were at the newest node, or, coming back with the version of a message, the net delta from there; both are made once for
all who come at that node. Law: what comes first, and the messages behind the node that it goes with, are all changes,
each once. One that is seconds behind goes on as one who comes back: with one net delta. One behind whom too much waits
has its node taken away, and begins anew with all rows.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

from livejoin.database import Changes, Database, Update
from livejoin.database.versions.links import Link
from livejoin.errors import LivejoinError, ReadError
from livejoin.schema import COMMIT_VERSION, instants_of
from livejoin.server.answers import RequestError, arrow_bytes
from livejoin.server.json_values import dumps, objects

if TYPE_CHECKING:
    from livejoin.server.limits import Limits

logger = logging.getLogger("livejoin")

Form = Literal["changes", "upsert", "arrow"]
"""Each row with its ``_change_type``; rows to put and keys that are gone; the rows as Arrow."""

_SMALL = 1000  # rows of changes that take less time than to change threads
_LATE = 2.0  # seconds of messages that one who is slow gets as one
_LONGEST_NUMBER = 20  # digits of a version
_LINGER = 10.0  # seconds that a feed goes on when nobody follows any more, for who comes back


def is_version(text: str) -> bool:
    """Whether a text is the number of a version, as ids end with."""
    return text.isascii() and text.isdecimal() and len(text) < _LONGEST_NUMBER


def check_since(text: str | None) -> str | None:
    """An id behind which one who follows goes on; of this history or of another one.

    Raises:
        RequestError: The text is no id.
    """
    if text is None or (is_version(text.rpartition("-")[2]) and text.rpartition("-")[0]):
        return text
    msg = (
        f"since is {text[:100]!r}; allowed is the id of a message of this view, as it came with the message. Leave it "
        "out to begin with all rows"
    )
    raise RequestError(msg)


@dataclass(frozen=True, eq=False, slots=True)
class Message:
    """What those who follow are told at once.

    Args:
        id: By which one who comes back says where it was.
        data: The message: JSON, or Arrow's IPC.
        event: The same as a server-sent event; empty for Arrow.
        reset: Whether it has all rows.
    """

    id: str
    data: bytes
    event: bytes
    reset: bool


@dataclass(eq=False, slots=True)
class Node:
    """A place in the chain of a feed; mutable.

    Args:
        version: Up to where one who is here knows the view.
        total: The bytes of all messages up to here.
        at: When it was made, by the clock of the loop.
        message: The message that leads here; None for the first node.
        next: The next one; None if there is none yet.
        joins: The first message of those who come here, by the version that they know (None: nothing).
    """

    version: int
    total: int
    at: float = 0.0
    message: Message | None = None
    next: Node | None = None
    joins: dict[int | None, asyncio.Future[Message | None]] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Follower:
    """One who follows a feed; mutable.

    Args:
        node: Up to where it has been told; None if it has to begin anew.
        may_skip: Whether it may be told a net delta where it is late.
    """

    node: Node | None
    may_skip: bool = True


@dataclass(eq=False)
class Counts:
    """Figures of all feeds; mutable."""

    messages: int = 0
    lost: int = 0


class Feed:
    """The changes of a view in one form; mutable, used in one event loop.

    Args:
        hub: The feeds of the server.
        view: The view's name.
        form: The form of the messages.
        changes: Follows the view.
        instants: The columns that are instants.
        sql: The view's query when it was first followed.
    """

    def __init__(  # what it shares with its hub, and what it follows
        self, hub: Hub, view: str, form: Form, changes: Changes, instants: frozenset[str], sql: str
    ) -> None:
        self.sql = sql
        self._hub = hub
        self.view = view
        self.form: Form = form
        self._changes = changes
        self._instants = instants
        self._news = asyncio.Event()
        self.followers: set[Follower] = set()
        self.tail = Node(-1, 0)
        self._link: Link | None = None
        self._resets = 0
        self._recent: deque[Node] = deque()
        self.ended: str | None = None
        self._begun = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        loop, hub = asyncio.get_running_loop(), self._hub
        left_at = due = loop.time()
        try:
            while True:
                coming = asyncio.ensure_future(self._changes.wait())
                while not (await asyncio.wait((coming,), timeout=1.0))[0]:
                    left_at = loop.time() if self.followers else left_at
                    if loop.time() - left_at >= _LINGER:
                        return
                began, is_open = loop.time(), coming.result()
                waiting = self._changes.waiting
                is_small = waiting is not None and waiting <= _SMALL
                found = self._next() if is_small else await loop.run_in_executor(hub.threads, self._next)
                if not is_open or found is None:
                    self.ended = "the server ends"
                    return
                self._add(*found)
                due = max(due, began - hub.tick / 2) + hub.tick  # a message that is late does not make all later
                await asyncio.sleep(max(0.0, due - loop.time()))
        except LivejoinError as error:
            self.ended = str(error)
        except Exception:
            logger.exception("the changes of view %r are told no longer", self.view)
            self.ended = "the server failed; its log says why"
        finally:
            self.ended = self.ended or "nobody followed"
            self._changes.close()
            hub.forget(self)
            self._begun.set()
            self._wake()

    def _next(self) -> tuple[Update, Link | None, Message] | None:
        """The next update, where it leads, and its message; None if there is none. Small ones are made in the loop."""
        update = self._changes.next()
        return None if update is None else (update, self._changes.link, self._message(update))

    def _add(self, update: Update, link: Link | None, message: Message) -> None:
        self._link = link
        node = Node(update.version, self.tail.total + len(message.data), asyncio.get_running_loop().time(), message)
        if update.reset:  # whoever follows begins anew: nothing leads from what was before to it
            node.message = None
            node.joins[None] = _done(message)
            self._recent.clear()
            self._resets += 1
            for one in self.followers:
                one.node = None
        else:
            self.tail.next = node
            self.tail.joins.clear()
        self.tail = node
        self._recent.append(node)
        while self._recent[0].total < node.total - self._hub.limits.recent:
            self._recent.popleft()
        for one in self.followers:
            if one.node is not None and node.total - one.node.total > self._hub.limits.waiting:
                one.node = None
                self._hub.counts.lost += 1
        self._begun.set()
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _message(self, update: Update) -> Message:
        """An update as a message; called in a thread."""
        name = self._hub.id_of(self.sql, update.version)
        head: dict[str, Any] = {"id": name, "version": update.version, "reset": update.reset}
        match self.form:
            case "arrow":
                told = {"id": name, "version": str(update.version), "reset": "true" if update.reset else "false"}
                return Message(name, arrow_bytes(update.delta, told), b"", update.reset)
            case "changes":
                rows = objects(update.delta.drop_columns([COMMIT_VERSION]), self._instants)
                data = dumps({**head, "changes": rows})
            case "upsert":
                gone = objects(update.gone, self._instants)  # also of a reset: its key may be lost
                if update.reset:
                    head["key"] = update.gone.column_names
                data = dumps({**head, "puts": objects(update.puts, self._instants), "gone": gone})
        event = b"id: " + name.encode() + b"\nevent: change\ndata: " + data + b"\n\n"
        return Message(name, data, event, update.reset)

    def join(self) -> Follower:
        """One more who follows; it has to begin."""
        found = Follower(None)
        self.followers.add(found)
        return found

    def leave(self, follower: Follower) -> None:
        """One fewer."""
        self.followers.discard(follower)

    async def messages(self, follower: Follower, since: int | None) -> AsyncIterator[Message]:
        """All messages for one who follows, until the view is gone.

        Args:
            follower: The one who follows.
            since: The version that it knows; None for none.
        """
        await self._begun.wait()
        counts, loop = self._hub.counts, asyncio.get_running_loop()
        while self.ended is None:
            node = follower.node
            if node is None:
                told = await self._begin(follower, since)
                since = since if follower.node is None else None
            elif node.next is None:
                await self._news.wait()
                continue
            elif follower.may_skip and self._link is not None and node.next.at < loop.time() - _LATE:
                told = await self._skip(follower, node, self._link)
            else:
                follower.node, told = node.next, node.next.message
            if told is not None:
                counts.messages += 1
                yield told

    async def _begin(self, follower: Follower, since: int | None) -> Message | None:
        """Give one who follows a node, and what it has to be told there, if anything."""
        known, resets, told = self._known(since), self._resets, None
        if known is None:
            known = self.tail
            if self._link is None:  # all is about to begin anew
                await self._news.wait()
                return None
            told = await self._first(known, self._link, since)
        if resets != self._resets:  # nothing leads on from there
            return None
        follower.node = known
        return told

    async def _skip(self, follower: Follower, node: Node, link: Link) -> Message | None:
        """Take one who is late to the newest node, by the net delta, if that is known."""
        newest, resets = self.tail, self._resets
        told = await self._first(newest, link, node.version)
        if told is not None and told.reset:  # all rows may be more than what waits
            follower.may_skip = False
            return None
        if resets != self._resets:
            return None
        follower.node = newest
        return told

    def _known(self, since: int | None) -> Node | None:
        """The node of a version that one who comes back knows, if it is there still."""
        return None if since is None else next((one for one in self._recent if one.version == since), None)

    async def _first(self, node: Node, link: Link, since: int | None) -> Message | None:
        """What one gets first who comes at a node; None if it knows all."""
        future = node.joins.get(since)
        if future is None:
            loop = asyncio.get_running_loop()
            future = loop.run_in_executor(self._hub.threads, self._joined, link, node.version, since)
            future.add_done_callback(lambda done: done.cancelled() or done.exception())
            node.joins[since] = future
        return await asyncio.shield(future)

    def _joined(self, link: Link, version: int, since: int | None) -> Message | None:
        update = self._changes.first_of(link, version, since)
        return None if update is None else self._message(update)


def _done(message: Message | None) -> asyncio.Future[Message | None]:
    future: asyncio.Future[Message | None] = asyncio.get_running_loop().create_future()
    future.set_result(message)
    return future


class Hub:
    """The feeds of a server; mutable, used in one event loop.

    Args:
        db: The database.
        limits: The limits of those who follow.
        tick: Seconds between two messages of a view at least.
        history: How many rows of changes of a view are kept for those who come back.
        threads: Where messages are encoded.
    """

    def __init__(self, db: Database, limits: Limits, tick: float, history: int, threads: Any) -> None:
        self._db = db
        self.limits = limits
        self.tick = tick
        self._epoch = db.identity  # who comes back with another one begins anew
        self._history = history
        self.threads = threads
        self.counts = Counts()
        self.feeds: dict[tuple[str, Form], Feed] = {}
        self.is_stopping = False

    def id_of(self, view: str, version: int) -> str:
        """The id of a message that leads to a version of a view; the view's SQL is the text."""
        return f"{self._epoch}.{crc32(view.encode()):08x}-{version}"

    def version_of(self, view: str, identity: str | None) -> int | None:
        """The version of an id; None if it is of another history, of a view of other SQL, or none."""
        epoch, _, version = (identity or "").rpartition("-")
        known = self.id_of(view, 0) == f"{epoch}-0" and is_version(version)
        return int(version) if known else None

    @property
    def followers(self) -> int:
        """How many follow."""
        return sum(len(feed.followers) for feed in self.feeds.values())

    @property
    def waiting(self) -> int:
        """The bytes of messages that wait for who follows, each counted once."""
        found = 0
        for feed in self.feeds.values():
            oldest = min((one.node.total for one in feed.followers if one.node is not None), default=feed.tail.total)
            found += feed.tail.total - oldest
        return found

    async def feed(self, view: str, form: Form) -> Feed:
        """The feed of a view in a form; it is begun if there is none.

        Raises:
            ReadError: The view keeps no deltas, or no key of it is known.
        """
        key = (view.lower(), form)
        found = self.feeds.get(key)
        if found is None:
            loop = asyncio.get_running_loop()
            changes, instants, sql = await loop.run_in_executor(self.threads, self._follow, view, form)
            found = self.feeds.get(key)
            if found is None:
                found = self.feeds[key] = Feed(self, view, form, changes, instants, sql)
            else:
                changes.close()
        return found

    def _follow(self, name: str, form: Form) -> tuple[Changes, frozenset[str], str]:
        view = self._db.views[name]
        if form == "upsert" and not view.keys:
            msg = f"no key of view {name!r} is known, so that it has no upserts; take its changes"
            raise ReadError(msg)
        if self._history > view.history:  # what somebody asked for stays
            view.keep_history(self._history)
        return view.changes(waiting="merge"), instants_of(view.schema.names, view.types), view.sql

    def forget(self, feed: Feed) -> None:
        """A feed has ended."""
        if self.feeds.get((feed.view.lower(), feed.form)) is feed:
            del self.feeds[feed.view.lower(), feed.form]

    def stop(self) -> None:
        """End all feeds, and so all who follow."""
        self.is_stopping = True
        for feed in list(self.feeds.values()):
            feed.ended = "the server ends"
            feed._changes.close()
            feed._wake()
