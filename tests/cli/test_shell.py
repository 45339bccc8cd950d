"""``livejoin shell``: scripts that are piped in, what is typed, files that are imported."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from rich.console import Console

import livejoin
from livejoin.cli.main import main
from livejoin.cli.shell import Shell
from memory_objects import MemoryObjects

SCRIPT = """
CREATE TABLE t (id BIGINT PRIMARY KEY,  -- a comment; with a semicolon
                a INT);
CREATE VIEW v AS SELECT SUM(a) AS total FROM t;
.watch v
INSERT INTO t VALUES (1, 2), (2, 40);
BEGIN; INSERT INTO t VALUES (3, 100);
UPDATE t SET a = 0 WHERE id = 99; COMMIT;
"""


def shell(db: livejoin.Database, text: str) -> tuple[bool, str, str]:
    """What a text gives: whether all went well, what is shown, and the errors."""
    out, errors = io.StringIO(), io.StringIO()
    fine = Shell(db, Console(file=out, width=100), Console(file=errors, width=200)).run(text)
    return fine, out.getvalue(), errors.getvalue()


def test_a_script_is_piped_in_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SCRIPT.replace("UPDATE t SET a = 0 WHERE id = 99;", "INSERT INTO t VALUES (4, 1000);")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["shell", "--create", str(tmp_path / "a shop")]) == 0
    shown = capsys.readouterr().out
    assert "2 changes, version 1; v: 2 delta rows" in shown
    assert "2 changes, version 2; v: 2 delta rows" in shown
    assert "update_postimage" in shown
    assert main(["shell", str(tmp_path / "a shop"), "-c", "SELECT total FROM v"]) == 0
    assert "1142" in capsys.readouterr().out


def test_the_first_error_ends_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shell", "-c", f"{SCRIPT} SELECT 17 AS never;"]) == 1
    given = capsys.readouterr()
    assert "reads table 't'" in given.err
    assert "17" not in given.out


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_files_are_imported(tmp_path: Path, kind: str) -> None:
    rows = pa.table({"id": [1, 2], "name": ["Zoë", None]})
    file = tmp_path / f"some people.{kind}"
    if kind == "parquet":
        parquet.write_table(rows, file)
    else:
        file.write_text(
            "id,name\n1,Zoë\n2,\n" if kind == "csv" else '{"id": 1, "name": "Zoë"}\n{"id": 2, "name": null}\n'
        )
    db = livejoin.Database()
    fine, shown, _ = shell(
        db, f".import '{file}' people\nSELECT name FROM people WHERE id = 1;\n.tables\n.schema people"
    )
    assert fine
    assert "2 rows into people" in shown
    assert "Zoë" in shown
    assert "people: 2 rows (id, name)" in shown
    assert "id BIGINT" in shown


def test_a_view_over_freed_rows_says_where_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livejoin.database.transactions.sealing.LEAST_ROWS", 1)
    db = livejoin.Database()
    db.execute("""
        CREATE TABLE e (k INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE)
        TBLPROPERTIES ('livejoin.keep' = 'open')
    """)
    query = "SELECT window.start AS s, COUNT(*) AS n FROM e GROUP BY window(ts, '1 hour') EMIT FINAL"
    db.create_view("first", query)
    for hour in range(10):
        db.execute(f"INSERT INTO e VALUES (1, TIMESTAMP '2026-01-01 {hour:02}:30:00')")
    fine, shown, _ = shell(
        db, f"CREATE VIEW later AS {query.replace('n FROM', 'm FROM')};\nINSERT INTO e VALUES (1, NULL);"
    )
    assert fine
    assert shown.count("later: The view begins with the windows from 2026-01-01 0") == 1
    assert db.views["first"].begins is None


def test_rows_that_are_imported_twice(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n")
    db = livejoin.Database()
    fine, _, errors = shell(
        db, f"CREATE TABLE t (a INT PRIMARY KEY, b INT);\nINSERT INTO t VALUES (1, 1);\n.import {file} t"
    )
    assert not fine
    assert "second row with the primary key" in errors
    assert shell(db, f".import {file} t ignore")[0]
    assert db.tables["t"].to_pylist() == [{"a": 1, "b": 1}]
    assert shell(db, f".import {file} t update")[0]
    assert db.tables["t"].to_pylist() == [{"a": 1, "b": 2}]


def test_a_schema_says_what_new_rows_have() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (a INT DEFAULT 3, b INT GENERATED ALWAYS AS (a + 1), CONSTRAINT pos CHECK (a > 0))")
    fine, shown, _ = shell(db, ".schema t")
    assert fine
    assert shown.splitlines()[-3:] == [
        "a INT DEFAULT 3",
        "b INT GENERATED ALWAYS AS (a + 1)",
        "CONSTRAINT pos CHECK (a > 0)",
    ]


def test_what_the_shell_says() -> None:
    db = livejoin.Database()
    fine, shown, _ = shell(
        db,
        f"{SCRIPT.partition('BEGIN')[0]}.views\n.schema v\n.unwatch v\nEXPLAIN SELECT a FROM t;\nEXPLAIN ANALYZE v;\n"
        ".help",
    )
    assert fine
    assert "v [watched]: SELECT SUM(a)" in shown
    assert "total int64" in shown
    assert "verdict" in shown
    assert "predicted against actual" in shown
    assert ".import FILE TABLE" in shown
    for text, error in {
        ".nope": "no command .nope",
        ".watch": ".watch takes VIEW, and 0 were given",
        ".watch nope": "nope",
        ".unwatch v": "is not watched",
        ".import x.txt t": ".csv",
        ".import nope.csv t": "nope.csv",
        ".import nope.csv t replace": "'replace' is no word for rows that are there already; write update or ignore",
        ".import nope.csv": ".import takes FILE TABLE [update], and 1 were given",
        ".read nope.sql": "nope.sql",
        "SELEC 1;": "SELEC",
    }.items():
        fine, _, errors = shell(db, text)
        assert not fine
        assert error in errors


def test_a_folder_that_is_open_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with livejoin.open(tmp_path / "db"):
        assert main(["shell", str(tmp_path / "db"), "-c", "SELECT 1"]) == 2
    assert "is open" in capsys.readouterr().err


def test_a_mistyped_folder_is_no_new_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    livejoin.open(tmp_path / "shop").close()
    (tmp_path / "notes").mkdir()
    for mistyped in ("shpo", "notes"):
        assert main(["shell", str(tmp_path / mistyped), "-c", "SELECT 1 AS n"]) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert "there is no database" in told
        assert "'shop'" in told
        assert "--create" in told
    assert sorted(one.name for one in tmp_path.iterdir()) == ["notes", "shop"]
    typed = io.StringIO()
    typed.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", typed)
    answers = ["no", "yes", ".quit"]
    monkeypatch.setattr("builtins.input", lambda _: answers.pop(0))
    assert main(["shell", str(tmp_path / "new")]) == 2
    assert not (tmp_path / "new").exists()
    assert main(["shell", str(tmp_path / "new")]) == 0
    assert (tmp_path / "new" / "log").is_dir()


def test_a_database_in_a_store(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    objects = MemoryObjects()
    for module in ("livejoin.cli.shell", "livejoin.database.engine"):
        monkeypatch.setattr(f"{module}.open_objects", lambda _: objects)
    assert main(["shell", MemoryObjects.name, "-c", "SELECT 1"]) == 2
    assert f"livejoin shell --create {MemoryObjects.name} makes one" in " ".join(capsys.readouterr().err.split())
    given = "CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a + 1 AS b FROM t; INSERT INTO t VALUES (7)"
    assert main(["shell", "--create", MemoryObjects.name, "-c", given]) == 0
    capsys.readouterr()
    assert main(["shell", MemoryObjects.name, "-c", "SELECT * FROM v"]) == 0
    assert "8" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["shell", "serve"])
def test_a_url_of_no_store_is_no_argument(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "http://bucket/shop"])
    told = " ".join(capsys.readouterr().err.split())
    assert "'http://bucket/shop' is of no store that livejoin knows" in told


def test_words_are_completed() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE Orders (ordered_at TIMESTAMP)")
    found = Shell(db, Console(), Console())
    assert found._complete("ord") == ["Orders", "ordered_at", "ORDER BY"]
    assert found._complete(".w") == [".watch"]


def test_a_watched_view_with_other_columns_is_watched_on() -> None:
    db = livejoin.Database()
    same = "CREATE OR REPLACE VIEW v AS SELECT SUM(a * 2) AS total FROM t;"
    other = "CREATE OR REPLACE VIEW v AS SELECT id, a AS other FROM t;"
    fine, shown, errors = shell(
        db, f"{SCRIPT.partition('BEGIN')[0]}{same}\n{other}\nINSERT INTO t VALUES (77, 7070);\n.views"
    )
    assert fine, errors
    assert shown.count("another view now") == 1
    assert "update_postimage" in shown.partition("another view now")[0]
    assert "7070" in shown.partition("another view now")[2]
    assert shown.partition("another view now")[2].count("other") > 2
    assert "v [watched]: SELECT id" in shown
    _, shown, _ = shell(db, ".watch v\nDROP VIEW v; CREATE VIEW v AS SELECT a FROM t;\nDELETE FROM t;\n.views")
    assert shown.count("v is gone, and watched no more") == 1
    assert "delete" not in shown
    assert "v: SELECT a FROM t" in shown


def test_an_empty_field_of_a_csv_is_null_and_texts_stay_texts(tmp_path: Path) -> None:
    file = tmp_path / "some people.csv"
    file.write_text('id,name,born\n1,,\n2,"",2026-01-02\n3,007,\n')
    db = livejoin.Database()
    db.execute("CREATE TABLE people (id BIGINT PRIMARY KEY, name VARCHAR, born DATE)")
    assert shell(db, f".import '{file}' people")[0]
    found = db.sql("SELECT name, born FROM people ORDER BY id").to_pylist()
    assert [row["name"] for row in found] == [None, "", "007"]
    assert [row["born"] is None for row in found] == [True, False, True]
