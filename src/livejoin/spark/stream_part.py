"""One stream that carries the changes of several tables, so that a micro-batch holds whole transactions of them.

Spark asks each source of a query for its newest offset by itself. Two sources over one database would cut a transaction
in two, where it falls between the two questions; one source over both tables does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from livejoin.schema import CHANGE_TYPE, SEQUENCE

NUMBERS = "columns"


@dataclass(frozen=True)
class StreamPart:
    """The changes of one table within a stream, as `maintain` takes them beside frames.

    Args:
        stream: It has ``_change_type``, ``_seq``, and a struct column a table, which is NULL in the rows of others.
        column: The struct column of this table.
        key: The columns of its primary key; empty for a multiset.
        earlier: The text of what columns are in rows from before they came; of columns that are missing nobody knows.
            None for NULL in all of them.
        numbers: With ``earlier`` the numbers of the columns, which are given in the order in which they come. The
            stream's offsets say below `NUMBERS` of each table which was the largest when they were made.
    """

    stream: DataFrame
    column: str
    key: tuple[str, ...] = ()
    earlier: Mapping[str, str | None] | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)

    @property
    def frame(self) -> DataFrame:
        """The changes of this table alone; another source where it is used beside the stream itself."""
        row = F.col(quoted(self.column))
        return self.stream.where(row.isNotNull()).select(SEQUENCE, CHANGE_TYPE, f"{quoted(self.column)}.*")


def quoted(column: str) -> str:
    """A column's name as Spark's SQL reads it."""
    return "`" + column.replace("`", "``") + "`"
