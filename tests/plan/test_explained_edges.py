"""What explain says of edges that are not inner."""

from __future__ import annotations

import pytest

from livejoin import Database
from livejoin.plan import Explanation


@pytest.fixture
def database() -> Database:
    made = Database()
    made.execute("CREATE TABLE c (ck BIGINT PRIMARY KEY, name STRING)")
    made.execute("CREATE TABLE o (ok BIGINT PRIMARY KEY, ck BIGINT, total BIGINT)")
    made.execute("CREATE TABLE r (a BIGINT, b BIGINT)")
    return made


def test_an_aggregate_over_an_optional_edge_reaches_one_row_by_its_key(database: Database) -> None:
    by_key = database.explain("SELECT c.name, COUNT(o.ok) AS n FROM c LEFT JOIN o ON c.ck = o.ck GROUP BY c.name")
    assert by_key.guarantee.bound.formula == "O(1)"
    by_name = database.explain("SELECT r.a, COUNT(o.ok) AS n FROM r LEFT JOIN o ON r.b = o.ck GROUP BY r.a")
    assert by_name.guarantee.bound.formula == "O(|D|)"


def test_the_tree_shows_kinds_and_equal_columns(database: Database) -> None:
    sql = "SELECT c.name, o.ok FROM c LEFT JOIN o ON c.ck = o.ck WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.a = c.ck)"
    found: Explanation = database.explain(sql)
    assert {(edge.kind, edge.key) for edge in found.plan.edges} == {
        ("optional", ("c.ck = o.ck",)),
        ("not exists", ("c.ck = a",)),
    }
    assert "not exists" in str(found)
    assert "optional o" in str(found)


def test_nested_not_exists_is_not_constant_where_rows_only_come(database: Database) -> None:
    inner = "SELECT 1 FROM r y WHERE y.a = x.b"
    nested = f"SELECT z.a FROM r z WHERE NOT EXISTS (SELECT 1 FROM r x WHERE x.a = z.b AND NOT EXISTS ({inner}))"
    assert "also while rows never leave" in database.explain(nested).guarantee.update
    single = "SELECT z.a FROM r z WHERE NOT EXISTS (SELECT 1 FROM r x WHERE x.a = z.b)"
    assert "O(1) a change while rows never leave" in database.explain(single).guarantee.update
