"""The plan of a cyclic query: joins inside the bags of a decomposition, the join-tree plan across (CROWN, section 7.1).

Every bag that is more than one atom becomes a *derived table*: its rows are the join of the bag's atoms, restricted by
its filters and projected to the variables that the output or another bag has, with multiplicities. The *outer* query
joins the derived tables and the atoms that are bags by themselves. It is acyclic and free-connex, and has the same
result, because variables that only one bag has and nobody asks for may be summed out there. A factor of an annotation
that belongs to an atom inside a bag is a column of the derived table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from livejoin.families.bags.bag_plan import BagJoinPlan, compile_bag
from livejoin.families.bags.bag_store import BagRelation
from livejoin.families.bags.join import BaggedJoin
from livejoin.families.output import shown_variables, without_unneeded
from livejoin.families.program import Program, TableBytes
from livejoin.families.table_use import TableUse
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Factor, Product
from livejoin.query.condition import Column as MeasuredColumn
from livejoin.query.condition import Measure
from livejoin.schema import Column, SqlType, Table
from livejoin.search.statistics import Statistics
from livejoin.theory.cyclic.decomposition import Bag, Decomposition, decompose


@dataclass(frozen=True)
class Route:
    """The way of a base table's events into a part of the plan.

    Args:
        source: Position of the table in the whole plan.
        target: Its position in the part.
        factors: Positions of the part's factors among those of the whole plan.
    """

    source: int
    target: int
    factors: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class DerivedTable:
    """A bag as a table of the outer query.

    Args:
        name: What the outer program calls it.
        title: What messages call it.
        join: The plan of its join.
        routes: Where its base tables' events come from.
        target: Position of its table in the outer plan.
        columns: Columns of its rows, at least one.
        factors: Columns that are the factors of the outer plan's table.
    """

    name: str
    title: str
    join: BagJoinPlan
    routes: tuple[Route, ...]
    target: int
    columns: int
    factors: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class BaggedPlan:
    """A plan over bags.

    Args:
        query: The query.
        tables: The base tables.
        derived: The bags that are more than one atom.
        outer: The plan across the bags.
        routes: Where the events of the outer plan's base tables come from.
        places: For each atom of the query its position in the outer query, None inside a bag.
    """

    query: ConjunctiveQuery
    tables: tuple[TableUse, ...]
    derived: tuple[DerivedTable, ...]
    outer: Program
    routes: tuple[Route, ...]
    places: tuple[int | None, ...]

    @property
    def digest(self) -> str:
        """A fingerprint of the layout: states of plans with equal digests are interchangeable."""
        parts = [self.outer.digest, *(one.join.digest for one in self.derived)]
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]

    @property
    def height(self) -> int:
        """Height of the plan across the bags."""
        return self.outer.height

    @property
    def live(self) -> bool:
        """Whether live views are kept, which delta enumeration needs."""
        return self.outer.live

    @property
    def components(self) -> np.ndarray:
        """As `PhysicalPlan.components`."""
        return self.outer.components

    @property
    def columns(self) -> int:
        """Columns that enumeration writes."""
        return self.outer.columns

    def open(self) -> BaggedJoin:
        """An empty join."""
        return BaggedJoin(self)

    @property
    def line(self) -> str:
        """The tree across the bags on one line."""
        return self.outer.line

    def predicted_work(self, known: Statistics) -> float:
        """Rows that all expected changes are predicted to visit across the bags; inside of them there is no choice."""
        return self.outer.predicted_work(known)

    def footprint(self, known: Statistics) -> tuple[TableBytes, ...]:
        """Nothing is predicted of it."""
        return ()


@dataclass(frozen=True, eq=False)
class Cut:
    """A query cut into bags: the joins inside of them, and the query across them.

    Args:
        query: The query.
        decomposition: The bags, of which ``outer`` has an atom each, in their order.
        names: What the outer query calls the bags that are more than one atom.
        joins: The plans of the joins inside of these.
        places: For each atom of the query its position in the outer query, None inside a bag.
        outer: The query across the bags.
    """

    query: ConjunctiveQuery
    decomposition: Decomposition
    names: tuple[str, ...]
    joins: tuple[BagJoinPlan, ...]
    places: tuple[int | None, ...]
    outer: ConjunctiveQuery

    @property
    def is_counted_triangle(self) -> bool:
        """Whether the whole query is the number of triangles."""
        return len(self.outer.atoms) == 1 and any(join.pairs for join in self.joins)

    def joined(self, outer: Program) -> BaggedPlan:
        """The plan of the whole query.

        Args:
            outer: The program of the query across the bags.
        """
        bags = [bag for bag in self.decomposition.bags if not bag.is_atom]
        return _assembled(self.query, bags, self.names, self.joins, outer, self.places)


def cut_into_bags(query: ConjunctiveQuery, split: str | None = None) -> Cut:
    """The bags of the best decomposition of a query, and the query across them. Cost: that of `decompose`.

    Args:
        query: The query.
        split: The variable by which rows are split into cells, each with the plan; None without cells.
    """
    needed = shown_variables(query)
    small = without_unneeded(query)
    decomposition = decompose(small.edges, query.free)
    bags = decomposition.bags
    factors = list(dict.fromkeys(factor for product in query.sums for factor in product.factors))
    names = _fresh_names(query, sum(not bag.is_atom for bag in bags))
    joins: list[BagJoinPlan] = []
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
        kept = sorted(bag.variables & (needed | others))
        relations = [_split(query, relation, split) for relation in _relations(small, bag, factors)]
        table, columns = _derived_table(small, names[len(joins)], kept, relations)
        factor_of |= {f: _column_factor(position, table, columns[f]) for f in factors if f in columns}
        atoms.append(Atom(table.name, table, tuple(range(len(kept))), tuple(kept)))
        joins.append(compile_bag(small, relations, kept))
    outer = replace(
        query,
        atoms=tuple(atoms),
        head=tuple(_place_of(query.variable(ref), places[ref.atom], atoms) for ref in query.head),
        sums=tuple(Product(tuple(factor_of[f] for f in p.factors), p.wide) for p in query.sums),
    )
    return Cut(query, decomposition, tuple(names), tuple(joins), tuple(places), outer)


def _fresh_names(query: ConjunctiveQuery, number: int) -> list[str]:
    """Names of derived tables that no base table has."""
    prefix = "bag"
    while any(atom.table.name.lower().startswith(prefix) for atom in query.atoms):
        prefix += "_"
    return [f"{prefix}{i}" for i in range(number)]


def _relations(query: ConjunctiveQuery, bag: Bag, factors: Sequence[Factor]) -> list[BagRelation]:
    """The relations of a bag: the atoms that are joined there with their factors, and the filters."""
    relations = []
    for atom in bag.atoms:
        own = tuple(dict.fromkeys(f.expression for f in factors if f.atom == atom))
        relations.append(BagRelation(atom, query.atoms[atom].variables, own))
    for atom in bag.filters:
        variables = tuple(v for v in query.atoms[atom].variables if v in bag.variables)
        relations.append(BagRelation(atom, variables, support=True))
    return relations


def _split(query: ConjunctiveQuery, relation: BagRelation, variable: str | None) -> BagRelation:
    """A relation of a bag in a cell, where a variable splits the join."""
    atom = query.atoms[relation.atom]
    return replace(relation, split=atom.column_of(variable)) if variable in atom.variables else relation


def _column_factor(atom: int, table: Table, column: str) -> Factor:
    """A column of an atom's table as a factor; it is never NULL."""
    return Factor(atom, f'"{column}"', Measure(MeasuredColumn(table.position(column))), Measure(1))


