"""A column: its name, its type, and the values that it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field

from livejoin.schema.types import SqlType


@dataclass(frozen=True)
class Column:
    """A named, typed column.

    Args:
        name: The name of the column.
        type: The type of the column.
        nullable: False for NOT NULL and primary key columns.
        length: The most characters of a string, as VARCHAR(length) says; 0 for any number.
        is_uuid: Whether the column holds texts of UUIDs, in lower case with hyphens.
        is_char: Whether strings are filled with blanks up to ``length`` characters, as CHAR(length) says.
        default: The value of new rows that say nothing of the column, as SQL; None for NULL.
        generated: The expression over the other columns of the row whose value it has, as SQL; None for others.
        is_made: Whether livejoin made the column: it belongs to the relation of a sub-query or a window function.
    """

    name: str
    type: SqlType
    nullable: bool = True
    length: int = 0
    is_uuid: bool = False
    is_char: bool = False
    default: str | None = None
    generated: str | None = None
    is_made: bool = field(default=False, compare=False)

    @property
    def declared(self) -> str:
        """The column's type as SQL declares it, for example ``VARCHAR(10)``."""
        if self.is_uuid:
            return "UUID"
        if self.length:
            return f"{'CHAR' if self.is_char else 'VARCHAR'}({self.length})"
        return str(self.type)

    def __str__(self) -> str:
        default = "" if self.default is None else f" DEFAULT {self.default}"
        generated = "" if self.generated is None else f" GENERATED ALWAYS AS ({self.generated})"
        return f"{self.name} {self.declared}" + ("" if self.nullable else " NOT NULL") + default + generated
