"""One measurement: views over a stream, timed commit by commit, compared with DuckDB at every tenth.

DuckDB recomputes the same queries at the same places, and programs of DBSP maintain them where they are asked for. The
rounds of all take turns, so that what disturbs one disturbs all.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import livejoin
from benchmarks.crown.job import Clock
from benchmarks.figures import WrongAnswerError
from benchmarks.tpch.answers import Answers, Recomputed, rows
from benchmarks.tpch.data import statements
from benchmarks.tpch.streams import Stream

TENTHS = 10


@dataclass(frozen=True)
class Measured:
    """What a measurement found.

    Args:
        query: The query, or ``all``.
        stream: The stream.
        scale: The scale factor.
        commit: Changes a commit; 0 where the stream says it.
        changes: Changes of the stream.
        commits: Commits of the stream.
        rounds: The seconds of work of each round: processor time, or time on the wall where several threads make that
            shorter.
        delta_rows: Rows of all deltas.
        state: Bytes of the blocks, the most at any tenth.
        tables: Bytes of the tables and dictionaries at that moment.
        checks: Answers that were compared with DuckDB.
        recomputed: The seconds that DuckDB takes to recompute the results once, the mean of all tenths.
        peers: The seconds of the rounds of other programs.
    """

    query: str
    stream: str
    scale: float
    commit: int
    changes: int
    commits: int
    rounds: tuple[float, ...]
    delta_rows: int
    state: int
    tables: int
    checks: int
    recomputed: float
    peers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Of the fastest round."""
        return min(self.rounds)

    @property
    def rate(self) -> float:
        """Changes a second."""
        return self.changes / self.seconds

    @property
    def by_recomputing(self) -> float:
        """How many times as long as a commit it takes DuckDB to recompute the results after it."""
        return self.recomputed * self.commits / self.seconds

    def by_peer(self, name: str) -> tuple[float, float, float]:
        """How many times as long as livejoin a program takes, and the least and the most of that in single rounds."""
        single = [theirs / ours for theirs, ours in zip(self.peers[name], self.rounds, strict=True)]
        return min(self.peers[name]) / self.seconds, min(single), max(single)


Points = dict[int, Answers]
"""The right answers after so many changes."""
Peer = Callable[[Points], float]
"""A program that maintains the query over the same stream, checks its answers, and says the seconds of its work."""


@dataclass(frozen=True)
class Manner:
    """How views are kept.

    Args:
        threads: Of the database.
        trusted: Whether the tables that change keep no rows.
    """

    threads: int = 1
    trusted: bool = False


@dataclass(frozen=True)
class _Round:
    """What one run found."""

    seconds: float
    delta_rows: int
    state: int
    tables: int


def measure(
    query: str,
    texts: Mapping[str, str],
    given: Stream,
    scale: float,
    commit: int,
    manner: Manner | None = None,
    runs: int = 1,
    peers: Mapping[str, Peer] | None = None,
) -> Measured:
    """Run views over a stream, and again for the least time; all answers of the first run are checked.

    Args:
        query: What is said of the views.
        texts: The views' queries by their names.
        given: The stream.
        scale: The scale factor of its tables.
        commit: Changes a commit, where the stream does not say it.
        manner: How the views are kept.
        runs: How often.
        peers: Other programs by their names, which take turns.

    Raises:
        WrongAnswerError: An answer differs from DuckDB's.
        ProgramError: A program fails.
    """
    right: Points = {}
    recomputed: list[float] = []

    def check(db: livejoin.Database, done: int) -> None:
        with Recomputed(given.contents(done)) as duckdb:
            right[done] = {name: duckdb.rows(text) for name, text in texts.items()}
            compare(db, right[done], f"{query} over {given.name} after {done:,} changes")
            recomputed.append(sum(map(duckdb.seconds, texts.values())))

    taking_part = peers or {}
    found: list[_Round] = []
    theirs: dict[str, list[float]] = {name: [] for name in taking_part}
    for number in range(runs):
        found.append(_run(texts, given, commit, manner or Manner(), check if number == 0 else None))
        for name, peer in taking_part.items():
            theirs[name].append(peer(right))
    best = min(found, key=lambda one: one.seconds)
    return Measured(
        query,
        given.name,
        scale,
        commit,
        given.changes,
        len(given.commit_ends(commit)) - 1,
        tuple(one.seconds for one in found),
        best.delta_rows,
        best.state,
        best.tables,
        sum(map(len, right.values())),
        statistics.mean(recomputed),
        {name: tuple(seconds) for name, seconds in theirs.items()},
    )


def _run(
    texts: Mapping[str, str],
    given: Stream,
    commit: int,
    manner: Manner,
    check: Callable[[livejoin.Database, int], None] | None,
) -> _Round:
    db = livejoin.Database(threads=manner.threads)
    for statement in statements(given.tables, given.changing if manner.trusted else ()):
        db.execute(statement)
    for name in given.tables.keys() - set(given.changing):
        db.apply(name, given.tables[name])
    if manner.trusted:  # what comes before a view is not there for it
        _create(db, texts)
    if given.first:
        db.replay(given.logs(0, given.first), granularity="commit")
    if not manner.trusted:
        _create(db, texts)
    clock, delta_rows, state, tables = Clock(), 0, 0, 0
    points = given.points(commit, TENTHS)
    for log in given.cut():
        clock.start()
        for one in db.replay(log, max_rows=commit or given.changes, granularity="commit"):
            delta_rows += sum(one.rows(name) for name in texts)
            done = 1 + (one.sequence or 0)
            if done not in points:
                continue
            clock.stop()
            held = db.stats()
            if held["state_bytes"] >= state:
                state = held["state_bytes"]
                tables = sum(one["state_bytes"] for one in held["tables"].values()) + held["dictionary_state_bytes"]
            if check:
                check(db, done)
            clock.start()
        clock.stop()
    return _Round(clock.seconds, delta_rows, state, tables)


def _create(db: livejoin.Database, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        db.create_view(name, text)


def compare(db: livejoin.Database, right: Answers, when: str) -> None:
    """Compare all results with the right ones.

    Raises:
        WrongAnswerError: One differs.
    """
    for name, expected in right.items():
        found, wanted = Counter(rows(db.views[name].to_arrow())), Counter(expected)
        if found != wanted:
            wrong = [*(found - wanted).items()][:2], [*(wanted - found).items()][:2]
            msg = f"{when}, {name}: found {wrong[0]}, expected {wrong[1]}; a wrong answer has no speed"
            raise WrongAnswerError(msg)


def median(measured: list[Measured]) -> float:
    """The median of changes a second."""
    return statistics.median(one.rate for one in measured)
