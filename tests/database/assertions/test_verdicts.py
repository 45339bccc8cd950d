"""Random commits under assertions: the verdict is DuckDB's, and what is refused is undone exactly."""

from __future__ import annotations

import os
from random import Random

import duckdb
import pytest

import livejoin
from livejoin import Database, ViolationError
from oracle import multiset

ROUNDS = int(os.environ.get("LIVEJOIN_FUZZ", "20"))
TABLES = (
    "CREATE TABLE rooms (id INT, places INT)",
    "CREATE TABLE people (id INT, admin BOOLEAN, boss INT)",
    "CREATE TABLE bookings (room INT, who INT, start INT, stop INT)",
)
CHECKS = {
    "no_overlap": "NOT EXISTS (SELECT a.room, a.start, b.start AS other FROM bookings a JOIN bookings b "
    "ON a.room = b.room AND a.start < b.start AND b.start < a.stop)",
    "known_rooms": "NOT EXISTS (SELECT room FROM bookings x WHERE room IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM rooms y WHERE y.id = x.room))",
    "some_admin": "EXISTS (SELECT 1 FROM people WHERE admin) OR (SELECT COUNT(*) FROM bookings) = 0",
    "not_too_many": "NOT EXISTS (SELECT r.id, COUNT(*) AS n FROM rooms r JOIN bookings b ON b.room = r.id "
    "GROUP BY r.id, r.places HAVING COUNT(*) > MAX(r.places))",
    "lasting": "(SELECT MIN(stop - start) FROM bookings) > 0",
    "everybody_has_a_boss": "NOT EXISTS (SELECT p.id FROM people p LEFT JOIN people b ON b.id = p.boss "
    "WHERE p.boss IS NOT NULL AND b.id IS NULL)",
}
VIEWS = {
    "load": "SELECT room, COUNT(*) AS n, SUM(stop - start) AS s FROM bookings GROUP BY room",
    "who": "SELECT p.id, b.room, r.places FROM people p JOIN bookings b ON b.who = p.id "
    "LEFT JOIN rooms r ON r.id = b.room",
}


def statement(random: Random) -> str:
    number = lambda: random.choice(["NULL", *"1234512345"])  # noqa: E731
    match random.randrange(9):
        case 0:
            return f"INSERT INTO rooms VALUES ({random.randrange(1, 6)}, {random.randrange(1, 4)})"
        case 1 | 2:
            admin = random.choice(["TRUE", "FALSE", "NULL"])
            return f"INSERT INTO people VALUES ({random.randrange(1, 6)}, {admin}, {number()})"
        case 3 | 4 | 5:
            start = random.randrange(0, 40)
            return f"INSERT INTO bookings VALUES ({number()}, {number()}, {start}, {start + random.randrange(0, 6)})"
        case 6:
            return f"DELETE FROM {random.choice(['people', 'rooms'])} WHERE id = {random.randrange(1, 6)}"
        case 7:
            return f"DELETE FROM bookings WHERE room = {number()} OR start > {random.randrange(10, 60)}"
        case _:
            return f"UPDATE bookings SET stop = stop + {random.randrange(-1, 3)} WHERE who = {number()}"


def transaction(random: Random) -> list[str]:
    """Some statements, of which none reads a table that one before it changes."""
    found: list[str] = []
    for one in [statement(random) for _ in range(random.randrange(1, 6))]:
        table = next(word for word in one.split() if word in ("rooms", "people", "bookings"))
        if one.startswith("INSERT") or not any(table in other.split() for other in found):
            found.append(one)
    return found


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.torture), 2])
def test_verdicts_are_those_of_duckdb(threads: int) -> None:
    random = Random(f"{os.environ.get('LIVEJOIN_SEED', '7')} {threads}")
    db, duck = Database(threads=threads), duckdb.connect()
    for table in TABLES:
        db.execute(table)
        duck.execute(table)
    for name, condition in CHECKS.items():
        db.execute(f"CREATE ASSERTION {name} CHECK ({condition})")
    for name, sql in VIEWS.items():
        db.create_view(name, sql)
    stood = 0
    for _ in range(ROUNDS):
        text = "; ".join(transaction(random))
        duck.begin()
        duck.execute(text)
        truths = {name: duck.execute(f"SELECT {one}").fetchall() == [(False,)] for name, one in CHECKS.items()}
        violated = {name for name, is_violated in truths.items() if is_violated}
        seen = {error.assertion for error in previewed(db, text)}
        assert seen == violated
        version = db.version
        if violated:
            with pytest.raises(ViolationError) as found:
                db.execute(f"BEGIN; {text}; COMMIT")
            condition = CHECKS[found.value.assertion]
            assert found.value.assertion in violated and db.version == version
            if condition.startswith("NOT EXISTS"):
                rows = duck.sql(condition.removeprefix("NOT EXISTS (").removesuffix(")")).to_arrow_table()
                assert found.value.count == rows.num_rows
                assert multiset(found.value.rows.cast(rows.schema)) == multiset(rows)
            duck.rollback()
        else:
            db.execute(f"BEGIN; {text}; COMMIT")
            duck.commit()
            stood += 1
        for name, sql in VIEWS.items():
            assert multiset(db.views[name].to_arrow()) == multiset(duck.sql(sql).to_arrow_table())
        assert not any(len(db.views[name]) for name in CHECKS)
        for node in db._contents.graph.nodes:
            node._check()
    assert 0 < stood < ROUNDS


def previewed(db: Database, text: str) -> tuple[ViolationError, ...]:
    """What a preview of statements says: of the changes that they would make."""
    copy = livejoin.database.transactions.transaction
    pending = livejoin.database.statements.row_changes.Pending()
    for one in text.split("; "):
        pending.add(db._contents, livejoin.sql.parse_statement(one))
    found: list[tuple[ViolationError, ...]] = []
    batches = copy.read(db._contents, pending.given(), False, "error")
    copy.trial(db._contents, batches, "error", lambda commit: found.append(commit.violations))
    return found[0]
