"""Payload passes through views as its text would, in DuckDB; and nothing else than that is let through."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import SchemaError, SqlTypeError, UnsupportedQueryError
from livejoin.schema import SqlType
from oracle import connect
from random_payload import canonical, random_type, random_value
from strategies import seeds

VIEWS = {
    "whole": "SELECT * FROM T",
    "joined": "SELECT T.p, S.n, T.q IS NULL AS z FROM T JOIN S ON T.k = S.k",
    "twice": "SELECT x.p, y.q FROM T x JOIN T y ON x.k = y.k WHERE x.n < y.n",
    "padded": "SELECT S.k, T.q FROM S LEFT JOIN T ON S.k = T.k",
    "unmatched": "SELECT p FROM T WHERE NOT EXISTS (SELECT 1 FROM S WHERE S.k = T.k)",
    "counted": "SELECT k, COUNT(p) AS c, COUNT(*) AS r FROM T GROUP BY k",
    "united": "SELECT p FROM T WHERE p IS NOT NULL UNION ALL SELECT p FROM T WHERE n > 1",
    "first": "SELECT k, n, p FROM T ORDER BY n, k LIMIT 3",
    "nested": "SELECT p, n FROM (SELECT p, n FROM T WHERE n IS NOT NULL) WHERE n <> 2",
    "maximum": "SELECT k, p FROM T WHERE n = (SELECT MAX(n) FROM T)",
}
KEYED = {"by_key": "SELECT p, k FROM K", "with_key": "SELECT K.p, S.n FROM K JOIN S ON K.k = S.k"}


class Model:
    """The database, and DuckDB with the canonical texts of payload."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chosen = random.Random(seed)
        self.replays = seed % 4 == 3
        spill = {"spill": folder, "spill_over": 1000} if seed % 2 else {}
        self.types = {"p": random_type(self.chosen), "q": random_type(self.chosen)}
        self.db = livejoin.Database(**spill)
        self.oracle = connect()
        declared = f"p {self.types['p']}, q {self.types['q']}"
        retain: Any = self.chosen.choice(["all", "used"])
        self.db.create_table("T", f"k INT, n INT, {declared}", retain=retain)
        self.db.create_table("S", "k INT, n INT")
        self.db.create_table("K", f"k INT PRIMARY KEY, {declared}")
        for table, columns in (
            ("T", "k INT, n INT, p TEXT, q TEXT"),
            ("S", "k INT, n INT"),
            ("K", "k INT, p TEXT, q TEXT"),
        ):
            self.oracle.execute(f"CREATE TABLE {table} ({columns})")
        self.views = VIEWS | KEYED
        for name, sql in self.views.items():
            self.db.create_view(name, sql)
        self.rows: dict[str, list[tuple[Any, ...]]] = {"T": [], "S": [], "K": []}
        self.sums = {name: Counter[Any]() for name in self.views}
        pool = {name: [random_value(self.chosen, kind) for _ in range(4)] for name, kind in self.types.items()}
        self.pool = {name: [*values, None] for name, values in pool.items()}

    def row(self, table: str) -> tuple[Any, ...]:
        payload = (self.chosen.choice(self.pool["p"]), self.chosen.choice(self.pool["q"]))
        number = self.chosen.choice([0, 1, 2, None])
        if table == "S":
            return (number, self.chosen.choice([0, 1, 2]))
        return (self.chosen.randrange(6), *payload) if table == "K" else (number, self.chosen.randrange(4), *payload)

    def names(self, table: str) -> list[str]:
        return {"T": ["k", "n", "p", "q"], "S": ["k", "n"], "K": ["k", "p", "q"]}[table]

    def text(self, name: str, value: Any) -> Any:
        return canonical(value, self.types[name]) if name in self.types and value is not None else value

    def commit(self) -> None:
        changes: dict[str, Any] = {}
        for table in self.chosen.sample(["T", "S", "K"], self.chosen.randint(1, 3)):
            names, there = self.names(table), self.rows[table]
            rows = []
            for _ in range(self.chosen.randrange(5)):
                row = self.row(table)
                if table == "K" and any(row[0] == other[0] for other in there):
                    continue
                there.append(row)
                rows.append((row, "insert"))
            self.chosen.shuffle(there)
            for _ in range(min(self.chosen.randrange(4), len(there))):
                rows.append((there.pop(), "delete"))
            rows.sort(key=lambda one: one[1] == "delete")
            if self.chosen.random() < 0.5:
                changes[table] = [dict(zip(names, row, strict=True)) | {"_change_type": kind} for row, kind in rows]
            elif rows:
                changes[table] = self.arrow(table, rows)
            self.oracle.execute(f"DELETE FROM {table}")
            for row in there:
                values = [self.text(name, value) for name, value in zip(names, row, strict=True)]
                self.oracle.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
        if self.replays:
            begins = {table: 100 * place for place, table in enumerate(changes)}
            logs = {table: self.logged(data, begins[table]) for table, data in changes.items() if len(data)}
            commit = self.db.replay(logs, granularity="change")
        else:
            commit = self.db.apply(changes)
        for name, view in self.db.views.items():
            delta = commit[name]
            assert delta.schema.equals(view.delta_schema, check_metadata=True)
            for row, kind in zip(self.texts(delta, name), delta["_change_type"].to_pylist(), strict=True):
                self.sums[name][row] += 1 if kind in ("insert", "update_postimage") else -1

    def logged(self, data: Any, begin: int) -> Any:
        """Changes with the order in which they are replayed."""
        if isinstance(data, pa.Table):
            return data.append_column("_seq", pa.array(range(begin, begin + data.num_rows), pa.int64()))
        return [row | {"_seq": begin + place} for place, row in enumerate(data)]

    def arrow(self, table: str, rows: list[tuple[tuple[Any, ...], str]]) -> pa.Table:
        """Changes as Arrow, in which Arrow itself has put the Python objects."""
        columns: dict[str, Any] = {}
        for place, name in enumerate(self.names(table)):
            kind = self.types.get(name, SqlType.integer(32))
            columns[name] = pa.array([row[place] for row, _ in rows], kind.arrow)
        return pa.table(columns | {"_change_type": [kind for _, kind in rows]})

    def texts(self, found: pa.Table, view: str) -> list[Any]:
        shown = self.db.views[view].schema.names
        columns = [[self.text(name, value) for value in found[name].to_pylist()] for name in shown]
        return list(zip(*columns, strict=True))

    def check(self) -> None:
        for name, sql in self.views.items():
            expected = Counter(self.oracle.execute(sql).fetchall())
            if name == "first":  # ties are open
                assert len(self.texts(self.db.views[name].to_arrow(), name)) == sum(expected.values())
                expected = Counter(self.texts(self.db.views[name].to_arrow(), name))
            assert Counter(self.texts(self.db.views[name].to_arrow(), name)) == expected, (name, self.types)
            assert +self.sums[name] == expected and -self.sums[name] == Counter(), (name, self.types)


