"""The net effect of a delta: on each key, or on each different row."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION

COMES = "_comes"

_IT_COMES = f"{CHANGE_TYPE} IN ('insert', 'update_postimage')"


def last_of_keys(delta: pa.Table, columns: pa.Schema, key: tuple[str, ...]) -> pa.Table:
    """For each key of a delta the row that is inserted last, or the deleted one; ``_comes`` says which.

    Args:
        delta: The delta, of one or several versions.
        columns: The wanted columns, with their types.
        key: The columns of the key; NULL counts as a value. Empty if the view has at most one row.
    """
    names = ", ".join(map(quoted, columns.names))
    partition = f"PARTITION BY {', '.join(map(quoted, key))} " if key else ""
    last = _asked(
        f"SELECT {names}, {_IT_COMES} AS {COMES} FROM delta "
        f"QUALIFY row_number() OVER ({partition}ORDER BY {COMMIT_VERSION} DESC, {COMES} DESC) = 1",
        delta,
    )
    return last.cast(pa.schema([*columns, pa.field(COMES, pa.bool_())]))


def counts(delta: pa.Table, columns: pa.Schema, named: str) -> pa.Table:
    """For each different row of a delta how many more there are of it, without those of which there are as many.

    Args:
        delta: The delta, of one or several versions.
        columns: The wanted columns, with their types.
        named: The name of the count.
    """
    names = ", ".join(map(quoted, columns.names))
    found = _asked(
        f"SELECT {names}, SUM(CASE WHEN {_IT_COMES} THEN 1 ELSE -1 END) AS {quoted(named)} FROM delta "
        f"GROUP BY {names} HAVING {quoted(named)} <> 0",
        delta,
    )
    return found.cast(pa.schema([*columns, pa.field(named, pa.int64())]))


def _asked(query: str, delta: pa.Table) -> pa.Table:
    """What DuckDB says of a delta, which the query names ``delta``."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("delta", delta)
        return connection.sql(query).to_arrow_table()


def quoted(name: str) -> str:
    """A name in standard SQL."""
    return '"' + name.replace('"', '""') + '"'
