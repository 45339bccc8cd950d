"""What a folder's snapshot and log hold, made again.

The tables are those of the snapshot, to which the records behind it are applied in order; views are only remembered,
and loaded from the tables at the end. Where a table keeps no rows, the views follow the log. Law: a database that is
opened has the version, the rows, the windows and the declarations of the last record that is whole, and that is at
least the last one that was told to be durable.

A record that is torn at the end of the log is what a crash leaves of a call that never returned: it is cut off.
Anything else that is no record, or does not fit to what is there, is damage, and refused with what is left.
"""

from __future__ import annotations

import json
import logging
import struct
import uuid
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from livejoin.database.contents import Contents
from livejoin.database.durable import bodies
from livejoin.database.durable.frames import FRAME_BYTES, Record, read_frames
from livejoin.database.durable.history import Held, History, Piece, Told
from livejoin.database.durable.log import Account, Segment, Segments, number_of, segment_name, start_segment
from livejoin.database.durable.places import Place
from livejoin.database.snapshots.declaration import ViewImage, number, read_table, read_view, value
from livejoin.database.snapshots.image import add_views, restored
from livejoin.database.transactions import transaction
from livejoin.database.transactions.alter_columns import replay_alter
from livejoin.database.transactions.altered_table import Altered
from livejoin.database.transactions.backfill import read_rows
from livejoin.database.transactions.redeclare import redeclare
from livejoin.database.transactions.requests import Requests
from livejoin.database.transactions.trusted import trusted_tables
from livejoin.errors import LivejoinError, MemoryLimitError, StateError
from livejoin.sql import names_read
from livejoin.state.files import Folder

logger = logging.getLogger("livejoin")

_OURS = (IndexError, TypeError, ArithmeticError, RecursionError)  # nothing that is checked is refused by these
_UNSOUND = (ValueError, LookupError, TypeError, ArithmeticError, RecursionError, struct.error, LivejoinError)


