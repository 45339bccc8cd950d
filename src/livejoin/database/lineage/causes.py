"""Which changes of a commit made rows come or go: a least set of them that does it by itself.

A set of changes is tried on the rows as they were before. Of sets that suffice one is found from which no change can be
left out, by halves (QuickXplain: Junker, AAAI 2004). Before a commit the sets are tried as they are; behind one what
the other changes did is taken back, as long as the commit is the last one.

Law: with the changes that are found alone, what is asked about changes as it does with all of them. Where more changes
never undo what fewer did, each one of them is needed; else a few may be more than that. Cost: O(found * log(changes))
trials, each that of a commit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database import reading
from livejoin.database.lineage.found import values_text
from livejoin.database.transactions.guard import Guard, first
from livejoin.errors import LivejoinError, ReadError
from livejoin.schema.tables import CHANGE_TYPE
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.changes import ChangeBatch
    from livejoin.database.commit import Commit
    from livejoin.database.contents import Contents
    from livejoin.database.reading import Row
    from livejoin.database.transactions.staging import OnConflict

Net: TypeAlias = Counter[tuple[str, ...]]
"""By how much each of some rows is more or less often there; a row by the texts of its values."""

_FEW = 32  # changes of which each is looked at once more
_COMES = ("insert", "update_postimage")


@dataclass(frozen=True)
class CausingChange:
    """A change of a commit.

    Args:
        table: The table's name.
        position: The position among the changes that were given for the table.
        kind: ``insert``, ``delete``, or ``upsert``, which takes the place of the row with its key.
        row: The values by the names of the columns.
    """

    table: str
    position: int
    kind: str
    row: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.kind} {self.table}: {values_text(self.row)}"


@dataclass(frozen=True)
class Cause:
    """Why rows of a view come and go with a commit.

    Args:
        view: The view's name.
        come: The rows that come.
        go: The rows that go.
        changes: Changes of the commit that by themselves make them come and go.
        of: How many changes the commit has.
    """

    view: str
    come: tuple[Mapping[str, Any], ...]
    go: tuple[Mapping[str, Any], ...]
    changes: tuple[CausingChange, ...]
    of: int

    def __str__(self) -> str:
        rows = [f"- {values_text(row)}" for row in self.go] + [f"+ {values_text(row)}" for row in self.come]
        changes = f"by {len(self.changes)} of {self.of} changes:"
        return "\n".join(
            [f"{self.view} changes", *map(_indented, rows), changes, *map(_indented, map(str, self.changes))]
        )


@dataclass(eq=False, slots=True, weakref_slot=True)
class Given:
    """Changes that were committed or previewed, for questions about them; each commit makes one.

    Args:
        contents: The database's contents.
        batches: The changes of each table.
        on_conflict: The way in which conflicts were taken.
        version: The database's version when they can be asked about.
        trial: As `livejoin.database.transactions.transaction.trial`.
    """

    contents: Contents
    batches: tuple[ChangeBatch, ...]
    on_conflict: OnConflict
    version: int
    trial: Callable[[Contents, Sequence[ChangeBatch], OnConflict, Callable[[Commit], object]], None]

    @property
    def _guard(self) -> Guard:
        return self.contents.guard

    @first
    def before(self, delta: pa.Table, view: str, row: Row) -> Cause:
        """Which changes of a preview make rows of a view come and go.

        Args:
            delta: The delta of the view, by all of them.
            view: The view's name.
            row: The row, as a tuple, or the values of some columns by their names.

        Raises:
            ReadError: The database has another version by now; or no such row comes or goes.
        """
        now = self.contents.version
        if now != self.version:
            msg = f"the preview is of version {self.version}, and the database has {now} by now; preview again"
            raise ReadError(msg)
        wanted = _wanted(delta, view, row)

        def effect(kept: list[Words]) -> Net | None:
            some = [batch.take(rows) for batch, rows in zip(self.batches, kept, strict=True)]
            return _tried(self, some, self.on_conflict, view, wanted)

        return _cause(self, delta, view, wanted, effect)

    @first
    def behind(self, delta: pa.Table, view: str, row: Row) -> Cause:
        """Which changes of the last commit made rows of a view come and go; as `before`."""
        for batch in self.batches:
            _refuse_lasting(batch)
        wanted = _wanted(delta, view, row)
        whole = _net(delta, wanted)

        def effect(kept: list[Words]) -> Net | None:
            back = []
            for batch, rows in zip(self.batches, kept, strict=True):
                others = batch.take(np.setdiff1d(np.arange(batch.length), rows))
                back.append(replace(others, weights=-others.weights))
            found = _tried(self, back, "error", view, wanted)
            if found is None:
                return None
            total = Net(whole)
            total.update(found)
            return Net({one: times for one, times in total.items() if times})

        return _cause(self, delta, view, wanted, effect)


@dataclass(frozen=True)
class _Wanted:
    """Rows that are asked about: the values of some columns, by their names, one each."""

    values: Mapping[str, pa.Array]


def _cause(
    given: Given, delta: pa.Table, view: str, wanted: _Wanted, effect: Callable[[list[Words]], Net | None]
) -> Cause:
    goal = _net(delta, wanted)
    tables = np.repeat(np.arange(len(given.batches)), [batch.length for batch in given.batches])
    rows = np.concatenate([np.arange(batch.length) for batch in given.batches])

    units = _units(given.batches)
    members = [np.flatnonzero(units == unit) for unit in range(int(units.max(initial=-1)) + 1)]

    def suffices(chosen: Words) -> bool:
        places = np.concatenate([rows[:0], *(members[unit] for unit in chosen)])
        kept = [np.sort(rows[places[tables[places] == number]]) for number in range(len(given.batches))]
        return effect(kept) == goal

    chosen = least(np.arange(len(members)), suffices)
    found = np.sort(np.concatenate([rows[:0], *(members[unit] for unit in chosen)]))
    changes = tuple(_change(given.batches[tables[at]], int(rows[at])) for at in found)
    come, go = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
    for one in reading.to_pylist(_matching(delta, wanted)):
        kind = one.pop(CHANGE_TYPE)
        one.pop("_commit_version", None)
        side = come if kind in _COMES else go
        if one not in side:
            side.append(one)
    return Cause(view, tuple(come), tuple(go), changes, rows.shape[0])


def _units(batches: Sequence[ChangeBatch]) -> Words:
    """A number for each change; what an update takes and what it brings have the same one, by the key of the row."""
    known: dict[tuple[object, ...], int] = {}
    found = list[int]()
    for number, batch in enumerate(batches):
        keys: list[tuple[str, ...]] = []
        if batch.table.primary_key and not batch.by_key:
            columns = [map(str, batch.rows.column(place)) for place in batch.table.primary_key]
            keys = list(zip(*columns, strict=True))
        for at in range(batch.length):
            found.append(known.setdefault((number, keys[at] if keys else at), len(known)))
    return np.array(found, np.int64)


def least(places: Words, suffices: Callable[[Words], bool]) -> Words:
    """A set of places that suffices, and of which each is needed where more of them never suffice less.

    >>> least(np.arange(100), lambda some: {7, 61} <= set(some.tolist()))
    array([ 7, 61])
    """
    if not suffices(places):
        return places
    nothing = places[:0]

    def needed(background: Words, has_grown: bool, some: Words) -> Words:
        if has_grown and suffices(background):
            return nothing
        if some.shape[0] == 1:
            return some
        middle = some.shape[0] // 2
        first, second = some[:middle], some[middle:]
        of_second = needed(np.concatenate([background, first]), True, second)
        of_first = needed(np.concatenate([background, of_second]), of_second.shape[0] > 0, first)
        return np.concatenate([of_first, of_second])

    found = needed(nothing, False, places) if places.shape[0] else nothing
    if not suffices(found):
        found = places
    for place in found if found.shape[0] <= _FEW else nothing:  # where more changes undo what fewer did
        rest = found[found != place]
        if suffices(rest):
            found = rest
    return found


def _tried(
    given: Given, batches: Sequence[ChangeBatch], on_conflict: OnConflict, view: str, wanted: _Wanted
) -> Net | None:
    """What some changes do to the rows; None if they cannot be applied without others."""
    found = list[Net]()

    def look(commit: Commit) -> None:
        found.append(_net(commit[view], wanted))

    try:
        given.trial(given.contents, [batch for batch in batches if batch.length], on_conflict, look)
    except LivejoinError:
        return None
    return found[-1]


def _wanted(delta: pa.Table, view: str, row: Row) -> _Wanted:
    names = _columns(delta)
    if isinstance(row, Mapping):
        values = reading.by_name(row, view, names)
    else:
        values = dict(zip(names, reading.values_in_order(row, delta.select(names).schema), strict=True))
    wanted = _Wanted({name: pa.array([value], delta.schema.field(name).type) for name, value in values.items()})
    if not _net(delta, wanted):
        msg = f"no row of view {view!r} with {values_text(values)} comes or goes with it"
        raise ReadError(msg)
    return wanted


def _columns(delta: pa.Table) -> list[str]:
    """The names of the view's columns in a delta."""
    return [name for name in delta.column_names if not name.startswith("_")]


