"""Random queries under random commits, read without enumeration: a given row, a row by position, a sample."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st
from test_relational_queries import scenarios_of

import livejoin
from any_join import ANY_JOIN
from livejoin.search.algorithm import Algorithm
from oracle import Oracle
from random_queries import queries
from random_relational import CLASSES
from reader import check_reading
from scenario import Scenario, batch
from strategies import EXAMPLES, FUZZ, scenarios

FEWER = settings(FUZZ, max_examples=max(4, EXAMPLES // 10))
RESULT_LIMIT = 400


def read_along(scenario: Scenario, algorithm: Algorithm, random: Random) -> None:
    """Read a view after every commit."""
    note(f"algorithm={algorithm!r}")
    note(scenario.script())
    query = scenario.queries[0]
    oracle = Oracle(scenario.tables)
    threads = random.choice([1, 1, 2, 3])
    note(f"threads={threads}")
    db = livejoin.Database(threads=threads)
    for table in scenario.tables:
        db.create_table(table.name, table.column_list, window_rows=table.window_rows)
    view = db.create_view("v", query.sql, deltas=random.random() < 0.5, algorithm=algorithm)
    for commit, form in zip(scenario.commits, scenario.forms, strict=True):
        oracle.apply(commit.changes)
        if any(oracle.count(text) > RESULT_LIMIT for text in (query.joins or (query.plain,))):
            return
        names = {change.table for change in commit.changes}
        changes = {t.name: [c for c in commit.changes if c.table == t.name] for t in scenario.tables}
        db.apply({t.name: batch(t, changes[t.name], form) for t in scenario.tables if t.name in names})
        told = check_reading(view, oracle.result(query.plain), random)
        event(f"{algorithm}: {'tells multiplicities' if told else 'does not tell multiplicities'}")
        db._check()


@pytest.mark.parametrize("algorithm", ANY_JOIN[1:])
@FEWER
@given(st.data())
def test_joins(algorithm: Algorithm, data: st.DataObject) -> None:
    """Joins with multiplicities."""
    scenario = data.draw(scenarios(errors=False, max_queries=1, max_commits=3, queries=queries))
    read_along(scenario, algorithm, data.draw(st.randoms(use_true_random=False)))


@pytest.mark.parametrize("kind", CLASSES)
@FEWER
@given(st.data())
def test_relational_queries(kind: str, data: st.DataObject) -> None:
    """DISTINCT, groups, set operations and first rows, acyclic and cyclic."""
    scenario = data.draw(scenarios_of(kind, max_commits=3))
    algorithm = data.draw(st.sampled_from(ANY_JOIN))
    read_along(scenario, algorithm, data.draw(st.randoms(use_true_random=False)))
