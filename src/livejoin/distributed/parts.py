"""What goes from one step of a batch to the next: changes for a cell, as Arrow's IPC stream with the masks of the rows.

What a cell did travels on with what it sends, so that the last step has all of it.

Law: a cell sees its parts in the order of their senders and numbers, whatever order they come in, so that an attempt
that runs again does the same.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from livejoin.distributed.cell import Piece
from livejoin.distributed.declared import Plan
from livejoin.distributed.exchange import Sender
from livejoin.distributed.task import Cells, Outcome, Task
from livejoin.errors import LivejoinError

_SAID = -1  # the place of what is no change: that there is a batch, its time, what a cell did
_MASKS = "masks"  # the last column, whatever others are called
_ROWS = 1 << 16  # of a part at most
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True)
class Arrived:
    """What a step that packs changes has seen.

    Args:
        changes: How many.
        time: The time of the batch; None where nothing came.
    """

    changes: int
    time: datetime | None


class Part(NamedTuple):
    """A part of what a cell is brought.

    Args:
        cell: The cell.
        stage: The stage in which it is brought.
        place: The position of the exchange there.
        sender: Who sent it; names sort in an order that is the same in every attempt.
        number: Its number among what that one sent.
        data: The changes.
    """

    cell: int
    stage: int
    place: int
    sender: str
    number: int
    data: bytes


class Outbox:
    """Parts on their way to cells, as they come to be; mutable.

    Args:
        plan: The plan.
        sender: The name of who sends them.
    """

    def __init__(self, plan: Plan, sender: str) -> None:
        self._plan = plan
        self._sender = sender
        self._parts: list[Part] = []
        self._senders: dict[tuple[int, int], Sender] = {}
        self._number = 0

    def send(self, relation: str, changes: pa.Table) -> None:
        """Send changes of a relation to all cells that they concern."""
        for stage, place in self._plan.staged.readers(relation):
            if (stage, place) not in self._senders:
                exchange = self._plan.staged.stages[stage].exchanges[place]
                self._senders[stage, place] = Sender(exchange, self._plan.cells)
            for begin in range(0, changes.num_rows, _ROWS):
                some = changes.slice(begin, _ROWS)
                for parcel in self._senders[stage, place].parcels(some):
                    rows = some.take(pa.array(parcel.rows)).append_column(_MASKS, pa.array(parcel.masks))
                    self._add(parcel.cell, stage, place, _encoded(rows))

    def begin(self) -> None:
        """Tell each cell that there is a batch."""
        for cell in range(self._plan.cells):
            self._add(cell, 0, _SAID, b"")

    def say(self, cell: int, what: Outcome | Arrived | LivejoinError) -> None:
        """Let the last step know something."""
        self._add(cell, 0, _SAID, pickle.dumps(what))

    def pass_on(self, parts: Iterable[Part]) -> None:
        """Send parts on as they are."""
        self._parts += parts

    def taken(self) -> list[Part]:
        """The parts so far; they are gone then."""
        found, self._parts = self._parts, []
        return found

    def _add(self, cell: int, stage: int, place: int, data: bytes) -> None:
        self._parts.append(Part(cell, stage, place, self._sender, self._number, data))
        self._number += 1


def advance(cells: Cells, plan: Plan, task: Task, stage: int, cell: int, came: Iterable[Part]) -> list[Part]:
    """A cell's part of a stage: what it is brought is applied, and what it sends is given.

    A LivejoinError is sent to the last step.

    Args:
        cells: The states that this process has.
        plan: The plan.
        task: The batch.
        stage: The stage.
        cell: The cell.
        came: What came, in any order.
    """
    outbox = Outbox(plan, f"{stage:04d}-{cell:08d}")
    brought: dict[int, list[Piece]] = defaultdict(list)
    for part in sorted(came, key=lambda part: (part.sender, part.number)):
        if part.place == _SAID:
            outbox.pass_on([part] if part.data else [])
        elif part.stage > stage:
            outbox.pass_on([part])
        else:
            rows = _decoded(part.data)
            last = rows.num_columns - 1
            brought[part.place].append(Piece(rows.select(range(last)), rows.column(last).to_numpy()))
    try:
        outcome, told = cells.run(task, stage, cell, brought)
    except LivejoinError as error:
        error.add_note(f"in cell {cell} of stage {stage}")
        outbox.say(cell, error)
    else:
        for relation, delta in told.items():
            outbox.send(relation, delta)
        outbox.say(cell, outcome)
    return outbox.taken()


def said(parts: Iterable[bytes]) -> tuple[list[Outcome], Arrived]:
    """What the cells did, and what had come, from the data of what the last step leaves.

    Raises:
        LivejoinError: A cell could not do its part.
    """
    found = [pickle.loads(data) for data in parts if data]
    for one in found:
        if isinstance(one, LivejoinError):
            raise one
    arrived = [one for one in found if isinstance(one, Arrived)]
    time = next((one.time for one in arrived if one.time is not None), None)
    whole = Arrived(sum(one.changes for one in arrived), time)
    return [one for one in found if isinstance(one, Outcome)], whole


def plain(parts: Iterable[Part]) -> Mapping[str, list[object]]:
    """Parts as columns."""
    columns = list(zip(*parts, strict=True)) or [()] * len(Part._fields)
    return {name: list(column) for name, column in zip(Part._fields, columns, strict=True)}


def _encoded(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_OPTIONS) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _decoded(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()
