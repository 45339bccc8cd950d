"""Generated change sequences have the enclosureness that was asked for."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifespan_brute_force import naive_enclosureness, naive_tree_enclosureness, tree_of, trees, tuples_of

from livejoin.errors import ChangeError
from livejoin.theory.logs.change_sequences import ChangeSequence, enclosing_sequence, enclosing_sequence_for
from livejoin.theory.logs.enclosureness import enclosureness
from livejoin.theory.logs.tree_enclosureness import crossing_enclosureness, tree_enclosureness
from livejoin.theory.trees.join_tree import JoinTree
from strategies import FUZZ


def _comes_and_goes_once(sequence: ChangeSequence) -> bool:
    changes = Counter(zip(sequence.relation.tolist(), sequence.row.tolist(), sequence.sign.tolist(), strict=True))
    staying = sum((relation, row, -1) not in changes for relation, row, sign in changes if sign > 0)
    return (
        set(changes.values()) == {1} and staying == sequence.initial and (sequence.sign[: sequence.initial] > 0).all()
    )


@FUZZ
@given(st.integers(2, 400), st.floats(0, 1), st.integers(0, 9))
def test_the_enclosureness_is_exact(tuples: int, share: float, seed: int) -> None:
    short = tuples // 2
    most = short * (tuples - short + 1) / tuples
    wished = 1 + share * max(0, most - 1)
    sequence = enclosing_sequence(tuples, wished, seed)
    found = enclosureness(sequence.lifespans)
    assert found.tuples == tuples
    assert found.total == round(wished * tuples)
    assert _comes_and_goes_once(sequence)


@FUZZ
@given(trees(), st.integers(20, 400), st.floats(0, 1), st.integers(0, 9))
def test_the_enclosureness_with_respect_to_a_tree_is_exact(
    tree: JoinTree, tuples: int, share: float, seed: int
) -> None:
    if tree.height == 1:
        with pytest.raises(ChangeError, match="no atom of the tree has a child"):
            enclosing_sequence_for(tree, tuples, 1, seed)
        return
    wished = 1 + share * (tuples / 8 - 1)
    sequence = enclosing_sequence_for(tree, tuples, wished, seed)
    found = tree_enclosureness(sequence.lifespans, tree)
    assert found.tuples == tuples
    assert found.total == round(wished * tuples)
    assert crossing_enclosureness(sequence.lifespans, tree).total == found.total
    assert _comes_and_goes_once(sequence)


def test_small_sequences_by_definition() -> None:
    for seed in range(10):
        spans = enclosing_sequence(9, 2, seed).lifespans
        assert sum(naive_enclosureness(tuples_of(spans))) == 18
        tree = tree_of([1, 2, None, 2])
        spans = enclosing_sequence_for(tree, 12, 2, seed).lifespans
        assert sum(map(sum, naive_tree_enclosureness(tuples_of(spans), tree))) == 24


def test_half_a_million_tuples() -> None:
    found = enclosureness(enclosing_sequence(500_000, 12_345.678).lifespans)
    assert found.average == 12_345.678
    assert found.largest == round(2 * 12_345.678 - 1 + 0.5)


def test_a_seed_gives_one_sequence() -> None:
    one, same, other = (enclosing_sequence(100, 5, seed) for seed in (1, 1, 2))
    assert one.row.tolist() == same.row.tolist()
    assert one.row.tolist() != other.row.tolist()


@pytest.mark.parametrize(
    ("tuples", "wished"), [(1, 1), (0, 1), (-3, 1), (100, 0.5), (100, 26), (100, float("nan")), (100, float("inf"))]
)
def test_sequences_that_are_not_possible_are_refused(tuples: int, wished: float) -> None:
    with pytest.raises(ChangeError, match=f"no sequence of {tuples} tuples has enclosureness"):
        enclosing_sequence(tuples, wished)


def test_every_atom_has_a_row() -> None:
    tree = tree_of([None, 0, 0, 1])
    assert set(enclosing_sequence_for(tree, 10, 1).relation.tolist()) == {0, 1, 2, 3}
    with pytest.raises(ChangeError, match="no sequence of 3 tuples has enclosureness 1; give more tuples"):
        enclosing_sequence_for(tree, 3, 1)
