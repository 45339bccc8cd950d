"""Parts of deltas that cells write as Parquet: the output is that of one process, and stays whole whatever happens."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import livejoin
from driven_cells import LocalSteps, Memories
from livejoin.checkpoint.batch_delta import TIMESTAMP
from livejoin.checkpoint.job import job_of
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.distributed import Declared, Manifests, Plan, Task, files
from livejoin.distributed.driver import Arrived, Committed, commit, delta_for_sink, read_delta
from livejoin.distributed.task import Outcome
from livejoin.errors import StateError, StorageError
from livejoin.plan.dispatch import sampled
from livejoin.spark.sinks import ParquetSink, SinkView, parquet
from oracle import signed_multiset
from scenario import Row

COLUMNS = (
    "k BIGINT NOT NULL, s STRING, d DECIMAL(20, 3), t TIMESTAMP, y DATE, f DOUBLE, b BOOLEAN, xs ARRAY<INT>, n INT"
)
VIEWS = {
    "pairs": "SELECT x.*, y.s AS other FROM T x JOIN T y ON x.k = y.k",
    "groups": "SELECT k, COUNT(*) AS n FROM T GROUP BY k",
    "starts": "SELECT x.s AS s FROM T x JOIN T y ON x.k = y.k",  # what one cell takes back another one may bring
}
TIME = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)


class Steps(LocalSteps):
    """As Spark runs them: the time of the batch is known once its changes are packed."""

    def run(self, plan: Plan, task: Task) -> tuple[list[Outcome], Arrived]:
        done, arrived = super().run(plan, replace(task, time=TIME))
        return done, replace(arrived, time=TIME)


class Job:
    """Three cells, and the sink of their deltas."""

    def __init__(self, path: Path) -> None:
        self.path, self.dice, self.memories = path, Random(3), Memories()
        bound = livejoin.Database()
        bound.create_table("T", COLUMNS)
        for name, sql in VIEWS.items():
            bound.create_view(name, sql)
        self.table = next(iter(bound._contents.catalog))
        self.shapes = {name: SinkView(view.schema, view.keys) for name, view in bound.views.items()}
        self.sink = ParquetSink(path / "out")
        self.manifests: Manifests | None = None
        self.start()

    def start(self) -> None:
        """A driver, with a sink that has looked at what is there."""
        if self.manifests is not None:
            self.manifests.close()
        self.manifests = Manifests(self.path / "cells")
        job = job_of({"T": self.table}, VIEWS, frozenset(), keep_all=True)
        self.declared = Declared(self.path / "cells", job, 3, last=self.manifests.last)
        self.sink.open(self.shapes, self.manifests.done, self.manifests.parts, "run")

    def commit(self, rows: int = 20, as_parquet: bool = True) -> Committed:
        """A batch, not yet delivered."""
        assert self.manifests is not None
        last = self.manifests.last
        changes = self.changes(rows)
        steps = Steps(self.dice, self.memories, {"T": changes}, None, {"t": sampled(self.table, changes)})
        number = 0 if last is None else last.batch_id + 1
        return commit(self.declared, self.manifests, "difference", number, steps, as_parquet=as_parquet)

    def deliver(self, done: Committed) -> None:
        assert self.manifests is not None
        self.manifests.finish(done.manifest.batch_id, self.write(done))

    def write(self, done: Committed) -> list[str]:
        """A delivery of which nobody knows that it is done."""
        assert self.manifests is not None
        deltas = {name: delta_for_sink(self.declared, self.manifests, done.manifest, name) for name in VIEWS}
        return self.sink.deliver(deltas, done.manifest.batch_id)

    def changes(self, rows: int) -> pa.Table:
        dice = self.dice
        values: list[tuple[object, ...]] = [
            (
                dice.randrange(6),
                dice.choice([None, "x", "z\u00fcrich"]),
                dice.choice([None, 10**16 + dice.randrange(99)]),
                dice.choice([None, TIME]),
                dice.choice([None, TIME.date()]),
                dice.choice([None, -0.5]),
                dice.choice([None, True]),
                dice.choice([None, [], [1, None]]),
                dice.choice([None, 7]),
            )
            for _ in range(rows)
        ]
        kept = self.table.arrow
        found = pa.table(
            [pa.array(line, field.type) for line, field in zip(zip(*values, strict=True), kept, strict=True)],
            kept.names,
        )
        return found.append_column("_change_type", pa.array(["insert"] * rows))

    def names(self, view: str) -> list[str]:
        return [file.name for file in self.sink.files(view)]

    def rows(self, view: str) -> Counter[Row]:
        """What the files of a view add up to."""
        total = Counter[Row]()
        for file in self.sink.files(view):
            found = pq.read_table(file, page_checksum_verification=True)
            assert found.column("_commit_version").unique().to_pylist() == [int(file.name[5:13])]
            assert found.column(TIMESTAMP).unique().to_pylist() == [TIME]
            total.update(signed_multiset(found.drop_columns(["_commit_version", TIMESTAMP])))
        return total


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if each part of a delta were large."""
    monkeypatch.setattr(files, "LARGE", 0)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.mark.usefixtures("large")
