"""Enumeration through buffers of any size: a row of multiplicity m is written m times, however often it is cut."""

from __future__ import annotations

from collections import Counter

import pytest

from join_driver import JoinDriver
from livejoin.theory.trees.join_tree import JoinTree, Node

pytestmark = pytest.mark.nojit

ONE = JoinTree((Node(("x", "y"), 0, None, (), ()),), frozenset({0}))
TWO = JoinTree((Node(("x", "y"), 0, None, (1,), ()), Node(("y", "z"), 1, 0, (), ("y",))), frozenset({0, 1}))
CAPACITIES = [1, 2, 3, 4, 5, 7, 12, 100]


def scanned(driver: JoinDriver, capacity: int) -> list[tuple[int, ...]]:
    """The rows of a scan in its order; every buffer but the last one is full."""
    parts = [words.T.tolist() for words in driver.join.scan(capacity)]
    assert all(len(part) == capacity for part in parts[:-1])
    return [tuple(row) for part in parts for row in part]


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_copies_of_a_row_are_cut_anywhere(capacity: int) -> None:
    """One atom: the innermost block is the root's, and its rows have multiplicities of their own."""
    driver = JoinDriver([("x", "y")], ONE, capacity=capacity)
    expected = Counter({(1, 1): 5, (2, 1): 1, (3, 2): 7})
    for row, times in expected.items():
        assert driver.insert(0, row, times) == {row: times}
    rows = scanned(driver, capacity)
    assert Counter(rows) == expected
    assert sum(rows[i] != rows[i - 1] for i in range(1, len(rows))) == 2, "copies stand together"
    assert driver.delete(0, (3, 2), 4) == {(3, 2): -4}
    driver.check()


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_copies_multiply_along_a_join_and_are_cut_anywhere(capacity: int) -> None:
    """Two atoms: a result stands there as often as the product of its rows says, in a scan and in each delta."""
    driver = JoinDriver([("x", "y"), ("y", "z")], TWO, capacity=capacity)
    assert driver.insert(0, (1, 1), 3) == {}
    assert driver.insert(1, (1, 8), 2) == {(1, 1, 8): 6}
    assert driver.insert(1, (1, 9), 5) == {(1, 1, 9): 15}
    assert driver.insert(0, (2, 1), 2) == {(2, 1, 8): 4, (2, 1, 9): 10}
    assert Counter(scanned(driver, capacity)) == {(1, 1, 8): 6, (1, 1, 9): 15, (2, 1, 8): 4, (2, 1, 9): 10}
    assert driver.delete(0, (1, 1), 2) == {(1, 1, 8): -4, (1, 1, 9): -10}
    assert Counter(scanned(driver, capacity)) == {(1, 1, 8): 2, (1, 1, 9): 5, (2, 1, 8): 4, (2, 1, 9): 10}
    driver.check()
