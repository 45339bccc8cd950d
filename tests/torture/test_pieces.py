"""Large commits that are cut off between two pieces of a kernel: a small share of what ``make torture`` does."""

from __future__ import annotations

import os

import pytest

from torture import pieces
from torture.interrupts import places

CUTS = int(os.environ.get("LIVEJOIN_TORTURE", "1"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))


@pytest.mark.parametrize("name", pieces.CASES)
def test_a_commit_that_is_cut_off_between_two_pieces(name: str) -> None:
    total = pieces.calls(name)
    assert total > 1
    for at in places(total - 1, CUTS, SEED):
        pieces.cut(name, at)
