"""The console without a browser: its page and files, the graph, the figures, and who sees what of them."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

import livejoin
from livejoin.server import Server, Who, app, figures
from livejoin.server.access import Tokens
from livejoin.server.routes.console import ASSETS, THEME

HTML = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def entry(name: str, reads: tuple[str, ...], writes: tuple[str, ...] = (), is_admin: bool = False) -> tuple[str, Who]:
    return hashlib.sha256(name.encode()).hexdigest(), Who(name, frozenset(reads), frozenset(writes), is_admin)


@pytest.fixture
def guarded(db: livejoin.Database) -> Iterator[Server]:
    """A server whose tokens are their names."""
    db.execute("CREATE VIEW above AS SELECT k, s FROM totals WHERE s > 5")
    db.apply({"t": [(1, 10, None, None, "secret", None, None)], "u": [(1, 99), (1, 98)]})
    known = [
        entry("page", ("totals",)),
        entry("pairs", ("pairs", "u")),
        entry("till", ("nothing",), ("t",)),
        entry("reader", ("*",)),
        entry("boss", (), is_admin=True),
    ]
    with Server(db, port=0, access=Tokens(known)) as found:
        yield found


def get(server: Server, path: str, who: str | None, **headers: str) -> httpx.Response:
    told = {"authorization": f"Bearer {who}"} if who else {}
    return httpx.get(server.url + path, headers=told | headers, timeout=30)


def test_a_browser_gets_the_page_and_programs_the_index(client: httpx.Client) -> None:
    page = client.get("/", headers=HTML)
    assert page.headers["content-type"].startswith("text/html")
    assert client.get("/").json()["views"]["totals"] == "/v1/views/totals/rows"
    for path in re.findall(r'(?:src|href)="([^"]+)"', page.text):
        found = client.get("/" + path)
        assert found.status_code == 200
        assert found.content == (THEME if path.endswith("theme.css") else ASSETS / Path(path).name).read_bytes()
        assert client.get("/" + path, headers={"if-none-match": found.headers["etag"]}).status_code in (200, 304)


def test_the_page_runs_nothing_of_its_own_text_and_nothing_from_elsewhere(client: httpx.Client) -> None:
    answer = client.get("/", headers=HTML)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=", answer.text)
    names = {path.name for path in ASSETS.iterdir()}
    assert names >= {"index.html", "console.js", "console.css", "editor.js", "icon.svg", "LICENSES.txt"}
    for path in ASSETS.iterdir():
        if path.name != "LICENSES.txt":
            text = (
                path.read_text().replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xhtml", "")
            )
            assert not re.search(r"(?:https?:)?//[a-z0-9-]+\.[a-z]{2,}", text), path.name
            assert not re.search(r"\beval\(|new Function\(|sourceMappingURL", text), path.name
    licences = (ASSETS / "LICENSES.txt").read_text()
    assert all(name in licences for name in ("regular-table", "@codemirror/view", "@lezer/lr", "style-mod"))


@pytest.mark.parametrize("path", ["nope.js", "../livejoin.js", "..%2flivejoin.js", "%2e%2e/%2e%2e/app.py", "", "a/b"])
def test_other_files_are_not_served(client: httpx.Client, path: str) -> None:
    answer = client.get(f"/console/{path}")
    assert answer.status_code == 404 or answer.url.path == "/livejoin.js"  # where the client itself cut the way short


def test_the_page_needs_no_token_and_tells_nothing(guarded: Server) -> None:
    assert get(guarded, "/", None, **HTML).status_code == 200
    assert get(guarded, "/console/console.js", None).status_code == 200
    for path in ("/", "/v1/graph", "/v1/stats"):
        assert get(guarded, path, None).status_code == 401
    for path in ("/v1/graph", "/v1/stats", "/v1/views", "/openapi.json"):
        assert get(guarded, path, None, **HTML).status_code == 401
    host = httpx.get(guarded.url + "/", headers=HTML | {"origin": "https://elsewhere.example"})
    assert host.status_code == 403


def test_a_console_below_a_path(db: livejoin.Database) -> None:
    """Where the application is mounted the page finds its files and its server beside it."""
    known = [entry("reader", ("*",))]
    site = Starlette(routes=[Mount("/live", app(db, access=Tokens(known)))])
    with TestClient(site) as client:
        page = client.get("/live/", headers=HTML)
        assert page.url.path == "/live/"
        for path in re.findall(r'(?:src|href)="([^"]+)"', page.text):
            assert not path.startswith("/")
            assert client.get("/live/" + path).status_code == 200
        assert client.get("/live/v1/stats").status_code == 401
        assert client.get("/live/v1/graph", headers={"authorization": "Bearer reader"}).json()["views"]


def test_the_graph_hangs_together(client: httpx.Client) -> None:
    graph = client.get("/v1/graph").json()
    assert graph["who"] == {"name": "anybody", "admin": True, "reads_all": True}
    assert {one["name"] for one in graph["tables"]} == {"t", "u"}
    blocks = {one["number"]: one for one in graph["blocks"]}
    for view in graph["views"]:
        assert view["name"] in blocks[view["block"]]["views"]
        assert view["columns"][0]["type"]
    for number, block in blocks.items():
        assert block["kind"]
        assert block["does"]
        assert block["tables"] or block["below"]
        assert all(number in blocks[one]["above"] for one in block["below"])
        assert all(number in blocks[one]["below"] for one in block["above"])
    assert {view["name"] for view in graph["views"]} == {"totals", "pairs", "quiet"}


def test_figures_follow_commits(client: httpx.Client, server: Server, db: livejoin.Database) -> None:
    first = fresh(client, server)
    assert (first["tables"]["t"]["rows"], first["views"]["totals"], first["server"]["times"]["p50"]) == (0, 0, None)
    client.post("/v1/tables/t", json=[{"k": k, "v": k} for k in range(3)])
    client.post("/v1/tables/u?on_bad_rows=skip", json=[{"k": 1, "w": 1}, {"k": "x", "w": 1}])
    now = fresh(client, server)
    assert (now["tables"]["t"]["rows"], now["tables"]["t"]["changes"]) == (3, 3)
    assert (now["views"]["totals"], now["views"]["pairs"], now["views"]["quiet"]) == (3, 1, 3)
    assert now["version"] == first["version"] + 2
    assert (now["graph"], now["process"]) == (first["graph"], first["process"])
    blocks = {one["number"]: one for one in now["blocks"]}
    graph = client.get("/v1/graph").json()
    totals = next(one["block"] for one in graph["views"] if one["name"] == "totals")
    assert (blocks[totals]["commits"], blocks[totals]["received"], blocks[totals]["passed"]) == (1, 3, 3)
    pairs = next(one["block"] for one in graph["views"] if one["name"] == "pairs")
    assert (blocks[pairs]["commits"], blocks[pairs]["stopped"], blocks[pairs]["passed"]) == (2, 1, 1)
    assert now["server"]["bad_rows"] == 1
    assert now["server"]["times"]["commits"] == 2
    assert 0 < now["server"]["times"]["p50"] <= now["server"]["times"]["p99"] <= now["server"]["times"]["longest"]
    assert {one["version"] for one in now["database"]["slow_commits"]} == {1, 2}
    db.apply("u", [{"k": 9, "w": 9}])  # by the process itself
    assert fresh(client, server)["server"]["times"]["commits"] == 3
    assert now["database"]["memory_bytes"] > 0
    assert now["database"]["log"] is None


def test_the_graph_is_another_one_where_something_was_declared(client: httpx.Client, server: Server) -> None:
    known = set()
    for sql in (
        "CREATE TABLE extra (a INT)",
        "ALTER TABLE extra ADD COLUMN b INT",
        "CREATE VIEW e AS SELECT a FROM extra",
    ):
        client.post("/v1/execute", json={"sql": sql}).raise_for_status()
        told = fresh(client, server)["graph"]
        assert client.get("/v1/graph").json()["graph"] == told
        known.add(told)
    client.post(
        "/v1/execute", json={"sql": "CREATE OR REPLACE VIEW e AS SELECT a FROM extra WHERE a > 1"}
    ).raise_for_status()
    known.add(fresh(client, server)["graph"])
    assert len(known) == 4
    assert client.get("/v1/graph").json()["views"][-1]["sql"].endswith("a > 1")


def test_a_token_sees_what_it_may_read(guarded: Server) -> None:
    """Blocks below one's views are seen, with the names of the tables; rows and changes of these tables are not."""
    page = get(guarded, "/v1/graph", "page").json()
    assert [one["name"] for one in page["views"]] == ["totals"]
    assert page["tables"] == [{"name": "t", "readable": False, "writable": False}]
    numbers = {one["number"] for one in page["blocks"]}
    assert {name for one in page["blocks"] for name in one["views"]} == {"totals"}
    assert all(numbers >= {*one["above"], *one["below"]} for one in page["blocks"])
    assert (
        next(one for one in page["blocks"] if one["views"])["above"] == []
    )  # another view reads it, which is not seen
    stats = get(guarded, "/v1/stats", "page").json()
    assert (stats["tables"], stats["views"]) == ({}, {"totals": 1})
    assert not stats.keys() & {"server", "database"}
    assert [one["number"] for one in stats["blocks"]] == [one["number"] for one in page["blocks"]]
    own = next(one["number"] for one in page["blocks"] if one["views"])
    for one in stats["blocks"]:  # over t, of which nothing is told, but what the view itself says
        assert (one["received"], one["bytes"], one["touched"]) == (None, None, None)
        assert (one["rows"], one["passed"]) == ((1, 1) if one["number"] == own else (None, None))
        assert one["commits"] == 1
    for path in ("/v1/graph", "/v1/stats"):
        text = get(guarded, path, "page").text
        assert not any(f'"{name}"' in text for name in ("pairs", "quiet", "above_", "u", "ts", "secret"))

    pairs = get(guarded, "/v1/graph", "pairs").json()
    assert {one["name"]: one["readable"] for one in pairs["tables"]} == {"t": False, "u": True}
    assert get(guarded, "/v1/stats", "pairs").json()["tables"].keys() == {"u"}

    till = get(guarded, "/v1/graph", "till").json()
    assert (till["views"], till["blocks"]) == ([], [])
    assert (till["tables"][0]["writable"], till["tables"][0]["readable"]) == (True, False)
    assert {one["name"] for one in till["tables"][0]["columns"]} >= {"k", "v"}
    assert get(guarded, "/v1/stats", "till").json()["tables"] == {}

    for who, admin in (("reader", False), ("boss", True)):
        whole = get(guarded, "/v1/graph", who).json()
        assert whole["who"] == {"name": who, "admin": admin, "reads_all": True}
        assert {one["name"] for one in whole["views"]} == {"totals", "pairs", "quiet", "above"}
        assert get(guarded, "/v1/stats", who).json()["server"]["followers"] == {}


