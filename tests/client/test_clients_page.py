"""What docs/clients.md and examples/live_page show."""

from __future__ import annotations

import importlib.util
import re
import threading
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

import livejoin

pytest.importorskip("starlette")

import uvicorn

from livejoin.server import Server

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(60)


def test_the_program_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    program = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "clients.md").read_text(), re.M | re.S)[0]
    with Server(livejoin.Database(), port=0) as server:
        exec(program.replace("http://127.0.0.1:8000", server.url), {})
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == re.findall(r"# (\[.*\])$", program, re.M)
    assert said[2:] == ["1 True [{'customer': 'Zoë', 'total': 20.0, '_change_type': 'insert'}]"]


def test_the_live_page() -> None:
    """The database within another application: its module knows where it is, and the client finds it by the path."""
    path = ROOT / "examples" / "live_page" / "site.py"
    spec = importlib.util.spec_from_file_location("live_page_site", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    server = uvicorn.Server(uvicorn.Config(module.site, port=0, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        with urlopen(f"{url}/") as answer:
            assert b'from "./live/livejoin.js"' in answer.read()
        with urlopen(f"{url}/live/livejoin.js") as answer:
            assert b"export function live" in answer.read()
        with livejoin.connect(f"{url}/live/") as client:
            client.apply("votes", [{"drink": "tea"}, {"drink": "tea"}])
            for shape in ("upsert", "changes"):
                with client.changes("counts", shape=shape) as told:
                    assert next(told).reset
            with client.changes("counts", shape="arrow") as arrow:
                assert next(arrow).changes.to_pylist()[0]["votes"] == 2
    finally:
        server.should_exit = True
        thread.join()
