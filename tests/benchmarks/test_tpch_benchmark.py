"""``python -m benchmarks tpch`` over small tables: it compares all answers, and finds a wrong one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.__main__ import main
from benchmarks.figures import WrongAnswerError
from benchmarks.tpch import measure
from benchmarks.tpch.data import load, queries, used
from benchmarks.tpch.streams import KINDS, Stream, stream
from tpch_rows import Tables


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, tables = tmp_path_factory.mktemp("tpch"), Tables(random.Random(3), nullable=False)
    for _ in range(6):
        tables.step()
    for table in tables.catalog:
        rows = list(tables.rows[table.name].values())
        columns = [pa.array([row[i] for row in rows], c.type.arrow) for i, c in enumerate(table.columns)]
        pq.write_table(pa.table(columns, schema=table.arrow), folder / f"{table.name}.parquet")
    return folder


def test_all_streams(folder: Path, tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    options = ["--streams", ",".join(KINDS), "--commits", "40", "--queries", "6,13", "--lambdas", "3"]
    assert main(["tpch", "--data", str(folder), *options, "--runs", "1", "--json", str(written)]) == 0
    found = json.loads(written.read_text())["figures"]
    assert [one["query"] for one in found] == [name for kind in KINDS for name in ("q06", "q13")]
    assert all(one["checks"] >= 1 for one in found)


def test_figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["tpch", "--data", str(folder), "--figures", "1", "--lambdas", "3", "--commits", "40", "--runs", "1"]) == 0
    )
    assert capsys.readouterr().out.count("│ lambda = 3 │") == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_comes_before_it_goes_and_is_there_once(kind: str, folder: Path) -> None:
    tables = load(1, folder)
    given = stream(kind, tables, times=4)
    places = {name: np.zeros(rows.num_rows, np.int64) for name, rows in tables.items()}
    for table, row, came in zip(given.table, given.row, given.came, strict=True):
        counts = places[given.changing[table]]
        counts[row] += 1 if came else -1
        assert 0 <= counts[row] <= 1
    for name in given.changing:
        assert given.contents(given.table.shape[0])[name].num_rows == places[name].sum()
    ends = given.ends or (0, given.table.shape[0])
    assert sum(log.num_rows for logs in given.cut() for log in logs.values()) == ends[-1] - ends[0] == given.changes


def test_a_wrong_answer_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = queries()["q01"]
    tables = used(load(1, folder), [text])
    nothing = {name: rows.slice(0, 0) for name, rows in tables.items()}
    monkeypatch.setattr(Stream, "contents", lambda *_: nothing)
    with pytest.raises(WrongAnswerError, match=r"q01 over insert after .* a wrong answer has no speed"):
        measure.measure("q01", {"q01": text}, stream("insert", tables), 1, 10)


@pytest.mark.parametrize("options", [["--queries", "23"], ["--streams", "lifo"], ["--commits", "0"]])
def test_what_makes_no_sense(options: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tpch", "--data", str(folder), *options]) == 2
    assert options[1] in capsys.readouterr().err


def test_missing_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    assert main(["tpch", "--data", str(tmp_path)]) == 2
    assert "tpchgen-cli is not installed" in " ".join(capsys.readouterr().err.split())
