"""``livejoin explain``: what it writes where, what it refuses, and its exit codes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from livejoin.cli.main import BOUNDS, FAILED, FORMATS, OK, WRONG_INPUT, main
from livejoin.plan import UpdateBound

SCHEMA = (
    "-- two tables\nCREATE TABLE G (src BIGINT, dst BIGINT);\nCREATE TABLE P (id BIGINT PRIMARY KEY, name STRING);\n"
)
HOP3 = "SELECT A.src, B.src AS b, C.src AS c, C.dst FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src"
TRIANGLE = (
    "SELECT A.src, B.src AS b, C.src AS c FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src"
)
STAR = "SELECT A.src, B.dst FROM G A JOIN G B ON A.src = B.src"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "schema.sql").write_text(SCHEMA)
    for name, sql in (("hop3", HOP3), ("triangle", TRIANGLE), ("star", STAR)):
        (tmp_path / f"{name}.sql").write_text(sql + ";\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explained(query: str, *arguments: str) -> int:
    return main(["explain", query, "--schema", "schema.sql", *arguments])


def test_cells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where rows go in a cluster, chosen from a log with a value that a third of the rows have, and without a log."""
    rows = [(0 if n % 3 else n, n * 7 % 900) for n in range(3000)]
    (folder / "log.csv").write_text("src,dst,_seq\n" + "".join(f"{a},{b},{n}\n" for n, (a, b) in enumerate(rows)))
    (folder / "busy.sql").write_text("SELECT B.dst, COUNT(*) AS n FROM G A JOIN G B ON A.src = B.src GROUP BY B.dst\n")
    assert explained("busy.sql", "--cells", "4", "--log", "log.csv") == OK
    text = " ".join(capsys.readouterr().out.split())
    assert "cells 4 cells, 2 stages" in text
    assert "stage 1: G as A, B by HyperCube; shows #" in text
    assert "shows the query" in text and "load expected of the busiest cell: " in text
    assert "no dispatch gets below" in text and "rows with src = 0 join one with another" in text
    assert explained("star.sql", "--cells", "4", "--format", "json") == OK
    spread = json.loads(capsys.readouterr().out)["spread"]
    assert (spread["cells"], len(spread["stages"])) == (4, 1)
    (stage,) = spread["stages"]
    assert stage["brought"] == [{"relation": "G", "way": "as A, B by HyperCube"}]
    assert stage["dispatches"][0]["replication"] == 1.0 and stage["shown"] == ["the query"]
    assert [grid["values"] for grid in stage["dispatches"][0]["grids"]] == ["all values"]
    assert explained("star.sql", "--cells", "0") == WRONG_INPUT
    assert "0 cells; allowed are 1 to" in capsys.readouterr().err


def test_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explained("hop3.sql") == OK
    said = capsys.readouterr()
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[0].startswith(
        "verdict     A change of G meets all rows of G whose src is its dst (how many is unknown), for each"
    )
    assert lines[1:].index("            One change of") < lines.index(HOP3)
    for word in (
        "class",
        "plan",
        "update",
        "results",
        "space",
        "why",
        "join tree",
        "state",
        "what would make it better",
    ):
        assert any(line.startswith(word) for line in lines), word
    assert "plan        join tree of height 2" in said.out
    assert "\x1b" not in said.out


def test_a_product_with_a_condition_wants_leave(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "less.sql").write_text("SELECT A.src FROM G A, G B WHERE A.src < B.dst")
    assert explained("less.sql") == WRONG_INPUT
    said = capsys.readouterr().err
    assert "--allow-product" in said
    assert "allow_product" not in said
    assert explained("less.sql", "--allow-product") == OK
    assert "A.src < B.dst is checked on each of them" in " ".join(capsys.readouterr().out.split())


