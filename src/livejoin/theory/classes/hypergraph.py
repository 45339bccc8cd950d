"""Hypergraphs of conjunctive queries.

Variables are nodes, each atom is an edge: the set of its variables. Edges are a sequence and not a set, because two
atoms with the same variables are two relations (CROWN, section 3.1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Hypergraph:
    """A hypergraph over named variables.

    Args:
        edges: The variables of each atom; may repeat, contain one another or be empty.

    >>> path = Hypergraph.of([{"a", "b"}, {"b", "c"}, {"c", "d"}])
    >>> sorted(path.variables)
    ['a', 'b', 'c', 'd']
    """

    edges: tuple[frozenset[str], ...]

    @staticmethod
    def of(edges: Iterable[Collection[str]]) -> Hypergraph:
        """The hypergraph of any collections of variables."""
        return Hypergraph(tuple(frozenset(edge) for edge in edges))

    @property
    def variables(self) -> frozenset[str]:
        """All variables."""
        return frozenset[str]().union(*self.edges)

    def components(self, without: Collection[str] = ()) -> tuple[tuple[int, ...], ...]:
        """Connected components of the edges, where the variables in ``without`` connect nothing.

        An edge that keeps no variable is a component by itself. Cost: linear in the total size of the edges, times
        the number of components that an edge connects.

        Returns:
            Positions of the edges of each component, ascending; components in the order of their first edge.

        >>> path = Hypergraph.of([{"a", "b"}, {"b", "c"}, {"c", "d"}])
        >>> path.components(), path.components(without={"b"})
        (((0, 1, 2),), ((0,), (1, 2)))
        """
        ignored = frozenset(without)
        found: list[tuple[frozenset[str], tuple[int, ...]]] = []
        for position, edge in enumerate(self.edges):
            variables = edge - ignored
            members: tuple[int, ...] = (position,)
            apart = []
            for other in found:
                if other[0] & variables:
                    variables, members = variables | other[0], members + other[1]
                else:
                    apart.append(other)
            found = [*apart, (variables, members)]
        return tuple(sorted(tuple(sorted(members)) for _, members in found))
