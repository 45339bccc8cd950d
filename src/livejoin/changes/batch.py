"""Validated batches of changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes.convert import convert, refuse_null
from livejoin.changes.plain import PlainColumn, ReadColumn, plain_column
from livejoin.changes.source import Source, read_source
from livejoin.errors import ChangeFormatError, ChangeValueError
from livejoin.schema import CHANGE_COLUMNS, CHANGE_TYPE, SEQUENCE, Column, SqlType, Table
from livejoin.words import Words

ByKey = Literal["never", "given", "always"]
"""Whether changes go by key: never, where the data says so, or always, as far as the table has a primary key."""

UPSERT = "upsert"
_KINDS = ("insert", "delete", "update_preimage", "update_postimage", UPSERT)
_WEIGHTS = (1, -1, -1, 1, 1)
_PLACE = {kind: place for place, kind in enumerate(_KINDS)}
_OWN = frozenset(CHANGE_COLUMNS)
_FEW = 16
_WEIGHT_OF_KIND = np.array(_WEIGHTS, np.int64)
_IMAGE, _UPSERT = _PLACE["update_postimage"], _PLACE[UPSERT]
_CHANGE_TYPE_COLUMN = Column(CHANGE_TYPE, SqlType("string"))
_SEQUENCE_COLUMN = Column(SEQUENCE, SqlType.integer(64), nullable=False)


@dataclass(eq=False)
class ChangeBatch:
    """Changes of one table, in the order given: a set of whole rows, or a list of changes by key.

    By key, a deletion takes the row that has its key, whatever the other columns say, and the order counts.

    Args:
        table: The table.
        columns: Exactly the table's columns, in order and of their types. A deletion by key may have NULL in columns
            that are NOT NULL and not in the key.
        weights: int64, one a row: +1 for an insertion, -1 for a deletion.
        sequence: int64, one a row, or None where the data has no ``_seq``.
        replaces: By key, for each change whether it takes the place of the row with its key; None for whole rows.
    """

    table: Table
    columns: tuple[ReadColumn, ...]
    weights: npt.NDArray[np.int64]
    sequence: npt.NDArray[np.int64] | None
    replaces: npt.NDArray[np.bool_] | None = None

    @property
    def by_key(self) -> bool:
        """Whether the changes go by key."""
        return self.replaces is not None

    @property
    def length(self) -> int:
        """The number of changes."""
        return len(self.weights)

    @cached_property
    def rows(self) -> pa.Table:
        """The columns as Arrow."""
        arrays = [
            pa.array(column.values, declared.type.arrow) if isinstance(column, PlainColumn) else column
            for column, declared in zip(self.columns, self.table.columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=self.table.arrow)


def read_changes(table: Table, data: object, needs_sequence: bool = False, by_key: ByKey = "given") -> ChangeBatch:
    """Read and validate a batch of changes.

    The changes of a table with a primary key go by key if one of them is an ``upsert``, if a deletion leaves columns
    out that are not in the key, if the table has ``sequence_by``, or if the caller says so. Then an ``upsert`` and an
    ``update_postimage`` take the place of the row with their key, if there is one, and ``delete`` and
    ``update_preimage`` look at the key alone.

    Args:
        table: The table that they are changes of.
        data: Anything with the Arrow stream or array interface (pyarrow, Polars, DuckDB, pandas), a pandas DataFrame,
            or an iterable of tuples (columns by position, all of them insertions) or of dicts (by name). Columns are
            matched without regard to case and may stand in any order. ``_change_type`` is optional and without it
            every row is an insertion; ``_commit_version`` and ``_commit_timestamp`` are ignored.
        needs_sequence: Whether ``_seq`` must be there.
        by_key: Whether the changes go by key; ``always`` lets insertions replace, too, ``never`` refuses what only
            makes sense by key.

    Returns:
        The batch. What is converted, and what is refused, is written in ``livejoin.changes.convert``.

    Raises:
        ChangeFormatError: Data that carries no rows, or raises an error when it is read; columns that are missing,
            unknown or doubled; Arrow buffers that do not make an array; a row of another arity; a bad ``_change_type``
            or ``_seq``; an upsert of a table without a primary key.
        ChangeValueError: A value outside of its column's type; a string that is not UTF-8; NULL in a NOT NULL or key
            column.
        CapacityError: More than 2 GiB of strings in a column.

    Cost: O(values), of which checking Arrow data is 5 ns a string; without a copy where the types and chunks fit.

    >>> pair = Table("G", (Column("src", SqlType.integer(64)), Column("dst", SqlType.integer(64))))
    >>> batch = read_changes(pair, [{"src": 1, "dst": 2, "_change_type": "delete"}])
    >>> batch.rows.to_pylist(), batch.weights.tolist()
    ([{'src': 1, 'dst': 2}], [-1])
    """
    keyed = bool(table.primary_key) and by_key != "never"
    source = read_source(table, data, keyed)
    columns = _match_names(table, source.names, needs_sequence, keyed)
    kinds = None
    if CHANGE_TYPE in columns:
        place = columns[CHANGE_TYPE]
        given = source.values[place]
        if isinstance(given, tuple) and set(map(type, given)) == {str}:
            kinds = _known(given, keyed)
        if kinds is None:
            kinds = _read_kinds(_convert_own(source, place, _CHANGE_TYPE_COLUMN, table), table, keyed)
    weights = _insertions(source.rows) if kinds is None else _WEIGHT_OF_KIND[kinds]
    replaces = _replacing(table, source, columns, kinds, weights, by_key) if keyed else None
    if replaces is None:
        read = tuple([_read(source, columns[name], *table.described[name], table) for name in table.places])
    else:
        read = tuple(_column_by_key(table, place, source, columns, weights) for place in range(len(table.columns)))
    sequence = None
    if SEQUENCE in columns:
        sequence = _convert_own(source, columns[SEQUENCE], _SEQUENCE_COLUMN, table).to_numpy()
    return ChangeBatch(table, read, weights, sequence, replaces)


def _insertions(rows: int) -> Words:
    weights = np.empty(rows, np.int64)
    weights.fill(1)
    return weights


def _read(source: Source, place: int, column: Column, required: bool, table: Table) -> ReadColumn:
    """A column of the data, of the type of its column."""
    values = source.values[place]
    if isinstance(values, tuple) and values and not (column.is_uuid or column.is_char):
        plain = plain_column(values, column.type)
        if plain is not None and not (required and plain.has_null) and not _is_long(values, column):
            return plain
    return convert(values, column, table, required, source.sound)


def _is_long(values: tuple[Any, ...], column: Column) -> bool:
    """Whether a string has more characters than its column takes."""
    return column.length > 0 and any(value is not None and len(value) > column.length for value in values)


def _replacing(
    table: Table,
    source: Source,
    columns: Mapping[str, int],
    kinds: Words | None,
    weights: Words,
    by_key: ByKey,
) -> npt.NDArray[np.bool_] | None:
    """Which changes take the place of the row with their key; None where the changes do not go by key."""
    lacking = [column.name for column in table.columns if column.name.lower() not in columns]
    if lacking or source.short:
        _refuse_short_rows(table, source, weights, lacking)
    if by_key == "always":
        return weights > 0
    upserts = None if kinds is None else kinds == _UPSERT
    if lacking or source.short or table.sequence_by is not None or (upserts is not None and bool(upserts.any())):
        return np.zeros(weights.shape, np.bool_) if upserts is None else upserts | (kinds == _IMAGE)
    return None


def _column_by_key(
    table: Table, position: int, source: Source, columns: Mapping[str, int], weights: Words
) -> ReadColumn:
    """A column of changes by key, in which deletions need a value only where it says which row they take."""
    column = table.columns[position]
    if column.name.lower() not in columns:
        return pa.nulls(source.rows, column.type.arrow)
    identifies = table.identifies(position)
    read = _read(source, columns[column.name.lower()], column, identifies, table)
    if not identifies and table.requires(position):
        array = pa.array(read.values, column.type.arrow) if isinstance(read, PlainColumn) else read
        refuse_null(array, column, table, weights > 0)
    return read


def _refuse_short_rows(table: Table, source: Source, weights: Words, lacking: Sequence[str]) -> None:
    """Refuse changes that bring a row and leave columns out."""
    brought = weights > 0
    if lacking and brought.any():
        msg = (
            f"missing {_listed(lacking)}: the change brings a row; found are {_listed(source.names)}; only a "
            "deletion by key may leave columns out, NULL is given where there is no value"
        )
        raise ChangeFormatError(msg, table.name, int(np.argmax(brought)))
    for row, names in (source.short or {}).items():
        if brought[row]:
            msg = (
                f"the dict brings a row and has no {', '.join(map(repr, names))}; only the deletion by key may leave "
                "columns out, give None for NULL"
            )
            raise ChangeFormatError(msg, table.name, row)


def _match_names(table: Table, names: Sequence[str], needs_sequence: bool, keyed: bool) -> Mapping[str, int]:
    """The position of each column in the data, by its name in lower case."""
    if names is table.names and not needs_sequence:
        return table.places
    positions = {name.lower(): position for position, name in enumerate(names)}
    if len(positions) < len(names):
        lowered = [name.lower() for name in names]
        name = next(name for position, name in enumerate(names) if name.lower() in lowered[:position])
        msg = f"column {name!r} is there twice (names are compared without regard to case); keep one"
        raise ChangeFormatError(msg, table.name)
    if needs_sequence and SEQUENCE not in positions:
        msg = f"missing column {SEQUENCE!r}: a replay needs it, distinct int64 values that order all changes"
        raise ChangeFormatError(msg, table.name)
    may_lack = keyed and CHANGE_TYPE in positions
    lacking = table.places.keys() - positions.keys()
    missing = [
        column.name
        for position, column in enumerate(table.columns if lacking else ())
        if column.name.lower() in lacking and not (may_lack and not table.identifies(position))
    ]
    if missing:
        msg = f"missing {_listed(missing)}; found are {_listed(names)}; give every column, NULL where it has no value"
        raise ChangeFormatError(msg, table.name)
    if positions.keys() - table.places.keys() - _OWN:
        unknown = [name for name in names if not table.has_column(name) and name.lower() not in _OWN]
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


def _known(types: Sequence[Any], keyed: bool) -> Words | None:
    """The place of each change type among `_KINDS`; None if one is none, or may be none here."""
    known = [_PLACE.get(value, -1) for value in types]
    return None if -1 in known or (not keyed and _UPSERT in known) else np.array(known, np.int64)


def _read_kinds(types: pa.Array, table: Table, keyed: bool) -> Words:
    """The place of each change type among `_KINDS`."""
    kinds = _known(types.to_pylist(), keyed) if len(types) <= _FEW else None  # a call of Arrow's costs more than they
    if kinds is None:
        found = pc.index_in(types, pa.array(_KINDS, pa.string()))  # made here: pyarrow imports pandas for it
        if found.null_count:
            raise _unknown(types, pc.index(found.is_null(), True).as_py(), table, keyed)
        kinds = found.to_numpy().astype(np.int64)
    if not keyed and (kinds == _UPSERT).any():
        raise _unknown(types, int(np.argmax(kinds == _UPSERT)), table, keyed)
    return kinds


def _unknown(types: pa.Array, row: int, table: Table, keyed: bool) -> ChangeFormatError:
    value = types[row].as_py()
    shown = "NULL" if value is None else repr(value)
    allowed = ", ".join(_KINDS if keyed else _KINDS[:-1])
    why = ""
    if value == UPSERT:
        why = "no change goes by key here" if table.primary_key else "the table has no PRIMARY KEY to upsert by"
        why = f", and {why}"
    msg = f"{CHANGE_TYPE} is {shown}{why}; allowed are {allowed}; without the column every row is an insert"
    return ChangeFormatError(msg, table.name, row)
