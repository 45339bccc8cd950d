"""One copy of a view's rows for all who read it at the same time.

Copying words holds up commits, and turning them into Arrow fills a core. Who comes while another one does that for the
same rows waits for what that one makes. Nothing is kept once nobody reads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa

from livejoin.dataflow.batches import Rows
from livejoin.dataflow.node import Node
from livejoin.words import Words

Pieces: TypeAlias = Sequence[tuple[Rows, Words]]
"""Rows as words, with their multiplicities."""


class SharedRead:
    """The rows of a block at one version; those who read them hold it.

    Args:
        node: The block.
        pieces: The rows; nobody writes to them.
    """

    __slots__ = ("__weakref__", "_lock", "_node", "_pieces", "_table", "_version")

    def __init__(self, node: Node, pieces: Pieces) -> None:
        self._node = node
        self._version = node.version
        self._pieces = pieces
        self._table: pa.Table | None = None
        self._lock = threading.Lock()

    def is_of(self, node: Node) -> bool:
        """Whether these are the rows that a block has now; called with the database's lock held."""
        return self._node is node and self._version == node.version

    def table(self, make: Callable[[Pieces], pa.Table]) -> pa.Table:
        """The rows as Arrow; the first who asks makes it, and others wait."""
        with self._lock:
            if self._table is None:
                self._table, self._pieces = make(self._pieces), ()
            return self._table
