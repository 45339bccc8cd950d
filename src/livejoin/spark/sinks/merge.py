"""The statements of SQL by which a batch goes into a table of a Spark catalog: pure texts.

Laws: what `by_key` and `by_count` give can run twice for one batch, and does nothing the second time, if no later batch
has run between. By key a row that is there is set to the same values, and one that is gone stays gone. By count a row
that the batch has touched has its number in ``_batch`` and is passed over; one that the batch took to 0 is gone, and a
negative count for a row that is not there does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from livejoin.schema.names import backticked
from livejoin.spark.sinks.net_effect import COMES

COUNT, BATCH = "_count", "_batch"


def created(table: str, columns: Mapping[str, str], provider: str | None) -> str:
    """The statement that makes a table.

    >>> created("ice.live.v", {"a": "int"}, "iceberg")
    'CREATE TABLE ice.live.v (`a` int) USING iceberg'
    """
    listed = ", ".join(f"{backticked(name)} {kind}" for name, kind in columns.items())
    return f"CREATE TABLE {table} ({listed})" + (f" USING {provider}" if provider else "")


def by_key(table: str, came: str, columns: Sequence[str], key: Sequence[str]) -> str:
    """The merge of rows by their key; ``_comes`` says whether a row comes or goes.

    >>> print(by_key("t", "c", ["a", "n"], ["a"]))
    MERGE INTO t AS held USING c AS came ON held.`a` IS NOT DISTINCT FROM came.`a`
    WHEN MATCHED AND NOT came.`_comes` THEN DELETE
    WHEN MATCHED THEN UPDATE SET `n` = came.`n`
    WHEN NOT MATCHED AND came.`_comes` THEN INSERT (`a`, `n`) VALUES (came.`a`, came.`n`)
    """
    others = [name for name in columns if name not in key] or list(columns)
    return "\n".join(
        (
            f"MERGE INTO {table} AS held USING {came} AS came ON {_same(key)}",
            f"WHEN MATCHED AND NOT came.`{COMES}` THEN DELETE",
            f"WHEN MATCHED THEN UPDATE SET {_set(others)}",
            f"WHEN NOT MATCHED AND came.`{COMES}` THEN {_insert(columns)}",
        )
    )


def by_count(table: str, came: str, columns: Sequence[str]) -> str:
    """The merge of counts of equal rows; ``_count`` of a row that came is how many more there are.

    >>> print(by_count("t", "c", ["a"]))
    MERGE INTO t AS held USING c AS came ON held.`a` IS NOT DISTINCT FROM came.`a`
    WHEN MATCHED AND held.`_batch` < came.`_batch` AND held.`_count` + came.`_count` = 0 THEN DELETE
    WHEN MATCHED AND held.`_batch` < came.`_batch` THEN UPDATE SET `_count` = held.`_count` + came.`_count`, \
`_batch` = came.`_batch`
    WHEN NOT MATCHED AND came.`_count` > 0 THEN INSERT (`a`, `_count`, `_batch`) VALUES (came.`a`, came.`_count`, \
came.`_batch`)
    """
    is_new = f"held.`{BATCH}` < came.`{BATCH}`"
    total = f"held.`{COUNT}` + came.`{COUNT}`"
    return "\n".join(
        (
            f"MERGE INTO {table} AS held USING {came} AS came ON {_same(columns)}",
            f"WHEN MATCHED AND {is_new} AND {total} = 0 THEN DELETE",
            f"WHEN MATCHED AND {is_new} THEN UPDATE SET `{COUNT}` = {total}, {_set([BATCH])}",
            f"WHEN NOT MATCHED AND came.`{COUNT}` > 0 THEN {_insert([*columns, COUNT, BATCH])}",
        )
    )


def appended(table: str, came: str, columns: Sequence[str]) -> str:
    """The statement that appends rows.

    >>> appended("t", "c", ["a", "_batch"])
    'INSERT INTO t (`a`, `_batch`) SELECT `a`, `_batch` FROM c'
    """
    listed = ", ".join(map(backticked, columns))
    return f"INSERT INTO {table} ({listed}) SELECT {listed} FROM {came}"


def noted(table: str, values: Mapping[str, object]) -> str:
    """The statement that sets properties of a table; names and values have no quote.

    >>> noted("t", {"livejoin-batch": 7})
    "ALTER TABLE t SET TBLPROPERTIES ('livejoin-batch' = '7')"
    """
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in values.items())
    return f"ALTER TABLE {table} SET TBLPROPERTIES ({listed})"


def _same(columns: Sequence[str]) -> str:
    """The condition that two rows agree in columns; of none, that a table has one row at most."""
    names = map(backticked, columns)
    return " AND ".join(f"held.{name} IS NOT DISTINCT FROM came.{name}" for name in names) or "true"


def _set(columns: Sequence[str]) -> str:
    return ", ".join(f"{name} = came.{name}" for name in map(backticked, columns))


def _insert(columns: Sequence[str]) -> str:
    names = [backticked(name) for name in columns]
    return f"INSERT ({', '.join(names)}) VALUES ({', '.join(f'came.{name}' for name in names)})"
