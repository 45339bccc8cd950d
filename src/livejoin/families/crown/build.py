"""The views of a join tree over rows that were enlisted, built node by node (`livejoin.kernels.crown.build`).

Every step is a kernel over pieces of some ten thousand rows, between which Python looks for signals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from livejoin.kernels.crown import build as kernel
from livejoin.kernels.crown import layout as u
from livejoin.state.arena import Arena
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.crown.plan import CrownPlan

_AT_ONCE = 1 << 14
_KEY_BYTES = 32  # of a row that is sorted: its word, twice, where the sorting puts it, and its hash
_RUN = 8


class Building:
    """The views of one join tree as they are built; mutable.

    Args:
        plan: The plan.
        arena: The arena, in which rows are enlisted and nothing else is.
    """

    def __init__(self, plan: CrownPlan, arena: Arena) -> None:
        self._plan, self._arena = plan, arena
        self._hashes: dict[int, Words] = {}  # by directory the hashes of the keys that have an entry, sorted

    def run(self) -> None:
        """Build all views. Cost: that of sorting the rows for each edge, and O(rows)."""
        plan = self._plan
        for node in reversed(range(len(plan.nodes))):
            self._place(node)
        for node in range(len(plan.nodes)) if plan.live else ():
            if not plan.is_silent(node):
                self._mark(node)

    def _place(self, node: int) -> None:
        """Link the rows of a node, whose children are placed, to them; then place it."""
        at, shape = self._plan.node_offsets[node], self._plan.nodes[node]
        if shape.atom is None:
            self._over(self._places(at), kernel.begin_derived, at)
        for child in shape.children[shape.inline :]:
            below = self._plan.node_offsets[child]
            self._over_keys(kernel.place_parents, at, below)
        self._over_keys(kernel.place_rows, at, at, scattered=shape.atom is None)
        if self._plan.words[at + u.N_FLIPS]:
            self._over(self._slots(at), kernel.settle, at)

    def _mark(self, node: int) -> None:
        """Say which rows are live, where those of the nodes above it are known."""
        at, shape = self._plan.node_offsets[node], self._plan.nodes[node]
        if not shape.connex:
            return
        if self._plan.words[at + u.N_LINKED]:
            self._over(self._slots(at), kernel.mark_parents, at)
        if shape.atom is None:
            self._over(self._places(at), kernel.mark_derived, at)

    def _over_keys(self, step: Callable[..., int], at: int, edge: int, *, scattered: bool = False) -> None:
        """Run a step over the rows of a node in the order in which their keys at an edge are hashed.

        Args:
            step: The kernel.
            at: The node.
            edge: The node below the edge; where it is the root there is no key, and no order.
            scattered: Whether rows of one key come in an order that is none of hashes (`_scattered`).
        """
        places = self._places(at)
        with self._arena.budget.holding(_KEY_BYTES * places, "rows that are sorted by key"):
            keys = self._keys(at, edge, places)
            if scattered:
                keys = _scattered(keys)
            if self._plan.words[edge + u.N_PARENT] >= 0:
                keys = keys[np.argsort(keys >> 32, kind="stable")] if scattered else np.sort(keys)
                self._make_slots(edge, keys)
            self._over(keys.shape[0], step, edge, keys)

    def _keys(self, at: int, edge: int, places: int) -> Words:
        """The rows of a node, each below the hash of its key at an edge."""
        arena, plan = self._arena.words, self._plan.words
        keys = np.empty(places, np.int64)
        found = 0
        for begin in range(0, places, _AT_ONCE):
            end = min(begin + _AT_ONCE, places)
            found += kernel.keys_of(arena, plan, at, edge, begin, end, keys[found:])
        return keys[:found]

    def _make_slots(self, edge: int, keys: Words) -> None:
        """Let the directory above a node have slots for the keys that come, before they come in order.

        Args:
            edge: The node.
            keys: The rows below the hashes of their keys, sorted.
        """
        directory = int(self._plan.words[edge + u.N_DIRECTORY])
        hashes = _distinct(keys >> 32)
        if directory in self._hashes:
            hashes = _distinct(np.sort(np.concatenate([self._hashes[directory], hashes])))
        self._hashes[directory] = hashes
        log = (4 * (hashes.shape[0] + 1) // 3).bit_length()
        while not kernel.ask_for_slots(self._arena.words, self._plan.words, edge, log):
            self._arena.double()
        if self._arena.is_moving:
            self._arena.move_slots()

    def _places(self, at: int) -> int:
        return int(kernel.places(self._arena.words, self._plan.words, at))

    def _slots(self, at: int) -> int:
        return int(kernel.slots_above(self._arena.words, self._plan.words, at))

    def _over(self, number: int, step: Callable[..., int], *arguments: Any) -> None:
        """Run a step over a range, with the arena grown where it asks for it."""
        done = 0
        while done < number:
            end = min(done + _AT_ONCE, number)
            done = step(self._arena.words, self._plan.words, *arguments, done, end)
            if done < end:
                self._arena.grow()


def _scattered(keys: Words) -> Words:
    """Words in runs of `_RUN` that lie together, and the runs in an order of their own.

    Rows of a derived node are found, and were made, in the order of their hashes. Results are enumerated as they are
    placed here, and a view over them has the same hashes in a smaller directory: in that order they would all want its
    first slots, and each would go by all that are there. Runs keep rows that lie together together.
    """
    whole = keys.shape[0] // _RUN
    runs = keys[: whole * _RUN].reshape(whole, _RUN)
    order = np.random.default_rng(whole).permutation(whole)
    return np.concatenate([runs[order].reshape(-1), keys[whole * _RUN :]])


def _distinct(ordered: Words) -> Words:
    """Ordered words, each once."""
    return ordered[np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))]
