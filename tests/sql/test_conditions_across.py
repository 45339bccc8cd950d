"""Conditions across tables: what they become, and that the relation has DuckDB's rows."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from relations import evaluate
from sql_fixtures import fill, make_catalog

from factors import text_of
from livejoin.catalog import Catalog
from livejoin.errors import SqlTypeError, UnsupportedQueryError
from livejoin.query.relational import Join, Project, Relation
from livejoin.sql import bind_query, bind_views, parse_columns, to_duckdb
from oracle import connect
from strategies import seeds

CATALOG = make_catalog()

# A condition over G and H, which are joined on src, and the residual over what the join gives.
RESIDUALS = [
    ("G.dst < H.dst", "c1 < c2"),
    ("G.dst <> H.dst AND H.w > 0.5", "c1 <> c2"),
    ("G.dst BETWEEN H.dst AND H.w", "c1 BETWEEN c2 AND c3"),
    ("H.s LIKE '%a%' OR G.dst = 2", "c1 LIKE '%a%' OR c2 = 2"),
    ("CASE WHEN G.dst > 1 THEN H.b ELSE H.w < 2 END", "CASE WHEN c3 > 1 THEN c1 ELSE c2 < 2 END"),
    ("coalesce(G.dst, 0) + coalesce(H.dst, 0) > 3", "coalesce(c1, 0) + coalesce(c2, 0) > 3"),
    ("(G.dst IS NULL OR H.w = 1.0) AND G.dst + H.dst > H.w", "(c1 IS NULL OR c2 = 1.0) AND (c1 + c3 > c2)"),
    ("G.dst IN (H.dst, H.w)", "c1 IN (c2, c3)"),
]

# A query that joins computed columns, and what its inputs are called.
COMPUTED = [
    ("SELECT G.src, H.w FROM G, H WHERE G.dst - 1 = H.src", ["G with dst - 1"]),
    ("SELECT G.src, H.w FROM G, H WHERE G.dst + 1 = H.src * 2", ["G with dst + 1", "H with src * 2"]),
    ("SELECT G.src + G.dst AS x, K.name FROM G JOIN K ON G.src + G.dst = K.z", ["G with src + dst"]),
    ("SELECT A.s, B.s AS t FROM H A JOIN H B ON upper(A.s) = upper(B.s)", ["H with UPPER(s)"]),
    ("SELECT A.src AS a, B.src AS b FROM G A JOIN G B ON A.dst = B.dst + 1 AND B.src = A.src", ["G with dst + 1"]),
    ("SELECT H.w, G.src FROM H JOIN G ON H.w = G.src", ["G with CAST(src AS DOUBLE)"]),
    (
        "SELECT H.m, K.z FROM H JOIN K ON H.m = K.z",
        ["K with CAST(z AS DECIMAL(12, 2))"],
    ),
    ("SELECT A.d, B.t FROM H A JOIN H B ON A.d = B.t", ["H with CAST(d AS TIMESTAMP)"]),
    (
        "SELECT 1 AS one FROM G JOIN H ON G.src = H.w JOIN K ON K.z = H.w",
        ["G with CAST(src AS DOUBLE)", "K with CAST(z AS DOUBLE)"],
    ),
    (
        "SELECT G.src, H.w FROM G JOIN H ON G.src <=> H.src",
        [
            "G with COALESCE(src, CAST(0 AS BIGINT)), (src) IS NULL",
            "H with COALESCE(src, CAST(0 AS BIGINT)), (src) IS NULL",
        ],
    ),
    (
        "SELECT A.s, B.s AS t FROM H A, H B WHERE A.s IS NOT DISTINCT FROM B.s",
        ["H with COALESCE(s, CAST('' AS STRING)), (s) IS NULL"],
    ),
    (
        "SELECT K.z, H.w FROM K JOIN H ON K.z <=> H.src + 0",
        [
            "K with COALESCE(z, CAST(0 AS INT)), (z) IS NULL",
            "H with COALESCE(src + 0, CAST(0 AS INT)), (src + 0) IS NULL",
        ],
    ),
    ("SELECT q.x, H.w FROM (SELECT src + 1 AS x, dst FROM G) q JOIN H ON q.x = H.src", ["G with src + 1"]),
    (
        "SELECT q.n, H.w FROM (SELECT count(*) AS n FROM G GROUP BY src) q JOIN H ON q.n + 1 = H.src",
        ["q with q.n + 1"],
    ),
    ("SELECT src, q.dst FROM (SELECT src + 1 AS src, dst FROM G) q JOIN H USING (src)", ["G with src + 1"]),
    (
        "SELECT G.src, count(*) AS n, sum(G.dst * K.z) AS s FROM G JOIN K ON G.dst + 1 = K.z GROUP BY G.src",
        ["G with dst + 1"],
    ),
    ("SELECT DISTINCT K.name FROM G JOIN K ON G.dst = K.z + 1 AND G.src > K.src", ["K with z + 1"]),
]


@pytest.fixture(scope="module", params=seeds(1, 3))
def filled(request: pytest.FixtureRequest) -> duckdb.DuckDBPyConnection:
    connection = connect()
    fill(connection, CATALOG, seed=request.param)
    return connection


def checked(relation: Relation) -> Project:
    """The projection that checks the residual, below whatever stands above it."""
    while not (isinstance(relation, Project) and relation.across):
        assert not isinstance(relation, Join)
        relation = relation.input  # type: ignore[union-attr]
    assert isinstance(relation.input, Join)
    return relation


@pytest.mark.parametrize(("condition", "expected"), RESIDUALS)
def test_a_residual_is_checked_on_the_rows_of_the_join(condition: str, expected: str) -> None:
    relation = checked(bind_query(f"SELECT G.src FROM G JOIN H ON G.src = H.src WHERE {condition}", CATALOG).root)
    found = text_of(relation.predicate)
    assert found is not None
    assert found.replace("COALESCE", "coalesce") == expected
    assert relation.schema.names == ["src"]


@pytest.mark.parametrize("condition", [condition for condition, _ in RESIDUALS])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT G.dst + 1 AS x, H.* FROM G, H WHERE G.src = H.src AND {}",
        "SELECT H.w, sum(G.dst * H.src) AS s, count(*) AS n FROM G JOIN H ON {} AND G.src = H.src GROUP BY H.w",
        "SELECT count(G.dst) AS n, sum(G.dst) AS s FROM G JOIN H ON {} AND G.src = H.src",
        "SELECT DISTINCT H.w FROM G JOIN H USING (src) WHERE {}",
        "SELECT G.dst, H.s FROM G JOIN H USING (src) WHERE {} ORDER BY H.t DESC, G.dst, H.s LIMIT 3",
        "SELECT 1 AS one FROM G JOIN K ON G.src = K.src JOIN H ON K.src = H.src AND {}",
    ],
)
def test_same_rows_as_duckdb(sql: str, condition: str, filled: duckdb.DuckDBPyConnection) -> None:
    text = sql.format(f"({condition})")
    relation = bind_query(text, CATALOG).root
    expected = filled.sql(to_duckdb(text, CATALOG)).fetchall()
    assert Counter(evaluate(relation, filled)) == Counter(expected)
    assert checked(relation).across


def test_nested_queries_are_merged_and_a_view_that_is_read_alone_is_shared(filled: duckdb.DuckDBPyConnection) -> None:
    inner = "SELECT A.src AS a, B.dst AS b, A.dst + B.src AS s FROM G A JOIN G B ON A.dst = B.src"
    views = bind_views({"hop": inner}, CATALOG)
    for sql in (
        f"SELECT q.a, H.w FROM ({inner}) q JOIN H ON q.b = H.src WHERE q.a < H.dst AND q.s > q.b",
        f"SELECT q.a FROM ({inner} AND A.src <> B.dst) q JOIN H ON q.b = H.src WHERE q.a < H.dst",
        f"SELECT count(*) AS n FROM (SELECT q.a AS x, H.w AS y FROM ({inner}) q JOIN H ON q.b = H.dst) r WHERE x > y",
    ):
        relation = bind_query(sql, CATALOG).root
        join = checked(relation).input
        assert isinstance(join, Join)
        assert (len(join.query.atoms), join.inputs) == (3, ()), sql
        assert Counter(evaluate(relation, filled)) == Counter(filled.sql(to_duckdb(sql, CATALOG)).fetchall()), sql
    above = bind_query("SELECT a FROM hop WHERE a < b", CATALOG, views).root
    assert isinstance(above, Project)
    assert above.input is views["hop"].root


@pytest.mark.parametrize(("sql", "names"), COMPUTED)
def test_equalities_of_expressions_join_computed_columns(
    sql: str, names: list[str], filled: duckdb.DuckDBPyConnection
) -> None:
    relation = bind_query(sql, CATALOG).root
    assert Counter(evaluate(relation, filled)) == Counter(filled.sql(to_duckdb(sql, CATALOG)).fetchall())
    while not isinstance(relation, Join):
        relation = relation.input  # type: ignore[union-attr]
    assert sorted(given.table.name for given in relation.inputs) == sorted(names)


def test_a_computed_column_is_computed_behind_the_conditions_on_its_table() -> None:
    sql = "SELECT 1 AS one FROM H JOIN G ON CAST(H.s AS INT) = G.src WHERE H.s LIKE '7%'"
    root = bind_query(sql, CATALOG).root
    assert isinstance(root, Join)
    (given,) = root.inputs
    assert isinstance(given.relation, Join)
    (atom,) = given.relation.query.atoms
    assert (text_of(atom.predicate), atom.table.name) == ("s LIKE '7%'", "H")


def test_coerced_columns_do_not_become_one_variable() -> None:
    """2^53 and 2^53 + 1 are one DOUBLE and two BIGINTs: equality after a conversion is not transitive."""
    catalog, connection = Catalog(), connect()
    for name, columns in {"N": "i BIGINT, j BIGINT", "D": "w DOUBLE"}.items():
        catalog.add(parse_columns(name, columns))
        connection.execute(f"CREATE TABLE {name} ({columns})")
    connection.execute("INSERT INTO N SELECT 9007199254740992 + i, i FROM range(3) r(i)")
    connection.execute("INSERT INTO D VALUES (9007199254740992)")
    sql = "SELECT A.j AS x, B.j AS y FROM N A JOIN D ON A.i = D.w JOIN N B ON B.i = D.w"
    found = Counter(evaluate(bind_query(sql, catalog).root, connection))
    assert found == Counter(connection.sql(sql).fetchall())
    assert (0, 1) in found


def test_an_equality_over_three_tables_is_a_residual_where_others_connect_them(
    filled: duckdb.DuckDBPyConnection,
) -> None:
    joins = "FROM G JOIN K ON G.src = K.src JOIN H ON H.src = K.z WHERE"
    for sql in (
        f"SELECT G.dst {joins} G.dst + K.z = H.dst",
        f"SELECT G.dst {joins} G.dst = H.dst + 1 AND G.dst = H.src + 2",  # a class has one computed column of an atom
        f"SELECT G.dst {joins} G.dst <=> H.dst AND G.dst <=> H.src",
    ):
        assert checked(bind_query(sql, CATALOG).root).across
        found = Counter(evaluate(bind_query(sql, CATALOG).root, filled))
        assert found == Counter(filled.sql(to_duckdb(sql, CATALOG)).fetchall()), sql


# A condition over G and H alone, the variables that join them, the predicates of each, and the residual.
FACTORED = [
    ("(G.src = H.src AND G.dst > 1) OR (H.src = G.src AND H.w < 2)", ["src"], {}, "c0 > 1 OR c1 < 2"),
    (
        "(G.src = H.src AND G.dst > 1 AND H.b) OR (H.src = G.src AND G.dst < 1 AND H.w > 1)",
        ["src"],
        {"G": "dst > 1 OR dst < 1", "H": "b OR w > 1"},
        "(c1 > 1 AND c0) OR (c1 < 1 AND c2 > 1)",
    ),
    ("G.src = H.src OR (G.src = H.src AND G.dst = 1)", ["src"], {}, None),
    (
        "(G.src = H.src AND H.b AND G.dst = 1) OR (G.src = H.src AND H.b AND H.w = 1)",
        ["src"],
        {"H": "b"},
        "c0 = 1 OR c1 = 1",
    ),
    ("(G.src + 1 = H.src AND G.dst = 1) OR (G.src + 1 = H.src AND H.dst = 1)", ["src"], {}, "c0 = 1 OR c1 = 1"),
    ("G.src IN (H.src)", ["src"], {}, None),
    ("G.src = H.src AND (G.dst, G.src) IN ((H.dst, H.src))", ["src", "dst", "src IS NULL"], {}, None),
    (
        "((G.src = H.src OR G.src = H.dst) AND G.dst = H.dst) OR (G.dst = H.dst AND H.b)",
        ["dst"],
        {},
        "(c1 = c2 OR c1 = c3) OR c0",
    ),
]


@pytest.mark.parametrize(("condition", "variables", "predicates", "residual"), FACTORED)
def test_what_all_terms_of_a_disjunction_have_is_taken_out(
    condition: str,
    variables: list[str],
    predicates: dict[str, str],
    residual: str | None,
    filled: duckdb.DuckDBPyConnection,
) -> None:
    sql = f"SELECT 1 AS one FROM G, H WHERE {condition}"
    relation = bind_query(sql, CATALOG).root
    found = Counter(evaluate(relation, filled))
    assert found == Counter(filled.sql(to_duckdb(sql, CATALOG)).fetchall())
    if isinstance(relation, Project):
        assert text_of(relation.predicate) == residual
        relation = relation.input
    else:
        assert residual is None
    assert isinstance(relation, Join)
    left, right = relation.query.edges
    assert len(left & right) == len(variables)
    own = {atom.alias: text_of(atom.predicate) for atom in relation.query.atoms if atom.predicate}
    assert own == predicates


def test_what_a_disjunction_implies_is_no_filter_where_it_may_fail() -> None:
    terms = "(G.src = H.src AND 1 / G.dst > 0 AND H.b) OR (G.src = H.src AND G.dst > 1 AND H.w > 1)"
    join = checked(bind_query(f"SELECT 1 AS one FROM G, H WHERE {terms}", CATALOG).root).input
    assert isinstance(join, Join)
    assert {atom.alias: text_of(atom.predicate) for atom in join.query.atoms} == {"G": None, "H": "b OR w > 1"}


def test_what_may_fail_is_decided_behind_what_keeps_rows_away_from_it() -> None:
    sql = "SELECT x FROM (SELECT 12 / G.dst AS x, H.w FROM G JOIN H USING (src) WHERE G.dst <> H.dst) q WHERE x > 1"
    root = bind_query(sql, CATALOG).root
    assert text_of(checked(root).predicate) == "(c0 <> c1) AND ((12 / c0) > 1)"


@pytest.mark.parametrize(
    ("sql", "parts"),
    [
        ("SELECT 1 FROM G, H WHERE G.src < H.src", ["'G' and 'H'", "no equality connects", "allow_product=True"]),
        ("SELECT 1 FROM G A JOIN G B ON A.src = B.src, H WHERE A.dst + B.dst > H.src", ["'A', 'B' and 'H'"]),
        ("SELECT 1 FROM G, H, K WHERE G.src = H.src AND H.dst <> K.z AND K.name = 'a'", ["'H' and 'K'"]),
    ],
)
def test_a_product_with_a_condition_wants_leave(sql: str, parts: list[str], filled: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UnsupportedQueryError) as caught:
        bind_query(sql, CATALOG)
    assert all(part in str(caught.value) for part in parts), str(caught.value)
    relation = bind_query(sql, CATALOG, allow_product=True).root
    assert Counter(evaluate(relation, filled)) == Counter(filled.sql(sql).fetchall())
    assert bind_query(sql.partition(" WHERE ")[0], CATALOG).root  # a product that says so needs no leave


def test_a_view_that_is_a_product_with_a_condition_stays_apart_where_it_is_read() -> None:
    product = bind_query("SELECT G.src AS a, H.src AS b FROM G, H WHERE G.src < H.src", CATALOG, allow_product=True)
    sql = "SELECT p.a FROM p JOIN K ON p.b = K.z"
    apart = bind_query(sql, CATALOG, {"p": product}).root
    assert isinstance(apart, Join)
    assert apart.inputs
    merged = bind_query(sql, CATALOG, {"p": product}, allow_product=True).root
    assert isinstance(merged, Project)


def test_a_residual_may_be_wrong_as_any_condition() -> None:
    start = "SELECT 1 FROM G JOIN H ON G.src = H.src WHERE "
    with pytest.raises(SqlTypeError, match=r"the condition G\.dst \+ H\.dst has the type int64"):
        bind_query(f"{start} G.dst + H.dst", CATALOG)
    with pytest.raises(UnsupportedQueryError, match="RAND is a volatile function"):
        bind_query(f"{start} G.dst + H.dst > rand()", CATALOG)
    with pytest.raises(SqlTypeError, match="line 2, column 2"):
        bind_query(f"{start}\n G.dst < H.d", CATALOG)
