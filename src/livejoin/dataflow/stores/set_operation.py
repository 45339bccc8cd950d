"""DISTINCT, UNION, EXCEPT [ALL] and INTERSECT [ALL] over deltas (CROWN, section 7.2; DYN, section 5.1).

Law: after every delta, what `scan` gives is the operation over the rows that the deltas of its inputs add up to, and
the deltas of `maintain` add up to it. The state is a counted multiset of rows, `livejoin.kernels.relation.multiset`:
O(rows that stand on some side). UNION ALL needs no state: its delta is the concatenation of its inputs' deltas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from livejoin.dataflow.batches import Delta, Rows, concatenate
from livejoin.dataflow.stores.comparable import refuse_lists
from livejoin.kernels.errstate import wrapping
from livejoin.kernels.memory import layout as k
from livejoin.kernels.relation import multiset as kernel
from livejoin.query.relational import SetKind
from livejoin.schema import SqlType
from livejoin.state.arena import Arena
from livejoin.state.codec import Codec
from livejoin.words import Words

_KERNEL_KINDS: dict[tuple[SetKind | Literal["distinct"], bool], int] = {
    ("distinct", False): kernel.DISTINCT,
    ("union", False): kernel.DISTINCT,
    ("except", False): kernel.EXCEPT,
    ("except", True): kernel.EXCEPT_ALL,
    ("intersect", False): kernel.INTERSECT,
    ("intersect", True): kernel.INTERSECT_ALL,
}


class SetOperator:
    """A set operation of two inputs, or DISTINCT of one; mutable.

    Args:
        kind: The operation; ``distinct`` has one input.
        all: Whether multiplicities count; not for UNION, which then keeps no state.
        codec: The database's codec.
        types: The types of the columns of every input.

    Attributes:
        sides: Counts of an entry of the multiset.
        kernel_kind: What `livejoin.kernels.relation.multiset` calls the operation.

    >>> distinct = SetOperator("distinct", False, Codec(), [SqlType.integer(64)])
    >>> rows = Rows(distinct.codec, distinct.types, [np.array([7, 7, 8])], 3)
    >>> delta = distinct.maintain([Delta(rows, np.array([1, 1, 1]), np.array([0, 0, 0]))])
    >>> delta.rows.codes(0).tolist(), delta.weights.tolist(), distinct.count()
    ([7, 8], [1, 1], 2)
    """

    def __init__(self, kind: SetKind | Literal["distinct"], all: bool, codec: Codec, types: Sequence[SqlType]) -> None:
        self.codec = codec
        self.types = tuple(types)
        self._clause = "SELECT DISTINCT" if kind == "distinct" else kind.upper() + " ALL" * all
        self.kernel_kind = _KERNEL_KINDS[(kind, all)]
        self.sides = 1 if self.kernel_kind == kernel.DISTINCT else 2
        width = len(self.types)
        self._offsets = np.arange(width + 1)
        self.arena = Arena(kernel.M_ROW + width, (kernel.M_DIRECTORY,))

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply changes.

        Args:
            inputs: The changes of each input; equal versions of two inputs are one.

        Returns:
            What the result gains and loses, net within each version.

        Raises:
            UnsupportedQueryError: A column holds lists.
            ChangeValueError: A value that livejoin reserves.

        Cost: expected O(changes), one probe each.
        """
        changes, sides = _in_order(inputs)
        changed = self._apply(changes, sides)
        return Delta(changes.rows.take(changed[0]), changed[1], changes.versions[changed[0]])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes of one input without asking what changed; cost and errors as for `maintain`."""
        self._apply(delta, np.full(delta.weights.shape[0], side))

    def _apply(self, changes: Delta, sides: Words) -> Words:
        """Positions of changed rows and what they gained, of shape (2, changes of the result)."""
        refuse_lists(changes.rows, self._clause)
        values = changes.rows.matrix(range(len(self.types)))
        if self.sides == 1:
            sides = np.zeros_like(sides)
        length = sides.shape[0]
        touched = np.empty((length, kernel.TOUCHED_FIELDS), np.int64)
        out = np.empty((2, length), np.int64)
        weights, versions = np.ascontiguousarray(changes.weights), np.ascontiguousarray(changes.versions)
        self.arena.words[[kernel.M_CHANGE, kernel.M_TOUCHED, kernel.M_MADE]] = 0
        arguments = (self._offsets, self.kernel_kind, self.sides, values, weights, versions, sides, touched, out)
        with wrapping():
            while kernel.apply(self.arena.words, *arguments) == k.NEED_SPACE:
                self.arena.grow()
        return out[:, : int(self.arena.words[kernel.M_MADE])]

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The rows of the result with their multiplicities, in batches of at most ``capacity`` rows.

        The operator must not change meanwhile. Cost: O(rows kept).
        """
        width = len(self.types)
        begin = 0
        while begin >= 0:
            output = np.empty((width + 1, capacity), np.int64)
            begin, made = kernel.scan(self.arena.words, self.kernel_kind, self.sides, begin, output)
            if made:
                yield Rows(self.codec, self.types, list(output[:width, :made]), made), output[width, :made]

    def count(self) -> int:
        """Rows of the result, counted with multiplicities; O(1)."""
        return int(self.arena.words[kernel.M_TOTAL])

    def column_words(self, column: int) -> Words:
        """The words of a column over all rows that are kept, in no particular order; O(rows)."""
        words = np.empty(int(self.arena.words[kernel.M_DIRECTORY + k.D_COUNT]), np.int64)
        kernel.column_words(self.arena.words, self.sides + column, words)
        return words

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays, valid until the next change."""
        return {"arena": self.arena.words}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of an operator with the same arguments."""
        self.arena.words = arrays["arena"]

    def _check(self) -> None:
        """Assert all invariants; O(rows), for tests."""
        m = self.arena.words
        width = len(self.types)
        log, slots = int(m[kernel.M_DIRECTORY + k.D_LOG]), int(m[kernel.M_DIRECTORY + k.D_SLOTS])
        taken = m[slots : slots + (1 << log)]
        entries = (taken[taken != 0] & k.MASK32)[:, None]
        assert entries.shape[0] == int(m[kernel.M_DIRECTORY + k.D_COUNT]), "every entry has one slot"
        left, right = m[entries + kernel.LEFT], m[entries + kernel.RIGHT] if self.sides == 2 else np.zeros(1, np.int64)
        assert not (left & 1).any(), "no row is touched between versions"
        assert (left >= 0).all() and (right >= 0).all() and (left + right > 0).all(), "counts"
        assert np.unique(m[entries + self.sides + np.arange(width)], axis=0).shape[0] == entries.shape[0], "one a row"
        scanned = sum(int(weights.sum()) for _, weights in self.scan(1000))
        assert scanned == self.count(), "the result's size"
        free = 0
        entry = int(m[kernel.M_DIRECTORY + k.D_FREE])
        while entry:
            free += 1
            entry = int(m[entry])
        blocks = 0
        for size_class in range(k.SIZE_CLASSES):
            block = int(m[k.H_FREE + size_class])
            while block:
                blocks += 1 << size_class
                block = int(m[block])
        used = kernel.M_ROW + width + (entries.shape[0] + free) * (self.sides + width) + (1 << log) + blocks
        assert used == int(m[k.H_BUMP]), "every word is a row's, a slot or free"


def _in_order(inputs: Sequence[Delta]) -> tuple[Delta, Words]:
    """All changes as one delta, and the input that each comes from."""
    sides = np.repeat(np.arange(len(inputs)), [delta.weights.shape[0] for delta in inputs])
    versions = np.concatenate([delta.versions for delta in inputs])
    return concatenate(inputs), sides[np.argsort(versions, kind="stable")]
