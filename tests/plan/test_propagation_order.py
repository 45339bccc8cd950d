"""The laws of a propagation's order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from livejoin.families.bags.propagation_order import propagation
from strategies import FUZZ

RELATIONS = st.lists(st.frozensets(st.integers(0, 5), max_size=4), min_size=1, max_size=5)


@FUZZ
@given(RELATIONS, st.data())
def test_every_relation_is_reached_attribute_by_attribute(relations: list[frozenset[int]], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(relations) - 1))
    kept = frozenset(data.draw(st.sets(st.integers(0, 5))))
    found = propagation(relations, start, kept)
    bound = relations[start]
    reached = {one.relation: one.reached for one in found.probes}
    assert reached == {r: relations[r] & bound for r in range(len(relations)) if r != start}
    for group, step in zip(found.groups, found.steps, strict=True):
        assert group and not group & bound
        assert [one.relation for one in step] == [r for r in reached if group & relations[r]], "all that have it"
        for one in step:
            assert one.bound == reached[one.relation] == relations[one.relation] & bound
            assert group <= one.reached == one.bound | group
            reached[one.relation] = one.reached
        bound |= group
    assert all(reached[r] == relations[r] for r in reached)


def test_attributes_that_lead_on_come_first() -> None:
    path = [frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 3}), frozenset({3, 0})]
    assert [sorted(group) for group in propagation(path, 0, frozenset()).groups] == [[2], [3]]


def test_attributes_of_one_relation_are_bound_at_once() -> None:
    relations = [frozenset({0, 1}), frozenset({1, 2, 3, 4})]
    assert propagation(relations, 0, frozenset()).groups == (frozenset({2, 3, 4}),)
