"""Deltas of cells put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from livejoin.families.cells.merge import halve, merged, sorted_pieces
from livejoin.families.delta_chunk import DeltaChunk

pytestmark = pytest.mark.nojit

Segment = tuple[int, int, list[int]]  # version, sign, rows


def chunk(segments: Sequence[Segment]) -> DeltaChunk:
    rows = [row for _, _, part in segments for row in part]
    starts = np.cumsum([0, *(len(part) for _, _, part in segments)])[:-1]
    numbers = [np.array([segment[i] for segment in segments], np.int64) for i in (0, 1)]
    return DeltaChunk(np.array([rows, rows], np.int64), (starts, *numbers))


def told(chunks: Sequence[DeltaChunk]) -> list[tuple[int, int, int]]:
    """Version, sign and row of every row."""
    found = []
    for one in chunks:
        lengths = one.lengths()
        assert (one.words[0] == one.words[1]).all()
        versions, signs = np.repeat(one.versions, lengths), np.repeat(one.signs, lengths)
        found += list(zip(versions.tolist(), signs.tolist(), one.words[0].tolist(), strict=True))
    return found


def test_one_version_gives_what_goes_first_and_copies_nothing() -> None:
    parts = [[chunk([(3, -1, [1, 2]), (3, 1, [3])]), chunk([(3, 1, [4])])], [], [chunk([(3, -1, [5]), (3, 1, [6])])]]
    found = list(merged(parts, alternating=False))
    assert told(found) == [(3, -1, 1), (3, -1, 2), (3, -1, 5), (3, 1, 3), (3, 1, 4), (3, 1, 6)]
    assert all(any(np.shares_memory(one.words, old.words) for part in parts for old in part) for one in found)


def test_versions_are_put_in_order() -> None:
    """Also with empty segments, and versions that one cell does not have."""
    parts = [[chunk([(1, 1, [1]), (4, -1, [2]), (4, 1, [3, 4])])], [chunk([(2, 1, []), (2, 1, [5]), (4, -1, [6])])]]
    assert told(list(merged(parts, alternating=False))) == [
        (1, 1, 1), (2, 1, 5), (4, -1, 2), (4, -1, 6), (4, 1, 3), (4, 1, 4),
    ]  # fmt: skip


@pytest.mark.parametrize("number", [1, 2, 3, 50])
def test_pieces_are_the_whole_in_order(number: int) -> None:
    parts = [
        [chunk([(version, sign, [version + cell]) for version in range(cell, 20, 3) for sign in (-1, 1)])]
        for cell in range(3)
    ]
    found = [piece() for piece in sorted_pieces(parts, number)]
    assert told(found) == told(list(merged(parts, alternating=False)))
    assert len(found) <= number
    assert told([piece() for piece in sorted_pieces(parts[:1], number)]) == told(parts[0])


def test_results_that_alternate_keep_the_order_of_their_cell() -> None:
    parts = [[chunk([(2, 1, [1]), (2, -1, [1]), (2, 1, [2])])], [chunk([(1, 1, [7]), (2, -1, [7])])]]
    assert told(list(merged(parts, alternating=True))) == [(1, 1, 7), (2, 1, 1), (2, -1, 1), (2, 1, 2), (2, -1, 7)]


def test_a_single_cell_is_given_as_it_is() -> None:
    one = chunk([(2, 1, [1]), (1, -1, [1])])
    assert list(merged([[], [one]], alternating=False)) == [one]
    assert list(merged([[], []], alternating=False)) == []


def test_halves_of_a_chunk_in_any_order() -> None:
    going, coming = halve(chunk([(1, 1, [1]), (1, -1, [2]), (1, 1, [3])]))
    assert told([going]) == [(1, -1, 2)]
    assert told([coming]) == [(1, 1, 1), (1, 1, 3)]
