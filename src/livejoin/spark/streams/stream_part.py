"""One stream with the changes of several tables, so that a micro-batch holds whole transactions over these tables.

Spark asks each source of a query for its newest offset separately. With two sources over one database, a transaction
between the two questions would be cut in two. One source over both tables avoids that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from livejoin.schema import CHANGE_TYPE, SEQUENCE
from livejoin.schema.names import backticked

NUMBERS = "columns"


@dataclass(frozen=True)
class StreamPart:
    """The changes of one table within a stream, as `maintain` takes them beside frames.

    Args:
        stream: The stream, with ``_change_type``, ``_seq``, and a struct column for each table, which is NULL in the
            rows of others.
        column: The struct column of this table.
        key: The columns of the table's primary key; empty for a multiset.
        earlier: For a column its value in rows from before the column came, as a text; unknown for columns that are
            missing here. None: NULL in all of them.
        numbers: With ``earlier``: the numbers of the columns, which ascend in the order in which columns come. The
            stream's offsets have, below `NUMBERS`, the largest number of each table at their time.
    """

    stream: DataFrame
    column: str
    key: tuple[str, ...] = ()
    earlier: Mapping[str, str | None] | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)

    @property
    def frame(self) -> DataFrame:
        """The changes of this table alone, as a frame; a second source if it is used beside the stream."""
        row = F.col(backticked(self.column))
        return self.stream.where(row.isNotNull()).select(SEQUENCE, CHANGE_TYPE, f"{backticked(self.column)}.*")
