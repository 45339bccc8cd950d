"""Every law of a decomposition can be broken, and says which."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypergraphs import described, edges_of

from livejoin.theory.cyclic.decomposition import Decomposition, decompose
from livejoin.theory.cyclic.decomposition_laws import decomposition_violations
from livejoin.theory.trees.join_tree import least_height_tree


def broken(found: Decomposition, position: int, **changes: object) -> Decomposition:
    bags = list(found.bags)
    bags[position] = replace(bags[position], **changes)  # type: ignore[arg-type]
    return replace(found, bags=tuple(bags))


def test_every_law_can_be_broken() -> None:
    edges = edges_of("ab", "bc", "ca", "bd", "dc")
    found = decompose(edges)
    assert described(found) == ["abc 0,1,2", "bcd 3,4/1"]
    one = Fraction(1)
    cases = [
        (broken(found, 0, atoms=(0, 2)), "once: atom 1 is joined in 0 bags"),
        (broken(found, 1, atoms=(1, 3, 4), filters=()), "once: atom 1 is joined in 2 bags"),
        (broken(found, 1, atoms=(3, 4, 5)), "once: there is no atom 5"),
        (broken(found, 0, variables=frozenset("ab")), "inside: bag 0 joins atom 1"),
        (broken(found, 1, filters=(3,)), "filter: bag 1 cannot be filtered by atom 3"),
        (broken(found, 1, filters=()), "cover: bag 1 is covered by atoms that it does not have"),
        (broken(found, 0, cover=((0, one),)), "cover: bag 0 has c not covered by its fractional cover"),
        (broken(found, 0, integral_cover=(0,)), "cover: bag 0 has c not covered by its integral cover"),
        (broken(found, 0, cover=((0, one), (1, one), (2, -one))), "cover: bag 0 has a weight that is not positive"),
        (broken(found, 0, cover=((0, one), (1, one))), "cover: bag 0 has the fractional width 2, the least is 3/2"),
        (broken(found, 0, integral_cover=(0, 1, 2)), "cover: bag 0 has the integral width 3, the least is 2"),
        (replace(found, width=one), "width: the fractional width is 1"),
        (replace(found, integral_width=1), "width: the integral width is 1"),
        (replace(found, tree=least_height_tree(edges_of("abc", "bc"))), "tree: cover"),
    ]
    for decomposition, message in cases:
        assert any(text.startswith(message) for text in decomposition_violations(decomposition, edges)), message
    assert any(text.startswith("tree: connex") for text in decomposition_violations(found, edges, frozenset("ad")))
