"""The join inside a bag as a query of its own, written in one way however the query around it is written.

Law: two bags that are the same but for the order of their atoms and the names of their variables have equal identities
and columns in the same order, as long as few enough of their atoms are over one table with the same conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, permutations, product
from math import factorial, prod
from typing import TypeAlias

from livejoin.families.bags.bag_plan import BagJoinPlan, compile_bag
from livejoin.families.bags.bag_store import BagRelation
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output, Product
from livejoin.query.scalar import Expression
from livejoin.schema import Column, SqlType, Table, TableSettings
from livejoin.search.guarantee import power
from livejoin.theory.cyclic.edge_cover import fractional_edge_cover

_NOTHING = Column("nothing", SqlType.integer(64))
_MOST_ORDERS = 5040  # of atoms that could stand for each other; beyond, they stay as they are

Label: TypeAlias = tuple[str, tuple[int, ...], str, bool, tuple[str, ...]]


@dataclass(frozen=True)
class BagAtom:
    """An atom inside a bag.

    Args:
        atom: The atom, with those of its variables that the bag has.
        support: Whether its distinct rows only filter the bag.
        factors: Expressions over its table whose values are columns of the bag.
    """

    atom: Atom
    support: bool
    factors: tuple[Expression, ...] = ()

    @property
    def label(self) -> Label:
        """What it says but for its variables."""
        return (
            self.atom.table.name.lower(),
            self.atom.columns,
            "" if self.atom.predicate is None else self.atom.predicate.identity,
            self.support,
            tuple(factor.identity for factor in self.factors),
        )


@dataclass(frozen=True)
class BagQuery:
    """A bag as a table of the query across the bags. As `livejoin.families.derived.DerivedTable`.

    Args:
        table: The table.
        title: The title of the bag in explanations.
        query: The join inside.
        filters: Positions of the atoms that only filter.
        factors: For each atom the expressions whose values are columns.
    """

    table: Table
    title: str
    query: ConjunctiveQuery
    filters: frozenset[int]
    factors: tuple[tuple[Expression, ...], ...]

    @property
    def kept(self) -> tuple[str, ...]:
        """The variables of its columns."""
        return tuple(self.query.variable(ref) for ref in self.query.head)

    @property
    def update(self) -> str:
        """A change is joined with the other atoms: O(N^x), x the number of those that cover what it leaves open."""
        if self.table.static:
            return "none, as its tables are static; a refresh of one joins them anew"
        edges = self.query.edges
        powers = [
            fractional_edge_cover([edge & left for edge in edges], left).number if (left := self._open(i)) else 0
            for i in range(len(edges))
        ]
        return f"{power(str(max(powers)))} a change for N base rows" if max(powers) else "O(1) a change"

    def _open(self, atom: int) -> frozenset[str]:
        """The variables that a row of an atom leaves open."""
        return self.query.variables - self.query.edges[atom]

    def compile(self, split: str | None) -> BagJoinPlan:
        """As `DerivedTable.compile`."""
        return compile_bag(self.query, [self._relation(i, split) for i in range(len(self.query.atoms))], self.kept)

    def _relation(self, position: int, split: str | None) -> BagRelation:
        atom = self.query.atoms[position]
        column = atom.column_of(split) if split in atom.variables else None
        return BagRelation(position, atom.variables, self.factors[position], position in self.filters, column)


@dataclass(frozen=True)
class WrittenBag:
    """A bag in canonical form.

    Args:
        atoms: The atoms in order.
        kept: The variables of the bag's rows, in the order of their first occurrence.
    """

    atoms: tuple[BagAtom, ...]
    kept: tuple[str, ...]

    @property
    def identity(self) -> tuple[object, ...]:
        """What it says, up to the names of its variables."""
        return (tuple(one.label for one in self.atoms), *_numbered(self.atoms, frozenset(self.kept)))

    @property
    def columns(self) -> Mapping[tuple[str, Expression], str]:
        """The name of the column of each factor, by the alias of its atom and its expression."""
        named = [(one.atom.alias, factor) for one in self.atoms for factor in one.factors]
        return {factor: f"f{i}" for i, factor in enumerate(named)}

    def query(self, name: str, title: str, sql: str, key: frozenset[str] = frozenset()) -> BagQuery:
        """The bag as a table.

        Args:
            name: The name of the table.
            title: The title of the bag in explanations.
            sql: The text of the query around it.
            key: Variables of the bag on which no two rows agree, and which are never NULL; empty if none are known.
        """
        head = tuple(self._reference(variable) for variable in self.kept)
        types = [self.atoms[ref.atom].atom.table.columns[ref.column].type for ref in head]
        columns = [Column(f"v{i}", type_, nullable=self.kept[i] not in key) for i, type_ in enumerate(types)]
        columns += [Column(column, SqlType.integer(64), nullable=False) for column in self.columns.values()]
        outputs = tuple(Output(f"v{i}", type_.arrow, i) for i, type_ in enumerate(types))
        filters = frozenset(i for i, one in enumerate(self.atoms) if one.support)
        static = all(one.atom.table.static for one in self.atoms)
        keyed = tuple(place for place, variable in enumerate(self.kept) if variable in key)
        return BagQuery(
            Table(name, tuple(columns) or (_NOTHING,), keyed, settings=TableSettings(static=static)),
            title,
            ConjunctiveQuery(
                sql, tuple(one.atom for one in self.atoms), head, outputs, frozenset(self.kept), (Product(),)
            ),
            filters,
            tuple(one.factors for one in self.atoms),
        )

    def _reference(self, variable: str) -> ColumnRef:
        """The first column that carries a variable."""
        place = next(i for i, one in enumerate(self.atoms) if variable in one.atom.variables)
        return ColumnRef(place, self.atoms[place].atom.column_of(variable))


def written(atoms: Sequence[BagAtom], kept: frozenset[str]) -> WrittenBag:
    """A bag in canonical form.

    Cost: bounded; the product of the factorials of how many atoms are alike.

    Args:
        atoms: The atoms in any order.
        kept: The variables of the bag's rows.
    """
    best = min(_orders(atoms), key=lambda order: _numbered(order, kept))
    numbers = _numbers(best)
    return WrittenBag(best, tuple(sorted(kept, key=numbers.__getitem__)))


def _orders(atoms: Sequence[BagAtom]) -> Iterator[tuple[BagAtom, ...]]:
    """The orders of atoms by their labels: all that differ in the order of those with equal ones."""
    groups = [list(group) for _, group in groupby(sorted(atoms, key=_label), key=_label)]
    if prod(factorial(len(group)) for group in groups) > _MOST_ORDERS:
        yield tuple(one for group in groups for one in group)
        return
    for choice in product(*(permutations(group) for group in groups)):
        yield tuple(one for group in choice for one in group)


def _label(one: BagAtom) -> Label:
    return one.label


def _numbers(atoms: Sequence[BagAtom]) -> dict[str, int]:
    """The variables by their first occurrence."""
    return {v: i for i, v in enumerate(dict.fromkeys(v for one in atoms for v in one.atom.variables))}


def _numbered(atoms: Sequence[BagAtom], kept: frozenset[str]) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """The variables of the atoms, and those that are kept, as numbers."""
    numbers = _numbers(atoms)
    return tuple(tuple(numbers[v] for v in one.atom.variables) for one in atoms), tuple(
        sorted(numbers[v] for v in kept)
    )
