"""``python -m benchmarks tpch --dbsp``: what a program is given, what it says, and that a wrong answer has no speed."""

from __future__ import annotations

import json
import re
import sys
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks.__main__ import main
from benchmarks.figures import WrongAnswerError
from benchmarks.peers.programs import DBSP, ProgramError
from benchmarks.tpch import native
from benchmarks.tpch.answers import Recomputed, same
from benchmarks.tpch.data import queries, statements, used
from benchmarks.tpch.measure import TENTHS, Points, measure
from benchmarks.tpch.streams import Stream, stream

NATION = pa.table({"n_nationkey": pa.array([0, 1], pa.int32()), "n_name": ["CHINA", "PERU"]})
CUSTOMER = pa.table(
    {
        "c_custkey": pa.array(range(30), pa.int64()),
        "c_nationkey": pa.array([i % 2 for i in range(30)], pa.int32()),
        "c_acctbal": pa.array([Decimal(f"-{i}.0{i % 10}") for i in range(30)], pa.decimal128(15, 2)),
    }
)
TEXT = "SELECT n_name, COUNT(*), AVG(c_acctbal) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name"
PROGRAM = """
import sys
from collections import Counter
from pathlib import Path
import numpy as np

folder, *options = sys.argv[1:]
given = dict(zip(options[::2], options[1::2]))
numbers = lambda name: np.fromfile(Path(folder, name + ".numbers"), "<i8").tolist()
names = Path(folder, "nation.n_name.texts").read_text().splitlines()
of, balance = numbers("customer.c_nationkey"), numbers("customer.c_acctbal")
changes = np.fromfile(Path(folder, "changes"), "<i4").reshape(-1, 3).tolist()
always = np.fromfile(Path(folder, "always"), "<i4").reshape(-1, 3).tolist()
assert given["--tables"] == "customer,nation" and always == [[1, 0, 1], [1, 1, 1]]
points = [int(point) for point in given["--points"].split(",")]
assert set(points) <= {*np.fromfile(Path(folder, "ends"), "<i8").tolist()}
for point in points:
    there, sums = Counter(), Counter()
    for _, row, weight in changes[:point]:
        there[names[of[row]]] += weight
        sums[names[of[row]]] += weight * balance[row]
    rows = ", ".join(f'["{name}", {n}, [{sums[name] / 100}, {n}]]' for name, n in there.items() if n)
    print(f'{{"changes": {point}, "rows": [{rows}]}}')
print('{"wall": 3.5, "processor": 2.0, "delta": 7}')
"""


@pytest.fixture
def given() -> Stream:
    return stream("fifo", {"nation": NATION, "customer": CUSTOMER})


def job(given: Stream, folder: Path, commit: int = 4) -> native.Job:
    return native.Job("q", "best", folder, native.write(given, commit, folder), 1, given.points(commit, TENTHS))


def right(given: Stream, commit: int = 4) -> Points:
    found: Points = {}
    for point in given.points(commit, TENTHS):
        with Recomputed(given.contents(point)) as duckdb:
            found[point] = {"q": duckdb.rows(TEXT)}
    return found


