"""What a view really costs, beside what was expected, as plain values.

Counts of blocks and tables are since the view was made, in this process. What costs something to count, as keys, lives
and rows touched, is since the analysis began.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

NO_QUEUE = 4.0
"""How many times as long rows of one table live as those of another, from which on it is said."""

KEYS = 10
"""How many of the keys that cost most are shown."""

OUTSTANDING = 2.0
"""How many times as much as the median a key costs at least that stands out."""


@dataclass(frozen=True)
class ActualTable:
    """A table of the view.

    Args:
        name: The name.
        rows: The rows that are there, with their multiplicities.
        changes: The net changes since the view was made.
        share: The share of these among those of all tables of the view; None if there were none.
        expected_share: The share that was expected; None if nothing was known.
        began: The lives of rows that began since the analysis did, those of rows that were there included.
        ended: The lives among these that ended.
        life: The changes of the view's tables for which a row stays on average; None if none has left.
        expected_delta: The rows of the view's delta that one change of it is expected to make, by the tables as they
            are now; None if that is unknown.
    """

    name: str
    rows: int
    changes: int
    share: float | None
    expected_share: float | None
    began: int
    ended: int
    life: float | None
    expected_delta: float | None


@dataclass(frozen=True)
class ActualNode:
    """A node of the join tree of a block: a table as the query names it, or a relation that the plan makes.

    What happened is counted since the analysis began, and as long as the join has had this plan. What was expected is
    for the changes that came, by the tables as they are now.

    Args:
        label: The alias, or the variables of a relation that the plan makes, in brackets.
        depth: The nodes above it.
        rows: The rows that join with what is below it.
        expected_rows: The rows of its table that fit the query's conditions on it; None if that is unknown.
        state_bytes: The bytes of the index above it, and of the records of its table at the first node over that.
        expected_bytes: The bytes that are predicted for these; None if that is unknown.
        reached: The rows of it that began or ceased to join with what is below, its own changes among them.
        expected_reached: The number of these that was predicted.
        stopped: The rows among ``reached`` that changed nothing further up.
        touched: The rows of it whose counter or annotation changed, of a change of any table on average.
        read: The rows of it that were read to tell what changed in the result, of a change on average.
        met: The rows of it that a change of any table met on average: those touched and those read.
        expected_met: The number of these that was expected; None if that is unknown.
        expected_is_bound: Whether it may be less than that, as something of which nothing is known stops some.
        lower: A bound below the average enclosureness of the rows of its table; None if that is unknown.
        upper: A bound above it.
    """

    label: str
    depth: int
    rows: int
    expected_rows: float | None
    state_bytes: int
    expected_bytes: float | None
    reached: int
    expected_reached: float
    stopped: int
    touched: float
    read: float
    met: float
    expected_met: float | None
    expected_is_bound: bool
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class ActualBlock:
    """A block of the view.

    Args:
        number: The number of the block in `Database.stats`.
        kind: The kind of block.
        line: The plan of a join on one line; empty for other blocks.
        commits: The commits that reached it since the view was made.
        stopped: The commits among these that ended here; None if nobody asked for its changes.
        received: The changes that came.
        passed_on: The changes that went on; None if nobody asked.
        seconds: The time that it took.
        share: The share of this in that of all blocks of the view.
        rows: The rows of its relation; a float beyond 64 bits.
        state_bytes: The bytes of its state.
        expected_bytes: The bytes that were expected for the rows of its tables; None if nothing is predicted.
        watched: The changes that came since it is analyzed; None for a block that joins nothing.
        propagated: The rows that entered or left views of nodes, of a change on average.
        stopped_rows: The rows among these that changed nothing further up, of a change on average.
        touched: The rows and counters above its own row that a change touched on average.
        expected_touched: The number that is predicted for the changes that came, by the tables as they are now.
        probes: The keys that a change looked up on average; None for a block that joins nothing.
        nodes: The nodes of its join tree, or its tables along foreign keys, in preorder; empty for other blocks.
        met: The rows of all tables that a change met on average; None where nodes are not counted, or read bags.
        expected_met: The number of these that was expected; None if that is unknown.
        expected_is_bound: Whether it may be less than that.
    """

    number: int
    kind: str
    line: str
    commits: int
    stopped: int | None
    received: int
    passed_on: int | None
    seconds: float
    share: float
    rows: int | float
    state_bytes: int
    expected_bytes: float | None
    watched: int | None
    propagated: float | None
    stopped_rows: float | None
    touched: float | None
    expected_touched: float | None
    probes: float | None = None
    nodes: tuple[ActualNode, ...] = ()
    met: float | None = None
    expected_met: float | None = None
    expected_is_bound: bool = False


@dataclass(frozen=True)
class ActualKey:
    """A key that cost much.

    Args:
        block: The number of the block.
        relation: The table, or ``group`` or ``partition``.
        key: The values by the names of the columns.
        cost: The cost of its changes at least: one for each, and the rows that it touched.
        most: The cost of its changes at most.
        share: The share of ``cost`` in the cost of all changes of the block by these columns.
        typical: The median cost of the keys of these columns that have a counter.
    """

    block: int
    relation: str
    key: dict[str, Any]
    cost: int
    most: int
    share: float
    typical: int = 0

    @property
    def stands_out(self) -> bool:
        """Whether it cost much more than others, or more than half of all."""
        return self.cost >= OUTSTANDING * self.typical or self.share > 1 / 2


@dataclass(frozen=True)
class ActualStream:
    """The enclosureness of the stream of changes of the view's tables, by bounds.

    Args:
        lower: A bound below the average of the rows.
        upper: A bound above it, at most 1 more.
        largest: A bound above that of any row.
        is_whole: Whether all rows were followed, and not those with the smallest ids alone.
    """

    lower: float
    upper: float
    largest: int
    is_whole: bool


@dataclass(frozen=True)
class BetterPlan:
    """A plan that would have been better on the stream as it was.

    Args:
        block: The number of the join's block.
        line: The plan that it has, on one line.
        better: The plan that would have been better.
        factor: How many times as many rows its plan is expected to visit.
        bound: The bound on the cost of a change that the better plan promises.
        is_first: Whether the planner would take it with these figures.
        preferred: The plan that the planner prefers with these figures, and why; empty for the first one.
        moves: Whether the join moves by itself, as the view is adaptive.
        statistics: The figures of the stream, as `Database.create_view` takes them.
    """

    block: int
    line: str
    better: str
    factor: float
    bound: str
    is_first: bool
    preferred: str
    moves: bool
    statistics: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Actual:
    """What a view really costs.

    Args:
        view: The view's name.
        made: The version at which the view was made in this process; what is always counted is counted from there.
        loaded: The rows that its tables had by then: they were loaded at once, and are none of the changes that are
            counted.
        version: The version now.
        analyzed: The version at which the analysis began.
        analyzed_at: The time at which the analysis began, as an ISO text in UTC.
        began_now: Whether it began with this explanation, so that it has counted nothing yet.
        commits: The versions since the view was made.
        delta_rows: The rows of the view's deltas; None if it has none.
        expected_delta_rows: The number that was to be expected for these changes, by the tables as they are now; None
            if that is unknown.
        expected_is_most: Whether it is the most that was to be expected.
        tables: The tables.
        blocks: The blocks in the order in which a commit goes through them.
        stream: The enclosureness; None if no row was there.
        keys: The keys that cost most.
        notes: Plain sentences.
        better: The plans that would have been better.
    """

    view: str
    made: int
    loaded: int
    version: int
    analyzed: int
    analyzed_at: str
    began_now: bool
    commits: int
    delta_rows: int | None
    expected_delta_rows: float | None
    expected_is_most: bool
    tables: tuple[ActualTable, ...]
    blocks: tuple[ActualBlock, ...]
    stream: ActualStream | None
    keys: tuple[ActualKey, ...]
    notes: tuple[str, ...]
    better: tuple[BetterPlan, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        record = asdict(self)
        record["keys"] = [{**one, "key": {n: _json(v) for n, v in one["key"].items()}} for one in record["keys"]]
        record["blocks"] = [{**one, "nodes": list(one["nodes"])} for one in record["blocks"]]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in record.items()}


def _json(value: Any) -> Any:
    """A value of a key as JSON has it: what JSON has no type for as text."""
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
