"""Matching Spark's sources with tables when tables come and go between two starts.

Spark's checkpoint knows the sources of a query by their positions: each file below ``offsets`` has one line for each
source, and ``sources`` has one folder for each. A query with another number of sources is refused, and one with sources
in another order reads from wrong offsets. So tables keep their positions, and new ones come after them. When a table
goes, the checkpoint is rewritten without its lines.

A folder of Spark's checkpoint is replaced in one step. In an object store, which has no such step, the rewritten one
lies beside, and the newest object of ``spark-moves``, each of which is created once, says where (`spark_half`).
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import uuid
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from livejoin.checkpoint.batch import Ends
from livejoin.errors import StateError, StorageError
from livejoin.spark.streams.frames import streams
from livejoin.spark.streams.stream_part import NUMBERS, StreamPart
from livejoin.state.store_folder import Place, StoreFolder, StorePath

logger = logging.getLogger("livejoin")

_NOTE = "livejoin-sources.json"
_NOTHING = "-"  # Spark's line for a source that has read nothing


_MOVES = "spark-moves"
_HALF = re.compile(rf"spark(-\d+-[0-9a-f]{{8}})?|{_MOVES}")

Frame = DataFrame | StreamPart
Streams = dict[tuple[str, ...], int]
"""The tables of each stream, and how many of Spark's sources that has, in the order of these."""


def is_spark_half(name: str) -> bool:
    """Whether a name in a checkpoint in a store is of what Spark has there, or had, or of the objects that say where.

    >>> [is_spark_half(name) for name in ("spark", "spark-1-0a1b2c3d", "spark-moves", "spark.log")]
    [True, True, True, False]
    """
    return _HALF.fullmatch(name) is not None


def spark_half(checkpoint: Place) -> Place:
    """Where Spark's own checkpoint is.

    Raises:
        StorageError: The store refuses.
    """
    if isinstance(checkpoint, Path):
        return checkpoint / "spark"
    moves = StoreFolder((checkpoint / _MOVES).files)
    try:
        newest = max(moves.names(), default=None)
        return checkpoint / ("spark" if newest is None else moves.read(newest).decode())
    except (OSError, ValueError) as error:
        msg = f"{checkpoint / _MOVES} could not be read: {error}; repair that and start again"
        raise StorageError(msg) from error


def arranged(folder: Place, frames: Mapping[str, Frame], filled: Collection[str]) -> dict[str, Frame]:
    """Order the frames as Spark's checkpoint has their sources; the checkpoint is changed so that it has all of them.

    Args:
        folder: Spark's checkpoint; `spark_half` says where it is afterwards.
        frames: The streaming frame of each table.
        filled: The tables of which rows have been read.

    Raises:
        StateError: Sources in the checkpoint belong to unknown tables, a table comes in another stream or one with more
            sources, or a table that was read has lost its position.
        StorageError: The disk refuses.
    """
    try:
        _finish(folder)
        now = sources_of(frames)
        before = _noted(folder)
        if before is None:
            _note(folder, now)
        else:
            now = _in_place(folder, before, now, filled)
            if list(now.items()) != list(before.items()):
                _rewrite(folder, before, now)
    except OSError as error:
        msg = f"Spark's checkpoint in {folder} could not be changed: {error}; repair that and start again"
        raise StorageError(msg) from error
    return {name: frames[name] for names in now for name in names}


def unread_columns(folder: Place, frames: Mapping[str, Frame]) -> dict[str, list[str]]:
    """The columns of each table when its newest offset was made: values of newer columns may have been skipped.

    Args:
        folder: Spark's checkpoint.
        frames: The streaming frame of each table.

    Raises:
        StateError: The notes of the checkpoint are damaged.
    """
    parts = {name: frame for name, frame in frames.items() if isinstance(frame, StreamPart) and frame.numbers}
    before = _noted(folder) if parts else None
    if before is None:
        return {}
    newest = max(_offsets(folder), key=lambda file: int(file.name))
    _, _, *lines = newest.read_text().splitlines()
    found: dict[str, list[str]] = {}
    begin = 0
    for names, count in before.items():
        offset = json.loads(lines[begin]) if count == 1 and lines[begin] != _NOTHING else {}
        for name in names:
            if name in parts:
                last = offset.get(NUMBERS, {}).get(parts[name].column, 0)
                found[name] = [column for column, number in parts[name].numbers.items() if number <= last]
        begin += count
    return found


def sources_of(frames: Mapping[str, Frame]) -> Streams:
    """The streams of frames, and how many of Spark's sources each has, in their order."""
    return {names: _sources(frames[names[0]]) for names in streams(frames)}


