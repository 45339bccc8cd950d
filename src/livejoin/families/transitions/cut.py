"""A query over static and dynamic tables as a hub, which is the join of the static ones, and dynamic atoms around it.

The hub is a static table, or a bag of several, with the variables that dynamic tables or results have. Law: the query
across the hub has the results of the query, with their multiplicities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from livejoin.families.bags.across import fresh_prefix, place_of, restricted
from livejoin.families.bags.bag_query import BagAtom, BagQuery, written
from livejoin.families.output import shown_variables, without_unneeded
from livejoin.query import Atom, ConjunctiveQuery
from livejoin.theory.static.transition_system import NoTransitionSystem, TransitionSystem, transition_system


@dataclass(frozen=True, eq=False)
class StaticHub:
    """A query cut into a hub and dynamic atoms.

    Args:
        query: The query.
        system: The transition system.
        derived: The bag that is the hub; none if it is a table.
        outer: The query across the hub, its first atom.
    """

    query: ConjunctiveQuery
    system: TransitionSystem
    derived: tuple[BagQuery, ...]
    outer: ConjunctiveQuery


def cut_hub(query: ConjunctiveQuery) -> StaticHub | str:
    """Cut a query, or say as a clause why its results are no function of states.

    Cost: that of `transition_system`.
    """
    if query.branches:
        return "it has edges that are not inner; keep the inner join as a view and join the rest to it"
    if query.sums:
        return (
            "counts and sums depend on how often rows are there, and a state is a set of rows; select DISTINCT rows as "
            "a view, and aggregate over that"
        )
    small = without_unneeded(query)
    dynamic = frozenset(i for i, atom in enumerate(small.atoms) if not atom.table.static)
    system = transition_system(small.edges, query.free, dynamic)
    if isinstance(system, NoTransitionSystem):
        return _why(small, system)
    static = [atom for i, atom in enumerate(small.atoms) if i not in dynamic]
    decided = frozenset[str]().union(*system.decided)
    kept = decided | (shown_variables(query) - system.shared)
    hub, derived = _hub(query, static, kept)
    atoms = [hub, *(small.atoms[i] for i in system.dynamic)]
    places = {i: place for place, i in enumerate(system.dynamic, 1)}
    if not derived:
        places |= {i: 0 for i in range(len(small.atoms)) if i not in dynamic}
    head = tuple(place_of(query.variable(ref), places.get(ref.atom), atoms) for ref in query.head)
    return StaticHub(query, system, derived, replace(query, atoms=tuple(atoms), head=head))


def _hub(query: ConjunctiveQuery, static: Sequence[Atom], kept: frozenset[str]) -> tuple[Atom, tuple[BagQuery, ...]]:
    """The hub as an atom, and the bag that it is if there are several static tables."""
    if len(static) == 1:
        return restricted(static[0], kept), ()
    inside = written([BagAtom(atom, False) for atom in static], kept)
    title = f"static bag {{{', '.join(atom.alias for atom in static)}}}"
    bag = inside.query(f"{fresh_prefix(query)}0", title, query.sql)
    return Atom(title, bag.table, tuple(range(len(inside.kept))), inside.kept), (bag,)


def _why(query: ConjunctiveQuery, found: NoTransitionSystem) -> str:
    """Why there is no transition system, with the columns that are the reason."""
    if found.atom is None:
        return (
            f"{found.reason}, and a state is the set of those rows of changing tables that static tables let matter; "
            "let some tables be static and others change"
        )
    atom = query.atoms[found.atom]
    names = sorted(atom.table.columns[atom.column_of(variable)].name for variable in found.variables)
    columns = ", ".join(f"{atom.alias}.{name}" for name in names)
    return (
        f"{found.reason}: {columns}; leave such columns to a view that joins them to this one, or keep them in a "
        "static table"
    )
