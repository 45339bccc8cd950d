"""Deltas that take more memory than they may: the same rows as in memory, in batches, from files without names."""

from __future__ import annotations

import gc
import os
import random
import signal
import time
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import livejoin
from livejoin.dataflow.deltas import netting
from livejoin.dataflow.deltas.extents import DeltaWriter, Extent, stored_schema
from livejoin.errors import MemoryLimitError, ReadError, SchemaError, StorageError
from livejoin.state import files
from livejoin.state.scratch import Scratch, ScratchFile
from oracle import difference, multiset, signed_multiset
from scenario import Row, canonical_row
from torture.file_faults import open_files

HOP2 = "SELECT A.src AS a, B.dst AS b FROM G A JOIN G B ON A.dst = B.src"
VIEWS = {
    "hop3": "SELECT A.src AS a, B.src AS b, B.dst AS c, C.dst AS d FROM G A JOIN G B ON A.dst = B.src "
    "JOIN G C ON B.dst = C.src",
    "whole": "SELECT A.src AS a, A.dst AS b, A.tag AS s, B.dst AS c, B.tag AS t FROM G A JOIN G B ON A.dst = B.src",
    "ends": HOP2,
    "wide": "SELECT A.src AS a, C.dst AS d FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src",
    "told": "SELECT upper(A.tag) AS s, A.src / 3 AS q, B.tag AS t FROM G A JOIN G B ON A.dst = B.src",
    "rings": "SELECT A.src AS a, A.tag AS t FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src "
    "AND C.dst = A.src",
    "all_ends": "SELECT src AS v, tag AS t FROM G UNION ALL SELECT dst AS v, tag AS t FROM G",
    "either": "SELECT src AS v FROM G UNION SELECT dst AS v FROM G",
    "neither": "SELECT src AS v FROM G EXCEPT ALL SELECT dst AS v FROM G",
    "counted": "SELECT A.tag AS t, COUNT(*) AS n FROM G A JOIN G B ON A.dst = B.src GROUP BY A.tag",
    "stored": "SELECT A.src AS a, MAX(B.tag) AS m, COUNT(DISTINCT B.dst) AS k FROM G A JOIN G B ON A.dst = B.src "
    "GROUP BY A.src",
    "before": "SELECT A.src AS a, A.tag AS t, COUNT(*) AS n, SUM(B.dst) AS s FROM G A JOIN G B ON A.dst = B.src "
    "AND B.dst <= A.src GROUP BY A.src, A.tag",
    "pairs": "SELECT A.tag AS t, B.dst AS b FROM G A JOIN G B ON A.dst = B.src AND B.dst <= A.src AND A.tag <> B.tag",
    "hidden": "SELECT MAX(B.dst) AS m FROM G A JOIN G B ON A.dst = B.src GROUP BY A.src",
    "listed": "SELECT ARRAY_AGG(B.dst) AS m FROM G A JOIN G B ON A.dst = B.src GROUP BY A.src",
    "best": "SELECT src, dst FROM G ORDER BY dst DESC LIMIT 9",
    "above": "SELECT c.t AS t, c.n AS n, G.dst AS d FROM counted c JOIN G ON c.t = G.tag",
}
Change = tuple[int, int | None, str | None]


def database(folder: Path | None, over: Any = 1000, views: tuple[str, ...] = tuple(VIEWS), **options: Any) -> Any:
    spill = {} if folder is None else {"spill": folder, "spill_over": over}
    db = livejoin.Database(**spill, **options)
    db.create_table("G", "src BIGINT, dst BIGINT, tag STRING")
    for name in views:
        db.create_view(name, VIEWS[name])
    return db


def changes(rows: list[Change], sign: str, begin: int = 0) -> list[dict[str, Any]]:
    return [{"src": a, "dst": b, "tag": t, "_change_type": sign, "_seq": begin + i} for i, (a, b, t) in enumerate(rows)]