@pytest.mark.parametrize("seed", seeds(4, 8))
def test_payload_passes_through_as_its_text_does(seed: int, tmp_path: Path) -> None:
    (tmp_path / "spill").mkdir()
    model = Model(seed, tmp_path / "spill")
    for step in range(8):
        model.commit()
        model.check()
        if step == 4:
            model.db.save(tmp_path / "saved")
            model.db = livejoin.Database.load(tmp_path / "saved")
            model.check()


def database() -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("T", "k INT, a ARRAY<INT>, s STRUCT<x: INT>, m MAP<STRING, INT>, v VARIANT")
    return db


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "size(a)",
            "a[0]",
            "a = a",
            "a < a",
            "CAST(a AS STRING)",
            "coalesce(a, a)",
            "m IN (m)",
            "explode(a)",
            "v = v",
        ),
        *("array_contains(a, 1)", "hash(s)", "CASE WHEN k = 1 THEN a END", "variant_get(v, '$')"),
        "a IS NOT NULL AND a = a",
    ],
)
def test_expressions_of_payload_are_refused(expression: str) -> None:
    with pytest.raises(SqlTypeError, match=r"the column \w is .*, which is only passed through") as caught:
        database().create_view("w", f"SELECT {expression} AS e FROM T")
    assert "at line 1, column" in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "clause"),
    [
        ("SELECT a FROM T GROUP BY a", "GROUP BY"),
        ("SELECT a, COUNT(*) FROM T GROUP BY a", "GROUP BY"),
        ("SELECT DISTINCT m, k FROM T", "DISTINCT"),
        ("SELECT s FROM T UNION SELECT s FROM T", "UNION"),
        ("SELECT s FROM T EXCEPT ALL SELECT s FROM T", "EXCEPT"),
        ("SELECT k FROM T ORDER BY v LIMIT 1", "ORDER BY"),
        ("SELECT k, v FROM T ORDER BY v", "ORDER BY"),
        ("SELECT MIN(a) FROM T", "MIN"),
        ("SELECT COUNT(DISTINCT a) FROM T", "COUNT"),
        ("SELECT collect_list(a) FROM T", "COLLECT_LIST"),
        ("SELECT max_by(a, k) FROM T", "MAX_BY"),
        ("SELECT k FROM T QUALIFY row_number() OVER (PARTITION BY s ORDER BY k) < 2", "PARTITION BY"),
        ("SELECT k FROM T QUALIFY row_number() OVER (PARTITION BY k ORDER BY s) < 2", "ORDER BY"),
    ],
)
def test_comparing_payload_is_refused(sql: str, clause: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=f"{clause} of the column '.*only passed through"):
        database().create_view("w", sql)


@pytest.mark.parametrize(
    "join", ["x JOIN T y ON x.a = y.a", "x JOIN T y USING (m)", "x NATURAL JOIN T y", "x LEFT JOIN T y USING (v)"]
)
def test_joins_by_payload_are_refused(join: str) -> None:
    with pytest.raises(SqlTypeError, match="only passed through"):
        database().create_view("w", f"SELECT 1 AS one FROM T {join}")


@pytest.mark.parametrize("key", ["a ARRAY<INT> PRIMARY KEY", "a MAP<INT, INT> UNIQUE", "a VARIANT REFERENCES R"])
def test_keys_of_payload_are_refused(key: str) -> None:
    with pytest.raises(SchemaError, match="only passed through; allowed are columns of single values"):
        livejoin.Database().create_table("T", key)


def test_reading_by_value_finds_a_row_of_payload() -> None:
    db = database()
    view = db.create_view("w", "SELECT * FROM T")
    db.apply("T", [(1, [1, None], {"x": 1}, {"b": 1, "a": None}, {"value": b"v", "metadata": b"m"})] * 2)
    assert view.multiplicity((1, (1, None), (1,), [("b", 1), ("a", None)], (b"v", b"m"))) == 2
    assert view.multiplicity((1, (1,), (1,), [("b", 1), ("a", None)], (b"v", b"m"))) == 0
    with pytest.raises(livejoin.errors.ReadError, match="column 'a', which is ARRAY<INT>"):
        view.multiplicity((1, ("x",), None, None, None))
    assert "ARRAY" in str(db.tables["T"].columns[1])
