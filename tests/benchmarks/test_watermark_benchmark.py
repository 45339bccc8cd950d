"""The benchmark of a long stream under a watermark runs, and a wrong answer ends it with 1."""

from __future__ import annotations

import re

import pytest

from benchmarks import watermark


def test_open_windows_keep_fewer_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert watermark.main(["--rows", "200000", "--commit", "5000", "--keep", "all", "open"]) == 0
    printed = capsys.readouterr().out
    found = {keep: int(rows.replace(",", "")) for keep, rows in re.findall(r"keep = (\w+) .* ([\d,]+) in the", printed)}
    assert found["all"] > 190_000
    assert 0 < found["open"] < 100_000
    assert printed.count("processor time") == 2


def test_a_wrong_answer_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(watermark, "right", lambda *_: False)
    assert watermark.main(["--rows", "2000", "--commit", "1000"]) == 1
    assert "not DuckDB's result" in capsys.readouterr().err
