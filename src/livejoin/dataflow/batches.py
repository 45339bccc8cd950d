"""Batches of rows and of changes between operators; a column is codes or Arrow, converted when first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from livejoin.schema import Column, SqlType
from livejoin.state.codec import Codec, has_codes, is_coded
from livejoin.words import WORD_BYTES, Words

BATCH = 1 << 16
"""Rows that are read or loaded at a time."""


_ONES = np.ones(1 << 16, np.int64)
_ONES.setflags(write=False)


def ones(length: int) -> Words:
    """Multiplicities of rows that stand there once; nobody writes to them."""
    return _ONES[:length] if length <= _ONES.shape[0] else np.ones(length, np.int64)


class Rows:
    """Rows with typed columns.

    Args:
        codec: The database's codec.
        types: The columns' types.
        columns: Each column as codes (int64) or as Arrow with the type's Arrow type.
        length: Number of rows.

    Attributes:
        whole: The words of all columns, of shape (columns, rows) in C order, where they lie in one array; else None.

    >>> rows = Rows(Codec(), [SqlType.integer(64)], [np.array([1, 2])], 2)
    >>> rows.arrow(0).to_pylist(), rows.take(np.array([1])).codes(0)
    ([1, 2], array([2]))
    """

    def __init__(
        self,
        codec: Codec,
        types: Sequence[SqlType],
        columns: Sequence[Words | pa.Array | pa.ChunkedArray],
        length: int,
    ) -> None:
        self.codec = codec
        self.types = tuple(types)
        self.length = length
        self.whole: Words | None = None
        self._codes = [c if isinstance(c, np.ndarray) else None for c in columns]
        self._arrow = [None if isinstance(c, np.ndarray) else _whole(c) for c in columns]

    @staticmethod
    def of_words(codec: Codec, types: Sequence[SqlType], words: Words) -> Rows:
        """Rows whose words lie in one array.

        Args:
            codec: The database's codec.
            types: The columns' types.
            words: int64 of shape (columns, rows), in C order; not to be written to afterwards.
        """
        rows: Rows = Rows.__new__(Rows)
        rows.codec, rows.types, rows.length, rows.whole = codec, tuple(types), words.shape[1], words
        return rows

    # Of rows whose words lie in one array, made when they are asked for: most are read as a whole alone.
    @cached_property
    def _codes(self) -> list[Words | None]:
        assert self.whole is not None
        return list(self.whole)

    @cached_property
    def _arrow(self) -> list[pa.Array | None]:
        return [None] * len(self.types)

    def codes(self, column: int) -> Words:
        """The words of a column; new strings and wide decimals are added to the dictionaries."""
        words = self._codes[column]
        if words is None:
            declared = Column(f"c{column}", self.types[column])
            words = self.codec.encode_column(pa.chunked_array([self.arrow(column)]), declared)
            self._codes[column] = words
        return words

    def arrow(self, column: int) -> pa.Array:
        """A column as Arrow."""
        values = self._arrow[column]
        if values is None:
            words = self._codes[column]
            assert words is not None
            values = _whole(self.codec.decode(words, self.types[column]))
            self._arrow[column] = values
        return values

    @property
    def has_words(self) -> bool:
        """Whether the words of all columns are there, so that nothing is added to the dictionaries for them."""
        return all(words is not None for words in self._codes)

    def keep_values(self) -> None:
        """Turn codes of dictionaries into values, which stay what they are whatever becomes of the dictionaries."""
        for column, type in enumerate(self.types):
            words = self._codes[column]
            if is_coded(type) and (words is None or has_codes(words, type)):
                self.arrow(column)

    def values(self) -> Rows:
        """These rows with values where words are codes: they hold nothing of the database, whatever becomes of it."""
        whole = self.whole
        if whole is not None and not any(map(is_coded, self.types)):
            return Rows.of_words(_no_codec(), self.types, whole)
        self.keep_values()
        columns = [self._codes[i] if values is None else values for i, values in enumerate(self._arrow)]
        return Rows(_no_codec(), self.types, [column for column in columns if column is not None], self.length)

    def nbytes(self, column: int) -> int:
        """Bytes of a column as Arrow, about if it is not there yet."""
        values = self._arrow[column]
        size: int = 2 * WORD_BYTES * self.length if values is None else values.get_total_buffer_size()
        return size if values is not None or self.types[column].kind == "decimal" else size // 2

    def column(self, column: int) -> Words | pa.Array:
        """A column as it is held."""
        words = self._codes[column]
        return self.arrow(column) if words is None else words

    def words(self) -> list[Words] | None:
        """The words of all columns, None if one of them is a list; new strings and wide decimals as for `codes`."""
        columns = zip(self._arrow, self.types, strict=True)
        if any(
            values is not None and pa.types.is_list(values.type) and not kind.is_payload for values, kind in columns
        ):
            return None
        return [self.codes(column) for column in range(len(self.types))]

    def matrix(self, columns: Sequence[int]) -> Words:
        """The words of some columns, of shape (columns, rows), C order."""
        matrix = np.empty((len(columns), self.length), np.int64)
        for line, column in zip(matrix, columns, strict=True):
            line[:] = self.codes(column)
        return matrix

    def lines(self, columns: Iterable[int]) -> Words:
        """The words of some columns in the lines of these, of shape (all columns, rows); others mean nothing.

        Not to be written to.
        """
        if self.whole is not None:
            return self.whole
        matrix = np.empty((len(self.types), self.length), np.int64)
        for column in columns:
            matrix[column] = self.codes(column)
        return matrix

    def table(self, names: Sequence[str] = ()) -> pa.Table:
        """All columns as Arrow, called c0, c1, ... where no names are given."""
        if not self.types:
            return pa.table({"_": pa.nulls(self.length, pa.int8())})
        columns = [self.arrow(i) for i in range(len(self.types))]
        return pa.table(columns, names=list(names) or [f"c{i}" for i in range(len(columns))])

    def take(self, rows: Words) -> Rows:
        """The rows at some positions."""
        if self.length == 1 == rows.shape[0]:
            return self
        taken: list[Words | pa.Array] = []
        for words, values in zip(self._codes, self._arrow, strict=True):
            if words is not None:
                taken.append(words[rows])
            else:
                assert values is not None
                taken.append(values.take(pa.array(rows)))
        return Rows(self.codec, self.types, taken, rows.shape[0])

    def slice(self, begin: int, end: int) -> Rows:
        """The rows from one position up to another one; nothing is copied."""
        if begin == 0 and end >= self.length:
            return self
        columns = [self.column(i) for i in range(len(self.types))]
        return Rows(self.codec, self.types, [column[begin:end] for column in columns], min(end, self.length) - begin)

    def select(self, columns: Sequence[int]) -> Rows:
        """Some columns, in the order given."""
        if self._are_all(columns):
            return self
        chosen = [self.column(c) for c in columns]
        return Rows(self.codec, [self.types[c] for c in columns], chosen, self.length)

    def _are_all(self, columns: Sequence[int]) -> bool:
        """Whether some columns are all, in their order."""
        return list(columns) == list(range(len(self.types)))


@dataclass(eq=False, slots=True)
class Delta:
    """Changes of the multiplicities of rows; never changed, and not frozen, which would cost a small commit more.

    Args:
        rows: The rows; equal ones may stand several times.
        weights: int64, what each adds to the row's multiplicity.
        versions: int64, the version of each change, ascending. Within a version only the sums of weights count.
        pairs: Of changes that replace rows: a number for each row, where a version takes away at most one row with a
            number and adds at most one, the next in order. None if rows are not replaced.
        hidden: Whether rows of different numbers may be equal, because what tells them apart is not among the columns.
    """

    rows: Rows
    weights: Words
    versions: Words
    pairs: Words | None = None
    hidden: bool = False

    def inverse(self) -> Delta:
        """What takes the changes back: the last one first, in versions that ascend again."""
        back = np.arange(self.weights.shape[0])[::-1]
        return Delta(self.rows.take(back), -self.weights[back], -self.versions[back])


Batches: TypeAlias = Iterator[tuple[Rows, Words]]
"""Rows with their multiplicities."""


@cache
def _no_codec() -> Codec:
    """What turns words into values that no dictionary is needed for."""
    return Codec()


def no_rows(codec: Codec, types: Sequence[SqlType]) -> Rows:
    """No rows of some types."""
    return Rows(codec, types, [np.empty(0, np.int64) for _ in types], 0)


def stack(parts: Sequence[Rows]) -> Rows:
    """Several batches with equal columns, at least one, as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    columns: list[Words | pa.Array] = []
    for i in range(len(first.types)):
        if any(part._codes[i] is None for part in parts):
            columns.append(_whole(pa.chunked_array([part.arrow(i) for part in parts])))
        else:
            columns.append(np.concatenate([part.codes(i) for part in parts]))
    return Rows(first.codec, first.types, columns, sum(part.length for part in parts))


def concatenate(parts: Sequence[Delta]) -> Delta:
    """Several deltas, at least one, as one; versions are put in order."""
    if len(parts) == 1:
        return parts[0]
    whole = stack([part.rows for part in parts])
    weights = np.concatenate([part.weights for part in parts])
    versions = np.concatenate([part.versions for part in parts])
    if np.all(versions[1:] >= versions[:-1]):
        return Delta(whole, weights, versions)
    order = np.argsort(versions, kind="stable")
    return Delta(whole.take(order), weights[order], versions[order])


def _whole(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        combined = values.combine_chunks()
        return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
    return values
