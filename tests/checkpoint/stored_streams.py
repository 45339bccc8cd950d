"""A checkpoint in an object store whose answers are lost, late, doubled or refused, and queries that end anywhere.

Laws: what was told of all batches adds up to the views' results over them, at each step; a query that slept while
another one went on delivers nothing more.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from streams import Stream, job

from livejoin.checkpoint import pace
from livejoin.errors import LivejoinError, StateError
from livejoin.state import objects as objects_module
from livejoin.state.objects import Objects
from livejoin.state.store_folder import StorePath
from memory_objects import Killed, Seen, Sight

TABLES = {"G": "src BIGINT, dst BIGINT"}
VIEWS = {
    "hop2": "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "total": "SELECT COUNT(*) AS n, SUM(dst) AS s FROM G",
}
_CHANCE = 0.15


def hurry(patch: pytest.MonkeyPatch) -> None:
    """Let nobody wait for long, and snapshots come often."""
    patch.setattr(objects_module, "PATIENCE", 0.02)
    patch.setattr(objects_module, "_FIRST_PAUSE", 0.001)
    patch.setattr(objects_module, "_RACES", 0)  # threads would draw faults in any order
    patch.setattr(pace, "LEAST", 1)


@contextmanager
def hurried_streams() -> Iterator[None]:
    """As `hurry`, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        yield


def place(objects: Objects) -> StorePath:
    """Where livejoin's half of a checkpoint is."""
    return StorePath(objects, "livejoin")


def batches(draw: random.Random) -> Iterator[dict[str, list[tuple[int, int]]]]:
    """Edges that come."""
    while True:
        yield {"G": [(draw.randrange(4), draw.randrange(4)) for _ in range(draw.randrange(1, 6))]}


def expected(edges: Counter[tuple[int, int]]) -> Counter[Any]:
    """The rows of ``hop2``."""
    found: Counter[Any] = Counter()
    for (a, b), times in edges.items():
        for (c, d), others in edges.items():
            if b == c:
                found[a, b, d] += times * others
    return found


def check_held(stream: Stream, edges: Counter[tuple[int, int]]) -> None:
    """Assert that what was told, and what the engine has, is the result of all batches."""
    assert stream.sum("hop2") == stream.held("hop2") == expected(edges)
    total = Counter({(edges.total(), sum(dst * n for (_, dst), n in edges.items())): 1}) if edges else None
    assert total is None or stream.sum("total") == total


def storm(seed: int, least: Sequence[int], sight: Sight) -> Counter[str]:
    """Run batches until there were so many of them and so many faults.

    Args:
        seed: The seed of what is drawn.
        least: How many batches there are at least, and how many faults.
        sight: The store as a query sees it.

    Returns:
        What happened, by kind; ``starts`` and ``sleepers`` too.
    """
    draw = random.Random(seed)
    objects, declared = sight(draw, 0.0), job(TABLES, VIEWS)
    stream, edges, brought = Stream(place(objects)), Counter[tuple[int, int]](), batches(draw)
    number, happened, sleepers = 0, Counter[str](), list[tuple[Stream, Seen]]()
    while number < least[0] or happened.total() - happened["starts"] - happened["sleepers"] < least[1]:
        changes = next(brought)
        for _ in range(60):
            try:
                if stream.engine is None or objects.is_dead:
                    stream.engine = None  # a process that died closes nothing
                    objects = sight(draw, 0.0)
                    stream.folder = place(objects)
                    stream.open(declared)
                    happened["starts"] += 1
                    objects.chance = _CHANCE
                stream.run(number, changes)
                break
            except (LivejoinError, Killed):
                objects.chance = 0.0
                objects.land()  # what was under way arrives before the next start, or while it runs
                happened += objects.happened
                objects.happened.clear()
                if not objects.is_dead and draw.random() < 0.3:
                    asleep = Stream(stream.folder)
                    asleep.engine, stream.engine = stream.engine, None  # it goes on later
                    sleepers.append((asleep, objects))
                elif not objects.is_dead:
                    objects.is_dead = True
        else:
            raise AssertionError("no start in sixty brought the batch to its end")
        objects.chance = 0.0
        edges.update(changes["G"])
        check_held(stream, edges)
        number += 1
        for asleep, _ in sleepers:
            happened["sleepers"] += 1
            with pytest.raises(StateError, match="no longer that of this query"):
                asleep.take(number, next(brought))
            assert not asleep.output
        sleepers.clear()
        objects.chance = _CHANCE
    assert stream.engine is not None
    stream.engine.history.snapshots.wait()
    happened += objects.happened
    stream.engine, stream.folder = None, place(sight(draw, 0.0))
    stream.open(declared)
    check_held(stream, edges)
    stream.stop()
    return happened
