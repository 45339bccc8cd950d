"""The benchmark of dispatches runs, and refuses wrong answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import hypercube
from benchmarks.__main__ import main


def test_it_compares_one_grid_with_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "figures.json"
    assert main(["hypercube", "--rows", "1000", "--cells", "1,30", "--json", str(written)]) == 0
    assert "keyed join, 30 cells, grids for heavy values" in capsys.readouterr().out
    found = {figure["name"]: figure for figure in json.loads(written.read_text())["figures"]}
    assert len(found) == 16
    assert all(figure["value"] == pytest.approx(1) for name, figure in found.items() if " 1 cells" in name)
    assert all(figure["value"] >= figure["floor"] * 0.999 for figure in found.values())
    hot = "star, 30 cells, "
    assert found[f"{hot}grids for heavy values"]["value"] < 0.8 * found[f"{hot}one grid"]["value"]


def test_a_row_that_goes_elsewhere_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    placed = hypercube._placed
    monkeypatch.setattr(hypercube, "_placed", lambda rows, *at: placed(rows, *at).slice(len(at)))
    assert main(["hypercube", "--rows", "500", "--cells", "4"]) == 1
