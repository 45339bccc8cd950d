"""Figures and explanations of a whole database, each table and each block once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from livejoin.database.contents import Contents
from livejoin.database.durable.log import Log
from livejoin.dataflow.node import Node
from livejoin.families.registry import RankedFamily
from livejoin.plan.explain.forms.graph import BlockOutline, GraphExplanation
from livejoin.plan.operators import AnyJoin
from livejoin.plan.query_plan import join_candidates
from livejoin.query import ConjunctiveQuery


def explain_graph(contents: Contents) -> GraphExplanation:
    """All blocks with what a change costs in each; O(blocks), and the planning of each join."""
    numbers = _numbers(contents)
    blocks = [_outline(contents, node, numbers) for node in contents.graph.nodes]
    return GraphExplanation(tuple(blocks), tuple(view.name for view in contents.views.values()))


def figures(contents: Contents) -> dict[str, Any]:
    """The figures of `livejoin.Database.stats`; O(tables + blocks + free memory), and `View.count` of each but
    for those of which many rows would be gone through."""
    numbers = _numbers(contents)
    blocks = []
    for node in contents.graph.nodes:
        used, capacity = node.block.sizes()
        passed = node.counts.total
        blocks.append(
            {
                "number": numbers[node],
                "kind": node.plan.kind,
                "reads": _reads(contents, node, numbers),
                "read_by": _read_by(node, numbers),
                "rows": node.known_size(),
                "state_bytes": used,
                "capacity_bytes": capacity,
                "commits": passed.commits,
                "commits_stopped": passed.stopped if passed.asked else None,
                "changes_received": passed.received,
                "changes_passed_on": passed.passed_on if passed.asked else None,
                "seconds": passed.seconds,
                "rows_touched": node.counters().get("touched"),
            }
        )
    tables = {
        base.table.name: {
            "rows": base.total,
            "distinct_rows": base.rows,
            "state_bytes": base.sizes()[0],
            "capacity_bytes": base.sizes()[1],
            "tombstones": 0 if base.tombstones is None else base.tombstones.rows,
            "late": base.late,
            "changes": contents.tally.events.get(name, 0),
            "keys": base.table.described_keys(),
            "dropped": base.dropped(),
        }
        for name, base in contents.tables.items()
    }
    return {
        "version": contents.version,
        "views": len(contents.views),
        "state_bytes": sum(block["state_bytes"] for block in blocks),
        "capacity_bytes": sum(block["capacity_bytes"] for block in blocks),
        "table_bytes": sum(table["capacity_bytes"] for table in tables.values()),
        "dictionary_bytes": contents.codec.nbytes,
        "dictionary_state_bytes": contents.codec.live_bytes,
        "image_bytes": contents.links.nbytes,
        "memory_bytes": contents.budget.total,
        "memory_limit": contents.budget.limit,
        "log": None if contents.log is None else _log(contents.log),
        "tables": tables,
        "blocks": blocks,
    }


def _log(log: Log) -> dict[str, Any]:
    """What a restart reads again, behind the last snapshot."""
    return {"sync": log.pace.sync, "records": log.account.records, "bytes": log.account.bytes + log.segment_end}


def _numbers(contents: Contents) -> dict[Node, int]:
    return {node: number for number, node in enumerate(contents.graph.nodes, 1)}


def _reads(contents: Contents, node: Node, numbers: Mapping[Node, int]) -> list[str]:
    """The tables and the blocks that a block reads."""
    tables = [contents.tables[name].table.name for name in node.reads]
    return tables + [f"#{numbers[one]}" for one in dict.fromkeys(node.inputs)]


def _read_by(node: Node, numbers: Mapping[Node, int]) -> list[str]:
    """The names of the blocks and views that read a block."""
    return [f"#{numbers[one]}" for one in dict.fromkeys(node.readers)] + [f"view {name}" for name in node.shown_by]


def _outline(contents: Contents, node: Node, numbers: Mapping[Node, int]) -> BlockOutline:
    ranked: dict[ConjunctiveQuery, Sequence[RankedFamily]] = {}
    update = node.plan.update
    if isinstance(node.plan, AnyJoin):
        ranked[node.plan.query] = join_candidates(node.plan.query, node.statistics, node.algorithm)
        across = join_candidates(node.plan.physical.query, node.statistics, node.algorithm)
        update = across[0].first.guarantee.update
    first = (node.plan.line,) if node.plan.line else ()
    return BlockOutline(
        number=numbers[node],
        kind=node.plan.kind,
        does=(*first, *node.plan.does(ranked)),
        reads=tuple(_reads(contents, node, numbers)),
        read_by=tuple(_read_by(node, numbers)),
        update=update,
        rows=node.size(),
        state_bytes=node.block.sizes()[0],
    )
