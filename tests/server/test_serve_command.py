"""``livejoin serve`` as it is typed: it starts, stays, is stopped and killed, and begins again where it was."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import adbc_driver_flightsql.dbapi as adbc
import httpx
import pytest

import livejoin
from followed import Followed
from livejoin.cli.main import main

SQL = """
    CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT);
    CREATE TABLE u (k BIGINT);
    CREATE VIEW totals AS SELECT k % 3 AS k, SUM(v) AS s FROM t GROUP BY k % 3
"""


@contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "livejoin", "serve", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    try:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "serving at" in line:
                yield process, line.split("serving at ")[1].split(",")[0]
                return
        raise AssertionError(said)
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def test_it_stays(tmp_path: Path) -> None:
    folder, sql = tmp_path / "a folder", tmp_path / "schema.sql"
    sql.write_text(SQL)
    arguments = (str(folder), "--port", "0", "--sql", str(sql))
    rows = [{"k": k, "v": k} for k in range(10)]
    number = {"livejoin-client": "a", "livejoin-number": "1"}
    with served(*arguments) as (process, url):
        assert httpx.post(f"{url}/v1/tables/t", json=rows, headers=number).json()["version"] == 1
        one = Followed(url, "totals")
        one.follow(messages=1)
        httpx.post(f"{url}/v1/tables/u", json=[{"k": 1}])  # a version at which the view did not change
        process.kill()
    with served(*arguments) as (process, url):
        again = httpx.post(f"{url}/v1/tables/t", json=rows, headers=number).json()
        assert (again["version"], again["repeated"]) == (1, True)
        one._url = one._url.replace(one._url.partition("/v1")[0], url)
        one.follow(patience=1)
        assert one.messages == 1
        httpx.post(f"{url}/v1/tables/t", json=[{"k": 10, "v": 1}])
        one.follow(until=3)
        assert {dict(row)["s"] for row in +one.rows} == {"18", "13", "15"}
        assert one.resets == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read().endswith(
            "stopped; all that was answered is kept\n"
        )  # and no word of DuckDB behind it


def test_a_file_of_settings_and_tokens_and_flight_sql_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = tmp_path / "tokens.toml"
    assert main(["token", str(tokens), "page", "--read", "totals"]) == 0
    reader = capsys.readouterr().out.strip()
    assert main(["token", str(tokens), "boss", "--admin"]) == 0
    admin = capsys.readouterr().out.strip()
    assert main(["token", str(tokens), "page", "--read", "u"]) == 2
    assert "two of the name 'page'" not in capsys.readouterr().err
    before = tokens.read_text()
    assert main(["token", str(tokens), "nobody"]) == 2
    assert "may do nothing; say --read" in " ".join(capsys.readouterr().err.split())
    assert tokens.read_text() == before
    assert tokens.stat().st_mode & 0o077 == 0
    (tmp_path / "schema.sql").write_text(SQL)
    settings = tmp_path / "app.toml"
    with socket.create_server(("127.0.0.1", 0)) as free:
        location = f"grpc://127.0.0.1:{free.getsockname()[1]}"
    settings.write_text(
        'folder = "data"\nsql = "schema.sql"\nport = 0\nhost = "0.0.0.0"\ntokens = "tokens.toml"\n'
        f'flight = "{location}"\n[limits]\nbody = "1MB"\n[database]\nmemory_limit = "1GB"\n'
    )
    with served(str(settings)) as (process, address):
        url = address.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/v1/views").status_code == 401
        views = httpx.get(f"{url}/v1/views", headers={"authorization": f"Bearer {reader}"})
        assert [view["name"] for view in views.json()["views"]] == ["totals"]
        as_admin = {"authorization": f"Bearer {admin}"}
        rows = httpx.post(f"{url}/v1/tables/t", json=[{"k": 1, "v": 5}], headers=as_admin)
        assert rows.status_code == 200
        of_reader = {"adbc.flight.sql.authorization_header": f"Bearer {reader}"}
        with (
            adbc.connect(location, autocommit=True, db_kwargs=of_reader) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT * FROM totals")
            assert cursor.fetchall() == [(1, 5)]
        assert httpx.post(f"{url}/v1/execute", json={"sql": "DROP VIEW totals"}, headers=as_admin).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert (tmp_path / "data" / "log").is_dir()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prot = 1", "prot: there is no such key (did you mean 'port'?); known keys are folder, sql"),
        ("[limits]\nbdy = 1", "limits.bdy: there is no such key (did you mean 'body'?); known keys are body, rows"),
        ("port = 'x'", "port: Input should be a valid integer"),
        ("[limits]\nbody = 'many'", "limits.body"),
        ("[database]\nthread = 1", "there is no option 'thread' (did you mean 'threads'?)"),
        ("host = '0.0.0.0'", "there are no tokens"),
        ("tokens = 'none.toml'", "cannot be read"),
        ("sql = 'none.sql'", "cannot be read"),
        ("port = ", "no TOML"),
        ("[tls]\ncertificate = 'chian.pem'\nkey = 'key.pem'", "chian.pem', cannot be read"),
        ("[tls]\ncertificate = 'app.toml'\nkey = 'app.toml'", "do not fit"),
    ],
)
def test_settings_that_are_wrong(tmp_path: Path, text: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "app.toml"
    path.write_text(text)
    assert main(["serve", str(path)]) in (1, 2)
    assert says in " ".join(capsys.readouterr().err.split())


def test_declarations_stand_all_or_none_and_what_has_changed_since_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql, models, tokens, file = (tmp_path / name for name in ("schema.sql", "models", "tokens.toml", "app.toml"))
    models.mkdir()
    model = models / "totals.sql"
    sql.write_text("CREATE TABLE t (k BIGINT); CREATE VIEW v AS SELECT nope FROM t")
    assert main(["token", str(tokens), "ada", "--read", "total", "--write", "t"]) == 0
    file.write_text("folder = 'db'\nport = 0\nsql = 'schema.sql'\nmodels = 'models'\ntokens = 'tokens.toml'")
    folder = tmp_path / "db"
    assert main(["serve", str(folder), "--sql", str(sql), "--port", "0"]) == 2
    assert "no column 'nope'" in capsys.readouterr().err
    with livejoin.open(folder) as db:
        assert not db.tables
    sql.write_text(SQL.replace("totals", "others"))
    model.write_text("\nSELECT k, nope FROM {{ source('shop', 't') }}")
    for command in ("check", "serve"):
        assert main([command, str(file)]) == 2
        told = capsys.readouterr().err
        assert "totals.sql:2" in "".join(told.split())
        assert "no column 'nope'" in " ".join(told.split())
    with livejoin.open(folder) as db:
        assert not db.tables
    model.write_text("SELECT k FROM {{ source('shop', 't') }}")
    assert main(["check", str(file)]) == 0
    in_vain = "the token 'ada' names 'total', which is neither a view nor a table (did you mean 'totals'?)"
    assert in_vain in " ".join(capsys.readouterr().out.split())
    with served(str(file)):
        pass
    with livejoin.open(folder) as db:
        assert set(db.views) == {"others", "totals"}
    for text, is_changed in (("SELECT  k FROM {{ source('shop', 't') }}", False), ("SELECT v FROM t", True)):
        model.write_text(text)
        assert main(["serve", str(file), "--port", "99999"]) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert in_vain in told
        assert ("the text of totals has changed, and the database keeps the old query" in told) == is_changed
    sql.write_text(sql.read_text() + "; BEGIN; INSERT INTO t VALUES (1, 1); COMMIT; CREATE VIEW w AS SELECT k FROM t")
    assert main(["serve", str(folder), "--sql", str(sql), "--port", "99999"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "declares w, which the database does not have" in told
    assert "has changed" not in told
    assert "port is 99999; allowed are numbers from 0" in told


def test_ports_and_folders_that_are_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with livejoin.open(tmp_path / "db"), socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", "--port", str(taken.getsockname()[1])]) == 1
        assert "cannot listen at 127.0.0.1" in " ".join(capsys.readouterr().err.split())
        assert main(["serve", str(tmp_path / "db"), "--port", "0"]) == 1
        assert "is open" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["serve", str(tmp_path / "file")]) == 2
    assert "is a file" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["host", "sql", "port"])
def test_a_server_that_is_refused_leaves_no_folder(
    wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "schema.sql"
    schema.write_text("CREATE TABLE t (k BIGINT); CREATE VIEW v AS SELECT nothing FROM t" if wrong == "sql" else SQL)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        more = {"host": ["--host", "0.0.0.0"], "sql": [], "port": ["--port", port]}[wrong]
        assert main(["serve", str(tmp_path / "new" / "shop"), "--sql", str(schema), *more]) in (1, 2)
    assert "error" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["schema.sql"]
    with livejoin.open(tmp_path / "there"):
        pass
    assert main(["serve", str(tmp_path / "there"), "--host", "0.0.0.0"]) == 2
    assert (tmp_path / "there" / "log").is_dir(), "a folder that was there stays"
