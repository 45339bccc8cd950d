"""Random acyclic queries under random commits: incremental equals recomputed, always (see `harness.py`)."""

from __future__ import annotations

from hypothesis import given, note
from hypothesis import strategies as st

from harness import Harness, run_all
from scenario import CommitSpec, Scenario
from strategies import FUZZ, scenarios


@FUZZ
@given(scenarios())
def test_commits(scenario: Scenario) -> None:
    """Views that exist from the start, with deltas."""
    note(scenario.script())
    run_all(scenario)


@FUZZ
@given(scenarios(), st.randoms(use_true_random=False))
def test_order_inside_a_commit_does_not_matter(scenario: Scenario, random: object) -> None:
    """The changes of a commit in any order are the same commit."""
    note(scenario.script())
    harness = Harness(scenario.tables)
    for number, query in enumerate(scenario.queries):
        harness.create_view(f"v{number}", query)
    for commit, form in zip(scenario.commits, scenario.forms, strict=True):
        if commit.error is None:
            shuffled = list(commit.changes)
            random.shuffle(shuffled)  # type: ignore[attr-defined]
            note(f"shuffled: {shuffled}")
            harness.run(CommitSpec(tuple(shuffled)), form)


@FUZZ
@given(scenarios(errors=False, max_commits=2), st.data())
def test_changes_one_by_one(scenario: Scenario, data: st.DataObject) -> None:
    """A replay at granularity "change" gives the exact delta of every change, across tables, in order of `_seq`."""
    note(scenario.script())
    harness = Harness(scenario.tables)
    for number, query in enumerate(scenario.queries):
        harness.create_view(f"v{number}", query)
    for commit in scenario.commits:
        changes = commit.changes
        if not changes:
            continue
        if harness.grows_large(changes):
            break
        order = data.draw(st.just(list(range(len(changes)))) | st.permutations(range(len(changes))), label="log order")
        harness.replay(changes, order, gap=data.draw(st.sampled_from([1, 1000]), label="gap"))


@FUZZ
@given(scenarios(errors=False, max_commits=4), st.data())
def test_both_granularities_give_the_same_result(scenario: Scenario, data: st.DataObject) -> None:
    """Commits and replays may alternate, with views that keep no deltas beside those that do."""
    note(scenario.script())
    harness = Harness(scenario.tables)
    for number, query in enumerate(scenario.queries):
        harness.create_view(f"v{number}", query)
        harness.create_view(f"quiet{number}", query, deltas=False)
    for commit, form in zip(scenario.commits, scenario.forms, strict=True):
        if harness.grows_large(commit.changes):
            break
        if commit.changes and data.draw(st.booleans(), label="by change"):
            harness.replay(commit.changes)
        else:
            harness.apply(commit.changes, form)
