"""A maintained view."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.dataflow.delta import delta_schema, delta_table, result_columns
from livejoin.dataflow.events import TableEvents, view_events
from livejoin.dataflow.multiway import DeltaChunk, MultiwayJoin
from livejoin.dataflow.selection import atom_masks
from livejoin.errors import ReadError
from livejoin.plan import Explanation, PhysicalPlan, Statistics, describe
from livejoin.query import ConjunctiveQuery
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable

Words = npt.NDArray[np.int64]

_LARGEST_BATCH = 1 << 20


class View:
    """The live result of a query; made by `Database.create_view`.

    Args:
        name: Its name.
        plan: The plan that maintains it.
        codec: The database's codec.
        tables: The database's tables by name in lower case; those of the query are there.
        statistics: What the plan's tree was chosen by.
    """

    def __init__(
        self, name: str, plan: PhysicalPlan, codec: Codec, tables: Mapping[str, BaseTable], statistics: Statistics
    ) -> None:
        self.name = name
        self._statistics = statistics
        self._plan = plan
        self._codec = codec
        self._tables = tables
        self._loaded: MultiwayJoin | None = None
        self._dropped = False
        self._subscribers: list[Callable[[pa.Table], object]] = []
        self._injective = _is_injective(plan.query)
        self._state_version = 0
        self._work = {"commits": 0, "changes": 0, "delta_rows": 0}
        self._seconds = 0.0
        self._before = (dict(self._work), self._seconds)

    @property
    def sql(self) -> str:
        """The view's query."""
        return self._plan.query.sql

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return self._plan.query.schema

    @property
    def delta_schema(self) -> pa.Schema:
        """The Arrow schema of the deltas."""
        return delta_schema(self._plan.query)

    @property
    def deltas(self) -> bool:
        """Whether commits carry this view's delta."""
        return self._plan.live

    def to_arrow(self) -> pa.Table:
        """The whole result; a row of multiplicity m stands there m times. Cost: O(result)."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def to_pandas(self) -> Any:
        """The whole result as a pandas DataFrame; needs pandas."""
        return self.to_arrow().to_pandas()

    def batches(self, max_rows: int = 65536) -> Iterator[pa.RecordBatch]:
        """Stream the result with constant delay a row and memory for one batch.

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
        join = self._join
        version = self._state_version
        for words in join.scan(max_rows):
            columns = result_columns(self._plan.query, self._codec, words)
            yield from pa.table(columns, schema=self.schema).combine_chunks().to_batches()
            if self._state_version != version:
                msg = (
                    f"view {self.name!r} changed while it was read in batches; read all batches between two commits, "
                    "or start again"
                )
                raise ReadError(msg)

    def count(self) -> int:
        """Rows of the result, counted with their multiplicities. Cost: O(base rows); nothing is enumerated."""
        return self._join.count()

    def explain(self) -> Explanation:
        """The query's class, the plan and what a change costs; print it, or let a notebook show it."""
        return describe(self._plan.query, self._statistics, live=self.deltas)

    def stats(self) -> dict[str, int | float]:
        """Figures of the view's state and work.

        Returns:
            ``state_bytes`` (handed out) and ``capacity_bytes`` (allocated), ``rows`` of the result (a float beyond 64
            bits), ``atom_rows`` in the state, ``height`` of the tree; since the view was created: ``commits``,
            ``changes`` of base rows, ``delta_rows``, ``propagated`` (rows that entered or left a semi-join view),
            ``touched`` (counters that P-UPDATE changed) and ``seconds`` in the kernels.
        """
        return {
            "state_bytes": self._join.arena.used_bytes,
            "capacity_bytes": self._join.arena.capacity_bytes,
            "rows": self._join.size(),
            "atom_rows": self._join.registered,
            "height": self._plan.tree.height,
            **self._work,
            **self._join.counters(),
            "seconds": self._seconds,
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
        return f"View({self.name!r}, {len(self._plan.query.atoms)} atoms)"

    def _masks(self, table: str, rows: pa.Table, words: Words) -> Words:
        """Which atoms each changed row takes part in."""
        return atom_masks(self._plan.query, table, rows, words)

    def _uses(self, table: str) -> bool:
        return any(use.name == table for use in self._plan.tables)

    def _callbacks(self) -> tuple[Callable[[pa.Table], object], ...]:
        return tuple(self._subscribers)

    def _prepare(self) -> None:
        """Before the tables are staged: load the state if a failed commit left none, and note the figures."""
        self._before = (dict(self._work), self._seconds)
        if self._loaded is None:
            self._rebuild()

    def _apply(self, events: Iterable[TableEvents], versions: int) -> pa.Table | None:
        """Bring staged changes into the view.

        Args:
            events: The events of each table that the view uses, with the view's masks.
            versions: How many versions they may have.

        Returns:
            The delta, None without deltas.
        """
        begin = time.perf_counter()
        join = self._join
        self._state_version += 1
        matrix = self._load(join, events)
        weighed = join.weighed
        chunks: list[DeltaChunk] = list(join.maintain(matrix, self.deltas))
        self._seconds += time.perf_counter() - begin
        self._work["commits"] += versions
        self._work["changes"] += matrix.shape[1]
        if not self.deltas:
            return None
        consolidate = not self._injective or join.weighed > weighed
        delta = delta_table(self._plan.query, self._codec, chunks, consolidate)
        self._work["delta_rows"] += delta.num_rows
        return delta

    def _load(self, join: MultiwayJoin, events: Iterable[TableEvents]) -> Words:
        """Put the rows' values into the records; the events as a matrix for the kernel."""
        listed = {e.table: e for e in events}
        parts = []
        for position, use in enumerate(self._plan.tables):
            if use.name in listed and listed[use.name].rows.size:
                base = self._tables[use.name.lower()]
                part = listed[use.name]
                join.load(position, part.rows, base.words, base.stride, base.value_offset(0))
                parts.append((position, part))
        return view_events(parts)

    def _undo(self) -> None:
        """Forget the last `_apply`, whole or begun.

        The state is loaded anew, in O(base rows), when it is needed next and not now: what failed may have been the
        memory, which is free again only when the error has been handled.
        """
        self._work, self._seconds = self._before
        self._loaded = None

    def _rebuild(self) -> MultiwayJoin:
        """Load the view anew from its tables; O(base rows) (CROWN, Theorem 6.11)."""
        self._state_version += 1
        join = MultiwayJoin(self._plan)
        events = []
        for use in self._plan.tables:
            base = self._tables[use.name.lower()]
            rows, weights = base.live_rows()
            words = base.values_of(rows)
            masks = self._masks(use.name, _decoded(base, self._codec, words), words)
            order = np.zeros(rows.shape[0], np.int64)
            events.append(TableEvents(use.name, rows, weights, masks, order))
        for _ in join.maintain(self._load(join, events), emit=False):
            pass
        self._loaded = join
        return join

    def _restore(self, arena: Words) -> None:
        """Take over the state of a view with the same plan."""
        self._loaded = MultiwayJoin(self._plan)
        self._loaded.arena.words = arena

    @property
    def _join(self) -> MultiwayJoin:
        """The operator, loaded anew where a failed commit left none; not for the first time inside a commit."""
        if self._dropped:
            msg = f"view {self.name!r} was dropped; create it again to read it"
            raise ReadError(msg)
        return self._loaded or self._rebuild()

    def _drop(self) -> None:
        """Give the state back; reading the view is an error from now on."""
        self._dropped = True
        self._loaded = None
        self._subscribers.clear()

    def _check(self) -> None:
        """Assert all invariants of the state; for tests."""
        self._join._check()


def _decoded(base: BaseTable, codec: Codec, words: Words) -> pa.Table:
    """Rows of a base table as Arrow."""
    columns = [codec.decode(line, c.type) for line, c in zip(words, base.table.columns, strict=True)]
    return pa.table(columns, names=[c.name for c in base.table.columns])


def _is_injective(query: ConjunctiveQuery) -> bool:
    """Whether a result row determines the base rows that it is made of, so that distinct ones never cancel."""
    if any(isinstance(o.source, str) for o in query.outputs):
        return False
    kept = {query.atoms[r.atom].variables[query.atoms[r.atom].columns.index(r.column)] for r in query.head}
    shown = {o.source for o in query.outputs}
    return (
        len(shown) == len(query.head)
        and query.variables <= kept
        and all(len(atom.columns) == len(atom.table.columns) for atom in query.atoms)
    )
