"""Native programs beside livejoin: the file that they read, their checks, and what is said where one is not there."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.figures import WrongAnswerError
from benchmarks.peers import command, job, ours, programs
from benchmarks.peers.answers import Answers, less, plus, sums
from benchmarks.peers.command import Contest
from benchmarks.peers.job import CASES, Job, Run, Sums
from benchmarks.peers.programs import Program, ProgramError
from benchmarks.stream import EdgeStream

STREAM = EdgeStream(np.random.default_rng(13).integers(0, 12, (160, 2)), 40, 3)
CHANGES = job.graph_changes(STREAM)
FOLDERS = {"differential dataflow": "differential", "DBSP": "dbsp", "native": "native"}
JOB = Job("3-Hop", 20, 1, 40, 200, 3)


def test_changes_lead_to_the_content_of_the_window(tmp_path: Path) -> None:
    assert len(CHANGES) == STREAM.changes
    assert CHANGES[:40, 2].tolist() == [1] * 40, "the window is filled first"
    assert CHANGES[40:44, 2].tolist() == [-1, 1, -1, 1]
    left = Counter(map(tuple, job.content(CHANGES).tolist()))
    assert left == Counter(map(tuple, STREAM.content().tolist()))
    assert max(left.values()) > 1, "edges that are there twice"
    assert (job.read(job.write(CHANGES, tmp_path)) == CHANGES).all()


@pytest.mark.parametrize(("commit", "changes"), [(1, 240), (7, 238), (100, 200), (1_000, 0)])
def test_whole_commits_are_measured(commit: int, changes: int) -> None:
    assert job.measured_changes(STREAM, commit) == changes


def naive(row: tuple[int, ...]) -> int:
    """The hash of a row, a word at a time."""
    found = 0
    for word in row:
        found = (found ^ (word % 2**64)) * 0x9E3779B97F4A7C15 % 2**64
        found ^= found >> 29
    return found


def test_sums_are_those_of_hashes_with_signs() -> None:
    rows = [(1, -2), (3, 2**62), (-5, 0), (1, -2)]
    kinds = ["insert", "delete", "update_postimage", "update_preimage"]
    table = pa.table({"a": [row[0] for row in rows], "b": [row[1] for row in rows]})
    assert sums(table) == Sums(4, sum(map(naive, rows)) % 2**64)
    with_null = pa.table({"a": [7, 8], "b": pa.array([None, 9], pa.int32())})
    assert sums(with_null) == Sums(2, (naive((7, -1)) + naive((8, 9))) % 2**64)
    signed = naive(rows[0]) - naive(rows[1]) + naive(rows[2]) - naive(rows[3])
    assert sums(table.append_column("_change_type", pa.array(kinds))) == Sums(0, signed % 2**64)


def test_rust_hashes_alike() -> None:
    tests = (programs.FOLDER / "measured" / "src" / "lib.rs").read_text()
    assert naive((1, -2)) == 0xEAE9_8E3D_FE0F_9975
    assert "hash([1, -2]), 0xEAE9_8E3D_FE0F_9975)" in tests


def test_answers_of_deltas_are_differences() -> None:
    answers = Answers(CHANGES, STREAM.modulus)
    delta, result = answers.of(JOB)
    assert plus(answers.result("3-Hop", 40), delta) == result == answers.result("3-Hop", 240)
    assert result.number > 40
    assert less(result, result) == Sums(0, 0)
    with pytest.raises(ValueError, match="no hashes"):
        less(result, Sums(1, None))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("commit", [10, 20])
def test_livejoin_has_the_right_answers(
    case: str, commit: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = replace(JOB, case=case, commit=commit)
    plan = "state" if case == job.STATE else "deltas"
    file = job.write(CHANGES[:240], tmp_path)
    ours.main([str(file), *one.arguments(plan)])
    found = job.read_line(capsys.readouterr().out)
    delta, result = Answers(CHANGES, STREAM.modulus).of(one)
    found.check("livejoin", delta, result)
    assert found.wall > 0
    assert found.delta == (None if plan == "state" else delta)
    with pytest.raises(WrongAnswerError, match=r"livejoin: its result add up|livejoin: its deltas add up"):
        found.check("livejoin", less(delta, Sums(1, 1)), less(result, Sums(1, 1)))


def test_every_case_has_a_plan_of_every_peer() -> None:
    peers = [one for one in programs.programs() if one.package is not None]
    for one in peers:
        source = "".join(file.read_text() for file in (programs.FOLDER / FOLDERS[one.name] / "src").glob("*.rs"))
        for case, plans in one.plans.items():
            for plan in plans:
                assert f'("{CASES[case]}", "{plan}") =>' in source
    assert all(set(one.plans) == set(CASES) - {job.STATE} for one in peers if not one.floor)


def program(name: str, text: str, **more: object) -> Program:
    """A program in Python that prints or does what it is told."""
    plans = {"3-Hop": ("best",)}
    return Program(name, (sys.executable, "-c", text), plans, **more)  # type: ignore[arg-type]


def line(run: Run) -> str:
    """A program that prints this line."""
    return f"from benchmarks.peers.job import *; print_line({run!r})"


RIGHT = Run(2.0, 1.0, 500, *Answers(CHANGES, STREAM.modulus).of(JOB))


def contest(*taking_part: Program, seconds: float = 30.0) -> Contest:
    given = Namespace(rounds=1, seconds=seconds)
    return command.contest(JOB, Path("none"), taking_part, Answers(CHANGES, STREAM.modulus), given)


def test_wrong_answers_have_no_speed() -> None:
    assert RIGHT.delta is not None
    wrong = replace(RIGHT, delta=Sums(RIGHT.delta.number, 1))
    with pytest.raises(WrongAnswerError, match=r"other, best, 3-Hop, 20 a commit: its deltas add up to .* DuckDB says"):
        contest(program("other", line(wrong)))
    more = replace(RIGHT, rows=502)
    with pytest.raises(WrongAnswerError, match=r"not all deltas are net; rows of them: \{500: 'one', 502: 'other'\}"):
        contest(program("one", line(RIGHT)), program("other", line(more)))
    counted = replace(RIGHT, rows=None, result=Sums(RIGHT.result.number + 1, None), delta=None)
    with pytest.raises(WrongAnswerError, match="its result add up to"):
        contest(program("other", line(counted)))


def test_programs_that_fail_or_are_late_are_named() -> None:
    failing = "import sys; sys.exit('there is no plan for it')"
    with pytest.raises(ProgramError, match="other, best, 3-Hop: there is no plan for it"):
        contest(program("other", failing))
    found = contest(program("slow", "import time; time.sleep(20)"), seconds=0.3)
    assert found.late == {("slow", "best"): 0.3}
    assert not found.runs


def test_the_table_says_who_is_faster() -> None:
    def run(wall: float, processor: float) -> list[Run]:
        return [replace(RIGHT, wall=wall, processor=processor), replace(RIGHT, wall=9.0, processor=9.0)]

    runs = {
        ("livejoin", "deltas"): run(2.0, 1.0),
        ("peer", "best"): run(0.5, 4.0),
        ("native", "paths"): run(0.02, 0.1),
    }
    found = Contest(JOB, runs, {("peer", "text"): 30.0}, frozenset({"native"}))
    assert found.ratios("wall") == {("peer", "best"): 0.25, ("native", "paths"): 0.01}
    assert found.wins("wall") == "peer, best 4"
    assert found.wins("processor") == "livejoin 4"
    screen = Console(record=True, width=160)
    command.show("wall", "wall", [found], screen)
    shown = screen.export_text()
    for text in ("0.25", "> 30 s", "0.01", "peer, best 4", "floor:"):
        assert text in shown


def test_where_there_is_no_cargo_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(programs, "which", lambda _: None)
    monkeypatch.setattr(programs, "_built", lambda _, name: str(tmp_path / name))
    written = tmp_path / "peers.json"
    options = "--small --limit 300 --build --cases 3-Hop --commits 50 1000 --workers 1 --rounds 1"
    assert main(["peers", *options.split(), "--json", str(written)]) == 0
    said = capsys.readouterr()
    assert "nothing is built: cargo is not there" in said.err
    for name in ("differential dataflow", "DBSP", "native"):
        assert f"skipped: {name}: cargo is not there" in said.err
    assert "skipped: 3-Hop: the stream has no 1,000 changes" in said.err
    (found,) = json.loads(written.read_text())["contests"]
    assert [one["program"] for one in found["runs"]] == ["livejoin"]
    assert "3-Hop" in said.out


def test_what_is_not_built_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "which", lambda _: "cargo")
    monkeypatch.setattr(programs, "_built", lambda _, name: str(tmp_path / name))
    assert [one.missing for one in programs.programs()] == [
        "",
        "it is not built, which make peers does",
        "it is not built, which make peers DBSP=1 does",
        "it is not built, which make peers does",
    ]
    (tmp_path / "native").touch()
    assert programs.programs()[-1].missing == ""


def test_a_build_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\nexit 101\n")
    cargo.chmod(0o755)
    monkeypatch.setattr(programs, "which", lambda _: str(cargo))
    assert main(["peers", "--small", "--limit", "300", "--build"]) == 2
    assert "peers: cargo could not build it" in capsys.readouterr().err
