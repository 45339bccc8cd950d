"""Rows as order words: 64-bit words whose signed order, first word first, is the order that ORDER BY asks for.

======================  ===============================================================================================
integers, dates, ...    the code (`livejoin.state.codec`)
DOUBLE                  its bits, those below the sign inverted where it is set: -Infinity, ..., Infinity, NaN
DECIMAL, wide           above 18 digits: two words, the upper and the lower half of the unscaled value, not the code
STRING, BINARY          three words: the first sixteen bytes, big-endian, then the code, which stands for all bytes
======================  ===============================================================================================

Descending inverts all bits (of a string those of its bytes). NULL becomes the first or the last word: the words on its
side of the code that the codec reserves for NULL move by one towards the gap, so that it collides with no value.

Law: `decode` inverts `encode`, and words are equal iff values are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.dataflow.batches import Rows
from livejoin.kernels.values.row_order import ASCENDING, DESCENDING, PREFIX_WORDS, VALUE, string_prefixes
from livejoin.query.orders import SortKey
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE, Words

Text = tuple[npt.NDArray[np.uint8], Words, npt.NDArray[np.int32]]

_LEAST = -(1 << 63)
_GREATEST = (1 << 63) - 1
_NARROW_DIGITS = 18
_NO_TEXT: Text = (np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int32))


@dataclass(frozen=True)
class Place:
    """Where the words of a column are among a row's.

    Args:
        offset: The first one.
        width: How many.
        last: The kind of the last word, for `livejoin.kernels.values.row_order`.
        null: The first one where the value is NULL.
        hole: The word that words were moved away from, down if NULL comes last.
        key: How the column is ordered.
    """

    offset: int
    width: int
    last: int
    null: int
    hole: int
    key: SortKey


@dataclass(frozen=True)
class RowOrder:
    """A total order of rows.

    Args:
        types: The columns' types.
        keys: The keys; rows that they do not tell apart are ordered by the other columns, from left to right,
            ascending, NULL first.

    >>> order = RowOrder((SqlType.integer(64),), (SortKey(0, descending=True, nulls_first=False),))
    >>> order.encode(Rows(Codec(), order.types, [pa.array([5, None])], 2)).tolist()
    [[-7, 9223372036854775807]]
    """

    types: tuple[SqlType, ...]
    keys: tuple[SortKey, ...]

    @cached_property
    def columns(self) -> tuple[SortKey, ...]:
        """All columns in the order in which they are compared, each once."""
        first = {key.column: key for key in reversed(self.keys)}
        named = [first[column] for column in dict.fromkeys(key.column for key in self.keys)]
        others = [SortKey(c, descending=False, nulls_first=True) for c in range(len(self.types)) if c not in first]
        return (*named, *others)

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """What each word is, for `livejoin.kernels.values.row_order`."""
        kinds: list[int] = []
        for key in self.columns:
            if self.types[key.column].word_kind == "string":
                kinds += [VALUE] * PREFIX_WORDS + [DESCENDING if key.descending else ASCENDING]
            else:
                kinds += [VALUE] * self._widths[key.column]
        return tuple(kinds)

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        """The words of each column."""
        return tuple(map(_width, self.types))

    @cached_property
    def _offsets(self) -> Mapping[int, int]:
        """The position of each column's first word among a row's."""
        found, offset = dict[int, int](), 0
        for key in self.columns:
            found[key.column] = offset
            offset += self._widths[key.column]
        return found

    @cached_property
    def _keys(self) -> Mapping[int, SortKey]:
        """How each column is ordered."""
        return {key.column: key for key in self.columns}

    @cached_property
    def _texts(self) -> frozenset[int]:
        """The columns of strings."""
        return frozenset(column for column, type in enumerate(self.types) if type.word_kind == "string")

    def plan(self, columns: int, window: tuple[int, int] = (0, 0)) -> Words:
        """What the first columns in the order are, for the kernels, behind two words of a window."""
        ordered = self.columns
        width = self.offset(ordered[columns].column) if columns < len(ordered) else len(self.kinds)
        return np.array([*window, width, *self.kinds], np.int64)

    def place(self, column: int) -> Place:
        """Where the words of a column are, and how its values are read off them."""
        key = self._keys[column]
        offset, width = self.offset(column), self._widths[column]
        hole = ~NULL_CODE if key.descending else NULL_CODE
        return Place(offset, width, self.kinds[offset + width - 1], _null(key), hole, key)

    def offset(self, column: int) -> int:
        """The position of a column's first word among a row's."""
        return self._offsets[column]

    def code_offset(self, column: int) -> int | None:
        """The position of the word that a column's code is read off, None if its code is not kept."""
        if column in self._texts:
            return self.offset(column) + PREFIX_WORDS
        return self.offset(column) if self._widths[column] == 1 else None

    def codes(self, column: int, words: Words) -> Words:
        """The codes of a column from the words at its `code_offset`."""
        if column in self._texts:
            return np.ascontiguousarray(words)
        return self._unshifted(words, self._keys[column])

    def has_values(self, columns: Iterable[int], words: Words) -> npt.NDArray[np.bool_]:
        """Which rows have NULL in none of some columns, by their order words."""
        there = np.ones(words.shape[1], bool)
        for column in columns if words.shape[1] else ():
            offset = self.code_offset(column)
            if offset is None:
                there &= words[self.offset(column)] != self.place(column).null
            else:
                there &= self.codes(column, words[offset]) != NULL_CODE
        return there

    def text(self, codec: Codec) -> Text:
        """The dictionary that decides between strings; empty if there are none. Valid until the next ``encode``."""
        if not self._texts:
            return _NO_TEXT
        arrays = codec.arrays()
        return arrays["strings.heap"], arrays["strings.starts"], arrays["strings.lengths"]

    def decode_column(self, column: int, words: Words) -> Words | pa.Array:
        """The values of a column from its words."""
        if self.code_offset(column) is None:
            return _decode_wide(words, self._keys[column], self.types[column])
        return self.codes(column, words[self._widths[column] - 1])

    def encode(self, rows: Rows) -> Words:
        """The order words of rows, of shape (words of a row, rows); O(words) and the first bytes of the strings.

        Raises:
            ChangeValueError: A value that livejoin reserves.
        """
        out = np.empty((len(self.kinds), rows.length), np.int64)
        for key in self.columns if rows.length else ():
            lines = out[self.offset(key.column) :]
            if key.column in self._texts:
                self._encode_string(rows, key, lines)
            elif self._widths[key.column] == 2:
                _encode_wide(rows.arrow(key.column), key, lines)
            else:
                lines[0] = self._shifted(rows.codes(key.column), key)
        return out

    def decode(self, words: Words, codec: Codec) -> Rows:
        """The rows of order words."""
        columns: list[Words | pa.Array] = []
        for column in range(len(self.types)):
            columns.append(self.decode_column(column, words[self.offset(column) :]))
        return Rows(codec, self.types, columns, words.shape[1])

    def _shifted(self, codes: Words, key: SortKey) -> Words:
        words = codes
        if self.types[key.column].kind == "double":
            words = np.where(words < 0, words ^ _GREATEST, words)
        hole = NULL_CODE
        if key.descending:
            words, hole = ~words, ~NULL_CODE
        if key.nulls_first:
            return np.where(codes == NULL_CODE, _LEAST, words + (words < hole))
        return np.where(codes == NULL_CODE, _GREATEST, words - (words > hole))

    def _unshifted(self, words: Words, key: SortKey) -> Words:
        hole = ~NULL_CODE if key.descending else NULL_CODE
        null = words == _null(key)
        codes = words - (words <= hole) if key.nulls_first else words + (words >= hole)
        if key.descending:
            codes = ~codes
        if self.types[key.column].kind == "double":
            codes = np.where(codes < 0, codes ^ _GREATEST, codes)
        return np.where(null, NULL_CODE, codes)

    def _encode_string(self, rows: Rows, key: SortKey, out: Words) -> None:
        codes = np.ascontiguousarray(rows.codes(key.column))
        text = self.text(rows.codec)
        for i in range(PREFIX_WORDS):
            string_prefixes(*text, codes, NULL_CODE, 8 * i, out[i])
            if key.descending:
                np.invert(out[i], out=out[i])
            out[i][codes == NULL_CODE] = _null(key)
        out[PREFIX_WORDS] = codes


