"""One cell of a stage: a database, which takes what it is brought in each batch as one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from livejoin.database import Database
from livejoin.database.commit import NOTHING
from livejoin.database.of_stage import show
from livejoin.database.range_windows import moves, too_late
from livejoin.database.refreshing import apply_any
from livejoin.database.refusals import told_by
from livejoin.database.transactions.staging import OnConflict
from livejoin.distributed.exchange import coming, newest
from livejoin.plan.stages import Stage
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, Column
from livejoin.words import Words


@dataclass(frozen=True, eq=False)
class Piece:
    """Changes of a relation that are brought to a cell.

    Args:
        rows: The relation's columns, by position, then `_change_type` and what else a change has, by name.
        masks: For each row the bits of the tables that it comes to; None if it comes to all.
        is_tick: Whether it is what `Sender.tick` made of changes, of which others may have come to other cells.
    """

    rows: pa.Table
    masks: Words | None
    is_tick: bool = False


_SOME_COLUMNS = {"promote_options": "default"}  # of pieces of a stream some say what they lack

Brought = Mapping[int, Sequence[Piece]]
"""What a cell is brought: pieces by the position of their exchange in the stage, in order."""


class Cell:
    """The state of a cell in a stage; mutable.

    Law: for each relation that the stage shows, what `apply` has told of it in all cells adds up to its value.

    Args:
        stage: The stage.
        number: The cell's number, from 0.
        database: The tables as batches have left them, without views; it is taken over.
        is_new: Whether there was no batch yet.

    Attributes:
        left_out: For each table, in lower case, how many changes of the last batch were ignored and how many were late,
            where some were.
        too_late: For each table with a window the rows of the last batch that it had left behind, where there are some.
    """

    def __init__(self, stage: Stage, number: int, database: Database, is_new: bool) -> None:
        self.stage = stage
        self.number = number
        self._is_new = is_new
        self.left_out: Mapping[str, tuple[int, int]] = NOTHING
        self.too_late: Mapping[str, pa.Table] = {}
        self.database = database
        show(self.database, stage, number == 0)

    def changes(self, brought: Brought) -> dict[str, pa.Table]:
        """The changes of the cell's tables, with the newest tick of each whose window it moves."""
        found = changes_of(self.stage, brought)
        for place, pieces in brought.items():
            ticks = [piece.rows for piece in pieces if piece.is_tick]
            for table, _ in self.stage.exchanges[place].tables if ticks else ():
                assert table.window_range is not None, "only such tables are told"
                tick = newest(ticks, table.window_range)
                if moves(self.database, table.name, tick):
                    mine = [found[table.name]] if table.name in found else []
                    found[table.name] = pa.concat_tables([*mine, _named(tick, table.columns)], **_SOME_COLUMNS)
        return found

    def apply(self, changes: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """A batch as one commit; the first one has to be there also if nothing is brought.

        Args:
            changes: The changes that `changes_of` found.

        Returns:
            For each relation that the stage shows and that changed here, its delta: its columns and `_change_type`.

        Raises:
            LivejoinError: As `Database.apply`; nothing was applied.
        """
        too_late = self._too_late(changes)
        commit = apply_any(self.database, changes, self.manner(changes)) if changes else None
        self.too_late = too_late
        self.left_out = NOTHING if commit is None else commit._left_out
        told = {}
        if self._is_new:  # an aggregate without groups has a row over no rows
            self._is_new = False
            told = {name: self.whole(name) for name in self.database.views}
        elif commit is not None:
            told = {name: commit[name].drop_columns([COMMIT_VERSION]) for name in commit.views}
        return {name: delta for name, delta in told.items() if delta.num_rows}

    def would_tell(self, changes: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """What `apply` would tell, but for what cancels in it; nothing is applied. Conflicts are ignored without a key.

        Raises:
            LivejoinError: As `Database.apply`.
        """
        told = {name: [self.whole(name)] for name in self.database.views} if self._is_new else {}
        if changes:
            manner = self.manner(changes)
            deltas = told_by(self.database, changes, "ignore" if manner == "error" else manner)
            for name, delta in deltas.items():
                told.setdefault(name, []).append(delta.drop_columns([COMMIT_VERSION]))
        plain = {  # pieces of a delta and of a whole result differ in what Arrow says of NULL
            name: [pa.Table.from_arrays(one.columns, names=one.column_names) for one in pieces]
            for name, pieces in told.items()
        }
        whole = {name: pa.concat_tables(pieces) for name, pieces in plain.items()}
        return {name: delta for name, delta in whole.items() if delta.num_rows}

    def _too_late(self, changes: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """For each table that is told of ticks the rows that come too late, where there are some."""
        found = {}
        for exchange in self.stage.exchanges:
            for table, _ in exchange.tables if exchange.ticks else ():
                if table.name in changes:
                    rows = coming(changes[table.name])
                    is_late = too_late(self.database, table.name, rows)
                    if is_late.any():
                        found[table.name] = rows.filter(pa.array(is_late))
        return found

    def manner(self, changes: Mapping[str, pa.Table]) -> OnConflict:
        """How conflicts of changes are taken: rows of tables with a key take the place of those that are there."""
        return "error" if self.stage.by_key.isdisjoint(changes) else "update"

    def whole(self, relation: str) -> pa.Table:
        """All that the cell has of a relation, as insertions."""
        rows = self.database.views[relation].to_arrow()
        return rows.append_column(CHANGE_TYPE, pa.repeat(pa.scalar("insert"), rows.num_rows))


def changes_of(stage: Stage, brought: Brought) -> dict[str, pa.Table]:
    """The changes of a cell's tables, of those that have some, without ticks.

    Args:
        stage: The stage.
        brought: The parts that came to the cell.
    """
    return {
        table.name: found
        for place, pieces in brought.items()
        for table, bits in stage.exchanges[place].tables
        if (found := _changes(table.columns, bits, pieces)) is not None
    }


def _changes(columns: Sequence[Column], bits: int, pieces: Iterable[Piece]) -> pa.Table | None:
    """The rows of a table among those that came, None if there are none."""
    found = []
    for piece in pieces:
        mine = piece.rows
        if piece.masks is not None and bits != -1:
            mine = mine.filter(pa.array((piece.masks & bits) != 0))
        if mine.num_rows and not piece.is_tick:
            found.append(_named(mine, columns))
    return pa.concat_tables(found, **_SOME_COLUMNS) if found else None


def _named(rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Rows with the names of a table's columns; deltas and whole results differ in what Arrow says of NULL."""
    names = [*(column.name for column in columns), *rows.column_names[len(columns) :]]
    return pa.Table.from_arrays(rows.columns, names=names)
