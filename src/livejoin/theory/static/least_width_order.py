"""The preprocessing width of a query: the least width of its well-structured variable orders.

The definition is that of Kara, Luo, Nikolic, Olteanu, Zhang: Tractable Conjunctive Queries over Static and Dynamic
Relations, ICDT 2025, section 5.1. The paper does not say how to find the least width; this is an exact search. For the
variables S of a subtree, what stands above does not matter (see `preprocessing_width`), so that::

    tree(S)   = least, over the variables X of S that may stand on top, of max(width at X over S, forest(S - {X}))
    forest(S) = least, over the partitions of the components of S into groups, of the largest tree(group)

X may stand on top of S if every dynamic atom with a variable in S has X (canonical), and if X is free or S has no free
variable (free-top). Components are those of the atoms restricted to S. Groups of more than one component are rarely of
use, but they can be: the atoms of one component may cover what another one depends on.

Three bounds make the search short. An order of `construct_order` is the first candidate. The variables above a private
or bound component of the query are known beforehand, which often shows that the candidate cannot be improved. Where
all atoms may be used as covers, groups of one component are enough; the least width under this rule is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.cyclic.edge_cover import fractional_edge_cover
from livejoin.theory.static.preprocessing_width import depends_on, order_width, width_at
from livejoin.theory.static.static_parts import construct_order
from livejoin.theory.static.variable_order import VariableOrder, variable_order

Group = frozenset[str]


@dataclass(frozen=True)
class LeastWidth:
    """A well-structured variable order of least preprocessing width, as far as the search went.

    Args:
        order: The order.
        width: Its preprocessing width.
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
    width = order_width(order, edges)
    lower = _forced_width(edges, free, dynamic)
    variables = frozenset[str]().union(*edges)
    spent = _Budget(budget)
    try:
        if lower < width:
            relaxed = _Search(edges, free, dynamic, width, _width_by_all, _apart, spent).forest(variables)
            lower = width if relaxed is None else _widest(relaxed)
        for groupings in (_apart, _partitions):
            if lower < width:
                better = _Search(edges, free, dynamic, width, width_at, groupings, spent).forest(variables)
                if better is not None:
                    order, width = variable_order(edges, _parents(better)), _widest(better)
    except _BudgetSpentError:
        return LeastWidth(order, width, False, spent.taken)
    return LeastWidth(order, width, True, spent.taken)


def _forced_width(edges: Sequence[Group], free: Group, dynamic: frozenset[int]) -> Fraction:
    """A lower bound: what a component of private or bound variables depends on stands above all of it."""
    variables = frozenset[str]().union(*edges)
    private = variables - frozenset[str]().union(*(edges[atom] for atom in dynamic))
    least = Fraction(1)
    for layer in (private, variables - free, private - free):
        for component in _components(layer, edges):
            above = depends_on(component, edges)
            least = max(least, min(fractional_edge_cover(edges, above | {top}).number for top in component))
    return least


def _components(variables: Group, edges: Sequence[Group]) -> list[Group]:
    """The components of variables that are connected by atoms, by their first variable."""
    parts = Hypergraph(tuple(edge & variables for edge in edges if edge & variables))
    groups = (frozenset[str]().union(*(parts.edges[atom] for atom in atoms)) for atoms in parts.components())
    return sorted(groups, key=min)


def _width_by_all(top: str, group: Group, edges: Sequence[Group]) -> Fraction:
    """A lower bound of the width at a top variable: all atoms may cover."""
    return fractional_edge_cover(edges, depends_on(group, edges) | {top}).number


def _apart(components: list[Group]) -> Iterator[list[Group]]:
    """Every component by itself."""
    yield components


def _partitions(components: list[Group]) -> Iterator[list[Group]]:
    """All partitions of the components into groups, every component by itself first."""
    if not components:
        yield []
        return
    for groups in _partitions(components[1:]):
        yield [components[0], *groups]
    for groups in _partitions(components[1:]):
        for i, group in enumerate(groups):
            yield [components[0] | group, *groups[:i], *groups[i + 1 :]]


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


@dataclass
class _Budget:
    """The steps that the runs of one search share."""

    allowed: int
    taken: int = 0

    def step(self) -> None:
        if self.taken == self.allowed:
            raise _BudgetSpentError
        self.taken += 1


class _Search:
    """One run of the memoised recursion of `least_width_order`, for orders of less width than a limit."""

    def __init__(
        self,
        edges: Sequence[Group],
        free: Group,
        dynamic: frozenset[int],
        limit: Fraction,
        width: Callable[[str, Group, Sequence[Group]], Fraction],
        groupings: Callable[[list[Group]], Iterator[list[Group]]],
        budget: _Budget,
    ) -> None:
        self._edges = edges
        self._free = free
        self._dynamic = [edges[atom] for atom in sorted(dynamic)]
        self._limit = limit
        self._width = width
        self._groupings = groupings
        self._budget = budget
        self._memo: dict[Group, _Best | None] = {}

    def forest(self, variables: Group) -> tuple[_Best, ...] | None:
        """The best orders of groups of components, None if no grouping stays below the limit."""
        least: tuple[_Best, ...] | None = None
        for groups in self._groupings(_components(variables, self._edges)):
            self._budget.step()
            found = self._trees(groups)
            if found is not None and (least is None or _widest(found) < _widest(least)):
                least = found
        return least

    def _trees(self, groups: list[Group]) -> tuple[_Best, ...] | None:
        trees = []
        for group in groups:
            best = self.tree(group)
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
        self._budget.step()
        tops = group & self._free or group
        for edge in self._dynamic:
            if edge & group:
                tops &= edge
        least: _Best | None = None
        for width, top in sorted((self._width(top, group, self._edges), top) for top in tops):
            if width >= (self._limit if least is None else least.width):
                break
            below = self.forest(group - {top})
            if below is not None and (least is None or max(width, _widest(below)) < least.width):
                least = _Best(max(width, _widest(below)), top, below)
        return least
