"""The stores that operators above the joins keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from livejoin.dataflow.rows import Delta, Rows
from livejoin.errors import UnsupportedQueryError
from livejoin.plan.operators import Combine, First, Group
from livejoin.state.codec import Codec

Words = npt.NDArray[np.int64]


class Store(Protocol):
    """State that changes by deltas and gives its own."""

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply the changes of all inputs; what changed, net within each version."""

    def load(self, side: int, delta: Delta) -> None:
        """Apply rows of one input without asking what changed."""

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The rows with their multiplicities, in batches of at most ``capacity`` rows."""

    def count(self) -> int:
        """Rows with multiplicities."""

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over a state."""

    def _check(self) -> None:
        """Assert all invariants; for tests."""


def make_store(plan: Combine | Group | First, codec: Codec) -> Store:
    """The store of an operator."""
    msg = f"{type(plan).__name__} is not maintained yet"
    raise UnsupportedQueryError(msg)
