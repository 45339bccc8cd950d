"""Numbers of two words against plain Python's."""

from __future__ import annotations

import numpy as np
import pytest

from livejoin.kernels.groups.narrow import narrow
from livejoin.words import NULL_CODE

LIMIT = 10**18


def pair(value: int | None) -> tuple[int, int]:
    """The words of a number, or of NULL."""
    if value is None:
        return 7, NULL_CODE
    low = value & (1 << 64) - 1
    return low - (1 << 64) if low >> 63 else low, value >> 64


def narrowed(values: list[int | None], limit: int) -> list[int] | None:
    """One word each, by the kernel."""
    words = np.array([(0, *pair(value)) for value in values], np.int64).T.copy().reshape(3, -1)
    out = np.empty((2, len(values)), np.int64)
    fits = narrow(words, np.array([0, 1]), np.array([0, limit]), out)
    assert not fits or not out[0].any(), "a line of one word is taken as it is"
    return out[1].tolist() if fits else None


@pytest.mark.nojit
def test_numbers_that_fit_become_one_word_each() -> None:
    for values in ([], [0, -1, 5, None], [LIMIT - 1, 1 - LIMIT, None]):
        assert narrowed(values, LIMIT) == [NULL_CODE if value is None else value for value in values]


@pytest.mark.nojit
@pytest.mark.parametrize(
    "large", [LIMIT, -LIMIT, 1 << 63, -(1 << 63) - 1, 1 << 64, (1 << 64) + 5, -(1 << 64), 1 << 100]
)
def test_one_that_does_not_fit_is_seen(large: int) -> None:
    assert narrowed([1, large, None], LIMIT) is None
