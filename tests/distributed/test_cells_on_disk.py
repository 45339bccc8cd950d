"""Cells in several processes' memories, attempts that do not count, and what is on disk: the committed deltas add up.

What Spark does between the steps is done here: parts come in any order, a cell's part runs on any host, or on two, and
drivers die wherever they may.
"""

from __future__ import annotations

import errno
import os
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.checkpoint.batch import length_of
from livejoin.checkpoint.job import job_of
from livejoin.checkpoint.states import NotKeptError
from livejoin.database.snapshots.tables import Limits
from livejoin.distributed import Cells, Declared, Held, Manifest, Manifests, Outcome, Plan, Task, cells, deltas, parts
from livejoin.distributed.deltas import FilesDelta, batch_delta, read_view
from livejoin.distributed.files import delta_of
from livejoin.distributed.manifest import batches_in, read_manifest
from livejoin.distributed.parts import Outbox, advance, by_cell
from livejoin.distributed.states import kept_batches, parts_of
from livejoin.errors import ChangeError, MemoryLimitError, SchemaError, StateError, StorageError
from livejoin.schema import SqlType
from oracle import assert_same_rows, difference, signed_multiset, without_zeros
from scenario import Row
from strategies import IS_FUZZ

TABLES = {"G": ("src BIGINT, dst BIGINT", {"window_rows": 50}), "P": ("id BIGINT PRIMARY KEY, town STRING", {})}
VIEWS = {
    "hop2": "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "towns": "SELECT town, COUNT(*) AS n, AVG(G.dst) AS mean FROM P JOIN G ON P.id = G.src GROUP BY town",
    "number": "SELECT COUNT(*) AS n, MIN(src) AS least FROM G",
    "lonely": "SELECT id FROM P WHERE id NOT IN (SELECT src FROM G)",
    "first": "SELECT src, dst FROM G ORDER BY dst DESC, src LIMIT 3",
    "so_far": "SELECT src, dst, SUM(dst) OVER (PARTITION BY src ORDER BY dst) AS s FROM G",
    "smaller": "SELECT P.town, COUNT(*) AS n, SUM(G.dst) AS s FROM P JOIN G ON G.src < P.id GROUP BY P.town",
    "pairs": "SELECT A.dst AS a, B.dst AS b FROM G A JOIN G B ON A.src = B.src AND A.dst < B.dst",
    "before": "SELECT src, dst, LAG(dst) OVER (ORDER BY dst) AS p FROM G",
}

FEW = {name: VIEWS[name] for name in ("hop2", "towns", "number")}
"""For tests of files, which are the same whatever the views are."""

ONE = {"hop2": VIEWS["hop2"]}
"""For those of files, which ask for each of them whether the cells go on."""

SOME = VIEWS if IS_FUZZ else {name: VIEWS[name] for name in ("hop2", "towns", "lonely", "first")}
"""For tests of what is read of views: a join, groups, an anti join, the first rows."""


