"""Whether the memory of a block holds so little that the block should be loaded anew.

Buffers are doubled, so that what is loaded anew takes a power of two. Law: a block is loaded anew when it would come to
a quarter of what is allocated or less, as far as can be told from what it holds; what stays is then at most twice what
a fresh block would allocate. Between two loads half of the most that was held has left, or so much was done that it
pays for a look: each row that comes or leaves pays for O(1).
"""

from __future__ import annotations

from collections.abc import Callable

_SMALL = 1 << 16  # bytes that are not worth it
_PRICE = 128  # bytes that are looked at for each step of work, which pays for that


class Fullness:
    """What a block held since it was loaded; mutable, empty."""

    def __init__(self) -> None:
        self._most = 0
        self._looked = (0, 0)

    def note(self, held: int) -> None:
        """Take note of how many things are held, as when the block was just loaded."""
        self._most = max(self._most, held)

    def is_sparse(self, held: int, work: int, sizes: tuple[int, int], free: Callable[[], int]) -> bool:
        """Whether to load anew; to be asked between two commits. Cost: O(1) amortised.

        Two things tell: rows that are gone, if those that are left take as much as those did; and free memory.

        Args:
            held: How many things are held.
            work: Steps done so far in changing them, a number that never falls.
            sizes: Bytes handed out so far, and bytes allocated.
            free: Counts the bytes handed out that are free again, in O(of them).
        """
        handed, capacity = sizes
        self.note(held)
        if capacity <= _SMALL:
            return False
        if 4 * handed * held <= capacity * self._most and held < self._most:
            return True
        looked_work, looked_handed = self._looked
        if handed - looked_handed + _PRICE * (work - looked_work) < capacity:
            return False
        self._looked = (work, handed)
        return 4 * (handed - free()) <= capacity
