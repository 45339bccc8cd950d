"""The benchmark of rows that compare with an average runs, and refuses to show a speed for a wrong answer."""

from __future__ import annotations

import pytest

from benchmarks import thresholds


def test_every_figure_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert thresholds.main(["--sizes", "50", "--changes", "4"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("us a change") == 4


def test_wrong_answers_have_no_speed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(thresholds, "right", lambda *_: False)
    assert thresholds.main(["--sizes", "20", "--changes", "2"]) == 1
    assert "not DuckDB's result" in capsys.readouterr().err
