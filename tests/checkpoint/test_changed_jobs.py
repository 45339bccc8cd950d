"""A checkpoint goes on as another job: views come, go and change, and so do tables and columns."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest
from streams import Stream, job

from livejoin.checkpoint.job import Job
from livejoin.errors import StateError
from strategies import IS_FUZZ

T = {"T": "a BIGINT, b STRING"}
ROWS = [(1, "x"), (1, "x"), (2, "y"), (3, None)]


def started(folder: Path, declared: Job) -> Stream:
    stream = Stream(folder)
    stream.open(declared)
    stream.run(0, {"T": ROWS})
    return stream


def test_a_view_that_is_new_tells_all_it_holds_with_the_first_batch(tmp_path: Path) -> None:
    stream = started(tmp_path, job(T, {"v": "SELECT a, b FROM T"}))
    stream.open(job(T, {"v": "SELECT a, b FROM T", "w": "SELECT b, COUNT(*) AS n FROM T GROUP BY b"}))
    stream.run(1, {"T": [(5, "y")]})
    assert stream.sum("w") == stream.held("w") == Counter({("x", 2): 1, ("y", 2): 1, (None, 1): 1})
    assert stream.output["v"][1] == Counter({(5, "y"): 1}), "it has told the rest"


def test_until_that_batch_is_done_it_is_told_again(tmp_path: Path) -> None:
    stream = started(tmp_path, job(T, {"v": "SELECT a, b FROM T"}))
    wider = job(T, {"v": "SELECT a, b FROM T", "w": "SELECT a FROM T"})
    for _ in range(2):
        stream.open(wider)
        stream.deliver(1, stream.take(1, {"T": [(5, "y")]}))
    stream.open(wider)
    stream.run(1, {})
    stream.open(wider)
    stream.run(2, {"T": [(6, "z")]})
    assert stream.sum("w") == stream.held("w") == Counter({(1,): 2, (2,): 1, (3,): 1, (5,): 1, (6,): 1})


@pytest.mark.parametrize(
    ("initial", "told"),
    [
        ("difference", Counter({(2, "y"): -1, (3, None): -1, (4, "z"): 1, (1, "x"): 0})),
        ("whole", Counter({(1, "x"): 2, (4, "z"): 1})),
        ("nothing", Counter({(4, "z"): 1})),
    ],
)
def test_a_view_with_another_query(tmp_path: Path, initial: str, told: Counter[object]) -> None:
    stream = started(tmp_path, job(T, {"v": "SELECT a, b FROM T", "u": "SELECT a, b FROM v"}))
    stream.open(job(T, {"v": "SELECT a, b FROM T WHERE b IN ('x', 'z')", "u": "SELECT a, b FROM v"}), initial=initial)
    stream.run(1, {"T": [(4, "z")]})
    for view in ("v", "u"):
        assert stream.output[view][1] == told
        assert initial != "difference" or stream.sum(view) == stream.held(view)


def test_the_difference_of_a_view_that_nothing_can_be_compared_of(tmp_path: Path) -> None:
    stream = started(tmp_path, job(T, {"v": "SELECT a, b FROM T"}))
    other = job(T, {"v": "SELECT a AS c, b FROM T"})
    says = (
        "view 'v' has other columns than before: was (a int64, b string), is now (c int64, b string); give it another"
    )
    with pytest.raises(StateError, match=re.escape(says)):
        stream.open(other)
    stream.open(other, initial="whole")
    stream.run(1, {})
    assert stream.output["v"][1] == Counter(ROWS)


def test_the_way_a_query_is_written_is_no_change(tmp_path: Path) -> None:
    stream = started(tmp_path, job(T, {"v": "SELECT a, b FROM T"}))
    engine = stream.open(job(T, {"v": "select  a, -- the number\n b\nfrom T"}))
    assert engine.initial == {}


def test_a_view_goes(tmp_path: Path) -> None:
    stream = started(tmp_path, job(T, {"v": "SELECT a, b FROM T", "w": "SELECT a FROM T"}))
    stream.open(job(T, {"v": "SELECT a, b FROM T"}))
    stream.run(1, {"T": [(9, "z")]})
    assert 1 not in stream.output["w"]
    assert stream.sum("v") == stream.held("v")


def test_tables_come_and_go(tmp_path: Path) -> None:
    stream = started(tmp_path, job(T, {"v": "SELECT a, b FROM T"}))
    both = {**T, "U": "k STRING PRIMARY KEY, n BIGINT"}
    joined = {"v": "SELECT a, b FROM T", "j": "SELECT a, n FROM T JOIN U ON b = k"}
    stream.open(job(both, joined))
    stream.run(1, {"U": [("x", 10), ("y", 20)]})
    assert stream.sum("j") == stream.held("j") == Counter({(1, 10): 2, (2, 20): 1})
    stream.open(job(both, joined))  # the log has batches of two jobs
    assert stream.held("j") == stream.sum("j")
    stream.open(job({"U": both["U"]}, {"w": "SELECT k FROM U"}))
    stream.run(2, {"U": [("z", 30)]})
    assert stream.sum("w") == stream.held("w") == Counter({("x",): 1, ("y",): 1, ("z",): 1})


def test_a_column_comes(tmp_path: Path) -> None:
    """Rows that are there have NULL in it; windows, keys, tombstones and strings stay as they are."""
    tables = {
        "Log": "a BIGINT, b STRING",
        "Keyed": "k BIGINT PRIMARY KEY, s BIGINT, t STRING",
    }
    options = {"Log": {"window_rows": 3}, "Keyed": {"sequence_by": "s"}}
    views = {"w": "SELECT * FROM Log", "k": "SELECT k, s, t FROM Keyed"}
    stream = Stream(tmp_path)
    stream.open(job(tables, views, keep_all=True, **options))
    stream.run(
        0,
        {
            "Log": [(number, str(number)) for number in range(5)],
            "Keyed": [(1, 5, "x", "upsert"), (2, 6, "y", "upsert")],
        },
    )
    stream.run(1, {"Keyed": [(2, 8, None, "delete")]})
    wider = {
        "Log": "a BIGINT, c DECIMAL(20, 2), b STRING",
        "Keyed": "more DOUBLE, k BIGINT PRIMARY KEY, s BIGINT, t STRING",
    }
    with pytest.raises(StateError, match="view 'w' has other columns than before"):
        stream.open(job(wider, views, keep_all=True, **options))
    views = {"w": "SELECT a, b, c FROM Log", "k": "SELECT k, s, t, more FROM Keyed"}
    engine = stream.open(job(wider, views, keep_all=True, **options), initial="whole")
    assert engine.job.columns == {"Log": ("a", "b", "c"), "Keyed": ("k", "s", "t", "more")}
    del stream.output["w"], stream.output["k"]
    stream.run(2, {"Log": [(9, "9", None)], "Keyed": [(2, 7, "late", 0.5, "upsert"), (3, 7, "z", 0.5, "upsert")]})
    assert stream.sum("w") == stream.held("w") == Counter({(3, "3", None): 1, (4, "4", None): 1, (9, "9", None): 1})
    assert stream.sum("k") == stream.held("k") == Counter({(1, 5, "x", None): 1, (3, 7, "z", 0.5): 1})
    engine = stream.open(job(wider, views, keep_all=True, **options))
    engine.database._check()
    assert stream.held("k") == stream.sum("k")


def test_a_column_that_was_not_kept(tmp_path: Path) -> None:
    stream = started(tmp_path, job(T, {"v": "SELECT a, b FROM T"}))
    narrow = Stream(tmp_path / "narrow")
    narrow.open(job(T, {"v": "SELECT a FROM T"}))
    narrow.run(0, {"T": [(1,)]})
    with pytest.raises(StateError, match=r'column \'b\' was not kept of the rows .* keep = "all" from the beginning'):
        narrow.open(job(T, {"v": "SELECT a, b FROM T"}))
    engine = stream.open(job(T, {"v": "SELECT a FROM T"}), initial="nothing")
    assert engine.job.columns == {"T": ("a", "b")}, "what is kept stays, since rows have it"


@pytest.mark.parametrize(
    ("tables", "options", "says"),
    [
        ({"T": "a INT, b STRING"}, {}, "column 'a' was BIGINT and is now INT"),
        ({"T": "a BIGINT, b CHAR(3)"}, {}, r"column 'b' was STRING and is now CHAR\(3\)"),
        ({"T": "a BIGINT"}, {}, "column 'b' was there, the rows have it, and the changes come without it now"),
        ({"T": "a BIGINT, b STRING, c INT NOT NULL"}, {}, "the new column 'c' is NOT NULL"),
        ({"T": "a BIGINT PRIMARY KEY, b STRING"}, {}, r"the key was absent and is now \['a'\]"),
        ({"T": "a BIGINT, b STRING"}, {"T": {"window_rows": 7}}, "window_rows was absent and is now 7"),
    ],
)
def test_what_cannot_go_on(tmp_path: Path, tables: dict[str, str], options: dict[str, object], says: str) -> None:
    stream = started(tmp_path, job(T, {"v": "SELECT a, b FROM T"}))
    with pytest.raises(StateError, match=f"belongs to another job: .*{says}"):
        stream.open(job(tables, {"v": "SELECT a FROM T"}, keep_all=True, **options))
    empty = Stream(tmp_path / "empty")
    empty.open(job(T, {"v": "SELECT a, b FROM T"}))
    empty.run(0, {})
    empty.open(job(tables, {"v": "SELECT a FROM T"}, keep_all=True, **options), initial="whole")


def test_a_batch_that_was_taken_for_another_job(tmp_path: Path) -> None:
    """It stays if it has all columns, and comes again if not."""
    stream = started(tmp_path, job(T, {"v": "SELECT a, b FROM T"}))
    stream.take(1, {"T": [(7, "q")]})
    stream.open(job(T, {"v": "SELECT a, b FROM T", "w": "SELECT a FROM T WHERE a > 2"}))
    stream.run(1, {"T": [(8, "other")]})
    assert stream.sum("w") == stream.held("w") == Counter({(3,): 1, (7,): 1})
    stream.take(2, {"T": [(9, "r")]})
    stream.open(
        job({"T": "a BIGINT, b STRING, c INT"}, {"v": "SELECT a, b FROM T", "w": "SELECT c FROM T"}), initial="whole"
    )
    stream.run(2, {"T": [(9, "r", 4)]})
    assert stream.held("w") == Counter({(None,): 5, (4,): 1})


def test_many_jobs_in_a_row(tmp_path: Path) -> None:
    """At random: every view that is there is what its deltas add up to, and what another engine makes of the rows."""
    dice = random.Random(3)
    texts = [
        "SELECT a, b FROM T",
        "SELECT a, b FROM T WHERE a > 2",
        "SELECT a, MAX(b) AS b FROM T GROUP BY a",
        "SELECT x.a, y.b FROM T x JOIN T y ON x.a = y.a",
        "SELECT DISTINCT a, b FROM T",
    ]
    stream = Stream(tmp_path)
    rows: list[tuple[int, str]] = []
    for number in range(40 if IS_FUZZ else 18):
        if dice.random() < 0.6 or number == 0:
            views = {name: dice.choice(texts) for name in dice.sample("uvwxyz", 3)}
            if any(name not in views and name in stream.output for name in "uvwxyz"):
                for name in [name for name in stream.output if name not in views]:
                    del stream.output[name]  # its name may come back, with a new output
            engine = stream.open(job(T, views, keep_all=True))
            if dice.random() < 0.3 and number:
                engine.snapshot()
        changes = [(dice.randrange(5), dice.choice("pqr")) for _ in range(3)]
        rows += changes
        if dice.random() < 0.2 and number:  # a process of another job dies when it has delivered
            engine = stream.open(job(T, {name: dice.choice(texts) for name in views}, keep_all=True))
            stream.deliver(number, stream.take(number, {"T": changes}))
            stream.open(job(T, views, keep_all=True))
        stream.run(number, {"T": changes})
        for view, sql in views.items():
            assert stream.sum(view) == stream.held(view), (number, view, sql)
    assert sum(engine.database.stats()["tables"]["T"]["rows"] for _ in "T") == len(rows)


@pytest.mark.parametrize(("longer", "goes_on"), [("VARCHAR(4)", True), ("STRING", True), ("VARCHAR(2)", False)])
def test_texts_may_become_longer(tmp_path: Path, longer: str, goes_on: bool) -> None:
    view = {"v": "SELECT a, b FROM T"}
    stream = started(tmp_path, job({"T": "a BIGINT, b VARCHAR(3)"}, view))
    wider = job({"T": f"a BIGINT, b {longer}"}, view)
    if not goes_on:
        with pytest.raises(StateError, match=r"column 'b' was VARCHAR\(3\) and is now VARCHAR\(2\)"):
            stream.open(wider)
        return
    stream.open(wider)
    stream.run(1, {"T": [(9, "abcd")]})
    assert stream.sum("v") == stream.held("v") == Counter([*ROWS, (9, "abcd")])
