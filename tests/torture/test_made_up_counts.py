"""Snapshots in which rows are made up to be there a great many times: loading and reading cost what the files do.

A row takes as many bytes however often it is there. Were one of these loads to go through the copies, it would not end.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import livejoin
from livejoin.errors import StateError
from livejoin.search.algorithm import Algorithm
from scenario import Row
from torture import files

OFTEN = 1 << 40
TOO_OFTEN = (1 << 62, (1 << 46) + 1, (1 << 63) - 1, -(1 << 40))
G = [(1, 1), (2, 1), (3, 2)]
H = [(1, 5), (1, 6)]

JOIN = "SELECT A.src AS a, B.dst AS b FROM G A JOIN H B ON A.dst = B.src"
SELF = "SELECT A.src AS a, B.dst AS b FROM G A JOIN G B ON A.dst = B.src"
Case = tuple[str, Algorithm, int, set[Row]]

# The first row of G is there OFTEN times. Rows of the result, and which ones they are.
CASES: Mapping[str, Case] = {
    "plain": ("SELECT src, dst FROM G", "auto", OFTEN + 2, {(1, 1), (2, 1), (3, 2)}),
    "where": ("SELECT src FROM G WHERE dst > 1", "auto", 1, {(3,)}),
    "computed": ("SELECT src + 1 AS p FROM G WHERE src * 2 < 6", "auto", OFTEN + 1, {(2,), (3,)}),
    "join": (JOIN, "auto", 2 * OFTEN + 2, {(1, 5), (1, 6), (2, 5), (2, 6)}),
    "join by dyn": (JOIN, "dyn", 2 * OFTEN + 2, {(1, 5), (1, 6), (2, 5), (2, 6)}),
    "join by changes": (JOIN, "change-propagation", 2 * OFTEN + 2, {(1, 5), (1, 6), (2, 5), (2, 6)}),
    "distinct": ("SELECT DISTINCT src FROM G", "auto", 3, {(1,), (2,), (3,)}),
    "union": (f"{JOIN} UNION SELECT src, dst FROM G", "auto", 7, {(1, 5), (1, 6), (2, 5), (2, 6), *G}),
    "union by dyn": (f"{JOIN} UNION SELECT src, dst FROM G", "dyn", 7, {(1, 5), (1, 6), (2, 5), (2, 6), *G}),
    "union by changes": (
        f"{JOIN} UNION SELECT src, dst FROM H",
        "change-propagation",
        4,
        {(1, 5), (1, 6), (2, 5), (2, 6)},
    ),
    "union all": ("SELECT src FROM G UNION ALL SELECT src FROM H", "auto", OFTEN + 4, {(1,), (2,), (3,)}),
    "except all": ("SELECT src FROM G EXCEPT ALL SELECT src FROM H", "auto", OFTEN, {(1,), (2,), (3,)}),
    "groups": (
        "SELECT dst, MAX(src) AS m, COUNT(*) AS n FROM G GROUP BY dst",
        "auto",
        2,
        {(1, 2, OFTEN + 1), (2, 3, 1)},
    ),
    "groups of a join": (
        "SELECT B.dst, MAX(A.src) AS m, COUNT(*) AS n FROM G A JOIN H B ON A.dst = B.src GROUP BY B.dst",
        "auto",
        2,
        {(5, 2, OFTEN + 1), (6, 2, OFTEN + 1)},
    ),
    "first": (f"{JOIN} ORDER BY a DESC, b LIMIT 3", "auto", 3, {(2, 5), (2, 6), (1, 5)}),
    "stored": (
        f"SELECT D.a, H.dst AS d FROM (SELECT a, MAX(b) AS b FROM ({JOIN}) J GROUP BY a) D JOIN H ON D.a = H.src",
        "auto",
        2,
        {(1, 5), (1, 6)},
    ),
}


def made_up(folder: Path, sql: str, algorithm: Algorithm, changed: Mapping[str, int], threads: int = 1) -> None:
    """Save a database, then write other numbers into an array of its table G, the first of each."""
    db = livejoin.Database(threads=threads)
    db.create_table("G", "src BIGINT, dst BIGINT")
    db.create_table("H", "src BIGINT, dst BIGINT")
    db.create_view("v", sql, algorithm=algorithm)
    db.apply({"G": G, "H": H})
    db.save(folder)
    content = files.packed(folder)
    inner, _ = content["CURRENT"].decode().split()
    manifest: dict[str, Any] = json.loads(content[f"{inner}/manifest.json"])
    (place,) = (i for i, one in enumerate(manifest["tables"]) if one["declaration"]["name"] == "G")
    for part, word in changed.items():
        name = f"{inner}/table{place}.{part}.bin"
        words = np.frombuffer(content[name], np.int64).copy()
        words[0 if part == "weights" else -1] = word
        content[name] = words.tobytes()
        manifest["tables"][place]["arrays"][part]["crc32"] = zlib.crc32(content[name])
    text = json.dumps(manifest).encode()
    content[f"{inner}/manifest.json"] = text
    content["CURRENT"] = f"{inner} {zlib.crc32(text)}".encode()
    files.unpack(content, folder)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_rows_that_are_there_very_often_load_and_are_read(name: str, threads: int, tmp_path: Path) -> None:
    sql, algorithm, count, rows = CASES[name]
    made_up(tmp_path, sql, algorithm, {"weights": OFTEN}, threads)
    db = livejoin.Database.load(tmp_path, threads=threads)
    view = db.views["v"]
    assert view.count() == count
    batch = next(iter(view.batches(1000)))
    assert 0 < batch.num_rows <= 1000
    assert {tuple(row.values()) for row in batch.to_pylist()} <= rows
    if count <= len(rows):
        assert {tuple(row.values()) for row in view.to_arrow().to_pylist()} == rows
    db.apply("G", [(7, 8)])
    db._check()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("often", TOO_OFTEN)
@pytest.mark.parametrize("name", ["plain", "join by dyn", "union", "groups of a join"])
def test_rows_that_no_join_counts_are_refused(name: str, often: int, tmp_path: Path) -> None:
    sql, algorithm, _, _ = CASES[name]
    made_up(tmp_path, sql, algorithm, {"weights": often})
    with pytest.raises(StateError, match="the most that joins count"):
        livejoin.Database.load(tmp_path)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("often", "message"),
    [(OFTEN, "more often in the join of A, B than 64 bits count"), (1 << 31, "more than they count")],
)
@pytest.mark.parametrize(
    "sql", [f"{SELF} ORDER BY a LIMIT 3", f"SELECT src FROM H EXCEPT ALL SELECT a FROM ({SELF}) S"]
)
def test_more_copies_than_a_store_counts_are_refused(sql: str, often: int, message: str, tmp_path: Path) -> None:
    made_up(tmp_path, sql, "auto", {"weights": often})
    with pytest.raises(StateError, match=message):
        livejoin.Database.load(tmp_path)


@pytest.mark.timeout(120)
def test_a_join_of_more_rows_than_are_counted_is_loaded_and_told(tmp_path: Path) -> None:
    made_up(tmp_path, SELF, "auto", {"weights": OFTEN})
    view = livejoin.Database.load(tmp_path).views["v"]
    with pytest.raises(livejoin.CapacityError, match="more than 64 bits count"):
        view.count()


@pytest.mark.timeout(120)
def test_ids_are_made_up_and_take_no_memory(tmp_path: Path) -> None:
    made_up(tmp_path, JOIN, "auto", {"ids": (1 << 32) - 2})
    db = livejoin.Database.load(tmp_path, memory_limit="16MB")
    assert db.stats()["tables"]["G"]["rows"] == 3
    assert db.views["v"].count() == 4
    db.apply("G", [(7, 1)])
    db._check()
