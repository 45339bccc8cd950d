"""The order of changes across tables: with and without sorting, the ranks of the numbers that say it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from livejoin.changes import ChangeBatch
from livejoin.database.transactions.staging import ranks_by_sequence
from livejoin.errors import ChangeFormatError
from livejoin.schema import Column, SqlType, Table

TABLE = Table("T", (Column("a", SqlType.integer(64)),))


def ranks(*sequences: list[int]) -> list[list[int]]:
    batches = [ChangeBatch(TABLE, (), np.ones(len(one), np.int64), np.array(one, np.int64), None) for one in sequences]
    return [found.tolist() for found in ranks_by_sequence(batches)]


@pytest.mark.parametrize(
    ("sequences", "expected"),
    [
        ([[]], [[]]),
        ([[], [5, 7, 100]], [[], [0, 1, 2]]),  # one that ascends, with gaps
        ([[7, 5]], [[1, 0]]),
        ([[11, 13, 14], [10, 12]], [[1, 3, 4], [0, 2]]),  # all numbers from 10 on
        ([[-1, 3], [2, 9]], [[0, 2], [1, 3]]),
        ([[-(1 << 63)], [(1 << 63) - 1]], [[0], [1]]),
    ],
)
def test_ranks(sequences: list[list[int]], expected: list[list[int]]) -> None:
    assert ranks(*sequences) == expected


@pytest.mark.parametrize("seed", range(20))
def test_ranks_of_any_numbers(seed: int) -> None:
    draw = random.Random(seed)
    numbers = draw.sample(range(-20, 20), 30) if seed % 2 else draw.sample(range(-15, 15), 30)
    cut = draw.randrange(30)
    parts = [numbers[:cut], numbers[cut:], []]
    if seed % 3 == 0:
        parts = [sorted(part) for part in parts]
    order = sorted(numbers)
    assert ranks(*parts) == [[order.index(number) for number in part] for part in parts]


@pytest.mark.parametrize("sequences", [[[1, 1]], [[1, 2], [2, 4]], [[1, 3, 3], [4]], [[1, 4], [4, 2]]])
def test_a_number_that_is_there_twice(sequences: list[list[int]]) -> None:
    with pytest.raises(ChangeFormatError, match="twice"):
        ranks(*sequences)
