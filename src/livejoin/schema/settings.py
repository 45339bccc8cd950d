"""What is said of a table beside its columns and keys, declared once: each option is a field of `TableSettings`.

An option has one name everywhere: as an argument of `Database.create_table` and `livejoin.spark.stream`, as a key of a
pipeline file, and in SQL as a property, ``TBLPROPERTIES ('livejoin.window_rows' = '10')``. How it is written as text
is its *form*; those who read texts go by that, so that a new option is one field here, and the code that acts on it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import Field, dataclass, field, fields
from enum import Enum, auto
from typing import Any, Literal, TypeAlias

Retain = Literal["all", "used"]
Span: TypeAlias = dt.timedelta | int

TOMBSTONES = 100_000
"""Deleted keys that a table with ``sequence_by`` remembers unless it is said otherwise."""


class Form(Enum):
    """What an option's value is, and how it is written in a property."""

    SWITCH = auto()
    """True or false: ``'true'``."""
    ROWS = auto()
    """A positive whole number of rows: ``'10'``."""
    KEYS = auto()
    """A whole number of keys from 0 on: ``'100'``."""
    COLUMN = auto()
    """The name of a column: ``'ts'``."""
    RANGE = auto()
    """A column and a span of its values: ``'ts 1 HOUR'``."""
    COLUMNS_KEPT = auto()
    """``'all'`` or ``'used'``."""


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """The options of a table, as they are written: columns by their names.

    Args:
        static: The table is filled before a view uses it, and does not change from then on but by a refresh.
        append_only: Rows come to the table and never leave it, nor does one take the place of another.
        window_rows: The table keeps this many rows, the oldest leave as new ones come; None keeps all.
        window_range: A column of times or numbers and a range: the table keeps the rows whose time is
            ``> newest - range``, where *newest* is the newest time that was ever inserted; None keeps all.
        sequence_by: The column that orders the changes of each key; None for the order in which they come.
        tombstones: With ``sequence_by`` how many deleted keys are remembered at most; None for `TOMBSTONES`.
        retain: Which columns of its rows are kept: ``all``, or those that are ``used`` by a view when the first row
            comes, and those that the table itself needs.
    """

    static: bool = field(default=False, metadata={"form": Form.SWITCH})
    append_only: bool = field(default=False, metadata={"form": Form.SWITCH})
    window_rows: int | None = field(default=None, metadata={"form": Form.ROWS})
    window_range: tuple[str, Span] | None = field(default=None, metadata={"form": Form.RANGE})
    sequence_by: str | None = field(default=None, metadata={"form": Form.COLUMN})
    tombstones: int | None = field(default=None, metadata={"form": Form.KEYS})
    retain: Retain = field(default="all", metadata={"form": Form.COLUMNS_KEPT})

    @property
    def has_window(self) -> bool:
        """Whether rows leave the table by themselves."""
        return self.window_rows is not None or self.window_range is not None


def options() -> tuple[Field[Any], ...]:
    """The options in their order."""
    return fields(TableSettings)


def form_of(option: str) -> Form:
    """How an option is written."""
    form: Form = TableSettings.__dataclass_fields__[option].metadata["form"]
    return form


NOTHING_SAID = TableSettings()
