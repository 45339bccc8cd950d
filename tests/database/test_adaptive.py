"""Views that move to another join tree: results and deltas are those of a view that stays."""

from __future__ import annotations

import logging
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import livejoin
from harness import Harness
from livejoin.database.view import View
from livejoin.dataflow.blocks.row_source import RowSource
from livejoin.dataflow.moving import adaptive
from livejoin.dataflow.node import Node
from livejoin.plan.explain.analyzed.predicted_work import predicted_work
from livejoin.plan.operators import AnyJoin
from moves import move_anywhere
from oracle import assert_same_rows, multiset, signed_multiset
from random_queries import queries
from random_relational import CLASSES, relational_queries
from scenario import Scenario
from strategies import EXAMPLES, FUZZ, IS_FUZZ, scenarios

PATH = "SELECT R.a, S.b, T.c, U.d, V.e, V.f FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c JOIN U ON T.d = U.d \
JOIN V ON U.e = V.e"
COLUMNS = {"R": "ab", "S": "bc", "T": "cd", "U": "de", "V": "ef"}


def kept(view: View) -> Node:
    """The block of a view's only join."""
    (node,) = (node for node in view._below if isinstance(node.plan, AnyJoin))
    return node


def run_with_moves(scenario: Scenario, random: Random) -> None:
    """Commits and replays, with moves between them, reloads, and a view beside that keeps no deltas."""
    note(scenario.script())
    harness = Harness(scenario.tables)
    for number, query in enumerate(scenario.queries):
        harness.create_view(f"v{number}", query, deltas=random.random() < 0.8)
    for commit, form in zip(scenario.commits, scenario.forms, strict=True):
        for view in harness.database.views.values():
            if random.random() < 0.7:
                move_anywhere(view, random)
        by_change = commit.error is None and not harness.stopped and random.random() < 0.3
        if by_change and not harness.grows_large(commit.changes):
            harness.replay(commit.changes)
        else:
            harness.run(commit, form)
        if random.random() < 0.2:
            harness.reload()


