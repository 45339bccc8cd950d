"""Joins with groups of their own rows: the rows are kept once, and joined with groups of them.

    Join part, partsupp, supplier, groups on (k, cost)        TPC-H Q2: the cheapest supplier of a part
      groups: k, MIN(cost) of partsupp, supplier

is, by `livejoin.plan.restricted_groups`,

    Join rows, groups on (k, cost)
      rows:   J = Join part, partsupp, supplier
      groups: k, MIN(cost) GROUP BY k of J

Law: the rows are the same. J is one block, that feeds both. What a change costs is J's, and its delta; kept are J's
state, its rows and the groups of them, in place of the state of two joins and all groups. That is less where J has few
of the rows that are aggregated, and as J is a foreign-key join it never has more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from livejoin.plan.restricted_groups import Restricted, restricted, unused
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.query.as_table import as_table
from livejoin.query.relational import Input, Join, Project, Relation
from livejoin.schema import Column, Table

Worth = Callable[[Restricted], bool]
"""Whether the rows of a join are few enough to be kept beside its state."""


def over_own_rows(relation: Relation, is_worth: Worth, is_kept: Callable[[Project], bool]) -> Relation:
    """A relation whose joins with groups of their own rows are joins of these rows, kept, with the groups.

    Args:
        relation: The relation.
        is_worth: Whether the rows of a join should be kept.
        is_kept: Whether a projection is maintained by other means than the join below it, which then stays.
    """
    if isinstance(relation, Project) and is_kept(relation):
        return relation
    over = relation.over([over_own_rows(one, is_worth, is_kept) for one in relation.below])
    return _over_own_rows(over, is_worth) if isinstance(over, Join) else over


def _over_own_rows(join: Join, is_worth: Worth) -> Join:
    relations = {one.table.name: one.relation for one in join.inputs}
    for place in join.query.core:
        atom = join.query.atoms[place]
        if atom.table.name in relations and len(join.query.core) > 2:
            outer, shown = _without(join, place)
            found = restricted(outer, atom, relations[atom.table.name])
            if found is not None and is_worth(found):
                return _with_groups(join, place, found, shown)
    return join


def _without(join: Join, place: int) -> tuple[Join, tuple[ColumnRef, ...]]:
    """A join without an atom, that shows what else is shown and what the atom is joined on; and where that stood."""
    query = join.query
    atom = query.atoms[place]
    others = [a for a in query.core if a != place]
    shown = [ref for ref in query.head if ref.atom != place]
    for variable in atom.variables:
        holder = next((a for a in others if variable in query.edges[a]), None)
        if holder is not None and variable not in {query.variable(ref) for ref in shown if ref.atom in others}:
            shown.append(ColumnRef(holder, query.atoms[holder].column_of(variable)))

    def elsewhere(atom: int) -> int:
        return atom - (atom > place)

    columns = [query.atoms[ref.atom].table.columns[ref.column] for ref in shown]
    below = ConjunctiveQuery(
        query.sql,
        tuple(one for a, one in enumerate(query.atoms) if a != place),
        tuple(replace(ref, atom=elsewhere(ref.atom)) for ref in shown),
        tuple(Output(f"c{i}", column.type.arrow, i) for i, column in enumerate(columns)),
        branches=tuple(replace(one, atoms=tuple(map(elsewhere, one.atoms))) for one in query.branches),
    )
    names = {one.table.name for one in below.atoms}
    inputs = tuple(one for one in join.inputs if one.table.name in names)
    return Join(below, tuple(column.type for column in columns), inputs), tuple(shown)


def _with_groups(join: Join, place: int, found: Restricted, shown: tuple[ColumnRef, ...]) -> Join:
    """The rows of a join, with the groups of them in place of an atom."""
    query, groups = join.query, join.query.atoms[place]
    relation = _first_columns(found.join, len(shown))
    table = _table(relation, groups.table.name)
    variables: list[str] = []
    for ref in shown:
        variable = query.variable(ref)
        again = variable in variables  # as another table's column, which is equal
        variables.append(unused(variable, {*variables, *query.variables}) if again else variable)
    rows = Atom(table.name, table, tuple(range(len(shown))), tuple(variables))
    places = {ref: ColumnRef(0, column) for column, ref in enumerate(shown)}
    head = tuple(places.get(ref, ColumnRef(1, ref.column)) for ref in query.head)
    whole = replace(query, atoms=(rows, groups), head=head, branches=())
    return Join(whole, join.types, (Input(table, relation), Input(groups.table, found.groups)))


def _first_columns(join: Join, width: int) -> Relation:
    """A join without its last columns."""
    if len(join.types) == width:
        return join
    outputs = (replace(output, source=i) for i, output in enumerate(join.query.outputs[:width]))
    return Project(join, tuple(outputs), join.types[:width])


def _table(relation: Relation, other: str) -> Table:
    """How a join reads the rows of another one beside a relation of some name."""
    columns = tuple(Column(field.name, type_) for field, type_ in zip(relation.schema, relation.types, strict=True))
    return as_table(unused("rows", {other.lower()}), columns, relation)
