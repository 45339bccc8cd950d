"""How a join is split into cells, each maintained by a thread: the rows of one variable's values come to one cell.

This is HyperCube with a single share (Afrati and Ullman, EDBT 2010; Beame, Koutris and Suciu, PODS 2013): atoms with
the variable are split by its values, the others are replicated in every cell. A combination of rows that join agrees on
the variable, so it is found in the cell of its value and nowhere else. Law: results with multiplicities are the
multiset union of the cells' results, for every variable; distinct and annotated results are their disjoint union if the
variable is an output variable. Where there is no output, there is one annotation, which is the sum of the cells'
(`livejoin.families.cells.added`), for every variable.

Threads keep to one variable, where processes have a grid of shares and heavy values of their own
(`livejoin.theory.hypercube`, `livejoin.plan.dispatch`). Cells of threads share the tables of one database, so that a
replicated row costs them a number and a record and is neither sent nor stored again, and there are few of them: of 2 or
3 cells a vector of shares is one variable, and of 4 it is two only where atoms are cyclic or long chains. A second
dimension would take a second look at each value in each cell and event (`livejoin.kernels.route`), and cells here are
found by the words of one process. What is the same for both is the hash that scatters words over cells
(`livejoin.kernels.values.hashes`), and how branches follow their core (`ConjunctiveQuery.carried`).

What hangs on a join by edges that are not inner follows it: a row of the core is in one cell, and there are all rows
that it may match. So the variable is one of the core. The atoms of a branch are split by what equals it by the keys on
the way, and the others are replicated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from livejoin.families.layout.table_use import TableUse
from livejoin.query import ConjunctiveQuery
from livejoin.search.problem import expected_changes
from livejoin.search.statistics import Statistics


@dataclass(frozen=True)
class TableSplit:
    """Where the rows of a table go.

    Args:
        columns: Positions of its columns that carry the partition variable.
        atoms: For each of them, a word with the bit of every atom that carries the variable there.
        replicated: A word with the bits of the atoms that do not have the variable, whose rows go to all cells.
    """

    columns: tuple[int, ...]
    atoms: tuple[int, ...]
    replicated: int


@dataclass(frozen=True)
class Partition:
    """A join in cells.

    Args:
        cells: The number of cells; 1 if rows are only left out where they take part in no atom.
        variable: The variable whose values split the join; empty for one cell.
        replicated: Positions of the atoms without that variable.
        tables: How each table of the plan is split, in the plan's order.
        added: Whether the cells' annotations are added up; else their results are put together.
        busiest: The share of the expected changes that comes to the busiest cell.
    """

    cells: int
    variable: str
    replicated: tuple[int, ...]
    tables: tuple[TableSplit, ...]
    added: bool = False
    busiest: float = field(default=1.0, compare=False, repr=False)


def partition(
    query: ConjunctiveQuery, tables: Sequence[TableUse], cells: int, statistics: Statistics
) -> Partition | None:
    """Split a join into cells, by `partition_variable`.

    Args:
        query: The query.
        tables: The tables of the query's plan.
        cells: How many cells, at least 2.
        statistics: Figures of the tables.

    Returns:
        The partition; None if there is no variable by which the cells' results may be put together.
    """
    variable = partition_variable(query, cells, statistics)
    if variable is None:
        return None
    split = _columns(query, variable)
    replicated = tuple(i for i in range(len(query.atoms)) if i not in split)
    busiest = busiest_share(query, variable, cells, statistics)
    ways = tuple(_split(query, use, split) for use in tables)
    return Partition(cells, variable, replicated, ways, is_added(query), busiest)


def passing_rows(query: ConjunctiveQuery, tables: Sequence[TableUse]) -> Partition:
    """One cell, which has the rows that take part in some atom: others are not numbered, and have no record."""
    every = tuple(TableSplit((), (), reduce(int.__or__, (1 << atom for atom in use.atoms), 0)) for use in tables)
    return Partition(1, "", tuple(range(len(query.atoms))), every)


def is_added(query: ConjunctiveQuery) -> bool:
    """Whether a query has one annotation for all of its results, which cells may share out."""
    return bool(query.sums) and not query.head


def partition_variable(query: ConjunctiveQuery, cells: int, statistics: Statistics) -> str | None:
    """The variable that leaves the least work in the busiest cell; None if none is allowed.

    The work of an atom is its expected changes: all of them where it is replicated, else the share of a cell, which is
    no less than that of one value. Enumeration is split by every variable. Among equals fewer replicated rows decide,
    then the order of the variables in the query. Cost: O(variables * atoms).

    """
    variables = list(dict.fromkeys(v for atom in query.core for v in query.atoms[atom].variables))
    allowed = [v for v in variables if query.free is None or v in query.free or is_added(query)]
    if not allowed:
        return None
    changes = expected_changes(query, statistics)
    rows = [statistics.of(atom.table.name).rows.value or 1.0 for atom in query.atoms]

    def cost(variable: str) -> tuple[float, float]:
        left = _shares(query, variable, cells, statistics)
        work = sum(c * s for c, s in zip(changes, left, strict=True))
        return work, sum(r * s for r, s in zip(rows, left, strict=True))

    return min(allowed, key=cost)


def busiest_share(query: ConjunctiveQuery, variable: str, cells: int, statistics: Statistics) -> float:
    """The share of the expected changes of all atoms that come to the busiest cell, from ``1 / cells`` to 1."""
    changes = expected_changes(query, statistics)
    left = _shares(query, variable, cells, statistics)
    return sum(c * s for c, s in zip(changes, left, strict=True)) / (sum(changes) or 1.0)


def _shares(query: ConjunctiveQuery, variable: str, cells: int, statistics: Statistics) -> list[float]:
    """The share of each atom's changes that comes to the busiest cell."""
    share = max(1 / cells, 1 / _values(query, variable, statistics))
    split = _columns(query, variable)
    return [share if i in split else 1.0 for i in range(len(query.atoms))]


