"""What assertions cost: ``python -m benchmarks.assertions``.

Twenty conditions over TPC-H: its foreign keys, and what its specification promises over several tables (sections 1.4
and 4.2.3). Orders come with their lines, some hundred a commit, and leave again. Measured is a commit without
assertions, with each of them alone, and with all. A figure stands only if DuckDB says of each condition what livejoin
does: that it holds at the end, and that it does not behind a commit made to violate it. Times are processor time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import livejoin
from benchmarks.tpch.data import MissingDataError, catalog, load


def _refers(child: str, columns: str, parent: str, keys: str) -> str:
    pairs = zip(columns.split(), keys.split(), strict=True)
    equal = " AND ".join(f"p.{key} = c.{column}" for column, key in pairs)
    there = f"SELECT 1 FROM {parent} p WHERE {equal}"
    return f"NOT EXISTS (SELECT {', '.join(columns.split())} FROM {child} c WHERE NOT EXISTS ({there}))"


@dataclass(frozen=True)
class Asserted:
    """A condition.

    Args:
        condition: As it is asserted.
        violation: What of the last order or its lines violates it: columns with other values; empty if nothing of them
            does.
    """

    condition: str
    table: str = ""
    violation: str = ""


_LINES = "FROM orders o JOIN lineitem l ON l.l_orderkey = o.o_orderkey"
ASSERTED: Mapping[str, Asserted] = {
    "nations_have_regions": Asserted(_refers("nation", "n_regionkey", "region", "r_regionkey")),
    "suppliers_have_nations": Asserted(_refers("supplier", "s_nationkey", "nation", "n_nationkey")),
    "customers_have_nations": Asserted(_refers("customer", "c_nationkey", "nation", "n_nationkey")),
    "offers_have_parts": Asserted(_refers("partsupp", "ps_partkey", "part", "p_partkey")),
    "offers_have_suppliers": Asserted(_refers("partsupp", "ps_suppkey", "supplier", "s_suppkey")),
    "orders_have_customers": Asserted(
        _refers("orders", "o_custkey", "customer", "c_custkey"), "orders", "o_custkey = -1"
    ),
    "lines_have_orders": Asserted(
        _refers("lineitem", "l_orderkey", "orders", "o_orderkey"), "lineitem", "l_orderkey = -1"
    ),
    "lines_have_parts": Asserted(_refers("lineitem", "l_partkey", "part", "p_partkey"), "lineitem", "l_partkey = -1"),
    "lines_have_offers": Asserted(
        _refers("lineitem", "l_partkey l_suppkey", "partsupp", "ps_partkey ps_suppkey"), "lineitem", "l_suppkey = -1"
    ),
    "orders_have_lines": Asserted(
        "NOT EXISTS (SELECT o_orderkey FROM orders o WHERE NOT EXISTS "
        "(SELECT 1 FROM lineitem l WHERE l.l_orderkey = o.o_orderkey))",
        "orders",
        "o_orderkey = -2",
    ),
    "totals_agree": Asserted(
        "NOT EXISTS (SELECT o.o_orderkey, o.o_totalprice, t.total FROM orders o JOIN (SELECT l_orderkey, "
        "SUM(l_extendedprice * (1 + l_tax) * (1 - l_discount)) AS total FROM lineitem GROUP BY l_orderkey) t "
        "ON t.l_orderkey = o.o_orderkey WHERE ABS(t.total - o.o_totalprice) > 1)",
        "orders",
        "o_totalprice = 1.00",
    ),
    "status_agrees": Asserted(
        "NOT EXISTS (SELECT o.o_orderkey FROM orders o JOIN (SELECT l_orderkey, MIN(l_linestatus) AS least, "
        "MAX(l_linestatus) AS most FROM lineitem GROUP BY l_orderkey) t ON t.l_orderkey = o.o_orderkey "
        "WHERE o.o_orderstatus <> CASE WHEN least = most THEN least ELSE 'P' END)",
        "orders",
        "o_orderstatus = 'X'",
    ),
    "shipped_after_ordered": Asserted(
        f"NOT EXISTS (SELECT o.o_orderkey, o.o_orderdate, l.l_shipdate {_LINES} WHERE l.l_shipdate <= o.o_orderdate)",
        "lineitem",
        "l_shipdate = DATE '1970-01-01'",
    ),
    "received_after_shipped": Asserted(
        "NOT EXISTS (SELECT l_orderkey, l_linenumber FROM lineitem WHERE l_receiptdate <= l_shipdate)",
        "lineitem",
        "l_receiptdate = DATE '1970-01-01'",
    ),
    "price_is_that_of_the_part": Asserted(
        "NOT EXISTS (SELECT l_orderkey, l_linenumber FROM lineitem l JOIN part p ON p.p_partkey = l.l_partkey "
        "WHERE l_extendedprice <> l_quantity * p_retailprice)",
        "lineitem",
        "l_extendedprice = 0.00",
    ),
    "at_most_seven_lines": Asserted(
        "NOT EXISTS (SELECT l_orderkey, COUNT(*) AS n FROM lineitem GROUP BY l_orderkey HAVING COUNT(*) > 7)"
    ),
    "lines_are_numbered": Asserted(
        "NOT EXISTS (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING MAX(l_linenumber) <> COUNT(*))",
        "lineitem",
        "l_linenumber = 99",
    ),
    "four_suppliers_a_part": Asserted(
        "NOT EXISTS (SELECT ps_partkey, COUNT(*) AS n FROM partsupp GROUP BY ps_partkey HAVING COUNT(*) <> 4)"
    ),
    "some_customers_never_order": Asserted(
        "(SELECT COUNT(DISTINCT o_custkey) FROM orders) * 3 <= (SELECT COUNT(*) FROM customer) * 2"
    ),
    "no_order_is_most_of_all": Asserted(
        "(SELECT MAX(o_totalprice) FROM orders) < (SELECT SUM(s_acctbal) + 1000000000 FROM supplier)",
        "orders",
        "o_totalprice = 9999999999.00",
    ),
}


@dataclass(frozen=True, eq=False)
class Commits:
    """A stream of orders with their lines.

    Args:
        fixed: The rows of the other tables.
        pieces: The orders and lines of each commit.
    """

    fixed: Mapping[str, pa.Table]
    pieces: Sequence[Mapping[str, pa.Table]]

    @staticmethod
    def of(tables: Mapping[str, pa.Table], orders: int, commits: int) -> Commits:
        """So many commits of so many orders, the first ones."""
        order, lines = tables["orders"], tables["lineitem"]
        keys = order["o_orderkey"].to_numpy()
        of_order = lines["l_orderkey"].to_numpy()
        pieces = []
        for begin in range(0, orders * commits, orders):
            some = keys[begin : begin + orders]
            pieces.append(
                {"orders": order.slice(begin, orders), "lineitem": lines.filter(pa.array(np.isin(of_order, some)))}
            )
        return Commits({name: rows for name, rows in tables.items() if name not in ("orders", "lineitem")}, pieces)


class WrongVerdictError(Exception):
    """livejoin and DuckDB do not say the same of a condition."""


def measure(stream: Commits, names: Sequence[str]) -> float:
    """Processor seconds a commit with some assertions, of orders that come and leave.

    Raises:
        WrongVerdictError: A verdict is not DuckDB's.
    """
    db = livejoin.Database()
    for table in catalog():
        db.execute(f"CREATE TABLE {table.name} ({', '.join(map(str, table.columns))})")
    db.apply(stream.fixed)
    for name in names:
        db.create_assertion(name, ASSERTED[name].condition)
    first, *rest = stream.pieces
    db.apply(first)
    leaving = [{name: _deletions(rows) for name, rows in piece.items()} for piece in rest[::2]]
    begin = time.process_time()
    for piece in rest:
        db.apply(piece)
    for piece in leaving:
        db.apply(piece)
    seconds = (time.process_time() - begin) / (len(rest) + len(leaving))
    _check(db, stream, [first, *rest[1::2]], names)
    return seconds


def _deletions(rows: pa.Table) -> pa.Table:
    return rows.append_column("_change_type", pa.repeat(pa.scalar("delete"), rows.num_rows))


def _check(
    db: livejoin.Database, stream: Commits, left: Sequence[Mapping[str, pa.Table]], names: Sequence[str]
) -> None:
    """Compare verdicts with DuckDB's, of what is left and behind a violation of each condition."""
    with duckdb.connect() as connection:
        for name, rows in stream.fixed.items():
            connection.register(name, rows)
        for name in ("orders", "lineitem"):
            rows = pa.concat_tables([piece[name] for piece in left])
            connection.register("given", rows)
            connection.execute(f"CREATE TABLE {name} AS FROM given")
        for name in names:
            one = ASSERTED[name]
            if connection.sql(f"SELECT {one.condition}").fetchall() == [(False,)] or len(db.views[name]):
                raise WrongVerdictError(name)
            if one.violation:
                _check_violation(db, connection, left[-1][one.table], name)


