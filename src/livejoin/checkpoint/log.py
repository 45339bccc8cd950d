"""The log of a checkpoint: one file for each batch, and one that says that the batch is done.

``00000042.batch`` is written as soon as the content of batch 42 is fixed, ``00000042.done`` when its deltas are
delivered. Both files appear complete under their names, by a call that fails if the file exists. So if two processes
believe to own the checkpoint, one of them writes the batch, and the other one stops before it delivers anything.

Laws: batches are numbered without gaps; all but the last one are done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from livejoin.checkpoint.batch import LoggedBatch, decoded, pieces_of
from livejoin.checkpoint.checked_json import checked, with_checksum
from livejoin.checkpoint.names import EPOCH
from livejoin.errors import StateError, StorageError
from livejoin.state.store_folder import Place, at, made

_BATCH = re.compile(r"(\d{8,})\.batch")
_DONE = re.compile(r"(\d{8,})\.done")
_DRAFT = re.compile(r"\.[0-9a-f]{32}\.draft")


class Log:
    """The log in a folder or a store, opened to be written by one process, or to be read only; mutable.

    Args:
        path: The folder; made if it is missing and this process writes.
        is_owner: Whether this process writes.

    Attributes:
        epoch: The number of this opening; each has a larger one than those before. 0 if the log is only read.

    Raises:
        StateError: Another process opened the log at the same moment.
        StorageError: The disk refuses.
    """

    def __init__(self, path: Place, is_owner: bool) -> None:
        self.path = path
        self.epoch = 0
        with self._asked("opened"):
            if not is_owner:
                self._folder = at(path)
                return
            self._folder = made(path)
            names = self._folder.names()
            epochs = sorted(_numbers(names, EPOCH))
            self.epoch = epochs[-1] + 1 if epochs else 1
            self._publish(_epoch(self.epoch), b"")
            self._folder.remove_all([*map(_epoch, epochs), *(name for name in names if _DRAFT.fullmatch(name))])

    def close(self) -> None:
        """Close the folder."""
        self._folder.__exit__()

    def batches(self) -> list[int]:
        """The numbers of the stored batches, ascending."""
        return self._listed(_BATCH)

    def done(self) -> list[int]:
        """The numbers of the batches that are done, ascending."""
        return self._listed(_DONE)

    def append(self, batch: LoggedBatch) -> int:
        """Write a batch; when this returns, the batch survives a loss of power.

        Returns:
            The bytes written.

        Raises:
            StateError: Another process owns the checkpoint now.
            StorageError: The disk refuses; nothing was written.
        """
        pieces = pieces_of(batch)
        with self._asked("written"):
            self._check_ours()
            self._publish(_batch(batch.batch_id), *pieces)
            self._check_ours()  # else whoever came since may have taken the batch, and removed what it took
        return sum(map(len, pieces))

    def read(self, batch_id: int) -> LoggedBatch:
        """Read a batch.

        Raises:
            StateError: The file is damaged.
            StorageError: The disk refuses.
        """
        with self._whole(_batch(batch_id)):
            batch = decoded(self._folder.read(_batch(batch_id)))
            if batch.batch_id != batch_id:
                msg = f"it is batch {batch.batch_id}"
                raise ValueError(msg)
        return batch

    def withdraw(self, batch_id: int) -> None:
        """Remove a batch that cannot be applied and is not done.

        Raises:
            StorageError: The disk refuses.
        """
        with self._asked("written"):
            self._folder.remove(_batch(batch_id))
            self._folder.sync()

    def finish(self, batch_id: int, note: Mapping[str, Any]) -> None:
        """Note that a batch is done, with JSON values that `note` gives back.

        Raises:
            StateError: Another process has noted it already.
            StorageError: The disk refuses.
        """
        data = with_checksum(note)
        with self._asked("written"):
            self._publish(_done(batch_id), data)

    def note(self, batch_id: int) -> Mapping[str, Any]:
        """The JSON values that were stored when a batch was done.

        Raises:
            StateError: The file is damaged.
            StorageError: The disk refuses.
        """
        with self._whole(_done(batch_id)):
            found = checked(self._folder.read(_done(batch_id)))
            if not isinstance(found, dict):
                msg = f"it holds {found!r:.80}"
                raise TypeError(msg)
        return found

    def size_after(self, batch_id: int) -> int:
        """The bytes of all batches after a batch."""
        with self._asked("read"):
            sizes = self._folder.sizes()
            return sum(sizes[_batch(number)] for number in _numbers(sizes, _BATCH) if number > batch_id)

    def forget(self, batch_id: int) -> None:
        """Remove the batches up to and including a batch; a restart begins after it.

        Raises:
            StorageError: The disk refuses.
        """
        with self._asked("written"):
            names = self._folder.names()
            self._folder.remove_all([_batch(one) for one in sorted(_numbers(names, _BATCH)) if one <= batch_id])
            self._folder.remove_all([_done(one) for one in sorted(_numbers(names, _DONE)) if one <= batch_id])

    def _listed(self, kind: re.Pattern[str]) -> list[int]:
        with self._asked("read"):
            return sorted(_numbers(self._folder.names(), kind))

    def _publish(self, name: str, *pieces: bytes | memoryview) -> None:
        """Let a complete file appear under its name, if there is none of that name."""
        try:
            self._folder.publish(name, *pieces)
        except FileExistsError as error:
            raise self._lost(f"another query has written {name}") from error

    def _check_ours(self) -> None:
        """Refuse to go on where a later opening has begun."""
        newest = max(_numbers(self._folder.names(), EPOCH), default=0)
        if newest > self.epoch:
            raise self._lost(f"another query has opened it since (epoch {newest}, ours is {self.epoch})")

    def _lost(self, what: str) -> StateError:
        msg = (
            f"the checkpoint in {self.path.parent} is no longer that of this query: {what}. One query a checkpoint; "
            "this one stops, and has delivered nothing of its batch"
        )
        return StateError(msg)

    @contextmanager
    def _asked(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            msg = f"the log of the checkpoint in {self.path} could not be {what}: {error}; repair that and start again"
            raise StorageError(msg) from error

    @contextmanager
    def _whole(self, name: str) -> Iterator[None]:
        """Read a file that must be as it was written."""
        try:
            with self._asked("read"):
                yield
        except (ValueError, KeyError, TypeError) as error:
            msg = f"{self.path / name} is damaged: {error}"
            raise StateError(msg) from error


def is_epoch(name: str) -> bool:
    """Whether a name is that of an opening, by which an opening of before is refused."""
    return EPOCH.fullmatch(name) is not None


def _batch(batch_id: int) -> str:
    return f"{batch_id:08d}.batch"


def _done(batch_id: int) -> str:
    return f"{batch_id:08d}.done"


def _epoch(epoch: int) -> str:
    return f"{epoch:08d}.epoch"


def _numbers(names: Iterable[str], kind: re.Pattern[str]) -> Iterator[int]:
    return (int(found[1]) for name in names if (found := kind.fullmatch(name)))
