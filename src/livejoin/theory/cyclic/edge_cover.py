"""Edge covers of a set of variables: integral, fractional, and the bound of Atserias, Grohe and Marx.

A *fractional edge cover* of variables S gives each edge a weight of at least 0, so that for each variable of S the
weights of the edges that contain it sum up to at least 1. The least total weight is the fractional edge cover number
rho* of S (Kara, Luo, Nikolic, Olteanu, Zhang: ICDT 2025, definition 9); with weights of 0 and 1 only it is the integral
one, by which CROWN measures the width of a bag (section 7.1, footnote 5). Edges may reach beyond S.

The law is linear programming duality. A *packing* gives each variable of S a weight of at least 0, so that the weights
within each edge sum up to at most 1. No packing weighs more than a cover, and two of equal weight prove each other
best. `FractionalCover` holds both, so that an answer can be checked with additions alone; the answer is exact.

The join of relations of at most N rows has at most N^rho* rows over S, and some have as many: give each variable
N^packing values (Atserias, Grohe, Marx: Size bounds and query plans for relational joins, FOCS 2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import log, prod

from livejoin.errors import UnknownNameError
from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.cyclic.simplex import cover_at_least_cost

_LOGARITHM = 1 << 20  # logarithms of sizes are rounded to this part of one, so that fractions of them stay short


@dataclass(frozen=True)
class FractionalCover:
    """A fractional edge cover of least weight, with the proof that there is none of less.

    Args:
        number: The total weight, rho*.
        weights: The weight of each edge, by its position.
        packing: The weight of each variable to cover, sorted by variable; its total is ``number`` too.
    """

    number: Fraction
    weights: tuple[Fraction, ...]
    packing: tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True)
class IntegralCover:
    """The fewest edges that contain all variables to cover: how many, and their positions in ascending order."""

    number: int
    edges: tuple[int, ...]


@dataclass(frozen=True)
class SizeBound:
    """A bound for the rows of a join: ``rows`` is the product of the sizes to the power of ``weights``."""

    rows: float
    weights: tuple[float, ...]


def fractional_edge_cover(edges: Sequence[frozenset[str]], variables: frozenset[str] | None = None) -> FractionalCover:
    """The fractional edge cover number of variables, exactly, with its witnesses.

    Cost: a linear program over the part of the edges that is cyclic, about 0.3 ms for a triangle and 2.5 ms for a
    clique of 7, for each connected component of it, if it was not solved before; for an acyclic hypergraph none.

    Args:
        edges: The variables of each edge.
        variables: The variables to cover; all of them if None.

    Raises:
        UnknownNameError: A variable to cover is in no edge.

    >>> triangle = [frozenset("ab"), frozenset("bc"), frozenset("ca")]
    >>> print(fractional_edge_cover(triangle).number, *fractional_edge_cover(triangle).weights)
    3/2 1/2 1/2 1/2
    >>> print(fractional_edge_cover(triangle, frozenset("ab")).number)
    1
    """
    wanted = _wanted(edges, variables)
    core = _core(edges, wanted)
    weights = dict.fromkeys(range(len(edges)), Fraction(0))
    packing = dict.fromkeys(sorted(wanted), Fraction(0))
    positions = tuple(core)
    for part in Hypergraph(tuple(core.values())).components():
        solved = _solve({positions[p]: core[positions[p]] for p in part})
        weights.update(solved[0])
        packing.update(solved[1])
    return FractionalCover(sum(weights.values(), Fraction(0)), tuple(weights.values()), tuple(packing.items()))


def integral_edge_cover(edges: Sequence[frozenset[str]], variables: frozenset[str] | None = None) -> IntegralCover:
    """The fewest edges that cover variables.

    Cost: exponential in the answer at worst, after edges and variables that cannot matter are gone.

    Args:
        edges: The variables of each edge.
        variables: The variables to cover; all of them if None.

    Raises:
        UnknownNameError: A variable to cover is in no edge.

    >>> integral_edge_cover([frozenset("ab"), frozenset("bc"), frozenset("ca")])
    IntegralCover(number=2, edges=(0, 1))
    """
    core = _core(edges, _wanted(edges, variables))
    left = frozenset[str]().union(*core.values())
    chosen = next(found for number in range(len(core) + 1) if (found := _choose(core, left, number)) is not None)
    return IntegralCover(len(chosen), tuple(sorted(chosen)))


def agm_bound(
    edges: Sequence[frozenset[str]], sizes: Sequence[float], variables: frozenset[str] | None = None
) -> SizeBound:
    """How many rows the join of relations can have, at most, on some variables, given how many each relation has.

    The bound is the least product of ``sizes[e] ** x[e]`` over the fractional edge covers x, a linear program in
    logarithms (Atserias, Grohe, Marx, 2008). With equal sizes N it is N^rho*. Cost: one linear program, as above.

    Args:
        edges: The variables of each relation.
        sizes: The number of rows of each relation, not negative; between 0 and 1 counts as 1.
        variables: The variables on which the rows are distinct; all of them if None.

    Returns:
        The bound, in floating point, infinite beyond its range. An empty relation makes it 0 and gets all the weight.

    Raises:
        UnknownNameError: A variable to cover is in no edge.

    >>> agm_bound([frozenset("ab"), frozenset("bc"), frozenset("ca")], [100, 100, 100]).rows
    1000.0
    >>> agm_bound([frozenset("ab"), frozenset("bc"), frozenset("ca")], [100, 10, 100_000]).weights
    (1.0, 1.0, 0.0)
    """
    wanted = _wanted(edges, variables)
    if 0 in sizes:
        return SizeBound(0.0, tuple(float(position == sizes.index(0)) for position in range(len(edges))))
    counts = [max(1.0, float(size)) for size in sizes]
    numbers = {variable: number for number, variable in enumerate(sorted(wanted))}
    numbered = [frozenset(numbers[v] for v in edge & wanted) for edge in edges]
    costs = [Fraction(round(log(count) * _LOGARITHM), _LOGARITHM) for count in counts]
    weights = tuple(float(weight) for weight in cover_at_least_cost(costs, numbered, len(numbers))[0])
    return SizeBound(prod(count**weight for count, weight in zip(counts, weights, strict=True)), weights)


def _wanted(edges: Sequence[frozenset[str]], variables: frozenset[str] | None) -> frozenset[str]:
    everything = frozenset[str]().union(*edges)
    if variables is None:
        return everything
    if lost := sorted(variables - everything):
        known = ", ".join(sorted(everything)) or "none"
        msg = f"no edge covers the variables {', '.join(lost)}; the edges have {known}: cover these, or add an edge"
        raise UnknownNameError(msg)
    return variables


def _core(edges: Sequence[frozenset[str]], variables: frozenset[str]) -> dict[int, frozenset[str]]:
    """The edges, by position and without some variables, that decide the cover number; the same covers are best.

    An edge within another one can be replaced by it. A variable that is in every edge of another variable is covered
    with it. Empty edges cover nothing.
    """
    left = {position: edge & variables for position, edge in enumerate(edges)}
    while True:
        before = dict(left)
        for position, edge in reversed(before.items()):  # of equal edges the first stays
            if not edge or any(edge <= left[other] for other in left if other != position):
                del left[position]
        homes = {v: frozenset(p for p, edge in left.items() if v in edge) for v in sorted(variables)}
        idle = {v for v in homes if any(homes[o] < homes[v] or (homes[o] == homes[v] and o < v) for o in homes)}
        variables -= idle
        left = {position: edge & variables for position, edge in left.items()}
        if left == before:
            return left


def _solve(edges: Mapping[int, frozenset[str]]) -> tuple[dict[int, Fraction], dict[str, Fraction]]:
    """The best cover and packing of one component of a core."""
    variables = sorted(frozenset[str]().union(*edges.values()))
    if len(edges) == 1:  # no other edge has its variables, so that one of them stands for all
        return dict.fromkeys(edges, Fraction(1)), dict.fromkeys(variables, Fraction(1))
    numbers = {variable: number for number, variable in enumerate(variables)}
    numbered = {position: tuple(sorted(numbers[v] for v in edge)) for position, edge in edges.items()}
    order = sorted(numbered, key=lambda position: numbered[position])
    cover, packing = _exact(tuple(numbered[position] for position in order), len(variables))
    return dict(zip(order, cover, strict=True)), dict(zip(variables, packing, strict=True))


@lru_cache(maxsize=4_096)
def _exact(edges: tuple[tuple[int, ...], ...], variables: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The best cover and packing of variables 0, 1, ..."""
    return cover_at_least_cost([Fraction(1)] * len(edges), [frozenset(edge) for edge in edges], variables)


def _choose(edges: Mapping[int, frozenset[str]], left: frozenset[str], number: int) -> tuple[int, ...] | None:
    """A choice of at most ``number`` edges that cover the variables ``left``, None if there is none."""
    if not left:
        return ()
    if number * max(len(edge & left) for edge in edges.values()) < len(left):
        return None
    # One of the edges of a variable is taken; the variable with the fewest leaves the least to try.
    tries = min(([p for p, edge in edges.items() if v in edge] for v in sorted(left)), key=len)
    for position in tries:
        rest = _choose(edges, left - edges[position], number - 1)
        if rest is not None:
            return (position, *rest)
    return None