def random_rows(rng: random.Random, count: int, values: int = 4) -> list[Change]:
    pick = rng.randint
    return [
        (pick(0, values), None if pick(0, 15) == 0 else pick(0, values), rng.choice(["x", "Ü", "", None]))
        for _ in range(count)
    ]


def listed(delta: pa.Table) -> Counter[Row]:
    """The rows of a delta with their change types and versions; lists count as sets, whose order says nothing."""
    rows = zip(*(column.to_pylist() for column in delta.columns), strict=True)
    return Counter(
        tuple(tuple(sorted(v, key=repr)) if isinstance(v, list) else v for v in row) for row in map(canonical_row, rows)
    )


def in_batches(commit: livejoin.Commit, view: livejoin.View, most: int) -> pa.Table:
    batches = list(commit.batches(view.name, most))
    assert all(0 < batch.num_rows <= most for batch in batches)
    return pa.Table.from_batches(batches, view.delta_schema)


def check_order(delta: pa.Table) -> None:
    """Versions ascend; in each, what is deleted stands before what is inserted."""
    kinds = [kind == "insert" for kind in delta["_change_type"].to_pylist()]
    if not any(kind.startswith("update") for kind in delta["_change_type"].to_pylist()):
        pairs = list(zip(delta["_commit_version"].to_pylist(), kinds, strict=True))
        assert pairs == sorted(pairs)


def check_equal(spilled: livejoin.Commit, kept: livejoin.Commit, db: livejoin.Database) -> None:
    for name, view in db.views.items():
        expected = listed(kept[name])
        for found in (spilled[name], in_batches(spilled, view, 7), in_batches(kept, view, 7)):
            assert listed(found) == expected, name
            assert found.schema.equals(view.delta_schema, check_metadata=True)
        check_order(in_batches(spilled, view, 1000))


@settings(max_examples=4, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    granularity=st.sampled_from(["commit", "change", "apply"]),
    threads=st.sampled_from([1, 2]),
    over=st.sampled_from([4000, 40_000]),
)
@example(seed=59228, granularity="commit", threads=2, over=4000)  # a cell brings a group before another loses one
def test_spilled_deltas_are_those_in_memory(
    tmp_path_factory: pytest.TempPathFactory, seed: int, granularity: Any, threads: int, over: int
) -> None:
    rng = random.Random(seed)
    folder = tmp_path_factory.mktemp("spill")
    views = tuple(rng.sample(sorted(VIEWS), 3))
    views = views if "above" not in views else ("counted", *(view for view in views if view != "counted"))
    dbs = [database(place, over, views, threads=threads) for place in (folder, None)]
    there: list[Change] = []
    for _ in range(2):
        before = {name: multiset(view.to_arrow()) for name, view in dbs[0].views.items()}
        gone = [there.pop(rng.randrange(len(there))) for _ in range(min(len(there), rng.randint(0, 7)))]
        came = random_rows(rng, rng.randint(1, 9))
        there += came
        given = [*changes(gone, "delete"), *changes(came, "insert", len(gone))]
        if granularity == "apply":
            commits = [db.apply("G", given) for db in dbs]
        else:
            commits = [db.replay({"G": given}, granularity=granularity) for db in dbs]
        check_equal(*commits, dbs[0])
        for name, view in dbs[0].views.items():
            assert signed_multiset(commits[0][name]) == difference(multiset(view.to_arrow()), before[name])
        assert not list(folder.iterdir())
    dbs[0]._check()


