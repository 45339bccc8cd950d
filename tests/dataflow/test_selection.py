"""Which atoms a row takes part in: its predicate is true and no join column of it is NULL."""

from __future__ import annotations

import pyarrow as pa
import pytest

from conjunctive import bind
from livejoin.catalog import Catalog
from livejoin.dataflow.selection import Selector
from livejoin.errors import ExpressionError
from livejoin.families.layout.table_use import TableUse
from livejoin.sql import parse_columns
from livejoin.state.codec import Codec

pytestmark = pytest.mark.nojit

CATALOG = Catalog()
for table in (parse_columns("G", "src BIGINT, dst BIGINT, s STRING"), parse_columns("H", "id BIGINT")):
    CATALOG.add(table)


def masks(sql: str, table: str, rows: list[tuple[int | None, int | None, str | None]]) -> list[set[str]]:
    """The aliases of the atoms that each row takes part in."""
    query = bind(sql, CATALOG)
    schema = CATALOG[table].arrow
    data = pa.Table.from_pylist([dict(zip(schema.names, row, strict=False)) for row in rows], schema=schema)
    codec = Codec()
    selector = Selector(query, TableUse(table, (), (), 0), CATALOG[table], codec)
    found = selector.select(codec.encode(data, CATALOG[table])).masks
    return [{atom.alias for i, atom in enumerate(query.atoms) if mask >> i & 1} for mask in found.tolist()]


def test_a_null_in_a_join_column_joins_nothing() -> None:
    """A.dst and B.src are joined; NULL elsewhere does not matter."""
    sql = "SELECT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src"
    rows = [(1, 2, "x"), (None, 2, None), (1, None, "x"), (None, None, None)]
    assert masks(sql, "G", rows) == [{"A", "B"}, {"A"}, {"B"}, set()]


def test_predicates_of_each_atom() -> None:
    sql = "SELECT A.src FROM G A JOIN G B ON A.dst = B.src WHERE A.s LIKE 'x%' AND B.dst > 5 AND B.s = 'y'"
    rows = [(1, 2, "xx"), (1, 9, "y"), (1, 9, "x"), (1, None, "y"), (1, 9, None), (None, 9, "y")]
    assert masks(sql, "G", rows) == [{"A"}, {"B"}, {"A"}, set(), set(), set()]


def test_a_predicate_that_is_null_is_not_true() -> None:
    assert masks("SELECT src FROM G WHERE NOT (s = 'x')", "G", [(1, 1, "x"), (1, 1, "y"), (1, 1, None)]) == [
        set(),
        {"G"},
        set(),
    ]


def test_a_column_that_joins_nothing_may_be_null() -> None:
    """Without a join every row takes part, as in SQL."""
    assert masks("SELECT src FROM G", "G", [(None, None, None)]) == [{"G"}]
    assert masks("SELECT G.src FROM G, H", "G", [(None, None, None)]) == [{"G"}]


def test_atoms_over_other_tables_have_no_bit() -> None:
    sql = "SELECT H.id FROM H JOIN G ON H.id = G.src"
    assert masks(sql, "H", [(1,), (None,)]) == [{"H"}, set()]  # type: ignore[list-item]
    assert masks(sql, "G", [(1, None, None)]) == [{"G"}]


def test_no_rows() -> None:
    assert masks("SELECT src FROM G WHERE s = 'x'", "G", []) == []


def test_a_predicate_that_fails_names_the_row() -> None:
    with pytest.raises(ExpressionError, match="nine"):
        masks("SELECT src FROM G WHERE CAST(s AS INT) > 1", "G", [(1, 1, "9"), (1, 1, "nine")])


def test_the_last_atom_of_a_large_query_has_its_bit() -> None:
    """Masks are 64-bit words: the sixty-second atom still fits."""
    aliases = [f"G{i}" for i in range(62)]
    sql = "SELECT G0.src FROM " + ", ".join(f"G {alias}" for alias in aliases) + " WHERE G61.dst = 1"
    assert masks(sql, "G", [(1, 1, None), (1, 2, None)]) == [set(aliases), set(aliases[:-1])]
