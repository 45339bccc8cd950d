"""Aggregates over parts of partitions, and rows before each, over deltas: SUM(x) OVER (... ORDER BY ...), LAG(x).

Law: after every delta, what `scan` gives is the rows of the input, each with the results of the calls over the rows of
its frame, and the deltas of `maintain` add up to it. The order is total, by the keys and then by all
columns, and no row of the input stands there twice, so that every result is determined. The state is the rows in their
order, each with what its results are made of.

Sums of integers and decimals are exact; those of doubles are added up in the order of the rows, as Spark does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

import numpy as np
import pyarrow as pa

from livejoin.dataflow.batches import Delta, Rows, ones
from livejoin.dataflow.stores.comparable import refuse_lists
from livejoin.dataflow.stores.partitioned_state import PartitionedState
from livejoin.dataflow.stores.top_k_checks import Walk
from livejoin.errors import CapacityError
from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import order_nodes as t
from livejoin.kernels.ordered import running as kernel
from livejoin.kernels.ordered import running_state as aggregates
from livejoin.kernels.ordered import running_walks as walks
from livejoin.kernels.values.row_order import O_WIDTH
from livejoin.query.orders import (
    RangeAround,
    RowsAround,
    RowsUpTo,
    RunningCall,
    RunningFrame,
    RunningFunction,
    SortKey,
    Tiles,
)
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.state.exact_aggregates import averages, bigint_column, decimals, double_words
from livejoin.words import NULL_CODE, Words

_SIGN_BIT = 63
_FRAMES = {"rows": aggregates.UP_TO, "range": aggregates.UP_TO_PEERS}
_NUMBER_WORDS = {
    aggregates.ROWS: 1,
    aggregates.VALUES: 1,
    aggregates.SUM: 3,
    aggregates.SUM_WIDE: 4,
    aggregates.SUM_DOUBLE: 2,
    aggregates.MOMENTS: 3,
}
_OF_ROWS: dict[RunningFunction, int] = {
    "first": aggregates.OPENING,
    "last": aggregates.LATEST,
    "first_peer": aggregates.OPENING_PEER,
    "first_known": aggregates.FIRST_KNOWN,
    "last_known": aggregates.LAST_KNOWN,
    "lag": aggregates.LAG,
    "nth": aggregates.NTH,
    "nth_known": aggregates.NTH_KNOWN,
}
_TAKEN_AWAY = (aggregates.ROWS, aggregates.VALUES, aggregates.SUM, aggregates.SUM_WIDE)
_ROOM = 1 << 12  # rows of frames for which there is room between two commits
_OF_KEY = aggregates.C_COMBINED - aggregates.C_KEY
_COUNTED = (aggregates.NTH, aggregates.NTH_KNOWN)
_MOMENTS: tuple[RunningFunction, ...] = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")
_TELL_LESS: tuple[RunningFunction, ...] = ("avg", *_MOMENTS, "nth", "nth_known")
"""The functions whose result may be as it was though the words that it is made of are others."""


class RunningStore(PartitionedState):
    """The rows of each partition with aggregates up to each; mutable.

    Args:
        partition: The columns that are equal in a partition.
        keys: The order within one.
        frame: Which rows the aggregates of a row are over.
        calls: The aggregates.
        codec: The database's codec.
        types: The types of the input's columns.
    """

    def __init__(
        self,
        partition: Sequence[int],
        keys: Sequence[SortKey],
        frame: RunningFrame,
        calls: Sequence[RunningCall],
        codec: Codec,
        types: Sequence[SqlType],
    ) -> None:
        self.types = (*types, *(call.type for call in calls))
        super().__init__(partition, keys, codec, types)
        self._arguments = (tuple(partition), tuple(keys), frame, tuple(calls))
        self._frame, self._calls = frame, tuple(calls)
        self._places: list[int] = []  # of the calls in their plan
        self.calls = self._compiled()
        self.let_entries_have(int(self.calls[aggregates.C_WORDS]), self.calls, self._reach)

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply changes of the one input; what the result gains and loses, net within each version.

        Raises:
            UnsupportedQueryError: A column holds lists.
            ChangeValueError: A value that livejoin reserves.
            CapacityError: A sum that its type cannot hold.

        Cost: O(log n) a change with n rows, and O(1) for each row between two changes of a partition, and of the delta;
        with a frame of k rows O(k) for each partition and version, and O(k) for each row of the delta where a result
        depends on the order of additions, as sums of doubles and deviations do, or is NTH_VALUE. A frame of all rows
        within a distance has a word for each row of the largest one, and what the rows add up to, while it is computed.
        """
        (delta,) = inputs
        refuse_lists(delta.rows, "OVER")
        values, weights, versions = self._by_partition(delta)
        text = self.order.text(self.codec)
        touched = np.empty(weights.shape[0], np.int64)

        def maintain(out: Words) -> int:
            status = kernel.maintain(self.line, values, weights, versions, text, touched, out)
            if status == k.NEED_ROOM:
                self._have_room(max(2 * int(self.calls[aggregates.C_ROOM]), int(self._at.buffers.ring[-1])))
            return status

        changes = self._changes(maintain, walks.LINES + int(self.wide[O_WIDTH]))
        if isinstance(self._frame, RangeAround) and self.calls[aggregates.C_ROOM] > _ROOM:
            self._have_room(1)
        delta = Delta(self._decoded(changes[walks.LINES :]), changes[walks.L_WEIGHT], changes[walks.L_VERSION])
        return self._net(delta, changes[walks.LINES :][: int(self.plan[O_WIDTH])])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes without asking what changed; cost and errors as for `maintain`."""
        self.maintain([delta])

    def _scanned(self, cursor: Words, capacity: int) -> Iterator[Words]:
        width = int(self.wide[O_WIDTH])
        while cursor[0] != 0:
            output = np.empty((width, min(capacity, max(self.count(), 1))), np.int64)
            made = kernel.scan(self.line, cursor, output)
            if made:
                yield output[:, :made]

    def _shown(self, words: Words) -> tuple[Rows, Words]:
        return self._decoded(words), ones(words.shape[1])

    def nothing(self) -> Rows:
        return self._decoded(np.empty((int(self.wide[O_WIDTH]), 0), np.int64))

    @property
    def _around(self) -> tuple[int, int]:
        """How many rows before each row and behind it are in its frame, if it is of some rows."""
        return (self._frame.before, self._frame.behind) if isinstance(self._frame, RowsAround) else (0, 0)

    @property
    def _reach(self) -> int:
        """How many words beside one the kernel has for rows beside one, and what the rows of frames add up to."""
        if isinstance(self._frame, RowsAround | RangeAround):
            return self._ring_of(int(self.calls[aggregates.C_ROOM]))
        return max((call.back for call in self._calls), default=0)

    def _ring_of(self, room: int) -> int:
        """How many words beside one the ring has with room for so many rows of a frame."""
        return room + (room + 1) * int(self.calls[aggregates.C_WORDS])

    def _have_room(self, rows: int) -> None:
        """Let the ring have room for frames of so many rows, of which it forgets what it had."""
        calls, ring = self.calls.copy(), np.zeros(self._ring_of(rows) + 1, np.int64)
        calls[aggregates.C_ROOM] = rows
        self.codec.budget.hold(ring.nbytes, "frames")
        self._at, self.calls = self._at.replaced(calls=calls, ring=ring), calls

    def _compiled(self) -> Words:
        """The plan of the calls."""
        calls: list[list[int]] = []
        at = 0
        for call in self._calls:
            compiled, words = self._call(call, at)
            calls.append(compiled)
            at += words
        back = max((call.back for call in self._calls), default=0)
        match self._frame:
            case "rows" | "range":
                frame = (_FRAMES[self._frame], 0, 0)
            case RowsAround():
                frame = (aggregates.AROUND, self._frame.before, self._frame.behind)
            case RowsUpTo():
                frame = (aggregates.UP_TO_FAR, 0, self._frame.behind)
            case Tiles():
                frame = (aggregates.TILES, 0, self._frame.number)
            case RangeAround():
                frame = (aggregates.WITHIN, *self._ends(self._frame))
            case _:
                assert_never(self._frame)
        of_key = self._key(calls) if isinstance(self._frame, RangeAround) else [0] * _OF_KEY
        combines = [call.combines(self.order.types) for call in self._calls]
        order = sorted(range(len(calls)), key=lambda i: not combines[i])
        self._places = [order.index(i) for i in range(len(calls))]
        of_calls = (word for i in order for word in calls[i])
        room = sum(max(rows, 0) for rows in self._around) + 1
        return np.array([len(calls), at, back, *frame, *of_key, sum(combines), room, *of_calls], np.int64)

    def _ends(self, frame: RangeAround) -> tuple[int, int]:
        """The words that are added to a row's key for the ends of its frame."""
        ends = np.array([frame.begin, frame.end], np.float64 if self._is_by_double else np.int64)
        first, last = ends.view(np.int64).tolist()
        return first, last

    @property
    def _is_by_double(self) -> bool:
        (key,) = self._arguments[1]
        return self.order.types[key.column].kind == "double"

    def _key(self, calls: Sequence[Sequence[int]]) -> list[int]:
        """How the key of the order is read, and whether the calls can be taken away from what they are of."""
        (key,) = self._arguments[1]
        place = self.order.place(key.column)
        flip = -1 if place.key.descending else 0
        slides = all(call[aggregates.A_KIND] in _TAKEN_AWAY for call in calls)
        what = [place.offset, place.null, place.hole, int(not place.key.nulls_first)]
        return [*what, flip, int(self._is_by_double), int(slides)]

    def _call(self, call: RunningCall, at: int) -> tuple[list[int], int]:
        """The plan of a call whose words begin at a place, and how many these are."""
        if call.argument is None:
            return [aggregates.ROWS, 0, 0, 0, at, 0, 0, 0, 0, 0, 0], 1
        place = self.order.place(call.argument)
        type_ = self.order.types[call.argument]
        match call.function:
            case "count":
                kind = aggregates.VALUES
            case "sum" | "avg":
                wide = aggregates.SUM_WIDE if place.width == 2 else aggregates.SUM
                kind = aggregates.SUM_DOUBLE if type_.kind == "double" else wide
            case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
                kind = aggregates.MOMENTS
            case "first" | "last" | "first_peer" | "first_known" | "last_known" | "lag" | "nth" | "nth_known":
                kind = _OF_ROWS[call.function]
            case "ntile":
                raise AssertionError("it has no argument")
            case "min" | "max":
                kind = aggregates.LEAST if (call.function == "min") != place.key.descending else aggregates.GREATEST
            case _:
                assert_never(call.function)
        what = [place.offset, place.width, place.last, at, place.null, place.hole, int(not place.key.nulls_first)]
        flip = -1 if place.key.descending else 0
        words = _NUMBER_WORDS.get(kind, place.width + (kind in _COUNTED))
        is_counted = call.function == "avg" or isinstance(self._frame, RangeAround)
        more = call.back or call.nth or int(is_counted)
        return [kind, *what, flip, int(type_.kind == "double"), more], words

    def _decoded(self, words: Words) -> Rows:
        """Rows of their order words and of those of the calls."""
        width = int(self.plan[O_WIDTH])
        rows = self.order.decode(words[:width], self.codec)
        columns: list[Words | pa.Array] = [rows.column(i) for i in range(len(rows.types))]
        for i, call in enumerate(self._calls):
            plan = self.calls[aggregates.C_CALLS + self._places[i] * aggregates.CALL :]
            at, kind = width + int(plan[aggregates.A_AT]), int(plan[aggregates.A_KIND])
            columns.append(self._result(call, kind, words[at:]))
        return Rows(self.codec, self.types, columns, words.shape[1])

    def _net(self, delta: Delta, rows: Words) -> Delta:
        """A delta without rows whose results are as they were, as an average may be of other sums and numbers."""
        tells_less = isinstance(self._frame, RangeAround) or any(one.function in _TELL_LESS for one in self._calls)
        if delta.rows.length < 2 or not tells_less:
            return delta
        first = len(self.order.types)
        codes = np.stack([delta.rows.codes(first + i) for i in range(len(self._calls))])
        is_same = (delta.weights[:-1] == -1) & (delta.weights[1:] == 1) & (delta.versions[:-1] == delta.versions[1:])
        is_same &= (rows[:, :-1] == rows[:, 1:]).all(axis=0) & (codes[:, :-1] == codes[:, 1:]).all(axis=0)
        if not is_same.any():
            return delta
        kept = np.ones(delta.rows.length, np.bool_)
        kept[:-1] &= ~is_same
        kept[1:] &= ~is_same
        at = np.flatnonzero(kept)
        return Delta(delta.rows.take(at), delta.weights[at], delta.versions[at])

    def _result(self, call: RunningCall, kind: int, words: Words) -> Words | pa.Array:
        """The results of a call from its words."""
        what = f"{call.function.upper()} OVER a part of a partition"
        if kind in (aggregates.ROWS, aggregates.VALUES):
            return np.ascontiguousarray(words[0])
        if kind not in _NUMBER_WORDS:
            assert call.argument is not None
            return self.order.decode_column(call.argument, words)
        valid = words[0] > 0
        if kind == aggregates.SUM_DOUBLE:
            total = np.ascontiguousarray(words[1]).view(np.float64)
            if call.function == "avg":
                total = total / np.where(valid, words[0], 1)
            return np.where(valid, double_words(total), NULL_CODE)
        if kind == aggregates.MOMENTS:
            return _spread(call.function, words)
        low, high = words[1], words[2]
        if kind == aggregates.SUM_WIDE and np.any(words[3] != high >> _SIGN_BIT):
            msg = f"{what} needs more than 128 bits, which {call.type} cannot hold; cast the argument to DOUBLE"
            raise CapacityError(msg)
        if call.function == "avg":
            assert call.argument is not None
            return averages(low, high, words[0], self.order.types[call.argument], call.type)
        if call.type.kind == "decimal":
            return decimals(np.where(valid, low, 0), np.where(valid, high, 0), call.type, valid)
        return bigint_column(low, high, valid, what)

    def _check(self) -> None:
        """Assert all invariants; O(rows log rows), for tests."""
        walk = Walk(self.arena.words)
        _, total = walk.visit(int(self.arena.words[t.T_ROOT]), int(self.arena.words[t.T_HEIGHT]))
        assert total == self.count() == len(walk.entries), "each row stands there once"
        again = RunningStore(*self._arguments, self.codec, self.order.types)
        for rows, weights in self.scan(1 << 20):
            own = rows.select(range(len(self.order.types)))
            again.maintain([Delta(own, weights, np.zeros(weights.shape[0], np.int64))])
        found = ([rows.codes(i).tolist() for i in range(len(self.types))] for rows, _ in self.scan(1 << 20))
        expected = ([rows.codes(i).tolist() for i in range(len(self.types))] for rows, _ in again.scan(1 << 20))
        assert list(found) == list(expected), "aggregates follow from the rows before"


def _spread(function: RunningFunction, words: Words) -> Words:
    """The variance or the standard deviation that moments tell, as Spark rounds it."""
    counted = words[0] - (1 if function.endswith("samp") else 0)
    with np.errstate(invalid="ignore"):
        found = np.ascontiguousarray(words[2]).view(np.float64) / np.where(counted > 0, counted, 1)
        found = np.sqrt(found) if function.startswith("stddev") else found
    return np.where(counted > 0, double_words(found), NULL_CODE)
