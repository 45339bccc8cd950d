"""Statements without data: tables, views and assertions come, go, and promise something else."""

from __future__ import annotations

from typing import assert_never

from livejoin.database.arguments import check_name
from livejoin.database.commit import Commit
from livejoin.database.contents import Contents
from livejoin.database.statements.asserting import create_assertion, create_table, drop_assertion, drop_table
from livejoin.database.statements.views import ViewSettings, create_view, drop_view, replace_query, settings_of
from livejoin.database.transactions.alter_columns import alter_columns
from livejoin.database.transactions.redeclare import redeclare
from livejoin.sql import (
    AlterColumns,
    AlterTable,
    CreateAssertion,
    CreateTable,
    CreateView,
    Declaration,
    DropAssertion,
    DropTable,
    DropView,
)


def declare(contents: Contents, statement: Declaration, allow_product: bool) -> Commit | None:
    """Run a statement; one with IF EXISTS or IF NOT EXISTS may have nothing to do.

    Returns:
        The commit, if a view got another query.
    """
    settings = ViewSettings(allow_product=allow_product)
    match statement:
        case CreateTable(table, if_not_exists):
            if not (if_not_exists and table.name in contents.catalog):
                create_table(contents, table)
        case CreateView(name, query, _, replace=True) if name.lower() in contents.views:
            kept = settings_of(contents.views[name.lower()], allow_product)
            return replace_query(contents, name, query, kept)
        case CreateView(name, query, if_not_exists):
            if not (if_not_exists and name.lower() in contents.views):
                create_view(contents, name, query, settings)
        case CreateAssertion(name, query, assertion, if_not_exists):
            if not (if_not_exists and name.lower() in contents.views):
                create_assertion(contents, name, query, assertion, settings)
        case DropTable(name, if_exists):
            if not (if_exists and name not in contents.catalog):
                drop_table(contents, contents.catalog[check_name(name, "table")])
        case DropView(name, if_exists, cascade):
            if not (if_exists and name.lower() not in contents.views):
                drop_view(contents, name, cascade)
        case DropAssertion(name, if_exists):
            if not (if_exists and name.lower() not in contents.views):
                drop_assertion(contents, name)
        case AlterColumns(name, change):
            alter_columns(contents, name, change)
        case AlterTable(name, static, append_only):
            redeclare(contents, name, static, append_only)
        case _:
            assert_never(statement)
    return None
