"""The join tree of a query with branches: the best tree of its core, and below it the best tree of each branch.

An edge that is not inner has a direction, so that nothing above it may stand below it. What is left to choose is the
tree of the core, as of any query (`livejoin.search.choose`); the atom that a branch hangs on, among those that have its
key; and the tree of the branch among those whose root has the key.
"""

from __future__ import annotations

from dataclasses import replace

from livejoin.query import Branch, ConjunctiveQuery
from livejoin.search.cheapest_tree import rooted_shape
from livejoin.search.choose import Choice, choose, choose_among, measure
from livejoin.search.problem import Problem
from livejoin.theory.trees.branches import Hanging, shape_of, with_branches


def choose_with_branches(query: ConjunctiveQuery, problem: Problem) -> Choice | None:
    """The tree that maintains a query with branches best; None if a part is cyclic with its key.

    Cost: that of `livejoin.search.choose.choose` for the core, and of a bounded search for each branch.

    Args:
        query: The query, of which each part is acyclic.
        problem: The planning problem of the query.
    """
    hanging: dict[int, list[Hanging]] = {}
    for branch in query.branches:
        shape = rooted_shape(problem, branch.atoms, frozenset(inner for _, inner in branch.key))
        above = _atom_above(query, branch, problem)
        if shape is None or above is None:
            return None
        over, key = (tuple(pair[side] for pair in branch.key) for side in (0, 1))
        hanging.setdefault(above, []).append(Hanging(branch.kind, over, key, shape))
    choice = choose(_of_atoms(problem, query.core))
    cores = [shape_of(one.tree, query.core) for one in (choice.best, *choice.others)]
    trees = [with_branches(core, hanging, query.free) for core in cores]
    return choose_among([measure(tree, problem) for tree in trees], choice, problem)


def _atom_above(query: ConjunctiveQuery, branch: Branch, problem: Problem) -> int | None:
    """The atom that a branch hangs on: of those with its key the one of which fewest rows share it."""
    over = frozenset(outer for outer, _ in branch.key)
    part = query.core if branch.above is None else query.branches[branch.above].atoms
    found = [atom for atom in part if over <= query.edges[atom]]
    return min(found, key=lambda atom: problem.fanout(atom, over), default=None)


def _of_atoms(problem: Problem, atoms: tuple[int, ...]) -> Problem:
    """The problem of some atoms by themselves."""
    variables = frozenset[str]().union(*(problem.edges[atom] for atom in atoms))
    return replace(
        problem,
        edges=tuple(problem.edges[atom] for atom in atoms),
        free=problem.free & variables,
        keys=tuple(problem.keys[atom] for atom in atoms),
        dynamic=frozenset(i for i, atom in enumerate(atoms) if atom in problem.dynamic),
        weights=tuple(problem.weights[atom] for atom in atoms),
        rows=tuple(problem.rows[atom] for atom in atoms),
        distinct=tuple(problem.distinct[atom] for atom in atoms),
        growing=frozenset(i for i, atom in enumerate(atoms) if atom in problem.growing),
    )
