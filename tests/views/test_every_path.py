"""The same changes by every path of a commit: rows, small batches, large batches, replays, cells, numbered records.

Each path is compared with DuckDB after every commit (see `harness.py`); here all of them get the same scenario, and
what their deltas add up to is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from harness import Harness
from livejoin.dataflow.blocks import passing
from livejoin.dataflow.moving import forms
from livejoin.families.cells import task_runner
from livejoin.state import table
from random_queries import queries
from random_relational import CLASSES, relational_queries
from scenario import Change, Scenario
from strategies import EXAMPLES, FUZZ, scenarios

FEW = settings(FUZZ, max_examples=max(2, EXAMPLES // 100))  # of which each is run seven times
Step = Callable[[Harness, list[Change]], None]


@contextmanager
def _general() -> Iterator[None]:
    """Few changes are staged as many are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "_FEW", -1)
        yield


@contextmanager
def _numbered() -> Iterator[None]:
    """Joins leave rows out as soon as one takes part in nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "LEAST_WASTE", 1)
        patch.setattr(forms, "_SHARE", 1 << 40)
        patch.setattr(passing, "_PERIOD", 1)
        patch.setattr(passing, "_SAMPLED", 1)
        patch.setattr(passing, "_NUMBERED", 0.0)
        yield


def _rows(harness: Harness, changes: list[Change]) -> None:
    harness.apply(changes, "tuples")


def _batch(harness: Harness, changes: list[Change]) -> None:
    harness.apply(changes, "arrow")


def _large(harness: Harness, changes: list[Change]) -> None:
    with _general():
        harness.apply(changes, "chunks")


def _replay(harness: Harness, changes: list[Change]) -> None:
    harness.apply(changes, "log")


def _one_by_one(harness: Harness, changes: list[Change]) -> None:
    if changes:
        harness.replay(changes)


def _left_out(harness: Harness, changes: list[Change]) -> None:
    with _numbered():
        harness.apply(changes, "dicts")


PATHS: dict[str, tuple[Step, int]] = {
    "rows": (_rows, 1),
    "small batch": (_batch, 1),
    "large batch": (_large, 1),
    "replay": (_replay, 1),
    "replay of each change": (_one_by_one, 1),
    "cells": (_batch, 2),
    "records of rows that pass": (_left_out, 1),
}
"""How changes are brought, and by how many threads."""


def _scenarios(kind: str) -> st.SearchStrategy[Scenario]:
    made = queries if kind == "joins" else partial(relational_queries, classes=(kind,))
    sizes = (12, 16, 8, 24, 4)
    return scenarios(errors=False, max_queries=1, max_commits=3, queries=made, max_tables=3, max_columns=3, sizes=sizes)


@pytest.mark.parametrize("kind", ["joins", *CLASSES])
@FEW
@given(st.data())
def test_all_paths_give_the_same_sums(kind: str, data: st.DataObject) -> None:
    scenario = data.draw(_scenarios(kind))
    note(scenario.script())
    sums = {}
    commits = [commit.changes for commit in scenario.commits if commit.changes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_runner, "LEAST_SECONDS", 0.0)
        for name, (step, threads) in PATHS.items():
            note(name)
            harness = Harness(scenario.tables, threads)
            harness.create_view("v", scenario.queries[0])
            for place, changes in enumerate(commits):
                if not sums and harness.grows_large(changes):
                    commits = commits[:place]  # for all paths: it depends on the changes alone
                    break
                step(harness, changes)
            sums[name] = harness.watched["v"].total
    for name, total in sums.items():
        assert total == sums["rows"], f"{name} against rows"
