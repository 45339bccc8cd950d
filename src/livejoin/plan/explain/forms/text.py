"""An explanation as plain text, for terminals, logs and `str`.

Every part of an explanation stands under its own word at the left margin, so that a reader finds it and a program can.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from livejoin.plan.draw.drawing import commas
from livejoin.plan.explain.forms.facts import (
    alternative_line,
    class_line,
    facts,
    gain,
    log_figures,
    node_name,
    paper_words,
    state_lines,
    views,
)
from livejoin.plan.explain.glossary import PLACE
from livejoin.plan.explain.verdict import effect_line, is_read_later, source_line, verdict
from livejoin.plan.explain.ways import way_lines

if TYPE_CHECKING:
    from livejoin.families.outline import NodeOutline, PlanOutline
    from livejoin.plan.explain.effects.effect import Effect
    from livejoin.plan.explain.explanation import Alternative, Explanation, LogOutline, Suggestion, TableOutline
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
    head = [*_verdict(explanation, width)], [textwrap.dedent(explanation.sql.expandtabs(4)).strip()]
    return _shown([*head, *_body(explanation, width)])


def _nested(explanation: Explanation, width: int) -> str:
    """What there is to say of a join that another one reads; the query's text was shown above."""
    return _shown([[*_nested_verdict(explanation, width)], *_body(explanation, width)])


def _shown(parts: Sequence[Sequence[str]]) -> str:
    return _CONTROLS.sub("\ufffd", "\n\n".join("\n".join(lines) for lines in parts if lines))


def _body(explanation: Explanation, width: int) -> list[list[str]]:
    """The sections behind the verdict and the query."""
    return [
        [*_ways(explanation.effects, width)],
        [*_suggestions(explanation.suggestions, width)],
        [*_summary(explanation, width)],
        [*_tree(explanation.plan, width)],
        [*_state(explanation.tables, width)],
        [*_spread(explanation.spread, width)] if explanation.spread else [],
        [*_log(explanation.log, width)] if explanation.log else [],
        [*_alternatives(explanation.alternatives, width)],
        *([_nested(other, width)] for other in explanation.others),
    ]


def _summary(explanation: Explanation, width: int) -> Iterator[str]:
    found = explanation.query_class
    yield from _field("class", class_line(explanation), width)
    longest = max((len(p.name) for p in found.properties), default=0)
    for part in found.properties:
        holds = "yes" if part.holds else "no"
        yield from _field("", f"{holds:<4}{part.name:<{longest}}  {part.because}", width, longest + 6)
    for name, lines in facts(explanation):
        for position, line in enumerate(lines):
            yield from _field("" if position else name, line, width)


def _ways(effects: Sequence[Effect], width: int) -> Iterator[str]:
    lines = [line for one in effects for line in way_lines(one)]
    if lines:
        yield "where a change goes"
    for line in lines:
        yield from _wrapped(line, width, "  - ", "    ")


def _spread(spread: SpreadOutline, width: int) -> Iterator[str]:
    for position, line in enumerate(spread.lines()):
        yield from _field("" if position else "cells", line, width)


def _verdict(explanation: Explanation, width: int) -> Iterator[str]:
    yield from _field("verdict", verdict(explanation), width)
    if explanation.effects:
        yield from _field("", "One change of", width)
    for one in explanation.effects:
        line = effect_line(one, is_read_later(explanation))
        yield from _wrapped(line, width, f"{' ' * _INDENT}- ", " " * (_INDENT + 2))
    yield from _field("", source_line(explanation), width)
    yield from _field("", f"In the papers' words: {paper_words(explanation)} ({PLACE}).", width)


def _nested_verdict(explanation: Explanation, width: int) -> Iterator[str]:
    tables = commas([atom.name for atom in explanation.atoms])
    yield from _field("nested", f"Of the query also this part is kept up by itself, over {tables}.", width)
    yield from _field("", verdict(explanation), width)
    yield from _field("", f"In the papers' words: {paper_words(explanation)} ({PLACE}).", width)


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
        named = f"{mark}{kind}{node_name(node)}{on}  shown under {plan.nodes[shown].label}"
        yield from _wrapped(named, width, f"  {first}", f"  {rest}    ")
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


def details(node: NodeOutline) -> Iterator[str]:
    """What a node keeps beside its views, and what its rows must satisfy."""
    if node.predicate:
        yield f"where {node.predicate}"
    if node.indexes:
        yield f"indexes {'; '.join(node.indexes)}"
    if node.changes is not None:
        yield f"{node.changes:.0%} of the changes"


def _state(tables: Sequence[TableOutline], width: int) -> Iterator[str]:
    lines = state_lines(tables)
    if lines:
        yield "state, predicted"
    for line in lines:
        yield from _wrapped(line, width, "  ", "    ")


def _log(log: LogOutline, width: int) -> Iterator[str]:
    yield "change log"
    yield from _wrapped(f"{log.changes:,} changes, {log.lifespans:,} lifespans, {log.pattern}", width, "  ", "  ")
    for name, average, largest in log_figures(log):
        yield f"  {name:<10}{average:,.2f} on average, {largest:,} at most"


def _suggestions(suggestions: Sequence[Suggestion], width: int) -> Iterator[str]:
    yield "what would make it better"
    if not suggestions:
        yield "  nothing was found that would give a better bound"
    for suggestion in suggestions:
        yield from _wrapped(suggestion.text, width, "  - ", "    ")
        if suggestion.sql:
            yield from _wrapped(suggestion.sql, width, "    ", "      ")
        yield from _wrapped(gain(suggestion), width, "    ", "    ")


def _alternatives(alternatives: Sequence[Alternative], width: int) -> Iterator[str]:
    if not alternatives:
        return
    yield "plans compared"
    for plan in alternatives:
        yield from _wrapped(alternative_line(plan), width, "  * " if plan.chosen else "    ", "    ")


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
