"""The bounds on the enclosureness of a stream against the exact function, on random streams."""

from __future__ import annotations

import numpy as np
import pytest

from livejoin.dataflow.watching.enclosing import Enclosing
from livejoin.theory.logs.change_sequences import enclosing_sequence
from livejoin.theory.logs.enclosureness import enclosureness
from livejoin.theory.logs.lifespans import AFTER, BEFORE, Lifespans

pytestmark = pytest.mark.nojit


class Streams:
    """Random changes of two tables, and the lifespans that they make, the slow way."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.version = 0
        self.lasting = self.random.random() < 0.5  # whether rows of table 0 leave rarely
        self.copies: list[dict[int, int]] = [{}, {}]
        self.since: list[dict[int, int]] = [{}, {}]
        self.over: list[tuple[int, int, int]] = []
        for table in range(2):
            for row in range(int(self.random.integers(0, 4))):
                self.copies[table][row] = int(self.random.integers(1, 3))
                self.since[table][row] = BEFORE
        self.stream = Enclosing(
            [
                (np.array(sorted(of), np.int64), np.array([of[row] for row in sorted(of)], np.int64))
                for of in self.copies
            ]
        )

    def commit(self, versions: int) -> None:
        """Changes of some versions in one commit; at most one of a row in a version."""
        lines: list[list[tuple[int, int, int]]] = [[], []]
        for _ in range(versions):
            self.version += 1
            for table in range(2):
                rows = self.random.choice(12, int(self.random.integers(0, 4)), replace=False).tolist()
                for row in rows:
                    self.change(table, row, lines[table])
        self.stream.note(
            [
                (table, *(np.array(column, np.int64) for column in zip(*of, strict=True)))  # type: ignore[misc]
                for table, of in enumerate(lines)
                if of
            ],
            self.version,
        )

    def change(self, table: int, row: int, line: list[tuple[int, int, int]]) -> None:
        """One change of a row."""
        there = self.copies[table].get(row, 0)
        least = -there if not self.lasting or table or self.random.random() < 0.1 else 0
        weight = int(self.random.integers(least, 3))
        if not weight:
            return
        if not there:
            self.since[table][row] = self.version
        self.copies[table][row] = there + weight
        if there + weight == 0:
            self.over.append((table, self.since[table].pop(row), self.version))
        line.append((row, weight, self.version))

    def exact(self) -> Lifespans:
        """All lifespans so far."""
        now = [(table, begin, AFTER) for table, of in enumerate(self.since) for begin in of.values()]
        found = np.array([*self.over, *now], np.int64).reshape(-1, 3)
        return Lifespans(found[:, 0], found[:, 1], found[:, 2])


@pytest.mark.parametrize("seed", range(12))
def test_the_bounds_hold_and_are_close(seed: int) -> None:
    streams = Streams(seed)
    for _ in range(40):
        streams.commit(int(streams.random.integers(1, 4)))
        exact, found = enclosureness(streams.exact()), streams.stream.found()
        assert found.lower <= exact.average <= found.upper <= found.lower + 1
        assert found.largest - 1 <= exact.largest <= found.largest
        assert sum(one.began for one in found.tables) == exact.tuples
        assert [one.ended for one in found.tables] == [sum(t == table for t, _, _ in streams.over) for table in (0, 1)]


def test_a_sequence_of_a_known_enclosureness() -> None:
    sequence = enclosing_sequence(2_000, 40.0)
    empty = np.empty(0, np.int64)
    stream = Enclosing([(empty, empty), (empty, empty)])
    at = np.arange(len(sequence))
    parts = [(table, np.flatnonzero(sequence.relation == table)) for table in (0, 1)]
    stream.note([(table, sequence.row[of], sequence.sign[of], at[of]) for table, of in parts], len(sequence))
    found = stream.found()
    assert found.lower <= 40.0 <= found.upper
    assert found.upper - found.lower <= 1
    means = [one.mean for one in found.tables]
    assert means[0] is not None
    assert means[1] is not None


def test_lives_are_as_long_as_they_are() -> None:
    """Rows of one table live ten times as long as those of the other, in a stream of one change a commit."""
    random = np.random.default_rng(5)
    empty = np.empty(0, np.int64)
    stream = Enclosing([(empty, empty), (empty, empty)])
    queues: list[list[tuple[int, int]]] = [[], []]
    lives: list[list[int]] = [[], []]
    one, version = np.array([1]), 0
    for number in range(3_000):
        version += 1
        table = int(random.random() < 0.5)
        if len(queues[table]) == (200, 20)[table]:
            row, since = queues[table].pop(0)
            stream.note([(table, np.array([row]), -one, np.array([version]))], version)
            lives[table].append(version - since)
            version += 1
        queues[table].append((number, version))
        stream.note([(table, np.array([number]), one, np.array([version]))], version)
    for table, found in enumerate(stream.found().tables):
        assert found.mean is not None
        assert 0.8 * np.mean(lives[table]) < found.mean < 1.25 * np.mean(lives[table])


def test_rows_under_other_ids_go_on() -> None:
    random = np.random.default_rng(9)
    ids, ones = np.arange(100), np.ones(100, np.int64)
    streams = [Enclosing([(np.empty(0, np.int64), np.empty(0, np.int64))] * 2) for _ in range(2)]
    for stream in streams:
        stream.note([(1, ids, ones, ids)], 100)
    gone = random.choice(100, 80, replace=False)
    for stream in streams:
        stream.note([(1, gone, -ones[:80], np.full(80, 200))], 200)
    left = np.setdiff1d(ids, gone)
    for _ in range(2):
        streams[1].renumber(1, left)
    streams[0].note([(1, left[:10], -ones[:10], np.full(10, 300)), (0, ids[:1], ones[:1], ids[:1] + 301)], 301)
    for _ in range(2):  # as when the first call was cut off
        streams[1].note([(1, ids[:10], -ones[:10], np.full(10, 300)), (0, ids[:1], ones[:1], ids[:1] + 301)], 301)
    assert streams[0].found() == streams[1].found()
