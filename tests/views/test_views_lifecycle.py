"""Views at any time: before, between and after the commits; quiet ones; subscribers; batches; snapshots."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import livejoin
from harness import RESULT_LIMIT, Harness
from livejoin.errors import ReadError, SchemaError, StateError
from oracle import assert_same_rows, multiset, signed_multiset
from scenario import Scenario
from strategies import FUZZ, scenarios

HOP2 = "SELECT A.src AS a, B.src AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src"


def graph(window_rows: int | None = None) -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT", window_rows=window_rows)
    return db


@FUZZ
@given(scenarios(max_queries=2), st.data())
def test_views_created_at_any_time_agree(scenario: Scenario, data: st.DataObject) -> None:
    """A view over filled tables is loaded first, and goes on like one that was there from the start."""
    note(scenario.script())
    harness = Harness(scenario.tables)
    births = [
        (
            data.draw(st.integers(0, len(scenario.commits)), label=f"{name} is created before commit"),
            name,
            query,
            deltas,
        )
        for number, query in enumerate(scenario.queries)
        for name, deltas in ((f"v{number}", True), (f"late{number}", True), (f"quiet{number}", False))
    ]
    for step in range(len(scenario.commits) + 1):
        for at, name, query, deltas in births:
            if at == step and harness.oracle.count(query.plain) <= RESULT_LIMIT:
                harness.create_view(name, query, deltas=deltas)
        if step < len(scenario.commits):
            harness.run(scenario.commits[step], scenario.forms[step])


@FUZZ
@given(scenarios(max_queries=2, max_commits=5), st.data())
def test_snapshots_in_the_middle(scenario: Scenario, data: st.DataObject) -> None:
    """A database that is saved and loaded between any two commits goes on as if nothing had happened."""
    note(scenario.script())
    harness = Harness(scenario.tables)
    for number, query in enumerate(scenario.queries):
        harness.create_view(f"v{number}", query, deltas=number == 0)
    for commit, form in zip(scenario.commits, scenario.forms, strict=True):
        harness.run(commit, form)
        if data.draw(st.booleans(), label="reload"):
            harness.reload()
    late = scenario.queries[0]
    harness.create_view("late", late)


@FUZZ
@given(scenarios(errors=False, max_queries=1, max_commits=2), st.integers(1, 50))
def test_batches_are_the_rows_in_pieces(scenario: Scenario, max_rows: int) -> None:
    """`batches(max_rows)` yields the result's rows, none empty, none above `max_rows`."""
    note(scenario.script())
    harness = Harness(scenario.tables)
    harness.create_view("v", scenario.queries[0])
    for commit, form in zip(scenario.commits, scenario.forms, strict=True):
        harness.run(commit, form)
    view = harness.database.views["v"]
    pieces = list(view.batches(max_rows=max_rows))
    assert all(isinstance(p, pa.RecordBatch) and 0 < p.num_rows <= max_rows for p in pieces)
    assert all(p.schema.equals(view.schema) for p in pieces)
    assert_same_rows(pa.Table.from_batches(pieces, view.schema), view.to_arrow(), "batches")
    frame = view.to_pandas()
    assert list(frame.columns) == view.schema.names
    assert len(frame) == view.count()


def test_a_commit_while_batches_are_read_is_noticed() -> None:
    """A reader is not handed a mixture of two versions: it gets the old one's rows or an error."""
    db = graph()
    view = db.create_view("hop2", HOP2)
    db.apply("G", [(i % 5, (i + 1) % 5) for i in range(50)])
    before = multiset(view.to_arrow())
    reader = view.batches(max_rows=7)
    first = next(reader)
    db.apply("G", [{"src": i % 5, "dst": (i + 1) % 5, "_change_type": "delete"} for i in range(0, 50, 2)])
    try:
        rest = list(reader)
    except ReadError:
        return
    assert_same_rows(multiset(pa.Table.from_batches([first, *rest])), before, "rows of the old version")


