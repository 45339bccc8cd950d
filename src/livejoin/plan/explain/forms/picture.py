"""An explanation as a picture (SVG) and as a page (HTML).

The boxes are placed by Graphviz where it is installed, which also draws all edges of a plan in which a relation has
several parents, and by `plan.layout` elsewhere.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from livejoin.plan.draw import graphviz
from livejoin.plan.draw.drawing import Box, Drawing, Kind, Line, Link, Tone, commas, wrapped
from livejoin.plan.draw.svg import printable, svg
from livejoin.plan.draw.theme import declared, theme
from livejoin.plan.draw.tidy_tree import CELL, layered
from livejoin.plan.explain.effects.amount import Growth
from livejoin.plan.explain.forms.facts import (
    alternative_line,
    class_line,
    facts,
    gain,
    log_lines,
    node_name,
    state_lines,
    update_lines,
    views,
    which_part,
)
from livejoin.plan.explain.glossary import PLACE, words
from livejoin.plan.explain.verdict import effect_line, headline, is_read_later, source_line, verdict
from livejoin.plan.explain.ways import way_lines

if TYPE_CHECKING:
    from livejoin.families.outline import AtomOutline, EdgeOutline, NodeOutline, PlanOutline
    from livejoin.plan.explain.diagram.diagram import Diagram, NodeKind
    from livejoin.plan.explain.explanation import Explanation

_BOX = 30  # characters of a line in a box
_EDGE = 44  # characters of a line on an edge
_CAPTION = 76  # characters of a line above or below a narrow drawing


def picture(explanation: Explanation, terms: bool = False) -> str:
    """The query as an SVG element; written to a file, it is an SVG file.

    Args:
        explanation: The explanation.
        terms: Whether it is the plan in the papers' words: nodes of the tree, views, keys, the connex subtree.
    """
    plain = bool(explanation.diagram.nodes) and not terms
    captions = _plain_captions(explanation) if plain else _term_captions(explanation)
    described = " ".join([verdict(explanation), *map(effect_line, explanation.effects)])
    return _drawn(explanation, plain, [*captions], described)


def _drawn(explanation: Explanation, plain: bool, captions: Sequence[str], described: str = "") -> str:
    """A picture below some text. On a page, which has the sentences beside it, it is not described again."""
    drawing = drawing_of_query(explanation.diagram) if plain else drawing_of(explanation.plan, explanation.atoms)
    layout = graphviz.placed(drawing) or layered(drawing)
    width = max(_CAPTION, int(layout.width / CELL))
    above = [line for text in captions for line in textwrap.wrap(text, width)]
    legend = _tones(drawing) if plain else _legend(explanation.plan)
    below = [line for text in legend for line in textwrap.wrap(text, width)]
    what = "Query" if plain else "Plan"
    title = f"{what} of {' '.join(explanation.sql.split())}"
    bold = len(above) if plain else 1
    return svg(layout, [*above, ""] if above else [], below, title, described, bold)


def _plain_captions(explanation: Explanation) -> Iterator[str]:
    if explanation.executable:
        yield headline(explanation)
    else:
        yield verdict(explanation)


def _term_captions(explanation: Explanation) -> Iterator[str]:
    yield class_line(explanation)
    yield explanation.plan.title
    if not explanation.executable:
        yield f"not maintained: {explanation.obstacle}"
    yield from update_lines(explanation)
    yield from (f"above it: {line}" for line in explanation.operators)


def _tones(drawing: Drawing) -> Iterator[str]:
    """What the stripes mean, those that there are."""
    meanings: dict[Tone, str] = {
        "good": "Green: a change costs about the same however large the tables get.",
        "fair": "Yellow: a change costs more the more rows have the same key.",
        "costly": "Red: a change may meet a whole table.",
    }
    found = {box.tone for box in drawing.boxes}
    yield from (text for tone, text in meanings.items() if tone in found)
    if any(box.kind == "nested" for box in drawing.boxes):
        yield "Dashed: the rows of a query of its own, which is below it."


def drawing_of_query(found: Diagram) -> Drawing:
    """The boxes of a query as they are drawn."""
    tones: dict[Growth | None, Tone] = {
        None: "",
        Growth.NONE: "good",
        Growth.KEY: "fair",
        Growth.TABLE: "costly",
    }
    kinds: dict[NodeKind, Kind] = {"nested query": "nested", "table": "table", "step": "step", "result": "result"}
    boxes = []
    for node in found.nodes:
        lines = [*(Line(line, "title") for line in wrapped(node.title, _BOX, 3))]
        for text in node.lines:
            lines += [Line(line, "faint") for line in wrapped(text, _BOX, 4)]
        lines += [Line(line, "reach") for line in wrapped(node.reach, _BOX, 3) if line]
        note = " ".join(part for part in (node.title, *node.lines, node.reach) if part)
        label = _cut(node.label)
        tone = tones[node.grows]
        boxes.append(Box(tuple(lines), node.parent, label, kinds[node.kind], False, node.title, note, tone))
    links = tuple(Link(link.parent, link.child, _cut(link.label)) for link in found.links)
    return Drawing(tuple(boxes), links)


def _cut(label: Sequence[str]) -> str:
    return "\n".join(line for text in label for line in wrapped(text, _EDGE, 2))


def drawing_of(plan: PlanOutline, atoms: Sequence[AtomOutline] = ()) -> Drawing:
    """The nodes of a plan as boxes; where all nodes are in the connex subtree, or none, it is not marked.

    Below a bag stand the atoms that are joined in it.
    """
    partly = {node.connex for node in plan.nodes} == {True, False}
    boxes: list[Box] = []
    links: list[Link] = []
    for position, node in enumerate(plan.nodes):
        above, *others = sorted(plan.parents(position)) or (None,)
        key = {edge.parent: _label(edge) for edge in plan.edges if edge.child == position}
        links += [Link(parent, position, key[parent]) for parent in others if parent is not None]
        label = "" if above is None else key[above]
        boxes.append(Box((*_lines(node),), above, label, _kind(node), partly and node.connex, node.label, _note(node)))
    for position, node in enumerate(plan.nodes):
        inside = [atom for atom in atoms if atom.alias in node.atoms] if len(node.atoms) > 1 else []
        names = [f"{atom.name}({commas(atom.variables)})" for atom in inside]
        boxes += [Box((*map(Line, wrapped(name, _BOX, 3)),), position, "", "atom", False, name) for name in names]
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
    """The picture with everything else that there is to say, as an HTML element for a notebook or a page.

    There is no script in it: what is folded away is unfolded by the browser.
    """
    later = is_read_later(explanation)
    changes = [effect_line(one, later) for one in explanation.effects]
    terms = f"<details><summary>The plan in the papers' words</summary>{_in_terms(explanation)}</details>"
    return (
        '<div class="livejoin-explanation">'
        f"<style>{_style()}</style>"
        f"<p><strong>{_escaped(verdict(explanation))}</strong></p>"
        f"{'<p>One change of</p>' if changes else ''}{_list(changes)}"
        f"<p>{_escaped(source_line(explanation))}</p>"
        f"<div>{_drawn(explanation, bool(explanation.diagram.nodes), ())}</div>"
        f"<pre>{_escaped(textwrap.dedent(explanation.sql).strip())}</pre>"
        f"{_section('where a change goes', [line for one in explanation.effects for line in way_lines(one)])}"
        f"{_section('what would make it better', _better(explanation))}"
        f"<p><small>In the papers' words: {_links(explanation)}.</small></p>"
        f"{terms}"
        f"{_details(explanation)}"
        f"{''.join(map(_nested, explanation.others))}"
        f"<dl>{_meanings(explanation)}</dl>"
        "</div>"
    )


def _in_terms(explanation: Explanation) -> str:
    """The picture of the plan for a page."""
    return _drawn(explanation, False, [*_term_captions(explanation)])


def _nested(explanation: Explanation) -> str:
    """A part of the query that is kept up by itself."""
    name = commas([atom.name for atom in explanation.atoms])
    return (
        f"<details><summary>Of the query also this part is kept up by itself, over {_escaped(name)}</summary>"
        f"<p>{_escaped(verdict(explanation))}</p>"
        f"{_in_terms(explanation)}{_section('what would make it better', _better(explanation))}"
        f"{_details(explanation)}</details>"
    )


def _details(explanation: Explanation) -> str:
    """All else that there is to say."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{value}</td></tr>" for name, value in _facts(explanation))
    return f"<details open><summary>Why</summary><table>{rows}</table></details>"


