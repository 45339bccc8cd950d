"""A query that is started again with other tables: Spark's offsets stay with the tables that they are of."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltas import sum_of
from pyspark.sql import DataFrame, SparkSession

from livejoin.errors import StateError
from livejoin.spark.streams import offsets as offsets_module
from maintaining import maintain

pytestmark = pytest.mark.spark


def feed(root: Path, table: str, *rows: tuple[int, int]) -> None:
    folder = root / table
    folder.mkdir(exist_ok=True)
    file = folder / f"{len(list(folder.iterdir()))}.csv"
    file.write_text("".join(f"{x},{y}\n" for x, y in rows))


def run(spark: SparkSession, root: Path, tables: str, views: dict[str, str], **options: Any) -> None:
    def stream(table: str) -> DataFrame:
        (root / table).mkdir(exist_ok=True)
        return spark.readStream.schema("x INT, y INT").csv((root / table).as_uri())

    places: dict[str, Any] = {"path": root / "out", "checkpoint": root / "checkpoint", "keep": "all"}
    frames = {table: stream(table) for table in tables}
    query = maintain(spark, views, frames, **places, **options, trigger={"availableNow": True})
    assert query.awaitTermination(60)


def test_tables_come_and_go(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    feed(tmp_path, "a", (1, 2))
    feed(tmp_path, "b", (2, 3))
    run(spark, tmp_path, "a", {"v": "SELECT x FROM a"})
    both = {"v": "SELECT x FROM a", "w": "SELECT a.x, b.y FROM a JOIN b ON a.y = b.x"}
    run(spark, tmp_path, "ba", both)
    assert sum_of(out / "v") == Counter({(1,): 1}), "what was read of a table is not read again"
    assert sum_of(out / "w") == Counter({(1, 3): 1})
    feed(tmp_path, "a", (5, 2))
    feed(tmp_path, "c", (9, 9))
    run(spark, tmp_path, "abc", {**both, "u": "SELECT x FROM c"})
    assert sum_of(out / "w") == Counter({(1, 3): 1, (5, 3): 1})
    # The one that came first goes: the others move up, also where the process dies as it is moving them.
    feed(tmp_path, "b", (7, 7))
    without = {"u": "SELECT x FROM c", "t": "SELECT y FROM b"}

    def die(self: Path, target: Path) -> None:
        if target.name == ".spark.before":
            raise KeyboardInterrupt
        shutil.move(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(offsets_module.Path, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            run(spark, tmp_path, "cb", without)
    run(spark, tmp_path, "cb", without)
    assert sum_of(out / "t") == Counter({(3,): 1, (7,): 1})
    assert sum_of(out / "u") == Counter({(9,): 1})
    feed(tmp_path, "c", (8, 8))
    run(spark, tmp_path, "bc", without)
    assert sum_of(out / "u") == Counter({(9,): 1, (8,): 1})
    assert sum_of(out / "t") == Counter({(3,): 1, (7,): 1})
    # A table that is there again after it was gone begins anew, with its first file.
    run(spark, tmp_path, "bca", {**without, "s": "SELECT x FROM a"})
    assert sum_of(out / "s") == Counter({(1,): 1, (5,): 1})


def test_a_table_that_lost_its_offsets(spark: SparkSession, tmp_path: Path) -> None:
    """Started without a table, and no batch came: the engine has its rows, and Spark would read them once more."""
    feed(tmp_path, "a", (1, 2))
    feed(tmp_path, "b", (2, 3))
    run(spark, tmp_path, "ab", {"v": "SELECT x FROM a", "w": "SELECT x FROM b"})
    run(spark, tmp_path, "b", {"w": "SELECT x FROM b"})
    with pytest.raises(StateError, match=r"table 'a' has rows, and Spark's checkpoint .* how far it was"):
        run(spark, tmp_path, "ab", {"v": "SELECT x FROM a", "w": "SELECT x FROM b"})
    feed(tmp_path, "b", (4, 4))
    run(spark, tmp_path, "b", {"w": "SELECT x FROM b"})
    assert sum_of(tmp_path / "out" / "w") == Counter({(2,): 1, (4,): 1})


def test_a_frame_of_more_streams(spark: SparkSession, tmp_path: Path) -> None:
    feed(tmp_path, "a", (1, 2))
    feed(tmp_path, "b", (2, 3))
    run(spark, tmp_path, "a", {"v": "SELECT x FROM a"})
    one, other = (spark.readStream.schema("x INT, y INT").csv((tmp_path / table).as_uri()) for table in "ab")
    with pytest.raises(StateError, match=r"table 'a' comes from other streams than before \(1 were read, now 2\)"):
        maintain(
            spark,
            {"v": "SELECT x FROM a"},
            {"a": one.unionByName(other)},
            path=tmp_path / "out",
            checkpoint=tmp_path / "checkpoint",
        )


def test_a_start_that_died_before_its_first_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Spark refuses to begin where it left the draft of its offsets, and nothing had begun."""
    feed(tmp_path, "a", (1, 2))
    drafts = tmp_path / "checkpoint" / "spark" / "offsets"
    drafts.mkdir(parents=True)
    (drafts / ".0.2f3a.tmp").write_text("v1")
    run(spark, tmp_path, "a", {"v": "SELECT x FROM a"})
    assert sum_of(tmp_path / "out" / "v") == Counter({(1,): 1})
