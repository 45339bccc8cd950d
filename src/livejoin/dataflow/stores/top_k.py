"""ORDER BY ... LIMIT over deltas: the first rows of an order, kept up to date (DYN, section 5.1).

Law: after every delta, what `scan` gives is the rows at ranks [offset, offset + limit) of the input in the order, where
a row of multiplicity m takes m ranks, and the deltas of `maintain` add up to it. The order is total, by the keys and
then by all columns, so that the result is determined.

The state is an ordered multiset, `livejoin.kernels.ordered.top_k`, of the *candidates*: the rows up to a horizon, which
are always those of the result and some more. A change behind the horizon costs a comparison. Where so many candidates
go that the others may not do, the input is read again, and more of its rows become candidates; where they become too
many, the last ones are cut off. How many there are says `livejoin.plan.operators.candidates`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from livejoin.dataflow.batches import Batches, Delta, Rows, no_rows
from livejoin.dataflow.stores.candidates import (
    NO_HORIZON,
    Candidates,
    first_candidates,
    horizon_words,
)
from livejoin.dataflow.stores.comparable import refuse_lists
from livejoin.dataflow.stores.order_words import RowOrder, Text
from livejoin.dataflow.stores.ordered_state import OrderedState
from livejoin.dataflow.stores.top_k_checks import check
from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import horizon
from livejoin.kernels.ordered import order_nodes as nodes
from livejoin.kernels.ordered import top_k as kernel
from livejoin.kernels.values import row_order
from livejoin.plan.operators.candidates import wanted
from livejoin.query.orders import SortKey
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.words import Words

_UNLIMITED = 1 << 60
_CHANGES = 1024  # smallest buffer of changes
_WORTH_SORTING = 1024  # changes of one version, whose order is free; in order they find the tree's nodes in the cache
_AT_ONCE = 1 << 16  # rows that are sorted in one call: some ten milliseconds, after which Python looks for signals
_TOO_MANY = 3  # times as many candidates as there should be
_READING = threading.Lock()  # blocks beside each other may want to read the same relation again


class TopKStore(OrderedState):
    """The first rows in an order; mutable.

    Args:
        keys: The order; rows that the keys do not tell apart are ordered by their other columns, ascending, NULL first.
        limit: Largest number of rows.
        offset: Rows skipped before.
        codec: The database's codec.
        types: The columns' types.
        below: The input, to be read again as it is; None where it cannot be, and all rows are candidates.

    >>> first = TopKStore([SortKey(0, True, False)], 2, 0, Codec(), [SqlType.integer(64)])
    >>> rows = Rows(first.codec, first.types, [np.array([3, 9, 5])], 3)
    >>> delta = first.maintain([Delta(rows, np.array([1, 1, 1]), np.array([0, 0, 1]))])
    >>> list(zip(delta.versions.tolist(), delta.rows.codes(0).tolist(), delta.weights.tolist()))
    [(0, 3, 1), (0, 9, 1), (1, 5, 1), (1, 3, -1)]
    >>> [rows.codes(0).tolist() for rows, _ in first.scan(100)]
    [[9, 5]]
    """

    def __init__(
        self,
        keys: Sequence[SortKey],
        limit: int,
        offset: int,
        codec: Codec,
        types: Sequence[SqlType],
        below: Callable[[int], Batches] | None = None,
    ) -> None:
        self.types = tuple(types)
        super().__init__(RowOrder(self.types, tuple(keys)), codec, kernel.TOP_K_HEADER)
        kinds = self.order.kinds
        window = (min(offset, _UNLIMITED), min(limit, _UNLIMITED))
        self.plan = np.array([*window, len(kinds), *kinds], np.int64)
        self._needed = sum(window) if limit else 0  # copies of candidates, if there are so many
        self._below = below if kinds else None
        self._most = 0  # candidates up to which it need not be asked whether there are too many

    @property
    def horizon(self) -> Words:
        """The first words of the last rows that are candidates; none where all rows are."""
        m = self.arena.words
        found: Words = m[kernel.H_FIRST_WORDS : kernel.H_FIRST_WORDS + int(m[kernel.H_HORIZON])]
        return found

    @property
    def rows(self) -> int:
        """Rows of the input, about."""
        return int(self.arena.words[kernel.H_ROWS])

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply changes.

        Args:
            inputs: The changes of the one input, which is as they leave it.

        Returns:
            What the result gains and loses, net within each version.

        Raises:
            UnsupportedQueryError: A column holds lists.
            ChangeValueError: A value that livejoin reserves.

        Cost: with n rows O(1) a change behind the horizon, O(log n) another one, and O(1) for each rank by which the
        result moves; amortised, as all rows are read where candidates run out.
        """
        (delta,) = inputs
        refuse_lists(delta.rows, "ORDER BY ... LIMIT")
        self._cut_off()
        return self._apply(self.order.encode(delta.rows), delta.weights, delta.versions)

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes without asking what changed; cost and errors as for `maintain`."""
        self.maintain([delta])

    def fill(self, read: Callable[[int], Batches]) -> None:
        """Load an empty store from its input; cost O(n), and O(log n) for each candidate."""
        found = first_candidates(read, self.order, self.codec, NO_HORIZON, self._needed)
        self._apply(found.values, found.weights, np.zeros(found.weights.shape[0], np.int64))
        self._let_be(found)

    def take_back(self, delta: Delta) -> None:
        """Apply the inverse of the last changes. The input is not read: at each version the horizon was wide enough."""
        self._apply(self.order.encode(delta.rows), delta.weights, delta.versions, reads=False)

    def _apply(self, values: Words, weights: Words, versions: Words, *, reads: bool = True) -> Delta:
        """Apply changes.

        Args:
            values: The order words of the rows.
            weights: The change of the multiplicity of each.
            versions: The version of each change.
            reads: Whether the input may be read for more candidates.
        """
        weights, versions = np.ascontiguousarray(weights), np.ascontiguousarray(versions)
        m, number = self.arena.words, weights.shape[0]
        m[kernel.H_ROWS] += weights[0] if number == 1 else weights.sum()
        if m[kernel.H_HORIZON]:
            values, weights, versions = self._up_to_the_horizon(values, weights, versions, reads)
            if not weights.shape[0]:
                return self._nothing
        if weights.shape[0] >= _WORTH_SORTING and versions[0] == versions[-1]:
            order = _nearly_sorted(values)
            values, weights = np.take(values, order, axis=1), weights[order]
        text = self.order.text(self.codec)
        touched = np.empty(weights.shape[0], np.int64)
        self.arena.words[kernel.H_CHANGE : kernel.H_CONCERNED + 1] = 0
        self.arena.words[kernel.H_STEP] = kernel.APPLYING
        parts = []
        capacity = _CHANGES
        status = k.NEED_SPACE
        while status != k.DONE:
            out = np.empty((kernel.CHANGE_FIELDS + values.shape[0], capacity), np.int64)
            status = kernel.maintain(self.arena.words, self.plan, values, weights, versions, text, touched, out)
            parts.append(out[:, : int(self.arena.words[kernel.H_MADE])])
            if status == k.NEED_SPACE:
                self.arena.grow()
            elif status == k.OUTPUT_FULL:
                capacity = max(2 * capacity, int(self.arena.words[kernel.H_NEEDED]))
        changes = np.concatenate(parts, axis=1)
        rows = self.order.decode(changes[kernel.CHANGE_FIELDS :], self.codec)
        return Delta(rows, changes[kernel.L_WEIGHT], changes[kernel.L_VERSION])

    @cached_property
    def _nothing(self) -> Delta:
        """No change."""
        no = np.empty(0, np.int64)
        return Delta(no_rows(self.codec, self.types), no, no)

    def _up_to_the_horizon(
        self, values: Words, weights: Words, versions: Words, reads: bool
    ) -> tuple[Words, Words, Words]:
        """The changes of candidates, of which there are enough at each version, or will be if the input may be read."""
        number, places = weights.shape[0], np.empty(weights.shape[0], np.int64)
        count, going = horizon.between(values, weights, NO_HORIZON, self.horizon, places)
        if reads and int(self.arena.words[nodes.T_TOTAL]) - going < self._needed:
            self._bring_more(values, weights)
            count, _ = horizon.between(values, weights, NO_HORIZON, self.horizon, places)
        if count == number:
            return values, weights, versions
        places = places[:count]
        return np.take(values, places, axis=1), weights[places], versions[places]

    def _bring_more(self, values: Words, weights: Words) -> None:
        """Let there be more candidates, enough for all that changes may take away, before these changes apply."""
        assert self._below is not None, "where the input cannot be read there is no horizon"
        after = self.horizon.copy()
        leaving = -int(weights[weights < 0].sum())
        with _READING:
            found = first_candidates(self._below, self.order, self.codec, after, self._needed + leaving, self.rows)
        places = np.empty(weights.shape[0], np.int64)
        count, _ = horizon.between(values, weights, after, found.horizon, places)
        changed, back = np.take(values, places[:count], axis=1), -weights[places[:count]]
        self._bring(found.values, found.weights)
        self._bring(changed, back)  # the input is already as the changes leave it
        self._in_pieces(lambda m, plan, text: horizon.drop_absent(m, plan, changed, text))
        self._let_be(found)

    def _bring(self, values: Words, weights: Words) -> None:
        """Put rows behind the horizon into the tree."""
        if not weights.shape[0]:
            return
        order = _nearly_sorted(values)
        values, weights = np.take(values, order, axis=1), weights[order]
        self._in_pieces(lambda m, plan, text: horizon.bring(m, plan, values, weights, text))

    def _in_pieces(self, call: Callable[[Words, Words, Text], int]) -> None:
        """Call a kernel until it is done."""
        self.arena.words[kernel.H_CHANGE] = 0
        text, status = self.order.text(self.codec), k.MORE
        while status != k.DONE:
            status = call(self.arena.words, self.plan, text)
            if status == k.NEED_SPACE:
                self.arena.grow()

    def _let_be(self, found: Candidates) -> None:
        """Take note that all rows up to a horizon are candidates."""
        m, width = self.arena.words, found.horizon.shape[0]
        m[kernel.H_FIRST_WORDS : kernel.H_FIRST_WORDS + width] = found.horizon
        m[kernel.H_HORIZON], m[kernel.H_ROWS] = width, found.rows

    def _cut_off(self) -> None:
        """Between two changes: let there be fewer candidates, if there are many more than there should be."""
        m = self.arena.words
        entries = int(m[nodes.T_ENTRIES])
        if self._below is None or entries <= self._most:
            return
        many = wanted(self.rows, self._needed)
        self._most = _TOO_MANY * many
        if entries > self._most:
            horizon.place_horizon(m, many, horizon_words(self.order.kinds))
            text = self.order.text(self.codec)
            while horizon.cut_off(m, self.plan, text) != k.DONE:
                pass
            # Of rows that their first words do not tell apart all stay.
            self._most = max(self._most, 2 * int(m[nodes.T_ENTRIES]))

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The result in its order, equal rows once with their multiplicity, in batches of at most ``capacity`` rows.

        The operator must not change meanwhile. Cost: O(rows of the result).
        """
        width = int(self.plan[row_order.O_WIDTH])
        cursor = np.array([-1, 0])
        while cursor[0] != 0:
            output = np.empty((width + 1, min(capacity, max(self.count(), 1))), np.int64)
            made = kernel.scan(self.arena.words, self.plan, self.order.text(self.codec), cursor, output)
            if made:
                yield self.order.decode(output[:width, :made], self.codec), output[width, :made]

    def count(self) -> int:
        """Rows of the result, counted with multiplicities; O(1)."""
        total = int(self.arena.words[nodes.T_TOTAL])
        return min(max(total - int(self.plan[row_order.O_OFFSET]), 0), int(self.plan[row_order.O_LIMIT]))

    def _check(self) -> None:
        """Assert all invariants; O(rows), for tests."""
        check(self.arena.words, self.plan, self.order.text(self.codec))


def _nearly_sorted(values: Words) -> Words:
    """An order of rows in which most neighbours are near each other."""
    begins = range(0, values.shape[1], _AT_ONCE)
    return np.concatenate([begin + np.lexsort(values[::-1, begin : begin + _AT_ONCE]) for begin in begins])
