"""Views of Ibis's expressions: what DuckDB answers to the same expression, after random changes; what is refused."""

from __future__ import annotations

import datetime as dt
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis import _
from ibis.backends.sql.compilers import DuckDBCompiler

import livejoin
from livejoin.errors import SchemaError, UnknownNameError, UnsupportedQueryError
from oracle import connect

SCHEMA = """
    CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, amount BIGINT, day DATE, at TIMESTAMP_NTZ,
        note STRING);
    CREATE TABLE customers (id BIGINT PRIMARY KEY, city STRING)
"""
Make = Callable[[Any, Any], Any]


def joined(o: Any, c: Any) -> Any:
    return o.join(c, o.customer == c.id)


def ranked(o: Any) -> Any:
    return o.mutate(r=ibis.row_number().over(group_by=o.customer, order_by=[o.amount.desc(), o.id]))


EXPRESSIONS: dict[str, Make] = {
    "filter": lambda o, c: o.filter(o.amount > 2),
    "columns": lambda o, c: o.select("id", twice=o.amount * 2, third=o.amount % 3),
    "join": lambda o, c: joined(o, c).select(o.id, c.city),
    "join, all columns": joined,
    "left join": lambda o, c: o.left_join(c, o.customer == c.id).select(o.id, c.city),
    "outer join": lambda o, c: o.outer_join(c, o.customer == c.id).select(o.id, c.city),
    "self-join": lambda o, c: o.join(o.view(), "customer").select("id", other=_.id_right),
    "semi-join": lambda o, c: c.semi_join(o, o.customer == c.id),
    "anti-join": lambda o, c: c.anti_join(o, o.customer == c.id),
    "in": lambda o, c: o.filter(o.customer.isin(c.filter(c.city == "Bern").id)),
    "groups": lambda o, c: joined(o, c).group_by("city").agg(n=_.count(), total=_.amount.sum(), most=_.amount.max()),
    "having": lambda o, c: o.group_by("customer").having(_.count() > 1).agg(total=_.amount.sum()),
    "sums of some": lambda o, c: o.group_by("customer").agg(k=_.amount.sum(where=_.amount > 2)),
    "different ones": lambda o, c: o.group_by("customer").agg(k=_.amount.nunique()),
    "averages": lambda o, c: o.group_by("customer").agg(k=_.amount.mean()),
    "no groups": lambda o, c: o.agg(n=_.count(), least=_.amount.min()),
    "a value": lambda o, c: o.amount.max(),
    "a column": lambda o, c: o.amount,
    "ranks": lambda o, c: ranked(o),
    "first of each": lambda o, c: ranked(o).filter(_.r == 0),
    "running": lambda o, c: o.mutate(r=o.amount.sum().over(ibis.cumulative_window(group_by=o.customer, order_by=o.id))),
    "lag": lambda o, c: o.mutate(r=o.amount.lag().over(group_by=o.customer, order_by=o.id)),
    "whole partitions": lambda o, c: o.mutate(r=o.amount.sum().over(group_by=o.customer)),
    "first n": lambda o, c: o.order_by([o.amount.desc(), o.id]).limit(3),
    "distinct": lambda o, c: o.select("customer").distinct(),
    "union": lambda o, c: o.select("id").union(c.select("id")),
    "union all": lambda o, c: o.select("id").union(c.select("id"), distinct=False),
    "intersect": lambda o, c: o.select("id").intersect(c.select("id")),
    "difference": lambda o, c: o.select("id").difference(c.select("id")),
    "cases": lambda o, c: o.mutate(k=ibis.cases((o.amount > 4, "big"), (o.amount > 2, "mid"), else_="small")),
    "casts": lambda o, c: o.mutate(k=o.amount.cast("string"), f=o.amount.cast("float64")),
    "dates": lambda o, c: o.filter(o.day >= ibis.date("2026-01-02")).mutate(y=_.day.year(), m=_.day.month()),
    "hours": lambda o, c: o.group_by(h=o.at.truncate("h")).agg(n=_.count()),
    "texts": lambda o, c: o.mutate(k=o.note.upper(), n=o.note.length(), e=ibis.coalesce(o.note, "-")),
    "like": lambda o, c: o.filter(o.note.like("a%") | o.note.isnull()),
    "above the mean": lambda o, c: o.filter(o.amount > o.amount.mean()),
    "between": lambda o, c: o.filter(o.amount.between(2, 4)).drop("note"),
}


@pytest.fixture
def db() -> livejoin.Database:
    found = livejoin.Database()
    found.execute(SCHEMA)
    return found


def tables(db: livejoin.Database) -> tuple[Any, Any]:
    return db.tables["orders"].to_ibis(), db.tables["customers"].to_ibis()


def rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(round(value, 9) if isinstance(value, float) else value for value in row.values())
        for row in table.to_pylist()
    )


