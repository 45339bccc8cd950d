"""A dictionary from byte strings to dense codes.

Law: codes are equal iff the strings are equal, for as long as the string is retained. The strings lie in flat arrays
(layout: ``livejoin.kernels.values.strings``), so a snapshot is three arrays and nothing lives on Python's heap.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from livejoin.errors import CapacityError, StateError
from livejoin.kernels.values.strings import (
    CODES,
    FREE,
    HEADER_WORDS,
    HEAP_USED,
    LIVE,
    MAX_CODES,
    NEXT_FREE,
    SEEN,
    Bytes,
    Ints,
    Longs,
    Slots,
    encode_strings,
    fill_slots,
    gather_strings,
    measure_strings,
    move_slots,
)
from livejoin.state.budget import Budget
from livejoin.state.reserved import bytes_to_grow, grown, zeros

Item = TypeVar("Item", bound=np.generic)

ABSENT = -1  # no code
ALL_VALID = np.empty(0, np.bool_)
"""That each row holds a string."""

_SMALLEST = 16
_NO_NULL = -1
_SCATTERED = 4
_AT_ONCE = 1 << 16  # strings that one call of a kernel looks up
_LONGEST = (1 << 31) - 1  # bytes that an int32 can say


def _capacity(needed: int) -> int:
    return max(_SMALLEST, 1 << (needed - 1).bit_length()) if needed else _SMALLEST


def _slots(needed: int) -> Slots:
    """A cleared hash index with at least so many slots."""
    return np.zeros(_capacity(needed), np.uint64)


class ByteDictionary:
    """Byte strings and their codes; mutable, starts empty.

    Several threads may encode at a time, and others read what they have codes of meanwhile: a string stays where it is,
    and what grows is a copy, or has the old part where it was. `retain` is for one thread alone.

    Args:
        budget: The memory of its database; None where it stands alone.

    Attributes:
        age: An object that is another one once a code may mean another string, or none.
        heap: The bytes of the strings, until the dictionary changes; likewise the next two.
        starts: The place where the string of each code begins.
        lengths: The bytes of the string of each code.

    >>> letters = ByteDictionary()
    >>> letters.encode(np.frombuffer(b"abaa", np.uint8), np.array([0, 1, 2, 3, 4])).tolist()
    [0, 1, 0, 0]
    >>> len(letters)
    2
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self._lock = threading.Lock()
        self._adopt(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int32))
        self._budget.register(self)

    def _grown(self, array: npt.NDArray[Item], needed: int) -> npt.NDArray[Item]:
        """The array with more space."""
        places = _capacity(needed)
        self._budget.take(bytes_to_grow(array, places), "a dictionary")
        return grown(array, places)

    def _adopt(self, heap: Bytes, starts: Longs, lengths: Ints) -> None:
        """Take over strings laid out exactly, in arrays that nobody else keeps; chain the free codes, fill slots."""
        codes = lengths.size
        header = _header(starts, lengths, heap.size)
        strings = (
            grown(heap, _capacity(heap.size)),
            grown(starts, _capacity(codes)),
            grown(lengths, _capacity(codes)),
        )
        slots = _slots(2 * int(header[LIVE]))
        fill_slots(header, *strings, slots)
        self._install(header, strings, slots)

    def _install(self, header: Longs, strings: tuple[Bytes, Longs, Ints], slots: Slots) -> None:
        """Let other arrays be its own, all at once: an exception that a signal raises comes before it or after it."""
        (self._header, (self.heap, self.starts, self.lengths), self._slots, self.age) = (
            header,
            strings,
            slots,
            object(),
        )

    def _make_space(self, length: int) -> None:
        """Double what has no space for one more string of ``length`` bytes."""
        header = self._header
        if header[HEAP_USED] + length > self.heap.size:
            self.heap = self._grown(self.heap, int(header[HEAP_USED]) + length)
        if header[NEXT_FREE] < 0 and header[CODES] >= self.lengths.size:
            if header[CODES] >= MAX_CODES:
                msg = f"the dictionary holds {header[CODES]} different values, its limit; drop views or tables"
                raise CapacityError(msg)
            needed = int(header[CODES]) + 1
            more = self._grown(self.starts, needed), self._grown(self.lengths, needed)
            self.starts, self.lengths = more  # at once: an exception that a signal raises comes before both or after
        if 2 * (header[LIVE] + 1) > self._slots.size:
            needed = 2 * (int(header[LIVE]) + 1)
            self._budget.take(8 * _capacity(needed), "a dictionary")
            slots = _slots(needed)
            move_slots(self._slots, self.lengths, slots)
            self._slots = slots

    def encode(
        self,
        data: Bytes,
        offsets: Ints | Longs,
        valid: npt.NDArray[np.bool_] = ALL_VALID,
        out: Longs | None = None,
    ) -> Longs:
        """Codes of a batch of strings; new strings are added.

        Args:
            data: The strings' bytes.
            offsets: String ``i`` is ``data[offsets[i] : offsets[i + 1]]``; one more than there are strings.
            valid: Which rows hold a string; empty if all do.
            out: Where the codes go; None for an array of their own.

        Returns:
            One code a row; whatever stands in rows that are not valid means nothing.

        Raises:
            CapacityError: More than 2^32 - 2 different strings, or 2 GiB in one of them.
            MemoryLimitError: The database would take more than it may.

        Cost: expected O(bytes of the batch), amortised over growth.
        """
        codes = np.zeros(offsets.size - 1, np.int64) if out is None else out
        for begin, piece, bounds in _pieces(data, offsets):
            rows = slice(begin, begin + bounds.size - 1)
            with self._lock:
                self._encode(piece, bounds, valid[rows], codes[rows])
        return codes

    def _encode(self, data: Bytes, offsets: Ints, valid: npt.NDArray[np.bool_], out: Longs) -> None:
        """As `encode`, by one thread at a time, into ``out``."""
        row = 0
        while row < out.size:
            piece = out[: row + _AT_ONCE]  # some ten milliseconds, after which Python looks for signals
            row = encode_strings(
                self._header, self.heap, self.starts, self.lengths, self._slots, (data, offsets, valid), row, piece
            )
            if row < piece.size:
                self._make_space(int(offsets[row + 1] - offsets[row]))

    def decode(self, codes: Longs, null: int = _NO_NULL) -> tuple[Bytes, Longs]:
        """The strings of codes, laid out one after the other.

        Args:
            codes: Codes in use, or ``null`` for no string, which comes out empty.

        Returns:
            The bytes, and the offsets of the strings in them.

        Raises:
            StateError: A code that is not in use.

        Cost: O(codes + bytes).
        """
        codes = np.ascontiguousarray(codes)
        offsets = self._measured(codes, null)
        out = np.empty(int(offsets[-1]), np.uint8)
        gather_strings(self.heap, self.starts, codes, null, offsets, out)
        return out, offsets

    def _measured(self, codes: Longs, null: int) -> Longs:
        """The offsets of the strings of codes that are laid out one after the other; errors as `decode`."""
        offsets = np.empty(codes.size + 1, np.int64)
        bad = measure_strings(self._header, self.lengths, codes, null, offsets)
        if bad >= 0:
            msg = f"code {codes[bad]} at position {bad} is not in the dictionary, which has {len(self)} entries"
            raise StateError(msg)
        return offsets

    def retain(self, codes: Longs) -> None:
        """Drop all strings but those of the given codes (any order, repetitions allowed), which keep their codes.

        Raises:
            StateError: A code that is not in use; nothing was dropped.

        Cost: O(codes + entries + bytes of the kept strings).
        """
        there = self.has(codes)
        if not there.all():
            codes = codes[~there][:1]  # the error names one that is not in use
            self.decode(codes)
        used = np.zeros(self.issued, np.bool_)
        used[codes] = True
        kept = np.flatnonzero(used)
        offsets = self._measured(kept, _NO_NULL)
        end = int(kept[-1]) + 1 if kept.size else 0
        heap = zeros(_capacity(int(offsets[-1])), np.uint8)  # with room, so that none of them is copied once more
        starts, lengths = zeros(_capacity(end), np.int64), zeros(_capacity(end), np.int32)
        gather_strings(self.heap, self.starts, kept, _NO_NULL, offsets, heap)
        lengths[:end] = FREE
        starts[kept] = offsets[:-1]
        lengths[kept] = np.diff(offsets)
        header = _header(starts[:end], lengths[:end], int(offsets[-1]))
        slots = _slots(2 * kept.size)
        move_slots(self._slots, lengths[:end], slots)
        self._install(header, (heap, starts, lengths), slots)

    def packed(self) -> tuple[ByteDictionary, Longs]:
        """The same strings under codes from 0 on, in the same order, and the new code of each old one, else -1.

        Cost: O(codes + bytes).
        """
        codes = self._codes()
        heap, offsets = self.decode(codes)
        other = ByteDictionary(self._budget)
        other._adopt(heap, offsets[:-1].copy(), np.diff(offsets).astype(np.int32))
        new = np.full(self.issued, ABSENT, np.int64)
        new[codes] = np.arange(codes.size)
        return other, new

    @property
    def issued(self) -> int:
        """Codes given out so far; those that are free again are among them."""
        return int(self._header[CODES])

    @property
    def is_scattered(self) -> bool:
        """Whether dense codes would take at most a quarter of the places that the codes take."""
        return _capacity(self.issued) >= _SCATTERED * _capacity(len(self))

    def has(self, codes: Longs) -> npt.NDArray[np.bool_]:
        """Which numbers are codes in use."""
        there: npt.NDArray[np.bool_] = (codes >= 0) & (codes < self._header[CODES])
        there[there] = self.lengths[codes[there]] != FREE
        return there

    def entries(self) -> tuple[Bytes, Longs]:
        """All strings, laid out one after the other in the order of their codes, and their offsets."""
        return self.decode(self._codes())

    def _codes(self) -> Longs:
        """The codes in use, ascending."""
        return np.flatnonzero(self.lengths[: self._header[CODES]] != FREE)

    def __len__(self) -> int:
        return int(self._header[LIVE])

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        arrays = (self._header, self.heap, self.starts, self.lengths, self._slots)
        return sum(array.nbytes for array in arrays)

    @property
    def live_bytes(self) -> int:
        """Bytes in use: the strings, and for each its place, its length and its slot."""
        per_string = self.starts.itemsize + self.lengths.itemsize + self._slots.itemsize
        return int(self._header[HEAP_USED]) + len(self) * per_string

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The content for a snapshot: views, valid until the dictionary changes."""
        codes = self._header[CODES]
        return {
            "heap": self.heap[: self._header[HEAP_USED]],
            "starts": self.starts[:codes],
            "lengths": self.lengths[:codes],
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]], budget: Budget | None = None) -> ByteDictionary:
        """The dictionary that ``arrays`` was called on; the given arrays are copied, and everything is checked.

        Raises:
            StateError: Arrays that do not describe a dictionary.

        Cost: O(entries + bytes).
        """
        try:
            heap, starts, lengths = (arrays[name].copy() for name in ("heap", "starts", "lengths"))
        except KeyError as error:
            msg = f"the snapshot of a dictionary lacks the array {error}; it is damaged or of another version"
            raise StateError(msg) from None
        if (
            [array.dtype for array in (heap, starts, lengths)] != [np.uint8, np.int64, np.int32]
            or not heap.ndim == starts.ndim == lengths.ndim == 1
            or starts.shape != lengths.shape
            or lengths.size > MAX_CODES
        ):
            msg = "the snapshot of a dictionary has arrays of other shapes; it is damaged or of another version"
            raise StateError(msg)
        live = lengths != FREE
        sizes = lengths[live]
        if np.any(sizes < 0) or np.any(starts[live] < 0) or np.any(starts[live] > heap.size - sizes):
            msg = "the snapshot of a dictionary has strings outside of its heap; it is damaged or of another version"
            raise StateError(msg)
        if int(sizes.sum(dtype=np.int64)) > heap.size:
            msg = "the snapshot of a dictionary has strings that overlap; it is damaged or of another version"
            raise StateError(msg)
        dictionary = cls(budget)
        dictionary._adopt(heap, starts, lengths)
        codes = dictionary._codes()
        if not np.array_equal(dictionary.encode(*dictionary.decode(codes)), codes):
            msg = "the snapshot of a dictionary has a string twice; it is damaged or of another version"
            raise StateError(msg)
        return dictionary

    def _check(self) -> None:
        """Assert all invariants; O(entries), for tests."""
        codes, live, heap_used, free = self._header[:SEEN].tolist()
        assert codes <= self.lengths.size == self.starts.size
        assert heap_used <= self.heap.size
        assert self._slots.size & (self._slots.size - 1) == 0
        assert 2 * live <= self._slots.size
        assert np.count_nonzero(self._slots) == live
        chain = set[int]()
        while free >= 0:
            assert free < codes and free not in chain and self.lengths[free] == FREE
            chain.add(free)
            free = int(self.starts[free])
        alive = self._codes()
        assert alive.size == live and live + len(chain) == codes and chain.isdisjoint(alive.tolist())
        assert np.all(self.starts[alive] >= 0) and np.all(self.lengths[alive] >= 0)
        assert np.all(self.starts[alive] + self.lengths[alive] <= heap_used)
        before = self._header.copy()
        found = self.encode(*self.decode(alive))  # every live code is found by probing, and nothing is added
        assert np.array_equal(found, alive) and np.array_equal(before[:SEEN], self._header[:SEEN])


class KnownStrings(ByteDictionary):
    """The strings of a dictionary, to look others up among them; valid until the dictionary changes.

    Args:
        source: The dictionary, which is not changed.

    >>> letters = ByteDictionary()
    >>> known = KnownStrings(letters)
    >>> known.encode(np.frombuffer(b"a", np.uint8), np.array([0, 1])).tolist() == [ABSENT], len(letters)
    (True, 0)
    """

    def __init__(self, source: ByteDictionary) -> None:
        # Without free codes and with as many lengths as codes there is no space for a string that is new.
        self._header = source._header.copy()
        self._header[NEXT_FREE] = -1
        self.lengths = source.lengths[: source._header[CODES]]
        self.heap, self.starts, self._slots = source.heap, source.starts, source._slots

    def encode(
        self,
        data: Bytes,
        offsets: Ints | Longs,
        valid: npt.NDArray[np.bool_] = ALL_VALID,
        out: Longs | None = None,
    ) -> Longs:
        """Codes of a batch of strings, `ABSENT` for those that are not there; nothing is added.

        Args:
            data, offsets, valid, out: As for `ByteDictionary.encode`.

        Cost: expected O(bytes of the batch).
        """
        codes = np.empty(offsets.size - 1, np.int64) if out is None else out
        codes.fill(ABSENT)
        table = (self._header, self.heap, self.starts, self.lengths, self._slots)
        for begin, piece, bounds in _pieces(data, offsets):
            rows = slice(begin, begin + bounds.size - 1)
            row = 0
            while row < bounds.size - 1:
                row = encode_strings(*table, (piece, bounds, valid[rows]), row, codes[rows]) + 1
        return codes


def _pieces(data: Bytes, offsets: Ints | Longs) -> Iterator[tuple[int, Bytes, Ints]]:
    """Strings in pieces of less than 2 GiB, nearly always one, as the kernel takes them.

    Yields:
        Which string is the first, the bytes, and where each string begins, as in ``offsets``. Both are read-only, as
        Arrow's buffers are, since the kernel would be compiled a second time for others.

    Raises:
        CapacityError: A string has 2 GiB or more.
    """
    begin, last = 0, offsets.size - 1
    while begin < last:
        end, first = last, 0
        if offsets[last] > _LONGEST:
            first = int(offsets[begin])
            end = int(np.searchsorted(offsets, first + _LONGEST, side="right")) - 1
            if end == begin:
                msg = f"a string has {int(offsets[begin + 1]) - first:,} bytes; a dictionary takes {_LONGEST:,}"
                raise CapacityError(msg)
        bounds = (offsets[begin : end + 1] - first if first else offsets[begin : end + 1]).astype(np.int32, copy=False)
        bounds = bounds.view() if bounds.flags.aligned else bounds.copy()
        bounds.setflags(write=False)
        piece = data[first:]
        piece.setflags(write=False)
        yield begin, piece, bounds
        begin = end


def _header(starts: Longs, lengths: Ints, used: int) -> Longs:
    """The header of strings that take so many bytes, whose free codes are chained here, in ``starts``."""
    free = np.flatnonzero(lengths == FREE)
    starts[free] = np.append(free[1:], -1) if free.size else free
    header = np.zeros(HEADER_WORDS, np.int64)
    header[CODES] = lengths.size
    header[LIVE] = lengths.size - free.size
    header[HEAP_USED] = used
    header[NEXT_FREE] = free[0] if free.size else -1
    return header
