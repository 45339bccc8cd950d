"""Views by ``algorithm="transitions"``: the class C_exp of ICDT 2025 and its extension, run beside DuckDB."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.dataflow.blocks.join import JoinBlock
from livejoin.errors import CapacityError, ExpressionError, UnsupportedQueryError
from livejoin.families.transitions import system
from livejoin.families.transitions.join import TransitionJoin
from livejoin.theory.static.transition_system import TransitionSystem, transition_system
from oracle import connect, difference, multiset, signed_multiset
from static_lives import Row, StaticLife, StaticQuery
from strategies import EXAMPLES
from torture.interrupts import cut_off

SEED = int(os.environ.get("LIVEJOIN_SEED", "0"))
FORMS = ("rows", "distinct")

ROSTER = StaticQuery(("ab", "a", "b"), "ab", frozenset({1, 2}))  # Q3: has(user, feature), users, features
QUERIES = (
    ROSTER,
    StaticQuery(
        ("ab", "a", "b"), "a", frozenset({1, 2})
    ),  # which users have a feature at all: bound in distinct results
    StaticQuery(("abc", "a", "b", "bc"), "abc", frozenset({1, 2, 3})),
    StaticQuery(("ab", "bc", "cd", "a", "c", "d"), "ad", frozenset({3, 4, 5})),  # a bag of three static tables
    StaticQuery(("ab", "bc", "ca", "a", "b"), "abc", frozenset({3, 4})),  # a static triangle
    StaticQuery(("ab", "xa", "xb"), "xab", frozenset({1, 2})),  # Q4: a state for each x
    StaticQuery(("abc", "xya", "yxbc", "xy"), "xyac", frozenset({1, 2, 3})),
    StaticQuery(("a", "c", "a", "c"), "ac", frozenset({2, 3})),  # a static product
)


def drawn(generator: random.Random) -> StaticQuery:
    """Static atoms, and dynamic ones over some of their variables, with shared ones in each or none."""
    static = ["".join(generator.sample("abcd", generator.choice((1, 2, 2, 3)))) for _ in range(generator.randint(1, 3))]
    known = sorted(set("".join(static)))
    shared = generator.choice(("", "", "", "x", "xy"))
    dynamic = []
    for _ in range(generator.randint(1, 3)):
        own = generator.sample(known, min(len(known), generator.choice((0, 1, 1, 2))))
        dynamic.append("".join(generator.sample([*own, *shared], len(own) + len(shared))) or known[0])
    share = generator.choice((0.3, 0.7, 1.0))
    free = "".join(v for v in known if generator.random() < share) + shared
    edges = [*static, *dynamic]
    order = generator.sample(range(len(edges)), len(edges))
    return StaticQuery(
        tuple(edges[i] for i in order),
        free or known[0],
        frozenset(place for place, i in enumerate(order) if i >= len(static)),
    )


def joins(life: StaticLife) -> Iterator[TransitionJoin]:
    """The transition systems of a life's views."""
    for node in life.database._contents.graph.nodes:
        if isinstance(node.block, JoinBlock) and isinstance(node.block.join, TransitionJoin):
            yield node.block.join


def flips(life: StaticLife, times: int, given: dict[int, list[Row]] | None = None) -> None:
    """Some rows go, and come again, in the same commits over and over."""
    rows = given or {atom: life.held[atom][:2] for atom in sorted(life.query.dynamic)}
    for _ in range(times):
        for atom, chosen in rows.items():
            life.commit({atom: ([], chosen)})
        for atom, chosen in rows.items():
            life.commit({atom: (chosen, [])})


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_queries_are_right_after_every_commit(query: StaticQuery) -> None:
    life = StaticLife(query, random.Random(SEED), rows=12, algorithm="transitions")
    life.views(*FORMS)
    for _ in range(5):
        life.commit(life.changes())
        life.database._check()
    flips(life, 1)
    life.refresh(life.generator.choice([atom for atom in life.held if atom not in query.dynamic]))
    life.commit(life.changes())
    life.database._check()


