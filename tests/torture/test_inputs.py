"""The border under odd data: a small share of what ``make torture`` does."""

from __future__ import annotations

import os

from torture.inputs import run

CASES = int(os.environ.get("LIVEJOIN_TORTURE", "400"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))


def test_data_is_taken_as_it_is_or_refused() -> None:
    kinds = run(CASES, SEED)
    print(f"inputs: {dict(kinds)}")
    assert kinds.total() == CASES
    assert CASES < 300 or set(kinds) == {"well-formed", "broken", "hostile", "odd, taken", "odd, refused"}
