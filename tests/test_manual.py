"""The manual: what makes its pages, `livejoin docs`, and the server's `/docs`. `make docs` builds it whole."""

from __future__ import annotations

import re
import shutil
import sys
import webbrowser
from collections import Counter
from importlib import import_module
from pathlib import Path

import duckdb
import pytest
from sqlglot import exp, parse_one
from starlette.testclient import TestClient

import livejoin
from livejoin.cli.main import FAILED, OK, main
from livejoin.server import app
from livejoin.sql import to_duckdb
from livejoin.sql.parse.refuse import _SELECT_CLAUSES

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "tools"), str(ROOT)]

pytest.importorskip("docutils", reason="pip install -r requirements.lock: it makes the manual")

from manual.api import written  # noqa: E402
from manual.clauses import CLAUSES, TABLES  # noqa: E402
from manual.links import for_page  # noqa: E402
from manual.pictures import FOLDER, PICTURES  # noqa: E402
from manual.plain import SCRIPT, plain  # noqa: E402
from manual.reference import COMPLETION, PAGES, SCHEMA, SHELLS, completion, json_schema  # noqa: E402
from manual.sql_reference import answer  # noqa: E402

from hatch_build import for_index  # noqa: E402


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    for name in ("docs/a.md", "docs/in/b.md", "docs/changes.md", "CHANGELOG.md", "examples/x/README.md", "docs/p.svg"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path / "docs"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[b](in/b.md#one)", "[b](in/b.md#one)"),
        ("[what changed](../CHANGELOG.md)", "[what changed](changes.md)"),
        ("[x](../examples/x/README.md)", "x (`examples/x/README.md`)"),
        ("[examples/x](../examples/x/README.md)", "examples/x (`examples/x/README.md`)"),
        ("[web](https://a.example/b.md)", "[web](https://a.example/b.md)"),
        ("```md\n[x](nowhere.md)\n```", "```md\n[x](nowhere.md)\n```"),
    ],
)
def test_links_lead_to_pages_or_name_the_file(text: str, wanted: str, docs: Path) -> None:
    included = {(docs.parent / "CHANGELOG.md").resolve(): docs.resolve() / "changes.md"}
    page = docs.resolve() / "a.md"
    assert for_page(text, page, page, docs.resolve(), included) == (wanted, [])


def test_links_of_a_file_are_those_of_the_page_that_includes_it(docs: Path) -> None:
    root = docs.resolve().parent
    text, absent = for_page(
        "[a](docs/a.md) ![p](docs/p.svg) [no](no.md)",
        root / "CHANGELOG.md",
        root / "docs/changes.md",
        root / "docs",
        {},
    )
    assert text == "[a](a.md) ![p](p.svg) [no](no.md)"
    assert absent == ["no.md"]


def test_pages_have_no_script_of_their_own() -> None:
    html = f'<style>p {{}}</style><body><script>\n  {SCRIPT}\n</script><line style="opacity: 50%"/>'
    text, style = plain(html, "../")
    assert style == "p {}"
    assert text == (
        '<link rel="stylesheet" href="../_static/theme.css"><body><script src="../_static/theme.js"></script>'
        '<line opacity="0.5"/>'
    )


