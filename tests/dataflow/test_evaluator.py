"""Expressions in the engine: by a program and by DuckDB side by side, and results that are remembered."""

from __future__ import annotations

import random
import re

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.database.transactions.compaction import compact
from livejoin.dataflow.batches import Rows
from livejoin.dataflow.evaluator import Evaluator
from livejoin.errors import ExpressionError
from livejoin.query.scalar import Call, Constant, Expression, Field
from livejoin.schema import Column, SqlType, Table
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE
from oracle import connect, multiset, signed_multiset

BIGINT, STRING, BOOLEAN = SqlType.integer(64), SqlType("string"), SqlType("boolean")
COLUMNS = (Column("a", BIGINT), Column("s", STRING), Column("b", BIGINT))
TABLE = Table("T", COLUMNS)
ROWS = pa.table({"a": [1, None, 3], "s": ["x", "y", None], "b": [5, 6, 7]})
DOUBLED = Expression("b * 2", Call("add", (Field(2, BIGINT), Field(2, BIGINT)), BIGINT, "b * 2"))
LOUD = Expression("upper(s)", Call("upper", (Field(1, STRING),), STRING, "upper(s)"))
NUMBER = Expression("s as n", Call("cast", (Field(1, STRING),), BIGINT, "CAST(s AS BIGINT)"))


def test_trees_and_texts_of_duckdb_side_by_side() -> None:
    """Columns that nobody reads may stand before those that are read."""
    codec = Codec()
    words = codec.encode(ROWS, TABLE)
    parts = [Expression("a IS NULL", None), DOUBLED, Expression("a + b", None)]
    found = Evaluator(parts, COLUMNS, codec).words(words)
    assert found.tolist() == [[0, 1, 0], [10, 12, 14], [6, NULL_CODE, 10]]
    rows = Rows(codec, [column.type for column in COLUMNS], [ROWS["a"], words[1], words[2]], 3)
    loud, sums, twice = Evaluator([LOUD, Expression("a + b", None), DOUBLED], COLUMNS, codec).values(rows)
    assert isinstance(loud, np.ndarray) and isinstance(twice, np.ndarray)
    assert codec.decode(loud, STRING).to_pylist() == ["X", "Y", None]
    assert sums.to_pylist() == [6, None, 10]
    assert twice.tolist() == [10, 12, 14]


def test_a_failure_names_the_row_by_its_names_or_as_it_is() -> None:
    codec = Codec()
    words = codec.encode(ROWS.slice(0, 1), TABLE)
    rows = Rows(codec, [column.type for column in COLUMNS], list(words), 1)
    for evaluator, expected in (
        (Evaluator([NUMBER], COLUMNS, codec), "'CAST(s AS BIGINT)' for the row (s = 'x'): "),
        (
            Evaluator([NUMBER], COLUMNS, codec, ["n"], ["T.a", "T.s", "T.b"]),
            "cannot evaluate 'CAST(s AS BIGINT)' in 'n' for the row (T.s = 'x'): ",
        ),
        (
            Evaluator([NUMBER], COLUMNS, codec, ["n"], ()),
            "cannot evaluate 'CAST(s AS BIGINT)' in 'n' for the row (1, 'x', 5): ",
        ),
    ):
        with pytest.raises(ExpressionError, match=re.escape(expected)):
            evaluator.values(rows)


@pytest.mark.parametrize(
    ("select", "named"),
    [
        ("a, CASE WHEN a > 0 THEN 10 / b END + a AS total FROM T", "'10 / b' in 'total'"),
        ("a FROM T WHERE 10 / b > 1", "'10 / b'"),
        ("a, 10 / SUM(b) AS total FROM T GROUP BY a", "'10 / SUM(b)' in 'total'"),
        ("a, 10 / (AVG(b) + MAX(b)) AS total FROM T GROUP BY a", "'10 / (AVG(b) + MAX(b))' in 'total'"),
        ("a + 1 AS c, 1 / (a + 1 + SUM(b) - 2) AS r FROM T GROUP BY a + 1", "'1 / (a + 1 + SUM(b) - 2)' in 'r'"),
        ("a FROM T GROUP BY a HAVING 10 / SUM(b) > 1", "'10 / SUM(b)' in '10 / SUM(b) > 1'"),
        ("a, 10 / SUM(b) OVER (PARTITION BY a) AS r FROM T", "'10 / SUM(b) OVER (PARTITION BY a)' in 'r'"),
        ("a, 10 / (RANK() OVER (ORDER BY a) - 1) AS r FROM T", "'10 / (RANK() OVER (ORDER BY a) - 1)' in 'r'"),
        ("COUNT(*) AS n, 10 / SUM(b) FROM T", "'10 / SUM(b)'"),
    ],
)
def test_a_failure_names_the_part_as_it_was_written(select: str, named: str) -> None:
    db = livejoin.Database()
    db.create_table("T", "a BIGINT, b INT")
    db.create_view("v", f"SELECT {select}")
    with pytest.raises(ExpressionError, match=re.escape(f"cannot evaluate {named} for the row")):
        db.apply("T", [(1, 0)])


