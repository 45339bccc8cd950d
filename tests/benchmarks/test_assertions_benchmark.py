"""The benchmark of assertions holds DuckDB's verdicts against livejoin's, and shows no speed for a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import assertions
from benchmarks.tpch.data import MissingDataError, load


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Arguments for a thousandth of TPC-H."""
    folder: Path = tmp_path_factory.mktemp("tpch")
    try:
        load(0.001, folder)
    except MissingDataError as error:
        pytest.skip(str(error))
    return ["--scale", "0.001", "--data", str(folder), "--orders", "4", "--commits", "4"]


def test_every_verdict_is_that_of_duckdb(few: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert assertions.main(few) == 0
    assert "with all 20 of them" in capsys.readouterr().out


def test_a_wrong_verdict_has_no_speed(
    few: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = assertions.Asserted("NOT EXISTS (SELECT * FROM region WHERE r_name = '')", "orders", "o_custkey = -1")
    monkeypatch.setattr(assertions, "ASSERTED", {"wrong": wrong})
    assert assertions.main(few) == 1
    assert "wrong behind o_custkey = -1: not DuckDB's verdict" in capsys.readouterr().err
