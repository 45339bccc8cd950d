"""What questions about rows find: the rows that a row is made of, and what is missing for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, TypeAlias, assert_never

from livejoin.errors import ReadError
from livejoin.shown import in_sql, meant

_INDENT = "  "


@dataclass(frozen=True)
class SourceRow:
    """A row of a table.

    Args:
        table: The table's name.
        alias: The name that the query has for the table where it reads this row.
        row: The values by the names of the columns.
        copies: How often the row stands in the table.
        instants: The columns that are a TIMESTAMP, in UTC.
    """

    table: str
    alias: str
    row: Mapping[str, Any]
    copies: int = 1
    instants: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    def __str__(self) -> str:
        name = self.table if self.alias.lower() == self.table.lower() else f"{self.table} {self.alias}"
        return f"{name}: {values_text(self.row)}" + (f" ({self.copies} times)" if self.copies > 1 else "")


@dataclass(frozen=True)
class DerivedRow:
    """A row of a view or a sub-query that the query reads.

    Args:
        alias: The name that the query has for it.
        row: The values by the names of the columns.
        why: The rows that it is made of.
        copies: How often the row stands there.
        instants: As of a `SourceRow`.
    """

    alias: str
    row: Mapping[str, Any]
    why: Why
    copies: int = 1
    instants: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.alias}: {values_text(self.row)}"


@dataclass(frozen=True)
class Absence:
    """That there is no row, which the query asks for (NOT EXISTS), or by which it has NULLs (an outer join).

    Args:
        tables: The names of the tables whose rows, joined with each other, would match.
        values: The values that a matching row would have, by the names of columns.
        conditions: The further conditions of the query that it would pass, as SQL.
    """

    tables: tuple[str, ...]
    values: Mapping[str, Any]
    conditions: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = [*([values_text(self.values)] if self.values else []), *self.conditions]
        matching = f" with {' and '.join(said)}" if said else ""
        return f"no row of {' joined with '.join(self.tables)}{matching}"


Part: TypeAlias = SourceRow | DerivedRow | Absence


@dataclass(frozen=True)
class Combination:
    """Rows that together give a row of the result, once.

    Args:
        parts: A row of each table and sub-query of the join, and what must not be there.
        gives: Of a group: the values that this combination adds to its aggregates, by the names of the arguments.
    """

    parts: tuple[Part, ...]
    gives: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Why:
    """Why a row is in a result.

    Args:
        name: The view, or what the query calls the sub-query.
        row: The row, by the names of the columns.
        steps: Words for the way of the row above the join: ``one of the first 3 rows by price DESC``.
        combinations: The combinations of rows that give it; of a group those that feed it.
        is_complete: Whether these are all that count.
        instants: As of a `SourceRow`.
        has_others: Whether other rows of its partition count too, which are not named, as for a rank or a running sum.
    """

    name: str
    row: Mapping[str, Any]
    steps: tuple[str, ...]
    combinations: tuple[Combination, ...]
    is_complete: bool
    instants: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    has_others: bool = False

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table that it is made of, each once, in the order in which they are found.

        None of a table that the query asks of that there is no row.

        Raises:
            ReadError: No row of such a table is among them; `tables` has the names.
        """
        absent = (name for part in self._parts() if isinstance(part, Absence) for name in part.tables)
        if table.lower() not in map(str.lower, (*self.tables, *absent)):
            known = ", ".join(self.tables) or "none"
            msg = f"no row of a table {table!r} is part of it{meant(table, self.tables)}; there are {known}"
            raise ReadError(msg)
        found: list[dict[str, Any]] = []
        for one in self._sources():
            if one.table.lower() == table.lower() and dict(one.row) not in found:
                found.append(dict(one.row))
        return found

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables of which it has rows."""
        return tuple(dict.fromkeys(one.table for one in self._sources()))

    def _sources(self) -> Iterator[SourceRow]:
        return (part for part in self._parts() if isinstance(part, SourceRow))

    def _parts(self) -> Iterator[SourceRow | Absence]:
        """The rows of tables that it is made of, and what must not be there, also of sub-queries."""
        for combination in self.combinations:
            for part in combination.parts:
                match part:
                    case SourceRow() | Absence():
                        yield part
                    case DerivedRow():
                        yield from part.why._parts()
                    case _:
                        assert_never(part)

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts and lists, with Python's objects for values; instants are in UTC."""
        return {
            "name": self.name,
            "row": _told(self.row, self.instants),
            "steps": list(self.steps),
            "combinations": [
                {"parts": [_part_as_dict(part) for part in one.parts], "gives": dict(one.gives)}
                for one in self.combinations
            ],
            "is_complete": self.is_complete,
        }

    def __str__(self) -> str:
        return "\n".join([f"{self.name} has {values_text(self.row)}{self._made_of}", *self._lines("")])

    @property
    def _made_of(self) -> str:
        """How many combinations there are, and the steps, behind a row."""
        number = len(self.combinations)
        many = "one combination" if number == 1 else f"{number} combinations"
        many = many if self.is_complete or self.has_others else f"more than {many}"
        said = [f"by {many} of rows"] if number else []
        return f", {'; '.join([*said, *self.steps])}" if said or self.steps else ""

    def _lines(self, indent: str) -> Iterator[str]:
        for place, combination in enumerate(self.combinations, 1):
            gives = f" (gives {values_text(combination.gives)})" if combination.gives else ""
            begin = f"{indent}{place:>3}. "
            for part in combination.parts:
                made_of = part.why._made_of if isinstance(part, DerivedRow) else ""
                yield f"{begin}{part}{gives}{made_of}"
                begin, gives = " " * len(begin), ""
                if isinstance(part, DerivedRow):
                    yield from part.why._lines(begin)


