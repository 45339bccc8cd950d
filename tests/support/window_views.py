"""Window functions over parts of partitions, and rows for them: copies, NULLs, all types, tables that are emptied."""

from __future__ import annotations

import random
from datetime import date
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]
SCHEMA = """
CREATE TABLE R (a INT, b INT NOT NULL, x BIGINT);
CREATE TABLE T (id INT PRIMARY KEY, y INT, z BIGINT);
CREATE TABLE D (id INT PRIMARY KEY, k INT, d DOUBLE, s STRING, n DECIMAL(9, 2), w DECIMAL(30, 3), t DATE, f BOOLEAN);
"""
FEW = (None, 0, 1, 2, 3)
NUMBERS = (None, -5, 0, 1, 7)
VALUES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "R": (FEW, FEW[1:], NUMBERS),
    "T": (tuple(range(25)), FEW[:3], NUMBERS),
    "D": (
        tuple(range(25)),
        FEW[:3],
        (None, 0.5, -1.25, 7.0),
        (None, "", "a", "a text of more than sixteen bytes", "a text of more than sixteen bytes!"),
        (None, Decimal("-1.25"), Decimal("0.00"), Decimal("7.50")),
        (None, Decimal("-123456789012345678901234.125"), Decimal("0.001"), Decimal("9876543210987654321.999")),
        (None, date(1969, 12, 31), date(2024, 2, 29)),
        (None, False, True),
    ),
}
_PEERS = "OVER (PARTITION BY a ORDER BY b)"
_ROWS = "OVER (PARTITION BY y ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
_AROUND = "OVER (PARTITION BY y ORDER BY id ROWS BETWEEN {})"
_BY_K = "OVER (PARTITION BY k ORDER BY id)"
VIEWS = [
    # RANGE: rows with equal keys have equal results, copies too.
    f"SELECT a, b, x, SUM(x) {_PEERS} AS s, COUNT(*) {_PEERS} AS n, COUNT(x) {_PEERS} AS m FROM R",
    f"SELECT a, b, MIN(x) {_PEERS} AS p, MAX(x) {_PEERS} AS q, AVG(x) {_PEERS} AS m FROM R",
    "SELECT b, SUM(b) OVER (ORDER BY x DESC NULLS LAST) AS s FROM R",
    "SELECT a, SUM(x) OVER (ORDER BY a NULLS FIRST, b RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS s FROM R",
    # ROWS: each row its own.
    f"SELECT id, SUM(z) {_ROWS} AS s, MAX(z) {_ROWS} AS m, COUNT(*) FILTER (WHERE z > 0) {_ROWS} AS c FROM T",
    "SELECT id, z, SUM(z) OVER (PARTITION BY y ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS s FROM T",
    "SELECT id, MIN(z) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS s FROM T",
    "SELECT a, b, x, SUM(b) OVER (PARTITION BY a ORDER BY b, x NULLS FIRST ROWS UNBOUNDED PRECEDING) AS s FROM R",
    # Rows before and behind, and the first and the last one.
    "SELECT id, LAG(z) OVER (PARTITION BY y ORDER BY id) AS p, LEAD(z) OVER (PARTITION BY y ORDER BY id) AS n FROM T",
    "SELECT id, LAG(z, 2, 0) OVER (ORDER BY id) AS p, LEAD(y, 3, id) OVER (ORDER BY id) AS n, LAG(z, 0) OVER (ORDER BY"
    " id) AS o FROM T",
    "SELECT id, z - LAG(z) OVER (PARTITION BY y ORDER BY id) AS step FROM T QUALIFY step > 0",
    "SELECT id, FIRST_VALUE(z) OVER (PARTITION BY y ORDER BY id) AS p, LAST_VALUE(z) OVER (PARTITION BY y ORDER BY id"
    " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS q FROM T",
    # Some rows around each.
    f"SELECT id, SUM(z) {_AROUND.format('2 PRECEDING AND CURRENT ROW')} AS a, COUNT(*) OVER (ORDER BY id ROWS 3"
    " PRECEDING) AS b FROM T",
    f"SELECT id, AVG(z) {_AROUND.format('1 PRECEDING AND 2 FOLLOWING')} AS a, MIN(z)"
    f" {_AROUND.format('1 PRECEDING AND 2 FOLLOWING')} AS b FROM T",
    f"SELECT id, MAX(z) {_AROUND.format('3 PRECEDING AND 1 PRECEDING')} AS a, SUM(y)"
    f" {_AROUND.format('1 FOLLOWING AND 2 FOLLOWING')} AS b FROM T",
    f"SELECT id, FIRST_VALUE(z) {_AROUND.format('2 PRECEDING AND 1 FOLLOWING')} AS a, LAST_VALUE(z)"
    f" {_AROUND.format('2 PRECEDING AND 1 FOLLOWING')} AS b FROM T",
    "SELECT a, b, x, SUM(b) OVER (PARTITION BY a ORDER BY b, x NULLS FIRST ROWS 1 PRECEDING) AS s FROM R",
    f"SELECT id, LAST_VALUE(z) {_AROUND.format('2 FOLLOWING AND 3 FOLLOWING')} AS a, FIRST_VALUE(z)"
    f" {_AROUND.format('2 FOLLOWING AND 3 FOLLOWING')} AS b FROM T",
    # From the first row to some behind or before each, and from there to the last one.
    f"SELECT id, SUM(z) {_AROUND.format('UNBOUNDED PRECEDING AND 2 FOLLOWING')} AS a, LAST_VALUE(z)"
    f" {_AROUND.format('UNBOUNDED PRECEDING AND 2 FOLLOWING')} AS b, MIN(z)"
    f" {_AROUND.format('UNBOUNDED PRECEDING AND 1 PRECEDING')} AS c, LAST_VALUE(z)"
    f" {_AROUND.format('UNBOUNDED PRECEDING AND 2 PRECEDING')} AS d FROM T",
    f"SELECT id, SUM(z) {_AROUND.format('2 PRECEDING AND UNBOUNDED FOLLOWING')} AS a, FIRST_VALUE(z)"
    f" {_AROUND.format('2 PRECEDING AND UNBOUNDED FOLLOWING')} AS b, COUNT(*)"
    f" {_AROUND.format('3 FOLLOWING AND UNBOUNDED FOLLOWING')} AS c, FIRST_VALUE(z)"
    f" {_AROUND.format('2 FOLLOWING AND UNBOUNDED FOLLOWING')} AS d FROM T",
    f"SELECT id, FIRST_VALUE(z) {_AROUND.format('UNBOUNDED PRECEDING AND 2 PRECEDING')} AS a, LAST_VALUE(z)"
    f" {_AROUND.format('1 PRECEDING AND UNBOUNDED FOLLOWING')} AS b FROM T",
    "SELECT a, b, x, SUM(b) OVER (PARTITION BY a ORDER BY b, x NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND 1"
    " FOLLOWING) AS s FROM R",
    # The first and the last row of frames with peers, whose order by id is total, and by z is not.
    "SELECT id, LAST_VALUE(z) OVER (PARTITION BY y ORDER BY id) AS a, FIRST_VALUE(z) OVER (PARTITION BY y ORDER BY id"
    " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS b, LAST_VALUE(z) OVER (ORDER BY id ROWS UNBOUNDED"
    " PRECEDING) AS c, FIRST_VALUE(z) OVER (ORDER BY id DESC RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS d"
    " FROM T",
    "SELECT id, LAST_VALUE(z) OVER (PARTITION BY y ORDER BY z NULLS FIRST) AS a, FIRST_VALUE(z) OVER (ORDER BY z DESC"
    " NULLS LAST RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS b FROM T",
    # Without NULL.
    "SELECT id, FIRST_VALUE(z IGNORE NULLS) OVER w AS a, LAST_VALUE(z IGNORE NULLS) OVER w AS b, LAG(z IGNORE NULLS)"
    " OVER w AS c, LEAD(z, 1, -9 IGNORE NULLS) OVER w AS d, COUNT(*) OVER w AS e FROM T WINDOW w AS (PARTITION BY y"
    " ORDER BY id)",
    f"SELECT id, FIRST_VALUE(z IGNORE NULLS) {_AROUND.format('2 PRECEDING AND UNBOUNDED FOLLOWING')} AS a,"
    f" LAST_VALUE(z IGNORE NULLS) {_AROUND.format('UNBOUNDED PRECEDING AND 1 PRECEDING')} AS b,"
    f" FIRST_VALUE(z IGNORE NULLS) {_AROUND.format('1 PRECEDING AND 1 FOLLOWING')} AS c,"
    f" LAST_VALUE(z IGNORE NULLS) {_AROUND.format('2 PRECEDING AND 1 FOLLOWING')} AS d,"
    f" LAST_VALUE(z IGNORE NULLS) {_AROUND.format('1 FOLLOWING AND UNBOUNDED FOLLOWING')} AS e FROM T",
    f"SELECT id, FIRST_VALUE(z IGNORE NULLS) {_AROUND.format('UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING')} AS a,"
    f" LAST_VALUE(z IGNORE NULLS) {_AROUND.format('UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING')} AS b FROM T",
    "SELECT id, FIRST_VALUE(s IGNORE NULLS) OVER w AS a, LAST_VALUE(s IGNORE NULLS) OVER w AS b, LAG(w IGNORE NULLS)"
    " OVER w AS c, LAST_VALUE(n IGNORE NULLS) OVER w AS d, LEAD(f IGNORE NULLS) OVER w AS e FROM D WINDOW w AS"
    " (PARTITION BY k ORDER BY id)",
    # Shares of a partition, and a row by its number.
    f"SELECT a, b, PERCENT_RANK() {_PEERS} AS p, CUME_DIST() {_PEERS} AS c FROM R",
    "SELECT id, PERCENT_RANK() OVER (ORDER BY z DESC NULLS LAST) AS p, CUME_DIST() OVER (ORDER BY z NULLS FIRST) AS c,"
    " RANK() OVER (ORDER BY z NULLS FIRST) AS r FROM T QUALIFY c <= 0.75",
    "SELECT id, NTILE(1) OVER (ORDER BY id) AS a, NTILE(3) OVER (PARTITION BY y ORDER BY id DESC) AS b, NTILE(7)"
    " OVER (ORDER BY id) AS c FROM T",
    "SELECT id, NTH_VALUE(z, 2) OVER w AS a, NTH_VALUE(z, 3 IGNORE NULLS) OVER w AS b, NTH_VALUE(z, 1) OVER w AS c FROM"
    " T WINDOW w AS (PARTITION BY y ORDER BY id)",
    f"SELECT id, NTH_VALUE(z, 3) {_AROUND.format('UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING')} AS a, NTH_VALUE(z, 2)"
    f" {_AROUND.format('CURRENT ROW AND UNBOUNDED FOLLOWING')} AS b, NTH_VALUE(z, 2)"
    f" {_AROUND.format('2 PRECEDING AND UNBOUNDED FOLLOWING')} AS c, NTH_VALUE(z, 2)"
    f" {_AROUND.format('2 FOLLOWING AND UNBOUNDED FOLLOWING')} AS d, NTH_VALUE(z, 2)"
    f" {_AROUND.format('UNBOUNDED PRECEDING AND 1 PRECEDING')} AS e FROM T",
    f"SELECT id, NTH_VALUE(z, 2) {_AROUND.format('2 PRECEDING AND 1 FOLLOWING')} AS a, NTH_VALUE(z, 2 IGNORE NULLS)"
    f" {_AROUND.format('2 PRECEDING AND 1 FOLLOWING')} AS b FROM T",
    f"SELECT id, NTH_VALUE(s, 2) {_BY_K} AS a, NTH_VALUE(w, 2) {_BY_K} AS b, NTH_VALUE(f, 3 IGNORE NULLS) {_BY_K} AS c,"
    f" NTH_VALUE(t, 2) {_BY_K} AS d, NTH_VALUE(n, 2) OVER (PARTITION BY k ORDER BY id DESC) AS e FROM D",
    # All rows within a distance.
    "SELECT a, b, x, SUM(x) OVER (PARTITION BY a ORDER BY b RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM R",
    "SELECT id, MIN(z) OVER w AS a, COUNT(*) OVER w AS b, AVG(y) OVER (ORDER BY z NULLS FIRST RANGE BETWEEN 1 FOLLOWING"
    " AND 6 FOLLOWING) AS c FROM T WINDOW w AS (PARTITION BY y ORDER BY id DESC RANGE BETWEEN 3 PRECEDING AND 2"
    " FOLLOWING)",
    # Variances.
    "SELECT id, ROUND(STDDEV(z) OVER w, 9) AS a, ROUND(VAR_POP(z) OVER w, 9) AS b, ROUND(STDDEV_POP(z) OVER (ORDER BY"
    " id ROWS 2 PRECEDING), 9) AS c, ROUND(VARIANCE(y) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND UNBOUNDED"
    " FOLLOWING), 9) AS d FROM T WINDOW w AS (PARTITION BY y ORDER BY id)",
    "SELECT id, ROUND(STDDEV_SAMP(d) OVER (v ORDER BY n NULLS FIRST), 6) AS a, ROUND(VAR_SAMP(n) OVER (v ORDER BY id),"
    " 9) AS b FROM D WINDOW v AS (PARTITION BY k)",
    # All types.
    f"SELECT id, SUM(d) {_BY_K} AS a, AVG(d) {_BY_K} AS b, MIN(d) {_BY_K} AS p, MAX(d) {_BY_K} AS q FROM D",
    f"SELECT id, MIN(s) {_BY_K} AS a, MAX(s) {_BY_K} AS b, LAG(s) {_BY_K} AS c, FIRST_VALUE(s) {_BY_K} AS f FROM D",
    f"SELECT id, SUM(n) {_BY_K} AS a, SUM(w) {_BY_K} AS b, MIN(w) {_BY_K} AS p, MAX(n) {_BY_K} AS q, LEAD(w) {_BY_K} AS"
    " r FROM D",
    "SELECT id, SUM(w) OVER (ORDER BY id ROWS 2 PRECEDING) AS a, MAX(s) OVER (ORDER BY id ROWS 2 PRECEDING) AS b,"
    " SUM(d) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS c FROM D",
    f"SELECT id, MIN(t) {_BY_K} AS a, LAG(t, 2) {_BY_K} AS b, MAX(f) {_BY_K} AS c, COUNT(f) {_BY_K} AS d FROM D",
    "SELECT s, MAX(s) OVER (ORDER BY s DESC NULLS LAST) AS a, MIN(s) OVER (ORDER BY s DESC NULLS LAST, id ROWS"
    " UNBOUNDED PRECEDING) AS b, SUM(w) OVER (ORDER BY w DESC NULLS LAST) AS c, SUM(d) OVER (ORDER BY d NULLS FIRST)"
    " AS e FROM D",
    # Beside others, over groups and joins, below them.
    f"SELECT a, b, SUM(x) {_PEERS} AS s, RANK() {_PEERS} AS g, SUM(x) OVER (PARTITION BY a) AS w FROM R",
    f"SELECT a, b, SUM(x) {_PEERS} AS s, RANK() {_PEERS} AS g, DENSE_RANK() OVER (ORDER BY x NULLS FIRST) AS d FROM R"
    " QUALIFY g <= 2",
    "SELECT a, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY a NULLS FIRST) AS s FROM R GROUP BY a",
    "SELECT t.id, SUM(r.x) OVER (PARTITION BY t.y ORDER BY t.id) AS s FROM T t JOIN R r ON t.id = r.a",
    "SELECT s, COUNT(*) AS n FROM (SELECT SUM(z) OVER (ORDER BY id) AS s FROM T) q GROUP BY s",
    "SELECT q.s, r.x FROM (SELECT id, SUM(z) OVER (ORDER BY id) AS s FROM T) q JOIN R r ON r.a = q.id WHERE q.s > 0",
    "SELECT DISTINCT MAX(z) OVER (PARTITION BY y ORDER BY id) AS m FROM T",
]


def changed(rows: dict[str, list[Row]], draw: random.Random) -> dict[str, list[tuple[Row, str]]]:
    """Change some rows of some tables; what was done."""
    found = {}
    for name in draw.sample(list(rows), draw.choice([1, 1, 2, 3])):
        kind = draw.choice(["few", "few", "few", "few", "empty", "fill"])
        gone = list(rows[name]) if kind == "empty" else draw.sample(rows[name], min(len(rows[name]), draw.randrange(3)))
        count = {"few": draw.randrange(3), "empty": 0, "fill": 12}[kind]
        came = [tuple(map(draw.choice, VALUES[name])) for _ in range(count)]
        for row in gone:
            rows[name].remove(row)
        if name != "R":
            came = list({row[0]: row for row in came if row[0] not in {old[0] for old in rows[name]}}.values())
        rows[name] += came
        found[name] = [(row, "delete") for row in gone] + [(row, "insert") for row in came]
    return {name: changes for name, changes in found.items() if changes}