def test_a_program_takes_turns_and_is_compared(given: Stream, tmp_path: Path) -> None:
    peer = partial(native.run, job(given, tmp_path), program=(sys.executable, "-c", PROGRAM))
    found = measure("q", {"q": TEXT}, given, 1, 4, runs=2, peers={"DBSP, best": peer})
    assert found.peers == {"DBSP, best": (2.0, 2.0)}, "the smaller of its times"
    assert found.checks == TENTHS
    assert found.commits == -(-given.changes // 4)
    ratio, least, most = found.by_peer("DBSP, best")
    assert 0 < least <= most == ratio == 2 / found.seconds
    assert found.by_recomputing == found.recomputed * found.commits / found.seconds > 0


def test_wrong_answers_of_a_program_have_no_speed(given: Stream, tmp_path: Path) -> None:
    one, points = job(given, tmp_path), right(given)
    for wrong in (PROGRAM.replace("weight * balance", "balance"), PROGRAM.replace("if n)", "if n > 3)")):
        with pytest.raises(WrongAnswerError, match=r"DBSP, best, q after \d+ changes: found .* a wrong answer has no"):
            native.run(one, points, (sys.executable, "-c", wrong))
    with pytest.raises(WrongAnswerError, match=r"results after \[.*\] changes, expected after \[\]"):
        native.run(one, {}, (sys.executable, "-c", PROGRAM))


def test_programs_that_fail_or_are_late_are_named(
    given: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job(given, tmp_path)
    with pytest.raises(ProgramError, match="DBSP, best, q: there is no such plan"):
        native.run(one, {}, (sys.executable, "-c", "import sys; sys.exit('there is no such plan')"))
    monkeypatch.setattr(native, "SECONDS", 0.2)
    with pytest.raises(ProgramError, match=r"longer than 0\.2 s"):
        native.run(one, {}, (sys.executable, "-c", "import time; time.sleep(20)"))


def test_every_plan_is_in_the_program() -> None:
    source = (DBSP / "src" / "bin" / "tpch" / "main.rs").read_text()
    known = {(query, plan) for query, plans in native.PLANS.items() for plan in plans}
    assert {*re.findall(r'\("(q\d+)", "(\w+)"\) =>', source)} == known
    assert {query for query, _ in known} <= queries().keys()
    columns = "".join(file.read_text() for file in (DBSP / "src" / "bin" / "tpch").glob("*.rs"))
    for query in native.PLANS:
        words = {*re.findall(r"\w+", queries()[query])}
        assert {word for word in words if f'"{word}"' in columns} or query == "q13"


def test_answers_are_compared_by_value() -> None:
    expected = [("a", Decimal("1.50"), None), ("b", Decimal("0.333333"), date(1970, 1, 3))]
    assert same([("b", Fraction(1, 3), 2), ("a", Decimal("1.5"), None)], expected)
    assert not same([("b", Fraction(1, 3), 3), ("a", Decimal("1.5"), None)], expected)
    assert not same([("b", Fraction(334, 1000), 2), ("a", Decimal("1.5"), None)], expected)
    assert not same([("a", Decimal("1.5"), None)], expected)
    assert not same([("b", Fraction(1, 3), 2), ("a", Decimal("1.5"), 0)], expected)


def test_used_columns_are_those_of_the_text_and_the_keys() -> None:
    text = "SELECT COUNT(*) FROM customer WHERE c_nationkey = 1"
    found = used({"customer": CUSTOMER, "nation": NATION}, [text], columns=True)
    assert {name: rows.column_names for name, rows in found.items()} == {"customer": ["c_custkey", "c_nationkey"]}
    (made,) = statements(found)
    assert (
        made == "CREATE TABLE customer (c_custkey BIGINT NOT NULL, c_nationkey INT NOT NULL, PRIMARY KEY (c_custkey))"
    )
    referenced = used({"customer": CUSTOMER, "nation": NATION}, [TEXT], columns=True)
    assert "FOREIGN KEY (c_nationkey) REFERENCES nation (n_nationkey)" in statements(referenced)[1]


@pytest.mark.parametrize("built", [True, False])
def test_what_is_not_built_is_skipped(
    built: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(native, "PROGRAM", tmp_path / "tpch")
    monkeypatch.setattr("benchmarks.peers.programs.which", lambda _: "cargo" if built else None)
    assert main(["tpch", "--dbsp", "--data", str(tmp_path / "none"), "--queries", "23"]) == 2
    reason = f"it is not built, which {native.BUILD} does" if built else "cargo is not there"
    assert f"skipped: DBSP: {reason}" in " ".join(capsys.readouterr().err.split())


def test_commits_end_where_the_stream_says(given: Stream) -> None:
    ends = given.commit_ends(7)
    assert ends[0] == 0
    assert ends[-1] == given.changes
    assert {later - one for one, later in pairwise(ends[:-1])} == {7}
    assert given.points(7, TENTHS)[-1] == given.changes
    assert set(given.points(7, TENTHS)) <= set(ends[1:])
    assert json.loads(json.dumps(given.points(7, TENTHS))) == list(given.points(7, TENTHS)), "plain numbers"