@dataclass(eq=False)
class Recovered:
    """What a folder holds; mutable.

    Args:
        contents: The tables and the user's values; views only where a table keeps no rows.
        account: The account of what the log has said.
        views: The views by name in lower case, each behind those that it reads.
        tables: The tables' names in lower case, by their numbers.
        histories: The histories of views, by name in lower case.
        file: The segment whose records are applied, to be read later; None before the first one.
    """

    contents: Contents
    account: Account
    views: dict[str, ViewImage] = field(default_factory=dict)
    tables: dict[int, str] = field(default_factory=dict)
    histories: dict[str, History] = field(default_factory=dict)
    file: Callable[[], Held] | None = None

    def beside(self, next_segment: int) -> dict[str, Any]:
        """What a snapshot of it says of the log: it goes on in a segment."""
        return {
            "log": self.account.identity,
            "segment": next_segment,
            "numbers": {name: self.account.numbers[name] for name in self.contents.tables},
            "next": self.account.next_number,
            "offsets": self.contents.offsets,
            "requests": self.contents.requests.plain(),
            **({"epoch": self.account.epoch} if self.account.epoch else {}),
        }

    def apply(self, record: Record) -> None:
        """Let what a record says happen.

        Raises:
            StateError, ValueError, LookupError: The record says what cannot be.
        """
        contents = self.contents
        match record.kind:
            case bodies.COMMIT:
                self._commit(record)
            case bodies.CREATE_TABLE:
                entry = _json(record)
                table = read_table(value(entry, "table", dict))
                contents.add_table(table)
                name, place = table.name.lower(), number(entry, "number")
                self.account.numbers[name] = place
                self.account.next_number = max(self.account.next_number, place + 1)
                self.tables[place] = name
                self._bring_views()
            case bodies.DROP_TABLE:
                contents.drop_table(contents.catalog[self.tables.pop(number(_json(record), "number"))])
            case bodies.ALTER_TABLE:
                entry = _json(record)
                name = self.tables[number(entry, "number")]
                table = read_table(value(entry, "table", dict))
                redeclare(contents, name, table.static, table.append_only)
            case bodies.ALTER_COLUMNS:
                self._alter_columns(_json(record))
            case bodies.CREATE_VIEW:
                entry = _json(record)
                view = read_view(entry, {table.name.lower(): table for table in contents.catalog})
                self.views[view.name.lower()] = view
                if self._is_live and view.name.lower() in self._following():
                    self._bring_views(but=view.name.lower())
                    add_views(contents, [view], backfill=read_rows(entry))
            case bodies.HISTORY:
                self._keep_history(record)
            case bodies.REPLACE_VIEW:
                self._replace_view(record)
            case bodies.DROP_VIEWS:
                gone = value(_json(record), "views", list)
                self._take_out(gone)
                for name in gone:
                    del self.views[name]
                    self.histories.pop(name, None)
            case bodies.KEEP:
                contents.extra = value(_json(record), "extra", dict)
            case bodies.EPOCH:
                self.account.epoch = value(_json(record), "epoch", str)
            case bodies.CLOSE:
                pass
            case _:
                msg = f"a record of kind {record.kind}, which this version of livejoin does not know"
                raise ValueError(msg)

    @property
    def _is_live(self) -> bool:
        """Whether views have to follow the log: what they keep of some tables is all that is left of the rows."""
        return any(True for _ in trusted_tables(self.contents))

    def _take_out(self, names: Iterable[str]) -> None:
        """Take views out that follow the log, by name in lower case, and those that read them."""
        there = [name for name in names if name in self.contents.views]
        if there:
            self.contents.drop_views({*there, *(one.lower() for name in there for one in self.contents.readers(name))})

    def _bring_views(self, but: str = "") -> None:
        """Let views follow the log that have to, but for one."""
        if self._is_live:
            self._add_views(self._following() - {but})

    def _following(self) -> set[str]:
        """The views over tables that keep no rows, and those that they read, by name in lower case."""
        return _following(self.views, (base.table.name.lower() for base in trusted_tables(self.contents)))

    def add_views(self) -> None:
        """Add the views that are only remembered."""
        self._add_views(self.views.keys())

    def _add_views(self, names: Container[str]) -> None:
        there = self.contents.views
        add_views(self.contents, [view for name, view in self.views.items() if name in names and name not in there])
        there = self.contents.views
        self.contents.views = {name: there[name] for name in self.views if name in there}

    def _alter_columns(self, entry: dict[str, Any]) -> None:
        contents, table = self.contents, read_table(value(entry, "table", dict))
        was, place = value(entry, "was", str), number(entry, "number")
        if was.lower() != self.tables[place]:
            msg = f"columns of a table {was!r}, which has another number"
            raise ValueError(msg)
        old = contents.catalog[was]
        sources = tuple(value(entry, "sources", list))
        if len(sources) != len(table.columns) or not {one for one in sources if one is not None} <= set(
            range(len(old.columns))
        ):
            msg = f"columns of table {table.name!r} that are from {sources!r:.80}"
            raise ValueError(msg)
        others = tuple(read_table(one) for one in value(entry, "others", list))
        words = {int(place): int(word) for place, word in value(entry, "words", dict).items()}
        names = {one.lower() for one in table.names} ^ {one.lower() for one in old.names}
        renamed = None if was == table.name else was
        found = Altered(table, sources, names=frozenset(names), others=others, was=renamed)
        self._take_out(name for name, view in contents.views.items() if view._reads_table(was))
        replay_alter(contents, found, words)
        if renamed is not None:
            self.tables[place] = table.name.lower()
            del self.account.numbers[was.lower()]
            self.account.numbers[table.name.lower()] = place
        known = {one.name.lower(): one for one in contents.catalog}
        for image in value(entry, "views", list):
            view = read_view(image, known)
            if view.name.lower() not in self.views:
                msg = f"a view {view.name!r} that is not there"
                raise ValueError(msg)
            self.views[view.name.lower()] = view
        self._bring_views()

    def _replace_view(self, record: Record) -> None:
        contents = self.contents
        entry, told = bodies.read_json(record.body)
        view = read_view(value(entry, "view", dict), {table.name.lower(): table for table in contents.catalog})
        readers = [name for name in value(entry, "readers", list) if self.views[name]]
        name = view.name.lower()
        rest = {one: image for one, image in self.views.items() if one != name and one not in readers}
        if len(rest) + len(readers) + 1 != len(self.views) or record.version != contents.version + 1:
            msg = f"a view {view.name!r} that takes the place of none, or at version {contents.version}"
            raise ValueError(msg)
        self._take_out([name])
        self.views = {**rest, name: view, **{one: self.views[one] for one in readers}}
        self._bring_views()
        for one in value(entry, "ended", list) if "ended" in entry else ():
            del self.histories[one]
        for one in value(entry, "restarted", list) if "restarted" in entry else ():
            self.histories[one].restart(record.version)
        self._note(record, contents.version, told)
        contents.version = record.version

    def _keep_history(self, record: Record) -> None:
        entry = _json(record)
        name, rows = value(entry, "view", str).lower(), number(entry, "rows")
        if name not in self.views:
            msg = f"a history of a view {name!r} that is not there"
            raise ValueError(msg)
        known = self.histories.get(name)
        if rows:
            fresh = History(rows, self.contents.version)
            self.histories[name] = fresh if known is None else known.with_limit(rows)
        else:
            del self.histories[name]

    def _note(self, record: Record, before: int, told: Sequence[Told]) -> None:
        """Note where a record has the deltas of views with a history."""
        for one in told:
            assert self.file is not None
            place, size = record.begin + FRAME_BYTES + one.at, len(one.data)
            piece = Piece(record.version, before, one.rows, size, one.checksum, self.file(), place)
            self.histories[one.view].note(piece)

    def _commit(self, record: Record) -> None:
        contents = self.contents
        body = bodies.read_commit(record.body)
        before = contents.version
        contents.budget.begin()
        changes = []
        for part in body.parts:
            name = self.tables[part.table]
            batch = part.batch(contents.codec, contents.catalog[name])
            contents.tables[name].kept = None if part.kept is None else frozenset(part.kept)
            versions = np.full(part.rows, contents.version + 1)
            changes.append((batch, versions if part.ranks is None else versions + part.ranks))
        transaction.run(contents, changes, body.versions, body.granularity, body.on_conflict, notes=body.notes)
        if contents.version != record.version:
            msg = f"a commit of version {record.version} behind which the database has version {contents.version}"
            raise ValueError(msg)
        self._note(record, before, body.told)


