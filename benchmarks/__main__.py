"""``python -m benchmarks graph --data FILE``: measure and print a table, and JSON where a file is named."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import batches
from benchmarks.figures import WrongAnswerError, as_json, show
from benchmarks.stream import EdgeStream, load_edges

SAMPLE = Path(__file__).resolve().parents[1] / "examples" / "hop3" / "data"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a benchmark; the exit code is 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="benchmark", required=True)
    graph = commands.add_parser("graph", help="3-Hop over a graph's edges as a change stream with a sliding window")
    source = graph.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="edges, one a line: soc-Epinions1.txt.gz from snap.stanford.edu")
    source.add_argument("--small", action="store_true", help="the first edges of the sample in examples/hop3/data")
    graph.add_argument("--window", type=_share, default=0.2, help="share of the edges in the window (default 0.2)")
    graph.add_argument("--keep", type=_share, default=0.1, help="share of end points that the filter keeps (0.1)")
    graph.add_argument("--limit", type=int, help="take the first LIMIT edges only")
    graph.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    graph.add_argument("--threads", type=int, default=1, help="instead compare this many threads with one")
    batches.add_parser(commands, SAMPLE)
    options = parser.parse_args(arguments)
    if options.benchmark == "batches":
        return batches.run(options)

    from benchmarks import graph as one  # noqa: PLC0415 - after --help, which should not wait for the compiler
    from benchmarks import threads as several  # noqa: PLC0415

    edges = load_edges(SAMPLE, options.limit or 2_000) if options.small else load_edges(options.data, options.limit)
    stream = EdgeStream(edges, max(1, round(options.window * len(edges))), max(1, round(1 / options.keep)))
    notes = Console(stderr=True)
    try:

        def say(line: str) -> None:
            notes.print(f"[dim]{line} ...[/]")

        many = options.threads > 1
        figures = several.measure(stream, options.threads, say) if many else one.measure(stream, say)
    except WrongAnswerError as error:
        notes.print(f"[red]wrong answer:[/] {error}")
        return 1
    title = (
        f"3-Hop, {len(edges):,} edges, window {stream.window:,}, "
        f"end points divisible by {stream.modulus}, {stream.changes:,} graph changes, {options.threads} threads"
    )
    screen = Console()
    show(title, figures, screen if screen.is_terminal else Console(width=110))
    if options.json:
        about = {"benchmark": "graph", "edges": len(edges), "window": stream.window, "modulus": stream.modulus}
        about["threads"] = options.threads
        options.json.write_text(json.dumps(as_json(figures, **about), indent=2) + "\n")
    return 0


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        msg = f"{text} is not a share: more than 0, at most 1"
        raise argparse.ArgumentTypeError(msg)
    return share


if __name__ == "__main__":
    sys.exit(main())
