"""The relations that queries are lowered to: their shapes, calls, products, orders and types."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sql_fixtures import make_catalog

from factors import sources, texts
from livejoin.query.aggregates import AggregateCall
from livejoin.query.orders import SortKey
from livejoin.query.relational import Aggregate, Join, Project, Relation, SetOperation, TopK
from livejoin.schema import SqlType
from livejoin.sql import bind_query, parse_columns

CATALOG = make_catalog()
CATALOG.add(parse_columns("N", "k INT PRIMARY KEY, i TINYINT NOT NULL, p DECIMAL(18, 4) NOT NULL, q DECIMAL(30, 2)"))
BIGINT = SqlType.integer(64)
JOIN = "FROM G A JOIN H B ON A.src = B.src JOIN N ON N.k = A.dst"


def root(sql: str) -> Relation:
    return bind_query(sql, CATALOG).root


def aggregate(sql: str) -> Aggregate:
    relation = root(sql)
    assert isinstance(relation, Project)
    assert isinstance(relation.input, Aggregate)
    return relation.input


def calls(items: str, source: str = "FROM H") -> list[AggregateCall]:
    return list(aggregate(f"SELECT {items} {source}").calls)


def shape(relation: Relation) -> str:
    name = type(relation).__name__
    match relation:
        case Join():
            return name
        case SetOperation():
            return f"{name}({shape(relation.left)}, {shape(relation.right)})"
        case _:
            return f"{name}({shape(relation.input)})"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT src FROM G", "Join"),
        ("SELECT DISTINCT src FROM G", "Distinct(Join)"),
        ("SELECT DISTINCT 1 FROM G", "Distinct(Join)"),
        ("SELECT src FROM G GROUP BY src", "Distinct(Join)"),
        ("SELECT DISTINCT src FROM G GROUP BY src", "Distinct(Join)"),
        ("SELECT src AS a, dst + 1 AS b FROM G GROUP BY a, b", "Distinct(Join)"),
        ("SELECT src FROM G GROUP BY src, dst", "Project(Distinct(Join))"),
        ("SELECT src FROM G GROUP BY src HAVING src > 1", "Project(Distinct(Join))"),
        ("SELECT src, count(*) FROM G GROUP BY src", "Project(Aggregate(Join))"),
        ("SELECT DISTINCT count(*) FROM G GROUP BY src", "Distinct(Project(Aggregate(Join)))"),
        ("SELECT src FROM G ORDER BY src LIMIT 1", "TopK(Join)"),
        ("SELECT src FROM G ORDER BY dst LIMIT 1", "Project(TopK(Join))"),
        ("SELECT DISTINCT src FROM G ORDER BY src LIMIT 1", "TopK(Distinct(Join))"),
        ("SELECT DISTINCT src FROM G ORDER BY -src LIMIT 1", "Project(TopK(Project(Distinct(Join))))"),
        ("SELECT src FROM G GROUP BY src ORDER BY count(*) LIMIT 1", "Project(TopK(Project(Aggregate(Join))))"),
        ("SELECT src FROM G UNION SELECT dst FROM G", "SetOperation(Join, Join)"),
        ("SELECT src FROM H UNION SELECT dst FROM G", "SetOperation(Project(Join), Join)"),
        (
            "SELECT src FROM G UNION ALL SELECT dst FROM G INTERSECT SELECT z FROM K ORDER BY 1 LIMIT 1",
            "TopK(SetOperation(Join, SetOperation(Join, Project(Join))))",
        ),
    ],
)
def test_shapes(sql: str, expected: str) -> None:
    assert shape(root(sql)) == expected


def test_names_are_those_of_the_select_list_or_of_the_left_side() -> None:
    sql = "SELECT src, src, count( * ), sum(dst) AS s FROM G GROUP BY src"
    assert bind_query(sql, CATALOG).schema.names == ["src", "src_1", "count( * )", "s"]
    assert bind_query("SELECT src AS a FROM G UNION SELECT dst FROM G", CATALOG).schema.names == ["a"]
    assert bind_query("SELECT src AS k1 FROM G GROUP BY k1 ORDER BY sum(dst) LIMIT 1", CATALOG).schema.names == ["k1"]


def test_groups_come_first_and_equal_arguments_and_calls_are_kept_once() -> None:
    found = aggregate("SELECT sum(dst), avg(dst), sum(dst) + 1, max(src), dst % 2 FROM G GROUP BY src, dst % 2")
    assert found.groups == 2
    assert [(call.function, call.argument) for call in found.calls] == [("sum", 2), ("avg", 2), ("max", 0)]
    assert isinstance(found.input, Join)
    assert sources(found.input.query.outputs) == [0, "c1 % 2", 1]


def test_types_are_those_of_spark() -> None:
    for argument, total, average in [
        ("src", "BIGINT", "DOUBLE"),
        ("w", "DOUBLE", "DOUBLE"),
        ("m", "DECIMAL(20, 2)", "DECIMAL(14, 6)"),
        ("CAST(m AS DECIMAL(36, 4))", "DECIMAL(38, 4)", "DECIMAL(38, 8)"),
        ("CAST(0 AS DECIMAL(38, 38))", "DECIMAL(38, 38)", "DECIMAL(38, 38)"),
        ("CAST(src AS TINYINT)", "BIGINT", "DOUBLE"),
    ]:
        found = calls(f"sum({argument}), avg({argument}), variance({argument}), min({argument}), count({argument})")
        assert [str(call.type) for call in found[:3]] == [total, average, "DOUBLE"]
        assert found[4].type == BIGINT
        assert found[3].type == aggregate(f"SELECT min({argument}) FROM H").input.types[0]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        # Measured in Spark 4.3: UNION ALL of two columns.
        ("DECIMAL(10, 2)", "DECIMAL(36, 4)", "DECIMAL(36, 4)"),
        ("DECIMAL(10, 2)", "DECIMAL(38, 38)", "DECIMAL(38, 30)"),
        ("DECIMAL(36, 4)", "DECIMAL(38, 38)", "DECIMAL(38, 6)"),
        ("DECIMAL(38, 0)", "DECIMAL(38, 10)", "DECIMAL(38, 0)"),
        ("DECIMAL(30, 0)", "DECIMAL(30, 10)", "DECIMAL(38, 8)"),
        ("DECIMAL(10, 2)", "INT", "DECIMAL(12, 2)"),
        ("DECIMAL(36, 4)", "INT", "DECIMAL(36, 4)"),
        ("DECIMAL(38, 38)", "INT", "DECIMAL(38, 28)"),
        ("BIGINT", "DECIMAL(10, 2)", "DECIMAL(22, 2)"),
        ("DECIMAL(10, 2)", "DOUBLE", "DOUBLE"),
        ("DOUBLE", "BIGINT", "DOUBLE"),
        ("TINYINT", "SMALLINT", "SMALLINT"),
        ("DATE", "TIMESTAMP", "TIMESTAMP"),
    ],
)
def test_set_operations_have_the_types_of_spark(left: str, right: str, expected: str) -> None:
    for one, other in ((left, right), (right, left)):
        found = root(f"SELECT CAST(NULL AS {one}) AS a FROM G UNION ALL SELECT CAST(NULL AS {other}) FROM G")
        assert [str(kind) for kind in found.types] == [expected]
        assert isinstance(found, SetOperation)
        assert found.left.types == found.right.types == found.types


def test_count_without_nulls_counts_rows() -> None:
    rows = AggregateCall("count", None, False, BIGINT)
    assert calls("count(*), count(1), count(k), count(i + 1, p)", "FROM N") == [rows]
    assert calls("count(q)", "FROM N")[0].argument == 0


def test_deviations_are_roots_of_variances() -> None:
    relation = root("SELECT stddev(src), std(src), stddev_pop(src), variance(src) FROM H")
    assert isinstance(relation, Project)
    assert sources(relation.outputs) == ["SQRT(c0)", "SQRT(c0)", "SQRT(c1)", 0]


def test_distinct_matters_for_counts_and_sums_alone() -> None:
    found = calls("count(DISTINCT src), sum(DISTINCT src), min(DISTINCT src), bool_or(DISTINCT b), collect_set(src)")
    assert [call.distinct for call in found] == [True, True, False, False, False]
    assert [call.product for call in found] == [None] * 5


def test_lists_are_columns_of_their_elements() -> None:
    query = bind_query("SELECT array_agg(m) AS l, size(array_agg(m)) AS n FROM H", CATALOG)
    assert query.schema.field("l").type == pa.list_(pa.decimal128(10, 2))
    assert [str(kind) for kind in query.root.types] == ["DECIMAL(10, 2)", "INT"]


def test_global_aggregates() -> None:
    assert aggregate("SELECT count(*) FROM G").is_global
    assert aggregate("SELECT 1 AS one FROM G HAVING 1 = 1").is_global
    assert not aggregate("SELECT count(*) FROM G GROUP BY 'x'").is_global
    assert aggregate("SELECT count(*) FROM G").input.types == ()


@pytest.mark.parametrize(
    ("call", "factors"),
    [
        ("sum(A.dst)", [(0, "dst")]),
        ("sum(A.dst * B.dst)", [(0, "dst"), (1, "dst")]),
        ("avg(B.m * A.dst)", [(0, "dst"), (1, "m")]),
        ("variance(B.m)", [(1, "m")]),
        ("sum(2 * A.dst * B.dst)", [(0, "2 * dst"), (1, "dst")]),
        ("sum(A.dst * B.dst * 2)", [(0, "(dst) * (2)"), (1, "dst")]),
        ("sum(-(A.dst * B.dst))", [(0, "(dst) * (-1)"), (1, "dst")]),
        ("sum(A.dst * B.m * B.m)", [(0, "dst"), (1, "m"), (1, "m")]),
        ("sum(A.dst * B.dst * B.m)", [(0, "dst"), (1, "dst"), (1, "m")]),
        ("sum(1)", [(0, "1")]),
        ("sum(A.dst) FILTER (WHERE B.b)", [(0, "dst"), (1, "CASE WHEN b THEN 1 END")]),
        ("sum(A.dst) FILTER (WHERE A.dst > 1)", [(0, "CASE WHEN dst > 1 THEN dst END")]),
        ("sum(CASE WHEN B.b THEN A.dst END)", [(0, "dst"), (1, "CASE WHEN b THEN 1 END")]),
        ("sum(IF(B.b, N.i, 0))", [(1, "CASE WHEN b THEN 1 ELSE 0 END"), (2, "i")]),
        ("count(B.m)", [(1, "CASE WHEN NOT (m) IS NULL THEN 1 ELSE 0 END")]),
        (
            "count(*) FILTER (WHERE B.b AND A.dst > 1)",
            [(0, "CASE WHEN dst > 1 THEN 1 ELSE 0 END"), (1, "CASE WHEN b THEN 1 ELSE 0 END")],
        ),
        ("sum(N.i * 2)", [(2, "i * 2")]),
        # What is equal by the join may be taken from another atom.
        ("sum(A.src * B.dst)", [(1, "TRY_CAST(src AS BIGINT) * dst")]),
        ("sum(A.dst) FILTER (WHERE N.k > A.src)", [(0, "CASE WHEN TRY_CAST(dst AS INT) > src THEN dst END")]),
        # No products: sums, doubles, wide decimals, ELSE 0 beside a value that may be NULL, and what is not summed.
        ("sum(A.dst + B.dst)", None),
        ("sum(A.dst * B.w)", None),
        ("sum(N.q)", None),
        ("sum(B.m * A.dst / 2)", None),
        ("sum(IF(B.b, A.dst, 0))", None),
        ("sum(IF(B.b, N.i, 1))", None),
        ("sum(A.dst) FILTER (WHERE B.b OR A.dst > 1)", None),
        ("count(A.dst + B.dst)", None),
        ("count(DISTINCT A.dst)", None),
        ("sum(DISTINCT A.dst)", None),
        ("min(A.dst)", None),
        ("bool_and(B.b)", None),
        ("array_agg(A.dst)", None),
    ],
)
def test_products(call: str, factors: list[tuple[int, str]] | None) -> None:
    product = calls(call, JOIN)[0].product
    assert (None if product is None else texts(product.factors)) == factors


def test_factors_are_null_where_the_predicate_does_not_hold() -> None:
    product = calls("sum(i * 2), sum(i)", "FROM N WHERE q > 1")[0].product
    assert product is not None
    assert product.factors[0].expression.text == "CASE WHEN q > 1 THEN i * 2 END"
    plain = calls("sum(i)", "FROM N WHERE q > 1")[0].product
    assert plain is not None
    assert plain.factors[0].expression.text == "i"


def test_orders() -> None:
    relation = root("SELECT src, dst FROM G ORDER BY dst DESC, src NULLS LAST, 1 LIMIT 5 OFFSET 2")
    assert isinstance(relation, TopK)
    keys = (SortKey(1, True, False), SortKey(0, False, False), SortKey(0, False, True))
    assert (relation.keys, relation.limit, relation.offset) == (keys, 5, 2)


def test_the_joins_of_a_query() -> None:
    query = bind_query("SELECT src FROM G UNION (SELECT src FROM H EXCEPT SELECT z FROM K)", CATALOG)
    assert [join.atoms[0].table.name for join in query.joins] == ["G", "H", "K"]
    assert {join.sql for join in query.joins} == {query.sql}
