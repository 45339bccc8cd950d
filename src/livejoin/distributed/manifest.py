"""What was committed: a file a batch, which alone decides which files of cells count.

Cells write files under names of their own in every attempt. A batch is committed when its manifest appears, complete,
by a call that fails where there is one; of two drivers one brings it, and the other one stops. Files that no manifest
lists are what attempts left that did not count, and are removed when the next driver opens the folder.

In a store a request may arrive late: that of a driver which sleeps, was taken for dead, and has lost the checkpoint to
another one. So there a file goes only when a manifest of its batch, or a later one, is there: before, the manifest that
lists it may be under way. A driver looks behind each manifest whether somebody has opened the checkpoint since; then it
delivers nothing. Who opens it looks for manifests when his opening can be seen.

Laws: the state of a cell is its snapshot and the batches behind it, as the newest manifest lists them. Of all drivers
that commit a batch at most one is told so, and whoever opens the checkpoint then has the manifest of that one.
"""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from livejoin.checkpoint.batch import Ends, ends_of
from livejoin.checkpoint.checked_json import checked, with_checksum
from livejoin.checkpoint.names import EPOCH, MANIFEST, are_of_cells
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.database.snapshots.declaration import number, value
from livejoin.errors import StateError, StorageError
from livejoin.state.store_folder import Place, at, made

_DONE = re.compile(r"(\d{8,})\.done")
_CELL = re.compile(
    r"(?P<batch>\d{8,})-\d+(-\d+)?-[0-9a-f]{32}\.(batch|(\d+\.)?delta|tables|parts|\d+\.[0-9a-f]{8}\.parquet)"
)
_PLAN = re.compile(r"([0-9a-f]{16})\.(plan|views)")
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP)
_DRAFT = re.compile(r"\.[0-9a-f]{32}\.draft")


@dataclass(frozen=True)
class Held:
    """What a cell of a stage holds.

    Args:
        snapshot: The folder of its tables; empty for none.
        log: The files of the batches behind it, in order, each with its bytes.
        rows: For each base table that has its home there, by its name in lower case, the rows of it.
        loads: For each join, by the digest of its dispatch, the rows of its tables.
        seconds: How long the cell took to apply the batches behind the snapshot.
    """

    snapshot: str = ""
    log: tuple[tuple[str, int], ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    loads: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def state(self) -> str:
        """A name of the state: another one after every batch that changed it."""
        return self.log[-1][0] if self.log else self.snapshot

    @property
    def files(self) -> tuple[str, ...]:
        """All that it is made of."""
        return (*([self.snapshot] if self.snapshot else []), *(name for name, _ in self.log))


@dataclass(frozen=True)
class Manifest:
    """A batch that was committed.

    Args:
        batch_id: The number of the batch.
        epoch: The epoch of the driver that committed it.
        plan: The digest of the stages.
        time: Microseconds of the batch's time; None if it has none.
        cells: The state of each cell of each stage after the batch.
        deltas: For each view the files with its delta.
        letters: For each base table the files with the changes that were left out, if dead letters are wanted.
        static: The digests of the rows of static tables, by the tables' names in lower case.
        marks: The watermarks of tables, in microseconds, by the tables' names in lower case.
        ends: How far the sources are read with the batch, if Spark's own note of it is not enough.
    """

    batch_id: int
    epoch: int
    plan: str
    time: int | None
    cells: Mapping[tuple[int, int], Held] = field(default_factory=dict)
    deltas: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    letters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    static: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)
    ends: Ends | None = None

    @property
    def filled(self) -> frozenset[str]:
        """The base tables that have rows, by their names in lower case."""
        return frozenset(name for one in self.cells.values() for name, rows in one.rows.items() if rows)

    @property
    def state_files(self) -> set[str]:
        """The files of the states of its cells."""
        return {file for one in self.cells.values() for file in one.files}

    @property
    def files(self) -> set[str]:
        """The files that it needs."""
        return self.state_files.union(*self.deltas.values(), *self.letters.values())

    def plain(self) -> dict[str, Any]:
        """The same as JSON values."""
        cells = [
            [stage, cell, one.snapshot, [list(file) for file in one.log], dict(one.rows), dict(one.loads), one.seconds]
            for (stage, cell), one in self.cells.items()
        ]
        return {
            "batch": self.batch_id,
            "epoch": self.epoch,
            "plan": self.plan,
            "time": self.time,
            "cells": cells,
            "deltas": {view: list(files) for view, files in self.deltas.items()},
            "letters": {table: list(files) for table, files in self.letters.items()},
            "static": dict(self.static),
            **({"marks": dict(self.marks)} if self.marks else {}),
            **({} if self.ends is None else {"ends": {name: list(lines) for name, lines in self.ends.items()}}),
        }

    @staticmethod
    def from_plain(entry: object) -> Manifest:
        """The manifest of the JSON values that `plain` made; raises ValueError, KeyError or TypeError."""
        time = entry["time"] if isinstance(entry, dict) else None
        return Manifest(
            number(entry, "batch"),
            number(entry, "epoch"),
            value(entry, "plan", str),
            None if time is None else value(entry, "time", int),
            {
                (stage, cell): Held(snapshot, tuple((name, size) for name, size in log), rows, loads, *seconds)
                for stage, cell, snapshot, log, rows, loads, *seconds in value(entry, "cells", list)
            },
            {view: tuple(files) for view, files in value(entry, "deltas", dict).items()},
            {table: tuple(files) for table, files in value(entry, "letters", dict).items()},
            value(entry, "static", dict) if isinstance(entry, dict) and "static" in entry else {},
            value(entry, "marks", dict) if isinstance(entry, dict) and "marks" in entry else {},
            ends_of(entry) if isinstance(entry, dict) else None,
        )


