"""What goes from one step of a batch to the next: changes for a cell, as Arrow's IPC stream with the masks of the rows.

A step leaves little by itself, and more in one file a step in the folder that all hosts see, of which each part is a
slice. Such a file is not for long: no manifest lists it, and it goes with the batch.

Law: a cell sees its parts in the order of their senders and numbers, whatever order they come in, so that an attempt
that runs again does the same.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pyarrow as pa

from livejoin.distributed.cell import Piece
from livejoin.distributed.cells import Cells
from livejoin.distributed.declaration import Plan
from livejoin.distributed.exchange import Sender, newest
from livejoin.distributed.refused import of_views
from livejoin.distributed.task import Outcome, Task
from livejoin.errors import LivejoinError, StateError, StorageError
from livejoin.plan.stages import Cube, Everywhere
from livejoin.state.store_folder import Place, at

SMALL = 1 << 16
"""Bytes of a step that travel with what is said of them; more are a file."""
_MASKS = "masks"  # the last column, whatever others are called
_ROWS = 1 << 16  # of a part at most
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class CellPart(NamedTuple):
    """A part of what a cell is brought.

    Args:
        cell: The cell.
        stage: The stage in which it is brought.
        place: The position of the exchange there.
        sender: Who sent it; names sort in an order that is the same in every attempt.
        number: The part's number among those that one sender sent.
        data: The changes; empty if they are in a file.
        file: The file.
        begin: Where they begin in it.
        size: The bytes of the file.
        is_tick: Whether it is what `Sender.tick` made of changes.
    """

    cell: int
    stage: int
    place: int
    sender: str
    number: int
    data: bytes
    file: str
    begin: int
    size: int
    is_tick: bool = False


class Outbox:
    """Parts on their way to cells, as they come to be; mutable.

    Args:
        plan: The plan.
        sender: The name of who sends them.
    """

    def __init__(self, plan: Plan, sender: str) -> None:
        self._plan = plan
        self._sender = sender
        self._parts: list[CellPart] = []
        self._pieces: list[bytes] = []
        self._senders: dict[tuple[int, int], Sender] = {}
        self._ticks: dict[tuple[int, int], pa.Table] = {}
        self._size = 0

    def send(self, relation: str, changes: pa.Table) -> None:
        """Send changes of a relation to all cells that they concern."""
        for stage, place in self._plan.staged.readers(relation):
            if (stage, place) not in self._senders:
                exchange = self._plan.staged.stages[stage].exchanges[place]
                self._senders[stage, place] = Sender(exchange, self._plan.cells)
            for begin in range(0, changes.num_rows, _ROWS):
                self._send(stage, place, changes.slice(begin, _ROWS))

    def _send(self, stage: int, place: int, changes: pa.Table) -> None:
        """Send changes by one exchange; what goes to all cells is encoded once."""
        sender = self._senders[stage, place]
        self._note_tick(stage, place, sender.tick(changes))
        if isinstance(sender.exchange.route, Everywhere):
            self._add(range(self._plan.cells), stage, place, changes)
            return
        for parcel in sender.parcels(changes):
            is_whole = len(parcel.rows) == changes.num_rows
            rows = changes if is_whole else changes.take(pa.array(parcel.rows))
            if isinstance(sender.exchange.route, Cube):
                rows = rows.append_column(_MASKS, pa.array(parcel.masks))
            self._add([parcel.cell], stage, place, rows)

    def _note_tick(self, stage: int, place: int, tick: pa.Table | None) -> None:
        """Remember the newest tick of an exchange."""
        window = self._plan.staged.stages[stage].exchanges[place].tables[0][0].window_range
        if tick is not None and window is not None:
            before = self._ticks.get((stage, place))
            self._ticks[stage, place] = tick if before is None else newest([before, tick], window)

    def left(self, folder: Place, batch_id: int) -> list[CellPart]:
        """The parts, small as they are, or as slices of a file that is written here; nothing is sent any more.

        Each cell is told the newest tick.

        Args:
            folder: The folder that all hosts see.
            batch_id: The batch.

        Raises:
            StorageError: The disk refuses.
        """
        for (stage, place), tick in self._ticks.items():
            self._add(range(self._plan.cells), stage, place, tick, is_tick=True)
        if self._size <= SMALL:
            return self._parts
        name = f"{batch_id:08d}-{self._sender}-{uuid.uuid4().hex}.parts"
        try:
            with at(folder) as opened:
                opened.write_all(name, self._pieces)
        except OSError as error:
            msg = f"{folder / name} could not be written: {error}"
            raise StorageError(msg) from error
        return [part._replace(data=b"", file=name) for part in self._parts]

    def _add(self, cells: Iterable[int], stage: int, place: int, rows: pa.Table, is_tick: bool = False) -> None:
        data = _encoded(rows)
        for cell in cells:
            number = len(self._parts)
            part = CellPart(cell, stage, place, self._sender, number, data, "", self._size, len(data), is_tick)
            self._parts.append(part)
        self._pieces.append(data)
        self._size += len(data)


def advance(
    cells: Cells, plan: Plan, task: Task, stage: int, cell: int, came: Iterable[CellPart]
) -> tuple[Outcome, list[CellPart]]:
    """A cell's part of a stage: what it is brought is applied, and what it sends is given.

    Args:
        cells: The states that this process has.
        plan: The plan.
        task: The batch.
        stage: The stage.
        cell: The cell.
        came: The parts that came to the cell in this stage, in any order.

    Raises:
        LivejoinError: As `Cells.run`, with a note that says where; or a file of parts is not there.
    """
    brought: dict[int, list[Piece]] = defaultdict(list)
    try:
        for part in sorted(came, key=lambda part: (part.sender, part.number)):
            rows = _decoded(task.folder, part)
            piece = Piece(rows, None, part.is_tick)
            if isinstance(plan.staged.stages[stage].exchanges[part.place].route, Cube) and not part.is_tick:
                last = rows.num_columns - 1
                piece = Piece(rows.select(range(last)), rows.column(last).to_numpy())
            brought[part.place].append(piece)
        outcome, told = cells.run(task, stage, cell, brought)
        outbox = Outbox(plan, f"{stage:04d}-{cell:08d}")
        for relation, delta in told.items():
            outbox.send(relation, delta)
        return outcome, outbox.left(task.folder, task.batch_id)
    except LivejoinError as error:
        named = of_views(error, plan.staged)
        named.add_note(f"in cell {cell} of stage {stage}")
        raise named from error.__cause__


def remove_files(folder: Place, parts: Iterable[CellPart]) -> None:
    """Remove the files of parts that nobody needs any more.

    Raises:
        StorageError: The disk refuses.
    """
    try:
        with at(folder) as opened:
            opened.remove_all(sorted({part.file for part in parts if part.file}))
    except OSError as error:
        msg = f"files of parts in {folder} could not be removed: {error}"
        raise StorageError(msg) from error


def by_cell(parts: Iterable[CellPart], stage: int) -> Mapping[int, list[CellPart]]:
    """The parts that are brought in a stage, by their cell."""
    found: dict[int, list[CellPart]] = defaultdict(list)
    for part in parts:
        if part.stage == stage:
            found[part.cell].append(part)
    return found


def columns_of(parts: Iterable[CellPart]) -> Mapping[str, list[object]]:
    """Parts as columns."""
    columns = list(zip(*parts, strict=True)) or [()] * len(CellPart._fields)
    return {name: list(column) for name, column in zip(CellPart._fields, columns, strict=True)}


def _encoded(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_OPTIONS) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _decoded(folder: Place, part: CellPart) -> pa.Table:
    """The changes of a part.

    Raises:
        StateError: The part's file is not there, or has other content than was written.
        StorageError: The disk refuses.
    """
    try:
        data: bytes | bytearray = part.data
        if part.file:
            with at(folder) as opened:
                data = opened.read_slice(part.file, part.begin, part.size)
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            return reader.read_all()
    except (FileNotFoundError, ValueError, pa.ArrowException) as error:
        msg = (
            f"{folder / part.file}, which another step of the batch wrote, is missing or damaged: {error}. All hosts "
            "must see the folder of the checkpoint; start the query again, and the batch runs anew"
        )
        raise StateError(msg) from error
    except OSError as error:
        msg = f"{folder / part.file} could not be read: {error}"
        raise StorageError(msg) from error
