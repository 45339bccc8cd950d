"""What a change meets in the order in which the plan of a join reads the rows of its tables.

A plan reads the rows of each table once for every combination of rows of the tables before it, also where a key leads
to one of them. And where a row of NULLs of an outer join comes or goes in the place of a row, what is beside it is read
for both of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from livejoin.families.nodes import ReadsInOrder
from livejoin.plan.explain.effects.amount import ONE, Amount, total
from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.effects.nested import Nested
from livejoin.plan.explain.effects.reach import NONE_DERIVED, Hop, Reach, is_asked, is_optional
from livejoin.plan.operators import AnyJoin
from livejoin.query import ConjunctiveQuery


def only_rows(
    query: ConjunctiveQuery, atom: int, figures: Figures, derived: Mapping[str, Nested] = NONE_DERIVED
) -> float | None:
    """The share of the rows of an atom of an outer join's optional side that are the only ones with their key.

    Args:
        query: The join.
        atom: Position of the atom.
        figures: The known figures of the tables.
        derived: The facts about the tables that are relations of nested queries, by name.

    Returns:
        The share; None where it is not known, or the optional side is a join of its own.
    """
    one = query.atoms[atom]
    branch = next((branch for branch in query.branches if branch.atoms == (atom,)), None)
    if branch is None or branch.kind != "optional" or not branch.key:
        return None
    place = dict(zip(one.variables, one.columns, strict=True))
    columns = tuple(dict.fromkeys(place[inner] for _, inner in branch.key))
    nested = derived.get(one.table.name)
    if nested is not None:
        return 1.0 if nested.is_key(columns) else None
    if any(set(key) <= set(columns) for key in one.table.keys):
        return 1.0
    return figures.alone(one.table, columns, one.predicate)


def as_read(found: Reach, start: int, plan: AnyJoin, figures: Figures, derived: Mapping[str, Nested]) -> Reach:
    """How far a change goes, with the rows that the plan of a join reads.

    Args:
        found: How far it goes whatever the plan is.
        start: The atom that it comes to.
        plan: The join.
        figures: The known figures of the tables.
        derived: The facts about the tables that are relations of nested queries, by name.
    """
    program, query = plan.physical, plan.query
    if not isinstance(program, ReadsInOrder) or is_asked(query, start) or program.query.atoms != query.atoms:
        return found
    hops: dict[int, Hop] = {hop.position: hop for hop in found.hops}
    order = [atom for atom in program.read_order(start) if atom in hops and hops[atom].kept]
    if len(order) < sum(hop.kept for hop in found.hops):
        return found
    before = ONE if not found.condition else ONE.bounded() if found.fits is None else Amount(found.fits, 1.0)
    alone = only_rows(query, start, figures, derived) if is_optional(query, start) else None
    twice = ONE if alone is None else Amount(1.0 + alone, 2.0)
    below = _below(query, start)
    for atom in order:
        before = before.times(hops[atom].rows)
        met = before.bounded() if hops[atom].met.is_bound else before
        hops[atom] = replace(hops[atom], met=met if atom in below else met.times(twice))
    return replace(
        found, hops=tuple(hops[hop.position] for hop in found.hops), met=total(h.met for h in hops.values() if h.kept)
    )


def _below(query: ConjunctiveQuery, start: int) -> frozenset[int]:
    """The atoms of the branches that hang on the one that an atom is in."""
    own = next((place for place, one in enumerate(query.branches) if start in one.atoms), None)
    if own is None:
        return frozenset()
    inside, atoms = {own}, set[int]()
    for place, one in enumerate(query.branches):  # those below come behind
        if one.above in inside:
            inside.add(place)
            atoms.update(one.atoms)
    return frozenset(atoms)
