"""Cancellation inside a version against a Counter, and batches of every size against single changes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import livejoin
from livejoin.dataflow.deltas import cancellation
from livejoin.dataflow.deltas.cancellation import net_chunks
from livejoin.families.delta_chunk import DeltaChunk
from oracle import assert_same_rows, signed_multiset
from random_queries import queries
from scenario import Scenario, arrow_rows
from strategies import EXAMPLES, FUZZ, scenarios

Row = tuple[int, ...]


@st.composite
def deltas(draw: st.DrawFn) -> list[DeltaChunk]:
    chunks = []
    version = 1
    for _ in range(draw(st.integers(0, 3))):
        lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
        words = [[draw(st.integers(0, 1)) for _ in range(sum(lengths))] for _ in range(2)]
        versions = np.cumsum([version, *(draw(st.integers(0, 1)) for _ in lengths[1:])])
        version = int(versions[-1]) + draw(st.integers(0, 1))
        signs = [draw(st.sampled_from([-1, 1])) for _ in lengths]
        starts = np.cumsum(lengths) - lengths
        chunks.append(DeltaChunk(np.array(words, np.int64), (starts, versions, np.array(signs))))
    return chunks


def rows_of(chunks: list[DeltaChunk], lines: list[int]) -> list[tuple[Row, int, int]]:
    """Every row with its version and sign, in order."""
    rows = []
    for chunk in chunks:
        signs, versions = (np.repeat(part, chunk.lengths()).tolist() for part in (chunk.signs, chunk.versions))
        rows += list(zip(map(tuple, chunk.words[lines].T.tolist()), versions, signs, strict=True))
    return rows


@pytest.mark.parametrize("collide", [False, True])
@FUZZ
@given(deltas(), st.sampled_from([[0, 1], [1], [0, 0], []]))
def test_what_is_left_is_net(collide: bool, chunks: list[DeltaChunk], lines: list[int]) -> None:
    """Signs add up as before, none cancels, and what is left is a subsequence."""
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(cancellation, "_hashes", lambda columns: np.zeros(columns[0].shape[0], np.uint64))
        found = rows_of(net_chunks(chunks, lines), lines)
    before, after = Counter[tuple[Row, int]](), Counter[tuple[Row, int]]()
    sides = set()
    for row, version, sign in rows_of(chunks, lines):
        before[row, version] += sign
    for row, version, sign in found:
        after[row, version] += sign
        sides.add((row, version, sign))
    assert {key: net for key, net in before.items() if net} == {key: net for key, net in after.items() if net}
    assert len(sides) == len({(row, version) for row, version, _ in sides})
    rest = iter(rows_of(chunks, lines))
    assert all(any(row == other for other in rest) for row in found)


@settings(FUZZ, max_examples=max(8, EXAMPLES // 2))
@given(scenarios(errors=False, max_queries=1, max_commits=2, queries=queries, sizes=(12, 16, 24)), st.data())
def test_batches_of_every_size_give_the_same_net_delta(scenario: Scenario, data: st.DataObject) -> None:
    """One commit, commits of any sizes, and single changes: their deltas add up to the same."""
    note(scenario.script())
    changes = [change for commit in scenario.commits for change in commit.changes]
    size = data.draw(st.integers(2, max(2, len(changes))), label="size")
    totals = []
    for step in (1, size, max(1, len(changes))):
        db = livejoin.Database()
        for table in scenario.tables:
            db.create_table(table.name, table.column_list)
        view = db.create_view("v", scenario.queries[0].sql)
        total: Counter[Row] = Counter()
        for begin in range(0, len(changes), step):
            part = changes[begin : begin + step]
            named = {
                t.name: arrow_rows(t, mine) for t in scenario.tables if (mine := [c for c in part if c.table == t.name])
            }
            delta = db.apply(named)["v"]
            signed = signed_multiset(delta)
            assert sum(map(abs, signed.values())) == delta.num_rows, "a commit's delta is net"
            total.update(signed)
            if view.count() > 5000:
                return
        totals.append(Counter({row: times for row, times in total.items() if times}))
        assert_same_rows(totals[0], totals[-1], f"{step} changes a commit")


def test_a_change_of_multiplicity_leaves_its_difference() -> None:
    """3 copies of a row go and 5 come in one commit: 2 come."""
    db = livejoin.Database()
    db.execute("CREATE TABLE R (a BIGINT)")
    db.execute("CREATE TABLE S (a BIGINT)")
    db.create_view("v", "SELECT R.a FROM R JOIN S ON R.a = S.a")
    db.apply({"R": [(1,)] * 3, "S": [(1,)]})
    gone = [{"a": 1, "_change_type": "delete"}]
    delta = db.apply({"R": pa.table({"a": [1] * 2}), "S": [*gone, {"a": 1, "_change_type": "insert"}]})["v"]
    assert delta["_change_type"].to_pylist() == ["insert", "insert"]
