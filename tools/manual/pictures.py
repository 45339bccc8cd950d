"""The pictures of ``docs/concepts``, in the colours of all others; this program writes them anew."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "concepts"
sys.path.insert(0, str(ROOT / "src"))

from livejoin.plan.draw.theme import theme  # noqa: E402  # after the path

Row = tuple[str, str]
"""A row of a table: its text, and what it is: "" or "asleep", "new", "gone"."""


def _style() -> str:
    rules = (
        "text{{font:13px {mono};fill:{ink};white-space:pre}}.title{{font-weight:bold}}.faint,.asleep{{fill:{faint}}}"
        ".asleep{{text-decoration:line-through}}.new{{fill:{good}}}.gone{{fill:{costly};text-decoration:line-through}}"
        ".page{{fill:{page}}}.box{{fill:{box};stroke:{border}}}.marked{{fill:{marked};stroke:{marked-border}}}"
        ".edge{{stroke:{edge};stroke-width:1.5;fill:none}}.move{{stroke:{good};stroke-width:2;fill:none}}"
        ".stay{{fill:{marked-border}}}.short{{fill:{good}}}"
    )
    light, dark = (rules.format(**theme(mode)) for mode in ("light", "dark"))
    return f"<style>{light}@media (prefers-color-scheme:dark){{{dark}}}</style>"


def _svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>'
    arrow = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="short" d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    page = f'<rect class="page" width="{width}" height="{height}"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", _style(), arrow, page, *parts, "</svg>", ""])


def _text(x: int, y: int, said: str, kind: str = "") -> str:
    return f'<text x="{x}" y="{y}" class="{kind}">{escape(said)}</text>'


def _table(x: int, y: int, title: str, rows: Iterable[Row], width: int = 150, kind: str = "box") -> str:
    rows = list(rows)
    lines = [f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{28 + 20 * len(rows)}" rx="5"/>']
    lines.append(_text(x + 10, y + 19, title, "title"))
    lines += [_text(x + 10, y + 40 + 20 * at, said, what) for at, (said, what) in enumerate(rows)]
    return "\n".join(lines)


def _line(x: int, y: int, x2: int, y2: int, kind: str = "edge") -> str:
    tip = ' marker-end="url(#tip)"' if kind == "move" else ""
    return f'<path class="{kind}" d="M{x} {y}L{x2} {y2}"{tip}/>'


def delta() -> str:
    """A commit, and what it does to a view."""
    parts = [
        _table(20, 40, "orders", [("1 Ada 20", "gone"), ("1 Ada 30", "new"), ("2 Zoë  5", "")]),
        _table(250, 40, "totals", [("Ada 20", "gone"), ("Ada 30", "new"), ("Zoë  5", "")]),
        _table(480, 40, "the delta", [("- Ada 20", "gone"), ("+ Ada 30", "new")], kind="marked"),
        _line(170, 85, 250, 85, "move"),
        _line(400, 85, 480, 85, "move"),
        _text(20, 24, "the commit", "faint"),
        _text(250, 24, "the view", "faint"),
        _text(480, 24, "what you are told", "faint"),
    ]
    return _svg(650, 160, "A commit changes a table, the view follows, the delta is the difference", parts)


def _tree(title: str, orders: list[Row], customers: list[Row], cities: list[Row], beside: list[str]) -> str:
    parts = [
        _table(140, 10, "orders", orders, 190),
        _table(140, 130, "customers", customers, 190),
        _table(140, 250, "cities", cities, 190),
        _line(235, 38 + 20 * len(orders), 235, 130),
        _line(235, 158 + 20 * len(customers), 235, 250),
        _text(245, 122, "orders.customer = customers.id", "faint"),
        _text(245, 242, "customers.city = cities.id", "faint"),
        *beside,
    ]
    return _svg(650, 340, title, parts)


_AWAKE: list[Row] = [("5  in 1", ""), ("7  in 3", "new")]


def tree_1() -> str:
    """A query."""
    rows = [("id  customer", "faint")], [("id  city", "faint")], [("id  name", "faint")]
    return _tree("Three tables, each below the one that refers to it", *rows, [])


def tree_2() -> str:
    """What is alive."""
    orders: list[Row] = [("10  of 5", ""), ("11  of 7", "asleep"), ("12  of 7", "asleep")]
    beside = [
        _text(350, 60, "waits for customer 7", "faint"),
        _text(350, 190, "waits for 1: city 3 is not there", "faint"),
    ]
    return _tree(
        "Rows without a partner below are asleep",
        orders,
        [("5  in 1", ""), ("7  in 3", "asleep")],
        [("1  Bern", "")],
        beside,
    )


def tree_3() -> str:
    """A change climbs."""
    orders: list[Row] = [("10  of 5", ""), ("11  of 7", "new"), ("12  of 7", "new")]
    beside = [
        _line(120, 300, 120, 190, "move"),
        _line(120, 175, 120, 60, "move"),
        _text(10, 250, "wakes up", "new"),
        _text(10, 120, "wake up", "new"),
        _text(350, 310, "comes", "new"),
    ]
    cities: list[Row] = [("1  Bern", ""), ("3  Rome", "new")]
    return _tree(
        "City 3 comes; what waited for it wakes up", orders, [("5  in 1", ""), ("7  in 3", "new")], cities, beside
    )


def tree_4() -> str:
    """The delta is read."""
    orders: list[Row] = [("10  of 5", ""), ("11  of 7", "new"), ("12  of 7", "new")]
    beside = [
        _line(120, 70, 120, 175, "move"),
        _line(120, 190, 120, 300, "move"),
        _table(440, 130, "the delta", [("+ 11  7  Rome", "new"), ("+ 12  7  Rome", "new")], 180, "marked"),
        _text(20, 125, "each step", "new"),
        _text(20, 143, "finds a row", "new"),
    ]
    cities: list[Row] = [("1  Bern", ""), ("3  Rome", "new")]
    return _tree(
        "From what woke up, down to its partners", orders, [("5  in 1", ""), ("7  in 3", "new")], cities, beside
    )


def tree_5() -> str:
    """A circle."""
    parts = [
        _table(40, 40, "r(a, b)", [], 110),
        _table(200, 40, "s(b, c)", [], 110),
        _table(120, 130, "t(c, a)", [], 110),
        _line(150, 54, 200, 54),
        _line(95, 68, 150, 130),
        _line(255, 68, 200, 130),
        _text(40, 24, "a circle", "faint"),
        _line(335, 100, 395, 100, "move"),
        _table(430, 70, "bag: r, s, t", [("a  b  c", "faint")], 160, "marked"),
        _text(430, 24, "a tree of one bag", "faint"),
        _text(430, 145, "its rows are stored", "faint"),
    ]
    return _svg(650, 180, "Tables in a circle become a bag whose rows are stored", parts)


def queue() -> str:
    """Stays in time."""

    def stay(x: int, y: int, width: int, kind: str) -> str:
        return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="14" rx="3"/>'

    parts = [
        _text(20, 24, "a queue: who came first leaves first", "title"),
        *(stay(40 + 60 * at, 40 + 22 * at, 150, "short") for at in range(4)),
        _text(20, 150, "encloses none", "faint"),
        _text(350, 24, "a guard, and people who come and go", "title"),
        stay(360, 40, 270, "stay"),
        *(stay(375 + 88 * at, 66, 66, "short") for at in range(3)),
        _text(350, 150, "encloses 3, one after the other", "faint"),
        _line(20, 128, 320, 128, "move"),
        _line(350, 128, 640, 128, "move"),
        _text(282, 145, "time", "faint"),
        _text(600, 145, "time", "faint"),
    ]
    return _svg(650, 165, "Left: stays in a queue overlap. Right: one long stay encloses three short ones", parts)


PICTURES: dict[str, Callable[[], str]] = {
    "delta": delta,
    "tree-1": tree_1,
    "tree-2": tree_2,
    "tree-3": tree_3,
    "tree-4": tree_4,
    "tree-5": tree_5,
    "queue": queue,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
