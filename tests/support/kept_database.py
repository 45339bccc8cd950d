"""A small database with one of everything that a snapshot keeps, made the same way each time.

``tests/fixtures/snapshot-format-3.zip`` is its snapshot as the last version of livejoin with format 3 wrote it, with
``EXTRA``, and those of the formats 4 and 5 stand beside it. They must load for ever; so what is here may not change,
and what later formats keep besides comes in a database of its own.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import livejoin

STORED = [Path(__file__).parents[1] / "fixtures" / f"snapshot-format-{number}.zip" for number in (3, 4, 5)]
EXTRA = {"batch_id": 7, "note": "Ünïcode"}

_NOON = dt.datetime(2026, 3, 1, 12)


def kept_database() -> livejoin.Database:
    """Windows with dead entries, keys, a static table, free ids, NULLs, wide decimals, views of views, all options."""
    db = livejoin.Database()
    db.create_table("City", "id BIGINT PRIMARY KEY, name STRING NOT NULL", static=True)
    db.create_table("Person", "id INT PRIMARY KEY, city BIGINT REFERENCES City, born DATE")
    db.create_table("Orders", "person INT, amount DECIMAL(38, 2), rate DOUBLE, paid BOOLEAN, lot TINYINT")
    db.create_table("G", "src BIGINT, dst BIGINT, tag STRING", window_rows=12)
    db.create_table("Event", "at TIMESTAMP, k SMALLINT, what STRING", window_range=("at", dt.timedelta(hours=2)))
    db.apply("City", [(1, "Paris"), (2, "Zürich"), (3, "")])
    db.create_view("hop2", "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src")
    hop3 = "SELECT A.src AS a, C.dst AS d FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src"
    db.create_view("hop3", hop3, deltas=False, algorithm="dyn")
    db.create_view("pairs", hop3, algorithm="change-propagation")
    statistics = {"Orders": {"rows": 1000, "changes": 100}, "Person": {"rows": 50, "distinct": {"city": 3}}}
    db.create_view(
        "sales",
        "SELECT c.name, o.amount, o.rate, o.paid FROM Orders o JOIN Person p ON o.person = p.id "
        "JOIN City c ON p.city = c.id WHERE o.lot > 0",
        statistics=statistics,
        adaptive=True,
    )
    db.create_view("totals", "SELECT name, SUM(amount) AS total, COUNT(*) AS n FROM sales GROUP BY name")
    db.create_view("large", "SELECT name, total FROM totals WHERE n > 1")
    db.create_view("first", "SELECT tag, dst FROM G ORDER BY dst DESC LIMIT 4")
    db.create_view(
        "rings", "SELECT A.src FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src AND C.dst = A.src"
    )
    db.create_view("kinds", "SELECT what FROM Event UNION SELECT tag FROM G")
    db.create_view("events", "SELECT k, COUNT(*) AS n, MAX(at) AS latest FROM Event GROUP BY k")
    _live(db)
    return db


def _live(db: livejoin.Database) -> None:
    db.apply("Person", [(1, 1, dt.date(1990, 1, 2)), (2, 2, None), (3, None, dt.date(1, 1, 1)), (4, 2, None)])
    db.apply("Person", [_gone(id=3, city=None, born=dt.date(1, 1, 1))])
    wide = Decimal(10) ** 30 + Decimal("0.25")
    orders: list[tuple[Any, ...]] = [
        (1, Decimal("1.50"), 0.1, True, 1),
        (2, wide, -0.0, None, 2),
        (2, wide, float("nan"), False, 2),
        (4, -wide, float("inf"), True, 127),
        (4, None, None, True, -128),
    ]
    db.apply("Orders", orders + orders[:2] + orders[:1])
    db.apply("Orders", [_gone(person=4, amount=None, rate=None, paid=True, lot=-128)])
    for step in range(5):
        rows = [((step + i) % 4, (step * 3 + i * i) % 4, ["x", "y", None, "é"][i]) for i in range(4)]
        db.apply("G", rows)
    left = db.views["first"].to_arrow().slice(0, 1).to_pylist()[0]
    row = next(r for r in _rows(db, "G") if r["tag"] == left["tag"] and r["dst"] == left["dst"])
    db.apply("G", [_gone(**row)])  # leaves a dead entry in the queue
    db.apply("Event", [(_NOON + dt.timedelta(minutes=40 * i), i % 3, f"event {i % 4}") for i in range(6)])
    db.apply(
        "Event", [(_NOON + dt.timedelta(minutes=200), 2, "event 1"), (_NOON + dt.timedelta(minutes=199), None, "")]
    )
    db.apply("Event", [_gone(at=_NOON + dt.timedelta(minutes=200), k=2, what="event 1")])


def more(db: livejoin.Database) -> None:
    """Changes that move both windows and reach every view; to see whether a loaded database goes on as the first."""
    db.apply("G", [(i % 4, (i + 1) % 4, "x" if i % 2 else None) for i in range(5)])
    db.apply("Event", [(_NOON + dt.timedelta(minutes=290), 1, "event 9"), (_NOON, 1, "too late")])
    db.apply(
        {"Person": [(3, 1, None)], "Orders": [(3, Decimal("2.25"), 2.5, False, 3), (1, Decimal("1.50"), 0.1, True, 1)]}
    )


def _rows(db: livejoin.Database, table: str) -> list[dict[str, Any]]:
    """The rows of a table, each once."""
    base = db._contents.tables[table.lower()]
    words = base.values_of(base.live_rows()[0])
    columns = [db._contents.codec.decode(line, c.type) for line, c in zip(words, base.table.columns, strict=True)]
    names = [column.name for column in base.table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*(c.to_pylist() for c in columns), strict=True)]


def _gone(**row: Any) -> dict[str, Any]:
    return {**row, "_change_type": "delete"}
