"""SQL that changes rows: what a statement says becomes changes of one commit.

The queries of a statement are answered over the tables as they are; what they give are the rows that go and come, as
`livejoin.Database.apply` takes them. So a statement is refused where such changes are, and by the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes import Defaults, Intake, read_changes
from livejoin.changes.convert import convert
from livejoin.database.contents import Contents
from livejoin.database.declared.defaults import defaults_of
from livejoin.database.statements.asked_once import asked
from livejoin.errors import ChangeError, ChangeValueError, ExpressionError, SchemaError, SqlError, UnsupportedQueryError
from livejoin.schema import CHANGE_TYPE, Table
from livejoin.schema.names import backticked
from livejoin.shown import shown_row
from livejoin.sql import ALL_OF_SOURCE, VALUE, ChangedRows, NewRows, RowChanges, names_read

_SHOWN = 6  # columns of a row in a message
_IN_VALUE = re.compile(rf" in '{VALUE}\d+'")
_AS_WRITTEN = Intake(coerce="json")  # a constant has the type of its text, and becomes what it is exactly


@dataclass
class Pending:
    """The changes of statements that become one commit; mutable.

    Args:
        tables: The changes of each table, by its name.
    """

    tables: dict[str, list[pa.Table]] = field(default_factory=dict)

    def add(self, contents: Contents, statement: RowChanges) -> None:
        """Add what a statement changes, as the tables are.

        Raises:
            UnsupportedQueryError: The statement reads a table that one before it has changed.
            SqlError, SchemaError, ChangeError, ExpressionError, CapacityError: As for a view and for a commit.
        """
        try:
            self._add(contents, statement)
        except SqlError as error:
            raise statement.at_its_place(error) from error
        except ExpressionError as error:  # the columns of the queries have names that nobody has written
            raise ExpressionError(_IN_VALUE.sub("", str(error))) from error

    def _add(self, contents: Contents, statement: RowChanges) -> None:
        table = contents.declared(statement.table)
        if table.is_trusted and (
            statement.matches is not None or any(isinstance(part, ChangedRows) for part in statement.parts)
        ):
            msg = (
                f"table {table.name!r} has deletes = 'trusted', so that its rows are not kept, and nobody knows which "
                "ones the statement means; give db.apply the rows that go, each whole, with _change_type 'delete'"
            )
            raise SchemaError(msg)
        self._refuse_changed(contents, [part.query for part in statement.parts])
        if statement.matches is not None and any(isinstance(part, ChangedRows) for part in statement.parts):
            _refuse_many_matches(contents, table, statement.matches)
        defaults = defaults_of(table)  # once, so that the time is one for all rows of the statement
        for part in statement.parts:
            self.tables.setdefault(table.name, []).extend(_changes(contents, table, part, defaults))

    def _refuse_changed(self, contents: Contents, queries: Sequence[str]) -> None:
        """Refuse queries of tables that are about to change: the rows that they are to have are not there yet."""
        if not self.tables:
            return
        read = {name.lower() for sql in queries for name in names_read(sql)}
        read |= {table.lower() for name in read if name in contents.views for table in _tables_of(contents, name)}
        for name in self.tables:
            if name.lower() in read:
                msg = (
                    f"the statement reads table {name!r}, which a statement before it in the same transaction changes: "
                    "each reads what was there before BEGIN. COMMIT before it, or say both in one statement"
                )
                raise UnsupportedQueryError(msg, clause="BEGIN")

    def given(self) -> dict[str, pa.Table]:
        """The changes as a commit takes them."""
        return {name: pa.concat_tables(parts) for name, parts in self.tables.items() if parts}


def of_statement(contents: Contents, error: ChangeError, given: Mapping[str, pa.Table]) -> ChangeError:
    """An error of the changes that statements made, which names the row and not the place of its change.

    Args:
        contents: The database's contents.
        error: The error.
        given: The changes, by the names of their tables.
    """
    if error.row < 0 or error.table not in given:
        return error
    row = given[error.table].slice(error.row, 1)
    return error.of_row(_named_row(contents.declared(error.table), row))


def _tables_of(contents: Contents, view: str) -> Iterator[str]:
    for base in contents.tables.values():
        if contents.views[view]._reads_table(base.table.name):
            yield base.table.name


def _changes(contents: Contents, table: Table, part: NewRows | ChangedRows, defaults: Defaults) -> Iterator[pa.Table]:
    """The rows that go and those that come, each as often as it does."""
    if isinstance(part, NewRows):
        yield _kind(table, _new(table, part, asked(contents, part.query), defaults), "insert", defaults)
        return
    columns, query = part.columns, part.query
    if columns is None:
        assert part.source is not None
        text, name = part.source
        there = asked(contents, f"SELECT * FROM {text} {backticked(name)} WHERE 1 = 0").column_names
        columns = tuple(one.name for one in table.columns if one.name.lower() in map(str.lower, there))
        if not columns:
            msg = f"UPDATE SET *: the source has none of the columns of table {table.name!r}"
            raise SchemaError(msg)
        values = ", ".join(f"{backticked(name)}.{backticked(one)} AS {VALUE}{i}" for i, one in enumerate(columns))
        query = query.replace(ALL_OF_SOURCE, values, 1)
    places = [_place(table, name) for name in columns]
    found = asked(contents, query)
    old = found.select(range(len(table.columns))).rename_columns(table.arrow.names)
    yield _kind(table, old, "delete", defaults)
    if not columns:
        return
    new = old
    by_default = {one.value for one in part.defaults}
    for number, place in enumerate(places):
        values = found.column(len(table.columns) + number)
        if number in by_default:
            values = _default(table, place, values.length(), defaults)
        new = new.set_column(place, table.columns[place].name, values)
    new = new.drop_columns([table.columns[place].name for place in table.generated if place not in places])
    try:
        yield _kind(table, new, "insert", defaults)
    except ChangeValueError as error:
        if error.row < 0:
            raise
        msg = f"what is to become of the row with {_named_row(table, old.slice(error.row, 1))}: {error.message}"
        raise ChangeValueError(msg, table.name) from error


def _named_row(table: Table, row: pa.Table) -> str:
    """A row by its key, or without one by its values."""
    if table.primary_key:
        return f"the key ({shown_row(row.select([table.columns[place].name for place in table.primary_key]), _SHOWN)})"
    return f"the values ({shown_row(row.drop_columns([CHANGE_TYPE] * (CHANGE_TYPE in row.column_names)), _SHOWN)})"


def _new(table: Table, part: NewRows, rows: pa.Table, defaults: Defaults) -> pa.Table:
    """New rows under the names of the columns that they are for, with the values that are DEFAULT."""
    if part.columns == ():
        place = next(place for place, column in enumerate(table.columns) if column.generated is None)
        return pa.table({table.columns[place].name: _default(table, place, rows.num_rows, defaults)})
    before = 1 + max((one.where for one in part.defaults if one.where is not None), default=-1)
    named = _named(table, part, rows.select(range(before, rows.num_columns)))
    for one in part.defaults:
        place = _place(table, named.column_names[one.value])
        values = _default(table, place, rows.num_rows, defaults)
        if one.where is not None:
            written = _typed_nulls(table, place, named.column(one.value))
            given = convert(written, table.columns[place], table, False, False, "json")
            values = pc.if_else(rows.column(one.where), values, given)
        named = named.set_column(one.value, named.column_names[one.value], values)
    return named


def _default(table: Table, place: int, rows: int, defaults: Defaults) -> pa.ChunkedArray:
    """The DEFAULT of a column, for some rows; NULL where it has none, and for a generated column, which is computed."""
    value = defaults.get(place, pa.scalar(None, table.columns[place].type.arrow))
    return pa.chunked_array([pa.repeat(value, rows)])


def _named(table: Table, part: NewRows, rows: pa.Table) -> pa.Table:
    """New rows under the names of the columns that they are for."""
    if part.by_name:
        own = {column.name.lower() for column in table.columns}
        rows = rows.select([name for name in rows.column_names if name.lower() in own])
    plain = [column.name for column in table.columns if column.generated is None]
    every = plain if len(plain) == rows.num_columns else table.arrow.names
    names = rows.column_names if part.by_name else part.columns or every
    for name in names:
        _place(table, name)
    if len(set(map(str.lower, names))) < len(names):
        msg = f"table {table.name!r}: a column is named twice in INSERT ({', '.join(names)})"
        raise SchemaError(msg)
    if len(names) != rows.num_columns:
        msg = f"table {table.name!r}: {rows.num_columns} values are given for {len(names)} columns ({', '.join(names)})"
        raise SchemaError(msg)
    return rows.rename_columns(list(names))  # columns that are not named have their DEFAULT, or NULL


def _place(table: Table, name: str) -> int:
    return table.position(name)


def _kind(table: Table, rows: pa.Table, kind: str, defaults: Defaults) -> pa.Table:
    """Rows as changes of one kind, of the types of their table.

    Raises:
        ChangeError: A value does not fit.
    """
    for place, name in enumerate(rows.column_names):
        rows = rows.set_column(place, name, _typed_nulls(table, _place(table, name), rows.column(place)))
    typed = read_changes(table, rows, False, "never", _AS_WRITTEN, defaults).rows
    return typed.append_column(CHANGE_TYPE, pa.repeat(pa.scalar(kind), rows.num_rows))


def _typed_nulls(table: Table, place: int, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values, of the type of their column if all are NULL: NULL as a constant has some type."""
    if values.null_count < len(values):
        return values
    return pa.chunked_array([pa.nulls(len(values), table.columns[place].type.arrow)])


def _refuse_many_matches(contents: Contents, table: Table, matches: tuple[str, str]) -> None:
    """Refuse a MERGE of which several rows of the source match one of the table: which of them counts is not said.

    Raises:
        ChangeError: There are more matches than rows that have one.
    """
    pairs, rows = (asked(contents, query).column(0)[0].as_py() for query in matches)
    if pairs > rows:
        msg = (
            f"{pairs:,} rows of the source match {rows:,} rows of the table in MERGE: which of several counts is not "
            "said; let at most one match each, as by a sub-query with GROUP BY"
        )
        raise ChangeError(msg, table.name)
