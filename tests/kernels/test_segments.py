"""Segments of an output: runs of equal version and sign, none of them empty."""

from __future__ import annotations

import numpy as np
import pytest

from livejoin.kernels.join.layout import H_OUT, H_RUNS, H_SEGMENTS, H_VERSION, R_SIGN, R_START, R_VERSION, RUN_FIELDS
from livejoin.kernels.join.segments import open_segment
from livejoin.kernels.memory.layout import ARENA_HEADER

pytestmark = pytest.mark.nojit


class Segments:
    """A buffer of segments beside an output."""

    def __init__(self, room: int) -> None:
        self.arena = np.zeros(ARENA_HEADER, np.int64)
        self.arena[H_RUNS] = room
        self.runs = np.zeros(RUN_FIELDS * room, np.int64)

    def write(self, version: int, sign: int, rows: int) -> bool:
        self.arena[H_VERSION] = version
        opened = bool(open_segment(self.arena, self.runs, sign))
        self.arena[H_OUT] += rows * opened
        return opened

    def made(self) -> list[tuple[int, int, int]]:
        """Start, version and sign of each segment."""
        lines = self.runs.reshape(RUN_FIELDS, -1)[:, : self.arena[H_SEGMENTS]]
        return list(zip(*(lines[field].tolist() for field in (R_START, R_VERSION, R_SIGN)), strict=True))


def test_rows_of_one_version_and_sign_are_one_segment() -> None:
    segments = Segments(4)
    for version, sign, rows in ((1, 1, 2), (1, 1, 3), (1, -1, 1), (2, -1, 1), (2, 1, 4)):
        assert segments.write(version, sign, rows)
    assert segments.made() == [(0, 1, 1), (5, 1, -1), (6, 2, -1), (7, 2, 1)]


def test_a_segment_that_stayed_empty_becomes_the_next_one() -> None:
    """Without room for more: what is empty takes no place."""
    segments = Segments(2)
    for version, sign, rows in ((1, 1, 0), (2, -1, 3), (3, 1, 0), (4, 1, 0), (5, -1, 2)):
        assert segments.write(version, sign, rows)
    assert segments.made() == [(0, 2, -1), (3, 5, -1)]


def test_without_room_nothing_changes() -> None:
    segments = Segments(1)
    assert segments.write(1, 1, 2)
    assert not segments.write(2, 1, 2)
    assert segments.made() == [(0, 1, 1)]
    assert segments.write(1, 1, 1)
