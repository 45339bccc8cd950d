"""One graph of blocks: what is shared, what runs, what is undone, what a view of views shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import livejoin
from livejoin.database.view import View
from livejoin.dataflow.blocks.join import JoinBlock
from livejoin.dataflow.blocks.store import StoreBlock
from livejoin.dataflow.blocks.stored import StoredBlock
from livejoin.dataflow.node import Node
from livejoin.errors import ChangeError, ExpressionError, ReadError, SchemaError
from livejoin.plan.operators import AnyJoin
from oracle import connect, multiset, signed_multiset

HOP = "SELECT A.src AS a, B.dst AS b FROM G A JOIN G B ON A.dst = B.src"
DEGREE = "SELECT src, COUNT(*) AS n FROM G GROUP BY src"
EDGES = [(1, 2), (2, 3), (2, 4), (3, 1), (4, 1), (4, 4)]


def graph(threads: int = 1) -> livejoin.Database:
    db = livejoin.Database(threads=threads)
    db.create_table("G", "src BIGINT, dst BIGINT")
    db.create_table("H", "src BIGINT, dst BIGINT")
    return db


def nodes(db: livejoin.Database) -> list[Node]:
    return list(db._contents.graph.nodes)


def joins(db: livejoin.Database) -> list[Node]:
    return [node for node in nodes(db) if isinstance(node.plan, AnyJoin)]


def answers(db: livejoin.Database, tables: dict[str, list[tuple[int, int]]], views: dict[str, str]) -> None:
    """Every view against DuckDB, which has them as views too."""
    with connect() as connection:
        for name, rows in tables.items():
            connection.execute(f"CREATE TABLE {name} (src BIGINT, dst BIGINT)")
            if rows:
                connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
        for name, sql in views.items():
            connection.execute(f"CREATE VIEW {name} AS {sql}")
            types = ", ".join(f'"{f.name}"::BIGINT AS "{f.name}"' for f in db.views[name].schema)
            expected = connection.sql(f"SELECT {types} FROM {name}").to_arrow_table()
            assert multiset(db.views[name].to_arrow()) == multiset(expected), name


@pytest.mark.parametrize(
    "other",
    [
        "SELECT X.src AS u, Y.dst AS v FROM G X JOIN G Y ON X.dst = Y.src",
        "SELECT X.src, Y.dst FROM G X, G Y WHERE Y.src = X.dst",
        "SELECT q.s, Y.dst FROM (SELECT src AS s, dst AS d FROM G) q JOIN G Y ON q.d = Y.src",
        "WITH e AS (SELECT * FROM G) SELECT x.src, y.dst FROM e x JOIN e y ON x.dst = y.src",
    ],
)
def test_equal_joins_are_one_block_whatever_the_names(other: str) -> None:
    db = graph()
    first = db.create_view("first", HOP)
    second = db.create_view("second", other)
    assert len(nodes(db)) == 1 and first._node is second._node
    commit = db.apply("G", EDGES)
    assert commit["first"].num_rows == commit["second"].num_rows == 9
    assert [*commit["second"].column_names[:2]] == second.schema.names
    assert signed_multiset(commit["first"]) == signed_multiset(
        commit["second"].rename_columns(commit["first"].column_names)
    )


@pytest.mark.parametrize(
    "other",
    [
        HOP.replace("G A", "H A").replace("G B", "H B"),
        HOP + " WHERE A.src > 1",
        HOP.replace("A.dst = B.src", "A.dst = B.dst"),
        HOP.replace("B.dst AS b", "B.src AS b"),
        HOP.replace("SELECT", "SELECT DISTINCT"),
        "SELECT B.dst AS b, A.src AS a FROM G A JOIN G B ON A.dst = B.src",
    ],
)
def test_what_differs_is_not_shared(other: str) -> None:
    """Also where the layouts are the same, as of a join of other tables or with another predicate."""
    db = graph()
    db.create_view("first", HOP)
    before = len(nodes(db))
    db.create_view("second", other)
    assert len(nodes(db)) > before and db.views["first"]._node is not db.views["second"]._node
    db.apply({"G": EDGES, "H": [(1, 2), (2, 1)]})
    answers(db, {"G": EDGES, "H": [(1, 2), (2, 1)]}, {"first": HOP, "second": other})


def test_statistics_do_not_split_blocks_but_the_algorithm_and_being_adaptive_do() -> None:
    db = graph()
    db.create_view("a", HOP)
    db.create_view("b", HOP, statistics={"G": {"changes": 10, "rows": 1_000_000}})
    assert len(nodes(db)) == 1
    db.create_view("c", HOP, algorithm="dyn")
    db.create_view("d", HOP, adaptive=True)
    db.create_view("e", HOP, adaptive=True)
    assert [len(node.shown_by) for node in nodes(db)] == [2, 1, 2]
    db.apply("G", EDGES)
    answers(db, {"G": EDGES}, dict.fromkeys("abcde", HOP))


def test_a_view_without_deltas_reads_a_join_that_keeps_them_ready_but_not_the_other_way() -> None:
    db = graph()
    db.create_view("loud", HOP)
    db.create_view("quiet", HOP, deltas=False)
    assert len(nodes(db)) == 1
    other = graph()
    other.create_view("quiet", HOP, deltas=False)
    other.create_view("loud", HOP)
    assert len(nodes(other)) == 2
    for one in (db, other):
        commit = one.apply("G", EDGES)
        assert commit["loud"].num_rows == 9
        with pytest.raises(ReadError, match="deltas=False"):
            commit["quiet"]
        answers(one, {"G": EDGES}, {"loud": HOP, "quiet": HOP})


def test_nothing_is_enumerated_that_nobody_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    db = graph()
    db.create_view("hop", HOP, deltas=False)
    db.create_view("sums", "SELECT src, SUM(dst) AS s FROM G GROUP BY src HAVING COUNT(*) > 0", deltas=False)
    db.create_view("both", "SELECT src FROM G UNION ALL SELECT dst FROM G", deltas=False)
    emitted: list[bool] = []
    for node in joins(db):
        assert node.join is not None
        maintain = node.join.join.maintain

        def noted(*args: Any, run: Any = maintain, **given: Any) -> Any:
            emitted.append(given["emit"])
            return run(*args, **given)

        monkeypatch.setattr(node.join.join, "maintain", noted)
    db.apply("G", EDGES)
    assert emitted and not any(emitted)
    assert db.views["hop"].count() == 9 and db.views["both"].count() == 12 and db.views["sums"].count() == 4


def test_a_block_runs_once_a_commit_and_only_if_an_input_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    db = graph()
    db.create_view("degree", DEGREE)
    db.create_view("x", "SELECT A.dst, d.n FROM G A JOIN degree d ON A.dst = d.src")
    db.create_view("y", "SELECT d.n, COUNT(*) AS times FROM H JOIN degree d ON H.dst = d.src GROUP BY d.n")
    db.create_view("z", "SELECT src FROM H WHERE dst > 5")
    ran: list[Node] = []
    apply = Node.apply

    def noted(node: Node, *args: Any) -> Any:
        ran.append(node)
        return apply(node, *args)

    monkeypatch.setattr(Node, "apply", noted)
    db.apply("G", EDGES)
    assert len(ran) == len(set(ran)) and ran == [node for node in nodes(db) if node in set(ran)]
    only_h = db.views["z"]._below
    assert not set(only_h) & set(ran)
    ran.clear()
    db.apply("H", [(1, 2)])
    assert not set(db.views["degree"]._below) & set(ran) and set(only_h) <= set(ran)
    ran.clear()
    db.apply("H", [])
    assert not ran
    db._check()


def test_a_dropped_view_leaves_what_others_share() -> None:
    db = graph()
    db.create_view("degree", DEGREE)
    db.create_view("top", "SELECT n, COUNT(*) AS times FROM degree GROUP BY n")
    db.create_view("same", "WITH d AS (SELECT src AS s, COUNT(*) AS c FROM G GROUP BY src) SELECT * FROM d")
    shared = db.views["degree"]._node
    before = len(nodes(db))
    db.drop_view("same")
    assert len(nodes(db)) == before and shared.is_loaded
    with pytest.raises(SchemaError, match=r"'degree' is read by 'top'.*CASCADE"):
        db.drop_view("degree")
    with pytest.raises(SchemaError, match="'degree', 'top'"):
        db.drop_table("G")
    top = db.views["top"]
    db.execute("DROP VIEW degree CASCADE")
    assert not db.views and not nodes(db)
    with pytest.raises(ReadError, match="was dropped"):
        top.to_arrow()
    db.drop_table("G")


def test_groups_whose_key_is_not_shown_give_net_deltas() -> None:
    """Two groups that exchange their sums change nothing that is shown; half a pair is no update."""
    db = graph()
    db.create_view("sums", "SELECT SUM(dst) AS s FROM G GROUP BY src")
    db.create_view("above", "SELECT s, COUNT(*) AS n FROM sums GROUP BY s")
    db.apply("G", [(1, 10), (2, 20), (3, 30)])
    move = [
        {"src": 1, "dst": 10, "_change_type": "delete"},
        {"src": 1, "dst": 20, "_change_type": "insert"},
        {"src": 2, "dst": 20, "_change_type": "delete"},
        {"src": 2, "dst": 10, "_change_type": "insert"},
    ]
    commit = db.apply("G", move)
    assert commit["sums"].num_rows == 0 and commit["above"].num_rows == 0
    commit = db.apply(
        "G",
        [
            {"src": 2, "dst": 10, "_change_type": "delete"},
            {"src": 2, "dst": 30, "_change_type": "insert"},
            {"src": 3, "dst": 30, "_change_type": "delete"},
            {"src": 3, "dst": 40, "_change_type": "insert"},
        ],
    )
    found = sorted((row["s"], row["_change_type"]) for row in commit["sums"].to_pylist())
    assert found == [(10, "delete"), (40, "insert")]


def test_each_change_has_its_own_version_all_the_way_up() -> None:
    views = {
        "degree": DEGREE,
        "joined": "SELECT A.dst, d.n FROM G A JOIN degree d ON A.dst = d.src",
        "counted": "SELECT n, COUNT(*) AS times FROM joined GROUP BY n",
    }
    replayed, single = graph(), graph()
    for name, sql in views.items():
        replayed.create_view(name, sql)
        single.create_view(name, sql)
    log = [{"src": a, "dst": b, "_seq": i, "_change_type": "insert"} for i, (a, b) in enumerate(EDGES)]
    log += [log[2] | {"_seq": 10, "_change_type": "delete"}, log[0] | {"_seq": 11, "_change_type": "delete"}]
    whole = replayed.replay({"G": log})
    for version, change in enumerate(log, 1):
        commit = single.apply("G", [{k: v for k, v in change.items() if k != "_seq"}])
        for name in views:
            delta = whole[name]
            part = delta.filter(pc.equal(delta["_commit_version"], version))
            assert signed_multiset(part) == signed_multiset(commit[name]), (version, name)
    replayed._check()


@pytest.mark.parametrize("error", [MemoryError, ExpressionError])
@pytest.mark.parametrize(
    ("torn", "lost"),
    [
        ("best", {"best"}),
        (StoreBlock, {"degree", "joined", "best", "mixed"}),
        (StoredBlock, {"joined", "best", "mixed"}),
        (View, set[str]()),
    ],
)
def test_a_commit_that_fails_is_taken_back_and_forgets_only_what_it_was_cut_off_in(
    monkeypatch: pytest.MonkeyPatch, torn: Any, lost: set[str], error: type[Exception]
) -> None:
    """Blocks that came to their end take their part back; those that know ids of rows of a lost one are lost too."""
    views = {
        "degree": DEGREE,
        "joined": "SELECT A.dst, d.n FROM G A JOIN degree d ON A.dst = d.src",
        "best": "SELECT n, MAX(dst) AS m FROM joined GROUP BY n",
        "other": "SELECT src, COUNT(*) AS k FROM H GROUP BY src",
        "mixed": "SELECT H.dst, d.n FROM H JOIN degree d ON H.src = d.src",
    }
    db = graph()
    for name, sql in views.items():
        db.create_view(name, sql)
    rows = {"G": list(EDGES), "H": [(1, 1), (2, 5)]}
    db.apply(rows)
    version = db.version
    with monkeypatch.context() as patch, pytest.raises(error):

        def fail(*_: object) -> None:
            raise error("no")

        if torn == "best":
            (torn,) = (node.block for node in db.views["best"]._below[-2:] if isinstance(node.block, StoreBlock))
        patch.setattr(torn, "_delta" if torn is View else "changes", fail)
        db.apply("G", [(5, 1), (1, 5)])
    assert db.version == version
    assert {name for name, view in db.views.items() if not all(one.is_loaded for one in view._below)} == lost
    answers(db, rows, views)
    db.apply("G", [(5, 1)])
    rows["G"].append((5, 1))
    answers(db, rows, views)
    db._check()


def test_a_refused_change_leaves_the_graph_loaded() -> None:
    db = graph()
    db.create_view("degree", DEGREE)
    db.create_view("joined", "SELECT A.dst, d.n FROM G A JOIN degree d ON A.dst = d.src")
    db.apply("G", EDGES)
    with pytest.raises(ChangeError, match="not in the table"):
        db.apply("G", [{"src": 9, "dst": 9, "_change_type": "delete"}])
    assert all(node.is_loaded for node in nodes(db))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_snapshot_brings_every_block_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    views = {
        "degree": DEGREE,
        "joined": "SELECT A.dst, d.n FROM G A JOIN degree d ON A.dst = d.src",
        "again": "SELECT X.dst AS e, d.n FROM G X JOIN degree d ON X.dst = d.src",
        "best": "SELECT n, MAX(dst) AS m FROM joined GROUP BY n",
    }
    db = graph(threads)
    for name, sql in views.items():
        db.create_view(name, sql)
    db.apply("G", EDGES)
    db.save(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(JoinBlock, "fill", None)
        patch.setattr(StoreBlock, "fill", None)
        loaded = livejoin.Database.load(tmp_path, threads=threads, trusted=True)
    assert [node.digest for node in nodes(loaded)] == [node.digest for node in nodes(db)]
    more = [(2, 2), (1, 4)]
    for one in (db, loaded, livejoin.Database.load(tmp_path, threads=3 - threads)):
        one.apply("G", more)
        one._check()
        answers(one, {"G": EDGES + more}, views)


@pytest.mark.parametrize("threads", [1, 2])
def test_reading_by_position_and_by_row_over_views_of_views(threads: int) -> None:
    db = graph(threads)
    db.create_view("degree", DEGREE)
    view = db.create_view("joined", "SELECT A.src, A.dst, d.src AS s, d.n FROM G A JOIN degree d ON A.dst = d.src")
    for rows in (EDGES, [(1, 4), (3, 3)]):
        db.apply("G", rows)
        table = view.to_arrow()
        listed = [tuple(row.values()) for row in table.to_pylist()]
        assert sorted(view.at(i) for i in range(view.count())) == sorted(listed)
        assert all(view.multiplicity(row) == listed.count(row) for row in listed)
        assert (9, 9, 9, 9) not in view
        assert set(map(tuple, (row.values() for row in view.sample(20, seed=1).to_pylist()))) <= set(listed)


def test_keys_travel_to_the_view() -> None:
    db = graph()
    assert db.create_view("degree", DEGREE).keys == (("src",),)
    assert db.create_view("hop", HOP).keys == ()
    assert db.create_view("total", "SELECT COUNT(*) AS n FROM G").keys == ((),)
    joined = db.create_view("joined", "SELECT a.src, b.n FROM degree a JOIN degree b ON a.n = b.src")
    assert joined.keys == (("src",),)
    assert db.create_view("distinct", "SELECT DISTINCT src, dst FROM G").keys == (("src", "dst"),)


def test_stats_and_explanation_count_each_block_once() -> None:
    db = graph()
    db.create_view("hop", HOP)
    db.create_view("same", HOP)
    db.create_view("degree", DEGREE)
    db.create_view("joined", "SELECT A.dst, d.n FROM G A JOIN degree d ON A.dst = d.src")
    db.apply("G", EDGES)
    stats = db.stats()
    assert [block["number"] for block in stats["blocks"]] == [1, 2, 3, 4, 5]
    assert stats["blocks"][0]["read_by"] == ["view hop", "view same"]
    assert stats["state_bytes"] == sum(block["state_bytes"] for block in stats["blocks"]) > 0
    assert stats["tables"]["G"]["rows"] == len(EDGES) and stats["views"] == 4
    told = db.explain()
    assert told.to_dict()["blocks"][3]["reads"] == ["#3"]
    kinds = ["join", "selected rows", "groups", "stored rows", "join"]
    assert [block.kind for block in told.blocks] == kinds
    assert "read by  view hop, view same" in str(told) and "2 of them shared" in str(told)
    assert told.blocks[4].reads == ("G", "#4") and told.blocks[2].read_by == ("#4", "view degree")
