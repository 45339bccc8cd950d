"""Access to the results of a foreign-key join: a result is a live row of the root, by its rank or by its values.

The root's row is found in the index of its table, by all columns or by a key, or else among the parents of one of its
children's keys. By such a key all rows that are linked to it are listed. What the other tables have in the result is
read along its links and compared with what is asked for.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from livejoin.errors import ReadError
from livejoin.families.arena.join import ArenaJoin
from livejoin.families.join_access import Found, RowIndexes, Values
from livejoin.families.ranks import RankKernels, RankPlan, Ranks, no_annotations
from livejoin.kernels.foreign_keys import layout as f
from livejoin.kernels.foreign_keys import ranks as kernel
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import look_up
from livejoin.state.derived_rows import DerivedRows
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.foreign_keys.graph import Link
    from livejoin.families.foreign_keys.plan import ForeignKeyPlan


class ForeignKeyAccess:
    """The results of a foreign-key join as they are now.

    Args:
        join: The join.
        tables: The tables of its atoms.
    """

    def __init__(self, join: ArenaJoin[ForeignKeyPlan], tables: RowIndexes) -> None:
        self._plan = join.plan
        self._arena = join.arena.words
        self._tables = tables
        self._ranks = Ranks(_rank_plan(join.plan), join.arena.words, _kernels(join.plan))
        used = join.plan.query.atoms[join.plan.root]
        self.needed = frozenset(v for v in used.variables if self._key is None or used.column_of(v) in self._key)

    def total(self) -> int:
        return self._ranks.total

    def results(self, ranks: Words) -> Words:
        return self._ranks.results(ranks)

    def find(self, values: Values, length: int) -> Found:
        rows, times = self._by_index(values, length) if self._key is not None else self._by_link(values, length)
        known = self._shown(rows, length)
        for variable, line in known.items():
            times = times * (line == values.get(variable, line))
        return Found(times, no_annotations(length), known)

    def lists(self, atom: int) -> tuple[tuple[str, ...], ...]:
        """As `livejoin.families.join_access.RowLists`: by the keys that its rows are linked to."""
        return tuple(link.over for _, link in self._listing(atom))

    def rows_by(self, atom: int, variables: tuple[str, ...], given: Words) -> tuple[Words, Words]:
        """As `livejoin.families.join_access.RowLists`."""
        plan, m = self._plan, self._arena
        place, link = next(one for one in self._listing(atom) if one[1].over == variables)
        child = plan.node_offsets[link.child]
        directory, key = plan.words[[child + f.N_DIRECTORY, child + f.N_ENTRY_KEY]].tolist()
        entries, ends = np.zeros((2, given.shape[1]), np.int64)
        look_up.find_entries(m, directory, key, np.ascontiguousarray(given), entries)
        edge = int(plan.words[plan.node_offsets[atom] + f.N_CHILD_LIST]) + f.CHILD * place
        rows = np.empty(0, np.int64)
        rows = np.empty(kernel.list_parents(m, plan.words, edge, entries, rows, ends), np.int64)
        kernel.list_parents(m, plan.words, edge, entries, rows, ends)
        offsets = np.array([self._offset(atom, variable) for variable in plan.query.atoms[atom].variables], np.int64)
        there = np.repeat(np.arange(ends.shape[0]), np.diff(ends, prepend=0))
        return m[rows[np.newaxis, :] + offsets[:, np.newaxis]], there

    def _listing(self, atom: int) -> list[tuple[int, Link]]:
        """The edges from an atom whose keys have lists of its rows, with their places among its children."""
        links = self._plan.graph.below[atom]
        return [(place, link) for place, link in enumerate(links) if link not in self._plan.quiet.links]

    @cached_property
    def _key(self) -> tuple[int, ...] | None:
        """The columns of the root's table by which its index finds a row: of a key, or all; None if some are unused."""
        used = self._plan.query.atoms[self._plan.root]
        if len(used.columns) == len(used.table.columns):
            return used.columns
        return next((key for key in used.table.keys if set(key) <= set(used.columns)), None)

    def _by_index(self, values: Values, length: int) -> tuple[Words, Words]:
        """The live rows of the root with some values, of which there is one at most, 0 for none; how often each is."""
        plan, m = self._plan, self._arena
        used, at = plan.query.atoms[plan.root], plan.node_offsets[plan.root]
        assert self._key is not None
        given = _matrix([used.variables[used.columns.index(column)] for column in self._key], values, length)
        index = self._tables[used.table.name.lower()]
        if len(self._key) == len(used.table.columns):
            ids = index.find(given)
        else:
            assert not isinstance(index, DerivedRows)  # whose rows are found by all columns
            ids = index.find_key(given, self._key)
        rows, times = np.zeros((2, length), np.int64)
        there = np.flatnonzero(ids >= 0)
        table = int(plan.words[q.P_FIRST_TABLE]) + int(plan.words[at + f.N_TABLE]) * q.PLAN_TABLE
        header, stride = plan.words[[table + q.PT_HEADER, table + q.PT_STRIDE]].tolist()
        ids = ids[there]
        rows[there] = m[m[header + q.T_CHUNKS] + (ids >> q.CHUNK_BITS)] + (ids & (q.CHUNK_ROWS - 1)) * stride
        state = m[rows[there] + int(plan.words[at + f.N_OWN]) + f.R_STATE]
        times[there] = np.where(state & f.ALIVE, state >> f.COUNTER_BITS, 0)
        return np.where(times, rows, 0), times

    def _by_link(self, values: Values, length: int) -> tuple[Words, Words]:
        """A live row of the root with some values, 0 for none, and how often all of them are there together."""
        plan = self._plan
        used, at = plan.query.atoms[plan.root], plan.node_offsets[plan.root]
        links = plan.graph.below[plan.root]
        if not links:
            msg = (
                f"the query does not use all columns of {used.table.name!r}, which has no primary key among those that "
                "it uses, so that its rows could be found; use all columns or declare a primary key, or ask a view "
                "with COUNT(*) and GROUP BY these columns"
            )
            raise ReadError(msg)
        place = max(range(len(links)), key=lambda i: len(links[i].over))
        child = plan.node_offsets[links[place].child]
        directory, key = plan.words[[child + f.N_DIRECTORY, child + f.N_ENTRY_KEY]].tolist()
        entries, rows, times = np.zeros((3, length), np.int64)
        wanted = _matrix(links[place].over, values, length)
        look_up.find_entries(self._arena, directory, key, wanted, entries)
        offsets = np.array([self._offset(plan.root, variable) for variable in used.variables], np.int64)
        given = _matrix(used.variables, values, length)
        below = int(plan.words[at + f.N_CHILD_LIST]) + f.CHILD * place
        kernel.sum_parents(self._arena, plan.words, below, entries, offsets, given, rows, times)
        return rows, times

    def _shown(self, rows: Words, length: int) -> dict[str, Words]:
        """The values of the results of rows of the root, where there are such rows."""
        plan = self._plan
        steps = plan.steps
        there = np.flatnonzero(rows)
        found = rows[there]
        known: dict[str, Words] = {}
        at: list[Words] = []
        listed = int(plan.words[f.P_STEP_LIST])
        for place, step in enumerate(steps):
            if place:
                begin = listed + f.STEP * place
                _, link, null, least = plan.words[begin : begin + f.STEP].tolist()
                holds = self._arena[self._arena[at[step.source] + link + f.L_ENTRY] + f.E_HOLDS]
                found = np.where((holds < least) & step.optional, null, holds & (f.HOLDS_ALIVE - 1))
            at.append(found)
            for variable in plan.query.atoms[step.relation].variables:
                known[variable] = np.zeros(length, np.int64)
                known[variable][there] = self._arena[found + self._offset(step.relation, variable)]
        return known

    def _offset(self, relation: int, variable: str) -> int:
        """Where the records of a relation have a variable."""
        use = next(use for use in self._plan.tables if relation in use.atoms)
        return use.columns.index(self._plan.query.atoms[relation].column_of(variable))


def _kernels(plan: ForeignKeyPlan) -> RankKernels:
    """The kernels of ranks, with a cursor of their own."""
    cursor = np.zeros(plan.cursor_words, np.int64)

    def descend(arena: Words, words: Words, sums: Words, ranks: Words, rows: Words) -> None:
        kernel.descend(arena, words, sums, ranks, rows, cursor)

    return RankKernels(kernel.weigh, kernel.total, descend)


def _rank_plan(plan: ForeignKeyPlan) -> RankPlan:
    columns, at = plan.words[[f.P_COLUMNS, f.P_COLUMN_LIST]].tolist()
    listed = plan.words[at : at + 3 * columns].reshape(-1, 3)
    outputs = tuple((int(step), int(offset)) for _, step, offset in listed)
    return RankPlan(plan.query, plan.words, len(plan.steps), outputs, 0, 0)


def _matrix(variables: tuple[str, ...] | list[str], values: Values, length: int) -> Words:
    """The words of variables, of shape (variables, length), C order."""
    return np.array([values[v] for v in variables], np.int64).reshape(len(variables), length)
