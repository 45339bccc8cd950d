"""A maintained view."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from livejoin.database import reading
from livejoin.database.maintained import Maintained
from livejoin.database.reading import Row
from livejoin.dataflow.arrow_delta import delta_schema
from livejoin.errors import ReadError
from livejoin.plan import Explanation, describe_query
from livejoin.search.algorithm import Algorithm

_LARGEST_BATCH = 1 << 20


class View:
    """The live result of a query; made by `Database.create_view`.

    Args:
        maintained: Its plan and its state.
    """

    def __init__(self, maintained: Maintained) -> None:
        self.name = maintained.name
        self._maintained = maintained
        self._subscribers: list[Callable[[pa.Table], object]] = []

    @property
    def sql(self) -> str:
        """The view's query."""
        return self._maintained.query.sql

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return self._maintained.query.schema

    @property
    def delta_schema(self) -> pa.Schema:
        """The Arrow schema of the deltas."""
        return delta_schema(self._maintained.query.schema)

    @property
    def deltas(self) -> bool:
        """Whether commits carry this view's delta."""
        return self._maintained.deltas

    @property
    def algorithm(self) -> Algorithm:
        """What maintains the joins, as it was asked for."""
        return self._maintained.algorithm

    @property
    def adaptive(self) -> bool:
        """Whether the view may move to another join tree as the stream changes."""
        return self._maintained.adaptive is not None

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
        flow = self._maintained.flow
        version = self._maintained.version
        for table in flow.scan(max_rows):
            yield from table.combine_chunks().to_batches()
            if self._maintained.version != version:
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
        return self._maintained.flow.count()

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
        return reading.multiplicity(
            self._maintained.access, row, self.schema, self._maintained.query.root.types, self._maintained.codec
        )

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
        return reading.at(self._maintained.access, position, self.schema)

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
        return reading.sample(self._maintained.access, rows, seed, self.schema)

    def explain(self) -> Explanation:
        """The query's class, the plan and what a change costs; print it, or let a notebook show it."""
        kept = self._maintained
        told = describe_query(
            kept.query, kept.statistics, kept.deltas, algorithm=kept.algorithm, threads=kept.workers.threads
        )
        return replace(told, reason=f"{told.reason} {kept.adaptive.told}") if kept.adaptive else told

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
        return self._maintained.stats()

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
        return f"View({self.name!r}, {sum(len(plan.query.atoms) for plan in self._maintained.leaves)} atoms)"

    def _callbacks(self) -> tuple[Callable[[pa.Table], object], ...]:
        return tuple(self._subscribers)

    def _drop(self) -> None:
        """Give the state back; reading the view is an error from now on."""
        self._maintained.drop()
        self._subscribers.clear()
