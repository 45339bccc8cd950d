"""Folders whose disk fails, whose process is cut off or killed: a small share of what ``make torture`` does."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from torture.durable_faults import check_commit, killed, opened
from torture.file_faults import KINDS, results
from torture.interrupts import Life, cuts

CASES = int(os.environ.get("LIVEJOIN_TORTURE", "3"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))


@pytest.mark.parametrize("error", [KeyboardInterrupt, pytest.param(MemoryError, marks=pytest.mark.torture)])
def test_a_durable_commit_that_is_cut_off_is_there_or_not(tmp_path: Path, error: type[BaseException]) -> None:
    """At whatever point: memory and disk agree on whether it stands, and its subscribers hear of it once."""
    life = Life(SEED, folder=tmp_path / "db")
    outcomes: Counter[str] = Counter()
    for at, decided in cuts(life, 2 * CASES, SEED):
        stands, cut = life.cut(error, at, again=at % 3 == 0, decided=decided)
        outcomes["stands" if stands else "does not"] += bool(cut.where)
        try:
            life.check()
            if at % 5 == 0:
                expected = life.db.version, results(life.db)
                assert opened(tmp_path / "db", tmp_path / "copy") == expected
        except BaseException as wrong:
            wrong.add_note(f"cut at point {at}, decided: {decided}, in {cut.where}; the commit stands: {stands}")
            raise
        if at % 2:
            life.commit()
    print(f"durable commits, {error.__name__}: {dict(outcomes)}")
    assert outcomes["stands"] and outcomes["does not"]
    life.db.close()


def test_a_disk_that_fails(tmp_path: Path) -> None:
    """Whatever call fails in a commit, and how: it stands or it does not, in memory as on the disk."""
    outcomes: Counter[str] = Counter()
    life = Life(SEED, folder=tmp_path / "db")
    kinds = [*KINDS, ("gone", 5)]
    for case in range(max(CASES, len(kinds) + 3)):
        log = life.db._contents.log
        assert log is not None
        log.segment_bytes = 1 if case % 4 == 3 else 1 << 20
        kind = kinds[case % len(kinds)]
        at = (case + case // len(kinds)) % (3 if log.segment_bytes > 1 else 9)
        try:
            outcome, faults = check_commit(life, tmp_path / "db", at, kind)
        except BaseException as wrong:
            wrong.add_note(f"case {case}: call {at} fails {kind}")
            raise
        outcomes[f"{outcome}, {(*faults.called, None)[at]}"] += 1
    print(f"disks that fail: {dict(outcomes)}")
    assert {one.partition(",")[0] for one in outcomes} == {"stands", "refused", "failed"}
    life.db.close()


@pytest.mark.torture
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.parametrize("sync", ["commit", "batch"])
def test_a_killed_process_loses_nothing_that_it_told(tmp_path: Path, sync: str) -> None:
    kinds = killed(CASES, SEED, tmp_path / "a folder", sync)
    print(f"killed while committing: {dict(kinds)}")
    assert kinds["all"] + kinds["all but the last"] == CASES
