"""Validated batches of changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes.convert import convert, import_what_arrow_wants, refuse_null
from livejoin.changes.kinds import KINDS, kinds_of_texts, no_kind
from livejoin.changes.match import listed, match_names
from livejoin.changes.plain import PlainColumn, ReadColumn, plain_column, plain_words
from livejoin.changes.source import TUPLES, Source, read_source
from livejoin.errors import ChangeFormatError, ChangeValueError
from livejoin.schema import CHANGE_TYPE, SEQUENCE, Column, SqlType, Table
from livejoin.words import Words

ByKey = Literal["never", "given", "always"]
"""Whether changes go by key: never, where the data says so, or always, as far as the table has a primary key."""

UPSERT = KINDS[-1]
_WEIGHTS = (1, -1, -1, 1, 1)
_PLACE = {kind: place for place, kind in enumerate(KINDS)}
_FEW = 16
_WEIGHT_OF_KIND = np.array(_WEIGHTS, np.int64)
_IMAGE, _UPSERT = _PLACE["update_postimage"], _PLACE[UPSERT]
_CHANGE_TYPE_COLUMN = Column(CHANGE_TYPE, SqlType("string"))
_SEQUENCE_COLUMN = Column(SEQUENCE, SqlType.integer(64), nullable=False)


@dataclass(eq=False)
class ChangeBatch:
    """Changes of one table, in the order given: a set of whole rows, or a list of changes by key.

    By key, a deletion removes the row with its key, whatever the other columns say, and the order counts.

    Args:
        table: The table.
        columns: The table's columns, in order and of their types. A deletion by key may have NULL in NOT NULL columns
            that are not in the key. Empty if ``words`` has the values.
        weights: int64, one a row: +1 for an insertion, -1 for a deletion.
        sequence: int64, one a row, or None where the data has no ``_seq``.
        replaces: By key, for each change whether it replaces the row with its key; None for whole rows.
        words: The values as words, int64 of shape (columns, rows), if all columns are BIGINT and came as Python objects
            without NULL; else None.
    """

    table: Table
    columns: tuple[ReadColumn, ...]
    weights: npt.NDArray[np.int64]
    sequence: npt.NDArray[np.int64] | None
    replaces: npt.NDArray[np.bool_] | None = None
    words: Words | None = None

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
        if self.words is not None:
            return pa.Table.from_arrays(list(map(pa.array, self.words)), schema=self.table.arrow)
        arrays = [
            pa.array(column.values, declared.type.arrow) if isinstance(column, PlainColumn) else column
            for column, declared in zip(self.columns, self.table.columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=self.table.arrow)


def read_changes(table: Table, data: object, needs_sequence: bool = False, by_key: ByKey = "given") -> ChangeBatch:
    """Read and validate a batch of changes.

    The changes of a table with a primary key go by key in four cases: one of them is an ``upsert``, a deletion leaves
    out columns that are not in the key, the table has ``sequence_by``, or the caller says so. Then ``upsert`` and
    ``update_postimage`` replace the row with their key, if there is one; ``delete`` and ``update_preimage`` look at the
    key alone.

    Args:
        table: The table.
        data: Anything with the Arrow stream or array interface (pyarrow, Polars, DuckDB, pandas), a pandas DataFrame,
            or an iterable of tuples (columns by position, all of them insertions) or of dicts (by name). Columns are
            matched without regard to case and may stand in any order. ``_change_type`` is optional and without it
            every row is an insertion; ``_commit_version`` and ``_commit_timestamp`` are ignored.
        needs_sequence: Whether ``_seq`` must be there.
        by_key: Whether the changes go by key. ``always`` lets insertions replace rows too; ``never`` refuses changes
            that make sense by key alone.

    Returns:
        The batch. ``livejoin.changes.convert`` says which values are converted and which are refused.

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
    if type(data) is list and table.is_plain and not needs_sequence and set(map(type, data)) in TUPLES:
        words = plain_words(data, len(table.columns))
        if words is not None:
            weights = _insertions(len(data))
            return ChangeBatch(
                table, (), weights, None, _replacing_rows(table, weights, by_key) if keyed else None, words
            )
    source = read_source(table, data, keyed)
    found = match_names(table, source.names, needs_sequence, keyed)
    kinds = None if found.kinds is None else _kinds(source, found.kinds, table, keyed)
    weights = _insertions(source.rows) if kinds is None else _WEIGHT_OF_KIND[kinds]
    replaces = _replacing(table, source, found.lacking, kinds, weights, by_key) if keyed else None
    if replaces is None:
        places = zip(found.columns, table.columns, table.required, strict=True)
        read = [_read(source, place, column, required, table) for place, column, required in places]
    else:
        read = [_column_by_key(table, position, source, place, weights) for position, place in enumerate(found.columns)]
    sequence = None
    if found.sequence is not None:
        sequence = _convert_own(source, found.sequence, _SEQUENCE_COLUMN, table).to_numpy()
    return ChangeBatch(table, tuple(read), weights, sequence, replaces)


