"""The process that keeps a cell warm: it is asked, killed, told to end, and none of it is seen in what comes out."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pyarrow as pa

import livejoin
from livejoin.checkpoint.job import job_of
from livejoin.distributed import Declared, Held, Outcome, Task
from livejoin.distributed.cell_process import advance_warm, end_processes
from livejoin.distributed.files import delta_of
from livejoin.distributed.parts import Outbox
from oracle import signed_multiset
from scenario import Row

SQL = "SELECT src, COUNT(*) AS n FROM G GROUP BY src"


def test_a_process_that_is_killed_is_another_one_then(tmp_path: Path) -> None:
    bound = livejoin.Database()
    bound.create_table("G", "src BIGINT, dst BIGINT")
    table = bound._contents.catalog["G"]
    declared = Declared(tmp_path, job_of({"G": table}, {"v": SQL}, frozenset(), keep_all=True), 1)
    declared.choose({})
    plan, held, told = declared.plan, Held(), Counter[Row]()

    def batch(number: int, rows: list[int]) -> Outcome:
        nonlocal held, told
        outbox = Outbox(plan, "00000000")
        kinds = pa.array(["insert"] * len(rows))
        outbox.send("g", pa.table({"src": rows, "dst": rows, "_change_type": kinds}))
        task = Task(tmp_path, plan.digest, number, 1, {(0, 0): held})
        outcome, _ = advance_warm(plan, task, 0, 0, outbox.left(tmp_path, number))
        held = outcome.held
        told.update(signed_multiset(delta_of(tmp_path, outcome.deltas["v"][0])))
        return outcome

    try:
        first, second = batch(0, [1, 1, 2]), batch(1, [2])
        assert (first.was_warm, second.was_warm) == (False, True)
        assert first.process == second.process != os.getpid()
        os.kill(first.process, signal.SIGKILL)
        third = batch(2, [3])
        assert not third.was_warm
        assert [one.was_rebuilt for one in (first, second, third)] == [False, False, True]
        assert [one.changes for one in (first, second, third)] == [3, 1, 1]
        assert [one.delta_rows for one in (first, second, third)] == [2, 2, 1]
        assert third.process not in (first.process, os.getpid())
        assert +told == Counter({(1, 2): 1, (2, 2): 1, (3, 1): 1})
    finally:
        end_processes(plan, tmp_path)
