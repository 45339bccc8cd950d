"""What the handler of a signal raises comes out of the call that it cuts off, and says nothing of the data."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import pytest

import livejoin
from livejoin.errors import ChangeError
from livejoin.handlers import raised_by_handler

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