def _insertions(rows: int) -> Words:
    weights = np.empty(rows, np.int64)
    weights.fill(1)
    return weights


def _kinds(source: Source, place: int, table: Table, keyed: bool) -> Words:
    """The place of each change type among ``KINDS``."""
    given = source.values[place]
    if isinstance(given, tuple) and set(map(type, given)) == {str}:
        kinds = _known(given, keyed)
        if kinds is not None:
            return kinds
    if isinstance(given, pa.ChunkedArray) and source.sound and given.num_chunks == 1:
        kinds = kinds_of_texts(given.chunk(0), len(KINDS) if keyed else _UPSERT)
        if kinds is not None:
            return kinds
    return _read_kinds(_convert_own(source, place, _CHANGE_TYPE_COLUMN, table), table, keyed)


def _read(source: Source, place: int | None, column: Column, required: bool, table: Table) -> ReadColumn:
    """A column of the data in the type of the table's column; NULLs if the data has no such column."""
    if place is None:
        return pa.nulls(source.rows, column.type.arrow)
    values = source.values[place]
    if isinstance(values, tuple) and values and not (column.is_uuid or column.is_char):
        plain = plain_column(values, column.type)
        if plain is not None and not (required and plain.has_null) and not (column.length and _is_long(values, column)):
            return plain
    return convert(values, column, table, required, source.sound)


def _is_long(values: tuple[Any, ...], column: Column) -> bool:
    """Whether a string has more characters than its column takes."""
    return any(value is not None and len(value) > column.length for value in values)


def _replacing(
    table: Table,
    source: Source,
    lacking: Sequence[str],
    kinds: Words | None,
    weights: Words,
    by_key: ByKey,
) -> npt.NDArray[np.bool_] | None:
    """Which changes replace the row with their key; None if the changes do not go by key."""
    if lacking or source.short:
        _refuse_short_rows(table, source, weights, lacking)
    if kinds is None or by_key == "always":
        return _replacing_rows(table, weights, by_key)
    upserts = kinds == _UPSERT
    if lacking or source.short or table.sequence_by is not None or bool(upserts.any()):
        replaces: npt.NDArray[np.bool_] = upserts | (kinds == _IMAGE)
        return replaces
    return None


def _replacing_rows(table: Table, weights: Words, by_key: ByKey) -> npt.NDArray[np.bool_] | None:
    """As `_replacing`, for data without ``_change_type``, or where all insertions replace."""
    if by_key == "always":
        return weights > 0
    return None if table.sequence_by is None else np.zeros(weights.shape, np.bool_)


def _column_by_key(table: Table, position: int, source: Source, place: int | None, weights: Words) -> ReadColumn:
    """A column of changes by key: deletions need a value only in the columns that identify their row."""
    column = table.columns[position]
    identifies = table.identifies(position)
    read = _read(source, place, column, identifies, table)
    if place is not None and not identifies and table.requires(position):
        array = pa.array(read.values, column.type.arrow) if isinstance(read, PlainColumn) else read
        refuse_null(array, column, table, weights > 0)
    return read


def _refuse_short_rows(table: Table, source: Source, weights: Words, lacking: Sequence[str]) -> None:
    """Refuse changes that insert a row but leave columns out."""
    brought = weights > 0
    if lacking and brought.any():
        msg = (
            f"missing {listed(lacking)}: the change brings a row; found are {listed(source.names)}; only a "
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


def _convert_own(source: Source, place: int, column: Column, table: Table) -> pa.Array:
    """Convert ``_seq`` or ``_change_type``: a value that does not fit is an error of the data's form."""
    try:
        return convert(source.values[place], column, table, not column.nullable, source.sound)
    except ChangeValueError as error:
        raise ChangeFormatError(error.message, table.name, error.row) from error


def _known(types: Sequence[Any], keyed: bool) -> Words | None:
    """The place of each change type among ``KINDS``; None if one is unknown or not allowed here."""
    known = [_PLACE.get(value, -1) for value in types]
    return None if -1 in known or (not keyed and _UPSERT in known) else np.array(known, np.int64)


def _read_kinds(types: pa.Array, table: Table, keyed: bool) -> Words:
    """The place of each change type among ``KINDS``."""
    kinds = _known(types.to_pylist(), keyed) if len(types) <= _FEW else None  # a call of Arrow's costs more than they
    if kinds is None:
        import_what_arrow_wants()
        found = pc.index_in(types, pa.array(KINDS, pa.string()))  # made here: pyarrow imports pandas for it
        if found.null_count:
            raise _unknown(types, pc.index(found.is_null(), True).as_py(), table, keyed)
        kinds = found.to_numpy().astype(np.int64)
    if not keyed and (kinds == _UPSERT).any():
        raise _unknown(types, int(np.argmax(kinds == _UPSERT)), table, keyed)
    return kinds


def _unknown(types: pa.Array, row: int, table: Table, keyed: bool) -> ChangeFormatError:
    return ChangeFormatError(no_kind(types[row].as_py(), table, keyed), table.name, row)
