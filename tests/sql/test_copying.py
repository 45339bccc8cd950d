"""Copies of syntax trees are those of sqlglot, without its copies of what nodes carry."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.parse.copying import copied, sql_of
from tpch_sub_queries import TPCH_NESTED


@pytest.mark.parametrize("name", TPCH_NESTED)
def test_a_copy_is_that_of_sqlglot(name: str) -> None:
    tree = parse_one(TPCH_NESTED[name], read="spark")
    found, expected = copied(tree), tree.copy()
    assert repr(found) == repr(expected)
    assert sql_of(copied(tree), "duckdb") == tree.sql("duckdb", comments=False)
    pairs = list(zip(found.walk(), expected.walk(), tree.walk(), strict=True))
    assert len(pairs) > 30
    for one, other, original in pairs:
        assert one is not original
        assert type(one) is type(other)
        assert (one.arg_key, one.index, one.meta) == (other.arg_key, other.index, other.meta)
        assert one.parent is None if other.parent is None else type(one.parent) is type(other.parent)
    assert all(one.parent is None or one in one.parent.iter_expressions() for one in found.walk())


def test_what_a_copy_carries_is_its_own() -> None:
    tree = parse_one("a + b")
    tree.this.meta["ref"] = ColumnRef(0, 1)
    found = copied(tree)
    assert found.this.meta["ref"] is tree.this.meta["ref"]
    found.this.meta["ref"] = ColumnRef(2, 3)
    assert tree.this.meta["ref"] == ColumnRef(0, 1)
    assert tree.copy().this.meta["ref"] is tree.this.meta["ref"], "sqlglot's own copies keep a reference too"


def test_a_part_of_a_tree_becomes_a_tree() -> None:
    whole = parse_one("f(a, b + 1)")
    part = whole.find(exp.Add)
    assert part is not None
    found = copied(part)
    assert found.parent is None
    assert part.parent is not None
    assert (sql_of(found, "spark"), found.arg_key) == ("b + 1", None)
