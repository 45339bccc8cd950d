"""Every value as one 64-bit word.

Law: two values of one join class (``SqlType.join_class``) have equal words iff they are equal, across all tables of
the database, where NULL equals NULL alone, -0.0 equals 0.0 and NaN equals NaN. Kernels therefore compare words only.

====================  =================================================================================================
NULL                  ``NULL_CODE``, a NaN pattern that no canonical double has
BOOLEAN               0, 1
integers              the value; the BIGINT ``NULL_CODE`` itself is refused
FLOAT, DOUBLE         the bits of a double, with one zero and one NaN; a FLOAT is the double that equals it
DATE, TIMESTAMP       days, microseconds since 1970-01-01
INTERVAL              microseconds; of years and months, months
DECIMAL               the unscaled value where it has at most 18 digits; else ``WIDE_BASE`` plus a dictionary code, so
                      that decimals of equal scale have equal words whatever their precision
STRING, BINARY        a code of the one dictionary of bytes, so that text and its UTF-8 have equal words
ARRAY, STRUCT, ...    likewise, of the bytes of canonical values (`livejoin.changes.payload_bytes`)
====================  =================================================================================================
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.aside import import_what_arrow_wants
from livejoin.changes.payload_bytes import decode_payload, encode_payload
from livejoin.changes.plain import PlainColumn, ReadColumn, Texts
from livejoin.errors import CapacityError, ChangeValueError, StateError
from livejoin.kernels.values.decimals import narrow
from livejoin.kernels.values.nulls import count_nulls
from livejoin.kernels.values.strings import FREE, Bytes, Ints, Longs
from livejoin.schema import Column, SqlType, Table
from livejoin.state.budget import Budget
from livejoin.state.dictionary import ALL_VALID, ByteDictionary, KnownStrings
from livejoin.words import CANONICAL_NAN, NARROW_LIMIT, NULL_CODE, WIDE_BASE, Words

_INTEGERS: dict[int, type[np.signedinteger[Any]]] = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_DECIMAL_BYTES = 16
_MONTH_WORDS = 4  # of 32 bits in Arrow: months, days, and nanoseconds in two
_WORD_BITS = 64
_LARGE_STRINGS = (pa.large_string(), pa.large_binary())  # those of 64-bit offsets
_ARROW_STRING_BYTES = 2**31 - 1  # Arrow's string type has 32-bit offsets


def is_coded(type: SqlType) -> bool:
    """Whether words of a type may be codes of a dictionary."""
    return type.word_kind == "string" or (type.kind == "decimal" and 10**type.precision > NARROW_LIMIT)


def has_codes(words: Words, type: SqlType) -> bool:
    """Whether some of the words of a coded type are codes; most decimals, however wide their type, are not."""
    return type.word_kind == "string" or bool(((words >= WIDE_BASE) & (words != NULL_CODE)).any())


def _months(chunk: pa.Array) -> Words:
    """The months of intervals, which have neither days nor nanoseconds."""
    parts = np.frombuffer(chunk.buffers()[1], np.int32).reshape(-1, _MONTH_WORDS)
    return parts[chunk.offset : chunk.offset + len(chunk), 0].astype(np.int64)


def _fixed(chunk: pa.Array, dtype: type[np.generic], width: int = 1) -> npt.NDArray[Any]:
    """The value buffer of a fixed-width array, ``width`` items a value."""
    begin, end = chunk.offset * width, (chunk.offset + len(chunk)) * width
    return np.frombuffer(chunk.buffers()[1], dtype)[begin:end]


def fixed_words(chunk: pa.Array, type: SqlType, words: Words) -> None:
    """Write the words of values that need no dictionary, whatever their value; anything where one is NULL."""
    match type.kind:
        case "boolean":
            words[:] = _fixed(chunk.cast(pa.uint8()), np.uint8)
        case "integer":
            words[:] = _fixed(chunk, _INTEGERS[type.bits])
        case "double":
            doubles = _fixed(chunk, np.float32 if type.bits else np.float64)
            np.add(doubles, 0.0, out=words.view(np.float64))  # -0.0 + 0.0 is 0.0
            words[np.isnan(doubles)] = CANONICAL_NAN
        case "date":
            words[:] = _fixed(chunk, np.int32)
        case "months":
            words[:] = _months(chunk)
        case _:
            words[:] = _fixed(chunk, np.int64)


def _validity(words: Words) -> tuple[pa.Buffer | None, int]:
    """Arrow's validity bitmap for words, None if there is no NULL, and the number of NULLs."""
    nulls = count_nulls(words)
    return (pa.py_buffer(np.packbits(words != NULL_CODE, bitorder="little")) if nulls else None), nulls


