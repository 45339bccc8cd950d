"""What is ready before the first commit, and what is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import pkgutil
from importlib import import_module

from numba.core.dispatcher import Dispatcher

import livejoin
from livejoin import kernels

names = [found.name for found in pkgutil.walk_packages(kernels.__path__, kernels.__name__ + ".")]


def ready():
    found = {}
    for name in names:
        for value in vars(import_module(name)).values():
            if isinstance(value, Dispatcher) and value.stats.cache_path:
                found[f"{value.__module__.removeprefix('livejoin.kernels.')}.{value.__name__}"] = len(value.overloads)
    return found


db = livejoin.Database()
before = ready()
db.create_table("G", "src BIGINT, dst BIGINT", window_rows=20_000)
db.create_table("H", "src BIGINT, name STRING")
db.create_view("hops", "SELECT A.src AS a, B.src AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src")
db.create_view("named", "SELECT G.src, H.name FROM G JOIN H ON G.dst = H.src")
db.apply({"G": [(1, 2), (2, 3), (3, 1)], "H": [(2, "two")]})["hops"].to_pylist()
changes = [{"src": 1, "dst": 2, "_change_type": "delete"}, {"src": 5, "dst": 2, "_change_type": "insert"}]
commit = db.apply({"G": changes, "H": [(3, "three")]})
assert {row["_change_type"] for row in commit["hops"].to_pylist()} == {"insert", "delete"}
try:
    db.apply("G", changes)
except livejoin.LivejoinError:
    print("undone")
after = ready()
print("again", *(name for name, count in after.items() if before[name] and count > before[name]))
print("later", *(name for name, count in after.items() if count and not before[name]))
db.views["hops"].to_arrow()
print("read", *(name for name, count in ready().items() if count > after[name]))
"""


def test_a_commit_finds_its_kernels_ready(tmp_path: Path) -> None:
    """Compiled for the types that it has, but for strings and for what reads a result."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    undone, again, later, read = done.stdout.splitlines()
    assert undone == "undone"
    assert again == "again"
    assert {name.rpartition(".")[0] for name in later.split()[1:]} == {"values.strings"}
    assert read.split() == ["read", "crown.maintain.scan"]
