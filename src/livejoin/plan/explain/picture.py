"""An explanation as a picture (SVG) and as a page (HTML).

The boxes are placed by Graphviz where it is installed, which also draws all edges of a plan in which a relation has
several parents, and by `plan.layout` elsewhere.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from livejoin.plan.draw import graphviz
from livejoin.plan.draw.drawing import Box, Drawing, Kind, Line, Link, commas, wrapped
from livejoin.plan.draw.svg import printable, svg
from livejoin.plan.draw.tidy_tree import CELL, layered
from livejoin.plan.explain.glossary import verdict, words
from livejoin.plan.explain.text import (
    class_line,
    gain,
    left_out_line,
    log_figures,
    merged_line,
    node_name,
    static_lines,
    views,
)

if TYPE_CHECKING:
    from livejoin.families.outline import EdgeOutline, NodeOutline, PlanOutline
    from livejoin.plan.explain.explanation import Explanation

_BOX = 30  # characters of a line in a box
_CAPTION = 76  # characters of a line above or below a narrow drawing


def picture(explanation: Explanation) -> str:
    """The plan as an SVG element; written to a file, it is an SVG file."""
    drawing = drawing_of(explanation.plan)
    layout = graphviz.placed(drawing) or layered(drawing)
    width = max(_CAPTION, int(layout.width / CELL))
    above = [class_line(explanation), explanation.plan.title]
    if not explanation.executable:
        above.append(f"not maintained: {explanation.obstacle}")
    above.append(explanation.guarantee.update)
    captions = [line for text in above for line in textwrap.wrap(text, width)]
    below = [line for text in _legend(explanation.plan) for line in textwrap.wrap(text, width)]
    return svg(layout, [*captions, ""], below, f"Plan of {' '.join(explanation.sql.split())}")


def drawing_of(plan: PlanOutline) -> Drawing:
    """The nodes of a plan as boxes; where all nodes are in the connex subtree, or none, it is not marked."""
    partly = {node.connex for node in plan.nodes} == {True, False}
    boxes: list[Box] = []
    links: list[Link] = []
    for position, node in enumerate(plan.nodes):
        above, *others = sorted(plan.parents(position)) or (None,)
        key = {edge.parent: _label(edge) for edge in plan.edges if edge.child == position}
        links += [Link(parent, position, key[parent]) for parent in others if parent is not None]
        label = "" if above is None else key[above]
        boxes.append(Box((*_lines(node),), above, label, _kind(node), partly and node.connex, node.label, _note(node)))
    return Drawing(tuple(boxes), tuple(links))


def _label(edge: EdgeOutline) -> str:
    key = f"({commas(edge.key)})"
    return key if edge.kind == "inner" else f"{edge.kind} {key}"


def _kind(node: NodeOutline) -> Kind:
    return "atom" if len(node.atoms) == 1 else "bag" if node.atoms else "generalized"


def _lines(node: NodeOutline) -> Iterator[Line]:
    name = node_name(node)
    yield from (Line(line, "title") for line in wrapped(name, _BOX, 3))
    if node.views:
        yield from (Line(line) for line in wrapped(views(node), _BOX, 3))
    if node.predicate:
        yield from (Line(line, "faint") for line in wrapped(f"where {node.predicate}", _BOX, 3))
    for index in node.indexes:
        yield from (Line(line, "faint") for line in wrapped(index, _BOX, 3))
    if node.changes is not None:
        yield Line(f"{node.changes:.0%} of the changes", "faint")


def _note(node: NodeOutline) -> str:
    return node_name(node) + (f" where {node.predicate}" if node.predicate else "")


def _legend(plan: PlanOutline) -> Iterator[str]:
    if any(plan.edges):
        yield "On an edge: the key, that is the columns that both ends share."
    kinds_of_edges = {edge.kind for edge in plan.edges}
    if "exists" in kinds_of_edges:
        yield "exists: what is below must have a row with the key, and brings no rows."
    if "not exists" in kinds_of_edges:
        yield "not exists: what is below must have no row with the key."
    if "optional" in kinds_of_edges:
        yield "optional: where what is below has no row with the key, its columns are NULL."
    kinds = {_kind(node) for node in plan.nodes}
    if "generalized" in kinds:
        yield "Dashed: a generalized relation, a projection of the relations below it."
    if "bag" in kinds:
        yield "Thick: a bag, the join of several atoms."
    if {node.connex for node in plan.nodes} == {True, False}:
        yield "Blue: the connex subtree, over which results are enumerated."


def page(explanation: Explanation) -> str:
    """The picture with everything else that there is to say, as an HTML element for a notebook or a page."""
    facts = "".join(f"<tr><th>{escape(name)}</th><td>{value}</td></tr>" for name, value in _facts(explanation))
    return (
        '<div class="livejoin-explanation">'
        f"<style>{_STYLE}</style>"
        f"<p><strong>{_escaped(verdict(explanation))}</strong> In the papers' words: {_links(explanation)}.</p>"
        f"<pre>{_escaped(textwrap.dedent(explanation.sql).strip())}</pre>"
        f"<div>{picture(explanation)}</div>"
        f"<table>{facts}</table>"
        f"<dl>{_meanings(explanation)}</dl>"
        "</div>"
    )


def document(explanation: Explanation) -> str:
    """The page as a whole HTML document."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark"><title>livejoin explain</title></head>'
        f"<body>{page(explanation)}</body></html>\n"
    )


