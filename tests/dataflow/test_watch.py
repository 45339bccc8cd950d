"""The work that kernels tell of each change, and what a watch makes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from livejoin import Database
from livejoin.dataflow.watching.watch import CAPACITY, KeyColumns, Part, Watch, Work, spread, work_of
from livejoin.families.arena.event_join import EventJoin
from livejoin.families.events import with_work
from livejoin.kernels.join.layout import EVENT_FIELDS, V_ROW, V_TABLE, V_WORK
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.words import Words

BIGINT = SqlType.integer(64)


@pytest.mark.parametrize(
    ("algorithm", "sql"),
    [
        (
            "crown",
            "SELECT A.src AS a, B.src AS b, C.dst AS c FROM G A JOIN G B ON A.dst = B.src JOIN H C ON B.dst = C.src",
        ),
        ("crown", "SELECT A.src AS a FROM G A LEFT JOIN H B ON A.dst = B.src"),
        ("crown", "SELECT DISTINCT A.src AS a, A.dst AS d FROM G A JOIN H B ON A.dst = B.src"),
        ("aju", "SELECT A.src AS a, B.w AS w FROM G A JOIN K B ON A.dst = B.k"),
    ],
)
def test_the_work_of_the_changes_adds_up_wherever_a_call_stops(
    algorithm: Any, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the output is full in the middle of a change, and where there is no space."""
    random = np.random.default_rng(3)
    database = Database()
    database.execute("CREATE TABLE G (src BIGINT, dst BIGINT); CREATE TABLE H (src BIGINT, dst BIGINT)")
    database.execute("CREATE TABLE K (k BIGINT PRIMARY KEY, w BIGINT)")
    database.create_view("v", sql, algorithm=algorithm)
    maintain = EventJoin.maintain
    checked = 0

    def watched(self: EventJoin[Any], events: Words, emit: bool, capacity: int | None = None) -> Iterator[Any]:
        nonlocal checked
        told, before = with_work(events), work_of(self.counters())
        rows = 0
        for chunk in maintain(self, told, emit, 3 if emit else None):
            rows += chunk.rows
            yield chunk
        assert (told[V_WORK] >= 0).all()
        assert int(told[V_WORK].sum()) == work_of(self.counters()) - before + rows
        assert np.array_equal(told[:EVENT_FIELDS], events)
        checked += int((told[V_WORK] > 3).sum())

    monkeypatch.setattr(EventJoin, "maintain", watched)
    there: list[tuple[str, tuple[int, int]]] = []
    keys = iter(range(1000))
    for _ in range(25):
        changes: dict[str, list[dict[str, Any]]] = {"G": [], "H": [], "K": []}
        for table in ("G", "H"):
            for row in random.integers(0, 4, (random.integers(0, 6), 2)).tolist():
                there.append((table, tuple(row)))
                changes[table].append({"src": row[0], "dst": row[1], "_change_type": "insert"})
        if random.random() < 0.2:
            changes["K"].append({"k": next(keys), "w": 1})
        for _ in range(int(random.integers(0, 4))):
            if there:
                table, row = there.pop(int(random.integers(0, len(there))))
                changes[table].append({"src": row[0], "dst": row[1], "_change_type": "delete"})
        database.apply({table: rows for table, rows in changes.items() if rows})
    assert checked, "some change made much work"
    database._check()


def test_large_commits_come_in_pieces_and_keep_the_work() -> None:
    database = Database()
    database.execute("CREATE TABLE G (src BIGINT, dst BIGINT); CREATE TABLE H (src BIGINT, dst BIGINT)")
    view = database.create_view("v", "SELECT G.src AS a, H.dst AS b FROM G JOIN H ON G.dst = H.src")
    view.analyze()
    database.apply("H", [(1, 1), (1, 2)])
    database.apply("G", [(k, k % 7) for k in range(40_000)])
    (found,) = [one for of, one in _found(database).items() if of.relation == "G"]
    assert found.total >= 40_000 + 2 * len(range(1, 40_000, 7))
    largest, cost = found.largest(1)[0]
    assert largest == (1,)
    assert cost > max(count for key, count in found.counts.items() if key != (1,))


def test_what_is_not_known_is_spread_evenly() -> None:
    assert spread(np.array([5, -1, -1, 2, -1]), 15).tolist() == [5, 3, 3, 2, 2]
    assert spread(np.array([5, 2]), 100).tolist() == [5, 2]
    assert spread(np.array([-1, 4]), 1).tolist() == [0, 4]


def test_a_watch_counts_what_stands_once() -> None:
    watch = Watch(Codec(), 0)
    of = KeyColumns.of("G", ("src",), (BIGINT,))

    def part(*keys: int) -> Part:
        return Part(of, np.array([keys]), np.full(len(keys), 2))

    watch.begin(2)
    watch.note_work(Work(0, 1, 0, 3, 4))
    watch.note_keys([part(1, 2)])
    watch.drop()
    assert (watch.work, watch.found, watch.costliest()) == (Work(), {}, None)
    watch.begin(3)
    watch.note_work(Work(0, 1, 0, 3, 4))
    watch.note_keys([part(1, 1, 2)])
    watch.settle()
    watch.settle()
    assert watch.work[:5] == (3, 1, 0, 3, 4)
    assert watch.costliest() == "G: src = 1"
    assert watch.found[of].counts == {(1,): 4, (2,): 2}


def test_strings_are_values_and_stay_so_when_codes_mean_something_else() -> None:
    database = Database()
    database.execute("CREATE TABLE G (src STRING, dst STRING); CREATE TABLE H (src STRING, w DECIMAL(30, 2))")
    view = database.create_view("v", "SELECT G.src AS a, H.w AS w FROM G JOIN H ON G.dst = H.src AND G.src <> 'no'")
    view.analyze()
    exact: Counter[tuple[str | None]] = Counter()
    for turn in range(6):
        rows = [(f"from {turn} {k} {'x' * 30}", f"to {turn % 2} {k % 5} {'y' * 30}") for k in range(900)]
        database.apply("G", rows)
        exact.update((dst,) for _, dst in rows)
        deletions = [{"src": src, "dst": dst, "_change_type": "delete"} for src, dst in rows]
        database.apply("G", deletions)  # what the codes meant is forgotten
        exact.update((dst,) for _, dst in rows)
    database.apply("G", [("a", None)])
    exact[(None,)] += 1
    (found,) = [one for of, one in _found(database).items() if of.relation == "G"]
    assert found.counts.keys() == exact.keys()
    for key, changes in exact.items():  # one for itself, one for entering a view, and now and then its key is new
        assert changes <= found.counts[key] <= 3 * changes
    assert found.error == 0
    assert len(found.counts) <= CAPACITY


def _found(database: Database) -> dict[KeyColumns, Any]:
    node = database._contents.graph.nodes[-1]
    assert node.watch is not None
    return dict(node.watch.found)


def test_events_name_tables_and_rows_as_before() -> None:
    events = np.arange(10).reshape(EVENT_FIELDS, 2)
    told = with_work(events)
    assert told[V_TABLE].tolist() == [0, 1]
    assert told[V_ROW].tolist() == [2, 3]
    assert told[V_WORK].tolist() == [-1, -1]
