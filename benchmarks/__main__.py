"""``python -m benchmarks COMMAND``: graph, queries, batches, crown, paired, peers, spark, tpch, tpcds and others.

The others are hypercube, cells, static, durable, ordered, readers and served.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import batches, cells, durable, hypercube, ordered, readers, served, spark
from benchmarks.crown import command as crown
from benchmarks.figures import Figure, WrongAnswerError, as_json, show
from benchmarks.paired import command as paired
from benchmarks.peers import command as peers
from benchmarks.static import command as static
from benchmarks.stream import EdgeStream, load_edges
from benchmarks.tpcds import command as tpcds
from benchmarks.tpch import command as tpch

SAMPLE = Path(__file__).resolve().parents[1] / "examples" / "hop3" / "data"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a benchmark; the exit code is 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="benchmark", required=True)
    for name, about in (
        ("graph", "3-Hop over a graph's edges as a change stream with a sliding window"),
        ("queries", "the classes of queries over the same stream: projections, aggregates, cycles, stores"),
        ("peers", "the same stream beside native programs: differential dataflow, DBSP, and a floor in plain Rust"),
    ):
        one = commands.add_parser(name, help=about)
        _edge_options(one)
        if name in ("graph", "queries"):
            one.add_argument("--threads", type=int, default=1, help="instead compare this many threads with one")
        if name == "queries":
            one.add_argument("--commit", type=int, default=10_000, help="edges a commit with --threads (10000)")
        elif name == "peers":
            peers.options(one)
    batches.add_parser(commands, SAMPLE)
    crown.options(commands.add_parser("crown", help="CROWN's section 8 on real data, beside other systems"))
    paired.add_parser(commands)
    spark.add_parser(commands)
    tpch.add_parser(commands)
    tpcds.add_parser(commands)
    hypercube.add_parser(commands)
    cells.add_parser(commands)
    static.add_parser(commands)
    durable.add_parser(commands)
    ordered.add_parser(commands)
    readers.add_parser(commands)
    served.add_parser(commands)
    options = parser.parse_args(arguments)
    if options.benchmark == "batches":
        return batches.run(options)
    if options.benchmark == "durable":
        return durable.run(options)
    if options.benchmark == "ordered":
        return ordered.run(options)
    if options.benchmark == "readers":
        return readers.run(options)
    if options.benchmark == "served":
        return served.run(options)
    if options.benchmark == "spark":
        return spark.run(options)
    if options.benchmark == "hypercube":
        return hypercube.run(options)
    if options.benchmark == "cells":
        return cells.run(options)
    if options.benchmark == "static":
        return static.run(options)
    if options.benchmark in ("crown", "paired", "tpch", "tpcds"):
        screen = Console()
        runs = {"crown": crown.run, "paired": paired.run, "tpch": tpch.run, "tpcds": tpcds.run}
        measured = runs[options.benchmark]
        return measured(options, screen if screen.is_terminal else Console(width=200), Console(stderr=True))
    if options.benchmark == "peers":
        options.limit = options.limit or peers.EDGES
    edges = load_edges(SAMPLE, options.limit or 2_000) if options.small else load_edges(options.data, options.limit)
    stream = EdgeStream(edges, max(1, round(options.window * len(edges))), max(1, round(1 / options.keep)))
    notes, screen = Console(stderr=True), Console()
    screen = screen if screen.is_terminal else Console(width=200 if options.benchmark == "peers" else 140)
    if options.benchmark == "peers":
        return peers.run(stream, options, screen, notes)
    over = (
        f"{len(edges):,} edges, window {stream.window:,}, end points divisible by {stream.modulus}, "
        f"{stream.changes:,} graph changes"
    )
    try:
        if options.benchmark == "graph":
            figures = _graph(stream, over, options.threads, screen, notes)
        else:
            figures = _queries(stream, over, options, screen, notes)
    except WrongAnswerError as error:
        notes.print(f"[red]wrong answer:[/] {error}")
        return 1
    if options.json:
        facts = {"benchmark": options.benchmark, "edges": len(edges), "window": stream.window}
        if options.threads > 1 or options.benchmark == "graph":
            facts["threads"] = options.threads
        written = as_json(figures, **facts, modulus=stream.modulus)
        options.json.write_text(json.dumps(written, indent=2) + "\n")
    return 0


def _graph(stream: EdgeStream, over: str, threads: int, screen: Console, notes: Console) -> list[Figure]:
    from benchmarks import graph as one  # noqa: PLC0415 - after --help, which should not wait for the compiler
    from benchmarks import threads as several  # noqa: PLC0415

    def say(line: str) -> None:
        notes.print(f"[dim]{line} ...[/]")

    figures = several.measure(stream, threads, say) if threads > 1 else one.measure(stream, say)
    show(f"3-Hop, {over}, {_counted(threads)}", figures, screen)
    return figures


def _queries(
    stream: EdgeStream, over: str, options: argparse.Namespace, screen: Console, notes: Console
) -> list[Figure]:
    from benchmarks import queries  # noqa: PLC0415 - as above
    from benchmarks import threads as several  # noqa: PLC0415

    def say(line: str) -> None:
        notes.print(f"[dim]{line} ...[/]")

    if options.threads > 1:
        figures = several.classes(stream, options.threads, say, options.commit)
        show(f"Classes of queries, {over}, {options.commit:,} a commit, {options.threads} threads", figures, screen)
        return figures
    measured = queries.measure(stream, say)
    queries.show(f"Classes of queries, {over}, one thread, processor time", measured, screen)
    return [figure for one in measured for figure in one.figures.values()]


def _counted(threads: int) -> str:
    return "one thread" if threads == 1 else f"{threads} threads"


def _edge_options(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="edges, one a line: soc-Epinions1.txt.gz from snap.stanford.edu")
    source.add_argument("--small", action="store_true", help="the first edges of the sample in examples/hop3/data")
    parser.add_argument("--window", type=_share, default=0.2, help="share of the edges in the window (default 0.2)")
    parser.add_argument("--keep", type=_share, default=0.1, help="share of end points that the filter keeps (0.1)")
    parser.add_argument("--limit", type=int, help="take the first LIMIT edges only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        msg = f"{text} is not a share: more than 0, at most 1"
        raise argparse.ArgumentTypeError(msg)
    return share


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the processes that measure are ended too
    sys.exit(main())