class Codec:
    """The words of one database; owns a dictionary of all strings and one of all wide decimals. Mutable.

    Args:
        budget: The memory of its database; None where it stands alone.

    Attributes:
        budget: The budget of that memory, for all that keep words of the codec.

    >>> codec, text = Codec(), SqlType("string")
    >>> words = codec.encode(pa.table({"a": ["x", None, "y", "x"]}), Table("T", (Column("a", text),)))
    >>> codec.decode(words[0], text).to_pylist()
    ['x', None, 'y', 'x']
    >>> codec.entries
    2
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._strings = ByteDictionary(self.budget)
        self._decimals = ByteDictionary(self.budget)

    @classmethod
    def of(cls, strings: ByteDictionary, decimals: ByteDictionary, budget: Budget) -> Codec:
        """A codec that takes over two dictionaries."""
        codec = cls(budget)
        codec._strings, codec._decimals = strings, decimals
        return codec

    def encode(self, batch: pa.Table, table: Table) -> Words:
        """The words of a batch; new strings and wide decimals are added to the dictionaries.

        Args:
            batch: The table's columns in order, with their Arrow types (as from ``read_changes``), in any chunks.
            table: The declaration.

        Returns:
            int64 of shape (columns, rows), C order.

        Raises:
            ChangeValueError: The one integer or timestamp that stands for NULL. Nothing but dictionary entries was
                added.

        Cost: O(values + bytes of strings).
        """
        return self.encode_columns(batch.columns, batch.num_rows, table)

    def encode_columns(
        self,
        columns: Sequence[ReadColumn],
        length: int,
        table: Table,
        kept: Collection[int] | None = None,
        fresh: Words | None = None,
    ) -> Words:
        """As `encode`, of columns as they were read, which have so many rows; those that are not kept become NULL.

        ``fresh`` is None, or gets the number of new dictionary entries of each column that came as Arrow.
        """
        words = np.empty((len(columns), length), np.int64)
        places, texts, has_null = list[int](), Texts(), False
        for place, column in enumerate(columns):
            if kept is not None and place not in kept:
                words[place] = NULL_CODE
            elif not isinstance(column, PlainColumn):
                before = self.entries
                self._write(column, table.columns[place], table.name, words[place])
                if fresh is not None:
                    fresh[place] = self.entries - before
            elif isinstance(column.words, list):
                places.append(place)
                texts += column.words
                has_null |= column.has_null
            else:
                words[place] = column.words
        if places:
            codes = self._encode_texts_or_null(texts) if has_null else self._encode_texts(cast("list[bytes]", texts))
            words[places] = codes.reshape(len(places), length)
        return words

    def _encode_texts(self, texts: Sequence[bytes]) -> Words:
        """The codes of strings."""
        bounds = np.array([*accumulate(map(len, texts), initial=0)], np.int64)
        return self._strings.encode(np.frombuffer(b"".join(texts), np.uint8), bounds)

    def _encode_texts_or_null(self, texts: Texts) -> Words:
        """The codes of strings, NULL where one is not there."""
        words = np.full(len(texts), NULL_CODE)
        there = [text for text in texts if text is not None]
        words[[text is not None for text in texts]] = self._encode_texts(there)
        return words

    def encode_column(self, column: pa.ChunkedArray, declared: Column) -> Words:
        """The words of one column that is not of a table; otherwise as ``encode``."""
        words = np.empty(len(column), np.int64)
        self._write(column, declared, "", words)
        return words

    def _write(self, column: pa.Array | pa.ChunkedArray, declared: Column, table: str, out: Words) -> None:
        """Write the words of a column, with `NULL_CODE` where a value is NULL; one of no table has no name for it."""
        type, begin = declared.type, 0
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
            if len(chunk) == 0:
                continue
            words = out[begin : begin + len(chunk)]
            valid = None
            if chunk.null_count:
                import_what_arrow_wants()
                valid = chunk.is_valid().to_numpy(zero_copy_only=False)
            match type.kind:
                case "boolean" | "integer" | "double" | "date" | "timestamp" | "interval" | "months":
                    fixed_words(chunk, type, words)
                    if type.kind in ("timestamp", "interval") or type.bits == _WORD_BITS:
                        _refuse_reserved(words, valid, declared, table, begin)
                case "decimal":
                    self._encode_decimals(chunk, valid, words)
                case "string" | "binary":
                    self._encode_strings(chunk, valid, words)
                case _:
                    words[:] = self._strings.encode(*encode_payload(chunk, type))
            if valid is not None:
                words[~valid] = NULL_CODE
            begin += len(chunk)

    def encode_texts(
        self, columns: Iterable[tuple[int, pa.ChunkedArray]], words: Words, fresh: Words | None = None
    ) -> None:
        """Write the words of columns of strings where there is no NULL, whose word stands there already.

        Args:
            columns: The lines of ``words`` to be written, and the strings, also those of the large types.
            words: The words of rows.
            fresh: As for `encode_columns`.
        """
        for line, column in columns:
            before, begin = self.entries, 0
            for chunk in column.chunks:
                part = words[line, begin : begin + len(chunk)]
                if len(chunk):
                    self._encode_strings(chunk, part != NULL_CODE if chunk.null_count else None, part)
                begin += len(chunk)
            if fresh is not None:
                fresh[line] = self.entries - before

    def _encode_strings(self, chunk: pa.Array, valid: npt.NDArray[np.bool_] | None, words: Words) -> None:
        _, offsets, data = chunk.buffers()
        kind = np.int64 if chunk.type in _LARGE_STRINGS else np.int32
        bounds: npt.NDArray[Any] = np.frombuffer(offsets, kind)[chunk.offset : chunk.offset + len(chunk) + 1]
        heap = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        self._strings.encode(heap, bounds, ALL_VALID if valid is None else valid, words)

    def _encode_decimals(self, chunk: pa.Array, valid: npt.NDArray[np.bool_] | None, words: Words) -> None:
        line = _fixed(chunk, np.int64, 2)
        if not narrow(line, NARROW_LIMIT, words):
            return
        pairs = line.reshape(-1, 2)
        wide = _is_wide(pairs[:, 0], pairs[:, 1])
        if valid is not None:
            wide &= valid
        if wide.any():
            data = pairs[wide].view(np.uint8).reshape(-1)
            offsets = np.arange(0, data.size + 1, _DECIMAL_BYTES, dtype=np.int64)
            words[wide] = self._decimals.encode(data, offsets) + WIDE_BASE

    def decode(self, words: Words, type: SqlType) -> pa.Array:
        """The values of words.

        Args:
            words: One dimension. BIGINT, DOUBLE and TIMESTAMP use its memory without a copy if it is contiguous, so
                it must not be written to afterwards.
            type: The type that they were encoded with.

        Returns:
            An array of ``type.arrow``.

        Raises:
            StateError: A dictionary code that is not in use.
            CapacityError: More than 2 GiB of strings; decode fewer rows at a time.

        Cost: O(rows + bytes of strings).
        """
        words = np.ascontiguousarray(words)
        validity, nulls = _validity(words)
        values: npt.NDArray[Any]
        match type.kind:
            case "string" | "binary":
                return self._decode_strings(words, type, validity, nulls)
            case "array" | "struct" | "map" | "variant":
                return decode_payload(*self._strings.decode(words, NULL_CODE), words != NULL_CODE, type)
            case "decimal":
                values = self._decode_decimals(words)
            case "boolean":
                values = np.packbits(words == 1, bitorder="little")
            case "integer":
                values = words.astype(_INTEGERS[type.bits], copy=False)
            case "date":
                values = words.astype(np.int32)
            case "months":
                values = np.zeros((words.size, _MONTH_WORDS), np.int32)
                values[:, 0] = words
            case "double" if type.bits:
                values = words.view(np.float64).astype(np.float32)
            case _:
                values = words
        return pa.Array.from_buffers(type.arrow, words.size, [validity, pa.py_buffer(values)], nulls)

    def strings_of(self, codes: Words) -> tuple[npt.NDArray[np.uint8], Words] | None:
        """The bytes of strings one behind the other, NULL as none, and where the first begins and where each ends.

        Args:
            codes: The words of the strings.

        Returns:
            None if they are more than 2 GiB.

        Raises:
            StateError: A dictionary code that is not in use.
        """
        data, ends = self._strings.decode(codes, NULL_CODE)
        return None if data.size > _ARROW_STRING_BYTES else (data, ends)

    def _decode_strings(self, words: Words, type: SqlType, validity: pa.Buffer | None, nulls: int) -> pa.Array:
        data, offsets = self._strings.decode(words, NULL_CODE)
        if data.size > _ARROW_STRING_BYTES:
            msg = f"{words.size} rows hold {data.size} bytes of strings; an Arrow array holds 2 GiB: read fewer rows"
            raise CapacityError(msg)
        buffers = [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
        return pa.Array.from_buffers(type.arrow, words.size, buffers, nulls)

    def _decode_decimals(self, words: Words) -> npt.NDArray[Any]:
        pairs = np.empty((words.size, 2), np.int64)
        pairs[:, 0] = words
        pairs[:, 1] = words >> 63
        wide = (words >= WIDE_BASE) & (words != NULL_CODE)
        if wide.any():
            data, _ = self._decimals.decode(words[wide] - WIDE_BASE)
            pairs[wide] = data.view(np.int64).reshape(-1, 2)
        return pairs

    def pairs_of(self, words: Words, out: Words) -> None:
        """Write the two words of the unscaled value of each decimal, the high one `NULL_CODE` where it is NULL.

        Args:
            words: The words of decimals.
            out: int64 of shape (2, values).
        """
        out[0] = words
        np.right_shift(words, 63, out=out[1])
        coded = words >= WIDE_BASE
        if coded.any():
            out[1, words == NULL_CODE] = NULL_CODE
            wide = coded & (words != NULL_CODE)
            data, _ = self._decimals.decode(words[wide] - WIDE_BASE)
            out[:, wide] = data.view(np.int64).reshape(-1, 2).T

    def retain(self, used_strings: Words, used_decimals: Words) -> None:
        """Drop all dictionary entries but those of the given words, which do not change; dropped codes are reused.

        Args:
            used_strings: Words of STRING and BINARY columns, any order and repetitions, NULL included.
            used_decimals: Words of DECIMAL columns, likewise; those that are no dictionary codes are passed over.

        Raises:
            StateError: A word that is not in the dictionary; nothing was dropped from it.

        Cost: O(used + entries).
        """
        wide = (used_decimals >= WIDE_BASE) & (used_decimals != NULL_CODE)
        self._strings.retain(used_strings[used_strings != NULL_CODE])
        self._decimals.retain(used_decimals[wide] - WIDE_BASE)

    def mark(self, words: Words, marks: npt.NDArray[np.bool_]) -> int:
        """Mark the codes of words of STRING and BINARY columns, NULL included; how many there are, each counted once.

        Args:
            words: The words.
            marks: Of shape (`issued`,); those of other codes stay.

        Raises:
            StateError: A word that is not in the dictionary.

        Cost: O(words + codes issued), some ten bytes of these a nanosecond.
        """
        codes = words[words != NULL_CODE]
        if codes.size and not 0 <= codes.min() <= codes.max() < marks.shape[0]:
            self._strings.decode(codes)  # the error names one that is not in use
        own = np.zeros(marks.shape[0], np.bool_)
        own[codes] = True
        np.logical_or(marks, own, out=marks)
        return int(np.count_nonzero(own))

    @property
    def issued(self) -> int:
        """Codes of strings that were given out, also those that are free again."""
        return self._strings.issued

    def has_bytes(self, words: Words) -> npt.NDArray[np.bool_]:
        """Which words are codes of the dictionary of bytes."""
        return self._strings.has(words)

    def has_payload(self, words: Words, type: SqlType) -> npt.NDArray[np.bool_]:
        """Which words are those of payload of a type. Cost: O(words + their bytes)."""
        there = self._strings.has(words)
        codes = np.unique(words[there])
        if not self._are_payload(codes, type):
            others = [code for code in codes if not self._are_payload(np.array([code]), type)]
            there &= ~np.isin(words, others)
        return there

    def _are_payload(self, codes: Words, type: SqlType) -> bool:
        data, bounds = self._strings.decode(codes)
        try:
            values = decode_payload(data, bounds, np.ones(codes.size, np.bool_), type)
            values.validate(full=True)
        except (StateError, CapacityError, pa.ArrowInvalid):
            return False
        again, ends = encode_payload(values, type)
        return np.array_equal(again, data) and np.array_equal(ends, bounds)

    def has_strings(self, words: Words) -> npt.NDArray[np.bool_]:
        """Which words are those of strings: codes of bytes that are UTF-8. Cost: O(words + their bytes)."""
        there = self._strings.has(words)
        codes = np.unique(words[there])
        data, offsets = self._strings.decode(codes)
        if not _is_text(data, offsets):
            others = [place for place in range(codes.size) if not _is_text(data, offsets[place : place + 2])]
            there &= ~np.isin(words, codes[others])
        return there

    def has_decimals(self, words: Words) -> npt.NDArray[np.bool_]:
        """Which words are those of wide decimals in the dictionary."""
        return self._decimals.has(words - WIDE_BASE)

    def known(self) -> Codec:
        """This codec for values that are looked up; valid until the next ``encode`` or ``retain``.

        Strings and wide decimals that it does not have get words that no row has, and are not added.
        """
        codec = copy(self)
        codec._strings, codec._decimals = KnownStrings(self._strings), KnownStrings(self._decimals)
        return codec

    @property
    def ages(self) -> tuple[object, object]:
        """The ages of the dictionaries of strings and wide decimals: words mean the same while they are the same."""
        return self._strings.age, self._decimals.age

    @property
    def texts(self) -> tuple[Bytes, Longs, Ints, Bytes, Longs]:
        """The dictionaries for kernels (`livejoin.kernels.values.dictionary_view`), until one changes."""
        strings, decimals = self._strings, self._decimals
        return strings.heap, strings.starts, strings.lengths, decimals.heap, decimals.starts

    def texts_of(self, codes: Words) -> list[str]:
        """The strings of codes in use. Raises StateError as `decode` does."""
        return [value.decode() for value in self.bytes_of(codes)]

    def arrow_texts(self, codes: Words) -> pa.LargeStringArray:
        """The strings of codes in use. Raises StateError as `decode` does."""
        data, offsets = self._strings.decode(codes)
        return pa.LargeStringArray.from_buffers(codes.shape[0], pa.py_buffer(offsets), pa.py_buffer(data))

    def bytes_of(self, codes: Words) -> list[bytes]:
        """The bytes of codes in use. Raises StateError as `decode` does."""
        data, offsets = self._strings.decode(codes)
        whole, bounds = data.tobytes(), offsets.tolist()
        return [whole[begin:end] for begin, end in pairwise(bounds)]

    def bytes_and_ends(self, codes: Words) -> tuple[npt.NDArray[np.uint8], Words]:
        """The bytes of codes in use, one behind the other, and where the first begins and where each ends.

        Raises:
            StateError: A code that is not in use.
        """
        return self._strings.decode(codes)

    def codes_of_bytes(self, heap: npt.NDArray[np.uint8], ends: Words) -> Words:
        """The codes of strings, given as `bytes_and_ends` gives them; new ones are added to the dictionary."""
        return self._strings.encode(heap, ends)

    def wide_decimals(self, codes: Words) -> npt.NDArray[np.uint8]:
        """The unscaled values of codes of wide decimals, 16 bytes each. Raises StateError as `decode` does."""
        return self._decimals.decode(codes)[0]

    def codes_of(self, values: Sequence[str | bytes]) -> Words:
        """The codes of strings and bytes; new ones are added to the dictionary. Raises CapacityError as `encode`."""
        encoded = [value.encode() if isinstance(value, str) else value for value in values]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(value) for value in encoded], out=offsets[1:])
        return self._strings.encode(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def words_of_decimals(self, low: Words, high: Words) -> Words:
        """The words of decimals, given by the two words of their unscaled values; wide ones are added."""
        words = low.copy()
        wide = _is_wide(low, high)
        if wide.any():
            data = np.stack([low[wide], high[wide]], axis=1).view(np.uint8).reshape(-1)
            offsets = np.arange(0, data.size + 1, _DECIMAL_BYTES, dtype=np.int64)
            words[wide] = self._decimals.encode(data, offsets) + WIDE_BASE
        return words

    @property
    def entries(self) -> int:
        """Number of strings and wide decimals."""
        return len(self._strings) + len(self._decimals)

    @property
    def nbytes(self) -> int:
        """Bytes allocated by the dictionaries."""
        return self._strings.nbytes + self._decimals.nbytes

    @property
    def live_bytes(self) -> int:
        """Bytes that the dictionaries' entries take."""
        return self._strings.live_bytes + self._decimals.live_bytes

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The dictionaries for a snapshot: views, valid until the next ``encode`` or ``retain``."""
        named = {"strings": self._strings, "decimals": self._decimals}
        return {f"{name}.{key}": array for name, part in named.items() for key, array in part.arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], budget: Budget | None = None) -> Codec:
        """The codec that ``arrays`` was called on, with the same codes; everything is checked.

        Raises:
            StateError: The arrays are not those of a codec.

        Cost: O(entries + bytes).
        """
        parts: dict[str, dict[str, npt.NDArray[Any]]] = {"strings": {}, "decimals": {}}
        for name, array in arrays.items():
            part, _, key = name.partition(".")
            if part not in parts:
                msg = f"the snapshot of a codec has an array {name!r}; known parts are {', '.join(parts)}"
                raise StateError(msg)
            parts[part][key] = array
        codec = cls(budget)
        codec._strings = ByteDictionary.from_arrays(parts["strings"], codec.budget)
        codec._decimals = ByteDictionary.from_arrays(parts["decimals"], codec.budget)
        lengths = parts["decimals"]["lengths"]
        if np.any((lengths != _DECIMAL_BYTES) & (lengths != FREE)):
            msg = f"the snapshot of a codec has decimals that are not {_DECIMAL_BYTES} bytes wide; it is damaged"
            raise StateError(msg)
        low, high = codec._decimals.entries()[0].view(np.int64).reshape(-1, 2).T
        if not _is_wide(low, high).all():
            msg = "the snapshot of a codec has decimals that need no dictionary; it is damaged"
            raise StateError(msg)
        return codec

    def _check(self) -> None:
        """Assert all invariants; O(entries), for tests."""
        self._strings._check()
        self._decimals._check()


def _is_text(data: npt.NDArray[np.uint8], offsets: Words) -> bool:
    """Whether all runs of some bytes are UTF-8."""
    try:
        buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(data)]
        pa.Array.from_buffers(pa.large_string(), offsets.size - 1, buffers).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_wide(low: Words, high: Words) -> npt.NDArray[np.bool_]:
    """Which decimals, given by their two words, are in the dictionary."""
    wide: npt.NDArray[np.bool_] = (high != low >> 63) | (low <= -NARROW_LIMIT) | (low >= NARROW_LIMIT)
    return wide


def _refuse_reserved(
    words: Words, valid: npt.NDArray[np.bool_] | None, declared: Column, table: str, begin: int
) -> None:
    """Refuse a value whose word is that of NULL; the first one stands at a row of its column."""
    if not count_nulls(words):
        return
    reserved = words == NULL_CODE
    if valid is not None:
        reserved &= valid
    if reserved.any():
        what = f"value {NULL_CODE} of column {declared.name!r}" if table else f"the computed value {NULL_CODE}"
        msg = f"{what} ({declared.type}) is the one value that livejoin reserves, for NULL; use any other"
        raise ChangeValueError(msg, table, begin + int(np.argmax(reserved)) if table else -1)
