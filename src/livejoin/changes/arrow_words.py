"""Arrow data that has the columns of a table, of their types: made words as it lies by one kernel.

Law: the words are those of `livejoin.changes.convert` and `livejoin.state.codec.Codec.encode` in a row; what they would
convert otherwise, or refuse, is left to them. Strings become words later, as only a commit may add to the dictionaries.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from livejoin.changes.source import ARROW_ERRORS, are_sound
from livejoin.kernels.values import arrow_columns as k
from livejoin.schema import CHANGE_TYPE, Column, Table
from livejoin.words import NARROW_LIMIT, Words

_LAYOUTS = "layouts of Arrow data"  # their place in the memo of a table
_MOST_LAYOUTS = 8
_ARRAY = b"arrow_array"
_INTEGERS = {8: k.BYTES, 16: k.SHORTS, 32: k.HALVES, 64: k.WORDS}
_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where data of a schema has the columns of a table.

    Args:
        schema: The schema.
        columns: What `read_columns` wants to know of each column of the table; None where the data has to be
            converted, or is none of the table.
        kinds: The place of ``_change_type``; None where there is none.
        places: The place of each column of the table in the data.
        texts: The columns of the table that are strings.
    """

    schema: pa.Schema
    columns: Words | None
    kinds: int | None
    places: Sequence[int] = ()
    texts: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class ArrowWords:
    """Data as words.

    Args:
        words: int64 of shape (columns of the table, rows); of a string 0.
        frame: The data as it came.
        places: The place of each column of the table in it.
        texts: The columns of the table that are strings.
        has_null: Whether a value may be NULL.
        kinds: The change types; None where there are none.
    """

    words: Words
    frame: pa.Table
    places: Sequence[int]
    texts: Sequence[int]
    has_null: bool
    kinds: pa.Array | None


def arrow_words(table: Table, frame: pa.Table) -> ArrowWords | None:
    """Data as words, where its columns are those of the table and of their types; else None.

    Cost: 10 us, and 1 ns a value; of strings a look at their bytes, and of those beyond ASCII one by Arrow, some 10 ns
    a string.
    """
    layout = _layout_of(table, frame.schema)
    if layout.columns is None or not _lies_well(frame):
        return None
    words = np.empty((layout.columns.shape[0], frame.num_rows), np.int64)
    begin = found = 0
    batches = frame.to_batches()
    for batch in batches:
        _, array = batch.__arrow_c_array__()  # the struct lives as long as its capsule
        answer = k.read_columns(_pointer(array, _ARRAY), layout.columns, begin, words)
        if answer == k.LEFT:
            return None
        found |= answer
        begin += batch.num_rows
    if found & k.HAS_OTHERS and not are_sound([frame.column(layout.places[text]) for text in layout.texts]):
        return None
    kinds = None
    if layout.kinds is not None:
        types = frame.column(layout.kinds)
        if not batches or not are_sound([types]):
            return None
        kinds = types.chunk(0) if types.num_chunks == 1 else types.combine_chunks()
    return ArrowWords(words, frame, layout.places, layout.texts, bool(found & k.HAS_NULL), kinds)


def _lies_well(frame: pa.Table) -> bool:
    """Whether all buffers are as long as they should be."""
    try:
        frame.validate()
    except ARROW_ERRORS:
        return False
    return True


def _layout_of(table: Table, schema: pa.Schema) -> _Layout:
    known = table.remembered.get(_LAYOUTS)
    layouts: tuple[_Layout, ...] = known if isinstance(known, tuple) else ()
    for one in layouts:
        if one.schema.equals(schema):
            return one
    found = _found(table, schema)
    table.remembered[_LAYOUTS] = (found, *layouts[: _MOST_LAYOUTS - 1])
    return found


def _found(table: Table, schema: pa.Schema) -> _Layout:
    """Where data of a schema has the columns of a table."""
    names = [name.lower() for name in schema.names]
    kinds = names.index(CHANGE_TYPE) if CHANGE_TYPE in names else None
    wanted = [*table.places, *([] if kinds is None else [CHANGE_TYPE])]
    if table.retain != "all" or table.generated or sorted(names) != sorted(wanted):
        return _Layout(schema, None, None)
    places = [names.index(name) for name in table.places]
    forms = [_form(column, schema.types[place]) for column, place in zip(table.columns, places, strict=True)]
    if None in forms:
        return _Layout(schema, None, None)
    lines = zip(places, forms, map(_limit, table.columns), table.required, strict=True)
    columns = np.array(list(lines), np.int64).reshape(-1, k.COLUMN_FIELDS)
    texts = [place for place, form in enumerate(forms) if form in (k.TEXTS, k.LARGE_TEXTS)]
    return _Layout(schema, columns, kinds, tuple(places), tuple(texts))


def _limit(column: Column) -> int:
    """The first unscaled value that a decimal's column does not take, or that is no word."""
    return min(int(10**column.type.precision), NARROW_LIMIT)


def _form(column: Column, given: pa.DataType) -> int | None:
    """How values of a column lie in data of an Arrow type; None for those that are made words otherwise."""
    type_ = column.type
    if column.is_uuid or column.length:
        return None
    if given != type_.arrow:
        if type_.kind == "timestamp" and pa.types.is_timestamp(given) and given.unit == "us":
            return k.WORDS  # an instant in some time zone, which is taken in UTC
        return k.LARGE_TEXTS if _LARGE.get(type_.arrow) == given else None
    match type_.kind:
        case "integer":
            return _INTEGERS[type_.bits]
        case "double":
            return k.FLOATS if type_.bits else k.DOUBLES
        case "date":
            return k.HALVES
        case "timestamp" | "interval":
            return k.WORDS
        case "boolean":
            return k.BITS
        case "decimal":
            return k.DECIMALS
        case "string" | "binary":
            return k.TEXTS
        case _:
            return None
