"""DuckDB, which computes the result anew at each point: ``python -m benchmarks.crown.systems.duckdb FOLDER``.

One thread. Bringing the tables up to date is not timed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb as _duckdb

from benchmarks import recompute
from benchmarks.crown.content import fill
from benchmarks.crown.job import Clock, Job, forget_peak, peak_bytes, read_changes, say

ROWS = 65_536


def main(folder: Path) -> None:
    """Run the job of a folder."""
    job = Job.read(folder)
    changes = {name: read_changes(folder, name) for name in job.tables}
    say(ready=True, bytes=forget_peak())
    clock = Clock()
    for point in job.points:
        with recompute.connect() as connection, recompute.connect() as other:
            fill(connection, changes, point)
            if job.mode == "count":
                say(point=point, **_count(connection, job.sql))
                continue
            with clock.running():
                reader = connection.execute(job.sql).to_arrow_reader(ROWS)
            total, batches = recompute.NOTHING, iter(reader or ())
            while True:
                with clock.running():
                    batch = next(batches, None)
                if batch is None:
                    break
                other.register("part", batch)
                total += recompute.fingerprint(other, "part")
            say(
                point=point,
                seconds=clock.seconds,
                wall=clock.wall,
                bytes=peak_bytes(),
                rows=total.rows,
                hashes=str(total.hashes),
            )


def _count(connection: _duckdb.DuckDBPyConnection, sql: str) -> dict[str, object]:
    clock = Clock()
    with clock.running():
        ((rows,),) = connection.execute(f"SELECT count(*) FROM ({sql})").fetchall()
    return {"seconds": clock.seconds, "wall": clock.wall, "bytes": peak_bytes(), "rows": int(rows)}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
