"""Read-only mappings by name, compared without regard to case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from livejoin.errors import AbsentNameError
from livejoin.shown import meant

Value = TypeVar("Value")


class ByName(Mapping[str, Value]):
    """A mapping whose keys keep their spelling and are found in any spelling.

    Args:
        items: The keys with their values.
        others: All keys, with the values of those that ``items`` has not; None if ``items`` has all.

    >>> ByName([("Hop3", 1)])["hop3"]
    1
    >>> dict(ByName([("b", 2)], ByName([("A", 0), ("B", 0)])))
    {'A': 0, 'B': 2}
    """

    def __init__(self, items: Iterable[tuple[str, Value]], others: ByName[Value] | None = None) -> None:
        self._items = {name.lower(): (name, value) for name, value in items}
        self._others = others

    def __getitem__(self, name: str) -> Value:
        found = self._items.get(name.lower()) if isinstance(name, str) else None
        if found is not None:
            return found[1]
        if self._others is None or not isinstance(name, str):
            names = ", ".join(map(repr, self)) or "none"
            msg = f"there is no {name!r} here{meant(name, self)}; the names: {names}"
            raise AbsentNameError(msg)
        return self._others[name]

    def __iter__(self) -> Iterator[str]:
        if self._others is not None:
            return iter(self._others)
        return (name for name, _ in self._items.values())

    def __len__(self) -> int:
        return len(self._items if self._others is None else self._others)

    def __repr__(self) -> str:
        return repr(dict(self.items()))
