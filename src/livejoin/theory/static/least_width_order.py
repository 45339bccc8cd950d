"""The preprocessing width of a query: the least width of its well-structured variable orders.

The definition is that of `livejoin.theory.static.preprocessing_width`. This is an exact search; Kara, Luo, Nikolic,
Olteanu, Zhang: Tractable Conjunctive Queries over Static and Dynamic Relations, ICDT 2025, do not say how to find the
least width. For the variables S of a subtree, what stands above does not matter (see `preprocessing_width`), so that::

    tree(S)   = least, over the variables X of S that may stand on top, of max(width at X over S, forest(S - {X}))
    forest(S) = the largest tree(component), over the components of S

X may stand on top of S if every dynamic atom with a variable in S has X (canonical), and if X is free or S has no free
variable (free-top). Components are those of the atoms restricted to S. Nothing is lost by treating them apart: private
variables are covered by all static atoms wherever these stand, and at any other variable a dynamic atom covers all.

Two bounds make the search short. An order of `construct_order` is the first candidate. The variables above a private or
bound component of the query are known beforehand, which often shows that the candidate cannot be improved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.static.preprocessing_width import order_width, width_at
from livejoin.theory.static.static_parts import construct_order
from livejoin.theory.static.variable_order import VariableOrder, variable_order

Group = frozenset[str]


@dataclass(frozen=True)
class LeastWidth:
    """A well-structured variable order of least preprocessing width, as far as the search went.

    Args:
        order: The order.
        width: The preprocessing width of the order.
        complete: Whether no well-structured order has a smaller one; else the search stopped at its budget.
        steps: Subtrees that the search tried to put a variable on top of.
    """

    order: VariableOrder
    width: Fraction
    complete: bool
    steps: int


def least_width_order(
    edges: Sequence[frozenset[str]], free: frozenset[str], dynamic: frozenset[int], budget: int = 4_000
) -> LeastWidth:
    """Find a well-structured order of least preprocessing width for a well-behaved query.

    Cost: that of `construct_order` where a bound shows that its order is best, which holds for every free-connex query;
    else exponential in the variables, and bounded by the budget.

    Args:
        edges: The variables of each atom.
        free: The output variables.
        dynamic: Positions of the dynamic atoms. The query is well-behaved.
        budget: Largest number of subtrees for which the search may try a variable on top.

    >>> edges = [frozenset("ab"), frozenset("bc"), frozenset("ac")]
    >>> triangle = least_width_order(edges, frozenset("abc"), frozenset({0}))
    >>> print(triangle.order, triangle.width, triangle.complete)
    a{b{0, c{1, 2}}} 2 True
    """
    order = construct_order(edges, free, dynamic)
    width = order_width(order, edges, dynamic)
    search = _Search(edges, free, dynamic, width, budget)
    try:
        if _forced_width(edges, free, dynamic) < width:
            better = search.forest(frozenset[str]().union(*edges))
            if better is not None:
                order, width = variable_order(edges, _parents(better)), _widest(better)
    except _BudgetSpentError:
        return LeastWidth(order, width, False, search.taken)
    return LeastWidth(order, width, True, search.taken)


def _forced_width(edges: Sequence[Group], free: Group, dynamic: frozenset[int]) -> Fraction:
    """A lower bound: what a component of private or bound variables depends on stands above all of it."""
    variables = frozenset[str]().union(*edges)
    private = variables - frozenset[str]().union(*(edges[atom] for atom in dynamic))
    least = Fraction(1)
    for layer in (private, variables - free, private - free):
        for component in _components(layer, edges):
            widths = (width_at(top, component, edges, dynamic) for top in _tops(component, edges, component, dynamic))
            least = max(least, min(widths))
    return least


def _tops(group: Group, edges: Sequence[Group], variables: Group, dynamic: frozenset[int]) -> Group:
    """The variables that may stand above all others of a group: those of every dynamic atom that meets the group."""
    touched = (edges[atom] for atom in dynamic if edges[atom] & group)
    return variables.intersection(*touched)


def _components(variables: Group, edges: Sequence[Group]) -> list[Group]:
    """The components of variables that are connected by atoms, by their first variable."""
    parts = Hypergraph(tuple(edge & variables for edge in edges if edge & variables))
    groups = (frozenset[str]().union(*(parts.edges[atom] for atom in atoms)) for atoms in parts.components())
    return sorted(groups, key=min)


@dataclass(frozen=True)
class _Best:
    """The best order of a subtree: its width, its top variable and the subtrees below."""

    width: Fraction
    top: str
    below: tuple[_Best, ...]


def _widest(forest: tuple[_Best, ...]) -> Fraction:
    return max((best.width for best in forest), default=Fraction(0))


def _parents(forest: tuple[_Best, ...], above: str | None = None) -> dict[str, str | None]:
    parents: dict[str, str | None] = {}
    for best in forest:
        parents |= {best.top: above, **_parents(best.below, best.top)}
    return parents


class _BudgetSpentError(Exception):
    """The search has taken as many steps as it may."""


class _Search:
    """The memoised recursion of `least_width_order`, for orders of less width than a limit."""

    def __init__(
        self, edges: Sequence[Group], free: Group, dynamic: frozenset[int], limit: Fraction, budget: int
    ) -> None:
        self.taken = 0
        self._budget = budget
        self._edges = edges
        self._free = free
        self._dynamic = dynamic
        self._limit = limit
        self._memo: dict[Group, _Best | None] = {}

    def forest(self, variables: Group) -> tuple[_Best, ...] | None:
        """The best orders of the components of variables, None if one has none below the limit."""
        trees = []
        for component in _components(variables, self._edges):
            best = self.tree(component)
            if best is None:
                return None
            trees.append(best)
        return tuple(trees)

    def tree(self, group: Group) -> _Best | None:
        """The best order of these variables with one of them on top, None if none stays below the limit."""
        if group not in self._memo:
            self._memo[group] = self._tree(group)
        return self._memo[group]

    def _tree(self, group: Group) -> _Best | None:
        if self.taken == self._budget:
            raise _BudgetSpentError
        self.taken += 1
        tops = _tops(group, self._edges, group & self._free or group, self._dynamic)
        least: _Best | None = None
        widths = ((width_at(top, group, self._edges, self._dynamic), top) for top in tops)
        for width, top in sorted(widths):
            if width >= (self._limit if least is None else least.width):
                break
            below = self.forest(group - {top})
            if below is not None and (least is None or max(width, _widest(below)) < least.width):
                least = _Best(max(width, _widest(below)), top, below)
        return least
