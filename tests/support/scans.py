"""What a store gives when it is read whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

PIECE = 3


def scanned(store: Any, content: Callable[[Any, Any], Counter[Any]]) -> Counter[Any]:
    """The rows of a store with their multiplicities, read a few at a time.

    Args:
        store: The store.
        content: Counts some rows with their multiplicities.
    """
    found: Counter[Any] = Counter()
    for rows, weights in store.scan(PIECE):
        assert 0 < rows.length <= PIECE
        found += content(rows, weights)
    return found
