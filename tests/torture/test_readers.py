"""Readers and followers beside a writer; `tests/torture/readers.py` runs for minutes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torture.readers import main

SEED = int(os.environ.get("LIVEJOIN_SEED", "5"))


@pytest.mark.parametrize("kept", [False, True])
def test_snapshots_are_the_truth_and_followers_end_at_the_view(kept: bool, tmp_path: Path) -> None:
    print(main(1.0, SEED, tmp_path / "kept" if kept else None))


@pytest.mark.torture
@pytest.mark.parametrize("kept", [False, True])
def test_so_it_is_for_ten_minutes(kept: bool, tmp_path: Path) -> None:
    """Five without a folder, and five with one that is closed and opened again."""
    print(main(300.0, SEED, tmp_path / "kept" if kept else None))
