"""Parts in normal form, as the branches of a conjunctive query need them.

A part is in normal form if

* each condition is over one of its occurrences, an equality between two of them, or an equality of a column above and a
  column of the part, a *pair*, which no other pair repeats;
* the columns above of all pairs are of one occurrence of the level that the part is applied to, or of the part that it
  hangs on, and the others are of one occurrence of the part;
* its occurrences are joined by their equalities, without a cycle; those of the core may be joined by none, but not in a
  cycle either.

A SELECT whose parts are not in normal form takes these steps, each of which keeps its rows:

1. `_hold_above`: columns above become equal ones of one occurrence; the part hangs on an optional one if it is over
   columns of that alone and rejects its NULLs; else what it is over is joined by a nested query.
2. `_hold_within`: columns of the part become equal ones of one occurrence.
3. `_once`: of two pairs with one column above only one stays, and the columns of the part are equal; the reverse.
4. `isolated`: a part whose conditions decide more becomes one occurrence (`livejoin.sql.lower.parts.part_blocks`).
5. `_alone`: conditions above alone decide whether the row above has a key at all, ``CASE WHEN c THEN key END``.
6. `_computed`: an equality of expressions is one of computed columns (`livejoin.sql.lower.conditions.equalities`).

The last two come when no part takes any other step, as nested queries read columns that are there.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from livejoin.sql.lower.conditions.computed import refuse_unsaid, with_column
from livejoin.sql.lower.conditions.split import AT, join_conditions
from livejoin.sql.lower.lowering import Lowering
from livejoin.sql.lower.parts.null_rejection import reject
from livejoin.sql.lower.parts.part_blocks import is_cyclic, isolated, joined_above
from livejoin.sql.lower.parts.part_sides import (
    Sides,
    equal_to,
    holder,
    keyed,
    level_classes,
    pair_of,
    refs_above,
    spelled,
    with_stand_ins,
    without,
)
from livejoin.sql.lower.parts.part_tree import (
    atoms_at,
    atoms_below,
    atoms_of,
    below,
    conditions_at,
    flat,
    with_conditions,
    with_part,
)
from livejoin.sql.lower.parts.simplify_parts import simplified
from livejoin.sql.parse.source import offset_of
from livejoin.sql.resolved.column import REF, bound_column, refs_of
from livejoin.sql.resolved.query import SelectBlock


def normal(block: SelectBlock, lowering: Lowering) -> SelectBlock:
    """A SELECT with the same rows whose parts are in normal form, and whose conditions are flat.

    Args:
        block: The SELECT.
        lowering: Makes the relations of nested queries.

    Raises:
        SqlError: A condition that would have to be decided by a nested query, and cannot be.
    """
    if not block.parts:
        return block
    block = _held(simplified(flat(block)), lowering)
    while (found := _with_keys(_acyclic(block, lowering))) is not block:
        block = _held(found, lowering)
    return block


def is_normal(block: SelectBlock) -> bool:
    """Whether the parts of a SELECT are in normal form, except for cycles of their equalities.

    Cost: linear in the conditions of the parts and their columns.
    """
    for position, part in enumerate(block.parts):
        if part.equalities:
            return False
        inside, own = atoms_below(block, position), set(part.atoms)
        pairs = [pair for one in part.conditions if (pair := pair_of(one, block, position)) is not None]
        if len({(pair.left.atom, pair.right.atom) for pair in pairs}) > 1:
            return False
        if len({pair.left for pair in pairs}) < len(pairs) or len({pair.right for pair in pairs}) < len(pairs):
            return False
        if any(not atoms_of(one) <= own for one in part.conditions if pair_of(one, block, position) is None):
            return False
        if any(pair.left.atom in inside for pair in pairs):
            return False
    return True


def _held(block: SelectBlock, lowering: Lowering) -> SelectBlock:
    """A SELECT to which none of the first four steps applies."""
    position, settled = 0, 0
    while settled < len(block.parts):
        found = next((one for step in _STEPS if (one := step(block, position, lowering)) is not None), None)
        if found is None:
            position, settled = (position + 1) % len(block.parts), settled + 1
            continue
        # Each part is looked at behind the one that it hangs on: from the first, unless the step moved none.
        moved = _places(found) != _places(block) or found.parts[:position] != block.parts[:position]
        block, settled, position = found, 0, 0 if moved else position
    return block


def _places(block: SelectBlock) -> tuple[int, int]:
    """How many occurrences and parts there are."""
    return len(block.scope.relations), len(block.parts)


def _acyclic(block: SelectBlock, lowering: Lowering) -> SelectBlock:
    """A SELECT whose core is joined without a cycle, if parts hang on it."""
    if not block.parts:
        return block
    joined, _ = join_conditions(block.conditions, (), block.scope, block.source, block.start, block.core)
    return (
        joined_above(block, None, frozenset(block.core), (), lowering) if is_cyclic(joined.joins, block.core) else block
    )


def _with_keys(block: SelectBlock) -> SelectBlock:
    """A SELECT to which none of the last two steps applies."""
    for position in range(len(block.parts)):
        while (found := next((one for step in _LAST_STEPS if (one := step(block, position))), None)) is not None:
            block = found
    return block


def _hold_above(block: SelectBlock, position: int, lowering: Lowering) -> SelectBlock | None:
    part = block.parts[position]
    refs = refs_above(block, position)
    atoms = atoms_at(block, part.above)
    if not refs:
        return None
    equal = level_classes(conditions_at(block, part.above), atoms, block.scope)
    held = holder(refs, atoms, equal, block.scope)
    if held is not None:
        return with_stand_ins(block, position, held)
    siblings = [i for i, other in enumerate(block.parts) if other.above == part.above and other.kind == "optional"]
    read = [i for i in siblings if i != position and atoms_below(block, i) & {ref.atom for ref in refs}]
    if part.kind == "optional" and len(read) == 1:
        (other,) = read
        own = atoms_below(block, other)
        if {ref.atom for ref in refs} <= own and reject(part.conditions, lambda ref: ref.atom in own):
            return _behind(block, position, other)
    gone = frozenset(atoms).union(*(atoms_below(block, i) for i in read))
    assert {ref.atom for ref in refs} <= gone, "what is over columns further above was isolated with its level"
    return joined_above(block, part.above, gone, read, lowering)


def _hold_within(block: SelectBlock, position: int, _: Lowering) -> SelectBlock | None:
    part = block.parts[position]
    both = Sides.of(block, position).both
    refs = list(dict.fromkeys(ref for one in both for ref in refs_of(one) if ref.atom in part.atoms))
    if not refs or any(pair_of(one, block, position) is None for one in both):
        return None
    equal = level_classes(part.conditions, part.atoms, block.scope)
    held = holder(refs, part.atoms, equal, block.scope)
    return None if held is None else with_stand_ins(block, position, held, both)


def _once(block: SelectBlock, position: int, lowering: Lowering) -> SelectBlock | None:
    """Apply `_once`: two pairs with a common column."""
    del lowering
    pairs = [(one, pair) for one in block.parts[position].conditions if (pair := pair_of(one, block, position))]
    for i, (_written, first) in enumerate(pairs):
        for written, second in pairs[i + 1 :]:
            if first.left == second.left or first.right == second.right:
                part = block.parts[position]
                rest = without(part.conditions, [written])
                if first != replace(second, offset=first.offset):
                    same = first.left == second.left
                    ends = (first.right, second.right) if same else (first.left, second.left)
                    left, right = (spelled(ref, block.scope) for ref in ends)
                    rest = (*rest, equal_to(left, right, written.meta.get(AT, block.start)))
                return simplified(with_part(block, position, replace(part, conditions=rest)))
    return None


def _alone(block: SelectBlock, position: int) -> SelectBlock | None:
    """Apply `_alone`: conditions over the row above alone."""
    part, sides = block.parts[position], Sides.of(block, position)
    if not sides.alone:
        return None
    at = sides.alone[0].meta.get(AT, offset_of(sides.alone[0], block.start))
    whole = exp.and_(*(one.copy() for one in sides.alone))
    equation = next((one for one in sides.both if isinstance(one, exp.EQ)), None)
    if equation is not None:
        inside = atoms_below(block, position)
        values = (equation.this.unnest(), equation.expression.unnest())
        outer, inner = values if not atoms_of(values[0]) & inside else values[::-1]
        if isinstance(outer, exp.Column):
            outer = spelled(outer.meta[REF], block.scope)
    else:
        outer = exp.Literal.number(0)
        found = with_column(block.scope, part.atoms[0], exp.Literal.number(0), block.source, at)
        assert found is not None, "a number can be said"
        scope, ref = found
        block, inner = replace(block, scope=scope), bound_column(ref, "0")
    key = exp.Case(ifs=[exp.If(this=whole, true=outer.copy())])
    rest = without(part.conditions, [*sides.alone, *([] if equation is None else [equation])])
    return with_conditions(block, position, (*rest, equal_to(key, inner.copy(), at)))


def _computed(block: SelectBlock, position: int) -> SelectBlock | None:
    """Apply `_computed`: an equality of expressions."""
    for condition in Sides.of(block, position).both:
        if pair_of(condition, block, position) is None:
            found = keyed(condition, block, position)
            if found is None:  # what columns cannot say was isolated; this is a constant
                raise refuse_unsaid(condition, block.scope, block.source, offset_of(condition, block.start))
            scope, pairs = found
            rest = without(block.parts[position].conditions, [condition])
            block = replace(block, scope=scope)
            equal = [
                equal_to(bound_column(one.left, "left"), bound_column(one.right, "right"), one.offset) for one in pairs
            ]
            return with_conditions(block, position, (*rest, *equal))
    return None


def _behind(block: SelectBlock, position: int, other: int) -> SelectBlock:
    """Hang a part on an earlier one."""
    part = replace(block.parts[position], above=other)
    if other < position:
        return with_part(block, position, part)
    order = [i for i in range(len(block.parts)) if i not in below(block, position)]
    order += below(block, position)
    parts = with_part(block, position, part).parts
    place = {old: new for new, old in enumerate(order)}
    return replace(
        block,
        parts=tuple(
            replace(parts[old], above=None if (above := parts[old].above) is None else place[above]) for old in order
        ),
    )


_STEPS = (_hold_above, _hold_within, _once, isolated)
_LAST_STEPS = (_alone, _computed)
