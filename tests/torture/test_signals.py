"""Processes that are interrupted from their first import on: no call breaks, and none aborts.

A process of its own for each, whose kernels no one has warmed: an interrupt inside of Numba or LLVM leaves a process
unusable, or ends it. `make torture` runs more of them, and some whose kernels are compiled meanwhile.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import livejoin

SCRIPT = Path(__file__).with_name("signals.py")
CASES = int(os.environ.get("LIVEJOIN_TORTURE", "0"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))
SEEDS = random.Random(SEED).sample(range(1_000_000), max(1, CASES // 10))


def lives(interrupts: int, seed: int, milliseconds: int, folder: Path | None = None) -> None:
    source = str(Path(livejoin.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": source, **({"NUMBA_CACHE_DIR": str(folder)} if folder else {})}
    command = [sys.executable, str(SCRIPT), str(interrupts), str(seed), str(milliseconds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    assert f"{interrupts} interrupts" in done.stdout


@pytest.mark.parametrize("seed", SEEDS)
def test_interrupts_from_the_first_import_on(seed: int) -> None:
    lives(500 if CASES else 100, seed, 20)


@pytest.mark.skipif(not CASES, reason="compiles all kernels; make torture")
@pytest.mark.parametrize("seed", SEEDS[:3])
def test_interrupts_within_compilations(seed: int, tmp_path: Path) -> None:
    lives(100, seed, 1000, tmp_path)
