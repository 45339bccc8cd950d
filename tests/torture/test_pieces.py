"""Large commits that are cut off between two pieces of a kernel: a small share of what ``make torture`` does."""

from __future__ import annotations

import os

import pytest

from torture import pieces
from torture.interrupts import places

CUTS = int(os.environ.get("LIVEJOIN_TORTURE", "1"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))
LIKE_OTHERS = {
    "rows that were undone are finished",
    "undo with keys",
    "undo with keys of deletions",
    "undo with UNIQUE",
    "undo of a range",
    "keys of deletions",
    "UNIQUE of deletions",
    "a range",
    "the first rows leave",
    "a set operation of deletions",
    "stored rows leave",
}
"""Cases of kernels that another case cuts off, too."""


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.torture] if one in LIKE_OTHERS else []) for one in pieces.CASES]
)
def test_a_commit_that_is_cut_off_between_two_pieces(name: str) -> None:
    total = pieces.calls(name)
    assert total > 1
    for at in places(total - 1, CUTS, SEED):
        pieces.cut(name, at)
