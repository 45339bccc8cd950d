"""Numbers on the axes of pictures are plain: no powers of ten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.crown.plots import draw, number
from benchmarks.crown.report import read

RESULTS = Path(__file__).parents[2] / "docs" / "benchmarks"


def test_numbers_on_axes_are_plain() -> None:
    assert [number(value) for value in (0.001, 0.4, 6.0, 1000.0, 123_456.0, 1e6, 3e8, 2e9)] == [
        "0.001",
        "0.4",
        "6",
        "1,000",
        "123,456",
        "1 million",
        "300 million",
        "2,000 million",
    ]


def test_pictures_have_no_powers_of_ten(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.rcParams["svg.fonttype"] = "none"
    results = read([RESULTS / f"crown-{name}.json" for name in ("counting", "selectivity", "experiments")])
    for file in draw(results, tmp_path):
        if file.suffix == ".svg":
            texts = re.findall(r"<text[^>]*>(.*?)</text>", file.read_text(), re.DOTALL)
            assert any(re.search(r"\d", text) for text in texts), file.name
            assert not [text for text in texts if re.search(r"10\^|e\+|[^\x00-\x7f]", text)], file.name
