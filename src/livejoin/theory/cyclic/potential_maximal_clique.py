"""The bags from which tree decompositions of least width can be made: potential maximal cliques.

A *triangulation* of a graph adds edges until every cycle of more than three vertices has a chord; its maximal cliques
are the bags of a tree decomposition. A set of vertices is a *potential maximal clique* if it is a maximal clique of a
triangulation from which no added edge can be left out. Every measure that only grows with a bag has its least largest
value over a tree decomposition of these bags. They are recognised by a law (Bouchitte, Todinca: Treewidth and minimum
fill-in, SIAM J. Comput. 31(1), 2001, theorem 3.15): K is one if and only if, over the components C of the graph
without K,

- no N(C) is all of K, and
- each two vertices of K are neighbours or lie in N(C) together for some C.

Vertices are bits, sets of them are integers, and a graph is the set of neighbours of each vertex.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def members(vertices: int) -> Iterator[int]:
    """The vertices of a set, ascending.

    >>> list(members(0b1011))
    [0, 1, 3]
    """
    while vertices:
        lowest = vertices & -vertices
        yield lowest.bit_length() - 1
        vertices ^= lowest


def neighbourhood(graph: Sequence[int], vertices: int) -> int:
    """The vertices outside of a set that are neighbours of one inside: N(C)."""
    around = 0
    for vertex in members(vertices):
        around |= graph[vertex]
    return around & ~vertices


def components(graph: Sequence[int], vertices: int) -> Iterator[int]:
    """The connected components of the graph that a set of vertices induces, in the order of their first vertices.

    >>> [bin(c) for c in components([0b010, 0b101, 0b010, 0b000], 0b1101)]
    ['0b1', '0b100', '0b1000']
    """
    while vertices:
        found = frontier = vertices & -vertices
        while frontier:
            frontier = neighbourhood(graph, frontier) & vertices & ~found
            found |= frontier
        yield found
        vertices &= ~found


def potential_maximal_cliques(graph: Sequence[int], vertices: int) -> list[int]:
    """All potential maximal cliques of the graph that a set of vertices induces.

    Cost: some 10 microseconds for each of the 2^n sets of its n vertices.

    The square has four: each is a triangle of one of its two triangulations.

    >>> square = [0b1010, 0b0101, 0b1010, 0b0101]
    >>> [bin(clique) for clique in potential_maximal_cliques(square, 0b1111)]
    ['0b111', '0b1011', '0b1101', '0b1110']
    """
    found = []
    clique = 0
    while clique != vertices:
        clique = (clique - vertices) & vertices  # the next subset of the vertices
        if _is_potential_maximal_clique(graph, vertices, clique):
            found.append(clique)
    return found


def _is_potential_maximal_clique(graph: Sequence[int], vertices: int, clique: int) -> bool:
    borders = [neighbourhood(graph, c) & vertices for c in components(graph, vertices & ~clique)]
    if clique in borders:
        return False
    for vertex in members(clique):
        near = graph[vertex] | (1 << vertex)
        for border in borders:
            if border >> vertex & 1:
                near |= border
        if clique & ~near:
            return False
    return True


def greedy_cliques(graph: Sequence[int], vertices: int) -> list[int]:
    """The bags of two good tree decompositions, for graphs with too many sets of vertices.

    They come from eliminating the vertices one after another, each time one with the least fill-in, or one of the least
    degree: its neighbours become a clique. Cost: the cube of the number of vertices.

    >>> [bin(clique) for clique in greedy_cliques([0b1010, 0b0101, 0b1010, 0b0101], 0b1111)]
    ['0b1011', '0b1110']
    """
    bags = {bag for by_degree in (False, True) for bag in _elimination(graph, vertices, by_degree)}
    return sorted(bag for bag in bags if not any(bag != other and not bag & ~other for other in bags))


def _elimination(graph: Sequence[int], vertices: int, by_degree: bool) -> Iterator[int]:
    filled = [around & vertices for around in graph]

    def fill_in(vertex: int) -> int:
        return sum((filled[vertex] & ~filled[near] & ~(1 << near)).bit_count() for near in members(filled[vertex]))

    def degree(vertex: int) -> int:
        return filled[vertex].bit_count()

    while vertices:
        vertex = min(members(vertices), key=degree if by_degree else fill_in)
        yield filled[vertex] | (1 << vertex)
        vertices ^= 1 << vertex
        for near in members(filled[vertex]):
            filled[near] = (filled[near] | filled[vertex]) & ~(1 << near) & ~(1 << vertex)
