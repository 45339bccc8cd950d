"""Validated batches of changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.aside import import_what_arrow_wants
from livejoin.changes.arrow_words import arrow_words
from livejoin.changes.convert import convert, refuse_null
from livejoin.changes.intake import STRICT, Intake
from livejoin.changes.kinds import KINDS, kinds_of_texts, no_kind
from livejoin.changes.match import MayLack, listed, match_names
from livejoin.changes.plain import PlainColumn, ReadColumn, plain_column, plain_words
from livejoin.changes.source import TUPLES, Source, as_frame, read_source
from livejoin.errors import ChangeFormatError, ChangeValueError
from livejoin.schema import CHANGE_TYPE, SEQUENCE, Column, SqlType, Table
from livejoin.words import Words

Flags: TypeAlias = npt.NDArray[np.bool_]
ByKey = Literal["never", "given", "always"]
"""Whether changes go by key: never, where the data says so, or always, as far as the table has a primary key."""

Defaults: TypeAlias = Mapping[int, pa.Scalar]
"""Values of columns that a new row leaves out, by the columns' positions, of their Arrow types."""
NO_DEFAULTS: Defaults = MappingProxyType({})

UPSERT = KINDS[-1]
_WEIGHTS = (1, -1, -1, 1, 1)
_PLACE = {kind: place for place, kind in enumerate(KINDS)}
_FEW = 16
_WEIGHT_OF_KIND = np.array(_WEIGHTS, np.int64)
_INSERT, _IMAGE, _UPSERT = _PLACE["insert"], _PLACE["update_postimage"], _PLACE[UPSERT]
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
        replaces: By key, for each change whether it takes the place of the row with its key; None for whole rows.
        given: For each column and change whether it has a value, where changes that replace a row leave columns out,
            bool of shape (columns, rows): what is not given stays as it is in that row. None where all is given.
        words: The words of all columns, int64 of shape (columns, rows), where these are integers that came as Python
            objects, or came as Arrow of their types; else None.
        texts: The columns of strings among them, which have their words only once a commit has encoded them.
        has_null: Whether a word may be that of NULL.
        frame: The Arrow data that the words came as, with the place of each column of the table; None if it was none.
        written: For changes from a log: makes the words of all columns, in the dictionaries as they are when it is
            called; else None.
        origin: The position of each change in the data that was given, where bad ones were left out; None where all
            are there.
        is_derived: Whether the commit itself makes the changes from the others and from what is there, so that a log
            does not have them, and none is late.
    """

    table: Table
    columns: tuple[ReadColumn, ...]
    weights: npt.NDArray[np.int64]
    sequence: npt.NDArray[np.int64] | None
    replaces: Flags | None = None
    words: Words | None = None
    texts: Sequence[int] = ()
    has_null: bool = False
    given: Flags | None = None
    frame: tuple[pa.Table, Sequence[int]] | None = None
    written: Callable[[], Words] | None = None
    origin: Words | None = None
    is_derived: bool = False

    def text_columns(self) -> list[tuple[int, pa.ChunkedArray]]:
        """The columns of strings whose words are to be encoded, with their places."""
        if self.frame is None:
            return []
        given, places = self.frame
        return [(text, given.column(places[text])) for text in self.texts]

    def origins(self, rows: Words) -> Words:
        """The positions of some changes in the data that was given."""
        return rows if self.origin is None else self.origin[rows]

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
        if self.frame is not None:
            given, places = self.frame
            return given.select(list(places)).rename_columns(self.table.names).cast(self.table.arrow).combine_chunks()
        if self.words is not None:
            lines = zip(self.words, self.table.arrow.types, strict=True)
            return pa.Table.from_arrays([pa.array(line).cast(type_) for line, type_ in lines], schema=self.table.arrow)
        if self.written is not None:  # an error shows them, and a log has none but by damage
            return pa.Table.from_arrays(
                [pa.nulls(self.length, field.type) for field in self.table.arrow], schema=self.table.arrow
            )
        arrays = [
            pa.array(column.values, declared.type.arrow) if isinstance(column, PlainColumn) else column
            for column, declared in zip(self.columns, self.table.columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=self.table.arrow)

    def take(self, rows: Words) -> ChangeBatch:
        """The changes at some positions. Cost: O(positions * columns)."""
        return ChangeBatch(
            self.table,
            tuple(self.rows.take(pa.array(rows)).columns),
            self.weights[rows],
            None if self.sequence is None else self.sequence[rows],
            None if self.replaces is None else self.replaces[rows],
            given=None if self.given is None else self.given[:, rows],
        )


def joined(batches: Sequence[ChangeBatch]) -> ChangeBatch:
    """The changes of several batches of a table, one behind the other; by key where one of them is.

    Args:
        batches: At least one.
    """
    if len(batches) == 1:
        return batches[0]
    first = batches[0]
    rows = pa.concat_tables([batch.rows for batch in batches])
    replaces = given = None
    if any(batch.by_key for batch in batches):
        flags = [np.zeros(one.length, np.bool_) if one.replaces is None else one.replaces for one in batches]
        replaces = np.concatenate(flags)
    if any(batch.given is not None for batch in batches):
        whole = [
            np.ones((len(rows.columns), one.length), np.bool_) if one.given is None else one.given for one in batches
        ]
        given = np.concatenate(whole, axis=1)
    weights = np.concatenate([batch.weights for batch in batches])
    return ChangeBatch(first.table, tuple(rows.columns), weights, None, replaces, given=given)


def read_changes(
    table: Table,
    data: object,
    needs_sequence: bool = False,
    by_key: ByKey = "given",
    intake: Intake = STRICT,
    defaults: Defaults = NO_DEFAULTS,
) -> ChangeBatch:
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
        by_key: Whether the changes go by key; ``always`` lets insertions replace, too, ``never`` refuses what only
            makes sense by key.
        intake: How far the data may differ from what the table is declared to be.
        defaults: The values of columns that have a DEFAULT, by their positions; others that are left out are NULL.

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
    if type(data) is list and table.integers and not needs_sequence and set(map(type, data)) in TUPLES:
        words = plain_words(data, table.integers)
        if words is not None:
            weights = _insertions(len(data))
            return ChangeBatch(
                table, (), weights, None, _replacing_rows(table, weights, by_key) if keyed else None, words
            )
    frame = None if type(data) is list or needs_sequence else as_frame(table, data)
    if frame is not None:
        batch = _from_words(table, frame, keyed, by_key)
        if batch is not None:
            return batch
        data = frame
    is_lenient = intake.coerce == "json"
    source = read_source(table, data, keyed or is_lenient or intake.extra_columns == "ignore")
    otherwise: MayLack = "nullable" if is_lenient else "nothing"
    may_lack: tuple[MayLack, MayLack] = (
        "by key" if keyed and by_key == "always" else otherwise,
        "by key" if keyed else otherwise,
    )
    found = match_names(table, source.names, needs_sequence, may_lack, intake.extra_columns)
    kinds = None if found.kinds is None else _kinds(source, found.kinds, table, keyed, intake)
    weights = _insertions(source.rows) if kinds is None else _WEIGHT_OF_KIND[kinds]
    given = _given(table, source, found.lacking)
    replaces = _replacing(table, given, kinds, weights, by_key) if keyed else None
    if given is not None:
        _refuse_short(table, source, given, weights, replaces, intake)
        if defaults:
            source = _filled(table, source, found.columns, given, defaults)
    if replaces is None:
        read = [
            _read(source, place, position, table.required[position], table, intake, defaults)
            for position, place in enumerate(found.columns)
        ]
    else:
        brought = weights > 0
        read = [
            _column_by_key(
                table,
                position,
                source,
                place,
                brought if given is None else brought & given[position],
                intake,
                defaults,
            )
            for position, place in enumerate(found.columns)
        ]
    sequence = None
    if found.sequence is not None:
        import_what_arrow_wants()
        sequence = _convert_own(source, found.sequence, _SEQUENCE_COLUMN, table, intake).to_numpy()
    return ChangeBatch(table, tuple(read), weights, sequence, replaces, given=_partly_given(given, replaces))


def _from_words(table: Table, data: pa.Table, keyed: bool, by_key: ByKey) -> ChangeBatch | None:
    """Changes whose columns are words as they lie; None where they have to be read as others are."""
    found = arrow_words(table, data)
    if found is None:
        return None
    kinds = None if found.kinds is None else kinds_of_texts(found.kinds, len(KINDS) if keyed else _UPSERT)
    if kinds is None and found.kinds is not None:
        return None
    weights = _insertions(data.num_rows) if kinds is None else _WEIGHT_OF_KIND[kinds]
    replaces = _replacing(table, None, kinds, weights, by_key) if keyed else None
    return ChangeBatch(
        table, (), weights, None, replaces, found.words, found.texts, found.has_null, frame=(found.frame, found.places)
    )


def _insertions(rows: int) -> Words:
    weights = np.empty(rows, np.int64)
    weights.fill(1)
    return weights


def _kinds(source: Source, place: int, table: Table, keyed: bool, intake: Intake) -> Words:
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
    return _read_kinds(_convert_own(source, place, _CHANGE_TYPE_COLUMN, table, intake), table, keyed)


def _read(
    source: Source, place: int | None, position: int, required: bool, table: Table, intake: Intake, defaults: Defaults
) -> ReadColumn:
    """A column of the data in the type of the table's column; if the data has no such column, what it has then."""
    column = table.columns[position]
    if place is None:
        if position in defaults:
            return pa.repeat(defaults[position], source.rows)
        return pa.nulls(source.rows, column.type.arrow)
    values = source.values[place]
    if isinstance(values, tuple) and values and not (column.is_uuid or column.is_char):
        plain = plain_column(values, column.type)
        if plain is not None and not (required and plain.has_null) and not (column.length and _is_long(values, column)):
            return plain
    return convert(values, column, table, required, source.sound, intake.coerce)


