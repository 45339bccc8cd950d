"""What EMIT FINAL needs of the table that it reads: a watermark of the column that its windows are of."""

from __future__ import annotations

from sqlglot import exp

from livejoin.catalog import Catalog
from livejoin.query.closing import Closing
from livejoin.schema.watermarks import sealed_name
from livejoin.sql.parse.emit_final import FINAL, EmitFinal
from livejoin.sql.parse.source import Source
from livejoin.sql.scalars.operands import Mismatch
from livejoin.sql.scalars.time_window import SESSION, window_of


def closing_of(sql: str, tree: exp.Expr, catalog: Catalog) -> Closing | None:
    """The windows of a query with EMIT FINAL, whose table keeps the rows of open ones; None where it keeps all rows.

    Raises:
        UnsupportedQueryError: The table is none, has no watermark, or one of another column, which does not close the
            windows; or it keeps the rows of open windows, and these are sessions.
    """
    final: EmitFinal = tree.meta[FINAL]
    table = next((one for one in catalog if one.name.lower() == final.table.lower()), None)
    declare = (
        f"declare it with WATERMARK FOR {final.column} AS {final.column} - INTERVAL '10 minutes' among its columns. "
        f"A frame of Spark has it by withWatermark, or by stream(frame, watermark=({final.column!r}, delay))"
    )
    if table is None:
        msg = f"EMIT FINAL reads a table with a watermark, and {final.table!r} is no table"
    elif table.watermark is None:
        msg = f"EMIT FINAL needs a watermark, and table {table.name!r} has none; {declare}"
    elif table.columns[table.watermark.column].name.lower() != final.column.lower():
        has = table.columns[table.watermark.column].name
        msg = f"the windows are of {final.column!r}, and the watermark of table {table.name!r} is of {has!r}; use {has}"
    elif table.keep == "all":
        return None
    elif final.call.name.lower() == SESSION:
        msg = (
            f"a session may begin any time before the watermark, and table {table.name!r} has keep = 'open', which "
            "frees rows by the start of windows; leave keep out, or group by window(ts, ...)"
        )
    else:
        try:
            window = window_of(final.call)
        except Mismatch:  # binding says so, with the place
            return None
        return Closing(table.name.lower(), sealed_name(sql), window.duration, window.slide, window.offset)
    raise Source(sql, ()).unsupported("EMIT FINAL", msg, final.offset)
