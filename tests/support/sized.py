"""Sizes of tests that `make nojit` runs too, where kernels are plain Python and take a hundred times as long."""

from __future__ import annotations

from livejoin.kernels.jit import is_interpreted


def sized(compiled: int, plain: int) -> int:
    """A number of rows: the first one for compiled kernels, the second one for those that run as they are written."""
    return plain if is_interpreted() else compiled
