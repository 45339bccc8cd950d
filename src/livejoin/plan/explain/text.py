"""An explanation as plain text, for terminals, logs and `str`.

Every part of an explanation stands under its own word at the left margin, so that a reader finds it and a program can.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from livejoin.plan.draw.drawing import commas
from livejoin.plan.explain.glossary import PLACE, verdict, words

if TYPE_CHECKING:
    from livejoin.families.outline import (
        BagOutline,
        MergedOutline,
        NodeOutline,
        PlanOutline,
        StatesOutline,
        StaticOutline,
    )
    from livejoin.plan.explain.explanation import (
        Alternative,
        Explanation,
        LogOutline,
        Suggestion,
        TableOutline,
    )
    from livejoin.plan.stages import SpreadOutline

WIDTH = 100
_INDENT = 12
# A query may hold what moves the cursor of a terminal.
_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_CONNEX = "\u25cf"


def text(explanation: Explanation, width: int = WIDTH) -> str:
    """All that an explanation says, in lines of at most ``width`` characters where words allow it.

    Args:
        explanation: The explanation.
        width: Columns; the query's text is shown as it was written.
    """
    parts = [
        [*_verdict(explanation, width)],
        [textwrap.dedent(explanation.sql.expandtabs(4)).strip()],
        [*_summary(explanation, width)],
        [*_tree(explanation.plan, width)],
        [*_state(explanation.tables, width)],
        [*_spread(explanation.spread, width)] if explanation.spread else [],
        [*_log(explanation.log, width)] if explanation.log else [],
        [*_suggestions(explanation.suggestions, width)],
        [*_alternatives(explanation.alternatives, width)],
        *([f"and {other.text(width)}"] for other in explanation.others),
    ]
    return _CONTROLS.sub("\ufffd", "\n\n".join("\n".join(lines) for lines in parts if lines))


def _summary(explanation: Explanation, width: int) -> Iterator[str]:
    found, promise = explanation.query_class, explanation.guarantee
    yield from _field("class", class_line(explanation), width)
    longest = max((len(p.name) for p in found.properties), default=0)
    for part in found.properties:
        verdict = "yes" if part.holds else "no"
        yield from _field("", f"{verdict:<4}{part.name:<{longest}}  {part.because}", width, longest + 6)
    yield from _field("plan", explanation.plan.title, width)
    for position, line in enumerate(explanation.operators):
        yield from _field("" if position else "above it", line, width)
    if not explanation.executable:
        yield from _field("refused", f"this version does not maintain the query: {explanation.obstacle}", width)
    if explanation.plan.static is not None:
        for position, line in enumerate(static_lines(explanation.plan.static)):
            yield from _field("" if position else "static", line, width)
    for position, merged in enumerate(explanation.plan.merged):
        yield from _field("" if position else "merged", merged_line(merged), width)
    if left_out := left_out_line(explanation.tables):
        yield from _field("left out", left_out, width)
    if explanation.plan.states is not None:
        yield from _field("states", _states(explanation.plan.states), width)
    yield from _field("update", promise.update, width)
    yield from _field("results", promise.delay + ("" if explanation.deltas else "; no deltas (deltas=False)"), width)
    yield from _field("space", promise.space, width)
    if explanation.cells is not None:
        yield from _field("threads", explanation.cells.note, width)
    if explanation.names:
        yield from _field("names", explanation.names, width)
    if explanation.whole:
        yield from _field("whole", explanation.whole, width)
    yield from _field("loading", promise.preprocessing, width)
    yield from _field("proof", promise.source, width)
    yield from _field("why", explanation.reason, width)
    yield from _field("search", explanation.search.note, width)


def static_lines(static: StaticOutline) -> Iterator[str]:
    """What is made of static tables before changes come."""
    if not static.bags:
        yield f"class {static.tractability}: nothing is joined before changes come"
        return
    yield f"class {static.tractability}: joined once, by the variable order {static.order}, of width {static.width}"
    yield from (f"{bag.title}: {_bag_rows(bag)}" for bag in static.bags)
    if static.limit is not None:
        yield f"refused beyond {static.limit:,} rows (preprocessing_limit)"


def merged_line(merged: MergedOutline) -> str:
    """Which static tables are one relation, and how many rows that spares."""
    rows = f"up to {merged.expected:,.0f}" if merged.rows is None else f"{merged.rows:,}"
    return f"{commas(merged.tables)}: one relation of {rows} rows instead of {merged.instead:,.0f}"


def left_out_line(tables: Sequence[TableOutline]) -> str:
    """How many rows of static tables have no record, since they can be part of no result; empty if all have one."""
    static = [one for one in tables if one.kept is not None and one.rows is not None]
    rows, kept = sum(one.rows or 0 for one in static), sum(one.kept or 0 for one in static)
    if kept >= rows:
        return ""
    names = commas([one.name for one in static])
    return f"{rows - kept:,.0f} of the {rows:,.0f} rows of {names}: they are part of no result, whatever changes"


def _bag_rows(bag: BagOutline) -> str:
    """How many rows a static bag has, and was expected to have."""
    expected = "" if bag.expected is None else f"about {bag.expected:,.0f} rows expected"
    if bag.rows is None:
        return expected or "how many rows is not known before the tables have some"
    return f"{bag.rows:,} rows" + (f" ({expected})" if expected else "")


def _states(states: StatesOutline) -> str:
    """What the states are made of, how many there are at most, and how many of them are kept."""
    rows = "a number that is not known" if states.rows is None else f"about {states.rows:,.0f}"
    of = ", ".join(f"{alias} {rows:,.0f}" for alias, rows in states.matter.items() if rows is not None)
    most = "" if states.rows is None else f", so that there are at most 2^{states.rows:.0f} states"
    each = f" for each ({', '.join(states.shared)})" if states.shared else ""
    return (
        f"sets of the rows that matter{each}: {rows}{f' ({of})' if of else ''}{most}; those that are met are kept, up "
        f"to {states.most_bytes >> 20} MB or a quarter of memory_limit"
    )


def _spread(spread: SpreadOutline, width: int) -> Iterator[str]:
    for position, line in enumerate(spread.lines()):
        yield from _field("" if position else "cells", line, width)


def _verdict(explanation: Explanation, width: int) -> Iterator[str]:
    yield from _field("verdict", verdict(explanation), width)
    used = ", ".join(entry.word for entry in words(explanation))
    yield from _field("", f"In the papers' words: {used} ({PLACE}).", width)


def class_line(explanation: Explanation) -> str:
    """The class of the query, its width where it is cyclic, and how many atoms and output variables it has."""
    found = explanation.query_class
    width = f" of width {found.width}" if found.width != "1" else ""
    return f"{found.name} conjunctive query{width}; {_count(len(explanation.atoms), 'atom')}"


def _tree(plan: PlanOutline, width: int) -> Iterator[str]:
    yield from _wrapped(_heading(plan), width, "", "")
    for root in plan.roots:
        yield from _node(plan, root, None, "", "", width)


def _heading(plan: PlanOutline) -> str:
    marks = {node.connex for node in plan.nodes}
    if marks == {True, False}:
        return f"{plan.kind}; {_CONNEX} is the connex subtree, over which results are enumerated"
    return (
        f"{plan.kind}; all of it is the connex subtree, over which results are enumerated"
        if True in marks
        else plan.kind
    )


def _node(plan: PlanOutline, position: int, parent: int | None, first: str, rest: str, width: int) -> Iterator[str]:
    """The subtree of a node; below its second parent a node is only named."""
    node = plan.nodes[position]
    partly = {n.connex for n in plan.nodes} == {True, False}
    mark = f"{_CONNEX} " if node.connex and partly else "  " if partly else ""
    edge = next((e for e in plan.edges if (e.parent, e.child) == (parent, position)), None)
    on = "" if edge is None else f"  key ({commas(edge.key)})"
    kind = "" if edge is None or edge.kind == "inner" else f"{edge.kind} "
    if parent is not None and parent != (shown := min(plan.parents(position))):
        yield f"  {first}{mark}{kind}{node_name(node)}{on}  shown under {plan.nodes[shown].label}"
        return
    children = plan.children(position)
    bar = "\u2502 " if children else "  "
    head = f"{mark}{kind}{node_name(node)}{on}  {views(node)}".rstrip()
    under = f"  {rest}{bar}{' ' * len(mark)}"
    yield from _wrapped(head, width, f"  {first}", f"{under}  ")
    for detail in details(node):
        yield from _wrapped(detail, width, f"{under}  ", f"{under}    ")
    for child in children:
        last = child == children[-1]
        branch, below = ("\u2514\u2500 ", "   ") if last else ("\u251c\u2500 ", "\u2502  ")
        yield from _node(plan, child, position, rest + branch, rest + below, width)


def node_name(node: NodeOutline) -> str:
    """What a node is, with its variables; a generalized relation is its variables."""
    if not node.atoms and node.label.startswith("["):
        return node.label
    mark = f" {node.promise}" if node.promise and not node.label.startswith(node.promise) else ""
    return f"{node.label}({commas(node.variables)}){mark}"


def views(node: NodeOutline) -> str:
    """The views of a node on one line."""
    return (", " if any(" " in view for view in node.views) else " ").join(node.views)


def details(node: NodeOutline) -> Iterator[str]:
    """What a node keeps beside its views, and what its rows must satisfy."""
    if node.predicate:
        yield f"where {node.predicate}"
    if node.indexes:
        yield f"indexes {'; '.join(node.indexes)}"
    if node.changes is not None:
        yield f"{node.changes:.0%} of the changes"


def _state(tables: Sequence[TableOutline], width: int) -> Iterator[str]:
    if not tables:
        return
    yield "state, predicted"
    for table in tables:
        total = table.row_bytes + table.index_bytes
        size = f"{total:.0f} bytes a base row ({table.row_bytes} in its record, {table.index_bytes:.0f} in indexes)"
        columns = commas(table.columns) or "no columns"
        line = f"{table.name} ({columns}) for {commas(table.aliases)}: {size}{_known(table)}"
        yield from _wrapped(line, width, "  ", "    ")


def _known(table: TableOutline) -> str:
    parts = []
    if table.rows is not None:
        parts.append(f"{table.rows:,.0f} rows ({table.rows_known})")
    if table.changes is not None and table.changes_known != "unknown":
        parts.append(f"relative rate of change {table.changes:.3g} ({table.changes_known})")
    if table.kept is not None and table.kept < (table.rows or 0):
        parts.append(f"{table.kept:,} of them kept")
    return "".join(f"; {part}" for part in parts)


def _log(log: LogOutline, width: int) -> Iterator[str]:
    yield "change log"
    yield from _wrapped(f"{log.changes:,} changes, {log.lifespans:,} lifespans, {log.pattern}", width, "  ", "  ")
    for name, average, largest in log_figures(log):
        yield f"  {name:<10}{average:,.2f} on average, {largest:,} at most"


def log_figures(log: LogOutline) -> Iterator[tuple[str, float, int]]:
    """Name, average and largest value of each enclosureness that the log has."""
    yield "lambda", log.enclosure, log.largest
    if log.tree_enclosure is not None and log.tree_largest is not None:
        yield "lambda_T", log.tree_enclosure, log.tree_largest
    if log.crossing_enclosure is not None and log.crossing_largest is not None:
        yield "lambda_T+", log.crossing_enclosure, log.crossing_largest


def _suggestions(suggestions: Sequence[Suggestion], width: int) -> Iterator[str]:
    yield "what would make it better"
    if not suggestions:
        yield "  nothing was found that would give a better bound"
    for suggestion in suggestions:
        yield from _wrapped(suggestion.text, width, "  - ", "    ")
        if suggestion.sql:
            yield from _wrapped(suggestion.sql, width, "    ", "      ")
        yield from _wrapped(gain(suggestion), width, "    ", "    ")


def gain(suggestion: Suggestion) -> str:
    """What a suggestion would give."""
    later = "" if suggestion.executable else "; this version does not run that plan yet"
    return f"then: {suggestion.guarantee.bound.formula} a change{later}"


def _alternatives(alternatives: Sequence[Alternative], width: int) -> Iterator[str]:
    if not alternatives:
        return
    yield "plans compared"
    for plan in alternatives:
        chosen = "* " if plan.chosen else "  "
        figures = f"height {plan.height}, cost {plan.cost:.3g}, {plan.propagation:.3g} rows a change predicted"
        line = f"{plan.title}: {plan.tree}; {plan.guarantee.bound.formula}; {figures}"
        yield from _wrapped(
            line + ("" if plan.executable else f"; not run: {plan.obstacle}"), width, f"  {chosen}", "    "
        )


def _field(name: str, value: str, width: int, indent: int = 0) -> Iterator[str]:
    if value:
        yield from _wrapped(value, width, f"{name:<{_INDENT}}", " " * (_INDENT + indent))


def _wrapped(value: str, width: int, first: str, rest: str) -> Iterator[str]:
    """The value in lines; runs of spaces inside of it stay, and nothing is broken inside of a word."""
    lines = textwrap.wrap(
        value,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=True,
        drop_whitespace=True,
    )
    yield from (line.rstrip() for line in lines or [first])


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
