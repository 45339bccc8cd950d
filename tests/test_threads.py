"""Databases with several threads: the same answers and deltas as with one, always (see `harness.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from harness import Harness
from livejoin.dataflow import cells
from random_queries import queries
from random_relational import CLASSES, relational_queries
from scenario import Scenario
from strategies import EXAMPLES, FUZZ, scenarios

THREADS = (1, 2, 4)
SOME = settings(FUZZ, max_examples=max(1, EXAMPLES // 3))


@pytest.fixture(autouse=True, scope="module")
def _small_commits_use_the_pool() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "LEAST_WORK", 8)  # both ways are taken
        yield


def random_scenarios(kind: str, errors: bool = False, max_commits: int = 3) -> st.SearchStrategy[Scenario]:
    """Scenarios with one query of a class, ``joins`` being plain joins."""
    made = queries if kind == "joins" else partial(relational_queries, classes=(kind,))
    sizes = (12, 16, 8, 24, 4)
    return scenarios(
        errors=errors, max_queries=1, max_commits=max_commits, queries=made, max_tables=3, max_columns=3, sizes=sizes
    )


by_class = pytest.mark.parametrize("kind", ["joins", *CLASSES])


def created(scenario: Scenario, threads: int) -> Harness:
    harness = Harness(scenario.tables, threads)
    harness.create_view("v", scenario.queries[0])
    harness.create_view("quiet", scenario.queries[0], deltas=False)
    return harness


@by_class
@SOME
@given(st.data())
def test_commits(kind: str, data: st.DataObject) -> None:
    """With any number of threads commits give DuckDB's deltas and results, and bad ones change nothing."""
    scenario = data.draw(random_scenarios(kind, errors=True))
    note(scenario.script())
    for threads in THREADS[1:]:
        harness = created(scenario, threads)
        for commit, form in zip(scenario.commits, scenario.forms, strict=True):
            harness.run(commit, form)


@by_class
@SOME
@given(st.data())
def test_changes_one_by_one(kind: str, data: st.DataObject) -> None:
    """A replay at granularity "change" gives the delta of every change, in the order of versions."""
    scenario = data.draw(random_scenarios(kind, max_commits=2))
    note(scenario.script())
    threads = data.draw(st.sampled_from(THREADS[1:]), label="threads")
    harness = created(scenario, threads)
    for commit in scenario.commits:
        if harness.grows_large(commit.changes):
            break
        if commit.changes:
            harness.replay(commit.changes)


@by_class
@SOME
@given(st.data())
def test_a_life(kind: str, data: st.DataObject) -> None:
    """A view over filled tables through commits, and snapshots that are loaded with other numbers of threads."""
    scenario = data.draw(random_scenarios(kind))
    note(scenario.script())
    harness = Harness(scenario.tables, data.draw(st.sampled_from(THREADS), label="threads"))
    for number, (commit, form) in enumerate(zip(scenario.commits, scenario.forms, strict=True)):
        if number == len(scenario.commits) // 2:
            harness.create_view("v", scenario.queries[0])
        harness.run(commit, form)
        if data.draw(st.booleans(), label="reload"):
            harness.reload(data.draw(st.sampled_from(THREADS), label="threads"))
            assert harness.database.threads in THREADS
