"""FULL JOINs that WHERE makes LEFT or RIGHT ones.

A condition that rejects the NULLs of the columns of one side of a FULL JOIN keeps no row in which that side has no
match, so that the FULL JOIN is a LEFT JOIN of that side with the other one: a plain query, which is merged into the
reader (and made inner there, if the NULLs of the other side are rejected too).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from livejoin.sql.lower.parts.null_rejection import reject
from livejoin.sql.lower.parts.part_tree import atoms_below, atoms_of, conditions_at, flat
from livejoin.sql.resolved.query import BoundBlock, BoundCombined, NestedQuery, Occurrence, Scope, SelectBlock


def without_full_joins(block: SelectBlock, bind: Callable[[SelectBlock], BoundBlock]) -> SelectBlock:
    """A SELECT with the same rows, in which FULL JOINs are outer joins of one side where its conditions say so.

    Args:
        block: The SELECT.
        bind: Binds a SELECT.
    """
    relations = [_simplified(relation, block, bind) for relation in block.scope.relations]
    if all(new is old for new, old in zip(relations, block.scope.relations, strict=True)):
        return block
    scope = block.scope
    return replace(block, scope=Scope(tuple(relations), scope.shown, scope.sides, scope.hidden))


def _simplified(relation: Occurrence, block: SelectBlock, bind: Callable[[SelectBlock], BoundBlock]) -> Occurrence:
    bound = None if relation.nested is None else relation.nested.bound
    if relation.nested is None or not isinstance(bound, BoundCombined) or not bound.is_full_join:
        return relation
    assert isinstance(bound.left, BoundBlock)
    assert isinstance(bound.right, BoundBlock)
    matched, unmatched = bound.left.block, bound.right.block
    if matched.sub_queries:  # they became parts of what the two are
        return relation
    level = next((i for i, part in enumerate(block.parts) if relation.atom in part.atoms), None)
    conditions = conditions_at(flat(block), level)
    # The left side hangs on the right one of the unmatched rows, as the last of what does.
    position = max(i for i, part in enumerate(unmatched.parts) if part.above is None)
    left = atoms_below(unmatched, position)

    def rejects(of_left: bool) -> bool:
        own = {i for i, item in enumerate(matched.items) if _is_of(item.value, left, of_left)}
        return reject(conditions, lambda ref: ref.atom == relation.atom and ref.column in own)

    if rejects(of_left=True):
        kept = matched
    elif rejects(of_left=False):
        part = replace(unmatched.parts[position], kind="optional")
        parts = (*unmatched.parts[:position], part, *unmatched.parts[position + 1 :])
        kept = replace(unmatched, parts=parts, items=matched.items)
    else:
        return relation
    found = bind(kept)
    query = NestedQuery("", relation.nested.columns, found.relation, found, found.plain)
    return replace(relation, nested=query)


def _is_of(value: exp.Expr, left: frozenset[int], of_left: bool) -> bool:
    """Whether a column of a FULL JOIN is one of its left side, or one of its right side."""
    return isinstance(value, exp.Column) and (atoms_of(value) <= left) == of_left
