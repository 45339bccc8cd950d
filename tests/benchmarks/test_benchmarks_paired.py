"""Two revisions in turns: a version beside itself, one whose answers differ, one that cannot be measured."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.__main__ import main
from benchmarks.paired import small_commits, workload
from benchmarks.paired.command import PairedError, Ratios, checked_out

ROOT = Path(__file__).resolve().parents[2]
CASES = [workload.FIRST, *(case.name for case in workload.CASES)]


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    file = tmp_path / "edges.txt"
    rows = np.random.default_rng(7).integers(0, 30, (120, 2)).tolist()
    file.write_text("".join(f"{src} {dst}\n" for src, dst in rows))
    return file


@pytest.mark.torture
def test_a_version_beside_itself_has_the_same_answers(
    edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "paired.json"
    options = ["--before", str(ROOT), "--data", str(edges), "--rounds", "1", "--json", str(written)]
    assert main(["paired", *options]) == 0
    found = json.loads(written.read_text())["cases"]
    assert [one["case"] for one in found] == CASES
    assert all(len(one["before"]) == len(one["after"]) == 1 and one["ratio"] > 0 for one in found)
    assert "triangles" in capsys.readouterr().out


@pytest.mark.torture
def test_other_answers_have_no_ratio(edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other" / "src" / "livejoin"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text(WRONG)
    options = ["--before", str(tmp_path / "other"), "--data", str(edges), "--rounds", "1"]
    assert main(["paired", *options]) == 1
    said = capsys.readouterr()
    assert f"wrong answer: {CASES[1]}: other has" in " ".join(said.err.split())
    assert not said.out


WRONG = """
import pyarrow as pa
ROWS = pa.table({"a": pa.array([], pa.int64())})
class Database:
    def create_table(self, *_): ...
    def create_view(self, *_, **more): return self
    def apply(self, *_): return {"result": ROWS}
    def replay(self, *_, **more): return self.apply()
    def to_arrow(self): return ROWS
"""


def test_a_version_that_does_not_run_is_named(edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken" / "src" / "livejoin").mkdir(parents=True)
    (tmp_path / "broken" / "src" / "livejoin" / "__init__.py").write_text("raise ImportError('not today')")
    assert main(["paired", "--before", str(tmp_path / "broken"), "--data", str(edges)]) == 2
    assert "broken: ImportError: not today" in " ".join(capsys.readouterr().err.split())
    assert main(["paired", "--before", "no-such-revision", "--data", str(edges)]) == 2
    assert "'no-such-revision' is neither a folder nor a revision" in " ".join(capsys.readouterr().err.split())


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="no repository")
def test_a_worktree_is_gone_afterwards(tmp_path: Path) -> None:
    with checked_out("HEAD", tmp_path / "before") as folder:
        assert (folder / "src" / "livejoin" / "__init__.py").exists()
    assert not (tmp_path / "before").exists()
    listed = subprocess.run(["git", "worktree", "list"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert str(tmp_path) not in listed
    with pytest.raises(PairedError, match="neither"), checked_out("no-such-revision", tmp_path / "before"):
        pass


def test_ratios_are_those_of_rounds() -> None:
    one = Ratios("x", (1.0, 2.0, 4.0), (3.0, 1.0, 4.0))
    assert (one.ratios, one.median) == ([0.5, 1.0, 3.0], 1.0)


def test_deltas_that_do_not_add_up_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = np.random.default_rng(8).integers(0, 9, (60, 2))
    counted = iter(range(10_000))
    right = workload._fingerprint

    def wrong(rows: pa.Table) -> tuple[int, int]:
        number, hashes = right(rows)
        return number + (next(counted) == 1), hashes

    for case in workload.CASES:
        workload._run(case, edges)
    monkeypatch.setattr(workload, "_fingerprint", wrong)
    with pytest.raises(AssertionError, match="do not add up"):
        workload._run(workload.CASES[1], edges)


def test_small_commits_come_and_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_commits, "COMMITS", 2)
    file = tmp_path / "edges.npy"
    np.save(file, np.random.default_rng(7).integers(0, 12, (60, 2)))
    small_commits.main(str(file))
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(found) == len(small_commits.CASES) * len(small_commits.DELTAS) * len(small_commits.SIZES)
    for case in small_commits.CASES:
        answers = [one["answer"] for one in found if one["case"].startswith(f"{case.name}, 10 ")]
        assert {tuple(answer[:2]) for answer in answers} == {tuple(answers[0][:2])}
        assert int(answers[0][0]) > int(answers[0][1]) > 0
        assert [int(answer[2]) > 0 for answer in answers] == [False, False, True]