class Manifests:
    """The manifests in a folder, opened by the driver that commits; mutable.

    Args:
        path: The folder, made if it is missing, or a place in a store. All hosts see it.
        kept: For how many batches before the newest one deltas stay for readers.
        versions: For how many batches before the newest one the states of cells stay for readers.

    Attributes:
        epoch: The number of this opening; each has a larger one than those before.
        last: The newest manifest; None before the first.
        done: The last batch whose deltas were delivered; None before the first.
        parts: The parts that deliveries up to that batch have left in the output.

    Raises:
        StateError: A manifest is damaged, or another driver opened the folder at the same moment.
        StorageError: The disk refuses.
    """

    def __init__(self, path: Place, kept: int = 0, versions: int = 0) -> None:
        self.path = path
        self._kept = max(kept, versions)
        self._versions = versions
        try:
            self._folder = made(path)
            epochs = sorted(_numbers(self._folder.names(), EPOCH))
            self.epoch = epochs[-1] + 1 if epochs else 1
            self._publish(f"{self.epoch:08d}.epoch", b"")
            self._folder.remove_all([f"{epoch:08d}.epoch" for epoch in epochs])
            self._names = self._folder.names()  # whoever commits from now on sees this opening behind it
        except OSError as error:
            raise self._refused(error) from error
        self._check_ours()
        batches = _numbers(self._names, MANIFEST)
        self.last = self._read(max(batches)) if batches else None
        newest = max(batches, default=0)
        self._before = {batch: self._read(batch) for batch in batches if newest - self._kept <= batch < newest}
        self.done = max(_numbers(self._names, _DONE), default=None)
        self.parts = WrittenParts()
        if self.done is not None:
            with _whole(self.path / (name := f"{self.done:08d}.done")):
                self.parts = WrittenParts.from_plain(checked(self._folder.read(name)))
        self._check_done()
        self._remove_garbage()

    def close(self) -> None:
        """Let the folder go."""
        self._folder.__exit__()

    def commit(self, manifest: Manifest) -> None:
        """Commit a batch; when it returns, the batch survives a loss of power.

        Raises:
            StateError: Another driver owns the folder by now.
            StorageError: The disk refuses; nothing is committed. In a store the batch may be: the next start sees it.
        """
        try:
            self._names = self._folder.names()
            self._check_ours()
            self._folder.sync()  # of the files that it lists
            self._publish(f"{manifest.batch_id:08d}.manifest", with_checksum(manifest.plain()))
            self._names = self._folder.names()
            self._check_ours()  # else whoever came since may have committed the batch, and removed what it committed
        except OSError as error:
            raise self._refused(error) from error
        if self.last is not None:
            self._before[self.last.batch_id] = self.last
        self.last = manifest

    def finish(self, batch_id: int, parts: Iterable[str]) -> None:
        """Say that the deltas of a batch were delivered; what only earlier ones needed goes.

        Args:
            batch_id: The batch.
            parts: The views of which it left a part in the output.

        Raises:
            StorageError: The disk refuses.
        """
        self.parts.add(batch_id, parts)
        try:
            self._publish(f"{batch_id:08d}.done", with_checksum(self.parts.plain()))
            self.done = batch_id
            self._remove_garbage()
        except OSError as error:
            raise self._refused(error) from error

    def _check_done(self) -> None:
        """Raise StateError if one of the two files is missing that say what was committed and what was delivered."""
        last = -1 if self.last is None else self.last.batch_id
        done = -1 if self.done is None else self.done
        missing = ""
        if done > last:
            missing = f"{done:08d}.manifest, which says what the cells hold, is missing"
        elif last > done + 1:
            missing = f"{last - 1:08d}.done, or the one behind it, which says what was delivered, is missing"
        if missing:
            msg = f"{self.path}: {missing}; restore it from a backup, or start over with an empty checkpoint and output"
            raise StateError(msg)

    def _remove_garbage(self) -> None:
        """Remove what the newest manifest does not need: the state before it, attempts that did not count.

        In a store the attempts of later batches stay, as a manifest that is under way may list them, and plans do: a
        request of before may come when one of before is that of now.
        """
        needed = set[str]()
        if self.last is not None:
            needed.update(self.last.files, [f"{self.last.plan}.plan", f"{self.last.plan}.views"])
        oldest = -1 if self.last is None else self.last.batch_id - self._kept
        self._before = {batch: one for batch, one in self._before.items() if batch >= oldest}
        for one in self._before.values():
            needed.update(*one.deltas.values(), [f"{one.plan}.views"])
            if self.last is not None and one.batch_id >= self.last.batch_id - self._versions:
                needed.update(one.state_files, [f"{one.plan}.plan"])
        newest = {
            MANIFEST: oldest,
            _DONE: -1 if self.done is None else self.done,
        }
        manifests, others = list[str](), list[str]()
        for name in self._names:
            old = any(int(found[1]) < batch for kind, batch in newest.items() if (found := kind.fullmatch(name)))
            if old or (name not in needed and self._is_lost(name)):
                (manifests if MANIFEST.fullmatch(name) else others).append(name)
        for some in (manifests, others):  # so a reader finds no batch whose deltas are gone, also if a driver dies here
            self._remove(some)

    def _is_lost(self, name: str) -> bool:
        """Whether a file that is not needed is one of ours, and no manifest can come that lists it."""
        if isinstance(self.path, Path):
            return any(kind.fullmatch(name) for kind in (_CELL, _PLAN, _DRAFT))
        found = _CELL.fullmatch(name)
        return found is not None and self.last is not None and int(found["batch"]) <= self.last.batch_id

    def _remove(self, names: Sequence[str]) -> None:
        """Remove files, or as much as there is of the folders of snapshots.

        An attempt that does not count may go on meanwhile and write more of its snapshot: that goes with a later batch.
        """
        if not isinstance(self.path, Path):
            self._folder.remove_all(names)
            return
        for name in names:
            if name.endswith(".tables"):
                shutil.rmtree(self.path / name, ignore_errors=True)
            else:
                with suppress(FileNotFoundError):  # the draft of a driver that publishes it just now
                    self._folder.remove(name)

    def _check_ours(self) -> None:
        """Refuse to go on where the files that were listed last say that a later driver has opened the folder."""
        newest = max(_numbers(self._names, EPOCH), default=0)
        if newest > self.epoch:
            raise self._lost(f"another driver has opened it since (epoch {newest}, ours is {self.epoch})")

    def _read(self, batch_id: int) -> Manifest:
        return read_manifest(self.path, batch_id)

    def _publish(self, name: str, data: bytes) -> None:
        try:
            self._folder.publish(name, data)
        except FileExistsError as error:
            raise self._lost(f"it brought {name} in between") from error

    def _lost(self, what: str) -> StateError:
        return StateError(f"the checkpoint {self.path} belongs to another driver by now: {what}; this one stops")

    def _refused(self, error: OSError) -> StorageError:
        return _refused(self.path, error)


