"""The rows of a join's tables that may be part of rows with some values, found before anything is joined.

Values that are given are values of columns of some atoms. The rows that have them give values of join columns, by which
rows of the next atoms are found, and so on: by a key of a table, along an index of a derived relation, else by one pass
over the words of a column.

Law: no row is left out that is part of a combination with the given values. Cost: a probe a row where keys lead, else
O(rows of the table).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.dataflow.batches import BATCH, Rows, no_rows, stack
from livejoin.dataflow.graph import Choices
from livejoin.dataflow.node import Node
from livejoin.dataflow.reading.asked_rows import AskedRows
from livejoin.errors import AbsentIndexError
from livejoin.plan.query_plan import plan_query
from livejoin.query import ConjunctiveQuery
from livejoin.query.bound_query import Query
from livejoin.query.relational import Join, Relation
from livejoin.schema import SqlType
from livejoin.words import NULL_CODE, Words

if TYPE_CHECKING:
    from livejoin.database.contents import Contents
    from livejoin.database.view import ViewOptions
    from livejoin.query import Branch

NAME = "the question"
_PROBES = 10_000  # of keys at most; more of them are found by a pass
_LARGE = 10_000  # rows, of which a pass takes longer than anybody notices
_VALUES = 1_000_000  # of a column that are handed on


@dataclass(frozen=True, eq=False)
class Found:
    """Rows of an atom.

    Args:
        rows: The rows, with all columns of the atom's table.
        copies: How often each stands there.
    """

    rows: Rows
    copies: Words


class Reader:
    """Reads tables and derived relations of a database as they are.

    Args:
        contents: The database's contents; blocks are added to it that go when its graph is tidied.
        options: How the view is maintained whose relations are read, so that its own blocks are found.
        scan: Whether large tables may be passed over where no key leads to their rows.
    """

    def __init__(self, contents: Contents, options: ViewOptions, scan: bool = True) -> None:
        self.contents = contents
        self._options = options
        self._scan = scan

    def words(self, values: Mapping[int, pa.Array], types: Sequence[SqlType]) -> dict[int, Words]:
        """The words of values by the positions of their columns; of one that no row has, a word that none has."""
        codec = self.contents.codec.known()
        return {at: AskedRows(codec, [types[at]], [value], 1).codes(0) for at, value in values.items()}

    def table_rows(self, name: str, sets: Mapping[int, Words]) -> Found:
        """Rows of a base table whose columns have one of some values each.

        Raises:
            AbsentIndexError: No key leads to them, the table is large, and a pass over it was not allowed.
        """
        base = self.contents.tables[name.lower()]
        rest = dict(sets)
        key = next((key for key in base.table.keys if probes(key, sets)), None)
        if key is not None and base.table.retain == "all":
            ids = base.find_key(_grid(key, sets), key)
            ids = ids[ids >= 0]
            rest = {column: values for column, values in sets.items() if column not in key}
            copies = np.ones(ids.shape[0], np.int64)
        else:
            self._refuse_large(f"table {base.table.name!r}", base.rows)
            ids, copies = base.live_rows()
        for column, values in rest.items():
            kept = np.flatnonzero(_among(base.columns_of(ids, [column])[0], values))
            ids, copies = ids[kept], copies[kept]
        types = [column.type for column in base.table.columns]
        words = base.values_of(np.ascontiguousarray(ids))
        return Found(Rows.of_words(self.contents.codec, types, words), copies)

    def derived_rows(self, relation: Relation, sets: Mapping[int, Words]) -> Found:
        """Rows of a derived relation whose columns have one of some values each."""
        node = self._node(relation)
        access, codec = node.access(), self.contents.codec
        columns = sorted(sets)
        if columns and probes(columns, sets) and access.leads(set(columns)):
            asked = Rows.of_words(codec, [relation.types[one] for one in columns], _grid(columns, sets))
            rows, copies, _ = access.rows_with(columns, asked)
            return Found(rows, copies)
        self._refuse_large("a sub-query", node.size())
        pieces, weights = [no_rows(codec, relation.types)], [np.empty(0, np.int64)]
        for rows, times in node.scan(BATCH):
            kept = np.ones(rows.length, np.bool_)
            for column in columns:
                kept &= _among(rows.codes(column), sets[column])
            some = np.flatnonzero(kept)
            if some.shape[0]:
                pieces.append(rows.take(some))
                weights.append(times[some])
        return Found(stack(pieces), np.concatenate(weights))

    def _refuse_large(self, what: str, rows: float) -> None:
        if not self._scan and rows > _LARGE:
            msg = (
                f"no key leads to the rows of {what}, and a pass over its {rows:,.0f} rows was not allowed; allow it "
                "with scan=True, or declare a key of the table by which its rows are found"
            )
            raise AbsentIndexError(msg)

    def _node(self, relation: Relation) -> Node:
        """The block of a relation: the one that is there, else one that is loaded now."""
        contents, options = self.contents, self._options
        query = Query("", relation)
        known = contents.known(query)
        plan = plan_query(query, known, False, options.algorithm, contents.workers.threads)
        node = contents.graph.add(plan, Choices(options.algorithm, options.adaptive, known, NAME))
        contents.graph.show(node, NAME, False, None)
        return node


def narrowed(reader: Reader, join: Join, given: Mapping[int, Words], is_null: frozenset[int]) -> list[Found]:
    """For each atom of a join the rows that may be part of a combination with some values.

    Args:
        reader: Reads the rows.
        join: The join.
        given: The words of outputs that copy columns, by their positions; one each.
        is_null: Which of them are NULL.
    """
    query = join.query
    derived = {one.table.name: one.relation for one in join.inputs}
    branch_of = {atom: branch for branch in query.branches for atom in branch.atoms}
    matched = _matched(join, given, is_null)
    sets: dict[str, Words] = {}
    for place, words in given.items():
        source = query.outputs[place].source
        assert isinstance(source, int)
        ref = query.head[source]
        branch = branch_of.get(ref.atom)
        if branch is None or query.branches.index(branch) in matched:
            sets[query.variable(ref)] = words
    handed = _handed(query)
    found: dict[int, Found] = {}
    while len(found) < len(query.atoms):
        _pass_on(query.branches, matched, sets)
        left = [atom for atom in range(len(query.atoms)) if atom not in found]
        atom = min(left, key=lambda one: _rank(reader, join, one, sets, branch_of.get(one)))
        one = query.atoms[atom]
        bound = {c: sets[v] for c, v in zip(one.columns, one.variables, strict=True) if v in sets}
        relation = derived.get(one.table.name)
        rows = reader.table_rows(one.table.name, bound) if relation is None else reader.derived_rows(relation, bound)
        found[atom] = rows
        for column, variable in zip(one.columns, one.variables, strict=True):
            if variable in handed and rows.rows.length <= _VALUES:
                sets[variable] = np.unique(rows.rows.codes(column))
    return [found[atom] for atom in range(len(query.atoms))]


def _matched(join: Join, given: Mapping[int, Words], is_null: frozenset[int]) -> frozenset[int]:
    """The branches that a row with the values has a match in: one that asks for it, and what has a value of it."""
    query = join.query
    found = {at for at, branch in enumerate(query.branches) if branch.kind == "exists"}
    for place in given.keys() - is_null:
        source = query.outputs[place].source
        assert isinstance(source, int)
        atom = query.head[source].atom
        at = next((at for at, branch in enumerate(query.branches) if atom in branch.atoms), None)
        while at is not None:
            found.add(at)
            at = query.branches[at].above
    return frozenset(at for at in found if _all_above(query.branches, at, found))


def _all_above(branches: tuple[Branch, ...], at: int, found: set[int]) -> bool:
    above = branches[at].above
    return above is None or (above in found and _all_above(branches, above, found))


def _pass_on(branches: tuple[Branch, ...], matched: frozenset[int], sets: dict[str, Words]) -> None:
    """Hand values over the edges of branches: down always, up where there must be a match."""
    for at, branch in enumerate(branches):
        for outer, inner in branch.key:
            if outer in sets and inner not in sets:
                sets[inner] = sets[outer][sets[outer] != NULL_CODE]
            elif inner in sets and outer not in sets and at in matched:
                sets[outer] = sets[inner]


def _rank(
    reader: Reader, join: Join, atom: int, sets: Mapping[str, Words], branch: Branch | None
) -> tuple[int, int, int]:
    """What is read first: what a key finds, then what has the fewest values, then the core, then branches."""
    one = join.query.atoms[atom]
    bound = {c: sets[v] for c, v in zip(one.columns, one.variables, strict=True) if v in sets}
    base = reader.contents.tables.get(one.table.name.lower())
    fewest = min((values.shape[0] for values in bound.values()), default=0)
    if base is not None and any(probes(key, bound) for key in base.table.keys):
        return 0, fewest, atom
    return (1, fewest, atom) if bound else (2, branch is not None, atom)


def _handed(query: ConjunctiveQuery) -> set[str]:
    """The variables by whose values rows of other atoms are found."""
    often = Counter(variable for atom in query.atoms for variable in atom.variables)
    keys = {variable for branch in query.branches for pair in branch.key for variable in pair}
    return keys | {variable for variable, times in often.items() if times > 1}


def probes(columns: Sequence[int], sets: Mapping[int, Words]) -> bool:
    """Whether rows are found by their values in some columns at a cost below that of a pass."""
    return all(column in sets for column in columns) and prod(sets[one].shape[0] for one in columns) <= _PROBES


def _grid(columns: Sequence[int], sets: Mapping[int, Words]) -> Words:
    """All combinations of values, of shape (columns, combinations)."""
    axes = np.meshgrid(*(sets[column] for column in columns), indexing="ij")
    return np.array([axis.ravel() for axis in axes], np.int64).reshape(len(columns), -1)


def _among(words: Words, values: Words) -> npt.NDArray[np.bool_]:
    return words == values[0] if values.shape[0] == 1 else np.isin(words, values)
