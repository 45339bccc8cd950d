"""The systems that are compared, and the interpreters that they run in."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from benchmarks.crown.measure import System

CROWN = "livejoin"
BATCH = 1_000  # changes a commit, where they come in batches


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


def systems(python_pathway: str | None = None, python_flink: str | None = None) -> Systems:
    """The systems with their interpreters; by default this one, where they are skipped if they are not installed."""
    own = tuple(
        System(name, "livejoin", options={"algorithm": algorithm})
        for name, algorithm in ((CROWN, "auto"), ("DYN", "dyn"), ("change propagation", "change-propagation"))
    )
    peers = (
        System("Pathway", "pathway", True, python_pathway or sys.executable, "pathway", restarts=True),
        System("Flink", "flink", True, python_flink or sys.executable, "pyflink", restarts=True),
    )
    return Systems(own, System("DuckDB", "duckdb", True), peers)
