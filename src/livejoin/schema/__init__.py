"""The declarations of tables: types, columns, keys, windows, and the reserved columns of change streams."""

from livejoin.schema.assertions import Assertion
from livejoin.schema.columns import Column
from livejoin.schema.models import declared_columns
from livejoin.schema.settings import NOTHING_SAID, TOMBSTONES, Form, Retain, Span, TableSettings, form_of, options
from livejoin.schema.tables import (
    ABSENT,
    CHANGE_COLUMNS,
    CHANGE_TYPE,
    COMMIT_VERSION,
    CONSTRAINTS,
    CORRUPT,
    GONE,
    LOST,
    ORIGIN,
    REFUSED,
    RESERVED_PREFIX,
    SEQUENCE,
    TEXT,
    UNCHANGED,
    WITHOUT,
    Check,
    ForeignKey,
    Table,
)
from livejoin.schema.types import ELEMENT, VARIANT, Kind, SqlType, instants_of, is_made_list, is_variant
from livejoin.schema.windows import WindowRange, span_of

__all__ = [
    "ABSENT",
    "CHANGE_COLUMNS",
    "CHANGE_TYPE",
    "COMMIT_VERSION",
    "CONSTRAINTS",
    "CORRUPT",
    "ELEMENT",
    "GONE",
    "LOST",
    "NOTHING_SAID",
    "ORIGIN",
    "REFUSED",
    "RESERVED_PREFIX",
    "SEQUENCE",
    "TEXT",
    "TOMBSTONES",
    "UNCHANGED",
    "VARIANT",
    "WITHOUT",
    "Assertion",
    "Check",
    "Column",
    "ForeignKey",
    "Form",
    "Kind",
    "Retain",
    "Span",
    "SqlType",
    "Table",
    "TableSettings",
    "WindowRange",
    "declared_columns",
    "form_of",
    "instants_of",
    "is_made_list",
    "is_variant",
    "options",
    "span_of",
]
