"""Access to the rows of the leaves of a view's operators: joins, and groups that are annotations."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
import numpy.typing as npt

from livejoin.dataflow.annotated_groups import empty_group, group_rows
from livejoin.dataflow.batches import Rows
from livejoin.dataflow.reading.row_search import Relations, RowSearch
from livejoin.dataflow.reading.same_values import same_rows, same_values, with_values
from livejoin.dataflow.results import Results
from livejoin.errors import ReadError
from livejoin.families.join_access import JoinAccess
from livejoin.plan.operators import AnnotatedOperator, JoinOperator
from livejoin.query import ColumnRef, ConjunctiveQuery
from livejoin.state.codec import Codec
from livejoin.words import Words


class LeafAccess:
    """The rows of a conjunctive query.

    Args:
        plan: The plan of the query, without a count that is the multiplicity.
        join: The results of the join.
        results: Makes rows of the results.
        relations: The tables and relations of its atoms.
    """

    def __init__(self, plan: JoinOperator, join: JoinAccess, results: Results, relations: Relations) -> None:
        assert not plan.physical.query.sums
        self._query = plan.physical.query
        self._join = join
        self._results = results
        self._search = RowSearch(self._query, join, relations)

    def total(self) -> int:
        return self._join.total()

    def at(self, ranks: Words) -> Rows:
        return self._results.rows(self._join.results(ranks))

    def multiplicities(self, rows: Rows) -> Words:
        query = self._query
        copies = [(i, o.source) for i, o in enumerate(query.outputs) if isinstance(o.source, int)]
        shown = [query.head[source] for _, source in copies]
        if hidden := self._join.needed - {query.variable(ref) for ref in shown}:
            raise ReadError(_hidden(query, hidden))
        values, same = _by_variable(query, shown, [rows.codes(i) for i, _ in copies], rows.length)
        found = self._join.find(values, rows.length)
        times = np.where(same, found.times, 0)
        there = np.flatnonzero(times)
        computed = [i for i, o in enumerate(query.outputs) if not isinstance(o.source, int)]
        if not computed or not there.size:
            return times
        words = np.array([found.values[query.variable(ref)][there] for ref in query.head], np.int64)
        given = rows.take(there)
        result = self._results.rows(words.reshape(len(query.head), there.shape[0]))
        for i in computed:
            times[there] *= same_values(result.arrow(i), given.arrow(i))
        return times

    def leads(self, columns: Set[int]) -> bool:
        return self._search.leads(frozenset(self._variables(columns).values()), self._join.needed)

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        query, variables = self._query, self._variables(columns)
        asked = {place: given.codes(list(columns).index(place)) for place in variables}
        values = {name: asked[place] for place, name in variables.items()}
        bound, places = self._search.bindings(values, given.length, self._join.needed)
        found = self._join.find(bound, places.shape[0])
        same = found.times != 0
        for place, name in variables.items():  # below an optional edge there may be NULL instead
            same &= found.values[name] == asked[place][places]
        there = np.flatnonzero(same)
        words = np.array([found.values[query.variable(ref)][there] for ref in query.head], np.int64)
        words = words.reshape(len(query.head), there.shape[0])
        rows, times, places = self._results.rows(words), found.times[there], places[there]
        computed = [place for place in columns if place not in variables]
        if not computed:
            return rows, times, places
        kept = with_values(rows, places, computed, given.select([list(columns).index(place) for place in computed]))
        return rows.take(kept), times[kept], places[kept]

    def _variables(self, columns: Set[int] | Sequence[int]) -> dict[int, str]:
        """The variables of those of some columns that are copied."""
        query = self._query
        sources = {place: query.outputs[place].source for place in sorted(columns)}
        return {place: query.variable(query.head[one]) for place, one in sources.items() if isinstance(one, int)}


class AnnotatedAccess:
    """The groups of a join with annotated results; a keyed access.

    Args:
        plan: The plan of the groups.
        codec: The database's codec.
        join: The results of the join.
        relations: The tables and relations of its atoms.
    """

    def __init__(self, plan: AnnotatedOperator, codec: Codec, join: JoinAccess, relations: Relations) -> None:
        self._plan = plan
        self._codec = codec
        self._join = join
        self.groups = len(plan.physical.query.head)
        self._head = [plan.physical.query.variable(ref) for ref in plan.physical.query.head]
        self._search = RowSearch(plan.physical.query, join, relations)

    def total(self) -> int:
        return max(self._join.total(), int(self._plan.is_global))

    def at(self, ranks: Words) -> Rows:
        if self._plan.is_global and self._join.total() == 0:
            return empty_group(self._plan, self._codec).take(ranks)
        return group_rows(self._plan, self._codec, self._join.results(ranks))

    def rows_of(self, keys: Words) -> tuple[Rows, Words]:
        query = self._plan.physical.query
        length = keys.shape[1]
        values, same = _by_variable(query, query.head, list(keys), length)
        found = self._join.find(values, length)
        is_there = found.times > 0
        # No rows have the annotation 0, which a group of all rows has too.
        annotations = np.where(is_there, found.annotations, 0)
        there = np.flatnonzero(same & (is_there | self._plan.is_global))
        words = np.concatenate([keys, annotations])[:, there]
        return group_rows(self._plan, self._codec, np.ascontiguousarray(words)), there

    def multiplicities(self, rows: Rows) -> Words:
        keys = rows.matrix(range(self.groups))
        found, there = self.rows_of(keys)
        times = np.zeros(rows.length, np.int64)
        times[there] = same_rows(found, rows.take(there))
        return times

    def leads(self, columns: Set[int]) -> bool:
        if columns >= set(range(self.groups)):
            return True
        known = frozenset(self._head[place] for place in columns if place < self.groups)
        return self._search.leads(known, self._join.needed.union(self._head))

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        if set(columns) >= set(range(self.groups)):
            keys = given.matrix([list(columns).index(group) for group in range(self.groups)])
            places = np.arange(given.length)
        else:
            values = {self._head[one]: given.codes(place) for place, one in enumerate(columns) if one < self.groups}
            bound, places = self._search.bindings(values, given.length, self._join.needed.union(self._head))
            keys = np.array([bound[name] for name in self._head], np.int64)
        rows, there = self.rows_of(keys)
        kept = with_values(rows, places[there], columns, given)
        return rows.take(kept), np.ones(kept.shape[0], np.int64), places[there][kept]


def _by_variable(
    query: ConjunctiveQuery, refs: Sequence[ColumnRef], lines: Sequence[Words], length: int
) -> tuple[dict[str, Words], npt.NDArray[np.bool_]]:
    """The words of each variable, and in which rows all columns of a variable agree."""
    values: dict[str, Words] = {}
    same = np.ones(length, bool)
    for ref, line in zip(refs, lines, strict=True):
        same &= values.setdefault(query.variable(ref), line) == line
    return values, same


def _hidden(query: ConjunctiveQuery, hidden: frozenset[str]) -> str:
    """Why a row does not tell how often it stands in the result."""
    names: dict[str, None] = {}
    for variable in sorted(hidden):
        held = [(atom, atom.column_of(variable)) for atom in query.atoms if variable in atom.variables]
        named = [one for one in held if not one[0].table.columns[one[1]].is_made]
        for atom, position in (named or held)[:1]:
            names[atom.readable(position)] = None
    return (
        f"a row does not show {', '.join(names)}, so that it may stand for many results, which no index counts; "
        "allowed are rows that show every column that the query joins or computes with: add these to SELECT, or ask a "
        "view with COUNT(*) and GROUP BY, or with SELECT DISTINCT"
    )
