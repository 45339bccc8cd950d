"""Pipelines of all kinds in one process and in cells: behind each batch the deltas add up to what DuckDB computes."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from livejoin.plan.dispatch import sampled
from oracle import assert_same_rows, multiset, signed_multiset, without_zeros
from scenario import Row
from spread_cells import spread
from spread_pipelines import PIPELINES
from strategies import EXAMPLES, IS_FUZZ

SEED = int(os.environ.get("LIVEJOIN_SEED", "3"))
BATCHES = max(3, EXAMPLES // 33)
CELLS = (1, 2, 4, 7) if IS_FUZZ else (4,)


@pytest.mark.parametrize("name", PIPELINES)
def test_cells_and_one_process_and_duckdb(name: str) -> None:
    pipeline = PIPELINES[name](SEED, BATCHES)
    whole = pipeline.database()
    tables = {table.name: table for table in whole._contents.catalog}
    samples = {table.lower(): sampled(tables[table], rows) for table, rows in pipeline.batches[0].items()}
    among = {cells: spread(whole, cells, samples) for cells in CELLS}
    told = {one: {view: Counter[Row]() for view in pipeline.views} for one in (0, *among)}
    for view, rows in whole.views.items():
        told[0][view].update(multiset(rows.to_arrow()))
    for number, (changes, expected) in enumerate(zip(pipeline.batches, pipeline.expected, strict=True)):
        by_key = any(tables[table].primary_key for table in changes)
        commit = whole.apply(dict(changes), on_conflict="update" if by_key else "error")
        for view in pipeline.views:
            told[0][view].update(signed_multiset(commit[view]))
        for cells, one in among.items():
            for view, deltas in one.apply(changes).items():
                for delta in deltas:
                    told[cells][view].update(signed_multiset(delta))
        for view, rows in expected.items():
            for cells in told:
                context = f"{view} of {name} behind batch {number} in {cells or 'no'} cells, seed {SEED}"
                assert_same_rows(without_zeros(told[cells][view]), rows, context)
    for one in among.values():
        one.check()
