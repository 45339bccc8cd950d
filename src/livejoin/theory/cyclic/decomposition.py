"""Generalized hypertree decompositions: how a cyclic query becomes a free-connex one over bags of atoms.

A *bag* is the join of some atoms. A free-connex generalized hypertree decomposition (GHD) of a query is a free-connex
query over bags that gives the same result: each atom lies within some bag, and there is a free-connex join tree whose
nodes are bags (CROWN, section 7.1; Gottlob, Leone, Scarcello: Hypertree decompositions and tractable queries, JCSS
64(3), 2002). Inside of a bag, changes are propagated through joins; between the bags, as in any join tree.

A bag B has variables and two kinds of atoms, and its relation is

    joined atoms |><| pi_B(filter 1) |><| ... |><| pi_B(filter k)      with projections to distinct rows

Every atom is joined in exactly one bag, which has all of its variables, so that multiplicities count once; it is a
filter in any number of others, where it makes the bag smaller. The law: the join of the bags' relations is the join of
the atoms, multiplicities included. A filter never removes a result, because its atom is joined somewhere.

The *width* of a bag is the edge cover number of its variables, fractional (Grohe, Marx: Constraint solving via
fractional edge covers, ACM TALG 11(1), 2014) or integral (CROWN, footnote 5); that of a decomposition is its bags'
largest. With tables of N rows, a decomposition of width w is an index of O(N^w) size, updated in time N^w at worst,
with constant delay (CROWN, theorem 7.1). Where two relations are joined at a time, what a bag computes on the way can
be larger than the bag: then w is the integral width. The rows of the bag itself are bounded by the fractional one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from livejoin.theory.cyclic.bag_search import BagSearch, inside
from livejoin.theory.cyclic.edge_cover import SizeBound, agm_bound, fractional_edge_cover, integral_edge_cover
from livejoin.theory.trees.join_tree import JoinTree, least_height_tree, output_variables


@dataclass(frozen=True)
class Bag:
    """A bag of a decomposition.

    Args:
        variables: The variables of the bag.
        atoms: Positions of the atoms that are joined here, and in no other bag; ascending.
        filters: Positions of the atoms whose projections to the bag's variables only filter it; ascending.
        cover: A fractional edge cover of the variables of least weight: atoms, of either kind, with positive weights.
        integral_cover: The fewest atoms, of either kind, that cover the variables.
    """

    variables: frozenset[str]
    atoms: tuple[int, ...]
    filters: tuple[int, ...]
    cover: tuple[tuple[int, Fraction], ...]
    integral_cover: tuple[int, ...]

    @property
    def width(self) -> Fraction:
        """The fractional edge cover number of the variables."""
        return sum((weight for _, weight in self.cover), Fraction(0))

    @property
    def integral_width(self) -> int:
        """The integral edge cover number of the variables."""
        return len(self.integral_cover)

    @property
    def is_atom(self) -> bool:
        """Whether the bag is one atom of the query as it is."""
        return len(self.atoms) == 1 and not self.filters

    def size_bound(self, edges: Sequence[frozenset[str]], sizes: Sequence[float]) -> SizeBound:
        """How many rows the bag can have, at most, given the rows of each atom of the query; see `agm_bound`.

        The weights are those of ``atoms`` and then ``filters``.
        """
        used = (*self.atoms, *self.filters)
        return agm_bound([edges[atom] for atom in used], [sizes[atom] for atom in used], self.variables)


@dataclass(frozen=True)
class Decomposition:
    """A free-connex generalized hypertree decomposition of a query.

    Args:
        bags: The bags, at least one, by their first atoms.
        tree: A free-connex join tree of the bags: ``atom`` of its nodes is a position in ``bags``.
        width: The largest fractional width of a bag; 1 if and only if the query is free-connex and has variables.
        integral_width: The largest integral width of a bag.
        complete: Whether the search was exhaustive, so that the widths are the least possible ones.
    """

    bags: tuple[Bag, ...]
    tree: JoinTree
    width: Fraction
    integral_width: int
    complete: bool

    @property
    def edges(self) -> tuple[frozenset[str], ...]:
        """The variables of each bag: the hypergraph of the query over the bags."""
        return tuple(bag.variables for bag in self.bags)


def decompose(
    edges: Sequence[frozenset[str]], free: frozenset[str] | None = None, budget: int = 16_384
) -> Decomposition:
    """The best free-connex generalized hypertree decomposition that the search finds.

    In this order: least fractional width; least integral width; fewest Cartesian products inside of bags; fewest pairs
    of atoms that meet in a bag, since each is a join to keep up to date; least height of the tree over the bags. Atoms
    outside of any cycle are bags by themselves. The widths are exact if the result is ``complete``. What follows in the
    order is the best among bags of which each is a potential maximal clique or the variables of connected atoms, with
    separators within an atom always used; of decompositions with equal cost, the first few are compared by height.

    Cost: exponential in the number of variables of the largest cyclic piece, that is, without separators within an
    atom, and with variables of the same atoms counted once. Some ten milliseconds for the usual cyclic queries; up to a
    second for 13 variables in edges of four and five. A piece of more than log2(budget) variables is decomposed
    greedily. The first cyclic query of a process pays for the import of SciPy, almost a second.

    Args:
        edges: The variables of each atom, at least one atom.
        free: The output variables; all of them if None.
        budget: How many sets of variables to look at in a piece.

    Returns:
        A decomposition without `decomposition_violations`.

    Raises:
        UnknownNameError: A free variable occurs in no atom.

    >>> dumbbell = [frozenset(e) for e in ("ab", "ac", "bc", "ef", "de", "df", "cd")]
    >>> found = decompose(dumbbell)
    >>> print(found.width, found.integral_width, *(bag.atoms for bag in found.bags), found.tree)
    3/2 2 (0, 1, 2) (3, 4, 5) (6,) [c]{0, 2{1}}
    """
    output = output_variables(edges, free)
    search = BagSearch(edges, output, budget)
    best = None
    for choice in search.choices():
        bags = _bags(edges, choice)
        tree = least_height_tree([bag.variables for bag in bags], output)
        if best is None or tree.height < best[1].height:
            best = bags, tree
    assert best is not None, "there is always a choice, if only one without bags"
    bags, tree = best
    return Decomposition(
        bags, tree, max(bag.width for bag in bags), max(bag.integral_width for bag in bags), search.complete
    )


def _bags(edges: Sequence[frozenset[str]], choice: Sequence[frozenset[str]]) -> tuple[Bag, ...]:
    """Bags of the chosen variables, and one for each atom that none of them joins."""
    left = set(range(len(edges)))
    bags = []
    for variables in choice:
        used = inside(edges, variables)
        joined = tuple(atom for atom in used if atom in left and edges[atom] <= variables)
        bags.append(_bag(edges, variables, joined, tuple(atom for atom in used if atom not in joined)))
        left -= set(joined)
    bags += [_bag(edges, edges[atom], (atom,), ()) for atom in sorted(left)]
    return tuple(sorted(bags, key=lambda bag: (min((*bag.atoms, *bag.filters)), bag.filters)))


def _bag(
    edges: Sequence[frozenset[str]], variables: frozenset[str], atoms: tuple[int, ...], filters: tuple[int, ...]
) -> Bag:
    used = sorted((*atoms, *filters))
    parts = [edges[atom] for atom in used]
    weights = fractional_edge_cover(parts, variables).weights
    cover = tuple((atom, weight) for atom, weight in zip(used, weights, strict=True) if weight)
    fewest = tuple(used[position] for position in integral_edge_cover(parts, variables).edges)
    return Bag(variables, atoms, filters, cover, fewest)