@dataclass(frozen=True)
class WhyNot:
    """Why no row with some values is in a result: the first thing that is missing, from the tables on.

    Args:
        name: The view.
        values: The values that were asked for.
        reason: A sentence that says what is missing.
        rows: Rows that show it: those that lack a partner, that fail a condition, or that stand in the way.
    """

    name: str
    values: Mapping[str, Any]
    reason: str
    rows: tuple[Part, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts and lists, with Python's objects for values."""
        return {
            "name": self.name,
            "values": dict(self.values),
            "reason": self.reason,
            "rows": [_part_as_dict(part) for part in self.rows],
        }

    def __str__(self) -> str:
        what = f"no row with {values_text(self.values)}" if self.values else "no row"
        return "\n".join([f"{self.name} has {what}: {self.reason}", *(f"{_INDENT}{row}" for row in self.rows)])


def values_text(values: Mapping[str, Any]) -> str:
    """Values by their names, as text.

    >>> values_text({"id": 7, "name": None})
    'id = 7, name = NULL'
    """
    return ", ".join(f"{name} = {in_sql(value)}" for name, value in values.items()) or "no columns"


def _told(row: Mapping[str, Any], instants: frozenset[str]) -> dict[str, Any]:
    """A row for those who do not know its types: an instant says that it is in UTC."""
    return {
        name: value.replace(tzinfo=UTC) if name in instants and value is not None else value
        for name, value in row.items()
    }


def _part_as_dict(part: Part) -> dict[str, Any]:
    match part:
        case SourceRow():
            return {
                "table": part.table,
                "alias": part.alias,
                "row": _told(part.row, part.instants),
                "copies": part.copies,
            }
        case DerivedRow():
            why = part.why.to_dict()
            return {"alias": part.alias, "row": _told(part.row, part.instants), "copies": part.copies, "why": why}
        case Absence():
            return {"absent": list(part.tables), "values": dict(part.values), "conditions": list(part.conditions)}
        case _:
            assert_never(part)
