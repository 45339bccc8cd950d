"""Projection pushdown: a union, such as that of a FULL JOIN, keeps only the columns that are read.

    pi_U(L UNION ALL R)  =  pi_U(L) UNION ALL pi_U(R)

Only a sub-query in FROM loses columns. A named query may have other readers, and its rows are stored once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from livejoin.sql.lower.lowering import Lowering
from livejoin.sql.lower.parts.isolate import exchanged
from livejoin.sql.lower.parts.part_sides import used
from livejoin.sql.lower.parts.part_tree import flat
from livejoin.sql.lower.set_operation import combine
from livejoin.sql.resolved.query import BoundCombined, NestedQuery, Occurrence, SelectBlock


def push_down_projections(block: SelectBlock, lowering: Lowering) -> SelectBlock:
    """A SELECT whose unions have only the columns that it reads, at least one.

    Args:
        block: The SELECT.
        lowering: Makes the relation of a SELECT.

    Cost: the unions that lose columns are bound once more.
    """
    (found,) = _pushed_down((flat(block),), lowering) if any(map(_sides, block.scope.relations)) else (block,)
    return found


def reads_all(relation: Occurrence, block: SelectBlock) -> bool:
    """Whether a SELECT reads every column of an occurrence, or its only one, if it is a union that may lose columns."""
    most = len(relation.table.columns)
    return _sides(relation) is None or most == 1 or len(used(block, {relation.atom})) == most


def _pushed_down(blocks: tuple[SelectBlock, ...], lowering: Lowering) -> tuple[SelectBlock, ...]:
    """SELECTs that read the same unions under the same numbers; the unions keep columns that any of them reads."""
    for atom, relation in enumerate(blocks[0].scope.relations):
        sides = _sides(relation)
        if sides is None or any(one.scope.relations[atom].nested is not relation.nested for one in blocks):
            continue
        refs = sorted({ref for one in blocks for ref in used(one, {atom})})
        kept = [ref.column for ref in refs] or [0]
        if len(kept) < len(relation.table.columns):
            new = _with(relation, sides, kept, lowering)
            blocks = tuple(exchanged(one, {atom}, new, {ref: i for i, ref in enumerate(refs)}) for one in blocks)
    return blocks


def _sides(relation: Occurrence) -> tuple[SelectBlock, SelectBlock] | None:
    """The SELECTs of a sub-query that is UNION ALL of two without groups, DISTINCT and order; else None."""
    bound = None if relation.nested is None or relation.nested.name else relation.nested.bound
    if not isinstance(bound, BoundCombined) or (bound.kind, bound.all) != ("union", True):
        return None
    plain = bound.left.plain, bound.right.plain
    return None if plain[0] is None or plain[1] is None else (plain[0], plain[1])


def _with(
    relation: Occurrence, sides: tuple[SelectBlock, SelectBlock], kept: Sequence[int], lowering: Lowering
) -> Occurrence:
    """An occurrence of a union with some of its columns."""
    assert relation.nested is not None, "a table is no union"
    shown = tuple(flat(replace(side, items=tuple(side.items[i] for i in kept))) for side in sides)
    # The sides of a FULL JOIN read the same occurrences, so that a FULL JOIN among these stays one for both.
    alike = len(sides[0].scope.relations) == len(sides[1].scope.relations)
    left, right = _pushed_down(shown, lowering) if alike else shown
    union = combine("union", True, (lowering.relation(left), lowering.relation(right)), left.source, relation.offset)
    columns = tuple(relation.nested.columns[i] for i in kept)
    table = replace(relation.table, columns=tuple(relation.table.columns[i] for i in kept))
    return replace(relation, table=table, nested=NestedQuery("", columns, union, None, None))
