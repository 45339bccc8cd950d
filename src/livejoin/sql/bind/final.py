"""What EMIT FINAL needs of the table that it reads: a watermark of the column that its windows are of."""

from __future__ import annotations

from sqlglot import exp

from livejoin.catalog import Catalog
from livejoin.sql.parse.emit_final import FINAL, EmitFinal
from livejoin.sql.parse.source import Source


def refuse_unclosed(sql: str, tree: exp.Expr, catalog: Catalog) -> None:
    """Refuse a query with EMIT FINAL over a table whose watermark does not close its windows.

    Raises:
        UnsupportedQueryError: The table is none, has no watermark, or one of another column.
    """
    final: EmitFinal | None = tree.meta.get(FINAL)
    if final is None:
        return
    table = next((one for one in catalog if one.name.lower() == final.table.lower()), None)
    declare = (
        f"declare it with WATERMARK FOR {final.column} AS {final.column} - INTERVAL '10 minutes' among its columns. "
        "Tables of pipelines have none yet"
    )
    if table is None:
        msg = f"EMIT FINAL reads a table with a watermark, and {final.table!r} is no table"
    elif table.watermark is None:
        msg = f"EMIT FINAL needs a watermark, and table {table.name!r} has none; {declare}"
    elif table.columns[table.watermark.column].name.lower() != final.column.lower():
        has = table.columns[table.watermark.column].name
        msg = f"the windows are of {final.column!r}, and the watermark of table {table.name!r} is of {has!r}; use {has}"
    else:
        return
    raise Source(sql, ()).unsupported("EMIT FINAL", msg, final.offset)
