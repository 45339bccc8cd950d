"""Kernels come out of the cache into a process that cannot compile yet."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
import livejoin

db = livejoin.Database()
db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
view = db.create_view("hops", "SELECT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src")
print(db.apply("G", [(1, 2), (2, 3)])["hops"].to_pylist()[0]["dst"])
print("numba.np.linalg" in sys.modules)
view = db.create_view("far", "SELECT regexp_replace(CAST(src AS STRING), '1', 'x') AS s FROM G WHERE dst > 2")
print(view.to_arrow().to_pylist())
"""
"""``numba.np.linalg`` is a part of Numba that it imports when it is about to compile."""


def test_a_process_that_finds_its_kernels_makes_no_compiler_ready() -> None:
    def run() -> list[str]:
        done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    found = ["3", "False", "[{'s': '2'}]"]
    assert run() == found or run() == found  # where they are not there yet, the first process compiles them