class Hosts:
    """A checkpoint, hosts with what their memories hold, and the database that all is compared with."""

    def __init__(self, path: Path, dice: Random, views: Mapping[str, str] = VIEWS, cells: int = 3) -> None:
        self.views = views
        self.path, self.dice, self.cells, self.kept, self.versions = path, dice, cells, 0, 0
        self.after: dict[int, dict[str, Counter[Row]]] = {}
        self.recovery_seconds: float | None = None
        self.whole = livejoin.Database()
        for name, (columns, options) in TABLES.items():
            self.whole.create_table(name, columns, **options)  # type: ignore[arg-type]
        for name, sql in views.items():
            self.whole.create_view(name, sql)
        self.told: dict[str, Counter[Row]] = {name: Counter() for name in views}
        self.open()

    def open(self) -> None:
        """A driver, and hosts that remember nothing."""
        self.manifests = Manifests(self.path, self.kept, self.versions)
        tables = {name: base.table for name, base in self.whole._contents.tables.items()}
        tables = {table.name: table for table in tables.values()}
        job = job_of(tables, self.views, frozenset(), keep_all=True)
        self.declared = Declared(self.path, job, self.cells, last=self.manifests.last)
        if not self.declared.is_chosen:
            self.declared.choose({})
        self.declared.write()
        self.plan: Plan = self.declared.plan
        self.memories = [Cells(self.plan.staged) for _ in range(3)]
        self.seen = set[tuple[int, int]]()

    def attempt(self, changes: Mapping[str, pa.Table]) -> Manifest:
        """What the cells do with a batch."""
        last = self.manifests.last
        held = {} if last is None else dict(last.cells)
        batch_id = 0 if last is None else last.batch_id + 1
        limit = self.recovery_seconds
        batch = Task(self.path, self.plan.digest, batch_id, self.manifests.epoch, held, recovery_seconds=limit)
        outbox = Outbox(self.plan, "00000000")
        for name, rows in changes.items():
            outbox.send(name.lower(), rows)
        parts, done = outbox.left(self.path, batch_id), list[Outcome]()
        for stage in range(len(self.plan.staged.stages)):
            came = by_cell(parts, stage)
            for cell in range(self.cells):
                if not came.get(cell) and (stage, cell) in self.seen:  # nothing is brought to it
                    continue
                self.seen.add((stage, cell))
                mine = list(came.get(cell, []))
                for _ in range(self.dice.choice([1, 1, 2])):  # of two attempts the last one counts
                    self.dice.shuffle(mine)
                    memory = self.dice.choice(self.memories)
                    outcome, sent = advance(memory, self.plan, batch, stage, cell, mine)
                done.append(outcome)
                parts += sent
        held.update({(one.stage, one.cell): one.held for one in done})
        deltas: dict[str, tuple[str, ...]] = defaultdict(tuple)
        for one in done:
            for view, (file, _) in one.deltas.items():
                deltas[view] = (*deltas[view], file)
        return Manifest(batch_id, batch.epoch, self.plan.digest, None, held, deltas)

    def apply(self, changes: Mapping[str, pa.Table]) -> None:
        """A batch that is committed; before, some that are not."""
        for _ in range(self.dice.choice([0, 0, 1, 2])):
            self.attempt(changes)
            if self.dice.random() < 0.5:
                self.manifests.close()
                self.open()
        manifest = self.attempt(changes)
        self.manifests.commit(manifest)
        for view, files in manifest.deltas.items():
            for file in files:
                self.told[view].update(signed_multiset(delta_of(self.path, file)))
        self.manifests.finish(manifest.batch_id, [])
        self.whole.apply(dict(changes))
        for name, view in self.whole.views.items():
            expected: Counter[Row] = Counter(tuple(row.values()) for row in view.to_arrow().to_pylist())
            assert without_zeros(self.told[name]) == expected, name
            self.after.setdefault(manifest.batch_id, {})[name] = expected

    def read(self, view: str, version: int | None = None) -> Counter[Row]:
        """The rows of a view as readers find them."""
        found, _ = parts_of(self.path, view, version)
        batches = [batch for part in found for batch in part.rows()]
        return Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist())

    def batch(self) -> dict[str, pa.Table]:
        """Some changes."""
        edges = [(self.dice.randrange(7), self.dice.randrange(7)) for _ in range(self.dice.randrange(12))]
        people = [(self.dice.randrange(7), self.dice.choice("xyz"), "upsert") for _ in range(self.dice.randrange(4))]
        found = {"G": _table(["src", "dst"], edges), "P": _table(["id", "town", "_change_type"], people)}
        return {name: rows for name, rows in found.items() if rows.num_rows}


def _table(names: list[str], rows: list[tuple[object, ...]]) -> pa.Table:
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {name: [] for name in names}
    table = pa.table({name: pa.array(list(column)) for name, column in columns.items()})
    if "_change_type" in names:
        return table
    return table.append_column("_change_type", pa.array(["insert"] * len(rows), pa.string()))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.torture)])