def test_nested_queries_and_views_of_the_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    view = "CREATE VIEW degree AS SELECT src, COUNT(*) AS n FROM G GROUP BY src;\n"
    (folder / "schema.sql").write_text(SCHEMA + view + "CREATE VIEW busy AS SELECT src FROM degree WHERE n > 2;\n")
    (folder / "two.sql").write_text(
        "SELECT G.dst, d.n FROM busy b JOIN degree d ON b.src = d.src JOIN G ON G.src = d.src"
    )
    (folder / "nested.sql").write_text(
        "WITH d AS (SELECT src, COUNT(*) AS n FROM G GROUP BY src)\n"
        "SELECT q.name, d.n FROM d JOIN (SELECT id, name FROM P WHERE id > 3) q ON q.id = d.src"
    )
    for query in ("two.sql", "nested.sql"):
        for form in FORMATS:
            assert explained(query, "--format", form) == OK
            said = capsys.readouterr()
            assert said.err == ""
            assert said.out
    assert explained("two.sql") == OK
    said = capsys.readouterr().out
    assert "the rows of degree are stored for the join that reads them" in said
    assert "A change goes through the blocks one after the other, from below" in said
    (folder / "log.csv").write_text("src,dst\n1,2\n")
    assert explained("two.sql", "--log", "log.csv") == OK, "the one base table at the bottom has the log"
    capsys.readouterr()
    assert explained("two.sql", "--log", "degree=log.csv") == WRONG_INPUT
    assert "the query reads no table 'degree'; it reads G" in capsys.readouterr().err


def test_every_format_to_standard_output_and_to_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in FORMATS:
        assert explained("hop3.sql", "--format", form) == OK
        shown = capsys.readouterr().out
        assert explained("hop3.sql", "--format", form, "--out", f"plan.{form}") == OK
        assert capsys.readouterr().out == ""
        assert (folder / f"plan.{form}").read_text(encoding="utf-8") == shown
    assert json.loads((folder / "plan.json").read_text())["guarantee"]["bound"] == "FIFO"
    assert ET.fromstring((folder / "plan.svg").read_text()).tag.endswith("svg")
    assert (folder / "plan.html").read_text().startswith("<!DOCTYPE html>")


def test_the_query_from_standard_input(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(STAR))
    assert explained("-") == OK
    verdict, sql = capsys.readouterr().out.split("\n\n")[:2]
    assert verdict.startswith("verdict     A change of G meets all rows of G with the same src (how many is unknown).")
    assert sql == STAR


