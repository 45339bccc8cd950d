"""As-of joins over deltas of both sides: each left row with the last right row in front of it.

Law: after every delta, what `scan` gives is the left rows, each with the right row of its key that is last among those
in front of it, and the deltas of `maintain` add up to it. Which rows are in front the comparison says: for
``t.ts >= q.ts`` those that are not later. Of right rows with equal times the one that is last by all columns counts. A
left row without a match stands there with NULLs, or not at all. NULL compares with nothing: right rows with NULL in
their key or time are not kept, and left ones have no match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.stores.as_of_checks import check
from livejoin.dataflow.stores.comparable import refuse_lists
from livejoin.dataflow.stores.order_words import RowOrder, Text
from livejoin.dataflow.stores.ordered_state import codes_of_kind
from livejoin.kernels.as_of import layout as w
from livejoin.kernels.as_of import maintain, scan
from livejoin.kernels.as_of.buffers import AsOfBuffers
from livejoin.kernels.memory import layout as k
from livejoin.kernels.values.row_order import E_WORDS
from livejoin.query.orders import SortKey
from livejoin.query.relational import AsOfCondition
from livejoin.schema import Kind, SqlType
from livejoin.state.addressed import Addressed
from livejoin.state.arena import Arena
from livejoin.state.codec import Codec
from livejoin.words import Words

_CHANGES = 1024  # smallest buffer of changes


class AsOfStore:
    """Two ordered multisets of rows, and what they give; mutable.

    Args:
        left, right: The types of the columns of both sides.
        on: The columns that are compared, and how.
        codec: The database's codec.

    >>> integer = SqlType.integer(64)
    >>> on = AsOfCondition((), (), 0, 0, "greater_equal", is_optional=False)
    >>> store = AsOfStore([integer], [integer, integer], on, Codec())
    >>> def delta(rows, weights):
    ...     columns = [np.array(column) for column in zip(*rows, strict=True)]
    ...     types = [integer] * len(columns)
    ...     return Delta(Rows(store.codec, types, columns, len(rows)), np.array(weights), np.zeros(len(rows), int))
    >>> found = store.maintain([delta([(5,), (9,)], [1, 1]), delta([(4, 40), (7, 70)], [1, 1])])
    >>> [found.rows.codes(i).tolist() for i in (0, 2)]
    [[5, 9], [40, 70]]
    >>> found = store.maintain([delta([(1,)], [1]), delta([(4, 40)], [-1])])  # the first row has no match any more
    >>> [*found.weights.tolist(), *found.rows.codes(0).tolist()]
    [-1, 5]
    """

    def __init__(self, left: Sequence[SqlType], right: Sequence[SqlType], on: AsOfCondition, codec: Codec) -> None:
        self.codec = codec
        self.types = (*left, *right)
        self.on = on
        self.left = RowOrder(tuple(left), _keys(on, on.left_keys, on.left_time))
        self.right = RowOrder(tuple(right), _keys(on, on.right_keys, on.right_time))
        key = self.left.offset(on.left_time)
        placed = key + len(RowOrder((left[on.left_time],), (SortKey(0, False, True),)).kinds)
        nulls = [pa.nulls(1, kind.arrow) for kind in right]
        nothing = self.right.encode(Rows(codec, right, nulls, 1))[:, 0]
        form = [on.comparison.endswith("_equal"), on.is_optional, *nothing]
        widths = len(self.left.kinds), len(self.right.kinds)
        self._arenas = (
            Arena(w.LEFT_HEADER + 2 * (E_WORDS + max(widths[0], placed)), budget=codec.budget),
            Arena(w.RIGHT_HEADER + E_WORDS + max(widths[1], placed), budget=codec.budget),
        )
        maintain.prepare(self._arenas[0].words, self._arenas[1].words, max(widths[0], placed))

        def first(order: RowOrder, words: int) -> Words:
            return np.array([0, 0, words, *order.kinds], np.int64)

        self._at = Addressed(
            AsOfBuffers(
                left=self._arenas[0].words,
                right=self._arenas[1].words,
                left_whole=first(self.left, widths[0]),
                right_whole=first(self.right, widths[1]),
                key=first(self.left, key),
                placed=first(self.left, placed),
                form=np.array(form, np.int64),
            )
        )

    @property
    def at(self) -> Addressed[AsOfBuffers]:
        """What kernels take, which see the arenas as they are now."""
        self._at = self._at.replaced(left=self._arenas[0].words, right=self._arenas[1].words)
        return self._at

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply the changes of both sides; what the result gains and loses, net within each version.

        Raises:
            UnsupportedQueryError: A column holds lists.
            ChangeValueError: A value that livejoin reserves.

        Cost: O(log n) a change with n rows, and O(1) for each left row whose match changes.
        """
        left, right = inputs
        lines = self._run(left, right, emit=True)
        rows = self._decoded(lines[w.LINES :])
        return Delta(rows, lines[w.L_WEIGHT], lines[w.L_VERSION])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes of one side without asking what changed; O(log n) each."""
        types = self.right.types if side == 0 else self.left.types
        nothing = np.empty(0, np.int64)
        none = Delta(Rows(self.codec, types, [nothing for _ in types], 0), nothing, nothing)
        self._run(*((delta, none) if side == 0 else (none, delta)), emit=False)

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The rows of the result in the order of the left side, in batches of at most ``capacity`` rows.

        Cost: O(log n) a left row.
        """
        width = len(self.left.kinds) + len(self.right.kinds)
        cursor = np.zeros(3, np.int64)
        while cursor[0] >= 0:
            output = np.empty((width + 1, capacity), np.int64)
            made = scan.scan(self.at.line, self._text(), cursor, output)
            if made:
                yield self._decoded(output[:width, :made]), output[width, :made]

    def nothing(self) -> Rows:
        """No rows."""
        return self._decoded(np.empty((len(self.left.kinds) + len(self.right.kinds), 0), np.int64))

    def count(self) -> int:
        """Rows of the result, counted with multiplicities; O(1)."""
        return int(self._arenas[0].words[w.H_TOTAL])

    def used_words(self, kind: Kind) -> Words:
        """The codes of values of a kind that the state holds, which the codec must keep; O(state)."""
        trees = zip((self.left, self.right), self._arenas, strict=True)
        found = [codes for order, arena in trees for codes in codes_of_kind(order, arena.words, kind)]
        return np.concatenate([np.empty(0, np.int64), *found])

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        (handed, allocated), (more, others) = (arena.sizes() for arena in self._arenas)
        return handed + more, allocated + others

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""
        return sum(arena.free_bytes() for arena in self._arenas)

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays, valid until the next change."""
        return {"left": self._arenas[0].words, "right": self._arenas[1].words}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a store with the same arguments."""
        self._arenas[0].words, self._arenas[1].words = arrays["left"], arrays["right"]

    def _run(self, left: Delta, right: Delta, emit: bool) -> Words:
        for delta in (left, right):
            refuse_lists(delta.rows, "ASOF JOIN")
        lefts = _sorted(self.left.encode(left.rows), left.weights, left.versions, None)
        words = self.right.encode(right.rows)
        rights = _sorted(
            words,
            right.weights,
            right.versions,
            np.flatnonzero(self.right.has_values((*self.on.right_keys, self.on.right_time), words)),
        )
        touched, text = np.empty(max(rights[1].shape[0], 1), np.int64), self._text()
        header = self._arenas[0].words
        header[w.H_CHANGE : w.H_TOUCHED + 1] = 0
        parts: list[Words] = []
        capacity, height = _CHANGES, w.LINES + len(self.left.kinds) + len(self.right.kinds)
        status = k.NEED_SPACE
        while status != k.DONE:
            out = np.empty((height, capacity if emit else 2), np.int64)
            status = maintain.maintain(self.at.line, lefts, rights, touched, text, emit, out)
            parts.append(out[:, : int(self._arenas[0].words[w.H_MADE])])
            if status == k.NEED_SPACE:
                self._arenas[int(self._arenas[0].words[w.H_FULL])].grow()
            elif status == k.OUTPUT_FULL:
                capacity *= 2
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _decoded(self, words: Words) -> Rows:
        """The rows of the words of left rows and of right ones behind them."""
        width = len(self.left.kinds)
        left, right = self.left.decode(words[:width], self.codec), self.right.decode(words[width:], self.codec)
        columns = [side.column(i) for side in (left, right) for i in range(len(side.types))]
        return Rows(self.codec, self.types, columns, words.shape[1])

    def _text(self) -> Text:
        """The dictionary that decides between strings."""
        has_strings = any(kind.word_kind == "string" for kind in self.left.types)
        return (self.left if has_strings else self.right).text(self.codec)

    def _check(self) -> None:
        """Assert all invariants; O(rows), for tests."""
        check(self.at.buffers, self._text())


def _keys(on: AsOfCondition, keys: Sequence[int], time: int) -> tuple[SortKey, ...]:
    """The order of a side, in which what is in front of a row comes before it."""
    descending = on.comparison.startswith("less")
    return (*(SortKey(column, False, True) for column in keys), SortKey(time, descending, True))


def _sorted(words: Words, weights: Words, versions: Words, kept: Words | None) -> tuple[Words, Words, Words]:
    """The changes of some rows, all by default, version by version: what goes, then what comes, by first words."""
    if not weights.shape[0]:
        return words, weights, versions
    kept = np.flatnonzero(weights) if kept is None else kept[weights[kept] != 0]
    order = kept[np.lexsort((*words[1::-1, kept], weights[kept] > 0, versions[kept]))]
    return np.ascontiguousarray(words[:, order]), weights[order], versions[order]
