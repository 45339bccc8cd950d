"""The order in which change propagation binds attributes (generic join: Ngo, Re, Rudra, SIGMOD Record 42(4), 2013).

A change of one relation binds its attributes; the others are bound one *group* after the other. A group is a set of
attributes that the same relations have, so that one look-up binds them all. Each step names the relations that have the
group, its *participants*, with the attributes of them that are bound before. Any order is worst-case optimal; this one
prefers groups that bound relations lead to and that many relations restrict, then those whose values are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Participant:
    """A relation that a step reaches.

    Args:
        relation: The position of the relation.
        bound: The attributes of the relation that are bound before the step.
        reached: The attributes that are bound after the step.
    """

    relation: int
    bound: frozenset[int]
    reached: frozenset[int]


@dataclass(frozen=True)
class Propagation:
    """What a change of one relation does.

    Args:
        start: The relation.
        probes: The other relations that are looked up at the start, with the attributes that the change binds.
        groups: The attributes that each step binds.
        steps: The participants of each step.
    """

    start: int
    probes: tuple[Participant, ...]
    groups: tuple[frozenset[int], ...]
    steps: tuple[tuple[Participant, ...], ...]


def propagation(relations: Sequence[frozenset[int]], start: int, kept: frozenset[int]) -> Propagation:
    """The order of binding after a change of one relation.

    Args:
        relations: The attributes of each relation.
        start: The relation that changes.
        kept: Attributes whose values are results.

    >>> triangle = [frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 0})]
    >>> found = propagation(triangle, 0, frozenset({0, 1, 2}))
    >>> [sorted(group) for group in found.groups], [one.relation for one in found.steps[0]]
    ([[2]], [1, 2])
    """
    others = [r for r in range(len(relations)) if r != start]
    bound = relations[start]
    probes = tuple(Participant(r, frozenset(), relations[r] & bound) for r in others)
    left = _groups(relations, frozenset[int]().union(*relations) - bound)
    groups, steps = [], []
    while left:

        def rank(group: frozenset[int], bound: frozenset[int] = bound) -> tuple[int, int, int, int]:
            having = [relations[r] for r in others if group <= relations[r]]
            connected = sum(bool(relation & bound) for relation in having)
            return -connected, -len(having), -len(group & kept), min(group)

        group = min(left, key=rank)
        left.remove(group)
        having = [r for r in others if group <= relations[r]]
        steps.append(tuple(Participant(r, relations[r] & bound, relations[r] & (bound | group)) for r in having))
        groups.append(group)
        bound |= group
    return Propagation(start, probes, tuple(groups), tuple(steps))


def is_triangle(relations: Sequence[frozenset[int]]) -> bool:
    """Whether three relations of two attributes each have every two of three.

    >>> is_triangle([frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 0})])
    True
    """
    whole = frozenset[int]().union(*relations)
    return len(relations) == len(set(relations)) == len(whole) == 3 and all(len(one) == 2 for one in relations)


def _groups(relations: Sequence[frozenset[int]], attributes: frozenset[int]) -> list[frozenset[int]]:
    """The attributes by the relations that have them."""
    having: dict[tuple[int, ...], set[int]] = {}
    for attribute in sorted(attributes):
        having.setdefault(tuple(r for r, one in enumerate(relations) if attribute in one), set()).add(attribute)
    return [frozenset(group) for group in having.values()]
