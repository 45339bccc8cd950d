"""What the server has, as OpenAPI 3.1 says it, with an example of each."""

from __future__ import annotations

from typing import Any

from livejoin.server.answers import TYPES

_ROWS = {
    "version": 7,
    "columns": [{"name": "customer", "type": "string"}, {"name": "total", "type": "double"}],
    "rows": [{"customer": "Zoë", "total": 20.0}],
}
_COMMIT = {"version": 8, "changes": 2, "ignored": 0, "late": 0, "bad_rows": 0, "repeated": False}
_CHANGES = [{"id": 1, "customer": "Zoë", "amount": 20.0}, {"_change_type": "delete", "id": 2}]
_BLOCK = {
    "number": 1,
    "kind": "groups",
    "does": ["1 aggregate over a store of groups"],
    "update": "",
    "tables": ["orders"],
    "below": [],
    "above": [],
    "views": ["totals"],
}
_GRAPH = {
    "version": 7,
    "graph": "6af69f9797552e2c",
    "who": {"name": "dashboard", "admin": False, "reads_all": False},
    "tables": [{"name": "orders", "readable": False, "writable": False}],
    "blocks": [_BLOCK],
    "views": [{"name": "totals", "block": 1, "sql": "SELECT ...", "columns": [{"name": "total", "type": "DOUBLE"}]}],
}
_STATS = {
    "version": 7,
    "process": "4fdcbfe0806f4dcc",
    "graph": "6af69f9797552e2c",
    "at": 1795817538.4,
    "tables": {"orders": {"rows": 3, "bytes": 672, "changes": 4, "late": 0}},
    "blocks": [
        {
            "number": 1,
            "rows": 2,
            "bytes": 8192,
            "seconds": 0.002,
            "touched": None,
            "commits": 3,
            "stopped": 0,
            "received": 4,
            "passed": 5,
        }
    ],
    "views": {"totals": 2},
}
_BODIES = ("jsonl", "arrow")
_EVENT = (
    "id: 3f2a-9\nevent: change\ndata: "
    '{"id":"3f2a-9","version":9,"reset":false,"changes":[{"customer":"Zoë","total":21.0,"_change_type":"insert"}]}\n\n'
)


def openapi(root: str = "") -> dict[str, Any]:
    """The description.

    Args:
        root: The path at which the server is mounted.
    """
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "livejoin",
            "version": "1",
            "description": "Views that stay right while tables change: read them, follow them, change the tables.",
        },
        "servers": [{"url": root or "/"}],
        "security": [{"token": []}, {}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Error": {
                    "type": "object",
                    "properties": {
                        "error": {
                            "type": "object",
                            "properties": {"kind": {"type": "string"}, "message": {"type": "string"}},
                            "required": ["kind", "message"],
                        }
                    },
                }
            },
        },
        "paths": _paths(),
    }


