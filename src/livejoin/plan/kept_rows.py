"""Joins of tables that keep no rows: each reads the rows that it needs, which are kept for those that need the same.

    FROM t JOIN u ON t.k = u.k        where t (k, x, note) has deletes = 'trusted', and nothing else of t is asked for

reads the relation ``SELECT k FROM t WHERE k IS NOT NULL``, of which each row stands once with its number. So what a
join uses of a table, behind its predicate, is one relation, and equal ones of several joins are one block
(`livejoin.plan.identity`). A column that is not used is NULL in it, so that columns keep their places.

Law: the rows of the join are the same. Groups of sums over one table need no rows (`adds_up`): they are kept instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from livejoin.plan.powers import is_not_null
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.query.filters import conjunction
from livejoin.query.relational import Aggregate, Input, Join, Project, Relation, Repeated, SetOperation
from livejoin.query.scalar import Constant, Expression
from livejoin.schema import Table


def with_kept_rows(relation: Relation, is_stored: bool = False) -> Relation:
    """A relation in which joins read tables that keep no rows by relations that do.

    Args:
        relation: The relation.
        is_stored: Whether a store above takes its rows as they change; a join of one table is none then.
    """
    if isinstance(relation, Join):
        over = relation.over([with_kept_rows(one, True) for one in relation.below])
        return over if is_stored and len(over.query.atoms) == 1 else _reading(over)
    passes = isinstance(relation, (Project, Repeated)) or (isinstance(relation, SetOperation) and relation.is_union_all)
    return relation.over([with_kept_rows(one, is_stored or not passes) for one in relation.below])


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


def _reading(join: Join) -> Join:
    """A join whose atoms of such tables are atoms of relations that have their rows."""
    query, inputs = join.query, list(join.inputs)
    derived = {one.table.name for one in join.inputs}
    made: dict[object, Table] = {}
    atoms: list[Atom] = []
    for position, atom in enumerate(query.atoms):
        if not atom.table.is_trusted or atom.table.name in derived:
            atoms.append(atom)
            continue
        rows = _rows(query, position)
        known = (atom.table.name, rows.atoms[0].predicate, atom.columns)
        if known not in made:
            made[known] = _as_table(atom, {one.table.name.lower() for one in inputs} | {t.name for t in made.values()})
            types = tuple(column.type for column in made[known].columns)
            inputs.append(Input(made[known], Join(rows, types)))
        atoms.append(replace(atom, table=made[known], predicate=None))
    if not made:
        return join
    return replace(join, query=replace(query, atoms=tuple(atoms)), inputs=tuple(inputs))


def _rows(query: ConjunctiveQuery, position: int) -> ConjunctiveQuery:
    """The rows of an atom that take part, with what is used of them; the other columns are NULL."""
    atom = query.atoms[position]
    joined = query.join_variables(position)
    there = [
        is_not_null(atom.table.columns[column], column)
        for column, variable in zip(atom.columns, atom.variables, strict=True)
        if variable in joined and atom.table.columns[column].nullable
    ]
    predicate = conjunction([*([] if atom.predicate is None else [atom.predicate]), *there])
    outputs: list[Output] = []
    for place, column in enumerate(atom.table.columns):
        used = atom.columns.index(place) if place in atom.columns else None
        nothing = Expression("NULL", Constant(None, column.type))
        outputs.append(Output(column.name, column.type.arrow, nothing if used is None else used))
    one = replace(atom, predicate=predicate)
    head = tuple(ColumnRef(0, column) for column in atom.columns)
    return ConjunctiveQuery(query.sql, (one,), head, tuple(outputs))


def _as_table(atom: Atom, taken: set[str]) -> Table:
    """How the join sees these rows: with the promises of the table that still hold."""
    table, used = atom.table, set(atom.columns)
    columns = tuple(
        replace(column, nullable=column.nullable or place not in used, default=None, generated=None)
        for place, column in enumerate(table.columns)
    )
    key = table.primary_key if used >= set(table.primary_key) else ()
    name = next(name for i in range(len(taken) + 1) if (name := f"rows of {table.name}" + "'" * i) not in taken)
    return Table(name, columns, key, settings=replace(table.settings, deletes="checked"))
