"""Access to the results of the join-tree plan.

By rank as `livejoin.families.ranks`. By values: these determine the row of every connex node, and the values are a
result if and only if each of these rows is in its semi-join view. A row of an atom is found in the index of its base
table, one probe an atom, if the query uses all columns of the table or one of its keys; a derived row in its directory.
Of other atoms, which stand for several base rows, those are added up that agree in the columns of the query, among the
rows with the widest key that a tree edge has: O(rows with this key).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from livejoin.errors import CapacityError, ReadError
from livejoin.families.arena.join import ArenaJoin
from livejoin.families.join_access import Found, RowIndexes, Values
from livejoin.families.ranks import RankKernels, RankPlan, Ranks, no_annotations, program_outputs
from livejoin.kernels.crown import layout as u
from livejoin.kernels.crown import ranks as kernel
from livejoin.kernels.crown.look_up import sum_block
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.kernels.memory import look_up
from livejoin.state.derived_rows import DerivedRows
from livejoin.words import NULL_CODE, Words

if TYPE_CHECKING:
    from livejoin.families.crown.plan import CrownPlan

_KERNELS = RankKernels(kernel.weigh, kernel.total, kernel.descend, kernel.annotate)
_MAX_MULTIPLICITY = 9.0e18


@dataclass(frozen=True, eq=False)
class _Part:
    """How results are made of a part of the tree.

    Args:
        times: How often they stand in it, exactly where ``rough`` is not too large.
        rough: The same as a double.
        rows: The rows of its nodes.
        keys: The keys of what hangs on it by optional edges, NULL where nothing has them.
    """

    times: Words
    rough: npt.NDArray[np.float64]
    rows: dict[int, Words]
    keys: dict[str, Words]


@dataclass(frozen=True)
class _Edge:
    """A tree edge at which the rows of an atom are grouped by a key.

    Args:
        variables: The key.
        directory: The directory of the edge, 0 for the one group of the root.
        key: Offset of the key in an entry.
        block: From an entry to the reference of the rows' block.
        length: From an entry to the word that has their number in its upper half.
        only: Whether all rows of the block are in the semi-join view.
    """

    variables: tuple[str, ...]
    directory: int
    key: int
    block: int
    length: int
    only: bool


class TreeAccess:
    """The results of a join tree as they are now.

    Args:
        join: The join.
        tables: The tables of its atoms.
    """

    def __init__(self, join: ArenaJoin[CrownPlan], tables: RowIndexes) -> None:
        plan = join.plan
        self._plan = plan
        self._arena = join.arena.words
        self._tables = tables
        self._ranks = Ranks(_rank_plan(plan), join.arena.words, _KERNELS)
        self._optional = _optional_edges(plan)
        self.needed = _needed(plan) if plan.query.free is None else plan.query.free

    def lists(self, atom: int) -> tuple[tuple[str, ...], ...]:
        """As `livejoin.families.join_access.RowLists`: by the keys of the tree edges of its node."""
        return tuple(edge.variables for edge in _listing_edges(self._plan, atom))

    def rows_by(self, atom: int, variables: tuple[str, ...], given: Words) -> tuple[Words, Words]:
        """As `livejoin.families.join_access.RowLists`."""
        plan, m = self._plan, self._arena
        edge = next(edge for edge in _listing_edges(plan, atom) if edge.variables == variables)
        entries = np.empty(given.shape[1], np.int64)
        look_up.find_entries(m, edge.directory, edge.key, np.ascontiguousarray(given), entries)
        there = np.flatnonzero(entries)
        lengths = m[entries[there] + edge.length] >> 32
        first = np.repeat((m[entries[there] + edge.block] & k.REF_MASK) - np.cumsum(lengths) + lengths, lengths)
        rows = m[first + np.arange(first.shape[0])]
        use = next(use for use in plan.tables if atom in use.atoms)
        used = plan.query.atoms[atom]
        offsets = np.array([use.columns.index(column) for column in used.columns], np.int64)
        return m[rows[np.newaxis, :] + offsets[:, np.newaxis]], np.repeat(there, lengths)

    def total(self) -> int:
        return self._ranks.total

    def results(self, ranks: Words) -> Words:
        return self._ranks.results(ranks)

    def find(self, values: Values, length: int) -> Found:
        plan = self._plan
        part = self._part(0, values, length)
        times, rough = part.times, part.rough
        known = {**values, **part.keys}
        if rough.max(initial=0) > _MAX_MULTIPLICITY:
            msg = f"a row stands about {rough.max():.3g} times in the result, more than 64 bits count"
            raise CapacityError(msg)
        if not plan.query.sums:
            return Found(times, no_annotations(length), known)
        there = np.flatnonzero(times)
        annotations = np.zeros((int(plan.words[q.P_WORDS]), length), np.int64)
        annotations[:, there] = self._ranks.annotations(np.array([part.rows[step][there] for step in _order(plan)]))
        return Found(times, annotations, known)

    def _part(self, root: int, values: Values, length: int) -> _Part:
        """How rows are made of a part of the tree.

        A part is a node with all connex ones below it; what is below an optional edge has the values, or NULL in their
        place where nothing has the key.
        """
        plan = self._plan
        bag = plan.query.free is None
        times, rough = np.ones(length, np.int64), np.ones(length)
        rows: dict[int, Words] = {}
        keys: dict[str, Words] = {}
        waiting = [root]
        for position in waiting:
            node = plan.nodes[position]
            waiting += [child for child in node.children if plan.nodes[child].connex and child not in self._optional]
            for child in self._optional.intersection(node.children):
                below = self._or_nulls(child, values, length)
                times *= below.times
                rough *= below.rough
                keys |= below.keys
            if bag and node.atom is None:
                continue
            if node.atom is None:
                found, rows[position] = self._derived(position, values, length)
            elif plan.query.is_distinct(node.atom):
                found, rows[position] = self._row(position, node.atom, values, length)
            else:
                found = self._group(position, node.atom, values, length)
            times *= found if bag else found > 0
            rough *= found if bag else 1
        return _Part(times, rough, rows, keys)

    def _or_nulls(self, root: int, values: Values, length: int) -> _Part:
        """How rows are made of an optional part for the rows above."""
        plan = self._plan
        node, at = plan.nodes[root], plan.node_offsets[root]
        given = dict(zip(node.key, (values[outer] for outer in node.parent_key), strict=True))
        agree = np.ones(length, bool)
        for inner, line in given.items():
            agree &= (line == values.get(inner, line)) & (line != NULL_CODE)
        directory, key = plan.words[[at + u.N_DIRECTORY, at + u.N_ENTRY_KEY]].tolist()
        lines = np.array([*given.values()], np.int64).reshape(len(given), length)
        entries = np.empty(length, np.int64)
        look_up.find_entries(self._arena, directory, key, lines, entries)
        is_empty = (self._arena[entries + u.S_LEN] >> 32 == 0) | (entries == 0)
        for variable in _shown_below(plan, root) & values.keys():
            is_empty &= values[variable] == NULL_CODE
        part = self._part(root, {**values, **given}, length)
        keys = {name: np.where(is_empty, NULL_CODE, line) for name, line in {**given, **part.keys}.items()}
        times, rough = (np.where(agree, found, 0) + is_empty for found in (part.times, part.rough))
        return _Part(times, rough, part.rows, keys)

    def _derived(self, position: int, values: Values, length: int) -> tuple[Words, Words]:
        """Whether the derived rows with some values are in ``V_s``, and the rows."""
        at = self._plan.node_offsets[position]
        directory, key = self._plan.words[[at + u.N_ROWS_DIRECTORY, at + u.N_ROWS_KEY]].tolist()
        rows = self._entries(directory, key, self._plan.nodes[position].variables, values, length)
        there = np.flatnonzero(rows)
        found = np.zeros(length, np.int64)
        found[there] = self._is_whole(position, rows[there])
        return found, rows

    def _row(self, position: int, atom: int, values: Values, length: int) -> tuple[Words, Words]:
        """The multiplicities of an atom's rows with some values, of which there is one at most, and the rows."""
        m = self._arena
        place = _place(self._plan, position)
        index = self._tables[self._plan.query.atoms[atom].table.name.lower()]
        if place.key is None:
            ids = index.find(_matrix(place.variables, values, length))
        else:
            assert not isinstance(index, DerivedRows)  # whose rows are found by all columns
            ids = index.find_key(_matrix(place.key, values, length), place.columns)
        there = np.flatnonzero(ids >= 0)
        ids = ids[there]
        found = m[m[place.header + q.T_CHUNKS] + (ids >> q.CHUNK_BITS)] + (ids & (q.CHUNK_ROWS - 1)) * place.stride
        rows, times = np.zeros((2, length), np.int64)
        rows[there] = found
        times[there] = (m[found + place.state] >> u.COUNTER_BITS) * self._is_whole(position, found)
        if place.key is not None:
            for offset, variable in zip(place.offsets, place.variables, strict=True):
                times *= (rows != 0) & (m[rows + offset] == values[variable])
        return times, rows

    def _group(self, position: int, atom: int, values: Values, length: int) -> Words:
        """How often an atom has rows with some values, of which there may be several."""
        plan, m = self._plan, self._arena
        used = plan.query.atoms[atom]
        edge = _widest_edge(plan, position)
        others = [v for v in used.variables if v not in edge.variables]
        if others and not edge.variables:
            msg = (
                f"the query does not use all columns of {used.table.name!r}, which has no primary key among those that "
                f"it uses, and nothing is joined to {used.alias!r} by which its rows could be found; use all columns "
                "or declare a primary key, or ask a view with COUNT(*) and GROUP BY these columns"
            )
            raise ReadError(msg)
        entries = np.full(length, u.H_ROOT)
        if edge.directory:
            entries = self._entries(edge.directory, edge.key, edge.variables, values, length)
        there = np.flatnonzero(entries)
        blocks = m[entries[there] + edge.block] & k.REF_MASK
        lengths = m[entries[there] + edge.length] >> 32
        found = np.zeros(length, np.int64)
        if not others and edge.only and m[q.H_DUPLICATES] == 0:
            found[there] = lengths
            return found
        table = next(use for use in plan.tables if atom in use.atoms)
        offsets = np.array([table.columns.index(used.column_of(v)) for v in others], np.int64)
        sums = np.empty(there.shape[0], np.int64)
        given = np.ascontiguousarray(_matrix(others, values, length)[:, there])
        node = plan.node_offsets[position]
        sum_block(m, plan.words, node, blocks, lengths, offsets, given, sums)
        found[there] = sums
        return found

    def _entries(self, directory: int, key: int, variables: tuple[str, ...], values: Values, length: int) -> Words:
        """The entries of keys in a directory, 0 where there is none."""
        entries = np.empty(length, np.int64)
        look_up.find_entries(self._arena, directory, key, _matrix(variables, values, length), entries)
        return entries

    def _is_whole(self, position: int, rows: Words) -> npt.NDArray[np.bool_]:
        """Whether rows have a partner in every child, and so are in ``V_s``."""
        at = self._plan.node_offsets[position]
        counters = self._arena[rows + int(self._plan.words[at + u.N_STATE])] & u.COUNTER_MASK
        whole: npt.NDArray[np.bool_] = counters == len(self._plan.nodes[position].children)
        return whole


