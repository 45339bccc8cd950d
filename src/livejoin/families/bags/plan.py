"""A cyclic query cut into bags: joins inside the bags of a decomposition, and the query across (CROWN, section 7.1).

Every bag that is more than one atom becomes a *derived table*: its rows are the join of the bag's atoms, restricted by
its filters and projected to the variables that the output or another bag has, with multiplicities. The *outer* query
joins the derived tables and the atoms that are bags by themselves. It is acyclic and free-connex, and has the same
result, because variables that only one bag has and nobody asks for may be summed out there. A factor of an annotation
that belongs to an atom inside a bag is a column of the derived table. Bags that are alike are one table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from livejoin.families.bags.across import column_factor, fresh_prefix, place_of, restricted
from livejoin.families.bags.bag_query import BagAtom, BagQuery, WrittenBag, written
from livejoin.families.output import shown_variables, without_unneeded
from livejoin.query import Atom, ConjunctiveQuery, Factor, Product
from livejoin.schema import Table
from livejoin.theory.cyclic.decomposition import Bag, Decomposition, decompose


@dataclass(frozen=True, eq=False)
class Cut:
    """A query cut into bags: the joins inside of them, and the query across them.

    Args:
        query: The query.
        decomposition: The bags, of which ``outer`` has an atom each, in their order.
        derived: The bags of more than one atom, each once.
        outer: The query across the bags.
    """

    query: ConjunctiveQuery
    decomposition: Decomposition
    derived: tuple[BagQuery, ...]
    outer: ConjunctiveQuery

    @cached_property
    def is_counted_triangle(self) -> bool:
        """Whether the whole query is the number of triangles."""
        return len(self.outer.atoms) == 1 and any(bag.compile(None).pairs for bag in self.derived)


def cut_into_bags(query: ConjunctiveQuery) -> Cut:
    """The bags of the best decomposition of a query, and the query across them. Cost: that of `decompose`.

    Args:
        query: The query.
    """
    needed = shown_variables(query)
    small = without_unneeded(query)
    decomposition = decompose(small.edges, query.free)
    bags = decomposition.bags
    factors = list(dict.fromkeys(factor for product in query.sums for factor in product.factors))
    prefix = fresh_prefix(query)
    derived: dict[object, BagQuery] = {}
    atoms: list[Atom] = []
    places: list[int | None] = [None] * len(query.atoms)
    factor_of: dict[Factor, Factor] = {}
    for position, bag in enumerate(bags):
        if bag.is_atom:
            places[bag.atoms[0]] = position
            atoms.append(small.atoms[bag.atoms[0]])
            factor_of |= {f: replace(f, atom=position) for f in factors if f.atom == bag.atoms[0]}
            continue
        others = frozenset[str]().union(*(other.variables for other in bags if other is not bag))
        inside = written(_atoms(small, bag, factors), bag.variables & (needed | others))
        title = _title(small, bag)
        one = derived.setdefault(inside.identity, inside.query(f"{prefix}{len(derived)}", title, query.sql))
        factor_of |= _columns_of(small, bag, factors, inside, one.table, position)
        atoms.append(Atom(title, one.table, tuple(range(len(inside.kept))), inside.kept))
    outer = replace(
        query,
        atoms=tuple(atoms),
        head=tuple(place_of(query.variable(ref), places[ref.atom], atoms) for ref in query.head),
        sums=tuple(Product(tuple(factor_of[f] for f in p.factors), p.wide) for p in query.sums),
    )
    return Cut(query, decomposition, tuple(derived.values()), outer)


def _title(query: ConjunctiveQuery, bag: Bag) -> str:
    """The atoms of a bag; those that only filter it in angle brackets."""
    aliases = [query.atoms[atom].alias for atom in bag.atoms]
    aliases += [f"<{query.atoms[atom].alias}>" for atom in bag.filters]
    return f"bag {{{', '.join(aliases)}}}"


def _atoms(query: ConjunctiveQuery, bag: Bag, factors: Sequence[Factor]) -> list[BagAtom]:
    """The atoms that are joined in a bag with their factors, and the filters."""
    found = []
    for atom in bag.atoms:
        own = {factor.expression for factor in factors if factor.atom == atom}
        found.append(BagAtom(query.atoms[atom], False, tuple(sorted(own, key=lambda e: e.identity))))
    for atom in bag.filters:
        found.append(BagAtom(restricted(query.atoms[atom], bag.variables), True))
    return found


def _columns_of(
    query: ConjunctiveQuery, bag: Bag, factors: Sequence[Factor], inside: WrittenBag, table: Table, position: int
) -> dict[Factor, Factor]:
    """The factors inside a bag as the outer query has them."""
    names = {f: inside.columns[query.atoms[f.atom].alias, f.expression] for f in factors if f.atom in bag.atoms}
    return {f: column_factor(position, table, name) for f, name in names.items()}
