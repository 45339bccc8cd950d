"""Buffers that grow where they are, at the begin of a range of addresses that is reserved for them.

A copy into a doubled buffer has both in memory at once, three times what there was. Addresses cost nothing: a process
has 47 bits of them, and a range is reserved without the right to read or write it, which takes no memory and counts as
none. Growing gives that right to more of its begin, and the system brings pages, cleared, as they are touched. It may
refuse to, as it may refuse an allocation: that is a `MemoryError`, and the buffer is what it was.

Laws: a buffer that was grown has the content of the one before and zeros behind it; where it grew in place the one
before stays valid, as the begin of the new one; memory and addresses go back when the last array over them is gone.

Only buffers of at least `LEAST` bytes lie in ranges, and only on Linux, where the addresses of the process are not
limited (``ulimit -v``) and the range is granted. Elsewhere growing is a copy. It is one too when a range is used up,
which has `_TIMES` the size that was needed at first: a buffer that grows by little from a megabyte on moves at 256 MiB,
and never again.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sized
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Item = TypeVar("Item", bound=np.generic)

LEAST = 1 << 20
"""Bytes from which on a buffer lies in a range of its own."""

_TIMES = 256  # addresses for each byte that is needed at first: 47 bits of them do for 512 GiB in buffers
_MOST = 1 << 36  # of addresses, unless more is needed at first
_HUGE = 1 << 22  # bytes from which on NumPy asks for huge pages too

if sys.platform == "linux":
    import mmap
    import resource

    _system = ctypes.CDLL(None, use_errno=True)
    _system.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    _system.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    _NOTHING, _PRIVATE = 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS

    def _reserve(size: int) -> mmap.mmap | None:
        """A new range, which is given back with the object; None where none is to be had.

        Python's own object for it, and not an address: it is given back by C alone. A finalizer in Python would be a
        place where Ctrl-C is lost, since Python prints what such a finalizer raises and goes on.
        """
        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            return None
        try:
            return mmap.mmap(-1, size, flags=_PRIVATE, prot=_NOTHING)
        except OSError:
            return None

    def _open(address: int, size: int) -> bool:
        """Let the begin of a range be memory; False where the system refuses."""
        return bool(_system.mprotect(address, size, mmap.PROT_READ | mmap.PROT_WRITE) == 0)

    def _ask_for_huge_pages(address: int, size: int) -> None:
        """Let a range have huge pages, if there are any: of ordinary ones there are 512 times as many to bring."""
        _system.madvise(address, size, mmap.MADV_HUGEPAGE)

else:

    def _reserve(size: int) -> None:
        return None


class _Range:
    """A range of addresses, the first of which are memory; mutable. It is released with the last array over it.

    Args:
        reserved: The holder of the addresses.
        dtype: The type of the array's elements.

    Attributes:
        opened: Bytes that are memory.
    """

    opened = 0

    def __init__(self, reserved: Sized, dtype: np.dtype[Any]) -> None:
        self._reserved, self._address = reserved, _address_of(reserved)
        self.__array_interface__ = {
            "data": (self._address, False),
            "shape": (len(reserved) // dtype.itemsize,),
            "typestr": dtype.str,
            "version": 3,
        }

    def open(self, size: int) -> None:
        """Let the first bytes be memory.

        Raises:
            MemoryError: The system does not grant them.
        """
        if not _open(self._address, size):
            msg = f"the system does not grant {size:,} bytes for a buffer that has {self.opened:,}"
            raise MemoryError(msg)
        if self.opened < _HUGE <= size:
            _ask_for_huge_pages(self._address, len(self._reserved))
        self.opened = size


def zeros(places: int, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """An array of zeros that may grow in place.

    Args:
        places: The length of the array.
        dtype: The type of the array's elements.

    Raises:
        MemoryError: The system does not grant the memory.
    """
    kind = np.dtype(dtype)
    needed = places * kind.itemsize
    size = max(2 * needed, min(_TIMES * needed, _MOST))
    reserved = _reserve(size) if needed >= LEAST else None
    if reserved is None:
        return np.zeros(places, kind)
    range_ = _Range(reserved, kind)
    range_.open(needed)
    whole: npt.NDArray[Any] = np.asarray(range_)
    return whole[:places]


def grown(array: npt.NDArray[Item], places: int) -> npt.NDArray[Item]:
    """A longer array with the content of another one and zeros behind it, where that one is if it has room there.

    Args:
        array: The array, of one dimension. Nobody uses it any more but as the begin of the longer one.
        places: The length of the longer one.

    Raises:
        MemoryError: The system does not grant them; the array is as it was.

    Cost: O(1) and what the system takes for new pages; that of a copy where there is no room.
    """
    if _has_room(array, places):
        whole: Any = array.base
        whole.base.open(places * array.itemsize)
        found: npt.NDArray[Item] = whole[:places]
        return found
    larger = zeros(places, array.dtype)
    larger[: array.shape[0]] = array
    return larger


def bytes_to_grow(array: npt.NDArray[Any], places: int) -> int:
    """Bytes that `grown` allocates: what is added where there is room, else all, as both are there for a while."""
    return places * array.itemsize - (array.nbytes if _has_room(array, places) else 0)


def _address_of(reserved: Any) -> int:
    """Where a range begins; nothing of it is read."""
    return int(np.frombuffer(reserved, np.uint8).ctypes.data)


def _has_room(array: npt.NDArray[Any], places: int) -> bool:
    """Whether an array is all that is open of a range, which has so many places."""
    whole = array.base
    if not isinstance(whole, np.ndarray) or not isinstance(whole.base, _Range):
        return False
    return array.dtype == whole.dtype and array.nbytes == whole.base.opened and places <= whole.shape[0]
