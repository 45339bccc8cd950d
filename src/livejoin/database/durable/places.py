"""Where a database that stays has its snapshots and its log: in a folder, or below a URL of an object store."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from livejoin.database.durable.chain import ChainFolder
from livejoin.database.durable.history import Run
from livejoin.database.durable.lock import take_lock
from livejoin.database.durable.log import Segments, number_of
from livejoin.database.snapshots import snapshot, stored
from livejoin.database.snapshots.snapshot import Image
from livejoin.state.files import Folder
from livejoin.state.objects import Objects, open_objects, scheme_of

logger = logging.getLogger("livejoin")

SNAPSHOTS = "snapshots"
LOG = "log"


class Place(Protocol):
    """The files of a database. Every method raises OSError or StorageError where they cannot be read or written."""

    @property
    def name(self) -> Path | str:
        """The folder or the URL."""

    @property
    def segments(self) -> Path | str:
        """Where the segments are, for messages."""

    def segments_to_read(self) -> Segments:
        """The segments, open to be read."""

    def snapshot(self) -> Image | None:
        """The snapshot without the states of its blocks; None if there is none.

        Raises:
            StateError: The snapshot is damaged.
        """

    def histories(self) -> dict[str, Run]:
        """The histories of the snapshot."""

    def snapshot_bytes(self) -> int:
        """The bytes of the snapshot that is there."""

    def write_snapshot(self, image: Image, segment: int) -> None:
        """Make a snapshot of all before a segment the current one."""

    def remove_before(self, segment: int) -> None:
        """Remove segments before one: the snapshot has what they say."""

    @contextmanager
    def folding(self) -> Iterator[None]:
        """Keep others from making a snapshot, as far as that does harm."""
        yield


class FolderPlace:
    """A folder; as `Place`.

    Args:
        name: The folder.
    """

    def __init__(self, name: Path) -> None:
        self.name = name
        self.segments = name / LOG

    def segments_to_read(self) -> Segments:
        return Folder.at(self.segments)

    def snapshot(self) -> Image | None:
        path = self.name / SNAPSHOTS
        return snapshot.read(path, trusted=False) if snapshot.is_there(path) else None

    def histories(self) -> dict[str, Run]:
        return snapshot.read_histories(self.name / SNAPSHOTS)

    def snapshot_bytes(self) -> int:
        found = 0
        with suppress(OSError):
            for file in (self.name / SNAPSHOTS).rglob("*.bin"):
                found += file.stat().st_size
        return found

    def write_snapshot(self, image: Image, segment: int) -> None:  # the image says it too
        snapshot.write(self.name / SNAPSHOTS, image)

    def remove_before(self, segment: int) -> None:
        with Folder.at(self.segments) as folder:
            remove_before(folder, segment)

    @contextmanager
    def folding(self) -> Iterator[None]:
        lock = take_lock(self.name, "folding", "the folding")
        try:
            yield
        finally:
            lock.release()


class StorePlace:
    """A place in an object store; as `Place`.

    Args:
        objects: The objects below the URL.
    """

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.name = objects.name
        self.segments = f"{objects.name}/{LOG}"

    def segments_to_read(self) -> ChainFolder:
        return ChainFolder(self.objects)

    def snapshot(self) -> Image | None:
        return stored.read(self.objects)

    def histories(self) -> dict[str, Run]:
        return stored.histories(self.objects)

    def snapshot_bytes(self) -> int:
        return stored.size(self.objects)

    def write_snapshot(self, image: Image, segment: int) -> None:
        stored.write(self.objects, segment, image)

    def remove_before(self, segment: int) -> None:
        """As `Place`, but those behind the snapshot before the newest one, which somebody may be reading."""
        kept = stored.numbers(self.objects)[:-1]
        if kept:
            ChainFolder(self.objects).remove_before(min(segment, kept[-1]))

    @contextmanager
    def folding(self) -> Iterator[None]:
        """Nothing: two who make the same snapshot do no harm (`livejoin.database.snapshots.stored`)."""
        yield


def place_of(name: Path | str) -> Place:
    """The place that a folder or a URL is.

    Raises:
        StateError: The URL is none of a store.
        StorageError: The environment does not say what the store needs.
        ImportError: obstore is not installed.
    """
    if isinstance(name, str) and scheme_of(name) is not None:
        return StorePlace(open_objects(name))
    return FolderPlace(Path(name))


def remove_before(folder: Folder, number: int) -> None:
    """Remove the segments of a log before one: a snapshot has what they say.

    Raises:
        OSError: The system refuses.
    """
    for name in folder.names():
        found = number_of(name)
        if found is not None and found < number:
            folder.remove(name)
