"""The queries of joins by order: in livejoin, in DuckDB that checks, in Flink, and the plans of DBSP.

Trades have an id, a symbol and a time; quotes a symbol, a time, until when they are valid, and a price. Times of quotes
of a symbol differ, and their validities do not overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

BAND = 80  # of time: `dbsp/src/bin/ordered/main.rs` has it too
TABLES = {
    "trades": "id BIGINT PRIMARY KEY, symbol BIGINT, ts BIGINT",
    "quotes": "symbol BIGINT, ts BIGINT, until BIGINT, price BIGINT",
}
ASOF, VALID, PAIRS = "ASOF LEFT JOIN", "valid at", "pairs in a band"
IN_BAND, BEFORE = "COUNT(*) in a band", "COUNT(*) before"
_SYMBOL = "t.symbol = q.symbol"
_FAR = 2**40  # from one symbol to the next, where both are one number: DuckDB's range join looks at no other symbol
_PLACED = (
    f"FROM trades t JOIN quotes q ON q.symbol * {_FAR} + q.ts "
    f"BETWEEN t.symbol * {_FAR} + t.ts - {BAND} AND t.symbol * {_FAR} + t.ts"
)


@dataclass(frozen=True)
class Case:
    """A query.

    Args:
        name: What tables and programs call it.
        sql: livejoin's text.
        columns: The number of its columns.
        dbsp: The plans that DBSP has for it.
        duckdb: DuckDB's text, where that of livejoin would make all pairs; else the same one.
        flink: Flink's text over tables that only grow, where it has a join of its own for it.
    """

    name: str
    sql: str
    columns: int
    dbsp: tuple[str, ...]
    duckdb: str = ""
    flink: str = ""

    @property
    def checked(self) -> str:
        """What DuckDB is asked."""
        return self.duckdb or self.sql


_ALL = (
    Case(
        ASOF,
        f"SELECT id, price FROM trades t ASOF LEFT JOIN quotes q ON {_SYMBOL} AND t.ts >= q.ts",
        2,
        ("best",),
        flink="SELECT id, price FROM trades t LEFT JOIN quotes FOR SYSTEM_TIME AS OF t.row_time AS q "
        "ON t.symbol = q.symbol",
    ),
    Case(
        VALID,
        f"SELECT id, price FROM trades t ASOF JOIN quotes q ON {_SYMBOL} AND t.ts >= q.ts WHERE t.ts < q.until",
        2,
        ("best", "text"),
    ),
    Case(
        PAIRS,
        f"SELECT id, price FROM trades t JOIN quotes q ON {_SYMBOL} AND q.ts BETWEEN t.ts - {BAND} AND t.ts",
        2,
        ("best", "range join", "text"),
        duckdb=f"SELECT id, price {_PLACED}",
        flink=f"SELECT id, price FROM trades t JOIN quotes q ON {_SYMBOL} "
        f"AND q.row_time BETWEEN t.row_time - INTERVAL '0.{BAND:03}' SECOND AND t.row_time",
    ),
    Case(
        IN_BAND,
        f"SELECT COUNT(*) AS n FROM trades t JOIN quotes q ON {_SYMBOL} AND q.ts BETWEEN t.ts - {BAND} AND t.ts",
        1,
        ("best", "text"),
        duckdb=f"SELECT COUNT(*) AS n {_PLACED}",
    ),
    Case(
        BEFORE,
        f"SELECT COUNT(*) AS n FROM trades t JOIN quotes q ON {_SYMBOL} AND q.ts < t.ts",
        1,
        ("best", "text"),
        duckdb="SELECT COALESCE(SUM(n), 0)::BIGINT AS n FROM trades t ASOF JOIN (SELECT symbol, ts, "
        f"COUNT(*) OVER (PARTITION BY symbol ORDER BY ts) AS n FROM quotes) q ON {_SYMBOL} AND t.ts > q.ts",
    ),
)
CASES = {case.name: case for case in _ALL}
