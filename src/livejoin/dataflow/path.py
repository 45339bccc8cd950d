"""The path of a commit: what the changes of some tables go through, found once for each set of tables.

Law: the path of a set of tables has each block that a change of one of them may reach, behind those that it reads. It
holds until blocks or views come or go; what a block's state is does not matter to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from livejoin.dataflow.blocks.block import Change
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.node import Node
from livejoin.plan.operators import AnyJoin, BagOperator


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A block on the path.

    Args:
        node: The block among the others.
        tables: The tables of the path that it reads itself, by name in lower case.
        inputs: The blocks on the path that it reads, each with its position among all that it reads.
    """

    node: Node
    tables: tuple[str, ...]
    inputs: tuple[tuple[int, Node], ...]


@dataclass(frozen=True, eq=False, slots=True)
class Path:
    """The blocks that changes of some tables may reach.

    Args:
        steps: The blocks in topological order.
        nodes: The same, without what they read.
        joins: The nodes of them that are joins, which may take other forms between two commits.
    """

    steps: tuple[Step, ...]
    nodes: tuple[Node, ...]
    joins: tuple[Node, ...]


def path_of(nodes: Sequence[Node], tables: Sequence[str]) -> Path:
    """The path of commits that change some tables; tells its blocks what their readers want of them.

    Args:
        nodes: All blocks, in topological order.
        tables: The names of the tables, in lower case.
    """
    steps: dict[Node, Step] = {}
    for node in nodes:
        read = tuple(name for name in tables if name in node.reads)
        inputs = tuple((place, one) for place, one in enumerate(node.inputs) if one in steps)
        if read or inputs:
            steps[node] = Step(node, read, inputs)
    for node in reversed(steps):  # those that read it are on the path too
        node.note_readers()
    joins = tuple(node for node in steps if isinstance(node.plan, (AnyJoin, BagOperator)))
    return Path(tuple(steps.values()), tuple(steps), joins)


class Passing:
    """A commit on its way along its path; mutable. Blocks that do not read each other may be applied side by side.

    Args:
        tables: The changes of base tables by their names in lower case.
        told: The names of views that have subscribers, in lower case.

    Attributes:
        changes: The changes of the blocks so far, for those that were asked.
    """

    def __init__(self, tables: Mapping[str, TableChange], told: Collection[str]) -> None:
        self.changes: dict[Node, Change] = {}
        self._rows: dict[Node, int] = {}  # of these changes
        self._tables = tables
        self._told = told
        self._disturbed: dict[Node, bool] = {}  # whether it is told what changed

    def apply(self, step: Step) -> None:
        """Bring what changed below a block into it."""
        node, tables, disturbed = step.node, self._tables, self._disturbed
        received, comes = 0, False
        for name in step.tables:
            if (given := tables.get(name)) is not None:
                received, comes = received + given.staged.rows.shape[0], True
        inputs: dict[int, Change] = {}
        for place, one in step.inputs:
            if (below := self.changes.get(one)) is not None:
                inputs[place] = below
                received, comes = received + self._rows[one], True
        if comes:
            if self._told or node.told:
                node.told = any(view.lower() in self._told for view in node.shown_by)
            change = node.apply(tables, inputs, received)
            disturbed[node] = change is not None
            if change is not None and (rows := node.counts.passed_on):
                self.changes[node], self._rows[node] = change, rows
        elif any(one in disturbed for _, one in step.inputs):
            disturbed[node] = all(disturbed.get(one, True) for _, one in step.inputs)
            node.disturb(told=disturbed[node])
