"""What a second process waits for: ``python -m benchmarks.cold`` prints the seconds of its own start as JSON.

The first process on a machine compiles the kernels; all later ones load them from the cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.figures import verify

_ROOT = Path(__file__).resolve().parents[1]


def start_seconds() -> dict[str, float]:
    """Start a second process, after this one has used the kernels, and return its ``import`` and ``kernels``."""
    path = os.pathsep.join(filter(None, [str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.cold"],
        cwd=_ROOT,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    seconds: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return seconds


def main() -> None:
    """Import livejoin, then do everything once that needs a kernel: load, delta, deletion, enumeration, count."""
    start = time.perf_counter()
    import livejoin  # noqa: PLC0415 - what is measured

    imported = time.perf_counter()
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    view = db.create_view(
        "hop3",
        "SELECT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d "
        "FROM G G1 JOIN G G2 ON G1.dst = G2.src JOIN G G3 ON G2.dst = G3.src",
    )
    delta = db.apply("G", [(1, 2), (2, 3), (3, 4), (3, 5)])["hop3"]
    verify("delta", delta.num_rows, 2)
    db.apply("G", [{"src": 3, "dst": 5, "_change_type": "delete"}])
    verify("count", view.count(), 1)
    verify("rows", view.to_arrow().num_rows, 1)
    print(json.dumps({"import": imported - start, "kernels": time.perf_counter() - imported}))


if __name__ == "__main__":
    main()
