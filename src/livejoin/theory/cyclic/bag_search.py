"""The search for the bags of a free-connex hypertree decomposition.

The bags are those of a tree decomposition of the graph in which two variables are neighbours if they share an atom.
It is free-connex if the free variables are decomposed first: let D be the connected parts of the bound variables, each
with the free variables N(D) next to it. Then the free variables are decomposed with each N(D) as a clique, and each
D + N(D) by itself with N(D) as a clique too. Nothing better is lost: a free-connex join tree with the output as its
root can be emptied from the leaves on, bound variables before free ones, and its bags contain those that arise.

What cannot need a bag goes first, which keeps the exponential part small:

- variables that are in the same atoms, and free or bound alike, count as one;
- a variable whose neighbours are all in one atom with it belongs to the bag of this atom alone;
- where the graph without the variables of an atom falls apart, each part and its border are decomposed by themselves.

Then come three questions in turn, each answered exactly by `best_tree_decomposition`: the least fractional width, the
least integral width among the bags that keep to the first, and the least cost among those that keep to both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, product

from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.cyclic.edge_cover import fractional_edge_cover, integral_edge_cover
from livejoin.theory.cyclic.potential_maximal_clique import (
    components,
    greedy_cliques,
    members,
    neighbourhood,
    potential_maximal_cliques,
)
from livejoin.theory.cyclic.tree_decomposition import Best, Cost, best_tree_decomposition

_TIES = 8  # decompositions of equal cost that are compared by the height of their trees
_UNIONS = 400  # sets of variables of connected atoms that are tried as bags


def inside(edges: Sequence[frozenset[str]], bag: frozenset[str]) -> tuple[int, ...]:
    """The atoms that a bag joins: those with the largest parts in it.

    An atom whose part in the bag is within the part of another one adds nothing to it. Among equal parts, atoms that
    lie in the bag with all their variables come first, then those that are earlier in the query.

    >>> inside([frozenset("ab"), frozenset("bc"), frozenset("cd"), frozenset("c")], frozenset("abc"))
    (0, 1)
    """
    parts = {atom: edge & bag for atom, edge in enumerate(edges) if edge & bag}
    order = sorted(parts, key=lambda atom: (len(edges[atom] - bag) > 0, atom))
    return tuple(
        sorted(
            atom
            for rank, atom in enumerate(order)
            if not any(parts[atom] < part for part in parts.values())
            and all(parts[atom] != parts[other] for other in order[:rank])
        )
    )


class BagSearch:
    """The search for one query.

    Args:
        edges: The variables of each atom.
        free: The output variables.
        budget: How many sets of variables to look at in a piece; a larger piece is decomposed greedily.

    ``complete`` says whether no piece was too large, so that the widths are the least of all.
    """

    def __init__(self, edges: Sequence[frozenset[str]], free: frozenset[str], budget: int) -> None:
        self._edges = edges
        alike: dict[tuple[bool, tuple[int, ...]], set[str]] = {}
        for variable in sorted(frozenset[str]().union(*edges)):
            homes = tuple(atom for atom, edge in enumerate(edges) if variable in edge)
            alike.setdefault((variable in free, homes), set()).add(variable)
        self._variables = [frozenset(variables) for variables in alike.values()]
        self._atoms = [self._set(atom in homes for _, homes in alike) for atom in range(len(edges))]
        self._pieces = list(_pieces(self._atoms, len(alike), self._set(is_free for is_free, _ in alike)))
        self.complete = all(1 << piece.vertices.bit_count() <= budget for piece in self._pieces)
        self._budget = budget

    def choices(self) -> list[tuple[frozenset[str], ...]]:
        """The best sets of bags, all or the first few; no bag is within an atom or another bag.

        Cost: see `decompose`.
        """
        bags = [self._cliques(piece) for piece in self._pieces]
        widths = cache(self._fractional_width), cache(self._integral_width)
        limits: list[Cost] = []
        for width in widths:
            found = [_best(piece, few, width, max) for piece, few in zip(self._pieces, bags, strict=True)]
            # Bags of one piece may be as wide as another piece needs them.
            limits.append(max((best.cost for best in found), default=()))
            bags = [[bag for bag in few if width(bag) <= limits[-1]] for few in bags]

        def fits(bag: int) -> bool:
            return all(width(bag) <= limit for width, limit in zip(widths, limits, strict=True))

        effort = cache(self._effort)
        best = [
            _best(piece, [*few, *_unions(self._atoms, piece.vertices, fits)], effort, _sum, _TIES)
            for piece, few in zip(self._pieces, bags, strict=True)
        ]
        together = islice(product(*(found.choices for found in best)), _TIES**2)
        # Bags within an atom come at no cost: choices that differ in them only are the same.
        distinct = dict.fromkeys(self._largest(frozenset[int]().union(*choice)) for choice in together)
        return [tuple(self._named(bag) for bag in bags) for bags in islice(distinct, _TIES)]

    @staticmethod
    def _set(flags: Iterable[bool]) -> int:
        return sum(flag << vertex for vertex, flag in enumerate(flags))

    def _cliques(self, piece: _Piece) -> list[int]:
        small = 1 << piece.vertices.bit_count() <= self._budget
        return (potential_maximal_cliques if small else greedy_cliques)(piece.graph, piece.vertices)

    def _named(self, bag: int) -> frozenset[str]:
        return frozenset[str]().union(*(self._variables[vertex] for vertex in members(bag)))

    def _fractional_width(self, bag: int) -> Cost:
        return (fractional_edge_cover(self._edges, self._named(bag)).number,)

    def _integral_width(self, bag: int) -> Cost:
        return (integral_edge_cover(self._edges, self._named(bag)).number,)

    def _effort(self, bag: int) -> Cost:
        """Cartesian products within the bag, and pairs of atoms that meet in it; nothing for a part of an atom."""
        if any(not bag & ~atom for atom in self._atoms):
            return (0, 0)
        variables = self._named(bag)
        parts = [self._edges[atom] & variables for atom in inside(self._edges, variables)]
        return (len(Hypergraph(tuple(parts)).components()) - 1, len(parts) * (len(parts) - 1) // 2)

    def _largest(self, bags: frozenset[int]) -> tuple[int, ...]:
        """The bags that are neither within an atom nor within another bag."""
        return tuple(
            bag
            for bag in sorted(bags)
            if not any(not bag & ~atom for atom in self._atoms)
            and not any(bag != other and not bag & ~other for other in bags)
        )


@dataclass(frozen=True)
class _Piece:
    """A graph, as the neighbours of each vertex, and a connected set of vertices to decompose in it."""

    graph: tuple[int, ...]
    vertices: int


def _pieces(atoms: Sequence[int], variables: int, free: int) -> Iterator[_Piece]:
    """What has to be decomposed: nothing for a free-connex query."""
    graph = [0] * variables
    for atom in atoms:
        _make_clique(graph, atom)
    above = list(graph)
    borders = []
    for bound in components(graph, (1 << variables) - 1 & ~free):
        border = neighbourhood(graph, bound)
        below = list(graph)
        _make_clique(below, border)
        _make_clique(above, border)
        yield from _split(tuple(below), bound | border, atoms)
        borders.append(border)
    yield from _split(tuple(above), free, [*atoms, *borders])


def _make_clique(graph: list[int], vertices: int) -> None:
    for vertex in members(vertices):
        graph[vertex] |= vertices & ~(1 << vertex)


def _split(graph: tuple[int, ...], vertices: int, cliques: Sequence[int]) -> Iterator[_Piece]:
    """The pieces that are left without the vertices and the separators that are within given cliques."""

    def needs_no_bag(vertex: int) -> bool:
        around = graph[vertex] & vertices | 1 << vertex
        return any(not around & ~clique for clique in cliques)

    while (idle := next(filter(needs_no_bag, members(vertices)), None)) is not None:
        vertices ^= 1 << idle
    for clique in cliques:
        apart = list(components(graph, vertices & ~clique))
        if len(apart) > 1:
            for part in apart:
                yield from _split(graph, part | neighbourhood(graph, part) & vertices, cliques)
            return
    if vertices:
        yield _Piece(graph, vertices)


def _unions(atoms: Sequence[int], vertices: int, fits: Callable[[int], bool]) -> list[int]:
    """The variables of connected sets of two or more atoms that fit; small sets first, a bounded number of tries."""
    parts = sorted({atom & vertices for atom in atoms if atom & vertices})
    tried = dict.fromkeys(parts, False)
    todo = deque(parts)
    while todo and len(tried) < _UNIONS:
        union = todo.popleft()
        for part in parts:
            wider = union | part
            if union & part and wider not in tried:
                tried[wider] = fits(wider)
                if tried[wider]:
                    todo.append(wider)
    return [union for union, fitting in tried.items() if fitting]


def _best(
    piece: _Piece,
    candidates: Iterable[int],
    cost: Callable[[int], Cost],
    combine: Callable[[Iterable[Cost]], Cost],
    ties: int = 1,
) -> Best:
    best = best_tree_decomposition(piece.graph, piece.vertices, candidates, cost, combine, ties)
    assert best is not None, "the bags of a triangulation always decompose the graph"
    return best


def _sum(costs: Iterable[Cost]) -> Cost:
    return tuple(sum(parts) for parts in zip(*costs, strict=True))
