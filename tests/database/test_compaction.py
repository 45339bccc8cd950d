"""State shrinks: after any history it is about what a fresh database of the same rows has; nothing else changes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.database.transactions import compaction
from livejoin.dataflow.graph import Graph
from livejoin.search.algorithm import Algorithm
from livejoin.state.codec import Codec
from livejoin.state.fullness import Fullness
from livejoin.state.recoding import Recoding
from livejoin.state.table import BaseTable
from oracle import assert_same_rows, connect
from strategies import IS_FUZZ, seeds
from torture.interrupts import NEVER, Life, cut_off, places

ROWS = 5_000
CONSTANT = 1 << 17  # twice the bytes below which a block is left as it is
SEED = 7
STEPS = 24 if IS_FUZZ else 14

TABLES = {
    "R": "a BIGINT, b BIGINT, s STRING",
    "S": "b BIGINT PRIMARY KEY, c BIGINT, t STRING",
    "T": "c BIGINT, a BIGINT",
}
KINDS: dict[str, tuple[Algorithm, str]] = {
    "crown": ("crown", "SELECT R.a AS a, S.c AS c, T.a AS d FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c"),
    "dyn": ("dyn", "SELECT R.a AS a, S.c AS c, T.a AS d FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c"),
    "chain": (
        "change-propagation",
        "SELECT R.a AS a, S.c AS c, T.a AS d FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c",
    ),
    "bags": (
        "auto",
        "SELECT R.a AS a, R.b AS b, S.c AS c FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c AND T.a = R.a",
    ),
    "annotated": ("auto", "SELECT b, COUNT(*) AS n, SUM(a) AS m FROM R GROUP BY b"),
    "groups": ("auto", "SELECT b % 50 AS k, COUNT(DISTINCT s) AS n, MAX(a) AS m FROM R GROUP BY b % 50"),
    "texts": ("auto", "SELECT concat('text ', CAST(a AS STRING)) AS k, COUNT(*) AS n FROM R GROUP BY 1"),
    "distinct": ("auto", "SELECT DISTINCT a, s FROM R"),
    "except": ("auto", "SELECT b AS v FROM R EXCEPT SELECT b AS v FROM S WHERE b % 3 = 0"),
    "first": ("auto", "SELECT s, a FROM R ORDER BY s DESC, a LIMIT 5"),
    "stored": (
        "auto",
        "SELECT S.t AS t, g.n AS n FROM (SELECT b, COUNT(*) AS n FROM R GROUP BY b) g JOIN S ON g.b = S.b",
    ),
}


def rows_of(numbers: np.ndarray) -> dict[str, pa.Table]:
    """The rows with these numbers; two of R share a key of S, and all meet one row of T at least."""
    keys = numbers // 2
    return {
        "R": pa.table({"a": numbers, "b": keys, "s": strings("the string of", numbers)}),
        "S": pa.table({"b": np.unique(keys), "c": np.unique(keys) // 2, "t": strings("t", np.unique(keys))}),
        "T": pa.table({"c": np.unique(keys // 2), "a": np.unique(keys // 2) * 4}),
    }


def strings(what: str, numbers: np.ndarray) -> pa.Array:
    return pa.array([f"{what} {i}" for i in numbers.tolist()], pa.string())


class Numbers:
    """A database whose rows are those of a set of numbers."""

    def __init__(self, kind: str, threads: int = 1) -> None:
        self.db = livejoin.Database(threads=threads)
        for name, columns in TABLES.items():
            self.db.create_table(name, columns)
        algorithm, self.sql = KINDS[kind]
        self.view = self.db.create_view("v", self.sql, algorithm=algorithm, deltas=False)
        self.there = np.empty(0, np.int64)

    def become(self, numbers: np.ndarray, step: int = 2000) -> None:
        """Let the rows be those of other numbers, which come and go some thousand at a time."""
        before, after = rows_of(self.there), rows_of(numbers)
        changes = []
        for name in TABLES:
            gone = before[name].join(after[name], before[name].column_names, join_type="left anti")
            came = after[name].join(before[name], before[name].column_names, join_type="left anti")
            kinds = pa.array(["delete"] * gone.num_rows + ["insert"] * came.num_rows, pa.string())
            changes.append((name, pa.concat_tables([gone, came]).append_column("_change_type", kinds)))
        for begin in range(0, max(len(table) for _, table in changes), step):
            self.db.apply({name: table.slice(begin, step) for name, table in changes})
        self.there = numbers

    def check(self) -> None:
        """The view is what DuckDB says."""
        self.db._check()
        with connect() as duck:
            for name, rows in rows_of(self.there).items():
                duck.register(f"rows_{name}", rows)
                duck.execute(f"CREATE TABLE {name} AS SELECT * FROM rows_{name}")
            assert_same_rows(self.view.to_arrow(), duck.execute(self.sql.replace("STRING", "VARCHAR")).to_arrow_table())


def capacities(db: livejoin.Database) -> dict[str, int]:
    """What is allocated, part by part."""
    stats = db.stats()
    found = {f"table {name}": one["capacity_bytes"] for name, one in stats["tables"].items()}
    found |= {f"block {one['number']}, {one['kind']}": one["capacity_bytes"] for one in stats["blocks"]}
    return {**found, "dictionaries": stats["dictionary_bytes"]}


def stops() -> dict[str, np.ndarray]:
    chance = np.random.default_rng(SEED)
    tenth, third = (np.sort(chance.choice(ROWS, ROWS // part, replace=False)) for part in (10, 3))
    some = {"nothing": np.empty(0, np.int64), "other rows": np.arange(2 * ROWS, 3 * ROWS), "any tenth": tenth}
    more = {"the last tenth": np.arange(ROWS)[-ROWS // 10 :], "any third": third}
    return some | more if IS_FUZZ else some


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_allocated_is_at_most_twice_that_of_a_fresh_database(kind: str) -> None:
    """Many rows come, and most of them leave, again and again; what stays is the end, or anything."""
    lived = Numbers(kind)
    for stop, left in stops().items():
        lived.become(np.arange(ROWS))
        lived.become(left)
        lived.db.apply({})
        fresh = Numbers(kind)
        fresh.become(left, step=ROWS)
        found, needed = capacities(lived.db), capacities(fresh.db)
        assert found.keys() == needed.keys()
        wrong = {part: (size, needed[part]) for part, size in found.items() if size > 2 * needed[part] + CONSTANT}
        assert not wrong, (stop, wrong)
        stats = lived.db.stats()
        for one in (stats, *stats["blocks"], *stats["tables"].values()):
            assert 0 <= one["state_bytes"] <= one["capacity_bytes"]
        assert stats["dictionary_state_bytes"] <= stats["dictionary_bytes"]
    lived.check()


def always(patch: pytest.MonkeyPatch) -> None:
    """Let all that can be built anew be built anew before every commit."""
    patch.setattr(compaction, "_PAUSE", 0)
    patch.setattr(compaction, "_SHARE", 1 << 60)
    patch.setattr(compaction, "_may_have_garbage", lambda contents: True)
    patch.setattr(compaction, "is_scattered", lambda codec: True)
    patch.setattr(compaction, "_pays", lambda contents, name: True)
    patch.setattr(Graph, "_pays", lambda self, node: True)
    patch.setattr(BaseTable, "is_sparse", property(lambda self: True))
    patch.setattr(Fullness, "is_sparse", lambda self, held, work, sizes, free: free() >= 0)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_built_anew_before_every_commit_changes_no_answer_and_no_delta(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(SEED, threads)
    always(monkeypatch)
    work = [view.stats() for view in life.db.views.values()]
    for _ in range(6 if IS_FUZZ else 4):
        life.commit()
        life.check()
    for before, view in zip(work, life.db.views.values(), strict=True):
        after = view.stats()
        assert all(before[name] <= after[name] for name in ("commits", "changes", "propagated", "probes", "touched"))


def test_what_is_cut_off_while_it_is_built_anew_is_there_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    life = Life(SEED)
    always(monkeypatch)

    def build() -> None:
        with life.db._guard.lock:
            life.db._guard.enter(again=False)
            compaction.compact(life.db._contents)
            graph = life.db._contents.graph
            graph.prepare(graph.path(tuple(life.db._contents.tables)))

    total = cut_off(build, KeyboardInterrupt, NEVER).points
    for turn, at in enumerate(places(total, len(seeds(5, 60)), SEED)):
        cut_off(build, (KeyboardInterrupt, MemoryError)[turn % 2], at)
        life.check()
        if turn % 5 == 0:
            life.commit()


def test_a_commit_in_the_middle_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As from a signal handler: what takes the place of the tables would not have its rows."""
    life = Life(SEED)
    always(monkeypatch)
    build = compaction.recoded

    def interrupted(codec: Codec) -> Recoding:
        with pytest.raises(livejoin.StateError, match="in the middle of another one"):
            life.db.apply("G", [(1, 2)])
        return build(codec)

    monkeypatch.setattr(compaction, "recoded", interrupted)
    life.commit()
    life.check()


