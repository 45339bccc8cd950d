"""What became of a version: a chain of links, held by whoever reads a version or follows.

Each view or table that somebody reads at a version has a chain: a link is a version of it, and knows the step to the
next one, which is the delta of a commit. The chain is singly linked, so that who holds a link holds all that came
after it and nothing that came before; what nobody holds is garbage and goes. A commit extends the chains that somebody
holds, which costs it a step a chain, as it has made the delta anyway. Where nobody holds a link nothing is kept. Only
the image that was read last stays for a moment, so that one who reads again and again does not copy all rows each time.

Law: the steps from a link on, in order, are all that happened to the rows since its version. Law: a link is added once,
by one assignment, also where the call that adds it is cut off and repeated; readers walk the chain without a lock. A
call that is cut off forgets no chain: what it adds is held until all that knows of the chain has been told.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

import pyarrow as pa

from livejoin.dataflow.deltas.view_delta import ViewDelta


class Link:
    """A version of a view or table; mutable.

    Args:
        version: The first version of the database at which the rows were these.
        place: Where the log has the commit that made them, 0 without one.
        total: How many rows the deltas of the chain have had up to here.
        ordered_at: The first version at which they are known to have had this order; None for `version`. It is later
            where the order is by columns that are not shown, of which a history in a folder knows nothing.

    Attributes:
        step: The step to the next version; None if there is none yet.
        ended: Why there will be none: what became of the view; empty while there may be one.
        image: The rows, if somebody has read them; shared by all that hold the link.
        making: Held by a thread that makes the image.
        sides: The step that led here as those who keep a store by key need it; computed by the first that asks.
        waiters: Called when there is a next version that may be told, or the end.
    """

    __slots__ = (
        "__weakref__",
        "ended",
        "image",
        "making",
        "ordered_at",
        "place",
        "sides",
        "step",
        "total",
        "version",
        "waiters",
    )

    def __init__(self, version: int, place: int, total: int = 0, ordered_at: int | None = None) -> None:
        self.version = version
        self.ordered_at = version if ordered_at is None else ordered_at
        self.place = place
        self.total = total
        self.step: Step | None = None
        self.ended = ""
        self.image: pa.Table | None = None
        self.making = threading.Lock()
        self.sides: Any = None
        self.waiters: list[Callable[[], object]] = []


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """What led from one version to the next.

    Args:
        delta: The delta, as a view shows it; None for a view without deltas.
        rows: The delta of what images keep, which has the columns of the order too; None if it is not known.
        link: The next version.
    """

    delta: ViewDelta | None
    rows: ViewDelta | None
    link: Link


_ALWAYS = 1 << 12  # rows of steps that are always rolled


def pays(changed: int, image: pa.Table) -> bool:
    """Whether an image is made faster by steps of so many rows than by reading: of half as many as it has."""
    return bool(2 * changed <= image.num_rows + _ALWAYS)


def _bytes_of(images: Sequence[pa.Table]) -> int:
    """The bytes of the buffers of tables, each buffer once."""
    waiting = [chunk for image in images for column in image.columns for chunk in column.chunks]
    sizes = dict[int, int]()
    for array in waiting:
        for buffer in array.buffers():
            if buffer is not None:
                sizes[buffer.address] = max(buffer.size, sizes.get(buffer.address, 0))
    return sum(sizes.values())


class Follower(Protocol):
    """One who follows a chain."""

    link: Link | None
    """Up to where it has read; None if it has lost its place."""
    max_waiting: int
    """How many rows of deltas may wait for it."""
    is_waited_for: bool
    """Whether commits wait where more rows wait for it; else it loses its place."""

    def lose(self) -> None:
        """Lose the place, as more waits than may."""


Stepped = tuple[ViewDelta | None, ViewDelta | None]
"""What a commit does to one view or table: `Step.delta` and `Step.rows`."""


class Links:
    """The newest links of all chains that somebody holds; mutable. Changed under the lock of the database alone.

    Attributes:
        tips: The newest link of each view or table, by name in lower case; dead where nobody holds the chain.
        images: For each name the link whose image was made last.
        recent: For each name the link of the image that was read last, and when that was.
        linger: For how many seconds such an image stays.
        kept: For each name with a history its first link, and how many rows of deltas may come behind it.
        published: For each name that was published the link whose image stays, while later ones are made of it.
    """

    def __init__(self) -> None:
        self.tips: dict[str, weakref.ref[Link]] = {}
        self.images: dict[str, weakref.ref[Link]] = {}
        self.recent: dict[str, tuple[Link, float]] = {}
        self.linger = 2.0
        self.kept: dict[str, tuple[Link, int]] = {}
        self.published: dict[str, Link] = {}
        self._all: dict[str, deque[weakref.ref[Link]]] = {}  # the links of a chain, in order
        self.news: deque[Link] = deque()
        self._followers: dict[str, weakref.WeakSet[Follower]] = {}
        self._enough: dict[str, int] = {}  # the total at which some follower may have too much waiting
        self._imaged = weakref.WeakSet[Link]()
        self._images_lock = threading.RLock()
        self._counted: tuple[list[tuple[int, int]], int] = [], 0
        self._added: Sequence[tuple[str, Link, Step]] = ()  # what `extend` adds, until it has come to its end

    def tip(self, name: str, version: int, place: int, ordered_at: int) -> Link:
        """The link of the present version; it is made if nobody holds the chain.

        Args:
            name: The view's or the table's name in lower case.
            version: A version from which on the rows are those of the present one.
            place: As for `Link`.
            ordered_at: As for `Link`.
        """
        known = self.tips.get(name)
        link = None if known is None else known()
        if link is None:
            link = Link(version, place, ordered_at=ordered_at)
            tip = weakref.ref(link)
            self._all[name] = deque((tip,))
            self.tips[name] = tip
        return link

    def note_image(self, name: str, link: Link) -> None:
        """Take note of an image that was made; in any thread."""
        self.images[name] = weakref.ref(link)
        with self._images_lock:
            self._imaged.add(link)

    @property
    def nbytes(self) -> int:
        """The bytes of all images, of which those of one view share what has not changed; in any thread.

        Cost: O(images), and their chunks if there are others than when it was asked last.
        """
        with self._images_lock:
            images = [link.image for link in self._imaged if link.image is not None]
            known = [(id(image), image.num_rows) for image in images]
            if known != self._counted[0]:
                self._counted = known, _bytes_of(images)
            return self._counted[1]

    def spare(self) -> None:
        """Let go of images that are kept to save time, and that nobody reads now; in any thread."""
        self.recent.clear()
        self.published.clear()

    def held(self) -> list[str]:
        """The names whose chains somebody holds; the others are forgotten."""
        if self.recent:
            now = monotonic()
            for name in [name for name, recent in list(self.recent.items()) if now - recent[1] >= self.linger]:
                self.recent.pop(name, None)
        found = []
        for name, known in list(self.tips.items()):
            if known() is None:
                del self.tips[name]
                self._all.pop(name, None)
                self.images.pop(name, None)
            else:
                found.append(name)
        return found

    def extend(self, version: int, place: int, steps: Mapping[str, Stepped]) -> None:
        """Add a version to chains; once more changes nothing.

        Args:
            version: The version.
            place: As for `Link`.
            steps: The changes of the commit, by name in lower case.
        """
        if not self._added:
            self._added = self._found(version, place, steps)
        for name, before, step in self._added:
            before.step = step
            tip = self.tips[name] = weakref.ref(step.link)
            links = self._all[name]
            if links[-1]() is not step.link:
                links.append(tip)
            self.news.append(before)
            if name in self.kept:
                self._shorten(name, step.link.total)
            public = self.published.get(name)
            image = None if public is None else public.image
            if public is not None and image is not None and not pays(step.link.total - public.total, image):
                self.published.pop(name, None)
            if name in self._enough and step.link.total > self._enough[name]:
                self._let_go(name, step.link.total)
        self._added = ()

    def _found(self, version: int, place: int, steps: Mapping[str, Stepped]) -> list[tuple[str, Link, Step]]:
        """The steps to a version that chains do not have yet, each with its chain's name and the link before it."""
        found = []
        for name, (delta, rows) in steps.items():
            known = self.tips.get(name)
            before = None if known is None else known()
            if before is not None and before.version < version:
                told = rows if delta is None else delta
                count = 0 if told is None else told.num_rows
                found.append((name, before, Step(delta, rows, Link(version, place, before.total + count))))
        return found

    def rows(self, name: str) -> int:
        """How many rows of deltas a chain keeps for those who hold it; O(1) a link, once."""
        links = self._all.get(name)
        while links:
            oldest = links[0]()
            newest = links[-1]()
            if oldest is not None and newest is not None:
                return newest.total - oldest.total
            links.popleft()
        return 0

    def let_go(self, name: str, why: str) -> None:
        """End a chain for lack of memory; who follows begins anew.

        Args:
            name: The name in lower case.
            why: A message for those who read a version of before.
        """
        self.lose(name)
        self.end(name, why)

    def lose(self, name: str) -> None:
        """Let all who follow a chain begin anew."""
        for one in list(self._followers.get(name, ())):
            one.lose()

    def keep(self, name: str, tip: Link, rows: int) -> None:
        """Keep what comes behind a link.

        Args:
            name: The name in lower case.
            tip: The present link of its chain.
            rows: How many rows of deltas may be kept; 0 ends it.
        """
        if rows:
            self.kept[name] = (self.kept[name][0] if name in self.kept else tip, rows)
            self._shorten(name, tip.total)
        else:
            self.kept.pop(name, None)

    def _shorten(self, name: str, total: int) -> None:
        link, rows = self.kept[name]
        while link.step is not None and total - link.total > rows:
            link = link.step.link
        self.kept[name] = (link, rows)

    def first(self, name: str) -> Link | None:
        """The oldest link of a chain that somebody holds; None if nobody holds the chain."""
        for known in self._all.get(name, ()):
            link = known()
            if link is not None:
                return link
        return None

    def since(self, name: str, version: int, *, in_order: bool = False) -> Link | None:
        """The link whose rows were those of a version; None if nobody has it any more.

        Args:
            name: The name in lower case.
            version: A version that was.
            in_order: Whether the order of the rows is to be that of the version too.

        Cost: O(versions since the first one that is held).
        """
        held = [one.link for one in list(self._followers.get(name, ()))]
        held += [self.kept[name][0]] if name in self.kept else []
        older = [one for one in held if one is not None and (one.ordered_at if in_order else one.version) <= version]
        if not older:
            return None
        link = max(older, key=lambda one: one.version)
        while link.step is not None and link.step.link.version <= version:
            link = link.step.link
        return link

    def follow(self, name: str, follower: Follower) -> None:
        """Take note of one who follows a chain, as long as it is there."""
        self._followers.setdefault(name, weakref.WeakSet()).add(follower)
        self._let_go(name, 0)

    def _let_go(self, name: str, total: int) -> None:
        """Let those lose their place for whom too much waits, and find when to look again; O(followers)."""
        enough = []
        for one in list(self._followers.get(name, ())):
            if one.link is not None:
                if one.is_waited_for:
                    continue
                most = one.link.total + one.max_waiting
                if most < total:
                    one.lose()
                else:
                    enough.append(most)
        if enough:
            self._enough[name] = min(enough)
        else:
            self._enough.pop(name, None)

    def ahead(self, name: str, link: Link) -> int:
        """How many rows of deltas came behind a link of a chain; 0 of a chain that has ended. Cost: O(1)."""
        known = self.tips.get(name)
        tip = None if known is None else known()
        return 0 if tip is None else tip.total - link.total

    def end(self, name: str, why: str) -> None:
        """End a chain: its view or table is gone, or is another one; may be cut off and called again.

        Args:
            name: The name in lower case.
            why: A message for those who follow.
        """
        known = self.tips.get(name)
        link = None if known is None else known()
        if link is not None:
            link.ended = why
            self.news.append(link)
        self.tips.pop(name, None)
        self.images.pop(name, None)
        self.kept.pop(name, None)
        self.recent.pop(name, None)
        self.published.pop(name, None)
        self._all.pop(name, None)
        self._followers.pop(name, None)
        self._enough.pop(name, None)

    def end_gone(self, there: Container[str]) -> None:
        """End the chains of views and tables that a call dropped which was cut off; once more changes nothing.

        Args:
            there: The names in lower case of those that are there.
        """
        for name in [name for name in self.tips if name not in there]:
            self.end(name, f"{name!r} was dropped")

    def wake(self, told: int | None) -> None:
        """Wake those who wait for versions that may be told.

        Args:
            told: Up to where the log may be told of; None without a log.
        """
        while self.news:
            link = self.news[0]
            if told is not None and link.step is not None and link.step.link.place > told:
                return
            self.news.popleft()
            for waiter in list(link.waiters):
                waiter()

    def wake_all(self) -> None:
        """Wake all who wait, as the database is closed."""
        for known in list(self.tips.values()):
            link = known()
            if link is not None:
                for waiter in list(link.waiters):
                    waiter()


def between(first: Link, last: Link) -> list[Step] | None:
    """The steps from one link to a later one; None if it is not later."""
    steps = []
    link = first
    while link is not last:
        if link.step is None or link.version > last.version:
            return None
        steps.append(link.step)
        link = link.step.link
    return steps
