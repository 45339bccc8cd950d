"""Deltas as Parquet files: a folder for each view, and a file for each batch, or several that cells have written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from struct import Struct
from typing import BinaryIO
from urllib.parse import quote

from livejoin.checkpoint import parquet
from livejoin.checkpoint.batch_delta import BatchDelta, InPieces, ParquetPart
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.errors import StateError, StorageError
from livejoin.spark.paths import made
from livejoin.spark.sinks.output_files import end_of, names_in, put_whole, remove
from livejoin.spark.sinks.part_names import PARTS, missing_parts, part_names, parts_in
from livejoin.spark.sinks.ranges import HIDDEN, NOTES, range_of, ranges_in
from livejoin.spark.sinks.retention import NOTE as REMOVED
from livejoin.spark.sinks.retention import remove_before, removed_up_to
from livejoin.spark.sinks.sink import SinkView
from livejoin.state.store_folder import Place

_SHOWN = 5  # names in a message
_END, _MARK = Struct("<I4s"), b"PAR1"


@dataclass(frozen=True)
class ParquetSink:
    """A folder for each view, with one Parquet file for each batch that changes the view, or several.

    The name of a file is a function of the batch, and the file appears complete under its name. A batch that runs again
    replaces its files. So a reader sees each row of a delta exactly once, at any time, and a delta in one file at once.
    If cells have written large parts of a delta, it has several files; they appear one after the other, and their names
    say how many they are. A batch that does not change a view leaves no file.

    Args:
        folder: The parent folder, or a place in an object store. ``<folder>/<view>/part-00000007.parquet`` is the delta
            of batch 7, or ``part-00000007-0001-of-0004.parquet`` and so on.
        keep: For how many batches before the newest one the files stay; None for all. The newest file of a view stays
            in any case.
    """

    folder: Place
    keep: int | None = None

    def open(self, views: Mapping[str, SinkView], last_batch: int | None, written: WrittenParts, run: str) -> None:
        """Make the folders, and remove unfinished files of a process that died.

        Raises:
            StateError: A folder has files that the checkpoint does not know, or lacks some that it knows, or a file is
                cut.
            StorageError: A file cannot be read, or a folder cannot be made.

        Cost: a look at the end of each file that is kept.
        """
        # The batch after the last one may have been written by a process that died before it could save the engine.
        newest = 0 if last_batch is None else last_batch + 1
        for view in views:
            self._begin(view)
            gone = self._removed(view, newest)
            there = {batch: names for batch, names in parts_in(self.of(view)).items() if batch > gone}
            ranges = [one for one in ranges_in(self.of(view)) if one.last > gone]
            within = {batch: one for one in ranges for batch in one.groups if batch > gone}
            there |= {batch: [one.file(self.of(view)).name] for batch, one in within.items()}
            known = set(written.batches(view, gone))
            foreign = sorted(
                batch for batch in there.keys() - known if batch > newest or written.since <= batch < newest
            )
            if foreign:
                seen = "has not seen a batch yet" if last_batch is None else f"has seen the batches up to {last_batch}"
                left = f" and says that batch {foreign[0]} left none" if foreign[0] < newest else ""
                msg = (
                    f"{self.of(view)} holds {there[foreign[0]][0]}, and the checkpoint {seen}{left}: the files are of "
                    "another run. Move them away, or give another path, or the checkpoint that belongs to them"
                )
                raise StateError(msg)
            names = set(names_in(self.of(view), "")) if ranges else set[str]()
            missing = [one.name for one in ranges if not names & {one.name, one.hidden}]
            for batch in sorted(known - within.keys()):
                missing += missing_parts(batch, there.get(batch, ()))
            if missing:
                more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
                msg = (
                    f"{self.of(view)} lacks {', '.join(missing[:_SHOWN])}{more}, and the checkpoint says that it wrote "
                    f"them: what is there does not add up to the view {view!r}. Put them back, or start over with "
                    "an empty checkpoint and an empty output"
                )
                raise StateError(msg)
            for name in dict.fromkeys(name for batch in sorted(known) for name in there[batch]):
                _check_whole(self.of(view) / name)

    def _begin(self, view: str) -> None:
        """Make the folder of a view, without drafts of a process that died."""
        folder = self.of(view)
        if isinstance(folder, Path):
            made(folder, f"the deltas of view {view!r}")
            for draft in folder.glob(".part-*.writing"):
                draft.unlink()

    def _removed(self, view: str, newest: int) -> int:
        """The newest batch whose files earlier runs of the checkpoint have removed."""
        gone = removed_up_to(self.of(view))
        if gone >= newest:
            msg = (
                f"{self.of(view)} had the files of batches up to {gone} at least, and the checkpoint has seen those up "
                f"to {newest - 1}: the output is of another run. Move the folder away, or give another path, or the "
                "checkpoint that belongs to it"
            )
            raise StateError(msg)
        return gone

    def deliver(self, deltas: Mapping[str, BatchDelta], batch_id: int) -> list[str]:
        """Write the file of each view, or remove it if the delta is empty; then files that are not kept any more go.

        Cost: linear in the delta, and O(files that are kept); memory for a piece of the delta, if it was spilled.

        Raises:
            StorageError: The disk refuses.
        """
        return [view for view, delta in deltas.items() if self._deliver(view, delta, batch_id)]

    def _deliver(self, view: str, delta: BatchDelta, batch_id: int) -> bool:
        """Write or remove the files of a batch; gives whether there are some."""
        pieces = (delta.pieces if isinstance(delta, InPieces) else (delta,)) if delta.num_rows else ()
        names = part_names(batch_id, len(pieces))
        try:
            for name, piece in zip(names, pieces, strict=True):
                put(piece, self.of(view) / name)
            for other in set(parts_in(self.of(view), batch_id).get(batch_id, ())) - set(names):
                remove(self.of(view) / other)
            if self.keep is not None:
                remove_before(self.of(view), batch_id - self.keep)
        except OSError as error:
            msg = f"the delta of view {view!r} could not be written to {self.of(view)}: {error}; repair that and go on"
            raise StorageError(msg) from error
        return bool(pieces)

    def of(self, view: str) -> Place:
        """The folder of a view."""
        return self.folder / quote(view, safe=" ")

    def files(self, view: str) -> list[Place]:
        """The files with the deltas of a view, in the order of their batches."""
        folder = self.of(view)
        own, ranges = parts_in(folder), ranges_in(folder) if folder.is_dir() else []
        there = set(names_in(folder, ""))
        found: dict[int, list[Place]] = {batch: [folder / name for name in names] for batch, names in own.items()}
        found = {batch: files for batch, files in found.items() if range_of(ranges, batch) is None}
        found |= {one.first: [file] for one in ranges if (file := one.file(folder)).name in there}
        return [file for _, files in sorted(found.items()) for file in files]

    def clear(self, view: str) -> None:
        """Remove all files of a view's deltas, and what was noted of them."""
        folder = self.of(view)
        for name in names_in(folder, ""):
            if any(fnmatchcase(name, pattern) for pattern in (PARTS, HIDDEN, REMOVED, *NOTES)):
                remove(folder / name)


def put(piece: BatchDelta | ParquetPart, target: Place) -> None:
    """Let a Parquet file appear complete, in place of an old one, so that it survives a loss of power.

    Raises:
        OSError: The system refuses; no draft is left.
    """

    def write(stream: BinaryIO) -> None:
        if isinstance(piece, ParquetPart):
            stream.write(piece.read())
        else:
            parquet.write(piece, stream)

    put_whole(target, write)


def _check_whole(file: Place) -> None:
    """Check that a file ends as Parquet files do: with metadata, their length, and a mark."""
    try:
        size, end = end_of(file, _END.size)
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
