"""SQL text to bound queries: parse, refuse what is not supported, resolve names, lower to a conjunctive query.

The dialect is Spark SQL with ANSI casts, as in Spark 4. No other layer imports sqlglot.
"""

from livejoin.sql.bind.query import bind_query
from livejoin.sql.bind.views import bind_view, bind_views, in_order, names_read, names_said
from livejoin.sql.normal_text import normal_text
from livejoin.sql.parse.emit_final import is_final
from livejoin.sql.tables.aggregated import Aggregated, aggregated
from livejoin.sql.tables.alter import AlterTable
from livejoin.sql.tables.alter_columns import (
    AddCheck,
    AddColumns,
    AlterColumns,
    ChangeDefault,
    ChangeType,
    ColumnChange,
    DropCheck,
    DropColumns,
    RenameColumn,
    RenameTable,
)
from livejoin.sql.tables.assertion import CreateAssertion, DropAssertion, violations_of
from livejoin.sql.tables.declare import parse_columns, parse_create_table
from livejoin.sql.tables.explain import Explain, read_explain
from livejoin.sql.tables.models import model_files, of_model, read_models
from livejoin.sql.tables.piece import Piece
from livejoin.sql.tables.pins import Pins, pins_of
from livejoin.sql.tables.row_changes import ALL_OF_SOURCE, VALUE, ChangedRows, NewRows, RowChanges
from livejoin.sql.tables.same_columns import columns_named, other_table_text, renamed_text, same_columns_text
from livejoin.sql.tables.schema_file import SchemaText, parse_schema, parse_schema_text
from livejoin.sql.tables.script import is_complete, pieces, places, statements
from livejoin.sql.tables.statement import (
    CreateTable,
    CreateView,
    Declaration,
    DropTable,
    DropView,
    RefreshTable,
    Statement,
    parse_statement,
)
from livejoin.sql.to_duckdb.transpile import to_duckdb

__all__ = [
    "ALL_OF_SOURCE",
    "VALUE",
    "AddCheck",
    "AddColumns",
    "Aggregated",
    "AlterColumns",
    "AlterTable",
    "ChangeDefault",
    "ChangeType",
    "ChangedRows",
    "ColumnChange",
    "CreateAssertion",
    "CreateTable",
    "CreateView",
    "Declaration",
    "DropAssertion",
    "DropCheck",
    "DropColumns",
    "DropTable",
    "DropView",
    "Explain",
    "NewRows",
    "Piece",
    "Pins",
    "RefreshTable",
    "RenameColumn",
    "RenameTable",
    "RowChanges",
    "SchemaText",
    "Statement",
    "aggregated",
    "bind_query",
    "bind_view",
    "bind_views",
    "columns_named",
    "in_order",
    "is_complete",
    "is_final",
    "model_files",
    "names_read",
    "names_said",
    "normal_text",
    "of_model",
    "other_table_text",
    "parse_columns",
    "parse_create_table",
    "parse_schema",
    "parse_schema_text",
    "parse_statement",
    "pieces",
    "pins_of",
    "places",
    "read_explain",
    "read_models",
    "renamed_text",
    "same_columns_text",
    "statements",
    "to_duckdb",
    "violations_of",
]
