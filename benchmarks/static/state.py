"""What static tables save in a star, a snowflake and TPC-H: bytes of the state, and the time of commits of facts.

Each query is a view twice, over tables that may change and over the same tables with dimensions that are declared
static. Rows of the facts leave and come again in commits that do so for both in turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import livejoin
from benchmarks.figures import WrongAnswerError
from benchmarks.recompute import connect
from benchmarks.tpch import data
from benchmarks.tpch.answers import rows, same
from livejoin.sql import parse_schema, to_duckdb

_ROUNDS = 5
_SHARE = 100  # of the facts, one in so many leaves and comes again
_TPCH_STATIC = ("region", "nation", "part", "supplier")
_TPCH_FACTS = ("orders", "lineitem")


@dataclass(frozen=True)
class Schema:
    """Tables with queries over them.

    Args:
        name: What it is.
        statements: CREATE TABLE of each table, dimensions before what refers to them.
        tables: Their rows.
        static: The dimensions.
        facts: The tables that change.
        queries: SQL by name.
    """

    name: str
    statements: list[str]
    tables: Mapping[str, pa.Table]
    static: tuple[str, ...]
    facts: tuple[str, ...]
    queries: Mapping[str, str]


@dataclass(frozen=True)
class Saved:
    """What was measured of one query.

    Args:
        schema: The schema.
        query: The query.
        state: Bytes of the state, without static tables and with them.
        seconds: Processor seconds of a commit, without and with; the best of some.
        changes: Changes of a commit.
        plans: The kinds of the plans, without and with.
        check: The check of the result.
    """

    schema: str
    query: str
    state: tuple[int, int]
    seconds: tuple[float, float]
    changes: int
    plans: tuple[str, str]
    check: str


def star(size: int) -> Schema:
    """So many sales with three dimensions."""
    chance = np.random.default_rng(1)
    sizes = {"customer": size // 10 + 1, "product": size // 30 + 1, "store": 500}
    tables = {
        name: pa.table({"id": np.arange(most), f"{name[0]}_group": chance.integers(0, 20, most)})
        for name, most in sizes.items()
    }
    keys = {f"{name[0]}_id": chance.integers(0, most, size) for name, most in sizes.items()}
    tables["sales"] = pa.table({"sale": np.arange(size), **keys, "amount": chance.integers(0, 1000, size)})
    statements = [f"CREATE TABLE {name} (id BIGINT PRIMARY KEY, {name[0]}_group BIGINT)" for name in sizes]
    statements.append(
        "CREATE TABLE sales (sale BIGINT PRIMARY KEY, c_id BIGINT, p_id BIGINT, s_id BIGINT, amount BIGINT)"
    )
    joined = "FROM sales JOIN customer c ON c_id = c.id JOIN product p ON p_id = p.id JOIN store s ON s_id = s.id"
    queries = {
        "rows": f"SELECT sale, amount, c_group, p_group, s_group {joined}",
        "groups": f"SELECT c_group, p_group, SUM(amount) AS total, COUNT(*) AS n {joined} WHERE s_group < 10 "
        "GROUP BY c_group, p_group",
    }
    return Schema(f"star, {size:,} sales", statements, tables, tuple(sizes), ("sales",), queries)


def snowflake(size: int) -> Schema:
    """So many sales of products, which are of categories of departments, to customers with addresses in cities.

    The queries show all, or ask for one department of twenty, or one country of fifty.
    """
    chance = np.random.default_rng(2)
    products, customers = size // 5 + 1, size // 10 + 1

    def refers(rows: int, to: int) -> np.ndarray:
        return chance.integers(0, to, rows)

    tables = {
        "department": pa.table({"d_id": np.arange(20), "d_name": np.arange(20)}),
        "category": pa.table({"c_id": np.arange(1_000), "c_dep": refers(1_000, 20), "c_name": np.arange(1_000)}),
        "product": pa.table(
            {"p_id": np.arange(products), "p_cat": refers(products, 1_000), "p_price": refers(products, 500)}
        ),
        "country": pa.table({"n_id": np.arange(50), "n_name": np.arange(50)}),
        "city": pa.table({"t_id": np.arange(2_000), "t_country": refers(2_000, 50)}),
        "address": pa.table({"a_id": np.arange(customers), "a_city": refers(customers, 2_000)}),
        "customer": pa.table({"u_id": np.arange(customers), "u_address": chance.permutation(customers)}),
        "sales": pa.table({"sale": np.arange(size), "p": refers(size, products), "u": refers(size, customers)}),
    }
    statements = []
    for name, table in tables.items():
        key, *others = table.column_names
        statements.append(f"CREATE TABLE {name} ({key} BIGINT PRIMARY KEY, {', '.join(f'{c} BIGINT' for c in others)})")
    bought = "FROM sales JOIN product ON p = p_id JOIN category ON p_cat = c_id JOIN department ON c_dep = d_id"
    sold = "FROM sales JOIN customer ON u = u_id JOIN address ON u_address = a_id JOIN city ON a_city = t_id"
    queries = {
        "rows": f"SELECT sale, p_price, c_name, d_name {bought}",
        "one department": f"SELECT sale, p_price, c_name {bought} WHERE d_name = 7",
        "customers": f"SELECT sale, u, t_country {sold}",
        "one country": f"SELECT sale, u {sold} JOIN country ON t_country = n_id WHERE n_name = 7",
        "groups": f"SELECT c_name, SUM(p_price) AS total, COUNT(*) AS n {bought} WHERE d_name < 5 GROUP BY c_name",
    }
    static = tuple(name for name in tables if name != "sales")
    return Schema(f"snowflake, {size:,} sales", statements, tables, static, ("sales",), queries)


def tpch(scale: float) -> Schema:
    """TPC-H's tables with those of its queries that read a table that is static and one that changes.

    Raises:
        MissingDataError: There is no data.
    """
    texts = data.queries()
    tables = data.used(data.load(scale, None, texts.values()), texts.values(), columns=True)
    chosen = {
        name: sql
        for name, sql in texts.items()
        if any(one in sql for one in _TPCH_STATIC) and any(one in sql for one in _TPCH_FACTS)
    }
    return Schema(f"TPC-H, {scale:g}", data.statements(tables), tables, _TPCH_STATIC, _TPCH_FACTS, chosen)


def measure(schema: Schema) -> Iterator[Saved]:
    """Each query of a schema, one after the other.

    Raises:
        WrongAnswerError: A result is not DuckDB's.
    """
    databases = [_database(schema, static) for static in (False, True)]
    for name, sql in schema.queries.items():
        views = [db.create_view(name, sql) for db in databases]
        seconds = [float("inf"), float("inf")]
        changes = 0
        for number in range(_ROUNDS):
            for place, db in enumerate(databases):
                for kind in ("delete", "insert"):
                    changed = {one: _some(schema.tables[one], number, kind) for one in schema.facts}
                    changes = sum(one.num_rows for one in changed.values())
                    begin = time.process_time()
                    db.apply(changed)
                    seconds[place] = min(seconds[place], time.process_time() - begin)
        told = [view.explain() for view in views]
        yield Saved(
            schema.name,
            name,
            (int(views[0].stats()["state_bytes"]), int(views[1].stats()["state_bytes"])),
            (seconds[0], seconds[1]),
            changes,
            (told[0].plan.kind, told[1].plan.kind),
            _checked(schema, name, [rows(view.to_arrow()) for view in views]),
        )
        for db in databases:
            db.drop_view(name)


def _checked(schema: Schema, name: str, found: list[list[tuple[object, ...]]]) -> str:
    """The check that results are DuckDB's.

    Raises:
        WrongAnswerError: One is not.
    """
    catalog = parse_schema(";\n".join(schema.statements))
    with connect() as connection:
        for table, given in schema.tables.items():
            connection.register(table, given)
        expected = rows(connection.sql(to_duckdb(schema.queries[name], catalog)).to_arrow_table())
    if not all(same(one, expected) for one in found):
        msg = f"{schema.name}, {name}: the result is not DuckDB's"
        raise WrongAnswerError(msg)
    return f"= DuckDB: {len(expected):,} rows"


def _database(schema: Schema, static: bool) -> livejoin.Database:
    db = livejoin.Database()
    for statement in schema.statements:
        db.execute(statement)
    db.apply(dict(schema.tables))
    for name in schema.static if static else ():
        db.alter_table(name, static=True)
    return db


def _some(table: pa.Table, number: int, kind: str) -> pa.Table:
    """Some rows of a table, as changes."""
    found = table.take(np.arange(number, table.num_rows, _SHARE))
    return found.append_column("_change_type", pa.array([kind] * found.num_rows, pa.string()))
