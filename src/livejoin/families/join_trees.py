"""The join trees of an acyclic query, searched and told of alike by all families that maintain one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livejoin.families.derived import DerivedTable
from livejoin.families.family import SearchOutline
from livejoin.families.outline import AtomOutline, atom_outlines
from livejoin.query import ConjunctiveQuery
from livejoin.search.branches import choose_with_branches
from livejoin.search.choose import Choice, Measured, choose
from livejoin.search.cost import propagation
from livejoin.search.problem import Problem, problem_of
from livejoin.search.statistics import Statistics
from livejoin.search.touches import Churn, churn, tree_touches
from livejoin.theory.classes.free_connex import check_free_connex
from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.trees.join_tree import JoinTree


@dataclass(frozen=True)
class JoinTrees:
    """The planning problem of a query and the trees that were chosen from.

    Args:
        problem: The problem.
        choice: The trees.
        changes: The changes to expect.
    """

    problem: Problem
    choice: Choice
    changes: Churn


@dataclass(frozen=True)
class TreePlan:
    """A join tree as a candidate, whatever maintains it: what `livejoin.families.family.Candidate` asks of the tree.

    Args:
        query: The query.
        measured: The tree.
        changes: The changes to expect.
    """

    query: ConjunctiveQuery
    measured: Measured
    changes: Churn

    @property
    def touches(self) -> float:
        return tree_touches(self.tree, self.changes)

    @property
    def line(self) -> str:
        return tree_line(self.tree, atom_outlines(self.query))

    @property
    def cost(self) -> float:
        return self.measured.cost

    @property
    def propagation(self) -> float:
        return self.measured.propagation

    @property
    def tree(self) -> JoinTree:
        return self.measured.tree

    @property
    def obstacle(self) -> str:
        return ""

    @property
    def derived(self) -> tuple[DerivedTable, ...]:
        return ()


def join_trees(query: ConjunctiveQuery, known: Statistics) -> JoinTrees | None:
    """The join trees of a query, None if it has none. Cost: that of `livejoin.search.choose.choose`.

    Args:
        query: The query.
        known: Statistics of the tables.
    """
    if not is_acyclic(query.edges) or not (query.branches or query.free is None or _is_connex(query.edges, query.free)):
        return None
    problem = problem_of(query, known, query.free)
    choice = choose_with_branches(query, problem) if query.branches else choose(problem)
    return None if choice is None else JoinTrees(problem, choice, churn(query, problem, known))


def _is_connex(edges: Sequence[frozenset[str]], output: frozenset[str]) -> bool:
    """Whether a tree of acyclic atoms keeps an output together: one that a family keeps for another reason may not."""
    return is_acyclic([*edges, output])


def free_connex_output(query: ConjunctiveQuery, asked: frozenset[str]) -> frozenset[str] | None:
    """The least free-connex output that contains some variables (CROWN, section 7.1); None for a cyclic join."""
    found = check_free_connex(query.edges, asked)
    return None if found.cycle else asked | found.additions


def tree_work(query: ConjunctiveQuery, tree: JoinTree, known: Statistics) -> float:
    """Visits that all expected changes are predicted to make in a tree. Cost: O(nodes)."""
    problem = problem_of(query, known, query.free)
    return propagation(tree, problem) * sum(problem.weights)


def tree_line(tree: JoinTree, atoms: tuple[AtomOutline, ...]) -> str:
    """A join tree on one line, with aliases for atoms."""

    def show(position: int) -> str:
        node = tree.nodes[position]
        head = f"[{', '.join(node.variables)}]" if node.atom is None else atoms[node.atom].alias
        below = ", ".join(show(child) for child in node.children)
        return f"{head}{{{below}}}" if below else head

    return show(0)


def tree_search(choice: Choice) -> SearchOutline:
    """How far the search for a tree went."""
    one = "1 join tree" if choice.compared == 1 else f"{choice.compared} join trees"
    if not choice.searched:
        note = f"{one} compared; the search stopped early after {choice.steps:,} steps, a better tree may exist"
    elif choice.all_compared:
        note = f"{one} compared, all that there are"
    else:
        note = (
            f"{one} compared; there are more, among all of which the search found the least bound and cost, but not "
            "the least predicted propagation"
        )
    return SearchOutline(choice.compared, choice.steps, choice.searched and choice.all_compared, note)
