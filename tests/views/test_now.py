"""Views with now(): what DuckDB gives with the time in its place, after every commit and whenever the time moves."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from test_inequality_views import operators

from livejoin import Database, LivejoinError
from livejoin.errors import ChangeError, ChangeValueError, ExpressionError, SchemaError, UnsupportedQueryError
from livejoin.plan.operators import BagOperator, JoinOperator, ThresholdAggregateOperator, ThresholdOperator
from oracle import connect, multiset, signed_multiset, without_zeros
from strategies import seeds

BEGIN = dt.datetime(2026, 1, 31, 12)
TABLES = {
    "E": "id INT PRIMARY KEY, k STRING, ts TIMESTAMP, n INT, day DATE, ends TIMESTAMP",
    "U": "k STRING, ts TIMESTAMP, w INT",
}
NAMES = {"E": ("id", "k", "ts", "n", "day", "ends"), "U": ("k", "ts", "w")}
QUERIES = [
    "SELECT id, n FROM E WHERE ts > now() - INTERVAL '1' HOUR",
    "SELECT k, COUNT(*) AS c, SUM(n) AS s FROM E WHERE now() - INTERVAL '1' HOUR < ts GROUP BY k",
    "SELECT id, n FROM E WHERE ts >= NOW() - INTERVAL '90' MINUTE AND ts <= CURRENT_TIMESTAMP AND n > 1",
    "SELECT COUNT(*) AS c, SUM(n) AS s FROM E WHERE ts BETWEEN now() - INTERVAL '2' HOUR AND now()",
    "SELECT id FROM E WHERE now() BETWEEN ts AND ends",
    "SELECT COUNT(*) AS c FROM E WHERE (current_timestamp() BETWEEN ts AND ends AND n > 0)",
    "SELECT id, k FROM E WHERE ts + INTERVAL '30' MINUTE > now()",
    "SELECT id FROM E WHERE day < now() - INTERVAL '1' DAY",
    "SELECT id FROM E WHERE ts > now() - INTERVAL '1' MONTH - INTERVAL '1' HOUR",
    "SELECT E.id, U.w FROM E JOIN U ON E.k = U.k WHERE U.ts > now() - INTERVAL '1' HOUR",
    "SELECT E.id, U.w + 1 AS w FROM E JOIN U ON E.k = U.k WHERE U.ts > now() AND E.ts <= now() AND E.n <> U.w",
    "SELECT U.k, COUNT(*) AS c FROM E, U WHERE E.k = U.k AND now() - INTERVAL '1' HOUR < U.ts AND E.n > 0 GROUP BY U.k",
    "SELECT E.id, R.w FROM E JOIN (SELECT k, w FROM U WHERE ts > now() - INTERVAL '1' HOUR) R ON E.k = R.k",
    "SELECT E.id, R.w FROM E LEFT JOIN (SELECT * FROM U WHERE ts > now() - INTERVAL '1' HOUR) R ON E.k = R.k",
    "SELECT id FROM E WHERE EXISTS (SELECT 1 FROM U WHERE U.k = E.k AND U.ts >= now() - INTERVAL '1' HOUR)",
    "SELECT id FROM E WHERE NOT EXISTS (SELECT 1 FROM U WHERE U.k = E.k AND U.ts >= now() - INTERVAL '1' HOUR)",
    "SELECT k, MAX(n) AS m FROM E WHERE ts > now() - INTERVAL '1' HOUR GROUP BY k HAVING MAX(n) > 1",
    "SELECT DISTINCT k FROM U WHERE ts < now()",
    "SELECT k, w FROM U WHERE ts < now() UNION ALL SELECT k, n FROM E WHERE ts > now() + INTERVAL '1' HOUR",
    "WITH r AS (SELECT id, k, n FROM E WHERE ts > now() - INTERVAL '1' HOUR) SELECT k, SUM(n) AS s FROM r GROUP BY k",
]


class Life:
    """A database whose tables and time change at random, with views that are compared with DuckDB."""

    def __init__(self, seed: int, path: Path | None = None) -> None:
        self.draw = random.Random(seed)
        self.database = Database() if path is None else Database(path)
        self.kept: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self.sums: dict[str, Counter[Any]] = {}
        self.next, self.now = 0, BEGIN
        for name, columns in TABLES.items():
            self.database.execute(f"CREATE TABLE {name} ({columns})")
        self.database.advance(self.now)

    def create(self, sql: str) -> None:
        view = self.database.create_view(f"v{len(self.sums)}", sql)
        self.sums[view.name] = Counter(multiset(view.to_arrow()))

    def time(self) -> dt.datetime | None:
        minutes = self.draw.choice([None, *range(-180, 181, 30)])
        return None if minutes is None else self.now + dt.timedelta(minutes=minutes)

    def row(self, name: str) -> tuple[Any, ...]:
        draw = self.draw
        key = draw.choice(["a", "b", "c", None])
        if name == "U":
            return key, self.time(), draw.randrange(3)
        self.next += 1
        day = draw.choice([None, self.now.date() - dt.timedelta(days=draw.randrange(4))])
        return self.next, key, self.time(), draw.choice([None, 0, 1, 2, 3]), day, self.time()

    def commit(self) -> None:
        changes: dict[str, Any] = {}
        for name, there in self.kept.items():
            came = [self.row(name) for _ in range(self.draw.choice([0, 1, 3, 12]))]
            gone = self.draw.sample(there, min(len(there), self.draw.choice([0, 1, 3])))
            for row in gone:
                there.remove(row)
            there.extend(came)
            lines = [(row, "delete") for row in gone] + [(row, "insert") for row in came]
            changes[name] = [{**dict(zip(NAMES[name], row, strict=True)), "_change_type": kind} for row, kind in lines]
        if self.draw.random() < 0.3:
            self.now += dt.timedelta(minutes=30)
            changes["livejoin_now"] = [(self.now,)]
        self.took(self.database.apply(changes))

    def advance(self) -> None:
        self.now += dt.timedelta(minutes=self.draw.choice([0, 10, 30, 60, 240]))
        self.took(self.database.advance(self.now))

    def took(self, commit: Any) -> None:
        for name, one in self.sums.items():
            one.update(signed_multiset(commit[name]))

    def compare(self) -> None:
        self.database._check()
        time = f"TIMESTAMP '{self.now}'"
        with connect() as connection:
            for name, columns in TABLES.items():
                connection.execute(f"CREATE TABLE {name} ({columns.replace('STRING', 'VARCHAR')})")
                if self.kept[name]:
                    places = ", ".join("?" for _ in NAMES[name])
                    connection.executemany(f"INSERT INTO {name} VALUES ({places})", self.kept[name])
            for name, one in self.sums.items():
                view, text = self.database.views[name], self.database.views[name].sql
                for call in ("now()", "NOW()", "current_timestamp()", "CURRENT_TIMESTAMP"):
                    text = text.replace(call, time)
                expected = multiset(connection.sql(text).fetchall())
                assert multiset(view.to_arrow()) == expected, view.sql
                assert without_zeros(one) == expected, view.sql
                assert multiset(self.database.sql(view.sql)) == expected, view.sql


@pytest.mark.parametrize("seed", seeds(1, 30))
def test_views_are_those_of_duckdb_with_the_time_in_place_of_now(seed: int, tmp_path: Path) -> None:
    life = Life(seed)
    for sql in QUERIES[::2]:
        life.create(sql)
    life.commit()
    for sql in QUERIES[1::2]:  # loaded from rows that are there
        life.create(sql)
    for _ in range(6):
        life.commit()
        life.compare()
        life.advance()
        life.compare()
    life.database.save(tmp_path / "kept")
    life.database = Database.load(tmp_path / "kept", trusted=bool(seed % 2))
    life.compare()
    life.advance()
    life.commit()
    life.compare()


def test_the_time_is_kept_in_a_folder(tmp_path: Path) -> None:
    life = Life(7, tmp_path / "kept")
    for sql in QUERIES[:6]:
        life.create(sql)
    for _ in range(3):
        life.commit()
        life.advance()
    life.database.close()
    life.database = Database(tmp_path / "kept")
    life.compare()
    life.advance()
    life.compare()
    with pytest.raises(ChangeValueError, match="does not go back"):
        life.database.advance(BEGIN)
    life.database.close()


def test_a_commit_that_fails_leaves_the_time_where_it_was() -> None:
    database = Database()
    database.execute("CREATE TABLE E (id INT, ts TIMESTAMP, n INT)")
    database.advance(BEGIN)
    view = database.create_view("v", "SELECT id FROM E WHERE ts > now() - INTERVAL '1' HOUR")
    database.create_view("checked", "SELECT 10 / n AS q FROM E")
    database.apply("E", [(1, BEGIN, 1)])
    late = BEGIN + dt.timedelta(hours=2)
    with pytest.raises(ExpressionError):
        database.apply({"livejoin_now": [(late,)], "E": [(2, late, 0)]})
    database._check()
    assert view.to_arrow()["id"].to_pylist() == [1]
    told = database.preview({"livejoin_now": [(late,)]}).deltas["v"]
    assert told["_change_type"].to_pylist() == ["delete"]
    assert database.advance(late)["v"].num_rows == 1
    assert view.count() == 0


def test_the_time_goes_on_alone() -> None:
    database = Database()
    database.execute("CREATE TABLE E (id INT, ts TIMESTAMP)")
    with pytest.raises(UnsupportedQueryError, match=r"call db.advance") as refused:
        database.create_view("v", "SELECT id FROM E WHERE ts > now()")
    assert (refused.value.line, refused.value.column) == (1, 29)
    for wrong in (BEGIN.replace(tzinfo=dt.UTC), "2026-01-01", None):
        with pytest.raises(ChangeValueError, match="without a time zone"):
            database.advance(wrong)  # type: ignore[arg-type]
    assert not database.tables.keys() - {"E"}
    database.advance(BEGIN)
    database.create_view("v", "SELECT id FROM E WHERE ts > now()")
    database.apply("E", [(1, BEGIN), (2, BEGIN + dt.timedelta(minutes=1))])
    assert database.advance(BEGIN)["v"].num_rows == 0  # once more
    with pytest.raises(ChangeValueError, match="now\\(\\) is 2026-01-31 12:00:00 and does not go back"):
        database.advance(BEGIN - dt.timedelta(microseconds=1))
    assert database.views["v"].to_arrow()["id"].to_pylist() == [2]
    assert database.sql("SELECT at FROM livejoin_now").to_pylist() == [{"at": BEGIN}]
    first, again = (database.advance(BEGIN + dt.timedelta(minutes=2), request=("till", 1)) for _ in range(2))
    assert first["v"].num_rows == 1 and again.repeated


@pytest.mark.parametrize("together", [False, True])
def test_the_time_is_one_row_that_moves_on(together: bool) -> None:
    """It moves by apply, INSERT and replay too, and nothing takes it away or back."""
    database, later = Database(), BEGIN + dt.timedelta(minutes=5)
    database.execute("CREATE TABLE E (id INT, ts TIMESTAMP)")
    database.advance(BEGIN)
    view = database.create_view("v", "SELECT id FROM E WHERE ts > now()")
    database.apply("E", [(1, BEGIN + dt.timedelta(minutes=1)), (2, BEGIN + dt.timedelta(hours=1))])
    beside: dict[str, object] = {"E": [(3, BEGIN)]} if together else {}

    def time() -> list[dt.datetime]:
        return [row["at"] for row in database.sql("SELECT at FROM livejoin_now").to_pylist()]

    earlier = BEGIN - dt.timedelta(hours=1)
    for rows in ([(earlier,)], [(later,), (BEGIN,)]):
        with pytest.raises(ChangeValueError, match="does not go back"):
            database.apply({**beside, "livejoin_now": rows})
    for statement in (
        "DELETE FROM livejoin_now",
        "UPDATE livejoin_now SET at = TIMESTAMP '2020-01-01 00:00:00'",
        "UPDATE livejoin_now SET at = TIMESTAMP '2040-01-01 00:00:00'",
    ):
        with pytest.raises(ChangeError, match="no row leaves its table"):
            database.execute(statement)
    with pytest.raises(SchemaError, match="is not altered"):
        database.execute("ALTER TABLE livejoin_now ADD COLUMN x INT")
    assert (time(), view.to_pylist()) == ([BEGIN], [{"id": 1}, {"id": 2}])
    database.apply({**beside, "livejoin_now": [(BEGIN,)]})
    assert time() == [BEGIN]
    database.apply({**beside, "livejoin_now": [(BEGIN,), (later,)]})
    assert (time(), view.to_pylist()) == ([later], [{"id": 2}])
    database.execute(f"INSERT INTO livejoin_now VALUES (TIMESTAMP '{later + dt.timedelta(hours=1)}')")
    assert (time(), view.to_pylist()) == ([later + dt.timedelta(hours=1)], [])
    moved = [{"at": later + dt.timedelta(hours=hour), "_seq": hour} for hour in (3, 2)]
    assert database.replay({"livejoin_now": moved}).changes == 2
    assert time() == [later + dt.timedelta(hours=3)]
    assert database.advance(later + dt.timedelta(hours=3)).changes == 0


def test_another_table_of_that_name_is_not_taken_for_the_time() -> None:
    database = Database()
    database.execute("CREATE TABLE livejoin_now (at TIMESTAMP)")
    with pytest.raises(SchemaError, match="is not that of now"):
        database.advance(BEGIN)


@pytest.mark.parametrize("sql", QUERIES)
def test_rows_wait_in_the_order_of_their_time(sql: str) -> None:
    """No join pairs each row with the time."""
    plan = operators(Life(0).database.create_view("v", sql)._node.plan)
    bounds = [one for one in plan if isinstance(one, (ThresholdOperator, ThresholdAggregateOperator))]
    assert len(bounds) == 1 + any(text in sql for text in ("AND ts", "BETWEEN", "UNION", "AND E.ts"))
    joins = [one.query for one in plan if isinstance(one, (JoinOperator, BagOperator))]
    times = [one for query in joins for one in query.atoms if [c.type.kind for c in one.table.columns] == ["timestamp"]]
    assert not times


def test_a_time_that_moves_costs_the_rows_that_cross() -> None:
    database = Database()
    database.execute("CREATE TABLE E (id INT, ts TIMESTAMP)")
    database.advance(BEGIN)
    view = database.create_view("v", "SELECT id, COUNT(*) AS c FROM E WHERE ts > now() - INTERVAL '1' HOUR GROUP BY id")
    database.apply("E", [(i, BEGIN + dt.timedelta(seconds=i)) for i in range(10_000)])
    assert any(isinstance(one, ThresholdOperator) for one in operators(view._node.plan))
    commit = database.advance(BEGIN + dt.timedelta(hours=1, seconds=2))
    assert sorted(commit["v"]["id"].to_pylist()) == [0, 1, 2]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, ^now() AS t FROM E",
        "SELECT id FROM E WHERE ts > ^now() OR n = 1",
        "SELECT id FROM E WHERE ts = ^now()",
        "SELECT id FROM E WHERE NOT (ts > ^now())",
        "SELECT k, COUNT(*) FILTER (WHERE ts > ^now()) AS c FROM E GROUP BY k",
        "SELECT E.id FROM E LEFT JOIN U ON E.k = U.k AND U.ts > ^now()",
        "SELECT id FROM E WHERE ts > ^now() - (n * INTERVAL '1' HOUR)",
        "SELECT k FROM E GROUP BY k HAVING MAX(ts) > ^current_timestamp()",
    ],
)
def test_now_elsewhere_is_refused_with_what_to_write(sql: str) -> None:
    database = Life(0).database
    with pytest.raises(LivejoinError, match="compare a column with now\\(\\) by <, <=, >, >= or BETWEEN") as refused:
        database.create_view("v", sql.replace("^", ""))
    assert isinstance(refused.value, UnsupportedQueryError) and refused.value.column == sql.index("^") + 1


def test_explain_shows_now_by_its_name() -> None:
    db = Database()
    db.execute("CREATE TABLE E (id INT PRIMARY KEY, k STRING, ts TIMESTAMP); CREATE TABLE U (k STRING)")
    db.advance(BEGIN)
    alone = db.create_view("alone", "SELECT id FROM E WHERE ts > now() - INTERVAL '1' HOUR")
    joined = db.create_view("joined", "SELECT id FROM E JOIN U USING (k) WHERE ts BETWEEN now() AND CURRENT_TIMESTAMP")
    assert "the rows that ts > now() - INTERVAL '1' HOUR is true for" in " ".join(str(alone.explain()).split())
    assert "ts BETWEEN now() AND now() is true for" in " ".join(str(joined.explain()).split())


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_a_replay_tells_what_each_change_and_each_move_of_the_time_did(seed: int) -> None:
    """Version by version what the same changes do as commits of their own."""
    draw, now = random.Random(seed), BEGIN
    sqls = {
        "rows": "SELECT k, w FROM U WHERE ts > now() - INTERVAL '1' HOUR",
        "counts": "SELECT k, COUNT(*) AS c FROM U WHERE ts <= now() AND ts > now() - INTERVAL '1' HOUR GROUP BY k",
    }
    one_by_one, replayed = Database(), Database()
    for database in (one_by_one, replayed):
        database.create_table("U", TABLES["U"])
        database.advance(BEGIN)
        for name, sql in sqls.items():
            database.create_view(name, sql)
    logs: dict[str, list[dict[str, Any]]] = {"U": [], "livejoin_now": []}
    told: dict[str, list[Counter[Any]]] = {name: [] for name in sqls}
    for step in range(60):
        if draw.random() < 0.4:
            now += dt.timedelta(minutes=draw.randrange(1, 30))
            commit = one_by_one.advance(now)
            logs["livejoin_now"].append({"at": now, "_change_type": "insert", "_seq": step})
        else:
            time = now + dt.timedelta(minutes=draw.randrange(-80, 40))
            row = {"k": draw.choice("ab"), "ts": time, "w": draw.randrange(3), "_change_type": "insert"}
            commit = one_by_one.apply("U", [row])
            logs["U"].append({**row, "_seq": step})
        for name in sqls:
            told[name].append(signed_multiset(commit[name]))
    before = replayed.version
    commit = replayed.replay(logs)
    for name in sqls:
        versions = commit[name]["_commit_version"].to_numpy() - before - 1
        found = [signed_multiset(commit[name].filter(versions == step)) for step in range(60)]
        assert found == told[name], name
        assert multiset(replayed.views[name].to_arrow()) == multiset(one_by_one.views[name].to_arrow())
    assert sum(map(bool, told["rows"])) > 30
