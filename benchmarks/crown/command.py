"""``python -m benchmarks crown``: options, data, and the experiments one after the other."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.crown.experiments import EXPERIMENTS, Setting
from benchmarks.crown.measure import Measurement
from benchmarks.crown.plots import MissingPackageError, draw
from benchmarks.crown.registry import CALL, systems
from benchmarks.crown.report import Results, read, show, write
from benchmarks.crown.selection import SelectionError, select
from benchmarks.crown.snb import Network, load_network
from benchmarks.crown.streams import load_temporal
from benchmarks.figures import WrongAnswerError
from benchmarks.stream import load_edges

SMALL = 400


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark."""
    parser.add_argument("--small", action="store_true", help="small generated data instead of files, for tests")
    parser.add_argument("--graph", type=Path, help="edges in file order: soc-Epinions1.txt.gz from snap.stanford.edu")
    parser.add_argument("--temporal", type=Path, help="edges with times: sx-mathoverflow.txt.gz from snap.stanford.edu")
    parser.add_argument("--snb", type=Path, help="LDBC's test data for SNB Interactive v1: the archive or its folder")
    parser.add_argument("--snb-scale", type=int, default=10, metavar="N", help="times that the test data is scaled up")
    parser.add_argument("--days", type=int, default=120, help="days that a row of SNB lives (120)")
    parser.add_argument("--edges", type=int, help="take the first EDGES edges of a graph only")
    parser.add_argument("--window", type=float, default=0.2, help="share of a graph's edges in the window (0.2)")
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS", help="for a step of a measurement (60)")
    parser.add_argument("--only", help=f"experiments, separated by commas: {', '.join(EXPERIMENTS)}")
    parser.add_argument("--queries", help="queries by name, separated by commas; by default all")
    parser.add_argument(
        "--call",
        type=_positive,
        default=CALL,
        metavar="N",
        help=f"changes a call of livejoin where each has a delta of its own ({CALL:,})",
    )
    parser.add_argument("--python-pathway", metavar="PYTHON", help="an interpreter with pathway (by default this one)")
    parser.add_argument(
        "--python-flink", metavar="PYTHON", help="an interpreter with apache-flink (by default this one)"
    )
    parser.add_argument("--multi-join", action="store_true", help="also run Flink with its multi-way join operator")
    parser.add_argument(
        "--mini-batch", action="store_true", help="also run Flink with changes in mini-batches of 1,000"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the measurements to FILE, after each one")
    parser.add_argument("--results", type=Path, nargs="+", metavar="FILE", help="measure nothing, show what FILEs hold")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="also draw them, as PNG and SVG, into FOLDER")


def run(given: argparse.Namespace, screen: Console, notes: Console) -> int:
    """Run the experiments; the exit code is 1 if an answer of livejoin was wrong, 2 if the options make no sense."""
    if given.results:
        return _shown(read(given.results), given, screen, notes)
    only, queries = (tuple(named.split(",")) if named else () for named in (given.only, given.queries))
    sources = {"graph": given.small or bool(given.graph or given.temporal), "snb": given.small or bool(given.snb)}
    try:
        selection = select(only, queries, **sources)
    except SelectionError as error:
        notes.print(f"[red]{error}[/]", highlight=False)
        return 2
    for line in selection.left_out:
        notes.print(f"[dim]{line}[/]", highlight=False)
    setting = replace(_setting(given), names=queries)
    about = {
        "benchmark": "crown",
        "limit": given.limit,
        "window": given.window,
        "call": given.call,
        "copies": setting.copies,
        "days": setting.days,
        "graphs": _sizes(setting),
    }
    results: dict[str, list[Measurement]] = {}
    try:
        for name in selection.experiments:
            results[name] = []
            for measurement in EXPERIMENTS[name].run(setting):
                results[name].append(measurement)
                notes.print(f"[dim]{name}: {_line(measurement)}[/]", highlight=False)
                if given.json:
                    write(results, given.json, **about)
    except KeyboardInterrupt:
        notes.print(f"[red]interrupted[/]; {_kept(results, given.json, about)}", highlight=False)
        return 130
    except SystemExit:  # SIGTERM
        notes.print(f"[red]ended from outside[/]; {_kept(results, given.json, about)}", highlight=False)
        raise
    except WrongAnswerError as error:
        notes.print(f"[red]wrong answer:[/] {error}")
        return 1
    return _shown(results, given, screen, notes)


