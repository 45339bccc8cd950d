"""The watermark of a table whose rows are spread over databases, each of which has a part of it.

Each part moves its own watermark by its own rows (`livejoin.database.transactions.watermarks`). The watermark of the
whole is the newest of these. Which changes of a part are late is said by the whole one, which the part hears of.

Law: parts that hear of the whole watermark before each commit of theirs leave out what one table would leave out.
"""

from __future__ import annotations

import numpy as np

from livejoin.changes import ChangeBatch
from livejoin.database.engine import Database
from livejoin.database.transactions import transaction
from livejoin.database.transactions.guard import alone
from livejoin.database.transactions.watermarks import LEAST, add_watermarks, watermark_of
from livejoin.schema import Table


@alone
def hear(database: Database, name: str, time: int) -> None:
    """Take note of the watermark of the whole table, which never goes back. Nothing else of the part changes.

    Args:
        database: The database of the part.
        name: The table.
        time: The watermark, in microseconds.
    """
    heard = database._contents.heard
    heard[name.lower()] = max(time, heard.get(name.lower(), LEAST))


@alone
def own(database: Database, name: str) -> int | None:
    """The watermark of a part by its own rows; None if it has none yet."""
    contents = database._contents
    base = watermark_of(contents, contents.catalog[name])
    return None if base is None or base.begin == LEAST else base.begin


@alone
def begin(database: Database, table: Table, time: int | None) -> None:
    """Give a watermark to a part whose rows are there already, which do not move it.

    Args:
        database: The database of the part, which has the table.
        table: The table.
        time: The watermark, in microseconds; None for none yet.
    """
    contents = database._contents
    add_watermarks(contents, (table,))
    base = watermark_of(contents, table)
    if base is not None and time is not None:
        batch = ChangeBatch(base.table, (), np.ones(1, np.int64), None, words=np.array([[time]]))
        transaction.run(contents, [(batch, np.array([contents.version + 1]))], 1, "commit", "error")
