"""Validated batches of changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes.convert import convert
from livejoin.changes.source import Source, read_source
from livejoin.errors import ChangeFormatError, ChangeValueError
from livejoin.schema import CHANGE_COLUMNS, CHANGE_TYPE, SEQUENCE, Column, SqlType, Table

_WEIGHTS = {"insert": 1, "delete": -1, "update_preimage": -1, "update_postimage": 1}
_CHANGE_TYPES = pa.array(_WEIGHTS, pa.string())
_FEW = 16
_WEIGHT_OF_TYPE = np.array([*_WEIGHTS.values()], np.int64)
_CHANGE_TYPE_COLUMN = Column(CHANGE_TYPE, SqlType("string"))
_SEQUENCE_COLUMN = Column(SEQUENCE, SqlType.integer(64), nullable=False)


@dataclass(frozen=True)
class ChangeBatch:
    """Changes of one table, in the order given.

    Args:
        table: The table.
        rows: Exactly the table's columns, in order, with the table's Arrow types, each in one chunk.
        weights: int64, one a row: +1 for an insertion, -1 for a deletion.
        sequence: int64, one a row, or None where the data has no ``_seq``.
    """

    table: Table
    rows: pa.Table
    weights: npt.NDArray[np.int64]
    sequence: npt.NDArray[np.int64] | None


def read_changes(table: Table, data: object, needs_sequence: bool = False) -> ChangeBatch:
    """Read and validate a batch of changes.

    Args:
        table: The table that they are changes of.
        data: Anything with the Arrow stream or array interface (pyarrow, Polars, DuckDB, pandas), a pandas DataFrame,
            or an iterable of tuples (columns by position, all of them insertions) or of dicts (by name). Columns are
            matched without regard to case and may stand in any order. ``_change_type`` is optional and without it
            every row is an insertion; ``_commit_version`` and ``_commit_timestamp`` are ignored.
        needs_sequence: Whether ``_seq`` must be there.

    Returns:
        The batch. What is converted, and what is refused, is written in ``livejoin.changes.convert``.

    Raises:
        ChangeFormatError: Data that carries no rows, or raises an error when it is read; columns that are missing,
            unknown or doubled; Arrow buffers that do not make an array; a row of another arity; a bad ``_change_type``
            or ``_seq``.
        ChangeValueError: A value outside of its column's type; a string that is not UTF-8; NULL in a NOT NULL or key
            column.
        CapacityError: More than 2 GiB of strings in a column.

    Cost: O(values), of which checking Arrow data is 5 ns a string; without a copy where the types and chunks fit.

    >>> pair = Table("G", (Column("src", SqlType.integer(64)), Column("dst", SqlType.integer(64))))
    >>> batch = read_changes(pair, [{"src": 1, "dst": 2, "_change_type": "delete"}])
    >>> batch.rows.to_pylist(), batch.weights.tolist()
    ([{'src': 1, 'dst': 2}], [-1])
    """
    source = read_source(table, data)
    columns = _match_names(table, source.names, needs_sequence)
    arrays = [
        convert(source.values[columns[column.name.lower()]], column, table, table.requires(position), source.sound)
        for position, column in enumerate(table.columns)
    ]
    sequence = None
    if SEQUENCE in columns:
        sequence = _convert_own(source, columns[SEQUENCE], _SEQUENCE_COLUMN, table).to_numpy()
    if CHANGE_TYPE in columns:
        weights = _read_weights(_convert_own(source, columns[CHANGE_TYPE], _CHANGE_TYPE_COLUMN, table), table)
    else:
        weights = np.ones(source.rows, np.int64)
    return ChangeBatch(table, pa.Table.from_arrays(arrays, schema=table.arrow), weights, sequence)


def _match_names(table: Table, names: Sequence[str], needs_sequence: bool) -> dict[str, int]:
    """The position of each column in the data, by its name in lower case."""
    positions: dict[str, int] = {}
    for position, name in enumerate(names):
        if positions.setdefault(name.lower(), position) != position:
            msg = f"column {name!r} is there twice (names are compared without regard to case); keep one"
            raise ChangeFormatError(msg, table.name)
    if needs_sequence and SEQUENCE not in positions:
        msg = f"missing column {SEQUENCE!r}: a replay needs it, distinct int64 values that order all changes"
        raise ChangeFormatError(msg, table.name)
    missing = [column.name for column in table.columns if column.name.lower() not in positions]
    if missing:
        msg = f"missing {_listed(missing)}; found are {_listed(names)}; give every column, NULL where it has no value"
        raise ChangeFormatError(msg, table.name)
    unknown = [name for name in names if not table.has_column(name) and name.lower() not in CHANGE_COLUMNS]
    if unknown:
        own = ", ".join(column.name for column in table.columns)
        msg = f"unknown {_listed(unknown)}; the table has {own}; also allowed are {', '.join(CHANGE_COLUMNS)}"
        raise ChangeFormatError(msg, table.name)
    return positions


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "no columns"
    return ("column " if len(names) == 1 else "columns ") + ", ".join(repr(name) for name in names)


def _convert_own(source: Source, place: int, column: Column, table: Table) -> pa.Array:
    """Convert a column of the change stream itself: a value that does not fit is an error of the stream's form."""
    try:
        return convert(source.values[place], column, table, not column.nullable, source.sound)
    except ChangeValueError as error:
        raise ChangeFormatError(error.message, table.name, error.row) from error


def _read_weights(types: pa.Array, table: Table) -> npt.NDArray[np.int64]:
    if len(types) <= _FEW:  # a call of Arrow's costs more than they do
        known = [_WEIGHTS.get(value, 0) for value in types.to_pylist()]
        if 0 not in known:
            return np.array(known, np.int64)
    found = pc.index_in(types, _CHANGE_TYPES)
    if found.null_count:
        row = pc.index(found.is_null(), True).as_py()
        value = types[row].as_py()
        shown = "NULL" if value is None else repr(value)
        msg = f"{CHANGE_TYPE} is {shown}; allowed are {', '.join(_WEIGHTS)}; without the column every row is an insert"
        raise ChangeFormatError(msg, table.name, row)
    weights: npt.NDArray[np.int64] = _WEIGHT_OF_TYPE[found.to_numpy()]
    return weights
