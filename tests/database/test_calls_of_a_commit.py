"""How many calls a commit of one row makes. Each feature that puts one in the way of all commits is seen here.

Time depends on the machine, so that nobody saw how a commit of one row came to take 55 microseconds, a week after it
had taken 32 (docs/decisions/0104). A bound here goes up only for what every commit needs.
"""

from __future__ import annotations

import sys
from types import FrameType

import pytest

import livejoin
from livejoin.database.transactions import guard

VIEWS = {
    "": 110,
    "SELECT a.src, b.dst FROM g a JOIN g b ON a.dst = b.src": 155,
    "SELECT src, COUNT(*) AS n, SUM(dst) AS s FROM g GROUP BY src": 165,
}
"""The view, and the most calls of Python and C."""


@pytest.mark.parametrize("sql", VIEWS, ids=["no view", "join", "groups"])
def test_a_commit_of_one_row(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "active_count", lambda: 1)
    db = livejoin.Database()
    db.execute("CREATE TABLE g (src BIGINT, dst BIGINT)")
    if sql:
        db.create_view("v", sql, deltas=False)
    for place in range(40):
        db.apply("g", [(place % 7, place % 5)])
    monkeypatch.setattr(db._contents.slowest, "least", 1e9)  # or this one may be among those that are kept
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    row = [(3, 4)]
    before = sys.getprofile()
    sys.setprofile(count)
    db.apply("g", row)
    sys.setprofile(before)
    assert 50 < calls <= VIEWS[sql]
