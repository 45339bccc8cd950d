"""State is that of the rows that are there, whatever was there before: joins of every family, through `stats`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.search.algorithm import Algorithm

HUB = 600


def moves(db: livejoin.Database, table: str, columns: tuple[str, str], keys: range) -> None:
    """A key gets many rows and loses all but one; then the next key does."""
    for key in keys:
        rows = {columns[0]: np.arange(HUB) + key * HUB, columns[1]: np.full(HUB, key)}
        db.apply(table, pa.table(rows))
        gone = {name: values[1:] for name, values in rows.items()}
        db.apply(table, pa.table({**gone, "_change_type": ["delete"] * (HUB - 1)}))


@pytest.mark.parametrize(
    ("algorithm", "sql"),
    [
        ("crown", "SELECT R.a, R.b, S.c FROM R, S WHERE R.b = S.b"),
        ("dyn", "SELECT R.a, R.b, S.c FROM R, S WHERE R.b = S.b"),
        ("change-propagation", "SELECT R.a, R.b, S.c FROM R, S WHERE R.b = S.b"),
        ("auto", "SELECT R.a, R.b, S.c FROM R, S, T WHERE R.b = S.b AND S.c = T.c AND T.a = R.a"),
    ],
)
@pytest.mark.parametrize("full", [False, True])
def test_a_hub_that_moves_leaves_no_blocks_behind(algorithm: Algorithm, sql: str, full: bool) -> None:
    """Forty keys have had six hundred rows, and each has one: blocks of the others were given back and used again.

    Args:
        algorithm: What maintains the join.
        sql: Its query.
        full: Whether the rows find partners, or wait for them.
    """
    db = livejoin.Database()
    for name, columns in {"R": "a INT, b INT", "S": "b INT, c INT", "T": "c INT, a INT"}.items():
        db.create_table(name, columns)
    view = db.create_view("v", sql, deltas=False, algorithm=algorithm)
    if full:
        db.apply("S", [(key, 0) for key in range(40)])
        db.apply("T", [(0, a) for a in range(0, 40 * HUB, HUB)])
    moves(db, "R", ("a", "b"), range(4))
    early = view.stats()["state_bytes"]
    moves(db, "R", ("a", "b"), range(4, 40))
    assert view.stats()["state_bytes"] - early < 36 * 8 * HUB // 4, "less than a quarter of a block for each key"
    assert view.count() == (40 if full else 0)
    db._check()
