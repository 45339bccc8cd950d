"""Commits that are cut off: a small share of what ``make torture`` does."""

from __future__ import annotations

import os

import pytest

from torture.interrupts import Life, places, points

CUTS = int(os.environ.get("LIVEJOIN_TORTURE", "60"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))


@pytest.mark.parametrize(
    ("error", "threads", "algorithm"),
    [
        (KeyboardInterrupt, 1, "auto"),
        (MemoryError, 2, "auto"),
        (KeyboardInterrupt, 1, "dyn"),
        (MemoryError, 1, "change-propagation"),
    ],
)
def test_a_commit_that_is_cut_off_stands_or_does_not(error: type[BaseException], threads: int, algorithm: str) -> None:
    life = Life(SEED, threads, algorithm)
    total = points(life)
    outcomes = set()
    for at in places(total, CUTS, SEED):
        stands, cut = life.cut(error, at, again=at % 3 == 0)
        outcomes.add(stands)
        try:
            life.check()
        except BaseException as wrong:
            wrong.add_note(
                f"cut at point {at} of about {total}, in {cut.where}; the commit {'stands' if stands else 'is undone'}"
            )
            raise
        if at % 2:
            life.commit()
    assert outcomes == {True, False}