def test_attempts_that_do_not_count(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With snapshots behind every few batches, or with logs that become one file; parts in files, or some."""
    monkeypatch.setattr(cells, "LEAST_LOG", [4_000, 1 << 20][seed])
    monkeypatch.setattr(cells, "MOST_FILES", 4)
    monkeypatch.setattr(parts, "SMALL", [0, 2_000][seed])
    hosts = Hosts(tmp_path, Random(seed), SOME, 3 if IS_FUZZ else 2)
    for _ in range(14 if IS_FUZZ else 6):
        hosts.apply(hosts.batch())
    hosts.manifests.close()
    hosts.open()
    assert hosts.manifests.last is not None
    held = hosts.manifests.last.cells.values()
    assert any(one.snapshot for one in held) is (seed == 0)
    assert all(len(one.log) <= 5 for one in held)
    kept = {path.name for path in tmp_path.iterdir() if path.suffix in (".batch", ".tables", ".delta", ".parts")}
    assert kept == hosts.manifests.last.files, "what no manifest needs is gone"


def test_rows_of_the_newest_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With snapshots behind every few batches, and attempts that do not count."""
    monkeypatch.setattr(cells, "LEAST_LOG", 4_000)
    monkeypatch.setattr(cells, "MOST_FILES", 2)
    hosts = Hosts(tmp_path, Random(4), SOME, 3 if IS_FUZZ else 2)
    hosts.versions = 3
    hosts.manifests.close()
    with pytest.raises(NotKeptError, match="has no batch yet"):
        parts_of(tmp_path, "first", None)
    hosts.open()
    for number in range(8):
        hosts.apply(hosts.batch())
        view = hosts.dice.choice(list(hosts.views))
        assert hosts.read(view) == hosts.after[number][view], view
        before = hosts.dice.randint(max(0, number - 3), number)
        assert hosts.read(view, before) == hosts.after[before][view], view
    assert kept_batches(tmp_path) == [4, 5, 6, 7]
    with pytest.raises(NotKeptError, match=r"version 3 is not kept in .* kept are 4 to 7"):
        parts_of(tmp_path, "first", 3)
    with pytest.raises(NotKeptError, match=r"no version 8 in .* yet; the newest one is 7"):
        parts_of(tmp_path, "first", 8)
    with pytest.raises(SchemaError, match="no view 'nope'"):
        parts_of(tmp_path, "nope", None)
    found, _ = parts_of(tmp_path, "FIRST", 4)
    for _ in range(5):
        hosts.apply(hosts.batch())
    with pytest.raises(NotKeptError, match=r"version 4 is not kept in .* kept are those from version 9 on"):
        for part in found:
            list(part.rows())


def test_a_limit_of_what_is_applied_again(tmp_path: Path) -> None:
    """Over all stages, counted over restarts."""
    hosts = Hosts(tmp_path, Random(3), FEW)

    def state() -> dict[tuple[int, int], Held]:
        hosts.manifests.close()
        hosts.open()
        assert hosts.manifests.last is not None
        return dict(hosts.manifests.last.cells)

    for _ in range(3):
        hosts.apply(hosts.batch())
    before = state()
    assert all(one.log and one.seconds > 0 and not one.snapshot for one in before.values())
    hosts.recovery_seconds = len(hosts.plan.staged.stages) * max(one.seconds for one in before.values()) + 3600
    hosts.apply(hosts.batch())
    after = state()
    assert all(one.seconds >= before[place].seconds and not one.snapshot for place, one in after.items())
    hosts.recovery_seconds = min(one.seconds for one in after.values())  # of one stage, and there are several
    hosts.apply(hosts.batch())
    last = state()
    changed = [one for place, one in last.items() if one.state != after[place].state]
    assert changed
    assert all(one.snapshot and not one.log and not one.seconds for one in changed)
    hosts.recovery_seconds = None
    hosts.apply(hosts.batch())


def test_of_two_drivers_one_commits(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, Random(5), FEW)
    hosts.apply(hosts.batch())
    manifest = hosts.attempt(hosts.batch())
    other = Manifests(tmp_path)
    with pytest.raises(StateError, match="belongs to another driver"):
        hosts.manifests.commit(manifest)
    other.commit(manifest)
    late = Manifests(tmp_path)
    late.last = None
    with pytest.raises(StateError, match=r"it brought 00000001\.manifest"):
        late.commit(manifest)


def test_an_attempt_that_goes_on_ends_no_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes more of its snapshot while that is removed: what is left goes with a later batch."""
    hosts = Hosts(tmp_path, Random(11), FEW)
    lost = tmp_path / f"00000000-0-0-{'0' * 32}.tables"
    lost.mkdir()
    (lost / "rows").write_bytes(b"some")
    rmdir = os.rmdir

    def written_meanwhile(path: Any, **named: Any) -> None:
        (lost / "more").write_bytes(b"more")
        rmdir(path, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", written_meanwhile)
        hosts.apply(hosts.batch())
    assert [path.name for path in lost.iterdir()] == ["more"]
    hosts.apply(hosts.batch())
    assert not lost.exists()


def test_damage_is_told(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, Random(6), FEW if IS_FUZZ else ONE, 3 if IS_FUZZ else 2)
    for _ in range(2):
        hosts.apply(hosts.batch())
    hosts.manifests.close()
    for file in tmp_path.iterdir():
        if file.suffix not in (".batch", ".manifest", ".done", ".plan"):
            continue
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :])
        with pytest.raises(StateError, match=file.name):
            hosts.open()
            hosts.attempt({})
        file.write_bytes(data)
    hosts.open()
    hosts.attempt({})


def test_a_file_that_is_cut_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is empty, and one of several batches that ends where one of them does."""
    monkeypatch.setattr(cells, "MOST_FILES", 1)
    hosts = Hosts(tmp_path, Random(6), FEW if IS_FUZZ else ONE, 3 if IS_FUZZ else 2)
    for _ in range(6):
        hosts.apply(hosts.batch())
    assert hosts.manifests.last is not None
    several = 0
    for name, _ in {file for one in hosts.manifests.last.cells.values() for file in one.log}:
        data = (tmp_path / name).read_bytes()
        first = length_of(memoryview(data))
        several += first < len(data)
        for left in {0, first, len(data) - 1} - {len(data)}:
            (tmp_path / name).write_bytes(data[:left])
            hosts.manifests.close()
            hosts.open()
            with pytest.raises(StateError, match=f"{name} is damaged"):
                hosts.attempt({})
        (tmp_path / name).write_bytes(data)
    assert several
    delta = next(tmp_path.glob("*.delta"))
    delta.write_bytes(b"")
    with pytest.raises(StateError, match=f"{delta.name} is damaged"):
        delta_of(tmp_path, delta.name)


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, Random(9), FEW)
    for _ in range(3):
        hosts.apply(hosts.batch())
    hosts.manifests.close()
    for name in ("00000002.manifest", "00000002.done"):
        (tmp_path / name).rename(tmp_path / "kept")
        with pytest.raises(StateError, match=r"0000000\d\.(manifest|done), .* is missing; restore it"):
            Manifests(tmp_path)
        (tmp_path / "kept").rename(tmp_path / name)
    name = f"{hosts.plan.digest}.plan"
    (tmp_path / name).rename(tmp_path / f"{'0' * 16}.plan")
    manifests = Manifests(tmp_path)
    with pytest.raises(StateError, match=rf"{name} is missing, the plan of the newest manifest: restore it"):
        Declared(tmp_path, hosts.declared.job, hosts.cells, last=manifests.last)


