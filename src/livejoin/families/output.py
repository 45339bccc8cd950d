"""What a query returns: over the output that a family keeps for it, and without what nobody asks for."""

from __future__ import annotations

from dataclasses import replace

from livejoin.query import ColumnRef, ConjunctiveQuery


def with_output(query: ConjunctiveQuery, output: frozenset[str]) -> ConjunctiveQuery:
    """The query with distinct results over some variables.

    Its head has all of them: that of the query, which the query's outputs refer to, and what it lacks.

    Args:
        query: The query.
        output: The variables, those of the head among them.
    """
    head = list(query.head)
    shown = {query.variable(ref) for ref in head}
    for i, atom in enumerate(query.atoms):
        for column, variable in zip(atom.columns, atom.variables, strict=True):
            if variable in output and variable not in shown:
                shown.add(variable)
                head.append(ColumnRef(i, column))
    return replace(query, head=tuple(head), free=output)


def shown_variables(query: ConjunctiveQuery) -> frozenset[str]:
    """The variables that results show."""
    return frozenset(query.variable(ref) for ref in query.head) if query.free is None else query.free


def without_unneeded(query: ConjunctiveQuery) -> ConjunctiveQuery:
    """The query without variables that only one atom has and nobody asks for."""
    needed = shown_variables(query)
    keys = frozenset(variable for branch in query.branches for pair in branch.key for variable in pair)
    atoms = []
    for i, atom in enumerate(query.atoms):
        shared = query.join_variables(i) | keys
        left = [(c, v) for c, v in zip(atom.columns, atom.variables, strict=True) if v in needed or v in shared]
        atoms.append(replace(atom, columns=tuple(c for c, _ in left), variables=tuple(v for _, v in left)))
    return replace(query, atoms=tuple(atoms))
