"""Whether words are those of values: what a table from outside may hold."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.errors import StateError
from livejoin.schema import SqlType, Table
from livejoin.state.codec import Codec
from livejoin.words import CANONICAL_NAN, NARROW_LIMIT, NULL_CODE, WIDE_BASE, Words

_INT32 = 1 << 31
_NEGATIVE_ZERO = -(1 << 63)


def check_words(codec: Codec, table: Table, values: Words, kept: Collection[int] | None = None) -> None:
    """Check that every word of a table stands for a value of its column.

    Args:
        codec: The database's codec.
        table: The declaration.
        values: Words of shape (columns, n).
        kept: The columns that are looked at; None for all.

    Raises:
        StateError: One does not: it is outside of its type, no entry of the dictionary, or NULL where that is refused.

    Cost: O(values).
    """
    for position, (column, words) in enumerate(zip(table.columns, values, strict=True)):
        if kept is not None and position not in kept:
            continue
        null = words == NULL_CODE
        wrong = null if table.requires(position) and null.any() else ~null & _foreign(codec, column.type, words)
        if wrong.any():
            row = int(np.argmax(wrong))
            msg = (
                f"table {table.name!r}, column {column.name!r} ({column.type}), row {row}: the word {int(words[row])} "
                "stands for no value that may be there; the rows are damaged or from elsewhere"
            )
            raise StateError(msg)


def check_keys(codec: Codec, types: Sequence[SqlType], values: Words) -> None:
    """Check that every word of some columns is NULL or stands for a value of its type; as `check_words`.

    Raises:
        StateError: A word is neither.
    """
    for place, (type_, words) in enumerate(zip(types, values, strict=True)):
        wrong = (words != NULL_CODE) & _foreign(codec, type_, words)
        if wrong.any():
            word = int(words[np.argmax(wrong)])
            msg = f"a group has the word {word} in column {place} ({type_}), which stands for no value; it is damaged"
            raise StateError(msg)


def _foreign(codec: Codec, type: SqlType, words: Words) -> npt.NDArray[np.bool_]:
    """Where a word that is not NULL stands for no value of a type; anything where it is NULL."""
    wrong = np.zeros(words.shape, np.bool_)
    match type.kind:
        case "boolean":
            wrong = (words != 0) & (words != 1)
        case "integer" if type.bits < 64:
            wrong = _outside(words, -(1 << (type.bits - 1)), (1 << (type.bits - 1)) - 1)
        case "date":
            wrong = _outside(words, -_INT32, _INT32 - 1)
        case "double":
            doubles = words.view(np.float64)
            wrong = (np.isnan(doubles) & (words != CANONICAL_NAN)) | (words == _NEGATIVE_ZERO)
            if type.bits:
                with np.errstate(over="ignore", invalid="ignore"):
                    wrong |= ~np.isnan(doubles) & (doubles.astype(np.float32).astype(np.float64) != doubles)
        case "decimal":
            wrong = _foreign_decimals(codec, type, words)
        case "string":
            wrong = ~codec.has_strings(words)
        case "binary":
            wrong = ~codec.has_bytes(words)
        case "array" | "struct" | "map" | "variant":
            wrong = ~codec.has_payload(words, type)
    return wrong


def _outside(words: Words, least: int, most: int) -> npt.NDArray[np.bool_]:
    wrong: npt.NDArray[np.bool_] = (words < least) | (words > most)
    return wrong


def _foreign_decimals(codec: Codec, type: SqlType, words: Words) -> npt.NDArray[np.bool_]:
    limit = min(10**type.precision, NARROW_LIMIT)
    wrong = _outside(words, 1 - limit, limit - 1)
    wide = wrong & (words >= WIDE_BASE)
    wrong[wide] = ~codec.has_decimals(words[wide])
    wide &= ~wrong
    try:
        codec.decode(words[wide], type).validate(full=True)
    except pa.ArrowInvalid:  # one has more digits than the type
        wrong |= wide
    return wrong
