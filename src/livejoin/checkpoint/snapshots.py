"""The snapshots of a checkpoint: the tables after some batch, written while the stream goes on.

Two snapshots are kept, and the log since the older one, in case the newer one is damaged. Where readers of earlier
states are expected (`livejoin.checkpoint.states`), some before these are kept, too.
"""

from __future__ import annotations

import logging
import re
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from livejoin.database.snapshots import snapshot
from livejoin.errors import LivejoinError, StorageError

logger = logging.getLogger("livejoin")

_NAME = re.compile(r"\d{8,}")
_KEPT = 2
_QUIET = 60.0  # seconds in which the same warning is not said again


class Snapshots:
    """The snapshots in a folder; mutable.

    Args:
        path: The folder.
        behind: For how many batches before a new snapshot the states can still be read.
    """

    def __init__(self, path: Path, behind: int = 0) -> None:
        self.path = path
        self._behind = behind
        self._writer: threading.Thread | None = None
        self._told: tuple[str, float] | None = None  # the last warning, and when

    def numbers(self) -> list[int]:
        """The batches after which there is a snapshot, whole or damaged, ascending.

        Raises:
            StorageError: The disk refuses to say.
        """
        try:
            names = [path.name for path in self.path.iterdir()] if self.path.is_dir() else []
        except OSError as error:
            msg = f"the snapshots in {self.path} could not be read: {error}; repair that and start again"
            raise StorageError(msg) from error
        return sorted(int(name) for name in names if _NAME.fullmatch(name) and snapshot.is_there(self.path / name))

    def of(self, batch_id: int) -> Path:
        """The folder of the snapshot after a batch."""
        return self.path / f"{batch_id:08d}"

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
                snapshot.write(self.of(batch_id), image)
                kept = to_keep(self.numbers(), self._behind)
                self._remove_others(kept)
                if kept[0] <= kept[-1] - self._behind:  # else the log begins with the first batch
                    then(kept[0])
            except (LivejoinError, OSError) as error:
                self._warn(str(error), self.of(batch_id))

        self.wait()
        self._writer = threading.Thread(target=run, name="livejoin snapshot")  # a process that ends waits for it
        self._writer.start()

    def _warn(self, why: str, place: Path) -> None:
        """Warn that there is no snapshot; of the same reason, wherever it was, at most once in a while."""
        now, reason = time.monotonic(), why.replace(str(place), "")
        if self._told is None or self._told[0] != reason or now - self._told[1] >= _QUIET:
            self._told = (reason, now)
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
        self._remove_others(self.numbers())

    def _remove_others(self, kept: list[int]) -> None:
        names = {self.of(number).name for number in kept}
        for path in self.path.iterdir() if self.path.is_dir() else ():
            if _NAME.fullmatch(path.name) and path.name not in names:
                shutil.rmtree(path, ignore_errors=True)


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
