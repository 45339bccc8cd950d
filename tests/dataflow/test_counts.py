"""What `Database.stats` counts of each block, against counting by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from livejoin import Database
from livejoin.dataflow.counts import Counts
from livejoin.errors import ExpressionError

SCHEMA = """
    CREATE TABLE G (src BIGINT, dst BIGINT);
    CREATE TABLE H (src BIGINT, w BIGINT)
"""
VIEWS = {
    "hop": "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "large": "SELECT src, COUNT(*) AS n FROM G WHERE dst > 2 GROUP BY src",
    "both": "SELECT a, n, w FROM hop JOIN large ON c = large.src JOIN H ON H.src = a",
}


def blocks(database: Database) -> dict[str, dict[str, Any]]:
    """The figures of the block that is each view."""
    found = {}
    for block in database.stats()["blocks"]:
        for reader in block["read_by"]:
            if reader.startswith("view "):
                found[reader.removeprefix("view ")] = block
    return found


def test_counts_are_those_of_a_naive_recount() -> None:
    random = np.random.default_rng(11)
    database = Database()
    database.execute(SCHEMA)
    for name, sql in VIEWS.items():
        database.create_view(name, sql)
    database.create_view("quiet", "SELECT G.src FROM G JOIN H ON G.dst = H.src", deltas=False)
    rows: dict[str, Counter[tuple[int | None, int]]] = {"G": Counter(), "H": Counter()}
    came: Counter[str] = Counter()
    reached: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    stopped: Counter[str] = Counter()
    for _ in range(60):
        changes: dict[str, list[dict[str, Any]]] = {}
        net: dict[str, Counter[tuple[int | None, int]]] = {}
        for name in ("G", "H"):
            column = {"G": "dst", "H": "w"}[name]
            there = list(rows[name].elements())
            gone = random.integers(0, min(3, len(there)) + 1)
            leave = [there[i] for i in random.choice(len(there), gone, replace=False)] if gone else []
            keys = random.integers(0, 5, (random.integers(0, 4), 2)).tolist()
            come = [(None if a == 4 else a, b) for a, b in keys]
            net[name] = Counter(come)
            net[name].subtract(leave)
            rows[name].update(net[name])
            changes[name] = [{"src": a, column: b, "_change_type": "insert"} for a, b in come]
            changes[name] += [{"src": a, column: b, "_change_type": "delete"} for a, b in leave]
        changed = {name: sum(1 for weight in of_table.values() if weight) for name, of_table in net.items()}
        commit = database.apply(changes)
        for view, sql in VIEWS.items():
            reads = sum(changed[table] for table in ("G", "H") if table in sql)
            came[view] += reads
            reached[view] += bool(reads)
            stopped[view] += bool(reads) and not commit.rows(view)
            passed[view] += commit.rows(view)
    found = blocks(database)
    assert database.views["hop"].stats()["delta_rows"] == passed["hop"]
    for view in ("hop", "large"):
        assert found[view]["changes_passed_on"] == passed[view] > 0, view
    assert found["hop"]["changes_received"] == came["hop"]
    assert (found["hop"]["commits"], found["hop"]["commits_stopped"]) == (reached["hop"], stopped["hop"])
    assert stopped["hop"] > 0
    assert found["quiet"]["changes_passed_on"] is None
    assert found["quiet"]["commits_stopped"] is None
    assert found["quiet"]["changes_received"] > 0
    every = {f"#{block['number']}": block for block in database.stats()["blocks"]}
    over_blocks = [block for block in every.values() if set(block["reads"]) <= set(every)]
    assert over_blocks, "what a block receives is what those below it passed on"
    for block in over_blocks:
        assert block["changes_received"] == sum(every[name]["changes_passed_on"] for name in block["reads"])
    database._check()


def test_what_is_undone_counts_nowhere() -> None:
    database = Database()
    database.execute("CREATE TABLE T (k BIGINT, v BIGINT)")
    database.create_view("sums", "SELECT k, SUM(v) AS s FROM T GROUP BY k")
    database.create_view("shares", "SELECT k, 100 / s AS share FROM sums")
    database.apply("T", [(1, 5)])
    before = [{**block, "rows": 0} for block in database.stats()["blocks"]]
    with pytest.raises(ExpressionError):
        database.apply("T", [(2, 0)])
    database.preview("T", [(3, 1)])
    assert [{**block, "rows": 0} for block in database.stats()["blocks"]] == before
    database.apply("T", [(3, 1)])
    assert [block["commits"] for block in database.stats()["blocks"]] == [one["commits"] + 1 for one in before]


def test_a_commit_counts_once_however_often_it_is_settled() -> None:
    counts = Counts()
    counts.now = 3, 2, 0.5
    counts.now = None
    counts.now = 4, 0, 0.25
    counts.settle()
    counts.settle()
    counts.now = 1, None, 0.5
    counts.settle()
    assert counts.total == (2, 1, 1, 5, 0, 0.75)


def test_figures_do_not_go_through_matches_to_count_rows() -> None:
    db = Database()
    db.execute("CREATE TABLE t (k INT, v INT)")
    db.create_view(
        "pairs",
        "SELECT a.v AS a, b.v AS b FROM t a JOIN t b ON a.k = b.k AND (a.v - b.v) * (a.v - b.v) > 0",
        deltas=False,
    )
    db.create_view("both", "SELECT a FROM pairs UNION ALL SELECT v FROM t", deltas=False)
    db.apply("t", [(1, v) for v in range(80)])

    def rows() -> dict[str, object]:
        return {
            name[5:]: block["rows"]
            for block in db.stats()["blocks"]
            for name in block["read_by"]
            if name.startswith("view ")
        }

    assert rows() == {"pairs": 6320, "both": 6400}
    db.apply("t", [(1, v) for v in range(80, 200)])
    assert rows() == {"pairs": None, "both": None}
    assert db.views["pairs"].count() == 39_800
    assert rows()["pairs"] == 39_800
