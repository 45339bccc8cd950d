"""The derived relations that a join reads: each with the columns that an atom uses, and filtered by its predicate.

An atom over a nested query has no predicate of its own: its conditions are the `Project`'s that it reads,

    sigma_p(q) |><| S  =  (sigma_p(q)) |><| S,

and what it does not use is projected away, so that less is stored. Atoms that read the same relation share one input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from livejoin.query.conjunctive import Atom, ColumnRef, Factor, Output, Product
from livejoin.query.keys import keys
from livejoin.query.relational import Input, Project, Relation
from livejoin.query.scalar import Expression, moved
from livejoin.schema import Column, Table
from livejoin.sql.lower.project import list_columns, project_nothing
from livejoin.sql.names.scope import Relation as Occurrence
from livejoin.sql.names.scope import Scope
from livejoin.sql.parse.source import Source
from livejoin.sql.scalars.operands import BIGINT

_NOTHING = (Column("nothing", BIGINT, nullable=False),)


def read_inputs(
    scope: Scope,
    atoms: Sequence[Atom],
    head: Sequence[ColumnRef],
    products: Sequence[Product],
    source: Source,
) -> tuple[tuple[Atom, ...], tuple[ColumnRef, ...], tuple[Product, ...], tuple[Input, ...]]:
    """Atoms over what nested queries give, with the head and the products over them, and what they read.

    An atom that uses no column of its query reads a relation of one column ``nothing``, which is always 0, and uses no
    column of that.

    Args:
        scope: The occurrences of tables and nested queries.
        atoms: An atom for each, over all columns.
        head: The head over these.
        products: The products over the atoms, whose factors use columns too.
        source: The tokens of the SELECT.

    Raises:
        UnsupportedQueryError: A column that is used is a list.
    """
    inputs: list[Input] = []
    tables = [one.table.name.lower() for one in scope.relations if one.nested is None]
    read: list[Atom] = []
    places: dict[ColumnRef, ColumnRef] = {}
    for occurrence, atom in zip(scope.relations, atoms, strict=True):
        if occurrence.nested is None:
            read.append(atom)
            continue
        used = sorted({*atom.columns, *_factor_columns(occurrence, products)})
        for column in used:
            _refuse_list(occurrence, column, source)
            places[ColumnRef(occurrence.atom, column)] = ColumnRef(occurrence.atom, used.index(column))
        found = _input(occurrence, used, atom, inputs, tables)
        if found not in inputs:
            inputs.append(found)
        columns = tuple(used.index(column) for column in atom.columns)
        read.append(replace(atom, table=found.table, columns=columns, predicate=None))
    moved_products = tuple(_moved(product, places) for product in products)
    return tuple(read), tuple(places.get(ref, ref) for ref in head), moved_products, tuple(inputs)


def _moved(product: Product, places: Mapping[ColumnRef, ColumnRef]) -> Product:
    """A product whose factors read columns of an input where they read those of its query."""

    def factor(found: Factor) -> Factor:
        tree = found.expression.scalar
        if tree is None:
            return found

        def place(column: int) -> int:
            ref = ColumnRef(found.atom, column)
            return places.get(ref, ref).column

        return Factor(found.atom, Expression(found.expression.text, moved(tree, place)))

    return replace(product, factors=tuple(factor(found) for found in product.factors))


def _input(
    occurrence: Occurrence, used: list[int], atom: Atom, inputs: Sequence[Input], tables: Sequence[str]
) -> Input:
    """What an atom reads: one of the inputs there are if it reads the same relation; ``tables`` are the base tables."""
    relation = _columns_read(occurrence, used, atom)
    same = next((found for found in inputs if found.relation == relation), None)
    if same is not None:
        return same
    name, number = occurrence.table.name, 1
    taken = {*tables, *(found.table.name.lower() for found in inputs)}
    while name.lower() in taken:
        number += 1
        name = f"{occurrence.table.name}_{number}"
    columns = tuple(occurrence.table.columns[column] for column in used) or _NOTHING
    best = min((sorted(key) for key in keys(relation)), key=lambda key: (len(key), key), default=[])
    return Input(Table(name, columns, primary_key=tuple(best)), relation)


def _columns_read(occurrence: Occurrence, used: list[int], atom: Atom) -> Relation:
    assert occurrence.nested is not None, "a table is no nested query"
    relation = occurrence.nested.relation
    if used == list(range(len(relation.types))) and atom.predicate is None:
        return relation
    if not used:
        return replace(project_nothing(relation), predicate=atom.predicate)
    outputs = tuple(Output(occurrence.table.columns[i].name, relation.schema.types[i], i) for i in used)
    return Project(relation, outputs, tuple(relation.types[i] for i in used), atom.predicate)


def _factor_columns(occurrence: Occurrence, products: Sequence[Product]) -> set[int]:
    """The columns of an occurrence that factors use."""
    own = (f.expression for product in products for f in product.factors if f.atom == occurrence.atom)
    return {field.position for expression in own for field in expression.fields()}


def _refuse_list(occurrence: Occurrence, column: int, source: Source) -> None:
    if column in list_columns(occurrence.rows):
        msg = (
            f"the column {occurrence.names[column]!r} of {occurrence.alias!r} is a list, and a join does not read "
            "lists; leave it out, or read its query alone"
        )
        raise source.unsupported("ARRAY_AGG", msg, occurrence.offset)
