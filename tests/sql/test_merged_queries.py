"""What is merged into one join, what stays apart as an input, and what makes no join: relations by their structure."""

from __future__ import annotations

from functools import reduce

import pytest
from sql_fixtures import make_catalog

import livejoin
from factors import sources, text_of, texts
from livejoin.query.bound_query import Query
from livejoin.query.relational import Aggregate, Join, Project, Relation, SetOperation
from livejoin.sql import bind_query, parse_columns
from livejoin.sql.lower.view_merging import MOST_ATOMS

CATALOG = make_catalog()
CATALOG.add(parse_columns("N", "k INT PRIMARY KEY, i TINYINT NOT NULL, p DECIMAL(18, 4) NOT NULL, q DECIMAL(30, 2)"))


def view(sql: str) -> Query:
    return bind_query(sql, CATALOG)


VIEWS = {
    "hop2": view("SELECT A.src, B.dst, A.src + B.dst AS s FROM G A JOIN G B ON A.dst = B.src"),
    "degree": view("SELECT src, COUNT(*) AS n, SUM(dst) AS d FROM G GROUP BY src"),
}
VIEWS["busy"] = bind_query("SELECT src, n * 2 AS twice FROM degree WHERE n > 1", CATALOG, VIEWS)


def shape(relation: Relation) -> str:
    """The operators, with the aliases of a join's atoms and the inputs that they read."""
    name = type(relation).__name__
    match relation:
        case Join():
            inputs = "".join(f"; {given.table.name} = {shape(given.relation)}" for given in relation.inputs)
            return f"Join({', '.join(atom.alias for atom in relation.query.atoms)}{inputs})"
        case SetOperation():
            return f"SetOperation({shape(relation.left)}, {shape(relation.right)})"
        case Project():
            return f"Project({shape(relation.input)}{f' | {relation.predicate}' if relation.predicate else ''})"
        case _:
            return f"{name}({shape(relation.input)})"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # One join, in parentheses, in WITH, in a view, and through several levels.
        ("SELECT q.src FROM (SELECT src FROM G WHERE dst > 1) q", "Join(G)"),
        ("SELECT q.a, H.w FROM (SELECT src AS a FROM G) q JOIN H ON q.a = H.src", "Join(G, H)"),
        ("SELECT * FROM (SELECT src FROM G) q NATURAL JOIN (SELECT src, w FROM H) r", "Join(G, H)"),
        ("WITH x AS (SELECT * FROM G), y AS (SELECT * FROM x) SELECT * FROM x JOIN y USING (src)", "Join(x.G, y.G)"),
        ("SELECT a.src FROM hop2 a JOIN hop2 b ON a.dst = b.src", "Join(a.A, a.B, b.A, b.B)"),
        ("SELECT src + s AS x FROM hop2", "Join(A, B)"),
        ("SELECT sum(s) FROM hop2 GROUP BY dst", "Project(Aggregate(Join(A, B)))"),
        ("SELECT 1 AS one FROM (SELECT 1 FROM G) JOIN (SELECT 2 FROM G)", "Join(query 1.G, query 2.G)"),
        # A filter over columns of several tables, or over a computed column, stands above the join.
        ("SELECT src FROM hop2 WHERE src < dst", "Project(Join(A, B) | c0 < c1)"),
        ("SELECT src FROM hop2 WHERE s > 3", "Project(Join(A, B) | c2 > 3)"),
        ("SELECT s FROM hop2 WHERE src > 3", "Join(A, B)"),
        # A computed column is joined: its query is stored.
        ("SELECT hop2.src FROM hop2 JOIN H ON hop2.s = H.dst", "Join(hop2, H; hop2 = Project(Join(A, B)))"),
        (
            "SELECT 1 AS one FROM (SELECT src + 1 AS x FROM G) q JOIN G ON x = G.src",
            "Join(q.G, G; G with src + 1 = Join(G))",
        ),
        ("SELECT 1 AS one FROM (SELECT 1 AS x FROM G) q JOIN G ON x = G.src", "Join(q.G, G)"),
        # What groups, sorts, combines or takes distinct rows is an input; what is plain above it is merged.
        (
            "SELECT G.dst, n FROM G JOIN degree ON G.src = degree.src",
            "Join(G, degree; degree = Project(Project(Aggregate(Join(G)))))",
        ),
        (
            "SELECT G.dst, twice FROM G JOIN busy ON G.dst = busy.src",
            "Join(G, degree; degree = Project(Project(Aggregate(Join(G))) | c1 > 1))",
        ),
        ("SELECT src FROM busy", "Project(Project(Aggregate(Join(G))) | c1 > 1)"),
        ("SELECT * FROM degree", "Project(Aggregate(Join(G)))"),
        ("SELECT max(n) FROM degree", "Project(Aggregate(Project(Project(Aggregate(Join(G))))))"),
        ("SELECT count(*) FROM degree", "Project(Aggregate(Project(Aggregate(Join(G)))))"),
        ("SELECT DISTINCT n FROM degree", "Distinct(Project(Project(Aggregate(Join(G)))))"),
        ("SELECT n FROM degree ORDER BY n LIMIT 1", "TopK(Project(Project(Aggregate(Join(G)))))"),
        ("SELECT x FROM (SELECT src AS x FROM G UNION SELECT dst FROM G) q", "SetOperation(Join(G), Join(G))"),
        # Atoms that read the same columns of the same rows share an input, others do not.
        (
            "WITH d AS (SELECT DISTINCT src, dst FROM G) SELECT a.src, b.dst FROM d a JOIN d b ON a.dst = b.src",
            "Join(a, b; d = Distinct(Join(G)))",
        ),
        (
            "WITH d AS (SELECT DISTINCT src FROM G) SELECT 1 AS one FROM d a JOIN d b ON a.src = b.src AND a.src > 1",
            "Join(a, b; d = Project(Distinct(Join(G)) | c0 > 1); d_2 = Distinct(Join(G)))",
        ),
        (
            "WITH G AS (SELECT DISTINCT src FROM G) SELECT 1 AS one FROM G, H",
            "Join(G, H; G_2 = Project(Distinct(Join(G))))",
        ),
    ],
)
def test_shapes(sql: str, expected: str) -> None:
    assert shape(bind_query(sql, CATALOG, VIEWS).root) == expected