@pytest.mark.parametrize(
    "constant",
    ["CAST('x' AS INT)", "s = space(1000000)", "a IN (1, 'x')", "coalesce(1 DIV 0, a)", "a + CAST('x' AS INT)"],
)
def test_what_fails_for_every_row_is_refused_at_once(constant: str) -> None:
    db = livejoin.Database()
    db.create_table("T", "a BIGINT, s STRING")
    with pytest.raises(ExpressionError, match=r"^view 'v': cannot evaluate "):
        db.create_view("v", f"SELECT a, {constant} AS n FROM T")
    assert not db.views
    db.create_view("v", f"SELECT a, CASE WHEN a > 5 THEN ({constant}) IS NULL END AS n FROM T")
    db.apply("T", [(1, "x")])
    with pytest.raises(ExpressionError):
        db.apply("T", [(6, "x")])
    assert db.views["v"].count() == 1


def test_equal_trees_are_one_expression() -> None:
    """Whatever their texts are; a constant of another type is another one."""
    one = Expression("a + 1", Call("add", (Field(0, BIGINT), Constant(1, BIGINT)), BIGINT, "a + 1"))
    same = Expression("(a + 1)", Call("add", (Field(0, BIGINT), Constant(1, BIGINT)), BIGINT, "(a + 1)"))
    other = Expression("a + 1", Call("add", (Field(0, BIGINT), Constant(True, BOOLEAN)), BIGINT, "a + 1"))
    assert one == same and hash(one) == hash(same)
    assert one != other and one != Expression("a + 1", None)


VIEWS = {
    "selected": "SELECT s, a FROM T WHERE upper(s) LIKE '%7' OR length(s) > 7",
    "computed": "SELECT upper(s) AS up, concat(s, '-', CAST(a AS STRING)) AS both, a FROM T",
    "joined": "SELECT A.s, lower(B.s) AS low FROM T A JOIN T B ON A.a = B.a WHERE B.s <> 'v3'",
    "grouped": "SELECT left(s, 2) AS two, COUNT(*) AS n, MAX(upper(s)) AS most FROM T GROUP BY left(s, 2)",
    "wide": "SELECT CAST(p AS DECIMAL(30, 5)) * 1000000000000000 AS p, a FROM T",
}


@pytest.mark.parametrize("seed", range(4))
def test_what_is_remembered_survives_collection_and_commits_that_are_undone(seed: int) -> None:
    """Codes are given up and used again between commits, and by commits that leave entries and nothing else."""
    generator = random.Random(seed)
    db, duck = livejoin.Database(), connect()
    db.create_table("T", "a BIGINT, s STRING, p DECIMAL(20, 5)")
    for name, sql in VIEWS.items():
        db.create_view(name, sql)
    db.create_view("strict", "SELECT a FROM T WHERE CAST(right(s, 1) AS INT) > 10")
    types = db.tables["T"].arrow
    rows: list[tuple[int, str, int]] = []
    totals = {name: multiset(db.views[name].to_arrow()) for name in VIEWS}
    for step in range(12):
        come = [(generator.randrange(5), f"v{step}w{generator.randrange(9)}", i) for i in range(generator.randrange(9))]
        come += [(1, generator.choice(("v3", "V7", "v7")), 0)]
        gone = [rows.pop(generator.randrange(len(rows))) for _ in range(min(len(rows), generator.randrange(12)))]
        rows += come
        changes = pa.Table.from_pylist([{"a": a, "s": s, "p": p} for a, s, p in [*gone, *come]], types)
        kinds = ["delete"] * len(gone) + ["insert"] * len(come)
        commit = db.apply("T", changes.append_column("_change_type", pa.array(kinds)))
        if generator.random() < 0.5:
            with pytest.raises(ExpressionError, match="strict"):
                db.apply("T", [(1, f"new {step} {i} x", 0) for i in range(5)])
        if generator.random() < 0.6:
            db._contents.seen.is_due = True
            compact(db._contents)
        duck.from_arrow(pa.Table.from_pylist([{"a": a, "s": s, "p": p} for a, s, p in rows], types)).create_view("T")
        for name, sql in VIEWS.items():
            totals[name].update(signed_multiset(commit[name]))
            expected = multiset(duck.sql(sql).to_arrow_table())
            assert multiset(db.views[name].to_arrow()) == expected, (name, step)
            assert {row: times for row, times in totals[name].items() if times} == expected, (name, step)
        db._check()
