"""Directed graphs on positions, as far as foreign keys need them.

An edge leads from a relation to one that it references. In an acyclic graph (DAG) every path ends in a leaf, so that
what holds for the leaves can be brought up to the roots, children before parents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Digraph:
    """A directed graph.

    Args:
        children: The positions to which the edges of each vertex lead, ascending.

    >>> diamond = Digraph.of(4, [(3, 1), (3, 2), (1, 0), (2, 0)])
    >>> diamond.roots, diamond.leaves, sorted(diamond.descendants[3])
    ((3,), (0,), [0, 1, 2])
    """

    children: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(vertices: int, edges: Iterable[tuple[int, int]]) -> Digraph:
        """The graph with a number of vertices and edges (from, to)."""
        found = set(edges)
        return Digraph(tuple(tuple(sorted(to for start, to in found if start == v)) for v in range(vertices)))

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """The positions from which edges lead to each vertex, ascending."""
        vertices = range(len(self.children))
        return tuple(tuple(p for p in vertices if v in self.children[p]) for v in vertices)

    @cached_property
    def descendants(self) -> tuple[frozenset[int], ...]:
        """The vertices to which a path of at least one edge leads; in a cycle, a vertex is its own descendant."""
        return tuple(self._reached(vertex) for vertex in range(len(self.children)))

    def _reached(self, vertex: int) -> frozenset[int]:
        found: set[int] = set()
        todo = list(self.children[vertex])
        while todo:
            reached = todo.pop()
            if reached not in found:
                found.add(reached)
                todo += self.children[reached]
        return frozenset(found)

    @property
    def roots(self) -> tuple[int, ...]:
        """The vertices without parents."""
        return tuple(v for v, above in enumerate(self.parents) if not above)

    @property
    def leaves(self) -> tuple[int, ...]:
        """The vertices without children."""
        return tuple(v for v, below in enumerate(self.children) if not below)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The vertices of a DAG, parents before children: a vertex has more descendants than each of its children."""
        return tuple(sorted(range(len(self.children)), key=lambda v: (-len(self.descendants[v]), v)))

    def cycle(self) -> tuple[int, ...]:
        """A shortest directed cycle, from its least vertex along the edges; empty for a DAG.

        >>> Digraph.of(4, [(0, 1), (1, 2), (2, 3), (3, 1)]).cycle()
        (1, 2, 3)
        """
        found = [path for vertex in range(len(self.children)) if (path := self._cycle_through(vertex))]
        return min(found, key=lambda path: (len(path), path), default=())

    def _cycle_through(self, vertex: int) -> tuple[int, ...]:
        paths: list[tuple[int, ...]] = [(vertex,)]
        seen: set[int] = set()
        for path in paths:
            for child in self.children[path[-1]]:
                if child == vertex:
                    return path
                if child not in seen:
                    seen.add(child)
                    paths.append((*path, child))
        return ()
