"""Queries of TPC-H that need no sub-queries (1, 3, 5, 6, 10, 12, 14) and CROWN's own, and values that they keep."""

from __future__ import annotations

import random
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from livejoin.schema import Column
from livejoin.sql import parse_columns, parse_schema

CATALOG = parse_schema((Path(__file__).parents[2] / "examples" / "tpch" / "schema.sql").read_text())
CATALOG.add(parse_columns("G", "src BIGINT, dst BIGINT"))

REVENUE = "sum(l_extendedprice * (1 - l_discount))"
TPCH = {
    "Q1": (
        "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price, "
        f"{REVENUE} AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, "
        "avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, "
        "count(*) AS count_order FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY "
        "GROUP BY l_returnflag, l_linestatus"
    ),
    "Q3": (
        f"SELECT l_orderkey, {REVENUE} AS revenue, o_orderdate, o_shippriority FROM customer, orders, lineitem "
        "WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey "
        "AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15' "
        "GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10"
    ),
    "Q5": (
        f"SELECT n_name, {REVENUE} AS revenue FROM customer, orders, lineitem, supplier, nation, region "
        "WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey "
        "AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey "
        "AND r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' "
        "AND o_orderdate < DATE '1994-01-01' + INTERVAL '1' YEAR GROUP BY n_name"
    ),
    "Q6": (
        "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' "
        "AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 "
        "AND l_quantity < 24"
    ),
    "Q10": (
        f"SELECT c_custkey, c_name, {REVENUE} AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment "
        "FROM customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey "
        "AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH "
        "AND l_returnflag = 'R' AND c_nationkey = n_nationkey "
        "GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC LIMIT 20"
    ),
    "Q12": (
        "SELECT l_shipmode, "
        "sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_count, "
        "sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_count "
        "FROM orders, lineitem WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') "
        "AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' "
        "AND l_receiptdate < DATE '1994-01-01' + INTERVAL '1' YEAR GROUP BY l_shipmode"
    ),
    "Q14": (
        "SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) "
        f"/ {REVENUE} AS promo_revenue FROM lineitem, part WHERE l_partkey = p_partkey "
        "AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH"
    ),
}
Q19 = (
    f"SELECT {REVENUE} AS revenue FROM lineitem, part WHERE p_partkey = l_partkey AND "
    "((p_brand = 'Brand#12' AND l_quantity >= 1) OR (p_brand = 'Brand#23' AND l_quantity >= 10))"
)

HOP4 = (
    "FROM G G1 JOIN G G2 ON G1.dst = G2.src JOIN G G3 ON G2.dst = G3.src JOIN G G4 ON G3.dst = G4.src "
    "WHERE G4.dst % 2 = 0"
)
CROWN = {
    "3-Hop": "SELECT A.src, B.src, C.src, C.dst FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src",
    "4-Hop with projection": f"SELECT DISTINCT G2.src AS b, G3.src AS c, G4.src AS d {HOP4}",
    "4-Hop counted": f"SELECT G2.src AS b, G3.src AS c, count(*) AS n {HOP4} GROUP BY G2.src, G3.src",
    "star count": "SELECT A.src, count(*) FROM G A, G B, G C WHERE A.src = B.src AND B.src = C.src GROUP BY A.src",
    "2-Comb": "SELECT DISTINCT A.src, A.dst FROM G A, G B, G C WHERE A.src = B.src AND A.dst = C.src",
    "Boolean": "SELECT DISTINCT 1 AS one FROM G A, G B WHERE A.dst = B.src",
    "triangle count": "SELECT count(*) FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src",
    "dumbbell": (
        "SELECT DISTINCT A.src, D.src FROM G A, G B, G C, G M, G D, G E, G F WHERE A.dst = B.src AND B.dst = C.src "
        "AND C.dst = A.src AND A.src = M.src AND M.dst = D.src AND D.dst = E.src AND E.dst = F.src AND F.dst = D.src"
    ),
}

_VALUES: dict[str, list[Any]] = {
    "integer": [1, 2, 3],
    "decimal": [Decimal("0.05"), Decimal("0.06"), Decimal("10.99"), Decimal("12345.67")],
    "date": [date(1993, 11, 3), date(1994, 5, 1), date(1994, 6, 1), date(1995, 3, 1), date(1995, 9, 7)],
}
_OF_COLUMNS: dict[str, list[Any]] = {
    "l_discount": [Decimal("0.05"), Decimal("0.06")],
    "l_tax": [Decimal("0.00"), Decimal("0.08")],
    "l_commitdate": [date(1994, 5, 1), date(1995, 3, 1)],
    "l_receiptdate": [date(1994, 6, 1)],
    "c_mktsegment": ["BUILDING"],
    "r_name": ["ASIA", "EUROPE"],
    "l_returnflag": ["R", "N"],
    "l_shipmode": ["MAIL", "SHIP", "AIR"],
    "o_orderpriority": ["1-URGENT", "2-HIGH", "5-LOW"],
    "p_type": ["PROMO TIN", "ECONOMY TIN"],
}


def value_of(generator: random.Random, column: Column) -> Any:
    """A value that the filters mostly keep."""
    return generator.choice(_OF_COLUMNS.get(column.name) or _VALUES.get(column.type.kind, ["x", "y"]))
