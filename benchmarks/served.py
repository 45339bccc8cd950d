"""The server under load: ``python -m benchmarks served``, clients that write beside clients that follow.

The server, those who write and those who follow are three processes. Each row says when it was sent, by the machine's
monotonic clock, so that one who follows knows how long the change took; of a message, which has the changes of a tick,
the oldest counts. In the end one of each kind who follows must have the view.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvloop

from benchmarks.figures import Aim, Figure, report, verify

_SQL = """
    CREATE TABLE t (k BIGINT PRIMARY KEY, sent BIGINT);
    CREATE VIEW latest AS SELECT k, sent FROM t WHERE sent > 0
"""
_KEYS = 10_000
_WRITERS = 8
_WARM = 2_000_000_000  # nanoseconds that do not count: the first commits load kernels
_CHECKED = 2  # of those who follow, how many look into their messages


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("served", help="the server beside clients that write and that follow")
    parser.add_argument("--seconds", type=float, default=10.0, help="of load (10)")
    parser.add_argument("--commits", type=int, default=1000, help="a second (1000)")
    parser.add_argument("--rows", type=int, default=10, help="of a commit (10)")
    parser.add_argument("--followers", type=int, default=200, help="of the view (200)")
    parser.add_argument("--durable", action="store_true", help="in a folder, each commit on the disk")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code is 1 if an answer was wrong."""
    return report(lambda: measure(options), "The server under load", 120, options.json, "served")


def measure(options: argparse.Namespace) -> list[Figure]:
    """All figures.

    Raises:
        WrongAnswerError: One who follows has other rows than the view.
    """
    with tempfile.TemporaryDirectory() as scratch:
        sql = Path(scratch) / "schema.sql"
        sql.write_text(_SQL)
        folder = [str(Path(scratch) / "db")] if options.durable else []
        server, url = _server(*folder, "--port", "0", "--sql", str(sql))
        try:
            seconds, port = str(options.seconds), url.rpartition(":")[2]
            followers = _role("follow", port, seconds, str(options.followers))
            assert followers.stdout is not None
            followers.stdout.readline()  # all follow
            writers = _role("write", port, seconds, str(options.commits), str(options.rows))
            wrote = json.loads(writers.communicate()[0])
            told = json.loads(followers.communicate()[0])
            rows = httpx.get(f"{url}/v1/views/latest/rows?format=jsonl", timeout=60).text.splitlines()
            expected = sorted((row["k"], row["sent"]) for row in map(json.loads, rows))
            checked = verify(
                f"{len(told['rows'])} who follow have the view of {len(expected):,} rows",
                all(sorted(map(tuple, one)) == expected for one in told["rows"]),
                True,
            )
            again = _reconnects(url, options.followers)
            memory = _memory(server.pid)
        finally:
            server.terminate()
            server.wait()
    latency = np.array(told["latency"]) / 1e6
    spent = wrote["seconds"]
    return [
        Figure("commits", wrote["commits"] / spent, "1/s", checked, None, "", Aim(0.98 * options.commits)),
        Figure("a commit's answer, p50", float(np.percentile(wrote["answers"], 50) * 1e3), "ms", checked),
        Figure("a commit's answer, p99", float(np.percentile(wrote["answers"], 99) * 1e3), "ms", checked),
        Figure("messages to one who follows", told["messages"] / options.followers / spent, "1/s", checked),
        Figure("messages in all", told["messages"] / spent, "1/s", checked),
        Figure("commit to client, p50", float(np.percentile(latency, 50)), "ms", checked),
        Figure(
            "from commit to client, p99",
            float(np.percentile(latency, 99)),
            "ms",
            checked,
            None,
            "",
            Aim(100, most=True),
        ),
        Figure(f"{options.followers} come at once, all have the rows", again, "ms", checked),
        Figure("memory of the server", memory, "MB", checked),
    ]


def _server(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "livejoin", "serve", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "serving at" in line:
            return process, line.split("serving at ")[1].split(",")[0]
    msg = "the server did not begin"
    raise RuntimeError(msg)


def _role(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "benchmarks.served", *arguments], stdout=subprocess.PIPE, text=True)


def _memory(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return float(status.split("VmRSS:")[1].split()[0]) / 1000


def _reconnects(url: str, followers: int) -> float:
    """Milliseconds until so many who come at once have all rows."""
    return float(asyncio.run(_come(int(url.rpartition(":")[2]), followers)))


async def _come(port: int, followers: int) -> float:
    begin = time.perf_counter()

    async def one() -> None:
        reader, writer = await _follow(port)
        await reader.readuntil(b"\n\n")
        writer.close()

    await asyncio.gather(*(one() for _ in range(followers)))
    return (time.perf_counter() - begin) * 1e3


async def _follow(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that follows, behind the head of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    writer.write(b"GET /v1/views/latest/changes?shape=upsert HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def _followers(port: int, number: int) -> None:
    """Follow until nothing comes any more; prints what was seen."""
    latency: list[int] = []
    begun_at = time.monotonic_ns()
    copies: list[dict[int, int]] = [{} for _ in range(min(_CHECKED, number))]
    messages = 0

    async def one(place: int) -> None:
        nonlocal messages
        reader, writer = await _follow(port)
        begun.release()
        last = time.monotonic()
        while time.monotonic() - last < 3 or not latency:
            try:
                event = await asyncio.wait_for(reader.readuntil(b"\n\n"), 1.5)
            except TimeoutError:
                continue
            if b"event: change" not in event:
                continue
            last = time.monotonic()
            messages += 1
            if place < len(copies):
                now = time.monotonic_ns()
                told = json.loads(event[event.index(b"data: ") + 6 :])
                copies[place] |= {row["k"]: row["sent"] for row in told["puts"]}
                if not told["reset"] and now - begun_at > _WARM:
                    latency.append(now - min(row["sent"] for row in told["puts"]))
        writer.close()

    begun = asyncio.Semaphore(0)
    tasks = [asyncio.ensure_future(one(place)) for place in range(number)]
    for _ in range(number):
        await begun.acquire()
    print("begun", flush=True)
    await asyncio.gather(*tasks)
    rows = [sorted(copy.items()) for copy in copies]
    print(json.dumps({"messages": messages, "latency": latency, "rows": rows}))


async def _writers(port: int, seconds: float, commits: int, rows: int) -> None:
    """Write at a rate, each commit a request; prints what was answered."""
    answers: list[float] = []
    begin = time.perf_counter()

    async def one(place: int) -> None:
        draws = np.random.default_rng(place)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        number = place
        while (due := number / commits) < seconds:
            await asyncio.sleep(max(0.0, begin + due - time.perf_counter()))
            keys = draws.choice(_KEYS, rows, replace=False)
            sent = time.monotonic_ns()
            body = json.dumps([{"k": int(key), "sent": sent} for key in keys]).encode()
            asked = time.perf_counter()
            writer.write(
                b"POST /v1/tables/t?on_conflict=update HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
            )
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            answer = await reader.readexactly(length)
            answers.append(time.perf_counter() - asked)
            if b" 200 " not in head:
                raise RuntimeError(answer)
            number += _WRITERS
        writer.close()

    await asyncio.gather(*(one(place) for place in range(_WRITERS)))
    spent = time.perf_counter() - begin
    print(json.dumps({"commits": len(answers), "seconds": spent, "answers": answers}))


if __name__ == "__main__":
    role, port, seconds, *rest = sys.argv[1:]
    if role == "follow":
        uvloop.run(_followers(int(port), int(rest[0])))
    else:
        uvloop.run(_writers(int(port), float(seconds), int(rest[0]), int(rest[1])))
