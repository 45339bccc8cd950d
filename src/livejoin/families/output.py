"""A query over the output that a family keeps for it."""

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
