"""Ranks and running windows over spread tables, in one process: the deltas add up to DuckDB's results."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

import livejoin
from livejoin.schema import Table
from oracle import assert_same_rows, connect, multiset, signed_multiset, without_zeros
from spread_cells import spread
from strategies import IS_FUZZ
from window_views import SCHEMA, VALUES, VIEWS, Row, changed

RANKS = [
    "SELECT a, b, x, RANK() OVER (PARTITION BY a ORDER BY b) AS p, DENSE_RANK() OVER (PARTITION BY a ORDER BY b) AS d"
    " FROM R",
    "SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC) AS n FROM T QUALIFY n <= 3",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY y ORDER BY id) AS n, RANK() OVER (ORDER BY z NULLS FIRST) AS p FROM T",
]


def arrow(table: Table, changes: list[tuple[Row, str]]) -> pa.Table:
    """Changes as an Arrow table."""
    columns = [pa.array([row[i] for row, _ in changes], one.type.arrow) for i, one in enumerate(table.columns)]
    return pa.table(
        [*columns, pa.array([kind for _, kind in changes])], [*(one.name for one in table.columns), "_change_type"]
    )


@pytest.mark.parametrize("cells", [1, 2, 5] if IS_FUZZ else [2])
def test_window_functions(cells: int) -> None:
    bound, draw = livejoin.Database(), random.Random(cells)
    for statement in SCHEMA.strip().splitlines():
        bound.execute(statement)
    texts = dict(enumerate([*VIEWS, *RANKS]))
    for number, sql in texts.items():
        bound.create_view(f"v{number}", sql)
    spread_views = spread(bound, cells)
    rows: dict[str, list[Row]] = {name: [] for name in VALUES}
    told: dict[str, Counter[Row]] = {f"v{number}": Counter() for number in texts}
    for _ in range(8 if IS_FUZZ else 4):
        data = {name: arrow(bound.tables[name], listed) for name, listed in changed(rows, draw).items()}
        for view, deltas in spread_views.apply(data).items():
            for delta in deltas:
                told[view].update(signed_multiset(delta))
        spread_views.check()
        with connect() as connection:
            connection.execute(SCHEMA)
            for name, listed in rows.items():
                for row in listed:
                    connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in row)})", row)
            for number, sql in texts.items():
                expected = multiset(connection.sql(sql).fetchall())
                assert_same_rows(without_zeros(told[f"v{number}"]), expected, sql)
