"""Well-behaved queries: what the static relations may be to a query whose dynamic relations change in constant time.

A path is a sequence of distinct variables of which every two neighbours share an atom. It connects the atoms R(X) and
S(Y) if it begins in X and ends in Y, and it is *safe* if one of its variables is in both X and Y. A query is
*well-behaved* if every path is safe that connects two dynamic atoms, or a dynamic atom and the head (Kara, Luo,
Nikolic, Olteanu, Zhang: Tractable Conjunctive Queries over Static and Dynamic Relations, ICDT 2025, definition 18).
Without static atoms this is the same as q-hierarchical (proposition 21).

The law that the checks use: an unsafe path between R(X) and S(Y) exists if and only if Y - X can be reached from X - Y
in the graph of the variables without those in X and Y both; for the head, Y is the set of free variables (proposition
20, appendix C.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class UnsafePath:
    """A shortest path that is not safe.

    Args:
        start: Position of the dynamic atom that it starts in.
        end: Position of the dynamic atom that it ends in, None for the head.
        variables: The path, at least two variables.
        through: For each step of the path, the first atom that has both of its variables.
        shared: The variables that both ends have; none of them is on the path.
    """

    start: int
    end: int | None
    variables: tuple[str, ...]
    through: tuple[int, ...]
    shared: frozenset[str]

    def __str__(self) -> str:
        end = "the head" if self.end is None else f"dynamic atom {self.end}"
        shared = ", ".join(sorted(self.shared)) or "no variable"
        path = " - ".join(self.variables)
        return f"{path} connects dynamic atom {self.start} and {end}, which share {shared}"


@dataclass(frozen=True)
class WellBehaved:
    """Whether a query is well-behaved.

    Args:
        paths: A shortest unsafe path for every pair that has one, pairs of atoms first; empty for a well-behaved query.
    """

    paths: tuple[UnsafePath, ...]

    @property
    def holds(self) -> bool:
        """Whether there is no unsafe path."""
        return not self.paths

    def __bool__(self) -> bool:
        return self.holds


def well_behaved(
    edges: Sequence[frozenset[str]], free: frozenset[str] | None = None, dynamic: frozenset[int] | None = None
) -> WellBehaved:
    """Decide whether all paths from dynamic atoms are safe.

    Cost: a search of the graph of the variables for every pair of dynamic atoms and for every dynamic atom.

    Args:
        edges: The variables of each atom.
        free: The output variables, None for all.
        dynamic: Positions of the atoms over dynamic relations, None for all; the others are static.

    Returns:
        The answer, with the unsafe paths where it is no.

    >>> edges = [frozenset("a"), frozenset("ab"), frozenset("b")]
    >>> bool(well_behaved(edges, dynamic=frozenset({0, 1})))
    True
    >>> print(well_behaved(edges, dynamic=frozenset({0, 2})).paths[0])
    a - b connects dynamic atom 0 and dynamic atom 2, which share no variable
    """
    head = frozenset[str]().union(*edges) if free is None else free
    changing = range(len(edges)) if dynamic is None else sorted(dynamic)
    pairs: list[tuple[int, int | None]] = [*combinations(changing, 2), *((atom, None) for atom in changing)]
    return WellBehaved(tuple(path for start, end in pairs for path in _unsafe(edges, head, start, end)))


def _unsafe(edges: Sequence[frozenset[str]], free: frozenset[str], start: int, end: int | None) -> Iterator[UnsafePath]:
    """A shortest unsafe path between two atoms, or an atom and the head, if there is one: breadth-first search."""
    target = free if end is None else edges[end]
    shared = edges[start] & target
    paths: list[tuple[str, ...]] = [(variable,) for variable in sorted(edges[start] - shared)]
    seen = shared | edges[start]
    for path in paths:
        for variable in sorted(_neighbours(edges, path[-1]) - seen):
            longer = (*path, variable)
            if variable in target:
                through = tuple(_first_with(edges, pair) for pair in zip(path, longer[1:], strict=True))
                yield UnsafePath(start, end, longer, through, shared)
                return
            seen |= {variable}
            paths.append(longer)


def _neighbours(edges: Sequence[frozenset[str]], variable: str) -> frozenset[str]:
    return frozenset[str]().union(*(edge for edge in edges if variable in edge))


def _first_with(edges: Sequence[frozenset[str]], variables: tuple[str, str]) -> int:
    return next(position for position, edge in enumerate(edges) if edge.issuperset(variables))