def _following(views: Mapping[str, ViewImage], tables: Iterable[str]) -> set[str]:
    """The views over some tables, and those that they read, by name in lower case.

    Args:
        views: All views by name in lower case, each behind those that it reads.
        tables: The tables, by name in lower case.
    """
    found = set(tables)
    if not found:
        return found
    read = {name: {one.lower() for one in names_read(view.sql)} for name, view in views.items()}
    for name, names in read.items():
        if not names.isdisjoint(found):
            found.add(name)
    for name in reversed(read):
        if name in found:
            found |= read[name]
    return found & read.keys()


def _json(record: Record) -> dict[str, Any]:
    found = json.loads(bytes(record.body))
    if not isinstance(found, dict):
        msg = f"a record that says {found!r:.80}"
        raise ValueError(msg)
    return found


def read_snapshot(place: Place, empty: Contents) -> tuple[Recovered, int]:
    """The snapshot of a place, and the number of the segment in which the log goes on.

    Args:
        place: The place of the database.
        empty: Contents with the threads and limits of the new database.

    Raises:
        StateError, StorageError, MemoryLimitError: As `Database.load`.
    """
    image = place.snapshot()
    if image is None:
        return Recovered(empty, Account(uuid.uuid4().hex, {})), 1
    views = {view.name.lower(): view for view in image.views}
    following = _following(views, [table.name.lower() for table, _ in image.tables if table.is_trusted])
    there = [view for name, view in views.items() if name in following]
    blocks = image.blocks if there else ()
    contents = restored(replace(image, views=there, blocks=blocks), empty.workers, empty.memory_limit, empty.scratch)
    contents.extra = dict(image.extra)
    try:
        numbers = {str(name): int(place) for name, place in value(image.beside, "numbers", dict).items()}
        contents.offsets = value(image.beside, "offsets", dict)
        contents.requests = Requests.of(image.beside.get("requests", {}))
        account = Account(value(image.beside, "log", str), numbers, number(image.beside, "next"))
        account.epoch = value(image.beside, "epoch", str) if "epoch" in image.beside else ""
        first = number(image.beside, "segment", 1)
        if set(numbers) != set(contents.tables):
            msg = f"its tables are {sorted(contents.tables)}, and those of its log {sorted(numbers)}"
            raise ValueError(msg)
    except (ValueError, KeyError, TypeError) as error:
        msg = (
            f"the snapshot in {str(place.name)!r} is none of an open database: {error}; Database.load reads one of save"
        )
        raise StateError(msg) from error
    tables = {place: name for name, place in numbers.items()}
    histories = {name: history for name, history in image.histories.items() if name in views}
    return Recovered(contents, account, views, tables, histories), first


class Damage(Exception):  # how a log is damaged: whoever opens it says so, or cuts it off
    """A log is damaged.

    Args:
        name: The file of the segment.
        at: Where in it.
        why: The reason, in words.
        version: Up to which version what comes before is whole.
        is_whole: Whether the record that stands there is as it was written, and it is livejoin that fails.
    """

    def __init__(self, name: str, at: int, why: str, version: int, is_whole: bool = False) -> None:
        super().__init__(name, at, why, version)
        self.name = name
        self.at = at
        self.why = why
        self.version = version
        self.is_whole = is_whole

    def error(self, path: str) -> StateError:
        """What a user is told of it; ``path`` is where the segments are."""
        if self.is_whole:
            msg = (
                f"the log file {path + '/' + self.name!r} is whole, and this livejoin cannot apply the record at byte "
                f"{self.at}, behind version {self.version}: {self.why}. That is a defect of livejoin, or a file of "
                "another version of it: keep a copy of the folder, and report it. damaged='cut' would go on from "
                f"version {self.version}, and keep beside it what it cuts off"
            )
            return StateError(msg)
        msg = (
            f"the log file {path + '/' + self.name!r} is damaged at byte {self.at}: {self.why}. What comes before is "
            f"whole, up to version {self.version}. Put the file back from a copy; or open the folder with "
            f"damaged='cut', which goes on from version {self.version} and keeps beside it what it cuts off"
        )
        return StateError(msg)


