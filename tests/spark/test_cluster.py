"""Keyed tables and windows in cells on a cluster of two executors, in a process of its own, by `cluster_matrix`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.torture,
]

SUPPORT = Path(__file__).parents[1] / "support"


def test_an_executor_a_worker_and_a_cell_are_killed() -> None:
    paths = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    asked = ["--cells", "2", "--batches", "2", "--pipelines", "keyed", "--kill"]
    command = [sys.executable, str(SUPPORT / "cluster_matrix.py"), *asked]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-3000:]
    assert "killed: " in done.stdout
