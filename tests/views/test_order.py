"""A result has one order, whatever the threads, the buffers and the blocks: `at` counts what `batches` gives."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import livejoin
from harness import Harness
from livejoin.families.cells import rounds, task_runner
from nested_harness import NestedHarness
from nested_lives import life
from oracle import assert_same_rows, multiset
from random_relational import CLASSES
from random_scenarios import random_scenarios
from reader import rows_of
from scenario import Row, canonical_row
from strategies import EXAMPLES, FUZZ, seeds

BUFFERS = (1, 7, 50, 65_536)
SOME = settings(FUZZ, max_examples=max(2, EXAMPLES // 20))


@pytest.fixture(autouse=True, scope="module")
def _small_results_have_many_rounds() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_runner, "LEAST_SECONDS", 8 * task_runner._PACE)
        patch.setattr(rounds, "BLOCK", 5)
        yield


def ordered(view: livejoin.View) -> list[Row]:
    """The rows of a view; batches of all sizes and positions give them in one order."""
    orders = []
    for size in BUFFERS:
        batches = list(view.batches(size))
        assert all(0 < batch.num_rows <= size for batch in batches)
        orders.append([canonical_row(row) for row in rows_of(pa.Table.from_batches(batches, view.schema))])
    orders.append([canonical_row(view.at(i)) for i in range(view.count())])
    for order in orders[1:]:
        assert order == orders[0], view.name
    return orders[0]


def check_orders(databases: list[livejoin.Database]) -> None:
    """All views have one order in each database, and the same rows in all."""
    for name, view in databases[0].views.items():
        rows = multiset(ordered(view))
        for other in databases[1:]:
            assert_same_rows(multiset(ordered(other.views[name])), rows, name)


@pytest.mark.parametrize("kind", ["joins", *CLASSES])
@SOME
@given(st.data())
def test_views_of_all_kinds(kind: str, data: st.DataObject) -> None:
    """Joins, DISTINCT, groups, set operations, first rows and expressions under HAVING."""
    scenario = data.draw(random_scenarios(kind, max_commits=2))
    note(scenario.script())
    harnesses = [Harness(scenario.tables, threads) for threads in (1, 2)]
    for harness in harnesses:
        harness.create_view("v", scenario.queries[0])
        for commit, form in zip(scenario.commits, scenario.forms, strict=True):
            harness.run(commit, form)
    check_orders([harness.database for harness in harnesses])


@pytest.mark.parametrize("seed", seeds(2, 30))
def test_nested_views(seed: int) -> None:
    """Joins over stored relations, and everything over them."""
    whole = life(1000 + seed)
    harnesses = [NestedHarness(whole.tables, threads) for threads in (1, 2)]
    for harness in harnesses:
        harness.live(whole)
    check_orders([harness.database for harness in harnesses])


@pytest.mark.parametrize("block", [64, 65_536])
@pytest.mark.parametrize("algorithm", ["crown", "dyn", "change-propagation"])
def test_a_self_join_of_many_rows(monkeypatch: pytest.MonkeyPatch, algorithm: str, block: int) -> None:
    monkeypatch.setattr(rounds, "BLOCK", block)
    database = livejoin.Database(threads=2)
    database.create_table("G", "src BIGINT, dst BIGINT")
    sql = "SELECT A.src, B.dst, A.dst AS via FROM G A JOIN G B ON A.dst = B.src"
    view = database.create_view("v", sql, algorithm=algorithm)
    database.apply("G", [(i % 17, i % 23) for i in range(160)])
    assert view.stats()["cells"] == 2
    assert len(ordered(view)) > 1000
