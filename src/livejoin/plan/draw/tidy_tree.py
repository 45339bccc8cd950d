"""Where the boxes of a drawing go: a layered drawing of trees.

Boxes with as many boxes above them stand in one band, parents over the middle of their children, and sub-trees as
close together as their outlines allow (Reingold and Tilford, *Tidier Drawings of Trees*, IEEE TSE 7(2), 1981, with one
outline a band, because boxes have different widths). Two laws hold: no two boxes overlap, and no edge or label crosses
a box or another label, because an edge bends only between two bands, where there are no boxes, and has its label in
the column of its own child.
"""

from __future__ import annotations

from dataclasses import dataclass

from livejoin.plan.draw.drawing import Box, Drawing, cells

CELL = 7.9  # width of a character at 12.5 px: monospaced fonts have 0.55 to 0.61 em, and bold ones may be wider
LINE = 18.0
PADDING = 10.0
BETWEEN = 28.0  # between neighbours in a band
BEND = 34.0  # height of the part of an edge that bends
LABEL = 18.0
STEM = 6.0  # from a label down to its box
EMPTY = 24.0  # narrowest inside of a box


@dataclass(frozen=True)
class Place:
    """A rectangle: its left and top, its width and height."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> float:
        """The middle from left to right."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """The lower side."""
        return self.y + self.height


@dataclass(frozen=True)
class Route:
    """An edge: an SVG path, what its label says, and the place of the label, None where there is none."""

    path: str
    label: str = ""
    place: Place | None = None


@dataclass(frozen=True)
class Layout:
    """Places for a drawing, from 0 to ``width`` and from 0 to ``height``.

    Args:
        drawing: The drawing.
        boxes: A place for each box.
        routes: The lines of the edges.
        width: The width of everything.
        height: The height of everything.
    """

    drawing: Drawing
    boxes: tuple[Place, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


def size(box: Box) -> tuple[float, float]:
    """Width and height of a box."""
    return max(box.columns * CELL, EMPTY) + 2 * PADDING, len(box.lines) * LINE + 2 * PADDING - 4


def label_size(label: str) -> tuple[float, float]:
    """Width and height of a label."""
    lines = label.split("\n") if label else []
    return max(map(cells, lines), default=0) * CELL, len(lines) * LABEL


def layered(drawing: Drawing) -> Layout:
    """Place a drawing; one with further edges is placed as its `unfolded` form. Cost: boxes times levels.

    >>> from livejoin.plan.draw.drawing import Line
    >>> two = layered(Drawing((Box((Line("G"),)), Box((Line("H"),), parent=0))))
    >>> two.boxes[0].centre == two.boxes[1].centre, two.boxes[0].bottom < two.boxes[1].y
    (True, True)
    """
    drawing = drawing.unfolded()
    centres = _centres(drawing)
    sizes = [size(box) for box in drawing.boxes]
    levels = drawing.levels
    band_heights = [
        max(h for (_, h), own in zip(sizes, levels, strict=True) if own == b) for b in range(max(levels) + 1)
    ]
    tops = [0.0]
    for band, height in enumerate(band_heights[:-1], 1):
        below = (label_size(box.label)[1] for box, own in zip(drawing.boxes, levels, strict=True) if own == band)
        tops.append(tops[-1] + height + BEND + max(below) + STEM)
    left = min(c - _slot(box) / 2 for c, box in zip(centres, drawing.boxes, strict=True))
    right = max(c + _slot(box) / 2 for c, box in zip(centres, drawing.boxes, strict=True))
    boxes = tuple(
        Place(c - left - w / 2, tops[level], w, h) for c, (w, h), level in zip(centres, sizes, levels, strict=True)
    )
    routes = tuple(
        _route(boxes[box.parent], tops[level - 1] + band_heights[level - 1], place, box.label)
        for box, place, level in zip(drawing.boxes, boxes, levels, strict=True)
        if box.parent is not None
    )
    return Layout(drawing, boxes, routes, right - left, tops[-1] + band_heights[-1])


def _route(above: Place, band_bottom: float, place: Place, label: str) -> Route:
    """Down to the end of the band, over to the child, and down around the label."""
    a, b = above.centre, place.centre
    bent = band_bottom + BEND
    middle = band_bottom + BEND / 2
    path = f"M{a:.1f} {above.bottom:.1f}V{band_bottom:.1f}C{a:.1f} {middle:.1f} {b:.1f} {middle:.1f} {b:.1f} {bent:.1f}"
    if not label:
        return Route(f"{path}V{place.y:.1f}")
    width, height = label_size(label)
    at = Place(b - width / 2, place.y - STEM - height, width, height)
    down = f"V{at.y:.1f}" if at.y > bent else ""
    return Route(f"{path}{down}M{b:.1f} {place.y - STEM:.1f}V{place.y:.1f}", label, at)


def _slot(box: Box) -> float:
    return max(size(box)[0], label_size(box.label)[0])


def _centres(drawing: Drawing) -> list[float]:
    """The middle of each box from left to right; several roots stand side by side."""
    centres = [0.0] * len(drawing.boxes)
    outlines: dict[int, list[tuple[float, float]]] = {}
    shifts = [0.0] * len(drawing.boxes)  # of a sub-tree against the box above it
    for position in reversed(range(len(drawing.boxes))):
        half = _slot(drawing.boxes[position]) / 2
        below, middle = _side_by_side(drawing.children(position), outlines, shifts)
        for child in drawing.children(position):
            shifts[child] -= middle
        outlines[position] = [(-half, half), *((low - middle, high - middle) for low, high in below)]
    roots = tuple(i for i, box in enumerate(drawing.boxes) if box.parent is None)
    _side_by_side(roots, outlines, shifts)
    for position, box in enumerate(drawing.boxes):
        centres[position] = shifts[position] + (0.0 if box.parent is None else centres[box.parent])
    return centres


def _side_by_side(
    trees: tuple[int, ...], outlines: dict[int, list[tuple[float, float]]], shifts: list[float]
) -> tuple[list[tuple[float, float]], float]:
    """Put sub-trees next to each other: sets their shifts, and returns their common outline and its middle."""
    common: list[tuple[float, float]] = []
    for tree in trees:
        outline = outlines.pop(tree)
        gaps = [common[band][1] + BETWEEN - outline[band][0] for band in range(min(len(common), len(outline)))]
        shifts[tree] = max(gaps, default=0.0)
        moved = [(low + shifts[tree], high + shifts[tree]) for low, high in outline]
        shared = [(a[0], b[1]) for a, b in zip(common, moved, strict=False)]
        common = [*shared, *common[len(moved) :], *moved[len(shared) :]]
    middle = (shifts[trees[0]] + shifts[trees[-1]]) / 2 if trees else 0.0
    return common, middle
