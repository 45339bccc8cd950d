"""Subscribers: each hears of each version once and in order, whatever they do while they are called."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ChangeError, ReadError


def database() -> livejoin.Database:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (a BIGINT)")
    db.create_view("one", "SELECT a FROM T")
    db.create_view("two", "SELECT a + 1 AS b FROM T")
    return db


def test_a_subscriber_drops_a_view_that_others_hear_of() -> None:
    db = database()
    heard: list[str] = []

    def drop(_: pa.Table) -> None:
        heard.append("one")
        db.drop_view("two")

    db.views["one"].subscribe(drop)
    db.views["two"].subscribe(lambda _: heard.append("two"))
    commit = db.apply("T", [(1,)])
    assert heard == ["one"], "a subscription ends with its view"
    assert commit["two"].num_rows == 1, "the commit was made before"
    assert list(db.views) == ["one"]
    db._check()


def test_a_subscriber_ends_others_and_begins_new_ones() -> None:
    db = database()
    heard: list[str] = []

    def change(_: pa.Table) -> None:
        end()
        end()
        db.views["one"].subscribe(lambda _: heard.append("new"))

    db.views["one"].subscribe(change)
    end = db.views["one"].subscribe(lambda _: heard.append("ended"))
    db.views["one"].subscribe(lambda _: heard.append("stays"))
    db.apply("T", [(1,)])
    assert heard == ["stays"]
    db.apply("T", [(2,)])
    assert heard == ["stays", "stays", "new"]


def test_one_function_twice_ends_once_each() -> None:
    db = database()
    heard: list[int] = []
    hear: Callable[[Any], None] = lambda delta: heard.append(delta.num_rows)  # noqa: E731
    first, second = db.views["one"].subscribe(hear), db.views["one"].subscribe(hear)
    first()
    first()
    db.apply("T", [(1,)])
    assert heard == [1]
    second()
    db.apply("T", [(2,)])
    assert heard == [1]


@pytest.mark.parametrize(
    "commit",
    [
        lambda db: db.apply("T", [(9,)]),
        lambda db: db.replay({"T": [{"a": 9, "_seq": 1, "_change_type": "insert"}]}),
    ],
)
def test_a_commit_of_a_subscriber_is_refused(commit: Callable[[livejoin.Database], object]) -> None:
    """Those that are called after it would hear of its version before this one's."""
    db = database()
    versions: list[int] = []
    db.views["one"].subscribe(lambda _: commit(db))
    db.views["two"].subscribe(lambda delta: versions.extend(delta["_commit_version"].to_pylist()))
    db.apply("T", [(1,)])
    refused = db.views["one"].last_subscriber_error
    assert isinstance(refused, ChangeError)
    assert "a subscriber makes a commit while it is called for version 1" in str(refused)
    assert db.version == 1 and versions == [1], "the commit stands, and all have heard of it"
    assert db.views["one"].count() == 1
    db.drop_view("one")
    db.apply("T", [(2,)])
    assert versions == [1, 2]
    db._check()


def test_a_subscriber_reads_saves_and_makes_views(tmp_path: Path) -> None:
    db = database()
    counts: list[int] = []

    def work(_: pa.Table) -> None:
        counts.append(db.views["two"].count())
        db.save(tmp_path)
        if db.version == 1:
            db.create_view("three", "SELECT COUNT(*) AS n FROM T")

    db.views["one"].subscribe(work)
    db.apply("T", [(1,)])
    db.apply("T", [(2,)])
    assert counts == [1, 2]
    loaded = livejoin.Database.load(tmp_path)
    assert loaded.version == 2
    assert loaded.views["three"].to_arrow().to_pylist() == [{"n": 2}]


def fail(_: pa.Table) -> None:
    msg = "out of paper"
    raise RuntimeError(msg)


def test_what_a_subscriber_raises_goes_to_its_own_handler(caplog: pytest.LogCaptureFixture) -> None:
    db = database()
    view, got, heard = db.views["one"], list[Exception](), list[int]()
    view.subscribe(fail, on_error=got.append)
    view.subscribe(lambda delta: heard.append(delta.num_rows))
    assert [db.apply("T", [(i,)]).version for i in (1, 2)] == [1, 2]
    assert [str(error) for error in got] == ["out of paper"] * 2, "the subscription goes on"
    assert heard == [1, 1] and view.last_subscriber_error is None and not caplog.records


