"""Columns with names from anything that carries rows; names and values are not checked here.

Python objects stay Python objects, because Arrow's inference of types would guess.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes.kinds import KINDS
from livejoin.changes.reading import reading
from livejoin.changes.records import columns_of, fields_of, named_values
from livejoin.errors import ChangeFormatError
from livejoin.schema import CHANGE_COLUMNS, CHANGE_TYPE, Table
from livejoin.shown import type_name
from livejoin.words import Words

Values: TypeAlias = pa.ChunkedArray | tuple[Any, ...]

_ALLOWED = (
    "allowed are Arrow data (pyarrow, pandas, Polars, DuckDB: anything with __arrow_c_stream__), "
    "NumPy's arrays of records, and lists of tuples, dicts, dataclasses, named tuples or pydantic models"
)
TUPLES = ({tuple}, {list}, {tuple, list})
"""The classes of rows that have their columns by position."""

_FEW = 1 << 10  # rows for which one look at all columns takes less than one at each
_SHORT = 1 << 8  # values that Arrow checks in less time than it takes to ask whether it should
_BEYOND_ASCII = 0x80
_STREAM, _ARRAY = "__arrow_c_stream__", "__arrow_c_array__"
_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
# What Arrow raises when data does not make a table; some of pyarrow's errors are plain Python ones.
ARROW_ERRORS = (pa.ArrowException, ValueError, TypeError, OverflowError)


@dataclass(eq=False)
class Source:
    """Columns as they were given.

    Args:
        names: The names of the columns.
        values: The values of each column.
        rows: The number of rows.
        sound: Whether Arrow has validated all values in full.
        short: By row the columns that the row leaves out, which are None there; None if no row leaves one out.
    """

    names: tuple[str, ...]
    values: tuple[Values, ...]
    rows: int
    sound: bool = False
    short: Mapping[int, tuple[str, ...]] | None = None


def read_source(table: Table, data: object, may_differ: bool = False) -> Source:
    """Read data of any supported kind as columns.

    Args:
        table: Names the columns of tuples, and the table in errors.
        data: See ``read_changes``.
        may_differ: Whether a dict may have other keys than another one; of those of the table it leaves some out then.

    Raises:
        ChangeFormatError: The data is of no supported kind, or raises an error when it is read; a row has too few or
            too many values, or other keys than the first.

    Cost: O(rows) for Python objects, else O(columns).
    """
    with reading("changes", data, table.name):
        return _read(table, data, may_differ)


def as_frame(table: Table, data: Any) -> pa.Table | None:
    """Data that has its columns as Arrow, or gives them as such; None for rows of Python objects.

    Raises:
        ChangeFormatError: The data raises an error when it is read, or is no table.
    """
    if isinstance(data, pa.Table):
        return data
    with reading("changes", data, table.name):
        if _is_pandas(data) or hasattr(data, _STREAM) or hasattr(data, _ARRAY):
            return _as_arrow(table, data)
    return None


def as_pieces(table: Table, data: Any) -> pa.Table | np.ndarray[Any, Any] | list[Any]:
    """Data of any supported kind as what `take` takes some of, and `read_source` reads as it would have read the data.

    Raises:
        ChangeFormatError: As `read_source`.
    """
    with reading("changes", data, table.name):
        if isinstance(data, np.ndarray) and data.ndim == 1:
            return data
        frame = as_frame(table, data)
        if frame is not None:
            return _takeable(frame)
        _refuse_no_rows(table, data)
        return list(data)


def _takeable(frame: pa.Table) -> pa.Table:
    """The table without columns of which Arrow cannot take some values: views of strings, and run-end encoded ones."""
    for place, field in enumerate(frame.schema):
        if pa.types.is_run_end_encoded(field.type):
            decoded = [pc.run_end_decode(chunk) for chunk in frame.column(place).chunks]
            frame = frame.set_column(place, field.name, pa.chunked_array(decoded, field.type.value_type))
        kind = _VIEWS.get(frame.schema.types[place])
        if kind is not None:
            frame = frame.set_column(place, field.name, frame.column(place).cast(kind))
    return frame


def take(data: pa.Table | np.ndarray[Any, Any] | list[Any], rows: Words) -> Any:
    """Some rows of data, by their positions."""
    if len(rows) == len(data):
        return data
    if isinstance(data, pa.Table):
        return data.take(pa.array(rows))
    return data[rows] if isinstance(data, np.ndarray) else [data[row] for row in rows.tolist()]


def _refuse_no_rows(table: Table, data: object) -> None:
    """Refuse what is not made of rows."""
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        msg = f"the changes are of type {type_name(data)}; {_ALLOWED}"
        raise ChangeFormatError(msg, table.name)


def _read(table: Table, data: Any, may_differ: bool) -> Source:
    if type(data) is list and data:  # what is asked most often, asked first
        found = set(map(type, data))
        if found in TUPLES:
            return _from_tuples(table, data)
        if found == {dict}:
            return _from_dicts(table, data.copy(), may_differ)
    frame = as_frame(table, data)
    if frame is not None:
        return Source(tuple(frame.schema.names), tuple(frame.columns), frame.num_rows, is_sound(frame))
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        return _from_records(table, data)
    _refuse_no_rows(table, data)
    return _from_objects(table, list(data), may_differ)


def _from_objects(table: Table, rows: list[Any], may_differ: bool) -> Source:
    """The columns of rows of any class."""
    if not rows:
        names = (*(column.name for column in table.columns), *CHANGE_COLUMNS)
        return Source(names, ((),) * len(names), 0)
    if type(rows[0]) is dict or isinstance(rows[0], Mapping):
        _refuse_mixed(table, rows, lambda row: isinstance(row, Mapping))
        return _from_dicts(table, rows, may_differ)
    if fields_of(type(rows[0])) is not None:
        return _from_fields(table, rows, may_differ)
    _refuse_mixed(table, rows, lambda row: isinstance(row, tuple | list))
    return _from_tuples(table, rows)


def is_sound(frame: pa.Table) -> bool:
    """Whether all values are valid. An invalid column is found later, column by column.

    Cost: Arrow checks each string by itself, in some 10 ns; a chunk of ASCII is checked as a whole, 2 ns a string.
    """
    if frame.num_rows > _FEW:
        return lies_well(frame) and are_sound(frame.columns)
    return lies_well(frame, in_full=True)


def lies_well(frame: pa.Table, in_full: bool = False) -> bool:
    """Whether all buffers are as long as they should be; ``in_full`` also whether their values are valid."""
    try:
        frame.validate(full=in_full)
    except ARROW_ERRORS:
        return False
    return True


def are_sound(columns: Iterable[pa.ChunkedArray]) -> bool:
    """As `is_sound`, of columns that passed `validate`."""
    try:
        for column in columns:
            for chunk in column.chunks:
                if len(chunk) <= _SHORT or not _is_ascii(chunk):
                    chunk.validate(full=True)
    except ARROW_ERRORS:
        return False
    return True


def _is_ascii(chunk: pa.Array) -> bool:
    """Whether an array that passed `validate` and has no NULL surely holds strings of ASCII alone."""
    if chunk.type != pa.string() or not len(chunk) or chunk.null_count:
        return False
    valid, offsets, data = chunk.buffers()
    if valid is not None:
        return False
    bounds = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    if data is None or bounds[0] < 0 or bounds[-1] > data.size or not (bounds[1:] >= bounds[:-1]).all():
        return False
    text = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    return bool(text.max(initial=0) < _BEYOND_ASCII)


def _is_pandas(data: object) -> bool:
    # Whoever holds a DataFrame has imported pandas; we need not. Another thread may be in the middle of importing it.
    frame = getattr(sys.modules.get("pandas"), "DataFrame", None)
    return frame is not None and isinstance(data, frame)


def _as_arrow(table: Table, data: Any) -> pa.Table:
    try:
        if _is_pandas(data):  # not by its Arrow interface, which hands over the index as a column
            return _without_guesses(pa.Table.from_pandas(data, preserve_index=False))
        return pa.table(data)
    except ARROW_ERRORS as error:
        msg = f"the changes, of type {type_name(data)}, do not convert to an Arrow table: {error}"
        raise ChangeFormatError(msg, table.name) from error


def _without_guesses(frame: pa.Table) -> pa.Table:
    """The table with all-NULL columns as Arrow's null type: pandas calls them float64 or object."""
    for position, (name, values) in enumerate(zip(frame.column_names, frame.columns, strict=True)):
        if values.null_count == len(values):
            frame = frame.set_column(position, name, pa.nulls(len(values)))
    return frame


