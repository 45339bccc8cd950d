"""An object store in memory, and one whose answers are lost, late, doubled or refused."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from livejoin.state.objects import Data, Listed, Objects

URL = "s3://bucket/shop"


class MemoryObjects:
    """As `livejoin.state.objects.Objects`; counts what it is asked."""

    name = URL

    def __init__(self) -> None:
        self.there: dict[str, bytes] = {}
        self.asked = Counter[str]()
        self.bytes_in = 0
        self._turn = threading.Lock()

    def create(self, key: str, data: Data) -> None:
        with self._turn:
            self.asked["create"] += 1
            self.bytes_in += len(data)
            if key in self.there:
                raise FileExistsError(key)
            self.there[key] = bytes(data)

    def put(self, key: str, data: Data) -> None:
        with self._turn:
            self.asked["put"] += 1
            self.bytes_in += len(data)
            self.there[key] = bytes(data)

    def read(self, key: str, begin: int = 0, size: int | None = None) -> bytes:
        with self._turn:
            self.asked["read"] += 1
            if key not in self.there:
                raise FileNotFoundError(key)
            return self.there[key][begin : None if size is None else begin + size]

    def listed(self, under: str) -> list[Listed]:
        with self._turn:
            self.asked["list"] += 1
            return [Listed(key, len(data)) for key, data in sorted(self.there.items()) if key.startswith(under)]

    def remove(self, keys: Sequence[str]) -> None:
        with self._turn:
            self.asked["remove"] += 1
            for key in keys:
                self.there.pop(key, None)


class ForgetfulObjects(MemoryObjects):
    """A store that does not know If-None-Match."""

    def create(self, key: str, data: Data) -> None:
        self.put(key, data)


class HastyObjects(MemoryObjects):
    """A store that looks whether an object is there, and then writes it; of two at once both are told yes."""

    def create(self, key: str, data: Data) -> None:
        if key in self.there:
            raise FileExistsError(key)
        time.sleep(0.01)
        self.put(key, data)


class Killed(BaseException):
    """The process ends here."""


class Seen(Objects, Protocol):
    """A store as one process sees it, with faults.

    Attributes:
        chance: How often there is one; may be changed.
        happened: How many there were, by kind.
        is_dead: Whether the process has ended.
    """

    chance: float
    happened: Counter[str]
    is_dead: bool

    def kill(self) -> None:
        """End the process."""

    def land(self) -> None:
        """Let the requests arrive that are under way."""


Sight: TypeAlias = Callable[[random.Random, float], Seen]
"""Makes one store as a further process sees it, from what draws the faults and how often there is one."""


def in_memory() -> Sight:
    """A new store in memory, as processes see it."""
    inner = MemoryObjects()
    return lambda draw, chance: FaultyObjects(inner, draw, chance)


FAULTS = ("refused", "lost", "twice", "late", "cut before", "cut behind")
"""What may happen to a request: the store says 409, 412 or 503 and does nothing; it does it and the answer is lost; it
gets it twice; it says nothing and does it later; the process ends before it is sent, or behind it."""


class FaultyObjects:
    """A store as one process sees it; as `livejoin.state.objects.Objects`.

    Args:
        inner: The store.
        draw: Draws the faults.
        chance: How often there is one; may be changed.

    Attributes:
        happened: How many faults there were, by kind.
        is_dead: Whether the process has ended.
    """

    name = URL

    def __init__(self, inner: MemoryObjects, draw: random.Random, chance: float = 0.0) -> None:
        self.inner = inner
        self.chance = chance
        self.happened = Counter[str]()
        self.is_dead = False
        self._draw = draw
        self._late: list[Callable[[], Any]] = []
        self._turn = threading.Lock()

    def kill(self) -> None:
        """End the process."""
        self.is_dead = True

    def land(self) -> None:
        """Let the requests arrive that are under way."""
        with self._turn:
            late, self._late = self._late, []
        for one in late:
            try:
                one()
            except OSError:
                self.happened["late and refused"] += 1

    def _ask(self, request: Callable[[], Any]) -> Any:
        if self.is_dead:
            raise OSError("the process has ended")
        with self._turn:
            kind = self._draw.choice(FAULTS) if self._draw.random() < self.chance else "none"
            arrives = self._draw.random() < 0.5
        if arrives:
            self.land()
        if kind != "none":
            self.happened[kind] += 1
        match kind:
            case "refused":
                raise OSError(f"HTTP {self._draw.choice((409, 412, 503))}")
            case "lost":
                request()
                raise OSError("connection reset")
            case "twice":
                request()
                return request()
            case "late":
                self._late.append(request)
                raise OSError("timeout")
            case "cut before":
                self.is_dead = True
                raise Killed
            case "cut behind":
                request()
                self.is_dead = True
                raise Killed
        return request()

    def create(self, key: str, data: Data) -> None:
        whole = bytes(data)
        self._ask(lambda: self.inner.create(key, whole))

    def put(self, key: str, data: Data) -> None:
        whole = bytes(data)
        self._ask(lambda: self.inner.put(key, whole))

    def read(self, key: str, begin: int = 0, size: int | None = None) -> bytes:
        return self._ask(lambda: self.inner.read(key, begin, size))

    def listed(self, under: str) -> list[Listed]:
        return self._ask(lambda: self.inner.listed(under))

    def remove(self, keys: Sequence[str]) -> None:
        self._ask(lambda: self.inner.remove(keys))
