"""Aggregates up to each row: the changes of every version against all rows gone through at once."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.dataflow.reading.store_access import ScannedAccess
from livejoin.dataflow.stores.running import RunningStore
from livejoin.errors import CapacityError
from livejoin.kernels.memory.layout import H_BUMP, H_END
from livejoin.query.orders import RangeAround, RowsAround, RowsUpTo, RunningCall, RunningFrame, SortKey, Tiles
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from ordered_rows import Row, check_partitions, content, delta_of, sort
from scans import scanned
from sized import sized
from strategies import FUZZ

pytestmark = pytest.mark.nojit

BIGINT, TEXT, DOUBLE = SqlType.integer(64), SqlType("string"), SqlType("double")
TYPES = (BIGINT, TEXT, DOUBLE, BIGINT)
VALUES: tuple[tuple[Any, ...], ...] = (
    (None, 0, 1),
    (None, "", "a", "a text of more than sixteen bytes", "a text of more than sixteen bytes!"),
    (None, 0.5, -1.0, 7.0),
    (None, -(1 << 62), 3, 1 << 61),
)
CALLS = (
    RunningCall("count", None, BIGINT),
    RunningCall("count", 1, BIGINT),
    RunningCall("sum", 2, DOUBLE),
    RunningCall("avg", 3, DOUBLE),
    RunningCall("min", 1, TEXT),
    RunningCall("max", 1, TEXT),
    RunningCall("min", 2, DOUBLE),
    RunningCall("max", 3, BIGINT),
    RunningCall("first", 1, TEXT),
    RunningCall("last", 1, TEXT),
    RunningCall("first_known", 1, TEXT),
    RunningCall("last_known", 2, DOUBLE),
    RunningCall("var_pop", 2, DOUBLE),
    RunningCall("stddev_samp", 2, DOUBLE),
)
NTHS = (
    RunningCall("nth", 1, TEXT, 0, 2),
    RunningCall("nth_known", 2, DOUBLE, 0, 2),
    RunningCall("nth", 3, BIGINT, 0, 1),
)
PEERS = (RunningCall("first_peer", 1, TEXT), RunningCall("first_peer", 3, BIGINT))
LAGS = (RunningCall("lag", 1, TEXT, 1), RunningCall("lag", 3, BIGINT, 3), RunningCall("lag", 2, DOUBLE, 2))


def result(call: RunningCall, rows: list[Row]) -> Any:
    """A call over the rows up to one."""
    if call.argument is None:
        return len(rows)
    values = [row[call.argument] for row in rows]
    there = [value for value in values if value is not None]
    match call.function:
        case "count":
            return len(there)
        case "sum":
            return sum(there) if there else None
        case "avg":
            return sum(there) / len(there) if there else None
        case "min" | "max":
            known = sorted(there, key=lambda value: value.encode() if isinstance(value, str) else value)
            return (known[0] if call.function == "min" else known[-1]) if known else None
        case "nth" | "nth_known":
            counted = values if call.function == "nth" else there
            return counted[call.nth - 1] if len(counted) >= call.nth else None
        case "first":
            return values[0] if values else None
        case "last":
            return values[-1] if values else None
        case "first_known":
            return there[0] if there else None
        case "last_known":
            return there[-1] if there else None
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            return spread(call.function, there)
        case "first_peer":
            msg = "of peers, not of a frame"
            raise AssertionError(msg)
        case "lag":
            return values[-1 - call.back] if len(values) > call.back else None


def spread(function: str, values: list[float]) -> float | None:
    """A variance or a standard deviation, added up as Spark does."""
    mean = squares = 0.0
    for number, value in enumerate(values, 1):
        distance = value - mean
        mean += distance / number
        squares += distance * (distance - distance / number)
    counted = len(values) - function.endswith("samp")
    if counted <= 0:
        return None
    return math.sqrt(squares / counted) if function.startswith("stddev") else squares / counted


def is_within(other: Row, row: Row, key: SortKey, frame: RangeAround) -> bool:
    """Whether the key of a row is within a distance of another one's, or both are NULL."""
    one, own = other[key.column], row[key.column]
    if one is None or own is None:
        return one is own
    return bool(frame.begin <= (own - one if key.descending else one - own) <= frame.end)


