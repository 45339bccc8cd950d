"""``deletes = "trusted"``: the views are those of a table that keeps its rows, and memory is what views keep."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin import errors
from livejoin.database.transactions.trusted import fold, trusted_tables
from livejoin.state.trusted_table import TrustedTable
from oracle import assert_same_rows, connect, multiset, signed_multiset
from strategies import IS_FUZZ, seeds

Row = tuple[Any, ...]
PROPERTIES = " TBLPROPERTIES ('livejoin.deletes' = 'trusted')"
COLUMNS = {
    "t": "k STRING, x BIGINT, y DOUBLE, d DECIMAL(30, 2), note STRING",
    "u": "k STRING, z BIGINT",
    "c": "x BIGINT, w STRING",
}
SCHEMAS = {
    "t": pa.schema(
        {"k": pa.string(), "x": pa.int64(), "y": pa.float64(), "d": pa.decimal128(30, 2), "note": pa.string()}
    ),
    "u": pa.schema({"k": pa.string(), "z": pa.int64()}),
    "c": pa.schema({"x": pa.int64(), "w": pa.string()}),
}
VIEWS = {
    "groups": "SELECT k, COUNT(*) AS n, SUM(x) AS s, SUM(d) AS sd, SUM(y) AS sy, AVG(x) AS a FROM t WHERE x > 2 "
    "GROUP BY k",
    "many": "SELECT k, COUNT(*) FILTER (WHERE x > 3) AS n, BOOL_AND(x > 1) AS b, BIT_OR(x) AS o FROM t GROUP BY k",
    "all_rows": "SELECT COUNT(*) AS n, SUM(x) AS s FROM t",
    "having": "SELECT k, SUM(x) AS s FROM t GROUP BY k HAVING COUNT(*) > 3",
    "rows_of": "SELECT x, note FROM t WHERE k <> 'a'",
    "joined": "SELECT t.k AS k, t.x AS x, u.z AS z FROM t JOIN u ON t.k = u.k WHERE t.x > 1",
    "counted": "SELECT t.k AS k, COUNT(*) AS n, SUM(z) AS z FROM t JOIN u ON t.k = u.k GROUP BY t.k",
    "star": "SELECT COUNT(*) AS n FROM t JOIN u ON t.k = u.k JOIN c ON c.x = t.x",
    "outer_rows": "SELECT c.w AS w, t.k AS k, u.z AS z FROM c LEFT JOIN t ON c.x = t.x LEFT JOIN u ON t.k = u.k",
    "twice": "SELECT a.k AS k, COUNT(*) AS n FROM t a JOIN t b ON a.k = b.k GROUP BY a.k",
    "power": "SELECT COUNT(*) AS n FROM t a JOIN u b ON a.k = b.k JOIN u d ON a.k = d.k",
    "values_of": "SELECT k, MAX(x) AS m, MIN(d) AS i, COUNT(DISTINCT note) AS n FROM t GROUP BY k",
    "once": "SELECT DISTINCT k, x FROM t",
    "first_rows": "SELECT x, k, note FROM t ORDER BY x DESC, k NULLS FIRST, note, d LIMIT 5",
    "ranks": "SELECT k, x, note, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x, note, d NULLS FIRST, y) AS r FROM t",
    "there": "SELECT w FROM c WHERE EXISTS (SELECT 1 FROM t WHERE t.x = c.x) "
    "AND NOT EXISTS (SELECT 1 FROM u WHERE u.z = c.x)",
    "both": "SELECT k, COUNT(*) AS n FROM (SELECT k FROM t UNION ALL SELECT k FROM u) q GROUP BY k",
    "with_checked": "SELECT v, COUNT(*) AS n FROM (SELECT k AS v FROM t UNION ALL SELECT w AS v FROM c) q GROUP BY v",
    "of_itself": "SELECT k, COUNT(*) AS n FROM (SELECT k FROM t UNION ALL SELECT k FROM t WHERE x > 3) q GROUP BY k",
    "without": "SELECT k FROM t EXCEPT SELECT k FROM u",
    "above_average": "SELECT x FROM t WHERE x > (SELECT AVG(z) FROM u)",
    "compared": "SELECT a.k AS k, b.z AS z FROM t a JOIN u b ON a.k = b.k AND a.x < b.z",
    "nested": "SELECT n, COUNT(*) AS m FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) q GROUP BY n",
}
SEEDS = seeds(1, 12)


class Feed:
    """A database of two tables that keep no rows and one that does, beside plain lists of rows.

    Args:
        seed: Of all choices.
        folder: Where the database stays; None if it is in memory alone.
        late: Views that are created when rows are there.
        threads: The database's threads.
    """

    def __init__(self, seed: int, folder: Path | None = None, late: int = 0, threads: int = 1) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.db = livejoin.Database(folder, threads=threads)
        for name, columns in COLUMNS.items():
            self.db.execute(f"CREATE TABLE {name} ({columns})" + (PROPERTIES if name != "c" else ""))
        self.rows: dict[str, list[Row]] = {name: [] for name in COLUMNS}
        self.late = dict(self.random.sample(sorted(VIEWS.items()), late))
        self.seen: dict[str, Counter[Row]] = {}
        for name, sql in VIEWS.items():
            if name not in self.late:
                self.create(name, sql)

    def create(self, name: str, sql: str, **options: Any) -> None:
        self.db.create_view(name, sql, **options)
        self.seen[name] = multiset(self.db.views[name].to_arrow())

    def create_late(self) -> None:
        """Create a view that knows of the rows by what it is told."""
        name, sql = self.late.popitem()
        read = set(re.findall(r"\w+", sql.partition("FROM")[2]))
        given = {one: table(one, self.rows[one]) for one in ("t", "u") if one in read and self.came(one)}
        self.create(name, sql, backfill=given)

    def came(self, name: str) -> int:
        base = self.db._contents.tables[name]
        assert isinstance(base, TrustedTable)
        return base.came

    def row(self, name: str) -> Row:
        pick, choice = self.random.randrange, self.random.choice
        if name == "t":
            decimals = choice([Decimal(pick(500)) / 100, Decimal(10**25), None])
            return (choice(["a", "b", "c", None]), pick(8), pick(-8, 8) * 0.5 ** pick(60), decimals, f"note {pick(5)}")
        return (choice("abd"), pick(8)) if name == "u" else (pick(8), choice("pqr"))

    def changes(self) -> dict[str, pa.Table]:
        """Rows that come and go in any order, deletions before insertions too."""
        found = {}
        for name, rows in self.rows.items():
            changed: list[tuple[Row, str]] = []
            for _ in range(self.random.randrange(8)):
                if rows and self.random.random() < 0.5:
                    changed.append((rows.pop(self.random.randrange(len(rows))), "delete"))
                else:
                    rows.append(self.row(name))
                    changed.append((rows[-1], "insert"))
            self.random.shuffle(changed)
            found[name] = table(name, [row for row, _ in changed], [kind for _, kind in changed])
        return {name: given for name, given in found.items() if given.num_rows}

    def commit(self) -> None:
        commit = self.db.apply(self.changes())
        for name in self.seen:
            self.seen[name].update(signed_multiset(commit[name]))
            self.seen[name] = Counter({row: times for row, times in self.seen[name].items() if times})

    def live(self, how: str) -> None:
        """Go on as what the tables keep says: copied, let go, shrunk, or loaded again."""
        contents = self.db._contents
        match how:
            case "copied":
                for base in trusted_tables(contents):
                    fold(contents, base)
            case "let go":
                contents.graph.let_go(self.random.sample(contents.graph.nodes, 3))
            case "collected":
                contents.seen.is_due = True
            case "opened" if self.folder is not None:
                self.db.close()
                self.db = livejoin.Database(self.folder)
            case _:
                pass

    def check(self) -> None:
        self.db._check()
        with connect() as duck:
            for name in COLUMNS:
                duck.register(name, table(name, self.rows[name]))
            for name in self.seen:
                found = multiset(self.db.views[name].to_arrow())
                assert_same_rows(found, multiset(duck.sql(VIEWS[name]).to_arrow_table()), name)
                assert found == self.seen[name], f"the deltas of {name} add up to it"


def table(name: str, rows: list[Row], kinds: list[str] | None = None) -> pa.Table:
    schema = SCHEMAS[name]
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    found = pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
    return found if kinds is None else found.append_column("_change_type", pa.array(kinds, pa.string()))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_views_are_those_of_the_rows(seed: int, threads: int) -> None:
    feed = Feed(seed, threads=threads)
    for _ in range(30 if IS_FUZZ else 15):
        feed.commit()
        feed.live(feed.random.choice(["", "copied", "let go", "collected"]))
        if feed.random.random() < 0.2:
            with pytest.raises(errors.AbsentRowError, match="trusted"):
                feed.db.apply("t", table("t", [("zz", 1, None, None, "")], ["delete"]))
        if feed.random.random() < 0.3:
            feed.check()
    feed.check()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_folder_has_what_views_keep(seed: int, tmp_path: Path) -> None:
    """Views that are created late are told the rows, which the log has too."""
    feed = Feed(seed, tmp_path / "shop", late=8)
    for number in range(24 if IS_FUZZ else 16):
        feed.commit()
        if feed.late and number % 2:
            feed.create_late()
        feed.live(feed.random.choice(["", "copied", "opened", "let go"]))
        if number % 8 == 7:
            feed.check()


@pytest.mark.parametrize("trusted", [False, True])
def test_a_copy_has_what_views_keep(tmp_path: Path, trusted: bool) -> None:
    feed = Feed(7)
    for number in range(12 if IS_FUZZ else 8):
        feed.commit()
        if number % 4 == 3:
            feed.db.save(tmp_path / f"copy {number}")
            feed.db = livejoin.Database.load(tmp_path / f"copy {number}", trusted=trusted)
            feed.check()


def test_memory_is_that_of_the_groups() -> None:
    """One hundred groups of 400,000 rows: what the table keeps is bounded, and the answer is that of all rows."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT, x BIGINT)" + PROPERTIES)
    view = db.create_view("v", "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k")
    for number in range(20):
        values = np.arange(20_000) + 20_000 * number
        db.apply("t", pa.table({"k": values % 100, "x": values}))
    stats = db.stats()
    assert stats["tables"]["t"]["capacity_bytes"] < 5 << 20 < 400_000 * 16
    assert stats["capacity_bytes"] < 1 << 20
    every = np.arange(400_000)
    expected = pa.table({"k": np.arange(100), "n": [4_000] * 100, "s": [int(every[k::100].sum()) for k in range(100)]})
    assert multiset(view.to_arrow()) == multiset(expected)


