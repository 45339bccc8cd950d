"""What the handler of a signal raises comes out of the call that it cuts off, and says nothing of the data."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import livejoin
from livejoin.errors import ChangeError
from livejoin.handlers import raised_by_handler
from livejoin.state import files

_SIGNAL = getattr(signal, "SIGUSR1", signal.SIGINT)


class CutError(Exception):
    """What the handler raises."""


def by_name(number: int, frame: FrameType | None) -> None:
    raise CutError


class Handler:
    def method(self, number: int, frame: FrameType | None) -> None:
        self.further()

    def further(self) -> None:
        raise CutError

    def __call__(self, *given: Any) -> None:
        raise CutError


HANDLERS: dict[str, Callable[..., None]] = {
    "function": by_name,
    "method": Handler().method,
    "callable": Handler(),
    "partial": partial(lambda _, *given: by_name(*given), "bound"),
}


@pytest.fixture(params=HANDLERS)
def handled(request: pytest.FixtureRequest) -> Iterator[None]:
    before = signal.signal(_SIGNAL, HANDLERS[request.param])
    yield
    signal.signal(_SIGNAL, before)


def strike() -> None:
    signal.raise_signal(_SIGNAL)


class Striking(float):
    """A number during whose conversion the signal comes."""

    def __float__(self) -> float:
        strike()
        return 1.5


class Rows:
    """Rows during whose reading it comes."""

    def __iter__(self) -> Iterator[tuple[float]]:
        yield (1.5,)
        strike()


class Shown:
    """No number, and it comes while the message is made."""

    def __repr__(self) -> str:
        strike()
        return "shown"


@pytest.mark.usefixtures("handled")
def test_it_is_known() -> None:
    with pytest.raises(CutError) as found:
        strike()
    assert raised_by_handler(found.value)
    with pytest.raises(CutError) as found:
        by_name(0, None)
    assert not raised_by_handler(found.value)


@pytest.mark.usefixtures("handled")
@pytest.mark.parametrize("manner", ["fail", "skip", "dead_letter"])
@pytest.mark.parametrize(
    "data", [[(Striking(),)], [(1.0,), (Striking(),)], Rows(), [(Shown(),)]], ids=["one", "two", "rows", "shown"]
)
def test_a_commit_that_it_cuts_off_has_no_bad_rows(manner: Any, data: Any) -> None:
    db = livejoin.Database(on_bad_rows=manner)
    db.execute("CREATE TABLE t (x FLOAT)")
    db.apply("t", [(0.5,)])
    with pytest.raises(CutError):
        db.apply("t", data)
    assert db.version == 1
    db.apply("t", [(1.5,)])
    assert len(db.tables["t"]) == 2


class OtherError(Exception):
    """What another thread sets, or a method raises."""


class Failing(float):
    """A number whose conversion fails so many times."""

    def __new__(cls, times: int) -> Failing:
        made = super().__new__(cls, 1.5)
        made.left = times
        return made

    left: int

    def __float__(self) -> float:
        if self.left:
            self.left -= 1
            raise OtherError
        return 1.5


def test_an_error_that_does_not_come_again_is_none_of_the_data() -> None:
    db = livejoin.Database(on_bad_rows="skip")
    db.execute("CREATE TABLE t (x FLOAT)")
    with pytest.raises(OtherError):
        db.apply("t", [(Failing(1),)])
    assert db.version == 0
    assert db.apply("t", [(Failing(1000),), (1.0,)]).bad_rows == 1
    with pytest.raises(ChangeError, match="does not fit"):
        db.apply("t", [(Failing(1000),)], on_bad_rows="fail")


def too_late(number: int, frame: FrameType | None) -> None:
    """What a time limit raises, which the system raises too."""
    raise TimeoutError


@pytest.mark.parametrize("sync", ["commit", "off"])
@pytest.mark.parametrize("when", ["before", "behind"])
def test_a_time_limit_in_a_call_of_the_system_is_no_failure_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, sync: Any
) -> None:
    """In each call of a commit, opening among them: the error comes out, and the database goes on."""
    struck, at, calls, told = 0, -1, 0, 0

    def system(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        nonlocal calls, struck
        calls, strikes = calls + 1, calls == at
        struck += strikes
        if strikes and when == "before":
            strike()
        found = function(*arguments, **named)
        if strikes and when == "behind":
            strike()
        return found

    def reached(call: Callable[[], object]) -> bool:
        """Whether the signal came, in a call that it ends."""
        nonlocal calls, struck
        calls = struck = 0
        try:
            call()
        except TimeoutError:
            assert struck
        return bool(struck)

    before = signal.signal(_SIGNAL, too_late)
    try:
        with livejoin.open(tmp_path / "db", sync=sync) as db:
            db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY); CREATE VIEW v AS SELECT COUNT(*) AS n FROM t")
            monkeypatch.setattr(files, "system", system)
            tried = at = 0
            while reached(partial(db.apply, "t", [(tried,)])):
                at = -1
                told = db.sql("SELECT n FROM v").column("n")[0].as_py()
                assert told == db.sql("SELECT id FROM t").num_rows
                at = tried = tried + 1
            assert tried > 0, "a commit calls the system"
            at = -1
        opened: list[livejoin.Database] = []

        def open_and_close() -> None:
            opened.append(livejoin.open(tmp_path / "db"))
            opened[-1].close()

        cuts = at = 0
        while reached(open_and_close):
            at = -1
            for one in opened:
                one.close()  # where that was cut off
            at = cuts = cuts + 1
        assert cuts > 5
        at = -1
        with livejoin.open(tmp_path / "db") as again:
            assert again.sql("SELECT n FROM v").column("n").to_pylist() == [told + 1]  # none cut off the last one
    finally:
        signal.signal(_SIGNAL, before)
