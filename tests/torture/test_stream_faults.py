"""What a campaign over pipelines replaces of livejoin is there; the campaign itself takes minutes, and runs seldom."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest
import stream_daemon
from stream_child import FULL_DISK, POINTS, POINTS_OF_CELLS, SLOW_TASKS, disturbed

from livejoin.checkpoint.batch import Arrival
from livejoin.distributed import cell_process, parts
from livejoin.spark import micro_batch
from livejoin.spark.distributed import steps
from livejoin.spark.streams import frames

SORTS = ("none", "full disk", "failing sink", FULL_DISK, SLOW_TASKS, *POINTS, *POINTS_OF_CELLS)
IDS = list(range(40))
PACKED = pa.table(
    {
        frames.TAG: pa.array([0] * len(IDS), pa.int32()),
        "t0": pa.array([{"id": one, "_seq": 0} for one in IDS]),
        frames.TIMESTAMP: pa.array([0] * len(IDS), pa.timestamp("us", "UTC")),
    }
)
"""Rows of W as Spark brings them."""


def assert_in_another_order(arrival: Arrival) -> None:
    found = arrival.changes["W"]["id"].to_pylist()
    assert Counter(found) == Counter(IDS)
    assert found != IDS


@pytest.mark.parametrize("fault", SORTS)
def test_a_driver_of_a_campaign_finds_what_it_replaces(fault: str) -> None:
    before = micro_batch.unpack_pieces
    with disturbed(fault, 1, random.Random(3)):
        assert_in_another_order(micro_batch.unpack_pieces(["W"], iter([PACKED])))
    assert micro_batch.unpack_pieces is before


def test_a_worker_of_a_campaign_finds_what_it_replaces(monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name in ((frames, "unpack"), (cell_process, "advance_warm")):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # which puts it back
    assert steps.unpack is frames.unpack, "tasks call it by this name"
    assert steps.advance_warm is cell_process.advance_warm, "tasks call it by this name"
    stream_daemon.disturb(random.Random(3))
    assert_in_another_order(frames.unpack(["W"], PACKED))
    for owner, name in ((cell_process, "_address"), (parts, "SMALL")):
        assert hasattr(owner, name)
