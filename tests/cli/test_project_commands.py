"""``livejoin init``, ``check`` and ``doctor``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import livejoin
from livejoin.cli import doctor
from livejoin.cli.check import OF_PIPELINES
from livejoin.cli.doctor import Finding
from livejoin.cli.main import main
from livejoin.pipeline.model import PipelineFile
from livejoin.server.settings import Settings

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_a_new_project_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a shop"
    assert main(["init", str(folder)]) == 0
    assert main(["check", str(folder / "server.toml")]) == 0
    assert "a server of 2 tables and 1 view" in capsys.readouterr().out
    db = livejoin.Database(coerce="json")
    db.execute((folder / "schema.sql").read_text())
    db.apply(json.loads((folder / "changes.json").read_text()))
    assert sorted((row["city"], row["orders"], str(row["total"])) for row in db.views["sales"].to_pylist()) == [
        ("Bern", 1, "20.50"),
        ("Rome", 1, "7.00"),
    ]


def test_a_new_project_on_spark_is_right_and_needs_no_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a shop"
    assert main(["init", "--spark", str(folder)]) == 0
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("starlette", "uvicorn", "httptools", "websockets", "prometheus_client"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from livejoin.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
    words = ["check", str(folder / "pipeline.toml")]
    found = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert (found.returncode, "a pipeline of 2 tables and 1 view" in found.stdout) == (0, True), found.stderr
    assert main(["init", "--spark", str(folder)]) == 2
    assert "has pipeline.toml, customers/1.json" in " ".join(capsys.readouterr().err.split())


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "schema.sql").write_text("mine")
    assert main(["init", str(tmp_path)]) == 2
    assert "has schema.sql already" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["schema.sql"]


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ('sql = "schema.sql"\nprot = 80', 2, "prot: there is no such key (did you mean 'port'?)"),
        ('sql = "schema.sql"', 2, "there is no table 'oders' (did you mean 'orders'?)"),
        ('sql = "nowhere.sql"', 2, "cannot be read"),
        ("port = 8000", 0, "a server of a database that keeps nothing"),
        ("[views.v]\nsq = 'SELECT 1'", 2, "views.v.sq: is not a key of this table (did you mean 'sql'?)"),
        ("folder = 's3://bucket/shop'", 0, "a server of s3://bucket/shop"),
        ("folder = 's3://bucket:9/shop'", 2, "folder: the URL of 's3://bucket:9/shop' has a port"),
        ("port =", 2, "not valid TOML"),
        ("[database]\nmemory_limt = '1GB'", 2, "there is no option 'memory_limt' (did you mean 'memory_limit'?)"),
        ("[database]\nmemory_limit = 'much'", 2, "memory_limit is 'much'"),
        ("[limits]\nbdoy = 1", 2, "limits.bdoy: there is no such key (did you mean 'body'?)"),
        ("[tls]\ncertificat = 'x'\nkey = 'y'", 2, "(did you mean 'certificate'?)"),
        ("origins = ['shop.example']", 2, "origins: 'shop.example' is no site that a browser names; write the scheme"),
        ("origins = ['https://Shop.example/']", 2, "write 'https://shop.example'"),
        ("[sink]\nkind = 'postgers'\n[tables.t]\nformat = 'cvs'", 2, "(did you mean 'postgres'?)"),
    ],
)
def test_a_file_is_checked(text: str, code: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "schema.sql").write_text("CREATE TABLE orders (id INT); CREATE VIEW v AS SELECT id FROM oders")
    file = tmp_path / "app.toml"
    file.write_text(text)
    assert main(["check", str(file)]) == code
    printed = capsys.readouterr()
    assert says in " ".join((printed.out + printed.err).split())


def test_pipelines_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(EXAMPLES / "hop3" / "pipeline.toml")]) == 0
    assert "a pipeline of 1 table and 1 view" in capsys.readouterr().out
    assert main(["check", "--schema"]) == 0
    assert {"tables", "views", "run"} <= json.loads(capsys.readouterr().out)["properties"].keys()
    assert main(["check"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["check", "--schema"],
        ["--help"],
        pytest.param(["explain", "--schema", "schema.sql", "query.sql"], marks=pytest.mark.torture),
        ["shell", "-c", "SELECT 1 AS one"],
    ],
    ids=" ".join,
)
def test_output_that_nobody_reads_ends_quietly(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE TABLE t (a INT)")
    (tmp_path / "query.sql").write_text("SELECT a FROM t")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "livejoin", *words],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    finally:
        os.close(writer)
    assert ended.returncode in (0, 1)  # 0: argparse ignores that its help is not read
    said = [line for line in ended.stderr.splitlines() if not re.match(r"livejoin: .*\bkernels\b", line)]  # if slow
    assert not said


def test_a_connection_that_breaks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only standard output without a reader ends quietly."""

    def broken() -> str:
        raise BrokenPipeError

    monkeypatch.setattr("livejoin.cli.check.schema", broken)
    with pytest.raises(BrokenPipeError):
        main(["check", "--schema"])


def test_a_server_needs_no_spark(tmp_path: Path) -> None:
    """Each extra alone is enough for what it is for, and what is not there is named."""
    main(["init", str(tmp_path / "shop")])
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "pandas"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import contextlib, io, json
from livejoin.cli.main import main
for given in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(["check", given])
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
    (tmp_path / "bad.toml").write_text("[tables")
    files = [tmp_path / "shop" / "server.toml", tmp_path / "nowhere.toml", tmp_path / "bad.toml"]
    given = ["--schema", *map(str, files), str(EXAMPLES / "hop3" / "pipeline.toml")]
    ran = subprocess.run([sys.executable, "-c", program, *given], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    schema, served, nowhere, bad, absent = map(json.loads, ran.stdout.splitlines())
    assert schema[0] == 0
    assert (served[0], "a server of 2 tables and 1 view" in served[1]) == (0, True), served
    for wrong, says in ((nowhere, "cannot be read"), (bad, "not valid TOML")):
        assert (wrong[0], says in wrong[2]) == (2, True), wrong
    assert absent[0] == 1
    assert "is valid TOML and a pipeline's file; its keys and its SQL were not checked: " in absent[2]
    assert "pip install 'livejoin[spark]'" in absent[2]
    assert "Traceback" not in absent[2]
    assert PipelineFile.model_fields.keys() - Settings.model_fields.keys() == OF_PIPELINES


def test_nothing_is_wrong_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = {one.what: one for one in doctor.findings()}
    wrong = [one for one in found.values() if one.verdict == "wrong"]
    assert not wrong
    assert "equal" in found["self-test"].text
    assert not list(tmp_path.iterdir())


def test_what_is_wrong_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full() -> Iterator[Finding]:
        msg = "the disk is full"
        raise OSError(msg)

    for name in ("_self_test", "_java", "_disk"):
        monkeypatch.setattr(doctor, name, full)
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    assert main(["doctor"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "the disk is full" in printed
    assert f"not installed: {', '.join(doctor._EXTRAS)} (pip" in printed
    assert "pip install 'livejoin[serve]'" in printed


def test_every_extra_for_users_is_looked_for() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    of_developers = {"bench", "tpch", "docs", "s3-tests", "dev"}
    assert doctor._EXTRAS.keys() == project["optional-dependencies"].keys() - of_developers
