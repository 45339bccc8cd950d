"""Deltas as Parquet: a folder a view, a file a batch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import BinaryIO
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from livejoin.checkpoint.batch_delta import BatchDelta
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.errors import StateError, StorageError
from livejoin.spark.sinks.sink import ROWS, SinkView

_SHOWN = 5  # names in a message
_END, _MARK = Struct("<I4s"), b"PAR1"


@dataclass(frozen=True)
class ParquetSink:
    """A folder a view, with at most one Parquet file a batch.

    The file's name is a function of the batch, and the file appears at once under that name when it is complete. A
    batch that runs again replaces its file. So a reader sees each delta exactly once, at any time. A batch that does
    not change a view leaves no file.

    Args:
        folder: Its parent folder; ``<folder>/<view>/part-00000007.parquet`` is the delta of batch 7.
    """

    folder: Path

    def open(self, views: Mapping[str, SinkView], last_batch: int | None, written: WrittenParts, run: str) -> None:
        """Make the folders, and take away files that a process which died did not complete.

        Raises:
            StateError: They hold files that the checkpoint does not know, or lack some that it knows, or one is cut.
            StorageError: One cannot be read.

        Cost: a look at the end of each file.
        """
        # The batch after the last one may have been written by a process that died before it could save the engine.
        newest = 0 if last_batch is None else last_batch + 1
        for view in views:
            self.of(view).mkdir(parents=True, exist_ok=True)
            for draft in self.of(view).glob(".part-*.writing"):
                draft.unlink()
            there = {int(file.stem.removeprefix("part-")) for file in self.files(view)}
            known = set(written.batches(view))
            foreign = sorted(batch for batch in there - known if batch > newest or written.since <= batch < newest)
            if foreign:
                seen = "has not seen a batch yet" if last_batch is None else f"has seen the batches up to {last_batch}"
                left = f" and says that batch {foreign[0]} left none" if foreign[0] < newest else ""
                msg = (
                    f"{self.of(view)} holds {part_name(foreign[0])}, and the checkpoint {seen}{left}: the files are of "
                    "another run. Move them away, or give another path, or the checkpoint that belongs to them"
                )
                raise StateError(msg)
            missing = [part_name(batch) for batch in sorted(known - there)]
            if missing:
                more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
                msg = (
                    f"{self.of(view)} lacks {', '.join(missing[:_SHOWN])}{more}, and the checkpoint says that it wrote "
                    f"them: what is there does not add up to the view {view!r}. Put them back, or start over with "
                    "an empty checkpoint and an empty output"
                )
                raise StateError(msg)
            for batch in sorted(known):
                _check_whole(self.of(view) / part_name(batch))

    def deliver(self, deltas: Mapping[str, BatchDelta], batch_id: int) -> list[str]:
        """Write the file of each view, or take it away where the delta is empty.

        Cost: linear in the delta; memory for a piece of it, if it was spilled.

        Raises:
            StorageError: The disk refuses.
        """
        return [view for view, delta in deltas.items() if self._deliver(view, delta, batch_id)]

    def _deliver(self, view: str, delta: BatchDelta, batch_id: int) -> bool:
        """Write or take away one file; whether it is there."""
        target = self.of(view) / part_name(batch_id)
        try:
            if delta.num_rows == 0:
                target.unlink(missing_ok=True)
                return False
            put(delta, target)
        except OSError as error:
            msg = f"the delta of view {view!r} could not be written to {target}: {error}; repair that and go on"
            raise StorageError(msg) from error
        return True

    def of(self, view: str) -> Path:
        """The folder of a view."""
        return self.folder / quote(view, safe=" ")

    def files(self, view: str) -> list[Path]:
        """The files of a view in the order of their batches."""
        return sorted(self.of(view).glob("part-*.parquet"))


def put(delta: BatchDelta, target: Path) -> None:
    """Write a Parquet file that appears complete, over one of its name, and survives a loss of power.

    Raises:
        OSError: The system refuses; no draft is left.
    """
    draft = target.with_name(f".{target.name}.writing")
    try:
        with draft.open("wb") as stream:
            _write(delta, stream)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(target)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def _write(delta: BatchDelta, stream: BinaryIO) -> None:
    """Write a delta as Parquet, a spilled one piece by piece; pages have checksums, for readers that look at them."""
    if isinstance(delta, pa.Table):
        pq.write_table(delta, stream, write_page_checksum=True)
        return
    with pq.ParquetWriter(stream, delta.schema, write_page_checksum=True) as writer:
        for batch in delta.to_batches(ROWS):
            writer.write_batch(batch)


def _check_whole(file: Path) -> None:
    """Check that a file ends as Parquet does: with its description, the length of that, and a mark."""
    try:
        with file.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(size - _END.size, 0))
            end = stream.read()
    except OSError as error:
        msg = f"{file} could not be read: {error}; repair that and start again"
        raise StorageError(msg) from error
    length, mark = _END.unpack(end) if len(end) == _END.size else (0, b"")
    if mark != _MARK or length + _END.size + len(_MARK) > size:
        msg = (
            f"{file} is damaged: its {size:,} bytes do not end as a Parquet file does, so that the output does not add "
            "up. Put it back, or start over with an empty checkpoint and an empty output"
        )
        raise StateError(msg)


def part_name(batch_id: int) -> str:
    """The name of a batch's file."""
    return f"part-{batch_id:08d}.parquet"


def _flush_folder(folder: Path) -> None:
    """Make a rename survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
