"""A column: its name, its type, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field

from livejoin.schema.types import SqlType


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
