"""The benchmark of durable commits runs, and checks what is in the folder behind it."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.__main__ import main


def test_every_figure_is_checked(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    arguments = ["durable", "--commits", "32", "--rows", "300", "--folder", str(tmp_path), "--json", str(written)]
    assert main(arguments) == 0
    figures = json.loads(written.read_text())["figures"]
    assert [figure["name"] for figure in figures if figure["aim"]] == [
        "one row into 2-Hop, sync = commit",
        "16 commits by as many threads, sync = commit",
    ]
    assert all(figure["value"] > 0 and figure["check"] for figure in figures)
