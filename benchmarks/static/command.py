"""``python -m benchmarks static``: what it is worth to say which tables never change, and what it costs.

Changes: a commit of one change, by the rows that are there, with static tables and with all tables dynamic, each family
on changes that meet many rows. The theory says of C_lin and C_poly that the cost does not depend on the rows; it is
shown as a multiple of that at the smallest size in the same run, beside the rows that a change visits, which do not
depend on the machine. Preparation: rows and seconds of static bags by the rows of the static tables, and their
exponents against the preprocessing width. Refresh: three rows of a static table beside a commit of them and beside
making all anew. State: bytes and the time of a commit of facts, with static dimensions and without, of a star schema,
a snowflake and, where its data is or can be made, of TPC-H. Transitions: rows that flip around a static table (C_exp),
beside ``auto``. A figure stands only if the result is DuckDB's.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.figures import Figure, WrongAnswerError, as_json, short
from benchmarks.static import changes, flipping, preparing, state
from benchmarks.static.cases import CASES, LINEAR, POLYNOMIAL, SHOPS, Case
from benchmarks.tpch.data import MissingDataError

_TIMES = {Fraction(1): 100, Fraction(3, 2): 10}  # so many times the rows, as small widths take no time at few
_MOST_FLIPPED = 100_000  # static rows, beside which commits by auto take milliseconds
_REFRESHED = ((LINEAR, "S"), (SHOPS, "Products"), (POLYNOMIAL, "T"))


def _sizes(options: argparse.Namespace) -> tuple[list[int], list[int], int]:
    """Rows of the changes and of the preparation, and the rows that are refreshed."""
    if options.small:
        return [64, 256], [32, 64, 128], 100
    most = 7 if options.large else 6
    return [10**power for power in range(3, most + 1)], [500, 1_000, 2_000, 4_000], 100_000


def _changes(case: Case, sizes: Sequence[int], options: argparse.Namespace, screen: Console) -> list[Figure]:
    found = list(changes.measure(case, [n for n in sizes if n <= case.most], options.dynamic))
    lines: dict[tuple[str, str], list[changes.Cost]] = defaultdict(list)
    for cost in found:
        lines[cost.way, cost.toggle].append(cost)
    table = Table(title=escape(f"{case.name} ({case.of_class})"), title_justify="left")
    for heading in ("tables", "change", "promised"):
        table.add_column(heading)
    for rows in sizes:
        table.add_column(f"{rows:,}", justify="right")
    for (way, toggle), costs in lines.items():
        first = costs[0].seconds
        cells = {c.rows: f"{c.seconds / first:.3g} ({short(c.visits)})" for c in costs}
        at = f"{costs[0].bound}, {first * 1e6:.0f} us"
        table.add_row(way, toggle, at, *(cells.get(rows, "") for rows in sizes))
    screen.print(table)
    return [
        Figure(
            f"{case.name}: {c.way}, {c.toggle}, {c.rows:,} rows",
            1e6 * c.seconds,
            "us",
            f"{c.check}; promised {c.bound}; {c.visits:g} rows visited, {c.probes:g} look-ups a change",
            1e6 * lines[c.way, c.toggle][0].seconds,
            f"the same over {lines[c.way, c.toggle][0].rows:,} rows",
        )
        for c in found
    ]


def _preparation(sizes: Sequence[int], screen: Console) -> list[Figure]:
    table = Table(title="preparation by the rows of the static tables, N", title_justify="left", show_lines=True)
    for heading in ("query", "width", "N", "rows of bags", "expected", "seconds", "exponent of rows, seconds"):
        table.add_column(heading, justify="left" if heading == "query" else "right")
    figures = []
    for worst in preparing.WORST:
        times = _TIMES.get(worst.width, 1)
        made = list(preparing.prepare(worst, [times * size for size in sizes]))
        tables = [one.tables for one in made]
        seconds = preparing.slope(tables, [max(one.seconds, 1e-6) for one in made])
        rows = preparing.slope(tables, [one.rows for one in made]) if made[0].rows else None
        exponents = f"{'-' if rows is None else f'{rows:.2f}'}, {seconds:.2f}"
        columns = (
            [f"{one.tables:,}" for one in made],
            [f"{one.rows:,}" for one in made],
            ["-" if one.expected is None else f"{one.expected:,.0f}" for one in made],
            [f"{one.seconds:.3f}" for one in made],
        )
        table.add_row(escape(worst.case.name), str(worst.width), *("\n".join(column) for column in columns), exponents)
        check = f"{made[-1].check}; predicted {worst.width}"
        figures.append(Figure(f"{worst.case.name}: exponent of seconds", seconds, "", check))
        if rows is not None:
            figures.append(Figure(f"{worst.case.name}: exponent of rows", rows, "", check))
    screen.print(table)
    return figures


def _refreshes(rows: int, screen: Console) -> list[Figure]:
    table = Table(title="three rows of a static table are others", title_justify="left")
    for heading in ("query", "table", "rows", "refresh, ms", "a commit of them, not static, ms", "all anew, ms"):
        table.add_column(heading, justify="left" if heading in ("query", "table") else "right")
    figures = []
    for case, name in _REFRESHED:
        preparing.refresh(case, name, 100)  # loads the kernels
        found = preparing.refresh(case, name, rows)
        times = (f"{1e3 * seconds:.2f}" for seconds in (found.refreshed, found.committed, found.anew))
        table.add_row(escape(case.name), name, f"{found.rows:,}", *times)
        anew = "declaring, filling and making the view anew"
        figure = Figure(
            f"{case.name}: refresh of {name}", 1e3 * found.refreshed, "ms", found.check, 1e3 * found.anew, anew
        )
        figures.append(figure)
    screen.print(table)
    return figures


def _states(options: argparse.Namespace, screen: Console, notes: Console) -> list[Figure]:
    size = 2_000 if options.small else 300_000
    schemas = [partial(state.star, size), partial(state.snowflake, size)]
    if not options.small:
        schemas.append(partial(state.tpch, 0.1))
    figures = []
    for schema in schemas:
        try:
            given = schema()
        except MissingDataError as error:
            notes.print(f"[yellow]no TPC-H:[/] {error}")
            continue
        table = Table(title=f"{given.name}: {', '.join(given.static)} static", title_justify="left")
        for heading in ("query", "plan", "state, MB", "with static", "times", "a commit, ms", "with static", "times"):
            table.add_column(heading, justify="left" if heading in ("query", "plan") else "right")
        for one in state.measure(given):
            (before, after), (slow, fast) = one.state, one.seconds
            plan = one.plans[1] if one.plans[0] == one.plans[1] else f"{one.plans[0]}, {one.plans[1]}"
            sizes = (f"{before / 1e6:.2f}", f"{after / 1e6:.2f}", f"{after / max(1, before):.2f}")
            table.add_row(one.query, plan, *sizes, f"{1e3 * slow:.2f}", f"{1e3 * fast:.2f}", f"{fast / slow:.2f}")
            name = f"{one.schema}: {one.query}"
            of = "no table static"
            figures.append(Figure(f"{name}, state", after / 1e6, "MB", one.check, before / 1e6, of))
            figures.append(Figure(f"{name}, a commit of {one.changes}", 1e3 * fast, "ms", one.check, 1e3 * slow, of))
        screen.print(table)
    return figures


def _flips(sizes: Sequence[int], commits: int, screen: Console) -> list[Figure]:
    table = Table(title="commits of one flip, with their deltas: auto and transitions", title_justify="left")
    for heading in ("query", "what is turned", "static rows", "auto, us", "first, us", "again, us"):
        table.add_column(heading, justify="left" if heading in ("query", "what is turned") else "right")
    for heading in ("states", "transitions", "made", "MB, auto", "MB"):
        table.add_column(heading, justify="right")
    figures = []
    found = list(flipping.measure(sizes, commits))
    for auto, one in zip(found[::2], found[1::2], strict=True):
        microseconds = (f"{1e6 * seconds:,.0f}" for seconds in (auto.again, one.first, one.again))
        known = (f"{one.states:,}", f"{one.transitions:,}", f"{one.made:.0%}")
        sizes_of = (f"{auto.megabytes:,.1f}", f"{one.megabytes:,.1f}")
        table.add_row(one.query, one.workload, f"{one.rows:,}", *microseconds, *known, *sizes_of)
        what = f"{one.query}, {one.workload}, {one.rows:,} static rows: a flip by transitions"
        figures.append(Figure(what, 1e6 * one.again, "us", one.check, 1e6 * auto.again, "the same by auto"))
        figures.append(Figure(f"{what}, first round", 1e6 * one.first, "us", one.check))
    screen.print(table)
    return figures


def add_parser(commands: Any) -> None:
    """Add the benchmark's arguments to those of the module."""
    parser = commands.add_parser("static", help="what a change costs beside static tables, and what these cost")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--small", action="store_true", help="a few hundred rows, to try it")
    sizes.add_argument("--large", action="store_true", help="to 10^7 rows instead of 10^6")
    parser.add_argument("--dynamic", type=int, default=100_000, help="most rows where all tables change (100000)")
    of_parts = ("changes", "preparation", "refresh", "state", "transitions")
    parser.add_argument("--only", choices=of_parts, help="one part alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")


def run(options: argparse.Namespace) -> int:
    """Run the benchmark; the exit code is 1 if an answer was wrong."""
    notes, screen = Console(stderr=True), Console()
    screen = screen if screen.is_terminal else Console(width=180)
    sizes, bags, refreshed = _sizes(options)
    parts: list[tuple[str, Callable[[], list[Figure]]]] = []
    for case in CASES:
        parts.append(("changes", partial(_changes, case, sizes, options, screen)))
    parts.append(("preparation", lambda: _preparation(bags, screen)))
    parts.append(("refresh", lambda: _refreshes(refreshed, screen)))
    parts.append(("state", lambda: _states(options, screen, notes)))
    flipped = [64, 256] if options.small else [n for n in sizes if n <= _MOST_FLIPPED]
    parts.append(("transitions", lambda: _flips(flipped, 40 if options.small else 2_000, screen)))
    figures: list[Figure] = []
    try:
        for name, measure in parts:
            if options.only in (None, name):
                figures += measure()
    except WrongAnswerError as error:
        notes.print(f"[red]wrong answer:[/] {error}")
        return 1
    if options.json:
        options.json.write_text(json.dumps(as_json(figures, benchmark="static"), indent=2) + "\n")
    return 0
