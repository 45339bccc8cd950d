"""Live cells, by the messages that anywidget gives a page, without a notebook."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import livejoin
from livejoin.database.live import first_rows
from livejoin.errors import ReadError

anywidget = pytest.importorskip("anywidget")

from livejoin.database.live.cell import LiveView  # noqa: E402


class Page:
    """What a page is told: each value of ``shown``, in order."""

    def __init__(self, cell: LiveView) -> None:
        self.cell = cell
        self.told: list[dict[str, Any]] = [cell.shown]
        self._news = threading.Condition()
        cell.observe(self._took, "shown")

    def _took(self, change: Any) -> None:
        with self._news:
            self.told.append(change["new"])
            self._news.notify_all()

    def until(self, is_so: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        with self._news:
            assert self._news.wait_for(lambda: is_so(self.told[-1]), 60), self.told[-1]
            return self.told[-1]


@pytest.fixture
def db() -> Iterator[livejoin.Database]:
    found = livejoin.Database()
    found.execute("""
        CREATE TABLE sales (id INT PRIMARY KEY, item STRING, price DECIMAL(9, 2), at TIMESTAMP, tags ARRAY<STRING>);
        CREATE VIEW sums AS SELECT item, SUM(price) AS s FROM sales GROUP BY item;
        CREATE VIEW best AS SELECT id, price FROM sales ORDER BY price DESC, id LIMIT 3
    """)
    found.create_view("plain", "SELECT id, item, tags FROM sales", deltas=False)
    yield found
    found.close()


def sale(number: int, item: str | None, price: int = 1) -> dict[str, Any]:
    return {"id": number, "item": item, "price": Decimal(price), "at": None, "tags": None}


def test_it_shows_the_rows_and_follows_commits_of_another_thread(db: livejoin.Database) -> None:
    db.apply("sales", [sale(1, "nut", 2), sale(2, None, 5)])
    cell = db.views["sums"].live()
    page = Page(cell)
    assert cell.shown["columns"] == [{"name": "item", "right": False}, {"name": "s", "right": True}]
    assert sorted(cell.shown["rows"], key=str) == [["nut", "2.00"], [None, "5.00"]]
    assert (cell.shown["key"], cell.shown["total"], cell.shown["state"]) == ([0], 2, "live")
    writer = threading.Thread(target=db.apply, args=("sales", [sale(3, "nut", 7)]))
    writer.start()
    found = page.until(lambda shown: shown["version"] == 2)
    assert ["nut", "9.00"] in found["rows"]
    writer.join()
    cell.close()


def test_it_is_bounded_and_keeps_an_order(db: livejoin.Database) -> None:
    db.apply("sales", [sale(number, "nut", number) for number in range(50)])
    cell, few = db.views["best"].live(), db.views["plain"].live(rows=5)
    assert cell.shown["rows"] == [["49", "49.00"], ["48", "48.00"], ["47", "47.00"]]
    assert len(few.shown["rows"]) == 5
    assert few.shown["total"] is None
    page, other = Page(cell), Page(few)
    db.apply("sales", [sale(99, "bolt" * 100, 99)])
    assert page.until(lambda shown: shown["version"] == 2)["rows"][0] == ["99", "99.00"]
    other.until(lambda shown: shown["version"] == 2)  # also a view without deltas
    assert max(len(text or "") for row in few.shown["rows"] for text in row) <= 200
    for one in (cell, few):
        one.close()


def test_many_commits_are_one_step_and_it_says_so(db: livejoin.Database) -> None:
    cell = db.views["sums"].live()
    page = Page(cell)
    for number in range(300):
        db.apply("sales", [sale(number, "nut")])
    found = page.until(lambda shown: shown["version"] == 300)
    assert found["rows"] == [["nut", "300.00"]]
    assert len(page.told) < 300
    assert max(shown["commits"] for shown in page.told) > 1
    cell.close()


def test_it_says_why_it_is_over(db: livejoin.Database) -> None:
    cell, other = db.views["sums"].live(), db.views["best"].live()
    page, last = Page(cell), Page(other)
    db.execute("DROP VIEW sums")
    found = page.until(lambda shown: shown["state"] == "over")
    assert "was dropped" in found["said"]
    assert found["columns"][0]["name"] == "item"  # what it last showed stays
    db.close()
    assert "closed" in last.until(lambda shown: shown["state"] == "over")["said"]


def test_it_rests_while_no_page_shows_it(db: livejoin.Database) -> None:
    cell = db.views["sums"].live()
    page = Page(cell)
    cell._handle_custom_msg({"page": "came"}, [])
    cell._handle_custom_msg({"page": "came"}, [])
    cell._handle_custom_msg({"page": "went"}, [])
    db.apply("sales", [sale(1, "nut")])
    page.until(lambda shown: shown["version"] == 1)
    cell._handle_custom_msg({"page": "went"}, [])
    thread = cell._thread
    assert thread is not None
    thread.join(60)
    assert not thread.is_alive()
    db.apply("sales", [sale(2, "nut")])
    assert cell.shown["version"] == 1
    cell._handle_custom_msg({"page": "came"}, [])  # and finds what has happened meanwhile
    page.until(lambda shown: shown["version"] == 2)
    cell._handle_custom_msg("what is this", [])
    cell.close()
    cell.close()


def test_it_ends_when_it_is_closed(db: livejoin.Database) -> None:
    cell = db.views["sums"].live()
    thread = cell._thread
    assert thread is not None
    cell.close()
    thread.join(60)
    assert not thread.is_alive()
    assert not db._contents.links.held()  # commits keep nothing for it any more


@pytest.mark.parametrize("rows", [0, -1, 1001, "all", True, 2.5])
def test_other_numbers_of_rows_are_refused(db: livejoin.Database, rows: Any) -> None:
    with pytest.raises(ReadError, match="rows"):
        db.views["sums"].live(rows)


def test_without_anywidget_it_says_what_to_install(db: livejoin.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "livejoin.database.live.cell", None)
    with pytest.raises(ReadError, match=r"pip install 'livejoin\[notebook\]'"):
        db.views["sums"].live()


def test_the_page_has_nothing_from_elsewhere() -> None:
    text = (Path(first_rows.__file__).parent / "live.js").read_text()
    assert not re.search(r"https?://|innerHTML|\beval\(", text)
