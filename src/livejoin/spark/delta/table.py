"""Delta tables, and what livejoin says when one cannot be read or written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from livejoin.errors import StorageError


@contextmanager
def explained(place: str, what: str) -> Iterator[None]:
    """Errors of deltalake and of the system inside become `StorageError`.

    Args:
        place: Where the table is.
        what: What holds now, as the end of a sentence.
    """
    try:
        yield
    except (DeltaError, OSError) as error:
        msg = f"the Delta table {place}: {' '.join(str(error).split())}; {what}"
        raise StorageError(msg) from error


def columns_of(table: DeltaTable) -> pa.Schema:
    """The columns of a table, in Arrow's plain types."""
    return pa.schema(table.schema().to_arrow())
