"""An explanation as JSON values.

The keys are a promise to programs that read them: they are listed in ``docs/explain.md``, a key is never renamed or
given another meaning without a new `VERSION`, and keys may be added. They are written out here, apart from the names of
the fields that they are taken from.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from livejoin.plan.explain.glossary import words
from livejoin.plan.explain.verdict import effect_line, is_read_later, source_line, verdict
from livejoin.plan.explain.ways import stored_step, way_line

if TYPE_CHECKING:
    from livejoin.families.outline import MergedOutline, PlanOutline, StatesOutline, StaticOutline
    from livejoin.plan.dispatch import Dispatch
    from livejoin.plan.explain.diagram.diagram import Diagram
    from livejoin.plan.explain.effects.amount import Amount
    from livejoin.plan.explain.effects.effect import Effect
    from livejoin.plan.explain.explanation import CellsOutline, Explanation, LogOutline, TableOutline
    from livejoin.plan.explain.memory.outline import Memory
    from livejoin.plan.stages import SpreadOutline
    from livejoin.search.guarantee import Guarantee

VERSION = 1

Record = dict[str, Any]


def record(explanation: Explanation) -> Record:
    """The explanation as dicts, lists, strings, numbers, booleans and None; ``json.dumps`` takes it."""
    found, search = explanation.query_class, explanation.search
    return {
        "livejoin_explanation": VERSION,
        "sql": explanation.sql,
        "verdict": verdict(explanation),
        "effects": [_effect(one, is_read_later(explanation)) for one in explanation.effects],
        "figures": source_line(explanation),
        "diagram": _diagram(explanation.diagram),
        "alone": None if explanation.alone is None else _guarantee(explanation.alone),
        "words": [{"word": entry.word, "anchor": entry.anchor} for entry in words(explanation)],
        "maintained": explanation.executable,
        "refusal": explanation.obstacle or None,
        "deltas": explanation.deltas,
        "change_types": explanation.change_types or None,
        "atoms": [
            {
                "alias": atom.alias,
                "table": atom.table,
                "variables": list(atom.variables),
                "predicate": atom.predicate,
                "static": atom.static,
                "append_only": atom.append_only,
            }
            for atom in explanation.atoms
        ],
        "output": list(explanation.output),
        "class": {
            "name": found.name,
            "width": found.width,
            "properties": [
                {
                    "name": part.name,
                    "holds": part.holds,
                    "because": part.because,
                    "atoms": list(part.atoms),
                    "variables": list(part.variables),
                }
                for part in found.properties
            ],
        },
        "guarantee": _guarantee(explanation.guarantee),
        "plan": _plan(explanation.plan),
        "reason": explanation.reason,
        "search": {
            "trees": search.trees,
            "steps": search.steps,
            "complete": search.complete,
            "note": search.note,
        },
        "suggestions": [
            {
                "kind": suggestion.kind,
                "text": suggestion.text,
                "sql": suggestion.sql or None,
                "suppose": [one.to_dict() for one in suggestion.supposed],
                "for_real": " ".join(dict.fromkeys(one.for_real for one in suggestion.supposed)) or None,
                "guarantee": _guarantee(suggestion.guarantee),
                "maintained": suggestion.executable,
            }
            for suggestion in explanation.suggestions
        ],
        "alternatives": [
            {
                "title": plan.title,
                "tree": plan.tree,
                "guarantee": _guarantee(plan.guarantee),
                "cost": _number(plan.cost),
                "height": plan.height,
                "propagation": _number(plan.propagation),
                "touches": _number(plan.touches),
                "maintained": plan.executable,
                "refusal": plan.obstacle or None,
                "chosen": plan.chosen,
            }
            for plan in explanation.alternatives
        ],
        "tables": [_table(table) for table in explanation.tables],
        "memory": None if explanation.memory is None else _memory(explanation.memory),
        "log": None if explanation.log is None else _log(explanation.log),
        "operators": list(explanation.operators),
        "others": [record(other) for other in explanation.others],
        "cells": None if explanation.cells is None else _cells(explanation.cells),
        "names": explanation.names,
        "whole": explanation.whole,
        "spread": None if explanation.spread is None else _spread(explanation.spread),
        "digest": explanation.digest or None,
    }


def _effect(effect: Effect, read_later: bool) -> Record:
    return {
        "table": effect.table,
        "text": effect_line(effect, read_later),
        "promise": effect.promise or None,
        "met": _amount(effect.met),
        "looked_up": _amount(effect.looked_up),
        "result": _amount(effect.result),
        "delta": _amount(effect.delta),
        "grows": str(effect.growth),
        "grows_with": list(effect.causes),
        "checked": list(effect.conditions),
        "known": list(effect.sources),
        "ways": [
            {
                "from": way.alias,
                "text": way_line(effect, way),
                "condition": way.reach.condition or None,
                "fits": _number(way.reach.fits),
                "steps": [
                    {
                        "alias": hop.alias,
                        "table": hop.table,
                        "columns": list(hop.columns),
                        "rows": _amount(hop.rows),
                        "by_key": hop.by_key,
                        "followed": hop.kept,
                        "different": list(hop.different),
                    }
                    for hop in way.reach.hops
                ],
            }
            for way in effect.ways
        ],
        "stored": [
            {"text": stored_step(step), "rows": _amount(step.rows), "last_alone": step.last_alone}
            for step in effect.stored
        ],
    }


def _diagram(diagram: Diagram) -> Record:
    return {
        "nodes": [
            {
                "kind": node.kind,
                "title": node.title,
                "lines": list(node.lines),
                "parent": node.parent,
                "label": list(node.label),
                "reach": node.reach or None,
                "grows": None if node.grows is None else str(node.grows),
            }
            for node in diagram.nodes
        ],
        "links": [{"parent": one.parent, "child": one.child, "label": list(one.label)} for one in diagram.links],
    }


def _amount(amount: Amount) -> Record:
    most_is = None if amount.most is None else "size" if amount.is_size else "counted"
    return {
        "expected": _number(amount.expected),
        "most": _number(amount.most),
        "most_is": most_is,
        "is_bound": amount.is_bound,
    }


def _guarantee(guarantee: Guarantee) -> Record:
    return {
        "bound": str(guarantee.bound),
        "formula": guarantee.bound.formula,
        "update": guarantee.update,
        "delay": guarantee.delay,
        "space": guarantee.space,
        "preprocessing": guarantee.preprocessing,
        "source": guarantee.source,
    }


def _plan(plan: PlanOutline) -> Record:
    return {
        "kind": plan.kind,
        "title": plan.title,
        "height": plan.height,
        "nodes": [
            {
                "label": node.label,
                "variables": list(node.variables),
                "atoms": list(node.atoms),
                "key": list(node.key),
                "connex": node.connex,
                "views": list(node.views),
                "indexes": list(node.indexes),
                "predicate": node.predicate,
                "depth": node.depth,
                "changes": _number(node.changes),
                "promise": node.promise or None,
            }
            for node in plan.nodes
        ],
        "edges": [
            {
                "parent": edge.parent,
                "child": edge.child,
                "key": list(edge.key),
                "unique": edge.unique,
                "kind": edge.kind,
            }
            for edge in plan.edges
        ],
        "static": None if plan.static is None else _static(plan.static),
        "merged": [_merged(one) for one in plan.merged],
        "states": None if plan.states is None else _states(plan.states),
    }


def _static(static: StaticOutline) -> Record:
    return {
        "class": static.tractability,
        "order": static.order,
        "width": static.width,
        "bags": [{"title": bag.title, "expected": _number(bag.expected), "rows": bag.rows} for bag in static.bags],
        "limit": static.limit,
    }


def _merged(merged: MergedOutline) -> Record:
    return {
        "title": merged.title,
        "tables": list(merged.tables),
        "instead": _number(merged.instead),
        "expected": _number(merged.expected),
        "rows": merged.rows,
    }


def _states(states: StatesOutline) -> Record:
    return {
        "joined": _number(states.joined),
        "matter": [{"alias": alias, "rows": _number(rows)} for alias, rows in states.matter.items()],
        "rows": _number(states.rows),
        "shared": list(states.shared),
        "most_bytes": states.most_bytes,
    }


def _table(table: TableOutline) -> Record:
    return {
        "name": table.name,
        "columns": list(table.columns),
        "aliases": list(table.aliases),
        "row_bytes": table.row_bytes,
        "index_bytes": _number(table.index_bytes),
        "changes": _number(table.changes),
        "changes_known": table.changes_known,
        "rows": _number(table.rows),
        "rows_known": table.rows_known,
        "kept": table.kept,
    }


def _memory(memory: Memory) -> Record:
    return {
        "bytes": _number(memory.bytes),
        "known_bytes": _number(memory.known_bytes),
        "lines": [*memory.lines()],
        "parts": [
            {
                "name": part.name,
                "of": part.of,
                "rows": _number(part.rows),
                "is_bound": part.is_bound,
                "bytes": _number(part.bytes),
                "unknown": part.unknown or None,
            }
            for part in memory.parts
        ],
    }


def _cells(cells: CellsOutline) -> Record:
    return {
        "number": cells.number,
        "variable": cells.variable,
        "replicated": list(cells.replicated),
        "replicated_bytes": _number(cells.replicated_bytes),
        "note": cells.note,
    }


def _spread(spread: SpreadOutline) -> Record:
    return {
        "cells": spread.cells,
        "stages": [
            {
                "brought": [{"relation": one.relation, "way": one.way} for one in stage.brought],
                "dispatches": [_dispatch(one) for one in stage.dispatches],
                "shown": list(stage.shown),
                "static": list(stage.static),
            }
            for stage in spread.stages
        ],
    }


def _dispatch(dispatch: Dispatch) -> Record:
    estimate = dispatch.estimate
    return {
        "grids": [
            {"shares": dict(grid.shares), "values": dispatch.box(grid), "first_cell": grid.first}
            for grid in dispatch.grids
        ],
        "rows": _number(estimate.rows),
        "sent": _number(estimate.sent),
        "busiest": _number(estimate.busiest),
        "bound": _number(estimate.bound),
        "hot": estimate.hot or None,
        "replication": _number(estimate.replication),
        "skew": _number(dispatch.skew),
    }


def _log(log: LogOutline) -> Record:
    return {
        "changes": log.changes,
        "lifespans": log.lifespans,
        "pattern": log.pattern,
        "lambda": _number(log.enclosure),
        "lambda_largest": log.largest,
        "lambda_tree": _number(log.tree_enclosure),
        "lambda_tree_largest": log.tree_largest,
        "lambda_crossing": _number(log.crossing_enclosure),
        "lambda_crossing_largest": log.crossing_largest,
    }


def _number(value: float | None) -> float | None:
    """JSON has no infinities."""
    return None if value is None or not math.isfinite(value) else float(value)
