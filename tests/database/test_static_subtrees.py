"""Static tables that refer to each other are one relation where that takes less memory, and nothing else differs."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

import livejoin
from livejoin.families.static_subtrees import merged
from livejoin.plan.operators import BagOperator
from moves import move_anywhere
from static_lives import FORMS, StaticLife, StaticQuery, random_snowflake, with_branches
from strategies import EXAMPLES

SEED = int(os.environ.get("LIVEJOIN_SEED", "0"))


@pytest.mark.parametrize("seed", range(max(2, EXAMPLES // 3)))
def test_random_snowflakes_of_one_relation(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merged whatever it saves: committed to, refreshed, altered, saved and loaded, in one piece and in cells."""
    monkeypatch.setattr(merged, "LEAST_SAVED", -(1 << 60))
    monkeypatch.setattr(merged, "_WORTH", 0.0)
    generator = random.Random(f"subtree {SEED} {seed}")
    life = _drawn(generator, seed)
    life.views(*FORMS)
    assert any(isinstance(node.plan, BagOperator) for node in life.database._contents.graph.nodes)
    for _ in life.steps(tmp_path / "kept", refreshed=0.6):
        pass


@pytest.mark.parametrize("seed", range(max(3, EXAMPLES // 5)))
def test_views_over_one_relation_move_to_other_trees(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The relation stays, and the join above it goes over; commits and refreshes find the same."""
    monkeypatch.setattr(merged, "LEAST_SAVED", -(1 << 60))
    monkeypatch.setattr(merged, "_WORTH", 0.0)
    generator = random.Random(f"moves {SEED} {seed}")
    life = _drawn(generator, seed)
    life.algorithm = "crown"
    life.views(*FORMS)
    for _ in range(6):
        for view in life.database.views.values():
            if generator.random() < 0.7:
                move_anywhere(view, generator)
        life.commit(life.changes())
        life.refresh(generator.choice(life.of("static")))
        life.database._check()
    assert any(isinstance(node.plan, BagOperator) for node in life.database._contents.graph.nodes)


def _drawn(generator: random.Random, seed: int) -> StaticLife:
    """The life of a query of which some static tables may be one relation."""
    while True:
        query = random_snowflake(generator)
        query = with_branches(query, generator) if seed % 3 == 2 else query
        algorithm = generator.choice(("auto", "auto", "crown"))
        life = StaticLife(query, generator, 8, 12, algorithm, 1 + seed % 2, keyed=True)
        if life.database.explain(query.sql("rows"), algorithm=algorithm, allow_product=True).plan.merged:
            return life


def test_a_relation_that_no_plan_joins_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside it the join has a circle, or its output is not connected any more; the tables alone have a plan."""
    monkeypatch.setattr(merged, "LEAST_SAVED", -(1 << 60))
    monkeypatch.setattr(merged, "_WORTH", 0.0)
    query = StaticQuery(("abcd", "bce", "cd", "d", "e"), "abce", frozenset({0}))
    life = StaticLife(query, random.Random(1), 8, 10, "crown", keyed=True)
    life.views(*FORMS)
    life.commit(life.changes())


def _customers() -> livejoin.Database:
    """Sales to customers, each with an address of their own, in few cities."""
    db = livejoin.Database()
    for name, columns in (("customer", "c INT PRIMARY KEY, a INT"), ("address", "a INT PRIMARY KEY, t INT")):
        db.create_table(name, columns, static=True)
    db.create_table("city", "t INT PRIMARY KEY, country INT", static=True)
    db.create_table("sales", "id INT PRIMARY KEY, c INT")
    db.apply({"city": [(t, t % 7) for t in range(50)], "address": [(a, a % 50) for a in range(4_000)]})
    db.apply("customer", [(c, (13 * c + 1) % 4_100) for c in range(4_000)])
    db.apply("sales", [(i, 7 * i % 4_500) for i in range(2_000)])
    return db


SQL = (
    "SELECT s.id, s.c, t.country FROM sales s JOIN customer c ON s.c = c.c JOIN address a ON c.a = a.a "
    "JOIN city t ON a.t = t.t"
)


@pytest.mark.parametrize("algorithm", ["auto", "crown", "aju"])
def test_customers_with_addresses_are_one_relation(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = _customers()
    told = db.explain(SQL, algorithm=algorithm)
    assert "customer, address, city" not in told.text()  # they are called by their aliases
    assert "c, a, t: one relation of up to 4,000 rows instead of 8,050" in told.text()
    view = db.create_view("v", SQL, algorithm=algorithm)
    joined = {c: a % 50 % 7 for c in range(4_000) if (a := (13 * c + 1) % 4_100) < 4_000}
    rows = Counter((i, 7 * i % 4_500, joined[7 * i % 4_500]) for i in range(2_000) if 7 * i % 4_500 in joined)
    assert Counter(tuple(row.values()) for row in view.to_arrow().to_pylist()) == rows
    (one,) = view.explain().to_dict()["plan"]["merged"]
    assert one == {
        "title": "static bag {c, a, t}",
        "tables": ["c", "a", "t"],
        "instead": 8_050.0,
        "expected": 4_000.0,
        "rows": len(joined),
    }
    assert view.explain().plan.kind == told.plan.kind
    small = view.stats()["state_bytes"]
    db.create_view("w", SQL.replace("s.id, s.c", "s.id"), algorithm=algorithm)
    assert sum(isinstance(node.plan, BagOperator) for node in db._contents.graph.nodes) == 1  # it is shared
    db.create_view("u", SQL, algorithm=algorithm, deltas=False)  # it is the block of v, which gives deltas
    assert db.views["u"].explain().plan.merged == view.explain().plan.merged
    for name in "uwv":
        db.drop_view(name)
    with monkeypatch.context() as patch:
        patch.setattr(merged, "LEAST_SAVED", 1 << 60)
        assert small < 0.9 * db.create_view("v", SQL, algorithm=algorithm).stats()["state_bytes"]
    db.drop_view("v")
    db.create_view("v", SQL, algorithm=algorithm)
    delta = db.refresh("city", [(t, t % 7 if t else 9) for t in range(50)])["v"]
    moved = sum(times for (_, c, _), times in rows.items() if (13 * c + 1) % 4_100 % 50 == 0)
    assert Counter(row["_change_type"] for row in delta.to_pylist()) == {"delete": moved, "insert": moved}
    db.alter_table("address", static=False)
    assert not db.views["v"].explain().plan.merged
    assert db.apply("address", [(a, 3) for a in range(4_000, 4_100)])["v"].num_rows > 0
    db._check()


@pytest.mark.parametrize(
    ("sql", "limit"),
    [
        (SQL, 10_000),  # a refresh could make it larger than the limit
        (f"{SQL} WHERE t.country = 3", None),  # few rows are left without
        (SQL.replace(" JOIN address a ON c.a = a.a JOIN city t ON a.t = t.t", "").replace("t.country", "c.a"), None),
        (
            "SELECT s.id, t.country FROM sales s JOIN address a ON s.c = a.a JOIN city t ON a.t = t.t",
            None,
        ),  # few cities
    ],
)
def test_where_nothing_is_saved_tables_stay_what_they_are(sql: str, limit: int | None) -> None:
    assert _customers().explain(sql, preprocessing_limit=limit).plan.merged == ()
