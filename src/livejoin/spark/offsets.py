"""Which of Spark's sources belong to which table, when tables come and go between two starts.

Spark's checkpoint knows the sources of a query by their places: one line of offsets each in every file below
``offsets``, and a folder each below ``sources``. A query with another number of them is refused, and one with others
in their places reads from wrong offsets. So tables keep their places, new ones come behind them, and where one has gone
the checkpoint is written anew without its lines.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from livejoin.errors import StateError, StorageError

_NOTE = "livejoin-sources.json"
_NOTHING = "-"  # Spark's line for a source that has read nothing


def arranged(folder: Path, frames: Mapping[str, DataFrame], filled: Collection[str]) -> dict[str, DataFrame]:
    """The frames in the order in which Spark's checkpoint has their sources; it is changed to have all of them.

    Args:
        folder: Spark's checkpoint.
        frames: The streaming frame of each table.
        filled: The tables that have been read into.

    Raises:
        StateError: It has sources of which nothing says whose they are, or a frame has come to read from more, or a
            table that was read has lost its place.
        StorageError: The disk refuses.
    """
    try:
        _finish(folder)
        counts = {name: _sources(frame) for name, frame in frames.items()}
        before = _noted(folder)
        if before is None:
            order = list(frames)
            _note(folder, {name: counts[name] for name in order})
        else:
            order = [*(name for name in before if name in frames), *(name for name in frames if name not in before)]
            after = {name: counts[name] for name in order}
            for name in sorted(set(filled) & after.keys() - before.keys()):
                msg = (
                    f"table {name!r} has rows, and Spark's checkpoint in {folder} does not say any more how far it was "
                    "read, since a start without it came in between; restore the whole checkpoint from a backup, or "
                    "start over with an empty checkpoint and an empty output"
                )
                raise StateError(msg)
            for name in before.keys() & after.keys():
                if before[name] != after[name]:
                    msg = (
                        f"table {name!r} was read from {before[name]} streams and is now read from {after[name]}, and "
                        f"the checkpoint in {folder.parent} says of each how far it was read; give the frame of "
                        "before, or start over with an empty checkpoint and an empty output"
                    )
                    raise StateError(msg)
            if after != before or list(after) != list(before):
                _rewrite(folder, before, after)
    except OSError as error:
        msg = f"Spark's checkpoint in {folder} could not be changed: {error}; repair that and start again"
        raise StorageError(msg) from error
    return {name: frames[name] for name in order}


def _sources(frame: DataFrame) -> int:
    """From how many streams a frame is read."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    return sum(bool(leaves.apply(place).isStreaming()) for place in range(leaves.size()))


def _noted(folder: Path) -> dict[str, int] | None:
    """How many sources each table has, in their order; None if Spark has begun none, or nothing says so.

    A checkpoint of before these notes has the sources of the tables that it is started with.
    """
    if not _offsets(folder) or not (folder / _NOTE).exists():
        return None
    try:
        found = json.loads((folder / _NOTE).read_text())
        return {str(name): int(count) for name, count in found}
    except (ValueError, TypeError) as error:
        msg = f"{folder / _NOTE} is damaged: {error}; restore the whole checkpoint from a backup, or start over"
        raise StateError(msg) from error


def _note(folder: Path, counts: Mapping[str, int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{_NOTE}"
    draft.write_text(json.dumps(list(counts.items())))
    draft.replace(folder / _NOTE)


def _offsets(folder: Path) -> list[Path]:
    """The files of offsets, one a batch."""
    return [file for file in (folder / "offsets").glob("*") if file.name.isdecimal()]


def _rewrite(folder: Path, before: Mapping[str, int], after: Mapping[str, int]) -> None:
    """Write Spark's checkpoint for other tables; at any time the old one or the new one is there."""
    draft = _draft(folder)
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(folder, draft, ignore=shutil.ignore_patterns("sources", "*.crc"))
    places: dict[str, list[int]] = {}
    for name, count in before.items():
        begin = sum(map(len, places.values()))
        places[name] = list(range(begin, begin + count))
    kept: list[int | None] = [place for name, count in after.items() for place in places.get(name, [None] * count)]
    for file in _offsets(draft):
        file.write_text(_moved(file, kept, sum(before.values())))
    for place, was in enumerate(kept):
        source = folder / "sources" / str(was)
        if was is not None and source.exists():
            shutil.copytree(source, draft / "sources" / str(place))
    _note(draft, after)
    (draft / _DONE).touch()
    _finish(folder)


_DONE = ".livejoin-complete"


def _draft(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.moving")


def _finish(folder: Path) -> None:
    """Let a checkpoint that was written whole take the place of the one before."""
    draft = _draft(folder)
    if (draft / _DONE).exists():
        old = folder.with_name(f".{folder.name}.before")
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            folder.replace(old)
        draft.replace(folder)
        (folder / _DONE).unlink()
        shutil.rmtree(old, ignore_errors=True)
    elif (folder / _DONE).exists():
        (folder / _DONE).unlink()


def _moved(file: Path, kept: Sequence[int | None], count: int) -> str:
    """A file of offsets with the lines of other sources."""
    version, metadata, *lines = file.read_text().splitlines()
    if version != "v1" or len(lines) != count:
        msg = (
            f"{file} has {len(lines)} sources in the format {version}, where livejoin knows of {count} in v1: tables "
            "cannot come or go with this checkpoint; name the sources in Spark, or start over with an empty "
            "checkpoint and an empty output"
        )
        raise StateError(msg)
    return "\n".join([version, metadata, *(_NOTHING if place is None else lines[place] for place in kept)])
