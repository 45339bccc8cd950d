"""The benchmark of joins by order runs, and refuses to show a speed for a wrong answer."""

from __future__ import annotations

import pytest

from benchmarks import ordered
from benchmarks.__main__ import main


def test_every_figure_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ordered", "--sizes", "20", "60", "--changes", "2"]) == 0
    assert capsys.readouterr().out.count("us a commit") == 2 * len(ordered.QUERIES)


def test_wrong_answers_have_no_speed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ordered, "right", lambda *_: False)
    assert main(["ordered", "--sizes", "20", "--changes", "2"]) == 1
    assert "not DuckDB's result" in capsys.readouterr().err
