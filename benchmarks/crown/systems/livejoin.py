"""livejoin in a process of its own: ``python -m benchmarks.crown.systems.livejoin FOLDER``.

Changes go the user's way, from Arrow tables to Arrow deltas. With commits of 0 changes each change has a delta of its
own (`livejoin.Database.replay`), and the option ``call`` says how many changes a call brings. Answers are summed up as
`benchmarks.recompute.Fingerprint`, beside the clock.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import livejoin
from benchmarks import recompute
from benchmarks.crown.job import SEQUENCE, SIGN, Clock, Job, forget_peak, peak_bytes, read_changes, say, spread
from livejoin.schema import CHANGE_TYPE

WARM = 20_000  # changes of a first run, so that no time has the loading of kernels in it
VIEW = "result"
Batch = Mapping[str, pa.Table]


def main(folder: Path) -> None:
    """Run the job of a folder."""
    job = Job.read(folder)
    changes = {name: labelled(read_changes(folder, name)) for name in job.tables}
    if "threads" in job.options and not has_threads():
        say(skipped="this livejoin has no Database(threads=...)")
        return
    with recompute.connect() as connection:
        first = min(WARM, job.points[-1])
        early = replace(job, points=(max(1, first - 10), first))
        Run(early, changes, connection).all(lambda **_: None)
        say(ready=True, bytes=forget_peak())
        Run(job, changes, connection).all(say)


class Run:
    """A database with the job's query; mutable."""

    def __init__(self, job: Job, changes: Batch, connection: Any) -> None:
        self._job = job
        self._changes = changes
        self._connection = connection
        self._clock = Clock()
        self._database = livejoin.Database(**{k: v for k, v in job.options.items() if k == "threads"})
        for name, columns in job.tables.items():
            typed = ", ".join(f"{c} {t.replace('VARCHAR', 'STRING')}" for c, t in columns.items())
            self._database.create_table(name, typed)
        self._deltas = job.mode in ("delta", "latency")
        algorithm = job.options.get("algorithm", "auto")
        self._view = self._database.create_view(VIEW, job.sql, deltas=self._deltas, algorithm=algorithm)
        self._total = self._result()

    def all(self, tell: Callable[..., None]) -> None:
        """Apply the stream; tells a line for each point."""
        begin, job = 0, self._job
        for number, end in enumerate(job.points):
            spans = {}
            if job.mode == "latency" and number:
                spans = self._single(begin, end)
            else:
                for batch, single in self._batches(begin, end):
                    self._apply(batch, single)
            begin = end
            facts = self._answer() | spans
            stats = self._view.stats()
            known = {name: stats[name] for name in ("state_bytes", "atom_rows", "lambda_observed", "delta_rows")}
            clock = {"seconds": self._clock.seconds, "wall": self._clock.wall}
            tell(point=end, **clock, bytes=peak_bytes(), **facts, **known)

    def _batches(self, begin: int, end: int) -> Iterator[tuple[Batch, bool]]:
        """Changes of each table from one place of the stream to another, a commit or a call at a time."""
        size = self._job.commit or int(self._job.options["call"])
        for start in range(begin, end, size):
            yield self._between(start, min(end, start + size)), not self._job.commit

    def _between(self, start: int, stop: int) -> Batch:
        parts = {}
        for name, table in self._changes.items():
            low, high = np.searchsorted(table[SEQUENCE].to_numpy(), [start, stop])
            if high > low:
                parts[name] = table.slice(low, high - low)
        return parts

    def _apply(self, batch: Batch, single: bool) -> None:
        with self._clock.running():
            commit = self._database.replay(batch, granularity="change") if single else self._database.apply(batch)
        if self._deltas:
            self._total += recompute.of_delta(self._connection, commit[VIEW])

    def _single(self, begin: int, end: int) -> dict[str, object]:
        """Commits of one change, each timed by itself."""
        processor, wall = [], []
        for batch in [self._between(at, at + 1) for at in range(begin, end)]:
            started, cpu = time.perf_counter(), time.thread_time()
            commit = self._database.apply(batch)
            cpu, started = time.thread_time() - cpu, time.perf_counter() - started
            processor.append(cpu)
            wall.append(started)
            self._total += recompute.of_delta(self._connection, commit[VIEW])
        return {"latency": spread(processor), "latency_wall": spread(wall)}

    def _answer(self) -> dict[str, object]:
        """The result: enumerated or counted on the clock if that is the mode, else what the deltas add up to."""
        if self._job.mode == "count":
            self._clock = Clock()
            with self._clock.running():
                rows = self._view.count()
            return {"rows": rows}
        answer = self._total if self._deltas else self._result(on_clock=self._job.mode == "full")
        return {"rows": answer.rows, "hashes": str(answer.hashes)}

    def _result(self, on_clock: bool = False) -> recompute.Fingerprint:
        total = recompute.NOTHING
        clock = self._clock if on_clock else Clock()
        batches = self._view.batches()
        while True:
            with clock.running():
                batch = next(batches, None)
            if batch is None:
                return total
            self._connection.register("part", pa.Table.from_batches([batch]))
            total += recompute.fingerprint(self._connection, "part")


def labelled(changes: pa.Table) -> pa.Table:
    """Changes as livejoin takes them."""
    kinds = pa.array(["delete", "insert"]).take(pa.array((changes[SIGN].to_numpy() > 0).astype(np.int8)))
    return changes.drop_columns(SIGN).append_column(CHANGE_TYPE, kinds)


def has_threads() -> bool:
    """Whether this livejoin splits its work over threads."""
    return "threads" in livejoin.Database.__init__.__annotations__


if __name__ == "__main__":
    main(Path(sys.argv[1]))
