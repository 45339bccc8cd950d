"""Few files of many; without a session of Spark."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.errors import PipelineError, SchemaError, StateError, StorageError
from livejoin.spark.sinks import ParquetSink, SinkView
from livejoin.spark.sinks import compaction as compacting
from livejoin.spark.sinks.compaction import Compacted, compact
from livejoin.spark.sinks.part_names import part_names, parts_in
from livejoin.spark.written_deltas import WrittenDeltasReader

COLUMNS = pa.schema([("a", pa.int64()), ("s", pa.dictionary(pa.int32(), pa.string()))])


def delta(rows: list[int], columns: pa.Schema = COLUMNS) -> pa.Table:
    return pa.table({"a": rows, "s": [f"row {row}" for row in rows]}).cast(columns)


class Output:
    """An output that is written batch by batch, and what must be read from it."""

    def __init__(self, folder: Path, batches: int = 0) -> None:
        self.folder = folder
        self.batches: dict[int, list[int]] = {}
        self.written = WrittenParts()
        self.last = -1
        self.dice = random.Random(3)
        self.open()
        for _ in range(batches):
            self.write()

    @property
    def view(self) -> Path:
        return self.folder / "v"

    def open(self, keep: int | None = None) -> None:
        self.sink = ParquetSink(self.folder, keep)
        last = None if self.last < 0 else self.last
        self.sink.open({"v": SinkView(COLUMNS)}, last, self.written, "run")

    def write(self, rows: list[int] | None = None) -> None:
        self.last += 1
        rows = [self.last * 10 + n for n in range(self.dice.randint(0, 3))] if rows is None else rows
        self.written.add(self.last, self.sink.deliver({"v": delta(rows)}, self.last))
        if rows:
            self.batches[self.last] = rows

    def check(self, since: int = 0) -> None:
        """Each batch is read once and whole, as are all files together, after each step."""
        reader = WrittenDeltasReader(self.view, since)
        parts = reader.partitions(reader.initialOffset(), {"batch": self.last})
        found: list[int] = []
        for part in parts:
            rows = pa.Table.from_batches(reader.read(part))
            assert rows.schema.field("s").type == pa.string()
            found += rows["a"].to_pylist()
        assert found == [row for batch, rows in self.batches.items() if batch >= since for row in rows]
        tables = [pq.read_table(file, partitioning=None) for file in self.sink.files("v")]
        every = [row for table in tables for row in table["a"].to_pylist()]
        assert every[len(every) - len(found) :] == found


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(tmp_path / "out", 40)


def test_few_files_of_many(output: Output) -> None:
    there = len(parts_in(output.view))
    assert compact(output.view) == Compacted(1, there - 1, 0, there - 1)
    output.check()
    output.open()
    assert compact(output.view) == Compacted(0, 0, 0, there - 1), "the grace is not over"
    assert compact(output.view, grace=0) == Compacted(0, 0, there - 1, 0)
    shown = sorted(file.name for file in output.view.glob("*.parquet"))
    assert len(shown) == 2
    assert shown[0].startswith("part-00000000-to-000000")
    assert pq.read_schema(output.view / shown[0]) == pq.read_schema(output.view / shown[1])
    output.open()
    for _ in range(20):
        output.write()
    output.check()
    compact(output.view, grace=0)
    output.check()
    for since in range(0, output.last + 1, 7):
        output.check(since)
    output.open()
    assert len(list(output.view.glob("*.parquet"))) == 3
    assert compact(output.view, grace=0) == Compacted(0, 0, 0, 0)


def test_who_reads_all_files_has_each_row_once(output: Output) -> None:
    def read() -> list[int]:
        return [row for (row,) in duckdb.sql(f"SELECT a FROM '{output.view}/*.parquet' ORDER BY a").fetchall()]

    every = sorted(row for rows in output.batches.values() for row in rows)
    assert read() == every
    compact(output.view)
    assert read() == every, "while the old files stay"
    compact(output.view, grace=0)
    assert read() == every


def test_an_output_that_is_cleared_has_nothing_of_ranges(output: Output) -> None:
    compact(output.view, grace=0)
    for _ in range(5):
        output.write([1])
    compact(output.view)
    output.sink.clear("v")
    assert list(output.view.iterdir()) == []


def calls(monkeypatch: pytest.MonkeyPatch, most: int) -> list[str]:
    """Cut the process off at the call of the system after so many; gives the calls that were made."""
    made: list[str] = []
    for owner, name in ((Path, "replace"), (Path, "unlink"), (compacting.pq, "read_schema"), (os, "fsync")):
        plain = getattr(owner, name)

        def cut_off(*given: Any, plain: Any = plain, name: str = name, **more: Any) -> Any:
            made.append(name)
            if len(made) > most:
                raise KeyboardInterrupt
            return plain(*given, **more)

        monkeypatch.setattr(owner, name, cut_off)
    return made


def test_a_compaction_that_is_killed_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for most in range(200):
        output = Output(tmp_path / str(most), 5)
        with monkeypatch.context() as cut:
            made = calls(cut, most)
            try:
                compact(output.view, grace=0)
            except KeyboardInterrupt:
                done = False
            else:
                done = True
        output.check()
        output.open()
        output.write()
        output.check()
        compact(output.view, grace=0)
        output.check()
        output.open()
        assert len(list(output.view.glob("*part*"))) <= 3
        if done:
            assert {"replace", "unlink", "fsync", "read_schema"} == {*made}
            return
    raise AssertionError


def test_a_reader_that_has_listed_old_files(output: Output) -> None:
    reader = WrittenDeltasReader(output.view)
    parts = reader.partitions(reader.initialOffset(), {"batch": output.last})
    compact(output.view)
    hidden = reader.partitions(reader.initialOffset(), {"batch": output.last})
    compact(output.view, grace=0)
    for some in (parts, hidden):
        found = [row for part in some for batch in reader.read(part) for row in batch["a"].to_pylist()]
        assert found == [row for rows in output.batches.values() for row in rows]


def test_old_ranges_go_with_what_is_kept(output: Output) -> None:
    compact(output.view, grace=0)
    output.open(keep=5)
    for _ in range(3):
        output.write([1])
    assert any("-to-" in file.name for file in output.view.iterdir()), "some of its batches are kept"
    output.check()
    for _ in range(10):
        output.write([1])
    assert not any("-to-" in file.name for file in output.view.iterdir())
    with pytest.raises(StateError, match="has not kept those up to batch"):
        output.check()
    output.check(since=output.last - 5)
    output.open(keep=5)
    compact(output.view, grace=0)
    output.check(since=output.last - 5)


def test_columns_that_change_begin_another_range(tmp_path: Path) -> None:
    output = Output(tmp_path, 0)
    plain = pa.schema([("a", pa.int64()), ("s", pa.string())])
    for batch, columns in enumerate((COLUMNS, COLUMNS, plain, plain, plain)):
        output.sink.deliver({"v": delta([batch], columns)}, batch)
        output.batches[batch], output.last = [batch], batch
    assert compact(output.view, grace=0).ranges == 2
    output.check()


def test_parts_of_one_batch(tmp_path: Path) -> None:
    """As cells write them."""
    output = Output(tmp_path, 2)
    for number, name in enumerate(part_names(2, 3)):
        pq.write_table(delta([100 + number, 200 + number]), output.view / name, row_group_size=1)
    output.last, output.batches[2] = 2, [100, 200, 101, 201, 102, 202]
    output.written.add(2, ["v"])
    output.write([5])
    reader = WrittenDeltasReader(output.view)
    parts = reader.partitions({"batch": 1}, {"batch": 2})
    compact(output.view, grace=0)
    output.check()
    assert [[row for batch in reader.read(part) for row in batch["a"].to_pylist()] for part in parts] == [
        [100, 200],
        [101, 201],
        [102, 202],
    ]


def test_what_a_start_says_of_ranges(output: Output) -> None:
    compact(output.view, grace=0)
    (file,) = output.view.glob("part-*-to-*.parquet")
    data = file.read_bytes()
    file.unlink()
    with pytest.raises(StateError, match=f"lacks {file.name}, and the checkpoint says"):
        output.open()
    file.write_bytes(data[:-5])
    with pytest.raises(StateError, match="is damaged"):
        output.open()
    file.write_bytes(data)
    last, output.last = output.last, 3
    output.written = WrittenParts()
    with pytest.raises(StateError, match="the files are of another run"):
        output.open()
    output.last = last
    note = output.view / "_ranges"
    note.write_bytes(note.read_bytes().replace(b"first", b"forst"))
    with pytest.raises(StateError, match="which says which files hold many batches, is damaged"):
        compact(output.view)


def test_one_compaction_at_a_time(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    def also(*_: object) -> Iterator[Any]:
        with pytest.raises(PipelineError, match=r"another compaction of .* runs"):
            compact(output.view)
        return iter(())

    monkeypatch.setattr(compacting, "_runs", also)
    assert compact(output.view).ranges == 0


def test_what_is_no_output(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="has no file of a view's deltas; give the folder <path>/<view>"):
        compact(tmp_path / "none")
    for grace in (-1, float("nan"), True, "1"):
        with pytest.raises(SchemaError, match=r"grace= is .*; allowed is a number of seconds, 0 or more"):
            compact(tmp_path, cast(Any, grace))


def test_an_output_starts_anew(output: Output) -> None:
    compact(output.view)
    output.sink.clear("v")
    assert not list(output.view.iterdir())
