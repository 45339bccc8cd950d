"""What all stores of rows in an order have in common: one arena, with a tree over the words of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from livejoin.dataflow.stores.order_words import RowOrder
from livejoin.kernels.ordered import order_nodes as nodes
from livejoin.kernels.ordered import top_k
from livejoin.schema import Kind
from livejoin.state.arena import Arena
from livejoin.state.codec import Codec
from livejoin.words import Words


class OrderedState:
    """Rows in an order, with multiplicities; mutable.

    Args:
        order: The order.
        codec: The database's codec.
        header: Words of the arena's header.
    """

    def __init__(self, order: RowOrder, codec: Codec, header: int) -> None:
        self.order = order
        self.codec = codec
        self.arena = Arena(header, budget=codec.budget)
        top_k.prepare(self.arena.words)

    def column_words(self, column: int) -> Words:
        """The codes of a column over all rows that are kept, also outside of the result; O(rows).

        A wide decimal is kept by its digits, and has no code that the codec would have to remember: it has none.
        """
        return codes_of(self.order, self.arena.words, column)

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        return self.arena.sizes()

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""
        return self.arena.free_bytes()

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays, valid until the next change."""
        return {"arena": self.arena.words}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of an operator with the same arguments."""
        self.arena.words = arrays["arena"]


def codes_of(order: RowOrder, arena: Words, column: int) -> Words:
    """The codes of a column over all rows of a tree; empty where its codes are not kept; O(rows)."""
    offset = order.code_offset(column)
    if offset is None:
        return np.empty(0, np.int64)
    words = np.empty(int(arena[nodes.T_ENTRIES]), np.int64)
    top_k.column_words(arena, offset, words)
    return order.codes(column, words)


def codes_of_kind(order: RowOrder, arena: Words, kind: Kind) -> Iterator[Words]:
    """The codes of values of a kind over all rows of a tree, column by column; O(rows) each."""
    for column, type_ in enumerate(order.types):
        if type_.word_kind == kind:
            yield codes_of(order, arena, column)
