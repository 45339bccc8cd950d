"""What a checkpoint knows of the files that it wrote; without a session of Spark."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltas import sum_of
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

from livejoin.checkpoint.batch_delta import TIMESTAMP
from livejoin.checkpoint.engine import Engine, open_engine
from livejoin.checkpoint.job import job_of
from livejoin.checkpoint.log import Log
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.errors import LivejoinError, StateError, StorageError
from livejoin.spark.micro_batch import MicroBatches
from livejoin.spark.sinks import ParquetSink, SinkView
from livejoin.spark.written_deltas import WrittenDeltasReader, _check_there
from livejoin.sql import parse_columns

VIEWS = {"v": "SELECT a FROM T", "w": "SELECT a FROM T WHERE a > 1"}
DECLARED = job_of({"T": parse_columns("T", "a BIGINT")}, VIEWS, {"T"})
TIME = datetime(2026, 11, 22, tzinfo=UTC)


class WithoutMessages:
    """The Java frame of a Spark that does not give its partitions as messages."""

    def toArrowBatchRdd(self) -> None:
        msg = "Method toArrowBatchRdd([]) does not exist"
        raise Py4JError(msg)


class Frame:
    """What Spark hands over, of which a micro-batch takes the Arrow table: rows for T."""

    _jdf = WithoutMessages()

    def __init__(self, rows: list[int]) -> None:
        self._rows = rows

    def limit(self, rows: int) -> Frame:
        return Frame(self._rows[:rows])

    def toArrow(self) -> pa.Table:
        return pa.table({"t0": pa.array([{"a": row} for row in self._rows]), TIMESTAMP: [TIME] * len(self._rows)})


@pytest.fixture
def batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., MicroBatches]]:
    """A start of the query: the engine as it was left, and a sink that has compared what is there."""
    engines: list[Engine] = []

    def start(deliver: Callable[..., list[str]] | None = None, keep: int | None = None) -> MicroBatches:
        while engines:
            engines.pop().close()
        engine = open_engine(DECLARED, tmp_path / "checkpoint")
        engines.append(engine)
        sink = ParquetSink(tmp_path / "out", keep)
        views = {name: SinkView(view.schema, view.keys) for name, view in engine.database.views.items()}
        sink.open(views, engine.last_batch, engine.parts, "run")
        if deliver is not None:
            monkeypatch.setattr(ParquetSink, "deliver", deliver)
        return MicroBatches(engine, sink, None)

    yield start
    while engines:
        engines.pop().close()


def parts(tmp_path: Path, view: str) -> list[str]:
    return sorted(path.name for path in (tmp_path / "out" / view).iterdir())


def test_ranges_of_batches() -> None:
    parts = WrittenParts()
    for batch in (0, 1, 2, 5, 6, 9):
        parts.add(batch, ["v"])
    assert parts.plain() == {"since": 0, "views": {"v": [[0, 2], [5, 6], [9, 9]]}}
    again = WrittenParts.from_plain(json.loads(json.dumps(parts.plain())))
    assert list(again.batches("v")) == [0, 1, 2, 5, 6, 9]
    assert list(again.batches("w")) == []
    again.add(10, ["v"])
    assert list(parts.batches("v")) == [0, 1, 2, 5, 6, 9], "they are no part of the others"


def test_parts_that_are_gone_are_named(tmp_path: Path, batches: Callable[..., MicroBatches]) -> None:
    run: Any = batches()
    for number, rows in enumerate([[1], [2], [0], [3], [4]]):
        run(Frame(rows), number)
    assert parts(tmp_path, "w") == [f"part-0000000{i}.parquet" for i in (1, 3, 4)], "a batch without a delta has none"
    batches()
    gone = [tmp_path / "out" / "w" / f"part-0000000{i}.parquet" for i in (3, 4)]
    kept = [path.read_bytes() for path in gone]
    for path in gone:
        path.unlink()
    with pytest.raises(StateError, match=r"w lacks part-00000003\.parquet, part-00000004\.parquet, and"):
        batches()
    for path, data in zip(gone, kept, strict=True):
        path.write_bytes(data)
    run = batches()
    run(Frame([5]), 5)
    for path in (tmp_path / "out" / "v").iterdir():
        path.unlink()
    with pytest.raises(StateError, match=r"v lacks part-00000000\.parquet.* and 1 more"):
        batches()


def test_a_part_too_many_is_named(tmp_path: Path, batches: Callable[..., MicroBatches]) -> None:
    run: Any = batches()
    for number, rows in enumerate([[1], [2], [0]]):
        run(Frame(rows), number)
    folder = tmp_path / "out" / "w"
    (folder / "part-00000003.parquet").write_bytes(b"of a batch that was not saved")
    batches()
    for number, says in ((4, "up to 2: the files"), (0, "up to 2 and says that batch 0 left none: the files")):
        (folder / f"part-0000000{number}.parquet").write_bytes((folder / "part-00000001.parquet").read_bytes())
        with pytest.raises(StateError, match=rf"holds part-0000000{number}\.parquet, and the checkpoint has .* {says}"):
            batches()
        (folder / f"part-0000000{number}.parquet").unlink()


def test_a_part_of_a_batch_that_was_not_saved_may_go(
    tmp_path: Path, batches: Callable[..., MicroBatches], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies between the part and the save writes the part again."""
    run: Any = batches()
    run(Frame([1]), 0)

    def full(file: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(StorageError, match="No space left") as caught:
            run(Frame([2]), 1)
    assert caught.value.__notes__ == ["in micro-batch 1 of Spark; none of it was applied"]
    assert parts(tmp_path, "v") == ["part-00000000.parquet"]

    def lost(self: Log, batch_id: int, note: Any) -> None:
        msg = "no"
        raise StorageError(msg)

    with monkeypatch.context() as patched:
        patched.setattr(Log, "finish", lost)
        with pytest.raises(StorageError) as caught:
            run(Frame([2]), 1)
    says = "in micro-batch 1 of Spark; it is in the log of the checkpoint, and the next start goes on with it"
    assert caught.value.__notes__ == [says]
    (tmp_path / "out" / "v" / "part-00000001.parquet").unlink()
    run = batches()
    run(Frame([3]), 1)
    assert parts(tmp_path, "v") == ["part-00000000.parquet", "part-00000001.parquet"]
    assert sum_of(tmp_path / "out" / "v") == Counter({(1,): 1, (2,): 1}), "the log has what counts"
    batches()


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(3)])
def test_what_ends_a_process_becomes_an_error_that_spark_answers_to(
    batches: Callable[..., MicroBatches], raised: BaseException
) -> None:
    def deliver(*_: object) -> list[str]:
        raise raised

    run: Any = batches(deliver)
    with pytest.raises(LivejoinError, match=f"{type(raised).__name__} ended the query") as caught:
        run(Frame([1]), 0)
    assert run.failure is caught.value
    assert caught.value.__cause__ is raised
    says = "in micro-batch 0 of Spark; it is in the log of the checkpoint, and the next start goes on with it"
    assert caught.value.__notes__ == [says]