@dataclass(frozen=True)
class _Place:
    """Where the rows of an atom are.

    Args:
        header: Reference of the header of its table's records.
        stride: Words a record.
        state: Offset of the word STATE in it.
        variables: The atom's variables.
        offsets: The offset of each of them in a record.
        key: The variables of a key of the table, if that is what rows are found by; None if it is all columns.
        columns: The columns of this key.
    """

    header: int
    stride: int
    state: int
    variables: tuple[str, ...]
    offsets: tuple[int, ...]
    key: tuple[str, ...] | None
    columns: tuple[int, ...] | None


@lru_cache(maxsize=256)
def _optional_edges(plan: CrownPlan) -> frozenset[int]:
    """The connex nodes below optional edges."""
    return frozenset(i for i, node in enumerate(plan.nodes) if node.connex and node.edge == "optional")


@lru_cache(maxsize=256)
def _needed(plan: CrownPlan) -> frozenset[str]:
    """The variables of connex nodes but the keys of optional ones, which are NULL or equal to others."""
    keys = {variable for i in _optional_edges(plan) for variable in plan.nodes[i].key}
    return _shown_below(plan, 0) - keys


@lru_cache(maxsize=256)
def _shown_below(plan: CrownPlan, root: int) -> frozenset[str]:
    """The variables of the connex nodes in a subtree."""
    below = [root]
    for position in below:
        below += [child for child in plan.nodes[position].children if plan.nodes[child].connex]
    return frozenset(variable for position in below for variable in plan.nodes[position].variables)


