"""Predicted bytes of state a base row, from the layout of a plan.

A base row has one record for all atoms over its table, whose words the plan fixes. For each atom it stands in one
block of the directory of each edge at the atom, among the rows with the same key; outside of the connex subtree only of
the edges below, and of none below which all tables are static. A directory has an entry and some
hash slots a key; each of its two sides (or each child of a generalized relation) is counted with an equal share of
them. Blocks are powers of two (`livejoin.kernels.memory.blocks`), slots are kept between three eighths and three
quarters full (`livejoin.kernels.memory.directory`); means are taken for both.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from livejoin.families.layout.annotation import annotation_widths
from livejoin.families.layout.table_use import TableUse
from livejoin.kernels.crown import layout as u
from livejoin.query import ConjunctiveQuery
from livejoin.search.problem import Problem
from livejoin.search.spread import dynamic_below
from livejoin.theory.trees.join_tree import JoinTree
from livejoin.words import WORD_BYTES

_SLOTS = 1.8  # hash slots an entry: between 4/3 and 8/3
_SPARE = 4 / 3  # words of a block a row, where several rows share a key: between 1 and 2


def record_bytes(use: TableUse) -> int:
    """Bytes of a row's record."""
    return use.stride * WORD_BYTES


def index_bytes(
    query: ConjunctiveQuery, tree: JoinTree, problem: Problem, passing: Sequence[float], listed: Collection[int]
) -> dict[str, float]:
    """Predicted bytes of a row's share of the directories, for each table. Cost: O(nodes).

    Args:
        query: The query.
        tree: The tree that maintains it.
        problem: The known facts about the atoms' join keys.
        passing: The share of the rows that take part in each atom; the others have no place in its directories.
        listed: The atoms whose rows stand in the block of their slot: those of the connex subtree.
    """
    annotation = sum(annotation_widths(query))
    found = dict.fromkeys((atom.table.name for atom in query.atoms), 0.0)
    for position, node in enumerate(tree.nodes):
        if node.atom is not None:
            words = _words(tree, position, problem, node.atom in listed, annotation)
            found[query.atoms[node.atom].table.name] += WORD_BYTES * passing[node.atom] * words
    return found


def _words(tree: JoinTree, position: int, problem: Problem, is_listed: bool, annotation: int) -> float:
    """Words that a row of an atom's node has in directories, where an annotation has so many."""
    node = tree.nodes[position]
    assert node.atom is not None
    changing = dynamic_below(tree, problem)
    entry = partial(_entry, tree, annotation)
    total = 1.0 if node.parent is None else 0.0  # a root stands in one block of all rows
    if node.parent is not None:
        sharing = problem.fanout(node.atom, frozenset(node.key))
        total += (_in_block(sharing) if is_listed else 0.0) + entry(position) / sharing
    for child in node.children:
        sharing = problem.fanout(node.atom, frozenset(tree.nodes[child].parent_key))
        total += (_in_block(sharing) if changing[child] else 0.0) + entry(child) / sharing
    return total


def _entry(tree: JoinTree, annotation: int, child: int) -> float:
    """Words of an entry of the directory above a node, and its hash slots, for one side of the edge."""
    parent = tree.nodes[child].parent
    assert parent is not None
    above = tree.nodes[parent]
    width = len(tree.nodes[child].key)
    if above.atom is not None:
        if child not in tree.connex:  # its annotation, if that does not fit the slot, and what waits there
            width += annotation * (1 + (annotation > 1))
        return (u.E_KEY + width + _SLOTS) / 2
    # The entry is a row of the generalized relation, which has a place in the block above it.
    return (u.SLOT * len(above.children) + 2 + width + _SLOTS + _SPARE) / len(above.children)


def _in_block(sharing: float) -> float:
    return 1.0 if sharing <= 1 else _SPARE
