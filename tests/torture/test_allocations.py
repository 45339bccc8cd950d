"""Allocations that fail: a small share of what ``make torture`` does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torture.allocations import KINDS, run

CASES = int(os.environ.get("LIVEJOIN_TORTURE", "1"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))


@pytest.mark.parametrize("kind", KINDS)
def test_an_allocation_that_fails_leaves_everything_as_it_was(kind: str, tmp_path: Path) -> None:
    kinds = run(kind, CASES, SEED, tmp_path)
    print(f"allocations of a {kind}: {dict(kinds)}")
    assert kinds["failed"] == min(CASES, kinds["allocations"])
