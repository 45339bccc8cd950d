"""The columns by which the relations of a join are joined with one another."""

from __future__ import annotations

from livejoin.dataflow.watching.watch import KeyColumns
from livejoin.query import ConjunctiveQuery
from livejoin.search.statistics import key_columns


def key_sets(query: ConjunctiveQuery, table: str) -> list[tuple[KeyColumns, tuple[int, ...]]]:
    """Sets of columns of a table, with their positions, by which some atom over it is joined with another one.

    Args:
        query: The join.
        table: The name that the query has for the table.
    """
    declared = next(atom.table for atom in query.atoms if atom.table.name == table)
    found = dict.fromkeys(key_columns(query, table))
    for branch in query.branches:
        sides = [frozenset(pair[side] for pair in branch.key) for side in (0, 1)]
        inside = frozenset(branch.atoms)
        for place, atom in enumerate(query.atoms):
            variables = sides[place in inside]
            if variables and atom.table.name == table and variables <= query.edges[place]:
                found[tuple(sorted({atom.column_of(variable) for variable in variables}))] = None
    return [
        (
            KeyColumns.of(
                table,
                (declared.columns[column].name for column in columns),
                (declared.columns[column].type for column in columns),
            ),
            columns,
        )
        for columns in found
    ]
