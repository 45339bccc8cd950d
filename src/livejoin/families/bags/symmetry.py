"""Symmetries of a join: permutations of its attributes that map its relations onto each other.

A relation here is a label, equal for those that have the same tuples, with its attributes in the order of the tuple. If
a symmetry maps relation r to s, then as many results have a given tuple at r as have it at s.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

Labelled = tuple[Hashable, tuple[int, ...]]

_MOST_RELATIONS = 10  # beyond, the search may take long, and every relation stands for itself


def orbits(relations: Sequence[Labelled]) -> list[list[int]]:
    """The relations that symmetries map to each other, each set in order.

    Cost: exponential in the relations in the worst case, and little for joins in which each has a neighbour.

    >>> orbits([("G", (0, 1)), ("G", (1, 2)), ("G", (2, 0))]), orbits([("G", (0, 1)), ("G", (1, 2)), ("G", (0, 2))])
    ([[0, 1, 2]], [[0], [1], [2]])
    """
    found: list[list[int]] = []
    for relation in range(len(relations)):
        for orbit in found:
            if len(relations) <= _MOST_RELATIONS and _maps(relations, orbit[0], relation):
                orbit.append(relation)
                break
        else:
            found.append([relation])
    return found


def _maps(relations: Sequence[Labelled], source: int, target: int) -> bool:
    """Whether a symmetry maps one relation to another."""
    order = [source, *(r for r in range(len(relations)) if r != source)]

    def extend(position: int, mapping: dict[int, int], taken: frozenset[int]) -> bool:
        if position == len(order):
            return True
        candidates = [target] if position == 0 else [r for r in range(len(relations)) if r not in taken]
        for candidate in candidates:
            longer = _matched(relations[order[position]], relations[candidate], mapping)
            if longer is not None and extend(position + 1, longer, taken | {candidate}):
                return True
        return False

    return extend(0, {}, frozenset())


def _matched(source: Labelled, target: Labelled, mapping: dict[int, int]) -> dict[int, int] | None:
    """The mapping of attributes extended so that it maps one relation to another; None if it cannot."""
    if source[0] != target[0]:
        return None
    longer = dict(mapping)
    for attribute, image in zip(source[1], target[1], strict=True):
        if longer.setdefault(attribute, image) != image:
            return None
    return longer if len(set(longer.values())) == len(longer) else None