def _check_violation(db: livejoin.Database, connection: duckdb.DuckDBPyConnection, rows: pa.Table, name: str) -> None:
    """Change one row so that it violates a condition, in livejoin and in DuckDB."""
    one = ASSERTED[name]
    column, _, value = one.violation.partition(" = ")
    old = rows.slice(rows.num_rows - 1, 1)
    place = old.schema.get_field_index(column)
    field = old.schema.field(place)
    scalar = connection.sql(f"SELECT {value} AS v").to_arrow_table()["v"].cast(field.type)
    new = old.set_column(place, field, scalar)
    changes = pa.concat_tables([_deletions(old), new.append_column("_change_type", pa.array(["insert"]))])
    found = {error.assertion for error in db.preview({one.table: changes}).violations}
    connection.execute("BEGIN")
    keys = [(key, old[key][0].as_py()) for key in old.column_names[:4]]
    where = " AND ".join(f"{key} = ?" for key, _ in keys)
    connection.execute(f"UPDATE {one.table} SET {one.violation} WHERE {where}", [value for _, value in keys])
    is_false = connection.sql(f"SELECT {one.condition}").fetchall() == [(False,)]
    connection.execute("ROLLBACK")
    if not is_false or name not in found:
        raise WrongVerdictError(f"{name} behind {one.violation}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a verdict is wrong or there is no data."""
    parser = argparse.ArgumentParser(prog="benchmarks.assertions", description=__doc__)
    parser.add_argument("--scale", type=float, default=0.05, help="the scale factor of TPC-H")
    parser.add_argument("--data", type=Path, help="the folder of its Parquet files; made if they are not there")
    parser.add_argument("--orders", type=int, default=200, help="orders a commit")
    parser.add_argument("--commits", type=int, default=40, help="commits that bring orders")
    parser.add_argument("--each", action="store_true", help="also each assertion alone")
    given = parser.parse_args(arguments)
    try:
        tables = load(given.scale, given.data)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 1
    stream = Commits.of(tables, given.orders, given.commits)
    try:
        measure(Commits(stream.fixed, stream.pieces[:3]), list(ASSERTED))  # compiles
        without, every = measure(stream, []), measure(stream, list(ASSERTED))
        each = {name: measure(stream, [name]) for name in ASSERTED} if given.each else {}
    except WrongVerdictError as error:
        print(f"{error}: not DuckDB's verdict", file=sys.stderr)
        return 1
    changes = sum(rows.num_rows for piece in stream.pieces for rows in piece.values()) / len(stream.pieces)
    print(f"{changes:,.0f} changes a commit; without assertions {without * 1e3:,.2f} ms")
    print(
        f"with all {len(ASSERTED)} of them {every * 1e3:,.2f} ms, {(every - without) / changes * 1e6:,.2f} us a change"
    )
    for name, seconds in each.items():
        print(f"  {name:<28} {(seconds - without) * 1e3:>7,.2f} ms more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