@lru_cache(maxsize=256)
def _place(plan: CrownPlan, position: int) -> _Place:
    atom = plan.nodes[position].atom
    assert atom is not None
    used = plan.query.atoms[atom]
    table = next(i for i, use in enumerate(plan.tables) if atom in use.atoms)
    at = int(plan.words[q.P_FIRST_TABLE]) + table * q.PLAN_TABLE
    header, stride = plan.words[[at + q.PT_HEADER, at + q.PT_STRIDE]].tolist()
    key = columns = None
    if len(used.columns) < len(used.table.columns):
        columns = next(key for key in used.table.keys if set(key) <= set(used.columns))
        key = tuple(used.variables[used.columns.index(column)] for column in columns)
    return _Place(
        header,
        stride,
        int(plan.words[plan.node_offsets[position] + u.N_STATE]),
        used.variables,
        tuple(plan.tables[table].columns.index(column) for column in used.columns),
        key,
        columns,
    )


def _matrix(variables: tuple[str, ...] | list[str], values: Values, length: int) -> Words:
    """The words of variables, of shape (variables, length), C order."""
    return np.array([values[v] for v in variables], np.int64).reshape(len(variables), length)


@lru_cache(maxsize=256)
def _rank_plan(plan: CrownPlan) -> RankPlan:
    program = int(plan.words[q.P_FULL])
    steps = int(plan.words[program + u.G_DEPTHS]) - 1
    annotation = int(plan.words[q.P_WORDS])
    outputs = program_outputs(plan.words, program + u.G_OUTER, 1, steps - 1)
    return RankPlan(plan.query, plan.words, steps, outputs, annotation, 2 * annotation)


