"""Windows of time over spread tables, in one process: the deltas add up to what one database has."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from oracle import assert_same_rows, multiset, signed_multiset, without_zeros
from spread_cells import spread

Row = tuple[Any, ...]
BEGIN = datetime(2024, 3, 31)
FIELDS = "COUNT(*) AS n, SUM(v) AS s FROM T GROUP BY"
VIEWS = [
    f"SELECT window.start AS b, {FIELDS} window(ts, '10 minutes')",
    f"SELECT k, window.end AS e, {FIELDS} k, window(ts, '10 minutes', '3 minutes')",
    "SELECT id, window(ts, '4 minutes', '2 minutes').start AS b FROM T",
    f"SELECT k, session_window.start AS b, session_window.end AS e, {FIELDS} k, session_window(ts, '3 minutes')",
    f"SELECT session_window.start AS b, {FIELDS} session_window(ts, '2 minutes')",
]


@pytest.mark.parametrize("cells", [1, 3])
def test_windows_of_time(cells: int) -> None:
    whole, draw = livejoin.Database(), random.Random(cells)
    whole.execute("CREATE TABLE T (id INT PRIMARY KEY, k STRING, ts TIMESTAMP, v INT)")
    for number, sql in enumerate(VIEWS):
        whole.create_view(f"v{number}", sql)
    views = spread(whole, cells)
    there: list[Row] = []
    told: dict[str, Counter[Row]] = {name: Counter() for name in whole.views}
    for each in range(6):
        gone = draw.sample(there, min(len(there), 3))
        came = [
            (10 * each + i, draw.choice([None, "a", "b"]), BEGIN + timedelta(minutes=draw.randrange(40)), i)
            for i in range(6)
        ]
        there = [*(row for row in there if row not in gone), *came]
        changes = [*((row, "delete") for row in gone), *((row, "insert") for row in came)]
        table = whole.tables["T"]
        columns = [pa.array([row[i] for row, _ in changes], one.type.arrow) for i, one in enumerate(table.columns)]
        names = [*(one.name for one in table.columns), "_change_type"]
        data = {"T": pa.table([*columns, pa.array([kind for _, kind in changes])], names)}
        whole.apply(data)
        for view, deltas in views.apply(data).items():
            for delta in deltas:
                told[view].update(signed_multiset(delta))
        views.check()
        for name, view in whole.views.items():
            assert_same_rows(without_zeros(told[name]), multiset(view.to_arrow()), view.sql)
