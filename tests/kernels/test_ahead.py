"""The process that compiles kernels ahead of use: in which order, and that it does not outlive its use."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from livejoin.dataflow import kernels_ahead
from livejoin.kernels import ahead
from livejoin.kernels.compiling.signatures import declared, described
from livejoin.kernels.compiling.turns import take_now
from livejoin.plan import operators

NAMES = ("bag.maintain.maintain", "crown.maintain.maintain", "dyn.maintain.scan", "evaluate.machine.run", "groups.x.y")


class Heard:
    """Standard input that says some lines, and then ends or stays open."""

    def __init__(self, lines: list[str], ends: bool) -> None:
        self.lines, self.ends = lines, ends

    def __iter__(self) -> Any:
        yield from self.lines
        while not self.ends:
            time.sleep(0.01)


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that are compiled, in their order; they are known by `NAMES`."""
    found: list[str] = []

    def known() -> Any:
        for name in NAMES:
            module, _, function = name.rpartition(".")
            about = SimpleNamespace(__module__=f"livejoin.kernels.{module}", __qualname__=function)
            yield SimpleNamespace(py_func=about, compile=lambda _, name=name: found.append(name)), ()

    monkeypatch.setattr(ahead, "declared", known)
    monkeypatch.setattr(ahead, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr("os.nice", lambda _: 0)
    return found


def test_what_most_views_take_comes_first(compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Heard([], ends=False))
    assert not ahead.is_complete()
    ahead.run(str(tmp_path))
    assert compiled == [NAMES[1], NAMES[3], NAMES[4], NAMES[0], NAMES[2]]
    assert ahead.is_complete()


def test_what_a_view_was_planned_with_comes_before_it(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Heard(["dyn\n", "bag.maintain\n"], ends=False))
    known = list(ahead.declared())
    monkeypatch.setattr(ahead, "declared", lambda: (time.sleep(0.2), known)[1])  # so that it has heard
    ahead.run(str(tmp_path))
    assert compiled[:2] == ["dyn.maintain.scan", "bag.maintain.maintain"]
    assert len(compiled) == len(NAMES)


def test_it_ends_with_whoever_started_it(compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    known = list(ahead.declared())
    monkeypatch.setattr(ahead, "declared", lambda: (time.sleep(0.2), known)[1])
    ahead.run(str(tmp_path))
    assert compiled == [] and not ahead.is_complete()


def test_one_process_a_folder(compiled: list[str], tmp_path: Path) -> None:
    lock = take_now(tmp_path / "ahead.lock")
    ahead.run(str(tmp_path))
    ahead.run(str(tmp_path / "another"))
    assert compiled == [] and lock


def test_the_process_hears_what_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    echo = [sys.executable, "-c", "import sys; print(sys.stdin.readline(), end='')"]
    process = subprocess.Popen(echo, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    monkeypatch.setattr(ahead, "_process", process)
    ahead.want(["groups"])
    assert process.communicate()[0] == b"groups\n"
    ahead.want(["groups"])  # to one that has ended
    monkeypatch.setattr(ahead, "_process", None)
    ahead.want(["groups"])


def test_operators_name_kernels_that_there_are() -> None:
    lines = [described(kernel.py_func, signature) for kernel, signature in declared()]
    of_operators = [name for names in kernels_ahead._OF_OPERATORS.values() for name in names]
    of_families = [name for names in kernels_ahead._CALLED_ELSE.values() for name in names]
    for name in (*of_operators, *of_families, *ahead._FIRST, "crown", "chain", "dyn", "foreign_keys", "transitions"):
        assert any(line.startswith(name) for line in lines), name
    without = {"NumbersOperator", "RepeatedOperator", "StoredOperator", "UnionOperator"}
    bases_and_none = {"AnyJoin", "InequalityOperator", "JoinOperator", "Operator", *without}
    there = {name for name in operators.__all__ if name.endswith("Operator")}
    assert there - {one.__name__ for one in kernels_ahead._OF_OPERATORS} <= bases_and_none
