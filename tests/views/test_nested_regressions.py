"""Small lives that once went wrong, found by `test_nested_queries` and made small by `nested_reduce`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from nested_harness import NestedHarness
from scenario import Change, ColumnSpec, QuerySpec, Row, TableSpec
from strategies import type_named

INTS = (ColumnSpec("a", type_named("INT")), ColumnSpec("b", type_named("INT")))
R = TableSpec("R", INTS)
ROWS: tuple[Row, ...] = ((1, 2), (1, 3), (2, 2), (2, None), (3, 1))


def lived(views: Sequence[tuple[str, str]], threads: int = 1) -> NestedHarness:
    """Views that both dialects read alike, over rows of R that come together and leave one by one."""
    harness = NestedHarness((R,), threads)
    for name, sql in views:
        harness.oracle.define(name, sql)
        harness.create_view(name, QuerySpec(sql, sql))
    harness.apply([Change("R", "insert", row) for row in ROWS])
    for row in ROWS:
        harness.apply([Change("R", "delete", row)])
    return harness


@pytest.mark.parametrize("value", ["x.n", "x.n * y.n", "CASE WHEN x.n > 1 THEN y.n END"])
def test_factors_of_stored_relations(value: str) -> None:
    """What is summed was found by its position among all columns of the view, not among those that the join reads."""
    counts = "SELECT a, COUNT(*) AS m, COUNT(b) AS n FROM R GROUP BY a"
    total = f"SELECT x.n AS k, CAST(SUM({value}) AS BIGINT) AS s FROM v x, v y WHERE x.n = y.n GROUP BY x.n"
    lived([("v", counts), ("w", total)])
