"""A well-structured variable order for every well-behaved query: the order of its dynamic part, and the static parts.

The construction is `CreateVO` (Kara, Luo, Nikolic, Olteanu, Zhang: Tractable Conjunctive Queries over Static and
Dynamic Relations, ICDT 2025, appendix D.1, figure 8):

1. The dynamic atoms of a well-behaved query are q-hierarchical (proposition 21): for two variables, the dynamic atoms
   of one contain those of the other, or they have none in common. The variable with more of them stands above; among
   equals, free ones stand above bound ones.
2. Without the variables of dynamic atoms, the static atoms fall into components, the *static parts*. Those of its
   variables that a part shares with the dynamic atoms are its *intersection set*; one dynamic atom has all of them
   (lemma 41). The others are private to the part.
3. The private variables of a part are ordered below the intersection set, bound ones below free ones, and hang below
   the lowest variable of the intersection set (lemmas 46 and 47).

The paper leaves the order of the private variables open for a query that is not free-connex, and takes it from a tree
decomposition for one that is (appendix D.4). Here, one rule serves both: from the bottom to the top, the next variable
is one of least width. On a free-connex query this is a GYO reduction that removes bound variables first; it never gets
stuck, so that every width is 1 (proposition 30).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.static.preprocessing_width import depends_on, width_at
from livejoin.theory.static.variable_order import VariableOrder, variable_order


@dataclass(frozen=True)
class StaticPart:
    """A component of the static atoms without the variables of the dynamic atoms.

    Args:
        atoms: Positions of the component's atoms, ascending.
        intersection: The component's variables that dynamic atoms have too.
        private: The component's other variables.
    """

    atoms: tuple[int, ...]
    intersection: frozenset[str]
    private: frozenset[str]


def static_parts(edges: Sequence[frozenset[str]], dynamic: frozenset[int]) -> tuple[StaticPart, ...]:
    """The static parts of a query, in the order of their first atoms. Cost: that of the components of a hypergraph.

    >>> parts = static_parts([frozenset("ab"), frozenset("bc"), frozenset("cd"), frozenset("a")], frozenset({0}))
    >>> [(part.atoms, sorted(part.intersection), sorted(part.private)) for part in parts]
    [((1, 2), ['b'], ['c', 'd']), ((3,), ['a'], [])]
    """
    changing = frozenset[str]().union(*(edges[atom] for atom in dynamic))
    static = [atom for atom in range(len(edges)) if atom not in dynamic]
    parts = []
    for component in Hypergraph(tuple(edges[atom] for atom in static)).components(changing):
        atoms = tuple(static[position] for position in component)
        variables = frozenset[str]().union(*(edges[atom] for atom in atoms))
        parts.append(StaticPart(atoms, variables & changing, variables - changing))
    return tuple(parts)


def construct_order(edges: Sequence[frozenset[str]], free: frozenset[str], dynamic: frozenset[int]) -> VariableOrder:
    """A well-structured variable order of a well-behaved query, of width 1 if the query is free-connex.

    Cost: a linear program for every pair of private variables of a static part, at most.

    Args:
        edges: The variables of each atom.
        free: The output variables.
        dynamic: Positions of the dynamic atoms. The query is well-behaved.

    >>> edges = [frozenset("ab"), frozenset("a"), frozenset("bc"), frozenset("cd")]
    >>> print(construct_order(edges, frozenset("abd"), frozenset({0, 1})))
    a{1, b{0, d{c{2, 3}}}}
    """
    parents = _dynamic_parents(edges, free, dynamic)
    depths = {variable: _depth(parents, variable) for variable in parents}
    for part in static_parts(edges, dynamic):
        order = _elimination(edges, dynamic, part, free)
        for i, variable in enumerate(order):
            eliminated = _component(variable, frozenset(order[:i]), edges)
            above = depends_on(eliminated, edges)
            later = [v for v in order[i + 1 :] if v in above]
            lowest = max(sorted(part.intersection), key=depths.__getitem__, default=None)
            parents[variable] = later[0] if later else lowest
    return variable_order(edges, parents)


def _dynamic_parents(
    edges: Sequence[frozenset[str]], free: frozenset[str], dynamic: frozenset[int]
) -> dict[str, str | None]:
    """The canonical order of the dynamic atoms' variables: each below those that are in all of its dynamic atoms."""
    atoms = {v: frozenset(atom for atom in dynamic if v in edges[atom]) for atom in dynamic for v in edges[atom]}
    ranked = sorted(atoms, key=lambda v: (-len(atoms[v]), v not in free, v))
    parents: dict[str, str | None] = dict.fromkeys(ranked)
    for upper, lower in combinations(ranked, 2):
        if atoms[upper] >= atoms[lower]:
            parents[lower] = upper
    return parents


def _depth(parents: dict[str, str | None], variable: str) -> int:
    above = parents[variable]
    return 0 if above is None else 1 + _depth(parents, above)


def _elimination(
    edges: Sequence[frozenset[str]], dynamic: frozenset[int], part: StaticPart, free: frozenset[str]
) -> list[str]:
    """The private variables of a part from the bottom to the top: bound before free, then of least width."""
    own = [edges[atom] for atom in part.atoms]
    order: list[str] = []
    while left := part.private - frozenset(order):
        below = {v: _component(v, frozenset(order), own) for v in (left - free or left)}

        def cost(variable: str, found: dict[str, frozenset[str]] = below) -> tuple[Fraction, int]:
            subtree = found[variable]
            return width_at(variable, subtree, edges, dynamic), len(depends_on(subtree, edges))

        order.append(min(sorted(below), key=cost))
    return order


def _component(variable: str, eliminated: frozenset[str], edges: Sequence[frozenset[str]]) -> frozenset[str]:
    """A variable and the eliminated ones that are connected with it through eliminated ones."""
    found = frozenset({variable})
    while more := depends_on(found, edges) & eliminated:
        found |= more
    return found
