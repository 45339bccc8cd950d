"""The GYO reduction, which decides whether a hypergraph is acyclic.

Repeat as long as possible: remove a variable that only one edge has; remove an edge that is contained in another one.
The hypergraph is (alpha-)acyclic if and only if at most one edge without variables is left (Graham; Yu and Ozsoyoglu,
1979), which is the same as having a join tree (CROWN, definition 3.1). The order of the steps does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def reduce(edges: Sequence[frozenset[str]]) -> tuple[int, ...]:
    """The edges that the GYO reduction cannot remove.

    Cost: quadratic in the number of edges for each round, at most as many rounds as edges and variables.

    Returns:
        Positions of the edges left, ascending; empty if and only if the hypergraph is acyclic.

    >>> reduce([frozenset("ab"), frozenset("bc"), frozenset("cd")])
    ()
    >>> reduce([frozenset("ab"), frozenset("bc"), frozenset("ca"), frozenset("cd")])
    (0, 1, 2)
    """
    left = dict(enumerate(edges))
    while True:
        uses = Counter(variable for edge in left.values() for variable in edge)
        shrunk = {position: frozenset(v for v in edge if uses[v] > 1) for position, edge in left.items()}
        ear = next((p for p in shrunk if any(shrunk[p] <= shrunk[q] for q in shrunk if q != p)), None)
        if ear is None:
            return tuple(position for position, edge in shrunk.items() if edge)
        left = {position: edge for position, edge in shrunk.items() if position != ear}


def is_acyclic(edges: Sequence[frozenset[str]]) -> bool:
    """Whether the hypergraph is alpha-acyclic.

    >>> is_acyclic([frozenset("ab"), frozenset("bc"), frozenset("ca")])
    False
    >>> is_acyclic([frozenset("ab"), frozenset("bc"), frozenset("ca"), frozenset("abc")])
    True
    """
    return not reduce(edges)


def cycle(edges: Sequence[frozenset[str]]) -> tuple[int, ...]:
    """A smallest part of the residual that is still cyclic: dropping any one of its edges leaves an acyclic rest.

    Returns:
        Positions of its edges, ascending; empty if the hypergraph is acyclic.

    >>> cycle([frozenset(e) for e in ("ab", "bc", "ca", "cd", "de", "ec")])
    (3, 4, 5)
    """
    core = list(reduce(edges))
    for position in tuple(core):
        rest = [p for p in core if p != position]
        if not is_acyclic([edges[p] for p in rest]):
            core = rest
    return tuple(core)
