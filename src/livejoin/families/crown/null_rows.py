"""The NULL rows of a plan: what stands in the place of an optional branch that has no row for a key.

Every connex node at or below an optional edge has one, in the arena's header behind the directories: all its values are
NULL, its multiplicity is one, and it is linked to the slots of the NULL rows below. These slots hold one row each, so
that an enumeration reads them as it reads any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.families.crown.structure import PlanNode
from livejoin.kernels.crown import layout as u
from livejoin.words import NULL_CODE


class NullRows:
    """Where the NULL rows of a plan lie, and what they hold.

    Args:
        nodes: The nodes of the plan.
        sizes: Words of the rows of each node.
        at: Offset in the header behind all else.
    """

    def __init__(self, nodes: Sequence[PlanNode], sizes: Sequence[int], at: int) -> None:
        self._nodes = nodes
        self._sizes = sizes
        self._row: dict[int, int] = {}
        self._slot: dict[int, int] = {}
        for i, node in enumerate(nodes):
            if node.connex and (node.edge == "optional" or node.parent in self._row):
                self._row[i] = at
                self._slot[i] = at + sizes[i]
                at += sizes[i] + u.SLOT + 1
        self.end = at

    def row_and_slot(self, node: int) -> tuple[int, int]:
        """References of a node's NULL row and of the slot that holds it; 0 and 0 if it has none."""
        return self._row.get(node, 0), self._slot.get(node, 0)

    def words(self, layouts: Sequence[tuple[int, int, int]]) -> dict[int, int]:
        """The words of the header that are set once, by their offset.

        Args:
            layouts: For each node the offsets of STATE, UP and the first LINK in its rows.
        """
        found: dict[int, int] = {}
        for i, row in self._row.items():
            node, (state, _, link) = self._nodes[i], layouts[i]
            found |= dict.fromkeys(range(row, row + self._sizes[i]), NULL_CODE)
            found[row + state] = (1 << u.COUNTER_BITS) | len(node.children)
            found |= self._filled(self._slot[i], self._slot[i] + u.SLOT)
            found[self._slot[i] + u.SLOT] = row
            for position, child in enumerate(node.children):
                if child not in self._slot:
                    continue
                below = self._slot[child]
                if position < node.inline:
                    found |= self._filled(row + u.SLOT * position, below + u.SLOT)
                else:
                    found[row + link + position] = below << 32
        return found

    @staticmethod
    def _filled(slot: int, block: int) -> dict[int, int]:
        """A slot that holds one row, which counts once."""
        return {slot + u.S_LEN: (1 << 32) | 1, slot + u.S_BLOCK: block, slot + u.S_WEIGHT: 1}
