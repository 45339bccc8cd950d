"""ALTER TABLE of columns: a table gets other columns, and the views that read it go on as they are.

This happens between two commits. The rows are written anew with their new columns. Each view that uses the table is
bound and planned anew, by a text that says of the new table what its text said of the old one; its result stays, and so
do its subscriptions. One assignment, of `Contents.replacement`, puts rows, declarations and plans in their places. The
blocks of the new plans are loaded when they are needed, as after `livejoin.database.transactions.compaction`.

Cost: O(rows), and O(base rows) for the blocks when they are loaded.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from livejoin.catalog import Catalog
from livejoin.database.contents import Contents
from livejoin.database.declared.checks import Checks
from livejoin.database.declared.defaults import default_of, is_time
from livejoin.database.durable.bodies import ALTER_COLUMNS, plain
from livejoin.database.snapshots.declaration import plain_table, plain_view
from livejoin.database.transactions.altered_table import Altered, altered
from livejoin.database.transactions.compaction import Passed, Renamed, Replacement
from livejoin.database.transactions.guard import open_guard
from livejoin.database.transactions.journal import refuse_in_subscriber
from livejoin.database.transactions.readers_fit import other_columns, reads_refused, same_columns, with_reasons
from livejoin.database.transactions.replace_view import in_its_place
from livejoin.database.transactions.trusted import refuse_remaking
from livejoin.database.view import View
from livejoin.dataflow.graph import Choices
from livejoin.dataflow.node import Node
from livejoin.dataflow.observe import observe_tables
from livejoin.errors import ChangeValueError, SchemaError, SqlError, UnsupportedQueryError
from livejoin.plan.query_plan import plan_query
from livejoin.query.bound_query import Query
from livejoin.schema import Column, Table
from livejoin.search.statistics import Statistics
from livejoin.sql import ColumnChange, bind_query, is_final, other_table_text, same_columns_text
from livejoin.state.table import BaseTable
from livejoin.state.table_rows import TableRows, rows_of, table_of
from livejoin.state.trusted_table import TrustedTable, refuse_without_rows
from livejoin.words import Words

_FINAL = (
    "it would read the table through a sub-query that has the names of before, and EMIT FINAL closes the windows of a "
    "table alone"
)


def alter_columns(contents: Contents, name: str, change: ColumnChange) -> None:
    """Change the columns or the conditions of a table.

    Args:
        contents: The database's contents.
        name: The table.
        change: The change.

    Raises:
        SchemaError: There is no such table; a key, a condition or a view needs what would go; a value is missing.
        ChangeValueError: A row breaks a new condition.
        CapacityError: The new rows take more memory than is allowed; nothing was changed.
    """
    if contents.is_telling:
        refuse_in_subscriber(contents)
    table = contents.declared(name)
    base = contents.tables[table.name.lower()]
    if isinstance(base, TrustedTable) and base.came:
        refuse_without_rows(table, "ALTER TABLE makes the views of a table anew")
    found = altered(contents, table, change)
    if found is not None:
        reading = [view.name for view in contents.views.values() if view._reads_table(name)]
        above = [reader for one in reading for reader in contents.readers(one)]
        refuse_remaking(contents, [*reading, *above], f"drop it, alter {table.name!r}, and create it with backfill")
        _alter(contents, found)


def _alter(contents: Contents, found: Altered) -> None:
    name, graph = found.old_name, contents.graph
    old, known = contents.tables[name].table, graph._known
    catalog = _catalog(contents, found)
    contents.start_changing()
    replacement = None
    try:
        contents.budget.begin()
        base = rebuilt(contents, found)
        tables = {} if base is None else {found.table.name.lower(): base}
        views = dict[str, View]()
        if base is not None:
            graph._known = _without_readers(contents, name)
        if base is not None or found.names:
            views = _replanned(contents, found, catalog, {**contents.tables, **tables})
        attributes = {one: in_its_place(view) for one, view in views.items()}
        replacement = Replacement(tables, None, catalog, attributes, renamed=_renamed(contents, found))
        if contents.log is not None:
            body = {
                "number": contents.log.number(name),
                "table": plain_table(found.table),
                "was": old.name,
                "sources": found.sources,
                "words": _times(contents, found),
                "others": [plain_table(one) for one in found.others],
                "views": [plain_view(view.image) for view in views.values()],
            }
            stands = lambda: contents.replacement is replacement or contents.catalog is catalog  # noqa: E731
            contents.log.append(ALTER_COLUMNS, contents.version, plain(body), stands)
        _note(contents, name, old, found)
        contents.replacement = replacement
    finally:
        if contents.replacement is not replacement or replacement is None:
            graph._known = known
        contents.end_changing()


def replay_alter(contents: Contents, found: Altered, words: Mapping[int, int]) -> None:
    """As `alter_columns`, of contents without views, as a log says it.

    Args:
        contents: The contents.
        found: The new declaration, and where its columns are from.
        words: The words of new columns whose DEFAULT is the time at which they came.
    """
    catalog = _catalog(contents, found)
    fill = {
        place: default_of(column, column.default or "NULL", found.table.name)
        for place, (column, source) in enumerate(zip(found.table.columns, found.sources, strict=True))
        if source is None and place not in words
    }
    contents.start_changing()
    try:
        contents.budget.begin()
        base = rebuilt(contents, replace(found, fill=fill), words)
        tables = {} if base is None else {found.table.name.lower(): base}
        _note(contents, found.old_name, contents.catalog[found.old_name], found)
        contents.replacement = Replacement(tables, None, catalog, renamed=_renamed(contents, found))
    finally:
        contents.end_changing()


def _catalog(contents: Contents, found: Altered) -> Catalog:
    """The declarations with the new one, which may refer to each other.

    Raises:
        SchemaError: A foreign key does not fit any more.
    """
    new = {table.name.lower(): table for table in found.others} | {found.old_name: found.table}
    catalog = Catalog()
    for table in contents.catalog:
        catalog.add(new.get(table.name.lower(), table))
    return catalog


def _renamed(contents: Contents, found: Altered) -> Renamed | None:
    """The tables under their names, in their order; None if they have the names that they had."""
    if found.was is None:
        return None
    name = found.table.name.lower()
    tables = {name if one == found.old_name else one: base for one, base in contents.tables.items()}
    return Renamed(found.old_name, name, tables)


def _note(contents: Contents, name: str, old: Table, found: Altered) -> None:
    """Take note that positions of columns have changed, and that values may have gone."""
    if found.keeps_places(old) and old.arrow.equals(found.table.arrow):
        return
    rows = contents.tables[name].rows
    contents.seen.many = {one: columns for one, columns in contents.seen.many.items() if one != name}
    contents.seen.note(Passed(rows * len(old.columns), rows * len(old.columns)))


def _times(contents: Contents, found: Altered) -> dict[str, int]:
    """The words of new columns whose DEFAULT is a time: the log has the value, and not the expression."""
    return {
        str(place): _word(contents, found.table, place, value)
        for place, value in found.fill.items()
        if is_time(found.table.columns[place].default or "")
    }


def _word(contents: Contents, table: Table, place: int, value: pa.Scalar) -> int:
    column = table.columns[place]
    values = pa.chunked_array([pa.array([value.as_py()], column.type.arrow)])
    return int(contents.codec.encode_column(values, column)[0])


def rebuilt(contents: Contents, found: Altered, words: Mapping[int, int] | None = None) -> BaseTable | None:
    """The table with its new columns; None if the rows stay as they are.

    Raises:
        ChangeValueError: A row breaks a condition.
        SchemaError: A condition reads a column that is not kept, or a value does not fit.
    """
    table, base = found.table, contents.tables[found.old_name]
    old, rows = base.table, rows_of(base)
    if table.checks != old.checks and base.rows:
        _refuse_not_kept(base, table)
        _refuse_broken(contents, table, rows.values[[_source(place) for place in found.sources]])
    stays = found.was is None and found.keeps_places(old) and all(map(_same_words, old.columns, table.columns))
    if stays:
        return None
    lines = list[Words]()
    for place, source in enumerate(found.sources):
        if source is not None:
            lines.append(_line(contents, old, source, table, place, rows.values[source]))
        else:
            given = (words or {}).get(place)
            word = _word(contents, table, place, found.fill[place]) if given is None else given
            lines.append(np.full(rows.weights.shape, word))
    values = np.ascontiguousarray(np.array(lines, np.int64).reshape(len(lines), rows.weights.shape[0]))
    kept = rows.kept
    if kept is not None:
        valid = {place for place, value in found.fill.items() if value.is_valid} | set(words or {})
        kept = frozenset(place for place, source in enumerate(found.sources) if source in kept or place in valid)
    new = replace(rows, values=values, kept=kept)
    if len(found.sources) < len(old.columns) and not table.primary_key:
        new = _merged(new)
    return table_of(table, new, contents.budget)


def _source(place: int | None) -> int:
    return 0 if place is None else place


def _merged(rows: TableRows) -> TableRows:
    """Rows that may have become equal, each once. Cost: O(rows log rows)."""
    values, first, where = np.unique(rows.values, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")  # in the order of the ids that they had
    rank = np.empty_like(order)
    rank[order] = np.arange(order.shape[0])
    where = rank[where.ravel()]
    weights = np.bincount(where, rows.weights, values.shape[1]).astype(np.int64)
    return replace(
        rows,
        values=np.ascontiguousarray(values[:, order]),
        weights=weights,
        ids=np.arange(weights.shape[0]),
        arrivals=where[rows.arrivals],
    )


def _same_words(old: Column, new: Column) -> bool:
    """Whether the values of a column have the words that they had."""
    return old.type == new.type or old.type.kind == new.type.kind == "integer"


def _line(contents: Contents, old: Table, source: int, new: Table, place: int, words: Words) -> Words:
    """The words of a column, of its new type."""
    before, now = old.columns[source], new.columns[place]
    if _same_words(before, now):
        return words
    try:
        values = contents.codec.decode(np.ascontiguousarray(words), before.type).cast(now.type.arrow)
    except pa.ArrowInvalid as error:
        msg = f"table {new.name!r}: a value of column {now.name!r} is none of {now.declared}: {error}"
        raise SchemaError(msg) from error
    return contents.codec.encode_column(pa.chunked_array([values]), now)


def _refuse_not_kept(base: BaseTable, table: Table) -> None:
    for check in table.checks:
        if base.kept is not None and not set(check.columns) <= base.kept:
            names = ", ".join(repr(table.columns[place].name) for place in sorted(set(check.columns) - base.kept))
            msg = (
                f"table {table.name!r}: CHECK {check.name} reads {names}, which is not kept of the rows that are there "
                "(retain = 'used'); delete them and bring them again"
            )
            raise SchemaError(msg)


def _refuse_broken(contents: Contents, table: Table, values: Words) -> None:
    """Refuse conditions that rows break which are there."""
    try:
        every = np.ones(values.shape[1], np.bool_)
        Checks.of(table, contents.codec).refuse_broken(np.ascontiguousarray(values), every)
    except ChangeValueError as error:
        raise ChangeValueError(error.message, table.name) from None


def _without_readers(contents: Contents, name: str) -> dict[Hashable, Node]:
    """The blocks that are known, but for those that read the table: operators name its columns by position."""
    readers = set(contents.graph.reading({name}))
    return {key: node for key, node in contents.graph._known.items() if node not in readers}


def _replanned(
    contents: Contents, found: Altered, catalog: Catalog, tables: Mapping[str, BaseTable]
) -> dict[str, View]:
    """The views that use the table, with new plans, by name; their blocks are not loaded.

    Raises:
        SchemaError: A view cannot go on.
    """
    table = found.table
    old = contents.tables[found.old_name].table
    there = [
        (table.columns[place].name, old.columns[source].name)
        for place, source in enumerate(found.sources)
        if source is not None
    ]
    queries, views, refused = contents.queries, dict[str, View](), dict[str, str]()
    for name, view in contents.views.items():  # a view comes after those that it reads
        read = {one.lower() for one in view._query.reads}
        if reason := reads_refused(view, refused):
            refused[view.name] = reason
            continue
        if not view._names_table(old.name) and read.isdisjoint(views):
            continue
        try:
            sql = same_columns_text(view.sql, old.name, there, found.come)
            if sql is not None and found.was is not None:
                sql = other_table_text(sql, old.name, table.name)
            if sql is None:
                refused[view.name] = "its text has a WITH of that name"
                continue
            query = bind_query(sql, catalog, queries, view._options.allow_product)
        except SqlError as error:
            refused[view.name] = error.message if sql == view.sql or not is_final(view.sql) else _FINAL
            continue
        if not same_columns(view, query):
            refused[view.name] = other_columns(view, query)
            continue
        queries[name] = query
        views[name] = _planned(contents, view, query, found, tables)
    if refused:
        msg = (
            f"table {table.name!r} is read by {with_reasons(refused)}, which cannot go on; drop these views, and "
            "create them anew behind the change"
        )
        raise SchemaError(msg)
    return views


def _planned(contents: Contents, view: View, query: Query, found: Altered, tables: Mapping[str, BaseTable]) -> View:
    graph, options = contents.graph, view._options
    moved = {source: place for place, source in enumerate(found.sources) if source is not None}
    given = options.statistics.given_alone().moved(found.old_name, moved, found.table.name)
    filled = {name: base for name, base in tables.items() if base.rows}
    limit = Statistics(preprocessing_limit=options.statistics.preprocessing_limit)
    known = limit.over(given.over(observe_tables(filled, query.joins, query.counted)))
    assertion = options.assertion
    if assertion is not None and assertion.table == found.old_name:
        assertion = replace(assertion, table=found.table.name.lower())
    options = replace(options, statistics=known, assertion=assertion)
    try:
        plan = plan_query(query, known, options.deltas, options.algorithm, contents.workers.threads)
    except UnsupportedQueryError as error:
        msg = f"view {view.name!r} stands in the way: {error.message}. Drop it, and create it anew behind the change"
        raise UnsupportedQueryError(msg, clause=error.clause) from error
    node = graph.add(plan, Choices(options.algorithm, options.adaptive, known, view.name))
    graph.show(node, view.name, options.deltas)
    made = View(view.name, query, options, node, graph, open_guard(), contents.tally, contents.images)
    made._began = replace(made._began, loaded=sum(tables[name].total for name in made._tables))  # by its new name
    return made
