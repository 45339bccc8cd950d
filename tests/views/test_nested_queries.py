"""Random nested queries, views over views, under random lives: incremental equals recomputed, always.

Every life is named by its seed. The lives of CI are the same in each run; ``make fuzz`` draws others by LIVEJOIN_SEED.
A life that fails is made smaller and shown as a script.
"""

from __future__ import annotations

import os

import pytest

from nested_harness import NestedHarness, live
from nested_lives import Create, Life, life
from nested_reduce import failure, reduced
from strategies import EXAMPLES

PARTS = 8
LIVES = 3 * EXAMPLES // PARTS
FIRST = int(os.environ.get("LIVEJOIN_SEED", "0"))


def lived(seed: int) -> NestedHarness:
    """Live the life of a seed; a failure is shown by its smallest script."""
    whole = life(seed)
    try:
        return live(whole)
    except Exception as error:
        small = reduced(live, whole)
        msg = f"the life of seed {seed} fails: {failure(live, small)}\n{small.script()}"
        raise AssertionError(msg) from error


@pytest.mark.parametrize("part", range(PARTS))
def test_lives(part: int) -> None:
    """All parts together are 2,000 comparisons of all views of a database after a commit, deltas and state."""
    cases = views = declined = 0
    for seed in range(FIRST + part * LIVES, FIRST + (part + 1) * LIVES):
        harness = lived(seed)
        cases += harness.cases
        declined += len(harness.declined)
        views += _views(life(seed))
    assert cases >= 5 * LIVES
    assert declined <= views // 20, f"{declined} of {views} views are not maintained"


def _views(whole: Life) -> int:
    return sum(isinstance(step, Create) for step in whole.steps)
