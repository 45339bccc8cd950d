"""Orbits of relations against brute force over all permutations of the attributes."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from livejoin.families.bags.symmetry import Labelled, orbits
from strategies import FUZZ

RELATIONS = st.lists(
    st.tuples(st.sampled_from("RS"), st.permutations(range(4)).map(lambda p: tuple(p[:2]))), min_size=1, max_size=5
)


def brute(relations: list[Labelled]) -> list[set[int]]:
    """For each relation, those that some permutation of the attributes which keeps the join maps it to."""
    images: list[set[int]] = [set() for _ in relations]
    for permutation in permutations(range(4)):
        mapped = [(label, tuple(permutation[a] for a in attributes)) for label, attributes in relations]
        if Counter(mapped) == Counter(relations):
            for i, image in enumerate(mapped):
                images[i] |= {j for j, relation in enumerate(relations) if relation == image}
    return images


@FUZZ
@given(RELATIONS)
def test_orbits(relations: list[Labelled]) -> None:
    images = brute(relations)
    found = orbits(relations)
    assert sorted(r for orbit in found for r in orbit) == list(range(len(relations)))
    assert all(images[r] == set(orbit) for orbit in found for r in orbit)


def test_cycles_and_cliques() -> None:
    four = [("G", (i, (i + 1) % 4)) for i in range(4)]
    assert orbits(four) == [[0, 1, 2, 3]]
    clique = [("G", (i, j)) for i in range(4) for j in range(4) if i < j]
    assert orbits(clique) == [[r] for r in range(6)]


def test_too_many_relations_stand_for_themselves() -> None:
    assert orbits([("G", (i, (i + 1) % 11)) for i in range(11)]) == [[r] for r in range(11)]
