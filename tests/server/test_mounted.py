"""An application that is mounted in another one: at Ctrl-C who follows is told, and the process says nothing of it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import livejoin
from followed import Followed
from livejoin.errors import SchemaError
from livejoin.server import app, lifespan

SITE = """
import contextlib, socket, sys
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
import livejoin
from livejoin.server import app, lifespan

db = livejoin.Database()
db.execute("CREATE TABLE t (k BIGINT); CREATE VIEW v AS SELECT k FROM t")
live = app(db)

@contextlib.asynccontextmanager
async def life(_):
    async with lifespan(live):
        yield
    db.close()
    print("closed", flush=True)

site = Starlette(routes=[Mount("/live", live)], lifespan=life)
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
uvicorn.run(site, fd=listening.detach(), access_log=False)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.torture)])
def test_who_follows_is_told_at_a_signal(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "site.py"
    file.write_text(SITE)
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    process = subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        one = Followed(f"http://127.0.0.1:{int(process.stdout.readline())}/live", "v")
        follower = threading.Thread(target=one.follow, kwargs={"until": 9})
        follower.start()
        while not one.messages and follower.is_alive():
            time.sleep(0.01)
        process.send_signal(number)
        out, said = process.communicate(timeout=60)
        follower.join()
    finally:
        process.kill()
    assert one.ended == "the server ends"
    assert out == "closed\n"
    assert "Cancel" not in said
    assert "Traceback" not in said


def test_the_handlers_of_before_stay() -> None:
    heard = []
    own = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        mine = signal.getsignal(signal.SIGTERM)

        async def live() -> None:
            served = app(livejoin.Database())
            async with lifespan(served):
                signal.raise_signal(signal.SIGTERM)
                await asyncio.sleep(0)
                assert served.state.service.hub.is_stopping

        asyncio.run(live())
        assert heard == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, own)


def test_what_is_no_application_is_refused() -> None:
    async def live() -> None:
        async with lifespan(livejoin.Database()):  # type: ignore[arg-type]
            pass

    with pytest.raises(SchemaError, match="give the application that"):
        asyncio.run(live())
