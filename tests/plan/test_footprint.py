"""Predicted bytes a base row against the engine's state."""

from __future__ import annotations

import random

import pytest

import livejoin
from livejoin.families.crown.footprint import index_bytes, record_bytes
from livejoin.search.problem import passing_shares, problem_of
from livejoin.search.statistics import Statistics

QUERIES = {
    "2-hop": "SELECT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src",
    "3-hop": "SELECT A.src, B.src AS b, C.dst FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src",
    "star": "SELECT A.src, A.dst, B.dst AS b FROM G A JOIN G B ON A.src = B.src JOIN G C ON A.src = C.src",
    "keyed": "SELECT G.src, H.v, G.dst FROM G JOIN H ON G.src = H.id",
    "5-hop": "SELECT A.src, E.dst FROM G A, G B, G C, G D, G E "
    "WHERE A.dst = B.src AND B.dst = C.src AND C.dst = D.src AND D.dst = E.src",
    "filtered": "SELECT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src WHERE B.dst % 10 = 0",
}


@pytest.mark.parametrize("nodes", [20_000, 500])
@pytest.mark.parametrize(("name", "static"), [*((name, False) for name in QUERIES), ("keyed", True)])
def test_predicted_bytes_are_about_those_of_the_state(name: str, static: bool, nodes: int) -> None:
    """Within a factor of 1.6, with few rows a key and with many."""
    chance = random.Random(1)
    database = livejoin.Database()
    database.create_table("G", "src BIGINT, dst BIGINT")
    database.create_table("H", "id BIGINT PRIMARY KEY, v BIGINT", static=static)
    database.apply(
        {
            "G": [(chance.randrange(nodes), chance.randrange(nodes)) for _ in range(20_000)],
            "H": [(i, i) for i in range(nodes)],
        }
    )
    view = database.create_view("v", QUERIES[name], deltas=False)
    explanation = view.explain()
    predicted = sum((t.rows or 0) * (t.row_bytes + t.index_bytes) for t in explanation.tables)
    measured = view.stats()["state_bytes"]
    assert predicted / 1.6 < measured < predicted * 1.6


def test_what_is_predicted_for_a_small_plan_by_hand() -> None:
    """Two atoms below [dst]: a record of 2 values and 2 words each, an entry of 6 + 2 + 1 words for both."""
    database = livejoin.Database()
    database.create_table("R", "a BIGINT, b BIGINT PRIMARY KEY")
    database.create_table("S", "b BIGINT PRIMARY KEY, c BIGINT")
    view = database.create_view("v", "SELECT R.a, S.c FROM R JOIN S ON R.b = S.b")
    plan = view._joins[0].physical
    problem = problem_of(plan.query, Statistics())
    entry = 3 * 2 + 2 + 1 + 1.8 + 4 / 3  # slots, state and place, key; hash slots; a place in the block of all rows
    assert {use.name: record_bytes(use) for use in plan.tables} == {"R": 8 * 4, "S": 8 * 4}
    found = index_bytes(plan.query, plan.tree, problem, passing_shares(plan.query, Statistics()), (0, 1))
    assert found == {"R": pytest.approx(8 * (1 + entry / 2)), "S": pytest.approx(8 * (1 + entry / 2))}