def _from_records(table: Table, records: np.ndarray[Any, Any]) -> Source:
    """The columns of an array of records."""
    if records.ndim != 1:
        msg = f"the array of records has {records.ndim} dimensions; allowed is one, of which each element is a row"
        raise ChangeFormatError(msg, table.name)
    try:
        return Source(tuple(records.dtype.names or ()), columns_of(records), len(records))
    except ARROW_ERRORS as error:
        msg = f"the records, of the type {records.dtype}, do not convert to Arrow: {error}"
        raise ChangeFormatError(msg, table.name) from error


def _from_fields(table: Table, rows: list[Any], may_differ: bool) -> Source:
    """The columns of objects with named fields."""
    kinds = {kind: fields_of(kind) for kind in set(map(type, rows))}
    _refuse_mixed(table, rows, lambda row: kinds[type(row)] is not None)
    names = kinds[type(rows[0])] or ()
    if len(set(kinds.values())) > 1 or any(getattr(row, "model_extra", None) for row in rows):
        return _from_dicts(table, [named_values(row, kinds[type(row)] or ()) for row in rows], may_differ)
    return Source(names, tuple(tuple(map(attrgetter(name), rows)) for name in names), len(rows))


def _from_tuples(table: Table, rows: list[Any]) -> Source:
    names = table.names
    if set(map(len, rows)) != {len(names)}:
        position, row = next((i, row) for i, row in enumerate(rows) if len(row) != len(names))
        msg = f"the tuple has {len(row)} values; the table has {len(names)} columns: {', '.join(names)}"
        raise ChangeFormatError(msg, table.name, position)
    return Source(names, tuple(zip(*rows, strict=True)), len(rows))


