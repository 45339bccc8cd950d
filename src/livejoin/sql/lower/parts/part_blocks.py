"""Parts that edges cannot express become nested queries.

A part whose conditions are more than equalities becomes one occurrence. If such a condition is over both sides, the
nested query joins the distinct values k of the columns above that it uses,

    L LEFT JOIN S ON c(L.k, S)  =  L LEFT JOIN (SELECT d.k, S.* FROM (SELECT DISTINCT k FROM L) d, S WHERE c(d.k, S)) m
                                   ON L.k = m.k,

with state in O(matches). If k may be NULL and c does not reject that, k is compared by ``<=>``. The occurrences above
an edge become one occurrence too if the edge is over columns of several of them; the state is then in O(rows of their
join).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.lower.conditions.split import AT, join_conditions
from livejoin.sql.lower.conditions.substitute import onto_one_atom
from livejoin.sql.lower.lowering import Lowering
from livejoin.sql.lower.parts.isolate import Isolated, exchanged, occurrence_of
from livejoin.sql.lower.parts.null_rejection import reject
from livejoin.sql.lower.parts.part_sides import Classes, Sides, columns_of, keyed, pair_of, refs_above, used, without
from livejoin.sql.lower.parts.part_tree import (
    atoms_below,
    atoms_of,
    below,
    conditions_at,
    with_conditions,
    without_parts,
)
from livejoin.sql.resolved.column import refs_of
from livejoin.sql.resolved.part import Part
from livejoin.sql.resolved.query import SelectBlock
from livejoin.theory.classes.gyo import is_acyclic


def joined_above(
    block: SelectBlock, level: int | None, gone: frozenset[int], parts: Sequence[int], lowering: Lowering
) -> SelectBlock:
    """Replace the occurrences of a level, and some optional parts that are applied to it, by one."""
    conditions = conditions_at(block, level)
    moved = [one for one in conditions if atoms_of(one) and atoms_of(one) <= gone]
    inner = [i for other in parts for i in below(block, other)]
    inner.sort()
    rest = without_parts(with_conditions(block, level, without(conditions, moved)), inner, level)
    own = _inner_parts(block, inner, {level})
    refs = used(rest, gone)
    alias = " JOIN ".join(one.alias for one in block.scope.relations if one.atom in gone)
    new = occurrence_of(
        block, Isolated(alias, f"{alias} rows", gone, moved, own, columns_of(refs, block.scope)), lowering
    )
    return exchanged(rest, gone, new, {ref: i for i, ref in enumerate(refs)})


def _inner_parts(block: SelectBlock, chosen: Sequence[int], levels: Collection[int | None]) -> tuple[Part, ...]:
    """The parts of a query whose core consists of some levels."""
    found = []
    for i in chosen:
        above = block.parts[i].above
        place = None if above is None or above in levels else chosen.index(above)
        found.append(replace(block.parts[i], above=place))
    return tuple(found)


def isolated(block: SelectBlock, position: int, lowering: Lowering) -> SelectBlock | None:
    """Isolate a part whose conditions are more than equalities and predicates."""
    part, sides, inside = block.parts[position], Sides.of(block, position), atoms_below(block, position)
    matches = needs_matches(block, position)
    if not matches and not _is_joined_by_more(block, position):
        return None
    inner = [i for i in below(block, position) if i != position]
    own = _inner_parts(block, inner, {position})
    rest = with_conditions(without_parts(block, inner, position), position, ())
    shown = used(rest, inside)
    alias = " JOIN ".join(one.alias for one in block.scope.relations if one.atom in inside)
    distinct = part.kind != "optional"
    if not matches:
        refs = list(dict.fromkeys([*shown, *(r for one in sides.both for r in refs_of(one) if r.atom in inside)]))
        given = Isolated(alias, f"{alias} rows", inside, sides.own, own, columns_of(refs, block.scope), distinct)
        rest = with_conditions(rest, position, (*sides.alone, *sides.both))
        return exchanged(rest, inside, occurrence_of(block, given, lowering), {ref: i for i, ref in enumerate(refs)})
    outer = refs_above(block, position)
    (above,) = {ref.atom for ref in outer}
    kept = [one for one in conditions_at(block, part.above) if atoms_of(one) == {above}]
    name = block.scope.relations[above].alias
    keys = occurrence_of(
        block, Isolated(name, f"{name} keys", {above}, kept, (), columns_of(outer, block.scope), True), lowering
    )
    new = occurrence_of(
        block,
        Isolated(
            alias,
            f"matches of {alias}",
            inside,
            part.conditions,
            own,
            columns_of([*outer, *shown], block.scope),
            distinct,
            keys,
            {ref: i for i, ref in enumerate(outer)},
        ),
        lowering,
    )
    is_known = [not block.scope.declared(ref).nullable or reject(part.conditions, {ref}) for ref in outer]
    place = {ref: len(outer) + i for i, ref in enumerate(shown)}
    rest = exchanged(with_conditions(rest, position, columns_of(outer, block.scope)), inside, new, place)
    (found,) = rest.parts[position].atoms
    inner_columns = columns_of([ColumnRef(found, i) for i in range(len(outer))], rest.scope)
    pairs = zip(is_known, rest.parts[position].conditions, inner_columns, strict=True)
    return with_conditions(rest, position, [_compared(*pair, block.start) for pair in pairs])


def _compared(is_known: bool, left: exp.Expr, right: exp.Expr, offset: int) -> exp.Expr:
    """Two columns are equal; NULLs are equal too, if the columns may be NULL."""
    found = exp.EQ(this=left, expression=right) if is_known else exp.NullSafeEQ(this=left, expression=right)
    found.meta[AT] = offset
    return found


def needs_matches(block: SelectBlock, position: int) -> bool:
    """Whether a match can only be decided by both sides together."""
    part, inside = block.parts[position], atoms_below(block, position)
    sides = Sides.of(block, position)
    if any(pair_of(one, block, position) is None and keyed(one, block, position) is None for one in sides.both):
        return True
    for other in below(block, position)[1:]:
        if any(not atoms_of(one) <= inside for one in block.parts[other].conditions):
            return True
    own = [one for one in sides.own if atoms_of(one) <= set(part.atoms)]
    joined, _ = join_conditions(own, (), block.scope, block.source, block.start, part.atoms)
    return bool(refs_above(block, position)) and not _is_connected(joined.joins, part)


def _is_joined_by_more(block: SelectBlock, position: int) -> bool:
    """Whether a part is not a join of its occurrences by equalities, without a cycle."""
    part, sides = block.parts[position], Sides.of(block, position)
    if any(not atoms_of(condition) <= set(part.atoms) for condition in sides.own):
        return True
    joined, others = join_conditions(sides.own, (), block.scope, block.source, block.start, part.atoms)
    if any(onto_one_atom(condition, joined.equal, joined.scope, part.atoms) is None for condition, _ in others):
        return True
    if len({ref.atom for one in sides.both for ref in refs_of(one) if ref.atom in part.atoms}) > 1:
        return True
    return not _is_connected(joined.joins, part) or is_cyclic(joined.joins, part.atoms)


def is_cyclic(equal: Classes, atoms: Sequence[int]) -> bool:
    """Whether classes of equal columns join some occurrences in a cycle."""
    edges = [
        frozenset(str(i) for i, members in enumerate(equal) if any(ref.atom == atom for ref in members))
        for atom in atoms
    ]
    return not is_acyclic(edges)


def _is_connected(equal: Classes, part: Part) -> bool:
    """Whether equalities connect all occurrences of a part."""
    reached = {part.atoms[0]}
    members = [{ref.atom for ref in one} for one in equal]
    for _ in part.atoms:
        reached = reached.union(*(atoms for atoms in members if atoms & reached))
    return reached >= set(part.atoms)
