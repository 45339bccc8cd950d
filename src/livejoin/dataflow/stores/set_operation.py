"""DISTINCT, UNION, EXCEPT [ALL] and INTERSECT [ALL] over deltas (CROWN, section 7.2; DYN, section 5.1).

Law: after every delta, what `scan` gives is the operation over the rows that the deltas of its inputs add up to, and
the deltas of `maintain` add up to it. The state is a counted multiset of rows, `livejoin.kernels.relation.multiset`:
O(rows that stand on some side), whatever stood there before. UNION ALL needs no state: its delta is the concatenation
of its inputs' deltas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from livejoin.dataflow.batches import Delta, Rows, concatenate
from livejoin.dataflow.stores.comparable import refuse_lists
from livejoin.families.arena.checks import block_span, check_tiling, directory_spans
from livejoin.kernels.jit import as_written
from livejoin.kernels.memory import layout as k
from livejoin.kernels.memory import look_up
from livejoin.kernels.memory.directory import LEAST_LOG
from livejoin.kernels.relation import multiset as kernel
from livejoin.query.relational import SetKind
from livejoin.schema import SqlType
from livejoin.state.addressed import Addressed
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


class SetOperationStore:
    """A set operation of two inputs, or DISTINCT of one; mutable.

    Args:
        kind: The operation; ``distinct`` has one input.
        all: Whether multiplicities count; not for UNION, which then keeps no state.
        codec: The database's codec.
        types: The types of the columns of every input.

    Attributes:
        sides: Counts of an entry of the multiset.
        kernel_kind: The operation's number in `livejoin.kernels.relation.multiset`.

    >>> distinct = SetOperationStore("distinct", False, Codec(), [SqlType.integer(64)])
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
        self.arena = self._empty()
        offsets = np.arange(width + 1)
        self._at = Addressed(kernel.MultisetBuffers(self.arena.words, offsets, self.kernel_kind, self.sides, width))

    def _line(self, arena: Arena) -> Words:
        """What kernels take, which see an arena as it is now."""
        self._at = self._at.replaced(arena=arena.words)
        return self._at.line

    def _empty(self) -> Arena:
        return Arena(kernel.H_ROW + len(self.types), (kernel.H_DIRECTORY,), budget=self.codec.budget)

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply changes.

        Args:
            inputs: The changes of each input; equal versions of two inputs are one.

        Returns:
            What the result gains and loses, net within each version.

        Raises:
            UnsupportedQueryError: A column holds lists.
            ChangeValueError: A value that livejoin reserves.

        Cost: expected O(changes), one probe each; amortised, because space that rows leave is given back.
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
        weights, versions = np.ascontiguousarray(changes.weights), np.ascontiguousarray(changes.versions)
        if self.arena.is_sparse(self._rows() * self._entry_words()):
            self._compact()
        return self._run(self.arena, values, weights, versions, sides)

    def _run(self, arena: Arena, values: Words, weights: Words, versions: Words, sides: Words) -> Words:
        """Apply changes to an arena; what `_apply` gives."""
        length = sides.shape[0]
        touched = np.empty((length, kernel.TOUCHED_FIELDS), np.int64)
        out = np.empty((2, length), np.int64)
        arena.words[[kernel.H_CHANGE, kernel.H_TOUCHED, kernel.H_MADE, kernel.H_SETTLED]] = 0
        arguments = (values, weights, versions, sides, touched, out)
        status = k.MORE
        while status != k.DONE:
            status = kernel.apply(self._line(arena), *arguments)
            if status == k.NEED_SPACE:
                arena.grow()
        return out[:, : int(arena.words[kernel.H_MADE])]

    def _compact(self) -> None:
        """Bring all rows into an arena of their own size; O(rows)."""
        entries = self._entries()
        left, right = self.counts(entries)
        values = self.arena.words[entries + (self._key + np.arange(len(self.types)))[:, None]]
        weights = np.concatenate([left, right])
        sides = np.repeat(np.arange(2), entries.shape[0])
        there = weights != 0
        arena = self._empty()
        versions = np.zeros(int(there.sum()), np.int64)
        self._run(arena, np.tile(values, 2)[:, there], weights[there], versions, sides[there])
        self.arena = arena

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The rows of the result with their multiplicities, in batches of at most ``capacity`` rows.

        The operator must not change meanwhile. Cost: O(rows of the result), constant delay a row.
        """
        width = len(self.types)
        begin, left = 0, self.listed().shape[0]
        while begin < left:
            output = np.empty((width + 1, min(capacity, left - begin)), np.int64)
            begin += kernel.scan(self._line(self.arena), begin, output)
            yield Rows(self.codec, self.types, list(output[:width]), output.shape[1]), output[width]

    def count(self) -> int:
        """Rows of the result, counted with multiplicities; O(1)."""
        return int(self.arena.words[kernel.H_TOTAL])

    def column_words(self, column: int) -> Words:
        """The words of a column over all rows that are kept, in no particular order; O(rows)."""
        words: Words = self.arena.words[self._entries() + self._key + column]
        return words

    def listed(self) -> Words:
        """The entries of the result in the order of `scan`, valid until the next change; O(1)."""
        m = self.arena.words
        block = int(m[kernel.H_LIST]) & k.REF_MASK
        return m[block : block + int(m[kernel.H_LISTED])]

    def counts(self, entries: Words) -> tuple[Words, Words]:
        """How often the rows of entries stand on the left and on the right side, of DISTINCT 0."""
        m = self.arena.words
        right = m[entries + kernel.RIGHT] if self.sides == 2 else np.zeros_like(entries)
        return m[entries + kernel.LEFT] >> 1, right

    def entries_of(self, values: Words) -> Words:
        """The entries of rows, int64 of shape (width, n), 0 for those that stand on no side; expected O(1) a row."""
        found = np.empty(values.shape[1], np.int64)
        look_up.find_entries(self.arena.words, kernel.H_DIRECTORY, self._key, values, found)
        return found

    def columns_of(self, entries: Words) -> list[Words]:
        """The words of the rows of entries, a column each."""
        return [self.arena.words[entries + self._key + i] for i in range(len(self.types))]

    @property
    def _key(self) -> int:
        return as_written(kernel.key_of)(self.sides)

    def _rows(self) -> int:
        return int(self.arena.words[kernel.H_DIRECTORY + k.D_COUNT])

    def _entry_words(self) -> int:
        return self._key + len(self.types)

    def _entries(self) -> Words:
        """All entries, in no particular order; O(rows)."""
        found = np.empty(self._rows(), np.int64)
        kernel.entries(self._line(self.arena), found)
        return found

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        return self.arena.sizes()

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""
        return self.arena.free_bytes({kernel.H_DIRECTORY: self._entry_words()})

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
        log = int(m[kernel.H_DIRECTORY + k.D_LOG])
        assert self._rows() * 4 <= 3 << log and (log == LEAST_LOG or self._rows() * 8 >= 1 << log), "slots fit entries"
        entries = self._entries()
        assert np.unique(entries).shape[0] == entries.shape[0], "every entry has one slot"
        left, right = self.counts(entries)
        assert not (m[entries] & 1).any(), "no row is touched between versions"
        assert (left >= 0).all() and (right >= 0).all() and (left + right > 0).all(), "counts"
        rows = m[entries[:, None] + self._key + np.arange(width)]
        assert np.unique(rows, axis=0).shape[0] == entries.shape[0], "one a row"
        listed = self.listed()
        assert (m[listed + self._key - 1] == np.arange(1, listed.shape[0] + 1)).all(), "listed entries know their place"
        assert np.count_nonzero(m[entries + self._key - 1]) == listed.shape[0], "all others have none"
        scanned = [weights for _, weights in self.scan(1000)]
        assert all((weights > 0).all() for weights in scanned), "listed rows stand in the result"
        assert sum(int(weights.sum()) for weights in scanned) == self.count(), "the result's size"
        spans = [
            (0, kernel.H_ROW + width),
            *directory_spans(m, kernel.H_DIRECTORY, entries.tolist(), self._entry_words()),
        ]
        if m[kernel.H_LIST]:
            spans.append(block_span(int(m[kernel.H_LIST])))
        check_tiling(m, spans)


def _in_order(inputs: Sequence[Delta]) -> tuple[Delta, Words]:
    """All changes as one delta, and the input that each comes from."""
    sides = np.repeat(np.arange(len(inputs)), [delta.weights.shape[0] for delta in inputs])
    versions = np.concatenate([delta.versions for delta in inputs])
    return concatenate(inputs), sides[np.argsort(versions, kind="stable")]
