"""Rows of views with outer, semi and anti joins by position and by value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from livejoin import Database
from outer_join_lives import COLUMNS, commits
from scenario import Change
from strategies import seeds

SHOWN = (
    "SELECT R.a, R.b, R.c, S.b AS k, S.a AS x, S.d FROM R LEFT JOIN S ON R.b = S.b",
    "SELECT R.a, R.b, R.c, S.a AS x, S.d FROM R LEFT JOIN S ON R.b = S.b",
    "SELECT R.a, R.b, R.c, S.a AS x, S.d, T.a AS p, T.c AS q, T.d AS r FROM R LEFT JOIN (S JOIN T ON S.d = T.d) "
    "ON R.b = S.b",
    "SELECT R.a, R.b, R.c, S.a AS x, S.d, T.a AS p, T.c AS q FROM R LEFT JOIN S ON R.b = S.b LEFT JOIN T ON S.d = T.d",
    "SELECT R.a, R.b, R.c FROM R SEMI JOIN (S ANTI JOIN T ON S.d = T.d) ON R.b = S.b",
    "SELECT R.a, R.b, R.c FROM R ANTI JOIN S ON R.b = S.b",
)


def by_table(changes: Sequence[Change]) -> dict[str, list[dict[str, Any]]]:
    """Changes as `Database.apply` takes them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in changes:
        row = dict(zip(COLUMNS[one.table], one.row, strict=True))
        found.setdefault(one.table, []).append({**row, "_change_type": one.kind})
    return found


@pytest.mark.parametrize("seed", seeds(1, 2))
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_where_they_are_and_as_often(seed: int, threads: int) -> None:
    database = Database(threads=threads)
    for name, columns in COLUMNS.items():
        database.create_table(name, ", ".join(f"{column} INT" for column in columns))
    views = [database.create_view(f"v{number}", sql) for number, sql in enumerate(SHOWN)]
    for changes in commits(seed, 8):
        database.apply(by_table(changes))
        for view in views:
            rows = list(zip(*(column.to_pylist() for column in view.to_arrow().columns), strict=True))
            assert view.count() == len(rows)
            assert [view.at(position) for position in range(0, len(rows), 7)] == rows[::7]
            times = Counter(rows)
            for row in list(times)[:10]:
                assert view.multiplicity(row) == times[row], (view.name, row)
                other = (*row[:-1], None if row[-1] is not None else 0)
                assert view.multiplicity(other) == times[other], (view.name, other)
