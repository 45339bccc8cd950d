"""PostgreSQL's text of values as Arrow columns.

Law: a value outside of its column's type is NULL here, and reported as missing. ``infinity`` is the end of the year
9999, ``-infinity`` the beginning of the year 1. In a key, where two rows could become one, they are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.schema import TEXT
from livejoin.spark.postgres.published import PublishedTable

_DATES = {"infinity": "9999-12-31", "-infinity": "0001-01-01"}
_TIMES = {"infinity": "9999-12-31 23:59:59.999999", "-infinity": "0001-01-01 00:00:00"}

Missing = dict[int, dict[str, str]]
"""Why values are missing, by row and column, as `livejoin.checkpoint.incoming.settled` reads it."""


def rows_of(table: PublishedTable, columns: Sequence[pa.Array]) -> tuple[pa.StructArray, Missing]:
    """Rows from the texts of their columns, and the values that do not fit their types.

    Cost: linear, in Arrow; columns with misfits are read value by value.
    """
    arrays, missing = [], Missing()
    for column, given in zip(table.columns, columns, strict=True):
        texts = given.cast(pa.string())
        if column.name not in table.key:
            texts = _finite(texts, column.type)
        try:
            array = _converted(texts, column.type)
        except pa.ArrowInvalid:
            found = [_held(text, column.type) for text in texts]
            array = _converted(pa.array(found, pa.string()), column.type)
            for row, (text, held) in enumerate(zip(texts.to_pylist(), found, strict=True)):
                if text is not None and held is None:
                    missing.setdefault(row, {})[column.name] = TEXT + text
        arrays.append(array)
    return pa.StructArray.from_arrays(arrays, names=[column.name for column in table.columns]), missing


def _finite(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The texts of dates and times, with infinity replaced by finite times."""
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return texts
    zone = "+00" if pa.types.is_timestamp(kind) and kind.tz is not None else ""
    for infinite, finite in (_DATES if pa.types.is_date(kind) else _TIMES).items():
        is_infinite = pc.fill_null(pc.equal(texts, infinite), False)
        if pc.any(is_infinite).as_py():
            texts = pc.if_else(is_infinite, finite + zone, texts)
    return texts


def _held(text: pa.StringScalar, kind: pa.DataType) -> str | None:
    """A text, if it is a value of the type; else None."""
    try:
        _converted(pa.array([text.as_py()], pa.string()), kind)
    except pa.ArrowInvalid:
        return None
    return text.as_py()  # type: ignore[no-any-return]


def _converted(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_binary(kind):  # PostgreSQL writes bytes as \\x and their hexadecimal digits
        return pa.array([None if text is None else bytes.fromhex(text[2:]) for text in texts.to_pylist()], kind)
    if pa.types.is_boolean(kind):
        return pc.equal(texts, "t")
    return texts.cast(kind)
