"""The benchmark of expressions runs, and refuses to show a speed for a wrong answer."""

from __future__ import annotations

import pytest

from benchmarks import expressions


def test_every_figure_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert expressions.main(["--rows", "3"]) == 0
    assert "s LIKE '%17%', 3 rows" in capsys.readouterr().out


def test_wrong_answers_have_no_speed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = expressions.Measured("a + 1", expressions.EXPRESSIONS[1].scalar)
    monkeypatch.setattr(expressions, "EXPRESSIONS", (wrong,))
    assert expressions.main(["--rows", "3"]) == 1
    assert "a + 1" in capsys.readouterr().err
