"""CREATE and DROP ASSERTION: views that must have no rows, and the view that says which of them have some.

A FOREIGN KEY that is ENFORCED is an assertion that belongs to its table: it comes and goes with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from livejoin.database.contents import Contents
from livejoin.database.statements.views import ViewSettings, asked_of_view, drop, replace_query, settings_of
from livejoin.database.transactions.assertions import VIOLATIONS
from livejoin.database.transactions.watermarks import (
    add_watermarks,
    freed_of,
    refuse_dropped_watermark,
    refuse_watermark_name,
    watermark_of,
)
from livejoin.database.view import View
from livejoin.errors import SchemaError
from livejoin.schema import Assertion, ForeignKey, Table
from livejoin.schema.names import backticked
from livejoin.shown import text_literal

_NOTHING = "SELECT '' AS assertion, CAST(0 AS BIGINT) AS violations WHERE FALSE"


def create_assertion(contents: Contents, name: str, sql: str, assertion: Assertion, settings: ViewSettings) -> View:
    """Assert from now on that a query has no rows.

    Args:
        contents: The database's contents.
        name: The assertion's name.
        sql: The query.
        assertion: How it is asserted.
        settings: How the query is maintained; its deltas are.

    Raises:
        ViolationError: The query has rows, and the assertion is enforced.
        SqlError, SchemaError: As for `livejoin.Database.create_view`.
    """
    query, options = asked_of_view(contents, name, sql, replace(settings, deltas=True), what="assertion")
    is_new = VIOLATIONS not in contents.views and not assertion.table
    if is_new:
        contents.refuse_taken(VIOLATIONS)
    found = contents.add_view(name, query, replace(options, assertion=assertion))
    if is_new or not assertion.enforced:
        _gather(contents, _warning(contents))
    return found


def drop_assertion(contents: Contents, name: str) -> None:
    """Assert no longer what an assertion does.

    Raises:
        SchemaError: There is no such assertion, a view reads it, or it is a FOREIGN KEY.
    """
    found = contents.views.get(name.lower()) if isinstance(name, str) else None
    if found is None or found.assertion is None:
        known = ", ".join(repr(view.name) for view in contents.views.values() if view.assertion is not None)
        what = f"{name!r} is a view" if found is not None else f"there is no assertion {name!r}"
        msg = f"{what}; known assertions: {known or 'none'}"
        raise SchemaError(msg)
    if found.assertion.table:
        msg = f"assertion {name!r} is a FOREIGN KEY of table {found.assertion.table!r}, with which it comes and goes"
        raise SchemaError(msg)
    if not found.assertion.enforced:
        _refuse_read(contents, found)
        _gather(contents, [view for view in _warning(contents) if view is not found])
    drop(contents, name, cascade=False)


def create_table(contents: Contents, table: Table) -> None:
    """Add an empty table, the table of its watermark, and the assertions that its foreign keys are."""
    refuse_watermark_name(contents, table)
    contents.add_table(table)
    try:
        add_watermarks(contents, (table,))
        enforce(contents, table)
    except BaseException:
        drop_table(contents, table)
        raise


def drop_table(contents: Contents, table: Table) -> None:
    """Forget a table that no view uses, the table of its watermark, and the assertions that its foreign keys are.

    Raises:
        SchemaError: A view uses the table, a foreign key references it, or it is that of a watermark.
    """
    refuse_dropped_watermark(contents, table)
    mark = watermark_of(contents, table)
    beside = [one.table for one in (mark, freed_of(contents, table)) if one is not None]
    names = [table.name, *(one.name for one in beside)]
    users = [
        view.name
        for view in contents.views.values()
        if any(map(view._names_table, names)) and not (view.assertion and view.assertion.table)
    ]
    if users:
        msg = f"table {table.name!r} is used by {', '.join(map(repr, users))}; drop these views first"
        raise SchemaError(msg)
    contents.catalog.refuse_referenced(table.name)
    own = {view.name.lower() for view in _of_table(contents, table)}
    readers = {name for one in own for name in contents.readers(one)}
    if readers:
        msg = f"what violates the foreign keys of table {table.name!r} is read by {', '.join(map(repr, readers))}"
        raise SchemaError(f"{msg}; drop these views first")
    if own:
        contents.drop_views(own)
    contents.drop_table(table)
    for one in beside:
        contents.drop_table(one)


def enforce(contents: Contents, table: Table) -> None:
    """Create the assertions of a table's foreign keys that are missing; those of a kill in CREATE TABLE are."""
    keys = [key for key in table.foreign_keys if key.enforced]
    if len(keys) == len(_of_table(contents, table)):
        return
    for key in keys:
        name = "_".join([table.name, *(table.columns[column].name for column in key.columns), "fkey"])
        if name.lower() not in contents.views:
            assertion = Assertion(table=table.name.lower())
            create_assertion(contents, name, _orphans(contents, table, key), assertion, ViewSettings())


def _orphans(contents: Contents, table: Table, key: ForeignKey) -> str:
    """The query of the rows that refer to none; a row with a NULL refers to nothing."""
    other = contents.catalog[key.table]
    columns = [table.columns[column].name for column in key.columns]
    targets = [other.columns[column].name for column in key.targets(other)]
    keys = [table.columns[column].name for column in table.primary_key if column not in key.columns]
    shown = ", ".join(f"child.{backticked(one)}" for one in [*keys, *columns])
    there = "".join(f"child.{backticked(one)} IS NOT NULL AND " for one in columns)
    equal = " AND ".join(
        f"parent.{backticked(target)} = child.{backticked(one)}" for one, target in zip(columns, targets, strict=True)
    )
    parents = f"SELECT 1 FROM {backticked(other.name)} parent WHERE {equal}"
    return f"SELECT {shown} FROM {backticked(table.name)} child WHERE {there}NOT EXISTS ({parents})"


def _of_table(contents: Contents, table: Table) -> list[View]:
    """The assertions that the foreign keys of a table are."""
    return [view for view in contents.views.values() if view.assertion and view.assertion.table == table.name.lower()]


def _warning(contents: Contents) -> list[View]:
    """The assertions that are not enforced."""
    return [view for view in contents.views.values() if view.assertion and not view.assertion.enforced]


def _refuse_read(contents: Contents, view: View) -> None:
    readers = [name for name in contents.readers(view.name) if name != VIOLATIONS]
    if readers:
        msg = f"assertion {view.name!r} is read by {', '.join(map(repr, readers))}; drop these views first"
        raise SchemaError(msg)


def _gather(contents: Contents, views: Iterable[View]) -> None:
    """Let the view of violations be over these assertions; it has columns and no key, however many they are."""
    parts = [_NOTHING, _NOTHING]  # a SELECT alone has a key, and whoever follows the view would begin anew
    parts += [
        f"SELECT {text_literal(view.name)} AS assertion, COUNT(*) AS violations "
        f"FROM {backticked(view.name)} HAVING COUNT(*) > 0"
        for view in views
    ]
    if VIOLATIONS in contents.views:
        replace_query(contents, VIOLATIONS, " UNION ALL ".join(parts), settings_of(contents.views[VIOLATIONS]))
    else:
        contents.add_view(VIOLATIONS, *asked_of_view(contents, VIOLATIONS, " UNION ALL ".join(parts), ViewSettings()))
