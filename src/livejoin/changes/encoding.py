"""Arrow columns as users give them: validated in full, then decoded to plain arrays.

Arrow trusts its buffers. Offsets that descend, indices beyond a dictionary and bytes that are not UTF-8 are read as
they are by Arrow's kernels, by ours and by DuckDB's, until one of them crashes. So each column is validated in full
before anything reads it, whoever made it. That costs 5 ns a string (4 GB a second), nothing measurable for fixed-width
values, and 3 us a batch, measured on 2,000,000 rows. One thing cannot be checked: the size of a buffer that comes over
the C interface, which Arrow takes from the offsets.

The law: the plain column has the values of the given column, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes.source import ARROW_ERRORS
from livejoin.errors import CapacityError, ChangeError, ChangeFormatError, ChangeValueError
from livejoin.handlers import raised_by_handler
from livejoin.schema import Column, Table
from livejoin.shown import shown

_types = pa.types
_BINARY = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


def plain(values: pa.ChunkedArray, column: Column, table: Table, sound: bool = False) -> pa.ChunkedArray:
    """The column without dictionaries, run ends and empty chunks.

    Args:
        values: The column as given.
        column, table: Named in errors.
        sound: Whether Arrow has validated the values in full already.

    Raises:
        ChangeValueError: A string that is not UTF-8.
        ChangeFormatError: Buffers that are no array of their type.
        CapacityError: The strings of a dictionary column take more than 2 GiB when decoded.

    Cost: O(values); encoded columns are copied.
    """
    if values.num_chunks > 1:  # Arrow fails to join empty chunks that came over the C interface with an offset
        values = pa.chunked_array([chunk for chunk in values.chunks if len(chunk)], values.type)
    begin = 0
    for chunk in () if sound else values.chunks:
        try:
            # A date64 of a part of a day is invalid to Arrow, and to us a value that does not fit.
            chunk.validate(full=not _types.is_date64(chunk.type))
        except ARROW_ERRORS as error:
            raise _invalid(chunk, begin, error, column, table) from error
        begin += len(chunk)
    while _types.is_dictionary(values.type) or _types.is_run_end_encoded(values.type):
        kind = _value_type(values.type)
        try:
            values = pa.chunked_array([part for chunk in values.chunks for part in _decoded(chunk, kind)], kind)
        except pa.ArrowNotImplementedError as error:
            msg = f"column {column.name!r} has the Arrow type {values.type}, which Arrow cannot write plainly: {error}"
            raise ChangeFormatError(msg, table.name) from error
        except ARROW_ERRORS as error:
            raise too_long(column, table) from error
    return values


def too_long(column: Column, table: Table) -> CapacityError:
    """The error for more strings than one Arrow array holds."""
    msg = (
        f"table {table.name!r}: column {column.name!r} has more than 2 GiB of strings, the most that an Arrow array "
        "holds; give fewer rows at a time"
    )
    return CapacityError(msg)


def first_failure(size: int, attempt: Callable[[int, int], object]) -> int:
    """The first of ``size`` values on which ``attempt(low, high)`` fails, which fails on all of them. Cost: O(size)."""
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        if fails(partial(attempt, low, middle)):
            high = middle
        else:
            low = middle
    return low


def fails(attempt: Callable[[], object]) -> bool:
    """Whether what may call objects of anybody's class fails."""
    try:
        attempt()
    except MemoryError:
        raise
    except Exception as error:
        if raised_by_handler(error):
            raise
        return True
    return False


def _value_type(kind: pa.DataType) -> pa.DataType:
    """The type of decoded values; views become plain strings, because Arrow cannot `take` from views."""
    return pa.string() if _types.is_string_view(kind.value_type) else kind.value_type


def _decoded(chunk: pa.Array, kind: pa.DataType) -> list[pa.Array]:
    """The values of one chunk."""
    if _types.is_dictionary(chunk.type):
        values, places = chunk.dictionary, chunk.indices
    else:
        values, runs = chunk.values, pa.array(range(len(chunk.run_ends)), pa.int32())
        places = pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(chunk.run_ends, runs))
        places = places.slice(chunk.offset, len(chunk))
    taken = values.cast(kind).take(places)
    return taken.chunks if isinstance(taken, pa.ChunkedArray) else [taken]


def _invalid(chunk: pa.Array, begin: int, error: Exception, column: Column, table: Table) -> ChangeError:
    """The error for a chunk that Arrow finds invalid, with the first row that it is invalid for."""
    if _types.is_dictionary(chunk.type) and (bad := _first_invalid(chunk.dictionary)) >= 0:
        row = pc.index(chunk.indices, pa.scalar(bad, chunk.indices.type)).as_py()
        values, at = chunk.dictionary, bad
    elif _types.is_run_end_encoded(chunk.type) and (bad := _first_invalid(chunk.values)) >= 0:
        row = max(chunk.run_ends[bad - 1].as_py() - chunk.offset, 0) if bad else 0
        values, at = chunk.values, bad
    else:
        row = at = _first_invalid(chunk)
        values = chunk
    row = begin + row if row >= 0 else -1
    found = _not_utf8(values, at)
    if found is not None:
        msg = (
            f"value {shown(found)} of column {column.name!r} is not UTF-8, which {column.type} needs; decode the bytes "
            "by the encoding that they have, for example latin-1"
        )
        return ChangeValueError(msg, table.name, row)
    why = str(error).splitlines()[0]
    msg = f"column {column.name!r} has the Arrow type {chunk.type}, and its buffers do not make such an array: {why}"
    return ChangeFormatError(msg, table.name, row)


def _first_invalid(values: pa.Array) -> int:
    """The position of the first invalid value; -1 if all are valid, or if no single value is to blame."""

    def attempt(low: int, high: int) -> None:
        values.slice(low, high - low).validate(full=True)

    try:
        attempt(0, len(values))
    except ARROW_ERRORS:
        return first_failure(len(values), attempt) if len(values) else -1
    return -1


def _not_utf8(values: pa.Array, at: int) -> bytes | None:
    """The bytes of a string that is not UTF-8; None for another type or another damage."""
    binary = _BINARY.get(values.type)
    if at < 0 or binary is None:
        return None
    try:
        value = values.slice(at, 1).view(binary)
        value.validate(full=True)  # as bytes it is sound, so that it can be read
    except ARROW_ERRORS:
        return None
    found: bytes = value[0].as_py()
    return found
