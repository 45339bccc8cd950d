"""Readers and followers beside a writer: ``python tests/torture/readers.py SECONDS SEED [kept]``.

It needs ``PYTHONPATH=tests:tests/support``; ``make torture`` runs it for ten minutes.

A writer commits, fails to commit, drops and creates views, and opens its folder again. Beside it threads take
snapshots, each of which must be the truth of its version: tables as the writer wrote them down, views as DuckDB
computes them from these. Others follow views, in threads and in tasks, with what waits given one by one and as one;
each must end with the view, whatever resets it saw.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import livejoin
from livejoin.errors import ChangeError, LivejoinError, StateError
from oracle import assert_same_rows, connect, multiset, signed_multiset
from scenario import Row

READERS, FOLLOWERS = 8, 20
TABLES = {"sales": "id INT PRIMARY KEY, item INT, price DECIMAL(9, 2)", "items": "item INT, name STRING"}
VIEWS = {
    "named": "SELECT s.id, i.name, s.price FROM sales s JOIN items i ON s.item = i.item",
    "sums": "SELECT item, COUNT(*) AS n, SUM(price) AS s FROM sales GROUP BY item",
    "first": "SELECT id FROM sales ORDER BY price DESC, id LIMIT 7",
    "distinct_names": "SELECT DISTINCT name FROM items",
}
COMING = ("gone", "SELECT item, MAX(price) AS m FROM sales GROUP BY item")
OPEN_EVERY = 400
REMEMBERED = 3000


class Failed(AssertionError):
    """Something was not the truth."""


class Rounds:
    """A database with a writer, readers and followers; mutable.

    Args:
        seed: Of all choices.
        folder: Where all stays; None if nothing does.
    """

    def __init__(self, seed: int, folder: Path | None) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self.truth: dict[int, dict[str, Counter[Row]]] = {}
        self.failures: list[BaseException] = []
        self.following: list[livejoin.Changes] = []
        self.last: dict[str, Counter[Row]] = {}
        self.snapshots = self.checked = self.updates = self.resets = self.commits = 0
        self.counting = threading.Lock()
        self.db = self._open()
        for name, columns in TABLES.items():
            self.db.execute(f"CREATE TABLE {name} ({columns})")
        for name, sql in VIEWS.items():
            self.db.execute(f"CREATE VIEW {name} AS {sql}")
        self._note()

    def _open(self) -> livejoin.Database:
        return livejoin.Database(self.folder, sync="batch") if self.folder else livejoin.Database()

    def _note(self) -> None:
        self.truth[self.db.version] = {name: multiset(rows) for name, rows in self.rows.items()}
        self.truth.pop(self.db.version - REMEMBERED, None)

    def run(self, seconds: float) -> None:
        """Run it; raises what went wrong."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.failures:
            self._opened(min(until, time.monotonic() + 10))
            if self.folder:
                self.db = self._open()
                for name in TABLES:
                    assert_same_rows(multiset(self.db.sql(f"SELECT * FROM {name}")), multiset(self.rows[name]), name)
        self.db.close()
        if self.failures:
            raise self.failures[0]

    def _opened(self, until: float) -> None:
        """One life of the open database, with readers and followers that come and end with it."""
        done = threading.Event()
        self._note()
        works = [(self._read, (done,))] * READERS
        works += [(self._follow, (name, place)) for place in range(FOLLOWERS // 2) for name in [list(VIEWS)[place % 4]]]
        works += [(self._loop, ())]
        threads = [threading.Thread(target=self._watched, args=work, daemon=True) for work in works]
        for thread in threads:
            thread.start()
        for _ in range(OPEN_EVERY):
            if time.monotonic() > until or self.failures:
                break
            self._write()
        done.set()
        self.last = {name: multiset(view.to_arrow()) for name, view in self.db.views.items()}
        with suppress(LivejoinError):
            self.db.execute(f"DROP VIEW {COMING[0]}")
        version = self.db.version
        while not self.failures and (len(self.following) < FOLLOWERS or min(self._places()) < version):
            time.sleep(0.01)
        if self.folder:
            self.db.close()
        for one in self.following:
            one.close()
        for thread in threads:
            thread.join()
        self.following = []

    def _places(self) -> list[int]:
        """A version below which somebody has still to read, for each who follows: its own, or the present one."""
        found = []
        for one in list(self.following):
            link = one.link
            waits = link is None or link.step is not None or one._reset_version is not None
            found.append(-1 if waits else self.db.version)
        return found

    def _watched(self, work: Any, arguments: tuple[Any, ...]) -> None:
        try:
            work(*arguments)
        except BaseException as failure:
            self.failures.append(failure)

    def _write(self) -> None:
        pick = self.random
        if pick.random() < 0.02:
            name, sql = COMING
            self.db.execute(f"DROP VIEW IF EXISTS {name}" if name in self.db.views else f"CREATE VIEW {name} AS {sql}")
            return
        changes: dict[str, list[dict[str, Any]]] = {}
        after = {name: list(rows) for name, rows in self.rows.items()}
        there = {row[0] for row in after["sales"]}
        sales = []
        for _ in range(pick.choice([1, 1, 1, 5, 50])):
            if there and pick.random() < 0.5:
                row = after["sales"].pop(pick.randrange(len(after["sales"])))
                sales.append({"id": row[0], "item": row[1], "price": row[2], "_change_type": "delete"})
                there.discard(row[0])
            else:
                key = pick.randrange(10**6)
                if key not in there:
                    there.add(key)
                    row = (key, pick.randrange(9), Decimal(pick.randrange(500)).scaleb(-2))
                    after["sales"].append(row)
                    sales.append({"id": row[0], "item": row[1], "price": row[2], "_change_type": "insert"})
        sales.sort(key=lambda change: change["_change_type"])
        gone = {change["id"] for change in sales if change["_change_type"] == "delete"}
        both = gone & {change["id"] for change in sales if change["_change_type"] == "insert"}
        if both:  # within a commit insertions come first
            return
        changes["sales"] = sales
        if pick.random() < 0.1:
            row = (pick.randrange(9), pick.choice(["nut", "bolt", None, "Zoë"]))
            after["items"].append(row)
            changes["items"] = [{"item": row[0], "name": row[1]}]
        if pick.random() < 0.1:
            broken = {**changes, "sales": [*sales, {"id": -1, "item": 0, "price": 0, "_change_type": "delete"}]}
            try:
                self.db.apply(broken, coerce="json")
            except ChangeError:
                pass
            else:
                raise Failed("a deletion of a row that is not there was applied")
        self.rows = after
        self.truth[self.db.version + 1] = {name: multiset(rows) for name, rows in after.items()}
        self.truth.pop(self.db.version - REMEMBERED, None)
        self.db.apply(changes)
        self.commits += 1

    def _read(self, done: threading.Event) -> None:
        choice = random.Random(threading.get_ident())
        while not done.is_set() and not self.failures:
            try:
                with self.db.snapshot() as at:
                    time.sleep(choice.choice([0, 0, 0.001, 0.05]))
                    tables = {name: at[name].to_arrow() for name in TABLES}
                    views = {name: at[name].to_arrow() for name in choice.sample(list(VIEWS), 2)}
                    self._check(at.version, tables, views)
            except StateError:
                return  # the database was closed

    def _check(self, version: int, tables: dict[str, pa.Table], views: dict[str, pa.Table]) -> None:
        truth = self.truth.get(version)
        if truth is not None:
            for name, rows in tables.items():
                assert_same_rows(multiset(rows), truth[name], f"{name} at version {version}")
        with connect() as duck:
            for name, rows in tables.items():
                duck.register(f"rows_{name}", rows)
                duck.execute(f"CREATE TABLE {name} AS SELECT * FROM rows_{name}")
            for name, rows in views.items():
                expected = duck.sql(VIEWS[name]).to_arrow_table()
                assert_same_rows(multiset(rows), multiset(expected), f"{name} at version {version}")
                if name == "first" and rows.column(0).to_pylist() != expected.column(0).to_pylist():
                    raise Failed(f"the order of {name} at version {version}")
        with self.counting:
            self.snapshots += 1
            self.checked += truth is not None

    def _changes(self, name: str, place: int) -> livejoin.Changes:
        waiting: Any = "merge" if place % 2 else "each"
        changes = self.db.views[name].changes(waiting=waiting, max_waiting=200 if place % 3 == 0 else 10**6)
        self.following = [*self.following, changes]
        return changes

    def _took(self, name: str, rows: Counter[Row], update: livejoin.Update) -> Counter[Row]:
        total = Counter[Row]() if update.reset else rows
        for row, count in signed_multiset(update.delta).items():
            total[row] += count
            if total[row] < 0:
                raise Failed(f"one who follows {name} was told that {row} goes, which it has not, at {update.version}")
            if not total[row]:
                del total[row]
        with self.counting:
            self.updates += 1
            self.resets += update.reset
        return total

    def _follow(self, name: str, place: int) -> None:
        rows, seen = Counter[Row](), -1
        for update in self._changes(name, place):
            if update.version <= seen and not update.reset:
                raise Failed(f"version {update.version} of {name} came behind {seen}")
            seen = update.version
            rows = self._took(name, rows, update)
            time.sleep(0.02 if place % 3 == 0 else 0)
        assert_same_rows(rows, self.last[name], f"what one who follows {name} has at the end")

    def _loop(self) -> None:
        async def follow(name: str, place: int) -> None:
            rows = Counter[Row]()
            async for update in self._changes(name, place):
                rows = self._took(name, rows, update)
            assert_same_rows(rows, self.last[name], f"what a task that follows {name} has at the end")

        async def all_of_them() -> None:
            names = list(VIEWS)
            await asyncio.gather(*(follow(names[place % 4], place) for place in range(FOLLOWERS // 2)))

        asyncio.run(all_of_them())


def main(seconds: float, seed: int, folder: Path | None) -> str:
    """Run it for some seconds; what was done."""
    rounds = Rounds(seed, folder)
    rounds.run(seconds)
    return (
        f"{rounds.commits} commits, {rounds.snapshots} snapshots ({rounds.checked} beside what was written), "
        f"{rounds.updates} updates of which {rounds.resets} began anew"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="livejoin readers ") as there:
        print(main(float(sys.argv[1]), int(sys.argv[2]), Path(there) / "kept" if "kept" in sys.argv[3:] else None))
