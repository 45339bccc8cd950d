"""Rows of a delta that take the place of others."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Line, Matrix


@kernel
def mark_replaced(
    words: Matrix, pairs: Line, versions: Line, weights: Line, kinds: Line, stays: Line
) -> tuple[int, bool]:
    """Say of each row what it is: one that goes (0), comes (1), is replaced (2) or takes a place (3).

    Args:
        words: int64 of shape (columns, n).
        pairs: A number for each row; of two neighbours of one version with one number the second replaces the first.
        versions: The version of each row.
        weights: Whether it comes, if positive, or goes.
        kinds: int8; written.
        stays: bool; written: false for two such neighbours that are equal.

    Returns:
        How many stay, and whether in each version the rows that go stand before those that come.
    """
    left = 0
    row = 0
    in_order = True
    came = False
    while row < pairs.shape[0]:
        kinds[row] = 1 if weights[row] > 0 else 0
        stays[row] = True
        came = came and versions[row] == versions[row - 1]
        after = row + 1
        if after < pairs.shape[0] and pairs[after] == pairs[row] and versions[after] == versions[row]:
            differs = False
            for column in range(words.shape[0]):
                differs = differs or words[column, row] != words[column, after]
            kinds[row] = 2
            kinds[after] = 3
            stays[row] = differs
            stays[after] = differs
            left += 1 if differs else 0
            row = after
        else:
            in_order = in_order and not (came and kinds[row] == 0)
            came = came or kinds[row] == 1
        left += 1 if stays[row] else 0
        row += 1
    return left, in_order


@kernel
def goes_first(kinds: Line, versions: Line) -> bool:
    """Whether in each version the rows that go (0) stand before those that come (1)."""
    came = False
    for row in range(kinds.shape[0]):
        came = came and versions[row] == versions[row - 1]
        if came and kinds[row] == 0:
            return False
        came = came or kinds[row] == 1
    return True
