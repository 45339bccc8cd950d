"""What static tables cost before the first change, and to refresh: rows, seconds, and how both grow with N."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

import livejoin
from benchmarks.static.cases import LINEAR, POLYNOMIAL, TRIANGLE, Case
from benchmarks.static.measured import database, verified
from livejoin.search.algorithm import Algorithm

_CHANGED = 3  # rows of a refresh
_REFRESHES = 5
_ABOUT = re.compile(r"joined once, about ([\d,]+) rows")


@dataclass(frozen=True)
class Worst:
    """A case with the rows that make its preparation as large as its width allows.

    Args:
        case: The case, whose rows are those.
        width: The exponent that the theory predicts.
        algorithm: What maintains it; ``auto`` makes no bags that are large.
    """

    case: Case
    width: Fraction
    algorithm: Algorithm = "view-tree"


def _product(n: int) -> Mapping[str, pa.Table]:
    """All rows of S and T share one value of c."""
    number, zeros = np.arange(n // 2), np.zeros(n // 2, np.int64)
    return {
        "R": pa.table({"a": number[:8], "b": number[:8]}),
        "P": pa.table({"b": number[:8]}),
        "S": pa.table({"a": number, "c": zeros}),
        "T": pa.table({"c": zeros, "d": number}),
    }


def _full(n: int) -> Mapping[str, pa.Table]:
    """All pairs of some values in each table, about n rows together."""
    side = np.arange(int((n / 3) ** 0.5))
    first, second = np.repeat(side, len(side)), np.tile(side, len(side))
    pairs = {name: pa.table({one: first, other: second}) for name, (one, other) in _SIDES.items()}
    return {"R": pa.table({"a": side[:8]}), **pairs}


_SIDES = {"S": ("a", "x"), "T": ("x", "y"), "U": ("a", "y")}
_THREE_HALVES = Case(
    "R(a), static triangle, all columns",
    "C_poly",
    {"R": "a BIGINT", **{name: f"{one} BIGINT, {other} BIGINT" for name, (one, other) in _SIDES.items()}},
    frozenset(_SIDES),
    "SELECT R.a, S.x, T.y FROM R, S, T, U WHERE R.a = S.a AND S.x = T.x AND U.a = R.a AND U.y = T.y",
    _full,
    (),
    (),
    {},
)


def _shared(n: int) -> Mapping[str, pa.Table]:
    """All rows of T and U share one value of c."""
    number, zeros = np.arange(n // 2), np.zeros(n // 2, np.int64)
    few = number[:8]
    return {
        "R": pa.table({"a": few, "b": few}),
        "T": pa.table({"b": number, "c": zeros}),
        "U": pa.table({"a": number, "c": zeros}),
    }


WORST = (
    Worst(LINEAR, Fraction(1), "auto"),
    Worst(replace(POLYNOMIAL, rows=_product), Fraction(2)),
    Worst(replace(TRIANGLE, rows=_shared), Fraction(2)),
    Worst(_THREE_HALVES, Fraction(3, 2)),
)


@dataclass(frozen=True)
class Preparation:
    """What a view costs before its first change.

    Args:
        tables: Rows of the static tables, N.
        rows: Rows of its static bags.
        expected: Those that `explain` expected; None without bags.
        seconds: Processor time of making the view.
        check: The check of its result.
    """

    tables: int
    rows: int
    expected: float | None
    seconds: float
    check: str


def prepare(worst: Worst, sizes: Sequence[int]) -> Iterator[Preparation]:
    """The preparation at each size.

    Raises:
        WrongAnswerError: A result is not DuckDB's.
    """
    _made(worst, sizes[0])  # the first one loads the kernels
    for size in sizes:
        yield _made(worst, size)


def _made(worst: Worst, size: int) -> Preparation:
    case = worst.case
    given = case.rows(size)
    made = database(case, given, case.static)
    begin = time.process_time()
    view = made.create_view("v", case.sql, deltas=False, algorithm=worst.algorithm)
    took = time.process_time() - begin
    rows = sum(block["rows"] for block in made.stats()["blocks"] if block["kind"] == "bag")
    tables = sum(given[name].num_rows for name in case.static)
    return Preparation(tables, rows, _expected(view), took, verified(view, case.sql, given))


def _expected(view: livejoin.View) -> float | None:
    """The rows that `explain` expects in the static bags."""
    told = (text for node in view.explain().to_dict()["plan"]["nodes"] for text in node["views"])
    found = [match for match in map(_ABOUT.fullmatch, told) if match]
    return sum(float(match[1].replace(",", "")) for match in found) if found else None


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent of N in some values: the slope of the least squares line through their logarithms.

    >>> round(slope([10, 100, 1000], [1, 100, 10_000]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


@dataclass(frozen=True)
class Refresh:
    """What a refresh costs beside making the view anew.

    Args:
        rows: Rows of the table that is refreshed.
        refreshed: Processor seconds of `Database.refresh`, which changes three rows.
        committed: Of a commit of the same three deletions and insertions where the table is not static.
        anew: Of declaring and filling the tables and making the view.
        check: The check of the result.
    """

    rows: int
    refreshed: float
    committed: float
    anew: float
    check: str


def refresh(case: Case, table: str, rows: int) -> Refresh:
    """A refresh of three rows, the best of some.

    Raises:
        WrongAnswerError: The result is not DuckDB's.
    """
    given = dict(case.rows(rows))
    begin = time.process_time()
    made = database(case, given, case.static)
    view = made.create_view("v", case.sql, deltas=False)
    anew = time.process_time() - begin
    free = database(case, given, case.static - {table})
    free.create_view("v", case.sql, deltas=False)
    refreshed = committed = float("inf")
    for number in range(_REFRESHES):
        old, new = given[table], _changed(given[table], number)
        given[table] = new
        begin = time.process_time()
        made.refresh(table, new)
        refreshed = min(refreshed, time.process_time() - begin)
        difference = _difference(old, new)
        begin = time.process_time()
        free.apply(table, difference)
        committed = min(committed, time.process_time() - begin)
    return Refresh(given[table].num_rows, refreshed, committed, anew, verified(view, case.sql, given))


def _changed(table: pa.Table, number: int) -> pa.Table:
    """A table with other values in the last column of its last rows."""
    last = table.column(table.num_columns - 1).to_numpy().copy()
    last[-_CHANGED:] = last[-_CHANGED - number - 1 : -number - 1]
    return table.set_column(table.num_columns - 1, table.column_names[-1], pa.array(last))


def _difference(old: pa.Table, new: pa.Table) -> pa.Table:
    """The last rows of a table go, and those of the other come."""
    rows = pa.concat_tables([old.slice(old.num_rows - _CHANGED), new.slice(new.num_rows - _CHANGED)])
    kinds = pa.array(["delete"] * _CHANGED + ["insert"] * _CHANGED)
    return rows.append_column("_change_type", kinds).combine_chunks()
