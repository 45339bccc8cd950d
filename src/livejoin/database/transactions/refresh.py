"""A static table gets other rows: one commit that takes what is not there any more and brings what is new.

Law: as of any commit. What stays costs a look at it, and no block hears of it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from livejoin.changes import ChangeBatch, read_changes
from livejoin.database.commit import Commit
from livejoin.database.contents import Contents
from livejoin.database.transactions import transaction
from livejoin.errors import ChangeError, ChangeFormatError
from livejoin.schema import CHANGE_TYPE


def refresh(contents: Contents, name: str, data: object) -> Commit:
    """Let a static table have these rows and no others.

    Args:
        contents: The database's contents.
        name: The table.
        data: The rows, as for `livejoin.Database.apply`, each as often as the table is to have it.

    Raises:
        ChangeError: The table is not static.
        ChangeFormatError: The data says that rows go.
    """
    table = contents.catalog[name]
    if not table.static:
        msg = "the table is not static: bring its changes by apply, or declare it static"
        raise ChangeError(msg, table.name)
    given = read_changes(table, data, False, "never")
    if (given.weights < 0).any():
        msg = (
            f"a table is refreshed by all rows that it is to have, and {CHANGE_TYPE} says that some go; leave these out"
        )
        raise ChangeFormatError(msg, table.name)
    return transaction.commit(contents, [_replacing(contents, given)], "error")


def _replacing(contents: Contents, given: ChangeBatch) -> ChangeBatch:
    """Deletions of all rows that are there, and insertions of the given ones, in one batch."""
    table = given.table
    base = contents.tables[table.name.lower()]
    ids, weights = base.live_rows()
    there = contents.rows_of(base, np.repeat(ids, weights))
    kinds = pa.array(["delete"] * there.num_rows + ["insert"] * given.length, pa.string())
    rows = pa.concat_tables([there, given.rows]).append_column(CHANGE_TYPE, kinds)
    return read_changes(table, rows, False, "never")
