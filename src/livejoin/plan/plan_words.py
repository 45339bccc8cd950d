"""The words of a plan while they are laid out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class PlanWords:
    """A growing list of words in which lists are placed and referred to by offset.

    Args:
        size: Words at the beginning, all zero.
    """

    def __init__(self, size: int) -> None:
        self.words = [0] * size

    def put(self, values: Sequence[int]) -> int:
        """Place a list; its offset."""
        at = len(self.words)
        self.words.extend(values)
        return at

    def fill(self, at: int, fields: Mapping[int, int]) -> None:
        """Set words at offsets behind ``at``."""
        for field, word in fields.items():
            self.words[at + field] = word
