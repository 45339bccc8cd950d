"""Tables: columns, keys and settings.

A table is a multiset of rows unless it declares a primary key. Names are compared without regard to case, as in Spark
SQL, and keep the spelling of their declaration.

A primary key is enforced: a second row with a key is an error. UNIQUE is enforced too, but rows with NULL in one of its
columns never conflict. A foreign key is a promise of the user, like Spark's constraints that are NOT ENFORCED and RELY:
the planner may build on it and `explain` names it, but no row is looked up to check it. The rows that a plan returns
never depend on a foreign key, because a filter on the referenced table may remove the referenced rows anyway (AJU,
section 2.3).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from livejoin.errors import SchemaError
from livejoin.expressions import ibis_table
from livejoin.schema.checked_settings import checked_settings
from livejoin.schema.columns import Column
from livejoin.schema.settings import NOTHING_SAID, TOMBSTONES, Keep, Late, Retain, TableSettings
from livejoin.schema.watermarks import Watermark, is_beside, watermark
from livejoin.schema.windows import WindowRange, window_range
from livejoin.shown import meant

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
ORIGIN = "_corrupt_file"
"""The file that such a text stands in, where that is known; NULL beside a row."""
REFUSED = "_refused"
"""Why something that came in a stream is no change of its table; NULL beside a change."""
TOO_LATE = "rows too late for their window"
"""Why a change had no effect, of those that `Table.why_ignored` has."""
CHANGE_COLUMNS = (CHANGE_TYPE, COMMIT_VERSION, "_commit_timestamp", SEQUENCE)

CONSTRAINTS = 64
"""UNIQUE constraints of a table at most."""


@dataclass(frozen=True)
class ForeignKey:
    """Columns whose values are those of another table's key, or NULL (AJU, section 2.1).

    Args:
        columns: Positions of the columns in their own table, at least one, distinct.
        table: The referenced table; may be the table itself.
        references: The referenced column of each of ``columns``; empty for the primary key's columns in their order.
        enforced: Whether commits are refused that break it; else it is a promise of the user.

    >>> from livejoin.schema.types import SqlType
    >>> customer = Table("customer", (Column("id", SqlType.integer(64)),), primary_key=(0,))
    >>> ForeignKey((3,), "customer").targets(customer)
    (0,)
    """

    columns: tuple[int, ...]
    table: str
    references: tuple[str, ...] = ()
    enforced: bool = False

    def refers_to(self, table: str) -> bool:
        """Whether the table of this name is the referenced one."""
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
class Check:
    """A condition that no row of a table makes false; NULL passes, as SQL has it.

    Args:
        name: The name, by which errors say which one it is.
        text: The condition as SQL.
        columns: Positions of the columns that it names.

    >>> str(Check("positive", "price > 0", (1,)))
    'CONSTRAINT positive CHECK (price > 0)'
    """

    name: str
    text: str
    columns: tuple[int, ...]

    def __str__(self) -> str:
        return f"CONSTRAINT {self.name} CHECK ({self.text})"


@dataclass(frozen=True)
class Table:
    """The declaration of a base table.

    Args:
        name: The table's name.
        columns: The table's columns, at least one, with names distinct without regard to case.
        primary_key: Positions of the key's columns; empty for a multiset.
        foreign_keys: The table's foreign keys.
        unique: Positions of the columns of each UNIQUE constraint.
        settings: The table's options.
        checks: The conditions on each row.

    Raises:
        SchemaError: A name is empty, doubled or reserved; a UNIQUE constraint has no columns, or those of another key;
            a foreign key does not fit the columns. A window is not positive, is one of two, belongs to a static table,
            or has no column of times. An append-only table is static or would lose rows. ``sequence_by`` stands beside
            a window or without a primary key, or names a key column or one that has no order.

    >>> from livejoin.schema.types import SqlType
    >>> Table("G", (Column("src", SqlType.integer(64)), Column("dst", SqlType.integer(64)))).position("DST")
    1
    """

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[int, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    unique: tuple[tuple[int, ...], ...] = ()
    settings: TableSettings = NOTHING_SAID
    checks: tuple[Check, ...] = ()
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
        object.__setattr__(self, "_positions", positions)
        object.__setattr__(self, "settings", checked_settings(self.name, self.columns, self.primary_key, self.settings))
        for key in self.foreign_keys:
            self._check_columns(key)
        self._check_unique()
        self._check_payload()
        self._check_generated()
        names = [check.name.lower() for check in self.checks]
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is not None:
            msg = f"table {self.name!r}: a CHECK {twice!r} is declared twice; give each a name of its own"
            raise SchemaError(msg)

    @cached_property
    def static(self) -> bool:
        """Whether the table is static, as in `TableSettings`."""
        return self.settings.static

    @cached_property
    def append_only(self) -> bool:
        """Whether rows are inserted only, as in `TableSettings`."""
        return self.settings.append_only

    @cached_property
    def is_trusted(self) -> bool:
        """Whether deletions are taken at their word and no row is kept, as ``deletes`` of `TableSettings` says."""
        return self.settings.deletes == "trusted"

    @cached_property
    def window_rows(self) -> int | None:
        """How many rows the window keeps, as in `TableSettings`."""
        return self.settings.window_rows

    @cached_property
    def window_range(self) -> WindowRange | None:
        """The window by range, with its column as a position."""
        written = self.settings.window_range
        return None if written is None else window_range(self.name, self.columns, written)

    @cached_property
    def sequence_by(self) -> int | None:
        """Position of the column that orders the changes of each key. It is never NULL."""
        written = self.settings.sequence_by
        return None if written is None else self._positions[written.lower()]

    @cached_property
    def tombstones(self) -> int:
        """With ``sequence_by``: the most deleted keys that are remembered."""
        return TOMBSTONES if self.settings.tombstones is None else self.settings.tombstones

    @cached_property
    def retain(self) -> Retain:
        """Which columns are kept, as in `TableSettings`."""
        return self.settings.retain

    @cached_property
    def watermark(self) -> Watermark | None:
        """The watermark, with its column as a position."""
        written = self.settings.watermark
        return None if written is None else watermark(self.name, self.columns, written)

    @cached_property
    def late(self) -> Late:
        """What becomes of late changes, as in `TableSettings`."""
        return self.settings.late

    @cached_property
    def keep(self) -> Keep:
        """Which rows are kept, as in `TableSettings`."""
        return self.settings.keep

    @cached_property
    def keep_final(self) -> dt.timedelta | None:
        """How long closed windows can be read, as in `TableSettings`."""
        return self.settings.keep_final

    def having(self, **settings: Any) -> Table:
        """This table with other settings.

        >>> from livejoin.schema.types import SqlType
        >>> Table("G", (Column("src", SqlType.integer(64)),)).having(static=True).static
        True
        """
        return replace(self, settings=replace(self.settings, **settings))

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
        """Whether the table itself needs a column: for a key, a CHECK, the order of changes, or a time."""
        in_window = self.window_range is not None and self.window_range.column == column
        in_window |= self.watermark is not None and self.watermark.column == column
        named = (*self.unique, *(check.columns for check in self.checks))
        return self.identifies(column) or in_window or any(column in columns for columns in named)

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
            if self.keep == "open" and self.watermark is not None and self.watermark.column not in columns:
                msg = (
                    f"table {self.name!r} has keep = 'open' and {self.describe_unique(columns)}: a row that is gone "
                    f"could not be told from a new one; put {self.columns[self.watermark.column].name} into it"
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
    def may_lack(self) -> tuple[bool, ...]:
        """Whether a new row may say nothing of each column: it is NULL then, or what DEFAULT says."""
        pairs = zip(self.columns, self.required, strict=True)
        return tuple(not never or column.default is not None for column, never in pairs)

    def _check_generated(self) -> None:
        named = dict.fromkeys(self.primary_key, "the PRIMARY KEY")
        if self.sequence_by is not None:
            named[self.sequence_by] = "sequence_by"
        if self.window_range is not None:
            named[self.window_range.column] = "window_range"
        if self.watermark is not None:
            named[self.watermark.column] = "watermark"
        for place in self.generated:
            column = self.columns[place]
            odd = named.get(place) or ("DEFAULT" if column.default is not None else "")
            odd = odd or ("" if column.nullable else "NOT NULL, which CHECK says of it")
            odd = odd or ("" if self.retain == "all" else "a table with retain = 'used'")
            if odd:
                msg = f"table {self.name!r}: column {column.name!r} is generated, and cannot be in or have {odd}"
                raise SchemaError(msg)
            if column.length or column.is_uuid or column.type.is_payload:
                msg = (
                    f"table {self.name!r}: column {column.name!r} is generated, and {column.declared}; allowed are "
                    "types of single values, STRING for texts"
                )
                raise SchemaError(msg)

    @cached_property
    def generated(self) -> tuple[int, ...]:
        """Positions of the columns whose values are computed from the others."""
        return tuple(place for place, column in enumerate(self.columns) if column.generated is not None)

    @cached_property
    def has_defaults(self) -> bool:
        """Whether a column has a DEFAULT."""
        return any(column.default is not None for column in self.columns)

    def refuse_rules(self) -> None:
        """Refuse a declaration that says what a database does with new rows, for tables whose rows a stream brings.

        Raises:
            SchemaError: The table has a CHECK, a generated column, ``keep = 'open'`` or ``deletes = 'trusted'``, or a
                column a DEFAULT.
        """
        if self.keep == "open":
            msg = (
                f"table {self.name!r} has keep = 'open', which only tables of a database have yet; leave it out: a "
                "view with EMIT FINAL tells each window once all the same, and the table keeps its rows"
            )
            raise SchemaError(msg)
        if self.is_trusted:
            msg = (
                f"table {self.name!r} has deletes = 'trusted', which only tables of a database have yet: a checkpoint "
                "keeps the rows of tables; leave it out"
            )
            raise SchemaError(msg)
        for place in self.generated:
            msg = (
                f"table {self.name!r}: column {self.columns[place].name!r} is generated, which columns of tables of a "
                "database are; leave it out, and compute it in the views"
            )
            raise SchemaError(msg)
        if self.checks:
            msg = (
                f"table {self.name!r} has {self.checks[0]}, which tables of a database have; a source brings what it "
                "has: leave it out, and say WHERE in the views"
            )
            raise SchemaError(msg)
        for column in self.columns:
            if column.default is not None:
                msg = (
                    f"table {self.name!r}: column {column.name!r} has a DEFAULT, which tables of a database have; a "
                    "source brings every column: leave it out, and say COALESCE in the views"
                )
                raise SchemaError(msg)

    @cached_property
    def integers(self) -> tuple[int, ...]:
        """The bits of each column, where all columns are integers and all of them are kept; else nothing."""
        if self.retain != "all" or any(column.type.kind != "integer" for column in self.columns):
            return ()
        return tuple(column.type.bits for column in self.columns)

    @cached_property
    def is_beside(self) -> bool:
        """Whether the name is one of those that tables beside others have."""
        return is_beside(self.name)

    @cached_property
    def remembered(self) -> dict[object, object]:
        """The memo of `livejoin.changes.match` for sets of names; no part of the declaration."""
        return {}

    @property
    def places(self) -> Mapping[str, int]:
        """The position of each column by its name in lower case."""
        return self._positions

    @cached_property
    def has_window(self) -> bool:
        """Whether a window makes rows leave."""
        return self.settings.has_window

    @cached_property
    def takes_place(self) -> bool:
        """Whether a row of a stream replaces the row with its key; not in an append-only table."""
        return bool(self.primary_key) and not (self.static or self.append_only)

    @property
    def why_ignored(self) -> str:
        """What changes of a stream are that have no effect, though nothing is wrong with them.

        >>> from livejoin.schema.types import SqlType
        >>> Table("T", (Column("id", SqlType.integer(64), nullable=False),), (0,)).why_ignored
        'deletions of absent keys'
        """
        if self.window_range is not None:
            return TOO_LATE
        if self.append_only:
            return "second rows of a key"
        return "deletions of absent keys" if self.takes_place else "deletions of absent rows"

    def requires(self, column: int) -> bool:
        """Whether a column refuses NULL: it is NOT NULL, identifies or orders changes, or is the window's time."""
        in_window = self.window_range is not None and self.window_range.column == column
        return not self.columns[column].nullable or self.identifies(column) or in_window

    @cached_property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """Sets of columns on which no two rows agree: the primary key, and UNIQUE columns that are all NOT NULL.

        >>> from livejoin.schema.types import SqlType
        >>> id, code = (Column(name, SqlType.integer(64), nullable=False) for name in ("id", "code"))
        >>> Table("T", (id, code, Column("n", SqlType.integer(64))), (0,), unique=((1,), (1, 2))).keys
        ((0,), (1,))
        """
        primary = (self.primary_key,) if self.primary_key else ()
        return (*primary, *(columns for columns in self.unique if all(map(self.requires, columns))))

    def described_keys(self) -> list[str]:
        """The keys as SQL declares them: the primary key, then all UNIQUE constraints."""
        primary = ", ".join(self.columns[column].name for column in self.primary_key)
        return [*([f"PRIMARY KEY ({primary})"] if primary else []), *map(self.describe_unique, self.unique)]

    def describe_unique(self, columns: tuple[int, ...]) -> str:
        """One of the table's UNIQUE constraints as SQL declares it."""
        return f"UNIQUE ({', '.join(self.columns[column].name for column in columns)})"

    def identifies(self, column: int) -> bool:
        """Whether a change by key needs a column: it is in the primary key, or orders the changes."""
        return column in self.primary_key or column == self.sequence_by

    @cached_property
    def of_tombstones(self) -> Table:
        """With ``sequence_by``: the declaration of the tombstones' table, with the key and the deletion's sequence."""
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
        """One of the table's foreign keys as SQL declares it.

        >>> from livejoin.schema.types import SqlType
        >>> line = Table("line", (Column("item", SqlType.integer(64)),), foreign_keys=(ForeignKey((0,), "item"),))
        >>> line.describe(line.foreign_keys[0])
        'FOREIGN KEY (item) REFERENCES item'
        """
        columns = ", ".join(self.columns[column].name for column in key.columns)
        references = f" ({', '.join(key.references)})" if key.references else ""
        enforced = " ENFORCED" if key.enforced else ""
        return f"FOREIGN KEY ({columns}) REFERENCES {key.table}{references}{enforced}"

    def position(self, column: str) -> int:
        """Position of a column by name.

        Raises:
            SchemaError: There is no such column.
        """
        try:
            return self._positions[column.lower()]
        except KeyError:
            names = [c.name for c in self.columns]
            msg = f"table {self.name!r} has no column {column!r}{meant(column, names)}; it has {', '.join(names)}"
            raise SchemaError(msg) from None

    def has_column(self, column: str) -> bool:
        """Whether there is a column of this name."""
        return column.lower() in self._positions

    @cached_property
    def arrow(self) -> pa.Schema:
        """The Arrow schema of the table's rows."""
        return pa.schema([pa.field(c.name, c.type.arrow, c.nullable) for c in self.columns])

    def to_ibis(self) -> Any:
        """The table for expressions of Ibis, of which views can be made; needs ``pip install 'livejoin[ibis]'``.

        Raises:
            ImportError: Ibis is not installed.
            SchemaError: A column has a type that Ibis lacks.
        """
        return ibis_table(self.name, self.arrow)
