"""Outputs that are free-connex with the columns that they determine by declared keys."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pytest

from livejoin import Database

TABLES = {
    "c": "ck BIGINT PRIMARY KEY, name STRING, nk BIGINT",
    "n": "nk BIGINT PRIMARY KEY, country STRING",
    "o": "ok BIGINT PRIMARY KEY, ck BIGINT, total BIGINT",
}
JOIN = "FROM c JOIN o ON c.ck = o.ck JOIN n ON c.nk = n.nk"
QUERIES = {
    "groups": f"SELECT c.ck, name, country, SUM(total) AS t, COUNT(*) AS k {JOIN} GROUP BY c.ck, name, country",
    "having": f"SELECT c.ck, n.country {JOIN} GROUP BY c.ck, n.country HAVING SUM(o.total) > 5",
    "distinct": f"SELECT DISTINCT c.ck, n.country {JOIN}",
}


def test_no_store_is_needed() -> None:
    database = Database()
    for name, columns in TABLES.items():
        database.create_table(name, columns)
    for name, sql in QUERIES.items():
        database.create_view(name, sql)
        text = str(database.explain(sql))
        assert "O(1) a change, for every change sequence" in text, name
        assert "groups are stored" not in text and "in the store" not in text, name


def test_without_the_key_one_is() -> None:
    database = Database()
    for name, columns in TABLES.items():
        database.create_table(name, columns.replace(" PRIMARY KEY", ""))
    assert "groups are stored" in str(database.explain(QUERIES["groups"]))


@pytest.mark.parametrize("seed", range(3))
def test_equal_to_duckdb_after_every_commit(seed: int) -> None:
    chance = random.Random(seed)
    database, connection = Database(), duckdb.connect()
    for name, columns in TABLES.items():
        database.create_table(name, columns)
        connection.execute(f"CREATE TABLE {name} ({columns.replace('STRING', 'VARCHAR')})")
    sums = {name: Counter[tuple[object, ...]]() for name in QUERIES}
    for name, sql in QUERIES.items():
        database.create_view(name, sql)
    rows: dict[str, dict[int, tuple[object, ...]]] = {name: {} for name in TABLES}
    for _ in range(25):
        changes: dict[str, list[dict[str, object]]] = {}
        for name, own in rows.items():
            names = [column.split()[0] for column in TABLES[name].split(", ")]
            for key in chance.sample(range(6), chance.randrange(3)):
                if key in own:
                    row, kind = own.pop(key), "delete"
                    connection.execute(f"DELETE FROM {name} WHERE {names[0]} = {key}")
                else:
                    text = chance.choice(("x", "y", None))
                    row = {"c": (key, text, chance.choice((0, 1, 2, None))), "n": (key, text)}.get(
                        name, (key, chance.randrange(6), chance.randrange(9))
                    )
                    own[key], kind = row, "insert"
                    connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
                changes.setdefault(name, []).append({**dict(zip(names, row, strict=True)), "_change_type": kind})
        if not changes:
            continue
        commit = database.apply(changes)
        for name, sql in QUERIES.items():
            delta = commit[name]
            kinds = delta["_change_type"].to_pylist()
            for row, kind in zip(_rows(delta.drop_columns(delta.column_names[-2:])), kinds, strict=True):
                sums[name][row] += 1 if kind in ("insert", "update_postimage") else -1
            expected = Counter(connection.execute(sql).fetchall())
            assert Counter(_rows(database.views[name].to_arrow())) == expected
            assert Counter({row: times for row, times in sums[name].items() if times}) == expected


def _rows(table: object) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))  # type: ignore[attr-defined]
