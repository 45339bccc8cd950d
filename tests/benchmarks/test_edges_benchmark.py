"""The benchmark of edges runs, and refuses wrong answers."""

from __future__ import annotations

import pytest

from benchmarks import edges


def test_it_compares_the_kinds_of_edges(capsys: pytest.CaptureFixture[str]) -> None:
    assert edges.main(["--rows", "400", "--size", "50"]) == 0
    printed = capsys.readouterr().out
    assert all(f"{kind}, no deltas" in printed for kind in edges.EDGES)
    assert "bytes a base row" in printed


def test_a_wrong_answer_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edges, "_rows", id)
    assert edges.main(["--rows", "400", "--size", "50"]) == 1