def test_a_quiet_view_has_no_delta() -> None:
    db = graph()
    quiet = db.create_view("quiet", HOP2, deltas=False)
    commit = db.apply("G", [(1, 2), (2, 3)])
    with pytest.raises(ReadError, match=r"quiet.*deltas"):
        commit["quiet"]
    assert commit.views == ()
    assert quiet.to_arrow().to_pylist() == [{"a": 1, "b": 2, "c": 3}]
    with pytest.raises(ReadError, match="quiet"):
        quiet.subscribe(lambda delta: None)


def test_an_unknown_view_is_an_error() -> None:
    db = graph()
    db.create_view("hop2", HOP2)
    commit = db.apply("G", [(1, 2)])
    with pytest.raises((ReadError, SchemaError), match=r"nothere.*hop2|hop2.*nothere"):
        commit["nothere"]
    with pytest.raises((KeyError, SchemaError), match="nothere"):
        db.views["nothere"]


def test_subscribers_see_each_commit_once_in_order() -> None:
    db = graph()
    view = db.create_view("hop2", HOP2)
    seen: list[pa.Table] = []
    again: list[pa.Table] = []
    view.subscribe(seen.append)
    view.subscribe(again.append)
    commits = [db.apply("G", [(1, 2), (2, 3)]), db.apply("G", [(3, 4)])]
    taken = [t for t in seen if t.num_rows]
    assert [t["_commit_version"].to_pylist() for t in taken] == [[1], [2]]
    for delta, commit in zip(taken, commits, strict=True):
        assert delta.equals(commit["hop2"])
    assert [t.num_rows for t in seen] == [t.num_rows for t in again]


def test_a_view_over_a_filled_table_starts_with_its_rows() -> None:
    """The load is not a commit: no version passes and nobody is told."""
    db = graph()
    db.apply("G", [(1, 2), (2, 3), (2, 3)])
    view = db.create_view("hop2", HOP2)
    assert db.version == 1
    assert view.to_arrow().to_pylist() == [{"a": 1, "b": 2, "c": 3}] * 2
    assert view.count() == 2
    commit = db.apply("G", [(0, 1)])
    assert commit.version == 2
    assert commit["hop2"].to_pylist() == [{"a": 0, "b": 1, "c": 2, "_change_type": "insert", "_commit_version": 2}]


def test_tables_may_be_created_after_views() -> None:
    db = graph()
    db.create_view("hop2", HOP2)
    db.apply("G", [(1, 2)])
    db.execute("CREATE TABLE H (id BIGINT, name STRING)")
    named = db.create_view("named", "SELECT G.src, H.name FROM G JOIN H ON G.dst = H.id")
    commit = db.apply({"H": [(2, "two")], "G": [(2, 2)]})
    assert multiset(named.to_arrow()) == multiset([(1, "two"), (2, "two")])
    assert multiset(commit["hop2"].select(["a", "b", "c"])) == multiset([(1, 2, 2), (2, 2, 2)])


def test_two_views_of_one_name_are_refused() -> None:
    db = graph()
    view = db.create_view("hop2", HOP2)
    db.apply("G", [(1, 2), (2, 3)])
    with pytest.raises(SchemaError, match=r"HOP2|hop2"):
        db.create_view("HOP2", "SELECT src FROM G")
    assert view.count() == 1
    assert list(db.views) == ["hop2"]


def test_dropped_names_can_be_used_again() -> None:
    db = graph()
    db.execute(f"CREATE VIEW hop2 AS {HOP2}")
    db.apply("G", [(1, 2), (2, 3)])
    with pytest.raises(SchemaError, match=r"hop2"):
        db.execute("DROP TABLE G")
    db.execute("DROP VIEW HOP2")
    with pytest.raises(ReadError):
        db.apply("G", [(3, 4)])["hop2"]
    assert db.create_view("hop2", HOP2).count() == 2
    db.execute("DROP VIEW hop2")
    db.execute("DROP TABLE g")
    assert list(db.tables) == list(db.views) == []
    db.execute("CREATE TABLE G (src STRING)")
    view = db.create_view("hop2", "SELECT src FROM G")
    assert view.count() == 0
    assert db.apply("G", [("a",)])["hop2"].num_rows == 1
    db._check()