def test_what_cells_write_is_what_the_driver_would_write(job: Job, tmp_path: Path) -> None:
    other = Job(tmp_path / "other")
    for _ in range(2):
        done, by_driver = job.commit(), other.commit(as_parquet=False)
        forms = {view: {Path(file).suffix for file in of} for view, of in done.manifest.deltas.items()}
        assert forms == {"pairs": {".parquet"}, "groups": {".parquet"}, "starts": {".delta"}}
        assert all(Path(file).suffix == ".delta" for of in by_driver.manifest.deltas.values() for file in of)
        for view in VIEWS:
            assert job.manifests is not None
            assert other.manifests is not None
            mine = read_delta(job.declared, job.manifests, done.manifest, view)
            theirs = read_delta(other.declared, other.manifests, by_driver.manifest, view)
            assert mine.schema == theirs.schema
            assert signed_multiset(mine) == signed_multiset(theirs)
        job.deliver(done)
        other.deliver(by_driver)
    for view in VIEWS:
        assert job.rows(view) == other.rows(view)
        assert {str(pq.read_schema(file)) for file in job.sink.files(view)} == {
            str(pq.read_schema(file)) for file in other.sink.files(view)
        }
    assert other.names("pairs") == ["part-00000000.parquet", "part-00000001.parquet"]
    assert job.names("starts") == other.names("starts")
    count = len(done.manifest.deltas["pairs"])
    assert count > 1
    assert job.names("pairs")[-count:] == [f"part-00000001-{i:04d}-of-{count:04d}.parquet" for i in range(1, count + 1)]


def test_small_parts_are_one_file_with_or_without_large_ones(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    job.deliver(job.commit())
    assert job.names("pairs") == ["part-00000000.parquet"]
    sizes = iter([0, 1 << 40, 1 << 40] * 10)
    monkeypatch.setattr(files, "LARGE", 0)
    write_part = files.write_part

    def some(task: Task, stage: int, cell: int, view: str, delta: pa.Table) -> str:
        monkeypatch.setattr(files, "LARGE", next(sizes) if view == "pairs" else 0)
        return write_part(task, stage, cell, view, delta)

    monkeypatch.setattr("livejoin.distributed.cells.write_part", some)
    done = job.commit()
    forms = Counter(Path(file).suffix for file in done.manifest.deltas["pairs"])
    assert set(forms) == {".parquet", ".delta"}
    job.deliver(done)
    assert len(job.names("pairs")) == 1 + forms[".parquet"] + 1
    assert job.manifests is not None
    delta = read_delta(job.declared, job.manifests, done.manifest, "pairs")
    assert delta.num_rows == sum(pq.read_metadata(file).num_rows for file in job.sink.files("pairs")[1:])


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("written", [0, 1, pytest.param(2, marks=pytest.mark.torture), 4])
def test_a_delivery_that_was_cut_off_ends_as_if_it_was_not(
    job: Job, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.deliver(job.commit())
    done, left, put = job.commit(), [written], parquet.put

    def put_some(piece: object, target: Path) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(5, "Input/output error")
        put(piece, target)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(parquet, "put", put_some)
        with pytest.raises(StorageError, match="Input/output error"):
            job.deliver(done)
    job.start()
    job.write(done)
    there = {file: file.read_bytes() for view in VIEWS for file in job.sink.files(view)}
    job.start()
    job.deliver(done)
    assert {file: file.read_bytes() for view in VIEWS for file in job.sink.files(view)} == there
    assert len(job.names("pairs")) > len(done.manifest.deltas["pairs"]) > 1
    job.start()
    assert not list(job.sink.of("pairs").glob(".*"))


@pytest.mark.usefixtures("large")
def test_files_that_are_missing_or_of_another_run_are_named(job: Job) -> None:
    job.deliver(job.commit())
    folder, first = job.sink.of("pairs"), job.names("pairs")[0]
    assert first.startswith("part-00000000-0001-of-")
    (folder / first).rename(folder / "kept")
    with pytest.raises(StateError, match=f"pairs lacks {first}, and the checkpoint says that it wrote"):
        job.start()
    (folder / "kept").rename(folder / first)
    data = (folder / first).read_bytes()
    (folder / first).write_bytes(data[:-5])
    with pytest.raises(StateError, match=f"{first} is damaged"):
        job.start()
    (folder / first).write_bytes(data)
    for name in ("part-00000009-0001-of-0002.parquet", "part-00000009.parquet"):
        (folder / name).write_bytes(data)
        with pytest.raises(StateError, match=f"holds {name}, and the checkpoint has seen the batches up to 0"):
            job.start()
        (folder / name).unlink()
    job.start()
    assert job.manifests is not None
    assert WrittenParts.from_plain(job.manifests.parts.plain()).plain() == job.manifests.parts.plain()


@pytest.mark.usefixtures("large")
def test_a_part_that_is_damaged_before_it_is_delivered_is_told(job: Job) -> None:
    done = job.commit()
    name = done.manifest.deltas["pairs"][0]
    file = job.path / "cells" / name
    data = file.read_bytes()
    for place in range(0, len(data), max(1, len(data) // 23)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(StateError, match=f"{name} is damaged: its checksum is wrong"):
            job.deliver(done)
    file.write_bytes(data[:-1])
    assert job.manifests is not None
    with pytest.raises(StateError, match=f"{name} is damaged"):
        read_delta(job.declared, job.manifests, done.manifest, "pairs")
    file.unlink()
    with pytest.raises(StateError, match=f"{name} is missing"):
        job.deliver(done)
    file.write_bytes(data)
    job.deliver(done)
    job.deliver(job.commit())
    assert not file.exists(), "what was delivered goes with the next batch"
