"""The owner of an arena: allocates it, doubles it and its directories, measures it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from livejoin.errors import CapacityError
from livejoin.kernels.jit import as_written
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import free
from livejoin.kernels.memory import layout as k
from livejoin.kernels.memory.directory import scattered
from livejoin.kernels.memory.move_slots import move_slots
from livejoin.state.budget import Budget
from livejoin.state.reserved import bytes_to_grow, grown
from livejoin.words import Words

_SPARSE = 16
_SMALL = 256
_WORD = 8
_NO_ENTRIES: Mapping[int, int] = {}


class Arena:
    """One flat buffer of 64-bit words for all kernel state of a view; mutable.

    Args:
        header_words: Words in front of the bump area: the fixed header, tables and directories.
        directories: References of directory headers, each of which starts with eight hash slots.
        tables: References of table headers, each of which starts with a chunk table of eight places.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(
        self,
        header_words: int,
        directories: tuple[int, ...] = (),
        tables: tuple[int, ...] = (),
        budget: Budget | None = None,
    ) -> None:
        self.budget = budget or Budget()
        log = 3
        needed = header_words + (len(directories) + len(tables)) * (1 << log)
        size = 1 << max(10, (needed * 2).bit_length())
        self.words = np.zeros(size, dtype=np.int64)
        self.words[k.H_END] = size
        bump = header_words
        for directory in directories:
            self.words[directory + k.D_SLOTS] = bump
            self.words[directory + k.D_LOG] = log
            bump += 1 << log
        for table in tables:
            self.words[table + q.T_CHUNKS] = bump
            self.words[table + q.T_CLASS] = log
            bump += 1 << log
        self.words[k.H_BUMP] = bump
        self.budget.register(self)

    def grow(self) -> None:
        """Make the room that a kernel asked for: double a directory with many hash slots, or the whole buffer.

        Raises:
            CapacityError: The buffer has reached what a 32-bit reference can address.
            MemoryLimitError: The database would take more than it may.
            MemoryError: The system does not grant them.
        """
        if self.is_moving:
            self.move_slots()
        else:
            self.double()

    def move_slots(self) -> None:
        """Move the directory that waits for it into its new hash slots."""
        done = move_slots(self.words, 0)
        while done:
            done = move_slots(self.words, done)

    @property
    def is_moving(self) -> bool:
        """Whether a directory waits for being moved into more hash slots."""
        return bool(self.words[k.H_MOVING])

    def double(self) -> None:
        """Double the buffer, in place if it is large; references stay valid.

        Raises:
            CapacityError: The buffer has reached what a 32-bit reference can address.
            MemoryLimitError: The database would take more than it may.
            MemoryError: The system does not grant them.
        """
        size = self.words.shape[0]
        if size >= k.MAX_WORDS:
            msg = f"the state of a view has reached {size * 8:,} bytes, the most that one arena can address"
            raise CapacityError(msg)
        self.budget.take(bytes_to_grow(self.words, 2 * size), "an arena that doubles")
        self.words = grown(self.words, 2 * size)
        self.words[k.H_END] = 2 * size

    def is_sparse(self, needed: int) -> bool:
        """Whether the buffer is so much larger than the words in use that its owner should fill a new one.

        Law: an arena that was just filled anew is not sparse, and becomes so only when half of what it held has left;
        so filling anew costs O(1) amortised for each word that left.

        Args:
            needed: Words of what the owner keeps; hash slots and spare places apart, which may be five times as much.
        """
        return self.words.shape[0] > _SPARSE * max(needed, _SMALL)

    def entries_as_read(self, directory: int) -> Words:
        """The entries of a directory in the order in which a kernel reads all (`directory.scattered`); O(slots)."""
        begin, log = int(self.words[directory + k.D_SLOTS]), int(self.words[directory + k.D_LOG])
        slots = self.words[begin + as_written(scattered)(np.arange(1 << log), log)]
        entries: Words = slots[slots != 0] & k.MASK32
        return entries

    @property
    def used_bytes(self) -> int:
        """Bytes handed out so far, freed blocks included."""
        return int(self.words[k.H_BUMP]) * _WORD

    @property
    def nbytes(self) -> int:
        """Bytes of the whole buffer."""
        return self.words.nbytes

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed blocks included, and bytes of the whole buffer; O(1)."""
        return self.used_bytes, self.nbytes

    def free_bytes(self, entries: Mapping[int, int] = _NO_ENTRIES) -> int:
        """Bytes handed out that are free again; O(blocks that are).

        Args:
            entries: By directory, whose free entries are counted too, the words of an entry.
        """
        directories, sizes = np.array(list(entries), np.int64), np.array(list(entries.values()), np.int64)
        total, cursor, lists = 0, np.zeros(free.FREE_CURSOR, np.int64), k.SIZE_CLASSES + len(entries)
        while cursor[free.F_LIST] < lists:
            total += int(free.free_words(self.words, directories, sizes, cursor))
        return total * _WORD
