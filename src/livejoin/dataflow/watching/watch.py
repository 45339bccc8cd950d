"""What is counted of one block while a view above it is analyzed: its work, and the keys that cost most.

A *key* is the values of a change in the columns by which its table is joined with another one, or the group or
partition of a row that comes to a store. What a change costs is one for itself, and its work: of joins the rows of
views and the counters that it changed and the rows of its delta, of ordered stores the rows that changed behind it.
Joins that apply a version as a whole, or in cells, do not say which change made which work: it is spread evenly over
the changes of the commit.

Law: as for `livejoin.dataflow.counts`, a commit that was undone counts nowhere. What is kept is values, as codes of
dictionaries mean something else after the next commit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from livejoin.families.nodes import NO_NODES
from livejoin.schema import SqlType
from livejoin.state.codec import Codec, is_coded
from livejoin.theory.streams.heavy_hitters import HeavyHitters, summed
from livejoin.words import Words

CAPACITY = 256
"""Keys that have a counter, of each set of columns."""

_WAITING = 1 << 12  # keys that wait to be summed, where their words are no codes
_PARTS = 64  # commits that they may be of

Values: TypeAlias = tuple[Any, ...]
Found: TypeAlias = Mapping["KeyColumns", HeavyHitters[Values]]


class KeyColumns(NamedTuple):
    """Columns that a key is of.

    Args:
        relation: The table's name, or what the block is.
        columns: The names of the columns.
        types: The types of the columns.
        is_coded: Whether their words may be codes of dictionaries.
    """

    relation: str
    columns: tuple[str, ...]
    types: tuple[SqlType, ...]
    is_coded: bool

    @staticmethod
    def of(relation: str, columns: Iterable[str], types: Iterable[SqlType]) -> KeyColumns:
        """Columns with their names and types."""
        typed = tuple(types)
        return KeyColumns(relation, tuple(columns), typed, any(map(is_coded, typed)))

    def shown(self, values: Values) -> str:
        """A key as people write it."""
        parts = [f"{name} = {_shown(value)}" for name, value in zip(self.columns, values, strict=True)]
        return f"{self.relation}: {', '.join(parts)}"


@dataclass(frozen=True, eq=False)
class Part:
    """Keys of the changes of a commit.

    Args:
        of: The columns.
        keys: int64 of shape (columns, n): words.
        weights: int64 of shape (n,): the cost of each change.
    """

    of: KeyColumns
    keys: Words
    weights: Words


_WORK = ("propagated", "stopped", "touched", "probes")


class Work(NamedTuple):
    """The work of a join; it adds up.

    Args:
        received: The changes that came.
        propagated: The rows that entered or left views of nodes.
        stopped: The rows among these that changed nothing further up.
        touched: The counters, annotations and multiplicities that changed.
        probes: The look-ups of keys.
        nodes: The counts at the nodes of a join tree (`livejoin.families.nodes`), with the plan's fingerprint; counts
            with another plan are not added to them.
    """

    received: int = 0
    propagated: int = 0
    stopped: int = 0
    touched: int = 0
    probes: int = 0
    nodes: tuple[str, Words] = ("", NO_NODES)

    @staticmethod
    def between(before: Mapping[str, int], after: Mapping[str, int]) -> Work:
        """The work between two readings of the counters of a join."""
        propagated, stopped, touched, probes = (after.get(name, 0) - before.get(name, 0) for name in _WORK)
        return Work(0, propagated, stopped, touched, probes)

    def plus(self, other: Work) -> Work:
        """The work of both."""
        return Work(
            self.received + other.received,
            self.propagated + other.propagated,
            self.stopped + other.stopped,
            self.touched + other.touched,
            self.probes + other.probes,
            _added(self.nodes, other.nodes),
        )

    def at_nodes(self, digest: str, counted: Words) -> Work:
        """The work, with what was counted at the nodes of a plan."""
        return self._replace(nodes=(digest, counted))


def _added(one: tuple[str, Words], other: tuple[str, Words]) -> tuple[str, Words]:
    """What was counted at nodes, in two times one after the other."""
    if not other[0]:
        return one
    return (other[0], one[1] + other[1]) if one[0] == other[0] else other


class Watch:
    """The work and the keys of one block; mutable.

    Args:
        codec: The database's codec.
        version: The version of the database from which on it counts.

    Attributes:
        version: As given.
    """

    def __init__(self, codec: Codec, version: int) -> None:
        self.version = version
        self._codec = codec
        self._work = Work()
        self._passing: dict[tuple[str, str], tuple[int, int]] = {}
        self._found: Found = {}
        self._parts: tuple[Part, ...] = ()  # of commits that stand, whose words are values
        self._keys = 0  # how many these are
        self._now: tuple[Work, tuple[Part, ...], Found] | None = None  # of a commit that may still be undone
        self._last: tuple[tuple[Part, ...], Found] = ((), {})  # of the last commit that stands

    def begin(self, received: int) -> None:
        """A commit comes to the block, with so many changes."""
        self._now = Work(received), (), {}

    def note_work(self, work: Work) -> None:
        """Take note of what a commit made the block do."""
        assert self._now is not None
        self._now = self._now[0].plus(work), *self._now[1:]

    def note_keys(self, parts: Iterable[Part]) -> None:
        """Take note of the keys of a commit."""
        assert self._now is not None
        work, waits, found = self._now
        for part in parts:
            if part.of.is_coded:
                found = {**found, part.of: _merged(found, part.of, self._summed(part))}
            else:
                waits = (*waits, part)
        self._now = work, waits, found

    def note_passing(self, table: str, predicate: str, seen: int, passed: int) -> None:
        """Take note of how many rows came to an atom, and how many of these its predicate let through.

        This is a share, so that rows of commits that were undone may be among them.
        """
        before = self._passing.get((table, predicate), (0, 0))
        self._passing[table, predicate] = before[0] + seen, before[1] + passed

    @property
    def passing(self) -> Mapping[tuple[str, str], float]:
        """The share of the rows of a table that a predicate lets through, by both."""
        return {of: passed / seen for of, (seen, passed) in self._passing.items() if seen}

    def settle(self) -> None:
        """The commit stands; may be called again."""
        if self._now is None:
            return
        work, waits, coded = self._now
        found = self._found
        if coded:
            found = {**found, **{of: _merged(found, of, one) for of, one in coded.items()}}
        parts = (*self._parts, *waits)
        keys = self._keys + sum([part.weights.shape[0] for part in waits])
        made = {"_work": self._work.plus(work), "_found": found, "_parts": parts, "_keys": keys}
        vars(self).update(made, _last=(waits, coded), _now=None)  # all at once
        if len(parts) >= _PARTS or keys >= _WAITING:
            self._sum()

    def drop(self) -> None:
        """The commit was undone; may be called again."""
        self._now = None

    @property
    def work(self) -> Work:
        """The work of all commits that stand."""
        return self._work

    @property
    def found(self) -> Found:
        """The summaries of the keys, by columns."""
        self._sum()
        return self._found

    def costliest(self) -> str | None:
        """The key that cost most in the last commit that stands; None if there is none."""
        parts, coded = self._last
        found = dict(coded)
        for part in parts:
            found[part.of] = _merged(found, part.of, self._summed(part))
        best = max(
            ((count, of, values) for of, one in found.items() for values, count in one.largest(1)),
            key=lambda each: each[0],
            default=None,
        )
        return None if best is None else best[1].shown(best[2])

    def _sum(self) -> None:
        """Sum what waits."""
        if self._parts:
            together: dict[KeyColumns, list[Part]] = {}
            for part in self._parts:
                together.setdefault(part.of, []).append(part)
            found = dict(self._found)
            for of, parts in together.items():
                keys = np.concatenate([part.keys for part in parts], axis=1)
                weights = np.concatenate([part.weights for part in parts])
                found[of] = _merged(found, of, self._summed(Part(of, keys, weights)))
            vars(self).update(_found=found, _parts=(), _keys=0)  # at once

    def _summed(self, part: Part) -> HeavyHitters[Values]:
        """The summary of some keys."""
        keys, counts, error = summed(part.keys, part.weights, CAPACITY)
        columns = [self._codec.decode(line, type_).to_pylist() for line, type_ in zip(keys, part.of.types, strict=True)]
        held = map(_hashable, zip(*columns, strict=True))
        named = dict(zip(held, counts.tolist(), strict=True))
        return HeavyHitters(CAPACITY, named, error, int(part.weights.sum()))


def spread(work: Words, whole: int) -> Words:
    """The work of each change of a commit, where -1 stands for what is not known.

    Args:
        work: int64 of shape (n,).
        whole: The work of all changes together.
    """
    unknown = np.flatnonzero(work < 0)
    if not unknown.size:
        return work
    rest = max(0, whole - int(work[work >= 0].sum()))
    each, more = divmod(rest, unknown.size)
    known = work.copy()
    known[unknown] = each
    known[unknown[:more]] += 1
    return known


def work_of(counters: Mapping[str, int]) -> int:
    """The work that the counters of a join count, in the unit in which kernels tell that of each change."""
    return counters["propagated"] + counters["touched"]


def _merged(found: Found, of: KeyColumns, other: HeavyHitters[Values]) -> HeavyHitters[Values]:
    known = found.get(of)
    return other if known is None else known.merged(other)


def _hashable(values: Sequence[Any]) -> Values:
    """Values of columns that may be compared; NaN, which equals itself in SQL, as one value."""
    return tuple(_NAN if isinstance(value, float) and math.isnan(value) else value for value in values)


_NAN = float("nan")


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026"


_LONGEST = 60
