"""The systems that are compared, and the interpreters that they run in."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from benchmarks.crown.measure import System

CROWN = "livejoin"
_MULTI_JOIN = {"table.optimizer.multi-join.enabled": "true"}
BATCH = 1_000  # changes a commit, where they come in batches
_MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.size": str(BATCH),
    "table.exec.mini-batch.allow-latency": "5 s",
}
CALL = 10_000  # changes a call of livejoin where each has a delta of its own: an Arrow batch of Spark by default


@dataclass(frozen=True)
class Systems:
    """All systems.

    Args:
        own: livejoin's algorithms, the planner's choice first.
        recomputing: DuckDB.
        peers: The others, which maintain views.
    """

    own: tuple[System, ...]
    recomputing: System
    peers: tuple[System, ...]

    @property
    def main(self) -> System:
        """livejoin as it comes."""
        return self.own[0]


def systems(
    python_pathway: str | None = None,
    python_flink: str | None = None,
    multi_join: bool = False,
    call: int = CALL,
    mini_batch: bool = False,
) -> Systems:
    """The systems with their interpreters; by default this one, where they are skipped if they are not installed.

    Args:
        python_pathway: The interpreter for Pathway.
        python_flink: The interpreter for Flink.
        multi_join: Whether Flink is also run with its operator for joins of several inputs, which is off by default.
        call: Changes a call of livejoin, where each has a delta of its own.
        mini_batch: Whether Flink is also run with changes collected before each operator, which is off by default.
    """
    own = tuple(
        System(name, "livejoin", options={"algorithm": algorithm, "call": call})
        for name, algorithm in ((CROWN, "auto"), ("DYN", "dyn"), ("change propagation", "change-propagation"))
    )
    peers: tuple[System, ...] = (
        System("Pathway", "pathway", True, python_pathway or sys.executable, "pathway", restarts=True),
        System("Flink", "flink", True, python_flink or sys.executable, "pyflink", restarts=True),
    )
    if multi_join:
        peers += (replace(peers[1], name="Flink MultiJoin", options={"set": _MULTI_JOIN}),)
    if mini_batch:
        peers += (replace(peers[1], name="Flink in mini-batches", options={"set": _MINI_BATCH}),)
    return Systems(own, System("DuckDB", "duckdb", True), peers)
