"""The chain of joins of standard change propagation: the order of the atoms, and the columns of each relation in it.

Variables that neither the output nor a later join needs are projected away after each join, which merges rows; the
multiplicities or annotations of merged rows are added. The conditions on all variables that two sides share are the key
of their join, so that cyclic queries are no different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livejoin.query import ConjunctiveQuery


@dataclass(frozen=True)
class Store:
    """A relation of the chain.

    Args:
        variables: The columns of the relation, sorted.
        key: The columns that the next join compares, sorted; None if it is the result.
    """

    variables: tuple[str, ...]
    key: tuple[str, ...] | None


def join_order(edges: Sequence[frozenset[str]], filtered: Sequence[bool]) -> tuple[int, ...]:
    """An order of atoms in which each shares as many variables as possible with those before it, filtered ones first.

    Args:
        edges: The variables of each atom, at least one atom.
        filtered: Whether an atom has a predicate, so that few of its rows take part.

    >>> join_order([frozenset("ab"), frozenset("cd"), frozenset("bc")], [False, True, False])
    (1, 2, 0)
    """
    order: list[int] = []
    while len(order) < len(edges):
        bound = frozenset[str]().union(*(edges[a] for a in order))
        left = [a for a in range(len(edges)) if a not in order]
        order.append(max(left, key=lambda a: (len(edges[a] & bound), filtered[a], -a)))
    return tuple(order)


def chain_stores(query: ConjunctiveQuery, order: Sequence[int]) -> tuple[Store, ...]:
    """The relations of a chain: those of the atoms in their order, then those of the joins.

    Args:
        query: The query.
        order: The query's atoms in the order of the chain.
    """
    edges = [query.edges[a] for a in order]
    head = frozenset(query.variable(ref) for ref in query.head)
    bound = [frozenset[str]().union(*edges[: position + 1]) for position in range(len(edges))]
    after = [head.union(*edges[position + 1 :]) for position in range(len(edges))]
    results = [have & needed for have, needed in zip(bound, after, strict=True)]
    keys = [tuple(sorted(results[p - 1] & edges[p])) for p in range(1, len(edges))]
    atoms = [Store(tuple(sorted(results[0])), keys[0] if keys else None)]
    for position in range(1, len(edges)):
        others = head.union(*(edge for p, edge in enumerate(edges) if p != position))
        atoms.append(Store(tuple(sorted(edges[position] & others)), keys[position - 1]))
    joins = [
        Store(tuple(sorted(results[position])), keys[position] if position < len(keys) else None)
        for position in range(1, len(edges))
    ]
    return (*atoms, *joins)
