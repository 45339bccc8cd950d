"""`on_conflict="ignore"`: conflicts are skipped and counted, and all else is as if they had never been given."""

from __future__ import annotations

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from harness import Harness
from random_queries import queries
from scenario import Change
from strategies import FUZZ, rows, tables


@pytest.mark.parametrize("granularity", ["commit", "change"])
@FUZZ
@given(data=st.data())
def test_conflicts_are_skipped_and_counted(granularity: str, data: st.DataObject) -> None:
    """Changes drawn without regard to what is there."""
    specs = data.draw(tables(max_tables=2, max_columns=2))
    harness = Harness(specs)
    query = data.draw(queries(specs, max_atoms=3))
    note(query.sql)
    harness.create_view("v", query)
    for _ in range(data.draw(st.integers(1, 4))):
        changes = []
        for _ in range(data.draw(st.sampled_from([3, 6, 1, 9]))):
            table = data.draw(st.sampled_from(specs))
            kind = data.draw(st.sampled_from(["insert", "delete", "insert", "update_preimage", "update_postimage"]))
            changes.append(Change(table.name, kind, data.draw(rows(table))))
        note(f"{specs}: {changes}")
        harness.apply_ignoring(changes, granularity)