def test_without_a_handler_it_is_logged_and_kept(caplog: pytest.LogCaptureFixture) -> None:
    db = database()
    db.views["one"].subscribe(fail)
    assert db.apply("T", [(1,)])["one"].num_rows == 1
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("livejoin", "ERROR")
    assert "'one'" in record.getMessage() and "version 1" in record.getMessage()
    assert record.exc_info is not None and record.exc_info[2] is not None, "with its traceback"
    assert record.exc_info[1] is db.views["one"].last_subscriber_error
    assert db.views["two"].last_subscriber_error is None


def test_a_handler_that_fails_is_logged_with_what_it_handles(caplog: pytest.LogCaptureFixture) -> None:
    db = database()
    heard: list[int] = []
    handlers: list[Callable[[Exception], object]] = [lambda error: 1 // 0, lambda _: db.apply("T", [(9,)])]
    for handler in handlers:
        db.views["one"].subscribe(fail, on_error=handler)
    db.views["two"].subscribe(lambda delta: heard.append(delta.num_rows))
    db.apply("T", [(1,)])
    errors = [record.exc_info[1] for record in caplog.records if record.exc_info is not None]
    kinds = [type(error) for error in errors]
    assert kinds == [ZeroDivisionError, ChangeError], "a handler commits as little as a subscriber"
    assert all("out of paper" in str(error.__context__) for error in errors if error is not None)
    assert heard == [1] and db.version == 1


def test_interrupts_come_out_when_all_have_heard() -> None:
    """Of a subscriber and of a handler; the first one is told."""
    db = database()
    heard: list[int] = []

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    def leave(_: object) -> None:
        raise SystemExit

    db.views["one"].subscribe(fail, on_error=interrupt)
    db.views["one"].subscribe(leave)
    db.views["two"].subscribe(lambda delta: heard.append(delta.num_rows))
    with pytest.raises(KeyboardInterrupt):
        db.apply("T", [(1,)])
    assert (heard, db.version) == ([1], 1)


def test_handlers_are_checked() -> None:
    view = database().views["one"]

    async def later(_: Exception) -> None:
        pass

    with pytest.raises(ReadError, match="on_error of view 'one' is 3"):
        view.subscribe(fail, on_error=3)  # type: ignore[arg-type]
    with pytest.raises(ReadError, match="is async"):
        view.subscribe(fail, on_error=later)


def test_an_async_function_needs_a_loop() -> None:
    view = database().views["one"]

    async def later(_: pa.Table) -> None:
        pass

    async def yields(_: pa.Table) -> AsyncIterator[int]:
        yield 1

    with pytest.raises(ReadError, match="no event loop runs in this thread"):
        view.subscribe(later)
    with pytest.raises(ReadError, match="which yields"):
        view.subscribe(yields)


def test_a_subscriber_takes_one_argument() -> None:
    view = database().views["one"]

    def two(delta: pa.Table, version: int) -> None:
        raise AssertionError(delta, version)

    def by_name(delta: pa.Table, *, version: int) -> None:
        raise AssertionError(delta, version)

    class Called:
        def __call__(self) -> None:
            raise AssertionError

    for called in (two, by_name, Called(), partial(two, None, 1), lambda: None):
        with pytest.raises(ReadError, match="with one argument, the delta, and it takes"):
            view.subscribe(called)  # type: ignore[arg-type]
        with pytest.raises(ReadError, match="with one argument, the exception, and it takes"):
            view.subscribe(fail, on_error=called)  # type: ignore[arg-type]
    heard: list[object] = []
    for fitting in (heard.append, partial(two, version=1), lambda *given: None, lambda one, two=2: None, print, Mock()):
        view.subscribe(fitting)()
    view.subscribe(max)()  # has no signature: it fails at a commit, if it does


def test_an_interrupt_in_a_subscriber_leaves_the_commit_and_the_next_ones() -> None:
    db = database()

    def interrupt(_: pa.Table) -> None:
        raise KeyboardInterrupt

    end = db.views["one"].subscribe(interrupt)
    with pytest.raises(KeyboardInterrupt):
        db.apply("T", [(1,)])
    assert db.version == 1
    end()
    assert db.apply("T", [(2,)]).version == 2
    db._check()


def test_what_ends_a_subscription_of_a_dropped_view_ends_none_of_the_view_that_has_its_name() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (a BIGINT)")
    end = db.create_view("v", "SELECT a FROM T").subscribe(lambda _: None)
    db.drop_view("v")
    seen: list[int] = []
    end_new = db.create_view("V", "SELECT a FROM T").subscribe(lambda delta: seen.append(delta.num_rows))
    end()
    db.apply("T", [(1,), (2,)])
    assert seen == [2]
    end_new()
    end_new()
    db.apply("T", [(3,)])
    assert seen == [2]