def test_a_commit_that_fails_changes_nothing() -> None:
    """A view that fails, an assertion, and a deletion too many: the groups are as they were, and go on."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k STRING, x BIGINT)" + PROPERTIES)
    groups = db.create_view("groups", "SELECT k, SUM(10 DIV x) AS s, COUNT(*) AS n FROM t GROUP BY k")
    db.create_view("rows_of", "SELECT k FROM t")
    db.apply("t", [("a", 1), ("a", 2), ("b", 5)])
    before = [multiset(db.views[name].to_arrow()) for name in ("groups", "rows_of")]
    gone = pa.table({"k": ["b"], "x": [5], "_change_type": ["delete"]})
    other = pa.table({"k": ["b"], "x": [2], "_change_type": ["delete"]})
    for wrong, error in (
        (pa.table({"k": ["a", "c"], "x": [3, 0]}), errors.ExpressionError),
        (pa.concat_tables([gone, gone]), errors.AbsentRowError),
        (other, errors.AbsentRowError),
    ):
        with pytest.raises(error):
            db.apply("t", wrong)
        db._check()
        assert [multiset(db.views[name].to_arrow()) for name in ("groups", "rows_of")] == before
    db.apply("t", gone)
    assert groups.to_pylist() == [{"k": "a", "s": 15, "n": 2}]


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ([("b", 1)], "group ('b')"),
        ([("a", 1), ("a", 2)], "group ('a')"),
        ([("a", 3)], "group ('a')"),
    ],
    ids=["no such group", "too many", "another row"],
)
def test_a_deletion_too_many_names_its_group(rows: list[Row], part: str) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k STRING, x BIGINT)" + PROPERTIES)
    db.create_view("v", "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k")
    db.apply("t", [("a", 1)])
    k, x = zip(*rows, strict=True)
    data = pa.table({"k": k, "x": x, "_change_type": ["delete"] * len(rows)})
    with pytest.raises(errors.AbsentRowError) as caught:
        db.apply("t", data)
    assert part in str(caught.value)
    assert db.views["v"].to_pylist() == [{"k": "a", "n": 1, "s": 1}]


def test_equal_rows_of_several_views_are_kept_once() -> None:
    db = livejoin.Database()
    db.execute(f"CREATE TABLE t (k BIGINT, x BIGINT, note STRING){PROPERTIES}; CREATE TABLE u (k BIGINT, z BIGINT)")
    db.create_view("one", "SELECT t.k AS k, u.z AS z FROM t JOIN u ON t.k = u.k")
    db.create_view("two", "SELECT COUNT(*) AS n FROM t JOIN u ON t.k = u.k")
    db.apply("t", [(number % 10, number, f"note {number}") for number in range(1_000)])
    stored = [block for block in db.stats()["blocks"] if block["kind"] == "stored rows"]
    assert [(block["rows"], len(block["read_by"])) for block in stored] == [(1_000, 2)]
    assert db._contents.graph.nodes[1].stored().rows == 10, "ten rows, each a hundred times"


def test_what_needs_rows_says_so() -> None:
    db = livejoin.Database()
    db.execute(f"CREATE TABLE t (id BIGINT PRIMARY KEY){PROPERTIES}; CREATE TABLE u (k BIGINT){PROPERTIES}")
    db.create_view("v", "SELECT SUM(id) AS n FROM t")
    db.execute("ALTER TABLE t ADD COLUMN x BIGINT; CREATE OR REPLACE VIEW v AS SELECT COUNT(*) AS n FROM t")
    db.apply("t", [(1, 1), (2, 2)])
    key = pa.table({"id": [1], "_change_type": ["delete"]})
    upsert = pa.table({"id": [1], "x": [5], "_change_type": ["upsert"]})
    wanted: list[tuple[Any, type[Exception], str]] = [
        (db.tables["t"].to_arrow, errors.ReadError, "trusted"),
        (db.tables["t"].count, errors.ReadError, "trusted"),
        (lambda: db.sql("SELECT * FROM t"), errors.SchemaError, "backfill"),
        (lambda: db.create_view("w", "SELECT SUM(x) AS s FROM t"), errors.SchemaError, "backfill={'t': rows}"),
        (lambda: db.create_view("v", "SELECT SUM(x) AS s FROM t", replace=True), errors.SchemaError, "backfill"),
        (lambda: db.execute("DELETE FROM t WHERE id = 1"), errors.SchemaError, "whole"),
        (lambda: db.execute("UPDATE t SET x = 1 WHERE id = 1"), errors.SchemaError, "whole"),
        (lambda: db.execute("ALTER TABLE t ADD COLUMN z INT"), errors.SchemaError, "trusted"),
        (lambda: db.execute("ALTER TABLE t RENAME TO s"), errors.SchemaError, "trusted"),
        (lambda: db.alter_table("t", append_only=True), errors.SchemaError, "trusted"),
        (lambda: db.apply("t", [(3, 3)], on_conflict="ignore"), errors.ChangeFormatError, "on_conflict"),
        (lambda: db.apply("t", key), errors.ChangeFormatError, "whole"),
        (lambda: db.apply("t", upsert), errors.ChangeFormatError, "whole"),
        (lambda: db.create_view("w", "SELECT x FROM t", backfill={"t": key}), errors.ChangeFormatError, "backfill"),
        (lambda: db.create_view("w", "SELECT x FROM t", backfill={"v": []}), errors.SchemaError, "view"),
        (lambda: db.create_view("w", "SELECT n FROM v", backfill={"u": [(1,)]}), errors.SchemaError, "does not read"),
    ]
    for call, error, part in wanted:
        with pytest.raises(error) as caught:
            call()
        assert part in str(caught.value)
        assert db.views["v"].to_pylist() == [{"n": 2}]
    db._check()
    db.create_view("w", "SELECT SUM(x) AS s FROM t", backfill={"t": [(1, 1), (2, 2)]})
    db.apply("t", [(3, 4)])
    assert db.views["w"].to_pylist() == [{"s": 7}]


@pytest.mark.parametrize(
    "option",
    [
        {"static": True},
        {"window_rows": 3},
        {"window_range": ("at", 5)},
        {"sequence_by": "at", "key": "id"},
        {"retain": "used"},
    ],
    ids=str,
)
def test_options_that_look_at_rows_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(errors.SchemaError, match="trusted"):
        livejoin.Database().create_table("t", "id BIGINT, at BIGINT", deletes="trusted", **option)


def test_a_view_that_is_dropped_takes_its_groups_along() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT)" + PROPERTIES)
    db.create_view("v", "SELECT k, COUNT(*) AS n FROM t GROUP BY k")
    db.apply("t", [(1,), (2,)])
    db.drop_view("v")
    (base,) = trusted_tables(db._contents)
    assert base.nbytes == 0
    with pytest.raises(errors.SchemaError, match="2 changes"):
        db.create_view("v", "SELECT k, COUNT(*) AS n FROM t GROUP BY k")


@pytest.mark.parametrize("damage", ["rows", "count", "twice", "code", "windows", "shape", "plan"])
def test_damaged_groups_are_refused(tmp_path: Path, damage: str) -> None:
    """Whoever forges a snapshot writes its checksums too: no group is taken that no rows can have."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k STRING, x DOUBLE)" + PROPERTIES)
    db.create_view("v", "SELECT k, COUNT(x) AS n, SUM(x) AS s FROM t GROUP BY k")
    db.apply("t", [("a", 1.5), ("b", 2.5), ("b", None)])
    db.save(tmp_path)
    (manifest,) = tmp_path.glob("v*/manifest.json")
    said = json.loads(manifest.read_text())
    (entry,) = [block["kept"] for block in said["blocks"] if "kept" in block]
    number = next(i for i, block in enumerate(said["blocks"]) if "kept" in block)
    file = manifest.parent / f"groups{number}.values.bin"
    values = np.frombuffer(file.read_bytes(), np.int64).reshape(entry["values"]["shape"]).copy()
    match damage:
        case "rows":
            values[1, 0] = -1
        case "count":
            values[2:] = np.where(values[2:] == 1, 9, values[2:])
        case "twice":
            values[0, 1] = values[0, 0]
        case "code":
            values[0, 0] = 99
        case "windows":
            beside = manifest.parent / f"groups{number}.beside.bin"
            beside.write_bytes(beside.read_bytes()[:-8])
            entry["beside"]["shape"][0] -= 1
            entry["beside"]["crc32"] = zlib.crc32(beside.read_bytes())
        case "shape":
            values = np.concatenate([values, values[-1:]])
            entry["values"]["shape"][0] += 1
        case "plan":  # as of a version that keeps other groups for this view
            said["blocks"][number]["digest"] = "0" * 16
    file.write_bytes(values.tobytes())
    entry["values"]["crc32"] = zlib.crc32(values.tobytes())
    text = json.dumps(said).encode()
    manifest.write_bytes(text)
    (tmp_path / "CURRENT").write_bytes(f"{manifest.parent.name} {zlib.crc32(text)}".encode())
    with pytest.raises(errors.StateError, match="lacks what 'v' keeps" if damage == "plan" else None):
        livejoin.Database.load(tmp_path)


