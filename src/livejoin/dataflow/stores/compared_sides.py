"""Both sides of a join by one comparison, or by two bounds, in order, with sums of what their rows add.

Law: the lines of `changed` for a version add up to what the pairs after it add, minus what those before it add.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from livejoin.dataflow.batches import BATCH, Delta, Rows
from livejoin.dataflow.stores.aggregate import lines_of
from livejoin.dataflow.stores.aggregate_plan import AggregatePlan
from livejoin.dataflow.stores.comparable import are_known, refuse_lists
from livejoin.dataflow.stores.order_words import RowOrder, Text
from livejoin.dataflow.stores.ordered_state import codes_of_kind
from livejoin.dataflow.stores.summed import layout_of
from livejoin.errors import CapacityError
from livejoin.kernels.inequality import layout as w
from livejoin.kernels.inequality import maintain, scan
from livejoin.kernels.inequality.buffers import InequalityBuffers
from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import order_nodes as nodes
from livejoin.kernels.ordered import ranks as rank_access
from livejoin.kernels.values.row_order import E_WORDS
from livejoin.plan.operators import InequalityOperator
from livejoin.query.inequality_sides import SideColumn
from livejoin.query.orders import SortKey
from livejoin.schema import Kind
from livejoin.state.addressed import Addressed
from livejoin.state.arena import Arena
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE, Words

_CHANGES = 1024  # smallest buffer of lines
_NAMES = ("left", "low", "right")


class ComparedSides:
    """Two ordered multisets of rows, of which those of one key meet whose point is within the bounds; mutable.

    Args:
        plan: The operator.
        summed: The plan of the groups whose sums are kept.
        codec: The database's codec.
    """

    def __init__(self, plan: InequalityOperator, summed: AggregatePlan, codec: Codec) -> None:
        self.plan, self.summed, self.codec = plan, summed, codec
        self._inputs = plan.left.types, plan.right.types
        values, carried = layout_of(summed)
        self.kept = _kept(plan, 0), _kept(plan, 1)
        self.orders = tuple(_order(plan, side, columns) for side, columns in enumerate(self.kept))
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
        form[w.P_SKIPS] = plan.skips
        form[w.P_LEFT_AT], form[w.P_RIGHT_AT] = at
        form[w.P_LEFT_ROWS], form[w.P_RIGHT_ROWS] = (side.by_row for side in plan.sides)
        form[w.P_LEFT_GROUPS], form[w.P_RIGHT_GROUPS] = (bool(side.groups) for side in plan.sides)
        self.form = form
        self.arenas = tuple(Arena(term + 3 * values, budget=codec.budget) for _ in range(3))
        for arena, width in zip(self.arenas, (widths[0], widths[0], widths[1]), strict=True):
            maintain.prepare(arena.words, values, carried, E_WORDS + width)

        def first(order: RowOrder, words: int) -> Words:
            return np.array([0, 0, words, *order.kinds], np.int64)

        self._key = RowOrder(self._inputs[0][: plan.keys], _ascending(range(plan.keys)))
        key = len(self._key.kinds)
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
                summed=summed.words,
                place=np.zeros(1, np.int64),
            )
        )

    @property
    def both(self) -> Addressed[InequalityBuffers]:
        """What kernels take, which see the arenas as they are now."""
        left, low, right = self.arenas
        self._both = self._both.replaced(left=left.words, low=low.words, right=right.words)
        return self._both

    @property
    def total(self) -> int:
        """How many words of the lines of `changed` stand in front of the sums."""
        return w.LINES + sum(len(order.kinds) for order in self.orders)

    def changed(self, left: Delta, right: Delta, too_large: CapacityError, *, are_told: bool = True) -> Words:
        """Apply the changes of both sides; what the pairs add that come and go, as lines of the kernel.

        Args:
            left: The changes of left rows.
            right: The changes of right rows.
            too_large: The error for pairs that 64 bits do not count.
            are_told: Whether there are lines; else pairs are counted alone, in O(log n) a row with one bound.

        Raises:
            CapacityError: The given one, if 64 bits do not count the pairs of a row.
            UnsupportedQueryError: A column of the key, of a group or one that is compared holds lists.
        """
        (lefts, left_values), (rights, right_values) = self._sorted(0, left), self._sorted(1, right)
        header = self.arenas[0].words
        header[w.H_CHANGE : w.H_STAGE + 1] = 0
        self.form[w.P_COUNTS] = not are_told
        text = self.text()
        height = self.total + int(header[nodes.T_SUMS])
        capacity, parts = _CHANGES, list[Words]()
        status = k.NEED_SPACE
        while status != k.DONE:
            out = np.empty((height, capacity), np.int64)
            status = maintain.maintain(self.both.line, lefts, rights, left_values, right_values, text, out)
            header = self.arenas[0].words
            parts.append(out[:, : int(header[w.H_MADE])])
            if status == k.TOO_LARGE:
                raise too_large
            if status == k.NEED_SPACE:
                self.arenas[int(header[w.H_FULL])].grow()
            elif status == k.OUTPUT_FULL:
                capacity *= 2
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def codes(self, lines: Words, column: SideColumn) -> Words:
        """The values of a column of a side in some lines, as codes of the codec."""
        order, begin = self.orders[column.side], w.LINES + (len(self.orders[0].kinds) if column.side else 0)
        place = self.kept[column.side].index(column.column)
        shown = order.decode_column(place, lines[begin + order.offset(place) :])
        return Rows(self.codec, [order.types[place]], [shown], lines.shape[1]).codes(0)

    def scan(self, capacity: int) -> Iterator[Words]:
        """The pairs, as lines of both rows, in batches of at most ``capacity`` lines."""
        yield from self._scanned(np.empty(0, np.int64), capacity)

    def of_keys(self, keys: Rows, capacity: int) -> Iterator[tuple[int, Words]]:
        """The pairs of some keys: for each batch of them which key, and lines as of `scan`.

        Args:
            keys: The keys, which need not be those of any row.
            capacity: Lines of a batch at most.
        """
        chosen = np.flatnonzero(are_known(keys, self.codec))
        asked = keys.take(chosen)
        types = self._key.types
        known = Rows(self.codec, types, [asked.arrow(i) for i in range(len(types))], chosen.shape[0])
        words = self._key.encode(known)
        for place in np.flatnonzero(self._key.has_values(range(len(types)), words)).tolist():
            for lines in self._scanned(np.ascontiguousarray(words[:, place]), capacity):
                yield int(chosen[place]), lines

    def met(self, side: int, rows: Rows, weights: Words, capacity: int) -> Iterator[Words]:
        """The pairs of some rows of a side, as lines as of `scan`, in whose versions stands which of the rows it is.

        Args:
            side: The side, whose rows are kept by row.
            rows: Rows of it.
            weights: The multiplicity of each.
            capacity: Lines of a batch at most.
        """
        plan, order = self.plan, self.orders[side]
        words = order.encode(rows.select(self.kept[side]))
        compared = plan.keys + (plan.bounds if side == 0 else 1)
        chosen = np.flatnonzero(order.has_values(range(compared), words))
        given = np.ascontiguousarray(words[:, chosen])
        cursor, text = np.zeros(3, np.int64), self.text()
        while cursor[0] < chosen.shape[0]:
            out = np.empty((self.total, capacity), np.int64)
            made = scan.met(self.both.line, side == 0, given, weights[chosen], text, cursor, out)
            if made:
                out[w.L_VERSION, :made] = chosen[out[w.L_VERSION, :made]]
                yield out[:, :made]

    def ranks(self) -> Words:
        """For each left row: its multiplicity, the rank of the first right row that it meets, and how many these are.

        Cost: O(log n) a left row.
        """
        parts = [np.empty((3, 0), np.int64)]
        cursor, text = np.zeros(3, np.int64), self.text()
        for begin in range(0, int(self.arenas[0].words[nodes.T_ENTRIES]), BATCH):
            out = np.empty((3, BATCH), np.int64)
            made = scan.ranks(self.both.line, text, cursor, out)
            assert made == BATCH or begin + made == self.arenas[0].words[nodes.T_ENTRIES], "each left row has a place"
            parts.append(out[:, :made])
        return np.concatenate(parts, axis=1)

    def at(self, lefts: Words, rights: Words) -> Words:
        """The pairs of rows at some ranks of both sides, which count multiplicities, as lines as of `scan`."""
        out = np.empty((self.total, lefts.shape[0]), np.int64)
        out[: w.LINES] = 1
        begin = w.LINES
        for arena, order, places in zip(self.arenas[::2], self.orders, (lefts, rights), strict=True):
            end = begin + len(order.kinds)
            rank_access.rows_at(arena.words, places, out[begin:end])
            begin = end
        return out

    def _scanned(self, key: Words, capacity: int) -> Iterator[Words]:
        """The pairs of a key, or all of them where none is given."""
        cursor = np.zeros(5, np.int64)
        while cursor[0] >= 0:
            out = np.empty((self.total, capacity), np.int64)
            made = scan.scan(self.both.line, key, self.text(), cursor, out)
            if made:
                yield out[:, :made]

    def trees(self) -> list[tuple[RowOrder, Arena]]:
        """The ordered rows, and how; left ones in the order of lower bounds are the second if they are kept."""
        left, right = self.orders
        low = [(left, self.arenas[1])] if self.form[w.P_KEEPS_LOW] else []
        return [(left, self.arenas[0]), *low, (right, self.arenas[2])]

    def used_words(self, kind: Kind) -> list[Words]:
        """The words of values of a kind that the state holds; O(state)."""
        return [codes for order, arena in self.trees() for codes in codes_of_kind(order, arena.words, kind)]

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        found = [arena.sizes() for arena in self.arenas]
        return sum(handed for handed, _ in found), sum(allocated for _, allocated in found)

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""
        return sum(arena.free_bytes() for arena in self.arenas)

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""
        return {name: arena.words for name, arena in zip(_NAMES, self.arenas, strict=True)}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of sides with the same plan."""
        for arena, name in zip(self.arenas, _NAMES, strict=True):
            arena.words = arrays[name]

    def text(self) -> Text:
        """The dictionary that decides between strings."""
        return max((order.text(self.codec) for order in self.orders), key=lambda text: len(text[1]))

    def _sorted(self, side: int, delta: Delta) -> tuple[tuple[Words, Words, Words], Words]:
        """The changes of a side in the order in which they are applied, and the values that they bring."""
        plan, order, rows = self.plan, self.orders[side], delta.rows
        if not delta.weights.shape[0]:
            width = len(order.kinds) + (len(self.low_bound.kinds) if side == 0 and plan.bounds == 2 else 0)
            return (np.empty((width, 0), np.int64), delta.weights, delta.versions), _none(self.summed.line_words)
        kept = rows.select(self.kept[side])
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
        given = [rows.column(one.column) if one.side == side else nothing for one in self.plan.columns]
        return lines_of(self.summed, Rows(self.codec, self.plan.inputs, given, rows.length))


def _kept(plan: InequalityOperator, side: int) -> list[int]:
    """The columns of a side that its trees keep: the key, what is compared, the group."""
    bounds = plan.bounds if side == 0 and plan.sides[0].by_row else 1
    return [*range(plan.keys + bounds), *plan.sides[side].groups]


def _order(plan: InequalityOperator, side: int, columns: Sequence[int]) -> RowOrder:
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
