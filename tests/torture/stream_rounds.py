"""What the rounds of a campaign share: the faults, and a table whose rows come in any order."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
from stream_child import POINTS, TO_ITS_END
from stream_worker import Workers

W_ROWS, W_WINDOW = 20, 50  # of a file; of the window, whose edge lies within a file
W_TABLE = (
    '[tables.W]\nschema = "id INT, b INT"\nformat = "csv"\npath = "W"\narrival = "by-name"\n'
    f"options = {{ maxFilesPerTrigger = 1 }}\nwindow_rows = {W_WINDOW}\n"
)
W_VIEWS = {
    "held": "SELECT id, b FROM W",
    "newest": "SELECT b, COUNT(*) AS n, MAX(id) AS top FROM W GROUP BY b",
}
Rows = Counter[tuple[Any, ...]]


class Fault(NamedTuple):
    """What came of a fault.

    Args:
        what: Its sort.
        hit: Whether the pipeline ran, or was to read the file, when it happened.
        told: In words.
        is_over: Whether the pipeline has come to its end, so that another fault would find nothing.
    """

    what: str
    hit: bool
    told: str
    is_over: bool = False


def over(what: str) -> Fault:
    """There was no batch left to fail."""
    return Fault(what, hit=False, told="it had come to its end", is_over=True)


def write_w(folder: Path, number: int, dice: random.Random) -> None:
    """A file of the table W; nothing says in which order its rows come."""
    rows = [(number * W_ROWS + one, dice.randrange(4)) for one in range(W_ROWS)]
    draft = folder / f".{number:04}.csv"
    draft.write_text("".join(f"{key},{b}\n" for key, b in rows))
    draft.replace(folder / "W" / f"{number:04}.csv")


def check_w(held: Rows, files: int) -> None:
    """What the output says of W are rows of its last files, a batch of which may have had two; some order was taken."""
    ids = sorted(row[0] for row in held.elements())
    assert len(ids) == len(set(ids)) == min(W_WINDOW, files * W_ROWS), ids
    assert ids[0] >= files * W_ROWS - W_WINDOW - 2 * W_ROWS, ids
    assert ids[-W_ROWS // 2 :] == list(range(ids[-1] - W_ROWS // 2 + 1, ids[-1] + 1)), ids


def results(views: dict[str, str], tables: dict[str, tuple[str, Iterable[tuple[Any, ...]]]]) -> dict[str, Rows]:
    """The views over tables of given columns and rows, by DuckDB."""
    with duckdb.connect() as connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            for row in rows:
                connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
        return {
            view: Counter(connection.execute(sql.replace("LEFT ANTI JOIN", "ANTI JOIN")).fetchall())
            for view, sql in views.items()
        }


def differences(found: dict[str, Rows], expected: dict[str, Rows]) -> dict[str, tuple[Rows, Rows]]:
    """What each view has too much and too little."""
    each = {view: (found[view] - rows, rows - found[view]) for view, rows in expected.items()}
    return {view: (more, less) for view, (more, less) in each.items() if more or less}


def killed(
    workers: Workers, pipeline: Path, dice: random.Random, what: str, points: Iterable[str] = tuple(POINTS)
) -> Fault:
    """Kill the driver or its JVM, at some time or at a point of a batch; where."""
    worker = workers.one
    point = dice.choice(["", *points])
    worker.begin(pipeline, point or "none", dice.randrange(1, 4))
    event = worker.event()
    if event is not None and event["event"] == "up":
        if point:
            event = worker.event()
        else:
            time.sleep(dice.random() * 2)
    event = worker.alive(event)
    if event["event"] == "up" and worker.has_said:
        event = worker.alive(worker.end())
    if event["event"] == "end":
        assert not event["failed"], event["said"]
        return over(what)
    if what == "JVM":
        worker.kill_jvm()
        if event["event"] == "paused":
            worker.go_on()
        worker.end()
    workers.replace()
    return Fault(what, hit=True, told=point or "at some time")


def failed(workers: Workers, pipeline: Path, what: str, dice: random.Random, says: tuple[str, ...]) -> Fault:
    """Let the disk or the sink fail; what was said."""
    workers.one.begin(pipeline, what, dice.randrange(1, 30 if what == "full disk" else 4), 8)
    end = workers.one.alive(workers.one.end())
    assert not end["failed"] or any(text in end["said"] for text in says), end["said"]
    return Fault(what, end["failed"], str(end["said"])[:160], is_over=end["said"] == TO_ITS_END)


def to_its_end(workers: Workers, pipeline: Path) -> None:
    """Run a pipeline without a fault."""
    workers.one.begin(pipeline)
    end = workers.one.alive(workers.one.end())
    assert not end["failed"], end["said"]
