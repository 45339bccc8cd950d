"""Joins by order beside DBSP and Flink: the changes, the checks, and what is said where a program is not there."""

from __future__ import annotations

import math
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.figures import WrongAnswerError
from benchmarks.peers.ordered import cases, command, contest, ours, stream
from benchmarks.peers.ordered.cases import CASES
from benchmarks.peers.ordered.contest import Contest, Job, Run
from benchmarks.peers.programs import DBSP, ProgramError

VIEW, BEST = ("livejoin", "view"), ("DBSP", "best")
CHANGES = stream.coming_and_going(40, 3, 60)
RUST = DBSP / "src" / "bin" / "ordered"


def job(tmp_path: Path, case: str, commit: int = 20, plans: tuple[str, ...] = ("best",)) -> Job:
    file = tmp_path / "changes"
    stream.write(CHANGES, file)
    return Job(CASES[case], file, 80, commit, 60, plans)


def test_rows_of_both_sides_come_and_go() -> None:
    there = stream.content(CHANGES)
    assert {name: table.num_rows for name, table in there.items()} == {"trades": 40, "quotes": 40}
    assert stream.content(CHANGES[:80]) != there
    counts = np.unique(CHANGES[80:, :2], axis=0, return_counts=True)
    assert counts[1].tolist() == [15] * 4, "deletions and insertions on both sides"
    present: set[tuple[int, ...]] = set()
    for table, weight, *row in CHANGES.tolist():
        assert ((table, *row) in present) == (weight < 0)
        (present.add if weight > 0 else present.remove)((table, *row))


@pytest.mark.parametrize("symbols", [1, 4])
def test_quotes_of_a_symbol_lie_apart(symbols: int) -> None:
    both = stream.coming_and_going(50, symbols, 400)
    found = np.unique(both[both[:, 0] == stream.QUOTES][:, 2:5], axis=0)
    for symbol in range(symbols):
        begins, ends = found[found[:, 0] == symbol][:, 1:].T
        assert (ends[:-1] <= begins[1:]).all()
    trades = both[both[:, 0] == stream.TRADES]
    assert len(np.unique(trades[:, 5])) == 100, "an id is a key"
    assert np.isin(trades[:, 3], found[:, 1]).any() and not np.isin(trades[:, 3], found[:, 1]).all(), "some ties"


def test_rows_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    changes = stream.appended(200, 7)
    assert (np.diff(changes[:, 3]) >= 0).all() and (changes[:, 1] == 1).all()
    stream.write(changes, tmp_path / "changes")
    assert (stream.read(tmp_path / "changes") == changes).all()


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.duckdb], ids=lambda case: case.name)
@pytest.mark.parametrize("symbols", [1, 3])
def test_what_duckdb_is_asked_is_the_query(case: cases.Case, symbols: int) -> None:
    changes = stream.coming_and_going(60, symbols, 100)
    contest.compare(case.name, contest.right(replace(case, duckdb=""), changes), contest.right(case, changes))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("commit", [5, 20])
