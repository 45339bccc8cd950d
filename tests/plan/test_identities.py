"""Digests of blocks stay what they are: snapshots find states by them, whatever classes and modules are called."""

from __future__ import annotations

from typing import get_args

import pytest

from livejoin.dataflow.graph import Choices, Graph
from livejoin.families.cells.workers import Workers
from livejoin.plan.operators import Operator, upwards
from livejoin.plan.query_plan import plan_query
from livejoin.search.statistics import Statistics
from livejoin.sql import bind_query, parse_schema
from livejoin.state.codec import Codec

CATALOG = parse_schema(
    """
    CREATE TABLE G (src BIGINT, dst BIGINT);
    CREATE TABLE N (k INT PRIMARY KEY, c CHAR(5), v DECIMAL(10, 2), s STRING);
    CREATE TABLE S (a INT, b INT) TBLPROPERTIES ('livejoin.static' = 'true');
    CREATE TABLE L (a INT, b INT) TBLPROPERTIES ('livejoin.append_only' = 'true');
    """
)
_TWO = "G A JOIN G B ON A.dst = B.src"
_CYCLE = f"{_TWO} JOIN G C ON B.dst = C.src JOIN G D ON C.dst = D.src AND D.dst = A.src"
_GROUPS = "SELECT src, COUNT(DISTINCT dst) AS n FROM G GROUP BY src"
_BY_C = "OVER (PARTITION BY c ORDER BY k"
_AVERAGE = "(SELECT AVG(v) FROM N M WHERE M.c = N.c)"
RECORDED = {
    f"SELECT A.src, B.dst + 1 FROM {_TWO} WHERE A.src > 3": "417073de190d2bef",
    f"SELECT A.src, COUNT(*), SUM(B.dst) FROM {_TWO} GROUP BY A.src": "156c4d680647571e",
    f"SELECT A.src FROM {_CYCLE}": "f249da615d64623e",
    "SELECT S.a, L.a, N.c FROM S JOIN L ON S.b = L.b LEFT JOIN N ON N.k = L.a": "2bbad928eed71dc5",
    f"SELECT q.n, G.dst FROM ({_GROUPS}) q JOIN G ON G.src = q.src": "f2642adf73255be1",
    "SELECT src FROM G UNION ALL SELECT dst + 1 FROM G WHERE src > 2": "a1fe090b3f3b4465",
    "SELECT src FROM G EXCEPT ALL SELECT dst FROM G": "b53fa042d4a8bfb5",
    "SELECT DISTINCT c FROM N": "e27361e697cfed68",
    "SELECT c, MIN_BY(s, v), PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY v) FROM N GROUP BY c": "caf42e7fb81d4dd9",
    "SELECT * FROM N ORDER BY v DESC NULLS LAST, k LIMIT 3 OFFSET 2": "177b60f3e657f5da",
    f"SELECT k, RANK() {_BY_C}) AS r FROM N QUALIFY r <= 3": "d607a06a54f1f54a",
    f"SELECT k, SUM(v) {_BY_C}) AS t, LAG(v, 2) {_BY_C}) AS l FROM N": "f19c64d9aaed1f46",
    f"SELECT k, MAX(v) {_BY_C} ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS t FROM N": "deb2ea2efccd2d0a",
    f"SELECT k, SUM(v) {_BY_C} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS t FROM N": "7476f028e8006145",
    f"SELECT k, v FROM N WHERE v > {_AVERAGE}": "79c625261ebc5dad",
    f"SELECT c, COUNT(*), SUM(v) FROM N WHERE v > {_AVERAGE} GROUP BY c": "c1542f7b88ef6903",
    "SELECT k, dst FROM N ASOF LEFT JOIN G ON k = src AND k >= dst": "707c4c3587b796aa",
    "SELECT COUNT(*) AS c FROM N JOIN G ON k = src AND v BETWEEN dst - 1 AND dst": "b468f2245cad3738",
    "SELECT k, dst FROM N JOIN G ON v = src AND dst < k": "8fd39133d77f6ceb",
    "SELECT A.src, N.k FROM G A JOIN N ON A.src = N.v AND k BETWEEN A.src AND A.dst": "e0d744716891aa7f",
    "SELECT k, window(CAST(s AS TIMESTAMP), '4 days', '2 days').start AS b FROM N": "d705a6593d69325b",
    "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(x, y)": "5366dffca2b20463",
}
"""Queries over all kinds of operators, and the digest of the block that each view is."""


def _plan(sql: str) -> Operator:
    return plan_query(bind_query(sql, CATALOG), Statistics(), True)


@pytest.mark.parametrize("sql", RECORDED)
def test_digests_are_those_of_the_snapshots_that_there_are(sql: str) -> None:
    graph = Graph({}, Codec(), Workers(1))
    assert graph.add(_plan(sql), Choices("auto", False, Statistics())).digest == RECORDED[sql]


def test_all_kinds_of_operators_are_among_them() -> None:
    kinds = {type(one) for sql in RECORDED for one in upwards(_plan(sql))}
    assert kinds == {*get_args(Operator)}
