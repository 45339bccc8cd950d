"""Aggregates of a join by one comparison, or by a lower and an upper bound, over deltas of both of its sides.

Law: after every delta, what `scan` gives is the aggregates of the groups of all pairs of a left and a right row with
one key of which the point is within the bounds, and the deltas of `maintain` add up to it. No pair is made: both sides
are kept in order with sums of what their rows add, a row that changes adds what it makes of the sums of the other
side to their groups, and a store of groups (`livejoin.dataflow.stores.aggregate`) gives the results. What is added up
has no rounding: counts, and sums of integers and decimals. NULL compares with nothing and equals no key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from livejoin.dataflow.batches import Delta, Rows, no_rows
from livejoin.dataflow.stores.aggregate import AggregateStore, lines_of
from livejoin.dataflow.stores.aggregate_plan import aggregate_plan
from livejoin.dataflow.stores.aggregate_rows import result_rows
from livejoin.dataflow.stores.comparable import refuse_lists
from livejoin.dataflow.stores.inequality_checks import check
from livejoin.dataflow.stores.order_words import RowOrder, Text
from livejoin.dataflow.stores.summed import layout_of, of_sums
from livejoin.kernels.inequality import layout as w
from livejoin.kernels.inequality import maintain
from livejoin.kernels.inequality.buffers import InequalityBuffers
from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import order_nodes as nodes
from livejoin.kernels.ordered import top_k
from livejoin.kernels.values.row_order import E_WORDS
from livejoin.plan.operators import InequalityAggregateOperator
from livejoin.query.orders import SortKey
from livejoin.schema import Kind
from livejoin.state.addressed import Addressed
from livejoin.state.arena import Arena
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE, Words

_CHANGES = 1024  # smallest buffer of lines


class InequalityAggregateStore(AggregateStore):
    """The groups of a join by one comparison; mutable.

    Args:
        plan: The operator.
        codec: The database's codec.
    """

    def __init__(self, plan: InequalityAggregateOperator, codec: Codec) -> None:
        self._pairs = plan
        self._inputs = plan.left.types, plan.right.types
        self._rows_plan = aggregate_plan(plan.inputs, plan.groups, plan.calls, plan.is_global)
        values, carried = layout_of(self._rows_plan)
        self._kept = _kept(plan, 0), _kept(plan, 1)
        self.orders = tuple(_order(plan, side, columns) for side, columns in enumerate(self._kept))
        left, right = self.orders
        compared = self._inputs[0][plan.keys]
        self.low_bound = RowOrder((compared,), _ascending([0]))
        size = len(self.low_bound.kinds)
        widths = len(left.kinds), len(right.kinds)
        row = w.SIDES_HEADER
        bound = row + E_WORDS + max(widths)
        term = bound + size
        at = [order.offset(plan.keys) for order in self.orders]
        form = np.zeros(w.FORM, np.int64)
        form[[w.P_ROW, w.P_BOUND, w.P_TERM, w.P_LOW, w.P_HIGH]] = row, bound, term, term + values, term + 2 * values
        form[w.P_SIZE] = size
        form[w.P_HAS_HIGH], form[w.P_UP_TO] = bool(plan.high), plan.high == "less_equal"
        form[w.P_HAS_LOW], form[w.P_BEYOND] = bool(plan.low), plan.low == "greater"
        form[w.P_KEEPS_LOW] = plan.bounds == 2 and not plan.sides[0].by_row
        form[w.P_LEFT_AT], form[w.P_RIGHT_AT] = at
        form[w.P_LEFT_ROWS], form[w.P_RIGHT_ROWS] = (side.by_row for side in plan.sides)
        form[w.P_LEFT_GROUPS], form[w.P_RIGHT_GROUPS] = (bool(side.groups) for side in plan.sides)
        self.form = form
        self.arenas = tuple(Arena(term + 3 * values, budget=codec.budget) for _ in range(3))
        for arena, width in zip(self.arenas, (widths[0], widths[0], widths[1]), strict=True):
            maintain.prepare(arena.words, values, carried, E_WORDS + width)

        def first(order: RowOrder, words: int) -> Words:
            return np.array([0, 0, words, *order.kinds], np.int64)

        key = len(RowOrder(self._inputs[0][: plan.keys], _ascending(range(plan.keys))).kinds)
        self._both = Addressed(
            InequalityBuffers(
                left=self.arenas[0].words,
                low=self.arenas[1].words,
                right=self.arenas[2].words,
                left_whole=first(left, widths[0]),
                right_whole=first(right, widths[1]),
                left_wide=first(left, widths[0] + values),
                right_wide=first(right, widths[1] + values),
                left_grouped=first(left, at[0]),
                right_grouped=first(right, at[1]),
                left_placed=first(left, at[0] + size),
                right_placed=first(right, at[1] + size),
                key=first(left, key),
                compared=first(self.low_bound, size),
                form=form,
                summed=self._rows_plan.words,
                place=np.zeros(1, np.int64),
            )
        )
        super().__init__(of_sums(self._rows_plan, values), codec)

    @property
    def both(self) -> Addressed[InequalityBuffers]:
        """What kernels take, which see the arenas as they are now."""
        left, low, right = self.arenas
        self._both = self._both.replaced(left=left.words, low=low.words, right=right.words)
        return self._both

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply the changes of both sides; which rows of results go and come, net in each version.

        Raises:
            CapacityError, ChangeValueError: As `AggregateStore.maintain`.
            UnsupportedQueryError: A column of the key, of a group or one that is compared holds lists.

        Cost: O(log n) a change with n rows, for each group of its key on the other side or with each row that it meets
        there, as the operator says.
        """
        left, right = inputs
        words, lists = self._run(*self._gained(left, right), emit=True)
        return Delta(result_rows(self.plan, self._codec, words[:-3], lists), words[-3], words[-2], words[-1])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes of one input without asking what changed; cost and errors as for `maintain`."""
        nothing = np.empty(0, np.int64)
        none = Delta(no_rows(self._codec, self._inputs[1 - side]), nothing, nothing)
        self._run(*self._gained(*((delta, none) if side == 0 else (none, delta))), emit=False)

    def used_words(self, kind: Kind) -> Words:
        """The words of values of a kind that the state holds, which the codec must keep; O(state)."""
        found = [super().used_words(kind)]
        for order, arena in self.trees():
            for column, type_ in enumerate(order.types):
                offset = order.code_offset(column)
                if type_.word_kind == kind and offset is not None:
                    words = np.empty(int(arena.words[nodes.T_ENTRIES]), np.int64)
                    top_k.column_words(arena.words, offset, words)
                    found.append(order.codes(column, words))
        return np.concatenate(found)

    def trees(self) -> list[tuple[RowOrder, Arena]]:
        """The ordered rows, and how; left ones in the order of lower bounds are the second if they are kept."""
        left, right = self.orders
        low = [(left, self.arenas[1])] if self.form[w.P_KEEPS_LOW] else []
        return [(left, self.arenas[0]), *low, (right, self.arenas[2])]

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        found = [super().sizes(), *(arena.sizes() for arena in self.arenas)]
        return sum(handed for handed, _ in found), sum(allocated for _, allocated in found)

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""
        return super().free_bytes() + sum(arena.free_bytes() for arena in self.arenas)

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""
        left, low, right = (arena.words for arena in self.arenas)
        return {**super().arrays(), "left": left, "low": low, "right": right}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a store with the same plan.

        Raises:
            StateError: The arrays are not those of a store.
        """
        super().restore(arrays)
        for arena, name in zip(self.arenas, ("left", "low", "right"), strict=True):
            arena.words = arrays[name]

    def text(self) -> Text:
        """The dictionary that decides between strings."""
        return max((order.text(self._codec) for order in self.orders), key=lambda text: len(text[1]))

    def _gained(self, left: Delta, right: Delta) -> tuple[Words, Words, Words]:
        """What groups gain: their words and sums as lines, the pairs that these are of, and the versions."""
        (lefts, left_values), (rights, right_values) = self._changed(0, left), self._changed(1, right)
        header = self.arenas[0].words
        header[w.H_CHANGE : w.H_STAGE + 1] = 0
        text = self.text()
        height = w.LINES + sum(len(order.kinds) for order in self.orders) + int(header[nodes.T_SUMS])
        capacity, parts = _CHANGES, list[Words]()
        status = k.NEED_SPACE
        while status != k.DONE:
            out = np.empty((height, capacity), np.int64)
            status = maintain.maintain(self.both.line, lefts, rights, left_values, right_values, text, out)
            header = self.arenas[0].words
            parts.append(out[:, : int(header[w.H_MADE])])
            if status == k.TOO_LARGE:
                raise self._too_large()
            if status == k.NEED_SPACE:
                self.arenas[int(header[w.H_FULL])].grow()
            elif status == k.OUTPUT_FULL:
                capacity *= 2
        return self._lines(parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1))

    def _changed(self, side: int, delta: Delta) -> tuple[tuple[Words, Words, Words], Words]:
        """The changes of a side in the order in which they are applied, and the values that they bring."""
        plan, order, rows = self._pairs, self.orders[side], delta.rows
        if not delta.weights.shape[0]:
            width = len(order.kinds) + (len(self.low_bound.kinds) if side == 0 and plan.bounds == 2 else 0)
            return (np.empty((width, 0), np.int64), delta.weights, delta.versions), _none(self._rows_plan.line_words)
        kept = rows.select(self._kept[side])
        refuse_lists(kept, "a comparison of two tables")
        words = order.encode(kept)
        there = order.has_values(range(plan.keys + 1), words) & (delta.weights != 0)
        if side == 0 and plan.bounds == 2:
            low = self.low_bound.encode(rows.select([plan.keys + 1]))
            there &= self.low_bound.has_values([0], low)
            words = np.concatenate([words, low])
        chosen = np.flatnonzero(there)
        weights, versions = delta.weights, delta.versions
        places = chosen[np.lexsort((*words[1::-1, chosen], weights[chosen] < 0, versions[chosen]))]
        values = self._arguments(side, rows)
        changed = np.ascontiguousarray(words[:, places]), weights[places], versions[places]
        return changed, np.ascontiguousarray(values[:, places])

    def _arguments(self, side: int, rows: Rows) -> Words:
        """The values that the groups' kernel takes in for rows of one side: NULL for those of the other side."""
        nothing = np.full(rows.length, NULL_CODE)
        given = [rows.column(one.column) if one.side == side else nothing for one in self._pairs.columns]
        return lines_of(self._rows_plan, Rows(self._codec, self._pairs.inputs, given, rows.length))

    def _lines(self, lines: Words) -> tuple[Words, Words, Words]:
        """The lines of the groups' kernel: words of the group, then values, then a zero."""
        left, right = self.orders
        begin = w.LINES, w.LINES + len(left.kinds)
        sums = lines[begin[1] + len(right.kinds) :]
        groups, length = self.plan.groups, lines.shape[1]
        values = np.zeros((self.plan.line_words, length), np.int64)
        for place, one in enumerate(self._pairs.columns[:groups]):
            order = self.orders[one.side]
            column = self._kept[one.side].index(one.column)
            shown = order.decode_column(column, lines[begin[one.side] + order.offset(column) :])
            values[place] = Rows(self._codec, [order.types[column]], [shown], length).codes(0)
        values[groups:-1] = sums
        return values, lines[w.L_WEIGHT], lines[w.L_VERSION]

    def _check(self) -> None:
        """Assert all invariants; O(rows), for tests."""
        super()._check()
        check(self)


def _kept(plan: InequalityAggregateOperator, side: int) -> list[int]:
    """The columns of a side that its trees keep: the key, what is compared, the group."""
    bounds = plan.bounds if side == 0 and plan.sides[0].by_row else 1
    return [*range(plan.keys + bounds), *plan.sides[side].groups]


def _order(plan: InequalityAggregateOperator, side: int, columns: Sequence[int]) -> RowOrder:
    """The order of the rows of a side: by key, group and what is compared, or by key and what is compared."""
    types = (plan.left.types, plan.right.types)[side]
    keys = plan.keys
    groups = range(len(columns) - len(plan.sides[side].groups), len(columns))
    places = range(len(columns)) if plan.sides[side].by_row else (*range(keys), *groups, keys)
    return RowOrder(tuple(types[column] for column in columns), _ascending(places))


def _ascending(columns: Sequence[int]) -> tuple[SortKey, ...]:
    return tuple(SortKey(column, False, True) for column in columns)


def _none(lines: int) -> Words:
    return np.empty((lines, 0), np.int64)