def test_explain_as_sql_tells_what_one_may_read(guarded: Server) -> None:
    def ask(sql: str, who: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {who}"}
        return httpx.post(f"{guarded.url}/v1/query", json={"sql": sql}, headers=headers)

    assert ask("EXPLAIN totals", "page").json()["rows"][0]["explanation"].startswith("verdict")
    assert ask("EXPLAIN SELECT v FROM secret", "boss").status_code in (200, 400)
    assert ask("EXPLAIN SELECT v FROM secret", "page").status_code == 404
    assert ask("EXPLAIN above", "page").status_code == 404
    assert ask("EXPLAIN ANALYZE totals", "page").status_code == 403
    told = "\n".join(row["explanation"] for row in ask("EXPLAIN ANALYZE totals", "boss").json()["rows"])
    assert "predicted against actual" in told


def test_what_a_view_really_cost_is_for_admins(guarded: Server) -> None:
    path = "/v1/views/totals/explain?format=text"
    assert "predicted against actual" in get(guarded, path + "&analyze=1", "boss").text
    assert "predicted against actual" not in get(guarded, path, "boss").text
    assert get(guarded, path + "&analyze=2", "boss").status_code == 400
    for who in ("page", "reader"):
        assert get(guarded, path, who).status_code == 200
        assert get(guarded, path + "&analyze=1", who).status_code == 403
    with httpx.Client(base_url=guarded.url) as client:
        told = {"authorization": "Bearer boss"}
        ended = client.post("/v1/views/totals/analyze", json={"on": False}, headers=told)
        assert ended.json() == {"version": 1, "on": False}
        assert client.post("/v1/views/totals/analyze", json={"on": 1}, headers=told).status_code == 400
        assert client.post("/v1/views/nope/analyze", json={"on": True}, headers=told).status_code == 404
        told = {"authorization": "Bearer reader"}
        assert client.post("/v1/views/totals/analyze", json={"on": True}, headers=told).status_code == 403


def test_names_that_look_like_blocks_and_views(client: httpx.Client, server: Server) -> None:
    for sql in (
        "CREATE TABLE `#1` (a INT)",
        "CREATE VIEW `view view` AS SELECT a FROM `#1`",
        "CREATE TABLE `<b>#x` (a INT)",
    ):
        client.post("/v1/execute", json={"sql": sql}).raise_for_status()
    graph = client.get("/v1/graph").json()
    view = next(one for one in graph["views"] if one["name"] == "view view")
    block = next(one for one in graph["blocks"] if one["number"] == view["block"])
    assert (block["tables"], block["below"], block["views"]) == (["#1"], [], ["view view"])
    assert "view view" in fresh(client, server)["views"]


def test_a_long_commit_holds_up_nobody_who_looks(
    client: httpx.Client, server: Server, db: livejoin.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "WAIT", 0.05)
    before, graph = fresh(client, server), client.get("/v1/graph").json()
    goes_on, ended = threading.Event(), threading.Event()

    def commit() -> None:
        with db._guard.lock:
            goes_on.set()
            ended.wait()

    other = threading.Thread(target=commit)
    other.start()
    goes_on.wait()
    try:
        seen = [fresh(client, server) for _ in range(20)]  # more than the server has threads
        assert {one["at"] for one in seen} == {before["at"]}
        assert client.get("/v1/graph").json() == graph
    finally:
        ended.set()
        other.join()
    while fresh(client, server)["at"] == before["at"]:
        pass


def test_a_folder_says_what_the_next_start_reads(tmp_path: Path) -> None:
    with (
        livejoin.open(tmp_path / "shop") as db,
        Server(db, port=0) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        db.execute("CREATE TABLE t (a INT)")
        before = fresh(client, server)["database"]["log"]
        db.apply("t", [(1,), (2,)])
        log = fresh(client, server)["database"]["log"]
        assert (before["sync"], log["records"] - before["records"]) == ("commit", 1)
        assert log["bytes"] > before["bytes"] > 0


def fresh(client: httpx.Client, server: Server) -> dict[str, Any]:
    """The figures as they are now."""
    server.app.state.service.figures._at = 0.0
    found: dict[str, Any] = client.get("/v1/stats").json()
    return found
