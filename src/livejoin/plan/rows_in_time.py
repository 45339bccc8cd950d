"""Joins of which one table is compared with now(): its rows that stand are kept, and joined with the others.

    Project                          U.ts > now - INTERVAL '1' HOUR AND rest
      Join E, U, time                E.k = U.k

is

    Project                          rest
      Join E, rows                   E.k = rows.k
        rows: Project                U.ts > now - INTERVAL '1' HOUR
                Join U, time

where ``time`` is one row that moves with the time alone (`livejoin.query.of_time`). Law: the rows are the same. A time
that moves meets the rows of U that cross it, with their matches, in place of all rows of the join; what it costs is a
store of the rows of U that stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.query.as_table import as_table
from livejoin.query.filters import conjunction, conjuncts_of
from livejoin.query.of_time import is_of_time
from livejoin.query.relational import Aggregate, Input, Join, Project, Relation
from livejoin.query.scalar import Call, Expression, Scalar, fields_of, moved
from livejoin.schema import Column

_COMPARISONS = ("less", "less_equal", "greater", "greater_equal")


@dataclass(frozen=True)
class _Found:
    """A condition that compares an atom with the time, and what else has to be true."""

    condition: Scalar
    rest: tuple[Scalar, ...]
    atom: int
    time: int


def with_rows_in_time(relation: Relation, is_kept: Callable[[Project], bool]) -> Relation:
    """A relation whose joins read the rows of a table that stand at a time, where these are compared with it.

    Args:
        relation: The relation.
        is_kept: Whether a projection is maintained by other means than the join below it, which then stays.
    """
    found = relation.over([with_rows_in_time(one, is_kept) for one in relation.below])
    while isinstance(found, Project) and not is_kept(found) and (one := _compared(found)):
        found = _moved_below(found, one)
    return found


def _compared(rows: Project) -> _Found | None:
    if not rows.across or not isinstance(rows.input, Join) or rows.predicate is None or rows.predicate.scalar is None:
        return None
    query = rows.input.query
    times = [atom for atom in query.core if _is_time(rows.input, atom)]
    if not times or query.branches or len(query.core) == 2:
        return None
    shown = set[int]()
    for output in rows.outputs:
        if not isinstance(output.source, int) and output.source.scalar is None:
            return None
        shown |= {output.source} if isinstance(output.source, int) else {f.position for f in output.source.fields()}
    parts = tuple(conjuncts_of(rows.predicate.scalar))
    for place, part in enumerate(parts):
        if not isinstance(part, Call) or part.function not in _COMPARISONS:
            continue
        sides = [_atoms(side, query) for side in part.arguments]
        rest = (*parts[:place], *parts[place + 1 :])
        elsewhere = {_atom(column, query) for column in shown}.union(*(_atoms(one, query) for one in rest))
        for time in times:
            if sides.count({time}) == 1 and time not in elsewhere:
                (others,) = (side for side in sides if side != {time})
                if len(others) == 1:
                    return _Found(part, rest, others.pop(), time)
    return None


def _is_time(join: Join, place: int) -> bool:
    """Whether an atom is the one row of a time, which nothing joins."""
    query = join.query
    table = query.atoms[place].table.name
    relation: Relation | None = next((one.relation for one in join.inputs if one.table.name == table), None)
    if relation is None or not is_of_time(relation):
        return False
    while isinstance(relation, Project):
        relation = relation.input
    is_joined = any(query.edges[place] & edge for other, edge in enumerate(query.edges) if other != place)
    return isinstance(relation, Aggregate) and relation.is_global and not is_joined


def _atom(column: int, query: ConjunctiveQuery) -> int:
    source = query.outputs[column].source
    assert isinstance(source, int), "what a condition is checked over are columns"
    return query.head[source].atom


def _atoms(scalar: Scalar, query: ConjunctiveQuery) -> set[int]:
    return {_atom(field.position, query) for field in fields_of(scalar)}


def _text(parts: Sequence[Scalar], whole: str) -> str:
    """Some conditions as users wrote them; all of them where one has no text of its own."""
    texts = [part.text if isinstance(part, Call) else "" for part in parts]
    return " AND ".join(texts) if all(texts) else whole


def _moved_below(rows: Project, found: _Found) -> Project:
    """The rows without a comparison with the time, over a join of the rows that it is true for."""
    join = rows.input
    assert isinstance(join, Join), "what is compared are rows of a join"
    query, atom = join.query, join.query.atoms[found.atom]
    below = _standing(rows, join, found)
    taken = {one.table.name for one in query.atoms}
    name = next(one for i in range(len(taken) + 1) if (one := f"{atom.alias} in time{'_' * i}") not in taken)
    columns = tuple(Column(o.name, type_) for o, type_ in zip(below.outputs, below.types, strict=True))
    table = as_table(name, columns, below)
    standing = Atom(atom.alias, table, tuple(range(len(columns))), atom.variables)

    def elsewhere(ref: ColumnRef) -> ColumnRef:
        column = atom.columns.index(ref.column) if ref.atom == found.atom else ref.column
        return ColumnRef(ref.atom - (ref.atom > found.time), column)

    kept = [place for place, ref in enumerate(query.head) if ref.atom != found.time]
    shown = [place for place in range(len(query.outputs)) if _atom(place, query) != found.time]
    outputs = tuple(
        replace(query.outputs[place], source=kept.index(source))
        for place in shown
        if isinstance(source := query.outputs[place].source, int)
    )
    atoms = tuple(standing if i == found.atom else one for i, one in enumerate(query.atoms) if i != found.time)
    head = tuple(elsewhere(query.head[place]) for place in kept)
    names = {one.table.name for one in atoms}
    inputs = (*(one for one in join.inputs if one.table.name in names), Input(table, below))
    over = Join(replace(query, atoms=atoms, head=head, outputs=outputs), tuple(join.types[i] for i in shown), inputs)

    def read(output: Output) -> Output:
        if isinstance(output.source, int):
            return replace(output, source=shown.index(output.source))
        assert output.source.scalar is not None, "a tree was looked for"
        return replace(output, source=Expression(output.source.text, moved(output.source.scalar, shown.index)))

    rest = tuple(Expression(_text([part], rows.across), moved(part, shown.index)) for part in found.rest)
    return replace(
        rows,
        input=over,
        outputs=tuple(map(read, rows.outputs)),
        predicate=conjunction(rest) if rest else None,
        across=_text(found.rest, rows.across) if rest else "",
    )


def _standing(rows: Project, join: Join, found: _Found) -> Project:
    """The rows of the atom that is compared, for which the comparison is true."""
    query = join.query
    pair = query.atoms[found.atom], query.atoms[found.time]
    head = tuple(ColumnRef(side, column) for side, atom in enumerate(pair) for column in atom.columns)
    described = [pair[ref.atom].table.columns[ref.column] for ref in head]
    outputs = tuple(Output(f"c{i}", column.type.arrow, i) for i, column in enumerate(described))
    names = {atom.table.name for atom in pair}
    inputs = tuple(one for one in join.inputs if one.table.name in names)
    both = Join(ConjunctiveQuery(query.sql, pair, head, outputs), tuple(c.type for c in described), inputs)
    places = {found.atom: 0, found.time: 1}

    def at(position: int) -> int:
        source = query.outputs[position].source
        assert isinstance(source, int), "what a condition is checked over are columns"
        ref = query.head[source]
        return head.index(ColumnRef(places[ref.atom], ref.column))

    width = len(pair[0].columns)
    text = _text([found.condition], rows.across)
    condition = Expression(text, moved(found.condition, at))
    return Project(both, outputs[:width], both.types[:width], condition, across=text)
