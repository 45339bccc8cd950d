"""Buffers that grow in place: their content, their memory, and what happens where the system refuses."""

from __future__ import annotations

import gc
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.kernels.memory.layout import H_END
from livejoin.state import reserved
from livejoin.state.arena import Arena
from livejoin.state.budget import Budget
from livejoin.state.reserved import LEAST, bytes_to_grow, grown, zeros
from oracle import multiset

MB = 1 << 20
HOP2 = "SELECT A.src AS a, B.dst AS b FROM G A JOIN G B ON A.dst = B.src"


def is_in_place(array: np.ndarray[Any, Any]) -> bool:
    return isinstance(getattr(array.base, "base", None), reserved._Range)


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@contextmanager
def at_most(limit: int, size: int) -> Iterator[None]:
    """The system grants this process so many bytes more than it has."""
    field = {resource.RLIMIT_AS: "VmSize", resource.RLIMIT_DATA: "VmData"}[limit]
    lines = Path("/proc/self/status").read_text().splitlines()
    has = next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{field}:"))
    before = resource.getrlimit(limit)
    resource.setrlimit(limit, (has + size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(limit, before)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_growing_keeps_the_content_and_the_place(dtype: type) -> None:
    array = np.arange(100).astype(dtype)
    was: list[np.ndarray[Any, Any]] = []
    while array.nbytes < 64 * MB:
        places = 2 * array.shape[0]
        copied = bytes_to_grow(array, places) == places * array.itemsize
        larger = grown(array, places)
        assert copied == (not is_in_place(array))
        assert is_in_place(larger) == (larger.nbytes >= LEAST)
        assert copied or larger.ctypes.data == array.ctypes.data
        assert np.array_equal(larger[:99], np.arange(99).astype(dtype))
        assert not larger[array.shape[0] :: max(1, places // 1000)].any()
        larger[array.shape[0] - 1 : array.shape[0] + 1] = 7
        was.append(array)
        array = larger
    assert copied is False
    assert [one[-1] for one in was if is_in_place(one)] == [7] * 6  # what was there before is the begin of what is


def test_only_the_whole_of_what_is_there_grows_in_place() -> None:
    array = zeros(MB)
    longer = grown(array, 2 * MB)
    longer[-1] = 5
    for part in (array, longer[:MB], longer.view(np.uint64), longer[:-1]):
        other = grown(part, 3 * MB)
        assert other.ctypes.data != array.ctypes.data
        assert other[2 * MB] == 0
    assert grown(longer, 3 * MB).ctypes.data == array.ctypes.data


def test_a_range_that_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserved, "_TIMES", 4)
    array = zeros(LEAST // 8)
    array[:] = np.arange(LEAST // 8)
    places = []
    for _ in range(4):
        places.append(array.ctypes.data)
        array = grown(array, 2 * array.shape[0])
    assert len(set(places)) == 2
    assert np.array_equal(array[: LEAST // 8], np.arange(LEAST // 8))


def test_memory_comes_as_it_is_touched_and_goes_with_the_last_array() -> None:
    gc.collect()
    begin = resident()
    array = zeros(8 * MB)
    array[:] = 1
    touched = resident()
    assert 60 * MB < touched - begin < 80 * MB
    longer = grown(array, 128 * MB)
    assert resident() - touched < 4 * MB
    del array
    assert longer[0] == 1
    del longer
    assert resident() - begin < 16 * MB


def test_memory_goes_without_code_of_python() -> None:
    """An interrupt that came within such code, a finalizer, would be lost: Python prints what it raises, no more."""
    array = zeros(MB)
    assert is_in_place(array)
    called: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    del array
    sys.setprofile(None)
    assert not called


def test_a_system_that_refuses_leaves_the_buffer_as_it_was() -> None:
    arena = Arena(1000)
    while arena.nbytes < 4 * MB:
        arena.grow()
    before = arena.words
    before[1000] = 3
    with at_most(resource.RLIMIT_DATA, 64 * MB):
        for _ in range(3):
            arena.grow()  # to 32 MB
        words = arena.words
        with pytest.raises(MemoryError, match="the system does not grant 134,217,728 bytes"):
            grown(words, 16 * MB)
        assert arena.words is words
        assert words[H_END] == words.shape[0] == 4 * MB
    arena.grow()
    assert arena.words.ctypes.data == before.ctypes.data
    assert arena.words[1000] == 3


def test_a_forked_child_has_a_copy() -> None:
    array = zeros(MB)
    array[:] = 1
    child = os.fork()
    if child == 0:
        longer = grown(array, 2 * MB)
        longer[:] += 1
        os._exit(int(longer[0] != 2 or longer[-1] != 1 or longer.ctypes.data != array.ctypes.data))
    assert os.waitpid(child, 0)[1] == 0
    assert (array == 1).all()
    assert not grown(array, 2 * MB)[MB:].any()


def test_where_addresses_are_limited_growing_is_a_copy() -> None:
    array = zeros(MB)
    with at_most(resource.RLIMIT_AS, 1 << 30):
        assert not is_in_place(zeros(MB))
        assert is_in_place(grown(array, 2 * MB))  # this range is there
    assert is_in_place(zeros(MB))


def test_a_commit_for_which_there_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT")
    db.create_view("v", HOP2, deltas=False)

    def path(begin: int, end: int) -> pa.Table:
        return pa.table({"src": np.arange(begin, end), "dst": np.arange(begin, end) + 1})

    db.apply("G", path(0, 20_000))
    assert all(is_in_place(arena.words) for arena in arenas(db))
    before = multiset(db.views["v"].to_arrow())
    given = path(20_000, 420_000)
    with at_most(resource.RLIMIT_DATA, 48 * MB), pytest.raises(MemoryError):
        db.apply("G", given)
    assert (db.version, multiset(db.views["v"].to_arrow())) == (1, before)
    db.apply("G", given)
    assert db.views["v"].count() == 419_999


def arenas(db: livejoin.Database) -> list[Arena]:
    return [node.block._leaf.join.arena for node in db._contents.graph.nodes]


def test_the_budget_counts_a_copy_only_where_there_is_one() -> None:
    budget = Budget(8 * MB)
    arena = Arena(1000, budget=budget)
    budget.begin()
    while arena.nbytes < 8 * MB:
        arena.grow()
    assert budget.total == 8 * MB  # with a copy of 4 MB beside 8 MB it would have been refused