def test_a_snapshot_of_an_empty_database_is_small(tmp_path: Path) -> None:
    lived, sizes = Numbers("first"), []
    for numbers in (np.arange(4 * ROWS), np.arange(0)):
        lived.become(numbers, step=ROWS)
        lived.db.save(tmp_path / str(numbers.size))
        files = [path for path in (tmp_path / str(numbers.size)).rglob("*") if path.is_file()]
        sizes.append(sum(path.stat().st_size for path in files))
    assert sizes[1] < sizes[0] // 20
    assert livejoin.Database.load(tmp_path / "0").stats()["dictionary_bytes"] <= lived.db.stats()["dictionary_bytes"]


@pytest.mark.parametrize(
    "window", [{"window_rows": 500}, {"window_range": ("ts", dt.timedelta(seconds=500))}], ids=["rows", "range"]
)
def test_rows_of_a_window_keep_their_order_under_other_ids(window: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    db = livejoin.Database()
    db.create_table("W", "ts TIMESTAMP, s STRING", **window)
    view = db.create_view("v", "SELECT s, COUNT(*) AS n FROM W GROUP BY s")
    begin = dt.datetime(2024, 1, 1)
    for turn in range(8):
        some = range(turn * 170, turn * 170 + 170)
        db.apply("W", [(begin + dt.timedelta(seconds=i), f"s{i}") for i in some])
        db._check()
        last = some[-1]
        assert sorted(view.to_arrow()["s"].to_pylist()) == sorted(f"s{i}" for i in range(max(0, last - 499), last + 1))


def test_small_tables_are_not_worth_loading_large_joins_anew() -> None:
    """R comes and goes beside S, which is a hundred times as large: the join stays as it is, whatever R does."""
    lived = Numbers("crown")
    lived.db.apply("S", rows_of(np.arange(40_000))["S"])
    db, node = lived.db, lived.db._contents.graph.nodes[0]
    block = None
    for turn in range(6):
        rows = pa.table({"a": range(600), "b": range(600), "s": [str(turn)] * 600})
        db.apply("R", rows)
        db.apply("R", rows.append_column("_change_type", pa.array(["delete"] * 600)))
        block = block or node.block
        assert node.block is block


def test_small_commits_do_not_look_at_all_tables_and_blocks_each(monkeypatch: pytest.MonkeyPatch) -> None:
    db = livejoin.Database()
    db.create_table("T", "a BIGINT PRIMARY KEY")
    looks: list[int] = []
    look = compaction.compact
    monkeypatch.setattr(compaction, "compact", lambda contents: (looks.append(contents.version), look(contents)))
    for i in range(33):
        db.apply("T", [(i,)])
    assert looks == [0, 16, 32]
    db.apply("T", [(i,) for i in range(100, 5000)])
    db.apply("T", [(10_000,)])
    assert looks[3:] == [34], "many rows are worth a look"
    with pytest.raises(livejoin.DuplicateKeyError):
        db.apply("T", [(10_000,)])
    db.apply("T", [(10_001,)])
    assert looks[4:] == [35], "and so is a commit that failed, which made room for itself"


def test_dictionaries_without_entries_are_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(compaction, "_collect", lambda contents: looks.append(contents.version))
    db = livejoin.Database()
    db.create_table("T", "a BIGINT")
    rows = pa.table({"a": range(5_000)})
    for _ in range(3):
        db.apply("T", rows)
        db.apply("T", rows.append_column("_change_type", pa.array(["delete"] * 5_000)))
    assert not looks, "there is nothing to collect"


def grown(calls: int) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """What is held, work and sizes while one thing after the other comes, in a buffer that is doubled."""
    for held in range(1, calls):
        yield held, held, (64 * held, 1 << (64 * held - 1).bit_length())


def test_what_grows_or_stays_is_never_sparse_and_what_falls_to_a_quarter_is() -> None:
    full, never = Fullness(), 0

    def nothing() -> int:
        return 0

    for held, work, sizes in grown(10_000):
        assert not full.is_sparse(held, work, sizes, nothing)
        never = work
    sizes = (64 * 9_999, 1 << 20)
    assert not full.is_sparse(5_000, never + 5_000, sizes, nothing)
    assert full.is_sparse(4_000, never + 6_000, sizes, nothing), "what is left would fit into a quarter"


def test_free_memory_tells_too_when_enough_was_done_to_look() -> None:
    full, looks = Fullness(), []

    def free() -> int:
        looks.append(1)
        return 900_000

    sizes = (1_000_000, 1 << 20)
    full.is_sparse(100, 10_000, sizes, free)
    assert not full.is_sparse(100, 10_100, sizes, free) and len(looks) == 1
    assert full.is_sparse(100, 20_000, sizes, free) and len(looks) == 2


def test_columns_of_few_values_leave_few_behind() -> None:
    """A window over rows with a word of their own and three of few: the dictionary has at most half in no use."""
    db = livejoin.Database()
    db.execute("CREATE TABLE T (k BIGINT PRIMARY KEY, own STRING, a STRING, b STRING, c STRING)")
    db.create_view("v", "SELECT a, COUNT(*) FROM T GROUP BY a")
    looks, size = 0, 20_000

    def rows(begin: int, end: int, kind: str) -> pa.Table:
        number = np.arange(begin, end)
        few = {name: pa.array([f"{name} {i % 5}" for i in number.tolist()]) for name in "abc"}
        own = pa.array([f"row {i}" for i in number.tolist()])
        return pa.table({"k": number, "own": own, **few, "_change_type": [kind] * (end - begin)})

    db.apply("T", rows(0, size, "insert"))
    for begin in range(0, 3 * size, 2_000):
        seen = db._contents.seen
        come, go = rows(size + begin, size + begin + 2_000, "insert"), rows(begin, begin + 2_000, "delete")
        db.apply("T", pa.concat_tables([come, go]))
        looks += db._contents.seen is not seen
        codec = db._contents.codec
        assert codec.entries <= 2 * (size + 15) + 2 * 2_000
    assert 2 <= looks <= 10, "a look for every sixth commit is enough, with 30 commits"
    db._check()


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 17])
def test_texts_of_many_columns_are_kept_as_long_as_a_row_or_a_tombstone_has_them(columns: int) -> None:
    """A key of a text, whose tombstones remember it, and as many other texts; some of all columns are the same."""
    db = livejoin.Database()
    others = ", ".join(f"c{i} STRING" for i in range(columns))
    db.execute(
        f"CREATE TABLE T (k STRING PRIMARY KEY, ts BIGINT, {others}) "
        "TBLPROPERTIES ('livejoin.sequence_by' = 'ts', 'livejoin.tombstones' = '50')"
    )
    db.create_view("v", "SELECT * FROM T")

    def rows(begin: int, end: int, kind: str) -> list[dict[str, object]]:
        texts = [{f"c{i}": f"{number % (3 + i)} of c{i % 3}" for i in range(columns)} for number in range(begin, end)]
        keys = [{"k": f"key {number}", "ts": number} for number in range(begin, end)]
        return [{**key, **text, "_change_type": kind} for key, text in zip(keys, texts, strict=True)]

    db.apply("T", rows(0, 200, "upsert"))
    for begin in range(0, 200, 40):
        db.apply("T", [{**row, "ts": 1000} for row in rows(begin, begin + 40, "delete")])
        db.apply("T", [{**row, "ts": 2000} for row in rows(200 + begin, 240 + begin, "upsert")])
        compaction._collect(db._contents)
        table = db._contents.tables["t"]
        used = [table.used_words(i) for i, column in enumerate(table.table.columns) if column.type.kind == "string"]
        assert db._contents.codec.entries == len(np.unique(np.concatenate(used)))
        expected = {(row["k"], *(row[f"c{i}"] for i in range(columns))) for row in rows(begin + 40, begin + 240, "")}
        found = db.views["v"].to_arrow().drop_columns(["ts"]).to_pylist()
        assert {tuple(row.values()) for row in found} == expected
        db._check()


