"""The benchmark of queries over one table runs, and refuses to show a speed for a wrong answer."""

from __future__ import annotations

import pytest

from benchmarks import one_table


def test_every_figure_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert one_table.main(["--rows", "400", "--sizes", "50"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in one_table.QUERIES)


def test_wrong_answers_have_no_speed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(one_table, "QUERIES", {"days": "SELECT DISTINCT l_shipdate FROM lineitem"})
    monkeypatch.setattr(one_table, "_rows", id)
    assert one_table.main(["--rows", "400", "--sizes", "50"]) == 1
    assert "days" in capsys.readouterr().err
