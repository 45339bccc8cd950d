"""Physical plans: where everything lies, as one array of 64-bit words for the kernels.

The plan is derived from the query and the tree alone, so it is never stored with the state: the same query gives the
same plan again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from livejoin.families.crown.enumeration import enumeration_steps
from livejoin.families.crown.footprint import index_bytes, record_bytes
from livejoin.families.crown.join import CrownJoin
from livejoin.families.crown.nodes import made_above, node_figures
from livejoin.families.crown.structure import PlanNode
from livejoin.families.join_trees import tree_line, tree_work
from livejoin.families.layout.table_use import TableUse
from livejoin.families.nodes import MadeRelation, NodeFigures
from livejoin.families.outline import atom_outlines
from livejoin.families.program import TableBytes, WordProgram, digest_of
from livejoin.kernels.crown import layout as u
from livejoin.kernels.crown.ahead import AHEAD_WORDS
from livejoin.query import ConjunctiveQuery
from livejoin.search.problem import passing_shares, problem_of
from livejoin.search.statistics import Statistics
from livejoin.state.budget import Budget
from livejoin.theory.trees.join_tree import JoinTree


@dataclass(frozen=True, eq=False)
class CrownPlan(WordProgram):
    """A query, its tree and the words that the kernels read.

    Args:
        query: The query.
        tree: A generalized join tree of it.
        live: Whether live views are kept, which delta enumeration needs.
        words: The plan, int64; see `livejoin.kernels.crown.layout`.
        nodes: The nodes that are kept: the tree's and projections.
        tables: The base tables in the order of the plan's table descriptors.
        header_words: Words of the arena's header, directories and tables included.
        directories: References of the directory headers in the arena.
        node_offsets: Offset of each node's descriptor in ``words``.
        work_at: Offset in the header of what is counted at each node, `livejoin.kernels.crown.layout.WORK` words each.
        null_words: Words of the header that hold NULL rows, by their offset.
        form: Lays the same tree out for static tables that rest, or for those that change.
    """

    query: ConjunctiveQuery
    tree: JoinTree
    live: bool
    words: np.ndarray
    nodes: tuple[PlanNode, ...]
    tables: tuple[TableUse, ...]
    header_words: int
    directories: tuple[int, ...]
    node_offsets: tuple[int, ...]
    work_at: int
    null_words: Mapping[int, int]
    form: Callable[[bool], CrownPlan]

    @property
    def load_order(self) -> range:
        return range(len(self.tables))

    @property
    def digest(self) -> str:
        """A fingerprint of the layout: states of plans with equal digests are interchangeable."""
        return digest_of(self.words, u.STATE_FORMAT)

    def is_silent(self, position: int) -> bool:
        """Whether a node is below a quiet edge, so that nobody asks which of its rows are live."""
        at: int | None = position
        while at is not None and not self.nodes[at].quiet:
            at = self.nodes[at].parent
        return at is not None

    @property
    def height(self) -> int:
        """Height of the tree."""
        return self.tree.height

    @property
    def cursor_words(self) -> int:
        """Words of an enumeration's cursor, and of what is read ahead behind it."""
        return u.CURSOR_HEADER + (len(self.nodes) + 1) * int(self.words[u.P_LEVEL]) + AHEAD_WORDS

    def open(self, budget: Budget | None = None) -> CrownJoin:
        """An empty join."""
        return CrownJoin(self, budget)

    @property
    def line(self) -> str:
        """The tree on one line, with aliases for atoms."""
        return tree_line(self.tree, atom_outlines(self.query))

    def predicted_work(self, known: Statistics) -> float:
        """Rows that all expected changes are predicted to visit; as `livejoin.families.program.Program`."""
        return tree_work(self.query, self.tree, known)

    def node_figures(self, known: Statistics) -> tuple[NodeFigures, ...]:
        """As `livejoin.families.nodes.TellsOfNodes.node_figures`."""
        return node_figures(self.query, self.nodes, self.tables, known)

    def made_above(self) -> Mapping[int, MadeRelation]:
        """As `livejoin.families.nodes.MakesRelations.made_above`."""
        return made_above(self.nodes)

    def read_order(self, start: int) -> tuple[int, ...]:
        """As `livejoin.families.nodes.ReadsInOrder.read_order`."""
        begin = next(place for place, node in enumerate(self.nodes) if node.atom == start)
        order, _ = enumeration_steps(self.query, self.nodes, begin)
        return tuple(atom for place in order[1:] if place is not None and (atom := self.nodes[place].atom) is not None)

    def footprint(self, known: Statistics) -> tuple[TableBytes, ...]:
        """Predicted bytes of a row of each table; see `livejoin.families.crown.footprint`."""
        problem = problem_of(self.query, known, self.query.free)
        passing = passing_shares(self.query, known)
        listed = {node.atom for node in self.nodes if node.connex and node.atom is not None}
        indexes = index_bytes(self.query, self.tree, problem, passing, listed)
        return tuple(TableBytes(use, record_bytes(use), indexes[use.name]) for use in self.tables)
