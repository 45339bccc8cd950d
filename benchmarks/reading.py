"""Reading 3-Hop without enumerating it: ``python -m benchmarks.reading`` prints what a count, a row and a sample cost.

The graph is random with hubs: the default has about 1.5 G results over 100,000 edges. Every answer is checked against
DuckDB or against the definition of a result.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rich.console import Console

import livejoin
from benchmarks.figures import Aim, Figure, WrongAnswerError, as_json, show, verify
from benchmarks.recompute import connect

Edges = npt.NDArray[np.int64]

HOP3 = (
    "SELECT A.src AS a, B.src AS b, C.src AS c, C.dst AS d FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src"
)
_FASTER = 1000  # times that a count has to be faster than recounting
_CALLS = 200


def graph_with_hubs(edges: int, seed: int = 0) -> Edges:
    """Distinct edges between about 0.27 nodes an edge; sources follow a power law, and half of the targets too."""
    rng = np.random.default_rng(seed)
    nodes = max(8, edges * 4 // 15)
    sources = rng.permutation(nodes)[rng.zipf(1.25, edges) % nodes]
    targets = np.where(rng.random(edges) < 0.5, sources[rng.integers(0, edges, edges)], rng.integers(0, nodes, edges))
    return np.unique(np.stack([sources, targets], axis=1), axis=0)


def measure(edges: Edges, changes: int = 30, draws: int = 1_000_000) -> list[Figure]:
    """All figures; CPU seconds of one thread.

    Args:
        edges: int64 of shape (n, 2).
        changes: Edges that are inserted one by one, with a count after each.
        draws: Rows of the sample.

    Raises:
        WrongAnswerError: An answer is wrong.
    """
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT")
    db.apply("G", pa.table({"src": edges[:, 0], "dst": edges[:, 1]}))
    view = db.create_view("hop3", HOP3)
    quiet = db.create_view("quiet", HOP3, deltas=False)
    recounted, recount = _recounted(edges)
    check = verify("count = DuckDB", view.count(), recounted)
    view.at(0)
    quiet.at(0)
    counts, quiet_counts, positions = [], [], []
    sources = edges[np.random.default_rng(1).integers(0, len(edges), changes), 0]
    new = np.stack([sources, int(edges.max()) + 1 + np.arange(changes)], axis=1)
    for edge in new.tolist():
        db.apply("G", [tuple(edge)])
        counts.append(_seconds(view.count))
        quiet_counts.append(_seconds(quiet.count))
        verify("count = count of the base rows", view.count(), quiet.count())
        positions.append(_seconds(lambda: view.at(-1)))
    verify("count = DuckDB after the changes", view.count(), _recounted(np.concatenate([edges, new]))[0])
    sample = view.sample(draws, seed=1)
    _check_results(sample, np.concatenate([edges, new]))
    row = view.at(view.count() // 2)
    told = verify("rows of the sample are paths in the graph", sample.num_rows, draws)
    once = verify("multiplicity", view.multiplicity(row), 1)
    faster = Aim(recount / _FASTER * 1e6, most=True)
    return [
        Figure("count, with deltas, after each change", median(counts) * 1e6, "us", check, aim=faster),
        Figure("count, without deltas, after each change", median(quiet_counts) * 1e6, "us", check, aim=faster),
        Figure("recounting in DuckDB", recount * 1e6, "us", check),
        Figure("row by position, first after a change", median(positions) * 1e6, "us", told),
        Figure("row by position", _repeated(lambda: view.at(view.count() // 3)) * 1e6, "us", told),
        Figure("sample", draws / _seconds(lambda: view.sample(draws, seed=1)), "rows/s", told),
        Figure("multiplicity of a row", _repeated(lambda: view.multiplicity(row)) * 1e6, "us", once),
    ]


def _recounted(edges: Edges) -> tuple[int, float]:
    """The number of results, and the CPU seconds that DuckDB takes to count them."""
    with connect() as connection:
        connection.register("G", pa.table({"src": edges[:, 0], "dst": edges[:, 1]}))
        start = time.process_time()
        found = connection.execute(f"SELECT count(*) FROM ({HOP3})").fetchall()
        return int(found[0][0]), time.process_time() - start


def _check_results(rows: pa.Table, edges: Edges) -> None:
    """Every two neighbouring columns of a row are an edge."""
    known = edges[:, 0] << 32 | edges[:, 1]
    a, b, c, d = (column.to_numpy() for column in rows.columns)
    for left, right in ((a, b), (b, c), (c, d)):
        if not np.isin(left << 32 | right, known).all():
            msg = "a row of the sample is no path in the graph"
            raise WrongAnswerError(msg)


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _repeated(call: Callable[[], object]) -> float:
    """CPU seconds of a call, on average."""
    return _seconds(lambda: [call() for _ in range(_CALLS)]) / _CALLS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=__doc__)
    parser.add_argument("--edges", type=int, default=150_000, help="edges drawn; equal ones count once (150,000)")
    parser.add_argument("--draws", type=int, default=1_000_000, help="rows of the sample (1,000,000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args(arguments)
    edges = graph_with_hubs(options.edges)
    try:
        figures = measure(edges, draws=options.draws)
    except WrongAnswerError as error:
        Console(stderr=True).print(f"[red]wrong answer:[/] {error}")
        return 1
    screen = Console()
    show(
        f"reading 3-Hop over {len(edges):,} edges, one thread",
        figures,
        screen if screen.is_terminal else Console(width=110),
    )
    if options.json:
        options.json.write_text(json.dumps(as_json(figures, benchmark="reading", edges=len(edges)), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
