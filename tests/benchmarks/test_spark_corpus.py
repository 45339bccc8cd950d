"""``tools/spark_corpus.py`` over a folder in the form of Spark's tests: what is right, refused, and wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

_TOOLS = Path(__file__).parents[2] / "tools"

# A statement, the schema and the answer, or the error, that Spark would give.
Part = tuple[str, str, str]

MADE: list[Part] = [
    ("CREATE TEMPORARY VIEW pay(who, dept, much) AS VALUES ('a', 1, 10), ('b', 1, 20), ('c', NULL, 5)", "struct<>", ""),
    ("CREATE TABLE depts (id INT, name STRING) USING parquet", "struct<>", ""),
    ("INSERT INTO depts VALUES (1, 'x'), (2, NULL)", "struct<>", ""),
    ("CREATE VIEW rich AS SELECT * FROM pay WHERE much > 5", "struct<>", ""),
]
RIGHT: list[Part] = [
    (
        "SELECT dept, SUM(much) FROM pay GROUP BY dept",
        "struct<dept:int,sum(much):bigint>",
        "1\t30\nNULL\t5",
    ),
    (
        "SELECT who, name FROM rich LEFT JOIN depts ON dept = id ORDER BY who DESC",
        "struct<who:string,name:string>",
        "b\tx\na\tx",
    ),
    ("SELECT AVG(much) / 3, 1.50 FROM pay", "struct<x:double,1.50:decimal(3,2)>", "3.8888888888888889\t1.50"),
    (
        "SELECT DATE '2020-02-03', INTERVAL 26 HOURS",
        "struct<a:date,b:interval hour>",
        "2020-02-03\t1 02:00:00.000000000",
    ),
    ("SELECT name FROM depts WHERE id = 3", "struct<name:string>", ""),
]
SPARK_FAILS: list[Part] = [
    (
        "SELECT 1 / (much - 5) FROM pay",
        "struct<>",
        'org.apache.spark.SparkArithmeticException\n{"errorClass" : "DIVIDE_BY_ZERO"}',
    ),
    ("SELECT nothing FROM pay", "struct<>", "org.apache.spark.sql.catalyst.ExtendedAnalysisException\n{}"),
]
REFUSED: list[Part] = [
    ("SELECT * FROM pay LIMIT 2", "struct<who:string,dept:int,much:int>", "a\t1\t10\nb\t1\t20"),
]
OPEN: list[Part] = [
    ("SELECT FIRST(much) FROM pay", "struct<first(much):int>", "10"),
]
WRONG: list[Part] = [
    ("SELECT COUNT(*) FROM pay", "struct<count(1):bigint>", "4"),
    ("SELECT who FROM pay ORDER BY who", "struct<who:string>", "b\na\nc"),
    ("SELECT dept FROM pay", "struct<dept:bigint>", "1\n1\nNULL"),
    ("SELECT 10 / (much - 5) FROM pay", "struct<x:double>", "1.0\n2.0\n3.0"),
]


def _write(folder: Path, name: str, parts: list[Part], settings: str = "") -> None:
    for kind, text in (
        ("inputs", f"{settings}\n" + ";\n".join(sql for sql, _, _ in parts)),
        (
            "results",
            "".join(f"-- !query\n{a}\n-- !query schema\n{b}\n-- !query output\n{c}\n\n\n" for a, b, c in parts),
        ),
    ):
        (folder / kind).mkdir(exist_ok=True)
        suffix = ".sql" if kind == "inputs" else ".sql.out"
        (folder / kind / f"{name}{suffix}").write_text(text)


Run = Callable[..., tuple[int, str, dict[str, int]]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Gives the exit status, all that is printed, and how many queries came to which end."""
    monkeypatch.syspath_prepend(_TOOLS)
    tool = import_module("spark_corpus")

    def once(folder: Path, *options: str) -> tuple[int, str, dict[str, int]]:
        monkeypatch.setattr(sys, "argv", ["spark_corpus.py", str(folder), *options])
        status = tool.main()
        told = capsys.readouterr()
        heads = [line.rpartition(": ") for line in told.out.splitlines() if line[:1].isalpha()]
        return status, told.out + told.err, {kind: int(times) for kind, _, times in heads if times.isdigit()}

    return once


def test_what_is_right_refused_and_open(tmp_path: Path, run: Run) -> None:
    _write(tmp_path, "fine", [*MADE, *RIGHT, *SPARK_FAILS, *REFUSED, *OPEN])
    _write(tmp_path, "fine without queries", [])
    _write(tmp_path, "wrong", [*MADE, *WRONG])
    status, printed, found = run(tmp_path, "--files", "fine*")
    assert status == 0, printed
    expected = {"right": len(RIGHT), "right error": 2, "refused": 1, "not comparable": 1, "wrong": 0, "crashed": 0}
    assert {kind: found[kind] for kind in expected} == expected, printed
    assert "LIMIT without ORDER BY" in printed
    assert f"{len(RIGHT) - 1}  built up by commits" in printed


def test_what_is_wrong_is_found(tmp_path: Path, run: Run) -> None:
    _write(tmp_path, "bad", [*MADE, *RIGHT, *WRONG])
    _write(tmp_path, "other", [*MADE, *WRONG[:1]], "--SET spark.sql.ansi.enabled = false")
    status, printed, found = run(tmp_path, "--show", "wrong")
    assert status == 1
    assert (found["wrong"], found["right"], found["not comparable"]) == (len(WRONG), len(RIGHT), 1), printed
    assert all(sql in printed for sql, _, _ in WRONG)
