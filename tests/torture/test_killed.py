"""Processes that are killed: a small share of what ``make torture`` does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torture.killed import run

CASES = int(os.environ.get("LIVEJOIN_TORTURE", "4"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_killed_process_leaves_a_whole_snapshot(tmp_path: Path) -> None:
    kinds = run(CASES, SEED, tmp_path / "saved")
    print(f"killed: {dict(kinds)}")
    assert kinds["between"] + kinds["inside, old"] + kinds["inside, new"] == CASES
    assert CASES < 100 or all(kinds[kind] for kind in ("between", "inside, old", "inside, new", "left behind"))
