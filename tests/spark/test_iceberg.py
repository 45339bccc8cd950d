"""Views as tables of a real Iceberg, whose writer is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyspark
import pytest

TESTS = Path(__file__).parents[1]
SPARK = ".".join(pyspark.__version__.split(".")[:2])

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(SPARK not in ("4.0", "4.1"), reason="Iceberg has jars for Spark 4.0 and 4.1"),
    pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven, which brings Iceberg's jar, is not installed"),
]


@pytest.fixture
def jars(tmp_path: Path) -> str:
    found = tmp_path / "classpath"
    options = [f"-Dspark={SPARK}", f"-Dmdep.outputFile={found}", "-Dmdep.pathSeparator=,"]
    file = TESTS / "fixtures" / "iceberg.xml"
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(file), "dependency:build-classpath", *options]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return found.read_text().strip()


def test_tables_of_iceberg(tmp_path: Path, jars: str) -> None:
    dice, held, number = Random(2), list[tuple[int, int]](), 0
    (tmp_path / "in").mkdir()

    def feed() -> None:
        nonlocal number
        lines = []
        for _ in range(20):
            if held and dice.random() < 0.4:
                lines.append((*held.pop(dice.randrange(len(held))), "delete"))
            else:
                held.append((dice.randrange(4), dice.randrange(3)))
                lines.append((*held[-1], "insert"))
        file = tmp_path / "in" / f"{number:03}.csv"
        file.write_text("".join(f"{k},{v},2024-01-01 10:00:00,{kind}\n" for k, v, kind in lines))
        os.utime(file, (10**9 + number, 10**9 + number))
        number += 1

    def run(dies_behind: int) -> Any:
        program = TESTS / "support" / "iceberg_pipeline.py"
        done = subprocess.run(
            [sys.executable, str(program), str(tmp_path), jars, str(dies_behind)],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        if dies_behind >= 0:
            assert done.returncode == -signal.SIGKILL, done.stderr
            return None
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    for _ in range(3):
        feed()
    for dies_behind in (1, 9, 12, 4):  # tables that are made, and statements of batches, one of each kind
        run(dies_behind)
        feed()
        feed()
    found = run(-1)
    keys = Counter(k for k, _ in held)
    assert found["sums"] == [[k, keys[k], sum(v for one, v in held if one == k)] for k in sorted(keys)]
    assert found["total"] == [[len(held)]]
    assert found["rows"] == [[k, v, n] for (k, v), n in sorted(Counter(held).items())]
    told = Counter(k for k, v in held if v > 1)
    assert found["told"] == [[k, told[k]] for k in sorted(told)]
