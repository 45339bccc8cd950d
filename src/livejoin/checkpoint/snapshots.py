"""The snapshots of a checkpoint: the tables after some batch, written while the stream goes on.

Two snapshots are kept, and the log since the older one, in case the newer one is damaged. Where readers of earlier
states are expected (`livejoin.checkpoint.states`), some before these are kept, too.
"""

from __future__ import annotations

import logging
import re
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from livejoin.database.snapshots import snapshot, stored
from livejoin.errors import LivejoinError, StorageError
from livejoin.seldom import Seldom
from livejoin.state.store_folder import Place, StorePath

logger = logging.getLogger("livejoin")

_NAME = re.compile(r"\d{8,}")
_KEPT = 2


class _Kept(Protocol):
    """Snapshots by the numbers of their batches. Every method raises OSError where they cannot be read or written."""

    def numbers(self) -> list[int]:
        """The numbers, whether they are whole or damaged, ascending."""

    def of(self, batch_id: int) -> Place:
        """Where a snapshot is."""

    def image(self, batch_id: int) -> snapshot.Image:
        """A snapshot.

        Raises:
            StateError: The snapshot is damaged.
            StorageError: The snapshot cannot be read.
        """

    def head(self, batch_id: int) -> tuple[int, dict[str, Any]]:
        """The version and the JSON values of a snapshot, without its rows; raises as `image`."""

    def write(self, batch_id: int, image: snapshot.Image, behind: int) -> None:
        """Write a snapshot, and remove those that do not stay (`to_keep`)."""

    def remove_unfinished(self) -> None:
        """Remove what a process that died left."""


