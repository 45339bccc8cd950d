"""What a plan promises: the cost of a change, the delay of a result row, the space and the time to load.

The bounds on a change are ordered, and each says for which change sequences a change costs O(1), amortised:

- `UpdateBound.ALWAYS`: for every sequence (CROWN, Lemma 6.8).
- `UpdateBound.FIFO`: for sequences that are first-in-first-out or insertion-only (CROWN, Lemmas 6.9 and 6.10), else
  O(lambda).
- `UpdateBound.LAMBDA`: for insertion-only sequences, else O(lambda_T) (CROWN, Theorem 6.6).
- `UpdateBound.LINEAR`: for none; O(|D|) where one change can move that many rows of a bag (CROWN, Lemma 7.2).
- `UpdateBound.POLYNOMIAL`: for none; a power of the database above the first (CROWN, Theorem 7.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class UpdateBound(IntEnum):
    """The bounds on the cost of a change, the best one first; `str` is the word that the command line takes."""

    ALWAYS = 0
    FIFO = 1
    LAMBDA = 2
    LINEAR = 3
    POLYNOMIAL = 4

    def __str__(self) -> str:
        return _WORDS[self]

    @property
    def formula(self) -> str:
        """The bound in the papers' signs."""
        return _FORMULAS[self]


_WORDS = {
    UpdateBound.ALWAYS: "O1",
    UpdateBound.FIFO: "FIFO",
    UpdateBound.LAMBDA: "lambda",
    UpdateBound.LINEAR: "linear",
    UpdateBound.POLYNOMIAL: "polynomial",
}

_FORMULAS = {
    UpdateBound.ALWAYS: "O(1)",
    UpdateBound.FIFO: "O(1) for FIFO or insertion-only sequences, else O(lambda)",
    UpdateBound.LAMBDA: "O(1) for insertion-only sequences, else O(lambda)",
    UpdateBound.LINEAR: "O(|D|)",
    UpdateBound.POLYNOMIAL: "O(|D|^k), k > 1",
}


@dataclass(frozen=True)
class Guarantee:
    """What a plan promises.

    Args:
        bound: The class of the cost of a change.
        update: The cost of a change in one plain sentence.
        delay: The time between two result rows, full and delta.
        space: The size of the state.
        preprocessing: The time to load the rows that are there.
        source: Where this is proven.
    """

    bound: UpdateBound
    update: str
    delay: str
    space: str
    preprocessing: str
    source: str
