"""Assertions over cells: a batch stands if and only if DuckDB finds no row of their queries behind it.

A batch that is refused leaves nothing: the next one is right, also where hosts remember what the refused one did.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from test_changed_plans import LETTERS, Changing, T, begun, job, rows_of

from livejoin.checkpoint.job import Job
from livejoin.distributed.driver import read_delta
from livejoin.errors import ViolationError
from oracle import connect
from strategies import EXAMPLES

FIRST = int(os.environ.get("LIVEJOIN_SEED", "0"))
LIVES = max(1, EXAMPLES // 20)
CONDITIONS = {
    "few": "SELECT b FROM T GROUP BY b HAVING COUNT(*) > 3",
    "apart": "SELECT x.a, y.b FROM T x JOIN T y ON x.a = y.a WHERE x.b = 'p' AND y.b = 'q'",
    "enough": "SELECT 1 WHERE (SELECT COUNT(*) FROM T) > 9",
}
VIEWS = {
    "v": "SELECT x.a AS a, y.b AS b FROM T x JOIN T y ON x.a = y.a",
    "w": "SELECT b, COUNT(*) AS n FROM T GROUP BY b",
}


def asserting(names: Mapping[str, str], views: Mapping[str, str] = VIEWS) -> Job:
    return replace(job(views, T), assertions={name: f"NOT EXISTS ({sql})" for name, sql in names.items()})


def violated(rows: pa.Table) -> set[str]:
    """The conditions that some rows of T violate, by DuckDB."""
    with connect() as connection:
        connection.register("T", rows)
        return {name for name, sql in CONDITIONS.items() if connection.execute(sql).fetchall()}


def rows_after(changing: Changing, changes: pa.Table) -> pa.Table:
    with changing.whole.snapshot() as at:
        rows = at.tables["T"].to_arrow()
    kinds = changes["_change_type"].to_pylist()
    found = [(a, b) for a, b in zip(rows["a"].to_pylist(), rows["b"].to_pylist(), strict=True)]
    for a, b, kind in zip(changes["a"].to_pylist(), changes["b"].to_pylist(), kinds, strict=True):
        found.append((a, b)) if kind == "insert" else found.remove((a, b))
    return pa.table(
        {"a": pa.array([a for a, _ in found], pa.int64()), "b": pa.array([b for _, b in found], pa.string())}
    )


@pytest.mark.parametrize("seed", range(FIRST, FIRST + LIVES))
def test_verdicts_of_random_batches(tmp_path: Path, seed: int) -> None:
    changing = Changing(tmp_path, Random(seed))
    declared = changing.open(asserting(CONDITIONS), 3)
    refused = 0
    for number in range(14):
        rows = list(changing.rows)
        changes = changing.batch(["T"]).get("T")
        if changes is None:
            continue
        wrong = violated(rows_after(changing, changes))
        if wrong:
            with pytest.raises(ViolationError) as caught:
                changing.told_before()
                changing.attempt({"T": changes})
            assert caught.value.assertion in wrong
            assert caught.value.rows.num_rows == min(caught.value.count, 100)
            changing.rows, refused = rows, refused + 1
        else:
            changing.apply({"T": changes})
            assert not any(name in changing.declared.job.views for name in CONDITIONS)
        if number == 7:
            declared = changing.open(asserting(CONDITIONS), changing.dice.randrange(1, 4))
    assert refused, "some batch violates something"
    assert {view.name for view in declared.asserted} == CONDITIONS.keys()
    changing.close()


def test_an_assertion_that_comes_later_is_held_to_the_rows_that_are_there(tmp_path: Path) -> None:
    changing = begun(tmp_path, asserting({}), {"T": LETTERS})
    twice = {"once": "SELECT a FROM T GROUP BY a HAVING COUNT(*) > 1"}
    more = {"T": rows_of(changing, "T", [(7, "q")])}
    changing.open(asserting(twice), 2, "nothing")
    with pytest.raises(ViolationError, match="'once' does not hold: 2 rows violate it"):
        changing.attempt(more)
    changing.open(asserting({"few": CONDITIONS["few"]}), 3, "nothing")
    committed = changing.attempt(more)
    assert "few" not in committed.manifest.deltas
    assert changing.manifests is not None
    assert read_delta(changing.declared, changing.manifests, committed.manifest, "w").num_rows == 1
    changing.close()
