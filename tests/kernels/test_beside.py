"""The process that compiles beside this one: where there is none, and that it never outlives its use."""

from __future__ import annotations

import sys

import pytest

from livejoin.kernels.compiling import beside

HANGS = "import time; time.sleep(600)"


def test_it_runs_what_this_process_could_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_cores", lambda: 2)
    process = beside.start("import livejoin.kernels.warm")
    assert process is not None
    beside.end(process)
    assert process.returncode == 0


def test_there_is_none_without_a_core_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_cores", lambda: 1)
    assert beside.start("") is None


@pytest.mark.parametrize("executable", ["", "/usr/sbin/httpd", "/nowhere/python"])
def test_there_is_none_where_python_is_part_of_another_program(
    executable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "_cores", lambda: 2)
    monkeypatch.setattr(sys, "executable", executable)
    assert beside.start("") is None


def test_one_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_cores", lambda: 2)
    monkeypatch.setattr(beside, "_LONGEST", 0.1)
    process = beside.start(HANGS)
    assert process is not None
    beside.end(process)
    assert process.returncode not in (0, None)
    beside.end(None)


def test_the_end_of_this_process_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_cores", lambda: 2)
    monkeypatch.setattr(beside, "is_ending", lambda: True)
    process = beside.start(HANGS)
    assert process is not None
    beside.end(process)
    assert process.returncode not in (0, None)
