"""The options of a table beside its columns and keys: each option is declared once, as a field of `TableSettings`.

An option has one name everywhere. ``window_rows`` is an argument of `Database.create_table` and
`livejoin.spark.stream`, a key of a pipeline file, and a property in SQL: ``TBLPROPERTIES ('livejoin.window_rows' =
'10')``. The *form* of an option says how a text writes its value. Code that reads texts uses the form, so a new option
is one field here and the code that acts on it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import Field, dataclass, field, fields
from enum import Enum, auto
from typing import Any, Literal, TypeAlias

Retain = Literal["all", "used"]
Late = Literal["skip", "refuse"]
"""What becomes of changes that are late: they are skipped and counted, or they are bad rows."""
Keep = Literal["all", "open"]
"""Which rows of a table with a watermark are kept: all, or those of windows that are not closed."""
Deletes = Literal["checked", "trusted"]
"""Whether a deletion is looked up among the rows that are there, or taken at its word, so that no row is kept."""
Span: TypeAlias = dt.timedelta | int

TOMBSTONES = 100_000
"""Deleted keys that a table with ``sequence_by`` remembers unless it is said otherwise."""


class Form(Enum):
    """The kind of value of an option, and how a property writes it."""

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
    LATE = auto()
    """``'skip'`` or ``'refuse'``."""
    ROWS_KEPT = auto()
    """``'all'`` or ``'open'``."""
    DELETES = auto()
    """``'checked'`` or ``'trusted'``."""
    SPAN = auto()
    """A length of time: ``'1 DAY'``."""


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """The options of a table as users write them: columns are named.

    Args:
        static: The table is filled before a view uses it. After that, only a refresh changes it.
        append_only: Rows are inserted only: none is deleted or replaced.
        window_rows: The table keeps this many rows; the oldest leave when newer ones come. None keeps all.
        window_range: A column of times or numbers and a range: the table keeps the rows whose time is
            ``> newest - range``, where *newest* is the newest time that was ever inserted; None keeps all.
        sequence_by: The column that orders the changes of each key; None for the order in which they come.
        tombstones: With ``sequence_by``: the most deleted keys that are remembered; None for `TOMBSTONES`.
        retain: The columns that are kept: ``all``; or, with ``used``, those that a view reads when the first row comes,
            and those that the table itself needs.
        watermark: A column of times and a delay: changes are late whose time is before the newest time that the table
            had at the end of a commit, less the delay. None if no change is late.
        late: With ``watermark``: the way to treat late changes, ``skip`` or ``refuse``.
        keep: With ``watermark``: the rows that are kept, ``all``; or, with ``open``, those of windows that a view with
            EMIT FINAL has not closed yet, and only such views read the table.
        deletes: ``checked``: each deletion is looked up among the rows that are there, which are kept. ``trusted``: the
            source promises that each deletion is of a row that is there, and no row is kept that no view keeps.
        keep_final: With ``keep = "open"``: how long closed windows can be read at least. None if they stay for ever.
    """

    static: bool = field(default=False, metadata={"form": Form.SWITCH})
    append_only: bool = field(default=False, metadata={"form": Form.SWITCH})
    window_rows: int | None = field(default=None, metadata={"form": Form.ROWS})
    window_range: tuple[str, Span] | None = field(default=None, metadata={"form": Form.RANGE})
    sequence_by: str | None = field(default=None, metadata={"form": Form.COLUMN})
    tombstones: int | None = field(default=None, metadata={"form": Form.KEYS})
    retain: Retain = field(default="all", metadata={"form": Form.COLUMNS_KEPT})
    watermark: tuple[str, Span] | None = field(default=None, metadata={"form": Form.RANGE})
    late: Late = field(default="skip", metadata={"form": Form.LATE})
    keep: Keep = field(default="all", metadata={"form": Form.ROWS_KEPT})
    deletes: Deletes = field(default="checked", metadata={"form": Form.DELETES})
    keep_final: dt.timedelta | None = field(default=None, metadata={"form": Form.SPAN})

    @property
    def has_window(self) -> bool:
        """Whether a window makes rows leave."""
        return self.window_rows is not None or self.window_range is not None


def options() -> tuple[Field[Any], ...]:
    """The options in the order of their fields."""
    return fields(TableSettings)


def form_of(option: str) -> Form:
    """How an option is written."""
    form: Form = TableSettings.__dataclass_fields__[option].metadata["form"]
    return form


NOTHING_SAID = TableSettings()
