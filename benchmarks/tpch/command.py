"""``python -m benchmarks tpch``: options, data, and the measurements one after the other."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.figures import WrongAnswerError, as_json, short
from benchmarks.peers.programs import DBSP, ProgramError, build
from benchmarks.tpch import native
from benchmarks.tpch.data import MissingDataError, load, queries, used
from benchmarks.tpch.measure import Manner, Measured, measure, median
from benchmarks.tpch.streams import KINDS, Stream, stream

COMMITS = (1_000, 10_000)
FIGURES = ("q03", "q05", "q13", "q15")
"""The queries of AJU's figures 12 and 15, and Q3."""
TOGETHER = "all"
PEERS = " DBSP: its time as a multiple of livejoin's, and the least and the most of single rounds."


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser("tpch", help="the 22 queries of TPC-H under updates, as in AJU's section 6")
    parser.add_argument("--scale", type=float, default=0.01, help="of the data: 1 is a gigabyte (0.01)")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where it is, or is made (out/tpch-SCALE)")
    parser.add_argument("--queries", metavar="N,N", help=f"numbers, or '{TOGETHER}' for all together (both)")
    parser.add_argument("--streams", default="fifo", help=f"separated by commas: {', '.join(KINDS)} (fifo)")
    parser.add_argument("--commits", default=",".join(map(str, COMMITS)), help="changes a commit (1000,10000)")
    parser.add_argument("--lambdas", default="10", help="with the stream lambda (10)")
    parser.add_argument("--threads", type=int, default=1, help="of the database (1)")
    parser.add_argument("--runs", type=int, default=2, help="of each measurement, of which the fastest counts (2)")
    parser.add_argument(
        "--columns", choices=("all", "used"), default="all", help="of the tables that a query reads (all)"
    )
    parser.add_argument("--trusted", action="store_true", help="the tables that change keep no rows")
    parser.add_argument("--dbsp", action="store_true", help=f"also by programs in DBSP: {', '.join(native.PLANS)}")
    parser.add_argument("--build", action="store_true", help="build these first by cargo: 350 crates, some 20 minutes")
    parser.add_argument(
        "--figures",
        metavar="SCALES",
        help="instead Q3, Q5, Q13 and Q15, or --queries, against these scales, and against --lambdas at the last one",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")


def run(given: argparse.Namespace, screen: Console, notes: Console) -> int:
    """Measure, print and write; the exit code is 1 if an answer was wrong, 2 if the options make no sense."""
    found: list[Measured] = []
    try:
        if given.build and (skipped := build([DBSP])):
            notes.print(f"nothing is built: {skipped}", highlight=False)
        if given.dbsp and (skipped := native.why_not()):
            notes.print(f"skipped: DBSP: {skipped}", highlight=False)
            given.dbsp = False
        for one in _figures(given) if given.figures else _suite(given):
            found.append(one)
            notes.print(f"[dim]{one.query}, {one.stream}, scale {one.scale:g}, {_commit(one)}: {short(one.rate)}[/]")
    except (MissingDataError, ProgramError, _OptionError) as error:
        notes.print(f"[red]{error}[/]", highlight=False)
        return 2
    except WrongAnswerError as error:
        notes.print(f"[red]wrong answer:[/] {error}", highlight=False)
        return 1
    _show(found, given.threads, screen)
    if given.json:
        written = {**as_json([], benchmark="tpch", threads=given.threads), "figures": [*map(_plain, found)]}
        given.json.write_text(json.dumps(written, indent=1) + "\n")
    return 0


class _OptionError(Exception):
    """An option makes no sense."""


def _suite(given: argparse.Namespace) -> Iterator[Measured]:
    """Each query alone, and all together."""
    texts = _chosen(given.queries)
    everything = [text for views in texts.values() for text in views.values()]
    tables = load(given.scale, given.data, everything if given.columns == "used" else None)
    for kind, times in _streams(given):
        for commit in [0] if kind == "refresh" else _numbers(given.commits):
            for name, views in texts.items():
                some = _used(given, tables, views)
                if kind == "refresh" and not {"orders", "lineitem"} & some.keys():
                    continue
                yield _measure(given, name, views, stream(kind, some, times), given.scale, commit)


def _figures(given: argparse.Namespace) -> Iterator[Measured]:
    """The time of a change against the scale, and against lambda."""
    scales = [float(scale) for scale in given.figures.split(",")]
    everything, commit = queries(), _numbers(given.commits)[-1]
    names = [name for name in _chosen(given.queries) if name != TOGETHER] if given.queries else FIGURES
    texts = [everything[name] for name in names]
    for scale in scales:
        tables = load(scale, given.data, texts if given.columns == "used" else None)
        for name in names:
            views = {name: everything[name]}
            some = _used(given, tables, views)
            for times in dict.fromkeys([1, *(_numbers(given.lambdas) if scale == scales[-1] else [])]):
                yield _measure(given, name, views, stream("lambda", some, times), scale, commit)


def _measure(
    given: argparse.Namespace, name: str, views: Mapping[str, str], changes: Stream, scale: float, commit: int
) -> Measured:
    with tempfile.TemporaryDirectory(prefix="tpch-") as folder:
        peers = {}
        if given.dbsp and name != TOGETHER:
            peers = native.peers(name, views[name], changes, commit, given.threads, Path(folder))
        return measure(name, views, changes, scale, commit, Manner(given.threads, given.trusted), given.runs, peers)


def _streams(given: argparse.Namespace) -> Iterator[tuple[str, int]]:
    for kind in given.streams.split(","):
        if kind not in KINDS:
            msg = f"there is no stream {kind!r}; there are {', '.join(KINDS)}"
            raise _OptionError(msg)
        yield from ((kind, times) for times in (_numbers(given.lambdas) if kind == "lambda" else [1]))


def _chosen(named: str | None) -> dict[str, dict[str, str]]:
    """What is measured: for each name the views."""
    everything = queries()
    single = {name: {name: text} for name, text in everything.items()}
    if named is None:
        return {**single, TOGETHER: everything}
    wanted = [one if one == TOGETHER else f"q{one:0>2}" for one in named.split(",")]
    if unknown := [one for one in wanted if one != TOGETHER and one not in single]:
        msg = f"there is no query {unknown[0]!r}; there are 1 to {len(single)}, and {TOGETHER!r}"
        raise _OptionError(msg)
    return {one: everything if one == TOGETHER else single[one] for one in wanted}


def _numbers(text: str) -> Sequence[int]:
    try:
        numbers = [int(one) for one in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        msg = f"{text!r} are no numbers of at least 1, separated by commas"
        raise _OptionError(msg)
    return numbers


def _used(given: argparse.Namespace, tables: Mapping[str, pa.Table], views: Mapping[str, str]) -> dict[str, pa.Table]:
    return used(tables, views.values(), columns=given.columns == "used")


def _show(found: Sequence[Measured], threads: int, screen: Console) -> None:
    """A table of all, and for each stream and size of commit the median of the queries alone."""
    title = f"TPC-H, {'one thread' if threads == 1 else f'{threads} threads'}; all answers are DuckDB's"
    table = Table(title=title, title_justify="left")
    headings = ("stream", "scale", "commits", "query", "changes", "changes/s", "us a change", "delta rows/s")
    peers = list(dict.fromkeys(name for one in found for name in one.peers))
    for heading in (*headings, "state MB", "tables MB", "answers", "DuckDB", *peers):
        table.add_column(heading, justify="left" if heading in ("stream", "query") else "right")
    for one in found:
        about = (one.stream, f"{one.scale:g}", _commit(one), one.query, f"{one.changes:,}")
        rates = (short(one.rate), short(one.seconds / one.changes * 1e6), short(one.delta_rows / one.seconds))
        sizes = (f"{one.state / 1e6:.1f}", f"{one.tables / 1e6:.1f}", str(one.checks))
        theirs = [_by_peer(one, name) if name in one.peers else "" for name in peers]
        table.add_row(*about, *rates, *sizes, short(one.by_recomputing), *theirs)
    screen.print(table)
    screen.print("DuckDB: a recomputation, as a multiple of a commit." + (PEERS if peers else ""), highlight=False)
    for key in dict.fromkeys((one.stream, one.scale, one.commit) for one in found):
        alone = [one for one in found if (one.stream, one.scale, one.commit) == key and one.query != TOGETHER]
        if len(alone) > 1:
            slow = ", ".join(f"{one.query} {short(one.rate)}" for one in sorted(alone, key=lambda one: one.rate)[:3])
            which = f"{key[0]}, scale {key[1]:g}, {_commit(alone[0])}"
            screen.print(f"{which}: median {short(median(alone))} changes/s; slowest {slow}", highlight=False)


def _by_peer(one: Measured, name: str) -> str:
    ratio, least, most = one.by_peer(name)
    return f"{ratio:.2g} ({least:.2g}-{most:.2g})"


def _commit(one: Measured) -> str:
    return f"{one.commit:,} a commit" if one.commit else "refreshes"


def _plain(one: Measured) -> dict[str, Any]:
    return {**asdict(one), "changes_a_second": one.rate, "by_recomputing": one.by_recomputing}
