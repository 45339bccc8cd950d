"""Columns, and tables with their keys.

A table is a multiset of rows unless it declares a primary key. Names are compared without regard to case, as in
Spark SQL, and keep the spelling of their declaration.

A primary key is enforced: a second row with a key is an error. So is UNIQUE, but for rows with NULL in one of its
columns, which never conflict. A foreign key is a promise of whoever declares it, like
Spark's constraints that are NOT ENFORCED and RELY: the planner may build on it and `explain` names it, but no row is
looked up to check it. What a plan returns never depends on it, because a filter on the referenced table may take the
referenced rows out of a query anyway (AJU, section 2.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import pyarrow as pa

from livejoin.errors import SchemaError
from livejoin.schema.types import SqlType

Retain = Literal["all", "used"]

RESERVED_PREFIX = "_"
CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
SEQUENCE = "_seq"
WITHOUT = "_without"
"""The columns that a change of a stream has no value of, and why, as JSON, for `livejoin.checkpoint.incoming`."""
UNCHANGED, LOST, ABSENT, GONE, TEXT = "unchanged", "lost", "absent", "gone", "="
"""Why: it is as it was; so it is, and nobody has it; the column was not there yet; it is no more; behind the last one,
a text that is no value."""
CORRUPT = "_corrupt_record"
"""The text of what a stream could not read as a row of its table, by Spark's name for it; NULL beside a row."""
REFUSED = "_refused"
"""Why something that came in a stream is no change of its table; NULL beside a change."""
CHANGE_COLUMNS = (CHANGE_TYPE, COMMIT_VERSION, "_commit_timestamp", SEQUENCE)

TOMBSTONES = 100_000
"""Deleted keys that a table with ``sequence_by`` remembers unless it is said otherwise."""

CONSTRAINTS = 64
"""UNIQUE constraints of a table at most."""


@dataclass(frozen=True)
class Column:
    """A named, typed column.

    Args:
        name: Its name.
        type: Its type.
        nullable: False for NOT NULL and primary key columns.
        length: Characters that a string has at most, as VARCHAR(length) says; 0 if any number.
        is_uuid: Whether it is a string that is the text of a UUID, in lower case with hyphens.
        is_char: Whether it is a string that is filled with blanks up to ``length`` characters, as CHAR(length) says.
        is_made: Whether no user named it: it is one of a relation that a sub-query or a window function becomes.
    """

    name: str
    type: SqlType
    nullable: bool = True
    length: int = 0
    is_uuid: bool = False
    is_char: bool = False
    is_made: bool = field(default=False, compare=False)

    @property
    def declared(self) -> str:
        """Its type as it is declared."""
        if self.is_uuid:
            return "UUID"
        if self.length:
            return f"{'CHAR' if self.is_char else 'VARCHAR'}({self.length})"
        return str(self.type)

    def __str__(self) -> str:
        return f"{self.name} {self.declared}" + ("" if self.nullable else " NOT NULL")


@dataclass(frozen=True)
class ForeignKey:
    """Columns whose values are those of another table's key, or NULL (AJU, section 2.1).

    Args:
        columns: Positions of the columns in their own table, at least one, distinct.
        table: The referenced table; may be the own one.
        references: The referenced column of each of ``columns``; empty for the primary key's columns in their order.

    >>> customer = Table("customer", (Column("id", SqlType.integer(64)),), primary_key=(0,))
    >>> ForeignKey((3,), "customer").targets(customer)
    (0,)
    """

    columns: tuple[int, ...]
    table: str
    references: tuple[str, ...] = ()

    def refers_to(self, table: str) -> bool:
        """Whether a table of this name is the referenced one."""
        return self.table.lower() == table.lower()

    def targets(self, referenced: Table) -> tuple[int, ...]:
        """Positions in the referenced table of the column that each of ``columns`` refers to.

        Raises:
            SchemaError: The referenced table has no such column.
        """
        if not self.references:
            return referenced.primary_key
        return tuple(referenced.position(name) for name in self.references)


@dataclass(frozen=True)
class WindowRange:
    """A window over a column of times: rows stay while they are less than a range older than the newest time seen.

    Args:
        column: Position of the column.
        width: The range: microseconds for a TIMESTAMP, days for a DATE, the difference of two values for an integer.
    """

    column: int
    width: int


