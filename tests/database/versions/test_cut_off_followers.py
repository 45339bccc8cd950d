"""Calls that are cut off where they tell of versions: who follows, resumes or repeats misses nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import livejoin
from livejoin.database.durable.history import History, Piece
from livejoin.database.transactions.requests import MOST_NUMBERS, Answer, Numbered, Requests
from livejoin.database.versions import following
from livejoin.errors import ChangeError, ReadError
from oracle import multiset, signed_multiset
from scenario import Row
from strategies import IS_FUZZ
from torture.interrupts import NEVER, cut_off

_VERSIONS = "/database/versions"
_BEST = "SELECT name, age FROM P ORDER BY age DESC, name LIMIT 4"


def _database(**options: Any) -> tuple[livejoin.Database, livejoin.View]:
    db = livejoin.Database(**options)
    db.create_table("P", "id BIGINT PRIMARY KEY, name STRING, age INT")
    return db, db.create_view("best", _BEST)


def _read(changes: livejoin.Changes, rows: Counter[Row]) -> Counter[Row]:
    """The rows of before with all that waits."""
    while True:
        try:
            update = changes.next(timeout=0)
        except TimeoutError:
            return +rows
        assert update is not None
        rows = Counter() if update.reset else rows
        rows.update(signed_multiset(update.delta))


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_commit_that_is_cut_off_leaves_no_follower_behind(error: type[BaseException]) -> None:
    """Also where nobody reads, holds or keeps an image of the version before: nothing but its chain is there."""
    db, view = _database()
    changes, rows = view.changes(), Counter[Row]()
    points = cut_off(lambda: db.apply("P", [(-1, "a", 0)]), error, NEVER, _VERSIONS).points
    for at in range(1, points + 5):
        cut = cut_off(lambda at=at: db.apply("P", [(2 * at, "a", at)]), error, at, _VERSIONS)
        db.stats()
        db._contents.links.spare()
        rows = _read(changes, rows)
        assert rows == multiset(view.to_arrow()), cut.where
        db.apply("P", [(2 * at + 1, "b", at)])
        rows = _read(changes, rows)
        assert rows == multiset(view.to_arrow()), f"the commit behind one cut off in {cut.where}"
    assert points > 10


def test_a_drop_that_is_cut_off_ends_those_who_follow() -> None:
    dropped = 0
    points = cut_off(lambda: _database()[0].drop_view("best"), KeyboardInterrupt, NEVER, "/database/contents").points
    for at in range(1, points + 1, 1 if IS_FUZZ else 3):
        db, view = _database()
        changes = view.changes()
        changes.next(timeout=0)
        cut_off(lambda db=db: db.drop_view("best"), KeyboardInterrupt, at, "/database/contents")
        if "best" not in db.views:
            dropped += 1
            db.create_view("best", "SELECT id FROM P")
            with pytest.raises(ReadError, match="was dropped"):
                changes.next(timeout=0)
    assert 0 < dropped < points


@pytest.mark.parametrize("options", [{}, {"positions": True}])
def test_an_update_that_could_not_be_made_comes_with_the_next_call(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    db, view = _database()
    db.apply("P", [(1, "a", 1)])
    changes = view.changes(**options)

    def fails(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(following, "insertions", fails)
        with pytest.raises(MemoryError):
            changes.next(timeout=0)
    first = changes.next(timeout=0)
    assert first is not None and first.reset and first.delta["name"].to_pylist() == ["a"]
    db.apply("P", [(2, "b", 2)])
    with monkeypatch.context() as patch:
        patch.setattr(type(view), "paired", fails)
        patch.setattr(changes, "_pairs", True)
        with pytest.raises(MemoryError):
            changes.next(timeout=0)
    second = changes.next(timeout=0)
    assert second is not None and not second.reset and second.delta["name"].to_pylist() == ["b"]


def test_who_resumes_in_the_middle_of_a_replay_and_fails_is_told_the_rest_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    db, view = _database()
    view.keep_history(100)
    rows = [{"id": i, "name": "a", "age": i, "_change_type": "insert", "_seq": i} for i in range(1, 4)]
    db.replay({"P": rows}, granularity="change")
    changes = view.changes(since=2)

    def fails(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(following.Changes, "_delta", fails)
        with pytest.raises(MemoryError):
            changes.next(timeout=0)
    update = changes.next(timeout=0)
    assert update is not None and update.delta["age"].to_pylist() == [3]


def test_a_history_that_drops_its_oldest_pieces_and_is_cut_off_says_how_far_it_reaches() -> None:
    """At no point are pieces gone that its base promises, and it is what it would be in another process."""

    def piece(version: int) -> Piece:
        return Piece(version, version - 1, 2, 0, 0, None, 0)  # type: ignore[arg-type]

    whole = History(6, 0)
    for version in range(1, 9):
        whole.note(piece(version))
    within = "/database/durable/history"
    points = cut_off(lambda: whole.note(piece(9)), KeyboardInterrupt, NEVER, within).points
    for at in range(1, points + 1):
        cut_history = History(6, 0)
        for version in range(1, 9):
            cut_history.note(piece(version))
        cut = cut_off(lambda one=cut_history: one.note(piece(9)), KeyboardInterrupt, at, within)
        since = cut_history.since(cut_history.base)
        assert since is not None
        found = [one.version for one in since]
        assert found in (list(range(cut_history.base + 1, 9)), list(range(cut_history.base + 1, 10))), cut.where
        cut_history.note(piece(9))
        assert (cut_history.base, cut_history.rows, cut_history.version) == (whole.base, whole.rows, whole.version)
    assert points > 5


def test_a_client_whose_request_is_noted_and_cut_off_is_not_forgotten() -> None:
    for at in range(1, 20):
        requests = Requests()
        for number in range(MOST_NUMBERS):
            requests.note(Numbered("till", number, 5), Answer(number, 1, 0, 0, 0, 5))
        last = Numbered("till", MOST_NUMBERS, 5), Answer(MOST_NUMBERS, 1, 0, 0, 0, 5)
        within = "/database/transactions/requests"
        cut_off(lambda r=requests, n=last: r.note(*n), KeyboardInterrupt, at, within)
        requests.note(*last)
        assert requests.answer(Numbered("till", 1, 5)) == Answer(1, 1, 0, 0, 0, 5)
        with pytest.raises(ChangeError, match="older than"):
            requests.answer(Numbered("till", 0, 5))


def test_a_subscriber_is_called_once_also_where_telling_is_cut_off() -> None:
    db, view = _database()
    told = Counter[Row]()
    view.subscribe(lambda delta: told.update(signed_multiset(delta)))
    within = "/database/transactions"
    points = cut_off(lambda: db.apply("P", [(0, "a", 0)]), KeyboardInterrupt, NEVER, within).points
    for at in range(points - 80, points + 2):
        cut = cut_off(lambda at=at: db.apply("P", [(at, "a", at)]), KeyboardInterrupt, at, within)
        db.stats()
        assert +told == multiset(view.to_arrow()), cut.where


def test_a_chain_is_held_while_a_call_that_is_cut_off_adds_to_it(tmp_path: Path) -> None:
    """In a folder, where followers hear of what is durable."""
    db, view = _database(path=tmp_path)
    changes, rows = view.changes(), Counter[Row]()
    for at in range(1, 40, 3):
        cut_off(lambda at=at: db.apply("P", [(at, "a", at)]), MemoryError, at, _VERSIONS + "/links")
        db.stats()
        db._contents.links.spare()
        rows = _read(changes, rows)
        db.apply("P", [(1000 + at, "b", at)])
        rows = _read(changes, rows)
        assert rows == multiset(view.to_arrow())
    db.close()