def _matching(delta: pa.Table, wanted: _Wanted) -> pa.Table:
    """The rows of a delta with the values that are asked about; NULL is NULL, and NaN is NaN."""
    for name, value in wanted.values.items():
        if pa.types.is_nested(value.type) or pa.types.is_interval(value.type):
            kept = pa.array([one == value[0] for one in delta[name]], pa.bool_())
        else:
            kept = pc.is_in(delta[name], value)
        delta = delta.filter(kept)
    return delta


def _net(delta: pa.Table, wanted: _Wanted) -> Net:
    """What a delta does to the rows that are asked about."""
    rows, net = _matching(delta, wanted), Net()
    lines = zip(*(rows[name] for name in _columns(rows)), strict=True)
    for row, kind in zip(lines, rows[CHANGE_TYPE].to_pylist(), strict=True):
        net[tuple(map(_text, row))] += 1 if kind in _COMES else -1
    return Net({one: times for one, times in net.items() if times})


def _text(value: pa.Scalar) -> str:
    """A value as text, also one that Python has no object for."""
    try:
        return str(value)
    except (ValueError, OverflowError):
        return f"{value.value} ({value.type})"


def _change(batch: ChangeBatch, position: int) -> CausingChange:
    (row,) = reading.to_pylist(batch.rows.slice(position, 1))
    replaces = batch.replaces is not None and bool(batch.replaces[position])
    kind = "delete" if batch.weights[position] < 0 else "upsert" if replaces else "insert"
    if batch.given is not None:
        row = {name: value for at, (name, value) in enumerate(row.items()) if batch.given[at, position]}
    return CausingChange(batch.table.name, int(batch.origins(np.array([position]))[0]), kind, row)


def _refuse_lasting(batch: ChangeBatch) -> None:
    """Refuse changes that are not taken back by their opposite.

    Raises:
        ReadError: The changes are such.
    """
    table = batch.table
    if batch.by_key:
        why = "changes that go by key, and what they replaced is not kept"
    elif table.append_only or table.window_rows is not None or table.window_range is not None:
        why = "rows that come into a table with a window, or that only grows"
    elif batch.written is not None:
        why = "changes that came from a log"
    else:
        return
    msg = f"table {table.name!r} has {why}: they cannot be taken back for this; ask db.preview(changes).why() before"
    raise ReadError(msg)


def _indented(line: str) -> str:
    return f"  {line}"
