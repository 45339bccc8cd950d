"""Bags of cyclic queries as blocks: shared where they are equal, undone, saved, dropped, split into cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from harness import Harness
from livejoin.dataflow.blocks.join import JoinBlock
from livejoin.dataflow.node import Node
from livejoin.plan.operators import BagOperator, JoinOperator
from oracle import connect, multiset, signed_multiset
from scenario import Change, ColumnSpec, QuerySpec, TableSpec
from strategies import type_named

BIGINT = type_named("BIGINT")
G = TableSpec("G", (ColumnSpec("src", BIGINT), ColumnSpec("dst", BIGINT)))
H = TableSpec("H", (ColumnSpec("a", BIGINT), ColumnSpec("b", BIGINT)))

TRIANGLE = "A.dst = B.src AND B.dst = C.src AND C.dst = A.src"
HUNG = f"SELECT A.src AS p, D.b AS q FROM G A, G B, G C, H D WHERE {TRIANGLE} AND D.a = A.src"
# The same triangle: other names, another order, a condition between other atoms, the edge at another corner.
TURNED = (
    "SELECT E.b AS x FROM H E, G Z, G X, G Y "
    "WHERE E.a = Y.dst AND Z.dst = Y.src AND X.src = Y.dst AND X.dst = Z.src AND E.b > 0"
)
GROUPED = f"SELECT A.src AS g, count(*) AS n FROM G A, G B, G C, H D WHERE {TRIANGLE} AND D.a = A.src GROUP BY A.src"
DUMBBELL = (
    f"SELECT A.src AS p, E.src AS q FROM G A, G B, G C, G D, G E, G F, H X WHERE {TRIANGLE} "
    "AND D.dst = E.src AND E.dst = F.src AND F.dst = D.src AND X.a = A.src AND X.b = E.src"
)
SQUARE = (
    "SELECT A.src AS p, C.src AS q FROM G A, G B, G C, G D "
    "WHERE A.dst = B.src AND B.dst = C.src AND C.dst = D.src AND D.dst = A.src"
)
SUMMED = (
    "SELECT A.src AS g, count(*) AS n, sum(B.dst) AS s, sum(A.dst * D.b) AS t FROM G A, G B, G C, H D "
    f"WHERE {TRIANGLE} AND D.a = A.src GROUP BY A.src"
)
OVER_GROUPS = (
    "SELECT A.src AS p, C.n AS q FROM G A, G B, (SELECT src, dst, count(*) AS n FROM G GROUP BY src, dst) C "
    f"WHERE {TRIANGLE}"
)
LISTED = f"SELECT A.src AS p, B.src AS q, C.src AS r FROM G A, G B, G C WHERE {TRIANGLE}"
ALL = {
    "hung": HUNG,
    "turned": TURNED,
    "grouped": GROUPED,
    "dumbbell": DUMBBELL,
    "square": SQUARE,
    "summed": SUMMED,
    "over_groups": OVER_GROUPS,
    "listed": LISTED,
}


def spec(name: str) -> QuerySpec:
    return QuerySpec(ALL[name], ALL[name], groups=(0,) if "GROUP BY A" in ALL[name] else None)


def harness_of(views: Sequence[str], threads: int = 1) -> Harness:
    harness = Harness([G, H], threads)
    for name in views:
        harness.create_view(name, spec(name))
    return harness


def bags(db: livejoin.Database) -> list[Node]:
    return [node for node in db._contents.graph.nodes if isinstance(node.plan, BagOperator)]


def inserted(table: str, rows: Sequence[tuple[int | None, ...]]) -> list[Change]:
    return [Change(table, "insert", row) for row in rows]


EDGES = [(1, 2), (2, 3), (3, 1), (1, 1), (2, 1), (3, 4), (4, 2), (1, 2), (None, 1), (2, None)]
HUNG_ON = [(1, 1), (1, 7), (2, 3), (3, 1), (None, 2), (3, 3)]


def filled(harness: Harness) -> None:
    harness.apply([*inserted("G", EDGES), *inserted("H", HUNG_ON)])


def changed(harness: Harness) -> None:
    """Commits that delete, insert and do both, and one of many versions."""
    harness.apply([Change("G", "delete", (2, 3)), Change("G", "insert", (4, 1))])
    harness.apply([Change("G", "delete", (1, 2)), *inserted("G", [(2, 3), (2, 2), (3, 3)])])
    harness.replay([Change("H", "delete", (1, 1)), Change("G", "delete", (1, 1)), *inserted("G", [(1, 1), (1, 3)])])


def test_equal_bags_of_views_are_one_block() -> None:
    harness = harness_of(["hung", "turned", "grouped"])
    (bag,) = bags(harness.database)
    assert len(set(bag.readers)) == 3
    filled(harness)
    changed(harness)


def test_equal_bags_of_a_self_join_are_one_table() -> None:
    """Both ends of a dumbbell, though the edge between them starts at different corners as they are written."""
    harness = harness_of(["dumbbell"])
    (bag,) = bags(harness.database)
    (join,) = (node for node in harness.database._contents.graph.nodes if isinstance(node.plan, JoinOperator))
    assert join.inputs == (bag,)
    filled(harness)
    assert harness.database.views["dumbbell"].count() > 0
    changed(harness)


def test_a_bag_with_another_predicate_or_other_columns_is_another_one() -> None:
    db = Harness([G, H]).database
    db.create_view("hung", HUNG)
    db.create_view("filtered", f"{HUNG} AND B.src > 1")
    db.create_view("listed", LISTED)
    assert len(bags(db)) == 3


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.torture), 2])
def test_every_view_through_its_life(threads: int) -> None:
    """All views over bags together, filled later, saved and loaded, changed, dropped one after the other."""
    harness = harness_of([*ALL], threads)
    filled(harness)
    harness.reload()
    changed(harness)
    for name in ALL:
        before = len(bags(harness.database))
        harness.database.drop_view(name)
        del harness.watched[name]
        assert len(bags(harness.database)) <= before
        harness.apply(inserted("G", [(3, 2), (2, 1)]))
    assert not harness.database._contents.graph.nodes


def test_a_bag_stays_as_long_as_a_view_reads_it() -> None:
    harness = harness_of(["hung", "grouped"])
    filled(harness)
    harness.database.drop_view("hung")
    del harness.watched["hung"]
    assert len(bags(harness.database)) == 1
    changed(harness)
    harness.create_view("hung", QuerySpec(HUNG, HUNG))
    assert len(bags(harness.database)) == 1
    changed_back = [Change("G", "delete", (2, 2)), *inserted("G", [(4, 4)])]
    harness.apply(changed_back)


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.torture), 2])
def test_a_commit_that_fails_above_a_bag_is_undone_in_it(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    harness = harness_of([*ALL], threads)
    filled(harness)
    before = {name: multiset(view.to_arrow()) for name, view in harness.database.views.items()}
    apply = JoinBlock.apply

    def fails(self: JoinBlock, *arguments: Any) -> Any:
        if any(isinstance(one.operator, BagOperator) for one in self.plan.inputs):
            raise MemoryError
        return apply(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(JoinBlock, "apply", fails)
        with pytest.raises(MemoryError):
            harness.database.apply({"G": [(4, 1), (2, 2)]})
    assert {name: multiset(view.to_arrow()) for name, view in harness.database.views.items()} == before
    harness.check()
    changed(harness)


@pytest.mark.parametrize("threads", [(1, 2), (2, 1), (2, 2)])
def test_a_snapshot_is_read_with_any_number_of_threads(tmp_path: Path, threads: tuple[int, int]) -> None:
    harness = harness_of([*ALL], threads[0])
    filled(harness)
    harness.database.save(tmp_path)
    again = livejoin.Database.load(tmp_path, threads=threads[1])
    again._check()
    again.apply({"G": [(4, 1), (2, 2)]})
    harness.apply(inserted("G", [(4, 1), (2, 2)]))
    for name, view in harness.database.views.items():
        assert multiset(again.views[name].to_arrow()) == multiset(view.to_arrow()), name
    assert [node.digest for node in again._contents.graph.nodes] == [
        node.digest for node in harness.database._contents.graph.nodes
    ]


def test_many_rows_in_cells() -> None:
    """Enough events that the cells run side by side, in a bag whose atoms are all split and in the joins across."""
    harness = harness_of(["hung", "summed", "listed", "square"], 2)
    assert {len(node.plan.derived.query.atoms): node.cells for node in bags(harness.database)} == {3: 1, 2: 2}
    harness.apply([*inserted("G", [*product(range(12), repeat=2)]), *inserted("H", [*product(range(12), range(2))])])
    harness.apply([Change("G", "delete", (a, b)) for a, b in product(range(12), repeat=2) if (a + b) % 3])
    assert harness.database.views["hung"].count() > 0


def test_what_is_said_of_bags() -> None:
    harness = harness_of(["hung", "grouped"], 2)
    filled(harness)
    db = harness.database
    stats = db.views["hung"].stats()
    (bag,) = bags(db)
    assert stats["probes"] > 0 and stats["atom_rows"] > bag.registered > 0 and stats["cells"] == 2
    (told,) = (block for block in db.explain().blocks if block.kind == "bag")
    assert told.update == "O(N) a change for N base rows"
    assert told.does[0].startswith("bag {A, B, C}: each row stored with an id") and len(told.read_by) == 2
    cells = db.views["hung"].explain().cells
    assert cells is not None
    assert "bag {A, B, C} not split: each cell would keep all rows of some of its atoms" in cells.note
    counted = db.explain(f"SELECT count(*) AS n FROM G A, G B, G C WHERE {TRIANGLE}")
    assert "bag {A, B, C} not split" in str(counted.cells)


def test_an_adaptive_view_over_a_bag() -> None:
    harness = Harness([G, H])
    harness.create_view("v", QuerySpec(DUMBBELL, DUMBBELL), adaptive=True)
    harness.create_view("w", QuerySpec(DUMBBELL, DUMBBELL))
    assert len(bags(harness.database)) == 1, "what moves a join does not split its bags"
    filled(harness)
    (node,) = (one for one in harness.database._contents.graph.nodes if one.adaptive is not None)
    assert isinstance(node.plan, JoinOperator)
    node.move(node._replan(node.plan, node.statistics), node.statistics)
    changed(harness)


@pytest.mark.parametrize("deltas", [True, False])
@pytest.mark.parametrize("shown", ["t0.a AS c", "t0.a + 100 AS c, t0.b", "COALESCE(t0.a, t0.a) AS c, t0.a = t0.a AS e"])
@pytest.mark.parametrize("distinct", ["", "DISTINCT "])
def test_results_have_the_types_of_the_columns_that_are_asked_for(distinct: str, shown: str, deltas: bool) -> None:
    """A bag keeps a variable under the type of one of its columns, TINYINT here, and the SMALLINT one is asked for."""
    db = livejoin.Database()
    db.create_table("R", "a TINYINT, b TINYINT")
    db.create_table("S", "a SMALLINT, b TINYINT")
    sql = (
        f"SELECT {distinct}{shown} FROM S t0 JOIN R t1 USING (a) CROSS JOIN R t2 CROSS JOIN R t3 "
        "WHERE t1.b = t2.a AND t2.b = t3.a AND t0.b = t3.b"
    )
    view = db.create_view("v", sql, deltas=deltas)
    commit = db.apply({"R": [(100, 100), (7, 100)], "S": [(100, 100), (7, 7)]})
    with connect() as duck:
        for name, rows in (("R", [(100, 100), (7, 100)]), ("S", [(100, 100), (7, 7)])):
            duck.execute(f"CREATE TABLE {name} (a {'TINYINT' if name == 'R' else 'SMALLINT'}, b TINYINT)")
            duck.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
        expected = duck.sql(sql).to_arrow_table()
    # In Spark 100 is an INT, and so is what it is added to.
    types = [pa.int32() if "100" in shown and field.name == "c" else field.type for field in expected.schema]
    assert view.to_arrow().schema.types == types
    assert multiset(view.to_arrow()) == multiset(expected)
    if deltas:
        assert signed_multiset(commit["v"]) == multiset(expected)
