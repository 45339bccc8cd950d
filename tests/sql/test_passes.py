"""Pairs of SQL before and behind each rewrite of `livejoin.sql.bind.passes`.

The rewrite of the first text is what the second one says, and both, run in DuckDB over small random tables with NULLs
and equal rows, give the same multiset as the relations of the first one do by the definitions of their operators.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from relations import evaluate
from sqlglot import exp

from livejoin.catalog import Catalog
from livejoin.query.relational import Input, Join, Numbers, Relation, SetOperation
from livejoin.sql import bind_query, parse_columns, to_duckdb
from livejoin.sql.bind.passes import PASSES, Pass, PassRewriter
from livejoin.sql.lower.conditions.split import conjuncts, equality_of
from livejoin.sql.resolved.column import key_of
from livejoin.sql.resolved.part import Equality
from livejoin.sql.resolved.query import Scope, SelectBlock
from strategies import IS_FUZZ

TABLES = {
    "R": "a BIGINT, b BIGINT, c BIGINT NOT NULL",
    "S": "b BIGINT, d BIGINT",
    "T": "a BIGINT, e BIGINT",
    "K": "k BIGINT PRIMARY KEY, v BIGINT",
}
CATALOG = Catalog()
for _name, _columns in TABLES.items():
    CATALOG.add(parse_columns(_name, _columns))

UNNESTED = [
    ("SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE S.b = R.b)", "SELECT a FROM R LEFT SEMI JOIN S ON S.b = R.b"),
    (
        "SELECT a FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE S.b = R.b AND S.d > 1)",
        "SELECT a FROM R LEFT ANTI JOIN S ON S.b = R.b AND S.d > 1",
    ),
    ("SELECT a FROM R WHERE b IN (SELECT b FROM S)", "SELECT a FROM R LEFT SEMI JOIN S ON S.b = R.b"),
    (
        "SELECT a FROM R WHERE b NOT IN (SELECT b FROM S)",
        "SELECT a FROM R LEFT ANTI JOIN S ON S.b = R.b LEFT ANTI JOIN S x ON x.b IS NULL "
        "LEFT ANTI JOIN S y ON R.b IS NULL",
    ),
    (
        "SELECT a FROM R WHERE c NOT IN (SELECT k FROM K)",
        "SELECT a FROM R LEFT ANTI JOIN K ON K.k = R.c",
    ),
    (
        "SELECT a, (SELECT MAX(d) FROM S WHERE S.b = R.b) AS m FROM R",
        "SELECT a, q.m FROM R LEFT JOIN (SELECT b, MAX(d) AS m FROM S GROUP BY b) q ON q.b = R.b",
    ),
    (
        "SELECT a, (SELECT v FROM K WHERE K.k = R.b) AS v FROM R",
        "SELECT a, v FROM R LEFT JOIN K ON K.k = R.b",
    ),
]
MERGED = [
    (
        "SELECT q.x FROM (SELECT a + 1 AS x FROM R WHERE b > 0) q WHERE q.x < 3",
        "SELECT a + 1 AS x FROM R WHERE b > 0 AND a + 1 < 3",
    ),
    (
        "SELECT q.a, S.d FROM (SELECT R.a, R.b FROM R LEFT JOIN T ON R.a = T.a) q JOIN S ON q.b = S.b",
        "SELECT R.a, S.d FROM R LEFT JOIN T ON R.a = T.a JOIN S ON R.b = S.b",
    ),
    (
        "SELECT x + 1 AS y, COUNT(*) AS n FROM (SELECT b AS x FROM R WHERE a = 1) q GROUP BY x + 1",
        "SELECT b + 1 AS y, COUNT(*) AS n FROM R WHERE a = 1 GROUP BY b + 1",
    ),
    # What groups stays apart, and so does a computed column of an optional part.
    ("SELECT q.b FROM (SELECT b, COUNT(*) AS n FROM R GROUP BY b) q WHERE q.n > 1", ""),
    ("SELECT R.a, q.x FROM R LEFT JOIN (SELECT b, COALESCE(d, 0) AS x FROM S) q ON R.b = q.b", ""),
    # A FULL JOIN of which a condition rejects the NULLs of a side, at first sight or by what was merged.
    (
        "SELECT R.a, S.d FROM R FULL JOIN S ON R.b = S.b WHERE R.c > 0",
        "SELECT R.a, S.d FROM R LEFT JOIN S ON R.b = S.b WHERE R.c > 0",
    ),
    (
        "SELECT q.a, q.d FROM (SELECT R.a, R.c, S.d FROM R FULL JOIN S ON R.b = S.b) q WHERE q.c > 0",
        "SELECT R.a, S.d FROM R LEFT JOIN S ON R.b = S.b WHERE R.c > 0",
    ),
]
PUSHED_DOWN = [
    (
        "SELECT q.a FROM (SELECT a, b, c FROM R UNION ALL SELECT d, b, 1 FROM S) q WHERE q.b > 0",
        "SELECT q.a FROM (SELECT a, b FROM R UNION ALL SELECT d, b FROM S) q WHERE q.b > 0",
    ),
    (
        "SELECT COUNT(*) AS n FROM (SELECT a, b FROM R UNION ALL SELECT d, b FROM S) q",
        "SELECT COUNT(*) AS n FROM (SELECT a FROM R UNION ALL SELECT d FROM S) q",
    ),
    ("SELECT R.a, S.d FROM R FULL JOIN S ON R.b = S.b", ""),
    # Distinct rows need all their columns.
    ("SELECT q.a FROM (SELECT a, b FROM R UNION SELECT d, b FROM S) q", ""),
]
ADDED_UP = [
    (
        "SELECT R.a, COUNT(*) AS n, SUM(S.d) AS s FROM R LEFT JOIN S ON R.b = S.b AND S.d < R.c GROUP BY R.a",
        "SELECT a, CAST(SUM(n) AS BIGINT) AS n, CAST(SUM(s) AS BIGINT) AS s FROM (SELECT R.a, COUNT(*) AS n, "
        "SUM(S.d) AS s FROM R JOIN S ON R.b = S.b AND S.d < R.c GROUP BY R.a UNION ALL SELECT a, COUNT(*), NULL FROM R "
        "WHERE NOT EXISTS (SELECT 1 FROM S WHERE R.b = S.b AND S.d < R.c) GROUP BY a) q GROUP BY a",
    ),
    (
        "SELECT COUNT(S.d) AS n FROM R LEFT JOIN S ON S.d BETWEEN R.a AND R.c",
        "SELECT COUNT(*) AS n FROM R JOIN S ON S.d BETWEEN R.a AND R.c",
    ),
]
NORMAL = [
    (
        "SELECT R.a, S.d FROM R LEFT JOIN S ON R.b = S.b WHERE S.d > 1",
        "SELECT R.a, S.d FROM R JOIN S ON R.b = S.b WHERE S.d > 1",
    ),
    ("SELECT R.a FROM R LEFT JOIN K ON R.b = K.k", "SELECT R.a FROM R"),
    (
        "SELECT R.a FROM R LEFT JOIN S ON R.b = S.b WHERE S.b IS NULL",
        "SELECT R.a FROM R LEFT ANTI JOIN S ON R.b = S.b",
    ),
    (
        "SELECT R.a FROM R LEFT SEMI JOIN S ON R.b = S.b AND R.a > 1",
        "SELECT R.a FROM R LEFT SEMI JOIN S ON R.b = S.b WHERE R.a > 1",
    ),
]
ISOLATED = [
    (
        "SELECT R.a, S.d FROM R LEFT JOIN S ON R.b < S.b",
        "SELECT R.a, m.d FROM R LEFT JOIN (SELECT r.b, S.d FROM (SELECT DISTINCT b FROM R) r JOIN S ON r.b < S.b) m "
        "ON R.b = m.b",
    ),
    (
        "SELECT R.a FROM R LEFT ANTI JOIN S ON R.b <> S.b OR S.d IS NULL",
        "SELECT R.a FROM R LEFT ANTI JOIN (SELECT DISTINCT r.b FROM (SELECT DISTINCT b FROM R) r JOIN S "
        "ON r.b <> S.b OR S.d IS NULL) m ON R.b <=> m.b",
    ),
    (
        "SELECT R.a, S.d, T.e FROM R JOIN S ON R.b = S.b LEFT JOIN T ON T.a = R.a AND T.e = S.d",
        "SELECT q.a, q.d, T.e FROM (SELECT R.a, S.d FROM R JOIN S ON R.b = S.b) q LEFT JOIN T ON T.a = q.a "
        "AND T.e = q.d",
    ),
]


@pytest.fixture(scope="module")
def databases() -> Iterator[list[duckdb.DuckDBPyConnection]]:
    found = [_filled(seed) for seed in ((0, 1, 2, 4) if IS_FUZZ else (0, 4))]
    yield found
    for connection in found:
        connection.close()


LEVELS = [
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE S.d > (SELECT COUNT(*) FROM T WHERE T.a < R.a))",
    "SELECT a, (SELECT MAX(d) FROM S WHERE S.b = R.b AND d >= (SELECT MIN(e) FROM T WHERE T.a <> R.a)) AS m FROM R",
    "SELECT a, (SELECT SUM(d) FROM S WHERE S.b < (SELECT COUNT(*) + R.c FROM T WHERE T.a = S.d AND e <= R.a)) AS m "
    "FROM R",
    "SELECT a FROM R WHERE b NOT IN (SELECT S.b FROM S WHERE S.d IN (SELECT T.e FROM T WHERE T.a + R.c > S.d))",
    "SELECT a FROM R WHERE c > ALL (SELECT d FROM S WHERE S.b = R.b AND d <> ANY (SELECT e FROM T WHERE T.a > R.c))",
    # Three levels out, one of them beside two.
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE d >= (SELECT COUNT(*) FROM T WHERE T.a < "
    "(SELECT COUNT(*) FROM K WHERE v < R.a)))",
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE d >= (SELECT COUNT(*) FROM T WHERE T.a <= "
    "(SELECT COUNT(*) FROM K WHERE v < R.a AND k > S.b)))",
    # In ON, over groups, and in LATERAL.
    "SELECT R.a, S.d FROM R LEFT JOIN S ON R.b = S.b AND EXISTS (SELECT 1 FROM T WHERE T.a = S.d AND "
    "e >= (SELECT COUNT(*) FROM K WHERE v < R.a))",
    # What is joined behind an ON is not asked for its rows.
    "SELECT R.a, d, e FROM R LEFT JOIN S ON R.b = S.b AND d >= (SELECT COUNT(*) FROM K WHERE v < R.a) "
    "LEFT JOIN T ON T.a = R.a",
    "SELECT R.a, d, e FROM R LEFT JOIN S ON R.b = S.b AND d IN (SELECT k FROM K WHERE v <= R.a OR v = d) "
    "LEFT JOIN T ON T.a = R.a AND T.e >= (SELECT COUNT(*) FROM K WHERE v < d)",
    "SELECT b, COUNT(*) AS n FROM R GROUP BY b HAVING COUNT(*) >= (SELECT COUNT(*) FROM S WHERE "
    "d <= (SELECT COUNT(*) FROM T WHERE e < R.b))",
    "SELECT R.a, q.n FROM R, LATERAL (SELECT COUNT(*) AS n FROM S WHERE S.b = R.b AND "
    "S.d >= (SELECT COUNT(*) FROM T WHERE T.e < R.a)) q",
]


def test_every_pass_has_pairs() -> None:
    assert [one.name for one in PASSES] == [
        "unnest_sub_queries",  # UNNESTED
        "full_joins_to_outer",  # MERGED
        "merge_views",  # MERGED
        "push_down_projections",  # PUSHED_DOWN
        "add_up_left_joins",  # ADDED_UP
        "normalize_parts",  # NORMAL, ISOLATED
    ]


@pytest.mark.parametrize(
    ("name", "before", "behind"),
    [
        *(("unnest_sub_queries", *pair) for pair in UNNESTED),
        *(("merge_views", *pair) for pair in MERGED),
        *(("normalize_parts", *pair) for pair in NORMAL),
    ],
)
def test_the_rewrite_is_what_the_text_behind_says(
    name: str, before: str, behind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _behind(name, before, monkeypatch)
    if behind:
        assert _said(found[1]) == _said(_behind(name, behind, monkeypatch)[1])
        assert _said(found[0]) != _said(found[1]) or found[0].scope != found[1].scope
    else:
        assert found[0] is found[1]


@pytest.mark.parametrize(("before", "behind"), PUSHED_DOWN)
def test_unions_lose_the_columns_that_nobody_reads(before: str, behind: str) -> None:
    widths = [len(one.types) for one in _unions(bind_query(before, CATALOG).root)]
    assert widths
    assert widths == [len(one.types) for one in _unions(bind_query(behind or before, CATALOG).root)]


@pytest.mark.parametrize(("before", "behind"), [*UNNESTED, *MERGED, *PUSHED_DOWN, *ADDED_UP, *NORMAL, *ISOLATED])
def test_both_texts_give_the_same_rows(before: str, behind: str, databases: list[duckdb.DuckDBPyConnection]) -> None:
    roots = [bind_query(sql, CATALOG, allow_product=True).root for sql in (before, behind or before)]
    texts = [to_duckdb(sql, CATALOG) for sql in (before, behind or before)]
    for connection in databases:
        wanted, also = (Counter(connection.execute(text).fetchall()) for text in texts)
        assert wanted == also, behind
        for root in roots:
            assert Counter(evaluate(root, connection)) == wanted, before


@pytest.mark.parametrize("sql", LEVELS)
def test_columns_of_queries_further_out(sql: str, databases: list[duckdb.DuckDBPyConnection]) -> None:
    root = bind_query(sql, CATALOG, allow_product=True).root
    for connection in databases:
        wanted = Counter(connection.execute(sql).fetchall())
        assert Counter(evaluate(root, connection)) == wanted


def _behind(name: str, sql: str, monkeypatch: pytest.MonkeyPatch) -> tuple[SelectBlock, SelectBlock]:
    """The outermost SELECT of a text before and behind a pass: the last one that goes through it."""
    run, found = PassRewriter._run, []

    def recorded(self: PassRewriter, one: Pass, block: SelectBlock) -> SelectBlock:
        rewritten = run(self, one, block)
        if one.name == name:
            found.append((block, rewritten))
        return rewritten

    with monkeypatch.context() as patch:
        patch.setattr(PassRewriter, "_run", recorded)
        bind_query(sql, CATALOG)
    return found[-1]


def _said(block: SelectBlock) -> dict[str, Any]:
    """What a SELECT says, without names, parentheses and the order of conditions."""

    def texts(equalities: tuple[Equality, ...], conditions: tuple[exp.Expr, ...], scope: Scope) -> list[str]:
        written = [*(equality_of(one, scope) for one in equalities), *(c for one in conditions for c in conjuncts(one))]
        return sorted(map(_text, written))

    return {
        "tables": [one.table.name if one.nested is None else "query" for one in block.scope.relations],
        "items": [_text(item.value) for item in block.outputs],
        "conditions": texts(block.equalities, block.conditions, block.scope),
        "groups": None if block.groups is None else sorted(map(_text, block.groups)),
        "parts": [
            (part.kind, part.atoms, part.above, texts(part.equalities, part.conditions, block.scope))
            for part in block.parts
        ],
    }


def _text(node: exp.Expr) -> str:
    whole = exp.paren(node)
    for inner in list(whole.this.find_all(exp.Paren)):
        inner.replace(inner.this)
    return key_of(whole)


def _unions(relation: Relation | Input) -> Iterator[SetOperation]:
    match relation:
        case Input():
            yield from _unions(relation.relation)
        case SetOperation():
            yield relation
            yield from _unions(relation.left)
            yield from _unions(relation.right)
        case Join():
            for one in relation.inputs:
                yield from _unions(one)
        case Numbers():
            pass
        case _:
            yield from _unions(relation.input)


def _filled(seed: int) -> duckdb.DuckDBPyConnection:
    """Small tables with NULLs and equal rows; seed 0 leaves all of them empty, and seed 4 T."""
    generator, connection = random.Random(seed), duckdb.connect()
    for table in CATALOG:
        rows: list[list[int | None]] = []
        for number in range(0 if (seed, table.name) == (4, "T") or not seed else generator.randrange(4, 9)):
            row = [generator.choice([0, 1, 2, *([None] * column.nullable)]) for column in table.columns]
            rows.append([number, *row[1:]] if table.primary_key else row)
        columns = [pa.array([row[i] for row in rows], pa.int64()) for i in range(len(table.columns))]
        connection.from_arrow(pa.table(columns, names=table.arrow.names)).create(table.name)
    return connection