def test_livejoin_has_duckdbs_result(
    case: str, commit: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = job(tmp_path, case, commit)
    expected = contest.right(one.case, CHANGES)
    assert len(expected) > 0
    given = f"--plan view --commit {commit} --loaded 80 --workers 1".split()
    ours.main([str(one.file), str(tmp_path / "result"), "--query", case, *given])
    found = np.fromfile(tmp_path / "result", "<i8").reshape(-1, one.case.columns)
    contest.compare(case, found, expected)
    assert '"rows": 0' not in capsys.readouterr().out
    with pytest.raises(WrongAnswerError, match="a wrong answer has no speed"):
        contest.compare(case, found[1:], expected)


def test_dbsp_has_every_plan() -> None:
    source = (RUST / "main.rs").read_text()
    for case in CASES.values():
        for plan in case.dbsp:
            assert f'("{case.name}", "{plan}") =>' in source
    assert source.count('") => read(') == sum(len(case.dbsp) for case in CASES.values())
    assert f"const BAND: Time = {cases.BAND};" in source
    assert "const NULL: i64 = i64::MIN;" in source and np.iinfo(np.int64).min == ours.NULL


def program(expected: np.ndarray, rows: int = 7, **more: float) -> list[str]:
    """A program that writes this result and prints these times."""
    line = {"wall": 2.0, "processor": 1.0, "median": 0.5, "rows": rows, **more}
    text = f"import sys, json, numpy as n; n.array({expected.tolist()}).tofile(sys.argv[2]); print(json.dumps({line}))"
    return [sys.executable, "-c", text]


def test_a_program_with_the_right_result_has_its_times(tmp_path: Path) -> None:
    one = job(tmp_path, cases.VALID)
    expected = contest.right(one.case, CHANGES)
    assert contest.run(program(expected[::-1]), one, BEST, expected, 60) == Run(2.0, 1.0, 0.5, 7)
    with pytest.raises(WrongAnswerError, match=r"DBSP, best, valid at: \d+ rows"):
        contest.run(program(expected[1:]), one, BEST, expected, 60)
    with pytest.raises(ProgramError, match="no plan"):
        contest.run([sys.executable, "-c", "raise SystemExit('no plan')"], one, BEST, expected, 60)
    assert contest.run([sys.executable, "-c", "import time; time.sleep(60)"], one, BEST, expected, 0.5) is None


def test_who_was_ended_is_not_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = job(tmp_path, cases.BEFORE, plans=("best", "text"))
    started = []

    def run(_start: object, _job: Job, who: contest.Who, _expected: object, _limit: float) -> Run | None:
        started.append(who)
        return None if who == ("DBSP", "text") else Run(2.0, 6e-5 * len(started), 3e-6, 5)

    monkeypatch.setattr(contest, "run", run)
    given_up: dict[contest.Who, str] = {}
    found = contest.compete(one, CHANGES, 2, 9.0, given_up, ["peer"])
    assert started == [VIEW, BEST, ("DBSP", "text"), VIEW, BEST]
    assert given_up == {("DBSP", "text"): "> 9 s"}
    assert [found.figure(who) for who in (VIEW, BEST, ("DBSP", "text"))] == ["1 / 3", "2 / 3 (2)", "> 9 s"]
    assert Contest(one).figure(BEST) == ""


def test_deltas_that_are_not_net_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = iter((5, 6))
    monkeypatch.setattr(contest, "run", lambda *_: Run(1.0, 1.0, 1.0, next(rows)))
    with pytest.raises(WrongAnswerError, match="not all deltas are net"):
        contest.compete(job(tmp_path, cases.ASOF), CHANGES, 1, 9.0, {}, ["peer"])


def test_flinks_rows_behind_the_first_half_are_timed(tmp_path: Path) -> None:
    one = job(tmp_path, cases.ASOF)
    text = (
        "import sys, json, pathlib\nfolder = pathlib.Path(sys.argv[4]) / 'out'\nfolder.mkdir()\n"
        "(folder / 'part').write_text('0,7\\n1,-1\\n')\n(folder / 'empty').touch()\nprint('a warning')\n"
        "for n in (1, 3): print(json.dumps({'processor': n, 'wall': n * n, 'result': str(folder)}))\n"
    )
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\n{text}")
    python.chmod(0o755)
    expected = np.array([[0, 7], [1, ours.NULL]])
    found = contest.run_flink(str(python), one, 2, expected, 60)
    assert found is not None
    assert (found.wall, found.processor, found.rows) == (8, 2, 2)
    assert math.isnan(found.median)
    with pytest.raises(WrongAnswerError, match="Flink, parallelism 1"):
        contest.run_flink(str(python), one, 1, expected[:1], 60)


SMALL = ["ordered", "--peers", "--sizes", "40", "--commits", "20", "100", "--rounds", "1", "--cases", cases.ASOF]


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """livejoin without peers, in this process."""

    def printed(_name: str, words: list[str], _limit: float) -> str:
        assert words[:3] == [sys.executable, "-m", "benchmarks.peers.ordered.ours"]
        with redirect_stdout(StringIO()) as found:
            ours.main(words[3:])
        return found.getvalue()

    monkeypatch.setattr(contest, "printed", printed)
    monkeypatch.setattr(command, "PROGRAM", tmp_path / "none")
    monkeypatch.setattr(command, "_load_kernels", lambda *_: None)
    monkeypatch.setattr(command, "_MANY", 40)


@pytest.mark.usefixtures("alone")
def test_a_line_for_each_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--appended", "300"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert [line.count("|") for line in lines if line.startswith("| ASOF LEFT JOIN")] == [9, 9, 9, 9, 7, 7]
    assert len({line.count("|") for line in lines[:4]}) == 1, "the heading is as wide as its lines"
    assert "skipped: DBSP: " in printed.err
    assert "skipped: Flink: " in printed.err


@pytest.mark.usefixtures("alone")
def test_nothing_is_printed_for_a_wrong_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "right", lambda *_: np.zeros((1, 2), np.int64))
    assert main([*SMALL, "--appended", "0"]) == 1
    printed = capsys.readouterr()
    assert "wrong answer: livejoin, view, ASOF LEFT JOIN" in printed.err
    assert "| ASOF" not in printed.out
