"""Access to expressions over rows, for those that a condition is true for.

By values: a computed column is not inverted. The other columns must tell the row below, by its key where that has one;
then the expressions of this row are compared with what is asked for. Without an index the rows of a result that is
bounded by LIMIT, and constant rows, are compared one by one. By rank: the ranks are those below; under a condition
(HAVING) the rows for which it is true are listed first, in O(rows below) once after a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from functools import cached_property

import numpy as np

from livejoin.dataflow.batches import BATCH, Rows
from livejoin.dataflow.projection import Projection
from livejoin.dataflow.reading.access import Access, KeyedAccess
from livejoin.dataflow.reading.numbers_access import NumbersAccess
from livejoin.dataflow.reading.same_values import compared_times, same_rows, with_values
from livejoin.dataflow.reading.store_access import ScannedAccess, TopKAccess
from livejoin.errors import ReadError
from livejoin.plan.operators import ProjectOperator
from livejoin.state.codec import Codec
from livejoin.words import Words


class ProjectAccess:
    """The rows of a projection.

    Args:
        plan: The expressions and the condition.
        computation: Evaluates the expressions and the condition.
        codec: The database's codec.
        below: The rows that they are computed from.
        scan: Enumerates these rows with their multiplicities, in batches of at most so many rows.
    """

    def __init__(
        self,
        plan: ProjectOperator,
        computation: Projection,
        codec: Codec,
        below: Access,
        scan: Callable[[int], Iterator[tuple[Rows, Words]]],
    ) -> None:
        self._plan = plan
        self._computation = computation
        self._codec = codec
        self._below = below
        self._scan = scan

    @cached_property
    def _kept(self) -> tuple[Words, Words]:
        """Of the rows that the condition is true for, the first rank below and the rows up to each."""
        begins, times = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        before = 0
        for rows, weights in self._scan(BATCH):
            kept = self._computation.kept(rows)
            ends = before + np.cumsum(weights)
            begins.append((ends - weights)[kept])
            times.append(weights[kept])
            before = int(ends[-1]) if ends.size else before
        return np.concatenate(begins), np.cumsum(np.concatenate(times))

    def total(self) -> int:
        if self._plan.predicate is None:
            return self._below.total()
        ends = self._kept[1]
        return int(ends[-1]) if ends.size else 0

    def at(self, ranks: Words) -> Rows:
        if self._plan.predicate is not None:
            begins, ends = self._kept
            places = np.searchsorted(ends, ranks, side="right")
            before = np.concatenate([[0], ends])[places]
            ranks = begins[places] + ranks - before
        return self._computation.rows(self._below.at(ranks))[0]

    def multiplicities(self, rows: Rows) -> Words:
        copies = {o.source: i for i, o in enumerate(self._plan.outputs) if isinstance(o.source, int)}
        below = self._below
        if isinstance(below, KeyedAccess) and copies.keys() >= set(range(below.groups)):
            keys = rows.matrix([copies[column] for column in range(below.groups)])
            found, there = below.rows_of(keys)
            return self._compared(found, there, np.ones(there.shape[0], np.int64), rows)
        types = self._plan.input.types
        if copies.keys() >= set(range(len(types))):
            given = rows.select([copies[column] for column in range(len(types))])
            times = below.multiplicities(given)
            there = np.flatnonzero(times)
            plain = Rows(self._codec, types, [given.take(there).arrow(i) for i in range(len(types))], there.shape[0])
            return self._compared(plain, there, times[there], rows)
        if isinstance(below, (TopKAccess, ScannedAccess, NumbersAccess)):
            return self._searched(rows)
        names = [o.name for o in self._plan.outputs if not isinstance(o.source, int)]
        msg = (
            f"{', '.join(map(repr, names)) or 'the result'} is computed from columns that a row does not show, and "
            "expressions are not inverted; add these columns to SELECT"
        )
        raise ReadError(msg)

    def leads(self, columns: Set[int]) -> bool:
        return self._below.leads(self._copied(columns).keys())

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        copied = self._copied(columns)
        asked = given.select([list(columns).index(place) for place in copied.values()])
        below, times, there = self._below.rows_with(list(copied), asked)
        computed, kept = self._computation.rows(below)
        same = with_values(computed, there[kept], columns, given)
        return computed.take(same), times[kept][same], there[kept][same]

    def _copied(self, columns: Set[int] | Sequence[int]) -> dict[int, int]:
        """The columns below that some columns are copies of, and for each one of these."""
        outputs = self._plan.outputs
        sources = {place: outputs[place].source for place in sorted(columns)}
        return {source: place for place, source in sources.items() if isinstance(source, int)}

    def _compared(self, found: Rows, there: Words, times: Words, rows: Rows) -> Words:
        """How often rows stand in the result, from those below that they can come from.

        Args:
            found: Rows below.
            there: For each the position of the row that it may give.
            times: For each its multiplicity.
            rows: The rows that are asked for.
        """
        computed, kept = self._computation.rows(found)
        given = rows.take(there[kept])
        total = np.zeros(rows.length, np.int64)
        total[there[kept]] = np.where(same_rows(computed, given), times[kept], 0)
        return total

    def _searched(self, rows: Rows) -> Words:
        """How often rows stand in the result, by comparing them with all of it."""
        return compared_times(self._computed(), rows)

    def _computed(self) -> Iterator[tuple[Rows, Words]]:
        """The rows of the result, with their multiplicities."""
        for batch, weights in self._scan(BATCH):
            computed, kept = self._computation.rows(batch)
            yield computed, weights[kept]
