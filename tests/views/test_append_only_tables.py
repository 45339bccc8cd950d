"""Append-only tables: what they refuse, and what a change costs over them, measured by counters.

The six questions are those of docs/decisions/0046, over ``R1(a), R2(a, b), R3(b)``.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import livejoin
from livejoin.errors import ChangeError, SchemaError
from livejoin.search.delta_size import delta_bound
from livejoin.search.guarantee import UpdateBound
from oracle import assert_same_rows, connect, multiset
from static_lives import FORMS, StaticLife, StaticQuery, random_query, with_branches
from strategies import IS_FUZZ, seeds

SEED = int(os.environ.get("LIVEJOIN_SEED", "0"))

SQL = "SELECT R1.a, R2.b FROM R1 JOIN R2 ON R1.a = R2.a JOIN R3 ON R2.b = R3.b"
COLUMNS = {"R1": "a BIGINT", "R2": "a BIGINT, b BIGINT", "R3": "b BIGINT"}
Change = tuple[str, tuple[int, ...], str]


def database(*growing: str, threads: int = 1) -> livejoin.Database:
    made = livejoin.Database(threads=threads)
    for name, columns in COLUMNS.items():
        made.create_table(name, columns, append_only=name in growing)
    return made


def bring(made: livejoin.Database, change: Change) -> None:
    table, row, kind = change
    names = "ab" if len(row) == 2 else "a" if table == "R1" else "b"
    made.apply(table, [dict(zip(names, row, strict=True)) | {"_change_type": kind}])


def work(growing: tuple[str, ...], changes: Iterator[Change]) -> float:
    """Rows that a change visited, on average."""
    made = database(*growing)
    view = made.create_view("v", SQL)
    number = 0
    for change in changes:
        bring(made, change)
        number += 1
    return view.stats()["touched"] / number


def growing_late(rows: int) -> Iterator[Change]:
    """R2 first, then what it waits for, one key for all; the worst for the bound of an append-only R3."""
    yield from (("R2", (i, 0), "insert") for i in range(rows))
    yield "R3", (0,), "insert"
    for i in range(rows):
        yield "R1", (i,), "insert"
        yield "R1", (i,), "delete"
        yield "R2", (i, 0), "delete"
        yield "R2", (i, 0), "insert"
        yield "R3", (i,), "insert"


def windows(rows: int) -> Iterator[Change]:
    """All first in, first out, with keys that many rows share."""
    there: list[tuple[str, tuple[int, ...]]] = []
    for i in range(rows):
        for one in (("R2", (i % 3, i % 2)), ("R1", (i % 3,)), ("R3", (i % 2,))):
            there.append(one)
            yield *one, "insert"
        while len(there) > rows // 2:
            yield *there.pop(0), "delete"


def toggled(rows: int) -> Iterator[Change]:
    """R2 has stars at a = 0 and at b = 0; the ends are toggled, so that every tree visits one star each time."""
    for i in range(1, rows):
        yield "R2", (0, i), "insert"
        yield "R2", (i, 0), "insert"
    for _ in range(rows):
        for table in ("R1", "R3"):
            yield table, (0,), "insert"
            yield table, (0,), "delete"


def only_insertions(rows: int) -> Iterator[Change]:
    for i in range(rows):
        yield "R2", (i, 0), "insert"
        yield "R2", (0, i), "insert"
    for i in range(rows):
        yield "R1", (i,), "insert"
        yield "R3", (i,), "insert"


def busy_middle(rows: int) -> Iterator[Change]:
    """R2 has stars at both ends, whose rows go and come again all the time while R1 and R3 grow."""
    there = [("R2", (i, 0)) for i in range(rows)] + [("R2", (0, i)) for i in range(1, rows)]
    yield from ((*one, "insert") for one in there)
    for i in range(rows):
        yield "R1", (i,), "insert"
        yield "R3", (i,), "insert"
        for one in (there[i], there[-1 - i]):
            yield *one, "delete"
            yield *one, "insert"


CONSTANT = [
    ((), windows, UpdateBound.FIFO),
    (("R1", "R2", "R3"), only_insertions, UpdateBound.ALWAYS),
    (("R1", "R3"), only_insertions, UpdateBound.ALWAYS),
    (("R1", "R3"), busy_middle, UpdateBound.ALWAYS),
    (("R3",), growing_late, UpdateBound.ALWAYS),
]


@pytest.mark.parametrize(("growing", "sequence", "bound"), CONSTANT)
def test_where_a_change_costs_a_constant(growing: tuple[str, ...], sequence: object, bound: UpdateBound) -> None:
    assert database(*growing).explain(SQL).guarantee.bound is bound
    most = 10_000 if IS_FUZZ else 500
    few, many = (work(growing, sequence(rows)) for rows in (100, most))  # type: ignore[operator]
    assert many <= few + 1 <= 6


@pytest.mark.parametrize("growing", [(), ("R2",)])
def test_where_a_change_costs_more_with_more_rows(growing: tuple[str, ...]) -> None:
    """With arbitrary R1 and R3, also where R2 only grows."""
    assert database(*growing).explain(SQL).guarantee.bound > UpdateBound.ALWAYS
    few, many = (work(growing, toggled(rows)) for rows in (100, 400))
    assert many > 3 * few > 30


KEYED = {
    "R1": "a BIGINT PRIMARY KEY",
    "R3": "b BIGINT PRIMARY KEY",
    "R2": "id BIGINT PRIMARY KEY, a BIGINT, b BIGINT, FOREIGN KEY (a) REFERENCES R1, FOREIGN KEY (b) REFERENCES R3",
}
OF_KEYS = "SELECT R2.id, R1.a, R3.b FROM R2 JOIN R1 ON R2.a = R1.a JOIN R3 ON R2.b = R3.b"


def keyed(*growing: str) -> livejoin.Database:
    made = livejoin.Database()
    for name, columns in KEYED.items():
        made.create_table(name, columns, append_only=name in growing)
    return made


@pytest.mark.parametrize(
    ("growing", "bound", "of_delta"),
    [
        ((), UpdateBound.FIFO, UpdateBound.FIFO),
        (("R1", "R3"), UpdateBound.ALWAYS, UpdateBound.ALWAYS),
        (("R1", "R2", "R3"), UpdateBound.ALWAYS, UpdateBound.ALWAYS),
        (("R3",), UpdateBound.FIFO, UpdateBound.FIFO),
        (("R2",), UpdateBound.LAMBDA, UpdateBound.LAMBDA),
    ],
)
def test_foreign_key_joins(growing: tuple[str, ...], bound: UpdateBound, of_delta: UpdateBound) -> None:
    """What is promised of a change and of its delta; where it is a constant, counters say so too."""
    made = keyed(*growing)
    assert made.explain(OF_KEYS, algorithm="aju").guarantee.bound is bound
    assert delta_bound(made._contents.bind(OF_KEYS).joins[0]) is of_delta
    costs = []
    for rows in (50, 400):
        made = keyed(*growing)
        view = made.create_view("v", OF_KEYS, algorithm="aju")
        made.apply("R2", [(i, 0, i % 7) for i in range(rows)])
        made.apply({"R1": [(i,) for i in range(rows)], "R3": [(i,) for i in range(7)]})
        for i in range(rows):
            if "R2" not in growing:
                made.apply("R2", [{"id": i, "a": 0, "b": i % 7, "_change_type": kind} for kind in ("delete", "insert")])
            elif len(growing) == 1:  # a key that many rows wait for comes and goes
                made.apply("R1", [{"a": 0, "_change_type": "delete"}])
                made.apply("R1", [{"a": 0, "_change_type": "insert"}])
        costs.append(view.stats()["lambda_observed"])
        assert view.count() == rows
    assert (costs[1] > 3 * costs[0]) == (bound is UpdateBound.LAMBDA)


def test_a_replay_gives_the_delta_of_every_change() -> None:
    """Of a log of rows that wait and rows that they wait for; what breaks the promise is refused as a whole."""
    chance = random.Random(4)
    rows = [
        (table, tuple(chance.randrange(4) for _ in columns.split(",")))
        for _ in range(12)
        for table, columns in COLUMNS.items()
    ]
    chance.shuffle(rows)
    logs: dict[str, list[dict[str, object]]] = {name: [] for name in COLUMNS}
    for number, (table, row) in enumerate(rows):
        names = "ab" if table == "R2" else "a" if table == "R1" else "b"
        logs[table].append(dict(zip(names, row, strict=True)) | {"_seq": number, "_change_type": "insert"})
    made, one_by_one = database("R1", "R2", "R3"), database()
    for one in (made, one_by_one):
        one.create_view("v", SQL)
    with pytest.raises(ChangeError, match="append-only"):
        bad = {"a": 0, "_seq": len(rows), "_change_type": "delete"}
        made.replay({**logs, "R1": [*logs["R1"], bad]})
    deltas = made.replay(logs)["v"].to_pylist()
    assert made.version == len(rows)
    for table, row in rows:
        bring(one_by_one, (table, row, "insert"))
    expected = multiset(one_by_one.views["v"].to_arrow())
    assert multiset(made.views["v"].to_arrow()) == expected
    assert len(deltas) == expected.total() and {d["_change_type"] for d in deltas} == {"insert"}


def test_what_is_refused() -> None:
    made = livejoin.Database()
    made.execute("CREATE TABLE T (a INT PRIMARY KEY, b INT) TBLPROPERTIES ('livejoin.append_only' = 'true')")
    made.apply("T", [(1, 1)])
    for kind in ("delete", "update_preimage", "upsert"):
        with pytest.raises(ChangeError, match="append-only"):
            made.apply("T", [{"a": 1, "b": 1, "_change_type": kind}])
    with pytest.raises(ChangeError, match="append-only"):
        made.apply("T", [(1, 2)], on_conflict="update")
    with pytest.raises(ChangeError, match="second row with the primary key"):
        made.apply("T", [(1, 2)])
    assert made.apply("T", [(1, 2), (2, 2)], on_conflict="ignore").ignored == 1
    assert made.version == 2


@pytest.mark.parametrize("other", [{"static": True}, {"window_rows": 3}, {"sequence_by": "b"}])
def test_what_cannot_stand_beside_it(other: dict[str, object]) -> None:
    with pytest.raises(SchemaError, match="has append_only and"):
        livejoin.Database().create_table("T", "a INT PRIMARY KEY, b INT", append_only=True, **other)  # type: ignore[arg-type]


def test_what_is_made_of_append_only_tables() -> None:
    """DISTINCT and UNION only grow; an aggregate does not."""
    made = database("R3")
    for nested, bound in (
        ("SELECT DISTINCT b FROM R3", UpdateBound.ALWAYS),
        ("SELECT b FROM R3 UNION SELECT b + 1 FROM R3", UpdateBound.ALWAYS),
        ("SELECT MAX(b) AS b FROM R3", None),
    ):
        found = made.explain(f"SELECT R1.a, R2.b FROM R1 JOIN R2 ON R1.a = R2.a JOIN ({nested}) q ON R2.b = q.b")
        assert (found.guarantee.bound is UpdateBound.ALWAYS) == (bound is UpdateBound.ALWAYS), nested


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", seeds(2, 4))
def test_random_changes(seed: int, threads: int, tmp_path: Path) -> None:
    """Against DuckDB after every commit, with commits that fail and a snapshot."""
    chance = random.Random(seed)
    growing = [name for name in COLUMNS if chance.random() < 0.6]
    made, oracle = database(*growing, threads=threads), connect()
    forms = (SQL, "SELECT R2.a, R2.b FROM R2 WHERE NOT EXISTS (SELECT 1 FROM R3 WHERE R3.b = R2.b)")
    for name, columns in COLUMNS.items():
        oracle.execute(f"CREATE TABLE {name} ({columns})")
    for number, sql in enumerate(forms):
        made.create_view(f"v{number}", sql)
    held: dict[str, list[tuple[int, ...]]] = {name: [] for name in COLUMNS}
    for step in range(40):
        table = chance.choice(list(COLUMNS))
        row = tuple(chance.randrange(3) for _ in COLUMNS[table].split(","))
        if held[table] and table not in growing and chance.random() < 0.5:
            row = held[table].pop(chance.randrange(len(held[table])))
            kind = "delete"
        else:
            held[table].append(row)
            kind = "insert"
        if growing and chance.random() < 0.3:
            with pytest.raises(ChangeError):
                bring(made, (growing[0], (0, 0) if growing[0] == "R2" else (0,), "delete"))
        bring(made, (table, row, kind))
        oracle.execute(f"DELETE FROM {table}")
        if held[table]:
            oracle.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", held[table])
        for number, sql in enumerate(forms):
            found = multiset(made.views[f"v{number}"].to_arrow())
            assert_same_rows(found, multiset(oracle.execute(sql).fetchall()), f"{growing} {sql}")
        if step == 20:
            made.save(tmp_path / "kept")
            made = livejoin.Database.load(tmp_path / "kept")
            assert {name for name in COLUMNS if made.tables[name].append_only} == set(growing)
    made._check()


def three_labels(generator: random.Random, branched: bool) -> StaticQuery:
    """A random query of whose dynamic tables some are append-only."""
    query = random_query(generator)
    growing = frozenset(atom for atom in query.dynamic if generator.random() < 0.6)
    query = replace(query, growing=growing)
    return with_branches(query, generator) if branched else query


@pytest.mark.parametrize("seed", seeds(3, 75))
def test_random_queries_with_three_labels(seed: int) -> None:
    """Static, append-only and dynamic tables, joined or hanging as `exists`, `not exists` or optional; with NULLs."""
    generator = random.Random(f"three labels {SEED} {seed}")
    query = three_labels(generator, branched=seed % 2 == 1)
    life = StaticLife(query, generator, threads=generator.choice((1, 1, 2)))
    life.views(*(form for form in FORMS if query.free or form != "distinct"))
    for _ in range(6):
        life.commit(life.changes())
        if (static := life.of("static")) and generator.random() < 0.3:
            life.refresh(generator.choice(static))
    life.database._check()


@pytest.mark.parametrize("seed", seeds(1, 60))
def test_tables_promise_something_else_between_commits(seed: int) -> None:
    """ALTER TABLE moves plans; whatever a table promises now holds for what comes then."""
    generator = random.Random(f"altered {SEED} {seed}")
    query = three_labels(generator, branched=seed % 3 == 2)
    life = StaticLife(query, generator)
    life.views(*(form for form in FORMS if query.free or form != "distinct"))
    for _ in range(5):
        life.alter(generator.randrange(len(query.edges)), generator.choice(("static", "append-only", "dynamic")))
        life.commit(life.changes())
    told = {form: life.database.explain(life.query.sql(form), allow_product=True).guarantee for form in life.before}
    shown = {form: life.database.views[form].explain().guarantee for form in life.before}
    assert {form: one.bound for form, one in told.items()} == {form: one.bound for form, one in shown.items()}
    life.database._check()