def _is_long(values: tuple[Any, ...], column: Column) -> bool:
    """Whether a string has more characters than its column takes."""
    return any(value is not None and len(value) > column.length for value in values)


def _given(table: Table, source: Source, lacking: Sequence[str]) -> Flags | None:
    """For each column and row whether it has a value; None where all have. Those that are computed count as given."""
    lacking = [name for name in lacking if table.position(name) not in table.generated]
    if not lacking and not source.short:
        return None
    given = np.ones((len(table.columns), source.rows), np.bool_)
    given[[table.position(name) for name in lacking]] = False
    for row, names in (source.short or {}).items():
        for name in names:
            if table.has_column(name) and table.position(name) not in table.generated:
                given[table.position(name), row] = False
    return given


def _filled(table: Table, source: Source, places: Sequence[int | None], given: Flags, defaults: Defaults) -> Source:
    """The data, in which rows that leave a column out have its default, as their objects are."""
    if not source.short:
        return source
    values = list(source.values)
    for position, default in defaults.items():
        place = places[position]
        if place is not None and not given[position].all():
            value = default.as_py()
            pairs = zip(source.values[place], given[position].tolist(), strict=True)
            values[place] = tuple(one if is_there else value for one, is_there in pairs)
    return replace(source, values=tuple(values))


