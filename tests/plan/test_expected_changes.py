"""What the verdict expects is what changes cost on average, within a factor of 3: queries of every kind, exact figures.

Each row of each table leaves and comes back once. An expected number that is told as *up to* may be too large, as a
condition of which nothing is known stops some; other ones hold on both sides.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from statistics import mean

import pytest

from kinds_of_queries import COLUMNS, DECLARED, QUERIES, changed
from livejoin import Database
from livejoin.plan.explain.analyzed.analyzed_explanation import AnalyzedExplanation
from livejoin.plan.explain.effects.amount import Amount

FACTOR = 3.0
ROWS = 20
NARROW = ("top", "offset", "topjoin", "scalar", "above", "aboveown")
"""LIMIT and bounds: what is told as *up to* is no more than a few rows, however many could change."""
IN_ORDER = ("running", "runningall", "rn", "rank", "upto", "overgroups")
"""Windows of which the rows behind a changed one change: half of a partition."""
COUNTED = (
    "in", "exists", "notexists", "notinnn", "notin", "existsjoin", "ineq", "ineqrest", "ineqcolumns", "either",
    "residual", "residualsum", "residual3", "residualself",
)  # fmt: skip
"""Sub-queries and conditions between columns, over whole tables: what is told is a mean, not *up to*."""

Means = Mapping[tuple[str, str], tuple[float, float]]
"""The rows of the delta, and those of the result that changed, of a change of a table."""


@pytest.fixture(scope="module")
def measured() -> tuple[Mapping[str, AnalyzedExplanation], Means]:
    chance = random.Random(11)

    def value(values: int = 5, nulls: float = 0.1) -> int | None:
        return None if chance.random() < nulls else chance.randrange(values)

    there = {
        "r": [(i, value(), value()) for i in range(ROWS)],
        "s": [(value(), value(), value()) for _ in range(ROWS)],
        "t": [(chance.randrange(5), chance.randrange(5)) for _ in range(ROWS)],
        "u": [(i, value()) for i in range(ROWS // 3)],
    }
    db = Database()
    db.execute(DECLARED)
    db.apply(there)
    for name, sql in QUERIES.items():
        db.create_view(name, sql, allow_product=True).analyze(True)
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for table, rows in there.items():
        deltas: dict[str, list[tuple[int, int]]] = {name: [] for name in QUERIES}
        for row in rows:
            for kind in ("delete", "insert"):
                commit = db.apply(table, [dict(zip(COLUMNS[table], row, strict=True)) | {"_change_type": kind}])
                for name in QUERIES:
                    deltas[name].append((commit[name].num_rows, changed(commit[name])))
        for name, pairs in deltas.items():
            found[name, table] = mean(one for one, _ in pairs), mean(one for _, one in pairs)
    told = {name: db.views[name].explain(analyze=True) for name in QUERIES}
    return told, found


def holds(expected: Amount, actual: float, said: str) -> None:
    assert expected.expected is not None, said
    assert actual <= FACTOR * expected.expected + 0.05, said
    if not expected.is_bound:
        assert expected.expected <= FACTOR * actual + 0.05, said


@pytest.mark.parametrize("name", QUERIES)
def test_expected_is_the_mean(name: str, measured: tuple[Mapping[str, AnalyzedExplanation], Means]) -> None:
    told, found = measured
    for one in told[name].effects:
        delta, result = found[name, one.table]
        holds(one.delta, delta, f"{name}: a change of {one.table}, delta: {one.delta}, {delta:.2f} measured")
        holds(one.result, result, f"{name}: a change of {one.table} changes: {one.result}, {result:.2f} measured")
        if name in NARROW:
            assert one.delta.expected is not None
            assert one.delta.expected <= 1 + FACTOR * delta, f"{name}: {one.delta}, {delta:.2f} measured"
        if name == "selflt":  # of two rows of a key one alone is in front of the other one
            assert one.result.expected is not None
            assert one.result.expected <= FACTOR * result, f"{one.result}, {result:.2f} measured"
        if name in COUNTED:
            assert not one.result.is_bound
            assert not one.delta.is_bound
        if name in IN_ORDER:
            assert one.result.expected is not None
            assert one.result.expected <= FACTOR * result, f"{name}: {one.result}, {result:.2f} measured"
    actual = told[name].actual
    assert actual is not None
    for block in actual.blocks:
        if block.met is not None and block.expected_met is not None:
            met = Amount(block.expected_met, None, block.expected_is_bound)
            holds(met, block.met, f"{name}: block {block.number} met {block.met:.2f}, {met}")
