"""The joins of the 22 TPC-H queries: tables and join conditions, without filters, aggregates and sub-queries' results.

A sub-query that is correlated on equal columns is joined to the tables that it is about (EXISTS, IN, outer joins and
their negations take their matches from that join); one over tables of its own stands by itself, with a letter.
"""

from __future__ import annotations

from pathlib import Path

from conjunctive import bind
from livejoin.catalog import Catalog
from livejoin.query import ConjunctiveQuery
from livejoin.sql import parse_schema

_SCHEMA = Path(__file__).parents[2] / "examples" / "tpch" / "schema.sql"

_PARTSUPP_OF_LINE = "l_partkey = ps_partkey AND l_suppkey = ps_suppkey"

JOINS: dict[str, str] = {
    "Q1": "lineitem",
    "Q2": (
        "part, supplier, partsupp, nation, region WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey "
        "AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey"
    ),
    "Q2b": (
        "partsupp, supplier, nation, region WHERE s_suppkey = ps_suppkey AND s_nationkey = n_nationkey "
        "AND n_regionkey = r_regionkey"
    ),
    "Q3": "customer, orders, lineitem WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey",
    "Q4": "orders, lineitem WHERE l_orderkey = o_orderkey",
    "Q5": (
        "customer, orders, lineitem, supplier, nation, region WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey "
        "AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey "
        "AND n_regionkey = r_regionkey"
    ),
    "Q6": "lineitem",
    "Q7": (
        "supplier, lineitem, orders, customer, nation n1, nation n2 WHERE s_suppkey = l_suppkey "
        "AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey "
        "AND c_nationkey = n2.n_nationkey"
    ),
    "Q8": (
        "part, supplier, lineitem, orders, customer, nation n1, nation n2, region WHERE p_partkey = l_partkey "
        "AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey "
        "AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND s_nationkey = n2.n_nationkey"
    ),
    "Q9": (
        "part, supplier, lineitem, partsupp, orders, nation WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey "
        "AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey"
    ),
    "Q10": (
        "customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey "
        "AND c_nationkey = n_nationkey"
    ),
    "Q11": "partsupp, supplier, nation WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey",
    "Q12": "orders, lineitem WHERE o_orderkey = l_orderkey",
    "Q13": "customer, orders WHERE c_custkey = o_custkey",
    "Q14": "lineitem, part WHERE l_partkey = p_partkey",
    "Q15": "supplier, lineitem WHERE s_suppkey = l_suppkey",
    "Q16": "partsupp, part, supplier WHERE p_partkey = ps_partkey AND ps_suppkey = s_suppkey",
    "Q17": "lineitem, part WHERE p_partkey = l_partkey",
    "Q18": "customer, orders, lineitem WHERE c_custkey = o_custkey AND o_orderkey = l_orderkey",
    "Q19": "lineitem, part WHERE p_partkey = l_partkey",
    "Q20": (
        "supplier, nation, partsupp, part, lineitem WHERE s_suppkey = ps_suppkey AND ps_partkey = p_partkey "
        f"AND {_PARTSUPP_OF_LINE} AND s_nationkey = n_nationkey"
    ),
    "Q21": (
        "supplier, lineitem, orders, nation WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey "
        "AND s_nationkey = n_nationkey"
    ),
    "Q22": "orders, customer WHERE o_custkey = c_custkey",
    # The example of AJU's footnote 1, and the sub-query of Q20 by itself.
    "footnote": f"lineitem, partsupp, part WHERE {_PARTSUPP_OF_LINE} AND ps_partkey = p_partkey",
    "Q20b": f"lineitem, partsupp WHERE {_PARTSUPP_OF_LINE}",
}


def tpch() -> Catalog:
    return parse_schema(_SCHEMA.read_text())


def tpch_join(name: str) -> ConjunctiveQuery:
    """A join as a query that keeps the variables of its joins."""
    return bind(f"SELECT 1 AS one FROM {JOINS[name]}", tpch())