def _shown(results: Results, given: argparse.Namespace, screen: Console, notes: Console) -> int:
    show(results, screen)
    if given.plots:
        try:
            notes.print(f"[dim]{len(draw(results, given.plots))} pictures in {given.plots}[/]")
        except MissingPackageError as error:
            notes.print(f"[red]{error}[/]")
            return 2
    return 0


def _setting(given: argparse.Namespace) -> Setting:
    compared = systems(given.python_pathway, given.python_flink, given.multi_join, given.call, given.mini_batch)
    if given.small:
        edges = np.random.default_rng(5).integers(0, 60, (SMALL, 2))
        setting = Setting({"small": edges}, little_network(), compared, most=SMALL, copies=2, days=30)
    else:
        graphs = {}
        if given.graph:
            graphs[given.graph.name.split(".")[0]] = load_edges(given.graph)
        if given.temporal:
            graphs[given.temporal.name.split(".")[0]] = load_temporal(given.temporal)
        network = load_network(given.snb) if given.snb else None
        setting = Setting(graphs, network, compared, copies=given.snb_scale, days=given.days)
    setting = replace(setting, limit=given.limit, window=given.window)
    return replace(setting, most=given.edges) if given.edges else setting


def little_network() -> Network:
    """A random network with the columns of LDBC's."""
    generator = np.random.default_rng(6)
    persons, messages, day = 20, 120, 24 * 3600 * 1000
    times = np.sort(generator.integers(0, 90 * day, messages))
    replied = np.where(generator.random(messages) < 0.4, generator.integers(0, messages, messages), -1)
    pairs = np.unique(np.sort(generator.integers(0, persons, (40, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    tagged = np.unique(generator.integers(0, (messages, 8), (150, 2)), axis=0)
    names = tuple(f"name {i % 7}" for i in range(persons))
    return Network(
        persons=np.stack([np.arange(persons), generator.integers(0, 30 * day, persons)]),
        names=(names, names[::-1]),
        messages=np.stack([np.arange(messages), generator.integers(0, persons, messages), replied, times]),
        tagged=np.stack([tagged[:, 0], tagged[:, 1], times[tagged[:, 0]]]),
        knows=np.stack([pairs[:, 0], pairs[:, 1], generator.integers(0, 60 * day, len(pairs))]),
        tags=np.arange(8),
        tag_names=tuple(f"tag {i}" for i in range(8)),
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        msg = f"{text} is not a number of changes: at least 1"
        raise argparse.ArgumentTypeError(msg)
    return number


def _kept(results: Results, file: Path | None, about: Mapping[str, Any]) -> str:
    """Keep what was measured in a run that ends early, and say where."""
    if not any(results.values()):
        return "nothing was measured yet"
    if file is None:
        return "what was measured is lost, as there is no --json FILE"
    write(results, file, **about)  # the end may have come before the last measurement was written
    return f"{file} has what was measured; --results {file} shows it"


def _sizes(setting: Setting) -> dict[str, int]:
    return {name: len(setting.edges(edges)) for name, edges in setting.graphs.items()}


def _line(m: Measurement) -> str:
    spent = f"{m.points[-1].seconds:.3g} s at {m.reached:.0%}" if m.points else ""
    varied = ", ".join(f"{name} {value:.4g}" for name, value in m.facts.items())
    told = (
        m.stream,
        m.query,
        m.mode,
        varied,
        f"commits of {m.commit}" if m.commit else "",
        m.system,
        m.order,
        m.status,
        m.reason,
    )
    return ", ".join(filter(None, (*told, spent)))
