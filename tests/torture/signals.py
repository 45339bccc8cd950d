"""A process that is interrupted again and again, from the import of the engine on; run as a script.

The handler of a timer raises KeyboardInterrupt, as that of SIGINT does, wherever the main thread is: in Python, in a
library of C, waiting for a compilation. Each call is made anew until it comes through. The law: a call that is not
interrupted never fails, whatever was cut off before it, and gives what DuckDB gives.

    python tests/torture/signals.py INTERRUPTS SEED MILLISECONDS

prints how many interrupts struck, within how many kinds of calls, and ends with 0; with another code if a call broke.
"""

from __future__ import annotations

import random
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import livejoin  # not interrupted: within importlib that can leave Python's own lock taken for good

VIEWS = (
    "SELECT A.src AS a, B.dst AS d FROM G A JOIN G B ON A.dst = B.src",
    "SELECT A.src AS a, COUNT(*) AS n, SUM(B.dst) AS s FROM G A JOIN G B ON A.dst = B.src GROUP BY A.src",
    "SELECT src AS a, MAX(dst) AS m, COUNT(DISTINCT dst) AS k FROM G GROUP BY src",
    "SELECT DISTINCT dst AS d FROM G WHERE src + 1 > dst",
    "SELECT upper(P.name) AS n, G.dst AS d FROM G LEFT JOIN P ON G.src = P.id",
    "SELECT src AS v FROM G EXCEPT ALL SELECT id AS v FROM P",
    "SELECT id, name FROM P ORDER BY name DESC, id LIMIT 3",
    "SELECT A.src AS a FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src AND C.dst = A.src",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY name ORDER BY id) AS r FROM P",
    "SELECT id, SUM(id) OVER (PARTITION BY name ORDER BY id) AS s FROM P",
    "SELECT id FROM P WHERE EXISTS (SELECT 1 FROM G WHERE G.src = P.id AND G.dst > P.id)",
    "SELECT src AS a FROM G WHERE dst > (SELECT AVG(H.dst) FROM G H WHERE H.src = G.src)",
)
ALGORITHMS = ("auto", "dyn", "change-propagation")


class Interrupts:
    """Interrupts that strike while a call is made, at most one a call.

    Args:
        wanted: How many; afterwards none strikes.
        seed: Of the moments.
        longest: Seconds until one strikes, at most.
    """

    def __init__(self, wanted: int, seed: int, longest: float) -> None:
        self.left = wanted
        self.struck: Counter[str] = Counter()
        self.random = random.Random(seed)
        self._longest = longest
        self._call = ""
        signal.signal(signal.SIGALRM, self._strike)

    def until_it_comes_through(self, name: str, call: Callable[[], Any]) -> Any:
        """Make a call again and again until no interrupt cuts it off; what it gives."""
        while True:
            try:
                self._call = name
                if self.left:
                    signal.setitimer(signal.ITIMER_REAL, self._longest * self.random.random() ** 4 + 1e-6)
                result = call()
                self._call = ""
                return result
            except KeyboardInterrupt:
                pass
            except RuntimeError as error:  # what Python 3.11 makes of it within __set_name__
                if not isinstance(error.__cause__, KeyboardInterrupt):
                    raise

    def end(self) -> None:
        """None strikes any more."""
        self._call = ""
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _strike(self, number: int, frame: object) -> None:
        if self._call:
            self.struck[self._call] += 1
            self.left -= 1
            self._call = ""
            raise KeyboardInterrupt


def _rows(interrupts: Interrupts) -> dict[str, list[tuple[Any, ...]]]:
    draw = interrupts.random.randrange
    people = {draw(8): "abc"[draw(3)] for _ in range(4)}
    return {"G": [(draw(6), draw(6)) for _ in range(6)], "P": list(people.items())}


def _life(interrupts: Interrupts) -> None:
    """A database with some views: made, changed, read, each call made anew until it comes through."""
    call = interrupts.until_it_comes_through
    call("import", _import)
    tables = {"G": "src BIGINT, dst BIGINT", "P": "id BIGINT PRIMARY KEY, name STRING"}

    def made() -> Any:
        db = livejoin.Database(threads=interrupts.random.choice((1, 1, 2)))
        for name, columns in tables.items():
            db.create_table(name, columns)
        return db

    db = call("tables", made)
    chosen = {f"v{i}": text for i, text in enumerate(interrupts.random.sample(VIEWS, 3))}
    for name, text in chosen.items():
        algorithm = interrupts.random.choice(ALGORITHMS)
        call("view", lambda name=name, text=text, algorithm=algorithm: _view(db, name, text, algorithm))
    kept: dict[str, list[tuple[Any, ...]]] = {"G": [], "P": []}
    for _ in range(4):
        changes = {**_rows(interrupts), "P": []} if kept["P"] else _rows(interrupts)
        _commit(interrupts, db, changes)
        kept = {table: kept[table] + changes[table] for table in kept}
    gone = kept["G"][::2]
    _commit(interrupts, db, {"G": [{"src": a, "dst": b, "_change_type": "delete"} for a, b in gone]})
    kept["G"] = kept["G"][1::2]
    for name, text in chosen.items():
        found = call("read", lambda name=name: db.views[name].to_arrow())
        _compare(text, kept, found)


def _import() -> None:
    """The engine, which is imported when it is asked for."""
    livejoin.Database  # noqa: B018


def _view(db: Any, name: str, text: str, algorithm: str) -> None:
    if name in db.views:
        return
    try:
        db.create_view(name, text, algorithm=algorithm)
    except livejoin.UnsupportedQueryError:  # an algorithm that does not take this query
        db.create_view(name, text)


def _commit(interrupts: Interrupts, db: Any, changes: dict[str, list[Any]]) -> None:
    """One commit: an interrupt that strikes behind the point where it stands must not make it twice."""
    version = db.version
    interrupts.until_it_comes_through("commit", lambda: db.version > version or db.apply(changes))
    assert db.version == version + 1


def _compare(text: str, tables: dict[str, list[tuple[Any, ...]]], found: Any) -> None:
    import duckdb  # noqa: PLC0415

    with duckdb.connect() as oracle:
        oracle.execute("CREATE TABLE G (src BIGINT, dst BIGINT); CREATE TABLE P (id BIGINT, name VARCHAR)")
        for table, rows in tables.items():
            if rows:
                oracle.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        expected = Counter(oracle.execute(text).fetchall())
    rows = Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))
    assert rows == expected, (text, rows - expected, expected - rows)


def main(wanted: int, seed: int, longest: float) -> int:
    """Lives until all interrupts have struck, and one more without any."""
    interrupts = Interrupts(wanted, seed, longest)
    try:
        while interrupts.left:
            _life(interrupts)
        _life(interrupts)
    except BaseException:
        interrupts.end()
        traceback.print_exc()
        return 3
    interrupts.end()
    print(f"{sum(interrupts.struck.values())} interrupts: {dict(interrupts.struck)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000))