def put_back(folder: StorePath, batch_id: int | None, ends: Ends | None) -> None:
    """Let Spark's checkpoint say of a batch how far its sources were read, as the log says it.

    Spark looks whether the object is there, and then writes it. So a query that slept may have written it last.

    Args:
        folder: Spark's checkpoint.
        batch_id: The batch; None if there is none.
        ends: How far the sources of each table are read with it; None where the log does not say it.

    Raises:
        StateError: The object has another form than Spark's.
        StorageError: The store refuses.
    """
    known = _noted(folder)
    if batch_id is None or ends is None or known is None:
        return
    file = folder / "offsets" / str(batch_id)
    try:
        number = str(batch_id) if str(batch_id) in (folder / "offsets").inside() else None
        newest = max(_offsets(folder), key=lambda one: int(one.name))
        text = (newest if number is None else file).read_text()
        version, metadata, *lines = text.splitlines()
        if version != "v1" or len(lines) != sum(known.values()):
            msg = f"{file} has {len(lines)} sources in the format {version}; restore the whole checkpoint from a backup"
            raise StateError(msg)
        right = list[str]()
        for names, count in known.items():
            there = next((ends[name] for name in names if len(ends.get(name, ())) == count), None)
            right += lines[len(right) : len(right) + count] if there is None else there
        if right == lines and number is not None:
            return
        logger.warning(
            "%s says that the sources are read up to %s, and the log up to %s, which is put there: another query has "
            "written it",
            *(file, " ".join(lines), " ".join(right)),
        )
        for name in (folder / "offsets").inside():  # with what was planned from there, and is in no batch
            planned = name.removeprefix(".").removesuffix(".crc")
            if planned.isdecimal() and int(planned) >= batch_id:
                (folder / "offsets" / name).remove()
        file.write_text("\n".join([version, metadata, *right]))
    except OSError as error:
        msg = f"{file} could not be read or written: {error}; repair that and start again"
        raise StorageError(msg) from error


def clear_unbegun(folder: Place) -> None:
    """Remove what a start left that died before its first batch: Spark refuses to begin beside its own drafts.

    Raises:
        StorageError: The disk refuses.
    """
    if folder.is_dir() and not _offsets(folder):
        try:
            if isinstance(folder, Path):
                shutil.rmtree(folder)
            else:
                folder.clear()
        except OSError as error:
            msg = f"Spark's checkpoint in {folder} could not be cleared: {error}; repair that and start again"
            raise StorageError(msg) from error


def check_begun(folder: Place) -> None:
    """Check that Spark's checkpoint exists if batches were taken; else Spark would begin anew.

    Older versions of livejoin had Spark's checkpoint beside the folder if the path has a blank, ``%`` or letters beyond
    ASCII; it is moved into the folder.

    Raises:
        StateError: The checkpoint is gone.
        StorageError: The disk refuses.
    """
    try:
        _finish(folder)
        if _offsets(folder):
            return
        if isinstance(folder, StorePath) or not _taken_from_beside(folder):
            msg = (
                f"{folder} has no offsets of Spark, and the engine beside it has seen batches: the two halves of the "
                "checkpoint do not belong together. Restore both from the same backup, or start over with an empty "
                "checkpoint and an empty output"
            )
            raise StateError(msg)
    except OSError as error:
        msg = f"Spark's checkpoint in {folder} could not be read or changed: {error}; repair that and start again"
        raise StorageError(msg) from error


def _taken_from_beside(folder: Path) -> bool:
    """Move the checkpoint of an older version into the folder; whether there was one."""
    beside = Path(folder.as_uri().removeprefix("file://"))
    if beside == folder or not _offsets(beside):
        return False
    draft = _draft(folder)
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(beside, draft)
    if (folder / _NOTE).exists():
        shutil.copyfile(folder / _NOTE, draft / _NOTE)
    (draft / _DONE).touch()
    _finish(folder)
    shutil.rmtree(beside)
    return True


def _in_place(folder: Place, before: Streams, now: Streams, filled: Collection[str]) -> Streams:
    """The new list of streams: old streams that still exist in their order, then the new ones."""
    there = {name: names for names in before for name in names}
    was = {names: {there[name] for name in names if name in there} for names in now}
    for names, found in was.items():
        shown = ", ".join(map(repr, names))
        lost = [name for name in names if name in filled and name not in there]
        if lost and not found:
            msg = (
                f"table {lost[0]!r} has rows, and Spark's checkpoint in {folder} does not say any more how far it was "
                "read, since a start without it came in between; restore the whole checkpoint from a backup, or start "
                "over with an empty checkpoint and an empty output"
            )
            raise StateError(msg)
        late = [name for name in names if name not in there]
        if late and found:
            read = ", ".join(repr(name) for name in names if name in there)
            msg = (
                f"table {late[0]!r} is new, and comes with the stream of {read}, which the checkpoint in "
                f"{folder.parent} has read already, without the rows that {late[0]!r} had before: give it another "
                "stream (another slot)"
            )
            raise StateError(msg)
        if len(found) > 1 or any(before[one] != now[names] for one in found):
            msg = (
                f"table {shown} comes from other streams than before ({sum(map(before.__getitem__, found))} were read, "
                f"now {now[names]}), and the checkpoint in {folder.parent} says of each how far it was read; give the "
                "frames of before, or start over with an empty checkpoint and an empty output"
            )
            raise StateError(msg)
    old = {one: names for names, found in was.items() for one in found}
    order = [*(old[one] for one in before if one in old), *(names for names, found in was.items() if not found)]
    if len(set(order)) != len(now) or sum(map(len, was.values())) != len(old):
        msg = (
            f"the tables of one stream come from several now, and the checkpoint in {folder.parent} says of each "
            "stream how far it was read; give the frames of before, or start over with an empty checkpoint and output"
        )
        raise StateError(msg)
    return {names: now[names] for names in order}


