"""Read-only mappings by name, compared without regard to case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

Value = TypeVar("Value")


class ByName(Mapping[str, Value]):
    """A mapping whose keys keep their spelling and are found in any.

    >>> ByName([("Hop3", 1)])["hop3"]
    1
    """

    def __init__(self, items: Iterable[tuple[str, Value]]) -> None:
        self._items = {name.lower(): (name, value) for name, value in items}

    def __getitem__(self, name: str) -> Value:
        if not isinstance(name, str):
            raise KeyError(name)
        return self._items[name.lower()][1]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(dict(self._items.values()))
