"""The derived relations of a join: each has the columns that an atom uses, filtered by the atom's predicate.

An atom over a nested query has no predicate of its own: the predicate moves into the `Project` that it reads,

    sigma_p(q) |><| S  =  (sigma_p(q)) |><| S,

and unused columns are dropped, so that less is stored. The same holds for an atom over a table with computed columns
(`livejoin.sql.lower.conditions.computed`). Atoms that read the same relation share one input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from livejoin.query.as_table import as_table
from livejoin.query.conjunctive import Atom, ColumnRef, ConjunctiveQuery, Factor, Output, Product
from livejoin.query.relational import Input, Join, Project, Relation
from livejoin.query.scalar import Expression, moved
from livejoin.schema import Column
from livejoin.sql.lower.project import list_columns, project_nothing
from livejoin.sql.parse.source import Source
from livejoin.sql.resolved.column import refs_of
from livejoin.sql.resolved.query import Occurrence, Scope
from livejoin.sql.scalars.expression import RowType, bind_expression
from livejoin.sql.scalars.operands import BIGINT

_NOTHING = (Column("nothing", BIGINT, nullable=False),)


def read_inputs(
    scope: Scope,
    atoms: Sequence[Atom],
    head: Sequence[ColumnRef],
    products: Sequence[Product],
    source: Source,
) -> tuple[tuple[Atom, ...], tuple[ColumnRef, ...], tuple[Product, ...], tuple[Input, ...]]:
    """Atoms over nested queries and computed columns, with the head and the products over them.

    An atom that uses no column of its query reads a relation with one column ``nothing``, which is always 0 and not
    used.

    Args:
        scope: The occurrences of tables and nested queries.
        atoms: An atom for each occurrence, over all columns.
        head: The head over the atoms.
        products: The products over the atoms, whose factors use columns too.
        source: The tokens of the SELECT.

    Returns:
        The atoms, the head, the products, and the derived relations that the atoms read.

    Raises:
        UnsupportedQueryError: A used column is a list.
    """
    inputs: list[Input] = []
    tables = [one.table.name.lower() for one in scope.relations if one.nested is None]
    read: list[Atom] = []
    places: dict[ColumnRef, ColumnRef] = {}
    for occurrence, atom in zip(scope.relations, atoms, strict=True):
        if occurrence.nested is None and not occurrence.computed:
            read.append(atom)
            continue
        used = sorted({*atom.columns, *_factor_columns(occurrence, products)})
        for column in used:
            _refuse_list(occurrence, column, source)
            places[ColumnRef(occurrence.atom, column)] = ColumnRef(occurrence.atom, used.index(column))
        found = _input(occurrence, used, atom, inputs, tables, source)
        if found not in inputs:
            inputs.append(found)
        columns = tuple(used.index(column) for column in atom.columns)
        read.append(replace(atom, table=found.table, columns=columns, predicate=None))
    moved_products = tuple(_moved(product, places) for product in products)
    return tuple(read), tuple(places.get(ref, ref) for ref in head), moved_products, tuple(inputs)


def _moved(product: Product, places: Mapping[ColumnRef, ColumnRef]) -> Product:
    """A product whose factors read columns of an input in place of those of its query."""

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
    occurrence: Occurrence,
    used: list[int],
    atom: Atom,
    inputs: Sequence[Input],
    tables: Sequence[str],
    source: Source,
) -> Input:
    """The input of an atom; an existing one if it reads the same relation. ``tables`` are the base tables."""
    relation = _columns_read(occurrence, used, atom, source)
    same = next((found for found in inputs if found.relation == relation), None)
    if same is not None:
        return same
    computed = [occurrence.table.columns[i].name for i in used if i >= len(occurrence.base.columns)]
    readable = f"{occurrence.table.name} with {', '.join(computed)}" if computed else occurrence.table.name
    name, number = readable, 1
    taken = {*tables, *(found.table.name.lower() for found in inputs)}
    while name.lower() in taken:
        number += 1
        name = f"{readable}_{number}"
    columns = tuple(occurrence.table.columns[column] for column in used) or _NOTHING
    return Input(as_table(name, columns, relation), relation)


def _columns_read(occurrence: Occurrence, used: list[int], atom: Atom, source: Source) -> Relation:
    if occurrence.nested is None:
        return _columns_of_table(occurrence, used, atom, source)
    relation = occurrence.nested.relation
    if used == list(range(len(relation.types))) and atom.predicate is None:
        return relation
    if not used:
        return replace(project_nothing(relation), predicate=atom.predicate)
    outputs = []
    for i in used:
        column, place = occurrence.table.columns[i], i - len(relation.types)
        copied = place < 0
        source_of = i if copied else occurrence.computed[place].expression
        outputs.append(Output(column.name, relation.schema.types[i] if copied else column.type.arrow, source_of))
    types = tuple(occurrence.table.columns[i].type for i in used)
    return Project(relation, tuple(outputs), types, atom.predicate)


def _columns_of_table(occurrence: Occurrence, used: list[int], atom: Atom, source: Source) -> Join:
    """Columns of a table and computed ones, for the rows that satisfy the atom's predicate."""
    base = occurrence.base
    own = [i for i in used if i < len(base.columns)]
    computed = [occurrence.computed[i - len(base.columns)].value for i in used if i >= len(base.columns)]
    needed = sorted({*own, *(ref.column for value in computed for ref in refs_of(value))})
    columns = [base.columns[i] for i in needed]
    row = RowType.of_types(
        [c.type for c in columns], [c.type.arrow for c in columns], lambda ref: needed.index(ref.column)
    )
    outputs = []
    for i in used:
        column = occurrence.table.columns[i]
        if i < len(base.columns):
            outputs.append(Output(column.name, column.type.arrow, needed.index(i)))
        else:
            value = occurrence.computed[i - len(base.columns)].value
            expression, found = bind_expression(value, row, source, occurrence.offset)
            outputs.append(Output(column.name, found, expression))
    variables = tuple(column.name for column in columns)
    read = Atom(base.name, base, tuple(needed), variables, atom.predicate)
    head = tuple(ColumnRef(0, i) for i in needed)
    query = ConjunctiveQuery(source.sql, (read,), head, tuple(outputs))
    return Join(query, tuple(occurrence.table.columns[i].type for i in used))


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
