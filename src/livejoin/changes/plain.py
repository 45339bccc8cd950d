"""Columns of Python objects whose classes are exactly those of their column, as words: the quick way of small commits.

Law: a column is read here just as `livejoin.changes.convert` and the codec would read it, or not at all. What is not
read here, because it needs a conversion or is refused, goes that way, which finds the same values or the error.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import isnan, nan
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from livejoin.schema import SqlType
from livejoin.words import NULL_CODE, Words

_EPOCH = dt.date(1970, 1, 1).toordinal()
_INTEGERS = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_CLASSES = {
    "boolean": bool,
    "integer": int,
    "double": float,
    "date": dt.date,
    "timestamp": dt.datetime,
    "string": str,
    "binary": bytes,
}
_NONE = type(None)


@dataclass(frozen=True, eq=False)
class Texts:
    """Strings, or bytes, that have no words yet.

    Args:
        data: Their bytes, one behind the other.
        bounds: Where each begins in it, and the end.
        valid: Which are not NULL; None if all are not.
    """

    data: bytes
    bounds: Words
    valid: np.typing.NDArray[np.bool_] | None


@dataclass(eq=False)
class PlainColumn:
    """A column of Python objects.

    Args:
        values: The objects.
        words: Their words; strings get theirs from a dictionary.
        has_null: Whether there is None among them.
    """

    values: tuple[Any, ...]
    words: Words | Texts
    has_null: bool

    def __len__(self) -> int:
        return len(self.values)


ReadColumn: TypeAlias = pa.Array | pa.ChunkedArray | PlainColumn
"""A column that was read, of a column's type."""


def plain_column(values: tuple[Any, ...], type_: SqlType) -> PlainColumn | None:
    """The words of Python objects; None if they are to be read the other way.

    Args:
        values: The objects; at least one.
        type_: The type of their column.

    Cost: O(values), less than a microsecond for one.
    """
    kind = type_.kind
    if kind not in _CLASSES:
        return None
    wanted, found = _CLASSES[kind], set(map(type, values))
    if len(found) == 1 and wanted in found:
        words = _words(values, type_)
        return None if words is None else PlainColumn(values, words, False)
    if found != {wanted, _NONE}:
        return None
    filler = next(value for value in values if value is not None)
    filled = tuple(filler if value is None else value for value in values)
    words = _words(filled, type_)
    if words is None:
        return None
    is_null = np.array([value is None for value in values])
    if isinstance(words, Texts):
        return PlainColumn(values, Texts(words.data, words.bounds, ~is_null), True)
    words[is_null] = NULL_CODE
    return PlainColumn(values, words, True)


def _words(values: tuple[Any, ...], type_: SqlType) -> Words | Texts | None:
    """The words of values of one class; None if one of them does not fit."""
    match type_.kind:
        case "integer":
            return _integers(values, type_.bits)
        case "double" if type_.bits:
            return _floats(values)
        case "double":
            return np.array([nan if isnan(value) else value + 0.0 for value in values]).view(np.int64)
        case "string":
            return _texts(values)
        case "binary":
            return _laid_out(values)
        case "boolean":
            return np.array(values, np.int64)
        case "date":
            return np.array([value.toordinal() - _EPOCH for value in values], np.int64)
        case _:
            return _microseconds(values)


def _integers(values: tuple[int, ...], bits: int) -> Words | None:
    """The words of integers; None if one of them does not fit, or stands for NULL."""
    try:
        words = np.array(values, _INTEGERS[bits])
    except OverflowError:
        return None
    if bits == 64:
        return None if NULL_CODE in values else words
    return words.astype(np.int64)


def _floats(values: tuple[float, ...]) -> Words | None:
    """The words of the nearest FLOATs; None if one of them is larger than all."""
    doubles = np.array(values)
    with np.errstate(over="ignore"):
        found = doubles.astype(np.float32)
    if (np.isinf(found) & np.isfinite(doubles)).any():
        return None
    return np.array([nan if isnan(value) else value + 0.0 for value in found.tolist()]).view(np.int64)


def _texts(values: tuple[str, ...]) -> Texts | None:
    try:
        encoded = [value.encode() for value in values]
    except UnicodeEncodeError:  # half of a pair of surrogates
        return None
    return _laid_out(encoded)


def _laid_out(values: Sequence[bytes]) -> Texts:
    return Texts(b"".join(values), np.array([*accumulate(map(len, values), initial=0)], np.int64), None)


def _microseconds(values: tuple[dt.datetime, ...]) -> Words | None:
    if any(value.tzinfo is not None for value in values):
        return None
    return np.array(values, "datetime64[us]").view(np.int64)
