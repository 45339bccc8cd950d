"""What a view really cost at each node of its joins' trees, beside what was expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from livejoin.dataflow.blocks.join import JoinBlock
from livejoin.families.nodes import (
    ENTERED,
    LEFT,
    READ,
    STOPPED,
    TOUCHED,
    NodeFigures,
    TellsOfNodes,
    node_bytes,
    node_work,
)
from livejoin.plan.explain.analyzed.actual import ActualNode
from livejoin.plan.explain.effects.amount import NOTHING, Amount
from livejoin.plan.operators import AnyJoin
from livejoin.query import ConjunctiveQuery
from livejoin.search.problem import table_changes
from livejoin.search.statistics import Statistics
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.database.analysis import Analysis
    from livejoin.dataflow.node import Node
    from livejoin.plan import Explanation


def nodes_of(
    analysis: Analysis, node: Node, join: AnyJoin, told: Explanation, seen: Statistics
) -> Iterator[ActualNode]:
    """The nodes of a join's tree; nothing where its plan is none, or the join counts nothing there."""
    program, block, watch = join.physical, node.block, node.watch
    assert watch is not None
    if not isinstance(program, TellsOfNodes) or not isinstance(block, JoinBlock):
        return
    query, known = program.query, seen.over(node.statistics)
    figures, sizes, now = program.node_figures(known), node_bytes(block.join), node_work(block.join)
    if now.shape[1] != len(figures):
        return
    digest, counted = watch.work.nodes
    counted = counted if digest == program.digest else np.zeros_like(now)
    changes = watch.work.received
    came = sum(table_changes(query, known, name) for name in dict.fromkeys(atom.table.name for atom in query.atoms))
    lives = dict(zip(analysis.tables, analysis.lives.tables, strict=True))
    expected = _expected_met(told, query, known, changes if join.named else 0)
    met_of = _met_of(figures, counted)
    for place, one in enumerate(figures):
        met = None if one.atom is None else expected.get(one.atom, NOTHING)
        life = None if one.atom is None else lives.get(query.atoms[one.atom].table.name.lower())
        done = counted[:, place].tolist()
        yield ActualNode(
            label=one.label,
            depth=one.depth,
            rows=int(now[ENTERED, place] - now[LEFT, place]),
            expected_rows=one.rows,
            state_bytes=int(sizes[place]),
            expected_bytes=one.bytes,
            reached=done[ENTERED] + done[LEFT],
            expected_reached=one.reached * changes / came if came else 0.0,
            stopped=done[STOPPED],
            touched=done[TOUCHED] / changes if changes else 0.0,
            read=done[READ] / changes if changes else 0.0,
            met=met_of[place] / changes if changes else 0.0,
            expected_met=None if met is None else met.expected,
            expected_is_bound=met is not None and met.is_bound,
            lower=None if life is None else life.lower,
            upper=None if life is None else life.upper,
        )


def _met_of(figures: Sequence[NodeFigures], counted: Words) -> list[int]:
    """The rows that were met at each node; those of a projection of one table are also met of the table.

    Args:
        figures: The nodes in preorder.
        counted: As `livejoin.families.nodes.CountsNodes.node_work`.
    """
    found: list[int] = (counted[TOUCHED] + counted[READ]).tolist()
    for place, one in enumerate(figures):
        if one.atom is None:
            rest = range(place + 1, len(figures))
            end = next((below for below in rest if figures[below].depth <= one.depth), len(figures))
            atoms = [below for below in range(place + 1, end) if figures[below].atom is not None]
            if len(atoms) == 1:
                found[atoms[0]] += found[place]
    return found


def _expected_met(told: Explanation, query: ConjunctiveQuery, known: Statistics, received: int) -> Mapping[int, Amount]:
    """The rows of each atom of a join that a change of its tables is expected to meet, as the verdict has them.

    Args:
        told: The explanation of the view.
        query: The join.
        known: Figures that have the changes of tables.
        received: The rows that came to a join which reads nested queries, each of which counts as a change: changes of
            tables below these make several of them, or none. 0 of a join of tables alone.
    """
    aliases = tuple(atom.alias for atom in query.atoms)
    tables = dict.fromkeys(atom.table.name for atom in query.atoms)
    came: dict[str, float]
    if received:
        came = {one.table: known.of(one.table).changes.value or 0.0 for one in told.effects}
    else:
        came = {one.table: table_changes(query, known, one.table) for one in told.effects if one.table in tables}
    whole = float(received) if received else sum(came.values())
    found: dict[int, Amount] = {}
    for one in told.effects:
        share = came.get(one.table, 0.0) / whole if whole else 0.0
        for way in one.ways:
            if way.atoms != aliases or not share:
                continue
            for hop in way.reach.hops:
                met = way.begin.times(hop.met).times(Amount(share, share))
                found[hop.position] = found.get(hop.position, NOTHING).plus(met)
    return found
