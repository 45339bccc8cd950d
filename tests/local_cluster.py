"""Spark with executors in processes of their own, ``local-cluster[2,1,1024]``: a cluster on one machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from livejoin.spark import local_session

CLUSTER = "local-cluster[2,1,1024]"
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "200ms",
}
"""Tasks that take a little longer than others run a second time, at the same time."""

# The first tier of the compiler alone: a JVM that lives for seconds takes half the processor time so.
_QUICK = "-XX:TieredStopAtLevel=1"


def session(master: str, folder: Path, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session in this process, which has none yet.

    Args:
        master: As Spark names it.
        folder: Where Spark's logs go, and what its workers write, which they do in the folder of their Spark.
        settings: More of Spark's settings.
    """
    home = folder / "spark"
    home.mkdir(parents=True)
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    os.environ["SPARK_HOME"] = str(home)
    found = {
        "spark.master": master,
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.driver.extraJavaOptions": _QUICK,
        "spark.executor.extraJavaOptions": _QUICK,
        **(settings or {}),
    }
    return local_session(log_file=folder / "spark.log", settings=found)


def commands() -> dict[int, str]:
    """The commands of all processes that can be seen."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found


def below(pid: int) -> list[tuple[int, str]]:
    """The processes that a process has started, and those that they have, with their commands."""
    parents, found, seen = {}, [], {pid}
    running = commands()
    for one in running:
        with suppress(OSError):
            parents[one] = int(Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[1])
    while more := [one for one, parent in parents.items() if parent in seen and one not in seen]:
        seen.update(more)
        found += [(one, running[one]) for one in more]
    return found


def cells_below(folder: Path) -> list[int]:
    """The processes that keep cells warm and have their sockets below a folder for temporary files."""
    return [pid for pid, command in commands().items() if "cell_process" in command and f"{folder}/" in command]


def executors_of(jvm: int) -> list[int]:
    """The executors that the JVM of a driver has started."""
    return [pid for pid, command in below(jvm) if "CoarseGrainedExecutorBackend" in command]


def python_of(jvm: int) -> list[int]:
    """The processes of Python in the executors."""
    executors = executors_of(jvm)
    return [pid for pid, command in below(jvm) if "pyspark" in command and pid not in executors]