def replay(folder: Segments, found: Recovered, first: int, before: int | None = None) -> Segment | None:
    """Apply the records of the segments from one on.

    Args:
        folder: The folder of the segments, open.
        found: The content of the snapshot, to which the records are applied.
        first: The number of the first segment.
        before: The number of the segment to stop before, where all that are read are complete; None for all there are,
            of which the last one is cut where a record is torn, and opened.

    Returns:
        The last segment, to be gone on with; None if it was not asked for.

    Raises:
        Damage: The log is damaged.
        MemoryLimitError: The database would take more than it may.
        OSError: The system refuses.
    """
    numbers = sorted(one for one in map(number_of, folder.names()) if one is not None and one >= first)
    if before is not None:
        numbers = [one for one in numbers if one < before]
    if numbers != list(range(first, first + len(numbers))):
        missing = next(one for one in range(first, numbers[-1]) if one not in numbers)
        raise Damage(segment_name(missing), 0, "it is missing, and later ones are there", found.contents.version)
    segment = None
    for one in numbers:
        is_last = before is None and one == numbers[-1]
        segment = _replay_segment(folder, found, one, is_last)
    if before is not None:
        return None
    return segment or start_segment(folder, found.account.identity, first)


def _replay_segment(folder: Segments, found: Recovered, number: int, is_last: bool) -> Segment | None:
    name = segment_name(number)
    try:
        data = folder.read(name)
    except ValueError as error:
        raise Damage(name, 0, str(error), found.contents.version) from error
    frames = read_frames(data)
    if frames.end < len(data) and (frames.lost or not is_last or not folder.tears):
        version = max([found.contents.version, *(record.version for record in frames.records)])
        raise Damage(name, frames.end, "what stands there is no record", version)
    found.file = cache(lambda: folder.held(name))
    for record in _behind_the_first(name, found, number, frames.records):
        try:
            found.apply(record)
        except MemoryLimitError:
            raise
        except _UNSOUND as error:
            is_ours = isinstance(error, _OURS) and not isinstance(error, ValueError)
            why = f"{type(error).__name__}: {error}" if is_ours else str(error)
            raise Damage(name, record.begin, why, found.contents.version, is_ours) from error
        found.account.records += 1
    found.account.bytes += 0 if is_last else frames.end
    if not is_last:
        return None
    if not frames.records:
        return start_segment(folder, found.account.identity, number)
    file = folder.grown(name)
    try:
        if frames.end < len(data):
            logger.info("%s ends with a record that was not complete: %d bytes cut", name, len(data) - frames.end)
            file.cut(frames.end)
    except BaseException:
        file.close()
        raise
    return Segment(file, number, frames.end)


def _behind_the_first(name: str, found: Recovered, number: int, records: Sequence[Record]) -> Iterator[Record]:
    """The records of a segment behind the first one, which says whose it is.

    Raises:
        Damage: The segment is another log's.
    """
    if not records:
        return
    first = records[0]
    entry: Any = None
    with suppress(ValueError):
        entry = _json(first) if first.kind == bodies.SEGMENT else None
    if entry is None or entry.get("segment") != number or not isinstance(entry.get("log"), str):
        raise Damage(name, 0, "it does not begin as a segment with its number does", found.contents.version)
    if number == 1 and not found.account.records:
        found.account.identity = entry["log"]
    if entry["log"] != found.account.identity:
        raise Damage(name, 0, "it is a segment of another log", found.contents.version)
    yield from records[1:]


def cut_off(folder: Folder, damage: Damage) -> None:
    """Let a log end before a damage: what comes behind it gets other names.

    Raises:
        OSError: The system refuses.
    """
    stamp = uuid.uuid4().hex[:8]
    names = sorted(name for name in folder.names() if number_of(name) is not None and name >= damage.name)
    for name in reversed(names):
        if name == damage.name and damage.at:
            data = folder.read(name)
            folder.write(f"{name}.{damage.at}.{stamp}.damaged", memoryview(data)[damage.at :])
            file = folder.grown(name)
            try:
                file.cut(damage.at)
            finally:
                file.close()
        else:
            folder.rename(name, f"{name}.{stamp}.damaged")
    folder.sync()
