"""Queries of every kind over four small tables, for tests of what an explanation says of changes."""

from __future__ import annotations

import pyarrow as pa

DECLARED = """
    CREATE TABLE r (k BIGINT PRIMARY KEY, a BIGINT, b BIGINT);
    CREATE TABLE s (a BIGINT, c BIGINT, d BIGINT);
    CREATE TABLE t (c BIGINT NOT NULL, e BIGINT NOT NULL);
    CREATE TABLE u (k BIGINT PRIMARY KEY, f BIGINT);
"""
COLUMNS = {"r": "kab", "s": "acd", "t": "ce", "u": "kf"}
TRIANGLES = "FROM s x JOIN s y ON x.a = y.c JOIN s z ON y.a = z.c AND z.a = x.c"
QUERIES = {
    "join": "SELECT r.k, s.c FROM r JOIN s ON r.a = s.a",
    "three": "SELECT r.k, s.d, t.e FROM r JOIN s ON r.a=s.a JOIN t ON s.c=t.c",
    "product3": "SELECT r.b, s.c, t.e FROM r, s, t",
    "product2cond": "SELECT r.k, s.c, t.e FROM r, s, t WHERE r.a = s.a",
    "proj": "SELECT DISTINCT s.c FROM r JOIN s ON r.a=s.a",
    "leftgroups": "SELECT r.k, g.n FROM r LEFT JOIN (SELECT a, COUNT(*) AS n FROM s GROUP BY a) g ON g.a = r.a",
    "leftgroupskey": "SELECT r.k, g.n FROM r LEFT JOIN (SELECT a, COUNT(*) AS n FROM s GROUP BY a) g ON g.a = r.k",
    "joingroups": "SELECT r.k, g.n FROM r JOIN (SELECT a, SUM(d) AS n FROM s GROUP BY a) g ON g.a = r.a",
    "latest": (
        "SELECT r.k, o.d FROM r LEFT JOIN (SELECT a, d, ROW_NUMBER() OVER (PARTITION BY a ORDER BY c DESC, d)"
        " AS n FROM s) o ON o.a = r.k AND o.n = 1"
    ),
    "latestq": "SELECT a, c, d FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY c DESC, d) = 1",
    "latest2": "SELECT a, c, d FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY c DESC, d) <= 2",
    "notin": "SELECT k FROM r WHERE a NOT IN (SELECT a FROM s)",
    "in": "SELECT k FROM r WHERE a IN (SELECT a FROM s WHERE c > 1)",
    "exists": "SELECT k FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a)",
    "notexists": "SELECT k FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND s.c = 1)",
    "group1": "SELECT a, COUNT(*) AS n FROM s GROUP BY a",
    "group2": "SELECT r.b, s.c, SUM(s.d) AS n FROM r JOIN s ON r.a = s.a GROUP BY r.b, s.c",
    "group3": "SELECT r.b, SUM(t.e) AS n FROM r JOIN s ON r.a = s.a JOIN t ON t.c = s.c GROUP BY r.b",
    "groupu": "SELECT u.f, COUNT(*) AS n FROM r JOIN u ON r.a = u.k GROUP BY u.f",
    "groupmin": "SELECT r.b, s.c, MIN(t.e) AS n FROM r JOIN s ON r.a = s.a JOIN t ON t.c = s.c GROUP BY r.b, s.c",
    "having": "SELECT a, COUNT(*) AS n FROM s GROUP BY a HAVING COUNT(*) > 1",
    "running": "SELECT k, SUM(b) OVER (PARTITION BY a ORDER BY k) AS n FROM r",
    "runningall": "SELECT k, SUM(b) OVER (ORDER BY k) AS n FROM r",
    "rn": "SELECT k, ROW_NUMBER() OVER (PARTITION BY a ORDER BY k) AS n FROM r",
    "rank": "SELECT k, RANK() OVER (ORDER BY b) AS n FROM r",
    "lag": "SELECT k, LAG(b) OVER (PARTITION BY a ORDER BY k) AS n FROM r",
    "lag2": "SELECT k, LAG(b, 2) OVER (PARTITION BY a ORDER BY k) AS n FROM r",
    "lead": "SELECT k, LEAD(b) OVER (ORDER BY k) AS n FROM r",
    "avgwin": "SELECT k, AVG(b) OVER (PARTITION BY a) AS n FROM r",
    "rowsaround": (
        "SELECT k, SUM(b) OVER (PARTITION BY a ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS n FROM r"
    ),
    "self": "SELECT x.k, y.k AS o FROM r x JOIN r y ON x.a = y.a",
    "selflt": "SELECT x.k, y.k AS o FROM r x JOIN r y ON x.a = y.a AND x.k < y.k",
    "selfab": "SELECT x.k, y.k AS o FROM r x JOIN r y ON x.a = y.b",
    "self3": "SELECT x.c, y.d, z.d AS e FROM s x JOIN s y ON x.a = y.c JOIN s z ON y.a = z.c",
    "circle": "SELECT x.c, y.a FROM s x JOIN s y ON x.a = y.c JOIN s z ON y.a = z.c AND z.a = x.c",
    "left": "SELECT r.k, s.c FROM r LEFT JOIN s ON r.a = s.a",
    "left2": "SELECT r.k, s.c, t.e FROM r LEFT JOIN s ON r.a = s.a LEFT JOIN t ON t.c = s.c",
    "leftw": "SELECT r.k, s.c FROM r LEFT JOIN s ON r.a = s.a AND s.c > 1",
    "leftu": "SELECT s.c, u.f FROM s LEFT JOIN u ON u.k = s.a",
    "right": "SELECT r.k, s.c FROM r RIGHT JOIN s ON r.a = s.a",
    "full": "SELECT r.k, s.c FROM r FULL JOIN s ON r.a = s.a",
    "union": "SELECT a FROM r UNION SELECT a FROM s",
    "unionall": "SELECT a FROM r UNION ALL SELECT a FROM s",
    "except": "SELECT a FROM r EXCEPT SELECT a FROM s",
    "exceptall": "SELECT a FROM r EXCEPT ALL SELECT a FROM s",
    "intersect": "SELECT a FROM r INTERSECT SELECT a FROM s",
    "top": "SELECT k, b FROM r ORDER BY b, k LIMIT 3",
    "topgroup": "SELECT a, COUNT(*) AS n FROM s GROUP BY a ORDER BY n DESC, a LIMIT 2",
    "distinct": "SELECT DISTINCT a, c FROM s",
    "distinctjoin": "SELECT DISTINCT r.b, t.e FROM r JOIN s ON r.a = s.a JOIN t ON t.c = s.c",
    "total": "SELECT COUNT(*) AS n, MAX(s.d) AS m FROM r JOIN s ON r.a = s.a",
    "scalar": "SELECT k FROM r WHERE b > (SELECT AVG(d) FROM s)",
    "corr": "SELECT k FROM r WHERE b >= (SELECT MAX(d) FROM s WHERE s.a = r.a)",
    "corrcount": "SELECT k, (SELECT COUNT(*) FROM s WHERE s.a = r.a) AS n FROM r",
    "where": "SELECT k FROM r WHERE b = 1",
    "wherejoin": "SELECT r.k, s.d FROM r JOIN s ON r.a = s.a WHERE r.b = 1 AND s.c = 2",
    "nested2": "SELECT x.n, COUNT(*) AS m FROM (SELECT a, COUNT(*) AS n FROM s GROUP BY a) x GROUP BY x.n",
    "nestedjoin": (
        "SELECT r.b, SUM(g.n) AS m FROM r JOIN (SELECT a, COUNT(*) AS n FROM s GROUP BY a) g ON g.a = r.a GROUP BY r.b"
    ),
    "bag": "SELECT r.b FROM r JOIN s ON r.a=s.a",
    "bag2": "SELECT s.c FROM r JOIN s ON r.a=s.a",
    "bag3": "SELECT s.d FROM r JOIN s ON r.a=s.a JOIN t ON s.c=t.c",
    "rank2": "SELECT k, RANK() OVER (PARTITION BY a ORDER BY b) AS n FROM r QUALIFY n <= 2",
    "dense2": "SELECT k, b FROM r QUALIFY DENSE_RANK() OVER (PARTITION BY a ORDER BY b) <= 2",
    "rn3": "SELECT k, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b, k) AS n FROM r QUALIFY n <= 3",
    "around2": "SELECT k, SUM(b) OVER (PARTITION BY a ORDER BY k ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING) AS n FROM r",
    "upto": (
        "SELECT k, SUM(b) OVER (PARTITION BY a ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS n FROM r"
    ),
    "rangearound": "SELECT k, SUM(b) OVER (ORDER BY k RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS n FROM r",
    "lastvalue": "SELECT k, LAST_VALUE(b) OVER (PARTITION BY a ORDER BY b) AS n FROM r",
    "firstvalue": "SELECT k, FIRST_VALUE(k) OVER (PARTITION BY a ORDER BY b) AS n FROM r",
    "overgroups": "SELECT a, n, SUM(n) OVER (ORDER BY a) AS c FROM (SELECT a, COUNT(*) AS n FROM s GROUP BY a) x",
    "rankgroups": "SELECT a, n, RANK() OVER (ORDER BY n DESC) AS c FROM (SELECT a, COUNT(*) AS n FROM s GROUP BY a) x",
    "topgroups1": (
        "SELECT a, n FROM (SELECT a, c, COUNT(*) AS n FROM s GROUP BY a, c) x QUALIFY ROW_NUMBER() OVER "
        "(PARTITION BY a ORDER BY n DESC, c) <= 1"
    ),
    "offset": "SELECT k, b FROM r ORDER BY b, k LIMIT 3 OFFSET 2",
    "joinonvalue": "SELECT r.k, g.a FROM r JOIN (SELECT a, COUNT(*) AS n FROM s GROUP BY a) g ON g.n = r.b",
    "leftonvalue": "SELECT r.k, g.a FROM r LEFT JOIN (SELECT a, COUNT(*) AS n FROM s GROUP BY a) g ON g.n = r.b",
    "groupsself": (
        "SELECT x.a, y.a AS o FROM (SELECT a, COUNT(*) AS n FROM s GROUP BY a) x JOIN (SELECT a, COUNT(*) AS "
        "n FROM s GROUP BY a) y ON x.n = y.n"
    ),
    "selfnotexists": "SELECT x.k FROM r x WHERE NOT EXISTS (SELECT 1 FROM r y WHERE y.a = x.a AND y.k > x.k)",
    "leftself": "SELECT x.k, y.k AS o FROM r x LEFT JOIN r y ON x.a = y.b",
    "leftanti": "SELECT r.k FROM r LEFT JOIN s ON r.a = s.a WHERE s.c IS NULL",
    "notin2": "SELECT c FROM s WHERE (a, c) NOT IN (SELECT a, b FROM r)",
    "notinnn": "SELECT e FROM t WHERE c NOT IN (SELECT e FROM t)",
    "grouppairs": "SELECT r.b, u.f, COUNT(*) AS n FROM r JOIN s ON r.a = s.a JOIN u ON u.k = s.c GROUP BY r.b, u.f",
    "groupcomma": "SELECT r.b, t.e, COUNT(*) AS n FROM r, t GROUP BY r.b, t.e",
    "unionjoin": "SELECT g.a, r.k FROM (SELECT a FROM s UNION SELECT c FROM t) g JOIN r ON r.a = g.a",
    "toppart": (
        "SELECT g.a, g.n, r.k FROM (SELECT a, COUNT(*) AS n FROM s GROUP BY a ORDER BY n DESC, a LIMIT 2) g "
        "JOIN r ON r.a = g.a"
    ),
    "asof": "SELECT r.k, s.d FROM r ASOF JOIN s ON r.a = s.a AND r.b >= s.c",
    "asofleft": "SELECT r.k, s.d FROM r ASOF LEFT JOIN s ON r.a = s.a AND r.b >= s.c",
    "ntile": "SELECT k, NTILE(3) OVER (PARTITION BY a ORDER BY b, k) AS n FROM r",
    "ineq": "SELECT r.k, s.d FROM r JOIN s ON r.a = s.a AND r.b < s.c",
    "ineqrest": "SELECT r.k, s.d FROM r JOIN s ON r.a = s.a AND r.b < s.c AND r.k <> s.d",
    "ineqcolumns": "SELECT r.k, s.d FROM r JOIN s ON r.a = s.a AND r.b BETWEEN s.c AND s.d",
    "ineqsum": "SELECT COUNT(*) AS n, SUM(s.d) AS t FROM r JOIN s ON r.a = s.a AND r.b < s.c",
    "ineqgroups": "SELECT r.b, s.c, COUNT(*) AS n FROM r JOIN s ON r.a = s.a AND r.b < s.d GROUP BY r.b, s.c",
    "ineqrows": "SELECT r.k, COUNT(*) AS n FROM r JOIN s ON r.a = s.a AND s.c BETWEEN r.b - 1 AND r.b GROUP BY r.k",
    "ineqalone": "SELECT r.k, SUM(s.d) AS n FROM r JOIN s ON r.b < s.c GROUP BY r.k",
    "countdistinct": "SELECT a, COUNT(DISTINCT c) AS n FROM s GROUP BY a",
    "groupexpr": "SELECT a % 2 AS p, COUNT(*) AS n FROM s GROUP BY a % 2",
    "leftgroupby": "SELECT r.b, COUNT(s.c) AS n FROM r LEFT JOIN s ON r.a = s.a GROUP BY r.b",
    "leftgroupopt": "SELECT s.c, COUNT(*) AS n FROM r LEFT JOIN s ON r.a = s.a GROUP BY s.c",
    "leftgroupmin": "SELECT u.f, MIN(r.b) AS n FROM r LEFT JOIN u ON r.k = u.k GROUP BY u.f",
    "lefttree": (
        "SELECT r.k, s.c, t.e, u.f FROM r JOIN u ON u.k = r.b LEFT JOIN s ON r.a = s.a LEFT JOIN t ON t.c = s.c"
    ),
    "leftpart": (
        "SELECT r.k, q.c, q.e FROM r LEFT JOIN (SELECT s.a, s.c, t.e FROM s JOIN t ON t.c = s.c) q ON q.a = r.a"
    ),
    "leftofleft": "SELECT u.f, r.k, s.c FROM u LEFT JOIN (r LEFT JOIN s ON r.a = s.a) ON r.b = u.k",
    "topjoin": "SELECT r.k, s.d FROM r JOIN s ON r.a = s.a ORDER BY s.d, r.k, s.c LIMIT 5",
    "above": "SELECT k FROM r WHERE b > (SELECT AVG(b) FROM r)",
    "aboveown": "SELECT k FROM r WHERE b > (SELECT AVG(x.b) FROM r x WHERE x.a = r.a)",
    "sumabove": "SELECT SUM(b) AS n FROM r WHERE b > (SELECT AVG(d) FROM s)",
    "trianglegroups": f"SELECT x.a, COUNT(*) AS n {TRIANGLES} GROUP BY x.a",
    "trianglecounts": (
        f"SELECT n, COUNT(*) AS m FROM (SELECT x.a, COUNT(*) AS n {TRIANGLES} GROUP BY x.a) q GROUP BY n"
    ),
    "residual": "SELECT x.k, y.k AS o FROM r x JOIN r y ON x.a = y.a WHERE x.b > y.b",
    "residualsum": "SELECT r.k, s.d FROM r JOIN s ON r.a = s.a WHERE r.b * 2 > s.c + 1",
    "residual3": "SELECT r.k, t.e FROM r JOIN s ON r.a = s.a JOIN t ON s.c = t.c WHERE r.b <> t.e",
    "residualself": "SELECT x.k, y.k AS o FROM r x JOIN r y ON x.a = y.a AND x.k < y.k WHERE x.b <= y.b",
    "existsjoin": "SELECT r.k, u.f FROM r JOIN u ON u.k = r.b WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a)",
    "notexistsjoin": (
        "SELECT r.k, s.d FROM r JOIN s ON r.a = s.a WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.c = s.c AND t.e = r.b)"
    ),
    "either": "SELECT r.k, s.c FROM r JOIN s ON r.a = s.a AND (r.b = s.c OR r.b = s.d)",
    "lateral": "SELECT r.k, q.d FROM r, LATERAL (SELECT d FROM s WHERE s.a = r.a ORDER BY d DESC, c LIMIT 1) q",
}


def changed(delta: pa.Table) -> int:
    """The rows that changed at least: one that goes may be the place that another one takes."""
    gone = sum(kind in ("delete", "update_preimage") for kind in delta["_change_type"].to_pylist())
    return max(gone, delta.num_rows - gone)
