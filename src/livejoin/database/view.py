"""A maintained view."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.database import reading
from livejoin.database.adaptive import adaptive_plan
from livejoin.database.reading import Row
from livejoin.dataflow.access import Access
from livejoin.dataflow.delta import delta_schema
from livejoin.dataflow.events import TableEvents, view_events
from livejoin.dataflow.flow import Flow
from livejoin.dataflow.selection import Selection, Selector
from livejoin.dataflow.workers import Workers
from livejoin.errors import ReadError
from livejoin.plan import Explanation, Statistics, describe_query
from livejoin.plan.algorithm import Algorithm
from livejoin.plan.operators import Operator, leaves
from livejoin.query.relational import Query
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable

Words = npt.NDArray[np.int64]

_LARGEST_BATCH = 1 << 20


class View:
    """The live result of a query; made by `Database.create_view`.

    Args:
        name: Its name.
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
        self._query = query
        self._deltas = deltas
        self._statistics = statistics
        self._algorithm = algorithm
        self._workers = workers
        self._codec = codec
        self._tables = tables
        self._take(plan)
        self._loaded: Flow | None = None
        self._dropped = False
        self._subscribers: list[Callable[[pa.Table], object]] = []
        self._state_version = 0
        self._work = {"commits": 0, "changes": 0, "delta_rows": 0}
        self._seconds = 0.0
        self._before = (dict(self._work), self._seconds)
        self._earlier: dict[str, int] = {}  # counters of trees that the view moved away from
        self._adaptive = adaptive_plan(self, statistics) if adaptive else None

    @property
    def sql(self) -> str:
        """The view's query."""
        return self._query.sql

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return self._query.schema

    @property
    def delta_schema(self) -> pa.Schema:
        """The Arrow schema of the deltas."""
        return delta_schema(self._query.schema)

    @property
    def deltas(self) -> bool:
        """Whether commits carry this view's delta."""
        return self._deltas

    @property
    def algorithm(self) -> Algorithm:
        """What maintains the joins, as it was asked for."""
        return self._algorithm

    @property
    def adaptive(self) -> bool:
        """Whether the view may move to another join tree as the stream changes."""
        return self._adaptive is not None

    def to_arrow(self) -> pa.Table:
        """The whole result; a row of multiplicity m stands there m times. Cost: O(result)."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def to_pandas(self) -> Any:
        """The whole result as a pandas DataFrame; needs pandas."""
        return self.to_arrow().to_pandas()

    def batches(self, max_rows: int = 65536) -> Iterator[pa.RecordBatch]:
        """Stream the result with constant delay a row and memory for one batch.

        Batches are made when they are asked for, so that a slow reader holds one at a time. They are those of one
        version: commits of tables that the view does not use do not disturb; a reader who needs more time than there is
        between two others takes `to_arrow`, or `at` by position.

        Args:
            max_rows: Largest number of rows in a batch; more than 1,048,576 are never in one.

        Raises:
            ReadError: ``max_rows`` is not positive, or the view changed since the first batch.
            ExpressionError: DuckDB cannot evaluate an output on some row.
        """
        if max_rows < 1:
            msg = f"batches of {max_rows} rows; allowed is a positive number"
            raise ReadError(msg)
        return self._batches(min(max_rows, _LARGEST_BATCH))

    def _batches(self, max_rows: int) -> Iterator[pa.RecordBatch]:
        flow = self._flow
        version = self._state_version
        for table in flow.scan(max_rows):
            yield from table.combine_chunks().to_batches()
            if self._state_version != version:
                msg = (
                    f"view {self.name!r} changed while it was read in batches; read all batches between two commits, "
                    "or start again"
                )
                raise ReadError(msg)

    def count(self) -> int:
        """Rows of the result, counted with their multiplicities; nothing is enumerated, but under HAVING the groups.

        Cost: O(1) for a view that gives deltas, which keep the number up to date once it was asked for, and for stores
        (set operations, groups with a store of their own, first rows of an order) always. O(base rows) for the first
        call after a change in a view with ``deltas=False``; there ``SELECT COUNT(*) FROM ...`` as a view of its own is
        kept up to date by annotations, at the cost of a change.

        Raises:
            CapacityError: They are more than 64 bits count.
        """
        return self._flow.count()

    def __contains__(self, row: Row) -> bool:
        """Whether a row is in the result; cost and errors as for `multiplicity`."""
        return self.multiplicity(row) > 0

    def multiplicity(self, row: Row) -> int:
        """How often a row stands in the result; nothing is enumerated (DYN, Proposition 4.18).

        Args:
            row: Its values, as a tuple in the order of the schema or as a dict by the schema's names. None is NULL,
                which equals NULL here.

        Returns:
            0 if it is not there.

        Raises:
            ReadError: The row does not fit the schema. Or nothing that the view keeps tells the multiplicity: columns
                by which the query joins are not in the result, so that a row stands for any number of them; an output
                is computed from columns that the result does not show; or no index leads to the rows of a table of
                which the query uses some columns only. The message says what would help.
            CapacityError: The multiplicity is beyond 64 bits.

        Cost: of joins one probe an atom if the query uses all columns of its table, or its primary key; else O(rows of
        the atom with the same join key). Of DISTINCT, GROUP BY, set operations, change propagation and bags of cyclic
        joins: O(1). Of ``ORDER BY ... LIMIT k``: O(k). Beside these one DuckDB call where outputs are computed. All of
        it is independent of the size of the result.
        """
        return reading.multiplicity(self._access, row, self.schema, self._query.root.types, self._codec)

    def at(self, position: int) -> tuple[Any, ...]:
        """The row at a position of the result as `batches` streams it; from the end where it is negative.

        Equal rows stand there next to each other. A commit may move all rows. With ``ORDER BY ... LIMIT`` the position
        is that of the order.

        Raises:
            ReadError: There is no row at this position.
            CapacityError: The result has more rows than 64 bits count.

        Cost: of joins O(tree nodes * log(base rows)), after O(base rows) once after a change for sums that are kept
        beside the state, of at most its size, until the next change. Of stores and change propagation O(1), after
        O(rows kept) once after a change; under HAVING, where the condition is evaluated, O(groups). Of ``ORDER BY ...
        LIMIT`` always O(log(rows kept)). Nothing is materialised.
        """
        return reading.at(self._access, position, self.schema)

    def sample(self, rows: int, *, seed: int | None = None) -> pa.Table:
        """Rows drawn from the result, uniformly and with replacement; one of multiplicity m is m times as likely.

        Args:
            rows: How many.
            seed: Makes the draw repeatable as long as the view does not change.

        Returns:
            The rows in the order in which they were drawn.

        Raises:
            ReadError: The number is negative, or the result is empty.
            CapacityError: The result has more rows than 64 bits count.

        Cost: that of `at` a row, in one call for all of them.
        """
        return reading.sample(self._access, rows, seed, self.schema)

    def explain(self) -> Explanation:
        """The query's class, the plan and what a change costs; print it, or let a notebook show it."""
        told = describe_query(
            self._query, self._statistics, self.deltas, algorithm=self._algorithm, threads=self._workers.threads
        )
        return replace(told, reason=f"{told.reason} {self._adaptive.told}") if self._adaptive else told

    def stats(self) -> dict[str, int | float]:
        """Figures of the view's state and work.

        Returns:
            ``state_bytes`` (handed out) and ``capacity_bytes`` (allocated), ``rows`` of the result (a float beyond 64
            bits), ``atom_rows`` in the state, ``height`` of the tree (number of joins in a chain of them), ``cells``
            that the joins are split into; since the view was created: ``commits``, ``changes`` of base rows,
            ``delta_rows``, ``propagated`` (rows that entered or left a semi-join view), ``stopped`` (those at which
            propagation stopped), ``touched`` (counters and annotations that P-UPDATE changed), ``probes`` (look-ups of
            keys), ``lambda_observed`` (``touched`` a change, which the enclosureness of the change sequence bounds but
            for a constant: CROWN, Theorem 6.6), ``seconds`` in the kernels and ``moves`` to another join tree.
        """
        flow = self._flow
        counters = {name: value + self._earlier.get(name, 0) for name, value in flow.counters().items()}
        return {
            "state_bytes": flow.sizes()[0],
            "capacity_bytes": flow.sizes()[1],
            "rows": flow.size(),
            "atom_rows": sum(leaf.join.registered for leaf in flow.leaves),
            "height": max(plan.height for plan in self._leaves),
            "cells": max(1 if leaf.partition is None else leaf.partition.cells for leaf in leaves(self._plan)),
            **self._work,
            **counters,
            "lambda_observed": counters["touched"] / max(1, self._work["changes"]),
            "seconds": self._seconds,
            "moves": self._adaptive.moves if self._adaptive else 0,
        }

    def subscribe(self, callback: Callable[[pa.Table], object]) -> Callable[[], None]:
        """Call ``callback(delta)`` after each commit, with an empty table where nothing changed.

        An exception of the callback reaches the caller of the commit, which stands, after all callbacks were called.

        Returns:
            A function that ends the subscription.

        Raises:
            ReadError: The view was created with ``deltas=False``.
        """
        if not self.deltas:
            msg = f"view {self.name!r} was created with deltas=False and has nothing to subscribe to"
            raise ReadError(msg)
        if not callable(callback):
            msg = f"view {self.name!r} cannot call {callback!r}; subscribe a function of one argument, the delta"
            raise ReadError(msg)
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def __repr__(self) -> str:
        return f"View({self.name!r}, {sum(len(plan.query.atoms) for plan in self._leaves)} atoms)"

    def _selections(self, table: str, rows: pa.Table, words: Words) -> list[Selection]:
        """What each leaf that uses a table has to know of changed rows."""
        return [selector.select(rows, words) for selector in self._selectors if selector.table == table]

    def _take(self, plan: Operator) -> None:
        """Have a plan, whose state is not there yet."""
        self._plan = plan
        self._leaves = [leaf.physical for leaf in leaves(plan)]
        self._selectors = [
            Selector(leaf.query, use, self._tables[use.name.lower()].table)
            for leaf in self._leaves
            for use in leaf.tables
        ]

    def _uses(self, table: str) -> bool:
        return any(use.name == table for plan in self._leaves for use in plan.tables)

    def _callbacks(self) -> tuple[Callable[[pa.Table], object], ...]:
        return tuple(self._subscribers)

    def _prepare(self) -> None:
        """Before the tables are staged: load the state if a failed commit left none, and note the figures."""
        self._before = (dict(self._work), self._seconds)
        if self._loaded is None:
            self._rebuild()
        if self._adaptive is not None:
            self._adaptive.reconsider(self._plan)

    def _apply(self, events: Mapping[str, list[TableEvents]], versions: int) -> pa.Table | None:
        """Bring staged changes into the view.

        Args:
            events: By table, the events for each leaf that uses it, in the order of `_selections`.
            versions: How many versions they may have.

        Returns:
            The delta, None without deltas.
        """
        begin = time.perf_counter()
        if self._adaptive is not None:
            self._adaptive.note(events, self._leaves)
        flow = self._flow
        self._state_version += bool(events)  # a commit of other tables does not disturb who reads in batches
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
        for plan, leaf in zip(self._leaves, flow.leaves, strict=True):
            parts = []
            for position, use in enumerate(plan.tables):
                if use.name in waiting and (part := next(waiting[use.name])).rows.size:
                    base = self._tables[use.name.lower()]
                    added = part.weights > 0  # the others have their records, and a window may have taken them out
                    factors = None if part.factors is None else part.factors.compress(added, axis=1)
                    leaf.join.load(position, part.rows[added], base.words, base.stride, base.value_offset(0), factors)
                    parts.append((position, part))
            matrices.append(view_events(parts))
        return matrices

    def _undo(self) -> None:
        """Forget the last `_apply`, whole or begun.

        The state is loaded anew, in O(base rows), when it is needed next and not now: what failed may have been the
        memory, which is free again only when the error has been handled.
        """
        self._work, self._seconds = self._before
        self._loaded = None
        if self._adaptive is not None:
            self._adaptive.forget()

    def _rebuild(self) -> Flow:
        """Load the view anew from its tables; O(base rows) (CROWN, Theorem 6.11), of stores O(rows of the joins)."""
        self._state_version += 1
        flow = Flow(self._plan, self._query.schema, self._codec, self._deltas, self._workers)
        events = {}
        for name in dict.fromkeys(use.name for plan in self._leaves for use in plan.tables):
            base = self._tables[name.lower()]
            rows, weights = base.live_rows()
            words = base.values_of(rows)
            order = np.zeros(rows.shape[0], np.int64)
            events[name] = [
                TableEvents(name, rows, weights, chosen.masks, order, chosen.factors)
                for chosen in self._selections(name, _decoded(base, self._codec, words), words)
            ]
        flow.load(self._load(flow, events))
        self._loaded = flow
        return flow

    def _move(self, plan: Operator, statistics: Statistics) -> None:
        """Go on with another plan for the same query, between two commits; as it was if that fails; O(base rows)."""
        before, self._statistics = (self._plan, self._statistics), statistics
        done = self._flow.counters()
        self._take(plan)
        try:
            loaded = self._rebuild().counters()
        except BaseException:
            self._take(before[0])
            self._statistics = before[1]
            raise
        self._earlier = {name: self._earlier.get(name, 0) + done[name] - loaded[name] for name in done}

    def _restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a view with the same plan."""
        self._loaded = Flow(self._plan, self._query.schema, self._codec, self._deltas, self._workers)
        self._loaded.restore(arrays)

    @property
    def _flow(self) -> Flow:
        """The operators, loaded anew where a failed commit left none; not for the first time inside a commit."""
        if self._dropped:
            msg = f"view {self.name!r} was dropped; create it again to read it"
            raise ReadError(msg)
        return self._loaded or self._rebuild()

    @property
    def _access(self) -> Access:
        """Access to the result as it is now."""
        return self._flow.access(self._tables)

    def _drop(self) -> None:
        """Give the state back; reading the view is an error from now on."""
        self._dropped = True
        self._loaded = None
        self._subscribers.clear()

    def _check(self) -> None:
        """Assert all invariants of the state; for tests."""
        self._flow._check()


def _decoded(base: BaseTable, codec: Codec, words: Words) -> pa.Table:
    """Rows of a base table as Arrow."""
    columns = [codec.decode(line, c.type) for line, c in zip(words, base.table.columns, strict=True)]
    return pa.table(columns, names=[c.name for c in base.table.columns])
