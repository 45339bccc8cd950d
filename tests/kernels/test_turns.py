"""Who needs a kernel that another process compiles waits for it, and does not compile it a second time."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from livejoin.kernels.compiling import shipped, turns
from livejoin.kernels.compiling.shipped import KernelCache
from livejoin.kernels.compiling.turns import Turn, take_now


def test_one_has_the_turn_and_the_others_wait(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = Turn("a.b"), Turn("a.b")
    assert not first.take(tmp_path)
    assert not Turn("a.c").take(tmp_path), "another kernel is another turn"
    had: list[bool] = []
    waiting = threading.Thread(target=lambda: had.append(second.take(tmp_path)))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    waiting.join(turns._UNTOLD)
    first.give_back()
    first.give_back()
    waiting.join()
    assert had == [True]
    with pytest.raises(BlockingIOError):
        take_now(tmp_path / "a.b.lock")
    second.give_back()
    assert "waiting for the kernel a.b, which another process compiles" in capsys.readouterr().err


def test_a_turn_that_nobody_gives_back_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "_LONGEST", 0.05)
    held = take_now(tmp_path / "a.b.lock")
    assert Turn("a.b").take(tmp_path)
    os.close(held)


def test_without_locks_everybody_compiles(tmp_path: Path) -> None:
    assert not Turn("a.b").take(tmp_path / "no such folder")


def test_what_was_waited_for_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that is not there is looked for once more if somebody compiled it meanwhile, else it is compiled."""
    monkeypatch.setattr(shipped, "shipped", lambda: None)
    there: dict[Any, str] = {}
    kept = SimpleNamespace(
        cache_path=str(tmp_path / "below"),
        load_overload=lambda sig, context: there.get(sig),
        save_overload=there.__setitem__,
    )

    def cache() -> KernelCache:
        return KernelCache(test_what_was_waited_for_is_loaded, lambda: kept)

    ours, theirs = cache(), cache()
    assert theirs.load_overload("f", None) is None
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(ours.load_overload("f", None)))
    waiting.start()
    theirs.save_overload("f", "code")
    theirs.give_back()
    waiting.join()
    assert found == ["code"]
    ours.give_back()
    assert cache().load_overload("f", None) == "code"
    assert len(list(tmp_path.glob("*.lock"))) == 1
