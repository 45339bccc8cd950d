"""Paths of a foreign-key graph: where a result is read, and which paths must lead to one row."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from livejoin.theory.keys.assertion_key import assertion_keys
from livejoin.theory.keys.foreign_key import ForeignKeyGraph

Path = tuple[int, ...]
"""Relations from a relation down to one of its descendants, both ends included."""


@dataclass(frozen=True)
class Step:
    """A row that results are read from.

    Args:
        relation: Its relation.
        source: The step from whose row a link leads to it; of the root, which is the first step, 0.
    """

    relation: int
    source: int


def reading_steps(graph: ForeignKeyGraph, wanted: Collection[int]) -> tuple[Step, ...]:
    """The root, then the relations on a shortest path to each wanted one, each after the one that leads to it."""
    (root,) = graph.digraph.roots
    paths = {relation: path(graph, root, relation) for relation in wanted if relation != root}
    order = list(dict.fromkeys([root, *(relation for found in paths.values() for relation in found)]))
    above = {below: one for found in paths.values() for one, below in pairwise(found)}
    steps = [Step(relation, order.index(above[relation]) if relation != root else 0) for relation in order]
    assert all(step.source < place for place, step in enumerate(steps) if place), "a row is found before it is followed"
    return tuple(steps)


def path(graph: ForeignKeyGraph, above: int, below: int) -> Path:
    """A shortest path between two relations of an acyclic graph, the least one: ways down to a relation are one tree.

    >>> from livejoin.theory.keys.foreign_key import foreign_key_graph_of
    >>> diamond = foreign_key_graph_of([frozenset(r) for r in ("dbc", "ba", "ca", "a")], "dbca")
    >>> path(diamond, 0, 3)
    (0, 1, 3)
    """
    ways: dict[int, Path] = {above: (above,)}
    todo = [above]
    for relation in todo:
        for child in graph.digraph.children[relation]:
            if child not in ways:
                ways[child] = (*ways[relation], child)
                todo.append(child)
    return ways[below]


def assertions(graph: ForeignKeyGraph) -> tuple[tuple[tuple[Path, Path], ...], ...]:
    """For each relation the pairs of paths that must lead its row to one row of a shared descendant.

    For an assertion key of R (AJU, definition 3), the primary key of a descendant S, these are a path over each child
    of R from which S is reached: over a child that is alive, all paths lead to one row (Lemma 4). The first of them is
    compared with each of the others.

    >>> from livejoin.theory.keys.foreign_key import foreign_key_graph_of
    >>> diamond = foreign_key_graph_of([frozenset(r) for r in ("dbc", "ba", "ca", "a")], "dbca")
    >>> assertions(diamond)[0]
    (((0, 1, 3), (0, 2, 3)),)
    """
    found = []
    for relation, asserted in enumerate(assertion_keys(graph)):
        pairs = []
        for shared in asserted:
            children = graph.digraph.children[relation]
            first, *others = (
                (relation, *path(graph, child, shared))
                for child in children
                if child == shared or shared in graph.digraph.descendants[child]
            )
            pairs += [(first, other) for other in others]
        found.append(tuple(pairs))
    return tuple(found)
