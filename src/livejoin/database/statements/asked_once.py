"""A query that is asked once: planned, loaded and read as a view is, and forgotten.

It means what it means in a view, and costs what a view costs to be created: O(rows of its tables). One that names a row
of its only table, or view, by a key costs a look-up. Its text is bound and planned without the database's lock, and the
plan is kept for the next time.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import pyarrow as pa

from livejoin.catalog import Catalog
from livejoin.database.asked_plans import AskedPlan, AskedPlans, named
from livejoin.database.contents import Contents, refuse_large_joins
from livejoin.database.statements.pinned_rows import PinnedRows, pinned_rows
from livejoin.database.transactions.guard import Guard, alone, open_guard
from livejoin.database.transactions.retention import refuse_dropped
from livejoin.database.view import View, ViewOptions
from livejoin.dataflow.graph import Choices
from livejoin.dataflow.of_view import ASKED_ONCE
from livejoin.errors import LivejoinError, SqlError
from livejoin.families.cells.workers import Workers
from livejoin.plan.query_plan import plan_query
from livejoin.query.bound_query import Query
from livejoin.schema import SqlType, Table
from livejoin.sql import Pins, bind_query, names_read, pins_of
from livejoin.state.budget import READ

Answer: TypeAlias = tuple[pa.Table, tuple[SqlType, ...]]

_TRIES = 3  # to bind a text while others declare what it names


def asked(contents: Contents, sql: str) -> pa.Table:
    """As `asked_with_types`, the result alone."""
    return asked_with_types(contents, sql)[0]


def asked_with_types(contents: Contents, sql: str) -> Answer:
    """The result of a query, each row as often as it is there, and the types of its columns.

    Args:
        contents: The database's contents, of which nothing changes. The caller need not have its lock.
        sql: The query.

    Raises:
        SqlError: The query is wrong, or outside of what livejoin has.
        SchemaError: The query reads a column that is not kept.
        ExpressionError: An expression has no value on some row.
        CapacityError: The query takes more memory than there may be.
    """
    asker = _Asker(contents, contents.asked)
    if (known := contents.asked.of(sql)) is not None and (found := asker.answer(known)) is not None:
        return found
    if (pins := pins_of(sql)) is not None and (few := asker.pinned(pins, _values(pins))) is not None:
        with suppress(SqlError):  # then the whole text says what is wrong with it
            return _Asker(few.contents, contents.asked).ask(few.query)
    return asker.ask(sql)


def _values(pins: Pins) -> dict[str, Any]:
    """The values that a condition names, by columns in lower case; those alone that are any, and not NULL."""
    values: dict[str, Any] = {column: pin.value for column, pin in pins.columns.items()}
    texts = {column: pin.text for column, pin in pins.columns.items() if pin.value is None}
    if texts:
        selected = ", ".join(f"{text} AS k{place}" for place, text in enumerate(texts.values()))
        with suppress(LivejoinError, OverflowError, ValueError):  # the query says what it means; or Python has it not
            given = asked(Contents(Workers(1)), f"SELECT {selected}")
            values |= {column: given.column(place)[0].as_py() for place, column in enumerate(texts)}
    return {column: value for column, value in values.items() if value is not None}


class _Asker:
    """Asks a database; each of its steps is a call of the database of its own.

    Args:
        contents: The database's contents.
        plans: The plans that are kept.
    """

    def __init__(self, contents: Contents, plans: AskedPlans) -> None:
        self._contents = contents
        self._plans = plans

    @property
    def _guard(self) -> Guard:
        return self._contents.guard

    def ask(self, sql: str) -> Answer:
        """The answer to a text, by the plan that is kept of it, or by a new one."""
        known = self._plans.of(sql)
        for _ in range(_TRIES):
            if known is not None and (found := self.answer(known)) is not None:
                return found
            catalog, views = self._names()
            query = bind_query(sql, catalog, views, allow_product=True)
            refuse_large_joins(query)
            known = self._planned(sql, query, catalog, views)
        return self._at_once(sql)

    def _planned(self, sql: str, query: Query, catalog: Catalog, views: Mapping[str, Query]) -> AskedPlan | None:
        """The plan of a query over some names, which is kept; None if these are others by now."""
        names = {name: views.get(name) or catalog.get(name) for name in names_read(sql)}
        seen = self._seen(query, names)
        if seen is None:
            return None
        options, sizes = seen
        plan = plan_query(query, options.statistics, False, "auto", self._contents.workers.threads)
        made = AskedPlan(query, options, plan, names, sizes)
        self._plans.keep(sql, made)
        return made

    @alone
    def pinned(self, pins: Pins, values: Mapping[str, Any]) -> PinnedRows | None:
        """As `livejoin.database.statements.pinned_rows.pinned_rows`."""
        return pinned_rows(self._contents, pins, values)

    @alone
    def _names(self) -> tuple[Catalog, Mapping[str, Query]]:
        """The tables and the queries of the views as they are now."""
        return self._contents.catalog.copy(), self._contents.queries

    @alone
    def _seen(
        self, query: Query, names: Mapping[str, Table | Query | None]
    ) -> tuple[ViewOptions, Mapping[str, int]] | None:
        """How a query is maintained by what the rows say, and how many there are; None if names have changed."""
        contents = self._contents
        if any(named(contents, name) is not meant for name, meant in names.items()):
            return None
        sizes = {table.name.lower(): contents.tables[table.name.lower()].rows for table in query.tables}
        return ViewOptions(False, "auto", False, contents.known(query)), sizes

    @alone
    def answer(self, planned: AskedPlan) -> Answer | None:
        """The answer by a plan; None if it does not fit any more."""
        contents = self._contents
        if not planned.fits(contents):
            return None
        query, options = planned.query, planned.options
        refuse_dropped(contents, query)
        contents.start_changing()
        try:
            contents.budget.begin(READ)
            graph = contents.graph
            node = graph.add(planned.plan, Choices("auto", False, options.statistics, ASKED_ONCE))
            graph.show(node, ASKED_ONCE, False, None)
            view = View(ASKED_ONCE, query, options, node, graph, open_guard(), contents.tally, contents.images)
            return view.to_arrow(), view.types
        finally:
            contents.end_changing()

    @alone
    def _at_once(self, sql: str) -> Answer:
        """The answer to a text, in one call of the database, so that nobody declares anything meanwhile."""
        return self.ask(sql)
