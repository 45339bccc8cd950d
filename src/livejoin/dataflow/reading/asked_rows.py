"""Rows that a reader asks for, which need not be in any table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from livejoin.dataflow.batches import Rows
from livejoin.words import Words


class AskedRows(Rows):
    """Rows whose codec is a known one (`livejoin.state.codec.Codec.known`).

    Their columns stay Arrow, because the word of a value that the codec does not have cannot be decoded again. Words
    that were made stay beside them, for comparisons.
    """

    def take(self, rows: Words) -> AskedRows:
        """The rows at some positions."""
        if self.length == 1 == rows.shape[0]:
            return self
        taken = [self.arrow(i).take(pa.array(rows)) for i in range(len(self.types))]
        found = AskedRows(self.codec, self.types, taken, rows.shape[0])
        found._codes = [None if words is None else words[rows] for words in self._codes]
        return found

    def select(self, columns: Sequence[int]) -> AskedRows:
        """Some columns, in the order given."""
        if self._are_all(columns):
            return self
        found = AskedRows(self.codec, [self.types[c] for c in columns], [self.arrow(c) for c in columns], self.length)
        found._codes = [self._codes[c] for c in columns]
        return found
