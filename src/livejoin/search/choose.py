"""The choice of a join tree for a query.

CROWN (end of section 6) prefers trees whose shape bounds the cost of a change by O(1), and among others the one with
the least ``sum of d(e) N(e)``: depth times changes, generalized relations not counted. So trees are compared by, in
this order (docs/decisions/0006):

1. the bound on the cost of a change (`livejoin.search.spread`), which the height decides where there are no keys; where
   it is O(1) for every sequence, a tree in which each change costs that comes before one in which it is amortised over
   append-only tables;
2. the sum over the atoms of depth times expected changes;
3. the height;
4. the predicted propagation (`livejoin.search.cost`);
5. the number of generalized relations, and the order of the atoms.

The first three are those of `cheapest_tree`, a search over all trees; the fourth is compared over `all_trees` up to a
limit. The choice is a pure function of query and statistics.

Where no tree of these has the best bound, a query with static tables may have one of `linear_tree`, which both searches
leave out; so may one with append-only tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from livejoin.query import ConjunctiveQuery
from livejoin.search.cheapest_tree import cheapest_tree
from livejoin.search.cost import depth_cost, propagation
from livejoin.search.guarantee import UpdateBound
from livejoin.search.problem import Problem, problem_of
from livejoin.search.spread import is_paid_before, tree_bound
from livejoin.search.statistics import Statistics
from livejoin.theory.static.linear_tree import linear_tree
from livejoin.theory.trees.all_trees import all_trees
from livejoin.theory.trees.join_tree import JoinTree, least_height_tree
from livejoin.theory.trees.join_tree_laws import is_valid

MOST_TREES = 300  # trees of one query that are compared one by one
_KEPT = 4  # of those, how many are kept to be shown


@dataclass(frozen=True)
class Measured:
    """A join tree with the figures by which trees are compared.

    Args:
        tree: The tree.
        bound: The bound on the cost of a change.
        cost: Sum of depths times expected changes.
        height: The height of the tree.
        propagation: Predicted rows that a change visits.
        is_paid_before: Whether the bound rests on append-only tables: one change may cost more, which others have paid.
    """

    tree: JoinTree
    bound: UpdateBound
    cost: float
    height: int
    propagation: float
    is_paid_before: bool = False

    @property
    def rank(self) -> tuple[int, bool, float, int, float, int]:
        """What trees are compared by; the least one is chosen."""
        # Sums of the same numbers in another order may differ in the last digits.
        cost, propagation = round(self.cost, 9), round(self.propagation, 9)
        return (self.bound, self.is_paid_before, cost, self.height, propagation, len(self.tree.nodes))


@dataclass(frozen=True)
class Choice:
    """The chosen tree and what it was chosen from.

    Args:
        best: The chosen tree.
        others: The next best ones, best first.
        compared: Trees that were compared.
        steps: Separations that the search made.
        all_compared: Whether every tree of the query was compared one by one.
        searched: Whether the search for the least bound, cost and height came to its end.
        reason: Why this one.
    """

    best: Measured
    others: tuple[Measured, ...]
    compared: int
    steps: int
    all_compared: bool
    searched: bool
    reason: str


def choose_tree(query: ConjunctiveQuery, statistics: Statistics | None = None) -> JoinTree:
    """The join tree that maintains an acyclic query best.

    Cost: exact for queries of realistic size, bounded for larger ones; see `choose`.

    Args:
        query: The query.
        statistics: Statistics of the tables; none if None.

    Raises:
        UnsupportedQueryError: The query is cyclic.
    """
    return choose(problem_of(query, statistics or Statistics())).best.tree


def choose(problem: Problem, most_trees: int = MOST_TREES, budget: int = 20_000) -> Choice:
    """The join tree that maintains a free-connex query best, with the reason.

    Cost: at most four times ``budget`` separations and ``most_trees`` trees.

    Raises:
        UnsupportedQueryError: The query is cyclic or not free-connex.
    """
    first, steps, searched = _search(problem, budget)
    measured = {_unordered(first.tree): first}
    if first.bound > UpdateBound.ALWAYS or first.is_paid_before:
        measured |= {_unordered(linear.tree): linear for linear in _linear(problem)}
    trees = all_trees(problem.edges, problem.free, most_trees)
    for tree in trees:
        if (same := _unordered(tree)) not in measured:
            measured[same] = measure(tree, problem)
    found = Choice(first, (), len(measured), steps, trees.complete, searched, "")
    return choose_among([*measured.values()], found, problem)


def choose_among(measured: Sequence[Measured], search: Choice, problem: Problem) -> Choice:
    """The best of some trees, with the reason; how they were found is told by ``search``."""
    ranked = sorted(measured, key=lambda m: m.rank)
    best, others = ranked[0], tuple(ranked[1 : 1 + _KEPT])
    return replace(search, best=best, others=others, reason=_reason(best, others, problem))


def measure(tree: JoinTree, problem: Problem) -> Measured:
    """What a tree is compared by. Cost: O(nodes)."""
    bound = tree_bound(tree, problem)
    paid = bound is UpdateBound.ALWAYS and is_paid_before(tree, problem)
    return Measured(tree, bound, depth_cost(tree, problem), tree.height, propagation(tree, problem), paid)


def best_bound(problem: Problem, worst: UpdateBound = UpdateBound.LAMBDA, budget: int = 2_000) -> Measured | None:
    """The tree with the least bound, if there is one that is not above ``worst``; the search may stop early."""
    for bound, strict in _wishes(problem):
        if bound <= worst and (tree := cheapest_tree(strict, bound, budget).tree) is not None:
            return measure(tree, problem)
        if bound is UpdateBound.ALWAYS and (linear := _linear(strict)):
            return min((measure(one.tree, problem) for one in linear), key=lambda one: one.rank)
    return None


def _search(problem: Problem, budget: int) -> tuple[Measured, int, bool]:
    """The cheapest tree under the best bound, the steps taken, and whether the search came to its end."""
    steps, complete = 0, True
    for bound, strict in _wishes(problem):
        found = cheapest_tree(strict, bound, budget)
        steps += found.steps
        complete = complete and found.complete
        if found.tree is not None:
            return measure(found.tree, problem), steps, complete
    tree = least_height_tree(problem.edges, problem.free, problem.weights, budget)
    return measure(tree, problem), steps, complete


def _wishes(problem: Problem) -> Iterator[tuple[UpdateBound, Problem]]:
    """The bounds that are asked for, the best one first; O(1) first without what append-only tables pay for."""
    if problem.growing:
        yield UpdateBound.ALWAYS, replace(problem, growing=frozenset())
    yield from ((bound, problem) for bound in (UpdateBound.ALWAYS, UpdateBound.FIFO, UpdateBound.LAMBDA))


def _linear(problem: Problem) -> list[Measured]:
    """The trees of a query in C_lin (ICDT 2025), in which every change costs O(1).

    Append-only tables count as tables that change, and as static ones; as the latter not everywhere: what comes up from
    them to a generalized relation has to be all of its columns.
    """
    found = []
    for dynamic in dict.fromkeys((problem.dynamic, problem.leaving)):
        if len(dynamic) < len(problem.edges):
            tree = linear_tree(problem.edges, problem.free, dynamic)
            if tree is not None and is_valid(tree, problem.edges, problem.free, problem.dynamic):
                found.append(measure(tree, problem))
    return found


def _unordered(tree: JoinTree) -> str:
    """A tree on one line with its children in an order that does not depend on how it was built."""
    lines = [""] * len(tree.nodes)
    for position in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[position]
        head = str(node.variables) if node.atom is None else str(node.atom)
        lines[position] = f"{head}{{{', '.join(sorted(lines[child] for child in node.children))}}}"
    return lines[0]


def _reason(best: Measured, others: tuple[Measured, ...], problem: Problem) -> str:
    """Why a tree was chosen over the next best one."""
    if not others:
        return "It is the only join tree of the query."
    second = others[0]
    if best.bound == second.bound and best.is_paid_before != second.is_paid_before:
        return "No other tree that was compared has a bound of O(1) for each change by itself, not only amortised."
    if best.bound != second.bound:
        return f"No other tree that was compared has as good a bound on the cost of a change ({best.bound.formula})."
    same = f"Of the trees with this bound on the cost of a change ({best.bound.formula}), it"
    if best.rank[2] != second.rank[2]:
        told = "expected changes" if len(set(problem.weights)) > 1 else "changes, taken to be the same for all tables"
        return (
            f"{same} has the least sum of depth times {told}: {best.cost:.4g}, and {second.cost:.4g} for the next best."
        )
    if best.height != second.height:
        return (
            f"Of the trees with this bound on the cost of a change ({best.bound.formula}) and the least sum of depth "
            f"times changes ({best.cost:.4g}), it has the least height."
        )
    if best.rank[4] != second.rank[4]:
        return (
            f"{same} is the one in which a change is expected to visit the fewest rows: {best.propagation:.3g}, and "
            f"{second.propagation:.3g} for the next best, which has the same sum of depth times changes and height."
        )
    return f"{same} comes first; others are as good, with a sum of depth times changes of {best.cost:.4g}."