def test_an_input_has_the_columns_that_are_used_and_a_key() -> None:
    root = bind_query("SELECT n FROM G JOIN degree ON G.dst = degree.src AND degree.d > 2", CATALOG, VIEWS).root
    assert isinstance(root, Join)
    (given,) = root.inputs
    assert [str(column) for column in given.table.columns] == ["src BIGINT", "n BIGINT"]
    assert given.table.primary_key == (0,)
    atom = root.query.atoms[1]
    assert (atom.table, atom.columns, atom.variables, atom.predicate) == (given.table, (0, 1), ("dst", "n"), None)
    assert isinstance(given.relation, Project)
    assert sources(given.relation.outputs) == [0, 1]
    assert text_of(given.relation.predicate) == "c2 > 2"


def test_an_input_without_a_used_column() -> None:
    root = bind_query("SELECT G.src FROM G, degree WHERE n > 1", CATALOG, VIEWS).root
    assert isinstance(root, Join)
    (given,) = root.inputs
    assert [str(column) for column in given.table.columns] == ["nothing BIGINT NOT NULL"]
    assert root.query.atoms[1].columns == ()
    assert isinstance(given.relation, Project)
    assert (given.relation.schema.names, text_of(given.relation.predicate)) == (["nothing"], "c1 > 1")


def test_predicates_and_products_reach_the_tables() -> None:
    sql = "SELECT sum(v) AS t FROM (SELECT A.src, A.dst * N.i AS v FROM G A JOIN N ON A.src = N.k) q WHERE q.src > 2"
    root = bind_query(sql, CATALOG).root
    assert isinstance(root, Project)
    assert isinstance(root.input, Aggregate)
    assert isinstance(root.input.input, Join)
    assert [text_of(atom.predicate) for atom in root.input.input.query.atoms] == ["src > 2", None]
    product = root.input.calls[0].product
    assert product is not None
    assert texts(product.factors) == [
        (0, "dst"),
        (1, "i"),
    ]


def test_a_condition_that_may_fail_is_decided_behind_those_of_its_query() -> None:
    inner = "(SELECT CAST(s AS INT) AS n, src FROM H WHERE s LIKE '1%') q"
    (atom,) = _atoms(f"SELECT src FROM {inner} WHERE n > 1")
    assert atom == "(s LIKE '1%') AND ((CAST(s AS INT)) > 1)"
    (atom,) = _atoms(f"SELECT n FROM {inner} WHERE src > 1")
    assert atom == "(s LIKE '1%') AND (src > 1)"


def test_conditions_that_may_fail_are_decided_level_by_level() -> None:
    """Each condition stands once in the predicate, however many levels there are."""
    inner = "(SELECT CAST(s AS INT) AS n, src FROM H WHERE s LIKE '1%') q"
    (atom,) = _atoms(f"SELECT m FROM (SELECT 10 / n AS m, src FROM {inner} WHERE n <> 0) r WHERE m > 2 AND src > 1")
    assert atom == "(s LIKE '1%') AND ((CAST(s AS INT)) <> 0) AND ((10 / (CAST(s AS INT))) > 2) AND (src > 1)"
    sql = "SELECT src AS x FROM H"
    for level in range(20):
        sql = f"SELECT x + {level} AS x FROM ({sql}) q WHERE x <> {level}"
    (atom,) = _atoms(sql)
    assert atom is not None
    assert atom.count("<>") == 20


def test_rows_that_inner_conditions_keep_away_do_not_fail_further_out() -> None:
    """Neither the text that is no number is cast, nor the number that is no TINYINT."""
    db = livejoin.Database()
    db.create_table("T", "s STRING")
    numbers = "SELECT CAST(substring(s, 2) AS INT) AS n FROM T WHERE s LIKE 'n%'"
    small = f"SELECT CAST(n AS TINYINT) AS t FROM ({numbers}) q WHERE n < 100"
    view = db.create_view("v", f"SELECT t FROM ({small}) r WHERE t > 5")
    db.apply("T", [("x",), ("n1000",), ("n7",), ("n3",), (None,)])
    assert view.to_arrow()["t"].to_pylist() == [7]


