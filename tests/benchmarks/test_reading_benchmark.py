"""The benchmark of reading runs, and refuses to show a speed for a wrong answer."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import livejoin
from benchmarks.reading import main


def test_every_figure_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "figures.json"
    assert main(["--edges", "300", "--draws", "50", "--json", str(written)]) == 0
    figures = json.loads(written.read_text())["figures"]
    assert len(figures) == 7
    assert all(figure["value"] >= 0 and figure["check"] for figure in figures)
    assert "multiplicity of a row" in capsys.readouterr().out


def test_wrong_samples_have_no_speed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def zeros(view: livejoin.View, rows: int, seed: int) -> pa.Table:
        return pa.table([pa.array([0] * rows)] * 4, schema=view.schema)

    monkeypatch.setattr(livejoin.View, "sample", zeros)
    assert main(["--edges", "300", "--draws", "5"]) == 1
    assert "no path in the graph" in capsys.readouterr().err
