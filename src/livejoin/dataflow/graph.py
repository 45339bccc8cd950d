"""One graph of blocks for all views of a database.

The nodes stand in topological order: a block is made after those that it reads. A commit goes through them once, and a
block runs only if a relation that it reads changed. Equal blocks over equal inputs are one (`livejoin.plan.identity`),
so that two views, two WITH references or a view and its reader share what they have in common. What a join reads of
derived relations is stored with stable ids.

Laws: after `apply` and `finish` every relation is its query over the tables as they are; after `undo` it is what it was
before the commit. `finish` and `undo` may be cut off and called again. Undoing costs what the commit did: each block
takes its part back by the inverse. A block that was cut off inside is thrown away and loaded anew when it is needed
next, and so is one that knows ids of rows of such a block.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Container, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import assert_never

from livejoin.dataflow.blocks.bag import BagBlock
from livejoin.dataflow.blocks.block import Block, Change
from livejoin.dataflow.blocks.join import JoinBlock
from livejoin.dataflow.blocks.numbers import NumbersBlock
from livejoin.dataflow.blocks.project import ProjectBlock
from livejoin.dataflow.blocks.repeated import RepeatedBlock
from livejoin.dataflow.blocks.selected import SelectedBlock
from livejoin.dataflow.blocks.store import StoreBlock
from livejoin.dataflow.blocks.stored import StoredBlock
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.blocks.union import UnionBlock
from livejoin.dataflow.counts import Passed
from livejoin.dataflow.kernels_ahead import kernels_of
from livejoin.dataflow.measured import evaluating, samples
from livejoin.dataflow.moving.adaptive import Adaptive, surroundings
from livejoin.dataflow.moving.forms import reform
from livejoin.dataflow.moving.spreading import Spreading, whole_at_first
from livejoin.dataflow.node import Node
from livejoin.dataflow.path import Passing, Path, path_of
from livejoin.dataflow.selection import Selection, Selector
from livejoin.dataflow.static_rows import kept_of_tables
from livejoin.dataflow.trusted import keeper_of, passed
from livejoin.errors import LivejoinError
from livejoin.families.cells.task_runner import LEAST_SECONDS
from livejoin.families.cells.workers import Workers
from livejoin.handlers import raised_by_handler
from livejoin.kernels.ahead import want
from livejoin.plan.explain.describing.query import Present
from livejoin.plan.operators import (
    AggregateOperator,
    AnnotatedOperator,
    AnyJoin,
    AsOfOperator,
    BagOperator,
    InequalityAggregateOperator,
    InequalityJoinOperator,
    JoinOperator,
    NumbersOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RepeatedOperator,
    RunningOperator,
    SelectedOperator,
    SetOperator,
    StoredOperator,
    ThresholdAggregateOperator,
    ThresholdOperator,
    TopKOperator,
)
from livejoin.plan.query_plan import plan_join
from livejoin.query.bound_query import Query
from livejoin.search.algorithm import Algorithm
from livejoin.search.statistics import Statistics
from livejoin.state.codec import Codec
from livejoin.state.scratch import Scratch
from livejoin.state.table import BaseTable
from livejoin.state.trusted_table import TrustedTable
from livejoin.words import Words

_PATHS = 1024  # sets of tables of which it is remembered what they reach

ROW_BYTES = 8
"""Of what has become sparse, that pay for loading one row anew of a block that knows its ids: less is not worth it."""


@dataclass(frozen=True)
class Choices:
    """How the joins of a query are maintained.

    Args:
        algorithm: The algorithm that was asked for.
        adaptive: Whether they may move to other plans.
        statistics: The statistics by which the plans were chosen.
        view: The view that the query is of; what moves a join calls it so.
    """

    algorithm: Algorithm
    adaptive: bool
    statistics: Statistics
    view: str = ""


def selections(readers: Iterable[Node], table: str, words: Words, is_whole: bool = False) -> dict[Selector, Selection]:
    """What each join that reads a table has to know of changed rows.

    Args:
        readers: The nodes that read the table themselves.
        table: The table, in lower case.
        words: As for `Graph.select`.
        is_whole: As there.

    Raises:
        ExpressionError: A predicate or a factor has no value for some row.
    """
    found: dict[Selector, Selection] = {}
    for node in readers:
        try:
            for selector in node.selectors[table]:
                found[selector] = selector.select(words, is_whole)
        except LivejoinError as error:
            node.naming.name(error)
            raise
    return found


class Graph:
    """All blocks of a database; mutable.

    Args:
        tables: The base tables by name in lower case.
        codec: The database's codec.
        workers: The database's threads.
        scratch: Where deltas of views are written that take too much memory; None if all are to be in memory.

    Attributes:
        nodes: The nodes in topological order.
        tables: As given.
        codec: The database's codec.
        scratch: As given.
        epoch: Another number when blocks or views have come or gone, so that commits may have other paths.
    """

    def __init__(
        self, tables: Mapping[str, BaseTable], codec: Codec, workers: Workers, scratch: Scratch | None = None
    ) -> None:
        self.nodes: list[Node] = []
        self.tables = tables
        self.codec = codec
        self.scratch = scratch
        self.epoch = 0
        self._workers = workers
        self._known: dict[Hashable, Node] = {}
        self._paths: dict[tuple[str, ...], Path] = {}  # that `path` has found
        self._applying: tuple[Node, ...] = ()
        self._limits: dict[str, int] = {}  # on the rows of static bags, by the names of the views that read them

    @property
    def threads(self) -> int:
        """The database's threads."""
        return self._workers.threads

    def add(self, plan: Operator, choices: Choices) -> Node:
        """The node of an operator: one that is there if it is equal, else a new one without a state.

        Args:
            plan: The operator, with all below it.
            choices: How its joins are maintained.
        """
        inputs = [self.add(one, choices) for one in plan.below]
        said = plan.identity(choices.algorithm, choices.adaptive)
        live = not isinstance(plan, AnyJoin) or plan.physical.live
        for key in ((said, True, *inputs), (said, live, *inputs)):
            if (known := self._known.get(key)) is not None:
                return known
        text = repr((said, live, *(one.digest for one in inputs)))
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        replan = partial(self._replanned, choices.algorithm)
        spreading = None
        if whole_at_first() and isinstance(plan, AnyJoin) and plan.partition is not None:
            spreading = Spreading(plan.partition, plan.physical.query)
            plan = replace(plan, partition=None)
        node = Node(digest, plan, inputs, self._block, replan, choices.algorithm, choices.statistics)
        node.spreading, node.is_timed = spreading, self.threads > 1
        node.passes = bool(passed(plan, self.tables))
        for one in inputs:
            one.readers.append(node)
        if choices.adaptive and isinstance(plan, AnyJoin):
            node.adaptive = Adaptive(choices.view, surroundings(node, self.tables, replan), choices.statistics)
        want(kernels_of(plan))
        self._known[key] = node
        self.nodes.append(node)
        self._forget_paths()
        return node

    def show(self, node: Node, view: str, deltas: bool, limit: int | None = None) -> None:
        """Let a node be a view; the static bags below it may have so many rows from now on."""
        node.shown_by[view] = deltas
        self._forget_paths()
        if limit is not None:
            self._limits[view] = limit
            for one in self.below(node):
                if one.is_loaded and isinstance(one.block, BagBlock):
                    with one.naming:
                        one.block.check_limit()

    def _limit(self, bag: Node) -> tuple[int, str] | None:
        """The most rows that a static bag may have, if a view says so, and that view."""
        return min(((self._limits[view], view) for view in bag.views() if view in self._limits), default=None)

    def keep(self, shown: Iterable[tuple[str, Node, bool]]) -> None:
        """Be what the views make of it: every block that none of them needs goes. May be cut off and called again.

        Args:
            shown: Each view's name, its node, and whether it wants deltas.
        """
        views: dict[Node, dict[str, bool]] = {}
        for name, node, deltas in shown:
            views.setdefault(node, {})[name] = deltas
        names = {name for of_node in views.values() for name in of_node}
        self._limits = {name: limit for name, limit in self._limits.items() if name in names}
        needed = {one for node in views for one in self.below(node)}
        nodes = [node for node in self.nodes if node in needed]
        for node in self.nodes:
            node.shown_by = views.get(node, {})
            node.readers = []
        for node in nodes:
            for one in node.inputs:
                one.readers.append(node)
        self._known = {key: node for key, node in self._known.items() if node in needed}
        self.nodes = nodes
        self._forget_paths()

    def below(self, node: Node) -> list[Node]:
        """A node and all that it reads, at any depth, in topological order."""
        found: set[Node] = set()

        def collect(one: Node) -> None:
            if one not in found:
                found.add(one)
                for other in one.inputs:
                    collect(other)

        collect(node)
        return [one for one in self.nodes if one in found]

    def counted(self, node: Node) -> dict[Node, Passed]:
        """The counts of a node and all that it reads."""
        return {one: one.counts.total for one in self.below(node)}

    def tables_below(self, node: Node) -> set[str]:
        """The base tables that a node reads at any depth, by name in lower case."""
        return {name for one in self.below(node) for name in one.reads}

    def reading(self, tables: Container[str]) -> list[Node]:
        """The nodes that read some of the base tables, given by name in lower case, and so know ids of their rows."""
        return [node for node in self.nodes if any(name in tables for name in node.reads)]

    def let_go(self, chosen: Collection[Node]) -> None:
        """Between two commits: let states go, to be loaded when they are needed next, and those that know their ids.

        May be cut off, and called again: a block goes before those whose ids it knows. The relations stay what they
        are; only the order in which they are read may be another one, of those above too.
        """
        gone: set[Node] = set()
        above: set[Node] = set()
        for node in self.nodes:
            if node in chosen or (node.knows_ids and any(one in gone for one in node.inputs)):
                gone.add(node)
            elif any(one in gone or one in above for one in node.inputs):
                above.add(node)
        for node in reversed(self.nodes):
            if node in gone:
                node.let_go()
            elif node in above:
                node.disturb(told=True)

    def shrink(self) -> None:
        """Between two commits: let states go that hold so little that loading them anew pays."""
        sparse = [node for node in self.nodes if node.is_loaded and node.block.is_sparse() and self._pays(node)]
        if sparse:
            self.let_go(sparse)

    def _forget_paths(self) -> None:
        """Let paths be found anew: blocks or views have come or gone."""
        self._paths = {}
        self.epoch += 1

    def path(self, tables: tuple[str, ...]) -> Path:
        """The path of commits that change some base tables.

        Args:
            tables: The names of the base tables, in lower case.

        Cost: O(1), but O(blocks) for the first commit of these tables since blocks or views came or went.
        """
        found = self._paths.get(tables)
        if found is None:
            if len(self._paths) >= _PATHS:
                self._paths = {}
            found = self._paths[tables] = path_of(self.nodes, tables)
        return found

    def reached(self, tables: Iterable[str]) -> tuple[Node, ...]:
        """The nodes that a change of some base tables may reach, in topological order; as `path`."""
        return self.path(tuple(tables)).nodes

    def prepare(self, path: Path, static_change: bool = False) -> None:
        """Before the tables of a commit are staged: load what has no state, move what moves, to other plans or cells.

        For the time of a move both states are there; a join for which there is no room stays as it is.

        Args:
            path: The blocks that the changes of the commit go through.
            static_change: Whether it changes static tables.
        """
        for node in path.nodes:
            if node._block is None:
                node.load()
        for node in path.joins:
            if node.adaptive is not None and self.codec.budget.has_room(2 * node.nbytes):
                assert isinstance(node.plan, AnyJoin)
                node.adaptive.reconsider(node.plan)
            reform(node)
            if static_change:
                node.wake(static_change)

    def rest(self) -> None:
        """Behind a commit that changed static tables: let joins forget again what only such a change needs.

        One for which there is no memory twice keeps it, and so do those that are left when this is cut off.
        """
        for node in self.nodes:
            if not node.rests and node.is_loaded and self.codec.budget.has_room(2 * node.nbytes):
                with suppress(MemoryError):
                    node.wake(static_change=False)

    def select(self, table: str, words: Words, is_whole: bool = False) -> dict[Selector, Selection]:
        """What each join that reads a table has to know of changed rows.

        Args:
            table: The table, in lower case.
            words: The words of the rows.
            is_whole: Whether it is known that there is no NULL among them.

        Raises:
            ExpressionError: A predicate or a factor has no value for some row.
        """
        readers = [node for node in self.reached((table,)) if table in node.reads]
        return selections(readers, table, words, is_whole)

    def apply(
        self, tables: Mapping[str, TableChange], path: Path | None = None, told: Collection[str] = ()
    ) -> dict[Node, Change]:
        """Bring staged changes of base tables into all blocks; what changed, of those that were asked.

        Args:
            tables: The changes by the tables' names in lower case.
            path: The path of these tables; None to find it.
            told: The names of views that have subscribers, in lower case.
        """
        if path is None:
            path = self.path(tuple(tables))
        commit = Passing(tables, told)
        self._applying = path.nodes
        if self.threads == 1 or len(self._applying) == 1:
            for step in path.steps:
                commit.apply(step)
        else:
            events = sum(change.staged.rows.shape[0] for change in tables.values())
            self._apply_side_by_side(path, commit, events)
        return commit.changes

    def _apply_side_by_side(self, path: Path, commit: Passing, events: int) -> None:
        """Bring a commit of so many changes into the blocks, those that do not read each other by several threads.

        One that is in cells has all threads for itself.
        """
        for _, depth in groupby(sorted(path.steps, key=lambda step: step.node.depth), lambda step: step.node.depth):
            steps = list(depth)
            alone = sorted((step for step in steps if step.node.cells == 1), key=lambda step: -step.node.pace)
            if events * sum(step.node.pace for step in alone[1:]) >= LEAST_SECONDS:
                self._workers.run([partial(commit.apply, step) for step in alone])
                steps = [step for step in steps if step.node.cells > 1]
            for step in steps:
                commit.apply(step)
        for node in self._applying:
            if node.spent and events:
                node.pace, node.spent = (node.pace + node.spent / events) / 2, 0.0

    def slowest(self) -> tuple[Node, float] | None:
        """The block in which the commit under way took longest, and its seconds; None where it reached no block."""
        found: tuple[Node, float] | None = None
        for node in self._applying:
            now = node.counts.now
            if now is not None and (found is None or now[2] > found[1]):
                found = node, now[2]
        return found

    def finish(self) -> None:
        """End a commit for good; the tables are still as it staged them."""
        for node in self._applying:
            node.finish()
        self._applying = ()

    def undo(self) -> None:
        """Take back the last `apply`, whole or begun; the tables are still as it staged them."""
        lost: set[Node] = set()
        above: set[Node] = set()
        for node in self.nodes:
            if node.is_torn or (node.knows_ids and any(one in lost for one in node.inputs)):
                lost.add(node)
            elif any(one in lost or one in above for one in node.inputs):
                above.add(node)
                node.disturb(told=False)  # what it reads its rows by is a block that goes
        failed = False
        for node in reversed(self.nodes):  # a block reads the rows of those below it as the commit left them
            if node in lost:
                node.forget()
                continue
            try:
                node.undo()
            except Exception as error:
                if raised_by_handler(error):
                    raise  # the next call goes on with it
                failed = True  # for lack of memory, say: it is torn now
        if failed:
            self.undo()

    def keepers(self, table: TrustedTable) -> list[Node]:
        """The blocks that keep all that is left of the rows of a table."""
        found = ((node, keeper_of(node.plan, self.tables, node.digest)) for node in self.nodes)
        return [node for node, keeper in found if keeper is not None and keeper.table is table]

    def _pays(self, node: Node) -> bool:
        """Whether a block is so large that loading it anew pays for loading those anew that know its ids."""
        return bool(node.block.sizes()[1] >= ROW_BYTES * sum(one.registered for one in node.readers if one.knows_ids))

    def _replanned(self, algorithm: Algorithm, leaf: AnyJoin, statistics: Statistics) -> AnyJoin:
        """A join with the plan that other statistics give it."""
        return plan_join(leaf, statistics, leaf.physical.live, algorithm, self.threads)

    def kept_static(self, leaf: AnyJoin) -> Mapping[str, int]:
        """As `livejoin.dataflow.static_rows.kept_of_tables`, of a join that is in the graph or could be."""
        return kept_of_tables(leaf, self.tables, self.codec)

    def present(self, query: Query) -> Present:
        """The rows that are there, for the explanation of a query."""
        return Present(self.kept_static, samples(query, self.tables, self.codec), evaluate=evaluating(self.codec))

    def _block(self, node: Node) -> Block:
        """An empty block for a node."""
        plan = node.plan
        match plan:
            case JoinOperator() | AnnotatedOperator():
                return JoinBlock(plan, self.tables, node.inputs, self.codec, self._workers, self.scratch)
            case SelectedOperator():
                return SelectedBlock(plan, self.tables, node.inputs, self.codec)
            case NumbersOperator():
                return NumbersBlock(plan, self.codec)
            case RepeatedOperator():
                return RepeatedBlock(plan, node.inputs[0], self.codec)
            case ProjectOperator():
                return ProjectBlock(plan, node.inputs[0], self.codec)
            case SetOperator() if plan.is_union_all:
                return UnionBlock(node.inputs)
            case SetOperator() | AggregateOperator() | TopKOperator() | RankedOperator() | RunningOperator():
                return StoreBlock(plan, node.inputs, self.codec, keeper_of(plan, self.tables, node.digest))
            case ThresholdOperator() | ThresholdAggregateOperator() | AsOfOperator():
                return StoreBlock(plan, node.inputs, self.codec)
            case InequalityAggregateOperator() | InequalityJoinOperator():
                return StoreBlock(plan, node.inputs, self.codec)
            case BagOperator():
                limit = partial(self._limit, node)
                return BagBlock(plan, self.tables, node.inputs, self.codec, self._workers, limit)
            case StoredOperator():
                return StoredBlock(node.inputs[0], plan.name, self.codec, keeper_of(plan, self.tables, node.digest))
            case _:
                assert_never(plan)

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        seen: set[Node] = set()
        for node in self.nodes:
            assert all(one in seen for one in node.inputs), "a block stands after those that it reads"
            assert node.readers or node.shown_by, "every block has a reader"
            assert len(node.readers) == sum(other.inputs.count(node) for other in self.nodes), "readers"
            seen.add(node)
            node._check()