def test_explain_names_the_tree_and_stats_count() -> None:
    db = graph()
    view = db.create_view("hop2", HOP2)
    db.apply("G", [(1, 2), (2, 3)])
    db.apply("G", [{"src": 2, "dst": 3, "_change_type": "delete"}])
    text = str(view.explain())
    assert "A" in text
    assert "B" in text
    stats = view.stats()
    assert stats["state_bytes"] > 0
    assert stats["rows"] == view.count() == 0
    assert stats["commits"] == 2
    assert stats["changes"] == 3
    assert stats["delta_rows"] == 2


def test_a_snapshot_keeps_version_and_extra(tmp_path: Path) -> None:
    db = graph(window_rows=3)
    db.create_view("hop2", HOP2)
    db.apply("G", [(1, 2), (2, 3), (3, 4)])
    db.save(tmp_path / "snap", extra={"batch_id": 12})
    loaded = livejoin.Database.load(tmp_path / "snap")
    assert loaded.extra == {"batch_id": 12}
    assert loaded.version == db.version == 1
    assert list(loaded.views) == ["hop2"]
    commits = [d.apply("G", [(4, 5)]) for d in (db, loaded)]
    assert commits[0].version == commits[1].version == 2
    assert signed_multiset(commits[0]["hop2"]) == signed_multiset(commits[1]["hop2"])
    assert signed_multiset(commits[0]["hop2"]) == {(1, 2, 3): -1, (3, 4, 5): 1}


def test_a_snapshot_over_a_snapshot_replaces_it(tmp_path: Path) -> None:
    db = graph()
    view = db.create_view("hop2", HOP2)
    for version in range(1, 4):
        db.apply("G", [(version, version + 1)])
        db.save(tmp_path, extra={"batch_id": version})
    loaded = livejoin.Database.load(tmp_path)
    assert loaded.extra == {"batch_id": 3}
    assert multiset(loaded.views["hop2"].to_arrow()) == multiset(view.to_arrow())


def test_a_missing_snapshot_is_a_state_error(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="nothing"):
        livejoin.Database.load(tmp_path / "nothing")
    with pytest.raises(StateError):
        livejoin.Database.load(tmp_path)


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "gone": lambda data: None,
    "empty": lambda data: b"",
    "cut": lambda data: data[:-9],
    "first bit": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "header": lambda data: data[:10] + bytes([data[10] ^ 64]) + data[11:],
    "a bit in the middle": lambda data: (
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1 :]
    ),
    "last bit": lambda data: data[:-1] + bytes([data[-1] ^ 128]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_snapshot_is_a_state_error(tmp_path: Path, damage: str) -> None:
    """Whatever happens to one of its files, it is noticed when it is loaded, and a repaired one is read again."""
    db = livejoin.Database()
    db.create_table("T", "a BIGINT PRIMARY KEY, s STRING, d DECIMAL(30, 2)", window_rows=90)
    db.create_view("v", "SELECT A.a, B.s, B.d FROM T A JOIN T B ON A.s = B.s")
    db.apply("T", [(i, f"s{i}", Decimal(i)) for i in range(100)])
    db.save(tmp_path, extra={"batch_id": 1})
    for path in [p for p in tmp_path.rglob("*") if p.is_file()]:
        data = path.read_bytes()
        damaged = DAMAGES[damage](data)
        if damaged is None:
            path.unlink()
        else:
            path.write_bytes(damaged)
        try:
            with pytest.raises(StateError):
                livejoin.Database.load(tmp_path, trusted=True)
            if not path.name.startswith("block"):  # states that nobody trusts are not read
                with pytest.raises(StateError):
                    livejoin.Database.load(tmp_path)
        except BaseException as error:
            error.add_note(f"damaged file: {path.name}")
            raise
        path.write_bytes(data)
    assert livejoin.Database.load(tmp_path).views["v"].count() == 90
