"""State is that of the rows that are there, whatever was there before: joins of every family, through `stats`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.search.algorithm import Algorithm

HUB = 600
PATH = "SELECT R.a, R.b, S.c, T.a other FROM R, S, T WHERE R.b = S.b AND S.c = T.c"
JOINS: list[tuple[Algorithm, str]] = [
    ("crown", "SELECT R.a, R.b, S.c FROM R, S WHERE R.b = S.b"),
    ("dyn", "SELECT R.a, R.b, S.c FROM R, S WHERE R.b = S.b"),
    ("change-propagation", "SELECT R.a, R.b, S.c FROM R, S WHERE R.b = S.b"),
    ("crown", PATH),
    ("dyn", PATH),
    ("auto", "SELECT R.a, R.b, S.c FROM R, S, T WHERE R.b = S.b AND S.c = T.c AND T.a = R.a"),
]


def moves(db: livejoin.Database, table: str, columns: tuple[str, str], keys: range) -> None:
    """A key gets many rows and loses all but one; then the next key does."""
    for key in keys:
        rows = {columns[0]: np.arange(HUB) + key * HUB, columns[1]: np.full(HUB, key)}
        db.apply(table, pa.table(rows))
        gone = {name: values[1:] for name, values in rows.items()}
        db.apply(table, pa.table({**gone, "_change_type": ["delete"] * (HUB - 1)}))


HUBS: list[tuple[Algorithm, str, str, str]] = [
    *((algorithm, sql, table, "b") for algorithm, sql in JOINS for table in ("R", "S")),
    ("crown", PATH, "S", "c"),
    ("dyn", PATH, "S", "c"),
]


@pytest.mark.parametrize(("algorithm", "sql", "table", "key"), HUBS)
@pytest.mark.parametrize("full", [False, True])
def test_a_hub_that_moves_leaves_no_blocks_behind(
    algorithm: Algorithm, sql: str, table: str, key: str, full: bool
) -> None:
    """Forty keys have had six hundred rows, and each has one: blocks of the others were given back and used again.

    Args:
        algorithm: What maintains the join.
        sql: Its query.
        table: Whose rows they are; it may be above or below the other one in a tree.
        key: The column that they agree in. Rows of S that agree in c are rows above one key of T in the tree of PATH.
        full: Whether the rows find partners, or wait for them.
    """
    db = livejoin.Database()
    for name, columns in {"R": "a INT, b INT", "S": "b INT, c INT", "T": "c INT, a INT"}.items():
        db.create_table(name, columns)
    view = db.create_view("v", sql, deltas=False, algorithm=algorithm)
    hub = list(range(40))
    if full and (table, key) == ("R", "b"):
        db.apply({"S": [(k, 0) for k in hub], "T": [(0, k * HUB) for k in hub]})
    elif full and key == "b":
        db.apply({"R": [(0, k) for k in hub], "T": [(k * HUB, 0) for k in hub]})
    elif full:
        db.apply({"R": [(0, k * HUB) for k in hub], "T": [(k, 0) for k in hub]})
    columns = ({"R": "a", "S": "bc".replace(key, "")}[table], key)
    moves(db, table, columns, range(4))
    early = view.stats()["state_bytes"]
    moves(db, table, columns, range(4, 40))
    assert view.stats()["state_bytes"] - early < 36 * 8 * HUB // 4, "less than a quarter of a block for each key"
    pairs = 40 if sql == PATH and table == "R" else 1  # each row of R meets all rows of T
    assert view.count() == (40 * pairs if full else 0)
    db._check()