def _sources(frame: Frame) -> int:
    """How many of Spark's sources a stream has."""
    plain = frame.stream if isinstance(frame, StreamPart) else frame
    leaves = plain._jdf.queryExecution().analyzed().collectLeaves()
    return sum(bool(leaves.apply(place).isStreaming()) for place in range(leaves.size()))


def _noted(folder: Place) -> Streams | None:
    """The streams that a checkpoint knows; None if Spark has begun none, or there is no note of them.

    A checkpoint from before these notes has the sources of the tables that the query is started with.
    """
    if not _offsets(folder):
        return None
    try:
        text = (folder / _NOTE).read_text()
        return {tuple(map(str, names)): int(count) for names, count in json.loads(text)}
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        msg = f"{folder / _NOTE} is damaged: {error}; restore the whole checkpoint from a backup, or start over"
        raise StateError(msg) from error


def _note(folder: Place, found: Streams) -> None:
    text = json.dumps([[list(names), count] for names, count in found.items()])
    if isinstance(folder, StorePath):
        (folder / _NOTE).write_text(text)
        return
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{_NOTE}"
    draft.write_text(text)
    draft.replace(folder / _NOTE)


def _offsets(folder: Place) -> list[Place]:
    """The files of offsets, one for each batch."""
    if isinstance(folder, StorePath):
        below = folder / "offsets"
        return [below / key for key in below.inside() if key.isdecimal()]
    return [file for file in (folder / "offsets").glob("*") if file.name.isdecimal()]


def _rewrite(folder: Place, before: Streams, now: Streams) -> None:
    """Rewrite Spark's checkpoint for other streams; at any time either the old or the new one is complete."""
    kept = _kept_lines(before, now)
    count = sum(before.values())
    if isinstance(folder, StorePath):
        _rewrite_beside(folder, kept, count, now)
    else:
        _rewrite_folder(folder, kept, count, now)


def _kept_lines(before: Streams, now: Streams) -> list[int | None]:
    """For each source of now the one of before that it was; None for a new one."""
    places: dict[str, list[int]] = {}
    begin = 0
    for names, count in before.items():
        places |= {name: list(range(begin, begin + count)) for name in names}
        begin += count
    kept: list[int | None] = []
    for names, count in now.items():
        kept += next((places[name] for name in names if name in places), [None] * count)
    return kept


def _rewrite_beside(folder: StorePath, kept: Sequence[int | None], count: int, now: Streams) -> None:
    """Write a whole checkpoint under a new name, and say that it is the one, by an object that is created once."""
    checkpoint = folder.parent
    moves = StoreFolder((checkpoint / _MOVES).files)
    number = int(max(moves.names(), default="0")) + 1
    new = checkpoint / f"spark-{number}-{uuid.uuid4().hex[:8]}"
    places = {str(was): place for place, was in enumerate(kept) if was is not None}
    for key in folder.inside():
        if key.endswith(".crc"):  # of a text that changes
            continue
        top, _, rest = key.partition("/")
        source, _, below = rest.partition("/")
        if top == "offsets" and rest.isdecimal():
            (new / key).write_text(_moved(folder / key, kept, count))
        elif top != "sources":
            (new / key).write_bytes((folder / key).read_bytes())
        elif source in places:
            (new / f"sources/{places[source]}/{below}").write_bytes((folder / key).read_bytes())
    _note(new, now)
    moves.publish(f"{number:08d}", new.name.encode())
    folder.clear()


def _rewrite_folder(folder: Path, kept: Sequence[int | None], count: int, now: Streams) -> None:
    draft = _draft(folder)
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(folder, draft, ignore=shutil.ignore_patterns("sources", "*.crc"))
    for file in _offsets(draft):
        file.write_text(_moved(file, kept, count))
    for place, was in enumerate(kept):
        source = folder / "sources" / str(was)
        if was is not None and source.exists():
            shutil.copytree(source, draft / "sources" / str(place))
    _note(draft, now)
    (draft / _DONE).touch()
    _finish(folder)


_DONE = ".livejoin-complete"


def _draft(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.moving")


def _finish(folder: Place) -> None:
    """Put a completely written checkpoint in the place of the old one."""
    if isinstance(folder, StorePath):
        return
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


def _moved(file: Place, kept: Sequence[int | None], count: int) -> str:
    """A file of offsets with the lines in their new positions."""
    version, metadata, *lines = file.read_text().splitlines()
    if version != "v1" or len(lines) != count:
        msg = (
            f"{file} has {len(lines)} sources in the format {version}, where livejoin knows of {count} in v1: tables "
            "cannot come or go with this checkpoint; name the sources in Spark, or start over with an empty "
            "checkpoint and an empty output"
        )
        raise StateError(msg)
    return "\n".join([version, metadata, *(_NOTHING if place is None else lines[place] for place in kept)])
