"""Lines of addresses are those of the buffers that their owner has, and keep them alive."""

from __future__ import annotations

import gc
import weakref
from typing import NamedTuple

import numpy as np
import pytest

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.addresses import length_at, opener
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.parameters import Addresses
from livejoin.schema import TableSettings
from livejoin.sql import parse_columns
from livejoin.state.addressed import Addressed
from livejoin.state.table import BaseTable
from livejoin.words import Words


class Pair(NamedTuple):
    left: Words
    step: int
    right: Words


class Both(NamedTuple):
    left: Words
    right: Words


opened, both = opener(Pair), opener(Both)
RIGHT_AT = Pair._fields.index("right")


@kernel
def copy(line: Addresses) -> int:
    """Add every word of the left to the one of the right; how many there are on the right."""
    p = opened(line)
    for i in range(length_at(view(line), 0)):
        p.right[i] += p.left[i] * p.step
    return length_at(view(line), RIGHT_AT)


@kernel
def exchange(line: Addresses) -> None:
    """Exchange the first words."""
    b = both(line)
    b.left[0], b.right[0] = b.right[0], b.left[0]


def pair(step: int = 1) -> Addressed[Pair]:
    return Addressed(Pair(np.arange(5), step, np.zeros(7, np.int64)))


@pytest.mark.nojit
def test_a_kernel_reads_and_writes_the_buffers() -> None:
    one = pair(3)
    assert copy(one.line) == 7
    assert one.buffers.right.tolist() == [0, 3, 6, 9, 12, 0, 0]
    other = one.replaced(left=np.arange(2), step=1)
    assert copy(other.line) == 7
    assert one.buffers.right.tolist() == [0, 4, 6, 9, 12, 0, 0], "the same one on the right"
    assert one.replaced(left=one.buffers.left) is one


@pytest.mark.nojit
def test_buffers_may_all_be_arrays() -> None:
    one = Addressed(Both(np.arange(5, 7), np.arange(8, 12)))
    exchange(one.line)
    assert one.buffers.left.tolist() == [8, 6]
    assert one.buffers.right.tolist() == [5, 9, 10, 11]


@pytest.mark.nojit
def test_a_line_keeps_its_buffers() -> None:
    one = pair()
    left, line = weakref.ref(one.buffers.left), one.line
    del one
    gc.collect()
    assert left() is not None
    copy(line)
    del line
    gc.collect()
    assert left() is None


@pytest.mark.parametrize("wrong", [np.zeros(4), np.arange(8)[::2], np.frombuffer(bytes(16), np.int64)])
def test_what_kernels_would_misread_is_refused(wrong: Words) -> None:
    with pytest.raises(TypeError, match=r"Pair\.left is of"):
        pair().replaced(left=wrong)


def test_a_table_has_one_line_for_what_it_has() -> None:
    """Behind commits that let its buffers grow, one that is taken back, and trims that let them shrink."""
    settings = TableSettings(window_rows=6000)
    base = BaseTable(parse_columns("T", "a BIGINT PRIMARY KEY, b BIGINT UNIQUE", settings))
    lines = {base._at.line.tobytes()}
    for begin, count, stands in ((0, 8, True), (8, 5000, False), (8, 5000, True), (6000, 5000, True)):
        keys = np.arange(begin, begin + count)
        base.stage_commit(np.stack([keys, keys + 1]), np.ones(count, np.int64), ignore=False)
        base.commit() if stands else base.rollback()
        for _ in range(2):
            base._check()
            assert (base._at.line == Addressed(base._at.buffers).line).all()
            lines.add(base._at.line.tobytes())
            base.trim()
    assert base.total == 6000
    assert len(lines) > 3