def test_the_api_is_read_from_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the files of a part, as all are read in ten seconds; `make docs` reads them."""
    from manual import api  # noqa: PLC0415

    source = ROOT / "src" / "livejoin"
    shutil.copytree(source / "database", tmp_path / "livejoin" / "database")
    shutil.copy2(source / "__init__.py", tmp_path / "livejoin")
    monkeypatch.setattr(api, "SOURCE", tmp_path)
    monkeypatch.setattr(api, "_package", api._package.__wrapped__)  # what is read elsewhere is kept
    text = "\n".join(written(api._object("livejoin.Commit"), "livejoin.Commit", 6))
    assert "{py:class} livejoin.Commit" in text
    assert "{py:method} livejoin.Commit.batches" in text


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "index.html").write_text("<h1>livejoin</h1>")
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "view.html").write_text("<h1>view</h1>")
    for name in ("livejoin.server.routes.manual", "livejoin.cli.docs"):
        __import__(name)
        monkeypatch.setattr(sys.modules[name], "manual", lambda: tmp_path)
    return tmp_path


def test_the_server_shows_it_to_everybody_under_its_policy(pages: Path) -> None:
    with TestClient(app(livejoin.Database()), base_url="http://localhost") as client:
        first = client.get("/docs")
        assert first.url.path == "/docs/index.html"
        assert "livejoin" in first.text
        assert first.headers["content-type"].startswith("text/html")
        policy = first.headers["content-security-policy"]
        assert "script-src 'self'; style-src 'self'" in policy
        assert "form-action 'self'" in policy
        assert "form-action 'none'" in client.get("/healthz").headers["content-security-policy"]
        assert client.get("/docs/api/view.html").status_code == 200
        for name in ("nope.html", "..%2f..%2fetc%2fpasswd", "api", "a/b"):
            assert client.get(f"/docs/{name}").status_code == 404


def test_the_command_opens_it(pages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    assert main(["docs"]) == main(["docs", "late", "rows"]) == main(["docs", "--address"]) == OK
    assert opened == [(pages / "index.html").as_uri(), (pages / "search.html").as_uri() + "?q=late+rows"]
    assert capsys.readouterr().out.splitlines()[-1] == opened[0]
    assert main(["docs", "api/view", "--address"]) == OK  # a page, as messages of errors name them
    assert capsys.readouterr().out.splitlines() == [(pages / "api" / "view.html").as_uri()]
    monkeypatch.setattr(sys.modules["livejoin.cli.docs"], "manual", lambda: None)
    assert main(["docs"]) == FAILED
    assert "make docs" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_the_pictures_of_concepts_are_what_their_program_draws(name: str) -> None:
    assert (FOLDER / f"{name}.svg").read_text() == PICTURES[name](), "run python tools/manual/pictures.py"


def test_the_page_of_clauses_has_all_of_them_and_duckdb_gives_the_same_rows() -> None:
    db, peer = livejoin.Database(), duckdb.connect()
    for name, (columns, rows) in TABLES.items():
        db.create_table(name, columns)
        db.apply({name: rows})
        peer.execute(f"CREATE TABLE {name} ({columns.replace('STRING', 'VARCHAR')})")
        peer.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    met = set()
    for said, sql in (case for cases in CLAUSES.values() for case in cases):
        tree = parse_one(sql, dialect="spark")
        met |= {name for node in tree.find_all(exp.Select, exp.Subquery) for name, value in node.args.items() if value}
        wanted = peer.execute(to_duckdb(sql, db._contents.catalog)).fetchall()
        found = [tuple(row.values()) for row in answer(db, sql).to_pylist()]
        assert Counter(found) == Counter(wanted), sql
        assert "LIMIT" not in sql or found == wanted, sql
        assert all(word in sql for word in re.findall(r"`([A-Z ]+)`", said)), (said, sql)
    assert met >= _SELECT_CLAUSES | {"windows"}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_pages_made_of_the_code_are_what_it_says(name: str) -> None:
    assert (ROOT / "docs" / f"{name}.md").read_text() == PAGES[name](), "run python tools/manual/reference.py"


def test_the_schema_of_pipeline_files_is_that_of_the_model() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == json_schema(), "run python tools/manual/reference.py"


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_that_of_the_parser(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (COMPLETION / f"livejoin.{shell}").read_text() == completion(shell), "run python tools/manual/reference.py"
    assert main(["completion", shell]) == OK
    assert "explain" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ("", "a page, [web](https://a.example),  and `code`"),
        (
            "https://a.example/v1",
            "[a page](https://a.example/v1/docs/a.md), [web](https://a.example), "
            "![p](https://a.example/v1/p.svg) and `code`",
        ),
    ],
)
def test_the_readme_of_an_index_has_no_relative_links(files: str, wanted: str) -> None:
    text = "[a page](docs/a.md), [web](https://a.example), ![p](p.svg) and `code`"
    assert for_index(text, files) == wanted


def test_the_manual_is_searched_without_a_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = "<nav>late rows</nav><article><section id='{id}'><h1>{h}<a class='headerlink'>¶</a></h1><p>{p}</p></section>"
    for name, heading, text in (
        ("decisions/0001", "Late rows", "why late rows " * 9),
        ("guides/late", "Late rows", "rows that come <b>late</b> are " + "kept " * 60),
        ("sql", "SQL", "one row is late, and rows are many"),
        ("index", "Start", "nothing"),
    ):
        (tmp_path / f"{name}.html").parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.html").write_text(page.format(id="a", h=heading, p=text) + "</article>late rows")
    (tmp_path / "search.html").write_text("late rows")
    monkeypatch.setattr(import_module("livejoin.cli.docs"), "manual", lambda: tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert main(["docs", "late", "rows"]) == OK
    lines = capsys.readouterr().out.splitlines()
    places = [line.rpartition("/")[2] for line in lines if line.startswith("  file:")]
    assert places == ["late.html", "sql.html", "0001.html"]
    assert lines[1].startswith("  rows that come late are kept")
    assert "search.html?q=late+rows" in lines[-2]
    assert lines[-1] == "no browser was found here; open the address in one"
    (tmp_path / "cli.html").write_text(page.format(id="b", h="livejoin run", p="livejoin and livejoin"))
    (tmp_path / "joins.html").write_text(page.format(id="c", h="Two tables", p="livejoin keeps a join") + "</article>")
    assert main(["docs", "join", "--address"]) == OK  # "livejoin" is on every page
    found = capsys.readouterr().out.splitlines()
    assert [line.rpartition("/")[2] for line in found if line.startswith("  file:")] == ["joins.html"]
    assert main(["docs", "nowhere", "--address"]) == OK
    assert "no page has all of the words: nowhere" in capsys.readouterr().out