class _InFolder:
    """A folder for each; as `_Kept`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def numbers(self) -> list[int]:
        names = [path.name for path in self._path.iterdir()] if self._path.is_dir() else []
        return sorted(int(name) for name in names if _NAME.fullmatch(name) and snapshot.is_there(self._path / name))

    def of(self, batch_id: int) -> Path:
        return self._path / f"{batch_id:08d}"

    def image(self, batch_id: int) -> snapshot.Image:
        return snapshot.read(self.of(batch_id), trusted=False)

    def head(self, batch_id: int) -> tuple[int, dict[str, Any]]:
        return snapshot.head(self.of(batch_id))

    def write(self, batch_id: int, image: snapshot.Image, behind: int) -> None:
        snapshot.write(self.of(batch_id), image)
        self._remove_others(to_keep(self.numbers(), behind))

    def remove_unfinished(self) -> None:
        self._remove_others(self.numbers())

    def _remove_others(self, kept: list[int]) -> None:
        names = {self.of(number).name for number in kept}
        for path in self._path.iterdir() if self._path.is_dir() else ():
            if _NAME.fullmatch(path.name) and path.name not in names:
                shutil.rmtree(path, ignore_errors=True)


class _InStore:
    """As `livejoin.database.snapshots.stored` has them; as `_Kept`."""

    def __init__(self, path: StorePath) -> None:
        self._path = path
        self._objects = path.parent.files

    def numbers(self) -> list[int]:
        return stored.numbers(self._objects)

    def of(self, batch_id: int) -> StorePath:
        return self._path / stored.name_of(batch_id)

    def image(self, batch_id: int) -> snapshot.Image:
        return stored.image_of(self._objects, batch_id)

    def head(self, batch_id: int) -> tuple[int, dict[str, Any]]:
        return stored.head(self._objects, batch_id)

    def write(self, batch_id: int, image: snapshot.Image, behind: int) -> None:
        stored.write(self._objects, batch_id, image, lambda found: to_keep(found, behind))

    def remove_unfinished(self) -> None:
        """Nothing: they go when a newer one is there."""


class Snapshots:
    """The snapshots in a folder or a store; mutable.

    Args:
        path: The folder.
        behind: For how many batches before a new snapshot the states can still be read.
    """

    def __init__(self, path: Place, behind: int = 0) -> None:
        self.path = path
        self._kept: _Kept = _InFolder(path) if isinstance(path, Path) else _InStore(path)
        self._behind = behind
        self._writer: threading.Thread | None = None
        self._warnings = Seldom()

    def numbers(self) -> list[int]:
        """The batches after which there is a snapshot, whole or damaged, ascending.

        Raises:
            StorageError: The disk refuses to say.
        """
        try:
            return self._kept.numbers()
        except OSError as error:
            msg = f"the snapshots in {self.path} could not be read: {error}; repair that and start again"
            raise StorageError(msg) from error

    def of(self, batch_id: int) -> Place:
        """Where the snapshot after a batch is, for messages."""
        return self._kept.of(batch_id)

    def image(self, batch_id: int) -> snapshot.Image:
        """The snapshot after a batch.

        Raises:
            StateError: The snapshot is damaged.
            StorageError: The snapshot cannot be read.
        """
        return self._kept.image(batch_id)

    def head(self, batch_id: int) -> tuple[int, dict[str, Any]]:
        """The version and the JSON values of the snapshot after a batch, without its rows; raises as `image`."""
        return self._kept.head(batch_id)

    def write_now(self, batch_id: int, image: snapshot.Image) -> None:
        """Write a snapshot, and remove older ones.

        Raises:
            StorageError: The disk refuses.
        """
        self._kept.write(batch_id, image, self._behind)

    def write(self, batch_id: int, image: snapshot.Image, then: Callable[[int], object]) -> None:
        """Write a snapshot in the background. A failure is written to the process's log, and nothing is lost.

        Args:
            batch_id: The batch after which the image was taken.
            image: The image to write; nobody changes it.
            then: Called by another thread when the snapshot is complete and older ones are removed, with the oldest
                batch that has a snapshot, unless states before it have to be made from the first batch on.
        """

        def run() -> None:
            try:
                self.write_now(batch_id, image)
                kept = self.numbers()
                if kept[0] <= kept[-1] - self._behind:  # else the log begins with the first batch
                    then(kept[0])
            except (LivejoinError, OSError) as error:
                self._warn(str(error), self.of(batch_id))

        self.wait()
        self._writer = threading.Thread(target=run, name="livejoin snapshot")  # a process that ends waits for it
        self._writer.start()

    def _warn(self, why: str, place: Place) -> None:
        """Warn that there is no snapshot; of the same reason, wherever it was, at most once a minute."""
        if self._warnings.is_due(why.replace(str(place), "")):
            logger.warning("no snapshot of the checkpoint was written, and its log grows on: %s", why)

    @property
    def is_writing(self) -> bool:
        """Whether a snapshot is being written."""
        return self._writer is not None and self._writer.is_alive()

    def wait(self) -> None:
        """Wait until no snapshot is being written."""
        if self._writer is not None:
            self._writer.join()

    def remove_unfinished(self) -> None:
        """Remove unfinished snapshots of a process that died."""
        self._kept.remove_unfinished()


def to_keep(numbers: Sequence[int], behind: int) -> list[int]:
    """Which snapshots stay: the newest two, and earlier ones from which the states of some batches can be read.

    Of those in between, every one that is half as far from the one before goes. So at most five stay.

    Args:
        numbers: The batches that have a snapshot, ascending.
        behind: For how many batches before the newest snapshot there must be an earlier one to begin with.

    >>> to_keep([3, 4, 5, 6], 0)
    [5, 6]
    >>> to_keep([3, 4, 5, 6, 7, 8, 9, 10, 11], 4)
    [7, 9, 10, 11]
    """
    if not numbers:
        return []
    oldest = max((number for number in numbers if number <= numbers[-1] - behind), default=-1)
    kept = list[int]()
    for number in numbers:
        if number >= oldest and (not kept or number - kept[-1] >= max(behind / 2, 1)):
            kept.append(number)
    return sorted({*kept, *numbers[-_KEPT:]})
