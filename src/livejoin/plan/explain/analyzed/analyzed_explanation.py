"""The section that ``view.explain(analyze=True)`` has: all lines are written here once; text and HTML show the same."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Any

from livejoin.plan.draw.svg import printable
from livejoin.plan.explain.analyzed.actual import (
    Actual,
    ActualBlock,
    ActualKey,
    ActualNode,
    ActualTable,
    BetterPlan,
)
from livejoin.plan.explain.explanation import Explanation
from livejoin.plan.explain.forms import text


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
        for heading, section in () if self.actual is None else sections(self.actual):
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
        for heading, lines in () if self.actual is None else sections(self.actual):
            items = "".join(f"<li>{escape(printable(line.strip()))}</li>" for line in lines)
            parts.append(f"<h3>{escape(printable(heading))}</h3><ul>{items}</ul>")
        return f'<div class="livejoin-explanation livejoin-actual">{"".join(parts)}</div>'


def sections(actual: Actual) -> Iterator[tuple[str, list[str]]]:
    """Headings, each with its lines."""
    changes = sum(table.changes for table in actual.tables)
    since = f"since the view was made in this process, at version {actual.made:,}"
    head = f"predicted against actual, {since}: {_many(actual.commits, 'version')}, {_many(changes, 'change')}"
    blocks = [line for block in actual.blocks for line in _block(block)]
    were = "was" if actual.loaded == 1 else "were"
    loaded = (
        f"{_many(actual.loaded, 'row')} {were} in its tables before, and loaded at once: no changes that are counted"
    )
    yield (
        head,
        [*([loaded] if actual.loaded else []), *_result_lines(actual, changes), *map(_table, actual.tables), *blocks],
    )
    at = f"version {actual.analyzed:,} ({actual.analyzed_at})"
    if actual.began_now:
        yield (
            f"analyzed from {at} on",
            [
                "keys, lives of rows and rows touched are counted from now on; ask again after some commits",
            ],
        )
        return
    yield f"analyzed since {at}", [*_stream_lines(actual), *actual.notes]
    if actual.keys:
        yield from _keys(actual.keys)
    if actual.better:
        yield "better on the stream as it was", [line for one in actual.better for line in _better(one)]


def _result_lines(actual: Actual, changes: int) -> Iterator[str]:
    """How much of the result changed."""
    if actual.delta_rows is None or not changes:
        return
    expected = ""
    if actual.expected_delta_rows is not None:
        told = _expected(actual.expected_delta_rows / changes, actual.expected_is_most)
        expected = f" ({told}, of changes one by one, by the tables as they are now)"
    each = _rough(actual.delta_rows / changes)
    yield f"the result: {_many(actual.delta_rows, 'delta row')} (an update is two), {each} a change{expected}"


def _stream_lines(actual: Actual) -> Iterator[str]:
    if actual.stream is None:
        return
    stream = actual.stream
    part = "" if stream.is_whole else "; of very large tables the rows with the smallest ids alone"
    yield (
        f"lambda {_between(stream.lower, stream.upper)} on average, at most {stream.largest:,} for one row (bounds, "
        f"not exact{part}): so many rows came and went, one after the other, while a row was there"
    )
    began, ended = (sum(getattr(table, what) for table in actual.tables) for what in ("began", "ended"))
    yield (
        f"1 is the least lambda, that of a queue, whose rows leave in the order in which they came; rows that leave "
        f"in any order also begin with 1: {ended:,} of {began:,} rows have left so far"
    )


def _table(table: ActualTable) -> str:
    changes = _many(table.changes, "change")
    if table.share is not None:
        expected = "" if table.expected_share is None else f", {table.expected_share:.0%} expected"
        changes += f" ({table.share:.0%} of all{expected})"
    life = "" if table.life is None else f"; a row stays for about {_rough(table.life)} changes"
    return f"{table.name}: {changes}; {_many(table.rows, 'row')} now{life}"


def _block(block: ActualBlock) -> Iterator[str]:
    plan = f": {block.line}" if block.line else ""
    size = f"{block.rows:,} rows, {block.state_bytes:,} bytes in use"
    if block.expected_bytes is not None:
        size += f" ({_expected(block.expected_bytes)})"
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
    if block.watched:
        yield from _work(block)


def _work(block: ActualBlock) -> Iterator[str]:
    """What is told of the work of a join, node by node where it counts there."""
    depths = [*(node.depth for node in block.nodes[1:]), 0]
    nodes = (
        f"  {'  ' * (node.depth + 1)}{_node(node, block.met is not None, below <= node.depth)}"
        for node, below in zip(block.nodes, depths, strict=bool(block.nodes))
    )
    if block.met is not None:
        expected = "" if block.expected_met is None else f" ({_expected(block.expected_met, block.expected_is_bound)})"
        yield f"  a change met {_rough(block.met)} {_rows(block.met)}{expected}; node by node:"
        yield from nodes
    elif block.nodes:
        yield "  it reads bags, which are joined before it: what a change met is not counted by table; node by node:"
        yield from nodes
    elif block.probes is not None and block.touched is not None and block.stopped_rows is not None:
        looked = f"{_rough(block.probes)} {'key' if _rough(block.probes) == '1' else 'keys'}"
        visits = "" if block.expected_touched is None else f"; {_rough(block.expected_touched)} rows were predicted"
        yield (
            f"  it is one node, and does not count table by table: a change looked up {looked}, and touched "
            f"{_rough(block.touched)} rows and counters above its own row{visits}; "
            f"{_rough(block.stopped_rows)} times it went no further"
        )


def _node(node: ActualNode, counts: bool, is_last: bool) -> str:
    """What is told of a node.

    Args:
        node: The node.
        counts: Whether the rows that are met there are those of a table of the query.
        is_last: Whether there is no node below it.
    """
    met = "" if node.expected_met is None else f" ({_expected(node.expected_met, node.expected_is_bound)})"
    apart = ", not in the sum, as the plan makes them" if node.label.startswith("[") else ""
    parts = [f"a change met {_rough(node.met)} {_rows(node.met)} of it{met}{apart}"] if counts else []
    most = node.expected_rows  # a figure of before, which more rows may have passed since
    there = "" if most is None or most < node.rows else f" of {most:,.0f}"
    is_one = node.rows == 1 and not there
    said = f"{'is' if is_one else 'are'} there" if is_last else f"{'fits' if is_one else 'fit'} what is below"
    parts.append(f"{node.rows:,}{there} {'row' if is_one else 'rows'} {said}")
    stopped = f", {node.stopped:,} of them went no further" if node.depth else ""
    parts.append(f"{_many(node.reached, 'change')} reached it ({_expected(node.expected_reached)}){stopped}")
    size = "" if node.expected_bytes is None else f" ({_expected(node.expected_bytes)})"
    parts.append(f"{node.state_bytes:,} bytes{size}")
    if node.lower is not None and node.upper is not None:
        parts.append(f"lambda {_between(node.lower, node.upper)}")
    return f"{node.label}: {'; '.join(parts)}"


def _rows(number: float) -> str:
    return "row" if _rough(number) == "1" else "rows"


def _expected(value: float, is_bound: bool = False) -> str:
    """What was expected, in the words of the verdict."""
    return f"{'up to' if is_bound else 'about'} {_rough(value)} expected"


def _between(lower: float, upper: float) -> str:
    """Two bounds.

    >>> _between(1.0, 1.001), _between(3.28, 3.46)
    ('1.00', 'between 3.28 and 3.46')
    """
    first, last = f"{lower:,.2f}", f"{upper:,.2f}"
    return first if first == last else f"between {first} and {last}"


def _keys(keys: Sequence[ActualKey]) -> Iterator[tuple[str, list[str]]]:
    """The keys that stand out, or that none does."""
    units = "in steps: a change, and each row or counter that it touches or changes, is one"
    found = [key for key in keys if key.stands_out]
    if found:
        called = f"the {len(found)} keys that cost most" if len(found) > 1 else "the key that costs most"
        yield f"{called}, {units}", [*map(_key, found)]
        return
    each = dict.fromkeys(f"{key.relation} by {', '.join(key.key)}: about {key.typical:,} each" for key in keys)
    yield f"no key costs much more than the others, {units}", [*each]


def _key(key: ActualKey) -> str:
    values = ", ".join(f"{name} = {_value(value)}" for name, value in key.key.items())
    most = "" if key.most == key.cost else f" to {key.most:,}"
    return f"{key.relation}: {values}: {_share(key.share)} of the steps in #{key.block} ({key.cost:,}{most})"


def _share(share: float) -> str:
    """A share as a percentage.

    >>> _share(0.213), _share(0.002)
    ('21%', 'less than 1%')
    """
    return f"{share:.0%}" if share >= 0.01 else "less than 1%"


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
