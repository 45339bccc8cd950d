"""A pipeline in cells on a cluster of two executors, in a process of its own: a small share of `cluster_matrix`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_cluster import CLUSTER

pytestmark = pytest.mark.spark

TESTS = Path(__file__).parents[1]


def test_keyed_tables_and_windows_in_two_cells() -> None:
    paths = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    command = [sys.executable, str(TESTS / "cluster_matrix.py"), CLUSTER, "2", "2", "keyed"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-3000:]
    assert "keyed in 2 cells of local-cluster" in done.stdout