def is_of_cells(path: Place) -> bool:
    """Whether a folder has a manifest, or a driver of cells has opened it; False too if there is no such folder.

    Raises:
        StorageError: The disk refuses.
    """
    try:
        with at(path) as folder:
            return are_of_cells(folder.names())
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _refused(path, error) from error


def batches_in(path: Place) -> list[int]:
    """The batches whose manifests are in a folder, ascending; it may be that of a driver that runs.

    Raises:
        StorageError: There is no such folder, or the disk refuses.
    """
    try:
        with at(path) as folder:
            return sorted(_numbers(folder.names(), MANIFEST))
    except OSError as error:
        raise _refused(path, error) from error


def read_manifest(path: Place, batch_id: int) -> Manifest:
    """The manifest of a batch.

    Raises:
        StateError: The file is missing or damaged.
        StorageError: The disk refuses.
    """
    name = f"{batch_id:08d}.manifest"
    with _whole(path / name), at(path) as folder:
        return Manifest.from_plain(checked(folder.read(name)))


@contextmanager
def _whole(file: Place) -> Iterator[None]:
    """Say of a file that is read what is wrong with it."""
    try:
        yield
    except FileNotFoundError as error:
        msg = f"{file} is missing, which says which files of the cells count: restore it from a backup, or start over"
        raise StateError(msg) from error
    except OSError as error:
        raise _refused(file, error) from error
    except (ValueError, KeyError, TypeError) as error:
        msg = (
            f"{file} is damaged: {error}. It is what says which files of the cells count; restore it "
            "from a backup, or start over with an empty checkpoint and an empty output"
        )
        raise StateError(msg) from error


def _refused(path: Place, error: OSError) -> StorageError:
    why = ""
    if error.errno in _NO_LINKS:
        why = (
            "; a manifest appears whole, and only where there is none of its name, by a hard link, which file systems "
            "over object stores do not have: give the URL of the store itself, as s3a://bucket/orders, or a folder of "
            "a local disk, of NFS or of another share that has them"
        )
    who = "disk" if isinstance(path, Path) else "store"
    return StorageError(f"the {who} refuses {path}: {error}{why}")


def _numbers(names: list[str], kind: re.Pattern[str]) -> list[int]:
    return [int(found[1]) for name in names if (found := kind.fullmatch(name))]
