"""Warnings that are said at most once a minute."""

from __future__ import annotations

from livejoin.seldom import QUIET, Seldom


def test_the_same_warning_is_due_once_a_minute() -> None:
    now = [0.0]
    warnings = Seldom(lambda: now[0])
    told = []
    for second in range(3 * int(QUIET)):
        now[0] = float(second)
        told += [(second, why) for why in ("no space", "no permission") if warnings.is_due(why)]
    due = [0, int(QUIET), 2 * int(QUIET)]
    assert told == [(second, why) for second in due for why in ("no space", "no permission")]


def test_reasons_that_are_over_are_forgotten() -> None:
    now = [0.0]
    warnings = Seldom(lambda: now[0])
    for number in range(1000):
        now[0] = number * QUIET
        assert warnings.is_due(f"file {number} is missing")
    assert len(warnings._said) == 1
