"""What is expected of each relation of a foreign-key graph, what was counted there, and the bytes that it has.

A relation is listed once, below the first of its parents. Rows that reach a relation are its own changes, and for each
row of a child that comes alive or dies the rows that refer to it, but for those that may do without (``optional``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from livejoin.families.arena.words_held import block_words, directory_words, entries, record_words
from livejoin.families.foreign_keys.graph import LinkGraph
from livejoin.families.layout.table_use import TableUse
from livejoin.families.nodes import COUNTED, ENTERED, LEFT, READ, STOPPED, TOUCHED, NodeFigures
from livejoin.kernels.foreign_keys import layout as f
from livejoin.search.problem import passing_shares, problem_of
from livejoin.search.statistics import Statistics
from livejoin.words import WORD_BYTES, Words

_SLOT_WORDS = 2  # of a directory, a key: from 4/3 to 8/3
_SPARE = 4 / 3


def preorder(graph: LinkGraph) -> tuple[tuple[int, int], ...]:
    """The relations with how many stand above each, every one before those below it."""
    found: dict[int, int] = {}
    waiting = [(graph.root, 0)]
    while waiting:
        relation, depth = waiting.pop()
        if relation not in found:
            found[relation] = depth
            waiting += [(link.child, depth + 1) for link in reversed(graph.below[relation])]
    return tuple(found.items())


def node_figures(
    graph: LinkGraph, tables: Sequence[TableUse], entry_words: Sequence[int], known: Statistics
) -> tuple[NodeFigures, ...]:
    """As `livejoin.families.nodes.TellsOfNodes.node_figures`.

    Args:
        graph: The graph.
        tables: The tables of the plan.
        entry_words: The words of an entry of each relation's key; 0 of the root.
        known: The known figures of the tables.
    """
    query = graph.query
    problem, passing = problem_of(query, known, query.free), passing_shares(query, known)
    reached = [float(weight) for weight in problem.weights]
    for relation in reversed(graph.order):
        for link in graph.above[relation]:
            if link.kind != "optional":
                reached[link.parent] += reached[relation] * problem.fanout(link.parent, frozenset(link.over))
    strides = {use.name: use.stride for use in tables}
    found = []
    for relation, depth in preorder(graph):
        atom, there = query.atoms[relation], problem.rows[relation]
        stride = strides.pop(atom.table.name, 0)  # the records are those of all atoms over the table
        share = 1.0 if atom.predicate is None else passing[relation]
        rows = None if there is None else there * share
        each = entry_words[relation] + _SLOT_WORDS if relation != graph.root else _SPARE
        size = None if there is None or rows is None else WORD_BYTES * (stride * there + each * rows)
        found.append(NodeFigures(atom.alias, relation, depth, rows, reached[relation], size))
    return tuple(found)


def node_work(arena: Words, graph: LinkGraph, work_at: int, read: Collection[int]) -> Words:
    """As `livejoin.families.nodes.CountsNodes.node_work`.

    Args:
        arena: The words of the state.
        graph: The graph.
        work_at: Offset of what is counted, `livejoin.kernels.foreign_keys.layout.WORK` words a relation.
        read: The relations of which results have columns, or over which these are reached.
    """
    counted = arena[work_at : work_at + f.WORK * len(graph.order)].reshape(-1, f.WORK)
    shown, own_shown = (int(counted[graph.root, at]) for at in (f.W_PASSED, f.W_FOUND))
    at_root = {link.child for link in graph.below[graph.root]}
    asked = asked_below(graph)
    found = np.zeros((COUNTED, len(graph.order)), np.int64)
    for place, (relation, _) in enumerate(preorder(graph)):
        own = counted[relation]
        found[[ENTERED, LEFT, STOPPED, TOUCHED], place] = own[[f.W_ENTERED, f.W_LEFT, f.W_STOPPED, f.W_TOUCHED]]
        found[READ, place] = own[f.W_LOOKED]
        if relation == graph.root or relation in asked:
            continue
        found[READ, place] += own[f.W_FOUND]
        if relation in read:  # what a change of the root finds is what it reads
            found[READ, place] += shown - own[f.W_PASSED] - (own_shown if relation in at_root else 0)
    return found


def asked_below(graph: LinkGraph) -> set[int]:
    """The relations of which no more is asked than whether there is a row."""
    found: set[int] = set()
    for relation in graph.order:
        if any(link.kind in ("exists", "not exists") or link.parent in found for link in graph.above[relation]):
            found.add(relation)
    return found


def node_bytes(arena: Words, plan: Words, graph: LinkGraph, offsets: Sequence[int]) -> Words:
    """As `livejoin.families.nodes.CountsNodes.node_bytes`.

    Args:
        arena: The words of the state.
        plan: The words of the plan.
        graph: The graph.
        offsets: The offset of each relation's descriptor in these.
    """
    found, seen = np.zeros(len(graph.order), np.int64), set[int]()
    for place, (relation, _) in enumerate(preorder(graph)):
        at = offsets[relation]
        if relation == graph.root:
            words = block_words(arena, np.array([f.H_LIVE]))
        else:
            directory = int(plan[at + f.N_DIRECTORY])
            number = entries(arena, directory).shape[0]
            words = directory_words(arena, directory, int(plan[at + f.N_ENTRY]), number)
        if (table := int(plan[at + f.N_TABLE])) not in seen:
            seen.add(table)
            words += record_words(arena, plan, table)
        found[place] = WORD_BYTES * words
    return found
