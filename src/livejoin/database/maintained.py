"""What maintains a view: its plan, its state, and how a commit changes it.

Law: between two commits the state is that of the plan over the base tables as they are, or there is none, and then it
is loaded from them when it is needed next.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from livejoin.database.adaptive import adaptive_plan
from livejoin.dataflow.flow import Flow
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.selection import Selection, Selector
from livejoin.errors import ReadError
from livejoin.families.cells.workers import Workers
from livejoin.families.events import TableEvents, view_events
from livejoin.plan import Statistics
from livejoin.plan.operators import Operator, leaves
from livejoin.query.relational import Query
from livejoin.search.algorithm import Algorithm
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable
from livejoin.words import Words


class Maintained:
    """The plan and the state of a view; mutable.

    Args:
        name: The view's name.
        query: Its query.
        plan: The operators that maintain it.
        deltas: Whether commits carry its delta.
        codec: The database's codec.
        tables: The database's tables by name in lower case; those of the query are there.
        statistics: What the plan's tree was chosen by.
        algorithm: What maintains its joins.
        workers: The database's threads.
        adaptive: Whether it may move to another join tree as the stream changes.
    """

    def __init__(
        self,
        name: str,
        query: Query,
        plan: Operator,
        deltas: bool,
        codec: Codec,
        tables: Mapping[str, BaseTable],
        statistics: Statistics,
        algorithm: Algorithm,
        workers: Workers,
        adaptive: bool = False,
    ) -> None:
        self.name = name
        self.query = query
        self.deltas = deltas
        self.statistics = statistics
        self.algorithm = algorithm
        self.workers = workers
        self.tables = tables
        self.version = 0  # of the state: it is another one where the view may have changed
        self.codec = codec
        self._take(plan)
        self._loaded: Flow | None = None
        self._dropped = False
        self._work = {"commits": 0, "changes": 0, "delta_rows": 0}
        self._seconds = 0.0
        self._before = (dict(self._work), self._seconds)
        self._earlier: dict[str, int] = {}  # counters of trees that the view moved away from
        self.adaptive = adaptive_plan(self, statistics) if adaptive else None

    def stats(self) -> dict[str, int | float]:
        """The figures of `livejoin.View.stats`."""
        flow = self.flow
        counters = {name: value + self._earlier.get(name, 0) for name, value in flow.counters().items()}
        return {
            "state_bytes": flow.sizes()[0],
            "capacity_bytes": flow.sizes()[1],
            "rows": flow.size(),
            "atom_rows": sum(leaf.join.registered for leaf in flow.leaves),
            "height": max(plan.height for plan in self.leaves),
            "cells": max(1 if leaf.partition is None else leaf.partition.cells for leaf in leaves(self.plan)),
            **self._work,
            **counters,
            "lambda_observed": counters["touched"] / max(1, self._work["changes"]),
            "seconds": self._seconds,
            "moves": self.adaptive.moves if self.adaptive else 0,
        }

    def selections(self, table: str, rows: pa.Table, words: Words) -> list[Selection]:
        """What each leaf that uses a table has to know of changed rows."""
        return [selector.select(rows, words) for selector in self._selectors if selector.table == table]

    def _take(self, plan: Operator) -> None:
        """Have a plan, whose state is not there yet."""
        self.plan = plan
        self.leaves = [leaf.physical for leaf in leaves(plan)]
        self._selectors = [
            Selector(leaf.query, use, self.tables[use.name.lower()].table)
            for leaf in self.leaves
            for use in leaf.tables
        ]

    def uses(self, table: str) -> bool:
        """Whether the query uses a table."""
        return any(use.name == table for plan in self.leaves for use in plan.tables)

    def prepare(self) -> None:
        """Before the tables are staged: load the state if a failed commit left none, and note the figures."""
        self._before = (dict(self._work), self._seconds)
        if self._loaded is None:
            self.rebuild()
        if self.adaptive is not None:
            self.adaptive.reconsider(self.plan)

    def apply(self, events: Mapping[str, list[TableEvents]], versions: int) -> pa.Table | None:
        """Bring staged changes into the view.

        Args:
            events: By table, the events for each leaf that uses it, in the order of `selections`.
            versions: How many versions they may have.

        Returns:
            The delta, None without deltas.
        """
        begin = time.perf_counter()
        if self.adaptive is not None:
            self.adaptive.note(events, self.leaves)
        flow = self.flow
        self.version += bool(events)  # a commit of other tables does not disturb who reads in batches
        matrices = self._load(flow, events)
        delta = flow.apply(matrices)
        self._seconds += time.perf_counter() - begin
        self._work["commits"] += versions
        self._work["changes"] += sum(parts[0].rows.shape[0] for parts in events.values())
        self._work["delta_rows"] += 0 if delta is None else delta.num_rows
        return delta

    def _load(self, flow: Flow, events: Mapping[str, list[TableEvents]]) -> list[Words]:
        """Put the rows' values into the records; the events of each leaf as a matrix for the kernel."""
        waiting = {table: iter(parts) for table, parts in events.items()}
        matrices = []
        for plan, leaf in zip(self.leaves, flow.leaves, strict=True):
            parts = []
            for position, use in enumerate(plan.tables):
                if use.name in waiting and (part := next(waiting[use.name])).rows.size:
                    base = self.tables[use.name.lower()]
                    added = part.weights > 0  # the others have their records, and a window may have taken them out
                    factors = None if part.factors is None else part.factors.compress(added, axis=1)
                    leaf.join.load(position, part.rows[added], base.words, base.stride, base.value_offset(0), factors)
                    parts.append((position, part))
            matrices.append(view_events(parts))
        return matrices

    def undo(self) -> None:
        """Forget the last `apply`, whole or begun.

        The state is loaded anew, in O(base rows), when it is needed next and not now: what failed may have been the
        memory, which is free again only when the error has been handled.
        """
        self._work, self._seconds = self._before
        self._loaded = None
        if self.adaptive is not None:
            self.adaptive.forget()

    def rebuild(self) -> Flow:
        """Load the view anew from its tables; O(base rows) (CROWN, Theorem 6.11), of stores O(rows of the joins)."""
        self.version += 1
        flow = Flow(self.plan, self.query.schema, self.codec, self.deltas, self.workers)
        events = {}
        for name in dict.fromkeys(use.name for plan in self.leaves for use in plan.tables):
            base = self.tables[name.lower()]
            rows, weights = base.live_rows()
            words = base.values_of(rows)
            order = np.zeros(rows.shape[0], np.int64)
            events[name] = [
                TableEvents(name, rows, weights, chosen.masks, order, chosen.factors)
                for chosen in self.selections(name, _decoded(base, self.codec, words), words)
            ]
        flow.load(self._load(flow, events))
        self._loaded = flow
        return flow

    def move(self, plan: Operator, statistics: Statistics) -> None:
        """Go on with another plan for the same query, between two commits; as it was if that fails; O(base rows)."""
        before, self.statistics = (self.plan, self.statistics), statistics
        done = self.flow.counters()
        self._take(plan)
        try:
            loaded = self.rebuild().counters()
        except BaseException:
            self._take(before[0])
            self.statistics = before[1]
            raise
        self._earlier = {name: self._earlier.get(name, 0) + done[name] - loaded[name] for name in done}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a view with the same plan."""
        self._loaded = Flow(self.plan, self.query.schema, self.codec, self.deltas, self.workers)
        self._loaded.restore(arrays)

    @property
    def flow(self) -> Flow:
        """The operators, loaded anew where a failed commit left none; not for the first time inside a commit."""
        if self._dropped:
            msg = f"view {self.name!r} was dropped; create it again to read it"
            raise ReadError(msg)
        return self._loaded or self.rebuild()

    @property
    def access(self) -> Access:
        """Access to the result as it is now."""
        return self.flow.access(self.tables)

    def drop(self) -> None:
        """Give the state back; reading the view is an error from now on."""
        self._dropped = True
        self._loaded = None

    def _check(self) -> None:
        """Assert all invariants of the state; for tests."""
        self.flow._check()


def _decoded(base: BaseTable, codec: Codec, words: Words) -> pa.Table:
    """Rows of a base table as Arrow."""
    columns = [codec.decode(line, c.type) for line, c in zip(words, base.table.columns, strict=True)]
    return pa.table(columns, names=[c.name for c in base.table.columns])