def test_a_log_of_one_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A queue of four rows in the order of the file, then a row that outlives three others."""
    queue = [f"{i},{i},insert" for i in range(4)] + [f"{i},{i},delete" for i in range(4)]
    stay = ["9,9,insert", *(f"{i},7,{kind}" for i in range(3) for kind in ("insert", "delete")), "9,9,delete"]
    for name, rows in (("queue", queue), ("stay", stay)):
        (folder / f"{name}.csv").write_text("\n".join(["src,dst,_change_type", *rows]) + "\n")
    for log in ("queue.csv", "G=queue.csv", "g=queue.csv"):
        assert explained("hop3.sql", "--log", log, "--format", "json") == OK
        found = json.loads(capsys.readouterr().out)["log"]
        assert (found["changes"], found["lifespans"], found["pattern"]) == (8, 4, "first-in-first-out")
        assert (found["lambda_largest"], found["lambda_tree"]) == (1, 1.0)
    assert explained("hop3.sql", "--log", "stay.csv", "--format", "json") == OK
    found = json.loads(capsys.readouterr().out)["log"]
    assert (found["lambda"], found["lambda_largest"]) == (6 / 4, 3)
    assert 1 <= found["lambda_tree"] <= found["lambda"]
    assert explained("hop3.sql", "--log", "stay.csv") == OK
    assert "lambda    1.50 on average, 3 at most" in capsys.readouterr().out


def test_logs_of_several_tables_are_ordered_by_their_sequence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "both.sql").write_text("SELECT src, name FROM G JOIN P ON dst = id")
    (folder / "g.csv").write_text("src,dst,_seq,_change_type\n1,2,1,insert\n1,2,4,delete\n")
    (folder / "p.csv").write_text("id,name,_seq,_change_type\n2,x,2,insert\n2,x,3,delete\n")
    assert explained("both.sql", "--log", "G=g.csv", "--log", "P=p.csv", "--format", "json") == OK
    assert json.loads(capsys.readouterr().out)["log"]["pattern"] == "first-in-last-out"
    (folder / "p.csv").write_text("id,name\n2,x\n")
    assert explained("both.sql", "--log", "G=g.csv", "--log", "P=p.csv") == WRONG_INPUT
    assert "missing column '_seq'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        (["none.csv"], "cannot read none.csv: No such file or directory"),
        (["P=g.csv"], "--log P=g.csv: the query reads no table 'P'; it reads G"),
        (["g.csv", "G=h.csv"], "--log G=h.csv: the table has a log already, g.csv"),
        (["g.csv"], "table 'G', row 1 of the given changes: _change_type is 'upsert'"),
    ],
)
def test_logs_that_do_not_fit(folder: Path, capsys: pytest.CaptureFixture[str], logs: list[str], message: str) -> None:
    (folder / "g.csv").write_text("src,dst,_change_type\n1,2,insert\n1,2,upsert\n")
    assert explained("hop3.sql", *(word for log in logs for word in ("--log", log))) == WRONG_INPUT
    said = capsys.readouterr()
    assert message in said.err.replace("\n", " ")
    assert said.out == ""
    assert "Traceback" not in said.err


def test_a_log_without_a_table_where_there_are_several(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "both.sql").write_text("SELECT src, name FROM G JOIN P ON dst = id")
    assert explained("both.sql", "--log", "g.csv") == WRONG_INPUT
    assert "the query reads G, P; say of which table these are the changes: --log TABLE=FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("query", "bound", "code"),
    [
        ("star.sql", "O1", OK),
        ("star.sql", "lambda", OK),
        ("hop3.sql", "O1", FAILED),
        ("hop3.sql", "FIFO", OK),
        ("triangle.sql", "lambda", FAILED),
        ("triangle.sql", "linear", OK),
    ],
)
def test_strict(folder: Path, capsys: pytest.CaptureFixture[str], query: str, bound: str, code: int) -> None:
    assert explained(query, "--strict", bound) == code
    said = capsys.readouterr()
    assert "what would make it better" in said.out
    assert said.err.startswith("error: ") == (code == FAILED)
    assert "Traceback" not in said.err


def test_strict_gives_the_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explained("hop3.sql", "--strict", "O1")
    said = capsys.readouterr().err
    assert "a change is asked to cost O(1) at most, and the plan promises O(1) for FIFO" in said
    assert "the query is not q-hierarchical" in said


def test_a_cyclic_query_is_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explained("triangle.sql", "--format", "json") == OK
    found = json.loads(capsys.readouterr().out)
    assert found["class"]["name"] == "cyclic"
    assert found["class"]["width"] == "3/2"
    assert (found["maintained"], bool(found["refusal"]), found["plan"]["kind"]) == (True, False, "bags")
    (witness,) = (p for p in found["class"]["properties"] if p["name"] == "acyclic")
    assert sorted(witness["atoms"]) == ["A", "B", "C"]
    assert explained("triangle.sql") == OK
    assert "refused" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "text", "message", "note"),
    [
        ("query.sql", "SELECT nothing FROM G", "nothing", "in the query query.sql"),
        ("query.sql", "SELECT src FROM G LIMIT 3", "LIMIT without ORDER BY is not supported", "in the query query.sql"),
        ("query.sql", "", "empty", "in the query query.sql"),
        ("schema.sql", "CREATE TABLE G (src BLOB)", "BLOB", "in the schema schema.sql"),
        ("schema.sql", "", "declares no table", "in the schema schema.sql"),
        (
            "schema.sql",
            "CREATE TABLE G (src INT); CREATE TABLE g (a INT)",
            "exists already",
            "in the schema schema.sql",
        ),
    ],
)
def test_texts_that_are_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, message: str, note: str
) -> None:
    (folder / "query.sql").write_text(HOP3)
    (folder / file).write_text(text)
    assert explained("query.sql") == WRONG_INPUT
    said = capsys.readouterr()
    assert message in said.err
    assert note in said.err
    assert said.out == ""
    assert "Traceback" not in said.err


def test_files_that_cannot_be_read_or_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "latin.sql").write_bytes(b"SELECT '\xe4' FROM G")
    for arguments, message in (
        (["none.sql"], "cannot read the query none.sql: No such file or directory"),
        (["latin.sql"], "the query latin.sql is not UTF-8 text"),
        (["hop3.sql", "--out", "none/plan.txt"], "cannot write none/plan.txt: No such file or directory"),
    ):
        assert explained(*arguments) == WRONG_INPUT
        assert message in capsys.readouterr().err
    assert main(["explain", "hop3.sql", "--schema", "none.sql"]) == WRONG_INPUT
    assert capsys.readouterr().err.count("the schema none.sql") == 1


def test_the_words_of_the_command_line_are_those_of_the_library() -> None:
    assert tuple(str(bound) for bound in UpdateBound) == BOUNDS


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explain", "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for word in ("--schema", "--log", "--format", "--out", "--strict", "weaker than --strict"):
        assert word in said
    with pytest.raises(SystemExit) as ended:
        main(["explain", "q.sql", "--schema", "s.sql", "--strict", "fast"])
    assert ended.value.code == WRONG_INPUT
    with pytest.raises(SystemExit) as ended:
        main(["explain", "q.sql"])
    assert ended.value.code == WRONG_INPUT
