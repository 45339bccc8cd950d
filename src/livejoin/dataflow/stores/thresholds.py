"""Rows that compare with the bound of their key, over deltas of the rows and of the bounds (AJU, Theorem 14).

Law: after every delta, what `scan` gives is the rows whose compared column stands to the bound of their key as the
comparison says, and the deltas of `maintain` add up to it. NULL compares with nothing: a row with NULL in its key or in
the compared column is never in the result, and neither is a row whose key has no bound, or the bound NULL. Of a
comparison that must not be true, as ``not_less``, all of these rows are always in the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.stores.bounded_rows import BoundedRows, one_sided
from livejoin.dataflow.stores.bounded_rows_checks import check, inside
from livejoin.kernels.thresholds import layout as w
from livejoin.plan.operators import Comparison
from livejoin.schema import Kind, SqlType
from livejoin.state.codec import Codec
from livejoin.words import Words


class ThresholdStore:
    """The rows that compare with the bound of their key; mutable.

    Args:
        types: The types of the rows' columns: those of the key, the compared one, the others.
        keys: How many columns are the key.
        comparison: How a row in the result compares with the bound of its key.
        codec: The database's codec.

    >>> integer = SqlType.integer(64)
    >>> store = ThresholdStore([integer, integer], 1, "less", Codec())
    >>> def delta(rows, weights):
    ...     columns = [np.array(column) for column in zip(*rows, strict=True)]
    ...     return Delta(
    ...         Rows(store.codec, store.types, columns, len(rows)), np.array(weights), np.zeros(len(rows), int)
    ...     )
    >>> given = [delta([(1, 5)], [1]), delta([(1, 3), (1, 4), (1, 9)], [1, 1, 1])]
    >>> store.maintain(given).rows.codes(1).tolist()
    [3, 4]
    >>> store.maintain([delta([(1, 5), (1, 4)], [-1, 1]), delta([(1, 9)], [-1])]).rows.codes(1).tolist()
    [4]
    """

    def __init__(self, types: Sequence[SqlType], keys: int, comparison: Comparison, codec: Codec) -> None:
        self.types = tuple(types)
        self.codec = codec
        self.bounded = BoundedRows(types, keys, 0, comparison, codec)

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply the changes of the bounds and of the rows; what the result gains and loses, net within each version.

        Raises:
            UnsupportedQueryError: A column holds lists.
            ChangeValueError: A value that livejoin reserves.

        Cost: O(log n) a change with n rows, and O(1) for each row that a bound lets in or out as it moves.
        """
        bounds, rows = inputs
        lines = self.bounded.maintain(bounds, rows, None, emit=True)
        decoded = self.bounded.order.decode(lines[w.LINES :], self.codec)
        return Delta(decoded, lines[w.L_WEIGHT], lines[w.L_VERSION])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes of one input without asking what changed; O(log n) each."""
        self.bounded.maintain(*one_sided(self.bounded, side, delta), None, emit=False)

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The rows of the result, equal ones once with their multiplicity, in batches of at most ``capacity`` rows.

        Cost: O(rows of the result), and O(log n) a bound.
        """
        return self.bounded.scan(capacity)

    def nothing(self) -> Rows:
        """No rows."""
        return self.bounded.order.decode(np.empty((len(self.bounded.order.kinds), 0), np.int64), self.codec)

    def count(self) -> int:
        """Rows of the result, counted with multiplicities; O(1)."""
        return int(self.bounded.arena.words[w.H_TOTAL])

    def used_words(self, kind: Kind) -> Words:
        """The codes of values of a kind that the state holds, which the codec must keep; O(state)."""
        return np.concatenate([np.empty(0, np.int64), *self.bounded.used_words(kind)])

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        return self.bounded.sizes()

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""
        return self.bounded.free_bytes()

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays, valid until the next change."""
        return {"arena": self.bounded.arena.words}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a store with the same arguments."""
        self.bounded.arena.words = arrays["arena"]

    def _check(self) -> None:
        """Assert all invariants; O(rows), for tests."""
        check(self.bounded)
        assert sum(times for _, times in inside(self.bounded)) == self.count(), "rows of the result"
