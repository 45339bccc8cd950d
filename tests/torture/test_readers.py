"""Readers and followers beside a writer; `tests/torture/readers.py` runs for minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture.readers import main


@pytest.mark.parametrize("kept", [False, True])
def test_snapshots_are_the_truth_and_followers_end_at_the_view(kept: bool, tmp_path: Path) -> None:
    print(main(2.0, 5, tmp_path / "kept" if kept else None))
