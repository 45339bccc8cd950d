"""What tables are declared to be: types, columns, keys, windows, and the columns that tell of changes."""

from livejoin.schema.tables import (
    CHANGE_COLUMNS,
    CHANGE_TYPE,
    COMMIT_VERSION,
    CONSTRAINTS,
    RESERVED_PREFIX,
    SEQUENCE,
    TOMBSTONES,
    Column,
    ForeignKey,
    Retain,
    Table,
    WindowRange,
)
from livejoin.schema.types import ELEMENT, VARIANT, Kind, SqlType, is_made_list, is_variant

__all__ = [
    "CHANGE_COLUMNS",
    "CHANGE_TYPE",
    "COMMIT_VERSION",
    "CONSTRAINTS",
    "ELEMENT",
    "RESERVED_PREFIX",
    "SEQUENCE",
    "TOMBSTONES",
    "VARIANT",
    "Column",
    "ForeignKey",
    "Kind",
    "Retain",
    "SqlType",
    "Table",
    "WindowRange",
    "is_made_list",
    "is_variant",
]
