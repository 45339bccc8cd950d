"""Results of a join that have some values: the bindings of its variables that may be some, found along indexes.

A row of an atom is found by a key of its table, by the columns that a derived relation is found by, or, where the join
keeps lists of rows by the keys of its tree edges (`livejoin.families.join_access.RowLists`), by such a key. What a row
has binds more variables, by which rows of other atoms are found, until all are known that name a result: the closure of
functional dependencies (Beeri and Bernstein, 1979), with lists where no dependency leads on.

Law: the bindings that are found have all results with the given values, and perhaps others; whether one is a result
says `livejoin.families.join_access.JoinAccess.find`. Below an optional edge each binding stands there a second time,
with NULL in the place of what is below. Cost: O(atoms) where keys lead, else O(rows of the lists).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, assert_never

import numpy as np

from livejoin.dataflow.batches import Rows
from livejoin.dataflow.reading.access import Read
from livejoin.errors import ReadError
from livejoin.families.join_access import JoinAccess, RowLists
from livejoin.query import ConjunctiveQuery
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable
from livejoin.words import NULL_CODE, Words

if TYPE_CHECKING:
    from livejoin.query import Branch


@dataclass(frozen=True, eq=False)
class Relations:
    """What the atoms of a join stand for.

    Args:
        codec: The database's codec.
        tables: The base tables by their names in lower case.
        derived: The derived relations, by the names that the query has for them in lower case. Access to one is asked
            for when it is used: the relation may change where the join does not.
    """

    codec: Codec
    tables: Mapping[str, BaseTable]
    derived: Mapping[str, Read]


@dataclass(frozen=True)
class _Step:
    """How rows of an atom are found.

    Args:
        atom: Position of the atom.
        by: The columns of it by which they are found, which are bound.
        way: A key of the table, columns of a derived relation, or a list of the join's.
    """

    atom: int
    by: tuple[int, ...]
    way: Literal["key", "derived", "list"]


@dataclass(frozen=True)
class _Part:
    """The steps of the core (no branch), or of a branch."""

    branch: Branch | None
    steps: tuple[_Step, ...]


class RowSearch:
    """What leads to results of a join.

    Args:
        query: The join.
        join: The results of the join.
        relations: The tables and relations of its atoms.
    """

    def __init__(self, query: ConjunctiveQuery, join: JoinAccess, relations: Relations) -> None:
        self._query = query
        self._join = join
        self._relations = relations
        self._plans: dict[tuple[frozenset[str], frozenset[str]], tuple[_Part, ...] | None] = {}

    def leads(self, known: frozenset[str], wanted: frozenset[str]) -> bool:
        """Whether some variables lead to others, which name results that the join finds."""
        return self._tells and self._plan(known, wanted) is not None

    @cached_property
    def _tells(self) -> bool:
        """Whether the join finds results by the values of variables; it refuses that by its plan, also of none."""
        nothing = np.empty(0, np.int64)
        try:
            self._join.find(dict.fromkeys(self._join.needed, nothing), 0)
        except ReadError:
            return False
        return True

    def bindings(
        self, values: Mapping[str, Words], length: int, wanted: frozenset[str]
    ) -> tuple[Mapping[str, Words], Words]:
        """The bindings of the wanted variables, and of the given ones, that results with given values may have.

        Args:
            values: The words of variables that lead to the others, a line each.
            length: The length of a line.
            wanted: The other variables.

        Returns:
            The words of variables, each binding once for each position, and the position in the given lines of each.
        """
        parts = self._plan(frozenset(values), wanted)
        assert parts is not None, "somebody asked whether they lead there"
        found = _Bindings({name: np.ascontiguousarray(line) for name, line in values.items()}, np.arange(length))
        for part in parts:
            if part.branch is None:
                for step in part.steps:
                    found = self._taken(step, found)
            else:
                found = self._below(part.branch, part.steps, found)
        names = sorted(wanted.union(values))
        matrix = np.array([found.places, *(found.values[name] for name in names)], np.int64)
        distinct = np.unique(matrix, axis=1) if matrix.shape[1] > 1 else matrix
        return dict(zip(names, distinct[1:], strict=True)), distinct[0]

    def _plan(self, known: frozenset[str], wanted: frozenset[str]) -> tuple[_Part, ...] | None:
        """The steps from some variables to others; None if no index leads there. Cost: O(atoms squared), once."""
        asked = known, wanted
        if asked not in self._plans:
            self._plans[asked] = self._planned(known, wanted)
        return self._plans[asked]

    def _planned(self, known: frozenset[str], wanted: frozenset[str]) -> tuple[_Part, ...] | None:
        query = self._query
        bound = set(known)
        keys = {outer for branch in query.branches if branch.kind == "optional" for outer, _ in branch.key}
        steps = self._steps(query.core, bound, (wanted | keys) - known, wanted)
        if steps is None:
            return None
        parts = [_Part(None, steps)]
        for branch in query.branches:
            below = frozenset(variable for atom in branch.atoms for variable in query.atoms[atom].variables)
            if branch.kind != "optional" or not self._wants(branch, wanted):
                continue
            if not bound.issuperset(outer for outer, _ in branch.key):
                return None
            bound.update(inner for _, inner in branch.key)
            within = self._steps(branch.atoms, bound, (wanted | keys) & below, wanted)
            if within is None:
                return None
            parts.append(_Part(branch, within))
            bound |= below & wanted
        return tuple(parts)

    def _wants(self, branch: Branch, wanted: frozenset[str]) -> bool:
        """Whether a variable is wanted of a branch, or of what hangs on it."""
        query = self._query
        position = query.branches.index(branch)
        if any(wanted.intersection(query.atoms[atom].variables) for atom in branch.atoms):
            return True
        return any(self._wants(one, wanted) for one in query.branches if one.above == position)

    def _steps(
        self, atoms: tuple[int, ...], bound: set[str], goal: frozenset[str], wanted: frozenset[str]
    ) -> tuple[_Step, ...] | None:
        """The steps to the variables of a part; ``bound`` grows. Only those of the part are in the goal that count."""
        query = self._query
        own = frozenset(variable for atom in atoms for variable in query.atoms[atom].variables)
        steps: list[_Step] = []
        left = set(atoms)
        while not bound.issuperset(goal & own):
            step = self._next(left, bound)
            if step is None:
                return tuple(steps) if bound.issuperset(wanted & own) else None
            steps.append(step)
            left.discard(step.atom)
            bound.update(query.atoms[step.atom].variables)
        return tuple(steps)

    def _next(self, atoms: set[int], bound: set[str]) -> _Step | None:
        """The best step to an atom with variables that are not bound: one that finds a row at most, else a list."""
        lists: list[_Step] = []
        open_atoms = [atom for atom in sorted(atoms) if not bound.issuperset(self._query.atoms[atom].variables)]
        for atom in open_atoms:
            used = self._query.atoms[atom]
            columns = {
                column for column, variable in zip(used.columns, used.variables, strict=True) if variable in bound
            }
            table = self._relations.tables.get(used.table.name.lower())
            if table is not None and table.table.retain == "all":
                for key in table.table.keys:
                    if columns.issuperset(key):
                        return _Step(atom, key, "key")
            derived = self._relations.derived.get(used.table.name.lower())
            if derived is not None and derived.access().leads(frozenset(columns)):
                lists.append(_Step(atom, tuple(sorted(columns)), "derived"))
            elif isinstance(self._join, RowLists):
                keys = [key for key in self._join.lists(atom) if bound.issuperset(key)]
                if keys:
                    widest = max(keys, key=len)
                    lists.append(_Step(atom, tuple(used.column_of(variable) for variable in widest), "list"))
        return next((step for step in lists if step.way == "derived"), lists[0] if lists else None)

    def _below(self, branch: Branch, steps: tuple[_Step, ...], found: _Bindings) -> _Bindings:
        """Bindings with what an optional branch has for them, and with NULL in its place."""
        query = self._query
        given = dict(found.values)
        some = np.ones(found.places.shape[0], np.bool_)
        for outer, inner in branch.key:
            line = found.values[outer]
            some &= (line != NULL_CODE) & (found.values.get(inner, line) == line)
            given[inner] = line
        matched = _Bindings(given, found.places).chosen(np.flatnonzero(some))
        for step in steps:
            matched = self._taken(step, matched)
        below = {variable for atom in branch.atoms for variable in query.atoms[atom].variables}
        nothing = np.full(found.places.shape[0], NULL_CODE)
        nulls = {name: nothing if name in below else found.values[name] for name in matched.values}
        values = {name: np.concatenate([line, nulls[name]]) for name, line in matched.values.items()}
        return _Bindings(values, np.concatenate([matched.places, found.places]))

    def _taken(self, step: _Step, found: _Bindings) -> _Bindings:
        """Bindings with those of the rows of an atom."""
        atom = self._query.atoms[step.atom]
        variables = dict(zip(atom.columns, atom.variables, strict=True))
        length = found.places.shape[0]
        bound = [found.values[variables[column]] for column in step.by]
        given = np.array(bound, np.int64).reshape(len(step.by), length)
        match step.way:
            case "key":
                table = self._relations.tables[atom.table.name.lower()]
                ids = table.find_key(given, step.by)
                there = np.flatnonzero(ids >= 0)
                lines = table.columns_of(ids[there], atom.columns)
            case "derived":
                relation = self._relations.derived[atom.table.name.lower()].access()
                types = [atom.table.columns[column].type for column in step.by]
                asked = Rows(self._relations.codec, types, list(given), length)
                rows, _, there = relation.rows_with(step.by, asked)
                lines = rows.matrix(atom.columns)
            case "list":
                assert isinstance(self._join, RowLists)
                by = tuple(variables[column] for column in step.by)
                lines, there = self._join.rows_by(step.atom, by, given)
            case _:
                assert_never(step.way)
        taken = found.chosen(there)
        same = np.ones(there.shape[0], np.bool_)
        for variable, line in zip(atom.variables, lines, strict=True):
            same &= taken.values.setdefault(variable, line) == line
        return taken if same.all() else taken.chosen(np.flatnonzero(same))


@dataclass(frozen=True, eq=False)
class _Bindings:
    """The words of variables, and for each the position of what was asked for; the dict grows while it is made."""

    values: dict[str, Words]
    places: Words

    def chosen(self, rows: Words) -> _Bindings:
        """Those at some positions."""
        return _Bindings({name: line[rows] for name, line in self.values.items()}, self.places[rows])
