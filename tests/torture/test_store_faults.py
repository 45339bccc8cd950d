"""A database in an object store, while answers are lost and processes end."""

from __future__ import annotations

import os

import pytest

from torture.store_faults import storm

SEED = int(os.environ.get("LIVEJOIN_SEED", "0"))
CASES = int(os.environ.get("LIVEJOIN_TORTURE", "300"))


@pytest.mark.parametrize("seed", range(2))
def test_a_store_with_some_faults(seed: int) -> None:
    happened = storm(SEED + seed, 30)
    assert sum(happened.values()) >= 30


@pytest.mark.torture
def test_a_store_with_many_faults() -> None:
    happened = storm(SEED + 100, 2 * CASES)
    assert sum(happened.values()) - happened["folds"] - happened["zombies"] >= CASES
    for kind in ("refused", "lost", "twice", "late", "cut before", "cut behind", "folds", "zombies"):
        assert happened[kind], f"{kind} did not happen: {happened}"
