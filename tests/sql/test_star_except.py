"""``* EXCEPT`` leaves columns out, and ORDER BY without LIMIT changes no row."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from relations import evaluate
from sql_fixtures import fill, make_catalog

from livejoin.errors import UnknownNameError
from livejoin.query.orders import SortKey
from livejoin.sql import bind_query, to_duckdb
from oracle import connect

CATALOG = make_catalog()


@pytest.fixture(scope="module")
def filled() -> duckdb.DuckDBPyConnection:
    connection = connect()
    fill(connection, CATALOG, seed=5)
    return connection


@pytest.mark.parametrize(
    ("sql", "names", "in_duckdb"),
    [
        ("SELECT * EXCEPT (src) FROM G", ["dst"], "SELECT dst FROM G"),
        (
            "SELECT G.* EXCEPT (dst), K.* EXCEPT (SRC, name) FROM G JOIN K ON G.src = K.src",
            ["src", "z"],
            "SELECT G.src, K.z FROM G JOIN K ON G.src = K.src",
        ),
        (
            "SELECT * EXCEPT (src) FROM G JOIN K USING (src)",
            ["dst", "z", "name"],
            "SELECT dst, z, name FROM G JOIN K USING (src)",
        ),
        ("SELECT * EXCEPT (a) FROM G AS g(a, b)", ["b"], "SELECT dst FROM G"),
        (
            "SELECT * EXCEPT (n) FROM (SELECT src, count(*) AS n FROM G GROUP BY src) q",
            ["src"],
            "SELECT DISTINCT src FROM G",
        ),
        (
            "SELECT * EXCEPT (src) FROM G EXCEPT SELECT dst FROM H",
            ["dst"],
            "SELECT dst FROM G EXCEPT SELECT dst FROM H",
        ),
        ("SELECT DISTINCT * EXCEPT (dst) FROM G ORDER BY src DESC", ["src"], "SELECT DISTINCT src FROM G"),
    ],
)
def test_columns_that_are_left(sql: str, names: list[str], in_duckdb: str, filled: duckdb.DuckDBPyConnection) -> None:
    query = bind_query(sql, CATALOG)
    assert query.schema.names == names
    expected = Counter(filled.sql(in_duckdb).fetchall())
    assert Counter(evaluate(query.root, filled)) == expected
    assert Counter(filled.sql(to_duckdb(sql, CATALOG)).fetchall()) == expected


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * EXCEPT (src, z) FROM G", "* shows no column 'z'; it has src, dst"),
        ("SELECT * EXCEPT (src) FROM G A, G B", "* shows several columns 'src'"),
        ("SELECT * EXCEPT (src, SRC) FROM G", "* names twice 'SRC'"),
    ],
)
def test_columns_that_are_not_there(sql: str, message: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        bind_query(sql, CATALOG)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "order"),
    [
        ("SELECT src, dst FROM G ORDER BY dst DESC, src", (SortKey(1, True, False), SortKey(0, False, True))),
        ("SELECT src + 1 AS x FROM G ORDER BY 1 NULLS LAST", (SortKey(0, False, False),)),
        ("SELECT src + 1 AS x FROM G ORDER BY src + 1", (SortKey(0, False, True),)),
        (
            "SELECT src, count(*) AS n FROM G GROUP BY src ORDER BY count(*), src",
            (SortKey(1, False, True), SortKey(0, False, True)),
        ),
        ("SELECT src FROM G UNION SELECT dst FROM G ORDER BY src LIMIT ALL", (SortKey(0, False, True),)),
        ("(SELECT src FROM G ORDER BY src LIMIT 3) ORDER BY src DESC", (SortKey(0, True, False),)),
        ("WITH q AS (SELECT src FROM G ORDER BY dst) SELECT src FROM q", ()),
        ("SELECT src FROM (SELECT src, dst FROM G ORDER BY dst) q", ()),
        ("SELECT src FROM G WHERE src IN (SELECT dst FROM G ORDER BY src)", ()),
        ("(SELECT src FROM G ORDER BY dst) UNION ALL (SELECT src FROM H)", ()),
        ("SELECT src FROM G ORDER BY src LIMIT 2", ()),
    ],
)
def test_the_order_in_which_rows_are_read(
    sql: str, order: tuple[SortKey, ...], filled: duckdb.DuckDBPyConnection
) -> None:
    query = bind_query(sql, CATALOG)
    assert query.order == order
    rows = filled.sql(to_duckdb(sql, CATALOG)).fetchall()
    assert Counter(evaluate(query.root, filled)) == Counter(rows)