def test_deltas_are_kept_for_readers(tmp_path: Path) -> None:
    """Of as many batches as is asked, over openings that ask for more or fewer; what nobody needs goes."""
    hosts, results = Hosts(tmp_path, Random(10), ONE, 2), [Counter[Row]()]
    for kept, first in ((0, 2), (2, 3), (2, 6), (1, 10), (0, 14)):
        hosts.kept = kept
        hosts.manifests.close()
        hosts.open()
        for _ in range(3):
            hosts.apply(hosts.batch())
            results.append(Counter(hosts.told["hop2"]))
        assert batches_in(tmp_path) == list(range(first, len(results) - 1))
        for batch in batches_in(tmp_path):
            manifest = read_manifest(tmp_path, batch)
            view = read_view(tmp_path, manifest.plan, "HOP2")
            delta = view.delta(tmp_path, manifest.deltas.get("hop2", ()), batch)
            assert_same_rows(signed_multiset(delta), difference(results[batch + 1], results[batch]))
        needed = [read_manifest(tmp_path, batch).deltas.values() for batch in batches_in(tmp_path)]
        wanted = {file for of in needed for files in of for file in files}
        assert {path.name for path in tmp_path.glob("*.delta")} == wanted
    with pytest.raises(SchemaError, match="there is no view 'other'"):
        read_view(tmp_path, hosts.plan.digest, "other")
    with pytest.raises(StateError, match=r"00000013\.manifest is missing"):
        read_manifest(tmp_path, 13)


