"""What bound queries look like: variables, predicates, head, output names and types."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa
import pytest
from sql_fixtures import make_catalog

from conjunctive import bind
from factors import sources, text_of
from livejoin.query import ColumnRef, ConjunctiveQuery
from livejoin.sql.resolved.item import distinct_names
from strategies import seeds

CATALOG = make_catalog()

HOP3 = (
    "SELECT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d FROM G G1 JOIN G G2 ON G1.dst = G2.src "
    "JOIN G G3 ON G2.dst = G3.src WHERE G3.dst % 10 = 0"
)


def variables(query: ConjunctiveQuery) -> list[tuple[str, ...]]:
    return [atom.variables for atom in query.atoms]


def names(sql: str) -> list[str]:
    return [output.name for output in bind(sql, CATALOG).outputs]


def test_the_path_of_three_hops() -> None:
    query = bind(HOP3, CATALOG)
    assert [atom.alias for atom in query.atoms] == ["G1", "G2", "G3"]
    assert variables(query) == [("src", "G1.dst"), ("G1.dst", "G2.dst"), ("G2.dst", "G3.dst")]
    assert [text_of(atom.predicate) for atom in query.atoms] == [None, None, "dst % 10 = 0"]
    assert query.head == (ColumnRef(0, 0), ColumnRef(1, 0), ColumnRef(2, 0), ColumnRef(2, 1))
    assert [(o.name, o.type, o.source) for o in query.outputs] == [(n, pa.int64(), i) for i, n in enumerate("abcd")]
    assert query.sql == HOP3


def test_only_join_columns_and_columns_in_the_head_are_kept() -> None:
    query = bind("SELECT w FROM H JOIN K ON H.src = K.z WHERE name LIKE 'a%' AND d IS NULL", CATALOG)
    assert [(atom.columns, atom.variables) for atom in query.atoms] == [((0, 1), ("src", "w")), ((0,), ("src",))]
    assert [text_of(atom.predicate) for atom in query.atoms] == ["d IS NULL", "name LIKE 'a%'"]


def test_an_atom_may_use_no_column() -> None:
    query = bind("SELECT 1 FROM G, K WHERE K.z = 3", CATALOG)
    assert variables(query) == [(), ()]
    assert query.head == ()
    assert sources(query.outputs)[0] == "1"


def test_equalities_are_transitive() -> None:
    query = bind("SELECT A.dst FROM G A, G B, G C WHERE A.src = B.src AND C.src = B.src", CATALOG)
    assert variables(query) == [("src", "dst"), ("src",), ("src",)]


def test_two_columns_of_one_atom_in_a_class_are_one_variable_and_a_predicate() -> None:
    query = bind("SELECT A.dst FROM G A, G B WHERE A.src = B.src AND B.src = A.dst", CATALOG)
    assert variables(query) == [("src",), ("src",)]
    assert query.atoms[0].columns == (1,)
    assert [text_of(atom.predicate) for atom in query.atoms] == ["src = dst", None]


def test_the_second_column_of_a_class_has_its_own_variable_where_it_is_returned() -> None:
    query = bind("SELECT H.src, H.dst FROM G, H WHERE G.src = H.src AND G.src = H.dst", CATALOG)
    assert variables(query) == [("src",), ("src", "dst")]
    assert text_of(query.atoms[1].predicate) == "src = dst"
    assert [o.type for o in query.outputs] == [pa.int32(), pa.int64()]


def test_an_equality_within_an_atom_makes_a_triangle_acyclic() -> None:
    triangle = "A.dst = B.src AND B.dst = C.src AND C.dst = A.src"
    query = bind(f"SELECT A.src FROM G A, G B, G C WHERE {triangle} AND A.src = A.dst", CATALOG)
    assert variables(query) == [("src",), ("src", "dst"), ("dst", "src")]
    assert [text_of(atom.predicate) for atom in query.atoms] == ["src = dst", None, None]


def test_an_equality_within_an_atom_of_different_types_is_a_predicate() -> None:
    query = bind("SELECT H.w FROM H WHERE H.src = H.w", CATALOG)
    assert variables(query) == [("w",)]
    assert text_of(query.atoms[0].predicate) == "src = w"


def test_variables_have_distinct_names() -> None:
    query = bind("SELECT * FROM G A, G B, K WHERE A.dst = B.src", CATALOG)
    assert variables(query) == [("A.src", "A.dst"), ("A.dst", "B.dst"), ("z", "K.src", "name")]


def test_constant_conditions_go_to_the_first_atom() -> None:
    query = bind("SELECT A.src FROM G A JOIN G B ON TRUE AND 1 = 0 WHERE NULL", CATALOG)
    assert [text_of(atom.predicate) for atom in query.atoms] == ["(1 = 0) AND (CAST(NULL AS BOOLEAN))", None]


def test_expressions_refer_to_the_head() -> None:
    query = bind("SELECT B.dst + A.src AS x, A.src FROM G A JOIN G B ON A.dst = B.src", CATALOG)
    assert query.head == (ColumnRef(1, 1), ColumnRef(0, 0))
    assert sources(query.outputs) == ["c0 + c1", 1]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT src, SRC, Src AS x, dst AS y FROM G", ["src", "src_1", "x", "y"]),
        ("SELECT src  +  1, upper( 'a,b' ), (dst) FROM G", ["src + 1", "upper( 'a,b' )", "dst"]),
        ("SELECT src /* a, b */ + 1 FROM G -- x", ["src /* a, b */ + 1"]),
        ("SELECT * FROM G A, G B", ["src", "dst", "src_1", "dst_1"]),
        ("SELECT *, src FROM G", ["src", "dst", "src_1"]),
        ("SELECT G.DST, `src` `a b` FROM G", ["dst", "a b"]),
        ("SELECT dst, * FROM G JOIN K USING (src)", ["dst", "src", "dst_1", "z", "name"]),
    ],
)
def test_output_names(sql: str, expected: list[str]) -> None:
    assert names(sql) == expected


@pytest.mark.parametrize("seed", seeds(20, 50))
def test_doubled_names_are_those_of_duckdb(seed: int) -> None:
    generator = random.Random(seed)
    given = [generator.choice(["a", "A", "b", "a_1", "A_2", "b_1_1", "b_1"]) for _ in range(generator.randint(1, 9))]
    inner = ", ".join(f'{i} AS "{name}"' for i, name in enumerate(given))
    assert distinct_names(given) == duckdb.sql(f"SELECT * FROM (SELECT {inner})").columns


def test_the_bare_null_is_an_integer() -> None:
    assert bind("SELECT NULL AS n FROM G", CATALOG).schema.types == [pa.int32()]


def test_casts_fail_and_try_casts_do_not() -> None:
    query = bind("SELECT CAST(s AS INT) AS a, TRY_CAST(s AS INT) AS b FROM H", CATALOG)
    assert sources(query.outputs) == ["CAST(c0 AS INT)", "TRY_CAST(c0 AS INT)"]


def test_timestamps_have_no_zone() -> None:
    query = bind("SELECT CAST(s AS TIMESTAMP) AS t, t > TIMESTAMP '2024-01-01 00:00:00' AS u FROM H", CATALOG)
    assert query.schema.types == [pa.timestamp("us"), pa.bool_()]


def test_a_cyclic_join() -> None:
    triangle = "SELECT A.src FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src"
    query = bind(triangle, CATALOG)
    assert query.edges == tuple(map(frozenset, ({"src", "A.dst"}, {"A.dst", "B.dst"}, {"B.dst", "src"})))