def _atoms(sql: str) -> list[str | None]:
    root = bind_query(sql, CATALOG).root
    assert isinstance(root, Join)
    return [text_of(atom.predicate) for atom in root.query.atoms]


def test_a_literal_keeps_the_type_of_its_column() -> None:
    inner = "(SELECT i, 1 AS one, CASE WHEN i > 1 THEN 1 ELSE 0 END AS c FROM N) q"
    root = bind_query(f"SELECT i + one AS x, i + 1 AS y, i + c AS z, one FROM {inner}", CATALOG).root
    assert [str(kind) for kind in root.types] == ["INT", "INT", "INT", "INT"]


def test_most_atoms() -> None:
    half = MOST_ATOMS // 2
    tables = ", ".join(f"G t{i}" for i in range(half))
    two = f"SELECT 1 AS one FROM (SELECT t0.src FROM {tables}) a JOIN (SELECT t0.src FROM {tables}) b ON a.src = b.src"
    root = bind_query(two, CATALOG).root
    assert isinstance(root, Join)
    assert (len(root.query.atoms), root.inputs) == (MOST_ATOMS, ())
    root = bind_query(f"{two} CROSS JOIN G", CATALOG).root
    assert isinstance(root, Join)
    assert (len(root.query.atoms), len(root.inputs)) == (half + 2, 1)


def test_expressions_that_double_at_each_level_stay_short() -> None:
    levels = 20
    sql = reduce(lambda inner, _: f"SELECT x + x AS x FROM ({inner}) q", range(levels), "SELECT src AS x FROM G")
    root = bind_query(sql, CATALOG).root
    assert isinstance(root, Project)
    below: Relation = root
    while isinstance(below, Project):
        assert all(isinstance(o.source, int) or len(o.source.text) < 2000 for o in below.outputs)
        below = below.input
    assert isinstance(below, Join)


def test_views_that_are_read() -> None:
    assert bind_query("SELECT * FROM Busy b JOIN HOP2 ON b.src = hop2.src", CATALOG, VIEWS).reads == ("busy", "hop2")
    assert bind_query("WITH busy AS (SELECT src FROM degree) SELECT * FROM busy", CATALOG, VIEWS).reads == ("degree",)
    assert bind_query("SELECT src FROM G", CATALOG, VIEWS).reads == ()
    unmerged = bind_query("SELECT src FROM hop2 WHERE s > 3", CATALOG, VIEWS).root
    assert isinstance(unmerged, Project)
    assert unmerged.input is VIEWS["hop2"].root


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT * FROM (SELECT src, src FROM G) q", ["src", "src_1"]),
        ("SELECT q.*, q.a FROM (SELECT src AS a, dst FROM G) q", ["a", "dst", "a_1"]),
        ("SELECT * FROM (SELECT src, dst FROM G) q(a, B)", ["a", "B"]),
        ("WITH q(a, b) AS (SELECT src, dst FROM G) SELECT b, A FROM q", ["b", "a"]),
        ("WITH q(a) AS (SELECT src FROM G) SELECT * FROM q r(z)", ["z"]),
        ("SELECT * FROM (SELECT src, w FROM H) a JOIN (SELECT src, dst FROM G) b USING (src)", ["src", "w", "dst"]),
        ("SELECT * FROM ((SELECT src FROM G) a NATURAL JOIN ((SELECT src, w FROM H)) b)", ["src", "w"]),
        ("WITH x AS (SELECT src FROM G) SELECT * FROM (WITH x AS (SELECT dst FROM G) SELECT * FROM x) q", ["dst"]),
        (
            "WITH x AS (SELECT 1 AS a FROM G), y AS (WITH x AS (SELECT 2 AS b FROM x) SELECT * FROM x) SELECT * FROM y",
            ["b"],
        ),
    ],
)
def test_names(sql: str, names: list[str]) -> None:
    assert bind_query(sql, CATALOG).schema.names == names


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT x * q.p AS y FROM (SELECT 2 AS x, p FROM N) q", "decimal128(29, 4)"),
        ("SELECT -x * q.p AS y FROM (SELECT 2 AS x, p FROM N) q", "decimal128(29, 4)"),
        ("WITH q(x, p) AS (SELECT 2L, p FROM N) SELECT x * p AS y FROM q", "decimal128(38, 4)"),
        ("SELECT 2 * p AS y FROM N", "decimal128(20, 4)"),
    ],
)
def test_a_constant_of_a_nested_query_has_the_digits_of_its_type(sql: str, kind: str) -> None:
    """Spark gives a literal beside a decimal the digits that it needs, and a column those that its type may have."""
    assert str(bind_query(sql, CATALOG).schema.field("y").type) == kind