@pytest.mark.parametrize(("granularity", "threads"), [("commit", 1), ("change", 2)])
def test_every_kind_of_view_spills(tmp_path: Path, granularity: Any, threads: int) -> None:
    rng = random.Random(5)
    first, second = random_rows(rng, 16), random_rows(rng, 8)
    commits = []
    for place in (tmp_path, None):
        db = database(place, 800, threads=threads)
        db.apply("G", changes(first, "insert"))
        log = [*changes(first[:6], "delete"), *changes(second, "insert", 6)]
        commits.append((db.replay({"G": log}, granularity=granularity), db))
    (spilled, db), (kept, _) = commits
    assert kept.spilled == ()
    assert set(spilled.spilled) >= {"hop3", "whole", "wide", "told", "above"}
    assert "on disk" in repr(spilled) and "on disk" not in repr(kept)
    check_equal(spilled, kept, db)
    assert {n: v.stats()["delta_rows"] for n, v in db.views.items()} == {
        n: v.stats()["delta_rows"] for n, v in commits[1][1].views.items()
    }


def written(scratch: Scratch, rows: list[tuple[int, str | None, int, int]], piece: int) -> list[Extent]:
    """Rows with an integer, a text, a weight and a version."""
    writer = DeltaWriter(scratch, stored_schema([pa.int64(), pa.string()]))
    found = []
    for begin in range(0, len(rows), piece):
        numbers, texts, weights, versions = zip(*rows[begin : begin + piece], strict=True)
        columns = [
            pa.array(numbers),
            pa.array(texts, pa.string()),
            pa.array([int(w > 0) for w in weights], pa.int8()),
            pa.array([abs(w) for w in weights]),
            pa.array(versions),
        ]
        found += writer.batch(pa.record_batch(columns, schema=writer.schema))
    return found


@pytest.mark.parametrize("hashes", ["sound", "two", "one"])
def test_parts_that_do_not_fit_are_split_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashes: str) -> None:
    if hashes != "sound":  # rows that hashes do not tell apart, all of them or half
        few = 1 if hashes == "one" else 2

        def collide(table: pa.Table) -> Any:
            return (table["c0"].to_numpy() % few).astype(np.uint64)

        monkeypatch.setattr(netting, "_hashes", collide)
    split: list[int] = []  # bits that parts were split by
    sides = netting._net_sides

    def counting(extents: Any, scratch: Any, writer: Any, used: int) -> Any:
        split.append(used)
        return sides(extents, scratch, writer, used)

    monkeypatch.setattr(netting, "_net_sides", counting)
    rng = random.Random(3)
    rows = [
        (rng.randint(0, 40), rng.choice(["x", None, "long" * 5]), rng.choice([-2, -1, 1, 3]), 1) for _ in range(300)
    ]
    rows += [(7, "hot", rng.choice([-1, 1, 1 << 40]), 1) for _ in range(300)]
    rng.shuffle(rows)
    rows += [(rng.randint(0, 3), "y", rng.choice([-1, 1]), version) for version in range(2, 40) for _ in range(4)]
    rows += [(1, None, 5, 50), (1, None, 1, 51)]
    scratch = Scratch(tmp_path, 2000)
    found = netting.net(written(scratch, rows, 50), scratch)
    expected: Counter[Row] = Counter()
    for number, text, weight, version in rows:
        expected[number, text, version] += weight
    got: Counter[Row] = Counter()
    order, signs = [], set()
    for extent in found:
        for number, text, kind, copies, version in zip(*extent.read().to_pydict().values(), strict=True):
            signs.add((number, text, version, kind))
            got[number, text, version] += copies if kind else -copies
            order.append((version, kind))
    assert got == Counter({row: net for row, net in expected.items() if net})
    assert order == sorted(order)
    assert len({row[:3] for row in signs}) == len(signs), "a row has one sign in a version"
    assert {"one": 0, "two": 4, "sound": 5}[hashes] <= max(split), "how often parts were split"
    assert sum(one.growth for one in found) == sum(expected.values())
    assert sum(one.rows for one in found) == sum(map(abs, expected.values()))


