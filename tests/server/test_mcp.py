"""Tools for models, asked by the protocol's own client over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import livejoin
from livejoin.server import Server, read_tokens
from livejoin.server.access import new_token

pytest.importorskip("mcp", reason="pip install 'livejoin[mcp]'; it needs pydantic 2.12")

from mcp import Client

Ask = Callable[..., Awaitable[Any]]


def talk(server: Server, conversation: Callable[[Client, Ask], Awaitable[None]]) -> None:
    """Let a client talk to the server."""

    async def run() -> None:
        async with Client(f"{server.url}/mcp") as client:

            async def ask(tool: str, **arguments: Any) -> Any:
                found = await client.call_tool(tool, arguments)
                if found.is_error:
                    return found.content[0].text  # type: ignore[union-attr]
                structured = found.structured_content
                return structured.get("result", structured) if isinstance(structured, dict) else structured

            await conversation(client, ask)

    asyncio.run(run())


def test_a_model_looks_around_and_asks(server: Server, db: livejoin.Database) -> None:
    db.apply({"t": [(k, 10 * k, None, None, None, None, None) for k in range(3)], "u": [(1, 5)]})

    async def conversation(client: Client, ask: Ask) -> None:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"list_views", "describe", "explain", "query", "changes_since", "why", "why_not"}
        there = await ask("list_views")
        assert [view["name"] for view in there["views"]] == ["totals", "pairs", "quiet"]
        assert "t: k = 1" in await ask("why", view="pairs", row={"k": 1, "w": 5})
        assert "no row of u with k = 0" in await ask("why_not", view="pairs", values={"k": 0})
        described = await ask("describe", name="pairs")
        assert described["rows"] == 1
        assert "verdict" in described["explanation"]
        assert "verdict" in await ask("explain", sql="SELECT k FROM t")
        found = await ask("query", sql="SELECT SUM(s) AS s FROM totals WHERE k > ?", parameters=[0])
        assert found == {"version": 1, "rows": [{"s": 30}], "all_rows": 1}
        first = await ask("changes_since", view="totals")
        assert (first["reset"], first["all_changes"]) == (True, 3)
        assert (await ask("changes_since", view="totals", since=first["id"]))["changes"] == []
        await asyncio.to_thread(db.execute, "DELETE FROM t WHERE k = 2")
        later = await ask("changes_since", view="totals", since=first["id"])
        assert (later["reset"], [row["_change_type"] for row in later["changes"]]) == (False, ["delete"])
        assert "there is no view 'nope'" in await ask("describe", name="nope")
        assert "known tables" in await ask("query", sql="SELECT * FROM nope")

    talk(server, conversation)


def test_a_model_sees_what_its_token_may_read(db: livejoin.Database, tmp_path: Path) -> None:
    token, entry = new_token("model", ["totals"], [], admin=False)
    (tmp_path / "tokens.toml").write_text(entry)
    asked: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    headers = {"accept": "application/json, text/event-stream"}
    with (
        Server(db, port=0, access=read_tokens(tmp_path / "tokens.toml")) as server,
        httpx.Client(base_url=server.url, headers=headers, timeout=30) as client,
    ):
        assert client.post("/mcp", json=asked).status_code == 401
        client.headers["authorization"] = f"Bearer {token}"

        def ask(tool: str, **arguments: Any) -> str:
            return client.post("/mcp", json={**asked, "params": {"name": tool, "arguments": arguments}}).text

        there = ask("list_views")
        assert "totals" in there
        assert "pairs" not in there
        assert "there is no view" in ask("describe", name="pairs")
        assert "known tables" in ask("query", sql="SELECT * FROM u")
        assert "verdict" in ask("explain", sql="SELECT * FROM totals")
        for hidden in ("SELECT * FROM u", "SELECT * FROM totals, u", "WITH u AS (SELECT * FROM u) SELECT * FROM u"):
            assert "no table or view 'u' that this token may read" in ask("explain", sql=hidden)
        assert "no table or view 'nope' that this token may read" in ask("explain", sql="SELECT * FROM nope")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"jsonrpc":"2.0"}', b"\x00" * 100])
def test_what_is_no_message_is_refused(client: httpx.Client, body: bytes) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    assert client.post("/mcp", content=body, headers=headers).status_code in (400, 406, 415)
    assert client.get("/healthz").status_code == 200
