"""Joins of tables that keep no rows: each reads the rows that it needs, which are kept for those that need the same.

    FROM t JOIN u ON t.k = u.k        where t (k, x, note) has deletes = 'trusted', and nothing else of t is asked for

reads the relation ``SELECT k FROM t WHERE k IS NOT NULL``, of which each row stands once with its number. So what a
join uses of a table, behind its predicate, is one relation, and equal ones of several joins are one block
(`livejoin.plan.identity`).

Law: the rows of the join are the same. Groups of sums over one table need no rows (`adds_up`): they are kept instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TypeAlias

from livejoin.plan.powers import is_not_null
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output, Product
from livejoin.query.bound_query import columns_read
from livejoin.query.filters import conjunction
from livejoin.query.relational import Aggregate, Input, Join, Project, Relation, Repeated, SetOperation
from livejoin.query.scalar import Expression, moved
from livejoin.schema import Table

Columns: TypeAlias = Mapping[int, Set[int]]
"""Columns of tables, by the position of the atom."""
Places: TypeAlias = Mapping[int, Mapping[int, int]]
"""Where columns of tables stand in what is kept of the rows, by the position of the atom."""


def with_kept_rows(relation: Relation, is_stored: bool = False) -> Relation:
    """A relation in which joins read tables that keep no rows by relations that do.

    Args:
        relation: The relation.
        is_stored: Whether a store above takes its rows as they change; a join of one table is none then.
    """
    if isinstance(relation, Join):
        return _kept(relation, {}, is_stored)[0]
    if isinstance(relation, Aggregate) and isinstance(relation.input, Join) and _reads_unkept(relation.input):
        join, places = _kept(relation.input, _read(relation, relation.input), True)
        calls = tuple(replace(call, product=_moved(call.product, places)) for call in relation.calls)
        return replace(relation, input=join, calls=calls)
    passes = isinstance(relation, (Project, Repeated)) or (isinstance(relation, SetOperation) and relation.is_union_all)
    return relation.over([with_kept_rows(one, is_stored or not passes) for one in relation.below])


def _reads_unkept(join: Join) -> bool:
    return any(atom.table.is_trusted for atom in join.query.atoms)


def _kept(join: Join, read: Columns, is_stored: bool) -> tuple[Join, Places]:
    over = join.over([with_kept_rows(one, True) for one in join.below])
    return (over, {}) if is_stored and len(over.query.atoms) == 1 else _reading(over, read)


def _read(relation: Aggregate, join: Join) -> Columns:
    """The columns that the factors of annotations read, by atom: a condition of an outer join is one of them."""
    found: dict[int, set[int]] = {}
    for factor in (one for call in relation.calls if call.product is not None for one in call.product.factors):
        table = join.query.atoms[factor.atom].table
        found.setdefault(factor.atom, set()).update(columns_read(factor.expression, table))
    return found


def _moved(product: Product | None, places: Places) -> Product | None:
    """A product whose factors read columns where they stand now."""
    if product is None or not places:
        return product
    factors = (
        replace(one, expression=_read_at(one.expression, places[one.atom])) if one.atom in places else one
        for one in product.factors
    )
    return replace(product, factors=tuple(factors))


def _read_at(expression: Expression, place: Mapping[int, int]) -> Expression:
    """An expression that reads columns where they stand now; one of DuckDB names them."""
    tree = None if expression.scalar is None else moved(expression.scalar, place.__getitem__)
    return replace(expression, scalar=tree, steps=tuple(_read_at(step, place) for step in expression.steps))


def adds_up(relation: Aggregate) -> bool:
    """Whether groups are sums over the rows of one table, so that nothing but the groups has to be kept."""
    return all(call.adds_up for call in relation.calls) and is_of_one_table(relation.input)


def is_of_one_table(relation: Relation) -> bool:
    """Whether all rows of a relation are those of one table, each by itself: selected, computed, or several times."""
    found = {*_tables(relation)}
    return len(found) == 1 and "" not in found


def _tables(relation: Relation) -> Iterator[str]:
    """The base tables whose rows pass through a relation as they change; an empty name for anything else."""
    match relation:
        case Join() if len(relation.query.atoms) == 1:
            if relation.inputs:
                yield from _tables(relation.inputs[0].relation)
            else:
                yield relation.query.atoms[0].table.name
        case Project() | Repeated():
            yield from _tables(relation.input)
        case SetOperation() if relation.is_union_all:
            yield from _tables(relation.left)
            yield from _tables(relation.right)
        case _:
            yield ""


def _reading(join: Join, read: Columns) -> tuple[Join, Places]:
    """A join whose atoms of such tables are atoms of relations that have their rows.

    Args:
        join: The join.
        read: Further columns of atoms that are read above it.

    Returns:
        The join, and where the columns of these atoms stand now.
    """
    query, inputs = join.query, list(join.inputs)
    derived = {one.table.name for one in join.inputs}
    made: dict[object, Table] = {}
    atoms: list[Atom] = []
    places: dict[int, dict[int, int]] = {}
    for position, atom in enumerate(query.atoms):
        if not atom.table.is_trusted or atom.table.name in derived:
            atoms.append(atom)
            continue
        used = tuple(sorted({*atom.columns, *read.get(position, ())})) or (0,)
        rows = _rows(query, position, used)
        known = (atom.table.name, rows.atoms[0].predicate, used)
        if known not in made:
            made[known] = _as_table(atom.table, used, {one.table.name for one in inputs})
            inputs.append(Input(made[known], Join(rows, tuple(column.type for column in made[known].columns))))
        places[position] = {column: place for place, column in enumerate(used)}
        columns = tuple(places[position][column] for column in atom.columns)
        atoms.append(replace(atom, table=made[known], columns=columns, predicate=None))
    if not made:
        return join, {}
    head = tuple(replace(ref, column=places[ref.atom][ref.column]) if ref.atom in places else ref for ref in query.head)
    return replace(join, query=replace(query, atoms=tuple(atoms), head=head), inputs=tuple(inputs)), places


def _rows(query: ConjunctiveQuery, position: int, used: tuple[int, ...]) -> ConjunctiveQuery:
    """The rows of an atom that take part, with what is used of them."""
    atom, declared = query.atoms[position], query.atoms[position].table.columns
    joined = query.join_variables(position)
    there = [
        is_not_null(declared[column], column)
        for column, variable in zip(atom.columns, atom.variables, strict=True)
        if variable in joined and declared[column].nullable
    ]
    predicate = conjunction([*([] if atom.predicate is None else [atom.predicate]), *there])
    one = Atom(atom.alias, atom.table, used, tuple(f"c{column}" for column in used), predicate)
    outputs = tuple(Output(declared[c].name, declared[c].type.arrow, place) for place, c in enumerate(used))
    return ConjunctiveQuery(query.sql, (one,), tuple(ColumnRef(0, column) for column in used), outputs)


def _as_table(table: Table, used: Sequence[int], taken: set[str]) -> Table:
    """How the join sees these rows: with the promises of the table that still hold."""
    columns = tuple(replace(table.columns[place], default=None, generated=None) for place in used)
    has_key = set(used) >= set(table.primary_key)
    key = tuple(used.index(place) for place in table.primary_key) if has_key else ()
    name = next(name for i in range(len(taken) + 1) if (name := f"rows of {table.name}" + "'" * i) not in taken)
    return Table(name, columns, key, settings=replace(table.settings, deletes="checked"))
