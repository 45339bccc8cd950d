"""What a join tells of the nodes of its tree: what is expected of each, and what was counted there.

A family whose plans are no trees tells nothing, and has none of these methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from livejoin.search.statistics import Statistics
from livejoin.words import Words

ENTERED, LEFT, STOPPED, TOUCHED, READ = range(5)
"""Lines of what is counted at nodes: rows that entered ``V_s`` of the node, that left it, those among both that changed
nothing further up, those whose counters changed as something below did, and those that were read for deltas."""
COUNTED = 5


@dataclass(frozen=True)
class NodeFigures:
    """A node of a plan, and what is expected of it.

    Args:
        label: The alias of its atom, or the variables of a relation that the plan makes, in brackets.
        atom: Position of the atom; None for a relation that the plan makes.
        depth: Nodes above it.
        rows: Rows that it has at most, those of its table that fit; None if that is unknown.
        reached: Rows that all expected changes are predicted to bring into ``V_s`` or to take out of it.
        bytes: Bytes that are predicted for its records and for the index above it; None if that is unknown.
    """

    label: str
    atom: int | None
    depth: int
    rows: float | None
    reached: float
    bytes: float | None


@dataclass(frozen=True)
class MadeRelation:
    """A relation that a plan makes of the different values that rows below have.

    Args:
        variables: The variables that its rows have.
        below: Positions of the atoms below it.
    """

    variables: frozenset[str]
    below: frozenset[int]


@runtime_checkable
class MakesRelations(Protocol):
    """A program whose plan has relations that it makes."""

    def made_above(self) -> Mapping[int, MadeRelation]:
        """The relation right above each atom that has one; O(nodes squared).

        A change that comes from elsewhere reads its rows in place of the atom's, if it has all that is asked for.
        """


@runtime_checkable
class ReadsInOrder(Protocol):
    """A program that reads results atom by atom, each for every combination of rows of those before it."""

    def read_order(self, start: int) -> tuple[int, ...]:
        """The atoms that are read behind a row of one atom, in their order; O(nodes squared).

        Args:
            start: Position of that atom.
        """


@dataclass(frozen=True)
class LinkedRows:
    """What a plan reads in which each row is linked to the rows of the keys that it has.

    Args:
        root: The atom from whose row on results are read.
        children: For each atom those whose keys its rows have: a row that comes or leaves looks these up.
        read: The atoms whose rows are read for results.
    """

    root: int
    children: tuple[frozenset[int], ...]
    read: frozenset[int]

    def leads(self, above: int, below: int) -> bool:
        """Whether rows of one atom lead to rows of another one."""
        return any(child == below or self.leads(child, below) for child in self.children[above])


@runtime_checkable
class LinksRows(Protocol):
    """A program whose plan links rows by their keys."""

    def linked_rows(self) -> LinkedRows:
        """What it reads; O(edges)."""


@runtime_checkable
class TellsOfNodes(Protocol):
    """A program whose plan is a tree."""

    def node_figures(self, known: Statistics) -> Sequence[NodeFigures]:
        """The nodes in preorder; O(nodes).

        Args:
            known: The known figures of the tables; ``changes`` is how many are expected.
        """


@runtime_checkable
class CountsNodes(Protocol):
    """A join that counts at the nodes of its tree."""

    def node_work(self) -> Words:
        """What was counted so far: int64 of shape (COUNTED, nodes), the nodes in preorder. Cost: O(nodes)."""

    def node_bytes(self) -> Words:
        """The bytes of the records of each node's table, at its first node, and of the index above it; O(keys)."""


NO_NODES: Words = np.zeros((COUNTED, 0), np.int64)


def node_work(join: object) -> Words:
    """What a join has counted at its nodes; of no node where it counts none."""
    return join.node_work() if isinstance(join, CountsNodes) else NO_NODES


def node_bytes(join: object) -> Words:
    """The bytes of each node of a join; of no node where it does not tell."""
    return join.node_bytes() if isinstance(join, CountsNodes) else NO_NODES[0]