def test_exact_sums_stay_exact(tmp_path: Path) -> None:
    """Sums of doubles are those of exact arithmetic, through copies, a file and deletions in another order."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT, x DOUBLE)" + PROPERTIES)
    view = db.create_view("v", "SELECT k, SUM(x) AS s, STDDEV_POP(x) AS d FROM t GROUP BY k")
    numbers = [1e300, 1e-300, 3.0, -1e300, float("inf"), 0.1, 2.0**-1074]
    db.apply("t", [(1, number) for number in numbers])
    for number in numbers[:5]:
        for base in trusted_tables(db._contents):
            fold(db._contents, base)
        db._contents.graph.let_go(db._contents.graph.nodes)
        db.apply("t", pa.table({"k": [1], "x": [number], "_change_type": ["delete"]}))
    db.save(tmp_path)
    db = livejoin.Database.load(tmp_path)
    db.apply("t", pa.table({"k": [1], "x": [0.1], "_change_type": ["delete"]}))
    assert db.views["v"].to_pylist() == [{"k": 1, "s": 2.0**-1074, "d": 0.0}]
    assert view.to_pylist() == [{"k": 1, "s": 0.1, "d": 0.05}]


def test_each_change_of_a_replay_is_a_version() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT, x BIGINT)" + PROPERTIES)
    db.create_view("v", "SELECT k, SUM(x) AS s FROM t GROUP BY k")
    log = pa.table({"k": [1, 1, 1], "x": [1, 2, 1], "_change_type": ["insert", "insert", "delete"], "_seq": [0, 1, 2]})
    commit = db.replay({"t": log}, granularity="change")
    assert commit["v"].column("_commit_version").to_pylist() == [1, 2, 2, 3, 3]
    absent = pa.table({"k": [2, 2], "x": [1, 1], "_change_type": ["delete", "insert"], "_seq": [3, 4]})
    with pytest.raises(errors.AbsentRowError):
        db.replay({"t": absent}, granularity="change")
    assert db.views["v"].to_pylist() == [{"k": 1, "s": 2}]


def test_strings_that_left_are_forgotten() -> None:
    """A stream of ever new strings: the dictionaries keep those of the groups that are there."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k STRING, note STRING)" + PROPERTIES)
    view = db.create_view("v", "SELECT k, COUNT(note) AS n FROM t GROUP BY k")
    for number in range(60):
        come = [(f"group {number} {i}", f"note {number} {i}") for i in range(500)]
        gone = [(f"group {number - 1} {i}", f"note {number - 1} {i}") for i in range(500 if number else 0)]
        kinds = ["delete"] * len(gone) + ["insert"] * len(come)
        k, note = zip(*gone, *come, strict=True)
        db.apply("t", pa.table({"k": k, "note": note, "_change_type": kinds}))
    assert view.count() == 500
    assert db._contents.codec.entries < 20_000
    db._check()


