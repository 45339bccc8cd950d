"""``python -m benchmarks tpcds FOLDER``: which of TPC-DS's 99 queries are maintained, and whether they are right."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.tpcds.check import Checked, check
from benchmarks.tpcds.data import MissingDataError, queries, schema, with_bounds


@dataclass(frozen=True)
class Line:
    """A query: what became of its text, and of its text with bounds for its ranks if that was refused."""

    given: Checked
    bounded: Checked | None

    @property
    def checked(self) -> Checked:
        """What was compared."""
        return self.bounded or self.given

    @property
    def verdict(self) -> str:
        """What is said of it."""
        if self.checked.wrong:
            return f"WRONG: {self.checked.wrong[:300]}"
        if self.bounded is not None and not self.bounded.refused:
            return "with a bound of its ranks"
        return f"refused: {self.given.refused[:120]}" if self.given.refused else "taken"


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
    lines = []
    for name, text in texts.items():
        if wanted is None or name in wanted:
            lines.append(_line(name, text, tables, [int(life) for life in given.lives.split(",")], given.commits))
            one = lines[-1].checked
            counts = f"{one.commits} compared, {one.filled} not empty, {one.failed} commits refused"
            notes.print(f"[dim]{name}: {lines[-1].verdict}; {counts}[/]", highlight=False)
    _show(lines, screen)
    return int(any(line.checked.wrong for line in lines))


def _line(name: str, text: str, tables: str, lives: Sequence[int], commits: int) -> Line:
    found = _checked(name, text, tables, lives, commits, None)
    other = with_bounds(name, text) if found.refused else None
    return Line(found, None if other is None else _checked(name, text, tables, lives, commits, other))


def _checked(name: str, text: str, tables: str, lives: Sequence[int], commits: int, asked: str | None) -> Checked:
    found = Checked(name)
    for life in lives:
        found += check(name, text, tables, life, commits, asked)
        if found.refused or found.wrong:
            break
    return found


def _show(lines: Sequence[Line], screen: Console) -> None:
    table = Table(title="TPC-DS; all answers are DuckDB's, or it says so", title_justify="left")
    for heading in ("query", "", "compared", "not empty", "commits refused"):
        table.add_column(heading, justify="left" if heading in ("query", "") else "right")
    for line in lines:
        one = line.checked
        table.add_row(one.name, line.verdict, str(one.commits), str(one.filled), str(one.failed or ""))
    screen.print(table)
    kinds = [line.verdict.split(":")[0] for line in lines]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    screen.print(f"{len(lines)} queries: {counts}", highlight=False)
