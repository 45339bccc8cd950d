"""3-Hop over a graph's edges as a change stream with a sliding window: what updates, deltas and enumeration cost.

One thread throughout. Figures of the *operator* come from `livejoin.families.crown.join`, fed with arrays; figures of
the *database* go the user's way, from Arrow tables to Arrow deltas.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import livejoin
from benchmarks import engine, recompute
from benchmarks.cold import start_seconds
from benchmarks.figures import Aim, Figure, verify
from benchmarks.floors import fill_rate, fresh_fill_rate, probe_rate
from benchmarks.stream import EdgeStream
from livejoin.families.delta_chunk import OUTPUT_BYTES
from livejoin.theory.trees.join_tree import least_height_tree
from tests.support.naive import NaiveJoin, NaiveView

BATCH = 10_000  # edges a commit, and between two recomputations
STEP = 1_000  # edges a call of the operator, and a call of replay
SCAN_ROWS = 65_536
REPEATS = 3  # the best of these counts: what disturbs a measurement makes it slower, never faster
PROBES = 5  # of one change: the row, and two edge directories for each of the two atoms that have a parent or a child
ROW_BYTES = 4 * 8
LARGEST = 4 << 30
SCHEMA = "src BIGINT, dst BIGINT"
VIEW = "hop3"
VARIABLES = (("a", "b"), ("b", "c"), ("c", "d"))
Say = Callable[[str], None]


@dataclass(frozen=True)
class Expected:
    """The right answers, by DuckDB: over the last window, and over the first full one, where there are more rows."""

    full: EdgeStream
    at_end: recompute.Fingerprint
    at_full: recompute.Fingerprint

    @staticmethod
    def of(stream: EdgeStream) -> Expected:
        """Recompute both."""
        full = stream.until(stream.window)
        return Expected(full, recompute.recomputed(stream), recompute.recomputed(full))


def measure(stream: EdgeStream, say: Say) -> list[Figure]:
    """All figures of the benchmark.

    Args:
        stream: The change stream.
        say: Takes a line for each step.

    Raises:
        WrongAnswerError: An answer differs from DuckDB's.
    """
    say("compiling or loading kernels, comparing multisets at a small scale")
    exact = small_scale(stream)
    say("recomputing the right answers in DuckDB")
    expected = Expected.of(stream)
    figures = []
    for step in (operator_updates, operator_deltas, enumeration):
        say(step.__name__.replace("_", " "))
        figures += step(stream, expected, exact)
    say("database")
    counted, of_updates = database_updates(stream, expected)
    written, of_deltas = database_deltas(stream, expected)
    figures += [*of_updates, of_deltas]
    say("plain Python dictionaries")
    figures += dictionaries(stream)
    say("recomputation in DuckDB, batch by batch")
    figures += recomputation(stream, counted, written)
    say("start of a second process")
    return [*figures, second_process()]


def small_scale(stream: EdgeStream) -> str:
    """Compare the operator's summed deltas and its enumeration with the naive twin's result, row by row."""
    small = stream.prefix(3_000)
    operator = engine.three_hop(small, 500, live=True)
    deltas = engine.summed_deltas(operator)
    twin = NaiveView(VARIABLES, least_height_tree([frozenset(v) for v in VARIABLES]))
    _feed(twin, small)
    result = Counter(dict(twin.result()))
    verify("summed deltas = naive twin, row by row", deltas, result)
    scan = engine.as_batches(operator, 1_000)
    verify("enumeration = DuckDB", recompute.of_result(scan), recompute.recomputed(small))
    return f"multisets equal at {len(small.edges):,} edges ({len(deltas):,} rows)"


def operator_updates(stream: EdgeStream, expected: Expected, exact: str) -> list[Figure]:
    """Changes a second without enumeration, and the state that they leave."""
    seconds = float("inf")
    for _ in range(REPEATS):
        operator = engine.three_hop(stream, STEP, live=False)
        seconds = min(seconds, engine.run(operator).seconds)
        check = verify("count = DuckDB", operator.join.count(), expected.at_end.rows)
    rows = operator.join.registered
    verify("atom rows", rows, stream.atom_rows())
    used = operator.join.arena.used_bytes
    floor = probe_rate(entries=max(1, used // 32), probes=PROBES * min(stream.changes, 1_000_000)) / PROBES
    return [
        Figure(
            "operator: graph changes, no enumeration",
            stream.changes / seconds,
            "changes/s",
            f"{check}; {exact}",
            floor,
            f"{PROBES} random look-ups a change in a hash table as large as the state ({used / 1e6:.0f} MB)",
            Aim(2e6),
        ),
        Figure(
            "operator: state",
            used / rows,
            "bytes/atom row",
            f"{check}; {rows:,} atom rows",
            aim=Aim(110, most=True),
        ),
    ]


def operator_deltas(stream: EdgeStream, expected: Expected, exact: str) -> list[Figure]:
    """Delta rows a second written to buffers, live views kept; one delta a change, in order."""
    operator = engine.three_hop(stream, STEP, live=True)
    run = engine.run(operator)
    check = verify("count = DuckDB", operator.join.count(), expected.at_end.rows)
    floor = fill_rate(run.delta_rows * ROW_BYTES, OUTPUT_BYTES) / ROW_BYTES
    return [
        Figure(
            "operator: delta rows written",
            run.delta_rows / run.seconds,
            "rows/s",
            f"{check}; {exact}; {run.delta_rows:,} delta rows",
            floor,
            "fill of one buffer of the same size, again and again",
            Aim(5e7),
        ),
        Figure("operator: graph changes, all deltas enumerated", stream.changes / run.seconds, "changes/s", check),
    ]


def enumeration(stream: EdgeStream, expected: Expected, exact: str) -> list[Figure]:
    """Full enumeration of the first full window, piece by piece and into one array; the floor allocates as much."""
    operator = engine.three_hop(expected.full, STEP, live=False)
    engine.run(operator)
    scan = recompute.of_result(engine.as_batches(operator, SCAN_ROWS))
    verify("enumeration = DuckDB", scan, expected.at_full)
    check = f"multiset = DuckDB: {scan.rows:,} rows and the sum of their hashes; {exact}"
    figures = []
    for buffer, into in ((SCAN_ROWS, f"buffers of {SCAN_ROWS:,} rows"), (scan.rows, "one buffer")):
        if buffer * ROW_BYTES > LARGEST:
            continue
        runs = [engine.scanned(operator, buffer) for _ in range(REPEATS)]
        verify("rows again", {run.delta_rows for run in runs}, {scan.rows})
        floor = max(fresh_fill_rate(scan.rows * ROW_BYTES, buffer * ROW_BYTES) for _ in range(REPEATS))
        figures.append(
            Figure(
                f"operator: full enumeration into {into}",
                scan.rows / min(run.seconds for run in runs),
                "rows/s",
                check,
                floor / ROW_BYTES,
                f"np.full of {into}",
                Aim(0.35, "ratio"),
            )
        )
    return figures


def database_updates(stream: EdgeStream, expected: Expected) -> tuple[float, list[Figure]]:
    """Commits of a batch without deltas; the state that they leave; the result as Arrow when the window is full.

    Returns:
        The seconds for the whole stream with a count of the result after each batch, and the figures.
    """
    db, view = _database(stream, deltas=False)
    seconds, counting = 0.0, 0.0
    for batch in stream.batches(BATCH):
        rows = batch.drop_columns("_seq")
        start = time.perf_counter()
        db.apply("G", rows)
        applied = time.perf_counter()
        view.count()
        seconds += applied - start
        counting += time.perf_counter() - applied
    check = verify("count = DuckDB", view.count(), expected.at_end.rows)
    full, result = _database(expected.full, deltas=False)
    full.apply("G", next(expected.full.batches(stream.window)).drop_columns("_seq"))
    found = recompute.of_result(result.batches())
    verify("enumeration = DuckDB", found, expected.at_full)
    start = time.perf_counter()
    verify("rows again", sum(batch.num_rows for batch in result.batches()), found.rows)
    reading = time.perf_counter() - start
    return seconds + counting, [
        Figure(
            f"database: graph changes, no enumeration, {BATCH:,} rows a commit",
            stream.changes / seconds,
            "changes/s",
            check,
        ),
        Figure(
            "database: state of the view",
            view.stats()["state_bytes"] / stream.atom_rows(),
            "bytes/atom row",
            check,
            aim=Aim(110, most=True),
        ),
        Figure(
            "database: full enumeration as Arrow batches",
            found.rows / reading,
            "rows/s",
            f"multiset = DuckDB: {found.rows:,} rows and the sum of their hashes",
        ),
    ]


def database_deltas(stream: EdgeStream, expected: Expected) -> tuple[float, Figure]:
    """A log replayed change by change: the seconds, and the Arrow deltas made in them."""
    db, view = _database(stream, deltas=True)
    seconds, rows, total = 0.0, 0, recompute.NOTHING
    with recompute.connect() as connection:
        for part, right in (
            (stream.batches(STEP, 0, stream.window), expected.at_full),
            (stream.batches(STEP, stream.window), expected.at_end),
        ):
            for log in part:
                start = time.perf_counter()
                delta = db.replay({"G": log}, granularity="change")[VIEW]
                seconds += time.perf_counter() - start
                rows += delta.num_rows
                total += recompute.of_delta(connection, delta)
            verify("sum of deltas = DuckDB", total, right)
            verify("count = DuckDB", view.count(), right.rows)
    check = f"sum of deltas = DuckDB: {expected.at_full.rows:,} rows at the full window, {total.rows:,} at the end"
    name = "database: delta rows as Arrow, one delta a change"
    return seconds, Figure(name, rows / seconds, "rows/s", f"{check}; {rows:,} delta rows")


def _database(stream: EdgeStream, deltas: bool) -> tuple[livejoin.Database, livejoin.View]:
    db = livejoin.Database()
    db.create_table("G", SCHEMA, window_rows=stream.window)
    return db, db.create_view(VIEW, stream.sql, deltas=deltas)


def dictionaries(stream: EdgeStream) -> list[Figure]:
    """How many times as fast the operator is as the same algorithm over dictionaries, on the same prefix."""
    tree = least_height_tree([frozenset(v) for v in VARIABLES])
    figures = []
    for twin, live, edges, what in (
        (NaiveJoin(VARIABLES, tree), False, 200_000, "no enumeration"),
        (NaiveView(VARIABLES, tree), True, 20_000, "all deltas enumerated"),
    ):
        part = stream.prefix(edges)
        seconds = _feed(twin, part)
        operator = engine.three_hop(part, STEP, live)
        run = engine.run(operator)
        check = verify("counts equal", operator.join.count(), twin.count())
        figures.append(
            Figure(
                f"operator: times as fast as dictionaries, {what}",
                seconds / run.seconds,
                "times",
                f"{check}; {len(part.edges):,} edges, dictionaries {part.changes / seconds:,.0f} changes/s",
                aim=Aim(10),
            )
        )
    return figures


def recomputation(stream: EdgeStream, counted: float, written: float) -> list[Figure]:
    """Maintenance against recomputation in DuckDB after each batch, on a sample of the batches.

    Args:
        stream: The change stream.
        counted: Seconds of the database for the stream with a count after each batch.
        written: Seconds of the database for the stream with all deltas, one a change.
    """
    ends = range(BATCH, len(stream.edges) + 1, BATCH)
    sample = list(ends)[:: max(1, len(ends) // 8)] or [len(stream.edges)]
    figures = []
    for what, recompute_seconds, maintained in (
        ("count after each batch", recompute.counting_seconds, counted),
        ("deltas of each change / result of each batch in a table", recompute.writing_seconds, written),
    ):
        anew = sum(recompute_seconds(stream.until(end)) for end in sample) / len(sample)
        batch = maintained * BATCH / len(stream.edges)
        check = f"answers as above; {batch * 1e3:.1f} ms against {anew * 1e3:.1f} ms, the mean of {len(sample)} batches"
        name = f"database: times as fast as DuckDB every {BATCH:,} edges: {what}"
        figures.append(Figure(name, anew / batch, "times", check))
    return figures


def second_process() -> Figure:
    """What a process waits for after another one has compiled the kernels."""
    seconds = start_seconds()
    check = f"delta, deletion, count and enumeration of a small join; import {seconds['import']:.2f} s besides"
    return Figure("kernels loaded in a second process", seconds["kernels"], "s", check, aim=Aim(2, most=True))


def _feed(twin: NaiveJoin, stream: EdgeStream) -> float:
    """Apply the stream to the naive twin; returns the seconds."""
    rows = [(src, dst) for src, dst in stream.edges.tolist()]
    modulus, window = stream.modulus, stream.window
    start = time.perf_counter()
    for number, row in enumerate(rows):
        if number >= window:
            old = rows[number - window]
            for atom in range(2 + (old[1] % modulus == 0)):
                twin.delete(atom, old)
        for atom in range(2 + (row[1] % modulus == 0)):
            twin.insert(atom, row)
    return time.perf_counter() - start
