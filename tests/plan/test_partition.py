"""Which variable splits a join, and where rows go."""

from __future__ import annotations

from dataclasses import replace

from conjunctive import bind
from livejoin.catalog import Catalog
from livejoin.families.cells.partition import (
    TableSplit,
    partition,
    partition_variable,
    rows_variable,
    rows_whole_because,
    whole_because,
)
from livejoin.families.layout.table_use import TableUse
from livejoin.query import ConjunctiveQuery, Product
from livejoin.search.statistics import Statistics, given
from livejoin.sql import parse_columns

CATALOG = Catalog()
CATALOG.add(parse_columns("G", "src BIGINT, dst BIGINT"))
CATALOG.add(parse_columns("R", "a BIGINT, b BIGINT, c BOOLEAN"))
CATALOG.add(parse_columns("S", "b BIGINT, c BOOLEAN, d BIGINT"))
CATALOG.add(parse_columns("T", "d BIGINT, e BIGINT"))
CHAIN = "SELECT R.a, T.e FROM R JOIN S ON R.b = S.b AND R.c = S.c JOIN T ON S.d = T.d"
PATH = "SELECT A.src FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src"


def query(sql: str) -> ConjunctiveQuery:
    return bind(sql, CATALOG)


def shared(one: ConjunctiveQuery, first: int, second: int) -> set[str]:
    return set(one.edges[first] & one.edges[second])


def test_the_busiest_cell_has_the_least_work() -> None:
    """Of two variables that leave one atom replicated, the one that replicates the quieter table."""
    one = query(CHAIN)
    for busy, pair in (("R", (0, 1)), ("T", (1, 2))):
        known = given(CATALOG, {name: {"changes": 100 if name == busy else 1} for name in "RST"})
        chosen = partition_variable(one, 2, known)
        assert chosen in shared(one, *pair)


def test_few_values_cannot_be_spread() -> None:
    """BOOLEAN columns have two values, and others may be known to have few."""
    one = query(CHAIN)
    number, boolean = sorted(shared(one, 0, 1), key=lambda v: v.endswith("c"))
    known = given(CATALOG, {"R": {"changes": 100}, "S": {"changes": 1}, "T": {"changes": 1}})
    assert partition_variable(one, 4, known) == number
    assert boolean != number
    few = given(
        CATALOG,
        {"R": {"changes": 1, "rows": 9}, "S": {"changes": 1, "rows": 9, "distinct": {"b": 1}}, "T": {"changes": 1}},
    )
    few_everywhere = given(CATALOG, {"R": {"distinct": {"b": 1}}}).over(few)
    assert partition_variable(one, 4, few_everywhere) in shared(one, 1, 2)


def test_only_output_variables_split_distinct_results() -> None:
    one = query(PATH)
    assert partition_variable(one, 2, Statistics()) in shared(one, 0, 1) | shared(one, 1, 2)
    (first,) = one.edges[0] - one.edges[1]
    assert partition_variable(replace(one, free=frozenset({first})), 2, Statistics()) == first
    nothing = replace(one, free=frozenset())
    assert partition_variable(nothing, 2, Statistics()) is None
    assert "output" in whole_because(nothing)
    assert partition_variable(replace(nothing, head=(), outputs=(), sums=(Product(),)), 2, Statistics()) is not None


def test_rows_of_a_self_join_go_where_each_atom_sends_them() -> None:
    one = query(PATH)
    found = partition(one, [TableUse("G", (0, 1), (0, 1, 2), 10)], 2, Statistics())
    assert found is not None
    assert found.cells == 2
    assert found.replicated == (2,)
    assert found.tables == (TableSplit((1, 0), (0b001, 0b010), 0b100),)


def test_a_join_without_columns_stays_whole() -> None:
    one = query("SELECT 1 AS one FROM G A, G B")
    assert partition(one, [TableUse("G", (), (0, 1), 4)], 2, Statistics()) is None
    assert "no column" in whole_because(one)


def test_rows_that_are_kept_are_split_only_by_what_all_atoms_have() -> None:
    """Else each cell would keep all rows of some atom, in indexes that it shares with no other."""
    triangle = query(
        "SELECT A.src, B.src, C.src FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src"
    )
    assert partition_variable(triangle, 2, Statistics()) is not None
    assert rows_variable(triangle, 2, Statistics()) is None
    assert "all rows of some of its atoms" in rows_whole_because(triangle)
    corner = query("SELECT A.src, A.dst, B.dst FROM G A, G B WHERE A.dst = B.src")
    assert rows_variable(corner, 2, Statistics()) in shared(corner, 0, 1)
    hidden = replace(corner, free=frozenset())
    assert rows_variable(hidden, 2, Statistics()) is None
    assert "output" in rows_whole_because(hidden)