def test_a_large_delta_is_read_from_one_file_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = Hosts(tmp_path, Random(2))
    hosts.apply({"G": _table(["src", "dst"], [(place % 9, place * place % 9) for place in range(40)])})
    manifest, views = hosts.manifests.last, hosts.declared.views(hosts.plan.digest)
    assert manifest is not None
    assert len(manifest.deltas["hop2"]) > 1
    small = batch_delta(tmp_path, manifest, "hop2", views["hop2"])
    monkeypatch.setattr(deltas, "LARGE", 0)
    large = batch_delta(tmp_path, manifest, "hop2", views["hop2"])
    assert isinstance(large, FilesDelta)
    assert (large.num_rows, large.schema) == (small.num_rows, small.schema)
    opened = list[str]()
    monkeypatch.setattr(deltas, "delta_of", lambda folder, file: (opened.append(file), delta_of(folder, file))[1])
    pieces = large.to_batches(1 << 20)
    first = next(pieces)
    assert len(opened) == 1
    assert pa.Table.from_batches([first, *pieces]) == pa.Table.from_batches(small.to_batches(1 << 20))
    scattered = replace(views["hop2"], types=(SqlType.integer(64),) * 3)
    assert isinstance(batch_delta(tmp_path, manifest, "hop2", scattered), pa.Table), "it is netted over all files"
    (tmp_path / manifest.deltas["hop2"][0]).unlink()
    with pytest.raises(StateError, match="is missing, which the newest manifest lists"):
        list(batch_delta(tmp_path, manifest, "hop2", views["hop2"]).to_batches(1 << 20))


def test_a_folder_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those that stand for an object store."""

    def link(*_: object, **__: object) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(StorageError, match="only where there is none of its name, by a hard link"):
        Manifests(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_limit_of_memory_is_that_of_a_cell(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, Random(8), FEW)
    hosts.apply(hosts.batch())
    hosts.memories = [Cells(hosts.plan.staged, Limits(memory_limit=1 << 20))]
    edges: list[tuple[object, ...]] = [(place, place + 1) for place in range(100_000)]
    with pytest.raises(
        MemoryLimitError, match=r"memory_limit is 1\.049 MB, and with 8 MB .* of '(towns|hop2|number)"
    ) as caught:
        hosts.attempt({"G": _table(["src", "dst"], edges)})
    assert "in cell 0 of stage 0" in caught.value.__notes__
    hosts.apply(hosts.batch())


def test_a_change_that_cannot_be_applied(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, Random(7), FEW)
    hosts.apply({"G": _table(["src", "dst"], [(1, 2)])})
    absent = pa.table({"src": [5], "dst": [5], "_change_type": ["delete"]})
    with pytest.raises(ChangeError, match="table 'G'") as caught:
        hosts.attempt({"G": absent})
    assert "in cell 0 of stage 0" in caught.value.__notes__
    hosts.apply({"G": _table(["src", "dst"], [(2, 3)])})