def changes(chance: random.Random, orders: dict[int, Any], customers: dict[int, Any]) -> dict[str, list[Any]]:
    """Random changes by key, which are made in the dictionaries too."""
    found: dict[str, list[Any]] = {"orders": [], "customers": []}
    for _at in range(chance.randint(1, 6)):
        key = chance.randint(1, 12)
        if chance.random() < 0.3:
            if orders.pop(key, None) is not None:
                found["orders"].append({"id": key, "_change_type": "delete"})
            continue
        day = dt.date(2026, 1, chance.randint(1, 4))
        at = dt.datetime(2026, 1, 1, chance.randint(0, 2), chance.randint(0, 59))
        note = chance.choice((None, "ab", "ba", "é"))
        row = {
            "id": key,
            "customer": chance.randint(1, 4),
            "amount": chance.randint(0, 6),
            "day": day,
            "at": at,
            "note": note,
        }
        orders[key] = row
        found["orders"].append({**row, "_change_type": "upsert"})
    key = chance.randint(1, 4)
    if customers.pop(key, None) is None:
        customers[key] = {"id": key, "city": chance.choice(("Bern", "Rome", None))}
        found["customers"].append({**customers[key], "_change_type": "upsert"})
    else:
        found["customers"].append({"id": key, "_change_type": "delete"})
    return found


@pytest.fixture(scope="module")
def histories() -> list[tuple[dict[str, list[Any]], dict[str, pa.Table]]]:
    """Commits, and the tables behind each."""
    db, chance = livejoin.Database(), random.Random(7)
    db.execute(SCHEMA)
    orders: dict[int, Any] = {}
    customers: dict[int, Any] = {}
    found = []
    for _at in range(8):
        batch = changes(chance, orders, customers)
        here = {"orders": orders, "customers": customers}
        found.append(
            (
                batch,
                {name: pa.Table.from_pylist(list(kept.values()), db.tables[name].arrow) for name, kept in here.items()},
            )
        )
    return found


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_view_is_what_duckdb_answers_to_the_expression(
    name: str, db: livejoin.Database, histories: list[tuple[dict[str, list[Any]], dict[str, pa.Table]]]
) -> None:
    expression = EXPRESSIONS[name](*tables(db))
    view = db.create_view("v", expression)
    asked = DuckDBCompiler().to_sqlglot(expression.as_table()).sql(dialect="duckdb")
    total: Counter[tuple[Any, ...]] = rows(view.to_arrow())
    with connect() as other:
        for batch, there in histories:
            delta = db.apply(batch)["v"]
            for table, content in there.items():
                other.register(table, content)
            wanted = rows(other.sql(asked).to_arrow_table())
            assert rows(view.to_arrow()) == wanted
            shown = delta.select(view.schema.names)
            for row, kind in zip(shown.to_pylist(), delta["_change_type"].to_pylist(), strict=True):
                key = tuple(round(value, 9) if isinstance(value, float) else value for value in row.values())
                total[key] += 1 if kind in ("insert", "update_postimage") else -1
            assert +total == wanted


def test_views_stand_on_views(db: livejoin.Database) -> None:
    orders, _customers = tables(db)
    totals = db.create_view("totals", orders.group_by("customer").agg(total=_.amount.sum()))
    large = db.create_view("large", totals.to_ibis().filter(_.total > 5))
    db.apply("orders", [{"id": 1, "customer": 7, "amount": 9}, {"id": 2, "customer": 8, "amount": 1}], coerce="json")
    assert large.to_pylist() == [{"customer": 7, "total": 9}]
    assert db.sql(large.to_ibis().customer).to_pylist() == [{"customer": 7}]
    assert db.explain(orders.filter(orders.amount > 1)).plan is not None


def test_what_does_not_come_through_is_refused(db: livejoin.Database) -> None:
    orders, _customers = tables(db)
    with pytest.raises(UnsupportedQueryError, match="memtable, whose rows are no table"):
        db.create_view("v", ibis.memtable({"id": [1]}).join(orders, "id"))
    with pytest.raises(UnsupportedQueryError, match="TABLESAMPLE"):
        db.create_view("v", orders.sample(0.5))
    with pytest.raises(UnsupportedQueryError, match="volatile"):
        db.create_view("v", orders.mutate(k=ibis.now()))
    with pytest.raises(UnsupportedQueryError, match="Ibis cannot write the expression"):
        db.create_view("v", orders.mutate(k=orders.rowid()))
    with pytest.raises(SchemaError, match="no expression"):
        db.create_view("v", ibis.schema({"a": "int64"}))  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="did you mean"):
        db.create_view("v", ibis.table({"id": "int64"}, name="oders"))
    assert not db.views


def test_the_columns_of_ibis_are_those_of_the_table() -> None:
    db = livejoin.Database()
    db.execute(
        "CREATE TABLE t (a INT, b DECIMAL(8, 2), c STRING NOT NULL, d TIMESTAMP, e BOOLEAN, f BINARY, `g h` DATE, "
        "i UUID, j DOUBLE, k FLOAT)"
    )
    found = db.tables["t"].to_ibis()
    assert found.get_name() == "t"
    assert list(found.schema()) == ["a", "b", "c", "d", "e", "f", "g h", "i", "j", "k"]
    assert str(found.schema()["b"]) == "decimal(8, 2)"
    assert str(found.schema()["c"]) == "!string"
    view = db.create_view("v", found.filter(found["g h"] > ibis.date("2026-01-01")))
    assert view.schema.names == list(found.schema())


def test_ibis_is_imported_where_it_is_asked_for_alone() -> None:
    code = (
        "import sys, livejoin; db = livejoin.Database(); db.execute('CREATE TABLE t (a BIGINT)'); "
        "db.create_view('v', 'SELECT a FROM t'); print('ibis' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
