"""The order in which a view applies events: by version, deletions first, else as they came."""

from __future__ import annotations

import numpy as np
import pytest

from livejoin.families.events import TableEvents, table_events, view_events
from livejoin.kernels.join import layout as q
from livejoin.kernels.join.events import ALL_COME, IN_ORDER, gather

pytestmark = pytest.mark.nojit


def events(table: str, *given: tuple[int, int, int, int]) -> TableEvents:
    """Events (row, weight, mask, version) of a table."""
    return table_events(table, *(np.array([event[i] for event in given], np.int64) for i in range(4)))


def columns(matrix: np.ndarray) -> list[tuple[int, ...]]:
    fields = (q.V_TABLE, q.V_ROW, q.V_WEIGHT, q.V_MASK, q.V_VERSION)
    return list(zip(*(matrix[f].tolist() for f in fields), strict=True))


def test_versions_in_order_and_deletions_first() -> None:
    first = events("G", (5, 1, 3, 2), (6, -1, 1, 2), (7, 1, 2, 1), (5, 2, 1, 4))
    second = events("H", (1, -2, 8, 4), (2, 1, 4, 1), (3, -1, 4, 1))
    assert columns(view_events([(1, first), (0, second)])) == [
        (0, 3, -1, 4, 1),
        (1, 7, 1, 2, 1),
        (0, 2, 1, 4, 1),
        (1, 6, -1, 1, 2),
        (1, 5, 1, 3, 2),
        (0, 1, -2, 8, 4),
        (1, 5, 2, 1, 4),
    ]


def test_the_order_of_arrival_is_kept_within_a_sign() -> None:
    given = events("G", *((row, 1 if row % 2 else -1, 0, 1) for row in (9, 4, 7, 2, 5)))
    assert view_events([(0, given)])[q.V_ROW].tolist() == [4, 2, 9, 7, 5]


def test_no_events() -> None:
    for parts in ([], [(0, events("G"))]):
        matrix = view_events(parts)
        assert matrix.shape == (q.EVENT_FIELDS, 0)
        assert matrix.flags.c_contiguous


def test_the_kernel_gets_one_block_of_words() -> None:
    matrix = view_events([(0, events("G", (1, 1, 1, 1), (2, -1, 1, 1)))])
    assert matrix.dtype == np.int64
    assert matrix.flags.c_contiguous


def test_gathered_events_say_what_is_true_of_them() -> None:
    random = np.random.default_rng(3)
    for _ in range(200):
        number, changes = int(random.integers(0, 5)), int(random.integers(1, 5))
        rows, named = random.integers(0, 9, number), random.integers(-1, changes, number)
        weights = random.choice([-1, 1, 2], number)
        masks, versions = random.integers(0, 7, changes), np.sort(random.integers(1, 3, changes))
        matrix = np.empty((q.EVENT_FIELDS, number), np.int64)
        known = gather(rows, weights, named, masks, versions, 4, matrix)
        expected = [
            (4, row, weight, masks[change] if change >= 0 else 0, versions[max(change, 0)])
            for row, weight, change in zip(rows, weights, named, strict=True)
        ]
        assert columns(matrix) == expected
        order = [(version, weight > 0) for _, _, weight, _, version in expected]
        assert bool(known & IN_ORDER) == (order == sorted(order))
        assert bool(known & ALL_COME) == bool((weights > 0).all())
