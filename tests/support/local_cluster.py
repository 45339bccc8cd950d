"""Spark with executors in processes of their own, ``local-cluster[2,1,1024]``: a cluster on one machine."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from livejoin.spark import local_session
from livejoin.spark.java import ensure_java

CLUSTER = "local-cluster[2,1,1024]"
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "200ms",
}
"""Tasks that take a little longer than others run a second time, at the same time, where there is `other_hosts`."""

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


def other_hosts(folder: Path) -> dict[str, str]:
    """Settings by which each executor has a host of its own: Spark begins no second attempt on the host of the first.

    All of 127.0.0.0/8 is this machine, but for Spark two names of it are two hosts. A cluster of this kind has one name
    for all; so the command that Spark starts an executor with gets another one on its way.

    Args:
        folder: Where the program is written that stands for Java in the executors.
    """
    ensure_java()
    home = os.environ.get("JAVA_HOME")
    java = Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "java")
    program = folder / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(_JAVA.format(java=java.resolve()))
    program.chmod(0o755)
    return {"spark.executorEnv.JAVA_HOME": str(folder / "java")}


_JAVA = """#!/bin/sh
executor=0 last=
for one; do
    [ "$last" = --executor-id ] && executor=$one
    last=$one
done
last=
for one; do
    shift
    [ "$last" = --hostname ] && one=127.0.0.$((2 + executor % 2))
    last=$one
    set -- "$@" "$one"
done
exec "{java}" "$@"
"""


def second_attempts(log: str) -> int:
    """How many tasks were attempted a second time while the first attempt ran, by Spark's log."""
    slow, found = set[str](), 0
    for line in _TASKS.finditer(log):
        marked, lost, task = line["marked"], line["lost"], line["started"]
        if marked is not None:
            slow.add(marked)
        elif lost is not None:
            slow.discard(_without_attempt(lost))
        elif (one := _without_attempt(task)) in slow:
            slow.discard(one)
            found += 1
    return found


_TASKS = re.compile(
    r"Marking task (?P<marked>\d+ in stage [\d.]+) .*as speculatable"
    r"|Lost task (?P<lost>[\d.]+ in stage [\d.]+)"
    r"|Starting task (?P<started>[\d.]+ in stage [\d.]+)"
)


def _without_attempt(task: str) -> str:
    """A task as it is called before it has attempts: ``1.2 in stage 3.0`` is an attempt of ``1 in stage 3.0``."""
    return re.sub(r"^(\d+)\.\d+", r"\1", task)


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
