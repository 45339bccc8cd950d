"""Few rows that flip around a large static table: transition systems beside the plan of ``auto`` (C_exp, ICDT 2025).

Half of the static rows are those of one user, half those of one feature, so that turning either on or off meets N/2
rows. One user and feature in ten is on. What is turned comes from some switches; the fewer there are, the more often a
commit makes a change that was made before in the same state.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import livejoin
from benchmarks.static.measured import verified
from livejoin.dataflow.blocks.join import JoinBlock
from livejoin.families.transitions.join import TransitionJoin
from livejoin.search.algorithm import Algorithm

ROUNDS = 4
_ON = 0.1

Switch = tuple[str, int]
"""A table and the value of its row."""

QUERIES = {
    "who has what": "SELECT h.u, h.f FROM has h JOIN users u ON u.u = h.u JOIN features f ON f.f = h.f",
    "who has anything": "SELECT DISTINCT h.u FROM has h JOIN users u ON u.u = h.u JOIN features f ON f.f = h.f",
}


@dataclass(frozen=True)
class Workload:
    """What is turned on and off.

    Args:
        name: What it is, as people read it.
        users: So many users are turned, from the one with most features on; None for all.
        features: The same of features.
    """

    name: str
    users: int | None
    features: int | None

    def switches(self, n: int) -> list[Switch]:
        """What may be turned."""
        users = n // 2 + 1 if self.users is None else self.users
        features = n // 2 + 1 if self.features is None else self.features
        return [*(("users", i) for i in range(users)), *(("features", i) for i in range(features))]


WORKLOADS = (
    Workload("the largest user", 1, 0),
    Workload("4 users and 4 features, any of 256 states", 4, 4),
    Workload("any user or feature, states that never come again", None, None),
)


@dataclass(frozen=True)
class Flips:
    """What commits of one flip cost.

    Args:
        query: The query.
        workload: What is turned.
        algorithm: What maintains the join.
        rows: N.
        first: Processor seconds of a commit in the first round, in which what is met first is made.
        again: The same in the best of the later rounds.
        states: States that are known in the end; 0 without a transition system.
        transitions: The same of transitions.
        made: The share of all steps that were made, and not looked up.
        megabytes: State of the view.
        check: The check of the result after all flips.
    """

    query: str
    workload: str
    algorithm: Algorithm
    rows: int
    first: float
    again: float
    states: int
    transitions: int
    made: float
    megabytes: float
    check: str


def measure(sizes: Sequence[int], commits: int) -> Iterator[Flips]:
    """The costs of each query and workload, by ``auto`` and by ``transitions``.

    Args:
        sizes: The numbers of static rows.
        commits: Of a round.

    Raises:
        WrongAnswerError: A result is not DuckDB's.
    """
    for query in QUERIES:
        for workload in WORKLOADS:
            for rows in sizes:
                for algorithm in ("auto", "transitions"):
                    yield _flips(query, workload, algorithm, rows, commits)


def _flips(query: str, workload: Workload, algorithm: Algorithm, n: int, commits: int) -> Flips:
    generator = random.Random(n)
    has, on = _has(n), {table: {0} for table in ("users", "features")}
    for there in on.values():
        there |= {i for i in range(n // 2 + 1) if generator.random() < _ON}
    made = livejoin.Database()
    made.create_table("has", "u BIGINT, f BIGINT", static=True)
    for table in on:
        made.create_table(table, f"{table[0]} BIGINT")
    made.apply({"has": has, **{table: _rows(table, there) for table, there in on.items()}})
    view = made.create_view("v", QUERIES[query], algorithm=algorithm)
    switches = workload.switches(n)
    seconds = []
    _turn(made, on, [("users", 1), ("users", 1)])  # loads the kernels
    for _ in range(ROUNDS):
        flips = [generator.choice(switches) for _ in range(commits)]
        begin = time.process_time()
        _turn(made, on, flips)
        seconds.append((time.process_time() - begin) / commits)
    stats, (states, transitions) = view.stats(), _known(made)
    steps = stats["propagated"] + stats["stopped"]
    rows = {"has": has, **{table: _rows(table, there) for table, there in on.items()}}
    return Flips(
        query,
        workload.name,
        algorithm,
        n,
        seconds[0],
        min(seconds[1:]),
        states,
        transitions,
        stats["propagated"] / steps if states else 0.0,
        stats["capacity_bytes"] / 1e6,
        verified(view, QUERIES[query], rows),
    )


def _has(n: int) -> pa.Table:
    half = n // 2
    number, zeros = np.arange(1, half + 1), np.zeros(half, np.int64)
    return pa.table({"u": np.concatenate([zeros, number]), "f": np.concatenate([number, zeros])})


def _rows(table: str, there: set[int]) -> pa.Table:
    return pa.table({table[0]: pa.array(sorted(there), pa.int64())})


def _turn(made: livejoin.Database, on: dict[str, set[int]], flips: Sequence[Switch]) -> None:
    """Turn what is on off, and what is off on, one after the other, and read what that changes."""
    for table, value in flips:
        kind = "delete" if value in on[table] else "insert"
        commit = made.apply(table, [{table[0]: value, "_change_type": kind}])
        on[table] ^= {value}
        len(commit["v"])


def _known(made: livejoin.Database) -> tuple[int, int]:
    """States and transitions that are known, 0 without a transition system."""
    for node in made._contents.graph.nodes:
        if isinstance(node.block, JoinBlock) and isinstance(node.block.join, TransitionJoin):
            return node.block.join.system.states, node.block.join.system.transitions
    return 0, 0
