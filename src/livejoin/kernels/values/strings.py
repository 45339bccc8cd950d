"""Kernels of a hash table from byte strings to dense codes, over flat arrays.

Law: two byte strings get the same code iff they are equal; codes are small non-negative integers, and a code that is
given back is given out again before a new one is made.

The arrays, owned by the caller (``livejoin.state.dictionary``) and changed in place only where a kernel says so:

- ``header``, int64[HEADER_WORDS]: see the field constants below.
- ``heap``, uint8: the bytes of all strings; those beyond ``header[HEAP_USED]`` are free.
- ``starts``, int64 and ``lengths``, int32: the place of each code's string in the heap. A free code has length ``FREE``
  and keeps the next free code (-1 at the end) in ``starts``.
- ``slots``, uint64, a power of two of them, at most half full: open addressing with linear probing from the place that
  the high 32 bits of the hash say. 0 is an empty slot, any other holds these bits and, below them, the code plus 1. So
  another table is filled from this one without the strings, and nearly in the order of its own slots.

No kernel allocates: one that runs out of space stops in front of the row that it has no space for and returns its
position, the caller grows the arrays and calls again. Positions are unsigned so that the compiler drops the test for
negative ones and fuses eight byte loads into one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from livejoin.kernels.jit import inlined, kernel

CODES = 0  # codes ever given out, free ones included
LIVE = 1  # codes in use
HEAP_USED = 2  # bytes of the heap in use
NEXT_FREE = 3  # first free code, -1 if there is none
SEEN = 4  # what was read ahead, for nobody
DIGESTS = 5  # the hashes of the strings that are looked up next
AHEAD = 32  # strings that are looked up side by side: as many as memory answers at once, or some more
HEADER_WORDS = DIGESTS + AHEAD

BEYOND = 1 << 13
"""Slots of a table that the caches hold, so that nothing is read ahead of it."""

FREE = -1
MAX_CODES = 2**32 - 2

_HIGH = np.uint64(0xFFFFFFFF00000000)
_LOW = np.uint64(0x00000000FFFFFFFF)
_SEED = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
_FINAL_1 = np.uint64(0xFF51AFD7ED558CCD)
_FINAL_2 = np.uint64(0xC4CEB9FE1A85EC53)
_U0, _U1, _U2, _U3, _U4 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_U5, _U6, _U7, _U8, _U16, _U24 = np.uint64(5), np.uint64(6), np.uint64(7), np.uint64(8), np.uint64(16), np.uint64(24)
_U32, _U33, _U40, _U48, _U56 = np.uint64(32), np.uint64(33), np.uint64(40), np.uint64(48), np.uint64(56)

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Slots = npt.NDArray[np.uint64]
Strings = tuple[Bytes, Ints, npt.NDArray[np.bool_]]
"""A batch as one parameter: ``data``, ``offsets`` and ``valid``.

