"""The plans that could maintain a query, each with its guarantee, and whether this version runs it.

- *join tree* (CROWN): for every acyclic query. One that is not free-connex keeps more variables than it returns and
  projects while it enumerates (CROWN, section 7.1).
- *foreign keys* (AJU): for joins along primary keys whose graph is acyclic with one root, cyclic joins among them.
- *view trees* (ICDT 2025): for well-behaved queries with static tables.
- *bags* (CROWN, section 7.1): for cyclic queries, a join tree over the joins of a decomposition.

Law: every plan of the result maintains the query; the guarantee holds if the declared keys and static tables are what
they say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from livejoin.plan.explain.bag_candidate import bag_plan
from livejoin.plan.explain.explanation import AtomOutline, PlanOutline
from livejoin.plan.explain.outline import (
    atom_outlines,
    graph_outline,
    tree_line,
    tree_outline,
    view_line,
    view_tree_outline,
)
from livejoin.query import ConjunctiveQuery
from livejoin.search.choose import Choice, Measured, choose
from livejoin.search.guarantee import (
    Guarantee,
    UpdateBound,
    foreign_key_guarantee,
    tree_guarantee,
    view_tree_guarantee,
)
from livejoin.search.problem import Problem, problem_of
from livejoin.search.statistics import Statistics
from livejoin.theory.classes.free_connex import check_free_connex
from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.keys.assertion_key import assertion_keys
from livejoin.theory.keys.foreign_key import foreign_key_acyclic, foreign_key_graph
from livejoin.theory.logs.tree_enclosureness import has_inner_branch
from livejoin.theory.static.static_dynamic import Tractability, static_dynamic
from livejoin.theory.trees.join_tree import JoinTree

_KEYED = "foreign-key plans are not maintained yet"
_VIEWS = "view trees are not maintained yet"


@dataclass(frozen=True)
class Candidate:
    """A plan that could maintain a query.

    Args:
        outline: The plan, to be drawn.
        line: It on one line.
        guarantee: What it promises.
        cost: Sum of depths times expected changes.
        propagation: Predicted rows that a change visits.
        obstacle: Why this version does not run it; empty if it does.
        tree: Its join tree, if it is one over the query's atoms.
    """

    outline: PlanOutline
    line: str
    guarantee: Guarantee
    cost: float
    propagation: float
    obstacle: str
    tree: JoinTree | None = None

    @property
    def executable(self) -> bool:
        """Whether this version runs it."""
        return not self.obstacle


@dataclass(frozen=True)
class Candidates:
    """All plans for a query.

    Args:
        plans: The plans: the chosen one first, then the others by bound.
        choice: What the join tree was chosen from; None for a query without one.
        problem: The planning problem, with the output that the join tree keeps.
        complete: Whether the search for the join tree or the bags came to its end.
        width: Fractional hypertree width of the bags as text; ``1`` if the query is acyclic.
    """

    plans: tuple[Candidate, ...]
    choice: Choice | None
    problem: Problem
    complete: bool
    width: str

    @property
    def chosen(self) -> Candidate:
        """The plan: the best that this version runs, else the best."""
        return self.plans[0]


def candidates(
    query: ConjunctiveQuery, statistics: Statistics, free: frozenset[str] | None = None, live: bool = True
) -> Candidates:
    """The plans that could maintain a query, the best one first.

    Cost: that of `choose` and of the searches in ``theory``, all bounded.

    Args:
        query: The query.
        statistics: What is known of its tables.
        free: The output variables; all of them if None.
        live: Whether live views are kept for deltas.
    """
    problem = problem_of(query, statistics, free)
    atoms = atom_outlines(query)
    plans: list[Candidate] = []
    choice, width = None, "1"
    if is_acyclic(problem.edges):
        wider = _free_connex(problem)
        choice = choose(wider)
        complete = choice.searched
        plans += [tree_candidate(m, wider, atoms, live, problem.free) for m in (choice.best, *choice.others)]
        problem = wider
    else:
        bags = bag_plan(problem, atoms, live)
        complete, width = bags.decomposition.complete, str(bags.decomposition.width)
        plans.append(Candidate(bags.outline, bags.line, bags.guarantee, bags.cost, bags.propagation, ""))
    plans += foreign_key_candidates(query, atoms, problem)
    plans += view_tree_candidates(problem, atoms)
    plans.sort(key=lambda plan: (not plan.executable, plan.guarantee.bound))
    return Candidates(tuple(plans), choice, problem, complete, width)


def tree_candidate(
    measured: Measured, problem: Problem, atoms: tuple[AtomOutline, ...], live: bool, output: frozenset[str]
) -> Candidate:
    """A join tree as a plan.

    Args:
        measured: The tree.
        problem: The query with the output that the tree keeps.
        atoms: The query's atoms.
        live: Whether live views are kept for deltas.
        output: What the query returns, which may be less.
    """
    tree = measured.tree
    better = measured.bound < min(measured.height - 1, UpdateBound.LAMBDA)
    guarantee = tree_guarantee(
        measured.bound, measured.height, _grounds(problem) if better else "", has_inner_branch(tree)
    )
    if output != problem.free:
        more = ", ".join(sorted(problem.free - output))
        guarantee = replace(
            guarantee, delay=f"constant delay a row over the output and {more}, which is projected away when it is read"
        )
    return Candidate(
        outline=tree_outline(tree, problem, atoms, live),
        line=tree_line(tree, atoms),
        guarantee=guarantee,
        cost=measured.cost,
        propagation=measured.propagation,
        obstacle="",
        tree=tree,
    )


def foreign_key_candidates(
    query: ConjunctiveQuery, atoms: tuple[AtomOutline, ...], problem: Problem
) -> list[Candidate]:
    """The foreign-key plan of a query that is foreign-key acyclic; of one table it is the join tree."""
    graph = foreign_key_graph(query)
    if len(atoms) == 1 or not foreign_key_acyclic(graph):
        return []
    outline = graph_outline(graph, assertion_keys(graph), atoms)
    root = graph.digraph.roots[0]
    alone = problem.dynamic <= {root}
    guarantee = foreign_key_guarantee(UpdateBound.ALWAYS if alone else UpdateBound.FIFO)
    depths = {node.atoms[0]: node.depth for node in outline.nodes}
    cost = sum(depths[atom.alias] * weight for atom, weight in zip(atoms, problem.weights, strict=True))
    line = " ".join(f"{atoms[e.parent].alias}->{atoms[e.child].alias}" for e in graph.references)
    return [Candidate(outline, line, guarantee, cost, 1.0, _KEYED)]


def view_tree_candidates(problem: Problem, atoms: tuple[AtomOutline, ...], budget: int = 2_000) -> list[Candidate]:
    """The view trees of a well-behaved query with static tables; ``budget`` is for `least_width_order`."""
    if len(problem.dynamic) == len(problem.edges):
        return []
    found = static_dynamic(problem.edges, problem.free, problem.dynamic, budget)
    if found.rewriting is None:
        return []
    linear = found.tractability is Tractability.LINEAR
    outline = view_tree_outline(found.rewriting, problem.dynamic, atoms)
    depths = {node.atoms[0]: node.depth for node in outline.nodes if node.atoms}
    cost = sum(depths[atom.alias] * weight for atom, weight in zip(atoms, problem.weights, strict=True))
    guarantee = view_tree_guarantee(found.preprocessing, linear)
    line = ", ".join(view_line(tree, atoms) for tree in found.rewriting.trees)
    return [Candidate(outline, line, guarantee, cost, float(outline.height), _VIEWS)]


def _grounds(problem: Problem) -> str:
    """What a bound better than that of the height rests on."""
    static = ["static tables"] if len(problem.dynamic) < len(problem.edges) else []
    return " and ".join((["primary keys"] if any(problem.keys) else []) + static)


def _free_connex(problem: Problem) -> Problem:
    """The problem with the fewest more output variables that make it free-connex."""
    found = check_free_connex(problem.edges, problem.free)
    return problem if found else replace(problem, free=problem.free | found.additions)