def _partly_given(given: Flags | None, replaces: Flags | None) -> Flags | None:
    """What is given of changes that replace rows; None where that is all."""
    if given is None or replaces is None or given[:, replaces].all():
        return None
    return given | ~replaces


def _replacing(table: Table, given: Flags | None, kinds: Words | None, weights: Words, by_key: ByKey) -> Flags | None:
    """Which changes take the place of the row with their key; None where the changes do not go by key."""
    if kinds is None or by_key == "always":
        return _replacing_rows(table, weights, by_key)
    upserts = kinds == _UPSERT
    short = given is not None and bool((~given.all(axis=0) & (kinds != _INSERT)).any())
    if short or table.sequence_by is not None or bool(upserts.any()):
        replaces: Flags = upserts | (kinds == _IMAGE)
        return replaces
    return None


def _replacing_rows(table: Table, weights: Words, by_key: ByKey) -> Flags | None:
    """As `_replacing`, for data without ``_change_type``, or where all insertions replace."""
    if by_key == "always":
        return weights > 0
    return None if table.sequence_by is None else np.zeros(weights.shape, np.bool_)


def _column_by_key(
    table: Table,
    position: int,
    source: Source,
    place: int | None,
    needed: Flags,
    intake: Intake,
    defaults: Defaults,
) -> ReadColumn:
    """A column of changes by key, in which some need no value: it is elsewhere, or says not which row they take."""
    column = table.columns[position]
    identifies = table.identifies(position)
    read = _read(source, place, position, identifies, table, intake, defaults)
    if place is not None and not identifies and table.requires(position):
        array = pa.array(read.values, column.type.arrow) if isinstance(read, PlainColumn) else read
        refuse_null(array, column, table, needed)
    return read


def _refuse_short(
    table: Table, source: Source, given: Flags, weights: Words, replaces: Flags | None, intake: Intake
) -> None:
    """Refuse changes that leave columns out that they need.

    Raises:
        ChangeFormatError: There are such changes.
    """
    identifies = np.array([table.identifies(place) for place in range(len(table.columns))])
    is_lenient = intake.coerce == "json"
    whole = ~np.array(table.may_lack) if is_lenient else np.ones(len(table.columns), np.bool_)
    by_itself = np.ones(weights.shape, np.bool_) if replaces is None else (weights > 0) & ~replaces
    lacking = ~given & np.where(by_itself, whole[:, np.newaxis], identifies[:, np.newaxis])
    if not lacking.any():
        return
    row = int(np.argmax(lacking.any(axis=0)))
    missing = listed([table.columns[place].name for place in np.flatnonzero(lacking[:, row])])
    if not by_itself[row]:
        why = "changes by key need the key, and what orders them"
    elif is_lenient:
        why = "which is NOT NULL or in a key; give a value"
    elif table.primary_key:
        why = "only an upsert, and a deletion by key, may leave columns out; give None for NULL"
    else:
        why = "give None for NULL"
    msg = f"missing {missing}: {why}"
    raise ChangeFormatError(msg, table.name, row)


def _convert_own(source: Source, place: int, column: Column, table: Table, intake: Intake) -> pa.Array:
    """Convert ``_seq`` or ``_change_type``: a value that does not fit is an error of the data's form."""
    try:
        return convert(source.values[place], column, table, not column.nullable, source.sound, intake.coerce)
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
