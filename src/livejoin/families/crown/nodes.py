"""What is expected of each node of a join tree, and the bytes that it has.

The rows that reach a node are predicted as `livejoin.search.cost.propagation` predicts their sum: a row that enters or
leaves ``V_s`` of a child goes up if it is the only one with its key, and then reaches the parent's rows with this key.
Bytes of an index stand at the node below its edge, those of a relation that the plan makes at this, and those of
records at the first node over their table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from livejoin.families.arena.words_held import block_words, directory_words, entries, record_words
from livejoin.families.crown.roles import roles
from livejoin.families.crown.structure import PlanNode
from livejoin.families.layout.annotation import annotation_widths
from livejoin.families.layout.table_use import TableUse
from livejoin.families.nodes import MadeRelation, NodeFigures
from livejoin.kernels.crown import layout as u
from livejoin.query import ConjunctiveQuery
from livejoin.search.problem import Problem, passing_shares, problem_of
from livejoin.search.statistics import Statistics
from livejoin.words import WORD_BYTES, Words

_SLOTS = 1.8  # hash slots an entry, and words of a block a row, as `livejoin.families.crown.footprint` has them
_SPARE = 4 / 3


def node_figures(
    query: ConjunctiveQuery, nodes: Sequence[PlanNode], tables: Sequence[TableUse], known: Statistics
) -> tuple[NodeFigures, ...]:
    """As `livejoin.families.nodes.TellsOfNodes.node_figures`."""
    problem = problem_of(query, known, query.free)
    rows = _rows(query, nodes, problem, passing_shares(query, known))
    reached = _reached(nodes, problem)
    strides = {use.name: use.stride for use in tables}
    found_roles, words = roles(query, nodes), sum(annotation_widths(query))
    found, depths = [], dict[int, int]()
    for place, node in enumerate(nodes):
        depths[place] = 0 if node.parent is None else depths[node.parent] + 1
        annotation = sum(found_roles[place].entry_words(node, words))
        size = _index_words(nodes, place, problem, rows, annotation)
        if node.atom is not None:
            table = query.atoms[node.atom].table.name
            held = problem.rows[node.atom]
            stride = strides.pop(table, 0)  # the records are those of all atoms over the table
            size = None if size is None or held is None else size + stride * held
        label = f"[{', '.join(node.variables)}]" if node.atom is None else query.atoms[node.atom].alias
        bytes_ = None if size is None else WORD_BYTES * size
        there = None if node.atom is None else rows[place]
        found.append(NodeFigures(label, node.atom, depths[place], there, reached[place], bytes_))
    return tuple(found)


def made_above(nodes: Sequence[PlanNode]) -> dict[int, MadeRelation]:
    """As `livejoin.families.nodes.MakesRelations.made_above`."""
    below: list[set[int]] = [set() if node.atom is None else {node.atom} for node in nodes]
    for place in reversed(range(len(nodes))):
        if (parent := nodes[place].parent) is not None:
            below[parent] |= below[place]
    found = {}
    for node in nodes:
        if node.atom is not None and node.parent is not None and nodes[node.parent].atom is None:
            above = nodes[node.parent]
            found[node.atom] = MadeRelation(frozenset(above.variables), frozenset(below[node.parent]))
    return found


def _rows(
    query: ConjunctiveQuery, nodes: Sequence[PlanNode], problem: Problem, passing: Sequence[float]
) -> list[float | None]:
    """The rows of each node; of one that the plan makes as many as keys of its first child."""
    found: list[float | None] = [None] * len(nodes)
    for place in reversed(range(len(nodes))):
        node = nodes[place]
        if node.atom is not None:
            there = problem.rows[node.atom]
            share = 1.0 if query.atoms[node.atom].predicate is None else passing[node.atom]
            found[place] = None if there is None else there * share
        elif node.children:
            found[place] = _keys(nodes, node.children[0], problem, found)
    return found


def _keys(nodes: Sequence[PlanNode], place: int, problem: Problem, rows: Sequence[float | None]) -> float | None:
    """Different keys that a node has towards its parent."""
    node, there = nodes[place], rows[place]
    if there is None or node.atom is None:
        return there
    return there / problem.fanout(node.atom, frozenset(node.key))


def _reached(nodes: Sequence[PlanNode], problem: Problem) -> list[float]:
    found = [0.0 if node.atom is None else float(problem.weights[node.atom]) for node in nodes]
    for place in reversed(range(len(nodes))):
        node = nodes[place]
        if node.parent is not None:
            above = nodes[node.parent].atom
            flip = 1.0 if node.atom is None else problem.flip(node.atom, frozenset(node.key))
            parents = 1.0 if above is None else problem.fanout(above, frozenset(node.parent_key))
            found[node.parent] += found[place] * flip * parents
    return found


def _index_words(
    nodes: Sequence[PlanNode], place: int, problem: Problem, rows: Sequence[float | None], annotation: int
) -> float | None:
    """Words of the index above a node, with those of annotations in an entry, and of the rows that the plan makes."""
    node, there = nodes[place], rows[place]
    if there is None:
        return None
    own = 0.0
    if node.atom is None:
        own = there * (u.SLOT * node.inline + 2 + len(node.children) - node.inline + len(node.variables) + _SLOTS)
    if node.parent is None:
        return own + _SPARE * there
    listed = _block(there, _keys(nodes, place, problem, rows)) if node.connex else 0.0
    above = nodes[node.parent]
    if above.atom is None and place in above.children[: above.inline]:
        return own + listed
    parents = rows[node.parent]
    keys = _keys(nodes, place, problem, rows)
    if parents is None or keys is None:
        return None
    looked_up = parents if above.atom is None else parents / problem.fanout(above.atom, frozenset(node.parent_key))
    entries = max(keys, looked_up)
    entry = u.E_KEY + len(node.key) + annotation + _SLOTS
    return own + listed + entries * entry + (0.0 if node.quiet else _block(parents, entries))


def _block(rows: float, keys: float | None) -> float:
    """Words of the blocks of some rows, of which those with a key stand in one."""
    return rows if keys is None or rows <= keys else _SPARE * rows


def node_bytes(arena: Words, plan: Words, nodes: Sequence[PlanNode], offsets: Sequence[int]) -> Words:
    """As `livejoin.families.nodes.CountsNodes.node_bytes`.

    Args:
        arena: The words of the state.
        plan: The words of the plan.
        nodes: The nodes of the plan.
        offsets: The offset of each node's descriptor in these.
    """
    found, seen = np.zeros(len(nodes), np.int64), set[int]()
    for place, (node, at) in enumerate(zip(nodes, offsets, strict=True)):
        words = _directory_words(arena, plan, nodes, place, at)
        if node.atom is not None and (table := int(plan[at + u.N_TABLE])) not in seen:
            seen.add(table)
            words += record_words(arena, plan, table)
        found[place] = WORD_BYTES * words
    return found


def _directory_words(arena: Words, plan: Words, nodes: Sequence[PlanNode], place: int, at: int) -> int:
    """Words of the rows that the plan makes at a node, and of the index and the lists above it."""
    node, words = nodes[place], 0
    if node.atom is None:
        rows = int(plan[at + u.N_ROWS_DIRECTORY])
        words += directory_words(arena, rows, int(plan[at + u.N_ROWS_ENTRY]), entries(arena, rows).shape[0])
    if node.parent is None:
        return words + block_words(arena, np.array([u.H_ROOT + u.S_BLOCK]))
    directory = int(plan[at + u.N_DIRECTORY])
    there = entries(arena, directory)
    if not plan[at + u.N_LINKED]:
        return words + block_words(arena, there + u.SLOT * int(plan[at + u.N_INDEX]) + u.S_BLOCK)
    words += directory_words(arena, directory, int(plan[at + u.N_ENTRY]), there.shape[0])
    return words + block_words(arena, there + u.S_BLOCK) + block_words(arena, there + u.E_PARENT_BLOCK)
