"""The fast reader for small commits: Python objects whose classes are exactly those of their column, as words.

Law: the words are those that `livejoin.changes.convert` and the codec would give. Columns that need a conversion, or
have a value to refuse, are not read here; the general reader then finds the values or the error.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isnan, nan
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from livejoin.schema import SqlType
from livejoin.words import NULL_CODE, Words

_EPOCH = dt.date(1970, 1, 1).toordinal()
_INTEGERS = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_WHOLE = {int}
_NONE = frozenset({type(None)})
_FEW = 64  # values of which one is found sooner one by one than by NumPy


Texts: TypeAlias = list[bytes | None]
"""The bytes of strings that have no words yet, None for NULL."""


@dataclass(eq=False)
class PlainColumn:
    """A column of Python objects.

    Args:
        values: The objects.
        words: The words of the objects, or the bytes of strings, which get words from a dictionary.
        has_null: Whether an object is None.
    """

    values: tuple[Any, ...]
    words: Words | Texts
    has_null: bool

    def __len__(self) -> int:
        return len(self.values)


ReadColumn: TypeAlias = pa.Array | pa.ChunkedArray | PlainColumn
"""A column that was read, of a column's type."""


def plain_words(rows: Sequence[Sequence[Any]], bits: tuple[int, ...]) -> Words | None:
    """The words of rows of integers, int64 of shape (columns, rows); None if the general reader has to read them.

    Args:
        rows: Tuples or lists; at least one.
        bits: The bits of each column's integers.

    Cost: O(values), less than two microseconds for one row.
    """
    columns, first = len(bits), bits[0]
    try:
        values = tuple(chain.from_iterable(zip(*rows, strict=True)))
        if len(values) != columns * len(rows) or set(map(type, values)) != _WHOLE:
            return None
        if bits == (first,) * columns:
            words = np.array(values, _INTEGERS[first]).reshape(columns, -1)
        else:
            words = np.empty((columns, len(rows)), np.int64)
            for place, size in enumerate(bits):
                words[place] = np.array(values[place * len(rows) : (place + 1) * len(rows)], _INTEGERS[size])
    except (ValueError, OverflowError):  # rows of other lengths; a number that does not fit
        return None
    if 64 in bits and _has_reserved(values, words):
        return None
    return words.astype(np.int64, copy=False)


def plain_column(values: tuple[Any, ...], type_: SqlType) -> PlainColumn | None:
    """The words of Python objects; None if the general reader has to read them.

    Args:
        values: The objects; at least one.
        type_: The type of the column.

    Cost: O(values), less than a microsecond for one.
    """
    reader = _READERS.get(type_.kind)
    if reader is None:
        return None
    wanted, read = reader
    found = set(map(type, values))
    if found == wanted:
        words = read(values, type_.bits)
        return None if words is None else PlainColumn(values, words, False)
    if found != wanted | _NONE:
        return None
    filler = next(value for value in values if value is not None)
    filled = tuple(filler if value is None else value for value in values)
    words = read(filled, type_.bits)
    if words is None:
        return None
    if isinstance(words, list):
        texts = [None if value is None else text for value, text in zip(values, words, strict=True)]
        return PlainColumn(values, texts, True)
    words[[value is None for value in values]] = NULL_CODE
    return PlainColumn(values, words, True)


def _integers(values: tuple[int, ...], bits: int) -> Words | None:
    """The words of integers; None if one does not fit, or equals the word of NULL."""
    try:
        words = np.array(values, _INTEGERS[bits])
    except OverflowError:
        return None
    if bits == 64:
        return None if _has_reserved(values, words) else words
    return words.astype(np.int64)


def _has_reserved(values: tuple[int, ...], words: Words) -> bool:
    """Whether one of the integers equals the word of NULL."""
    return NULL_CODE in values if len(values) <= _FEW else bool((words == NULL_CODE).any())


def _doubles(values: tuple[float, ...], bits: int) -> Words | None:
    """The words of doubles, or of the nearest FLOATs for 32 bits; None if one is too large for a FLOAT."""
    if not bits:
        return np.array([nan if isnan(value) else value + 0.0 for value in values]).view(np.int64)
    doubles = np.array(values)
    with np.errstate(over="ignore"):
        found = doubles.astype(np.float32)
    if (np.isinf(found) & np.isfinite(doubles)).any():
        return None
    return np.array([nan if isnan(value) else value + 0.0 for value in found.tolist()]).view(np.int64)


def _texts(values: tuple[str, ...], bits: int) -> Texts | None:
    try:
        return [value.encode() for value in values]
    except UnicodeEncodeError:  # half of a pair of surrogates
        return None


def _bytes(values: tuple[bytes, ...], bits: int) -> Texts:
    return list(values)


def _booleans(values: tuple[bool, ...], bits: int) -> Words:
    return np.array(values, np.int64)


def _days(values: tuple[dt.date, ...], bits: int) -> Words:
    return np.array([value.toordinal() - _EPOCH for value in values], np.int64)


def _microseconds(values: tuple[dt.datetime, ...], bits: int) -> Words | None:
    if any(value.tzinfo is not None for value in values):
        return None
    return np.array(values, "datetime64[us]").view(np.int64)


_READERS: dict[str, tuple[frozenset[type], Callable[..., Words | Texts | None]]] = {
    "boolean": (frozenset({bool}), _booleans),
    "integer": (frozenset({int}), _integers),
    "double": (frozenset({float}), _doubles),
    "date": (frozenset({dt.date}), _days),
    "timestamp": (frozenset({dt.datetime}), _microseconds),
    "string": (frozenset({str}), _texts),
    "binary": (frozenset({bytes}), _bytes),
}
"""By kind the class of its objects, and what gives their words, None if one of them does not fit."""
