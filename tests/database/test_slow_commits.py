"""`Database.slow_commits`: the slowest commits that stood, with what took longest."""

from __future__ import annotations

import datetime as dt
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import livejoin
from livejoin import Database
from livejoin.database.slow_commits import MOST, PARTS, SlowestCommits
from livejoin.errors import ExpressionError


def test_the_slowest_are_kept_whatever_the_order() -> None:
    kept = SlowestCommits()
    times = [(7 * place) % 31 + 1 for place in range(31)]
    for version, seconds in enumerate(times):
        if seconds > kept.least:
            kept.note(version, (0.0, 0.0, 0.25 * seconds, seconds, seconds, seconds, float(seconds)), {}, None)
    found = kept.now([])
    assert [one.milliseconds for one in found] == [1000.0 * one for one in sorted(times, reverse=True)[:MOST]]
    assert [one.version for one in found] == sorted(range(31), key=lambda version: -times[version])[:MOST]
    assert {(one.part, one.part_share) for one in found} == {("blocks", 0.75)}


def test_a_slow_commit_says_when_how_long_and_where() -> None:
    database = Database()
    database.execute("CREATE TABLE Orders (customer BIGINT, price BIGINT)")
    database.create_view("pairs", "SELECT a.price AS p FROM Orders a JOIN Orders b USING (customer)")
    database.apply("Orders", [(1, 1), (2, 2)])
    assert len(database.slow_commits(forget=True)) == 1
    for place in range(20):
        database.apply("Orders", [(place, 1)])
    before = dt.datetime.now(dt.UTC)
    database.apply("Orders", [(100, price) for price in range(400)])
    slow = database.slow_commits()
    assert len(slow) == MOST
    whole = [one.milliseconds + one.waited_milliseconds for one in slow]
    assert whole == sorted(whole, reverse=True)
    (first,) = [one for one in slow if one.version == database.version]  # another one may have waited for a processor
    assert dict(first.changes) == {"Orders": 400}
    assert before <= first.at <= dt.datetime.now(dt.UTC)
    assert first.part in PARTS
    assert 1 / len(PARTS) <= first.part_share <= 1
    blocks = database.stats()["blocks"]
    assert first.block_number is not None
    assert first.block is not None
    assert first.block.startswith(blocks[first.block_number - 1]["kind"])
    assert "pairs" in first.block
    assert first.block_share is not None
    assert 0 < first.block_share <= 1
    database.drop_view("pairs")
    (first,) = [one for one in database.slow_commits() if one.version == database.version]
    assert first.block_number is None


def test_what_did_not_stand_is_not_there() -> None:
    database = Database()
    database.execute("CREATE TABLE T (a BIGINT)")
    database.create_view("inverse", "SELECT 1 / a AS b FROM T")
    database.preview("T", [(1,)])
    with pytest.raises(ExpressionError):
        database.apply("T", [(0,)])
    assert len(database.slow_commits()) == 0
    assert str(database.slow_commits()) == "no commits so far"
    database.apply("T", [(2,)])
    assert [one.version for one in database.slow_commits()] == [1]


def test_forms() -> None:
    database = Database()
    database.execute("CREATE TABLE `<b>` (a BIGINT)")
    database.create_view("all_of_it", "SELECT a FROM `<b>`")
    database.apply("<b>", [(1,)])
    slow = database.slow_commits()
    table = slow.to_arrow()
    assert table.schema.field("at").type == pa.timestamp("us", "UTC")
    assert table["version"].to_pylist() == [one["version"] for one in slow.to_pylist()] == [1]
    assert dict(table["changes"].to_pylist()[0]) == {"<b>": 1}
    assert "<b>" not in slow._repr_html_().replace("<b>version", "")
    assert "&lt;b&gt; 1" in slow._repr_html_()
    assert str(slow).splitlines()[0].startswith("version")


def test_opening_counts_for_nothing_and_the_disk_has_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with livejoin.open(tmp_path / "home") as database:
        database.execute("CREATE TABLE T (a BIGINT)")
        database.apply("T", [(1,)])
    with livejoin.open(tmp_path / "home") as database:
        assert len(database.slow_commits()) == 0
        log = database._contents.log
        assert log is not None
        commit = log.commit

        def slowly(*arguments: object) -> object:
            time.sleep(0.3)
            return commit(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(log, "commit", slowly)
        database.apply("T", [(2,)])
        (slow,) = database.slow_commits()
        assert (slow.part, slow.block) == ("disk", None)
        assert slow.milliseconds >= 300


def test_what_a_commit_waited_for_is_said() -> None:
    """Another call that has the database, and a disk that is slow."""
    database = Database()
    database.execute("CREATE TABLE t (k BIGINT)")
    database.apply("t", [(1,)])
    database.slow_commits(forget=True)
    began, free = threading.Event(), threading.Event()

    def hold() -> None:
        with database._guard.lock:
            began.set()
            free.wait()

    other = threading.Thread(target=hold)
    other.start()
    began.wait()
    threading.Timer(0.2, free.set).start()
    database.apply("t", [(2,)])
    other.join()
    database.apply("t", [(3,)])
    slow = database.slow_commits()
    assert [one.waited_for for one in slow if one.version == 2] == ["other calls"]
    assert slow[0].waited_milliseconds >= 100
    assert "for other calls" in str(slow)


def test_the_wait_for_the_disk_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with livejoin.open(tmp_path / "db") as database:
        database.execute("CREATE TABLE t (k BIGINT)")
        database.apply("t", [(1,)])
        database.slow_commits(forget=True)
        log = database._contents.log
        assert log is not None
        wait = log.wait

        def slowly(due: int) -> None:
            time.sleep(0.1)
            wait(due)

        monkeypatch.setattr(log, "wait", slowly)
        version = database.apply("t", [(2,)]).version
        (one,) = [one for one in database.slow_commits() if one.version == version]
        assert one.waited_for == "disk"
        assert one.waited_milliseconds >= 90
