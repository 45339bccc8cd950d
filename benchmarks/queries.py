"""What the classes of queries cost: each over a graph's edges with a sliding window, by its operators, on one thread.

All times are processor time. Each query is measured on the same stream, or on a part of it where the result is too
large, and against standard change propagation (`livejoin.families.chain.join`) on the same stream or a part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table

from benchmarks import recompute
from benchmarks.crown.job import spread
from benchmarks.figures import Aim, Figure, short, verify
from benchmarks.floors import probe_rate
from benchmarks.graph_queries import QUERIES, GraphQuery, Size
from benchmarks.maintained import Maintained, Numbered
from benchmarks.stream import EdgeStream

STEP = 10_000  # edges a call of the operators
REPEATS = 3  # the best of these counts: what disturbs a measurement makes it slower, never faster
SMALL = 2_000
PART = 50_000
MOST_PROBES = 5_000_000
MOST_BYTES = 110
SINGLE = 5_000  # edges whose changes are timed one by one
MOST_SECONDS = 20e-6
Kind = Literal["updates", "single", "deltas", "rows", "state", "lambda", "peer"]
HEADINGS: dict[Kind, str] = {
    "updates": "no deltas\nchanges/s",
    "single": "one change\np99, us",
    "deltas": "Arrow deltas\nchanges/s",
    "rows": "into buffers\ndelta rows/s",
    "state": "state\nB/atom row",
    "lambda": "lambda\nobserved",
    "peer": "standard\ntimes",
}
Say = Callable[[str], None]


@dataclass(frozen=True)
class Measured:
    """The figures of one query."""

    query: GraphQuery
    stream: EdgeStream
    figures: dict[Kind, Figure]


def measure(stream: EdgeStream, say: Say, queries: Sequence[GraphQuery] = QUERIES) -> list[Measured]:
    """All figures of the queries.

    Args:
        stream: The change stream.
        say: Takes a line for each step.
        queries: The queries.

    Raises:
        WrongAnswerError: An answer differs from DuckDB's.
    """
    small = Numbered.of(stream.prefix(SMALL), 100)
    sizes: dict[Size, Numbered] = {"full": Numbered.of(stream, STEP), "part": Numbered.of(stream.prefix(PART), STEP)}
    measured = []
    for query in queries:
        say(query.name)
        small_scale(query, small)
        figures = _updates(query, sizes[query.size]) | _deltas(query, sizes[query.size])
        figures["single"] = _single(query, sizes[query.size])
        figures["peer"] = _peer(query, sizes[query.peer])
        measured.append(Measured(query, sizes[query.size].stream, figures))
    return measured


def small_scale(query: GraphQuery, numbered: Numbered) -> None:
    """Compare results and summed deltas of all that is measured with DuckDB, for the query as it is written.

    This also loads the kernels, so that no later time has it.
    """
    stream = numbered.stream
    sql = query.text(stream.modulus)
    right = recompute.recomputed(stream, f"SELECT COLUMNS(*)::BIGINT FROM ({sql})")  # DuckDB's sums are wider
    verify(f"{query.name}: DuckDB's own text", recompute.recomputed(stream, query.recomputed_as(stream.modulus)), right)
    for algorithm in ("auto", "change-propagation"):
        quiet = Maintained(sql, numbered, False, algorithm)
        quiet.update()
        verify(f"{query.name}, {algorithm}: result", quiet.result(), right)
        loud = Maintained(sql, numbered, True, algorithm)
        verify(f"{query.name}, {algorithm}: sum of deltas", loud.arrow_deltas().total, right)
        verify(f"{query.name}, {algorithm}: result with deltas", loud.result(), right)


def _updates(query: GraphQuery, numbered: Numbered) -> dict[Kind, Figure]:
    """Changes a second without the view's deltas, the state that they leave, and what propagation touched."""
    stream = numbered.stream
    right = recompute.recomputed(stream, query.recomputed_as(stream.modulus))
    seconds = float("inf")
    for _ in range(REPEATS):
        kept = Maintained(query.text(stream.modulus), numbered, deltas=False)
        seconds = min(seconds, kept.update().seconds)
        check = _same("result = DuckDB", kept.result(), right)
    used, counters = kept.state_bytes, kept.counters()
    probes = 1 + counters["probes"] / stream.changes
    floor = probe_rate(max(1, used // 32), min(round(probes * stream.changes), MOST_PROBES)) / probes
    floor_is = f"{probes:.1f} random look-ups a change, as many as were counted, in a table of the state's size"
    figures: dict[Kind, Figure] = {
        "updates": Figure(
            f"{query.name}: graph changes, no deltas",
            stream.changes / seconds,
            "changes/s",
            check,
            floor,
            floor_is,
            Aim(query.aim) if query.aim else None,
        ),
        "state": Figure(
            f"{query.name}: state",
            used / max(1, kept.atom_rows),
            "bytes/atom row",
            f"{check}; {kept.atom_rows:,} atom rows",
            aim=None if kept.stored else Aim(MOST_BYTES, most=True),
        ),
    }
    if counters["touched"]:
        name = f"{query.name}: lambda observed"
        figures["lambda"] = Figure(name, counters["touched"] / stream.changes, "rows touched a change", check)
    return figures


def _single(query: GraphQuery, numbered: Numbered) -> Figure:
    """How long a change takes that comes alone, Python's way to the kernel included."""
    stream = numbered.stream
    right = recompute.recomputed(stream, query.recomputed_as(stream.modulus))
    kept = Maintained(query.text(stream.modulus), numbered, deltas=False)
    found = spread(kept.update_singly(min(SINGLE, len(stream.edges) // 2)))
    told = f"median {found['p50'] * 1e6:.1f}, most {found['max'] * 1e6:.0f} us of processor time"
    return Figure(
        f"{query.name}: one change by itself, no deltas, 99th percentile",
        found["p99"] * 1e6,
        "us",
        f"{_same('result = DuckDB', kept.result(), right)}; {told}",
        aim=None if kept.stored else Aim(MOST_SECONDS * 1e6, most=True),
    )


def _deltas(query: GraphQuery, numbered: Numbered) -> dict[Kind, Figure]:
    """Changes a second with the delta of every change as Arrow; of single joins also what is written into buffers."""
    stream = numbered.stream
    right = recompute.recomputed(stream, query.recomputed_as(stream.modulus))
    kept = Maintained(query.text(stream.modulus), numbered, deltas=True)
    run = kept.arrow_deltas()
    check = f"{_same('sum of deltas = DuckDB', run.total, right)}; {run.delta_rows:,} delta rows"
    name = f"{query.name}: graph changes, all deltas as Arrow"
    figures: dict[Kind, Figure] = {"deltas": Figure(name, stream.changes / run.seconds, "changes/s", check)}
    if not kept.stored:
        kept = Maintained(query.text(stream.modulus), numbered, deltas=True)
        run = kept.write_deltas()
        check = f"{_same('result = DuckDB', kept.result(), right)}; {run.delta_rows:,} delta rows"
        name = f"{query.name}: delta rows written into buffers"
        figures["rows"] = Figure(name, run.delta_rows / run.seconds, "rows/s", check)
    return figures


def _peer(query: GraphQuery, numbered: Numbered) -> Figure:
    """How many times as fast as standard change propagation, both without the view's deltas."""
    stream = numbered.stream
    right = recompute.recomputed(stream, query.recomputed_as(stream.modulus))
    seconds, state = [], []
    for algorithm in ("auto", "change-propagation"):
        kept = Maintained(query.text(stream.modulus), numbered, False, algorithm)
        seconds.append(kept.update().seconds)
        state.append(kept.state_bytes)
        check = _same("both = DuckDB", kept.result(), right)
    told = f"{len(stream.edges):,} edges; it keeps {state[1] / 1e6:,.0f} MB, we {state[0] / 1e6:,.0f} MB"
    return Figure(
        f"{query.name}: times as fast as standard change propagation",
        seconds[1] / seconds[0],
        "times",
        f"{check}; {told}",
    )


def _same(what: str, found: recompute.Fingerprint, right: recompute.Fingerprint) -> str:
    verify(what, found, right)
    return f"{what}: {right.rows:,} rows"


def show(title: str, measured: Sequence[Measured], console: Console) -> None:
    """Print a line a query; a figure that has an aim is green or red."""
    table = Table(title=title, title_justify="left", show_lines=True)
    table.add_column("query, its check and its floor")
    for heading in HEADINGS.values():
        table.add_column(heading, justify="right")
    for one in measured:
        updates = one.figures["updates"]
        floor = f"floor {short(updates.floor or 0)}: {updates.floor_is}"
        notes = [
            f"{len(one.stream.edges):,} edges; {one.figures['deltas'].check}",
            floor,
            one.figures["single"].check,
            one.figures["peer"].check,
        ]
        cells = [_cell(one.figures.get(kind)) for kind in HEADINGS]
        table.add_row(f"[bold]{one.query.name}[/]\n[dim]" + "\n".join(notes) + "[/]", *cells)
    console.print(table)


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return ""
    colour = {True: "green", False: "red", None: "default"}[figure.met]
    return f"[{colour}]{short(figure.value)}[/]" + (f"\n[dim]aim {figure.aim}[/]" if figure.aim else "")
