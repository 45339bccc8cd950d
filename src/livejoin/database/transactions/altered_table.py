"""What ALTER TABLE makes of a declaration: the new one, and where each of its columns is from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

import pyarrow as pa

from livejoin.database.arguments import check_name
from livejoin.database.contents import Contents
from livejoin.database.declared.checks import bound_check
from livejoin.database.declared.defaults import check_defaults, default_of
from livejoin.database.declared.generated import bound_column
from livejoin.database.now import refuse_altered_time
from livejoin.database.transactions.watermarks import refuse_altered_watermark
from livejoin.errors import SchemaError
from livejoin.schema import Check, Column, ForeignKey, SqlType, Table
from livejoin.sql import (
    AddCheck,
    AddColumns,
    ChangeDefault,
    ChangeType,
    ColumnChange,
    DropCheck,
    DropColumns,
    RenameColumn,
    RenameTable,
    columns_named,
    renamed_text,
)


@dataclass(frozen=True, eq=False)
class Altered:
    """A table with another declaration.

    Args:
        table: The new declaration.
        sources: For each new column its position in the old declaration; None for a new one.
        fill: The values of the new columns in the rows that are there, by position.
        names: The names of columns that come or go.
        come: The names among them that mean something else now than before.
        was: The name that the table had, if it is another one.
        others: Other tables whose declarations change, since they refer to the table.
    """

    table: Table
    sources: tuple[int | None, ...]
    fill: Mapping[int, pa.Scalar] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    come: frozenset[str] = frozenset()
    others: tuple[Table, ...] = ()
    was: str | None = None

    @property
    def old_name(self) -> str:
        """The name that the table had, in lower case."""
        return (self.was or self.table.name).lower()

    def keeps_places(self, old: Table) -> bool:
        """Whether all columns stay at their places, so that only names and types may be others."""
        return self.sources == tuple(range(len(old.columns)))


def altered(contents: Contents, table: Table, change: ColumnChange) -> Altered | None:
    """What a change makes of a table; None if it changes nothing.

    Raises:
        SchemaError: The change is not possible; the message says what stands in its way.
    """
    refuse_altered_time(table)
    refuse_altered_watermark(contents, table, change)
    found = _altered(contents, table, change)
    if found is not None:
        check_defaults(found.table)
        for check in found.table.checks:
            bound_check(found.table, check)
        for place in found.table.generated:
            bound_column(found.table, place)
    return found


def _altered(contents: Contents, table: Table, change: ColumnChange) -> Altered | None:
    places = tuple(range(len(table.columns)))
    match change:
        case AddColumns():
            return _with_columns(contents, table, change)
        case DropColumns():
            return _without_columns(contents, table, change)
        case RenameColumn(name, to):
            return _renamed(contents, table, name, to)
        case ChangeType(name, column):
            return _widened(contents, table, table.position(name), column)
        case ChangeDefault(name, default):
            columns = list(table.columns)
            columns[table.position(name)] = replace(columns[table.position(name)], default=default)
            return Altered(replace(table, columns=tuple(columns)), places)
        case RenameTable(to):
            return _called(contents, table, to)
        case AddCheck(name, condition):
            unknown = columns_named(condition) - table.places.keys()
            if unknown:
                table.position(min(unknown))
            named = tuple(sorted(table.position(column) for column in columns_named(condition)))
            return Altered(replace(table, checks=(*table.checks, Check(name, condition, named))), places)
        case DropCheck(name, if_exists):
            rest = tuple(check for check in table.checks if check.name.lower() != name.lower())
            if len(rest) == len(table.checks):
                if if_exists:
                    return None
                known = ", ".join(check.name for check in table.checks) or "none"
                msg = f"table {table.name!r} has no CHECK {name!r}; it has {known}"
                raise SchemaError(msg)
            return Altered(replace(table, checks=rest), places)
        case _:
            assert_never(change)


def _with_columns(contents: Contents, table: Table, change: AddColumns) -> Altered | None:
    new = [one for one in change.columns if not (change.if_not_exists and table.has_column(one.name))]
    if not new:
        return None
    columns = (*table.columns, *new)
    fill = dict[int, pa.Scalar]()
    for place, column in enumerate(new, len(table.columns)):
        default = pa.scalar(None, column.type.arrow)
        if column.default is not None:
            default = default_of(column, column.default, table.name)
        if not column.nullable and not default.is_valid and contents.tables[table.name.lower()].rows:
            msg = (
                f"table {table.name!r}: ADD COLUMN {column.name!r} is NOT NULL, and the rows that are there have no "
                "value of it; give it a DEFAULT"
            )
            raise SchemaError(msg)
        fill[place] = default
    sources = (*range(len(table.columns)), *(None for _ in new))
    names = frozenset(one.name for one in new)
    return Altered(replace(table, columns=columns), sources, fill, names, names)


def _without_columns(contents: Contents, table: Table, change: DropColumns) -> Altered | None:
    names = [name for name in change.names if not change.if_exists or table.has_column(name)]
    gone = {table.position(name) for name in names}
    if not gone:
        return None
    for place in sorted(gone):
        _refuse_needed(contents, table, place, "DROP COLUMN")
        users = _foreign_keys(contents, table, place)
        if users:
            name = table.columns[place].name
            msg = f"table {table.name!r}: DROP COLUMN {name!r} is in {users[0]}; drop that table first"
            raise SchemaError(msg)
    if len(gone) == len(table.columns):
        msg = f"table {table.name!r}: DROP COLUMN leaves no column; drop the table"
        raise SchemaError(msg)
    _refuse_read(contents, table, gone, "DROP COLUMN")
    sources = tuple(place for place in range(len(table.columns)) if place not in gone)
    moved = {old: new for new, old in enumerate(sources)}

    def of(columns: Sequence[int]) -> tuple[int, ...]:
        return tuple(moved[place] for place in columns)

    new = Table(
        table.name,
        tuple(table.columns[place] for place in sources),
        of(table.primary_key),
        tuple(replace(key, columns=of(key.columns)) for key in table.foreign_keys),
        tuple(map(of, table.unique)),
        table.settings,
        tuple(replace(check, columns=of(check.columns)) for check in table.checks),
    )
    return Altered(new, sources, names=frozenset(table.columns[place].name for place in gone))


def _renamed(contents: Contents, table: Table, name: str, to: str) -> Altered:
    place = table.position(name)
    was = table.columns[place].name
    if table.has_column(to) and table.position(to) != place:
        msg = f"table {table.name!r}: RENAME COLUMN {was!r} TO {to!r}: there is a column of that name"
        raise SchemaError(msg)
    columns = list(table.columns)
    columns[place] = replace(columns[place], name=to)
    for made in table.generated:
        text = renamed_text(columns[made].generated or "", {was.lower(): to})
        columns[made] = replace(columns[made], generated=text)
    settings = table.settings
    if table.sequence_by == place:
        settings = replace(settings, sequence_by=to)
    if table.window_range is not None and table.window_range.column == place and settings.window_range is not None:
        settings = replace(settings, window_range=(to, settings.window_range[1]))
    if table.watermark is not None and table.watermark.column == place and settings.watermark is not None:
        settings = replace(settings, watermark=(to, settings.watermark[1]))
    checks = tuple(replace(check, text=renamed_text(check.text, {was.lower(): to})) for check in table.checks)
    new = replace(table, columns=tuple(columns), settings=settings, checks=checks)
    new = replace(new, foreign_keys=tuple(_referring(key, table, was, to) for key in new.foreign_keys))
    others = list[Table]()
    for one in contents.catalog:
        keys = tuple(_referring(key, table, was, to) for key in one.foreign_keys)
        if one.name != table.name and keys != one.foreign_keys:
            others.append(replace(one, foreign_keys=keys))
    both = frozenset({was, to})
    return Altered(new, tuple(range(len(columns))), {}, both, both, tuple(others))


def _called(contents: Contents, table: Table, to: str) -> Altered | None:
    if to == table.name:
        return None
    check_name(to, "table")
    if to.lower() != table.name.lower():
        contents.refuse_taken(to)

    def of(one: Table) -> Table:
        keys = (replace(key, table=to) if key.refers_to(table.name) else key for key in one.foreign_keys)
        return replace(one, foreign_keys=tuple(keys))

    others = [one for one in contents.catalog if one.name != table.name and of(one) != one]
    new = replace(of(table), name=to)
    return Altered(new, tuple(range(len(table.columns))), others=tuple(map(of, others)), was=table.name)


def _referring(key: ForeignKey, table: Table, was: str, to: str) -> ForeignKey:
    """A foreign key, which names the columns that it refers to."""
    if not key.refers_to(table.name):
        return key
    return replace(key, references=tuple(to if one.lower() == was.lower() else one for one in key.references))


def _widened(contents: Contents, table: Table, place: int, asked: Column) -> Altered | None:
    old = table.columns[place]
    new = replace(old, type=asked.type, length=asked.length, is_uuid=asked.is_uuid, is_char=asked.is_char)
    if new == old:
        return None
    if not is_wider(old, new):
        msg = (
            f"table {table.name!r}: column {old.name!r} is {old.declared}, and {new.declared} does not take all of its "
            "values; allowed are larger integers, DECIMALs with at least as many digits on both sides of the point, "
            "DOUBLE for FLOAT, TIMESTAMP for DATE, and longer VARCHAR"
        )
        raise SchemaError(msg)
    in_window = table.window_range is not None and table.window_range.column == place
    if in_window or (table.sequence_by is not None and table.identifies(place)):
        what = "the window's time" if in_window else "a part of the key of tombstones, or orders the changes"
        msg = f"table {table.name!r}: column {old.name!r} is {what}, whose type stays"
        raise SchemaError(msg)
    computed = [*((f"{check}", check.columns) for check in table.checks), *_generated_from(table)]
    users = [name for name, named in computed if place in named]
    if old.generated is not None or (users and not old.type.kind == new.type.kind == "integer"):
        by = users[0] if users else "its own expression"
        msg = f"table {table.name!r}: column {old.name!r} is computed with by {by}, whose values might be others"
        raise SchemaError(msg)
    _refuse_read(contents, table, {place}, "ALTER COLUMN")
    columns = list(table.columns)
    columns[place] = new
    return Altered(replace(table, columns=tuple(columns)), tuple(range(len(columns))))


def is_wider(old: Column, new: Column) -> bool:
    """Whether all values of a column are values of another one.

    >>> is_wider(Column("a", SqlType.decimal(5, 2)), Column("a", SqlType.decimal(6, 3)))
    True
    >>> is_wider(Column("a", SqlType.decimal(5, 2)), Column("a", SqlType.decimal(5, 3)))
    False
    """
    was, now = old.type, new.type
    match was.kind, now.kind:
        case "integer", "integer":
            return was.bits <= now.bits
        case "decimal", "decimal":
            return was.scale <= now.scale and was.precision - was.scale <= now.precision - now.scale
        case "double", "double":
            return now == SqlType("double") or was == now
        case "date", "timestamp":
            return True
        case "string", "string":
            plain = not (old.is_char or old.is_uuid or new.is_char or new.is_uuid)
            return plain and old.length > 0 and (not new.length or new.length >= old.length)
        case _:
            return False


def _refuse_needed(contents: Contents, table: Table, place: int, what: str) -> None:
    """Refuse to take away a column that the table needs itself."""
    uses = [name for name, columns in _named(table) if place in columns]
    if uses:
        name = table.columns[place].name
        msg = f"table {table.name!r}: {what} {name!r} is not possible, because {uses[0]} needs the column {name!r}"
        raise SchemaError(msg)


def _named(table: Table) -> list[tuple[str, tuple[int, ...]]]:
    """What a table says of its columns, and of which."""
    found = [("the PRIMARY KEY", table.primary_key)]
    found += [(table.describe_unique(columns), columns) for columns in table.unique]
    found += [(table.describe(key), key.columns) for key in table.foreign_keys]
    found += [(f"{check}", check.columns) for check in table.checks]
    found += _generated_from(table)
    if table.sequence_by is not None:
        found.append(("sequence_by", (table.sequence_by,)))
    if table.window_range is not None:
        found.append(("window_range", (table.window_range.column,)))
    if table.watermark is not None:
        found.append(("the watermark", (table.watermark.column,)))
    return found


def _generated_from(table: Table) -> list[tuple[str, tuple[int, ...]]]:
    """The generated columns, and of which others they are."""
    columns = [table.columns[place] for place in table.generated]
    return [
        (f"generated column {one.name!r}", tuple(map(table.position, columns_named(one.generated or "NULL"))))
        for one in columns
    ]


def _foreign_keys(contents: Contents, table: Table, place: int) -> list[str]:
    """The foreign keys that refer to a column by its name."""
    return [
        f"{one.describe(key)} of table {one.name!r}"
        for one in contents.catalog
        for key in one.foreign_keys
        if key.refers_to(table.name) and place in key.targets(table)
    ]


def _refuse_read(contents: Contents, table: Table, places: set[int], what: str) -> None:
    """Refuse a change of columns that views read, with their names."""
    readers = [
        view.name for view in contents.views.values() if places & view._query.used_columns().get(table.name, set())
    ]
    if readers:
        names = ", ".join(repr(table.columns[place].name) for place in sorted(places))
        msg = (
            f"table {table.name!r}: {what} {names} is read by {', '.join(map(repr, readers))}; drop these views first, "
            "or replace them by others that do not read it"
        )
        raise SchemaError(msg)