def _width(type: SqlType) -> int:
    """The words of a value."""
    if type.word_kind == "string":
        return PREFIX_WORDS + 1
    return 2 if type.precision > _NARROW_DIGITS else 1


def _null(key: SortKey) -> int:
    return _LEAST if key.nulls_first else _GREATEST


def _encode_wide(values: pa.Array, key: SortKey, out: Words) -> None:
    pairs = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)[values.offset :][: len(values)]
    null = values.is_null().to_numpy(zero_copy_only=False)
    flip = -1 if key.descending else 0
    out[0] = np.where(null, _null(key), pairs[:, 1] ^ flip)
    out[1] = np.where(null, 0, pairs[:, 0] ^ _LEAST ^ flip)


def _decode_wide(words: Words, key: SortKey, type: SqlType) -> pa.Array:
    null = words[0] == _null(key)
    flip = -1 if key.descending else 0
    pairs = np.zeros((words.shape[1], 2), np.int64)
    pairs[:, 0] = np.where(null, 0, words[1] ^ _LEAST ^ flip)
    pairs[:, 1] = np.where(null, 0, words[0] ^ flip)
    validity = pa.py_buffer(np.packbits(~null, bitorder="little")) if null.any() else None
    return pa.Array.from_buffers(type.arrow, words.shape[1], [validity, pa.py_buffer(pairs)], int(null.sum()))
