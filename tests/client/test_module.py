"""The ES module `livejoin.js` in Node and in a browser: the rows that a page holds, over connections that break."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from queue import Empty, Queue
from typing import Any
from urllib.parse import urlsplit

import pytest

import livejoin
from cutting_proxy import cutting_proxy
from stub_server import MODULE, Stub, stubbed

NODE = shutil.which("node")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDE = 2**60 + 1
WAIT = 20.0  # seconds

pytestmark = pytest.mark.timeout(90)
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
engines = pytest.mark.parametrize(
    "engine", [pytest.param("node", marks=needs_node), pytest.param("chromium", marks=needs_browser)]
)

LIVE = """
live("V", (rows, { version, reset }) => say({ rows, version, reset }), {
  server, token, onError: (error, isOver) => { if (isOver) say({ over: error.message, status: error.status }); },
  onState: (state) => { if (state === "closed") say({ closed: true }); },
});
"""


@cache
def options() -> list[str]:
    """What makes Node tell the text of a number."""
    assert NODE is not None
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout
    major = int(version.strip().lstrip("v").split(".")[0])
    if major < 20:
        pytest.skip(f"Node {version} is older than 20")
    return ["--harmony-json-parse-with-source"] if major == 20 else []


HEAD = """
import { live, query, apply } from "MODULE";
const server = SERVER, token = TOKEN ?? undefined;
const plain = (_, value) => (typeof value === "bigint" ? { big: String(value) } : value);
const say = (value) => console.log("said " + JSON.stringify(value, plain));
"""


def script_of(module: str, server: str | None, script: str, token: str | None) -> str:
    head = HEAD.replace("MODULE", module).replace("TOKEN", json.dumps(token))
    return head.replace("SERVER", "undefined" if server is None else json.dumps(server)) + script


@contextmanager
def node(folder: Path, server: str, script: str, token: str | None = None) -> Iterator[Callable[[], Any]]:
    """A script that runs in Node; what it says is given one by one."""
    shutil.copy(MODULE, folder / "livejoin.mjs")
    (folder / "page.mjs").write_text(script_of("./livejoin.mjs", server, script, token))
    assert NODE is not None
    with _running([NODE, *options(), str(folder / "page.mjs")]) as said:
        yield lambda: _read(said)


@contextmanager
def browser(folder: Path, stub: Stub, url: str, script: str, token: str | None = None) -> Iterator[Callable[[], Any]]:
    """A page of the stub in a browser, which finds the server by where the module came from."""
    text = script_of("./livejoin.js", None, script, token)
    page = f'<!doctype html><meta charset="utf-8"><script type="module">{text}</script>'
    stub.files["page.html"] = ("text/html", page.encode())
    assert BROWSER is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={folder}"]
    with _running([BROWSER, *flags, "--remote-debugging-port=0", f"{url}/page.html"]) as said:
        yield lambda: _read(said)


@contextmanager
def page(
    engine: str, folder: Path, stub: Stub, url: str, script: str, token: str | None = None
) -> Iterator[Callable[[], Any]]:
    """A script in Node or in a browser."""
    found = node(folder, url, script, token) if engine == "node" else browser(folder, stub, url, script, token)
    with found as next_said:
        yield next_said


@contextmanager
def _running(command: list[str]) -> Iterator[Queue[str]]:
    said: Queue[str] = Queue()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:

        def read() -> None:
            for line in process.stdout or ():
                said.put(line)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield said
        finally:
            process.kill()
            reader.join()


def _read(said: Queue[str]) -> Any:
    others: list[str] = []
    while True:
        try:
            line = said.get(timeout=WAIT)
        except Empty:
            raise AssertionError("nothing is said; but:\n" + "".join(others)) from None
        found = re.search(r'said (.*?)(?:", source: \S+ \(\d+\))?$', line)
        if found is not None:
            return json.loads(found[1])
        others.append(line)


@pytest.mark.parametrize(
    ("engine", "key"),
    [
        pytest.param("node", ["id"], marks=needs_node),
        pytest.param("node", None, marks=needs_node),
        pytest.param("chromium", ["id"], marks=needs_browser),
        pytest.param("chromium", None, marks=[needs_browser, pytest.mark.torture]),
    ],
)
def test_rows_stay_those_of_the_view(engine: str, tmp_path: Path, key: list[str] | None) -> None:
    """Random commits while streams break anywhere, and while the server forgets: by key, and as a multiset."""
    draw = random.Random(str(key))
    with stubbed() as (stub, url), cutting_proxy(urlsplit(url).port or 0) as proxy:
        stub.key = key
        with page(engine, tmp_path, stub, proxy.url, LIVE) as next_said:
            last: dict[str, Any] = {"version": -1}
            resets = 0
            for step in range(40):
                kinds = ["upsert", "delete"]
                ids = [draw.choice([1, 2, 3, WIDE]) for _ in range(3)]
                names = ["a", "b\r\n\n", None, "\u00e9\U0001f600"]
                stub.commit(
                    [{"id": one, "name": draw.choice(names), "_change_type": draw.choice(kinds)} for one in ids]
                )
                if step % 8 == 3:
                    stub.cuts.append(draw.randrange(300))
                    proxy.cut()
                if step % 16 == 3:
                    stub.forget()
                while last["version"] < stub.version:
                    last = next_said()
                    resets += last["reset"]
                rows = [{"id": {"big": str(one)} if one == WIDE else one, "name": n} for one, n in stub.rows.items()]
                assert sorted(map(str, last["rows"])) == sorted(map(str, rows))
            assert 1 <= resets <= 4
            assert not stub.asked["GET /v1/views/V"], "its key comes with its rows"
            stub.end("view 'V' was dropped", is_there=False)
            assert next_said() == {"over": "there is no such view", "status": 404}
            assert next_said() == {"closed": True}


@needs_node
def test_rows_that_stand_more_than_once(tmp_path: Path) -> None:
    """Values that print alike, and counts."""
    script = """
    let told;
    const coded = (text) => new TextEncoder().encode(text);
    globalThis.fetch = async (url) => String(url).endsWith("/changes?shape=changes") ? new Response(new ReadableStream({
      start(control) { told = (v) => control.enqueue(coded(`id: 1\\ndata: ${v}\\nevent: change\\n\\n`)); },
    }), { headers: { "Content-Type": "text/event-stream" } })
      : new Response('{"error": {"kind": "ReadError", "message": "no key is known"}}', { status: 409 });
    const one = live("V", (rows) => say(rows.map(({ x }) => (Object.is(x, -0) ? "-0" : x))), { server });
    await new Promise((done) => setTimeout(done, 50));
    const change = (kind, x) => `{"_change_type": "${kind}", "x": ${x}}`;
    const message = (reset, ...changes) => told(`{"version": 1, "reset": ${reset}, "changes": [${changes.join()}]}`);
    message(true, change("insert", "1"), change("insert", "1"), change("insert", "-0.0"), change("insert", "0.0"));
    message(false, change("delete", "1"), change("delete", "-0.0"), change("insert", "9007199254740993"));
    message(false, change("update_preimage", "9007199254740993"), change("update_postimage", "9007199254740992"));
    message(false, change("delete", "2"), change("insert", "2"));
    message(true);
    setTimeout(one.close, 100);
    """
    with node(tmp_path, "http://localhost", script) as next_said:
        assert next_said() == [1, 1, "-0", 0]
        assert next_said() == [1, 0, {"big": "9007199254740993"}]
        assert next_said() == [1, 0, {"big": "9007199254740992"}]
        assert next_said() == [1, 0, {"big": "9007199254740992"}]
        assert next_said() == []


@engines
def test_commits_and_queries(engine: str, tmp_path: Path) -> None:
    script = f"""
    say(await apply("T", [{{ id: 1, name: "a" }}], {{ server, token }}));
    say(await apply({{ T: [{{ id: 2, name: "b" }}], U: [] }}, undefined, {{ server, token }}));
    try {{ await apply("T", [{{ id: 1, name: "b" }}], {{ server, token }}); }}
    catch (error) {{ say([error.name, error.status, error.message]); }}
    say(await query("SELECT id FROM V WHERE id = ?", [{WIDE}n], {{ server, token }}));
    try {{ await query("SELECT 1", undefined, {{ server, token: "wrong" }}); }} catch (error) {{ say(error.status); }}
    """
    with stubbed() as (stub, url):
        stub.token = "secret"
        stub.faults.extend(["lose", "busy", "drop"])
        with page(engine, tmp_path, stub, url, script, "secret") as next_said:
            assert next_said() == {"version": 1, "changes": 1, "ignored": 0, "late": 0, "repeated": True}
            assert next_said()["version"] == 2
            assert next_said() == ["DuplicateKeyError", 409, "table 'T', row 0: id 1 is there"]
            assert next_said() == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}][:2]
            assert next_said() == 401
        assert stub.rows == {1: "a", 2: "b"}


@needs_node
def test_with_the_server(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    from livejoin.server import Server  # noqa: PLC0415

    db = livejoin.Database()
    db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, name STRING, x DOUBLE)")
    db.create_view("V", "SELECT name, SUM(id) AS total, MAX(x) AS x FROM T GROUP BY name")
    script = (
        LIVE
        + f"""
    await apply("T", [{{ id: {WIDE}n, name: "a", x: NaN }}, {{ id: 1, name: "b", x: 0.5 }}], {{ server }});
    await apply("T", [{{ id: 1, _change_type: "delete" }},
                      {{ id: 2, name: null, x: -Infinity, _change_type: "insert" }}], {{ server }});
    say(await query("SELECT total FROM V WHERE name = :n", {{ n: "a" }}, {{ server }}));
    """
    )
    with Server(db, port=0) as server, node(tmp_path, server.url, script) as next_said:
        said = [next_said()]
        answer = [{"total": {"big": str(WIDE)}}]
        while answer not in said or not any(isinstance(one, dict) and one["version"] == 2 for one in said):
            said.append(next_said())
        last = next(one for one in reversed(said) if isinstance(one, dict))
        wanted = [{"name": "a", "total": {"big": str(WIDE)}, "x": "NaN"}, {"name": None, "total": 2, "x": "-Infinity"}]
        assert sorted(map(str, last["rows"])) == sorted(map(str, wanted))
