"""Parts that WHERE makes simpler.

* If a condition of a level rejects the NULLs of an optional part, the part becomes inner: its occurrences and
  conditions become the level's. The condition may also be one of a part that must exist for a row of the level. The
  level that the part hangs on follows, if the part's conditions reject its NULLs.
* A condition of a part that must exist, over the level alone, becomes the level's: it decides nothing about a match.
* ``x IS NULL``, for a column x of an optional part that is not NULL in any match, keeps the rows without a match: the
  part must not exist. Its other columns are NULL then.
* An optional part without a used column is dropped if its matches do not count: below a part that must exist or must
  not, or if its equalities contain a key of its only table, so that there is at most one match.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.lower.conditions.join_types import can_join
from livejoin.sql.lower.conditions.split import column_equality
from livejoin.sql.lower.parts.null_rejection import reject
from livejoin.sql.lower.parts.part_tree import (
    atoms_below,
    atoms_of,
    below,
    conditions_at,
    with_conditions,
    with_part,
    without_atoms,
    without_parts,
)
from livejoin.sql.resolved.column import REF
from livejoin.sql.resolved.query import SelectBlock
from livejoin.sql.resolved.typed import null_of


def simplified(block: SelectBlock) -> SelectBlock:
    """A SELECT with the same rows and simpler parts; its conditions are flat."""
    while True:
        steps = (step(block, position) for position in range(len(block.parts)) for step in _STEPS)
        found = next((one for one in steps if one is not None), None)
        if found is None:
            return block
        block = found


def _to_the_level(block: SelectBlock, position: int) -> SelectBlock | None:
    """Move conditions of a part that must exist, which are over the level above alone, to that level."""
    part = block.parts[position]
    inside = atoms_below(block, position)
    alone = [one for one in part.conditions if (atoms := atoms_of(one)) and not atoms & inside]
    if part.kind != "exists" or not alone:
        return None
    rest = tuple(one for one in part.conditions if not any(one is other for other in alone))
    block = with_part(block, position, replace(part, conditions=rest))
    return with_conditions(block, part.above, (*conditions_at(block, part.above), *alone))


def _to_inner(block: SelectBlock, position: int) -> SelectBlock | None:
    """Make an optional part whose NULLs are rejected inner."""
    part = block.parts[position]
    if part.kind != "optional":
        return None
    inside = atoms_below(block, position)
    conditions = list(conditions_at(block, part.above))
    for other in block.parts:
        if other.kind == "exists" and other.above == part.above:
            conditions += other.conditions
    if not reject(conditions, lambda ref: ref.atom in inside):
        return None
    block = with_conditions(block, part.above, (*conditions_at(block, part.above), *part.conditions))
    if part.above is not None:
        level = block.parts[part.above]
        block = with_part(block, part.above, replace(level, atoms=tuple(sorted(level.atoms + part.atoms))))
    return without_parts(block, {position}, part.above)


def _to_not_exists(block: SelectBlock, position: int) -> SelectBlock | None:
    """Turn an optional part of which only rows without a match are kept into one that must not exist."""
    part = block.parts[position]
    if part.kind != "optional":
        return None
    inside = atoms_below(block, position)
    conditions = conditions_at(block, part.above)
    asked = next((one for one in conditions if _is_null(one, block, position)), None)
    if asked is None:
        return None
    rest = [one for one in conditions if one is not asked]
    own = set(below(block, position))
    used = [*rest, *(one for i, other in enumerate(block.parts) if i not in own for one in other.conditions)]
    if any(atoms_of(one) & inside for one in used):
        return None
    if block.groups is not None and any(atoms_of(one) & inside for one in block.values):
        return None
    block = with_conditions(block, part.above, rest)
    block = with_part(block, position, replace(block.parts[position], kind="not exists"))

    def as_null(column: exp.Expr) -> exp.Expr:
        ref = column.meta.get(REF) if isinstance(column, exp.Column) else None
        return null_of(block.scope.declared(ref).type) if ref is not None and ref.atom in inside else column

    without = replace(block, conditions=(), parts=())
    shown = without.mapped(lambda value: value.transform(as_null) if atoms_of(value) & inside else value)
    shown = shown.with_groups_once()
    return replace(shown, conditions=block.conditions, parts=block.parts)


def _to_nothing(block: SelectBlock, position: int) -> SelectBlock | None:
    """Drop an optional part that makes no difference."""
    part, own = block.parts[position], set(below(block, position))
    if part.kind != "optional" or not (_is_not_counted(block, position) or _has_one_match(block, position)):
        return None
    inside = atoms_below(block, position)
    conditions = (one for i, other in enumerate(block.parts) if i not in own for one in other.conditions)
    if any(atoms_of(one) & inside for one in (*block.values, *block.conditions, *conditions)):
        return None
    return without_atoms(without_parts(block, own), inside)


def _is_not_counted(block: SelectBlock, position: int) -> bool:
    """Whether a part hangs below one for which only the existence of a match counts."""
    level = block.parts[position].above
    while level is not None and block.parts[level].kind == "optional":
        level = block.parts[level].above
    return level is not None


def _has_one_match(block: SelectBlock, position: int) -> bool:
    """Whether a row above has at most one match in a part."""
    part = block.parts[position]
    if len(below(block, position)) > 1 or len(part.atoms) > 1:
        return False
    (atom,) = part.atoms
    relation = block.scope.relations[atom]
    equal = {
        ref.column
        for one in part.conditions
        if (found := column_equality(one, 0)) is not None and can_join(found, block.scope)
        for ref, other in ((found.left, found.right), (found.right, found.left))
        if ref.atom == atom and other.atom != atom
    }
    return relation.nested is None and any(equal.issuperset(key) for key in relation.table.keys)


def _is_null(condition: exp.Expr, block: SelectBlock, position: int) -> bool:
    """Whether a condition is ``x IS NULL`` for a column x that is not NULL in any match of a part."""
    part = block.parts[position]
    if not isinstance(condition, exp.Is) or not isinstance(condition.expression, exp.Null):
        return False
    column = condition.this.unnest()
    if not isinstance(column, exp.Column) or column.meta[REF].atom not in part.atoms:
        return False
    ref: ColumnRef = column.meta[REF]
    return not block.scope.declared(ref).nullable or reject(part.conditions, {ref})


_STEPS = (_to_the_level, _to_inner, _to_not_exists, _to_nothing)
