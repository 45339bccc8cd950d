"""Rows in the order of their key and of a compared column, with the bounds of the keys: what lets them in or out.

The state is the arena of `livejoin.kernels.thresholds`: an ordered multiset of all rows, and a record for each
bound. NULL compares with nothing, so that bounds with NULL are not kept. Rows with NULL are not kept either, unless the
rows are those that a comparison is not true for: then they lie at the end of their key where these are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.stores.comparable import refuse_lists
from livejoin.dataflow.stores.order_words import RowOrder, Text
from livejoin.dataflow.stores.ordered_state import codes_of_kind
from livejoin.kernels.memory import layout as k
from livejoin.kernels.thresholds import layout as w
from livejoin.kernels.thresholds import maintain, scan
from livejoin.kernels.thresholds.buffers import ThresholdBuffers
from livejoin.kernels.values.row_order import E_WORDS
from livejoin.plan.operators import Comparison
from livejoin.query.orders import SortKey
from livejoin.schema import Kind, SqlType
from livejoin.state.addressed import Addressed
from livejoin.state.arena import Arena
from livejoin.state.codec import Codec
from livejoin.words import Words

_CHANGES = 1024  # smallest buffer of changes
_PLACES: dict[Comparison, tuple[int, int, int]] = {
    "less": (0, 0, 0),
    "less_equal": (1, 0, 0),
    "greater": (1, 1, 0),
    "greater_equal": (0, 1, 0),
    "not_less": (0, 1, 1),
    "not_less_equal": (1, 1, 1),
    "not_greater": (1, 0, 1),
    "not_greater_equal": (0, 0, 1),
}
"""Whether the place of a bound is behind equal rows, whether the rows behind the place are the result, and whether rows
without a bound are in it too."""
_NO_VALUES = np.empty((0, 0), np.int64)


class BoundedRows:
    """An ordered multiset of rows with the bounds of their keys, and what these let in; mutable.

    Args:
        types: The types of the columns: those of the key, the compared one, which bounds have too, and others.
        keys: How many columns are the key.
        groups: How many of the others, the first ones, stand before the compared one in the order.
        comparison: How a row in the result compares with the bound of its key.
        codec: The database's codec.
        sums: The plan of the groups whose sums are kept (`livejoin.kernels.groups.layout`), with the words that go on
            the number of the word before, a bit each; None where rows are selected.
    """

    def __init__(
        self,
        types: Sequence[SqlType],
        keys: int,
        groups: int,
        comparison: Comparison,
        codec: Codec,
        sums: tuple[Words, int, int] | None = None,
    ) -> None:
        self.codec = codec
        self.keys = keys
        columns = (*range(keys), *range(keys + 1, keys + 1 + groups), keys)
        behind, above, self._is_open = _PLACES[comparison]
        nulls_first = not (above and self._is_open)
        order = tuple(SortKey(column, False, nulls_first or column != keys) for column in columns)
        self.order = RowOrder(tuple(types), order)
        of_bounds = tuple(SortKey(column, False, nulls_first or column != keys) for column in range(keys + 1))
        self.of_bounds = RowOrder(tuple(types[: keys + 1]), of_bounds)
        kinds = self.order.kinds
        start = self.order.offset(keys)
        key_words = self.of_bounds.offset(keys)
        bound_words = len(self.of_bounds.kinds) - key_words
        summed, values, carried = sums or (np.zeros(1, np.int64), 0, 0)

        def first(words: int, begin: int = 0) -> Words:
            return np.array([0, 0, words, *kinds[begin:]], np.int64)

        row = w.BOUNDS_HEADER
        term = row + E_WORDS + len(kinds)
        record_key = w.B_NOW + 2 * bound_words
        form = [key_words, start, bound_words, behind, above, record_key + key_words, record_key, int(sums is not None)]
        places = [row, term, term + values, term + 2 * values]
        self.form = np.array([*form, *places, self._is_open, *range(key_words)], np.int64)
        self.arena = Arena(term + 3 * values, (w.H_BOUNDS,), budget=codec.budget)
        maintain.prepare(self.arena.words, values, carried, E_WORDS + len(kinds))
        self._at = Addressed(
            ThresholdBuffers(
                arena=self.arena.words,
                whole=first(len(kinds)),
                wide=first(len(kinds) + values),
                key=first(key_words),
                grouped=first(start),
                placed=first(start + bound_words),
                bounded=first(bound_words, start),
                form=self.form,
                summed=summed,
                place=np.zeros(1, np.int64),
            )
        )
        self.lines = w.LINES + len(kinds) + values

    @property
    def at(self) -> Addressed[ThresholdBuffers]:
        """What kernels take, which see the arena as it is now."""
        self._at = self._at.replaced(arena=self.arena.words)
        return self._at

    def maintain(self, bounds: Delta, rows: Delta, arguments: Words | None, emit: bool) -> Words:
        """Apply changes; what the result, or its sums, gain and lose, as lines (`livejoin.kernels.thresholds`).

        Args:
            bounds: The changes of the bounds: keys and values.
            rows: The changes of the rows.
            arguments: Where sums are kept, the values that the groups' kernel takes in for the rows.
            emit: Whether rows of the result are asked for.
        """
        refuse_lists(rows.rows.select(range(len(self.order.types))), "a comparison with an aggregate")
        values = self.order.encode(rows.rows)
        moves = self.of_bounds.encode(bounds.rows)
        there = rows.weights != 0
        kept = np.flatnonzero(there if self._is_open else there & self.order.has_values(range(self.keys + 1), values))
        order = kept[np.lexsort((*values[1::-1, kept], rows.weights[kept] > 0, rows.versions[kept]))]
        values = np.ascontiguousarray(values[:, order])
        weights, versions = rows.weights[order], rows.versions[order]
        given = _NO_VALUES if arguments is None else np.ascontiguousarray(arguments[:, order])
        bound = np.flatnonzero(self.of_bounds.has_values(range(self.keys + 1), moves) & (bounds.weights != 0))
        moves = np.ascontiguousarray(moves[:, bound])
        move_weights, move_versions = bounds.weights[bound], bounds.versions[bound]
        text, changed, moved = self.text(), (values, weights, versions), (moves, move_weights, move_versions)
        self.arena.words[[w.H_CHANGE, w.H_MOVE, w.H_STEP, w.H_MOVED]] = 0
        parts: list[Words] = []
        capacity = _CHANGES
        status = k.NEED_SPACE
        while status != k.DONE:
            out = np.empty((self.lines, capacity), np.int64)
            status = maintain.maintain(self.at.line, changed, moved, given, text, emit, out)
            parts.append(out[:, : int(self.arena.words[w.H_MADE])])
            if status == k.NEED_SPACE:
                self.arena.grow()
            elif status == k.OUTPUT_FULL:
                capacity *= 2
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The rows of the result, where rows are selected, in batches of at most ``capacity`` rows."""
        width = len(self.order.kinds)
        cursor = np.zeros(3, np.int64)
        while cursor[0] >= 0:
            output = np.empty((width + 1, capacity), np.int64)
            one = scan.scan_open if self._is_open else scan.scan
            made = one(self.at.line, self.text(), cursor, output)
            if made:
                yield self.order.decode(output[:width, :made], self.codec), output[width, :made]

    def text(self) -> Text:
        """The dictionary that decides between strings."""
        return self.order.text(self.codec)

    def used_words(self, kind: Kind) -> list[Words]:
        """The codes of values of a kind over all rows and bounds that are kept; O(state)."""
        found = list(codes_of_kind(self.order, self.arena.words, kind))
        bounds = self.bound_words()
        for column, type_ in enumerate(self.of_bounds.types):
            offset = self.of_bounds.code_offset(column)
            if type_.word_kind == kind and offset is not None:
                found.append(self.of_bounds.codes(column, bounds[offset]))
        return found

    def bounds(self) -> int:
        """How many bounds there are; O(1)."""
        return int(self.arena.words[w.H_BOUNDS + k.D_COUNT])

    def bound_words(self) -> Words:
        """The words of all bounds, those of their keys first, a line each; O(bounds)."""
        output = np.empty((len(self.of_bounds.kinds), self.bounds()), np.int64)
        scan.bounds(self.at.line, output)
        return output

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        return self.arena.sizes()

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""
        return self.arena.free_bytes({w.H_BOUNDS: int(self.form[w.P_RECORD])})


def one_sided(bounded: BoundedRows, side: int, delta: Delta) -> tuple[Delta, Delta]:
    """The changes of the bounds, side 0, or of the rows, side 1, with none of the other."""
    nothing = np.empty(0, np.int64)
    types = bounded.order.types if side == 0 else bounded.of_bounds.types
    none = Delta(Rows(bounded.codec, types, [nothing for _ in types], 0), nothing, nothing)
    return (delta, none) if side == 0 else (none, delta)