@lru_cache(maxsize=256)
def _order(plan: CrownPlan) -> tuple[int, ...]:
    """The nodes in the order of the steps of the full enumeration."""
    at = int(plan.words[plan.words[q.P_FULL] + u.G_STEPS])
    steps = plan.words[at : at + _rank_plan(plan).steps * u.STEP].reshape(-1, u.STEP)
    return tuple(plan.node_offsets.index(int(node)) for node in steps[:, u.STEP_NODE])


def _widest_edge(plan: CrownPlan, position: int) -> _Edge:
    """The tree edge of an atom's node whose key has most variables."""
    return max(_edges(plan, position), key=lambda edge: len(edge.variables))


@lru_cache(maxsize=256)
def _listing_edges(plan: CrownPlan, atom: int) -> tuple[_Edge, ...]:
    """The tree edges at which the rows of an atom are listed by a key; none of an atom whose rows are only counted."""
    position = next(place for place, node in enumerate(plan.nodes) if node.atom == atom)
    if not plan.nodes[position].connex:
        return ()
    return tuple(edge for edge in _edges(plan, position) if edge.variables)


@lru_cache(maxsize=256)
def _edges(plan: CrownPlan, position: int) -> list[_Edge]:
    """The tree edges of an atom's node at which its rows are listed; of the root's all rows have one, without a key."""
    words, node, at = plan.words, plan.nodes[position], plan.node_offsets[position]
    if node.parent is None:
        edges = [_Edge((), 0, 0, u.S_BLOCK, u.S_LEN, True)]
    elif words[at + u.N_LINKED]:
        directory, key = words[[at + u.N_DIRECTORY, at + u.N_ENTRY_KEY]].tolist()
        edges = [_Edge(node.key, directory, key, u.S_BLOCK, u.S_LEN, True)]
    else:
        above = plan.node_offsets[node.parent]
        directory, key = words[[above + u.N_ROWS_DIRECTORY, above + u.N_ROWS_KEY]].tolist()
        slot = u.SLOT * int(words[at + u.N_INDEX])
        edges = [_Edge(node.key, directory, key, slot + u.S_BLOCK, slot + u.S_LEN, True)]
    for child in node.children:
        if plan.nodes[child].quiet:
            continue
        below = plan.node_offsets[child]
        directory, key = words[[below + u.N_DIRECTORY, below + u.N_ENTRY_KEY]].tolist()
        edges.append(_Edge(plan.nodes[child].parent_key, directory, key, u.E_PARENT_BLOCK, u.E_PARENTS, False))
    return edges