def test_generated_columns_are_made_of_columns_that_no_view_reads() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k STRING, g STRING GENERATED ALWAYS AS (upper(k)), n INT)" + PROPERTIES)
    view = db.create_view("v", "SELECT g, SUM(n) AS n FROM t GROUP BY g")
    db.apply("t", [{"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "a", "n": 3}])
    db.apply("t", [{"k": "b", "n": 2, "_change_type": "delete"}])
    assert view.to_pylist() == [{"g": "A", "n": 4}]


def test_many_groups_are_read_back_in_any_order() -> None:
    """They come in the order of their hashes; the directory has room for all before the first one comes."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT)" + PROPERTIES)
    view = db.create_view("v", "SELECT k, COUNT(*) AS n FROM t GROUP BY k")
    db.apply("t", pa.table({"k": np.arange(50_000)}))
    before = multiset(view.to_arrow())
    (base,) = trusted_tables(db._contents)
    fold(db._contents, base)
    with pytest.raises(errors.AbsentRowError):
        db.apply("t", pa.table({"k": [-1], "_change_type": ["delete"]}))
    assert multiset(view.to_arrow()) == before
    db._check()


def test_views_of_other_tables_do_not_follow_the_log(tmp_path: Path) -> None:
    """A folder is opened with the views over such tables, and what they read; the others are loaded at the end."""
    db = livejoin.Database(tmp_path / "shop")
    db.execute(f"CREATE TABLE t (k BIGINT){PROPERTIES}; CREATE TABLE u (k BIGINT)")
    for name, sql in {
        "beside": "SELECT COUNT(*) AS n FROM u",
        "read_by": "SELECT k FROM u WHERE k > 1",
        "over": "SELECT COUNT(*) AS n FROM t JOIN read_by r ON t.k = r.k",
        "above": "SELECT n + 1 AS n FROM over",
    }.items():
        db.create_view(name, sql)
    db.apply({"t": [(1,), (2,)], "u": [(2,), (2,), (3,)]})
    db.close()
    db = livejoin.Database(tmp_path / "shop")
    assert list(db.views) == ["beside", "read_by", "over", "above"]
    assert [db.views[name].to_pylist() for name in ("beside", "over", "above")] == [[{"n": 3}], [{"n": 2}], [{"n": 3}]]
    assert {name for name in db.views if db.views[name].stats()["commits"]} == {"read_by", "over", "above"}


def test_a_view_that_comes_late_has_its_columns_in_the_changes_that_stay() -> None:
    """Data of all forms: what is kept of the changes follows the views, also where words come as they are."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT, x BIGINT, y BIGINT)" + PROPERTIES)
    db.create_view("early", "SELECT k, COUNT(*) AS n FROM t GROUP BY k")
    db.apply("t", [{"k": 1, "x": 5, "y": 7, "_change_type": "insert"}])
    db.apply("t", pa.table({"k": ["2"], "x": ["6"], "y": ["8"]}), coerce="json")
    rows = [(1, 5, 7), (2, 6, 8)]
    db.create_view("late", "SELECT k, SUM(x) AS x FROM t GROUP BY k", backfill={"t": rows})
    db.create_view("joined", "SELECT a.x AS x, b.y AS y FROM t a JOIN t b ON a.k = b.k", backfill={"t": rows})
    db.apply("t", pa.table({"k": [1], "x": [10], "y": [20]}))
    db.apply("t", [(2, 30, 40)])
    db._contents.graph.let_go(db._contents.graph.nodes)
    assert multiset(db.views["late"].to_arrow()) == Counter({(1, 15): 1, (2, 36): 1})
    expected = [(x, y) for x in (5, 10) for y in (7, 20)] + [(x, y) for x in (6, 30) for y in (8, 40)]
    assert multiset(db.views["joined"].to_arrow()) == Counter(expected)