@dataclass(frozen=True)
class Table:
    """The declaration of a base table.

    Args:
        name: The table's name.
        columns: Its columns, at least one, names distinct without regard to case.
        primary_key: Positions of the key's columns; empty for a multiset.
        window_rows: The table keeps this many rows, the oldest leave as new ones come; None keeps all.
        foreign_keys: Its foreign keys.
        static: The table does not change any more once a view uses it.
        window_range: The table keeps the rows with a time ``> newest - width``, where *newest* is the newest time that
            was ever inserted; None keeps all. The column is never NULL.
        sequence_by: Position of the column that orders the changes of each key; None for the order in which they come.
            It is never NULL.
        tombstones: With ``sequence_by`` how many deleted keys are remembered at most.
        unique: Positions of the columns of each UNIQUE constraint.
        retain: Which columns of its rows are kept: ``all``, or those that are ``used`` by a view when the first row
            comes, and those that the table itself needs.
        append_only: Rows come to the table and never leave it, nor does one take the place of another.

    Raises:
        SchemaError: A name is empty, doubled or reserved, a UNIQUE constraint has no columns or those of another key, a
            window is not positive, is one of two, is that of a static table or has no column of times, a foreign key
            does not fit the columns, an append-only table would lose rows or is static, or ``sequence_by`` stands
            beside a window or without a primary key, or names a column of it or one that has no order of times or
            numbers.

    >>> Table("G", (Column("src", SqlType.integer(64)), Column("dst", SqlType.integer(64)))).position("DST")
    1
    """

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[int, ...] = ()
    window_rows: int | None = None
    foreign_keys: tuple[ForeignKey, ...] = ()
    static: bool = False
    window_range: WindowRange | None = None
    sequence_by: int | None = None
    tombstones: int = TOMBSTONES
    unique: tuple[tuple[int, ...], ...] = ()
    retain: Retain = "all"
    append_only: bool = False
    _positions: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            msg = "a table needs a name"
            raise SchemaError(msg)
        if not self.columns:
            msg = f"table {self.name!r} has no columns; a table needs at least one"
            raise SchemaError(msg)
        positions: dict[str, int] = {}
        for position, column in enumerate(self.columns):
            if column.name.lower() in CHANGE_COLUMNS:
                msg = f"table {self.name!r}: column name {column.name!r} is reserved for change streams"
                raise SchemaError(msg)
            if column.name.lower() in positions:
                msg = f"table {self.name!r}: column {column.name!r} is declared twice"
                raise SchemaError(msg)
            positions[column.name.lower()] = position
        window = self.window_rows
        if window is not None and (not isinstance(window, int) or isinstance(window, bool) or window < 1):
            msg = f"table {self.name!r}: window_rows is {window!r}; allowed is a positive whole number of rows"
            raise SchemaError(msg)
        if not isinstance(self.static, bool):
            msg = f"table {self.name!r}: static is {self.static!r}; allowed are True and False"
            raise SchemaError(msg)
        self._check_append_only()
        if self.static and window is not None:
            msg = (
                f"table {self.name!r} is static and has window_rows = {window}: a window moves as rows come, and to a "
                "static table none come; leave one of the two out"
            )
            raise SchemaError(msg)
        if self.window_range is not None:
            self._check_range(self.window_range)
        if self.sequence_by is not None:
            self._check_sequence(self.columns[self.sequence_by])
        for key in self.foreign_keys:
            self._check_columns(key)
        self._check_unique()
        self._check_payload()
        self._check_retain()
        object.__setattr__(self, "_positions", positions)

    def _check_append_only(self) -> None:
        if not isinstance(self.append_only, bool):
            msg = f"table {self.name!r}: append_only is {self.append_only!r}; allowed are True and False"
            raise SchemaError(msg)
        if not self.append_only:
            return
        reasons = (
            (self.static, "static", "to a static table no rows come, which promises more"),
            (self.has_window, "a window", "a window lets rows leave"),
            (self.sequence_by is not None, "sequence_by", "it orders changes that replace and delete rows"),
        )
        for stands, what, why in reasons:
            if stands:
                msg = f"table {self.name!r} has append_only and {what}: {why}; leave one of the two out"
                raise SchemaError(msg)

    def _check_range(self, window: WindowRange) -> None:
        if self.window_rows is not None:
            msg = f"table {self.name!r} has window_rows and window_range; a table has one window, leave one out"
            raise SchemaError(msg)
        if self.static:
            msg = (
                f"table {self.name!r} is static and has window_range: a window moves as rows come, and to a static "
                "table none come; leave one of the two out"
            )
            raise SchemaError(msg)
        column = self.columns[window.column]
        if column.type.kind not in ("timestamp", "date", "integer"):
            msg = (
                f"table {self.name!r}: the column {column.name!r} of window_range is {column.type}; allowed are "
                "TIMESTAMP, DATE and integers"
            )
            raise SchemaError(msg)
        if not 1 <= window.width < 1 << 63:
            msg = f"table {self.name!r}: the range of window_range is {window.width}; allowed is a positive one"
            raise SchemaError(msg)

    def _check_sequence(self, column: Column) -> None:
        where = f"table {self.name!r}: sequence_by is {column.name!r}"
        if not self.primary_key:
            msg = f"{where}, and the table has no PRIMARY KEY: what is ordered are the changes of each key; declare one"
            raise SchemaError(msg)
        if self.sequence_by in self.primary_key:
            msg = (
                f"{where}, which is in the primary key, so that no two changes of a key differ in it; name another one"
            )
            raise SchemaError(msg)
        if column.type.kind not in ("timestamp", "date", "integer"):
            msg = f"{where}, which is {column.type}; allowed are TIMESTAMP, DATE and integers"
            raise SchemaError(msg)
        if self.has_window:
            msg = (
                f"{where}, and the table has a window: a row that a window took out leaves nothing that a later change "
                "of its key could be compared with; leave one of the two out"
            )
            raise SchemaError(msg)
        bound = self.tombstones
        if not isinstance(bound, int) or isinstance(bound, bool) or not 0 <= bound < 1 << 31:
            msg = f"table {self.name!r}: tombstones is {bound!r}; allowed is a whole number of keys from 0 on"
            raise SchemaError(msg)

    def _check_retain(self) -> None:
        if self.retain not in ("all", "used"):
            msg = f"table {self.name!r}: retain is {self.retain!r}; allowed are 'all' and 'used'"
            raise SchemaError(msg)
        if self.retain == "used" and self.static:
            msg = (
                f"table {self.name!r} is static and has retain = 'used': a static table is filled before views use it, "
                "so that no column would be kept; leave one of the two out"
            )
            raise SchemaError(msg)

    def _check_payload(self) -> None:
        named = dict.fromkeys(self.primary_key, "PRIMARY KEY")
        named |= {column: "UNIQUE" for columns in self.unique for column in columns}
        named |= {column: "FOREIGN KEY" for key in self.foreign_keys for column in key.columns}
        for position, what in named.items():
            column = self.columns[position]
            if column.type.is_payload:
                msg = (
                    f"table {self.name!r}: the column {column.name!r} of {what} is {column.type}, which is only passed "
                    "through; allowed are columns of single values"
                )
                raise SchemaError(msg)

    def needs(self, column: int) -> bool:
        """Whether the table itself needs a column: it is in a key, orders the changes, or is the window's time."""
        in_window = self.window_range is not None and self.window_range.column == column
        return self.identifies(column) or in_window or any(column in unique for unique in self.unique)

    def _check_unique(self) -> None:
        if len(self.unique) > CONSTRAINTS:
            msg = f"table {self.name!r} has {len(self.unique)} UNIQUE constraints; allowed are {CONSTRAINTS}"
            raise SchemaError(msg)
        seen = {frozenset(self.primary_key)} if self.primary_key else set()
        for columns in self.unique:
            distinct = len(set(columns)) == len(columns) > 0
            if not distinct or not all(0 <= column < len(self.columns) for column in columns):
                msg = (
                    f"table {self.name!r}: a UNIQUE constraint has the columns {columns}; allowed are distinct "
                    f"positions from 0 to {len(self.columns) - 1}, at least one"
                )
                raise SchemaError(msg)
            if frozenset(columns) in seen:
                msg = (
                    f"table {self.name!r}: {self.describe_unique(columns)} says what another key of the table says "
                    "already; leave it out"
                )
                raise SchemaError(msg)
            seen.add(frozenset(columns))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def required(self) -> tuple[bool, ...]:
        """Whether each column refuses NULL."""
        return tuple(map(self.requires, range(len(self.columns))))

    @cached_property
    def is_plain(self) -> bool:
        """Whether all columns are BIGINT, and rows keep all of them."""
        return self.retain == "all" and all(column.type == SqlType.integer(64) for column in self.columns)

    @cached_property
    def remembered(self) -> dict[object, object]:
        """What `livejoin.changes.match` has found out about sets of names; a memo, and no part of the declaration."""
        return {}

    @property
    def places(self) -> Mapping[str, int]:
        """The position of each column by its name in lower case."""
        return self._positions

    @cached_property
    def has_window(self) -> bool:
        """Whether rows leave the table by themselves."""
        return self.window_rows is not None or self.window_range is not None

    @cached_property
    def takes_place(self) -> bool:
        """Whether a row of a stream takes the place of the one with its key: not where rows stay as they are."""
        return bool(self.primary_key) and not (self.static or self.append_only)

    def requires(self, column: int) -> bool:
        """Whether a column refuses NULL: it is NOT NULL, says which row it is or when, or is the time of the window."""
        in_window = self.window_range is not None and self.window_range.column == column
        return not self.columns[column].nullable or self.identifies(column) or in_window

    @cached_property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """Sets of columns on which no two rows agree: the primary key, and UNIQUE columns that are all NOT NULL.

        >>> id, code = (Column(name, SqlType.integer(64), nullable=False) for name in ("id", "code"))
        >>> Table("T", (id, code, Column("n", SqlType.integer(64))), (0,), unique=((1,), (1, 2))).keys
        ((0,), (1,))
        """
        primary = (self.primary_key,) if self.primary_key else ()
        return (*primary, *(columns for columns in self.unique if all(map(self.requires, columns))))

    def described_keys(self) -> list[str]:
        """The keys as they would be declared: the primary key, then all UNIQUE constraints."""
        primary = ", ".join(self.columns[column].name for column in self.primary_key)
        return [*([f"PRIMARY KEY ({primary})"] if primary else []), *map(self.describe_unique, self.unique)]

    def describe_unique(self, columns: tuple[int, ...]) -> str:
        """One of the table's UNIQUE constraints as it would be declared."""
        return f"UNIQUE ({', '.join(self.columns[column].name for column in columns)})"

    def identifies(self, column: int) -> bool:
        """Whether a change by key needs a column: it is in the primary key, or orders the changes."""
        return column in self.primary_key or column == self.sequence_by

    @cached_property
    def of_tombstones(self) -> Table:
        """With ``sequence_by`` the declaration of the table's tombstones: the key, and the sequence of its deletion."""
        assert self.sequence_by is not None
        columns = tuple(self.columns[c] for c in (*self.primary_key, self.sequence_by))
        return Table(self.name, columns, tuple(range(len(self.primary_key))))

    def _check_columns(self, key: ForeignKey) -> None:
        distinct = len(set(key.columns)) == len(key.columns) > 0
        if not distinct or not all(0 <= column < len(self.columns) for column in key.columns):
            msg = (
                f"table {self.name!r}: a foreign key has the columns {key.columns}; allowed are distinct positions "
                f"from 0 to {len(self.columns) - 1}, at least one"
            )
            raise SchemaError(msg)
        if key.references and len(key.references) != len(key.columns):
            msg = (
                f"table {self.name!r}: {self.describe(key)} has {len(key.columns)} columns that refer to "
                f"{len(key.references)}; name one referenced column for each"
            )
            raise SchemaError(msg)

    def describe(self, key: ForeignKey) -> str:
        """One of the table's foreign keys as it would be declared.

        >>> line = Table("line", (Column("item", SqlType.integer(64)),), foreign_keys=(ForeignKey((0,), "item"),))
        >>> line.describe(line.foreign_keys[0])
        'FOREIGN KEY (item) REFERENCES item'
        """
        columns = ", ".join(self.columns[column].name for column in key.columns)
        references = f" ({', '.join(key.references)})" if key.references else ""
        return f"FOREIGN KEY ({columns}) REFERENCES {key.table}{references}"

    def position(self, column: str) -> int:
        """Position of a column by name.

        Raises:
            SchemaError: There is no such column.
        """
        try:
            return self._positions[column.lower()]
        except KeyError:
            names = ", ".join(c.name for c in self.columns)
            msg = f"table {self.name!r} has no column {column!r}; it has {names}"
            raise SchemaError(msg) from None

    def has_column(self, column: str) -> bool:
        """Whether there is a column of this name."""
        return column.lower() in self._positions

    @cached_property
    def arrow(self) -> pa.Schema:
        """The Arrow schema of the table's rows."""
        return pa.schema([pa.field(c.name, c.type.arrow, c.nullable) for c in self.columns])