@settings(FUZZ, max_examples=max(2, EXAMPLES // 6))
@given(scenarios(queries=partial(queries, max_atoms=4)), st.randoms(use_true_random=False))
def test_moves_of_joins(scenario: Scenario, random: Random) -> None:
    run_with_moves(scenario, random)


@pytest.mark.parametrize("kind", CLASSES)
@settings(FUZZ, max_examples=max(2, EXAMPLES // 10))
@given(st.data(), st.randoms(use_true_random=False))
def test_moves_of_every_class_of_query(kind: str, data: st.DataObject, random: Random) -> None:
    made = partial(relational_queries, classes=(kind,))
    sizes, most = (12, 8, 16, 4), 5 if IS_FUZZ else 3
    run_with_moves(
        data.draw(scenarios(queries=made, max_queries=1, max_commits=most, max_tables=2, max_columns=3, sizes=sizes)),
        random,
    )


def path(adaptive_too: bool = True, sql: str = PATH, **options: Any) -> tuple[livejoin.Database, list[View]]:
    db = livejoin.Database()
    for name, columns in COLUMNS.items():
        db.create_table(f"{name}", ", ".join(f"{column} BIGINT" for column in columns))
    views = [db.create_view("stays", sql, **options)]
    if adaptive_too:
        views.append(db.create_view("moves", sql, adaptive=True, **options))
    return db, views


def some_rows(rng: np.random.Generator, table: str, number: int, keys: int = 60) -> pa.Table:
    return pa.table({column: rng.integers(0, keys, number) for column in COLUMNS[table]})


def flip(db: livejoin.Database, hot: str, rng: np.random.Generator, commits: int) -> list[livejoin.Commit]:
    """Commits in which one table's rows come and go."""
    done = []
    for _ in range(commits):
        rows = some_rows(rng, hot, 100)
        for kind in ("insert", "delete"):
            done.append(db.apply(hot, rows.append_column("_change_type", pa.array([kind] * 100))))
    return done


@pytest.mark.parametrize(
    ("sql", "options"),
    [
        (PATH, {}),
        pytest.param(PATH.replace("R.a, S.b, T.c, U.d, V.e, V.f", "count(*) AS n"), {}, marks=pytest.mark.torture),
        (PATH.replace("R.a, S.b, T.c, U.d, V.e, V.f", "T.c % 7 AS g, max(R.a) AS n") + " GROUP BY T.c % 7", {}),
        (PATH, {"algorithm": "dyn"}),
    ],
)
def test_a_stream_that_flips(
    sql: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """First one end of a path changes, then the other: the view follows, and nobody sees it in its deltas."""
    monkeypatch.setattr(adaptive, "PERIOD", 1000)
    db, (stays, moves) = path(sql=sql, **options)
    rng = np.random.default_rng(7)
    db.apply({table: some_rows(rng, table, 60) for table in "STU"})
    before = moves.explain()
    with caplog.at_level(logging.INFO, logger="livejoin"):
        for hot in "RVR":
            for commit in flip(db, hot, rng, 25):
                assert_same_rows(signed_multiset(commit["moves"]), signed_multiset(commit["stays"]), f"{commit}")
            db._check()
            db.apply(hot, some_rows(rng, hot, 20))
            assert_same_rows(moves.to_arrow(), stays.to_arrow())
    told = [text for record in caplog.records if (text := record.getMessage()).startswith("view 'moves' moved from")]
    assert moves.stats()["moves"] == len(told) >= 2
    assert stays.stats()["moves"] == 0
    assert kept(moves).layout != kept(stays).layout or len(told) > 2
    assert moves.stats()["commits"] == stays.stats()["commits"]
    assert "adaptive" in before.reason and f"{len(told)} times" in moves.explain().reason
    assert "adaptive" not in stays.explain().reason
    assert "rebuilt in" in told[0]


def test_a_view_over_empty_tables_is_planned_from_its_first_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "PERIOD", 500)
    db, (stays, moves) = path()
    assert kept(stays).layout == kept(moves).layout
    rng = np.random.default_rng(3)
    db.apply({table: some_rows(rng, table, 60) for table in "STU"})
    flip(db, "V", rng, 20)
    assert moves.stats()["moves"] == 1
    assert kept(moves).statistics.of("V").changes.known == "observed"
    assert predicted_work(kept(moves).plan, kept(moves).statistics) < predicted_work(
        kept(stays).plan, kept(moves).statistics
    )
    assert_same_rows(moves.to_arrow(), stays.to_arrow())


def test_a_steady_stream_moves_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "PERIOD", 300)
    db, (_, moves) = path()
    rng = np.random.default_rng(4)
    db.apply({table: some_rows(rng, table, 60) for table in "STU"})
    flip(db, "V", rng, 60)
    assert moves.stats()["moves"] <= 1


def test_it_does_not_move_before_the_rent_is_what_a_rebuild_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "PERIOD", 200)
    monkeypatch.setattr(adaptive, "LOAD", 1e9)
    db, (_, moves) = path()
    rng = np.random.default_rng(5)
    db.apply({table: some_rows(rng, table, 60) for table in "STU"})
    flip(db, "V", rng, 20)
    assert moves.stats()["moves"] == 0
    assert kept(moves).adaptive is not None and max(c.rent for c in kept(moves).adaptive._candidates.values()) > 0
    monkeypatch.setattr(adaptive, "LOAD", 0.01)
    flip(db, "V", rng, 2)
    assert moves.stats()["moves"] == 1


def test_a_move_that_fails_leaves_the_old_tree(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(adaptive, "PERIOD", 1000)
    db, (_, moves) = path()
    rng = np.random.default_rng(7)
    db.apply({table: some_rows(rng, table, 60) for table in "STU"})
    flip(db, "R", rng, 20)
    plan, state, moved = kept(moves).plan, kept(moves)._block, moves.stats()["moves"]

    def refuse(_: Node) -> None:
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(Node, "_filled", refuse)
        for commit in flip(db, "V", rng, 30):
            assert_same_rows(signed_multiset(commit["moves"]), signed_multiset(commit["stays"]))
    assert kept(moves).plan is plan and kept(moves)._block is state
    assert moves.stats()["moves"] == moved
    assert "stays as it is" in caplog.text and "no room" in caplog.text
    db._check()


def test_changes_of_a_failed_commit_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    db, (_, moves) = path()
    db.apply("R", [(1, 1), (2, 2)])
    assert kept(moves).adaptive is not None
    before = dict(kept(moves).adaptive._changes)

    def fail(*_: object) -> None:
        raise MemoryError

    for owner, step in ((RowSource, "_load"), (Node, "load")):
        with monkeypatch.context() as patch, pytest.raises(MemoryError):
            patch.setattr(owner, step, fail)
            db.apply("R", [(3, 3)])
        assert kept(moves).adaptive._changes == before == {"R": 2}


def test_a_snapshot_keeps_the_tree_and_goes_on_adapting(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr(adaptive, "PERIOD", 1000)
    db, (_, moves) = path()
    rng = np.random.default_rng(7)
    db.apply({table: some_rows(rng, table, 60) for table in "STU"})
    flip(db, "R", rng, 20)
    flip(db, "V", rng, 30)
    assert moves.stats()["moves"] >= 1
    folder = tmp_path_factory.mktemp("saved")
    db.save(folder)
    with monkeypatch.context() as patch:
        patch.setattr(Node, "load", None)
        livejoin.Database.load(folder, trusted=True)
    loaded = livejoin.Database.load(folder)
    again = loaded.views["moves"]
    assert again.adaptive and not loaded.views["stays"].adaptive
    assert kept(again).layout == kept(moves).layout
    flip(loaded, "R", rng, 30)
    assert again.stats()["moves"] >= 1
    assert multiset(again.to_arrow()) == multiset(loaded.views["stays"].to_arrow())
    loaded._check()


def test_predicates_are_counted() -> None:
    """The share of the insertions that a predicate lets through."""
    db, _ = path(adaptive_too=False)
    view = db.create_view("moves", PATH + " WHERE R.a < 3", adaptive=True)
    db.apply("R", [(a, 1) for a in range(12)])
    assert kept(view).adaptive is not None
    (passed,) = kept(view).adaptive._passed.values()
    assert passed == (12, 3)
