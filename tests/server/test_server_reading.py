"""What is read from a server is what the database has, in every format."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal

import httpx
import pyarrow as pa
import pytest

import livejoin
from livejoin.server import Limits, Server

ROWS = [
    {"k": 1, "v": 10, "d": "1.10", "x": "NaN", "s": "Zoë", "ts": "2024-01-02T03:04:05Z", "b": "aGk="},
    {"k": 2, "v": -(2**62), "d": "-0.05", "x": "-Infinity", "s": 'a"b\n', "ts": "1969-12-31T23:59:59.5Z", "b": ""},
    {"k": 3, "v": None, "d": None, "x": None, "s": None, "ts": None, "b": None},
    {"k": 4, "v": 0, "d": "99999999.99", "x": 0.1, "s": "", "ts": "2024-02-29T00:00:00Z", "b": "AA=="},
]


@pytest.fixture(autouse=True)
def rows(client: httpx.Client) -> None:
    assert client.post("/v1/tables/t", json=ROWS).json()["changes"] == 4
    assert (
        client.post("/v1/tables/u", json=[{"k": k, "w": w} for k in range(1, 4) for w in range(3)]).status_code == 200
    )


def test_what_is_written_as_json_is_read_as_json(client: httpx.Client) -> None:
    answer = client.get("/v1/tables/t/rows")
    found = answer.json()
    assert sorted(found["rows"], key=lambda row: row["k"]) == ROWS
    assert found["version"] == 2 == int(answer.headers["livejoin-version"])
    lines = client.get("/v1/tables/t/rows?format=jsonl").text.splitlines()
    assert sorted(map(json.loads, lines), key=lambda row: row["k"]) == ROWS
    again = client.post(
        "/v1/tables/t?on_conflict=update", content="\n".join(lines), headers={"content-type": "application/x-ndjson"}
    )
    assert again.json()["version"] == 3
    assert sorted(client.get("/v1/tables/t/rows").json()["rows"], key=lambda row: row["k"]) == ROWS


def test_arrow_and_csv(client: httpx.Client, db: livejoin.Database) -> None:
    found = pa.ipc.open_stream(client.get("/v1/tables/t/rows?format=arrow").content).read_all()
    with db.snapshot() as at:
        assert found.drop_columns("x").equals(at["t"].to_arrow().drop_columns("x"))  # NaN equals nothing
    read = list(csv.DictReader(io.StringIO(client.get("/v1/tables/t/rows?format=csv").text)))
    assert sorted((row["k"], row["d"], row["x"], row["s"], row["ts"]) for row in read)[:2] == [
        ("1", "1.10", "NaN", "Zoë", "2024-01-02T03:04:05Z"),
        ("2", "-0.05", "-Infinity", 'a"b\n', "1969-12-31T23:59:59.5Z"),
    ]


def test_some_rows(client: httpx.Client) -> None:
    whole = client.get("/v1/views/pairs/rows").json()["rows"]
    assert len(whole) == 9
    page = client.get("/v1/views/pairs/rows?at=2&limit=3")
    assert page.json()["rows"] == whole[2:5]
    assert page.headers["livejoin-total"] == "9"
    got = client.get("/v1/views/pairs/rows", params={"get": '{"K": 2}'}).json()["rows"]
    assert sorted(row["w"] for row in got) == [0, 1, 2]
    nulls = client.get("/v1/tables/t/rows", params={"get": '{"s": null}'}).json()["rows"]
    assert [row["k"] for row in nulls] == [3]
    sampled = client.get("/v1/views/pairs/rows?sample=20&seed=1").json()["rows"]
    assert len(sampled) == 20
    assert all(row in whole for row in sampled)
    assert client.get("/v1/views/pairs/count").json() == {"version": 2, "count": 9}


def test_rows_are_looked_up_where_an_index_leads_to_them(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def get(name: str, wanted: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = client.get(f"/v1/views/{name}/rows", params={"get": wanted}).json()["rows"]
        return found

    assert sorted(row["k"] for row in get("pairs", '{"w": "1"}')) == [1, 2, 3], "each row is looked at"  # type: ignore[type-var]
    monkeypatch.setattr(livejoin.View, "to_arrow", None)
    monkeypatch.setattr(livejoin.Database, "snapshot", None)
    assert get("totals", '{"k": 2}') == [{"k": 2, "s": -(2**62)}]
    assert get("totals", '{"k": 17}') == []
    assert client.get("/v1/views/totals/rows", params={"get": '{"k": "many"}'}).status_code in (400, 409)


def test_a_view_as_it_was(client: httpx.Client, db: livejoin.Database) -> None:
    client.post("/v1/tables/t", json=[{"k": 99}])
    refused = client.get("/v1/views/totals/rows?version=0")
    assert refused.status_code == 409
    said = refused.json()["error"]["message"]
    assert "keeps no history" in said
    assert "GET /v1/views/totals/changes" in said
    assert "keep_history(rows" not in said
    db.views["totals"].keep_history(1000)
    version = db.version
    before = client.get("/v1/views/totals/rows").json()
    client.post("/v1/execute", json={"sql": "DELETE FROM t WHERE k = 2"})
    was = client.get(f"/v1/views/totals/rows?version={version}").json()
    assert (was["version"], sorted(map(str, was["rows"]))) == (version, sorted(map(str, before["rows"])))
    one = client.get("/v1/views/totals/rows", params={"version": version, "get": '{"k": 2}'}).json()["rows"]
    assert one == [{"k": 2, "s": -(2**62)}]
    for wrong in ("views/totals/rows?version=99", "views/totals/rows?version=1&sample=2", "tables/t/rows?version=1"):
        assert client.get(f"/v1/{wrong}").status_code in (400, 409)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/v1/views/nope/rows", "there is no view 'nope' that you may use; there are totals, pairs, quiet"),
        ("/v1/views/pairs/rows?format=xml", "format is 'xml'; allowed are json, jsonl, csv, arrow"),
        ("/v1/views/pairs/rows?limit=-1", "limit is '-1'"),
        ("/v1/views/pairs/rows?at=1&sample=2", "give one of them"),
        ("/v1/views/pairs/rows?where=1", "where is not known here"),
        ("/v1/views/pairs/rows?get=x", "get is x, which is no JSON"),
        ('/v1/views/pairs/rows?get={"q":1}', "some of the columns k, w"),
        ('/v1/views/pairs/rows?get={"k":"x"}', "does not fit BIGINT"),
        ("/v1/nope", "is none of this server"),
    ],
)
def test_what_is_wrong_is_said(client: httpx.Client, path: str, says: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (400, 404)
    assert says in answer.json()["error"]["message"]


def test_lists_and_explanations(client: httpx.Client) -> None:
    views = {view["name"]: view for view in client.get("/v1/views").json()["views"]}
    assert (views["totals"]["key"], views["quiet"]["key"]) == (["k"], None)
    assert [column["type"] for column in views["totals"]["columns"]] == ["BIGINT", "BIGINT"]
    assert not any("order" in view for view in views.values())
    for sql, order in (
        (
            "SELECT w, COUNT(*) AS n FROM u GROUP BY w ORDER BY n DESC, w LIMIT 2",
            [("n", True, False), ("w", False, True)],
        ),
        ("SELECT k, w + 1 AS x FROM u ORDER BY k DESC NULLS FIRST", [("k", True, True)]),
        ("SELECT w FROM u ORDER BY w, k DESC", [("w", False, True)]),  # as far as the columns are there
        ("SELECT w FROM u ORDER BY k", []),
        ("SELECT x FROM (SELECT k, w AS x FROM u ORDER BY w DESC LIMIT 3) s WHERE k > 0", [("x", True, False)]),
    ):
        client.post("/v1/execute", json={"sql": f"CREATE OR REPLACE VIEW ordered AS {sql}"}).raise_for_status()
        found = client.get("/v1/views/ordered").json().get("order", [])
        assert [(one["column"], one["descending"], one["nulls_first"]) for one in found] == order, sql
    client.post("/v1/execute", json={"sql": "DROP VIEW ordered"}).raise_for_status()
    tables = {table["name"]: table for table in client.get("/v1/tables").json()["tables"]}
    assert tables["t"]["key"] == ["k"]
    assert client.get("/v1/views/pairs").json()["sql"].startswith("SELECT t.k")
    assert "verdict" in client.get("/v1/views/pairs/explain?format=text").text
    assert client.get("/v1/views/pairs/explain").json()
    assert client.get("/v1/views/pairs/explain?format=svg").text.startswith("<svg")
    assert client.post("/v1/explain", json={"sql": "SELECT k FROM t"}).json()


def test_the_description_names_every_route(client: httpx.Client, server: Server) -> None:
    said = client.get("/openapi.json").json()["paths"]
    routes = {
        (route.path.replace("{kind:str}", "views"), method)
        for route in server.app.routes
        for method in getattr(route, "methods", None) or ()
        if method != "HEAD"
        and route.path
        not in ("/", "/openapi.json", "/livejoin.js", "/console/{file:path}", "/docs", "/docs/{file:path}")
    }
    described = {(path, method.upper()) for path, ways in said.items() for method in ways}
    assert routes <= described
    assert described - routes == {("/v1/tables/{name}/rows", "GET")}


def test_a_query_is_answered_at_one_version_within_its_limits(db: livejoin.Database) -> None:
    db.apply("u", [(k, w) for k in range(300) for w in range(30)])
    limits = Limits(rows=1000, queries=1)
    with Server(db, port=0, limits=limits) as server, httpx.Client(base_url=server.url, timeout=60) as client:

        def ask(sql: str, **more: object) -> httpx.Response:
            return client.post("/v1/query", json={"sql": sql, **more})

        found = ask("SELECT s.k, t.d FROM totals s JOIN t ON s.k = t.k WHERE s.k < ? ORDER BY s.k", parameters=[3])
        assert found.json()["rows"] == [{"k": 1, "d": "1.10"}, {"k": 2, "d": "-0.05"}]
        assert "known tables: 't'" in ask("SELECT * FROM nope").json()["error"]["message"]
        many = ask("SELECT * FROM u")
        assert (many.status_code, "allowed are 1,000" in many.text) == (413, True)
        assert ask("SELECT COUNT(*) AS n FROM u").json()["rows"] == [{"n": 9009}]


def test_a_query_that_takes_long_is_ended(db: livejoin.Database) -> None:
    db.apply("u", [(k, w) for k in range(300) for w in range(30)])
    limits = Limits(query_seconds=0.3)
    with Server(db, port=0, limits=limits) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        slow = "SELECT COUNT(*) FROM u a JOIN u b ON a.w * b.k < a.k * b.w JOIN u c ON a.w + b.w < c.w"
        answer = client.post("/v1/query", json={"sql": slow})
        assert (answer.status_code, "took more than the 0.3 s" in answer.text) == (413, True)
        assert client.get("/healthz").status_code == 200


def test_a_query_reads_no_view_that_is_larger_than_its_memory(db: livejoin.Database) -> None:
    product = "SELECT a.k AS a, b.k AS b, c.k AS c FROM u a CROSS JOIN u b CROSS JOIN u c"
    db.create_view("product", product, deltas=False)
    db.apply("u", [(k, k) for k in range(10_000)])
    with Server(db, port=0) as server, httpx.Client(base_url=server.url, timeout=30) as client:
        answer = client.post("/v1/query", json={"sql": "SELECT COUNT(*) FROM product"})
        assert answer.status_code == 413
        assert "has 1,002,702,430,729 rows" in answer.json()["error"]["message"]
        assert client.get("/v1/views/product/count").json()["count"] == 10_009**3
        page = client.get("/v1/views/product/rows?at=1002702430719&limit=20").json()
        assert len(page["rows"]) == 10


def test_a_result_that_nobody_can_list_is_read_in_parts(db: livejoin.Database) -> None:
    with Server(db, port=0, limits=Limits(rows=8)) as server, httpx.Client(base_url=server.url) as client:
        whole = client.get("/v1/views/pairs/rows")
        assert whole.status_code == 413
        assert "has 9 rows; an answer has 8 at most" in whole.json()["error"]["message"]
        page = client.get("/v1/views/pairs/rows?limit=4&at=7").json()
        assert page["rows"] == db.views["pairs"].to_pylist()[7:]


def test_why_and_why_not(client: httpx.Client, db: livejoin.Database) -> None:
    db.create_view("sums", "SELECT t.d, SUM(u.w) AS w FROM t JOIN u ON t.k = u.k GROUP BY t.d")
    found = client.get("/v1/views/sums/why", params={"get": '{"d": "1.10"}'}).json()
    assert (found["version"], found["row"], found["is_complete"]) == (2, {"d": "1.10", "w": 3}, True)
    assert sorted(one["gives"]["w"] for one in found["combinations"]) == [0, 1, 2]
    assert found["combinations"][0]["parts"][0]["row"] == ROWS[0] | {"b": "aGk="}
    text = client.get("/v1/views/sums/why", params={"get": '{"D": "1.10", "w": 3}', "format": "text", "limit": "1"})
    assert text.text.startswith("sums has d = 1.10, w = 3, by more than one combination of rows")
    missing = client.get("/v1/views/sums/why_not", params={"get": '{"d": "99999999.99"}'}).json()
    assert missing["reason"] == "its group has no rows: there is no row of u with k = 4"
    assert missing["rows"][0]["row"]["k"] == 4
    for path, says in (
        ("why", "give the row as ?get="),
        ("why?get={}", "allowed is a JSON object"),
        ('why?get={"d": "7.00"}', "has no row with d = '7.00'; why_not"),
        ('why_not?get={"d": "1.10"}', "has a row with d = '1.10'"),
        ('why?get={"d": "1.10"}&limit=0', "allowed are 1 to 1,000"),
        ('why?get={"d": "1.10"}&format=csv', "allowed are json and text"),
        ('why_not?get={"d": "1.10"}&limit=3', "limit"),
    ):
        answer = client.get(f"/v1/views/sums/{path}")
        assert answer.status_code == 400, answer.text
        assert says in answer.json()["error"]["message"]
    with livejoin.connect(str(client.base_url)) as remote:
        assert remote.why("sums", {"d": Decimal("1.10")})["row"]["w"] == 3
        assert remote.why_not("sums", {"w": 77})["rows"]
