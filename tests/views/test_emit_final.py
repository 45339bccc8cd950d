"""EMIT FINAL: the windows that a watermark has closed, against a model in lists and DuckDB; rows only come."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_inequality_views import operators

from livejoin import Database
from livejoin.errors import SchemaError, SqlSyntaxError, UnknownNameError, UnsupportedQueryError
from livejoin.plan.operators import AggregateOperator, ThresholdOperator
from oracle import connect, multiset, signed_multiset, without_zeros
from strategies import IS_FUZZ, seeds
from torture.interrupts import cut_off

BEGIN = dt.datetime(2026, 1, 31, 12)
MINUTE = dt.timedelta(minutes=1)
DELAY = 5 * MINUTE
NAMES = ("id", "k", "ts", "v")
Row = tuple[Any, ...]
Groups = dict[tuple[Any, ...], list[Row]]


def windows(rows: list[Row], length: int, slide: int) -> list[tuple[dt.datetime, dt.datetime, list[Row]]]:
    """The windows of so many minutes, each with its rows."""
    found: dict[dt.datetime, list[Row]] = defaultdict(list)
    for row in rows:
        if row[2] is None:
            continue
        last = row[2] - (row[2] - dt.datetime(1970, 1, 1)) % (slide * MINUTE)
        for back in range(-(-length // slide)):
            start = last - back * slide * MINUTE
            if row[2] < start + length * MINUTE:
                found[start].append(row)
    return [(start, start + length * MINUTE, inside) for start, inside in found.items()]


def sessions(rows: list[Row], gap: int) -> list[tuple[dt.datetime, dt.datetime, list[Row]]]:
    """The sessions, each with its rows; a row at the end of one is part of it."""
    found: list[list[Row]] = []
    for row in sorted((row for row in rows if row[2] is not None), key=lambda row: row[2]):
        if found and row[2] <= found[-1][-1][2] + gap * MINUTE:
            found[-1].append(row)
        else:
            found.append([row])
    return [(inside[0][2], inside[-1][2] + gap * MINUTE, inside) for inside in found]


def by_key(rows: list[Row]) -> Groups:
    found: Groups = defaultdict(list)
    for row in rows:
        found[(row[1],)].append(row)
    return found


def tumbling(rows: list[Row], mark: dt.datetime) -> list[Row]:
    return [
        (*key, start, end, len(inside), sum(row[3] for row in inside))
        for key, group in by_key(rows).items()
        for start, end, inside in windows(group, 10, 10)
        if end <= mark
    ]


def hopping(rows: list[Row], mark: dt.datetime) -> list[Row]:
    chosen = [row for row in rows if row[3] > 0]
    return [
        (*key, start, len(inside), max(row[3] for row in inside))
        for key, group in by_key(chosen).items()
        for start, end, inside in windows(group, 10, 4)
        if end <= mark and len(inside) > 1
    ]


def in_sessions(rows: list[Row], mark: dt.datetime) -> list[Row]:
    return [
        (*key, start, end, len(inside), len({row[3] for row in inside}))
        for key, group in by_key(rows).items()
        for start, end, inside in sessions(group, 3)
        if end < mark
    ]


def numbers(rows: list[Row], mark: dt.datetime) -> list[Row]:
    return [(len(inside),) for _, end, inside in windows(rows, 5, 5) if end <= mark]


VIEWS: dict[str, tuple[str, Callable[[list[Row], dt.datetime], list[Row]]]] = {
    "tumbling": (
        "SELECT k, window.start AS s, window.end AS e, COUNT(*) AS n, SUM(v) AS t FROM E GROUP BY k, "
        "window(ts, '10 minutes') EMIT FINAL",
        tumbling,
    ),
    "hopping": (
        "SELECT k, window.start AS s, COUNT(*) AS n, MAX(v) AS m FROM E x WHERE v > 0 GROUP BY k, "
        "window(x.ts, '10 minutes', '4 minutes') HAVING COUNT(*) > 1 emit final",
        hopping,
    ),
    "sessions": (
        "SELECT k, session_window.start AS s, session_window.end AS e, COUNT(*) AS n, COUNT(DISTINCT v) AS d FROM E "
        "GROUP BY k, session_window(ts, '3 minutes')\nEMIT FINAL;",
        in_sessions,
    ),
    "numbers": ("SELECT COUNT(*) FROM E GROUP BY window(ts, '5 minutes') EMIT FINAL", numbers),
}


class Life:
    """A table whose times go on at random, with views of closed windows."""

    def __init__(self, seed: int, key: bool, path: Path | None = None, threads: int = 1) -> None:
        self.draw, self.key = random.Random(seed), key
        self.database = Database(threads=threads) if path is None else Database(path)
        self.database.execute(
            f"CREATE TABLE E (id INT{' PRIMARY KEY' if key else ''}, k STRING, ts TIMESTAMP, v INT, "
            "WATERMARK FOR ts AS ts - INTERVAL '5' MINUTE)"
        )
        self.seen: dict[str, Counter[Row]] = {name: Counter() for name in VIEWS}
        self.top, self.next = BEGIN, 0
        self.above = False

    def create(self, names: list[str]) -> None:
        for name in names:
            self.database.create_view(name, VIEWS[name][0])
            self.seen[name] = multiset(self.database.views[name].to_arrow())

    def rows(self) -> list[Row]:
        """The accepted rows, of which `test_watermarks` says that they are the right ones."""
        return [tuple(row.values()) for row in self.database.sql("SELECT * FROM E").to_pylist()]

    def changes(self) -> list[dict[str, Any]]:
        there, found = self.rows(), list[dict[str, Any]]()
        self.draw.shuffle(there)
        for _ in range(self.draw.choice((0, 1, 2, 4, 8))):
            if there and self.draw.random() < 0.25:
                row = there.pop()
                found.append({**dict(zip(NAMES, row, strict=True)), "_change_type": "delete"})
                continue
            time = (
                None
                if self.draw.random() < 0.05
                else self.top + self.draw.choice((-9, -6, -5, -3, -1, 0, 1, 2)) * MINUTE
            )
            self.next += 1
            of = self.draw.randrange(20) if self.key else self.next
            row = (of, self.draw.choice(("a", "b", None)), time, self.draw.randrange(3))
            found.append({**dict(zip(NAMES, row, strict=True)), "_change_type": "upsert" if self.key else "insert"})
        self.top += self.draw.choice((0, 1, 3)) * MINUTE
        return found

    def commit(self) -> None:
        commit = self.database.apply("E", self.changes(), on_conflict="update" if self.key else "error")
        for name in commit.views:
            if name in VIEWS:
                delta = signed_multiset(commit[name])
                assert all(number > 0 for number in delta.values()), (name, delta)
                self.seen[name].update(delta)
        self.compare()

    def compare(self) -> None:
        self.database._check()
        rows = self.rows()
        (mark,) = self.database.sql("SELECT MAX(at) AS at FROM livejoin_watermark_e").to_pylist()
        for name in self.database.views:
            if name in VIEWS:
                sql, model = VIEWS[name]
                expected = Counter(model(rows, mark["at"])) if mark["at"] is not None else Counter()
                assert multiset(self.database.views[name].to_arrow()) == expected, name
                assert without_zeros(self.seen[name]) == expected, name
                assert multiset(self.database.sql(sql)) == expected, name


@pytest.mark.parametrize("key", [False, True])
@pytest.mark.parametrize("seed", seeds(1, 40))
def test_closed_windows_are_those_of_the_definition(seed: int, key: bool, tmp_path: Path) -> None:
    life = Life(seed, key)
    life.create(["tumbling", "sessions"])
    for _ in range(6):
        life.commit()
    life.create(["hopping", "numbers"])  # loaded from rows that are there
    for _ in range(6):
        life.commit()
    life.database.save(tmp_path / "kept")
    life.database = Database.load(tmp_path / "kept", trusted=bool(seed % 2))
    life.compare()
    for _ in range(8):
        life.commit()
    assert sum(map(Counter.total, life.seen.values())) > 10


def test_closed_windows_are_kept_in_a_folder(tmp_path: Path) -> None:
    life = Life(5, True, tmp_path / "kept")
    life.create(list(VIEWS))
    for _ in range(3):
        for _ in range(5):
            life.commit()
        life.database.close()
        life.database = Database(tmp_path / "kept")
        life.compare()
    life.database.close()


def test_closed_windows_of_two_threads() -> None:
    life = Life(6, False, threads=2)
    life.create(list(VIEWS))
    for _ in range(8):
        life.commit()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_commit_that_is_cut_off_closes_all_of_its_windows_or_none(error: type[BaseException]) -> None:
    for seed in range(0, 6, 1 if IS_FUZZ else 2):
        life = Life(seed, False)
        life.create(list(VIEWS))
        for _ in range(3):
            life.commit()
        changes = [{"id": 99, "k": "a", "ts": life.top + 20 * MINUTE, "v": 1}]
        version = life.database.version
        cut_off(lambda life=life, changes=changes: life.database.apply("E", changes), error, 1 + 211 * seed)  # type: ignore[misc]
        if life.database.version == version:
            life.commit()
        else:
            life.seen = {name: multiset(life.database.views[name].to_arrow()) for name in VIEWS}
            life.compare()


def test_duckdb_has_the_same_groups() -> None:
    life = Life(9, False)
    life.create(["tumbling"])
    for _ in range(12):
        life.commit()
    with connect() as connection:
        given = life.database.sql("SELECT * FROM E")
        connection.register("E", given)
        (mark,) = life.database.sql("SELECT at FROM livejoin_watermark_e").to_pylist()
        sql = (
            "SELECT k, time_bucket(INTERVAL '10 minutes', ts) AS s, s + INTERVAL '10 minutes' AS e, COUNT(*)::BIGINT, "
            f"SUM(v)::BIGINT FROM E WHERE ts IS NOT NULL GROUP BY k, s HAVING e <= TIMESTAMP '{mark['at']}'"
        )
        expected = multiset(connection.sql(sql).fetchall())
    assert expected and multiset(life.database.views["tumbling"].to_arrow()) == expected


def test_a_row_at_the_watermark_is_accepted_and_changes_no_closed_session() -> None:
    """A session that ends just at the watermark is not closed, as a row at its end is part of it."""
    database = Database()
    database.create_table("E", "id INT, k STRING, ts TIMESTAMP, v INT", watermark=("ts", DELAY))
    for name in ("sessions", "tumbling"):
        database.create_view(name, VIEWS[name][0])
    database.apply("E", [(1, "a", BEGIN, 0), (2, "b", BEGIN + 3 * MINUTE + DELAY, 0)])
    assert database.views["sessions"].count() == 0
    commit = database.apply("E", [(3, "a", BEGIN + 3 * MINUTE, 0)])
    assert (commit.late, commit.changes, database.views["sessions"].count()) == (0, 1, 0)
    commit = database.apply("E", [(4, "b", BEGIN + 6 * MINUTE + DELAY + dt.timedelta(microseconds=1), 0)])
    assert [(row["k"], row["n"]) for row in commit["sessions"].to_pylist()] == [("a", 2)]
    assert database.apply("E", [(5, "b", BEGIN + 10 * MINUTE + DELAY, 0)])["tumbling"].num_rows == 2


def test_groups_wait_in_the_order_of_their_ends() -> None:
    life = Life(0, False)
    life.create(list(VIEWS))
    for name in VIEWS:
        plan = operators(life.database.views[name]._node.plan)
        assert sum(isinstance(one, ThresholdOperator) for one in plan) == 1
        assert any(isinstance(one, AggregateOperator) for one in plan)
        assert "memory grows with the result" in " ".join(str(life.database.views[name].explain()).split())


def test_other_queries_read_a_view_of_closed_windows() -> None:
    life = Life(2, False)
    life.database.execute(f"CREATE VIEW closed AS {VIEWS['tumbling'][0]}")
    total = life.database.create_view("total", "SELECT k, SUM(n) AS n FROM closed GROUP BY k")
    assert life.database.views["closed"].sql == VIEWS["tumbling"][0]
    for _ in range(10):
        life.commit()
    expected: Counter[Any] = Counter()
    for row in life.database.views["closed"].to_pylist():
        expected[row["k"]] += row["n"]
    assert expected and {row["k"]: row["n"] for row in total.to_pylist()} == expected
    life.database.drop_view("total")
    life.database.drop_view("closed")
    life.database.drop_table("E")


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT k FROM E EMIT FINAL", "groups by no window of time"),
        ("SELECT k FROM E GROUP BY k EMIT FINAL", "groups by no window of time"),
        ("SELECT DISTINCT k FROM E GROUP BY k, window(ts, '1 hour') EMIT FINAL", "EMIT FINAL cannot have DISTINCT"),
        ("SELECT k FROM E GROUP BY k, window(ts, '1 hour') LIMIT 3 EMIT FINAL", "EMIT FINAL cannot have LIMIT"),
        ("SELECT E.k FROM E, E f GROUP BY E.k, window(E.ts, '1 hour') EMIT FINAL", "EMIT FINAL cannot have a join"),
        (
            "SELECT k, SUM(COUNT(*)) OVER (ORDER BY k) FROM E GROUP BY k, window(ts, '1 hour') EMIT FINAL",
            "EMIT FINAL cannot have OVER",
        ),
        ("SELECT k, ARRAY_AGG(k) AS a FROM E GROUP BY k, window(ts, '1 hour') EMIT FINAL", "cannot collect lists"),
        ("SELECT k FROM E GROUP BY ROLLUP (k, window(ts, '1 hour')) EMIT FINAL", "groups that no window closes"),
        ("SELECT k FROM (SELECT * FROM E) GROUP BY k, window(ts, '1 hour') EMIT FINAL", "reads another query"),
        ("SELECT k FROM E WHERE ts > now() GROUP BY k, window(ts, '1 hour') EMIT FINAL", r"rows of now\(\) go"),
        ("SELECT k FROM E UNION ALL SELECT k FROM E EMIT FINAL", "this is another query"),
        ("SELECT k FROM E GROUP BY k, window(ts + INTERVAL 1 HOUR, '1 hour') EMIT FINAL", "is no column"),
        ("SELECT k FROM E GROUP BY k, window(at, '1 hour') EMIT FINAL", "the windows are of 'at'"),
        (
            "SELECT k FROM P GROUP BY k, window(ts, '1 hour') EMIT FINAL",
            "table 'P' has none; declare it",
        ),
        ("SELECT k FROM seen GROUP BY k, window(ts, '1 hour') EMIT FINAL", "'seen' is no table"),
    ],
)
def test_windows_that_no_watermark_closes_are_refused(sql: str, says: str) -> None:
    database = Database()
    database.create_table("E", "k INT, ts TIMESTAMP, at TIMESTAMP", watermark=("ts", DELAY))
    database.execute("CREATE TABLE P (k INT, ts TIMESTAMP); CREATE VIEW seen AS SELECT * FROM E")
    with pytest.raises(UnsupportedQueryError, match=says) as refused:
        database.create_view("v", sql)
    assert refused.value.sql == sql and refused.value.line == 1
    with pytest.raises(UnsupportedQueryError, match=says):
        database.execute(f"CREATE VIEW v AS {sql}")


@pytest.mark.parametrize(
    "around", ["SELECT * FROM ({}) AS q", "WITH q AS ({}) SELECT * FROM q", "SELECT 1 IN ({}) AS x"]
)
def test_emit_final_within_a_query_says_what_to_write(around: str) -> None:
    database = Database()
    database.create_table("E", "k INT, ts TIMESTAMP", watermark=("ts", DELAY))
    inner = "SELECT k FROM E GROUP BY k, window(ts, '1 hour') EMIT FINAL"
    with pytest.raises(SqlSyntaxError, match=r"make the SELECT before it a view of its own") as refused:
        database.create_view("v", around.format(inner))
    assert refused.value.column == around.index("{") + inner.index("EMIT") + 1
    database.create_view("closed", inner)
    database.create_view("v", around.format("SELECT k FROM closed"))


def test_errors_stand_where_they_are_in_the_text() -> None:
    database = Database()
    database.create_table("E", "k INT, ts TIMESTAMP", watermark=("ts", DELAY))
    sql = "SELECT k,\n  q FROM E GROUP BY k, window(ts, '1 hour') EMIT FINAL"
    with pytest.raises(UnknownNameError) as refused:
        database.create_view("v", sql)
    assert (refused.value.sql, refused.value.line, refused.value.column) == (sql, 2, 3)


def test_the_table_is_altered_below_closed_windows() -> None:
    """A column that the view does not name comes; one that it names keeps its name, as the view reads the table."""
    database = Database()
    database.create_table("E", "id INT, k STRING, ts TIMESTAMP, v INT", watermark=("ts", DELAY))
    view = database.create_view("tumbling", VIEWS["tumbling"][0])
    database.apply("E", [(1, "a", BEGIN, 1)])
    assert database.apply("E", [(1, "a", BEGIN - 60 * MINUTE, 1)]).late == 1
    database.execute("ALTER TABLE E ADD COLUMN x INT")
    assert database.stats()["tables"]["E"]["late"] == 1
    with pytest.raises(SchemaError, match="drop these views"):
        database.execute("ALTER TABLE E RENAME COLUMN ts TO at")
    commit = database.apply("E", [(1, "a", BEGIN - 60 * MINUTE, 1, 2), (2, "a", BEGIN + 60 * MINUTE, 1, 2)])
    assert (commit.late, commit["tumbling"].num_rows) == (1, 1)
    database._check()
    assert [row["n"] for row in view.to_pylist()] == [1]
    assert "id = 1" in str(view.why({"k": "a", "s": BEGIN}))
