"""The benchmark of readers beside a writer runs, and compares what they have with DuckDB."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.__main__ import main


def test_every_figure_is_checked(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["readers", "--commits", "20", "--rows", "500", "--threads", "2", "--json", str(written)]
    assert main(arguments) == 0
    figures = json.loads(written.read_text())["figures"]
    assert len(figures) == 14
    assert all(figure["value"] > 0 and figure["check"] for figure in figures)