def _paths() -> dict[str, Any]:
    rows = [
        _query("format", "json, jsonl, csv or arrow"),
        _query("limit", "how many rows at most"),
        _query("at", "the position of the first one"),
        _query("sample", "so many rows drawn at random"),
        _query("get", 'the rows with these values, as {"customer":"Zoë"}'),
        _query("version", "the view as it was, as far as its history reaches"),
    ]
    numbered = [
        _header("Livejoin-Client", "a name of the client"),
        _header("Livejoin-Number", "its number of the request, which ascends: sent again, it is done once"),
    ]
    ways = [
        _query("on_conflict", "error, ignore or update"),
        _query("dry_run", "1: only say what would change"),
        _query("extra_columns", "refuse or ignore"),
        _query("on_bad_rows", "fail, skip or dead_letter"),
        *numbered,
    ]
    name = _path("name")
    follow = [
        _query("since", "the id of the last message"),
        _header("Last-Event-ID", "the same"),
        _query("shape", "changes or upsert"),
    ]
    return {
        "/healthz": {"get": _does("Whether the server answers", {"status": "ok", "version": 7})},
        "/metrics": {"get": _does("Figures for Prometheus", "livejoin_version_total 7.0", "text/plain")},
        "/v1/graph": {
            "get": _does("Tables, blocks and views, and who reads whom: what one may read of them", _GRAPH),
        },
        "/v1/stats": {
            "get": _does("Figures that change: small, to be asked for each second", _STATS),
        },
        "/v1/views": {"get": _does("All views", {"version": 7, "views": [{"name": "totals", "key": ["customer"]}]})},
        "/v1/tables": {"get": _does("All tables", {"version": 7, "tables": [{"name": "orders", "key": ["id"]}]})},
        "/v1/views/{name}": {"get": _does("One view", {"name": "totals", "sql": "SELECT ..."}, given=[name])},
        "/v1/views/{name}/rows": {"get": _does("Rows of a view, of one version", _ROWS, given=[name, *rows])},
        "/v1/tables/{name}/rows": {"get": _does("Rows of a table, of one version", _ROWS, given=[name, *rows])},
        "/v1/views/{name}/count": {
            "get": _does("How many rows a view has", {"version": 7, "count": 12_000_000_000}, given=[name])
        },
        "/v1/views/{name}/explain": {
            "get": _does(
                "What a view costs, and why",
                {},
                given=[
                    name,
                    _query("format", "json, text, svg or html"),
                    _query("analyze", "1: also what it really cost, which begins to count it (admins)"),
                ],
            )
        },
        "/v1/views/{name}/why": {
            "get": _does(
                "What a row of a view is made of",
                {"version": 7, "name": "totals", "row": {"customer": "Zoë", "n": 1}, "combinations": []},
                given=[
                    name,
                    _query("get", 'the row, or the columns of a key, as {"customer":"Zoë"}'),
                    _query("limit", "how many combinations of rows at most"),
                    _query("format", "json or text"),
                ],
            )
        },
        "/v1/views/{name}/why_not": {
            "get": _does(
                "Why no such row is in a view",
                {"version": 7, "name": "totals", "reason": "its group has no rows", "rows": []},
                given=[
                    name,
                    _query("get", 'values that no row has, as {"customer":"Zoë"}'),
                    _query("format", "json or text"),
                ],
            )
        },
        "/v1/views/{name}/analyze": {
            "post": _does(
                "Begin to count what a view really costs, or end it (admins)",
                {"version": 7, "on": False},
                given=[name],
                body={"on": False},
            )
        },
        "/v1/views/{name}/changes": {
            "get": _does(
                "Follow a view: all rows first, then each change; also as a WebSocket",
                _EVENT,
                "text/event-stream",
                [name, *follow],
            )
        },
        "/v1/tables/{name}": {
            "get": _does("One table", {"name": "orders", "key": ["id"]}, given=[name]),
            "post": _does("Change a table, in one commit", _COMMIT, given=[name, *ways], body=_CHANGES, also=_BODIES),
            "put": _does("Replace all rows of a static table", _COMMIT, given=[name], body=_CHANGES, also=_BODIES),
        },
        "/v1/commit": {
            "post": _does(
                "Change several tables, in one commit", _COMMIT, given=ways, body={"orders": _CHANGES, "lines": []}
            )
        },
        "/v1/query": {
            "post": _does(
                "Ask a SELECT once, of one version",
                _ROWS,
                given=rows[:1],
                body={"sql": "SELECT * FROM totals WHERE total > ?", "parameters": [10]},
            )
        },
        "/v1/explain": {"post": _does("What a query would cost as a view", {}, body={"sql": "SELECT ..."})},
        "/v1/execute": {
            "post": _does(
                "Run SQL that changes rows, or (admins) that declares",
                {"version": 8, "changes": 0},
                given=numbered,
                body={"sql": "UPDATE orders SET amount = :amount WHERE id = :id", "parameters": {"amount": 5, "id": 1}},
            )
        },
    }


def _does(
    summary: str,
    answer: object,
    kind: str = "application/json",
    given: list[dict[str, Any]] | None = None,
    body: object = None,
    also: tuple[str, ...] = (),
) -> dict[str, Any]:
    """An operation, with its answer and its body by example."""
    found: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "Done", "content": {kind: {"example": answer}}},
            "default": {
                "description": "An error, with what is allowed",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    if given:
        found["parameters"] = given
    if body is not None:
        contents: dict[str, Any] = {"application/json": {"example": body}}
        contents |= {kind: {} for form, kind in TYPES.items() if form in also}
        found["requestBody"] = {"required": True, "content": contents}
    return found


def _query(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}


def _header(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}


def _path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
