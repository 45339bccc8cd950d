"""The order in which groups are read: none that another directory with equal hashes would be filled from one end by."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import livejoin
from livejoin.kernels.groups import layout as g
from livejoin.kernels.memory.layout import D_LOG, D_SLOTS, MASK32

GROUPS = 5_000
PARTS = 16


def test_groups_are_read_from_all_parts_of_their_directory() -> None:
    """The first sixteenth of what is read has groups of each sixteenth of the slots; all are read, each at its rank."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT)")
    view = db.create_view("v", "SELECT k, COUNT(*) AS n FROM t GROUP BY k")
    db.apply("t", pa.table({"k": np.arange(GROUPS)}))
    read = view.to_arrow()["k"].to_pylist()
    assert sorted(read) == list(range(GROUPS))
    assert [view.at(rank)[0] for rank in range(0, GROUPS, 499)] == read[::499]
    store = next(node.block for node in db._contents.graph.nodes if node.plan.kind == "groups")._store  # type: ignore[attr-defined]
    m, key = store.arena.words, int(store.plan.words[g.P_KEY])
    begin, log = int(m[g.H_DIRECTORY + D_SLOTS]), int(m[g.H_DIRECTORY + D_LOG])
    slots = m[begin : begin + (1 << log)]
    part = {int(m[(word & MASK32) + key]): place * PARTS >> log for place, word in enumerate(slots.tolist()) if word}
    assert {part[k] for k in read[: GROUPS // PARTS]} == set(range(PARTS))
