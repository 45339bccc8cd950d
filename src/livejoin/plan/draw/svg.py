"""A drawing as SVG, readable on light and on dark pages.

Only presentation attributes and one style sheet are used, every selector below the class of the picture, so that the
same text can stand in a file and inside of a page. Everything that comes from a query is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from livejoin.plan.draw.drawing import Box, cells
from livejoin.plan.draw.theme import Mode, declared
from livejoin.plan.draw.tidy_tree import CELL, LABEL, LINE, PADDING, Layout, Place, Route

MARGIN = 20.0
_BASE = 13.0  # from the top of a line to the base of its letters
_INSET = 3.0  # of a stripe in its box
_NAME = "livejoin-plan"
_UNPRINTABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    """A text without the characters that XML cannot hold.

    >>> printable("a\\x00b")
    'a\ufffdb'
    """
    return _UNPRINTABLE.sub("\ufffd", text)


def svg(
    layout: Layout,
    above: Sequence[str] = (),
    below: Sequence[str] = (),
    title: str = "",
    description: str = "",
    bold: int = 1,
) -> str:
    """Draw what was placed.

    Args:
        layout: The boxes and their places.
        above: Lines of text over the drawing.
        below: Lines of text under it.
        title: The name of the picture, for readers who cannot see it.
        description: The content of the picture in sentences, for them.
        bold: How many of the lines over the drawing are in bold.

    Returns:
        An SVG element; a file of it needs nothing around it.
    """
    texts = max((cells(line) * CELL for line in (*above, *below)), default=0.0)
    width = max(layout.width, texts) + 2 * MARGIN
    head = MARGIN + len(above) * LINE + (12 if above else 0)
    foot = len(below) * LINE + (14 if below else 0)
    height = head + layout.height + foot + MARGIN
    across = MARGIN + (width - 2 * MARGIN - layout.width) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{_NAME}" role="img" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<title>{_escaped(title)}</title>" if title else "",
        f"<desc>{_escaped(description)}</desc>" if description else "",
        f"<style>{_style()}</style>",
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}" rx="8"/>',
        *_lines(above, MARGIN, MARGIN, bold),
        f'<g transform="translate({across:.1f} {head:.1f})">',
        *(part for route in layout.routes for part in _route(route)),
        *(part for box, place in zip(layout.drawing.boxes, layout.boxes, strict=True) for part in _box(box, place)),
        "</g>",
        *_lines(below, MARGIN, head + layout.height + 14, 0),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _route(route: Route) -> Iterator[str]:
    yield f'<path class="edge" d="{route.path}"/>'
    if route.place is not None:
        for number, line in enumerate(route.label.split("\n")):
            yield _text(line, route.place.centre, route.place.y + number * LABEL + _BASE, "key", "middle")


def _box(box: Box, place: Place) -> Iterator[str]:
    marked = (" marked" if box.marked else "") + (f" {box.tone}" if box.tone else "")
    radius = place.height / 2 if box.kind == "generalized" else 5
    note = f"<title>{_escaped(box.note)}</title>" if box.note else ""
    yield (
        f'<g class="{box.kind}{marked}">{note}<rect class="box" x="{place.x:.1f}" y="{place.y:.1f}" '
        f'width="{place.width:.1f}" height="{place.height:.1f}" rx="{min(radius, 22):.1f}"/>'
    )
    if box.tone:
        high = place.height - 2 * _INSET
        yield (
            f'<rect class="stripe" x="{place.x + _INSET:.1f}" y="{place.y + _INSET:.1f}" width="4" '
            f'height="{high:.1f}" rx="2"/>'
        )
    for number, line in enumerate(box.lines):
        at = place.y + PADDING - 2 + number * LINE + _BASE - 1
        yield _text(line.text, place.centre, at, line.style, "middle")
    yield "</g>"


def _lines(lines: Sequence[str], x: float, y: float, bold: int) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield _text(line, x, y + number * LINE + _BASE, "first" if number < bold else "caption", "start")


def _text(text: str, x: float, y: float, style: str, anchor: str) -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    return escape(printable(text))


def _style() -> str:
    """Rules for light pages, and colours again for dark ones."""
    font = f"font-size:12.5px;{declared('font-family', 'mono', 'light')}"
    rules = [
        f".{_NAME} text{{{font};white-space:pre}}",
        f".{_NAME} .title,.{_NAME} .first{{font-weight:bold}}",
        f".{_NAME} .edge{{fill:none;stroke-width:1.3}}",
        f".{_NAME} .box{{stroke-width:1.3}}",
        f".{_NAME} .generalized .box,.{_NAME} .nested .box{{stroke-dasharray:5 3}}",
        f".{_NAME} .bag .box{{stroke-width:2.6}}",
        _colours("light"),
        f"@media (prefers-color-scheme:dark){{{_colours('dark')}}}",
    ]
    return "".join(rules)


def _colours(mode: Mode) -> str:
    def rule(selectors: Sequence[str], *declarations: str) -> str:
        return f"{','.join(f'.{_NAME} {one}' for one in selectors)}{{{';'.join(declarations)}}}"

    return "".join(
        (
            rule([".page"], declared("fill", "page", mode)),
            rule(["text"], declared("fill", "ink", mode)),
            rule([".faint", ".key", ".caption"], declared("fill", "faint", mode)),
            rule([".edge"], declared("stroke", "edge", mode)),
            rule([".box"], declared("fill", "box", mode), declared("stroke", "border", mode)),
            rule([".step .box"], declared("fill", "page", mode)),
            rule(
                [".marked .box", ".result .box"],
                declared("fill", "marked", mode),
                declared("stroke", "marked-border", mode),
            ),
            *(rule([f".{tone} .stripe"], declared("fill", tone, mode)) for tone in ("good", "fair", "costly")),
        )
    )
