"""The benchmark of joins along keys runs, and refuses wrong answers."""

from __future__ import annotations

import pytest

from benchmarks import foreign_keys


def test_it_compares_what_maintains_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert foreign_keys.main(["--scale", "0.0005", "--size", "100"]) == 0
    printed = capsys.readouterr().out
    assert all(f"{name}, {a}" in printed for name, (_, algorithms) in foreign_keys.QUERIES.items() for a in algorithms)


def test_a_wrong_answer_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_keys, "_summary", id)
    assert foreign_keys.main(["--scale", "0.0005", "--size", "100"]) == 1
