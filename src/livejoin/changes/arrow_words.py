"""Arrow data that has the columns of a table, of types like theirs: made words as it lies by one kernel.

Law: the words are those of `livejoin.changes.convert` and `livejoin.state.codec.Codec.encode` in a row; what they would
convert otherwise, or refuse, is left to them. Strings become words later, as only a commit may add to the dictionaries.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from livejoin.changes.source import are_sound, lies_well
from livejoin.kernels.values import arrow_columns as k
from livejoin.schema import CHANGE_TYPE, Column, Kind, Table
from livejoin.words import NARROW_LIMIT, Words

_LAYOUTS = "layouts of Arrow data"  # their place in the memo of a table
_MOST_LAYOUTS = 8
_ARRAY = b"arrow_array"
_INTEGERS = {8: k.BYTES, 16: k.SHORTS, 32: k.HALVES, 64: k.WORDS}
_FORMS: dict[Kind, int] = {
    "boolean": k.BITS,
    "date": k.HALVES,
    "interval": k.WORDS,
    "string": k.TEXTS,
    "binary": k.TEXTS,
}
_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
_VIEWS = {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where data of a schema has the columns of a table.

    Args:
        schema: The schema.
        columns: The description of each column of the table that `read_columns` wants; None where the data has to be
            converted, or is none of the table.
        kinds: The place of ``_change_type``; None where there is none.
        places: The place of each column of the table in the data.
        texts: The columns of the table that are strings.
        views: The places of views of strings, which lie as others once they are of this type.
    """

    schema: pa.Schema
    columns: Words | None
    kinds: int | None
    places: Sequence[int] = ()
    texts: Sequence[int] = ()
    views: Sequence[tuple[int, pa.DataType]] = ()


@dataclass(frozen=True, eq=False)
class ArrowWords:
    """Data as words.

    Args:
        words: int64 of shape (columns of the table, rows); of a string 0.
        frame: The data as it came, or with strings in the place of views of them.
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
    """Data as words, where its columns are those of the table, and of types like theirs; else None.

    Cost: 10 us, and 1 ns a value; of strings a look at their bytes, and of those beyond ASCII one by Arrow, some 10 ns
    a string.
    """
    layout = _layout_of(table, frame.schema)
    if layout.columns is None or not lies_well(frame):
        return None
    for place, kind in layout.views:
        if not are_sound([frame.column(place)]):
            return None
        frame = frame.set_column(place, frame.field(place).with_type(kind), frame.column(place).cast(kind))
    words = np.empty((layout.columns.shape[0], frame.num_rows), np.int64)
    begin = found = 0
    batches = [batch for batch in frame.to_batches() if batch.num_rows]
    if len(batches) > 1:  # without empty chunks, which Arrow fails to join where they come with an offset
        frame = pa.Table.from_batches(batches, frame.schema)
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
    pairs = [(column, schema.types[place]) for column, place in zip(table.columns, places, strict=True)]
    forms = [_form(*pair) for pair in pairs]
    if None in forms:
        return _Layout(schema, None, None)
    lines = zip(places, forms, [_limit(*pair) for pair in pairs], table.required, strict=True)
    columns = np.array(list(lines), np.int64).reshape(-1, k.COLUMN_FIELDS)
    texts = [place for place, form in enumerate(forms) if form in (k.TEXTS, k.LARGE_TEXTS)]
    views = [(places[text], own) for text in texts if _VIEWS[own := pairs[text][0].type.arrow] == pairs[text][1]]
    return _Layout(schema, columns, kinds, tuple(places), tuple(texts), tuple(views))


def _limit(column: Column, given: pa.DataType) -> int:
    """The first number that a column does not take, or that is no word, where data of a type may have such."""
    match column.type.kind:
        case "decimal":
            return min(int(10**column.type.precision), NARROW_LIMIT)
        case "integer" if given.bit_width > column.type.bits:
            return 1 << (column.type.bits - 1)
        case _:
            return 0


def _form(column: Column, given: pa.DataType) -> int | None:
    """How values of a column lie in data of an Arrow type; None for those that are made words otherwise."""
    type_ = column.type
    if column.is_uuid or column.length:
        return None
    match type_.kind:
        case "integer" if pa.types.is_signed_integer(given):
            return _INTEGERS[given.bit_width]
        case "double" if given == pa.float32():
            return k.FLOATS
        case "double" if given == type_.arrow:
            return k.DOUBLES
        case "timestamp" if pa.types.is_timestamp(given):  # one of a time zone is an instant, and is taken in UTC
            return {"us": k.WORDS, "ns": k.THOUSANDTHS}.get(given.unit)
        case "decimal" if pa.types.is_decimal128(given) and given.scale == type_.scale:
            return k.DECIMALS
        case "string" | "binary" if given in (_LARGE[type_.arrow], _VIEWS[type_.arrow]):
            return k.LARGE_TEXTS if given == _LARGE[type_.arrow] else k.TEXTS
        case _:
            return _FORMS.get(type_.kind) if given == type_.arrow else None
