"""What can be read whole: rows as Arrow, as data frames, as Python's objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from livejoin.database import reading


class Readable(ABC):
    """Rows of one version, which are read whole: a view, or a view or a table in a `Snapshot`."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """All rows; one of multiplicity m stands there m times."""

    def to_pandas(self) -> Any:
        """The whole result as a pandas DataFrame; needs pandas.

        Raises:
            ReadError: The result has a DATE or TIMESTAMP for which Python has no object, as one after the year 9999.
        """
        return reading.to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        """The whole result as a Polars DataFrame; needs Polars.

        Raises:
            ReadError: The result has an INTERVAL YEAR TO MONTH, for which Polars has no type; or Polars is not there.
        """
        return reading.to_polars(self.to_arrow())

    def to_pylist(self) -> list[dict[str, Any]]:
        """The whole result as dicts by the names of its columns.

        Raises:
            ReadError: As for `to_pandas`.
        """
        return reading.to_pylist(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The whole result for all that read Arrow: ``pa.table(view)``, ``pl.DataFrame(view)``, DuckDB's ``FROM view``.

        Args:
            requested_schema: A schema that the reader would rather have, as Arrow's interface says.

        Cost: as for `to_arrow`; the stream is of one version, whatever is committed while it is read.
        """
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows of one version as tuples, as `View.at` gives them; read whole before the first one.

        Raises:
            ReadError: As for `to_pandas`.
        """
        table = self.to_arrow()
        if not table.num_columns:
            return iter([()] * table.num_rows)
        return zip(*reading.to_columns(table), strict=True)