def test_a_hot_row_is_counted_and_not_listed(tmp_path: Path) -> None:
    db = livejoin.Database(spill=tmp_path, spill_over=1 << 20)
    db.create_table("G", "src BIGINT, dst BIGINT")
    db.create_view("u", "SELECT src AS v FROM G UNION ALL SELECT 1 AS v FROM G")
    db.create_view("p", "SELECT DISTINCT A.src AS a FROM G A JOIN G B ON A.dst = B.src")
    commit = db.apply("G", [(1, 1)] * 200_000)
    assert commit.spilled == ("u",)
    assert sum(batch.num_rows for batch in commit.batches("u")) == 400_000 == commit["u"].num_rows
    assert commit._deltas["u"]._extents[0].stored <= 200_000


def test_a_delta_stays_what_it_was_when_codes_are_used_again(tmp_path: Path) -> None:
    db = database(tmp_path, 1000, ("told",))
    numbers = np.arange(5000)
    rows = pa.table({"src": numbers, "dst": numbers + 1, "tag": [f"name {i}" for i in numbers]})
    commit = db.apply("G", rows)
    expected = Counter((f"NAME {i}", f"name {i + 1}") for i in range(4999))
    db.apply("G", rows.append_column("_change_type", pa.array(["delete"] * 5000)))
    for step in range(2):
        others = rows.slice(0, 4500).set_column(2, "tag", [[f"other {step} {i}" for i in range(4500)]])
        db.apply("G", others)
    # Of both steps the tags, and what the view makes of them.
    assert db._contents.codec.entries < 18_000, "codes were collected"
    assert commit.spilled == ("told",)
    assert Counter((r["s"], r["t"]) for b in commit.batches("told") for r in b.to_pylist()) == expected
    del db
    assert commit["told"].num_rows == 4999


def test_subscribers_get_tables_and_nothing_is_written_for_them(tmp_path: Path) -> None:
    db = database(tmp_path, 100, ("ends", "whole"))
    told: list[pa.Table] = []
    end = db.views["ends"].subscribe(told.append)
    rows = random_rows(random.Random(1), 20)
    commit = db.apply("G", changes(rows, "insert"))
    assert commit.spilled == ("whole",)
    assert told[0].equals(commit["ends"])
    end()
    assert set(db.apply("G", changes(rows, "delete")).spilled) == {"ends", "whole"}


def test_views_that_blocks_read_spill_what_they_show(tmp_path: Path) -> None:
    db = database(tmp_path, 500, ("ends",))
    db.create_view("same", HOP2)
    db.create_view("groups", "SELECT a, COUNT(DISTINCT b) AS n, MAX(b) AS m FROM ends GROUP BY a")
    rows = random_rows(random.Random(1), 30)
    commit = db.apply("G", changes(rows, "insert"))
    assert set(commit.spilled) >= {"ends", "same"}
    assert multiset(commit["ends"].select(["a", "b"])) == multiset(db.views["ends"].to_arrow())
    assert listed(commit["same"]) == listed(commit["ends"])
    gone = db.apply("G", changes(rows[:12], "delete"))
    assert listed(in_batches(gone, db.views["same"], 10)) == listed(gone["ends"])


def test_memory_for_a_large_delta_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over, count = 2 << 20, 1500
    peaks = {}
    pool = pa.default_memory_pool()
    arrow: list[int] = []
    append = ScratchFile.append

    def seen(file: ScratchFile, data: Any) -> int:  # a piece is here in all forms that it has on its way
        arrow.append(pool.bytes_allocated())
        return append(file, data)

    monkeypatch.setattr(ScratchFile, "append", seen)
    for place in (tmp_path, None):
        db = livejoin.Database(spill=place, spill_over=over if place else None)
        db.create_table("G", "src BIGINT, dst BIGINT")
        db.create_view("v", "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src")
        db.apply("G", [(i, 0) for i in range(count)])
        gc.collect()
        held = pool.bytes_allocated()
        arrow.clear()
        tracemalloc.start()
        commit = db.apply("G", [(0, i) for i in range(1, count)])
        read = 0
        for batch in commit.batches("v"):
            read += batch.num_rows
            arrow.append(pool.bytes_allocated())
        peaks[place] = tracemalloc.get_traced_memory()[1] + max(arrow) - held
        tracemalloc.stop()
        assert read == db.views["v"].count() - count > 2_000_000
    assert peaks[None] > 48_000_000  # 24 bytes a row
    assert peaks[tmp_path] < over + 6 * (4 << 20), "the bound, and a chunk in each of its forms on its way to the file"