_STYLE = (
    ".livejoin-explanation{font:14px system-ui,sans-serif;max-width:100%;overflow-x:auto}"
    ".livejoin-explanation pre{white-space:pre-wrap}"
    ".livejoin-explanation table{border-collapse:collapse;max-width:70em}"
    ".livejoin-explanation th,.livejoin-explanation td"
    "{text-align:left;vertical-align:top;padding:4px 14px 4px 0;border:0;background:none}"
    ".livejoin-explanation th{white-space:nowrap;font-weight:600}"
    ".livejoin-explanation ul{margin:0;padding-left:1.2em}"
)


def _facts(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """Name and HTML of each fact."""
    promise = explanation.guarantee
    verdicts = [f"{'yes' if p.holds else 'no'}: {p.name}. {p.because}" for p in explanation.query_class.properties]
    yield "class", _escaped(class_line(explanation)) + _list(verdicts)
    yield "plan", _escaped(explanation.plan.title)
    if not explanation.executable:
        yield "refused", _escaped(f"this version does not maintain the query: {explanation.obstacle}")
    if explanation.plan.static is not None:
        yield "static", _list([*static_lines(explanation.plan.static)])
    for name, value in (
        ("update", promise.update),
        ("results", promise.delay),
        ("space", promise.space),
        ("loading", promise.preprocessing),
        ("proof", promise.source),
        ("why", explanation.reason),
        ("search", explanation.search.note),
    ):
        if value:
            yield name, _escaped(value)
    if explanation.plan.merged:
        yield "merged", _list([*map(merged_line, explanation.plan.merged)])
    if left_out := left_out_line(explanation.tables):
        yield "left out", _escaped(left_out)
    sizes = [f"{t.name}: {t.row_bytes + t.index_bytes:.0f} bytes a base row" for t in explanation.tables]
    if sizes:
        yield "state, predicted", _list(sizes)
    if explanation.spread is not None:
        yield "cells", _list([*explanation.spread.lines()])
    if log := explanation.log:
        figures = [f"{name} = {average:,.2f} on average, {most:,} at most" for name, average, most in log_figures(log)]
        yield "change log", _list([f"{log.changes:,} changes, {log.pattern}", *figures])
    better = [" ".join(part for part in (s.text, s.sql, gain(s)) if part) for s in explanation.suggestions]
    yield "what would make it better", _list(better or ["nothing was found that would give a better bound"])


def _links(explanation: Explanation) -> str:
    """The papers' words, each with a link to its meaning at the end of the page."""
    return ", ".join(f'<a href="#livejoin-{e.anchor}">{_escaped(e.word)}</a>' for e in words(explanation))


def _meanings(explanation: Explanation) -> str:
    """What these words mean."""
    return "".join(
        f'<dt id="livejoin-{e.anchor}">{_escaped(e.word)}</dt><dd>{_escaped(e.meaning)}</dd>'
        for e in words(explanation)
    )


def _list(items: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{_escaped(item)}</li>' for item in items)}</ul>" if items else ""


def _escaped(text: str) -> str:
    return escape(printable(text))