def test_a_word_that_is_no_code_is_told() -> None:
    db = livejoin.Database()
    db.create_table("T", "a BIGINT, s STRING")
    db.apply("T", [(1, "one"), (2, None)])
    table, marks = db._contents.tables["t"], np.zeros(db._contents.codec.issued, np.bool_)
    assert table.mark_codes([1], table.used_ids(), marks).tolist() == [1]
    with pytest.raises(livejoin.StateError, match="T: a row has the code 0, which is not in the dictionary"):
        table.mark_codes([1], table.used_ids(), marks[:0])


@pytest.mark.parametrize("kind", ["all come", "some are absent", "some come and go", "by key", "columns that change"])
def test_entries_that_no_row_uses_are_less_than_half(kind: str) -> None:
    """Rows come and go, and with some of them strings that no row ever has; those of the last commit do not count."""
    db, rows_at_once = livejoin.Database(), 6000
    key = ", PRIMARY KEY (a)" if kind == "by key" else ""
    window = None if kind in ("by key", "some come and go") else 3 * rows_at_once  # which remembers rows that went
    db.create_table("R", f"a BIGINT, s STRING, t STRING{key}", window_rows=window)
    dice, stay = np.random.default_rng(SEED), [pa.table({})]
    for step in range(STEPS):
        numbers = np.arange(rows_at_once) + rows_at_once * (step % 4 if key else step)
        many = kind == "columns that change" and step > STEPS // 2
        rows = pa.table(
            {
                "a": numbers,
                "s": [f"the string {step} {i}" for i in numbers],
                "t": [f"{step} {i}" if many else f"{i % 5}" for i in numbers],
                "_change_type": ["insert"] * rows_at_once,
            }
        )
        if kind == "some come and go":
            stay.append(rows.slice(4000))
            gone = [rows.slice(0, 4000), *stay[-4:-3]] if step > 3 else [rows.slice(0, 4000)]
            rows = pa.concat_tables([rows, *(told(one, "delete") for one in gone)])
        if kind == "by key":
            rows = rows.set_column(3, "_change_type", pa.array(dice.choice(["upsert", "delete"], rows_at_once)))
        if kind == "some are absent":
            texts = pa.array([f"nobody has {step} {i}" for i in numbers])
            rows = pa.concat_tables([rows, told(rows.set_column(1, "s", texts), "delete")])
        fresh = len({*rows["s"].to_pylist(), *rows["t"].to_pylist()})
        db.apply("R", rows, on_conflict="update" if key else "ignore")
        entries, view = db._contents.codec.entries, db.create_view("v", "SELECT s, t FROM R")
        there = view.to_arrow()
        db.drop_view("v")
        used = len({*there["s"].to_pylist(), *there["t"].to_pylist()})
        assert entries <= 2 * used + compaction._MIN_GARBAGE + fresh, (kind, step)


def told(rows: pa.Table, kind: str) -> pa.Table:
    """The same rows as changes of another kind."""
    return rows.set_column(rows.num_columns - 1, "_change_type", pa.array([kind] * rows.num_rows))