def _derived_table(
    query: ConjunctiveQuery, name: str, kept: Sequence[str], relations: Sequence[BagRelation]
) -> tuple[Table, dict[Factor, str]]:
    """The table of a bag's rows, and the column of each factor; a bag that keeps nothing has one column of zeros."""
    columns = [Column(f"v{i}", _type_of(query, variable)) for i, variable in enumerate(kept)]
    places: dict[Factor, str] = {}
    for relation in relations:
        for expression in relation.factors:
            places[Factor(relation.atom, expression)] = f"f{len(places)}"
    columns += [Column(column, SqlType.integer(64)) for column in places.values()]
    return Table(name, tuple(columns) or (Column("nothing", SqlType.integer(64)),)), places


def _type_of(query: ConjunctiveQuery, variable: str) -> SqlType:
    """The type of the first column that carries a variable."""
    atom = next(atom for atom in query.atoms if variable in atom.variables)
    return atom.table.columns[atom.column_of(variable)].type


def _place_of(variable: str, place: int | None, atoms: Sequence[Atom]) -> ColumnRef:
    """A column of the outer query that carries a variable: that of the given atom if there is one."""
    if place is None:
        place = next(i for i, atom in enumerate(atoms) if variable in atom.variables)
    return ColumnRef(place, atoms[place].column_of(variable))


def _assembled(
    query: ConjunctiveQuery,
    bags: Sequence[Bag],
    names: Sequence[str],
    joins: Sequence[BagJoinPlan],
    outer: Program,
    places: Sequence[int | None],
) -> BaggedPlan:
    """The parts with the ways of the events between them."""
    parts = [use for join in joins for use in join.tables] + [use for use in outer.tables if use.name not in names]
    tables = []
    for name in dict.fromkeys(use.name for use in parts):
        uses = [use for use in parts if use.name == name]
        tables.append(
            TableUse(
                name,
                tuple(sorted({column for use in uses for column in use.columns})),
                tuple(i for i, atom in enumerate(query.atoms) if atom.table.name == name),
                sum(use.stride for use in uses),
                tuple(dict.fromkeys(factor for use in uses for factor in use.factors)),
            )
        )

    def routes(targets: Sequence[TableUse]) -> tuple[Route, ...]:
        found = []
        for target, use in enumerate(targets):
            for source, table in enumerate(tables):
                if table.name == use.name:
                    found.append(Route(source, target, tuple(table.factors.index(f) for f in use.factors)))
        return tuple(found)

    derived = []
    for bag, name, join in zip(bags, names, joins, strict=True):
        target = next(t for t, use in enumerate(outer.tables) if use.name == name)
        table = next(atom.table for atom in outer.query.atoms if atom.table.name == name)
        columns = tuple(table.position(f.strip('"')) for f in outer.tables[target].factors)
        aliases = ", ".join(query.atoms[a].alias for a in (*bag.atoms, *bag.filters))
        title = f"the join of {aliases} inside the plan"
        derived.append(DerivedTable(name, title, join, routes(join.tables), target, len(table.columns), columns))
    return BaggedPlan(query, tuple(tables), tuple(derived), outer, routes(outer.tables), tuple(places))
