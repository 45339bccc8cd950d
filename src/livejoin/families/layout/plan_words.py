"""The words of a plan while they are laid out, and the offsets that all trees lay out alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from livejoin.kernels.memory import layout as k


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


def place_directories(families: Sequence[tuple[Sequence[int], int]], at: int) -> tuple[dict[int, int], int]:
    """Where the directories of the edges of a tree lie in the arena's header.

    Args:
        families: For each node its children, and how many of them, the first ones, share a directory.
        at: Offset of the first directory.

    Returns:
        The offset of each child's directory, and the offset behind all of them.
    """
    directory_of: dict[int, int] = {}
    for children, shared in families:
        for index, child in enumerate(children):
            if 0 < index < shared:
                directory_of[child] = directory_of[children[0]]
            else:
                directory_of[child] = at
                at += k.DIRECTORY
    return directory_of, at
