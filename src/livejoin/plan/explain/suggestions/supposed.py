"""A declaration that is supposed of a table, so that a query can be explained as if it were there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, assert_never, get_args

from livejoin.catalog import Catalog
from livejoin.errors import SchemaError
from livejoin.schema import ForeignKey, Table
from livejoin.shown import meant

Kind = Literal["primary key", "foreign key", "static table", "append-only table", "not null"]
_KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Supposed:
    """A declaration of a table.

    Args:
        table: The table.
        kind: The kind of declaration.
        columns: The names of its columns, of keys and NOT NULL.
        refers_to: The table that a foreign key refers to; empty for others.
    """

    table: str
    kind: Kind
    columns: tuple[str, ...] = ()
    refers_to: str = ""

    @staticmethod
    def of(value: object) -> Supposed:
        """A declaration from the dict that `to_dict` gives.

        Raises:
            SchemaError: The value is no declaration.
        """
        example = "{'table': 'orders', 'kind': 'primary key', 'columns': ['id']}"
        known = value if isinstance(value, Mapping) else {}
        columns = known.get("columns", ())
        names = columns if isinstance(columns, (list, tuple)) else [columns]
        texts = (known.get("table"), known.get("refers_to") or "", *names)
        fits = known.get("kind") in _KINDS and known.keys() <= {"table", "kind", "columns", "refers_to"}
        if not fits or not all(isinstance(text, str) for text in texts):
            msg = f"suppose has {value!r:.200}; allowed are dicts as {example}, with a kind of {', '.join(_KINDS)}"
            raise SchemaError(msg)
        return Supposed(known["table"], known["kind"], tuple(names), known.get("refers_to") or "")

    def to_dict(self) -> dict[str, Any]:
        """The declaration as JSON values."""
        return {
            "table": self.table,
            "kind": self.kind,
            "columns": list(self.columns),
            "refers_to": self.refers_to or None,
        }

    @property
    def for_real(self) -> str:
        """What it takes to have it, in one sentence."""
        match self.kind:
            case "static table":
                return f"ALTER TABLE {self.table} SET STATIC, between two commits; its views move to new plans."
            case "append-only table":
                return (
                    f"ALTER TABLE {self.table} SET TBLPROPERTIES ('livejoin.append_only' = 'true'), between two "
                    "commits; deletions are refused then."
                )
            case "primary key" | "foreign key" | "not null":
                return (
                    f"It stands in CREATE TABLE {self.table}: declare the table anew with it, and load its rows and "
                    "views; rows that break it are refused."
                )
            case _:
                assert_never(self.kind)

    def _declared(self, table: Table) -> Table:
        """The table with the declaration."""
        places = tuple(self._place(table, name) for name in self.columns)
        match self.kind:
            case "static table":
                return table.having(static=True, append_only=False)
            case "append-only table":
                return table.having(static=False, append_only=True)
            case "primary key":
                return replace(table, primary_key=places)
            case "foreign key":
                return replace(table, foreign_keys=(*table.foreign_keys, ForeignKey(places, self.refers_to)))
            case "not null":
                columns = tuple(
                    replace(c, nullable=c.nullable and i not in places) for i, c in enumerate(table.columns)
                )
                return replace(table, columns=columns)
            case _:
                assert_never(self.kind)

    @staticmethod
    def _place(table: Table, name: str) -> int:
        for place, column in enumerate(table.columns):
            if column.name.lower() == name.lower():
                return place
        close = meant(name, (column.name for column in table.columns))
        msg = f"suppose names the column {name!r} of {table.name}, which it has not{close}"
        raise SchemaError(msg)


def supposing(tables: Iterable[Table], supposed: Iterable[Supposed]) -> Catalog:
    """Tables as if they were declared so.

    Args:
        tables: The tables, in an order in which each refers to those before it.
        supposed: The declarations that are supposed.

    Raises:
        SchemaError: A table or a column is not there, or cannot be declared so.
    """
    by_name = {table.name.lower(): table for table in tables}
    for one in supposed:
        if one.table.lower() not in by_name:
            msg = f"suppose names the table {one.table!r}, which is not there{meant(one.table, by_name)}"
            raise SchemaError(msg)
        by_name[one.table.lower()] = one._declared(by_name[one.table.lower()])
    found = Catalog()
    for table in _ordered(by_name):
        found.add(table)
    return found


def _ordered(tables: Mapping[str, Table]) -> Iterator[Table]:
    """The tables, each behind those that it refers to, as far as that can be."""
    waiting, done = dict(tables), set[str]()
    while waiting:
        ready = [
            name
            for name, table in waiting.items()
            if all(key.table.lower() in done or key.table.lower() in (name,) for key in table.foreign_keys)
        ] or [next(iter(waiting))]
        for name in ready:
            done.add(name)
            yield waiting.pop(name)
