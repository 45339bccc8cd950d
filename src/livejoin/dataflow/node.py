"""A block among the others of the graph: whom it reads, who reads it, and whether its state is there.

Law: between two commits the state is that of the block's query over the relations below as they are, or there is none,
and then it is loaded from them when it is needed next. An exception may come out of any line of a commit: what a block
had applied whole is taken back by its inverse, and only the state of a block that was cut off inside is thrown away.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from enum import Enum
from typing import TypeAlias

from livejoin.dataflow.batches import Batches
from livejoin.dataflow.blocks.bag import BagBlock
from livejoin.dataflow.blocks.block import Block, Change
from livejoin.dataflow.blocks.join import JoinBlock
from livejoin.dataflow.blocks.stored import StoredBlock
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.blocks.union import UnionBlock
from livejoin.dataflow.counts import Counts
from livejoin.dataflow.moving.adaptive import Adaptive
from livejoin.dataflow.moving.spreading import HANDED_OVER, Spreading, clock
from livejoin.dataflow.moving.spreading import Work as Spent
from livejoin.dataflow.of_view import OfView
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.selection import Selector
from livejoin.dataflow.watching.watch import Watch, Work
from livejoin.errors import LivejoinError
from livejoin.families.cells.join import CellJoin
from livejoin.families.nodes import NO_NODES, node_work
from livejoin.kernels.compiling import python_lock
from livejoin.plan.operators import (
    AnyJoin,
    BagOperator,
    Operator,
    ProjectOperator,
    StoredOperator,
)
from livejoin.schema import SqlType
from livejoin.search.algorithm import Algorithm
from livejoin.search.statistics import Statistics
from livejoin.state.derived_rows import DerivedRows
from livejoin.words import Words

_LONG = 0.005  # seconds of a block behind which a commit is none of those that are short
_MANY = 10_000  # rows that nobody notices to be gone through
Make: TypeAlias = Callable[["Node"], Block]
Replan: TypeAlias = Callable[[AnyJoin, Statistics], AnyJoin]


class Applied(Enum):
    """How much of the commit that runs is in a block."""

    NOTHING = 0
    PART = 1  # it began, and may have been cut off
    WHOLE = 2


class Node:
    """A block and its place; mutable. To the blocks above it is the `livejoin.dataflow.blocks.block.InputRelation`.

    Args:
        digest: A fingerprint of what it maintains, the same in every process.
        plan: The block's operator.
        inputs: The nodes that it reads.
        make: Makes its block, empty.
        replan: Gives the plan of a join for other statistics.
        algorithm: The algorithm that was asked for, of a join.
        statistics: The statistics by which the plan of a join was chosen.

    Attributes:
        readers: The nodes that read it, each as often as it does.
        shown_by: Names of the views that it is, and whether they want deltas.
        rows: Whether a block above reads the changes: one that keeps a state does, others if their own are wanted.
        tables: Whether a view shows the changes.
        told: Whether one of these views has subscribers in the commit that runs.
        version: Of the state: another one where the rows, or the order in which they are read, may have changed.
        counts: The commits and changes that have passed through it, whatever became of its state.
        watch: The further counts of who analyzes a view above it; None where nobody does.
        naming: Puts the names of its views before its errors.
        adaptive: Moves the join to other plans, if it may.
        spreading: Lets the join go over to cells and back, if there are other threads.
        reads: The base tables that it reads itself, by name in lower case.
        depth: One more than the most of those that it reads: nodes of one depth do not read each other.
        is_timed: Whether there are other threads, so that it counts for something what its changes take.
        pace: Seconds that it took for each change of a base table lately, if there are other threads.
        spent: Processor time of its last changes, if there are.
        rests: Whether its join keeps nothing that only changes of static tables need.
        passes: Whether it passes on the changes of a table that keeps no rows, so that it has none to be asked for.
    """

    def __init__(
        self,
        digest: str,
        plan: Operator,
        inputs: Sequence[Node],
        make: Make,
        replan: Replan,
        algorithm: Algorithm,
        statistics: Statistics,
    ) -> None:
        self.digest = digest
        self.plan = plan
        self.inputs = tuple(inputs)
        self.reads = plan.reads
        self.readers: list[Node] = []
        self.shown_by: dict[str, bool] = {}
        self.rows = self.tables = self.told = False
        self.algorithm = algorithm
        self.statistics = statistics
        self.version = 0
        self.counts = Counts()
        self.watch: Watch | None = None
        self.adaptive: Adaptive | None = None
        self.spreading: Spreading | None = None
        self.depth: int = 1 + max((one.depth for one in self.inputs), default=0)
        self.is_timed = False
        self.pace = 0.0
        self.spent = 0.0
        self.rests = True
        self.passes = False
        self.naming = OfView(self.views)
        self._make = make
        self._replan = replan
        self._block: Block | None = None
        self._applied = Applied.NOTHING
        self._held: Operator | None = None  # the plan with which a state of the last commit was there
        self._size: int | None = None  # of the relation, where it is known
        self._access: Access | None = None  # to the relation as it is
        self._earlier: dict[str, int] = {}  # work of states that it has not any more, less that of loading those after
        self._done: dict[str, int] | None = None  # all work, where the state was let go

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return self.plan.types

    @property
    def layout(self) -> str:
        """A fingerprint of how the state is laid out: states of equal nodes with equal layouts are interchangeable."""
        return self.plan.layout

    def note_readers(self) -> None:
        """Take note of what its readers want of it; they have taken note of theirs."""
        self.rows = any(one.plan.keeps_state or one.rows or one.tables for one in self.readers)
        self.tables = any(self.shown_by.values())

    def views(self) -> tuple[str, ...]:
        """The views that it is, or else the nearest ones above it."""
        if self.shown_by:
            return tuple(self.shown_by)
        return tuple(dict.fromkeys(view for one in self.readers for view in one.views()))

    @property
    def knows_ids(self) -> bool:
        """Whether its state names rows of its inputs by their ids."""
        return any(isinstance(one.plan, (StoredOperator, BagOperator)) for one in self.inputs)

    @property
    def is_loaded(self) -> bool:
        """Whether the state is there."""
        return self._block is not None

    @property
    def nbytes(self) -> int:
        """Bytes that the state has allocated; 0 where there is none."""
        return 0 if self._block is None else self._block.sizes()[1]

    @property
    def block(self) -> Block:
        """The block, loaded if a failed commit left none; not for the first time inside a commit."""
        return self._block or self.load()

    @property
    def join(self) -> JoinBlock | None:
        """The block, if it is a join."""
        return self.block if isinstance(self.block, JoinBlock) else None

    @property
    def selectors(self) -> Mapping[str, Sequence[Selector]]:
        """By base table, in lower case, what tells of changed rows what it has to know of them."""
        block = self._block or self.load()
        if isinstance(block, (JoinBlock, BagBlock)):
            return block.source.selectors
        return dict.fromkeys(self.reads, ())

    def load(self) -> Block:
        """Make the block and load it from the relations below.

        Cost: of a join O(base rows) (CROWN, Theorem 6.11), of stores O(rows of the relation below).
        """
        for one in self.inputs:
            _ = one.block
        self.disturb(told=False)
        block = self._filled()
        earlier = self._earlier
        if self._done is not None:
            loaded = _work(block)
            earlier = {name: done - loaded[name] for name, done in self._done.items()}
        vars(self).update(_block=block, _held=self.plan, _earlier=earlier, _done=None)  # all at once
        return block

    def _filled(self) -> Block:
        """A new block for its plan, loaded from the relations below."""
        python_lock.give_back()
        with self.naming:
            block = self._make(self)
            if self._held is self.plan and isinstance(block, JoinBlock):
                block.fill(again=True)
            else:
                block.fill()
        return block

    def wake(self, static_change: bool) -> None:
        """Have all that the changes of a commit are joined with, before they come.

        Args:
            static_change: Whether static tables are among those that change. A join keeps nothing that only such a
                change needs; for a commit with one it is loaded anew in the form that has all, and goes back behind it.
        """
        if isinstance(self._block, BagBlock):
            self._block.wake()
        elif isinstance(self.plan, AnyJoin):
            program = self.plan.physical.form(not static_change)
            if program.digest != self.plan.physical.digest:
                self.move(replace(self.plan, physical=program), self.statistics)
            self.rests = not static_change

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of an equal node with the same layout; its inputs have theirs."""
        self._block, self._held = self._make(self), self.plan
        self._block.restore(arrays)

    def plan_anew(self, statistics: Statistics) -> None:
        """Give a join that is not loaded the plan that other statistics give it."""
        if isinstance(self.plan, AnyJoin):
            self.plan, self.statistics = self.in_form(self._replan(self.plan, statistics)), statistics

    def in_form(self, plan: AnyJoin) -> AnyJoin:
        """Another plan for the join in the form that it has now, in cells or in one piece."""
        if self.spreading is None or plan.partition is None:
            return plan
        self.spreading.plan_anew(plan.partition)
        return plan if self.cells > 1 else replace(plan, partition=None)

    def let_go(self) -> None:
        """Let the state go between two commits, to be loaded when it is needed next; the relation stays what it is."""
        if self._block is not None:
            vars(self).update(_done=self.counters(), _block=None)  # at once
        self.disturb(told=True)

    def forget(self) -> None:
        """Let the state of a commit that failed go; it is loaded when it is needed next."""
        self._block = None
        self._applied = Applied.NOTHING
        self._uncount()
        self.disturb(told=False)
        if self.adaptive is not None:
            self.adaptive.forget()

    def apply(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], received: int) -> Change | None:
        """Apply what a commit does to the relations below; what changed, None if nobody asks.

        Args:
            tables: As for `Block.changes`.
            inputs: As for `Block.changes`.
            received: The changed rows that come to it.
        """
        begin = time.perf_counter()
        block = self._block or self.load()
        before, self._size = self._size, None
        self._access = None
        self.version += 1
        self._applied = Applied.PART
        spent = clock() if self.is_timed else 0.0
        try:
            if self.watch is None:
                change = block.changes(tables, inputs, self)
            else:
                change = self._watched(tables, inputs, received)
        except LivejoinError as error:
            self.naming.name(error)
            raise
        self._applied = Applied.WHOLE
        if self.is_timed:
            self.spent = clock() - spent
            if self.spreading is not None:
                self._note(self.spreading, self.spent)
        if before is not None and change is not None and not self.passes:
            self._size = before + change.growth()
        taken = time.perf_counter() - begin
        if taken > _LONG:
            python_lock.give_back()
        self.counts.now = received, None if change is None else change.rows(), taken
        if self.adaptive is not None and (join := self.join) is not None:
            self.adaptive.note(join.source.seen, join.plan.physical.query)
        return change

    def _watched(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], received: int) -> Change | None:
        """As `Block.changes`, while somebody counts the work."""
        block, watch = self.block, self.watch
        assert watch is not None
        watch.begin(received)
        before = _work(block)
        nodes = node_work(block.join) if isinstance(block, JoinBlock) else NO_NODES
        change = block.changes(tables, inputs, self)
        work = Work.between(before, _work(block))
        if isinstance(block, JoinBlock):
            now = node_work(block.join)
            if now.shape == nodes.shape:
                work = work.at_nodes(block.plan.physical.digest, now - nodes)
        watch.note_work(work)
        return change

    def _note(self, spreading: Spreading, seconds: float) -> None:
        """Let the join's form be weighed by a commit that took so long in this thread."""
        block = self._block
        if isinstance(block, JoinBlock):
            if isinstance(block.join, CellJoin) and self.cells > 1:
                spreading.note(Spent(seconds, *block.done, block.join.spent()))
            elif seconds < HANDED_OVER:
                spreading.note_small()
            else:
                spreading.note(Spent(seconds, *block.done, None))

    @property
    def is_torn(self) -> bool:
        """Whether a commit was cut off inside the block, so that its state is of no use."""
        return self._applied is Applied.PART

    def finish(self) -> None:
        """End a commit for good; may be called again."""
        if self._applied is not Applied.NOTHING:
            (self._block or self.load()).finish()
            self.counts.settle()
            if self.watch is not None:
                self.watch.settle()
            self._applied = Applied.NOTHING

    def undo(self) -> None:
        """Take back what the commit has applied here, whole; the relations below are still changed."""
        self._uncount()
        if self._applied is Applied.WHOLE:
            self._applied = Applied.PART  # until it is done: what is cut off here is torn
            self.disturb(told=False)
            if self.adaptive is not None:
                self.adaptive.forget()
            self.block.undo()
            self._applied = Applied.NOTHING

    def _uncount(self) -> None:
        """Forget the counts of a commit that does not stand."""
        self.counts.now = None
        if self.watch is not None:
            self.watch.drop()

    def disturb(self, told: bool) -> None:
        """Take note that a relation below has changed though the block had nothing to apply.

        Args:
            told: Whether it is known that no row changed; else nobody asked for the changes.
        """
        self._access = None
        self.version += 1
        if not told:
            self._size = None

    def move(self, plan: AnyJoin, statistics: Statistics) -> None:
        """Go on with another plan for the same join, between two commits; as it was if that fails."""
        join = self.join
        assert join is not None
        done = join.join.counters()
        other = copy(self)
        other.plan = plan
        block = other._filled()
        assert isinstance(block, JoinBlock)
        loaded = block.join.counters()
        earlier = {name: self._earlier.get(name, 0) + done[name] - loaded[name] for name in done}
        self.disturb(told=False)
        vars(self).update(plan=plan, _held=plan, statistics=statistics, _block=block, _earlier=earlier)  # all at once

    def counters(self) -> dict[str, int]:
        """Work done so far by a join or a bag; nothing of other blocks."""
        return {name: value + self._earlier.get(name, 0) for name, value in _work(self.block).items()}

    @property
    def registered(self) -> int:
        """Atom rows in the state of a join or a bag; none in other blocks."""
        block = self.block
        return block.join.registered if isinstance(block, (JoinBlock, BagBlock)) else 0

    @property
    def cells(self) -> int:
        """The cells that it is split into."""
        return self.plan.cells

    def scan(self, capacity: int) -> Batches:
        """As `InputRelation.scan`."""
        return self.block.scan(capacity)

    def combinations(self, capacity: int) -> Batches:
        """As `InputRelation.combinations`."""
        return self.block.combinations(capacity)

    def size(self) -> int | float:
        """As `InputRelation.size`.

        Cost: O(1) if it was asked since the last change, or since deltas are enumerated; else as of the block.
        """
        if self.passes:
            return 0
        if self._size is None:
            size = self.block.size()
            if isinstance(size, float):
                return size
            self._size = size
        return self._size

    def known_size(self) -> int | float | None:
        """As `size`, where that is known, or told by the state; None where many rows would be gone through for it."""
        if self._size is not None or self.passes:
            return self._size or 0
        if isinstance(self.plan, ProjectOperator):
            below = self.inputs[0].known_size()
            if below is None or (self.plan.predicate is not None and below > _MANY):
                return None
        elif isinstance(self.block, UnionBlock) and any(one.known_size() is None for one in self.inputs):
            return None
        return self.size()

    def access(self) -> Access:
        """As `InputRelation.access`."""
        if self._access is None:
            self._access = self.block.access()
        return self._access

    def stored(self) -> DerivedRows:
        """As `InputRelation.stored`."""
        block = self.block
        assert isinstance(block, (StoredBlock, BagBlock))
        return block.rows

    def _check(self) -> None:
        """Assert all invariants of the state; for tests."""
        if self._block is not None:
            assert self._size is None or self._size == self._block.size(), "the size that deltas keep up to date"
            self._block._check()


def _work(block: Block) -> dict[str, int]:
    """Work done by the join or the bag that a block is; nothing of other blocks."""
    if isinstance(block, BagBlock):
        return block.counters()
    return block.join.counters() if isinstance(block, JoinBlock) else {}
