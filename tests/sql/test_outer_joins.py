"""Outer, semi and anti joins: what they become, and that the relations have DuckDB's rows."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pytest
from relations import evaluate

from factors import text_of
from livejoin.catalog import Catalog
from livejoin.errors import SqlError, UnknownNameError, UnsupportedQueryError
from livejoin.query import ConjunctiveQuery
from livejoin.query.keys import keys
from livejoin.query.relational import Join, Project, SetOperation
from livejoin.sql import bind_query, bind_views, parse_columns, to_duckdb
from oracle import connect
from random_outer_joins import COLUMNS, DECLARED, RandomOuterJoins
from strategies import seeds

CATALOG = Catalog()
for _name, _columns in DECLARED.items():
    CATALOG.add(parse_columns(_name, _columns))


def fill(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    generator = random.Random(seed)
    for name, columns in COLUMNS.items():
        rows = [tuple(generator.choice((0, 1, 2, 3, None)) for _ in columns) for _ in range(generator.randrange(7))]
        if name == "K":
            rows = [(i, generator.randrange(3), row[2]) for i, row in enumerate(rows)]
        connection.execute(f"CREATE OR REPLACE TABLE {name} ({', '.join(f'{column} INT' for column in columns)})")
        if rows:
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)


def bound(sql: str) -> ConjunctiveQuery:
    """The conjunctive query of a text that is one join, perhaps with residuals above it."""
    root = bind_query(sql, CATALOG, allow_product=True).root
    join = root.input if isinstance(root, Project) else root
    assert isinstance(join, Join)
    return join.query


def shape(sql: str) -> list[tuple[str, list[str], list[tuple[str, str]], int | None]]:
    """The branches of a text: kind, aliases, key as columns, and the branch above."""
    query = bound(sql)

    def column(variable: str) -> str:
        atom = next(atom for atom in query.atoms if variable in atom.variables)
        return f"{atom.alias}.{atom.table.columns[atom.column_of(variable)].name}"

    return [
        (b.kind, [query.atoms[i].alias for i in b.atoms], sorted((column(o), column(i)) for o, i in b.key), b.above)
        for b in query.branches
    ]


def check(sql: str, fillings: int = 4) -> None:
    """Compare a text with DuckDB over random tables, as it stands and as it is written for DuckDB."""
    connection = connect()
    relation = bind_query(sql, CATALOG, allow_product=True).root
    for seed in range(fillings):
        fill(connection, seed)
        expected = Counter(connection.sql(sql.replace("LEFT SEMI", "SEMI")).fetchall())
        assert Counter(evaluate(relation, connection)) == expected, sql
        assert Counter(connection.sql(to_duckdb(sql, CATALOG)).fetchall()) == expected, sql


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_random_joins_have_the_rows_of_duckdb(seed: int) -> None:
    check(RandomOuterJoins(seed).select(), fillings=2)


SHAPES = [
    ("R LEFT JOIN S ON R.b = S.b", [("optional", ["S"], [("R.b", "S.b")], None)]),
    ("R RIGHT OUTER JOIN S USING (b)", [("optional", ["R"], [("S.b", "R.b")], None)]),
    ("R LEFT SEMI JOIN S ON R.b = S.b", [("exists", ["S"], [("R.b", "S.b")], None)]),
    ("R ANTI JOIN S ON S.b = R.b AND S.d > 1", [("not exists", ["S"], [("R.b", "S.b")], None)]),
    (
        "R NATURAL LEFT JOIN S LEFT JOIN T ON S.d = T.d",
        [("optional", ["S"], [("R.a", "S.a"), ("R.b", "S.b")], None), ("optional", ["T"], [("S.d", "T.d")], 0)],
    ),
    (
        "R LEFT JOIN S ON R.b = S.b LEFT JOIN T ON R.a = T.a",
        [("optional", ["S"], [("R.b", "S.b")], None), ("optional", ["T"], [("R.a", "T.a")], None)],
    ),
    (
        "R LEFT JOIN (S JOIN T ON S.a = T.a) ON T.a = R.a AND S.b = R.b",
        [("optional", ["S", "T"], [("R.a", "S.a"), ("R.b", "S.b")], None)],
    ),
    (
        "R LEFT JOIN (S SEMI JOIN T ON S.a = T.a) ON S.b = R.b",
        [("optional", ["S"], [("R.b", "S.b")], None), ("exists", ["T"], [("S.a", "T.a")], 0)],
    ),
    # Across an edge columns differ: T is matched by S.d, which is NULL without a match, and not by what equals it.
    (
        "R LEFT JOIN S ON R.a = S.a LEFT JOIN T ON S.a = T.a",
        [("optional", ["S"], [("R.a", "S.a")], None), ("optional", ["T"], [("S.a", "T.a")], 0)],
    ),
    # Equal columns above are one key, equal columns below another one.
    (
        "R JOIN S ON R.b = S.b LEFT JOIN T ON R.b = T.c AND S.a = T.a",
        [("optional", ["T"], [("R.b", "T.c"), ("S.a", "T.a")], None)],
    ),
    # WHERE rejects the NULLs: an inner join, and so is what it hangs on.
    ("R LEFT JOIN S ON R.b = S.b WHERE S.d + 1 > 2 OR S.a IN (1, 2)", []),
    ("R LEFT JOIN S ON R.b = S.b LEFT JOIN T ON S.d = T.d WHERE T.a IS NOT NULL", []),
    ("R LEFT JOIN S ON R.b = S.b JOIN T ON S.d = T.d", []),
    ("R LEFT JOIN S ON R.b = S.b SEMI JOIN T ON S.d = T.d", [("exists", ["T"], [("S.d", "T.d")], None)]),
    (
        "R LEFT JOIN S ON R.b = S.b LEFT JOIN T ON S.d = T.d WHERE S.a > 0",
        [("optional", ["T"], [("S.d", "T.d")], None)],
    ),
    ("R FULL JOIN S ON R.b = S.b WHERE R.c > 0", [("optional", ["S"], [("R.b", "S.b")], None)]),
    ("R FULL JOIN S ON R.b = S.b WHERE S.d > 0 AND R.a IS NULL", [("optional", ["R"], [("S.b", "R.b")], None)]),
    ("R FULL JOIN S ON R.b = S.b WHERE S.d > R.c", []),
    (
        "(SELECT * FROM R FULL JOIN T USING (a, c)) R FULL JOIN S ON R.b = S.b JOIN U ON U.b = R.b AND U.c = S.d",
        [("optional", ["T"], [("R.a", "T.a"), ("R.c", "T.c")], None)],
    ),
    # What makes no difference.
    ("R LEFT JOIN K ON R.b = K.k AND K.d > 1", []),
    (
        "R LEFT JOIN K ON R.b = K.k AND K.d > 1 WHERE COALESCE(K.d, R.b) > 0",
        [("optional", ["K"], [("R.b", "K.k")], None)],
    ),
    ("R LEFT JOIN K ON R.b = K.d", [("optional", ["K"], [("R.b", "K.d")], None)]),
    ("R ANTI JOIN (S LEFT JOIN T ON S.d = T.d) ON R.b = S.b", [("not exists", ["S"], [("R.b", "S.b")], None)]),
    # Only rows without a match are kept.
    ("R LEFT JOIN S ON R.b = S.b WHERE S.b IS NULL", [("not exists", ["S"], [("R.b", "S.b")], None)]),
    ("R LEFT JOIN K ON R.a = K.d WHERE K.b IS NULL AND R.c > 0", [("not exists", ["K"], [("R.a", "K.d")], None)]),
    ("R LEFT JOIN S ON R.b = S.b WHERE S.d IS NULL", [("optional", ["S"], [("R.b", "S.b")], None)]),
]


@pytest.mark.parametrize(("clause", "expected"), SHAPES)
def test_branches(clause: str, expected: list[object]) -> None:
    sql = f"SELECT R.a AS x, R.c AS y FROM {clause}"
    assert shape(sql) == expected
    check(sql)


def test_columns_of_what_does_not_exist_are_null() -> None:
    sql = "SELECT R.a, S.*, COALESCE(S.d, R.c) AS x FROM R LEFT JOIN S ON R.b = S.b WHERE S.b IS NULL"
    query = bound(sql)
    assert [branch.kind for branch in query.branches] == ["not exists"]
    assert [ref.atom for ref in query.head] == [0, 0]
    check(sql)


def test_what_rejects_no_nulls_is_a_residual() -> None:
    sql = "SELECT R.a, S.d FROM R LEFT JOIN S ON R.b = S.b WHERE COALESCE(S.d, 1) = 1 AND (S.a IS NULL OR S.a < R.c)"
    root = bind_query(sql, CATALOG).root
    assert isinstance(root, Project)
    assert text_of(root.predicate) == "(COALESCE(c1, 1) = 1) AND (c2 IS NULL OR c2 < c3)"
    assert [branch.kind for branch in bound(sql).branches] == ["optional"]
    check(sql)


BLOCKS = [
    # ON over the preserved side alone: a key that is NULL where the condition is not true.
    ("R LEFT JOIN S ON R.b = S.b AND R.a > 1", 1),
    ("R LEFT JOIN S ON R.a > 1", 2),
    ("R ANTI JOIN S ON R.b = S.b AND R.a IS NULL", 1),
    ("R LEFT JOIN S ON R.b = S.b AND R.c = S.b", 1),
    # Expressions.
    ("R LEFT JOIN S ON R.b + 1 = S.b", 1),
    ("R LEFT JOIN S ON R.b + 1 = S.b - 1", 2),
    # What is true of a pair of rows: the matches are a block.
    ("R LEFT JOIN S ON R.b = S.b AND R.a < S.a", 1),
    ("R SEMI JOIN S ON R.b = S.b AND (R.a = 1 OR S.a = 2)", 2),
    ("R ANTI JOIN S ON R.b = S.b AND R.a <> S.a", 1),
    ("R LEFT JOIN S ON R.b = S.b AND (R.a IS NULL OR S.a > 1)", 2),
    ("R LEFT JOIN S ON R.b < S.b", 1),
    # The right side is joined by more than equalities, by a cycle, or by what is above it alone.
    ("R LEFT JOIN (S JOIN T ON S.a = T.a AND S.b < T.c) ON R.b = S.b", 1),
    ("R LEFT JOIN (S JOIN T ON S.a = T.a) ON R.b = S.b AND R.c = T.c", 1),
    ("R LEFT JOIN (S JOIN T ON S.a = T.a JOIN U ON U.b = S.b AND U.c = T.c) ON R.b = S.b", 1),
    ("R LEFT JOIN (S CROSS JOIN T) ON R.b = S.b AND R.c = T.c", 1),
    ("R LEFT JOIN (S LEFT JOIN T ON S.a = T.a) ON R.b = S.b AND COALESCE(T.c, 1) = 1", 1),
    # The columns above are of two tables.
    ("R JOIN S ON R.a = S.a LEFT JOIN T ON T.c = R.c AND T.d = S.d", 1),
    ("R LEFT JOIN S ON R.a = S.a LEFT JOIN T ON T.c = R.c AND T.d = S.d", 1),
    ("R LEFT JOIN S ON R.a = S.a LEFT JOIN T ON S.d IS NULL", 2),
    ("R LEFT JOIN S ON R.a = S.a ANTI JOIN T ON T.d = S.d", 1),
    # A cycle on the preserved side.
    ("R JOIN S ON R.a = S.a JOIN U ON U.b = S.b AND U.c = R.c LEFT JOIN T ON T.a = R.a", 1),
]


@pytest.mark.parametrize(("clause", "inputs"), BLOCKS)
def test_what_is_no_edge_is_made_one_by_blocks(clause: str, inputs: int) -> None:
    sql = f"SELECT R.a AS x, R.c AS y FROM {clause}"
    root = bind_query(sql, CATALOG, allow_product=True).root
    join = root.input if isinstance(root, Project) else root
    assert isinstance(join, Join)
    assert len(join.inputs) == inputs
    assert len(join.query.branches) == 1
    check(sql)


@pytest.mark.parametrize("join", ["LEFT", "RIGHT", "FULL", "SEMI", "ANTI"])
@pytest.mark.parametrize(
    "condition",
    [
        "V.x = W.i",
        "V.x = W.i AND V.d = W.t",
        "V.m = W.i + 1 AND V.x < 2",
        "V.x IS NOT DISTINCT FROM W.i",
        "V.d IS NOT DISTINCT FROM CAST(W.t AS DATE) AND V.x = W.i",
        "V.x + 1 = W.i AND V.x + 1 = W.i * 2 AND V.m > 0",
        "V.m = W.i AND V.x = W.i",
    ],
)
def test_edges_over_expressions_and_other_types(condition: str, join: str) -> None:
    catalog = Catalog()
    catalog.add(parse_columns("V", "x DOUBLE, m DECIMAL(6, 2), d DATE"))
    catalog.add(parse_columns("W", "i INT, t TIMESTAMP"))
    shown = "V.x AS a, V.m AS b" if join in ("SEMI", "ANTI") else "V.x AS a, V.m AS b, W.i AS c, W.t AS e"
    sql = f"SELECT {shown} FROM V {join} JOIN W ON {condition}"
    root = bind_query(sql, catalog).root
    union = root.input if isinstance(root, Project) else root
    joins = (union.left, union.right) if isinstance(union, SetOperation) else (union,)
    assert all(isinstance(side, Join) and len(side.query.branches) == 1 for side in joins)
    connection = connect()
    for seed in range(3):
        generator = random.Random(seed)
        connection.execute("CREATE OR REPLACE TABLE V (x DOUBLE, m DECIMAL(6, 2), d DATE)")
        connection.execute("CREATE OR REPLACE TABLE W (i INT, t TIMESTAMP)")
        for _ in range(5):
            day = generator.choice(("2024-01-01", "2024-01-02", None))
            numbers = [generator.choice((0, 1, 2, None)) for _ in range(3)]
            connection.execute("INSERT INTO V VALUES (?, ?, ?)", [numbers[0], numbers[1], day])
            connection.execute("INSERT INTO W VALUES (?, ?)", [numbers[2], day])
        assert Counter(evaluate(root, connection)) == Counter(connection.sql(sql).fetchall()), sql


STARS = [
    ("R LEFT JOIN S USING (b)", ["b", "a", "c", "a_1", "d"]),
    ("R RIGHT JOIN S USING (b, a)", ["b", "a", "c", "d"]),
    ("R NATURAL FULL JOIN S", ["a", "b", "c", "d"]),
    ("R FULL OUTER JOIN S USING (a) FULL JOIN T USING (a)", ["a", "b", "c", "b_1", "d", "c_1", "d_1"]),
    ("R SEMI JOIN S USING (b)", ["a", "b", "c"]),
    ("R NATURAL ANTI JOIN S", ["a", "b", "c"]),
    ("U, R RIGHT JOIN S ON R.a = S.a", ["b", "c", "d", "a", "b_1", "c_1", "a_1", "b_2", "d_1"]),
]


@pytest.mark.parametrize(("clause", "names"), STARS)
def test_star(clause: str, names: list[str]) -> None:
    sql = f"SELECT * FROM {clause}"
    relation = bind_query(sql, CATALOG).root
    assert relation.schema.names == names
    connection = connect()
    for seed in range(3):
        fill(connection, seed)
        written = to_duckdb(sql, CATALOG)
        assert Counter(evaluate(relation, connection)) == Counter(connection.sql(written).fetchall())
        # DuckDB shows merged columns in their place, Spark first.
        unordered = [
            Counter(frozenset(Counter(row).items()) for row in connection.sql(s).fetchall()) for s in (sql, written)
        ]
        assert unordered[0] == unordered[1]


def test_a_full_join_is_a_union() -> None:
    sql = "SELECT R.a, S.d FROM R FULL JOIN S ON R.b = S.b AND S.d > 1"
    root = bind_query(sql, CATALOG).root
    assert isinstance(root, SetOperation)
    sides = [side for side in (root.left, root.right) if isinstance(side, Join)]
    assert [[branch.kind for branch in side.query.branches] for side in sides] == [["optional"], ["not exists"]]
    for more in ("", " LEFT JOIN T ON T.a = R.a", " WHERE S.d = R.b", " FULL JOIN T ON COALESCE(R.a, S.a) = T.a"):
        check(f"SELECT R.a AS x, S.d AS y FROM R FULL JOIN S ON R.b = S.b{more}")


def test_a_full_join_has_the_columns_that_are_read() -> None:
    sql = "SELECT R.a, S.d FROM R FULL JOIN S ON R.b = S.b FULL JOIN U ON U.b = R.c"
    project = bind_query(sql, CATALOG).root
    assert isinstance(project, Project)
    root = project.input
    assert isinstance(root, SetOperation)
    left, right = root.left, root.right
    assert isinstance(left, Join)
    assert [given.relation.schema.names for given in left.inputs] == [["a", "c", "d"]]
    # What is matched by R.c has a row of R: it is R LEFT JOIN S, where S makes no difference.
    assert isinstance(right, Join)
    assert not right.inputs
    assert [(branch.kind, len(branch.atoms)) for branch in right.query.branches] == [("not exists", 1)]
    check(sql)


NESTED = [
    # (text, atoms of the join, inputs)
    ("SELECT q.a FROM (SELECT R.a, S.d FROM R LEFT JOIN S ON R.b = S.b) q WHERE q.d = 1", 2, 0),
    ("SELECT q.a, T.d FROM (SELECT R.a, S.d FROM R LEFT JOIN S ON R.b = S.b) q LEFT JOIN T ON T.a = q.d", 3, 0),
    ("SELECT U.b, q.x FROM U LEFT JOIN (SELECT R.a AS x, S.d FROM R JOIN S ON R.b = S.b) q ON U.c = q.d", 3, 0),
    ("SELECT U.b, q.x FROM U LEFT JOIN (SELECT R.a AS x, S.d FROM R LEFT JOIN S ON R.b = S.b) q ON U.c = q.x", 3, 0),
    # 1 is NULL where there is no match.
    ("SELECT U.b, q.one FROM U LEFT JOIN (SELECT a, 1 AS one FROM R) q ON U.c = q.a", 2, 1),
    ("SELECT U.b FROM U LEFT JOIN (SELECT a, b + c AS s FROM R) q ON U.c = q.a AND q.s > 2", 2, 0),
    ("SELECT U.b FROM U SEMI JOIN (SELECT a, 1 AS one FROM R) q ON U.c = q.a AND q.one = 1", 2, 0),
    ("SELECT q.a FROM (SELECT a, COUNT(*) AS n FROM R GROUP BY a) q LEFT JOIN S ON q.a = S.a AND S.d > 0", 2, 1),
]


@pytest.mark.parametrize(("sql", "atoms", "inputs"), NESTED)
def test_queries_in_from_are_merged(sql: str, atoms: int, inputs: int) -> None:
    root = bind_query(sql, CATALOG).root
    assert isinstance(root, Join)
    assert (len(root.query.atoms), len(root.inputs)) == (atoms, inputs)
    check(sql)


def test_a_view_of_an_outer_join_is_merged_into_its_readers() -> None:
    views = bind_views({"v": "SELECT R.a, R.c, S.d FROM R LEFT JOIN S ON R.b = S.b"}, CATALOG)
    root = bind_query("SELECT v.a, v.d FROM T LEFT JOIN v ON T.c = v.c", CATALOG, views).root
    assert isinstance(root, Join)
    assert [(branch.kind, branch.above) for branch in root.query.branches] == [("optional", None), ("optional", 0)]


GROUPED = [
    "SELECT R.a AS g, COUNT(*) AS n, COUNT(S.d) AS m, SUM(S.d) AS s, SUM(R.c * S.d) AS t FROM R "
    "LEFT JOIN S ON R.b = S.b GROUP BY R.a",
    "SELECT S.d AS g, COUNT(*) AS n FROM R LEFT JOIN S ON R.b = S.b GROUP BY S.d HAVING COUNT(*) > 1",
    "SELECT COUNT(K.k) AS n, COUNT(K.b) AS m, COUNT(*) AS o, MIN(K.b) AS p FROM R LEFT JOIN K ON R.b = K.k",
    "SELECT DISTINCT S.d AS x FROM R LEFT JOIN S ON R.b = S.b",
    "SELECT a AS x, COUNT(*) AS n FROM R FULL JOIN S USING (a) GROUP BY a",
    "SELECT R.a AS x, SUM(R.c) AS s FROM R ANTI JOIN S ON R.b = S.b GROUP BY R.a",
]


@pytest.mark.parametrize("sql", GROUPED)
def test_groups_above_outer_joins(sql: str) -> None:
    check(sql)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT R.a, K.k FROM K SEMI JOIN R ON K.b = R.b", None),
        ("SELECT K.k, K.b FROM K SEMI JOIN R ON K.b = R.b", [["k"]]),
        ("SELECT K.k, K.b FROM K ANTI JOIN R ON K.b = R.b", [["k"]]),
        ("SELECT K.k, L.k AS l, L.b FROM K LEFT JOIN K L ON K.d = L.k", [["k"]]),
        ("SELECT K.k, L.k AS l, L.b FROM K LEFT JOIN K L ON K.d = L.d", [["k", "l"]]),
        ("SELECT K.k, R.a FROM K LEFT JOIN R ON K.d = R.b", []),
        ("SELECT L.k, L.b FROM K LEFT JOIN K L ON K.k = L.d", []),
    ],
)
def test_keys(sql: str, expected: list[list[str]] | None) -> None:
    if expected is None:
        with pytest.raises(UnknownNameError, match="no table or alias 'R'"):
            bind_query(sql, CATALOG)
        return
    root = bind_query(sql, CATALOG).root
    assert [[root.schema.names[i] for i in sorted(key)] for key in keys(root)] == expected
    check(sql)


REFUSED = [
    ("SELECT R.a FROM R ^RIGHT SEMI JOIN S ON R.a = S.a", "[LEFT] SEMI JOIN"),
    ("SELECT R.a FROM R ^ASOF LEFT SEMI JOIN S ON R.a >= S.a", "ASOF [LEFT] JOIN"),
    ("SELECT R.a FROM R ^OUTER JOIN S ON R.a = S.a", "LEFT, RIGHT and FULL [OUTER] JOIN"),
    ("SELECT R.a FROM R LEFT JOIN S ON ^R.a < S.a", "allow_product=True"),
    ("SELECT R.a FROM R SEMI JOIN S ON ^R.a < S.a", "allow_product=True"),
    ("SELECT R.a FROM R FULL JOIN S ON ^R.a < S.a", "allow_product=True"),
    ("SELECT R.a FROM R LEFT JOIN S ON R.a = S.a AND ^count(*) = 1", "HAVING"),
    ("SELECT ^S.a FROM R ANTI JOIN S ON R.a = S.a", "no table or alias 'S'"),
    ("SELECT ^d FROM R SEMI JOIN S ON R.a = S.a", "no column 'd'"),
    ("SELECT R.a FROM R FULL JOIN S USING (^c)", "no column 'c'"),
    ("SELECT ^a FROM R FULL JOIN S ON R.a = S.a", "write one of R.a, S.a"),
    ("SELECT R.^d FROM R FULL JOIN S ON R.a = S.a", "'R' (table 'R') has no column 'd'"),
]


@pytest.mark.parametrize(("marked", "part"), REFUSED)
def test_refusals(marked: str, part: str) -> None:
    with pytest.raises(SqlError) as caught:
        bind_query(marked.replace("^", ""), CATALOG)
    assert part in str(caught.value)
    if "NATURAL" not in marked:
        assert caught.value.column == marked.index("^") + 1
    if "allow_product" in part:
        assert isinstance(caught.value, UnsupportedQueryError)


def test_a_sub_query_within_one_is_over_outer_joins_that_became_one_occurrence() -> None:
    inner = "SELECT K.d FROM K WHERE K.b = COALESCE(R.b, 1)"
    check(
        "SELECT R.a AS x, U.b AS y FROM T LEFT JOIN R ON T.d = R.a LEFT JOIN U ON COALESCE(R.b, 1) = U.d WHERE EXISTS "
        f"(SELECT 1 FROM S WHERE S.a = COALESCE(R.b, 1) AND COALESCE(U.b, 2) IN ({inner}))"
    )