def test_what_a_sink_raises_is_kept(batches: Callable[..., MicroBatches]) -> None:
    def deliver(*_: object) -> list[str]:
        msg = "no such channel"
        raise ValueError(msg)

    run: Any = batches(deliver)
    with pytest.raises(ValueError, match="no such channel"):
        run(Frame([1]), 0)
    assert str(run.failure) == "ValueError: no such channel"


def test_a_disk_that_is_full_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = ParquetSink(tmp_path)
    sink.open({"v": SinkView(pa.schema([("a", pa.int64())]))}, None, WrittenParts(), "run")

    def refuse(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageError, match="Input/output error"):
        sink.deliver({"v": pa.table({"a": [1]})}, 0)
    assert list((tmp_path / "v").iterdir()) == []


@pytest.mark.parametrize("left", [0, 5, 0.5, -1])
def test_a_part_that_is_cut_is_named(batches: Callable[..., MicroBatches], tmp_path: Path, left: float) -> None:
    start = batches()
    for number in range(2):
        start(Frame([number, 5]), number)  # type: ignore[arg-type]
    file = tmp_path / "out" / "v" / "part-00000000.parquet"
    data = file.read_bytes()
    file.write_bytes(data[: int(left * len(data)) if 0 < left < 1 else int(left)])
    with pytest.raises(StateError, match=r"v/part-00000000\.parquet is damaged: its [\d,]+ bytes do not end as"):
        batches()
    file.write_bytes(data)
    batches()


