"""Boxes with text below one another, before anything has a place.

What is to be drawn is apart from where it is drawn: `plan.layout` places the boxes, `plan.graphviz` asks Graphviz to
do so, and `plan.svg` draws what was placed. Text is measured in cells, as a terminal does: most characters take one,
those of East Asian scripts and emoji two, combining ones none.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal["title", "plain", "faint", "reach"]
Kind = Literal["atom", "generalized", "bag", "reference", "table", "nested", "step", "result"]
Tone = Literal["", "good", "fair", "costly"]


@dataclass(frozen=True)
class Line:
    """A line of text in a box."""

    text: str
    style: Style = "plain"


@dataclass(frozen=True)
class Box:
    """A node of a drawing.

    Args:
        lines: The text of the box, at least one line.
        parent: Position of the box above, None for a root.
        label: The text of the edge to the box above, in lines; may be empty.
        kind: The kind of thing that the box stands for, which decides its border.
        marked: Whether it stands out (a node of the connex subtree).
        name: The name that other boxes use; the first line if empty.
        note: The text in full, where the lines are cut short; a tooltip.
        tone: The colour of the stripe at its side; empty for none.
    """

    lines: tuple[Line, ...]
    parent: int | None = None
    label: str = ""
    kind: Kind = "atom"
    marked: bool = False
    name: str = ""
    note: str = ""
    tone: Tone = ""

    @property
    def columns(self) -> int:
        """Cells of the longest line."""
        return max(cells(line.text) for line in self.lines)


@dataclass(frozen=True)
class Link:
    """An edge beside those of the trees, to a box that stands below another one."""

    parent: int
    child: int
    label: str = ""


@dataclass(frozen=True)
class Drawing:
    """Trees of boxes.

    Args:
        boxes: Each behind the one above it, as in preorder.
        links: Further edges, where a box has several parents.
    """

    boxes: tuple[Box, ...]
    links: tuple[Link, ...] = ()

    def children(self, position: int) -> tuple[int, ...]:
        """The boxes below a box, ascending."""
        return tuple(i for i, box in enumerate(self.boxes) if box.parent == position)

    def unfolded(self) -> Drawing:
        """The same without further edges: each of them becomes a small box that names the one it leads to."""
        names = [box.name or box.lines[0].text for box in self.boxes]
        references = (
            Box((Line(f"\u2192 {names[k.child]}", "faint"),), k.parent, k.label, "reference") for k in self.links
        )
        return Drawing((*self.boxes, *references))

    @property
    def levels(self) -> tuple[int, ...]:
        """How many boxes stand above each box."""
        levels: list[int] = []
        for box in self.boxes:
            levels.append(0 if box.parent is None else levels[box.parent] + 1)
        return tuple(levels)


def cells(text: str) -> int:
    """Cells that a text takes on a terminal.

    >>> cells("src"), cells("顧客"), cells("e\\u0301")
    (3, 4, 1)
    """
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" or ord(c) > 0xFFFF else 1
        for c in text
    )


def wrapped(text: str, width: int, most: int) -> tuple[str, ...]:
    """A text in lines of about ``width`` characters, at most ``most`` of them; what is cut off ends in an ellipsis.

    >>> wrapped("price > 10 AND name LIKE 'x%'", 16, 9)
    ('price > 10 AND', "name LIKE 'x%'")
    >>> wrapped("price > 10 AND name LIKE 'x%'", 16, 1)
    ('price > 10 AND…',)
    """
    lines = textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    return tuple(lines) if len(lines) <= most else (*lines[: most - 1], lines[most - 1] + "…")


def commas(names: Sequence[str]) -> str:
    """Names with commas between them."""
    return ", ".join(names)
