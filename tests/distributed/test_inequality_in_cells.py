"""Sums and rows of one comparison of two spread tables, in one process: the deltas add up to what one database has."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from test_as_of_in_cells import SCHEMA, arrow

import livejoin
from oracle import assert_same_rows, multiset, signed_multiset, without_zeros
from spread_cells import spread
from strategies import IS_FUZZ

Row = tuple[Any, ...]
VIEWS = [
    "SELECT COUNT(*) AS n, SUM(p) AS s FROM T JOIN Q ON T.k = Q.k AND T.ts >= Q.ts",
    "SELECT T.k, COUNT(*) AS n FROM T JOIN Q ON T.k = Q.k AND Q.ts BETWEEN T.ts - 2 AND T.ts GROUP BY T.k",
    "SELECT T.id, SUM(p) AS s FROM T JOIN Q ON T.k = Q.k AND T.ts < Q.ts GROUP BY T.id",
    "SELECT T.ts, Q.p, COUNT(*) AS n FROM T JOIN Q ON T.k = Q.k AND T.ts > Q.ts GROUP BY T.ts, Q.p",
    "SELECT COUNT(*) AS n, SUM(p) AS s FROM T JOIN Q ON T.ts > Q.ts",
    "SELECT T.k, COUNT(*) AS n FROM T JOIN Q ON T.ts > Q.ts GROUP BY T.k",
    "SELECT p, COUNT(*) AS n FROM T JOIN Q ON ABS(T.ts - Q.ts) <= 1 GROUP BY p",
    "SELECT T.id, Q.p FROM T JOIN Q ON T.k = Q.k AND Q.ts BETWEEN T.ts - 2 AND T.ts AND Q.p <> T.id",
    "SELECT T.k, Q.p FROM T JOIN Q ON T.k = Q.k AND NOT (T.ts > Q.ts)",
    "SELECT T.id, Q.p FROM T JOIN Q ON T.k = Q.k AND T.ts BETWEEN Q.ts AND Q.p",
    "SELECT T.k, COUNT(*) AS n, AVG(p) AS a FROM T LEFT JOIN Q ON T.k = Q.k AND T.ts > Q.ts GROUP BY T.k",
    "SELECT COUNT(*) AS n, SUM(p) AS s FROM T LEFT JOIN Q ON T.ts < Q.ts AND T.id > 3",
    "SELECT T.k, COUNT(*) AS n, SUM(p) AS s FROM T LEFT JOIN Q ON Q.ts BETWEEN T.ts - 1 AND T.ts GROUP BY T.k",
]


@pytest.mark.parametrize("cells", [1, 2, 5] if IS_FUZZ else [5])
def test_sums_and_rows_of_a_comparison(cells: int) -> None:
    whole, draw = livejoin.Database(), random.Random(cells)
    whole.execute(SCHEMA)
    for number, sql in enumerate(VIEWS):
        whole.create_view(f"v{number}", sql)
    views = spread(whole, cells)
    rows: dict[str, list[Row]] = {"T": [], "Q": []}
    told: dict[str, Counter[Row]] = {name: Counter() for name in whole.views}
    for each in range(6 if IS_FUZZ else 4):
        data = {}
        for name, there in rows.items():
            gone = draw.sample(there, min(len(there), 3))
            place = lambda: (draw.choice([None, "a", "b", "c"]), draw.choice([None, *range(9)]))  # noqa: E731
            came = [(10 * each + i, *place()) if name == "T" else (*place(), i) for i in range(6)]
            there[:] = [*(row for row in there if row not in gone), *came]
            changes = [*((row, "delete") for row in gone), *((row, "insert") for row in came)]
            data[name] = arrow(whole.tables[name], changes)
        whole.apply(data)
        for view, deltas in views.apply(data).items():
            for delta in deltas:
                told[view].update(signed_multiset(delta))
        views.check()
        for name, view in whole.views.items():
            assert_same_rows(without_zeros(told[name]), multiset(view.to_arrow()), view.sql)