def expected(
    present: set[Row], partition: list[int], keys: list[SortKey], frame: RunningFrame, calls: tuple[RunningCall, ...]
) -> Counter[Row]:
    """The definition."""
    rows = list(present)
    for column in reversed(range(len(TYPES))):
        rows = sort(rows, SortKey(column, False, True))
    for key in reversed([*(SortKey(column, False, True) for column in partition), *keys]):
        rows = sort(rows, key)
    found: Counter[Row] = Counter()
    for _, group in groupby(rows, key=lambda row: [row[column] for column in partition]):
        ordered = list(group)
        for i, row in enumerate(ordered):
            begin, end = 0, i + 1
            if isinstance(frame, RowsAround):
                begin, end = max(i - frame.before, 0), max(i + frame.behind + 1, 0)
            if isinstance(frame, RangeAround):
                near = [other for other in ordered if is_within(other, row, keys[0], frame)]
                found[(*row, *(result(call, near) for call in calls))] += 1
                continue
            if isinstance(frame, Tiles):
                sizes = [(len(ordered) + frame.number - 1 - tile) // frame.number for tile in range(frame.number)]
                found[(*row, [tile + 1 for tile, size in enumerate(sizes) for _ in range(size)][i])] += 1
                continue
            if isinstance(frame, RowsUpTo):
                end = max(i + frame.behind + 1, 0)
            if frame == "range":
                same = [row[key.column] for key in keys]
                while end < len(ordered) and [ordered[end][key.column] for key in keys] == same:
                    end += 1
                if calls == PEERS:
                    first = next(one for one in ordered if [one[key.column] for key in keys] == same)
                    found[(*row, *(first[call.argument or 0] for call in calls))] += 1
                    continue
            found[(*row, *(result(call, ordered[begin:end]) for call in calls))] += 1
    return found


SPECS = [
    ([0], [SortKey(2, False, True)]),
    ([1], [SortKey(2, True, False), SortKey(0, False, False)]),
    ([], [SortKey(1, True, False)]),
    ([], [SortKey(3, True, True), SortKey(1, False, False)]),
    ([0, 1], [SortKey(2, False, True)]),
    ([2], [SortKey(1, False, True)]),
]
FRAMES: list[tuple[RunningFrame, tuple[RunningCall, ...]]] = [
    ("range", CALLS),
    ("rows", CALLS),
    ("range", PEERS),
    *((RowsUpTo(behind), CALLS) for behind in (1, 2, 5, -1, -3)),
    *((Tiles(number), (RunningCall("ntile", None, SqlType.integer(32)),)) for number in (1, 2, 3, 4, 7)),
    ("rows", LAGS),
    ("rows", NTHS),
    ("range", NTHS),
    ("rows", (*LAGS, CALLS[3])),
    *(
        (RowsAround(*frame), CALLS)
        for frame in ((0, 0), (1, 0), (2, 0), (0, 2), (1, 1), (3, 2), (2, -1), (-1, 3), (-2, 2))
    ),
]
SUMS = (
    RunningCall("count", None, BIGINT),
    RunningCall("count", 1, BIGINT),
    RunningCall("avg", 0, DOUBLE),
    RunningCall("sum", 0, BIGINT),
)
BY_DISTANCE: list[tuple[tuple[list[int], list[SortKey]], tuple[RunningFrame, tuple[RunningCall, ...]]]] = [
    ((partition, [key]), (RangeAround(*ends), calls))
    for partition, key in (
        ([1], SortKey(0, False, True)),
        ([], SortKey(0, True, True)),
        ([0], SortKey(3, True, False)),
        ([], SortKey(3, False, False)),
    )
    for ends in ((-1, 0), (0, 0), (-2, 1), (1, 2), (-2, -1), (-(1 << 61), 1 << 60))
    for calls in (SUMS, CALLS)
] + [
    (([1], [SortKey(2, descending, descending)]), (RangeAround(*ends), calls))
    for descending in (False, True)
    for ends in ((-1.5, 0.0), (-0.25, 6.5), (1.5, 8.0))
    for calls in (SUMS, NTHS)
]
CELLS = st.tuples(*(st.sampled_from(values) for values in VALUES))


@FUZZ
@given(
    asked=st.one_of(st.tuples(st.sampled_from(SPECS), st.sampled_from(FRAMES)), st.sampled_from(BY_DISTANCE)),
    steps=st.lists(st.lists(CELLS, max_size=8), max_size=8),
    batched=st.booleans(),
)
def test_the_changes_are_the_differences_of_the_results(
    asked: tuple[tuple[list[int], list[SortKey]], tuple[RunningFrame, tuple[RunningCall, ...]]],
    steps: list[list[Row]],
    batched: bool,
) -> None:
    (partition, keys), frame = asked
    codec = Codec()
    store = RunningStore(partition, keys, *frame, codec, TYPES)
    present: set[Row] = set()
    before: Counter[Row] = Counter()
    waiting: list[tuple[Row, int, int]] = []
    wanted: dict[int, Counter[Row]] = {}
    for version, step in enumerate(steps):
        for row in step:  # comes, or goes if it is there
            waiting.append((row, -1 if row in present else 1, version))
            present ^= {row}
        after = expected(present, partition, keys, *frame)
        wanted[version] = Counter(after)
        wanted[version].subtract(before)
        before = after
        if (batched and version + 1 < len(steps)) or not waiting:
            continue
        store.arena.words[H_END] = min(int(store.arena.words[H_BUMP]) + 700, store.arena.words.shape[0])
        delta = store.maintain([delta_of(codec, TYPES, waiting)])
        store._check()
        assert np.all(np.diff(delta.versions) >= 0)
        for one in {change[2] for change in waiting}:
            at = np.flatnonzero(delta.versions == one)
            rows = delta.rows.take(at)
            found = content(rows, delta.weights[at])
            assert {row: n for row, n in found.items() if n} == {row: n for row, n in wanted[one].items() if n}
            assert content(rows, np.abs(delta.weights[at])) == {row: abs(n) for row, n in found.items()}, "net"
        waiting = []
        assert scanned(store, content) == after
        assert store.count() == after.total()
        check_partitions(store, codec, TYPES, VALUES, after)


def test_many_rows_and_a_restored_store() -> None:
    draw, codec = random.Random(9), Codec()
    arguments = ([0], [SortKey(2, True, False)], "rows", (*CALLS, *LAGS))
    store = RunningStore(*arguments, codec, TYPES)
    present: set[Row] = set()
    for version in range(6):
        changes = []
        for number in range(sized(400, 120)):
            row = (draw.randrange(20), draw.choice("abc"), float(draw.randrange(60)), number % 97)
            changes.append((row, -1 if row in present else 1, version))
            present ^= {row}
        store.maintain([delta_of(codec, TYPES, changes)])
    store._check()
    wanted = expected(present, *arguments)
    access = ScannedAccess(store)
    rows = access.at(np.arange(store.count()))
    assert content(rows, np.ones(rows.length)) == wanted
    second = RunningStore(*arguments, codec, TYPES)
    second.restore({name: words.copy() for name, words in store.arrays().items()})
    second._check()
    assert [content(*part) for part in second.scan(100)] == [content(*part) for part in store.scan(100)]


def test_a_sum_that_its_type_cannot_hold() -> None:
    codec = Codec()
    store = RunningStore([], [SortKey(0, False, True)], "rows", [RunningCall("sum", 3, BIGINT)], codec, TYPES)
    rows = [((i, None, None, 1 << 62), 1, 0) for i in range(2)]
    with pytest.raises(CapacityError, match="SUM OVER a part of a partition is 9,223,372,036,854,775,808"):
        store.maintain([delta_of(codec, TYPES, rows)])


@pytest.mark.parametrize(
    "frame",
    [
        RowsAround(7, 0),
        RowsAround(4, 4),
        RowsAround(-2, 6),
        RowsAround(60, -3),
        RangeAround(-20, 0),
        RangeAround(3, 45),
    ],
    ids=str,
)
@pytest.mark.parametrize("calls", [CALLS, (*SUMS, *NTHS)], ids=["all", "sums"])
def test_frames_slide_over_parts_of_a_long_partition(
    frame: RowsAround | RangeAround, calls: tuple[RunningCall, ...]
) -> None:
    """Few changes far from each other: a frame that is computed is not the next one of the frame before."""
    draw, codec = random.Random(f"{frame}"), Codec()
    arguments = ([], [SortKey(0, True, False)], frame, calls)
    store = RunningStore(*arguments, codec, TYPES)
    present: set[Row] = set()
    for version in range(8):
        changes = []
        for _ in range(sized(120, 80) if version == 0 else draw.randrange(1, 5)):
            row = (draw.randrange(150), draw.choice(VALUES[1]), draw.choice(VALUES[2]), draw.choice(VALUES[3]))
            row = draw.choice(sorted(present, key=str)) if version and present and draw.random() < 0.4 else row
            changes.append((row, -1 if row in present else 1, version))
            present ^= {row}
        store.maintain([delta_of(codec, TYPES, changes)])
        assert scanned(store, content) == expected(present, *arguments)
