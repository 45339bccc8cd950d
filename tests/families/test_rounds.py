"""The order of results in cells, against the order written out, and buffers of every size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.families.cells import rounds
from livejoin.words import Words
from strategies import FUZZ

BLOCK = 4


@pytest.fixture(autouse=True, scope="module")
def _small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "BLOCK", BLOCK)
        yield


def written_out(totals: list[int]) -> list[tuple[int, int]]:
    """The cell and the rank in it of all results, round after round."""
    return [
        (cell, rank)
        for begin in range(0, max(totals), BLOCK)
        for cell, total in enumerate(totals)
        for rank in range(begin, min(begin + BLOCK, total))
    ]


def scan(cell: int, total: int, cuts: list[int], capacity: int) -> Iterator[Words]:
    """Results of a cell in buffers that are not always full."""
    begin = 0
    for turn in range(total):
        end = min(total, begin + min(capacity, cuts[turn % len(cuts)]))
        if end > begin:
            yield np.array([[cell] * (end - begin), range(begin, end)], np.int64)
        begin = end


@FUZZ
@given(st.lists(st.integers(0, 3 * BLOCK + 1), min_size=1, max_size=4), st.data())
def test_ranks_and_buffers_have_one_order(totals: list[int], data: st.DataObject) -> None:
    expected = written_out(totals)
    found = rounds.Places(totals).of(np.arange(len(expected)))
    assert list(zip(*(line.tolist() for line in found), strict=True)) == expected
    cuts = data.draw(st.lists(st.integers(1, BLOCK), min_size=1, max_size=3), label="cuts")
    for capacity in (1, 3, BLOCK, 100):
        cells = [partial(scan, cell, total, cuts) for cell, total in enumerate(totals)]
        buffers = list(rounds.in_rounds(cells, capacity, lambda tasks: [task() for task in tasks]))
        assert all(0 < words.shape[1] <= capacity for words in buffers)
        assert [tuple(column) for words in buffers for column in words.T.tolist()] == expected


def test_ranks_of_large_results() -> None:
    """Nearly 2**63 results: the last one of the largest cell is the last of all."""
    totals = [5, 1 << 62, 1 << 61]
    cells, ranks = rounds.Places(totals).of(np.array([0, 4, 8, sum(totals) - 1]))
    assert cells.tolist() == [0, 1, 2, 1]
    assert ranks.tolist() == [0, 0, 0, (1 << 62) - 1]
