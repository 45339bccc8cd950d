"""Bags over static atoms alone: what a query in C_poly joins once, so that what is left of it is in C_lin.

Along a well-structured order (Kara, Luo, Nikolic, Olteanu, Zhang: Tractable Conjunctive Queries over Static and Dynamic
Relations, ICDT 2025, section 5), a private variable X is *covered* if one relation has X and all that X depends on;
then the relations with X stay what they are. Elsewhere what stands below X becomes a *bag*, a relation that is made
once:

- X is free: X and what it depends on, of the atoms that stand at X and of what each bound variable below leaves. Free
  variables below keep their own relations, which only filter here.
- X is bound: what X depends on, of all that stands below X; X is summed out.

A bag is made of atoms and of bags below it, never of the static join as a whole, so that it costs O(N^w) for the
preprocessing width w of the order. The law: over the bags and the atoms that are in none, the query has the results
that it had, with their multiplicities; each atom is joined in exactly one place, and what only filters is joined
elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livejoin.theory.static.preprocessing_width import depends_on
from livejoin.theory.static.variable_order import OrderNode, VariableOrder


@dataclass(frozen=True)
class StaticBag:
    """A relation that is made of static atoms once.

    Args:
        variables: The variables that are joined.
        kept: The joined variables that the bag's rows have.
        atoms: Positions of the atoms that are joined here and nowhere else; of each the variables above take part.
        bags: Positions, among the bags of the query, of those that are joined here and nowhere else; they come before.
        filters: Positions of atoms that only filter: of each the distinct values of the variables above.
        bag_filters: Positions of bags that only filter.
    """

    variables: frozenset[str]
    kept: frozenset[str]
    atoms: tuple[int, ...]
    bags: tuple[int, ...]
    filters: tuple[int, ...]
    bag_filters: tuple[int, ...]


@dataclass(frozen=True)
class StaticBags:
    """The bags of a query, and what is left beside them.

    Args:
        bags: The bags, those that another one is made of before it.
        shown: Positions of the bags that are not joined in another one.
        atoms: Positions of the atoms that are in no bag, ascending.
    """

    bags: tuple[StaticBag, ...]
    shown: tuple[int, ...]
    atoms: tuple[int, ...]


def static_bags(
    edges: Sequence[frozenset[str]], free: frozenset[str], dynamic: frozenset[int], order: VariableOrder
) -> StaticBags:
    """The bags that a well-structured order asks for; none if it covers every private variable, as in C_lin.

    Cost: variables times atoms.

    Args:
        edges: The variables of each atom.
        free: The output variables.
        dynamic: Positions of the dynamic atoms.
        order: A well-structured order.

    >>> from livejoin.theory.static.least_width_order import least_width_order
    >>> edges = [frozenset("ab"), frozenset("b"), frozenset("ac"), frozenset("cd")]
    >>> order = least_width_order(edges, frozenset("abd"), frozenset({0, 1})).order
    >>> found = static_bags(edges, frozenset("abd"), frozenset({0, 1}), order)
    >>> [(sorted(bag.variables), sorted(bag.kept), bag.atoms) for bag in found.bags], found.atoms
    ([(['a', 'c', 'd'], ['a', 'd'], (2, 3))], (0, 1))
    """
    search = _Bags(edges, free, dynamic)
    for root in order.roots:
        search.visit(root)
    joined = {atom for bag in search.bags for atom in bag.atoms}
    inside = {below for bag in search.bags for below in bag.bags}
    return StaticBags(
        tuple(search.bags),
        tuple(i for i in range(len(search.bags)) if i not in inside),
        tuple(atom for atom in range(len(edges)) if atom not in joined),
    )


class _Bags:
    """The walk over the order, from the bottom to the top."""

    def __init__(self, edges: Sequence[frozenset[str]], free: frozenset[str], dynamic: frozenset[int]) -> None:
        self.bags: list[StaticBag] = []
        self._edges = edges
        self._free = free
        self._dynamic = dynamic
        self._changing = frozenset[str]().union(*(edges[atom] for atom in dynamic))

    def visit(self, node: OrderNode) -> None:
        """Make the bags at and below a variable."""
        if node.variable in self._changing:
            for child in node.children:
                self.visit(child)
        elif node.variable in self._free:
            for child in node.children:
                if child.variable in self._free:
                    self.visit(child)
            self._free_bag(node)
        else:
            self._bound_bags(node)

    def _free_bag(self, node: OrderNode) -> None:
        """A bag at a free variable if nothing covers it; without one, bound variables below are treated alone."""
        variables = depends_on(node.variables, self._edges) | {node.variable}
        bound = [child for child in node.children if child.variable not in self._free]
        before = len(self.bags)
        for child in bound:
            self.visit(child)
        if self._is_covered(variables, node):
            return
        del self.bags[before:]
        below = [self._summed(child) for child in bound]
        atoms = (*node.atoms, *(atom for atoms, _ in below for atom in atoms))
        bags = tuple(bag for _, bags in below for bag in bags)
        self._add(variables, variables, atoms, bags)

    def _bound_bags(self, node: OrderNode) -> None:
        """Bags at and below a bound variable whose parent is none."""
        variables = depends_on(node.variables, self._edges) | {node.variable}
        before = len(self.bags)
        for child in node.children:
            self._bound_bags(child)
        if not self._is_covered(variables, node):
            del self.bags[before:]
            self._summed(node)

    def _is_covered(self, variables: frozenset[str], node: OrderNode) -> bool:
        """Whether one relation has some variables: an atom below, or a bag that was made below."""
        inside = {below for bag in self.bags for below in bag.bags}
        shown = (bag.kept for i, bag in enumerate(self.bags) if i not in inside)
        return any(variables <= self._edges[atom] for atom in node.below) or any(variables <= one for one in shown)

    def _summed(self, node: OrderNode) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What stands below a bound variable as relations over what it depends on: atoms, or a bag, without it."""
        if len(node.atoms) == 1 and not node.children:
            return node.atoms, ()
        kept = depends_on(node.variables, self._edges)
        below = [self._summed(child) for child in node.children]
        atoms = (*node.atoms, *(atom for atoms, _ in below for atom in atoms))
        bags = tuple(bag for _, bags in below for bag in bags)
        self._add(kept | {node.variable}, kept, atoms, bags)
        return (), (len(self.bags) - 1,)

    def _add(
        self, variables: frozenset[str], kept: frozenset[str], atoms: tuple[int, ...], bags: tuple[int, ...]
    ) -> None:
        atoms = tuple(sorted(atoms))
        joined = [*(self._edges[atom] & variables for atom in atoms), *(self.bags[bag].kept for bag in bags)]
        filters: list[int] = []
        bag_filters: list[int] = []
        for i, bag in enumerate(self.bags):
            if i not in bags and self._adds(bag.kept & variables, joined):
                bag_filters.append(i)
                joined.append(bag.kept & variables)
        for atom, edge in enumerate(self._edges):
            if atom not in self._dynamic and atom not in atoms and self._adds(edge & variables, joined):
                filters.append(atom)
                joined.append(edge & variables)
        self.bags.append(StaticBag(variables, kept, atoms, bags, tuple(filters), tuple(bag_filters)))

    def _adds(self, part: frozenset[str], joined: Sequence[frozenset[str]]) -> bool:
        """Whether a relation over some variables may leave fewer rows than those that are joined already."""
        return len(part) > 1 and not any(part <= other for other in joined)