String ``i`` is ``data[offsets[i] : offsets[i + 1]]``; ``valid`` says which rows hold a string, and is empty if all do.
"""


@inlined
def _load4(data: Bytes, at: np.uint64) -> np.uint64:
    return np.uint64(
        np.uint64(data[at])
        | (np.uint64(data[at + _U1]) << _U8)
        | (np.uint64(data[at + _U2]) << _U16)
        | (np.uint64(data[at + _U3]) << _U24)
    )


@inlined
def _load8(data: Bytes, at: np.uint64) -> np.uint64:
    return np.uint64(
        np.uint64(data[at])
        | (np.uint64(data[at + _U1]) << _U8)
        | (np.uint64(data[at + _U2]) << _U16)
        | (np.uint64(data[at + _U3]) << _U24)
        | (np.uint64(data[at + _U4]) << _U32)
        | (np.uint64(data[at + _U5]) << _U40)
        | (np.uint64(data[at + _U6]) << _U48)
        | (np.uint64(data[at + _U7]) << _U56)
    )


@inlined
def _load_short(data: Bytes, at: np.uint64, length: np.uint64) -> np.uint64:
    """A string of less than 8 bytes as a word; different for different strings of the same length."""
    if length >= _U4:
        return np.uint64(_load4(data, at) | (_load4(data, at + length - _U4) << _U32))
    if length > _U0:
        return np.uint64(
            np.uint64(data[at])
            | (np.uint64(data[at + (length >> _U1)]) << _U8)
            | (np.uint64(data[at + length - _U1]) << _U16)
        )
    return _U0


@inlined
def hash_bytes(data: Bytes, at: np.uint64, length: np.uint64) -> np.uint64:
    """Hash of ``data[at : at + length]``: multiply and shift over 8-byte words, the last one overlapping."""
    value = length * _MULTIPLIER ^ _SEED
    if length >= _U8:
        last = at + length - _U8
        while at < last:
            value = (value ^ _load8(data, at)) * _MULTIPLIER
            value ^= value >> _U32
            at += _U8
        value = (value ^ _load8(data, last)) * _MULTIPLIER
    else:
        value = (value ^ _load_short(data, at, length)) * _MULTIPLIER
    value = (value ^ (value >> _U33)) * _FINAL_1
    value = (value ^ (value >> _U33)) * _FINAL_2
    return np.uint64(value ^ (value >> _U33))


@inlined
def _same_bytes(left: Bytes, i: np.uint64, right: Bytes, j: np.uint64, length: np.uint64) -> bool:
    if length < _U8:
        return bool(_load_short(left, i, length) == _load_short(right, j, length))
    last = i + length - _U8
    while i < last:
        if _load8(left, i) != _load8(right, j):
            return False
        i += _U8
        j += _U8
    return bool(_load8(left, last) == _load8(right, j + last - i))


@inlined
def _copy_bytes(source: Bytes, i: np.uint64, target: Bytes, j: np.uint64, length: np.uint64) -> None:
    for k in range(length):
        target[j + np.uint64(k)] = source[i + np.uint64(k)]


@inlined
def _shift(slots: Slots) -> np.uint64:
    """How far a hash is shifted to be the slot where its string is looked for."""
    shift = np.uint64(64)
    size = slots.size
    while size > 1:
        size >>= 1
        shift -= _U1
    return shift


@inlined
def _home(digest: np.uint64, shift: np.uint64) -> np.uint64:
    """The slot where a string is looked for; of more than 2^32 slots each second one, or fewer of them."""
    return np.uint64((digest & _HIGH) >> shift)


@inlined
def _digest(header: Longs, place: int) -> np.uint64:
    """The hash of a string that was looked ahead for."""
    return np.int64(header[DIGESTS + place]).view(np.uint64)


@inlined
def _look_ahead(
    header: Longs,
    heap: Bytes,
    starts: Longs,
    lengths: Ints,
    slots: Slots,
    strings: Strings,
    begin: int,
    end: int,
) -> None:
    """Hash the next strings and read what they are looked up in: memory answers for all at once, not each in turn."""
    data, offsets, _ = strings
    shift = _shift(slots)
    for row in range(begin, end):
        at = np.uint64(offsets[row])
        digest = hash_bytes(data, at, np.uint64(offsets[row + 1]) - at)
        header[DIGESTS + row - begin] = np.uint64(digest).view(np.int64)
    seen = np.int64(0)
    for i in range(end - begin):
        seen ^= np.int64(slots[_home(_digest(header, i), shift)] & _LOW)
    for i in range(end - begin):
        digest = _digest(header, i)
        word = slots[_home(digest, shift)]
        if word != _U0 and (word ^ digest) & _HIGH == _U0:
            seen ^= starts[(word & _LOW) - _U1] ^ np.int64(lengths[(word & _LOW) - _U1])
    for i in range(end - begin):
        digest = _digest(header, i)
        word = slots[_home(digest, shift)]
        if word != _U0 and (word ^ digest) & _HIGH == _U0:
            length = lengths[(word & _LOW) - _U1]
            if length > 0:
                first = np.uint64(starts[(word & _LOW) - _U1])
                seen ^= np.int64(heap[first]) ^ np.int64(heap[first + np.uint64(length) - _U1])
    header[SEEN] ^= seen


@kernel
def encode_strings(
    header: Longs,
    heap: Bytes,
    starts: Longs,
    lengths: Ints,
    slots: Slots,
    strings: Strings,
    begin: int,
    out: Longs,
) -> int:
    """Write the codes of a batch of strings to ``out``, inserting those that are new.

    Args:
        header, heap, starts, lengths, slots: The table; changed in place.
        strings: The batch; the places in ``out`` of rows without a string are left as they are.
        begin: The row to start with.
        out: One code a row.

    Returns:
        The number of rows when done, else the position of the first row that there was no space for.

    Cost: expected O(bytes of the batch).
    """
    data, offsets, valid = strings
    mask, shift = np.uint64(slots.size - 1), _shift(slots)
    reads_ahead = slots.size > BEYOND
    for row in range(begin, out.size):
        if reads_ahead and (row - begin) % AHEAD == 0:
            _look_ahead(header, heap, starts, lengths, slots, strings, row, min(row + AHEAD, out.size))
        if valid.size > 0 and not valid[row]:
            continue
        at = np.uint64(offsets[row])
        length = np.uint64(offsets[row + 1]) - at
        digest = _digest(header, (row - begin) % AHEAD) if reads_ahead else hash_bytes(data, at, length)
        slot = _home(digest, shift)
        code = np.int64(-1)
        while slots[slot] != _U0:
            word = slots[slot]
            if (word ^ digest) & _HIGH == _U0:
                candidate = (word & _LOW) - _U1
                if np.uint64(lengths[candidate]) == length and _same_bytes(
                    data, at, heap, np.uint64(starts[candidate]), length
                ):
                    code = np.int64(candidate)
                    break
            slot = (slot + _U1) & mask
        if code < 0:
            used = header[HEAP_USED]
            code = header[NEXT_FREE]
            if (
                used + np.int64(length) > heap.size
                or 2 * (header[LIVE] + 1) > slots.size
                or (code < 0 and header[CODES] >= lengths.size)
            ):
                return row
            if code < 0:
                code = header[CODES]
                header[CODES] = code + 1
            else:
                header[NEXT_FREE] = starts[code]
            starts[code] = used
            lengths[code] = length
            _copy_bytes(data, at, heap, np.uint64(used), length)
            header[HEAP_USED] = used + np.int64(length)
            header[LIVE] += 1
            slots[slot] = (digest & _HIGH) | (np.uint64(code) + _U1)
        out[row] = code
    return out.size


@kernel
def fill_slots(header: Longs, heap: Bytes, starts: Longs, lengths: Ints, slots: Slots) -> None:
    """Enter all live codes into ``slots``, which must be all 0 and at least twice as many as there are live codes."""
    mask, shift = np.uint64(slots.size - 1), _shift(slots)
    for code in range(header[CODES]):
        if lengths[code] == FREE:
            continue
        digest = hash_bytes(heap, np.uint64(starts[code]), np.uint64(lengths[code]))
        slot = _home(digest, shift)
        while slots[slot] != _U0:
            slot = (slot + _U1) & mask
        slots[slot] = (digest & _HIGH) | np.uint64(code + 1)


@kernel
def move_slots(others: Slots, lengths: Ints, slots: Slots) -> None:
    """Enter the live codes of another table of slots, as `fill_slots` does, without a look at the strings.

    Args:
        others: The other table; a code that is not in ``lengths``, or free there, is left out.
        lengths: Of the strings by their codes.
        slots: All 0; at least twice as many as there are live codes.
    """
    mask, shift = np.uint64(slots.size - 1), _shift(slots)
    codes = np.uint64(lengths.size)
    for place in range(others.size):
        word = others[place]
        code = (word & _LOW) - _U1
        if word == _U0 or code >= codes or lengths[code] == FREE:
            continue
        slot = _home(word, shift)
        while slots[slot] != _U0:
            slot = (slot + _U1) & mask
        slots[slot] = word


@kernel
def measure_strings(header: Longs, lengths: Ints, codes: Longs, null: int, offsets: Longs) -> int:
    """Write the offsets that the strings of ``codes`` have when laid out one after the other.

    Args:
        codes: Codes in use; ``null`` stands for no string.
        offsets: One more than ``codes``; changed in place.

    Returns:
        -1, or the position of the first code that is not in use (``offsets`` is then incomplete).
    """
    total = np.int64(0)
    offsets[0] = 0
    for row in range(codes.size):
        code = codes[row]
        if code != null:
            if code < 0 or code >= header[CODES] or lengths[code] == FREE:
                return row
            total += lengths[code]
        offsets[row + 1] = total
    return -1


@kernel
def gather_strings(heap: Bytes, starts: Longs, codes: Longs, null: int, offsets: Longs, out: Bytes) -> None:
    """Copy the strings of ``codes`` to the places that ``measure_strings`` found for them."""
    for row in range(codes.size):
        code = codes[row]
        if code != null:
            at = np.uint64(offsets[row])
            length = np.uint64(offsets[row + 1]) - at
            _copy_bytes(heap, np.uint64(starts[code]), out, at, length)
