"""The order in which results are read: none that another directory with equal hashes is filled from one end by."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.kernels.jit import as_written
from livejoin.kernels.memory.directory import finish, mix, seed

KEYS = 20_000
PARTS = 16

PAIRS = "SELECT DISTINCT t.k FROM t JOIN u ON t.k = u.k"
VIEWS = {
    "groups": ("SELECT k, COUNT(*) AS n FROM t GROUP BY k", "auto"),
    "a join tree": (PAIRS, "crown"),
    "groups of a join tree": ("SELECT t.k, COUNT(*) AS n FROM t JOIN u ON t.k = u.k GROUP BY t.k", "crown"),
    "a derived node below another one": (
        "SELECT DISTINCT t.k, s.x FROM t JOIN u ON t.k = u.k JOIN s ON s.x = t.x JOIN s AS r ON r.x = u.x",
        "crown",
    ),
    "a T-representation": (PAIRS, "dyn"),
    "a chain of joins": (PAIRS, "change-propagation"),
    "comparisons": (
        "SELECT t.k, t.x FROM t JOIN (SELECT k, AVG(x) AS mean FROM u GROUP BY k) AS a ON t.k = a.k WHERE t.x >= mean",
        "auto",
    ),
}


def _parts(keys: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[int]:
    """In which sixteenth of a directory each key belongs."""
    hashes = as_written(mix)(as_written(seed)(), keys.astype(np.uint64))
    return (as_written(finish)(hashes) * PARTS >> 32).tolist()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("name", VIEWS)
def test_results_are_read_from_all_parts_of_their_directory(name: str) -> None:
    """The first sixteenth of what is read has keys of each sixteenth of the hashes; all are read, each at its rank."""
    db = livejoin.Database()
    db.execute("CREATE TABLE s (x BIGINT); CREATE TABLE t (k BIGINT, x BIGINT); CREATE TABLE u (k BIGINT, x BIGINT)")
    rows = pa.table({"k": np.random.default_rng(1).permutation(KEYS), "x": np.full(KEYS, 7)})
    db.apply({"s": pa.table({"x": [7]}), "t": rows, "u": rows})
    query, algorithm = VIEWS[name]
    view = db.create_view("v", query, algorithm=algorithm)  # type: ignore[arg-type]
    read = view.to_arrow()["k"].to_pylist()
    assert sorted(read) == list(range(KEYS))
    assert [view.at(rank)[0] for rank in range(0, KEYS, 1_999)] == read[::1_999]
    assert set(_parts(np.array(read[: KEYS // PARTS]))) == set(range(PARTS))
