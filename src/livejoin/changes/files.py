"""Files of changes: CSV and Parquet, read whole.

A CSV file has a header; an empty field that is not quoted is NULL, as Spark reads it. The table's declaration gives the
types of columns, never the values of a file. Decimals are read from texts by `livejoin.changes.coerce`: Arrow's reader
ends the process where one has an exponent as in ``1e-999999999``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from livejoin.changes.coerce import Misfit, coerced_arrow
from livejoin.changes.source import ARROW_ERRORS
from livejoin.errors import ChangeFormatError
from livejoin.schema import CHANGE_COLUMNS, CHANGE_TYPE, SEQUENCE, Table

_ALLOWED = "allowed are .csv (with a header) and .parquet"


def read_file(path: Path, table: Table) -> pa.Table:
    """The changes of a table in a file, for `read_changes`.

    Args:
        path: A file whose name ends in ``.csv`` or ``.parquet``, with the table's columns and those of a change stream.
        table: The table that the changes are for.

    Raises:
        ChangeFormatError: The file cannot be read, has another format, or has a field outside of its column's type.

    Cost: O(size), all of it in memory.
    """
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet"):
        msg = f"cannot tell what kind of file {path} is; {_ALLOWED}"
        raise ChangeFormatError(msg, table.name)
    try:
        with path.open("rb") as file:
            return pq.read_table(file) if kind == ".parquet" else _read_csv(file, table)
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror or error}"
        raise ChangeFormatError(msg, table.name) from error
    except ARROW_ERRORS as error:
        msg = f"{path} does not hold changes of the table: {error}"
        raise ChangeFormatError(msg, table.name) from error


def csv_options(types: Mapping[str, pa.DataType]) -> csv.ConvertOptions:
    """How fields of a CSV become values: an empty field is NULL, ``""`` is the empty text.

    Args:
        types: The types of columns; those of others are told by their values.
    """
    return csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )


def _read_csv(file: BinaryIO, table: Table) -> pa.Table:
    header = csv.open_csv(file).schema.names
    file.seek(0)
    rows = csv.read_csv(file, convert_options=csv_options(_types(table, header)))
    for place, name in enumerate(rows.column_names):
        if table.has_column(name) and (kind := table.columns[table.position(name)].type).kind == "decimal":
            try:
                rows = rows.set_column(place, name, coerced_arrow(rows.column(place), kind))
            except Misfit as error:
                msg = f"column {name!r} is {kind}, and has {error.value} in row {error.row}"
                raise ChangeFormatError(msg, table.name) from None
    return rows


def _types(table: Table, header: Sequence[str]) -> dict[str, pa.DataType]:
    """The types of columns by the header's spelling of their names; names are compared without regard to case."""
    known = {
        column.name.lower(): pa.string() if column.type.kind == "decimal" else column.type.arrow
        for column in table.columns
    }
    known |= {CHANGE_TYPE: pa.string(), SEQUENCE: pa.int64()}
    ignored = {name: pa.string() for name in CHANGE_COLUMNS if name not in known}
    return {name: (known | ignored)[name.lower()] for name in header if name.lower() in (known | ignored)}
