"""The sides of a part's conditions, columns above and columns of the part, and how to change them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.lower.conditions.equalities import computed_pairs
from livejoin.sql.lower.conditions.join_types import can_join
from livejoin.sql.lower.conditions.split import AT, column_equality
from livejoin.sql.lower.conditions.substitute import exchange, stand_ins
from livejoin.sql.lower.parts.part_tree import atoms_below, atoms_of, below, with_conditions
from livejoin.sql.lower.variables import classes
from livejoin.sql.parse.source import offset_of
from livejoin.sql.resolved.column import bound_column, over, refs_of
from livejoin.sql.resolved.part import Equality
from livejoin.sql.resolved.query import Scope, SelectBlock

Classes = tuple[tuple[ColumnRef, ...], ...]


@dataclass(frozen=True)
class Sides:
    """The conditions of a part by their columns.

    Args:
        own: Conditions over the part and those that hang on it, or over no column.
        alone: Conditions over columns above alone.
        both: Conditions over both.
    """

    own: tuple[exp.Expr, ...]
    alone: tuple[exp.Expr, ...]
    both: tuple[exp.Expr, ...]

    @staticmethod
    def of(block: SelectBlock, position: int) -> Sides:
        """The sides of a part, given by its position."""
        inside = atoms_below(block, position)
        found: tuple[list[exp.Expr], list[exp.Expr], list[exp.Expr]] = [], [], []
        for condition in block.parts[position].conditions:
            atoms = atoms_of(condition)
            found[0 if atoms <= inside else 2 if atoms & inside else 1].append(condition)
        return Sides(*map(tuple, found))


def level_classes(conditions: Sequence[exp.Expr], atoms: Collection[int], scope: Scope) -> Classes:
    """The classes of columns that the conditions of a level make equal within some occurrences."""
    found = (column_equality(condition, 0) for condition in conditions)
    own = (e for e in found if e is not None and {e.left.atom, e.right.atom} <= set(atoms))
    return classes(e for e in own if can_join(e, scope))


def pair_of(condition: exp.Expr, block: SelectBlock, position: int) -> Equality | None:
    """The pair of a condition, the column above on the left; None if the condition is none."""
    part, inside = block.parts[position], atoms_below(block, position)
    found = column_equality(condition, 0)
    if found is None or not can_join(found, block.scope):
        return None
    if found.left.atom in inside:
        found = Equality(found.right, found.left, 0)
    return found if found.left.atom not in inside and found.right.atom in part.atoms else None


def keyed(condition: exp.Expr, block: SelectBlock, position: int) -> tuple[Scope, tuple[Equality, ...]] | None:
    """The pairs of an equality between an expression above and one of a part, and the scope with their columns.

    Returns:
        None if the condition is no equality, a side is over several occurrences, or a side cannot be a scalar tree.

    Raises:
        SqlTypeError: The sides have no common type.
    """
    if not isinstance(condition, (exp.EQ, exp.NullSafeEQ)):
        return None
    inside, own = atoms_below(block, position), set(block.parts[position].atoms)
    sides = [atoms_of(side) for side in (condition.this, condition.expression)]
    outer, inner = sides if not sides[0] & inside else sides[::-1]
    if len(outer) != 1 or len(inner) != 1 or outer & inside or not inner <= own:
        return None
    at = condition.meta.get(AT, offset_of(condition, block.start))
    return computed_pairs(condition, (), block.scope, block.source, at)


def refs_above(block: SelectBlock, position: int) -> list[ColumnRef]:
    """The columns above that are used in the conditions of a part and of those that hang on it."""
    inside = atoms_below(block, position)
    conditions = (one for i in below(block, position) for one in block.parts[i].conditions)
    return list(dict.fromkeys(ref for one in conditions for ref in refs_of(one) if ref.atom not in inside))


def holder(
    refs: Sequence[ColumnRef], atoms: Collection[int], equal: Classes, scope: Scope
) -> dict[ColumnRef, ColumnRef] | None:
    """For each of some columns an equal one, all of one occurrence; None if no occurrence has them all."""
    choices = [stand_ins(refs, atom, equal, scope) for atom in atoms]
    complete = [chosen for chosen in choices if len(chosen) == len(refs)]
    return min(complete, key=lambda chosen: sum(a != b for a, b in chosen.items()), default=None)


def with_stand_ins(
    block: SelectBlock, position: int, chosen: Mapping[ColumnRef, ColumnRef], only: Sequence[exp.Expr] | None = None
) -> SelectBlock | None:
    """A SELECT in which the conditions of a part use other, equal columns; None if they already do.

    Args:
        block: The SELECT.
        position: The part.
        chosen: For columns the ones in their place.
        only: The conditions of the part that change; if None, all of them and those of parts that hang on it.
    """
    if all(ref == other for ref, other in chosen.items()):
        return None

    def change(condition: exp.Expr) -> exp.Expr:
        if not any(ref in chosen and chosen[ref] != ref for ref in refs_of(condition)):
            return condition
        if column_equality(condition, 0) is not None:
            return over(condition, lambda ref: chosen.get(ref, ref))
        whole = {ref: chosen.get(ref, ref) for ref in refs_of(condition)}
        return condition.transform(lambda node: exchange(node, whole, block.scope))

    for i in below(block, position) if only is None else [position]:
        conditions = block.parts[i].conditions
        found = [change(one) if only is None or any(one is other for other in only) else one for one in conditions]
        block = with_conditions(block, i, found)
    return block


def used(block: SelectBlock, atoms: Collection[int]) -> list[ColumnRef]:
    """The columns of some occurrences that a SELECT uses."""
    return sorted({ref for value in block.expressions for ref in refs_of(value) if ref.atom in atoms})


def columns_of(refs: Sequence[ColumnRef], scope: Scope) -> list[exp.Expr]:
    return [bound_column(ref, scope.name(ref)) for ref in refs]


def spelled(ref: ColumnRef, scope: Scope) -> exp.Expr:
    """A column as an expression over columns that are not computed."""
    if not scope.is_computed(ref):
        return bound_column(ref, scope.name(ref))
    relation = scope.relations[ref.atom]
    return over(
        relation.computed[ref.column - len(relation.base.columns)].value, lambda own: replace(own, atom=ref.atom)
    )


def without(conditions: Sequence[exp.Expr], gone: Sequence[exp.Expr]) -> tuple[exp.Expr, ...]:
    return tuple(one for one in conditions if not any(one is other for other in gone))


def equal_to(left: exp.Expr, right: exp.Expr, offset: int) -> exp.Expr:
    found = exp.EQ(this=left, expression=right)
    found.meta[AT] = offset
    return found