def whole_because(query: ConjunctiveQuery) -> str:
    """Why `partition` gives None for a query."""
    if any(atom.variables for atom in query.atoms):
        return "the output has no variable by which the results of cells could be told apart"
    return "the query uses no column by which rows could be split"


def rows_variable(query: ConjunctiveQuery, cells: int, statistics: Statistics) -> str | None:
    """The variable by which a relation that a plan keeps for itself is split: one that all atoms have; None without.

    Atoms over one table share its indexes as long as all of them have all its rows. In a cell those that are split have
    fewer than those that are replicated, and each has indexes of its own: for the triangles of soc-Epinions1 two
    threads took 2.5 times the processor time of one, and 1.5 times as long.
    """
    variable = partition_variable(query, cells, statistics)
    return variable if all(variable in atom.variables for atom in query.atoms) else None


def rows_whole_because(query: ConjunctiveQuery) -> str:
    """Why `rows_variable` gives None for a query."""
    if partition_variable(query, 2, Statistics()) is None:
        return whole_because(query)
    return "each cell would keep all rows of some of its atoms, which takes longer than one thread does"


def _values(query: ConjunctiveQuery, variable: str, statistics: Statistics) -> float:
    """The most distinct values that some atom is known to have in a variable; many if nothing is known."""
    found = []
    for atom in query.atoms:
        if variable in atom.variables:
            column = atom.column_of(variable)
            if atom.table.columns[column].type.kind == "boolean":
                return 2.0
            known = statistics.of(atom.table.name).distinct_of((column,)).value
            if known is not None:
                found.append(known)
    return max(1.0, *found) if found else float("inf")


def _columns(query: ConjunctiveQuery, variable: str) -> dict[int, int]:
    """For each atom that a variable of the core splits the column that has it, or what a key says is equal to it."""
    return {i: columns[variable] for i, columns in enumerate(query.carried) if variable in columns}


def _split(query: ConjunctiveQuery, use: TableUse, split: Mapping[int, int]) -> TableSplit:
    """Where the rows of a table go if a variable splits the join, which these atoms have in these columns."""
    by_column: dict[int, int] = {}
    replicated = 0
    for position, atom in _atoms_over(query, use.name):
        if position in split:
            column = split[position]
            by_column[column] = by_column.get(column, 0) | atom
        else:
            replicated |= atom
    return TableSplit(tuple(by_column), tuple(by_column.values()), replicated)


def _atoms_over(query: ConjunctiveQuery, table: str) -> Iterator[tuple[int, int]]:
    """The atoms over a table: their positions and their bits."""
    return ((i, 1 << i) for i, atom in enumerate(query.atoms) if atom.table.name == table)
