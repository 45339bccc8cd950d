"""The parts of a SELECT as a tree: the core is its root, and a *level* is the core or a part.

A row of a level is a row of the inner join of its own occurrences, combined with the matches of the optional parts that
are applied to it. The conditions of the core drop rows. Those of a part decide which of its rows match a row above.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.lower.conditions.split import AT, conjuncts
from livejoin.sql.resolved.column import bound_column, over, refs_of
from livejoin.sql.resolved.part import Equality, Part
from livejoin.sql.resolved.query import Scope, SelectBlock


def flat(block: SelectBlock) -> SelectBlock:
    """A SELECT whose conditions are conjuncts, including the equalities of USING, NATURAL and IN."""

    def of(equalities: Iterable[Equality], conditions: Iterable[exp.Expr]) -> tuple[exp.Expr, ...]:
        found = [_equation(equality, block) for equality in equalities]
        return (*found, *(part for condition in conditions for part in conjuncts(condition)))

    parts = tuple(replace(part, conditions=of(part.equalities, part.conditions), equalities=()) for part in block.parts)
    return replace(block, conditions=of(block.equalities, block.conditions), equalities=(), parts=parts)


def _equation(equality: Equality, block: SelectBlock) -> exp.Expr:
    left, right = (bound_column(ref, block.scope.qualified(ref)) for ref in (equality.left, equality.right))
    found = exp.EQ(this=left, expression=right)
    found.meta[AT] = equality.offset
    return found


def atoms_at(block: SelectBlock, level: int | None) -> tuple[int, ...]:
    """The occurrences of a level."""
    return block.core if level is None else block.parts[level].atoms


def conditions_at(block: SelectBlock, level: int | None) -> tuple[exp.Expr, ...]:
    """The conditions of a level."""
    return block.conditions if level is None else block.parts[level].conditions


def with_conditions(block: SelectBlock, level: int | None, conditions: Sequence[exp.Expr]) -> SelectBlock:
    """A SELECT with other conditions of a level."""
    if level is None:
        return replace(block, conditions=tuple(conditions))
    return with_part(block, level, replace(block.parts[level], conditions=tuple(conditions)))


def with_part(block: SelectBlock, position: int, part: Part) -> SelectBlock:
    """A SELECT in which a part is replaced."""
    return replace(block, parts=(*block.parts[:position], part, *block.parts[position + 1 :]))


def below(block: SelectBlock, position: int) -> tuple[int, ...]:
    """A part and those that hang on it, at any depth, in their order."""
    found = [position]
    for other, part in enumerate(block.parts):
        if part.above in found:
            found.append(other)
    return tuple(found)


def atoms_below(block: SelectBlock, position: int) -> frozenset[int]:
    """The occurrences of a part and of those that hang on it."""
    return frozenset(atom for other in below(block, position) for atom in block.parts[other].atoms)


def without_parts(block: SelectBlock, gone: Collection[int], above: int | None = None) -> SelectBlock:
    """A SELECT without some parts; those that hang on them are applied to a level that remains."""
    kept = [position for position in range(len(block.parts)) if position not in gone]

    def place(level: int | None) -> int | None:
        level = above if level in gone else level
        return None if level is None else kept.index(level)

    return replace(block, parts=tuple(replace(block.parts[old], above=place(block.parts[old].above)) for old in kept))


def atoms_of(node: exp.Expr) -> frozenset[int]:
    """The occurrences whose columns a resolved expression uses."""
    return frozenset(ref.atom for ref in refs_of(node))


def without_atoms(block: SelectBlock, gone: Collection[int]) -> SelectBlock:
    """A SELECT without some occurrences that are not used; its parts lose them too."""
    kept = [relation for relation in block.scope.relations if relation.atom not in gone]
    number = {relation.atom: place for place, relation in enumerate(kept)}
    found = block.mapped(
        lambda value: over(value, lambda ref: ColumnRef(number[ref.atom], ref.column))
    ).with_groups_once()
    return replace(
        found,
        scope=Scope(tuple(replace(relation, atom=number[relation.atom]) for relation in kept)),
        parts=tuple(replace(part, atoms=tuple(number[atom] for atom in part.atoms)) for part in found.parts),
    )