def test_what_does_not_fit_into_the_limit_is_read_in_batches(tmp_path: Path) -> None:
    def grown(**spill: Any) -> livejoin.Database:
        db = livejoin.Database(memory_limit="20MB", **spill)
        db.create_table("G", "src BIGINT, dst BIGINT")
        db.create_view("v", HOP2)
        db.apply("G", [(number, 0) for number in range(1500)])
        return db

    rows = [(0, number) for number in range(1500)]
    with pytest.raises(MemoryLimitError, match="for deltas the database would take"):
        grown().apply("G", rows)
    db = grown(spill=tmp_path)
    commit = db.apply("G", rows)
    assert commit.spilled == ("v",) and db._contents.scratch is not None
    assert db._contents.scratch.over == 1_250_000
    with pytest.raises(MemoryLimitError, match=r"view 'v': its delta has 2,\d+,\d+ rows.*by Commit.batches"):
        commit["v"]
    assert sum(batch.num_rows for batch in commit.batches("v")) == db.views["v"].count() - 1500
    db._check()


def test_pieces_of_a_replay_spill(tmp_path: Path) -> None:
    db = database(tmp_path, 200, ("hop3",))
    rows = random_rows(random.Random(2), 30, 3)
    total: Counter[Row] = Counter()
    commits = list(db.replay({"G": changes(rows, "insert")}, max_rows=10))
    assert sum(commit.spilled == ("hop3",) for commit in commits) >= 2
    for commit in commits:
        total.update(signed_multiset(commit["hop3"]))
    assert total == multiset(db.views["hop3"].to_arrow())


linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list descriptors")


@linux
def test_files_have_no_names_and_go_with_their_commits(tmp_path: Path) -> None:
    db = database(tmp_path / "made" / "here", 200, ("ends", "whole"))
    assert not open_files(tmp_path)
    rows = random_rows(random.Random(1), 30)
    commit = db.apply("G", changes(rows, "insert"))
    other = db.apply("G", changes(rows[:20], "delete"))
    assert len(commit.spilled) == len(other.spilled) == 2
    assert not list((tmp_path / "made" / "here").iterdir())
    assert len(open_files(tmp_path)) == 4
    batches = commit.batches("ends", 5)
    first = next(batches)
    del commit, other, db
    assert len(open_files(tmp_path)) == 1, "who reads keeps what is read"
    assert first.num_rows + sum(batch.num_rows for batch in batches) > 5
    del batches
    assert not open_files(tmp_path)


@linux
def test_a_refused_commit_closes_its_files_whoever_holds_the_error(tmp_path: Path) -> None:
    db = database(tmp_path, 200, ("ends",))
    db.create_table("D", "k BIGINT")
    db.create_view("fails", "SELECT CAST(A.tag AS INT) AS n FROM G A JOIN D ON A.src = D.k")
    db.apply("D", [(2,)])
    rows = [*random_rows(random.Random(1), 30), (2, 2, "no number")]
    with pytest.raises(livejoin.errors.ExpressionError) as told:
        db.apply("G", changes(rows, "insert"))
    assert told.value.__traceback__ is not None
    assert not open_files(tmp_path)
    assert db.version == 1
    db._check()


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / f"livejoin-{'0a' * 16}.spill"
    other = tmp_path / "livejoin-notes.spill"
    for file in (left, other):
        file.write_bytes(b"something")
    livejoin.Database(spill=tmp_path)
    assert list(tmp_path.iterdir()) == [other]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_killed_process_leaves_nothing(tmp_path: Path) -> None:
    db = database(tmp_path, 200, ("ends",))
    rows = random_rows(random.Random(1), 30)
    heard, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            kept = []
            while True:
                kept.append(db.apply("G", changes(rows, "insert")))
                kept.append(db.apply("G", changes(rows, "delete")))
                os.write(tell, b"." * (kept[-1].spilled == ("ends",)))
        finally:
            os._exit(1)
    assert os.read(heard, 1) == b"."
    time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(heard)
    os.close(tell)
    livejoin.Database(spill=tmp_path)
    assert not list(tmp_path.iterdir())
    assert db.apply("G", changes(rows, "insert")).spilled == ("ends",)


