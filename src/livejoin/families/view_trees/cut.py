"""A query with static tables, cut: its bags over static atoms, and the query across them, which is in C_lin.

A bag is a relation of its own that is made once (`livejoin.theory.static.static_bags`). The query across joins the bags
and the atoms that are in none. A factor of an annotation that belongs to an atom inside a bag is a column of the bag.
Bags that are alike are one table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from livejoin.families.bags.across import column_factor, fresh_prefix, place_of, restricted
from livejoin.families.bags.bag_query import BagAtom, BagQuery, written
from livejoin.families.output import without_unneeded
from livejoin.query import Atom, ConjunctiveQuery, Factor, Product
from livejoin.query.scalar import Expression
from livejoin.theory.static.static_bags import StaticBag, static_bags
from livejoin.theory.static.static_dynamic import StaticDynamic, Tractability, static_dynamic


@dataclass(frozen=True, eq=False)
class StaticCut:
    """A query cut into bags over static atoms.

    Args:
        query: The query.
        ordered: The query without variables that are needed nowhere; the order is one of its atoms.
        found: The class of the query, with the order that the bags follow.
        derived: The bags, each once and after the bags that it reads.
        outer: The query across them.
    """

    query: ConjunctiveQuery
    ordered: ConjunctiveQuery
    found: StaticDynamic
    derived: tuple[BagQuery, ...]
    outer: ConjunctiveQuery


@dataclass(frozen=True)
class _Piece:
    """An atom or a bag as others read it: an atom over its table, and the factors that are known there."""

    atom: Atom
    factors: Mapping[Factor, Expression]


def cut_static(query: ConjunctiveQuery, budget: int) -> StaticCut | None:
    """Cut a well-behaved query; None if it is not, has no static table or none that changes, or is no inner join.

    Cost: that of `static_dynamic`.

    Args:
        query: The query.
        budget: For the search for a variable order of least width.
    """
    dynamic = frozenset(i for i, atom in enumerate(query.atoms) if not atom.table.static)
    if query.branches or not 0 < len(dynamic) < len(query.atoms):
        return None
    small = without_unneeded(query)
    found = static_dynamic(small.edges, query.free, dynamic, budget)
    if found.tractability not in (Tractability.LINEAR, Tractability.POLYNOMIAL):
        return None
    assert found.order is not None
    free = small.variables if query.free is None else query.free
    bags = static_bags(small.edges, free, dynamic, found.order.order)
    cut = Cutting(query, small)
    for bag in bags.bags:
        cut.add(bag)
    return StaticCut(query, small, found, tuple(cut.derived.values()), cut.outer(bags.atoms, bags.shown))


class Cutting:
    """The bags so far, and how they are read; mutable.

    Args:
        query: The query.
        small: The query with the needed variables of each atom.
    """

    def __init__(self, query: ConjunctiveQuery, small: ConjunctiveQuery) -> None:
        self._query = query
        factors = dict.fromkeys(factor for product in query.sums for factor in product.factors)
        self._atoms = [
            _Piece(atom, {f: f.expression for f in factors if f.atom == position})
            for position, atom in enumerate(small.atoms)
        ]
        self._bags: list[_Piece] = []
        self._prefix = fresh_prefix(query)
        self.derived: dict[object, BagQuery] = {}

    def add(self, bag: StaticBag, key: frozenset[str] = frozenset()) -> None:
        """Make a bag a relation.

        Args:
            bag: The bag.
            key: Variables of the bag on which no two rows agree; empty if none are known.
        """
        joined = [*(self._atoms[atom] for atom in bag.atoms), *(self._bags[below] for below in bag.bags)]
        filters = [*(self._atoms[atom] for atom in bag.filters), *(self._bags[below] for below in bag.bag_filters)]
        atoms = [BagAtom(restricted(one.atom, bag.variables), False, _expressions(one)) for one in joined]
        atoms += [BagAtom(restricted(one.atom, bag.variables), True) for one in filters]
        inside = written(atoms, bag.kept)
        title = _title(joined, filters)
        name = f"{self._prefix}{len(self.derived)}"
        derived = self.derived.setdefault(inside.identity, inside.query(name, title, self._query.sql, key))
        factors = {
            factor: column_factor(0, derived.table, inside.columns[one.atom.alias, expression]).expression
            for one in joined
            for factor, expression in one.factors.items()
        }
        atom = Atom(title, derived.table, tuple(range(len(inside.kept))), inside.kept)
        self._bags.append(_Piece(atom, factors))

    def outer(self, atoms: Sequence[int], shown: Sequence[int]) -> ConjunctiveQuery:
        """The query across the bags.

        Args:
            atoms: Positions of the atoms that are in no bag.
            shown: Positions of the bags that are in no other one.
        """
        pieces = [*(self._atoms[atom] for atom in atoms), *(self._bags[bag] for bag in shown)]
        factors = {
            factor: Factor(position, expression)
            for position, one in enumerate(pieces)
            for factor, expression in one.factors.items()
        }
        places = {atom: position for position, atom in enumerate(atoms)}
        branches = (replace(one, atoms=tuple(places[atom] for atom in one.atoms)) for one in self._query.branches)
        across = [one.atom for one in pieces]
        query = self._query
        return replace(
            query,
            atoms=tuple(across),
            head=tuple(place_of(query.variable(ref), places.get(ref.atom), across) for ref in query.head),
            sums=tuple(Product(tuple(factors[f] for f in product.factors), product.wide) for product in query.sums),
            branches=tuple(branches),
        )


def _expressions(piece: _Piece) -> tuple[Expression, ...]:
    return tuple(sorted(set(piece.factors.values()), key=lambda expression: expression.identity))


def _title(joined: Sequence[_Piece], filters: Sequence[_Piece]) -> str:
    """What is inside of a bag; what only filters it in angle brackets."""
    names = [*(one.atom.alias for one in joined), *(f"<{one.atom.alias}>" for one in filters)]
    return f"static bag {{{', '.join(names)}}}"
