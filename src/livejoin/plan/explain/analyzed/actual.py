"""What a view really costs, beside what was expected: the section that ``view.explain(analyze=True)`` has.

Counts of blocks and tables are since the view was made, in this process. What costs something to count, as keys, lives
and rows touched, is since the analysis began. All lines are written here once; text, JSON and HTML show the same.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import Any

from livejoin.plan.draw.svg import printable
from livejoin.plan.explain.explanation import Explanation
from livejoin.plan.explain.forms import text

NO_QUEUE = 4.0
"""How many times as long rows of one table live as those of another, from which on it is said."""

KEYS = 10
"""How many of the keys that cost most are shown."""


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
        expected_result: The rows of the result that one change of it is expected to add, take away or replace, by the
            tables as they are now; None if that is unknown.
    """

    name: str
    rows: int
    changes: int
    share: float | None
    expected_share: float | None
    began: int
    ended: int
    life: float | None
    expected_result: float | None


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
        watched: The changes that came since it is analyzed; None for a block without a join.
        propagated: The rows that entered or left views of nodes, of a change on average.
        stopped_rows: The rows among these that changed nothing further up, of a change on average.
        touched: The rows and counters above its own row that a change touched on average.
        expected_touched: The number that was expected by the figures of the tables when the plan was made.
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
    """

    block: int
    relation: str
    key: dict[str, Any]
    cost: int
    most: int
    share: float


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
        return {name: list(value) if isinstance(value, tuple) else value for name, value in record.items()}

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """Headings, each with its lines."""
        changes = sum(table.changes for table in self.tables)
        since = f"since the view was made in this process, at version {self.made:,}"
        head = f"predicted against actual, {since}: {_many(self.commits, 'version')}, {_many(changes, 'change')}"
        blocks = [line for block in self.blocks for line in _block(block)]
        yield head, [*self._result_lines(changes), *map(_table, self.tables), *blocks]
        at = f"version {self.analyzed:,} ({self.analyzed_at})"
        if self.began_now:
            yield (
                f"analyzed from {at} on",
                [
                    "keys, lives of rows and rows touched are counted from now on; ask again after some commits",
                ],
            )
            return
        yield f"analyzed since {at}", [*self._stream_lines(), *self.notes]
        if self.keys:
            yield f"the {len(self.keys)} keys that cost most", [*map(_key, self.keys)]
        if self.better:
            yield "better on the stream as it was", [line for one in self.better for line in _better(one)]

    def _result_lines(self, changes: int) -> Iterator[str]:
        """How much of the result changed."""
        if self.delta_rows is None or not changes:
            return
        expected = ""
        if self.expected_delta_rows is not None:
            each = _rough(self.expected_delta_rows / changes)
            about = "at most" if self.expected_is_most else "about"
            expected = (
                f" (a row that is updated is two of them; {about} {each} rows of the result are expected to change by "
                "each change, one by one, as the tables are now)"
            )
        each = _rough(self.delta_rows / changes)
        yield f"the result: {_many(self.delta_rows, 'delta row')}, {each} a change{expected}"

    def _stream_lines(self) -> Iterator[str]:
        if self.stream is None:
            return
        stream = self.stream
        between = f"{stream.lower:,.2f}"
        if f"{stream.upper:,.2f}" != between:
            between = f"between {between} and {stream.upper:,.2f}"
        part = "" if stream.is_whole else "; of very large tables the rows with the smallest ids alone"
        yield (
            f"lambda {between} on average, at most {stream.largest:,} for one row (bounds, not exact{part}); 1 is a "
            "queue: rows leave in the order in which they came"
        )


@dataclass(frozen=True, repr=False)
class AnalyzedExplanation(Explanation):
    """An explanation with what the view really costs.

    Args:
        actual: The cost that it really had; None only where a copy is made without.
    """

    actual: Actual | None = None

    @staticmethod
    def of(explanation: Explanation, actual: Actual) -> AnalyzedExplanation:
        """An explanation with a section more."""
        kept = {field.name: getattr(explanation, field.name) for field in fields(explanation)}
        return AnalyzedExplanation(**kept, actual=actual)

    def text(self, width: int = text.WIDTH) -> str:
        """As `Explanation.text`."""
        lines = []
        for heading, section in () if self.actual is None else self.actual.sections():
            lines += ["", *textwrap.wrap(printable(heading), width)]
            for line in section:
                indent = len(line) - len(line.lstrip())
                first, rest = "  " + " " * indent, "    " + " " * indent
                lines += textwrap.wrap(
                    printable(line.strip()),
                    width,
                    initial_indent=first,
                    subsequent_indent=rest,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
        return super().text(width) + "\n" + "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """As `Explanation.to_dict`."""
        return {**super().to_dict(), "actual": None if self.actual is None else self.actual.to_dict()}

    def html(self) -> str:
        """As `Explanation.html`."""
        head, end, rest = super().html().rpartition("</body>")
        return f"{head}{self._section()}{end}{rest}"

    def _repr_html_(self) -> str:
        return super()._repr_html_() + self._section()

    def _section(self) -> str:
        """The section as an HTML element."""
        parts = []
        for heading, lines in () if self.actual is None else self.actual.sections():
            items = "".join(f"<li>{escape(printable(line.strip()))}</li>" for line in lines)
            parts.append(f"<h3>{escape(printable(heading))}</h3><ul>{items}</ul>")
        return f'<div class="livejoin-explanation livejoin-actual">{"".join(parts)}</div>'


def _table(table: ActualTable) -> str:
    changes = _many(table.changes, "change")
    if table.share is not None:
        expected = "" if table.expected_share is None else f", {table.expected_share:.0%} expected"
        changes += f" ({table.share:.0%} of all{expected})"
    life = "" if table.life is None else f"; a row stays for about {_rough(table.life)} changes"
    return f"{table.name}: {changes}; {_many(table.rows, 'row')} now{life}"


def _block(block: ActualBlock) -> Iterator[str]:
    plan = f": {block.line}" if block.line else ""
    size = f"{block.rows:,} rows, {block.state_bytes:,} bytes"
    if block.expected_bytes is not None:
        size += f" ({block.expected_bytes:,.0f} expected)"
    yield f"#{block.number} {block.kind}{plan}"
    yield f"  {size}; {block.seconds:.3g} s, {block.share:.0%} of the time of all blocks"
    came = f"  {_many(block.received, 'change')} came in {_many(block.commits, 'commit')}"
    if block.passed_on is None or block.stopped is None:
        yield f"{came}; nobody asked what they changed"
    else:
        each = block.passed_on / block.received if block.received else 0.0
        yield (
            f"{came}, and {_many(block.passed_on, 'delta row')} went on ({_rough(each)} a change); "
            f"{_many(block.stopped, 'commit')} ended here"
        )
    if block.watched and block.touched is not None and block.stopped_rows is not None:
        expected = "" if block.expected_touched is None else f" ({_rough(block.expected_touched)} expected)"
        yield (
            f"  {_rough(block.touched)} rows and counters touched above its own row by a change{expected}; "
            f"{_rough(block.stopped_rows)} times it went no further"
        )


def _key(key: ActualKey) -> str:
    values = ", ".join(f"{name} = {_value(value)}" for name, value in key.key.items())
    most = "" if key.most == key.cost else f" to {key.most:,}"
    return f"{key.relation}: {values}: {key.share:.0%} of the cost in #{key.block} ({key.cost:,}{most})"


def _better(plan: BetterPlan) -> Iterator[str]:
    yield (
        f"#{plan.block}: {plan.line} is expected to have visited {_rough(plan.factor)} times as many rows as "
        f"{plan.better} would have ({plan.bound} a change)"
    )
    if plan.moves:
        yield "  the view is adaptive, and moves by itself when that pays"
    elif plan.is_first:
        yield (
            "  to have it: create_view(..., replace=True, statistics=explained.actual.better[0].statistics), the "
            "figures of this stream; or adaptive=True, by which a view moves by itself"
        )
    else:
        yield f"  the planner prefers {plan.preferred}"


def times(factor: float) -> str:
    """How many times as long, in words."""
    return f"about {_rough(factor)} times"


def _rough(value: float) -> str:
    """A number with two or three digits that count."""
    if value >= 100:
        return f"{float(f'{value:.2g}'):,.0f}"
    return f"{value:.2g}"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _value(value: Any) -> str:
    if value is None:
        return "NULL"
    shown = repr(value) if isinstance(value, str) else str(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}\u2026"


def _json(value: Any) -> Any:
    """A value of a key as JSON has it: what JSON has no type for as text."""
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
