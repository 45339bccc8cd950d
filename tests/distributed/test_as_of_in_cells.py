"""ASOF JOIN over spread tables, in one process: the deltas add up to what one database has."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.schema import Table
from oracle import assert_same_rows, multiset, signed_multiset, without_zeros
from spread_cells import spread
from strategies import IS_FUZZ

Row = tuple[Any, ...]
SCHEMA = "CREATE TABLE T (id INT PRIMARY KEY, k STRING, ts INT); CREATE TABLE Q (k STRING, ts INT, p INT)"
VIEWS = [
    "SELECT T.id, T.ts, Q.* FROM T ASOF LEFT JOIN Q ON T.k = Q.k AND T.ts >= Q.ts",
    "SELECT T.k, SUM(p) AS s, COUNT(*) AS n FROM T ASOF JOIN Q ON T.k = Q.k AND T.ts < Q.ts GROUP BY T.k",
    "SELECT T.ts, COUNT(*) AS n FROM T ASOF JOIN Q ON T.k = Q.k AND T.ts < Q.ts GROUP BY T.ts",
    "SELECT T.id, Q.p FROM T ASOF LEFT JOIN Q ON T.ts > Q.ts",
    "SELECT T.id, g.s FROM T ASOF JOIN (SELECT k, ts, SUM(p) AS s FROM Q GROUP BY k, ts) g USING (k, ts)",
]


def arrow(table: Table, changes: list[tuple[Row, str]]) -> pa.Table:
    """Changes as an Arrow table."""
    columns = [pa.array([row[i] for row, _ in changes], one.type.arrow) for i, one in enumerate(table.columns)]
    return pa.table(
        [*columns, pa.array([kind for _, kind in changes])], [*(one.name for one in table.columns), "_change_type"]
    )


@pytest.mark.parametrize("cells", [1, 2, 5] if IS_FUZZ else [5])
def test_as_of_joins(cells: int) -> None:
    whole, draw = livejoin.Database(), random.Random(cells)
    whole.execute(SCHEMA)
    for number, sql in enumerate(VIEWS):
        whole.create_view(f"v{number}", sql)
    views = spread(whole, cells)
    rows: dict[str, list[Row]] = {"T": [], "Q": []}
    told: dict[str, Counter[Row]] = {name: Counter() for name in whole.views}
    for each in range(8):
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
