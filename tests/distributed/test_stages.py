"""Views over tables that are spread over cells, in one process: after every batch the deltas add up to the results.

Random nested queries under random lives (as `test_nested_queries`), and one text for each operator.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

import livejoin
from livejoin import errors
from nested_lives import Commit, Create, Life, Replay, State, life, possible
from oracle import Oracle, assert_same_rows, signed_multiset, without_zeros
from scenario import Change, Row, arrow_rows
from spread_cells import spread
from strategies import EXAMPLES, IS_FUZZ

FIRST = int(os.environ.get("LIVEJOIN_SEED", "0"))
LIVES = max(6, EXAMPLES // 10)  # each makes some ten comparisons, though not each of them
MOST_ROWS = 3000


class SpreadLife:
    """The views of a life over spread tables, and the oracle beside them.

    Attributes:
        cases: Comparisons of a view after a batch.
    """

    def __init__(self, whole: Life, cells: int, promises: Mapping[str, str]) -> None:
        self.tables = {table.name: table for table in whole.tables}
        self.oracle = Oracle(whole.tables)
        self.cases = 0
        bound = livejoin.Database()
        for table in whole.tables:
            more: dict[str, Any] = {"window_rows": table.window_rows, "window_range": table.window_range}
            more |= {promises[table.name]: True} if table.name in promises else {}
            bound.create_table(table.name, table.column_list, **more)
        for step in whole.steps:
            if isinstance(step, Create) and step.view.name not in self.oracle.views and step.fragile is None:
                try:
                    bound.create_view(step.view.name, step.view.sql)
                except errors.LivejoinError:
                    continue
                self.oracle.define(step.view.name, step.view.plain)
        self.spread = spread(bound, cells)
        self.declared = {base.table.name: base.table for base in bound._contents.tables.values()}
        self.told: dict[str, Counter[Row]] = {name: Counter() for name in self.oracle.views}

    def apply(self, changes: Sequence[Change]) -> None:
        mine = {name: [c for c in changes if c.table == name] for name in self.tables}
        for name, table in self.tables.items():
            if table.primary_key:
                mine[name] = net(mine[name])
        data = {name: arrow_rows(self.tables[name], some) for name, some in mine.items() if some}
        self.oracle.apply(changes)
        for view, deltas in self.spread.apply(data).items():
            for delta in deltas:
                self.told[view].update(signed_multiset(delta))
        self.spread.check()
        for name, table in self.declared.items():
            assert_same_rows(self.spread.rows(table), self.oracle.result(f"SELECT * FROM {name}"), name)
        for name, plain in self.oracle.views.items():
            self.cases += 1
            assert_same_rows(without_zeros(self.told[name]), self.oracle.result(plain), name)


def net(changes: Sequence[Change]) -> list[Change]:
    """Changes of a table with a key as cells are to be given them, one behind the other: what goes, then what comes."""
    left = Counter[Row]()
    for change in changes:
        left[change.row] += change.sign
    found = []
    for wanted in (-1, 1):
        some = {change.row: change for change in changes if change.sign == wanted}
        found += [change for row, change in some.items() if left[row] * wanted > 0]
    return found


def promised(changes: Iterable[Change], promises: Mapping[str, str], refreshes: bool) -> tuple[Change, ...]:
    """The changes that keep what tables promise; static ones change where they are refreshed."""
    allowed = {"static": (-1, 1) if refreshes else (), "append_only": (1,)}
    return tuple(one for one in changes if one.sign in allowed.get(promises.get(one.table, ""), (-1, 1)))


def lived(seed: int, cells: int, kinds: Sequence[str] = ()) -> int:
    """Live the commits of a life, with all of its views from the start; returns how many comparisons were made.

    Args:
        seed: The life's.
        cells: How many cells.
        kinds: What tables without a window promise, of which one is drawn for each.
    """
    whole, dice = life(seed), random.Random(seed)
    plain = [table.name for table in whole.tables if table.window_rows is table.window_range is None]
    promises = {name: kind for name in plain if kinds and (kind := dice.choice(kinds))}
    state, one = State.of(whole.tables), SpreadLife(whole, cells, promises)
    for number, step in enumerate(whole.steps):
        if isinstance(step, Create):
            continue
        if isinstance(step, (Commit, Replay)):
            done = possible(Commit(promised(step.changes, promises, number % 3 == 0)), state)
            assert isinstance(done, Commit)
            if any(one.oracle.count(plain) > MOST_ROWS for plain in one.oracle.views.values()):
                break
            one.apply(done.changes)
    return one.cases


@pytest.mark.parametrize("cells", [1, 2, 5] if IS_FUZZ else [2])
def test_lives(cells: int) -> None:
    cases = sum(lived(FIRST + 1000 * cells + seed, cells) for seed in range(LIVES))
    assert cases >= 10 * LIVES


def test_lives_of_tables_that_promise_something() -> None:
    """Static ones are refreshed in some batches."""
    some = LIVES // 2
    cases = sum(lived(FIRST + 9000 + seed, 3, ("static", "append_only", "")) for seed in range(some))
    assert cases >= 5 * some
