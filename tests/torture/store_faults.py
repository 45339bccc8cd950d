"""A database in an object store whose answers are lost, late, doubled or refused, and processes that end in the middle.

Laws: a commit that was told to stand is there when the database is opened again, whatever came then, and once; of one
that was not told to stand either all is there or nothing; of two processes that both believe to have the database at
most one is told that a commit stands.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

import livejoin
from livejoin.database.durable import lease
from livejoin.database.durable.fold_process import fold
from livejoin.database.durable.places import StorePlace
from livejoin.errors import LivejoinError, StateError
from livejoin.state import objects as objects_module
from memory_objects import URL, Killed, Seen, Sight, in_memory
from oracle import assert_same_rows

Rows = Counter[tuple[int, int]]

_CHANCE = 0.15
_KEYS = 20


@contextmanager
def hurried() -> Iterator[None]:
    """Let nobody wait for long."""
    with (
        mock.patch.object(objects_module, "PATIENCE", 0.02),
        mock.patch.object(objects_module, "_FIRST_PAUSE", 0.001),
        mock.patch.object(objects_module, "_RACES", 0),  # threads would draw faults in any order
        mock.patch.object(lease, "GONE_SECONDS", 0.0),
        mock.patch.object(lease, "BEAT_SECONDS", 3600.0),
        mock.patch.object(lease, "_is_dead", lambda _: True),  # of a process that has ended, as far as one sees
    ):
        yield


def opened(faulty: Seen) -> livejoin.Database:
    """The database as a process opens it that sees the store so."""
    with mock.patch("livejoin.database.engine.open_objects", lambda _: faulty):
        db = livejoin.open(URL)
    log = db._contents.log
    assert log is not None
    log.segment_records = 4
    log.on_segment = lambda: None  # `storm` folds
    return db


def declare(db: livejoin.Database) -> None:
    """The table and the view, unless they are there."""
    db.execute("""
        CREATE TABLE IF NOT EXISTS G (a BIGINT, b BIGINT);
        CREATE VIEW IF NOT EXISTS v AS
        SELECT x.a, COUNT(*) AS n, SUM(y.b) AS s FROM G x JOIN G y ON x.b = y.a GROUP BY x.a
    """)


def view_of(rows: Rows) -> list[tuple[int, int, int]]:
    """The rows of the view, from those of the table."""
    found: dict[int, list[int]] = {}
    for (a, b), count in rows.items():
        for (key, value), times in rows.items():
            if key == b:
                group = found.setdefault(a, [0, 0])
                group[0] += count * times
                group[1] += value * count * times
    return [(a, n, s) for a, (n, s) in found.items()]


def change(db: livejoin.Database, rows: Rows, draw: random.Random) -> tuple[list[dict[str, Any]], Rows]:
    """Changes of the table, and its rows afterwards."""
    after = Counter(rows)
    given = []
    for _ in range(draw.randint(1, 5)):
        if after and draw.random() < 0.4:
            row, kind = draw.choice(sorted(after)), "delete"
            after -= Counter([row])
        else:
            row, kind = (draw.randrange(_KEYS), draw.randrange(_KEYS)), "insert"
            after[row] += 1
        given.append({"a": row[0], "b": row[1], "_change_type": kind})
    return given, +after


def table_of(db: livejoin.Database) -> Rows:
    """The rows of the table."""
    found = db.sql("SELECT a, b FROM G")
    return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))


def check(db: livejoin.Database, rows: Rows) -> None:
    """Assert that the database has these rows, and the view those that follow from them."""
    assert_same_rows(db.sql("SELECT a, b FROM G"), Counter(rows), "the table")
    assert_same_rows(db.views["v"].to_arrow(), Counter(view_of(rows)), "the view")


def storm(seed: int, faults: int, sight: Sight | None = None) -> Counter[str]:
    """Commit, fold, open again and let two processes have the database, until there were so many faults.

    Args:
        seed: The seed of what is drawn.
        faults: How many faults there are at least.
        sight: The store as a process sees it; None for one in memory.

    Returns:
        What happened, by kind.
    """
    draw = random.Random(seed)
    seen_by = in_memory() if sight is None else sight
    happened = Counter[str]()
    rows, others = Rows(), list[Rows]()  # as they are; as they may be instead
    with hurried():
        faulty = seen_by(draw, 0.0)
        db = opened(faulty)
        declare(db)
        db._check()
        while sum(happened.values()) + sum(faulty.happened.values()) < faults:
            faulty.chance = _CHANCE
            given, after = change(db, rows, draw)
            try:
                db.apply("G", given)
            except (LivejoinError, Killed):
                others = [after]
            else:
                rows = after
            if not others and draw.random() < 0.3:
                happened["folds"] += _fold(db, seen_by, draw)
            if not others and draw.random() < 0.9:
                continue
            zombie = db if not faulty.is_dead and not others and draw.random() < 0.5 else None
            faulty.chance = 0.0
            if zombie is None and draw.random() < 0.5:
                with suppress(LivejoinError):
                    db.close()
            if zombie is None:
                faulty.kill()
            happened += faulty.happened
            faulty.happened.clear()
            was, faulty = faulty, seen_by(draw, 0.0 if zombie else _CHANCE / 3)
            db = _opened_again(faulty)
            was.land()  # what was under way for long
            seen = table_of(db)
            assert seen in [rows, *others], "the rows of no commit"
            rows, others = seen, []
            check(db, rows)
            db._check()
            if zombie is not None:
                happened["zombies"] += 1
                _outlive(zombie, was, rows, draw, seen_by)
                faulty.chance = 0.0
                given, after = change(db, rows, draw)
                db.apply("G", given)
                rows = after
        faulty.chance = 0.0
        with suppress(LivejoinError):
            db.close()
        faulty.land()
        happened += faulty.happened
        db = opened(seen_by(draw, 0.0))
        seen = table_of(db)
        assert seen in [rows, *others]
        check(db, seen)
        db.close()
    return happened


def _opened_again(faulty: Seen) -> livejoin.Database:
    """Open it, in a process after the other where one fails."""
    for _ in range(60):
        try:
            return opened(faulty)
        except (LivejoinError, Killed) as error:
            failure = error
            faulty.chance /= 2
            if faulty.is_dead:
                faulty.is_dead = False
    raise AssertionError("no start in sixty opened the database") from failure


def _fold(db: livejoin.Database, seen_by: Sight, draw: random.Random) -> int:
    """Make a snapshot of what is complete, as the process beside does, while answers are lost."""
    log = db._contents.log
    assert log is not None
    place = StorePlace(seen_by(draw, _CHANCE / 3))
    with suppress(LivejoinError, OSError, Killed):
        fold(place, log.segment)
        place.remove_before(log.segment)
        return 1
    return 0


def _outlive(zombie: livejoin.Database, faulty: Seen, rows: Rows, draw: random.Random, seen_by: Sight) -> None:
    """A process that does not know yet that another one has opened the database; it commits, and is refused."""
    given, _ = change(zombie, rows, draw)
    faulty.chance = 0.0
    try:
        zombie.apply("G", given)
    except StateError:
        pass
    else:
        raise AssertionError("two processes have one database")
    _fold(zombie, seen_by, draw)
    with suppress(LivejoinError):
        zombie.close()
