"""The rows that a change is predicted to visit in the joins inside bags, attribute by attribute.

Generic join binds attributes in an order (`livejoin.families.bags.propagation_order`). For each combination so far it
goes through the rows of the relation that has fewest with these values, and looks each of them up in the other ones.
"""

from __future__ import annotations

from livejoin.families.bags.propagation_order import propagation
from livejoin.search.problem import Problem
from livejoin.theory.cyclic.decomposition import Decomposition


def visits(decomposition: Decomposition, problem: Problem) -> float:
    """The rows that a change is predicted to visit, its own included, on average over the expected changes.

    Cost: O(atoms squared) for each bag and each of its attributes.

    Args:
        decomposition: The bags.
        problem: The planning problem of the query.
    """
    total = sum(problem.weights[atom] * _of_atom(decomposition, problem, atom) for atom in range(len(problem.edges)))
    return total / (sum(problem.weights) or 1.0)


def _of_atom(decomposition: Decomposition, problem: Problem, atom: int) -> float:
    """The rows that a change of one atom visits in all bags that have it, and its own."""
    visited = 1.0
    for bag in decomposition.bags:
        if atom in bag.atoms and len(bag.atoms) > 1:
            visited += _inside(tuple(bag.atoms), bag.variables, problem, atom)
    return visited


def _inside(atoms: tuple[int, ...], kept: frozenset[str], problem: Problem, start: int) -> float:
    names = sorted(frozenset[str]().union(*(problem.edges[one] for one in atoms)))
    number = {name: place for place, name in enumerate(names)}
    relations = [frozenset(number[v] for v in problem.edges[one]) for one in atoms]
    order = propagation(relations, atoms.index(start), frozenset(number[v] for v in kept if v in number))
    visited, combinations = 0.0, 1.0
    for group, participants in zip(order.groups, order.steps, strict=True):
        bound = [frozenset(names[place] for place in one.bound) for one in participants]
        new = frozenset(names[place] for place in group)
        met = [problem.fanout(atoms[one.relation], b) for one, b in zip(participants, bound, strict=True)]
        fewest = min(range(len(met)), key=met.__getitem__)
        visited += combinations * met[fewest]
        combinations *= met[fewest]
        for place, one in enumerate(participants):
            rows = problem.rows[atoms[one.relation]]
            if place != fewest and rows:  # so many of its rows have one value of what is bound now
                combinations *= min(1.0, met[place] * problem.fanout(atoms[one.relation], new) / max(1.0, rows))
    return visited
