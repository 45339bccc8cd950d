"""The process that compiles beside this one: what it is, and where there is none."""

from __future__ import annotations

import sys

import pytest

from livejoin.kernels.compiling import beside


def test_it_runs_what_this_process_could_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_cores", lambda: 2)
    process = beside.start("import sys, livejoin.kernels.warm; sys.exit(len(sys.stdin.readline()))")
    assert process is not None and process.stdin is not None
    process.stdin.write(b"ab\n")
    process.stdin.close()
    assert process.wait() == 3


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
