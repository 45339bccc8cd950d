"""A server that is killed again and again: ``python tests/torture/server_kills.py KILLS SEED``.

Clients write with numbers and send again what had no answer; others follow and come back with the id that they had.
Law: what was answered stands, each request is done once, and whoever follows has the view in the end, with no row that
goes which was not there, and no message of a version that was known.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

from followed import Followed, frozen

SQL = """
    CREATE TABLE t (id BIGINT PRIMARY KEY, k BIGINT, v BIGINT);
    CREATE VIEW totals AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY k;
    CREATE VIEW all_rows AS SELECT id, k FROM t WHERE v > 10
"""
WRITERS, FOLLOWERS = 4, 6


class Served:
    """A server that goes and comes back at one port; mutable."""

    def __init__(self, folder: Path, sql: Path) -> None:
        self._arguments = [str(folder), "--sql", str(sql)]
        self.port = "0"
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "livejoin", "serve", *self._arguments, "--port", self.port]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "serving at" in line:
                self.port = line.split("serving at ")[1].split(",")[0].rpartition(":")[2]
                return process
        raise AssertionError(said)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def kill(self, how: signal.Signals) -> None:
        """End it, and start it again."""
        self.process.send_signal(how)
        self.process.wait()
        self.process = self._start()


def write(served: Served, place: int, seed: int, done: threading.Event) -> tuple[dict[int, tuple[int, int]], int]:
    """Write rows of one's own until the end; what must be there, and how often requests were sent again."""
    draws, rows, number, again = random.Random(seed), dict[int, tuple[int, int]](), 0, 0
    client = httpx.Client(verify=False, timeout=20)  # a certificate store takes 20 ms each time
    while not done.is_set():
        number += 1
        changes: list[dict[str, object]] = []
        after = dict(rows)
        for _ in range(draws.randrange(1, 8)):
            key = place + WRITERS * draws.randrange(50)
            if key in after:
                del after[key]
                changes.append({"_change_type": "delete", "id": key})
            else:
                after[key] = draws.randrange(5), draws.randrange(100)
                changes.append({"_change_type": "insert", "id": key, "k": after[key][0], "v": after[key][1]})
        headers = {"livejoin-client": f"writer {place}", "livejoin-number": str(number)}
        while True:
            try:
                answer = client.post(f"{served.url}/v1/tables/t", json=changes, headers=headers)
            except httpx.TransportError:
                again += 1
                time.sleep(0.3)
                continue
            if answer.status_code == 503:
                continue
            assert answer.status_code == 200, (answer.text, changes)
            break
        rows = after
        time.sleep(draws.random() * 0.02)
    return rows, again


def follow(served: Served, view: str, seed: int, done: threading.Event, last: list[int]) -> Followed:
    """Follow a view, with breaks, until the last version is known."""
    draws = random.Random(seed)
    one = Followed(served.url, view)
    while not done.is_set() or one.version < last[0]:
        one._url = served.url + one._url[one._url.index("/v1") :]
        try:
            one.follow(messages=draws.randrange(1, 60), patience=0.5)
        except httpx.TransportError:
            time.sleep(0.3)
        if done.is_set() and last[0]:
            current = httpx.get(f"{served.url}/v1/views/{view}/rows", timeout=20).json()
            if +one.rows == Counter(map(frozen, current["rows"])):
                break
    return one


def main(kills: int, seed: int) -> None:
    """Run it; raises what was wrong."""
    draws, done, last = random.Random(seed), threading.Event(), [0]
    with tempfile.TemporaryDirectory() as scratch:
        sql = Path(scratch) / "schema.sql"
        sql.write_text(SQL)
        served = Served(Path(scratch) / "a database", sql)
        failures: list[BaseException] = []
        wrote: dict[int, tuple[dict[int, tuple[int, int]], int]] = {}
        followed: dict[int, Followed] = {}

        def guarded(call: object, place: int, into: dict[int, object], *arguments: object) -> None:
            try:
                into[place] = call(*arguments)  # type: ignore[operator]
            except BaseException as error:
                failures.append(error)
                raise

        threads = []
        for place in range(WRITERS):
            arguments = (write, place, wrote, served, place, seed + place, done)
            threads.append(threading.Thread(target=guarded, args=arguments))
        for place in range(FOLLOWERS):
            view = ("totals", "all_rows")[place % 2]
            arguments = (follow, place, followed, served, view, seed + 100 + place, done, last)  # type: ignore[assignment]
            threads.append(threading.Thread(target=guarded, args=arguments))
        for thread in threads:
            thread.start()
        for number in range(kills):
            time.sleep(draws.random() * 1.5)
            if failures:
                break
            served.kill(draws.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
            if number % 10 == 9:
                print(f"{number + 1} kills", flush=True)
        time.sleep(1)
        for thread in threads[:WRITERS]:
            done.set()
            thread.join()
        last[0] = httpx.get(f"{served.url}/healthz").json()["version"]
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        rows = httpx.get(f"{served.url}/v1/tables/t/rows", timeout=20).json()["rows"]
        expected = {key: value for mine, _ in wrote.values() for key, value in mine.items()}
        assert {row["id"]: (row["k"], row["v"]) for row in rows} == expected, "rows are lost or doubled"
        for one in followed.values():
            view = one._url.split("/views/")[1].split("/")[0]
            current = httpx.get(f"{served.url}/v1/views/{view}/rows", timeout=20).json()["rows"]
            assert +one.rows == Counter(map(frozen, current)), f"one who follows {view} has other rows"
            assert one.resets == 1, "one who comes back begins anew, though the folder has the history"
        served.process.terminate()
        served.process.wait()
        again = sum(times for _, times in wrote.values())
        told = [(one.messages, one.resets) for one in followed.values()]
        summary = {"kills": kills, "version": last[0], "sent again": again, "messages, resets": told}
        print(json.dumps(summary), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
