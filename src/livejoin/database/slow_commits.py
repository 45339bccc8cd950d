"""The slowest commits so far: which they were, which part of each took longest, and which block.

Law: of all commits that stood since it was begun the slowest ones are here. A commit that is faster than all of them
costs a comparison; memory is that of `MOST` commits.
"""

from __future__ import annotations

import datetime as dt
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa

from livejoin.database import notebook
from livejoin.dataflow.node import Node

MOST = 10
"""How many are kept."""

Part = Literal["preparing", "tables", "blocks", "deltas", "disk", "ending"]
"""A part of a commit.

preparing: memory is given back, states are loaded, values become words; tables: the changes are staged; blocks: they go
through the blocks; deltas: what views show of them; disk: the log; ending: tables and blocks end the commit.
"""
PARTS: tuple[Part, ...] = get_args(Part)

Cause = Literal["followers", "other calls", "disk"]
"""What a commit waits for.

followers: those who follow views, and fall behind; other calls: commits and reads of other threads, which had the
database; disk: until what it wrote is durable.
"""
CAUSES: tuple[Cause, ...] = get_args(Cause)
Clock: TypeAlias = Sequence[float]
"""When a commit began, and when each of `PARTS` ended, in seconds."""

_SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("milliseconds", pa.float64()),
        ("part", pa.string()),
        ("part_share", pa.float64()),
        ("waited_milliseconds", pa.float64()),
        ("waited_for", pa.string()),
        ("changes", pa.map_(pa.string(), pa.int64())),
        ("block", pa.string()),
        ("block_number", pa.int64()),
        ("block_share", pa.float64()),
        ("key", pa.string()),
    ]
)


@dataclass(frozen=True)
class SlowCommit:
    """A slow commit.

    Args:
        version: The version of the commit, of a replay the last one.
        at: The time when it stood, in UTC.
        milliseconds: The time that it took, from when its changes had been read until it was ended.
        part: The part that took longest.
        part_share: The share of the time that this part took.
        waited_milliseconds: The time that it waited before and behind that.
        waited_for: The cause of the longest of these waits; None where it waited less than a tenth as long as it took.
        changes: The net changes of each table that changed.
        block: The block that took longest, with the views that it is for; None where no block was reached.
        block_number: The number of the block in `Database.stats`; None where it is gone.
        block_share: The share of the time that this block took.
        key: The key that cost most in this block; None where no view above it is analyzed.
    """

    version: int
    at: dt.datetime
    milliseconds: float
    part: Part
    part_share: float
    waited_milliseconds: float
    waited_for: Cause | None
    changes: Mapping[str, int]
    block: str | None
    block_number: int | None
    block_share: float | None
    key: str | None

    def to_dict(self) -> dict[str, Any]:
        """Its figures by their names."""
        return {**vars(self), "changes": dict(self.changes)}


class SlowCommits(Sequence[SlowCommit]):
    """The slowest commits, the slowest first; ``print`` and notebooks show them as a table.

    Args:
        commits: The commits.
    """

    def __init__(self, commits: Sequence[SlowCommit]) -> None:
        self._commits = tuple(commits)

    def __len__(self) -> int:
        return len(self._commits)

    def __iter__(self) -> Iterator[SlowCommit]:
        return iter(self._commits)

    def __getitem__(self, place: Any) -> Any:
        return self._commits[place]

    def to_pylist(self) -> list[dict[str, Any]]:
        """The commits as dicts."""
        return [one.to_dict() for one in self._commits]

    def to_arrow(self) -> pa.Table:
        """The commits as a table; `changes` is a map from names of tables to numbers."""
        lines = [{**one.to_dict(), "changes": list(one.changes.items())} for one in self._commits]
        return pa.Table.from_pylist(lines, schema=_SCHEMA)

    def __str__(self) -> str:
        if not self._commits:
            return "no commits so far"
        lines = [HEADINGS, *map(_shown, self._commits)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(HEADINGS))]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    def __repr__(self) -> str:
        return f"<SlowCommits: {len(self._commits)}; print() shows them>"

    def _repr_html_(self) -> str:
        return notebook.table(HEADINGS, map(_shown, self._commits))


HEADINGS = ("version", "at (UTC)", "ms", "most of it", "waited", "changes", "slowest block", "key that cost most")


def _shown(one: SlowCommit) -> tuple[str, ...]:
    changes = ", ".join(f"{table} {number:,}" for table, number in one.changes.items())
    number = "" if one.block_number is None else f"#{one.block_number} "
    block = "" if one.block is None else f"{number}{one.block} {one.block_share:.0%}"
    at, share = f"{one.at:%Y-%m-%d %H:%M:%S}", f"{one.part} {one.part_share:.0%}"
    waited = "" if one.waited_for is None else f"{one.waited_milliseconds:,.3g} ms for {one.waited_for}"
    return f"{one.version:,}", at, f"{one.milliseconds:,.3g}", share, waited, changes, block, one.key or ""


class SlowestCommits:
    """The slowest commits as they come; mutable.

    Attributes:
        least: The seconds of the fastest of them with what it waited; a commit that took no more is none of them.
    """

    def __init__(self) -> None:
        self.least = -1.0
        self._kept: tuple[tuple[SlowCommit, weakref.ref[Node] | None], ...] = ()

    def forget(self) -> None:
        """Begin anew."""
        self.least, self._kept = -1.0, ()

    def note(
        self,
        version: int,
        clock: Clock,
        changes: Mapping[str, int],
        block: tuple[Node, float] | None,
        waits: Sequence[float] = (0.0,) * len(CAUSES),
    ) -> None:
        """Take note of a commit that stands and took longer than `least`.

        Args:
            version: The version of the commit.
            clock: The times of the commit.
            changes: The net changes of each table.
            block: The block that took longest, and its seconds.
            waits: The seconds that it waited for each of `CAUSES`.
        """
        took = clock[-1] - clock[0]
        times = [end - begin for begin, end in pairwise(clock)]
        place, waited = times.index(max(times)), sum(waits)
        node, seconds = (None, 0.0) if block is None else block
        found = SlowCommit(
            version,
            dt.datetime.now(dt.UTC),
            1000 * took,
            PARTS[place],
            times[place] / took if took else 0.0,
            1000 * waited,
            CAUSES[waits.index(max(waits))] if waited > took / 10 else None,
            changes,
            None if node is None else _named(node),
            None,
            None if node is None else min(1.0, seconds / took) if took else 0.0,
            None if node is None or node.watch is None else node.watch.costliest(),
        )
        kept = sorted(
            [*self._kept, (found, None if node is None else weakref.ref(node))],
            key=lambda pair: (-_whole(pair[0]), pair[0].version),
        )[:MOST]
        self._kept = tuple(kept)
        if len(kept) == MOST:
            self.least = _whole(kept[-1][0]) / 1000

    def now(self, nodes: Sequence[Node]) -> SlowCommits:
        """The commits; blocks have the numbers that they have among these nodes."""
        numbers = {node: number for number, node in enumerate(nodes, 1)}
        found = []
        for one, named in self._kept:
            node = None if named is None else named()
            found.append(replace(one, block_number=None if node is None else numbers.get(node)))
        return SlowCommits(found)


def _whole(one: SlowCommit) -> float:
    """The milliseconds that it took, with those that it waited."""
    return one.milliseconds + one.waited_milliseconds


def _named(node: Node) -> str:
    views = ", ".join(node.views())
    return f"{node.plan.kind} ({views})" if views else node.plan.kind
