"""One measurement: a system on a query and a stream, in a process of its own, with every answer checked.

A point whose answer is not DuckDB's has no time: of livejoin it ends the benchmark, of a peer it is marked WRONG.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmarks import recompute
from benchmarks.crown.content import Answers
from benchmarks.crown.job import Job
from benchmarks.crown.process import lines_of
from benchmarks.crown.queries import CrownQuery
from benchmarks.crown.streams import ChangeStream
from benchmarks.figures import WrongAnswerError

Status = Literal["right", "WRONG", "over the limit", "failed", "skipped"]


@dataclass(frozen=True)
class System:
    """A system.

    Args:
        name: What it is called.
        module: The module of `benchmarks.crown.systems` that runs it.
        peer: Whether it is somebody else's, whose wrong answer does not end the benchmark.
        python: The interpreter.
        needs: The package that it needs there.
        options: What the module takes besides.
        restarts: Whether each point is a run from the start, so that there should be few.
    """

    name: str
    module: str
    peer: bool = False
    python: str = sys.executable
    needs: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    restarts: bool = False

    @property
    def missing(self) -> str:
        """Why it cannot run; empty if it can."""
        if not self.needs:
            return ""
        found = subprocess.run(
            [self.python, "-c", f"import importlib.util as u; raise SystemExit(u.find_spec({self.needs!r}) is None)"],
            check=False,
            capture_output=True,
        )
        return f"{self.needs} is not installed for {Path(self.python).name}" if found.returncode else ""


@dataclass(frozen=True)
class Point:
    """What was measured after so many changes.

    Args:
        events: Changes so far.
        seconds: Of work so far; processor time, or wall-clock time where that is less.
        rows: Rows of the right result.
        memory: The largest memory of the process so far, in bytes.
        more: What only some measurements have: latencies in seconds, figures of the view.
    """

    events: int
    seconds: float
    rows: int
    memory: int
    more: Mapping[str, Any]


@dataclass(frozen=True)
class Measurement:
    """A system on a query and a stream.

    Args:
        system: Its name.
        query: The query's name.
        stream: The stream's name.
        mode: As in `Job`.
        events: Changes of the stream.
        status: How it ended; times before a limit stand.
        points: The points with right answers.
        reason: Why it ended otherwise.
        idle: Memory of the process before the first change, in bytes.
        commit: Changes a commit, 0 where each has a delta of its own.
        facts: What the experiment varies.
        call: Changes a call of livejoin where each has a delta of its own, 0 where that is not so or not known.
        order: The relations in the order that was the fastest of those that were tried; empty if none was.
    """

    system: str
    query: str
    stream: str
    mode: str
    events: int
    status: Status
    points: tuple[Point, ...] = ()
    reason: str = ""
    idle: int = 0
    commit: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)
    call: int = 0
    order: str = ""

    @property
    def seconds(self) -> float | None:
        """Seconds of the whole stream; None where it was not finished rightly."""
        return self.points[-1].seconds if self.status == "right" and self.points else None

    @property
    def reached(self) -> float:
        """The share of the stream that was gone through rightly."""
        return self.points[-1].events / self.events if self.points else 0.0

    def at(self, events: int) -> Point | None:
        """The point after so many changes."""
        return next((point for point in self.points if point.events == events), None)


def measure(  # noqa: PLR0913  # what is varied
    system: System,
    query: CrownQuery,
    stream: ChangeStream,
    mode: str,
    points: tuple[int, ...],
    limit: float,
    answers: Answers,
    *,
    commit: int = 0,
    options: Mapping[str, Any] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Measurement:
    """Run a system and check its answers.

    Args:
        system: The system.
        query: The query.
        stream: The changes, of the query's tables alone.
        mode: As in `Job`.
        points: Numbers of changes after which it is checked and timed; some systems start anew for each.
        limit: Seconds by the clock on the wall from one point to the next after which it is stopped, checks included.
        answers: The right ones.
        commit: As in `Job`.
        options: What the system takes besides.
        facts: What the experiment varies.

    Raises:
        WrongAnswerError: livejoin's answer is wrong.
    """
    given = {**system.options, **(options or {})}
    call = 0 if commit else given.get("call", 0)
    about = (system.name, query.name, stream.name, mode, stream.events)
    if reason := system.missing:
        return Measurement(*about, "skipped", (), reason, 0, commit, facts or {}, call)
    sql = query.own_sql if system.module == "livejoin" else query.sql
    job = Job(query.name, sql, query.shape, query.tables, query.outputs, stream.events, points, mode, commit, given)
    found: list[Point] = []
    status: Status = "right"
    idle, why = 0, ""
    with tempfile.TemporaryDirectory(prefix="crown-") as name:
        folder = Path(name)
        stream.write(folder, query.tables)
        job.write(folder)
        command = [system.python, "-m", f"benchmarks.crown.systems.{system.module}", name]
        with contextlib.closing(lines_of(command, folder, limit)) as lines:  # the process ends before its folder goes
            for line in lines:
                if "stopped" in line:
                    status, why = line["stopped"], line["reason"]
                elif "skipped" in line:
                    status, why = "skipped", line["skipped"]
                elif "ready" in line:
                    idle = line["bytes"]
                else:
                    right = (answers.count if mode == "count" else answers.at)(query, stream, line["point"])
                    answer = answer_of(line, query)
                    if answer != right:
                        status, why = "WRONG", f"after {line['point']:,} changes: {answer}, right is {right}"
                        break
                    used = ("point", "seconds", "bytes", "rows", "hashes", "csv", "json")
                    more = {key: value for key, value in line.items() if key not in used}
                    found.append(Point(line["point"], line["seconds"], right.rows, line["bytes"], more))
    if status == "WRONG" and not system.peer:
        msg = f"{system.name}, {query.name} over {stream.name}, {mode}: {why}; a wrong answer has no speed"
        raise WrongAnswerError(msg)
    kept = () if status == "WRONG" else tuple(found)
    return Measurement(*about, status, kept, why, idle, commit, facts or {}, call)


def answer_of(line: Mapping[str, Any], query: CrownQuery) -> recompute.Fingerprint:
    """The result after a point: what the process says, or what its file of deltas adds up to."""
    if "rows" in line:
        return recompute.Fingerprint(int(line["rows"]), int(line.get("hashes", 0)))
    typed = ", ".join(f"'{name}': '{type_}'" for name, type_ in query.outputs.items())
    if "csv" in line:
        columns = f"{{{typed}, 'time': 'BIGINT', 'diff': 'BIGINT'}}"
        form = "auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"'"
        source = f"read_csv('{line['csv']}', {form}, columns = {columns})"
        sign = "diff"
    else:
        struct = ", ".join(f'"{name}" {type_}' for name, type_ in query.outputs.items())
        columns = f"{{'before': 'STRUCT({struct})', 'after': 'STRUCT({struct})', 'op': 'VARCHAR'}}"
        files = [str(file) for file in Path(line["json"]).rglob("*") if file.is_file() and file.stat().st_size]
        if not files:
            return recompute.NOTHING
        rows = f"read_json({files}, format = 'newline_delimited', columns = {columns})"
        taken = ", ".join(
            f'(CASE op WHEN \'c\' THEN after ELSE before END)."{name}" AS "{name}"' for name in query.outputs
        )
        source = f"(SELECT {taken}, CASE op WHEN 'c' THEN 1 ELSE -1 END AS sign FROM {rows})"
        sign = "sign"
    names = ", ".join(f'"{name}"' for name in query.outputs)
    with recompute.connect() as connection:
        found = connection.execute(f"SELECT sum({sign}), sum({sign}::HUGEINT * hash({names})) FROM {source}").fetchall()
    ((rows_found, hashes),) = found
    return recompute.Fingerprint(int(rows_found or 0), int(hashes or 0))
