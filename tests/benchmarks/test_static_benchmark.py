"""The benchmark of static tables runs, finds constant work where the theory has it, and refuses wrong answers."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.static import changes, flipping, measured, preparing
from benchmarks.static.cases import CASES, Case

_FEW = 3  # rows that a change visits where its cost is constant


def test_it_measures_what_static_dimensions_save(tmp_path: Path) -> None:
    assert main(["static", "--small", "--only", "state", "--json", str(tmp_path / "out.json")]) == 0
    states = [one for one in json.loads((tmp_path / "out.json").read_text())["figures"] if "state" in one["name"]]
    assert len(states) == 7 and all(one["value"] < one["floor"] for one in states)


def test_it_measures_changes_preparation_and_refreshes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["static", "--small", "--only", "refresh", "--json", str(tmp_path / "out.json")]) == 0
    assert len(json.loads((tmp_path / "out.json").read_text())["figures"]) == 3
    assert "three rows of a static table" in capsys.readouterr().out


@pytest.mark.torture
def test_it_measures_flips(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """States that come again are looked up; the check is beside each figure."""
    assert main(["static", "--small", "--only", "transitions", "--json", str(tmp_path / "out.json")]) == 0
    figures = json.loads((tmp_path / "out.json").read_text())["figures"]
    assert len(figures) == 24
    assert "any of 256 states" in capsys.readouterr().out
    (one,) = [each for each in flipping.measure((64,), 30) if each.algorithm == "transitions"][:1]
    assert (one.states, one.transitions) == (4, 4)
    assert 0 < one.made < 0.1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_change_visits_as_many_rows_whatever_is_there(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the class says so; else, and where all tables are dynamic, some change visits more and more.

    In one round, as further ones are for the clock: they visit the same rows.
    """
    monkeypatch.setattr(changes, "ROUNDS", 1)
    monkeypatch.setattr(changes, "_LEAST", 2)
    most: dict[str, list[float]] = {}
    for cost in changes.measure(case, (64, 512), 512):
        most.setdefault(cost.way, []).append(cost.visits)
    if case.of_class in ("C_lin", "C_poly"):
        assert max(most["static"]) <= _FEW
    if case.static:
        assert max(*most["static"], *most["all dynamic"]) > 10 * _FEW


@pytest.mark.parametrize("worst", preparing.WORST, ids=lambda worst: worst.case.name)
def test_bags_have_as_many_rows_as_the_width_says(worst: preparing.Worst) -> None:
    made = list(preparing.prepare(worst, (108, 432)))
    if worst.width == 1:
        assert [one.rows for one in made] == [0, 0]
        return
    found = preparing.slope([one.tables for one in made], [one.rows for one in made])
    assert found == pytest.approx(float(worst.width), abs=0.01)
    assert all(one.expected is not None and 0.5 < one.expected / one.rows < 2 for one in made)


def test_the_width_is_the_theorys() -> None:
    assert [worst.width for worst in preparing.WORST] == [1, 2, 2, Fraction(3, 2)]


def test_a_wrong_answer_stops_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    right = measured.verify
    monkeypatch.setattr(measured, "verify", lambda what, found, expected: right(what, found, expected + 1))
    assert main(["static", "--small", "--only", "refresh"]) == 1
    assert "wrong answer" in capsys.readouterr().err
