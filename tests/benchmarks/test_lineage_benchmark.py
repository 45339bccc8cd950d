"""The benchmark of questions about rows holds DuckDB's answers against livejoin's; a wrong one has no speed."""

from __future__ import annotations

import pytest

from benchmarks import lineage
from livejoin import View


def test_every_answer_is_that_of_duckdb(capsys: pytest.CaptureFixture[str]) -> None:
    assert lineage.main(["--rows", "2000", "--times", "1"]) == 0
    assert "rows are DuckDB's" in capsys.readouterr().out


def test_a_wrong_answer_has_no_speed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = View.why
    monkeypatch.setattr(View, "why", lambda self, row: whole(self, row, limit=1))
    assert lineage.main(["--rows", "2000", "--times", "1"]) == 1
    assert "wrong answer" in capsys.readouterr().err
