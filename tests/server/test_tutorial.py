"""The tutorial of the manual, as a reader would follow it: its statements, its requests, its page, its program."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import httpx
import pytest

import livejoin
from livejoin.cli.check import check
from livejoin.server import Server

PAGE = Path(__file__).parents[2] / "docs" / "start" / "tutorial.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def requests() -> list[tuple[str, dict[str, object]]]:
    """The path and the body of each request by curl that has a body."""
    found = []
    for block in blocks("sh"):
        for command in re.findall(r"^curl .*?(?=^curl|\Z)", block, re.MULTILINE | re.DOTALL):
            words = shlex.split(command.replace("\\\n", " "))
            if "-d" in words:
                path = next(word for word in words if word.startswith("localhost:8000")).removeprefix("localhost:8000")
                found.append((path, json.loads(words[words.index("-d") + 1])))
    return found


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.sql").write_text(blocks("sql")[0])
    (tmp_path / "server.toml").write_text(blocks("toml")[0])
    assert "3 tables and 2 views" in check(tmp_path / "server.toml")
    with livejoin.open("shop") as db:
        db.execute((tmp_path / "shop.sql").read_text())
        with Server(db, port=0, origins=["http://localhost:8080"]) as server:
            follower = db.views["sales"].changes()
            for path, body in requests():
                assert httpx.post(server.url + path, json=body, timeout=30).status_code == 200
            rows = httpx.get(f"{server.url}/v1/views/sales/rows").json()["rows"]
            assert {row["city"]: row["total"] for row in rows} == {"Bern": "10.00", "Rome": "12.00"}
            deltas = [
                follower.next(timeout=10).delta for _at in range(3)
            ]  # all rows, of which there are none; then two commits
            assert deltas[-1]["_change_type"].to_pylist() == ["update_preimage", "update_postimage"]
            assert deltas[-1]["city"].to_pylist() == ["Bern", "Bern"]
            module = re.search(r'from "http://localhost:8000(/\S+)"', blocks("html")[0])
            assert module is not None
            asked = httpx.get(server.url + module[1], headers={"origin": "http://localhost:8080"})
            assert "export function live" in asked.text
            assert asked.headers["access-control-allow-origin"] == "http://localhost:8080"
            exec(compile(blocks("python")[0].replace("http://127.0.0.1:8000", server.url), "the tutorial", "exec"), {})
    assert "[{'n': 51}]" in capsys.readouterr().out