def test_a_flipped_bit_of_a_part_is_found_by_who_reads_it(batches: Callable[..., MicroBatches], tmp_path: Path) -> None:
    batches()(Frame(list(range(10_000))), 0)  # type: ignore[arg-type]
    reader = WrittenDeltasReader(tmp_path / "out" / "v")
    (part,) = reader.partitions({"batch": -1}, {"batch": 0})
    assert sum(rows.num_rows for rows in reader.read(part)) == 10_000
    file = tmp_path / "out" / "v" / "part-00000000.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 16
    file.write_bytes(data)
    with pytest.raises(StorageError, match=r"part-00000000\.parquet cannot be read: .*(checksum|CRC)"):
        list(reader.read(part))


def test_old_parts_go(tmp_path: Path, batches: Callable[..., MicroBatches]) -> None:
    run: Any = batches(keep=2)
    for number, rows in enumerate([[5], [1], [2], [1], [1], [1]]):
        run(Frame(rows), number)
    assert parts(tmp_path, "v") == ["_removed", *(f"part-0000000{i}.parquet" for i in (3, 4, 5))]
    assert parts(tmp_path, "w") == ["_removed", "part-00000002.parquet"], "the newest one stays"
    reader = WrittenDeltasReader(tmp_path / "out" / "v")
    with pytest.raises(StateError, match=r"from batch 0 on are to be read, and .* has not kept .* batch 2: .*since=3;"):
        reader.partitions(reader.initialOffset(), {"batch": 5})
    with pytest.raises(
        StateError, match=r"batch 2 \(since=\) are not kept .*: in .* are those of 3 to 5\. Give since=3"
    ):
        _check_there(tmp_path / "out" / "v", None, 2)
    _check_there(tmp_path / "out" / "v", None, 3)
    with pytest.raises(StateError, match="from batch 2 on"):
        reader.partitions({"batch": 1}, {"batch": 5})
    (*_, last) = reader.partitions(WrittenDeltasReader(tmp_path / "out" / "v", 3).initialOffset(), {"batch": 5})
    assert sum(batch.num_rows for batch in reader.read(last)) == 1
    run = batches()  # from now on all stay
    for number in (6, 7):
        run(Frame([1]), number)
    assert parts(tmp_path, "v")[1:] == [f"part-0000000{i}.parquet" for i in (3, 4, 5, 6, 7)]
    run = batches(keep=0)
    run(Frame([7]), 8)
    assert parts(tmp_path, "v")[1:] == parts(tmp_path, "w")[1:] == ["part-00000008.parquet"]
    with pytest.raises(StateError, match=r"has not kept those up to batch 7"):
        list(reader.read(last))
    note = tmp_path / "out" / "v" / "_removed"
    said = note.read_bytes()
    note.write_bytes(b"1 {}")
    with pytest.raises(StateError, match="_removed, which says what was removed, is damaged"):
        batches()
    note.unlink()
    with pytest.raises(StateError, match=r"v lacks part-00000000\.parquet"):
        batches()
    note.write_bytes(said)
    (tmp_path / "checkpoint").rename(tmp_path / "elsewhere")
    with pytest.raises(StateError, match=r"had the files of batches up to 7 at least, and the checkpoint has"):
        batches()


def dying(call: Callable[..., Any], folder: Path, after: int) -> Callable[..., Any]:
    """A method of paths that the system refuses from some call on, for files in a folder."""
    calls = iter(range(after))

    def called(self: Path, *given: Any, **named: Any) -> Any:
        if self.parent == folder and next(calls, None) is None:
            raise OSError(errno.EIO, "gone")
        return call(self, *given, **named)

    return called


@pytest.mark.parametrize("failing", ["replace", "unlink", "open"])
def test_a_process_that_dies_while_old_parts_go(
    tmp_path: Path, batches: Callable[..., MicroBatches], monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """Whatever call is its last one: the next start goes on, and readers get whole batches or an error."""
    folder = tmp_path / "out" / "v"
    for last in range(6):
        for place in (tmp_path / "checkpoint", tmp_path / "out"):
            shutil.rmtree(place, ignore_errors=True)
        run: Any = batches(keep=1)
        for number in range(3):
            run(Frame([number]), number)
        with monkeypatch.context() as patched:
            patched.setattr(Path, failing, dying(getattr(Path, failing), folder, last))
            with contextlib.suppress(LivejoinError):
                run(Frame([3]), 3)
        run = batches(keep=1)
        run(Frame([3]), 3)
        run(Frame([4]), 4)
        names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
        assert names == ["_removed", "part-00000003.parquet", "part-00000004.parquet"]
        assert sum_of(folder) == Counter({(3,): 1, (4,): 1})
        batches(keep=1)
