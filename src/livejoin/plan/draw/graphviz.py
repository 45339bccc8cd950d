"""Places for a drawing by Graphviz, where its program ``dot`` is installed.

Only places are taken from it, so that a drawing looks the same with and without Graphviz. It draws what is not a tree
(a relation with several parents) with all of its edges, where `plan.layout` has to name the box at the other end.
"""

from __future__ import annotations

import json
import shutil
import subprocess

from livejoin.plan.draw.drawing import Drawing, Link
from livejoin.plan.draw.tidy_tree import Layout, Place, Route, label_size, size

_POINTS = 72.0  # of Graphviz, an inch; a pixel of ours is a point of it
_SECONDS = 10.0


def dot(drawing: Drawing) -> str:
    """The drawing in the language of Graphviz: boxes and labels as sizes, without their text.

    >>> from livejoin.plan.draw.drawing import Box, Line
    >>> print(dot(Drawing((Box((Line("G"),)), Box((Line("H"),), parent=0)))))
    digraph {
    graph [ranksep=0.45 nodesep=0.4 ordering=out]
    node [shape=box fixedsize=true label=""]
    edge [arrowhead=none]
    0 [width=0.611 height=0.472]
    1 [width=0.611 height=0.472]
    0 -> 1 [id=0]
    }
    """
    lines = [
        "digraph {",
        "graph [ranksep=0.45 nodesep=0.4 ordering=out]",
        'node [shape=box fixedsize=true label=""]',
        "edge [arrowhead=none]",
    ]
    for position, box in enumerate(drawing.boxes):
        width, height = (side / _POINTS for side in size(box))
        lines.append(f"{position} [width={width:.3f} height={height:.3f}]")
    for number, link in enumerate(_links(drawing)):
        # A table of a fixed size is a label of that size without text.
        wide, high = label_size(link.label)
        size_of_label = f'FIXEDSIZE="TRUE" WIDTH="{wide + 8:.0f}" HEIGHT="{high:.0f}"'
        label = f' label=<<TABLE BORDER="0" {size_of_label}><TR><TD></TD></TR></TABLE>>' if link.label else ""
        lines.append(f"{link.parent} -> {link.child} [id={number}{label}]")
    return "\n".join([*lines, "}"])


def placed(drawing: Drawing) -> Layout | None:
    """Places by Graphviz; None if it is not installed, or fails. Cost: a process, some 20 ms."""
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        ran = subprocess.run(
            [program, "-Tjson0"], input=dot(drawing), capture_output=True, text=True, timeout=_SECONDS, check=True
        )
        return read(drawing, ran.stdout)
    except (OSError, subprocess.SubprocessError, ValueError, LookupError):
        return None


def read(drawing: Drawing, answer: str) -> Layout:
    """The places in Graphviz's answer in JSON.

    Raises:
        ValueError: The answer is not JSON, or a coordinate is no number.
        LookupError: A part of the answer is missing.
    """
    graph = json.loads(answer)
    _, _, width, height = map(float, graph["bb"].split(","))

    def point(text: str) -> tuple[float, float]:
        x, y = map(float, text.split(","))
        return x, height - y  # its y goes up

    found = {int(node["name"]): point(node["pos"]) for node in graph["objects"]}
    boxes = tuple(_centred(*found[position], *size(box)) for position, box in enumerate(drawing.boxes))
    drawn = {int(edge["id"]): edge for edge in graph.get("edges", ())}
    routes = []
    for number, link in enumerate(_links(drawing)):
        first, *others = [point(text) for text in drawn[number]["pos"].split()]
        curve = " ".join(f"{x:.1f} {y:.1f}" for x, y in others)
        path = f"M{first[0]:.1f} {first[1]:.1f}C{curve}"
        at = _centred(*point(drawn[number]["lp"]), *label_size(link.label)) if link.label else None
        routes.append(Route(path, link.label, at))
    return Layout(drawing, boxes, tuple(routes), width, height)


def _links(drawing: Drawing) -> list[Link]:
    """All edges: those of the trees and the further ones."""
    of_trees = [Link(box.parent, i, box.label) for i, box in enumerate(drawing.boxes) if box.parent is not None]
    return [*of_trees, *drawing.links]


def _centred(x: float, y: float, width: float, height: float) -> Place:
    return Place(x - width / 2, y - height / 2, width, height)
