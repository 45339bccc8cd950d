"""The tables of a database by name, and the foreign keys between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from livejoin.errors import SchemaError
from livejoin.schema import ForeignKey, Table
from livejoin.schema.watermarks import freed_name, one_time, watermark_name
from livejoin.shown import meant


class Catalog:
    """The tables of one database, by name; mutable, insertion order kept.

    Attributes:
        epoch: Another object when a table has come or gone.
    """

    def __init__(self) -> None:
        self.epoch = object()
        self._tables: dict[str, Table] = {}

    def add(self, table: Table) -> None:
        """Add a table.

        Raises:
            SchemaError: The name is taken, or a foreign key refers to a table that is not there, to columns that are no
                key of it, or to columns of another type.
        """
        if table.name.lower() in self._tables:
            msg = f"table {table.name!r} exists already"
            raise SchemaError(msg)
        for key in table.foreign_keys:
            self._check_reference(table, key)
        self._tables[table.name.lower()] = table
        self.epoch = object()

    def copy(self) -> Catalog:
        """A catalog of its own with the same tables."""
        found = Catalog()
        found._tables = dict(self._tables)
        return found

    def with_table(self, table: Table) -> Catalog:
        """A copy of the catalog in which one table has another declaration, with the same name and columns."""
        found = self.copy()
        found._tables[table.name.lower()] = table
        return found

    def remove(self, name: str) -> None:
        """Forget a table.

        Raises:
            SchemaError: There is no such table, or the foreign key of another table refers to it.
        """
        self.refuse_referenced(name)
        del self._tables[name.lower()]
        self.epoch = object()

    def refuse_referenced(self, name: str) -> None:
        """Refuse to forget a table that others refer to.

        Raises:
            SchemaError: There is no such table, or the foreign key of another one refers to it.
        """
        table = self[name]
        users = [t.name for t in self if t is not table and any(key.refers_to(name) for key in t.foreign_keys)]
        if users:
            msg = (
                f"table {table.name!r} is referenced by a foreign key of {', '.join(map(repr, users))}; "
                "drop the referencing tables first"
            )
            raise SchemaError(msg)

    def _check_reference(self, table: Table, key: ForeignKey) -> None:
        where = f"table {table.name!r}: {table.describe(key)}"
        referenced = table if key.refers_to(table.name) else self._tables.get(key.table.lower())
        if referenced is None:
            known = ", ".join(repr(t.name) for t in self) or "none yet"
            msg = f"{where} names a table that is not there; known tables: {known}. Declare the referenced table first"
            raise SchemaError(msg)
        if not referenced.primary_key and not key.references:
            msg = f"{where}: table {referenced.name!r} has no primary key; declare one, or leave the foreign key out"
            raise SchemaError(msg)
        targets = key.targets(referenced)
        if len(targets) != len(key.columns) or sorted(targets) not in map(sorted, referenced.keys):
            allowed = [", ".join(referenced.columns[column].name for column in own) for own in referenced.keys]
            found = f"allowed is REFERENCES ({') or ('.join(allowed)})" if allowed else "it has none; declare one"
            unique = ", nor to UNIQUE columns that are all NOT NULL" if referenced.unique else ""
            msg = f"{where} does not refer to the primary key of {referenced.name!r}{unique}; {found}"
            raise SchemaError(msg)
        for own, other in zip(key.columns, targets, strict=True):
            left, right = table.columns[own], referenced.columns[other]
            if left.type.join_class != right.type.join_class:
                msg = f"{where}: {left.name} is {left.type} and {right.name} is {right.type}; give both the same type"
                raise SchemaError(msg)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._tables

    def __getitem__(self, name: str) -> Table:
        try:
            return self._tables[name.lower()]
        except KeyError:
            names = [t.name for t in self]
            listed = ", ".join(map(repr, names)) or "none yet"
            msg = f"there is no table {name!r}{meant(name, names)}; known tables: {listed}"
            raise SchemaError(msg) from None

    def get(self, name: str) -> Table | None:
        """The table with a name; None if there is none."""
        return self._tables.get(name.lower())

    def __iter__(self) -> Iterator[Table]:
        return iter(self._tables.values())

    def __len__(self) -> int:
        return len(self._tables)


def tables_beside(table: Table) -> tuple[Table, ...]:
    """The tables that come and go with a table: those of its watermark, and of the time before which it frees rows.

    >>> import datetime as dt
    >>> from livejoin.schema import TableSettings
    >>> from livejoin.sql import parse_columns
    >>> given = TableSettings(watermark=("ts", dt.timedelta(minutes=10)))
    >>> [one.name for one in tables_beside(parse_columns("events", "ts TIMESTAMP", given))]
    ['livejoin_watermark_events']
    """
    names = [watermark_name(table.name)] if table.watermark is not None else []
    names += [freed_name(table.name)] if table.keep == "open" else []
    found = []
    for name in names:
        columns, settings = one_time(table)
        found.append(Table(name, columns, settings=settings))
    return tuple(found)


def catalog_of(tables: Iterable[Table]) -> Catalog:
    """The catalog of tables, and of those beside them, which queries read too.

    Raises:
        SchemaError: As for `Catalog.add`.
    """
    catalog = Catalog()
    for table in tables:
        for one in (table, *tables_beside(table)):
            catalog.add(one)
    return catalog
