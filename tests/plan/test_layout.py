"""Drawings without overlaps: boxes, labels and edges of random trees, by brute force over all pairs."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.plan.draw.drawing import Box, Drawing, Line, Link, cells, wrapped
from livejoin.plan.draw.tidy_tree import BETWEEN, CELL, Place, layered, size

pytestmark = pytest.mark.nojit


@st.composite
def drawings(draw: st.DrawFn) -> Drawing:
    boxes: list[Box] = []
    texts = st.text("abc", max_size=30)
    for position in range(draw(st.integers(1, 14))):
        parent = draw(st.one_of(st.none(), st.integers(0, position - 1))) if position else None
        lines = draw(st.lists(texts, min_size=1, max_size=4))
        label = draw(texts) if parent is not None else ""
        boxes.append(Box(tuple(map(Line, lines)), parent, label))
    return Drawing(tuple(boxes))


def apart(a: Place, b: Place, gap: float = 0.0) -> bool:
    return (
        a.x + a.width + gap <= b.x + 1e-6
        or b.x + b.width + gap <= a.x + 1e-6
        or a.bottom <= b.y + 1e-6
        or b.bottom <= a.y + 1e-6
    )


def points(path: str) -> list[tuple[float, float]]:
    """Points on a path of moves, vertical lines and cubic curves, some hundred of them."""
    found: list[tuple[float, float]] = []
    at = (0.0, 0.0)
    for command, numbers in re.findall(r"([MVC])([-\d. ]+)", path):
        values = [float(n) for n in numbers.split()]
        if command == "M":
            at = (values[0], values[1])
        elif command == "V":
            found += [(at[0], at[1] + (values[0] - at[1]) * t / 20) for t in range(21)]
            at = (at[0], values[0])
        else:
            a, b, c, d = (at, *zip(values[::2], values[1::2], strict=True))
            for step in range(61):
                t = step / 60
                weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
                x, y = (sum(w * p[i] for w, p in zip(weights, (a, b, c, d), strict=True)) for i in (0, 1))
                found.append((x, y))
            at = d
    return found


def inside(point: tuple[float, float], place: Place) -> bool:
    """Inside, and not on the border (paths are rounded to a tenth)."""
    return place.x + 0.2 < point[0] < place.x + place.width - 0.2 and place.y + 0.2 < point[1] < place.bottom - 0.2


@given(drawings())
def test_nothing_overlaps(drawing: Drawing) -> None:
    layout = layered(drawing)
    labels = [route.place for route in layout.routes if route.place]
    for a, b in combinations(layout.boxes, 2):
        assert apart(a, b, BETWEEN - 1e-6 if a.y == b.y else 0.0)
    for a, b in combinations([*layout.boxes, *labels], 2):
        assert apart(a, b)
    for place in (*layout.boxes, *labels):
        assert place.x >= -1e-6
        assert place.y >= -1e-6
        assert place.x + place.width <= layout.width + 1e-6
        assert place.bottom <= layout.height + 1e-6


def crossed(drawing: Drawing) -> list[tuple[float, float]]:
    """Points of edges that lie inside of a box or of a label."""
    layout = layered(drawing)
    places = [*layout.boxes, *(route.place for route in layout.routes if route.place)]
    return [p for route in layout.routes for p in points(route.path) if any(inside(p, place) for place in places)]


@given(drawings())
def test_edges_cross_nothing(drawing: Drawing) -> None:
    assert not crossed(drawing)


def test_edges_go_around_a_higher_box_beside_their_own() -> None:
    line, wide = Line("a"), Line("x" * 30)
    below = tuple(Box((wide,), 1) for _ in range(3))
    assert not crossed(Drawing((Box((line,)), Box((line,), 0), *below, Box((line,) * 9, 0))))


@given(drawings())
def test_edges_join_their_boxes_and_parents_stand_over_their_children(drawing: Drawing) -> None:
    layout = layered(drawing)
    children = [i for i, box in enumerate(drawing.boxes) if box.parent is not None]
    assert len(layout.routes) == len(children)
    for child, route in zip(children, layout.routes, strict=True):
        below, parent = layout.boxes[child], drawing.boxes[child].parent
        assert parent is not None
        above = layout.boxes[parent]
        (x0, y0), *_, (x1, y1) = points(route.path)
        assert (x0, y0, x1, y1) == pytest.approx((above.centre, above.bottom, below.centre, below.y), abs=0.1)
        assert above.bottom < below.y
        assert route.label == drawing.boxes[child].label
    for position, place in enumerate(layout.boxes):
        centres = [layout.boxes[c].centre for c in drawing.children(position)]
        assert centres == sorted(centres)
        if centres:
            assert place.centre == pytest.approx((centres[0] + centres[-1]) / 2)


@given(drawings())
def test_text_fits(drawing: Drawing) -> None:
    for box, place in zip(drawing.boxes, layered(drawing).boxes, strict=True):
        assert (place.width, place.height) == size(box)
        assert all(len(line.text) * CELL <= place.width for line in box.lines)


def test_subtrees_are_as_close_as_their_outlines_allow() -> None:
    """A small leaf beside a deep tree stands over the free room next to it."""
    small, wide = Line("a"), Line("x" * 40)
    drawing = Drawing((Box((small,)), Box((small,), 0), Box((wide,), 1), Box((small,), 0)))
    _, first, below, leaf = layered(drawing).boxes
    assert leaf.x - (first.x + first.width) == pytest.approx(BETWEEN)
    assert leaf.x < below.x + below.width


def test_further_edges_become_boxes_that_name_their_end() -> None:
    lines = tuple((Line(name),) for name in "abcd")
    drawing = Drawing((Box(lines[0]), Box(lines[1], 0, "k"), Box(lines[2], 0), Box(lines[3], 1)), (Link(2, 3, "key"),))
    unfolded = layered(drawing).drawing
    assert len(unfolded.boxes) == 5
    assert unfolded.boxes[4] == Box((Line("→ d", "faint"),), 2, "key", "reference")
    assert not unfolded.links


def test_cells() -> None:
    assert [cells(text) for text in ("", "ab", "顧客", "e\u0301", "😀")] == [0, 2, 4, 1, 2]
    assert wrapped("", 10, 3) == ("",)
    assert wrapped("aa bb cc dd", 5, 2) == ("aa bb", "cc dd")
    assert wrapped("aa bb cc dd ee", 5, 2) == ("aa bb", "cc dd…")
