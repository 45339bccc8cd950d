"""Random whole queries under random commits: incremental equals recomputed, always (see `harness.py`)."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from harness import Harness, run_all
from random_relational import CLASSES, relational_queries
from scenario import CommitSpec, Scenario
from strategies import EXAMPLES, FUZZ, scenarios

FEWER = settings(FUZZ, max_examples=max(2, EXAMPLES // 2))

by_class = pytest.mark.parametrize("kind", CLASSES)


def scenarios_of(
    *classes: str,
    errors: bool = False,
    max_queries: int = 1,
    max_commits: int = 5,
    sizes: tuple[int, ...] = (12, 16, 8, 24, 4, 2),
) -> st.SearchStrategy[Scenario]:
    """Scenarios with queries of some classes, over few tables with many changes, so that groups come, change and go."""
    return scenarios(
        errors=errors,
        max_queries=max_queries,
        max_commits=max_commits,
        queries=partial(relational_queries, classes=classes),
        max_tables=2,
        max_columns=3,
        sizes=sizes,
    )


@by_class
@FUZZ
@given(st.data())
def test_commits(kind: str, data: st.DataObject) -> None:
    """Views that exist from the start, with deltas; bad commits change nothing."""
    scenario = data.draw(scenarios_of(kind, errors=True))
    note(scenario.script())
    run_all(scenario)


@by_class
@FEWER
@given(st.data())
def test_changes_one_by_one(kind: str, data: st.DataObject) -> None:
    """A replay at granularity "change" gives the exact delta of every change."""
    scenario = data.draw(scenarios_of(kind, max_commits=2, sizes=(6, 10, 3)))
    note(scenario.script())
    harness = _created(scenario)
    for commit in scenario.commits:
        if commit.changes and not harness.grows_large(commit.changes):
            harness.replay(commit.changes)


@by_class
@FEWER
@given(st.data())
def test_a_life(kind: str, data: st.DataObject) -> None:
    """A view over filled tables, beside one without deltas, through commits, replays and snapshots."""
    scenario = data.draw(scenarios_of(kind, max_commits=4))
    note(scenario.script())
    harness = Harness(scenario.tables)
    born = data.draw(st.integers(0, len(scenario.commits) - 1), label="commits before the views")
    for number, (commit, form) in enumerate(zip(scenario.commits, scenario.forms, strict=True)):
        if number == born:
            harness.create_view("v", scenario.queries[0])
            harness.create_view("quiet", scenario.queries[0], deltas=False)
        match data.draw(st.sampled_from(["commit", "reload", "replay"]), label="how"):
            case "replay" if commit.changes and not harness.grows_large(commit.changes):
                harness.replay(commit.changes)
            case "reload":
                harness.run(commit, form)
                harness.reload()
            case _:
                harness.run(commit, form)


@FEWER
@given(scenarios_of(*CLASSES, max_queries=2), st.randoms(use_true_random=False))
def test_order_inside_a_commit_does_not_matter(scenario: Scenario, random: Random) -> None:
    """The changes of a commit in any order are the same commit."""
    note(scenario.script())
    harness = _created(scenario)
    for commit, form in zip(scenario.commits, scenario.forms, strict=True):
        shuffled = list(commit.changes)
        random.shuffle(shuffled)
        note(f"shuffled: {shuffled}")
        harness.run(CommitSpec(tuple(shuffled)), form)


def _created(scenario: Scenario) -> Harness:
    harness = Harness(scenario.tables)
    for number, query in enumerate(scenario.queries):
        harness.create_view(f"v{number}", query)
    return harness
