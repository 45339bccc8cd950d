"""What a commit of one change costs, by the rows that are there: seconds, and rows that it visits."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import livejoin
from benchmarks.static.cases import Case, Toggle
from benchmarks.static.measured import database, verified
from livejoin.search.algorithm import Algorithm

ROUNDS = 5
_LEAST = 64  # commits of a round
_PATIENCE = 2.0  # seconds of a round, of which then fewer commits are made
_UNTIMED = 2  # commits before the first round, as many as load the kernels


@dataclass(frozen=True)
class Cost:
    """What a change costs.

    Args:
        way: How the tables are declared, and the algorithm.
        toggle: Which change.
        rows: N.
        bound: The bound on a change that was promised.
        seconds: Processor time of a commit, the least mean of the rounds.
        probes: Look-ups a commit.
        visits: Rows that the change went to, a commit.
        check: The check of the result after all changes.
    """

    way: str
    toggle: str
    rows: int
    bound: str
    seconds: float
    probes: float
    visits: float
    check: str


def measure(case: Case, sizes: Sequence[int], largest: int) -> Iterator[Cost]:
    """The costs of each change of a case: first with static tables, then by each family without.

    Args:
        case: The case.
        sizes: The numbers of rows, ascending.
        largest: No all-dynamic tables have more rows; a family may have a cap that is less.

    Raises:
        WrongAnswerError: A result is not DuckDB's.
    """
    declared = "static" if case.static else "all dynamic"
    for rows in sizes:
        yield from _costs(case, rows, declared, case.static, "auto", case.toggles)
    for family, cap in case.families.items():
        for rows in sizes:
            if rows <= min(cap, largest):
                way = "all dynamic" if family == "auto" else f"all dynamic, {family}"
                yield from _costs(case, rows, way, frozenset(), family, (*case.toggles, *case.adverse))


def _costs(
    case: Case, rows: int, way: str, static: frozenset[str], algorithm: Algorithm, toggles: Sequence[Toggle]
) -> Iterator[Cost]:
    given = case.rows(rows)
    made = database(case, given, static)
    view = made.create_view("v", case.sql, deltas=False, algorithm=algorithm)
    bound = str(view.explain().guarantee.bound)
    found = []
    for toggle in toggles:
        changes = _changes(given[toggle.table].column_names, toggle, rows)
        _apply(made, toggle.table, changes, _UNTIMED)
        commits = _UNTIMED
        before, least = view.stats(), float("inf")
        begin = time.process_time()
        for _ in range(ROUNDS):
            took, done = _apply(made, toggle.table, changes, _LEAST)
            least, commits = min(least, took / done), commits + done
            if time.process_time() - begin > _PATIENCE:
                break
        after, timed = view.stats(), commits - _UNTIMED
        probes, visits = ((after[name] - before[name]) / timed for name in ("probes", "propagated"))
        found.append((toggle.name, least, probes, visits))
    check = verified(view, case.sql, given)
    for name, seconds, probes, visits in found:
        yield Cost(way, name, rows, bound, seconds, probes, visits, check)


def _changes(names: Sequence[str], toggle: Toggle, rows: int) -> list[list[dict[str, object]]]:
    """For each row a deletion and an insertion."""
    found = []
    for row in toggle.rows(rows):
        values: dict[str, object] = dict(zip(names, row, strict=True))
        found += [[{**values, "_change_type": kind}] for kind in ("delete", "insert")]
    return found


def _apply(
    made: livejoin.Database, table: str, changes: list[list[dict[str, object]]], least: int
) -> tuple[float, int]:
    """Processor time of all changes, again until there were enough or it took long; how many there were."""
    begin, done = time.process_time(), 0
    while done < least:
        for change in changes:
            made.apply(table, change)
        done += len(changes)
        if time.process_time() - begin > _PATIENCE:
            break
    return time.process_time() - begin, done