def _better(explanation: Explanation) -> list[str]:
    better = [" ".join(part for part in (s.text, s.sql, gain(s)) if part) for s in explanation.suggestions]
    return better or ["nothing was found that would give a better bound"]


def _section(name: str, items: list[str]) -> str:
    return f"<h4>{escape(name)}</h4>{_list(items)}" if items else ""


def document(explanation: Explanation) -> str:
    """The page as a whole HTML document."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark"><meta name="viewport" content="width=device-width">'
        f"<title>livejoin explain</title><style>{_whole_page()}</style></head>"
        f"<body>{page(explanation)}</body></html>\n"
    )


def _whole_page() -> str:
    """Colours of a page of its own: those of the picture in it."""
    light, dark = (f"body{{background:{one['page']};color:{one['ink']}}}" for one in (theme("light"), theme("dark")))
    return f"{light}@media(prefers-color-scheme:dark){{{dark}}}"


def _style() -> str:
    """Rules of a page; colours are those of the page around it, or of the theme."""
    own = ".livejoin-explanation"
    border = declared("border-bottom-color", "border", "light")
    return (
        f"{own}{{font-size:14px;line-height:1.45;font-family:var(--lj-text,{theme('light')['text']});"
        "max-width:100%;overflow-x:auto}"
        f"{own} pre,{own} code{{white-space:pre-wrap;font-family:var(--lj-mono,{theme('light')['mono']})}}"
        f"{own} p,{own}>ul{{max-width:60em}}"
        f"{own} table{{border-collapse:collapse;max-width:70em}}"
        f"{own} th,{own} td{{text-align:left;vertical-align:top;padding:4px 14px 4px 0;border:0;"
        f"border-bottom:1px solid;{border};background:none}}"
        f"{own} th{{white-space:nowrap;font-weight:600}}"
        f"{own} ul{{margin:0;padding-left:1.2em}}"
        f"{own} svg{{max-width:100%;height:auto}}"
        f"{own} summary{{cursor:pointer;font-weight:600;padding:6px 0}}"
    )


def _facts(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """Name and HTML of each fact."""
    verdicts = [f"{'yes' if p.holds else 'no'}: {p.name}. {p.because}" for p in explanation.query_class.properties]
    yield "class", _escaped(class_line(explanation)) + _list(verdicts)
    for name, lines in facts(explanation):
        yield name, _escaped(lines[0]) if len(lines) == 1 else _list(lines)
    if kept := state_lines(explanation.tables):
        yield "state, predicted", _list(kept)
    if explanation.spread is not None:
        yield "cells", _list([*explanation.spread.lines()])
    if explanation.log is not None:
        yield "change log", _list([*log_lines(explanation.log)])
    if explanation.alternatives:
        compared = [("this one: " * plan.chosen) + alternative_line(plan) for plan in explanation.alternatives]
        yield "plans compared", _list(compared)


def _links(explanation: Explanation) -> str:
    """The papers' words, each with a link to its meaning at the end of the page."""
    links = ", ".join(f'<a href="#livejoin-{e.anchor}">{_escaped(e.word)}</a>' for e in words(explanation))
    return f"{links}{_escaped(which_part(explanation))} ({PLACE})"


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
