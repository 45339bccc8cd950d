"""Rows that a reader asks for, which need not be in any table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from livejoin.dataflow.batches import Rows
from livejoin.words import Words


class AskedRows(Rows):
    """Rows whose codec is a known one (`livejoin.state.codec.Codec.known`).

    Their columns stay Arrow, because the word of a value that the codec does not have cannot be decoded again.
    """

    def take(self, rows: Words) -> AskedRows:
        """The rows at some positions."""
        taken = [self.arrow(i).take(pa.array(rows)) for i in range(len(self.types))]
        return AskedRows(self.codec, self.types, taken, rows.shape[0])

    def select(self, columns: Sequence[int]) -> AskedRows:
        """Some columns, in the order given."""
        chosen = [self.arrow(c) for c in columns]
        return AskedRows(self.codec, [self.types[c] for c in columns], chosen, self.length)
