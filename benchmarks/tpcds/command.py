"""``python -m benchmarks tpcds FOLDER``: which of TPC-DS's 99 queries are maintained, and whether they are right."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.tpcds.check import Checked, check
from benchmarks.tpcds.data import MissingDataError, queries, schema


def _verdict(checked: Checked) -> str:
    """What is said of a query."""
    if checked.wrong:
        return f"WRONG: {checked.wrong[:300]}"
    return f"refused: {checked.refused[:120]}" if checked.refused else "taken"


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser("tpcds", help="the 99 queries of TPC-DS over random changes, compared with DuckDB")
    parser.add_argument("folder", type=Path, help="what tools/tpcds.py wrote")
    parser.add_argument("--queries", metavar="N,N", help="their numbers (all)")
    parser.add_argument("--lives", default="0,1,2,3", help="what the rows are drawn by (0,1,2,3)")
    parser.add_argument("--commits", type=int, default=8, help="of each life (8)")


def run(given: argparse.Namespace, screen: Console, notes: Console) -> int:
    """Check, and print a table; the exit code is 1 if an answer was wrong, 2 if there are no texts."""
    try:
        texts, tables = queries(given.folder), schema(given.folder)
    except MissingDataError as error:
        notes.print(f"[red]{error}[/]", highlight=False)
        return 2
    wanted = None if given.queries is None else {f"q{int(one):02}" for one in given.queries.split(",")}
    found = []
    for name, text in texts.items():
        if wanted is None or name in wanted:
            one = _checked(name, text, tables, [int(life) for life in given.lives.split(",")], given.commits)
            found.append(one)
            counts = f"{one.commits} compared, {one.filled} not empty, {one.failed} commits refused"
            notes.print(f"[dim]{name}: {_verdict(one)}; {counts}[/]", highlight=False)
    _show(found, screen)
    return int(any(one.wrong for one in found))


def _checked(name: str, text: str, tables: str, lives: Sequence[int], commits: int) -> Checked:
    found = Checked(name)
    for life in lives:
        found += check(name, text, tables, life, commits)
        if found.refused or found.wrong:
            break
    return found


def _show(found: Sequence[Checked], screen: Console) -> None:
    table = Table(title="TPC-DS; all answers are DuckDB's, or it says so", title_justify="left")
    for heading in ("query", "", "compared", "not empty", "commits refused"):
        table.add_column(heading, justify="left" if heading in ("query", "") else "right")
    for one in found:
        table.add_row(one.name, _verdict(one), str(one.commits), str(one.filled), str(one.failed or ""))
    screen.print(table)
    kinds = [_verdict(one).split(":")[0] for one in found]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    screen.print(f"{len(found)} queries: {counts}", highlight=False)
