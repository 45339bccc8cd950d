"""A database beside another one: some rows as tables, for a question about them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from livejoin.database.contents import Contents
from livejoin.database.transactions import transaction
from livejoin.families.cells.workers import Workers
from livejoin.schema import Table


def beside(tables: Iterable[tuple[Table, pa.Table]], memory_limit: int | None = None) -> Contents:
    """The contents of a database with some tables and their rows.

    Args:
        tables: The tables, each with its rows.
        memory_limit: The most bytes that it may take; None for no limit.

    Raises:
        ChangeError: A row is none of its table.
        MemoryLimitError: The rows take more.
    """
    contents = Contents(Workers(1), memory_limit)
    for table, rows in tables:
        contents.add_table(table)
        transaction.commit(contents, transaction.read(contents, {table.name: rows}, False, "error"), "error")
    return contents
