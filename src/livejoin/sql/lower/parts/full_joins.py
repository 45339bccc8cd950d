"""FULL JOINs that WHERE turns into LEFT or RIGHT ones.

If a condition rejects the NULLs of one side of a FULL JOIN, no row remains in which that side has no match. The FULL
JOIN is then a LEFT JOIN of that side with the other one: a plain query, which is merged into its reader. It becomes an
inner join there if the NULLs of the other side are rejected too.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from livejoin.sql.lower.lowering import Lowering
from livejoin.sql.lower.parts.null_rejection import reject
from livejoin.sql.lower.parts.part_tree import atoms_below, atoms_of, conditions_at, flat
from livejoin.sql.resolved.query import BoundBlock, BoundCombined, NestedQuery, Occurrence, Scope, SelectBlock


def without_full_joins(block: SelectBlock, lowering: Lowering) -> SelectBlock:
    """A SELECT with the same rows, in which conditions turn FULL JOINs into outer joins of one side.

    Args:
        block: The SELECT.
        lowering: Binds SELECTs.
    """
    relations = [_simplified(relation, block, lowering) for relation in block.scope.relations]
    if all(new is old for new, old in zip(relations, block.scope.relations, strict=True)):
        return block
    scope = block.scope
    return replace(block, scope=Scope(tuple(relations), scope.shown, scope.sides, scope.hidden))


def is_one_sided(relation: Occurrence, block: SelectBlock) -> bool:
    """Whether an occurrence is a FULL JOIN that conditions of the SELECT turn into an outer join of one side."""
    return _one_side(relation, block) is not None


def _simplified(relation: Occurrence, block: SelectBlock, lowering: Lowering) -> Occurrence:
    kept = _one_side(relation, block)
    if kept is None or relation.nested is None:
        return relation
    found = lowering.merged(kept)
    query = NestedQuery("", relation.nested.columns, found.relation, found, found.plain)
    return replace(relation, nested=query)


def _one_side(relation: Occurrence, block: SelectBlock) -> SelectBlock | None:
    """The outer join of one side for a FULL JOIN under the conditions of its reader; None if there is none."""
    bound = None if relation.nested is None else relation.nested.bound
    if not isinstance(bound, BoundCombined) or not bound.is_full_join:
        return None
    assert isinstance(bound.left, BoundBlock)
    assert isinstance(bound.right, BoundBlock)
    matched, unmatched = bound.left.block, bound.right.block
    if matched.sub_queries:  # they became parts of what the two are
        return None
    level = next((i for i, part in enumerate(block.parts) if relation.atom in part.atoms), None)
    conditions = conditions_at(flat(block), level)
    # The left side hangs on the right one of the unmatched rows, as the last of what does.
    position = max(i for i, part in enumerate(unmatched.parts) if part.above is None)
    left = atoms_below(unmatched, position)

    def rejects(of_left: bool) -> bool:
        own = {i for i, item in enumerate(matched.items) if _is_of(item.value, left, of_left)}
        return reject(conditions, lambda ref: ref.atom == relation.atom and ref.column in own)

    if rejects(of_left=True):
        return matched
    if rejects(of_left=False):
        part = replace(unmatched.parts[position], kind="optional")
        parts = (*unmatched.parts[:position], part, *unmatched.parts[position + 1 :])
        return replace(unmatched, parts=parts, items=matched.items)
    return None


def _is_of(value: exp.Expr, left: frozenset[int], of_left: bool) -> bool:
    """Whether a column of a FULL JOIN belongs to the left side, or to the right side."""
    return isinstance(value, exp.Column) and (atoms_of(value) <= left) == of_left