def test_distinct_results_without_what_is_shared_and_counts_of_them() -> None:
    """The rows have states for each value of w, and a store drops w; groups are those of a view of distinct rows."""
    life = StaticLife(ROSTER, random.Random(SEED), rows=12, algorithm="transitions")
    sql = "SELECT DISTINCT T0.a FROM T0, T1, T2 WHERE T0.a = T1.a AND T0.b = T2.b AND T1.w = T2.w"
    view = life.database.create_view("bound", sql, algorithm="transitions")
    life.views("distinct")
    groups = "SELECT a, COUNT(*) AS n FROM {} GROUP BY a"
    counts = life.database.create_view("counts", groups.format("`distinct`"))
    for _ in range(6):
        life.commit(life.changes())
        assert multiset(view.to_arrow()) == multiset(life.oracle.execute(sql).fetchall())
        expected = life.oracle.execute(groups.format(f"({ROSTER.sql('distinct')})")).fetchall()
        assert multiset(counts.to_arrow()) == multiset(expected)
    assert len(list(joins(life))) == 2


@pytest.mark.parametrize("seed", range(max(6, EXAMPLES // 3)))
def test_random_queries(seed: int) -> None:
    generator = random.Random(SEED + seed)
    while True:
        query = drawn(generator)
        if isinstance(transition_system(query.sets, frozenset(query.free), query.dynamic), TransitionSystem):
            break
    life = StaticLife(query, generator, values=generator.choice((2, 3, 4)), rows=8, algorithm="transitions")
    life.views(*FORMS)
    for _ in range(5):
        life.commit(life.changes())
    flips(life, 1)
    life.refresh(generator.choice([atom for atom in life.held if atom not in query.dynamic]))
    life.commit(life.changes())
    life.database._check()


def test_a_change_that_was_made_before_is_a_look_up() -> None:
    """The second time nothing is made, whatever is asked for; sets of changes and undoing are transitions too."""
    life = StaticLife(ROSTER, random.Random(3), values=8, rows=40, algorithm="transitions")
    life.views(*FORMS)
    life.commit({1: ([(i, 0) for i in range(8)], []), 2: ([(i, 0) for i in range(0, 8, 2)], [])})
    few = {atom: life.held[atom][:2] for atom in (1, 2)}
    flips(life, 1, few)
    whole = {1: ([], life.held[1][:3]), 2: ([], life.held[2][:2])}
    back = {atom: (go, []) for atom, (_, go) in whole.items()}
    life.commit(whole)
    life.commit(back)
    made = [(one.system.transitions, one.system.states, one.counters()["propagated"]) for one in joins(life)]
    flips(life, 2, few)
    for _ in range(3):
        life.commit(whole)
        life.commit(back)
    assert made == [(one.system.transitions, one.system.states, one.counters()["propagated"]) for one in joins(life)]
    assert all(one.counters()["stopped"] > 8 for one in joins(life))


def test_rows_that_do_not_matter_are_no_change() -> None:
    """A user whom no static row has, a NULL, and a second row of a user who is there."""
    life = StaticLife(ROSTER, random.Random(4), values=3, rows=9, algorithm="transitions")
    life.views(*FORMS)
    life.commit({1: ([(0, 0), (1, 0)], []), 2: ([(0, 0), (1, 0), (2, 0)], [])})
    made = [one.system.states for one in joins(life)]
    life.commit({1: ([(99, 0), (None, 1)], []), 2: ([(77, 0)], [])})
    life.commit({1: ([(0, 1), (0, 1)], [(99, 0)])})
    life.commit({1: ([], [(0, 1)])})
    assert made == [one.system.states for one in joins(life)]
    life.database._check()


@pytest.mark.parametrize("limit", [0, 3_000])
def test_what_is_forgotten_is_made_again(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "MOST_BYTES", limit)
    for query in (ROSTER, QUERIES[5]):
        life = StaticLife(query, random.Random(SEED + 5), values=6, rows=30, algorithm="transitions")
        life.views(*FORMS)
        for _ in range(8):
            life.commit(life.changes())
        flips(life, 2)
        life.database._check()
        for one in joins(life):
            assert one.system.evictions
            assert one.system.transitions < 40


def test_the_limit_holds() -> None:
    """Random sets of changes, of which there are more than are kept."""
    life = StaticLife(ROSTER, random.Random(6), values=40, rows=600, algorithm="transitions")
    life.views("rows")
    (one,) = joins(life)
    one.system.limit = 12_000
    rows = [(i, 0) for i in range(40)]
    for _ in range(40):
        for atom in (1, 2):
            there = set(life.held[atom])
            chosen = life.generator.sample(rows, 3)
            life.commit({atom: ([r for r in chosen if r not in there], [r for r in chosen if r in there])})
        assert sum(array.nbytes for array in one.system.known) <= 12_000
    assert one.system.evictions > 3
    life.database._check()


def test_a_commit_that_fails_is_undone() -> None:
    """Another view cannot take a row: the state is the one before, and the way back is known."""
    life = StaticLife(ROSTER, random.Random(7), values=4, rows=16, algorithm="transitions")
    life.views(*FORMS)
    life.commit({1: ([(i, 0) for i in range(4)], []), 2: ([(i, 0) for i in range(4)], [])})
    life.database.create_view("failing", "SELECT a, 1 / (w - 3) AS x FROM T1")
    before = [one.everything().tolist() for one in joins(life)]
    for _ in range(2):
        changes = [(1, 0, "delete"), (2, 3, "insert")]
        rows = [dict(zip(("a", "w", "_change_type"), one, strict=True)) for one in changes]
        with pytest.raises(ExpressionError):
            life.database.apply("T1", rows)
        assert [one.everything().tolist() for one in joins(life)] == before
        life.database._check()
        for form in FORMS:
            life.check(form)
    life.commit({1: ([], [(1, 0)])})
    life.database._check()


@pytest.mark.parametrize("trusted", [True, False])
def test_a_snapshot_has_the_state_that_is_there(trusted: bool, tmp_path: Path) -> None:
    for query in (ROSTER, QUERIES[3], QUERIES[5]):
        life = StaticLife(query, random.Random(SEED + 8), values=4, rows=20, algorithm="transitions")
        life.views(*FORMS)
        for _ in range(4):
            life.commit(life.changes())
        life.database.save(tmp_path / query.edges[-1])
        life.database = livejoin.Database.load(tmp_path / query.edges[-1], trusted=trusted)
        life.database._check()
        for form in FORMS:
            life.check(form)
        flips(life, 1)
        life.commit(life.changes())
        life.database._check()


def test_rows_are_read_by_position_and_by_value() -> None:
    for query in (ROSTER, QUERIES[1], QUERIES[5], QUERIES[3]):
        life = StaticLife(query, random.Random(SEED + 9), values=4, rows=30, algorithm="transitions")
        life.views(*FORMS)
        for _ in range(2):
            life.commit(life.changes())
            for form in FORMS:
                view = life.database.views[form]
                rows = [tuple(row.values()) for row in view.to_arrow().to_pylist()]
                assert len(rows) == view.stats()["rows"]
                assert [view.at(i) for i in range(len(rows))] == rows
                shows_all = form == "distinct" or set(query.free) == set("".join(query.edges))
                for row in rows[:5] if shows_all else ():
                    assert view.multiplicity(row) == rows.count(row)
                assert not shows_all or (17,) * len(view.schema) not in view


def test_a_replay_has_a_delta_for_each_change() -> None:
    life = StaticLife(ROSTER, random.Random(10), values=3, rows=9, algorithm="transitions")
    life.views(*FORMS)
    db, oracle = life.database, life.oracle
    log = [(i % 3, (i // 3) % 2, "insert" if i % 4 < 3 else "delete") for i in range(40)]
    held: list[tuple[int, int]] = []
    changes: list[dict[str, object]] = []
    for a, w, kind in log:
        if kind == "delete" and (a, w) not in held:
            continue
        held.append((a, w)) if kind == "insert" else held.remove((a, w))
        changes.append({"a": a, "w": w, "_change_type": kind, "_seq": len(changes)})
    life.commit({2: ([(i, 0) for i in range(3)], [])})
    table = pa.Table.from_pylist(changes)
    delta = signed_multiset(db.replay({"T1": table}, granularity="change")["rows"])
    oracle.executemany("INSERT INTO T1 VALUES (?, ?)", [list(row) for row in held])
    assert delta == difference(life.expected("rows"), life.before["rows"])
    assert multiset(db.views["distinct"].to_arrow()) == life.expected("distinct")
    db._check()


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT T1.a, T2.b, T1.w FROM T0, T1, T2 WHERE T0.a = T1.a AND T0.b = T2.b", "T1.w"),
        ("SELECT T0.a, COUNT(*) AS n FROM T0, T1 WHERE T0.a = T1.a GROUP BY T0.a", "a state is a set of rows"),
        ("SELECT T1.a FROM T1, T2 WHERE T1.a = T2.b", "no table is static"),
        ("SELECT x.a FROM T0 x, T0 y WHERE x.b = y.a", "every table is static"),
        ("SELECT DISTINCT T1.w FROM T0, T1, T2 WHERE T0.a = T1.a AND T0.b = T2.b", "T1.w"),
        ("SELECT T0.a FROM T0 JOIN T1 ON T0.a = T1.a LEFT JOIN T2 ON T0.b = T2.b", "an outer join"),
    ],
)
def test_refusals_say_which_part_and_what_would_work(sql: str, reason: str) -> None:
    life = StaticLife(ROSTER, random.Random(0), algorithm="transitions")
    with pytest.raises(UnsupportedQueryError, match=reason):
        life.database.create_view("v", sql, algorithm="transitions")


def test_threads_are_refused() -> None:
    db = livejoin.Database(threads=2)
    db.create_table("S", "a INT, b INT", static=True)
    db.create_table("R", "a INT")
    with pytest.raises(UnsupportedQueryError, match="threads=1"):
        db.create_view("v", "SELECT S.a, S.b FROM S JOIN R ON R.a = S.a", algorithm="transitions")


def test_windows_and_text_take_part() -> None:
    """Sensors that have been heard of in the last rows, over a static table with names; NULLs in what is shown."""
    db = livejoin.Database()
    db.create_table("placed", "sensor STRING, room STRING, note STRING", static=True)
    db.create_table("heard", "sensor STRING", window_rows=4)
    db.create_table("open", "room STRING")
    placed = [(f"s{i % 5}", f"r{i % 3}", None if i % 2 else f"n{i}") for i in range(12)]
    db.apply("placed", placed)
    joined = "placed p JOIN heard h ON h.sensor = p.sensor JOIN open o ON o.room = p.room"
    view = db.create_view("v", f"SELECT DISTINCT p.room, p.note FROM {joined}", algorithm="transitions")
    generator = random.Random(11)
    rooms: list[str] = []
    heard: list[str] = []
    total: Counter[tuple[object, ...]] = Counter()
    for _ in range(60):
        if generator.random() < 0.7:
            heard.append(f"s{generator.randrange(6)}")
            delta = db.apply("heard", [(heard[-1],)])["v"]
        elif (room := f"r{generator.randrange(4)}") in rooms:
            rooms.remove(room)
            delta = db.apply("open", [{"room": room, "_change_type": "delete"}])["v"]
        else:
            rooms.append(room)
            delta = db.apply("open", [(room,)])["v"]
        total.update(signed_multiset(delta))
        alive = {(r, n) for s, r, n in placed if s in heard[-4:] and r in rooms}
        assert multiset(view.to_arrow()) == Counter(alive) == Counter({row: n for row, n in total.items() if n})
    db._check()


def test_explain_says_how_many_rows_matter() -> None:
    life = StaticLife(ROSTER, random.Random(12), values=5, rows=20, algorithm="transitions")
    told = life.database.explain(ROSTER.sql("rows"), algorithm="transitions")
    static = set(life.held[0])
    matter = [len({row[place] for row in static if None not in row[:2]}) for place in (0, 1)]
    assert told.plan.states is not None
    assert told.to_dict()["plan"]["states"]["rows"] == told.plan.states.rows
    assert abs(told.plan.states.rows - sum(matter)) <= 1  # NULL may count as a value
    assert "never taken by itself" in told.reason
    assert "2^" in told.text()
    by_auto = life.database.explain(ROSTER.sql("rows"))
    assert by_auto.plan.kind == "join tree" and by_auto.to_dict()["plan"]["states"] is None
    assert "algorithm='transitions'" in by_auto.query_class["well-behaved"].because


SELF_JOINS = {
    "both": "SELECT s.a, s.b, s.c FROM S s JOIN R r ON r.x = s.a JOIN R t ON t.x = s.b",
    "odd": "SELECT DISTINCT s.a, s.c FROM S s JOIN R r ON r.x = s.a AND r.y > 0 JOIN R t ON t.x = s.b AND t.y < 2",
    "within": "SELECT s.b FROM S s JOIN R r ON r.x = s.a AND r.y = s.b WHERE s.c <> 1",
    "nested": "SELECT q.a, q.b FROM (SELECT DISTINCT a, b FROM S) q JOIN R r ON r.x = q.a JOIN P p ON p.z = q.b",
    "grouped": "SELECT s.a, s.b FROM S s JOIN (SELECT x, MAX(y) AS y FROM R GROUP BY x) g ON g.x = s.a AND g.y = s.b",
}


@pytest.mark.parametrize("seed", range(max(2, EXAMPLES // 10)))
def test_tables_that_stand_twice_and_nested_queries(seed: int) -> None:
    """One row may turn several keys; a table of the join may be what another query gives."""
    generator = random.Random(SEED + seed)
    db, oracle = livejoin.Database(), connect()
    for name, columns in (("S", "a BIGINT, b BIGINT, c BIGINT"), ("R", "x BIGINT, y BIGINT"), ("P", "z BIGINT")):
        db.create_table(name, columns, static=name == "S")
        oracle.execute(f"CREATE TABLE {name} ({columns})")
    values = (0, 1, 2, 3, None)
    static = [tuple(generator.choice(values) for _ in range(3)) for _ in range(25)]
    db.apply("S", static)
    oracle.executemany("INSERT INTO S VALUES (?, ?, ?)", [list(row) for row in static])
    for name, sql in SELF_JOINS.items():
        db.create_view(name, sql, algorithm="transitions")
    held: dict[str, list[tuple[int | None, ...]]] = {"R": [], "P": []}
    before = {name: multiset(oracle.execute(sql).fetchall()) for name, sql in SELF_JOINS.items()}
    for _ in range(15):
        batch = {}
        for table, columns in (("R", "xy"), ("P", "z")):
            go = [row for row in held[table] if generator.random() < 0.3]
            come = [tuple(generator.choice(values) for _ in columns) for _ in range(generator.randint(0, 3))]
            for row in go:
                held[table].remove(row)
            held[table] += come
            kinds = [*((row, "delete") for row in go), *((row, "insert") for row in come)]
            batch[table] = [dict(zip((*columns, "_change_type"), (*row, kind), strict=True)) for row, kind in kinds]
            oracle.execute(f"DELETE FROM {table}")
            if held[table]:
                marks = ", ".join("?" for _ in columns)
                oracle.executemany(f"INSERT INTO {table} VALUES ({marks})", [list(row) for row in held[table]])
        commit = db.apply({table: rows for table, rows in batch.items() if rows})
        for name, sql in SELF_JOINS.items():
            after = multiset(oracle.execute(sql).fetchall())
            assert multiset(db.views[name].to_arrow()) == after, name
            assert signed_multiset(commit[name]) == difference(after, before[name]), name
            before[name] = after
        db._check()


def test_a_multiplicity_that_does_not_fit_is_refused() -> None:
    """The product of four multiplicities; without deltas it is told when the result is counted or read."""
    db = livejoin.Database()
    db.create_table("S", "a BIGINT, b BIGINT, c BIGINT, d BIGINT", static=True)
    db.apply("S", [(0, 1, 2, 3)])
    for table in "ABCD":
        db.create_table(table, "k BIGINT")
    joined = "S JOIN A ON A.k = S.a JOIN B ON B.k = S.b JOIN C ON C.k = S.c JOIN D ON D.k = S.d"
    view = db.create_view("v", f"SELECT S.a FROM {joined}", algorithm="transitions", deltas=False)
    many = 1 << 16
    for key, table in enumerate("ABCD"):
        db.apply(table, pa.table({"k": np.full(many, key)}))
    with pytest.raises(CapacityError):
        view.count()
    with pytest.raises(CapacityError):
        next(view.batches())
    db.apply("D", pa.table({"k": np.full(many - 1, 3), "_change_type": ["delete"] * (many - 1)}))
    assert view.count() == many**3


def test_tables_promise_something_else() -> None:
    """What is not static any more leaves nothing to be a state of: refused, and all is as before."""
    life = StaticLife(QUERIES[3], random.Random(SEED + 13), values=4, rows=20, algorithm="transitions")
    life.views(*FORMS)
    life.commit(life.changes())
    with pytest.raises(UnsupportedQueryError, match="no static table has"):
        life.database.alter_table("T0", static=False)
    for form in FORMS:
        life.check(form)
    life.commit(life.changes())
    life.alter(3, "static")
    life.commit(life.changes())
    life.refresh(3)
    life.alter(3, "dynamic")
    flips(life, 1)
    life.database._check()


def test_a_limit_on_what_is_joined_is_kept() -> None:
    life = StaticLife(QUERIES[3], random.Random(SEED + 14), values=3, rows=40, algorithm="transitions")
    sql = QUERIES[3].sql("rows")
    with pytest.raises(UnsupportedQueryError, match="preprocessing_limit=1"):
        life.database.create_view("v", sql, algorithm="transitions", preprocessing_limit=1)
    assert life.database.create_view("v", sql, algorithm="transitions", preprocessing_limit=10**6).count() >= 0


def test_calls_that_are_cut_off_are_made_or_not() -> None:
    """Anywhere in a commit, or in a reading that makes results and forgets transitions."""
    life = StaticLife(ROSTER, random.Random(SEED + 15), values=5, rows=25, algorithm="transitions")
    life.views(*FORMS)
    for _ in range(3):
        life.commit(life.changes())
    for number in range(12):
        for one in joins(life):
            one.system.limit = 4_000
        row = (life.generator.randrange(5), 7 + number)
        batch = pa.table({"a": [row[0]], "w": [row[1]]})
        call = partial(life.database.apply, "T1", batch) if number % 3 else life.database.views["rows"].to_arrow
        version = life.database.version
        cut_off(call, (KeyboardInterrupt, MemoryError)[number % 2], 1 + life.generator.randrange(40 * (1 + number)))
        if life.database.version > version:
            life.held[1].append(row)
            life.oracle.execute("INSERT INTO T1 VALUES (?, ?)", list(row))
        for form in FORMS:
            life.before[form] = life.expected(form)
            life.check(form)
        life.database._check()
        life.commit(life.changes())
