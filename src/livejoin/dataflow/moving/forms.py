"""The forms of a join between two commits: in one piece or in cells, with records of all rows or of those that pass.

A join begins in one piece, with a record for each row of a table, under the id of the row: then nothing has to be
numbered. Where few rows take part in any atom, because of their predicates, or because a column that is joined on is
NULL, the records of the others are a waste, and one cell numbers those that take part by itself
(`livejoin.families.cells.partition.passing_rows`). Cells do so anyway.

Law: the form changes no result and no delta. Changing it costs what loading the join anew does.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from livejoin.dataflow.blocks.join import JoinBlock
from livejoin.dataflow.node import Node
from livejoin.errors import MemoryLimitError
from livejoin.families.cells.partition import Partition, passing_rows
from livejoin.plan.operators import AnyJoin

logger = logging.getLogger("livejoin")

LEAST_WASTE = 1 << 20
"""Bytes of records of rows that take part in nothing, from which on it is worth numbering the others."""

LEFT_OUT = "Rows that take part in no atom have no record in it: most did not pass."
"""What an explanation says of a join that leaves them out."""

_SHARE = 4  # of the state that they must be at least: a quarter


def reform(node: Node) -> None:
    """Between two commits: let a join take the form that has come to be the better one."""
    if node.spreading is not None and node.spreading.is_due(node.registered):
        rows = node.registered
        _move(node, None if node.cells > 1 else node.spreading.partition)
        node.spreading.move(rows, node.cells > 1)
    block = node.block
    if isinstance(block, JoinBlock) and block.plan.partition is None and block.source.passing.is_due():
        waste = block.source.wasted()
        if waste >= LEAST_WASTE and _SHARE * waste >= node.nbytes:
            _move(node, passing_rows(block.plan.physical.query, block.plan.physical.tables))


def leaves_out(node: Node) -> bool:
    """Whether a join has no records of rows that take part in no atom, in one piece."""
    return isinstance(node.plan, AnyJoin) and node.plan.partition is not None and node.cells == 1


def plan_as(node: Node, layout: str) -> None:
    """Give a join that is not loaded the form that is laid out like this, if it has one."""
    if node.layout == layout or not isinstance(node.plan, AnyJoin):
        return
    before = node.plan
    forms = [None, passing_rows(before.physical.query, before.physical.tables)]
    for form in forms if node.spreading is None else [*forms, node.spreading.partition]:
        node.plan = replace(before, partition=form)
        if node.layout == layout:
            return
    node.plan = before


def _move(node: Node, form: Partition | None) -> None:
    """Let a join go over to another form; it stays as it is where there is no memory for both."""
    assert isinstance(node.plan, AnyJoin)
    try:
        node.move(replace(node.plan, partition=form), node.statistics)
    except MemoryLimitError:
        logger.info("a join of %s stays as it is: there is no memory for two of it", node.views())
