"""The keys of a relation: sets of columns on which no two rows agree, NULL agreeing with NULL.

A set K of columns is a key if it determines the row and no row occurs twice. For a join of atoms R_1, ..., R_n under
bag semantics that is so if and only if K determines a row of every atom: a row of R_i is determined if all variables of
a key of R_i are (a functional dependency K_i -> R_i), and then all of its variables are. The closure of K under these
dependencies is the textbook's (Beeri and Bernstein, 1979); all minimal keys follow from one by leaving out, one at a
time, each of its columns (Lucchesi and Osborn, 1978). Found keys are keys; some may be missed, as predicates and
expressions are not looked into.

With branches K has to determine the row of the core, of which exists and not exists edges keep some. It then determines
whether an optional branch has a match and, if so, the columns of the edge's key in the branch, whose rows follow from
these and from the columns of the branch in K; it says nothing of the rows above, as without a match it is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import assert_never

from livejoin.query.conjunctive import ConjunctiveQuery
from livejoin.query.relational import (
    Aggregate,
    AsOf,
    Distinct,
    Join,
    Numbers,
    Project,
    Ranked,
    Relation,
    Repeated,
    Running,
    SetOperation,
    TopK,
)

Key = frozenset[int]

_MOST_KEYS = 16


def determined(query: ConjunctiveQuery, variables: frozenset[str]) -> frozenset[str]:
    """The variables of the core that some of its variables determine, these included, by the declared keys.

    A row of an atom is determined if all variables of a key of its table are, and then all of its variables are: the
    closure of functional dependencies (Beeri and Bernstein, 1979). Cost: atoms squared.

    >>> from livejoin.query import Atom
    >>> from livejoin.schema import Column, SqlType, Table
    >>> table = Table("R", tuple(Column(name, SqlType.integer(64), False) for name in "ka"), primary_key=(0,))
    >>> atom = Atom("R", table, (0, 1), ("k", "a"))
    >>> sorted(determined(ConjunctiveQuery("", (atom,), (), ()), frozenset("k")))
    ['a', 'k']
    """
    known = set(variables)
    grows = True
    while grows:
        grows = False
        for atom in (query.atoms[position] for position in query.core):
            variable = dict(zip(atom.columns, atom.variables, strict=True))
            found = any(all(variable.get(column) in known for column in key) for key in atom.table.keys)
            if found and not known.issuperset(atom.variables):
                known.update(atom.variables)
                grows = True
    return frozenset(known)


def keys(relation: Relation) -> tuple[Key, ...]:
    """The minimal keys of a relation by the positions of their columns, the shortest first; at most 16 of them.

    The empty key says that there is at most one row.

    Cost: one closure for each column of each key, of each relation below once; a few ms for dozens of atoms.

    >>> from livejoin.catalog import Catalog
    >>> from livejoin.sql import bind_query, parse_columns
    >>> catalog = Catalog()
    >>> catalog.add(parse_columns("R", "k INT PRIMARY KEY, a INT"))
    >>> sql = "SELECT A.a, B.k, A.k FROM R A JOIN R B ON A.a = B.k"
    >>> [sorted(key) for key in keys(bind_query(sql, catalog).root)]
    [[2]]
    >>> [sorted(key) for key in keys(bind_query("SELECT a, COUNT(*) FROM R GROUP BY a", catalog).root)]
    [[0]]
    """
    return _Found().keys(relation)


def closure(relation: Relation, columns: Key) -> Key:
    """The columns that some columns of a relation determine, these included; some may be missed."""
    return _Found().closure(relation, columns)


class _Found:
    """Keys of relations below one that stays, each found once: every closure asks for those of all inputs."""

    def __init__(self) -> None:
        self._keys: dict[int, tuple[Key, ...]] = {}
        self._dependencies: dict[int, list[list[frozenset[str]]]] = {}

    def keys(self, relation: Relation) -> tuple[Key, ...]:
        """The keys of one of them."""
        if id(relation) not in self._keys:
            self._keys[id(relation)] = self._find(relation)
        return self._keys[id(relation)]

    def _find(self, relation: Relation) -> tuple[Key, ...]:
        columns = frozenset(range(len(relation.types)))
        match relation:
            case Join():
                return self._of_join(relation)
            case Project():
                return _copied(relation, self.keys(relation.input))
            case Distinct():
                return _minimal([columns, *self.keys(relation.input)])
            case Aggregate():
                group = frozenset(range(relation.groups))
                return _all_minimal(group, lambda columns: group <= self.closure(relation.input, columns))
            case SetOperation():
                return self._of_set(relation, columns)
            case Ranked():
                partition = frozenset(relation.partition)
                is_first = relation.limit <= 1
                by_rank = partition if is_first else partition | {len(relation.input.types)}
                return _minimal([*([by_rank] if relation.function == "row_number" else []), *self.keys(relation.input)])
            case Running():
                return self.keys(relation.input)
            case AsOf():
                return self.keys(relation.left)  # of which each row stands once at most
            case TopK():
                return (frozenset(),) if relation.limit <= 1 else self.keys(relation.input)
            case Repeated():
                number = len(relation.input.types)
                own = self.keys(relation.input)
                return own if relation.count <= 1 else tuple(key | {number} for key in own)
            case Numbers():
                return (frozenset(),) if relation.count <= 1 else (columns,)
            case _:
                assert_never(relation)

    def closure(self, relation: Relation, columns: Key) -> Key:
        """The columns of one of them that some determine."""
        if any(key <= columns for key in self.keys(relation)):
            return frozenset(range(len(relation.types)))
        match relation:
            case Project():
                copies = {
                    i: output.source for i, output in enumerate(relation.outputs) if isinstance(output.source, int)
                }
                known = self.closure(relation.input, frozenset(copies[column] for column in columns & copies.keys()))
                return columns | {column for column, source in copies.items() if source in known}
            case Join():
                query = relation.query
                shown = _shown(query)
                known_variables = _grown(
                    {shown[column] for column in columns & shown.keys()}, query, self._of_atoms(relation)
                )
                return columns | {column for column, variable in shown.items() if variable in known_variables}
            case Repeated():
                number = len(relation.input.types)
                return columns | self.closure(relation.input, columns - {number})
            case Distinct() | Aggregate() | SetOperation() | TopK() | Ranked() | Running() | AsOf() | Numbers():
                return columns
            case _:
                assert_never(relation)

    def _of_set(self, relation: SetOperation, columns: Key) -> tuple[Key, ...]:
        """EXCEPT gives some of the left side's rows, INTERSECT some of both sides'."""
        found = [] if relation.all else [columns]
        if relation.kind != "union":
            found += self.keys(relation.left)
        if relation.kind == "intersect":
            found += self.keys(relation.right)
        return _minimal(found)

    def _of_join(self, join: Join) -> tuple[Key, ...]:
        query = join.query
        dependencies = self._of_atoms(join)
        variables = _shown(query)

        def is_key(columns: Key) -> bool:
            return _determines_rows({variables[column] for column in columns}, query, dependencies)

        return _all_minimal(frozenset(variables), is_key)

    def _of_atoms(self, join: Join) -> list[list[frozenset[str]]]:
        """For each atom the variables of its keys, of those whose columns the atom uses."""
        if id(join) in self._dependencies:
            return self._dependencies[id(join)]
        derived = {given.table.name: self.keys(given.relation) for given in join.inputs}
        found = []
        for atom in join.query.atoms:
            own = tuple(map(frozenset, atom.table.keys))
            all_keys = derived.get(atom.table.name, own)
            used = dict(zip(atom.columns, atom.variables, strict=True))
            found.append([frozenset(used[column] for column in key) for key in all_keys if key <= used.keys()])
        self._dependencies[id(join)] = found
        return found


def _grown(known: set[str], query: ConjunctiveQuery, dependencies: list[list[frozenset[str]]]) -> set[str]:
    """The variables of the core that some variables determine, these included."""
    open_atoms = set(query.core)
    while reached := {atom for atom in open_atoms if any(key <= known for key in dependencies[atom])}:
        open_atoms -= reached
        known = known.union(*(query.edges[atom] for atom in reached))
    return known


def _shown(query: ConjunctiveQuery) -> dict[int, str]:
    """The variables of the columns that a query copies."""
    return {
        position: query.variable(query.head[output.source])
        for position, output in enumerate(query.outputs)
        if isinstance(output.source, int)
    }


def _copied(relation: Project, of_input: tuple[Key, ...]) -> tuple[Key, ...]:
    """The keys whose columns a projection copies; a column that it copies twice stands for itself in either place."""
    places: dict[int, list[int]] = {}
    for position, output in enumerate(relation.outputs):
        if isinstance(output.source, int):
            places.setdefault(output.source, []).append(position)
    found: list[Key] = []
    for key in of_input:
        for chosen in product(*(places.get(column, []) for column in sorted(key))):
            if len(found) == _MOST_KEYS:
                break
            found.append(frozenset(chosen))
    return _minimal(found)


def _determines_rows(known: set[str], query: ConjunctiveQuery, dependencies: list[list[frozenset[str]]]) -> bool:
    """Whether some variables determine the rows of the core, and below these those of every optional branch."""
    if not _determines(known, query.core, query, dependencies):
        return False
    shown: set[int | None] = {None}
    for position, branch in enumerate(query.branches):
        if branch.kind == "optional" and branch.above in shown:
            shown.add(position)
            if not _determines(known.union(inner for _, inner in branch.key), branch.atoms, query, dependencies):
                return False
    return True


def _determines(
    known: set[str], atoms: Iterable[int], query: ConjunctiveQuery, dependencies: list[list[frozenset[str]]]
) -> bool:
    """Whether the closure of some variables has a row of each of some atoms that are joined."""
    open_atoms = set(atoms)
    while True:
        reached = {atom for atom in open_atoms if any(key <= known for key in dependencies[atom])}
        if not reached:
            return not open_atoms
        open_atoms -= reached
        known = known.union(*(query.edges[atom] for atom in reached))


def _all_minimal(columns: Key, is_key: Callable[[Key], bool]) -> tuple[Key, ...]:
    """The minimal sets that a monotone property holds for: each but the first lacks a column of one that is found."""
    found: list[Key] = []
    pending, seen = [columns], {columns}
    while pending and len(found) < _MOST_KEYS and len(seen) < _MOST_KEYS**2:
        within = pending.pop(0)
        if not is_key(within):
            continue
        key = within
        for column in sorted(within, reverse=True):
            if is_key(key - {column}):
                key -= {column}
        if key not in found:
            found.append(key)
        for column in sorted(key):
            rest = within - {column}
            if rest not in seen:
                seen.add(rest)
                pending.append(rest)
    return _minimal(found)


def _minimal(found: Iterable[Key]) -> tuple[Key, ...]:
    """The sets that contain no other one, the shortest first."""
    kept: list[Key] = []
    for key in sorted(set(found), key=lambda key: (len(key), sorted(key))):
        if not any(other <= key for other in kept):
            kept.append(key)
    return tuple(kept[:_MOST_KEYS])
