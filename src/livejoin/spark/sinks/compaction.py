"""Many small files of deltas become few: one file for the batches of a range, with the row groups of each.

What was written stays readable at every moment, and a process may be killed at any:

1. the file of the range is written, under a name that readers pass over;
2. the note of the ranges names it: from now on it counts, and the files of its batches do not;
3. when they have been of no account for the grace, they go, and the file of the range gets its name without ``_``.

The newest batch keeps its own file: it may come again, and a pipeline that runs writes no other one.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from livejoin.errors import PipelineError, SchemaError, StateError, StorageError
from livejoin.spark.paths import is_remote, local_path
from livejoin.spark.sinks.output_files import put_whole
from livejoin.spark.sinks.part_names import missing_parts, parts_in
from livejoin.spark.sinks.ranges import LOCK, RANGES, Range, note_ranges, ranges_in
from livejoin.spark.sinks.retention import removed_up_to
from livejoin.state.store_folder import Place, StorePath

MOST_BYTES = 128 << 20  # of the files that become one
FEWEST = 2  # batches that are worth a range
GRACE = 3600.0  # seconds


@dataclass(frozen=True)
class Compacted:
    """What a compaction of a view's folder did.

    Args:
        ranges: How many files of ranges were written.
        batches: How many batches they have.
        removed: How many files of batches were removed, whose grace was over.
        waiting: How many files of batches count for nothing and stay until their grace is over.
    """

    ranges: int
    batches: int
    removed: int
    waiting: int


def compact(folder: str | Place, grace: float = GRACE) -> Compacted:
    """Make few files of the many that a pipeline with the sink ``parquet`` has written; it may run meanwhile.

    Args:
        folder: The view's folder, ``<path>/<view>``.
        grace: How many seconds files stay that count for nothing any more, for readers that have listed them.

    Raises:
        PipelineError: Another compaction of the folder runs, or it is not one of a file system.
        SchemaError: ``grace`` is no number of seconds.
        StateError: A file is missing or damaged, or the pipeline removes files (``keep_output``) faster.
        StorageError: The disk refuses; nothing is lost, and the next call goes on.

    Cost: linear in the files that become ranges, in memory for one row group.
    """
    if isinstance(grace, bool) or not isinstance(grace, (int, float)) or not grace >= 0:
        msg = f"grace= is {grace!r:.80}; allowed is a number of seconds, 0 or more"
        raise SchemaError(msg)
    if isinstance(folder, StorePath) or is_remote(folder):
        msg = (
            f"{str(folder)!r} is in a store, and compaction is for folders of a file system: it locks the folder and "
            "renames files, as no store does. RunOptions(keep_output=...) says how many batches keep their files there"
        )
        raise PipelineError(msg, key="folder")
    folder = local_path(folder if isinstance(folder, Path) else str(folder), "folder").absolute()
    if not parts_in(folder):
        msg = f"{folder} has no file of a view's deltas; give the folder <path>/<view> of a pipeline that has run"
        raise StorageError(msg)
    try:
        with _alone(folder):
            gone = removed_up_to(folder)
            ranges = _living(folder, gone)
            new = [_written(folder, batches) for batches in _runs(folder, ranges, gone)]
            if new:
                ranges = sorted([*ranges, *new], key=lambda one: one.first)
                note_ranges(folder, ranges)
            removed, waiting = _without_old(folder, ranges, grace)
            return Compacted(len(new), sum(len(one.groups) for one in new), removed, waiting)
    except pa.ArrowException as error:
        msg = f"a file of {folder} cannot be read: {error}; put it back, and compact again"
        raise StateError(msg) from error
    except FileNotFoundError as error:
        msg = f"{error.filename} went while {folder} was compacted, as keep_output has it; compact again"
        raise StateError(msg) from error
    except OSError as error:
        msg = f"{folder} could not be compacted: {error}; nothing is lost. Repair that, and compact again"
        raise StorageError(msg) from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other compactions of a folder out."""
    with (folder / LOCK).open("ab") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            msg = f"another compaction of {folder} runs; let it end"
            raise PipelineError(msg) from None
        yield


def _living(folder: Path, gone: int) -> list[Range]:
    """The ranges that still have batches; files of others, as of a process that died, are removed."""
    noted = ranges_in(folder)
    living = [one for one in noted if one.last > gone]
    if len(living) < len(noted):
        note_ranges(folder, living)
    known = {name for one in living for name in (one.name, one.hidden)}
    for file in folder.iterdir():
        is_draft = file.name.startswith("._part-") and file.name.endswith(".writing")
        if is_draft or (RANGES.fullmatch(file.name) and file.name not in known):
            file.unlink()
    return living


def _runs(folder: Path, ranges: Sequence[Range], gone: int) -> Iterator[dict[int, list[str]]]:
    """The files of batches that become one, for each new range; all of a range have the same columns."""
    there = parts_in(folder)
    newest = max(there, default=0)
    covered = {batch for one in ranges for batch in range(one.first, one.last + 1)}
    run: dict[int, list[str]] = {}
    size, columns = 0, None
    for batch in sorted(there):
        names = there[batch]
        if batch <= gone or batch >= newest or batch in covered:
            continue
        if missing := missing_parts(batch, names):
            msg = f"{folder} lacks {missing[0]}: put it back, and compact again"
            raise StateError(msg)
        bytes_of = sum((folder / name).stat().st_size for name in names)
        found = pq.read_schema(folder / names[0])
        begins = any(max(run) < one.first < batch for one in ranges) if run else True
        if run and (begins or size + bytes_of > MOST_BYTES or not found.equals(columns)):
            if len(run) >= FEWEST:
                yield run
            run, size = {}, 0
        run[batch], columns = names, found
        size += bytes_of
    if len(run) >= FEWEST:
        yield run


def _written(folder: Path, batches: dict[int, list[str]]) -> Range:
    """The range of some batches, whose file is written."""
    groups: dict[int, tuple[int, tuple[int, ...]]] = {}

    def write(stream: BinaryIO) -> None:
        writer: pq.ParquetWriter | None = None
        count = 0
        for batch, names in batches.items():
            begin, counts = count, list[int]()
            for name in names:
                with pq.ParquetFile(folder / name, page_checksum_verification=True) as file:
                    if writer is None:
                        writer = pq.ParquetWriter(stream, file.schema_arrow, write_page_checksum=True)
                    for group in range(file.num_row_groups):
                        rows = file.read_row_group(group)
                        writer.write_table(rows, max(rows.num_rows, 1))
                        count += 1
                    counts.append(file.num_row_groups)
            groups[batch] = (begin, tuple(counts))
        assert writer is not None
        writer.close()

    made = Range(min(batches), max(batches), groups)
    put_whole(folder / made.hidden, write)
    return made


def _without_old(folder: Path, ranges: Sequence[Range], grace: float) -> tuple[int, int]:
    """Remove the files of batches that ranges have, if the grace is over; how many went, and how many stay."""
    removed = waiting = 0
    there = parts_in(folder)
    for one in ranges:
        names = [name for batch, names in there.items() if one.first <= batch <= one.last for name in names]
        hidden = folder / one.hidden
        if not hidden.exists():
            continue
        if time.time() - hidden.stat().st_mtime < grace:
            waiting += len(names)
            continue
        for name in names:
            (folder / name).unlink(missing_ok=True)
        hidden.replace(folder / one.name)
        removed += len(names)
    return removed, waiting