def test_a_full_disk_refuses_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = database(tmp_path, 200, ("ends",))
    rows = random_rows(random.Random(1), 30)
    before = multiset(db.views["ends"].to_arrow())

    def full(function: Any, *arguments: Any, **named: Any) -> Any:
        if function is os.pwrite:
            raise OSError(28, "No space left on device")
        return function(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr("livejoin.state.scratch.system", full)
        with pytest.raises(
            StorageError, match=r"view 'ends': the delta could not be written to .*No space left"
        ) as told:
            db.apply("G", changes(rows, "insert"))
        assert isinstance(told.value.__cause__, OSError)
        pieces = db.replay({"G": changes(rows, "insert")}, max_rows=20)
        with pytest.raises(StorageError, match="nothing of it stands, at version 0") as told:
            next(pieces)
        assert isinstance(told.value.__cause__, OSError)
    assert db.version == 0 and multiset(db.views["ends"].to_arrow()) == before
    db._check()
    assert [commit.spilled for commit in pieces] == [("ends",), ("ends",)]
    assert files.system is not full


def test_a_spilled_delta_that_cannot_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = database(tmp_path, 200, ("ends",))
    commit = db.apply("G", changes(random_rows(random.Random(1), 30), "insert"))

    def broken(function: Any, *arguments: Any, **named: Any) -> Any:
        raise OSError(5, "Input/output error")

    expected = listed(commit["ends"])
    with monkeypatch.context() as patch:
        patch.setattr("livejoin.state.scratch.system", broken)
        for read in (lambda: commit["ends"], lambda: list(commit.batches("ends"))):
            with pytest.raises(StorageError, match=r"could not be read again: .*Input/output error"):
                read()
    assert listed(commit["ends"]) == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"spill": 3}, "spill is 3; allowed is the path of a folder"),
        ({"spill": ""}, "spill is ''"),
        ({"spill": True}, "spill is True"),
        ({"spill_over": "1MB"}, "spill names no folder to write to"),
        ({"spill": "x", "spill_over": 0}, "spill_over is 0; allowed are numbers of bytes"),
        ({"spill": "x", "spill_over": "much"}, "spill_over is 'much'"),
    ],
)
def test_options_that_are_none(options: dict[str, Any], said: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SchemaError, match=said):
        livejoin.Database(**options)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="for what is spilled cannot be used") as told:
        livejoin.Database(spill=tmp_path / "file")
    assert isinstance(told.value.__cause__, OSError)


def test_a_loaded_database_spills(tmp_path: Path) -> None:
    database(None, views=("ends",)).save(tmp_path / "saved")
    db = livejoin.Database.load(tmp_path / "saved", spill=tmp_path / "spill", spill_over=200)
    assert db.apply("G", changes(random_rows(random.Random(1), 30), "insert")).spilled == ("ends",)


def test_batches_of_views_that_have_no_delta() -> None:
    db = database(None, views=("ends",))
    db.create_view("quiet", HOP2, deltas=False)
    commit = db.apply("G", [])
    assert list(commit.batches("ends")) == [] and commit.spilled == ()
    for view, most, said in (("quiet", 5, "deltas=False"), ("no", 5, "no delta of a view"), ("ends", 0, "max_rows")):
        with pytest.raises(ReadError, match=said):
            commit.batches(view, most)
