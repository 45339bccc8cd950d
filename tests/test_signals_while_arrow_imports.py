"""A signal that arrives while Arrow imports pandas is not lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")

_SCRIPT = """
import importlib.abc, os, signal, sys, tempfile
import livejoin

class Interrupting(importlib.abc.MetaPathFinder):
    done = False

    def find_spec(self, name, path, target=None):
        if name == "pandas" and not self.done:
            self.done = True
            os.kill(os.getpid(), signal.SIGINT)
        return None

db = livejoin.open(sys.argv[1])
db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, a INT); CREATE VIEW c AS SELECT COUNT(*) AS n FROM t")
db.views["c"].keep_history(rows=100)
finder = Interrupting()
sys.meta_path.insert(0, finder)
try:
    for n in range(1000):
        db.apply("t", [(n, n)])
    print("swallowed" if finder.done else "never imported")
except KeyboardInterrupt:
    print("stopped", finder.done)
"""


def test_ctrl_c_in_the_first_commit_of_a_history_stops_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SCRIPT, str(tmp_path / "db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.strip() in ("stopped True", "never imported"), done.stdout + done.stderr