def _from_dicts(table: Table, rows: list[Any], may_differ: bool) -> Source:
    first = rows[0]
    short: dict[int, tuple[str, ...]] = {}
    if all(row.keys() == first.keys() for row in rows):
        names = tuple(first)
    elif may_differ:
        names, short = _alike(table, rows)
    else:
        names = tuple(first)
        for position, row in enumerate(rows):
            if row.keys() != first.keys():
                rows[position] = _respelled(table, position, row, names)
    if not all(isinstance(name, str) for name in names):
        msg = f"the keys of a dict are column names; found {', '.join(map(repr, names))}"
        raise ChangeFormatError(msg, table.name, 0)
    return Source(names, tuple(tuple(map(itemgetter(name), rows)) for name in names), len(rows), short=short or None)


def _alike(table: Table, rows: list[Any]) -> tuple[tuple[Any, ...], dict[int, tuple[str, ...]]]:
    """Let rows have all keys that one of them has, with None for what they leave out; the keys, and what each lacks.

    A row that does not say what it is is inserted, whatever other rows say.

    Raises:
        ChangeFormatError: A dict has a key twice, without regard to case.
    """
    names: dict[str, Any] = {}
    for row in rows:
        for name in row:
            names.setdefault(str(name).lower(), name)
    own = {*table.places, *CHANGE_COLUMNS}
    short: dict[int, tuple[str, ...]] = {}
    for position, row in enumerate(rows):
        values = {str(name).lower(): value for name, value in row.items()}
        if len(values) != len(row):
            msg = f"the dict has the keys {', '.join(map(repr, row))}, of which two are one name; keep one"
            raise ChangeFormatError(msg, table.name, position)
        values.setdefault(CHANGE_TYPE, KINDS[0])
        if absent := tuple(name for name in names if name not in values and name in own):
            short[position] = absent
        rows[position] = {name: values.get(lowered) for lowered, name in names.items()}
    return tuple(names.values()), short


def _respelled(table: Table, position: int, row: Mapping[Any, Any], names: Sequence[Any]) -> dict[Any, Any]:
    """The row with the spelling of the first row's keys."""
    values = {str(key).lower(): value for key, value in row.items()}
    expected = {str(name).lower(): name for name in names}
    if len(values) != len(row) or values.keys() != expected.keys():
        found, first = (", ".join(map(repr, keys)) or "none" for keys in (row, names))
        msg = f"the dict has the keys {found}; the first row has {first}; give every row the same keys, None for NULL"
        raise ChangeFormatError(msg, table.name, position)
    return {name: values[key] for key, name in expected.items()}


def _refuse_mixed(table: Table, rows: list[Any], fits: Callable[[Any], bool]) -> None:
    """Refuse a row that is of another kind than the first one, or of none."""
    position = next((i for i, row in enumerate(rows) if not fits(row)), -1)
    if position >= 0:
        other = f", the first of type {type_name(rows[0])}" if position else ""
        msg = f"the row is of type {type_name(rows[position])}{other}; {_ALLOWED}"
        raise ChangeFormatError(msg, table.name, position)
