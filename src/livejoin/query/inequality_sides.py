"""The two sides of a join by one comparison: what is read of each, and how its rows are grouped.

Each side is a projection of one relation: the columns of the key, then what is compared, then the other columns that
are read. The rows with bounds are the left side, whichever FROM names first.

Law: the pairs of rows of both sides that have one key and compare as the condition says are the rows of the join.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

from livejoin.query.conjunctive import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.query.differences import is_constant, wider_number
from livejoin.query.relational import Aggregate, Join, Project
from livejoin.query.scalar import Call, Constant, Expression, Field, Scalar, fields_of, moved
from livejoin.schema import SqlType, Table

_WIDER = {"integer": "decimal"}  # kinds whose casts keep the order, beside those to the same kind

Many = Callable[[Table, tuple[int, ...]], bool | None]
"""Whether a table has many different values in some columns, positions ascending, against its rows; None: unknown."""


@dataclass(frozen=True)
class SideColumn:
    """A column of a side: 0 is the left one, 1 the right one."""

    side: int
    column: int


@dataclass(frozen=True)
class Side:
    """How the rows of a side are grouped.

    Args:
        groups: The columns of the group behind those of the key and the compared ones.
        by_row: Whether each row may be a group: rows are in the order of what is compared then, not in that of groups.
    """

    groups: tuple[int, ...]
    by_row: bool


@dataclass(frozen=True)
class InequalitySides:
    """A join by one comparison, or by two bounds, as two projections; arguments as of the plan's `InequalityOperator`.

    Args:
        left, right: The two sides, a projection of a join of one atom each.
        keys, low, high, goes_together, sides, columns: See there.
        written: The comparison as users wrote it.
        rest: The conditions that are left for the rows that it gives; None if there are none.
    """

    left: Project
    right: Project
    keys: int
    low: str
    high: str
    goes_together: bool
    sides: tuple[Side, Side]
    columns: tuple[SideColumn, ...]
    written: str
    rest: Expression | None = None

    @property
    def has_key(self) -> bool:
        """Whether an equality joins the sides."""
        return self.keys > 0


@dataclass(frozen=True)
class Compared:
    """A point with its bounds, and the atom of the points."""

    points: int
    point: Scalar
    low: tuple[str, Scalar] | None
    high: tuple[str, Scalar] | None


def sides_of(relation: Aggregate, rows: Project, join: Join, compared: Compared, many: Many) -> InequalitySides | str:
    """The sides of a join whose condition compares so; else why there are none.

    Args:
        relation: The groups that are read of its rows.
        rows: The rows of the join that the condition is true for.
        join: The join.
        compared: The comparison.
        many: Which groups are so many that rows are better kept in the order of what is compared than in theirs.
    """
    query = join.query
    atoms = 1 - compared.points, compared.points
    shared = [variable for variable in query.atoms[0].variables if variable in query.edges[1]]
    keys: list[tuple[SqlType, list[ColumnRef]]] = []
    for variable in shared:
        refs = [ColumnRef(atom, query.atoms[atom].column_of(variable)) for atom in atoms]
        of = [_type(query, ref) for ref in refs]
        wider = _wider(of)
        if wider is None:
            return f"{query.atoms[0].readable(refs[0].column)} has another type on the other side"
        keys.append((wider, refs))
    bounds = [one[1] for one in (compared.high, compared.low) if one is not None]
    types = [compared.point.type, *(one.type for one in bounds)]
    wide = _wider(types) or wider_number(types)
    if wide is None:
        return "what is compared has several types"
    columns: list[SideColumn] = []
    own: tuple[list[int | Expression], list[int | Expression]] = ([], [])
    first = len(keys) + len(bounds), len(keys) + 1
    for position, output in enumerate(rows.outputs):
        if isinstance(output.source, int):
            of_atoms = {query.head[_copied(query, output.source)].atom}
        else:
            of_atoms = atoms_of(_tree(output), query)
        if len(of_atoms) > 1:
            return f"{output.name} is of both sides"
        side = atoms.index(of_atoms.pop()) if of_atoms else 0
        key = _key_of(query, output, keys, side, rows.types[position]) if position < relation.groups else None
        if key is None:
            own[side].append(output.source)
            columns.append(SideColumn(side, first[side] + len(own[side]) - 1))
        else:
            columns.append(SideColumn(side, key))
    compares = ([_tree_of(one, wide) for one in bounds], [_tree_of(compared.point, wide)])

    def are_many(table: Table, columns: tuple[int, ...]) -> bool:
        known = many(table, columns)
        return len(bounds) == 2 if known is None else known

    sides = []
    for side, atom in enumerate(atoms):
        groups = tuple(
            dict.fromkeys(
                one.column for one in columns[: relation.groups] if one.side == side and one.column >= first[side]
            )
        )
        sides.append(_side(join, atom, keys, groups, own[side], compares[side], first[side], are_many))
    projected = tuple(
        _projected(rows, join, atom, [(type_, refs[side]) for type_, refs in keys], compares[side], own[side])
        for side, atom in enumerate(atoms)
    )
    low, high = (one[0] if one is not None else "" for one in (compared.low, compared.high))
    left, right = projected
    together = _go_together(compares[0])
    return InequalitySides(
        left, right, len(keys), low, high, together, (sides[0], sides[1]), tuple(columns), rows.across
    )


def _wider(types: Sequence[SqlType]) -> SqlType | None:
    """The type that has all values of some types; None if there is none of them that has."""
    if len({(one.kind, one.scale) for one in types}) > 1:
        return None
    return max(types, key=lambda one: (one.bits, one.precision))


def _type(query: ConjunctiveQuery, ref: ColumnRef) -> SqlType:
    return query.atoms[ref.atom].table.columns[ref.column].type


def _copied(query: ConjunctiveQuery, column: int) -> int:
    """The column of the head that an output of a join copies; joins below conditions across tables copy all."""
    source = query.outputs[column].source
    assert isinstance(source, int), "what a condition is checked over are columns"
    return source


def _tree(output: Output) -> Scalar:
    assert not isinstance(output.source, int) and output.source.scalar is not None, "a tree was looked for"
    return output.source.scalar


def _tree_of(scalar: Scalar, wanted: SqlType) -> Scalar:
    return scalar if scalar.type == wanted else Call("cast", (scalar,), wanted)


def _key_of(
    query: ConjunctiveQuery, output: Output, keys: Sequence[tuple[SqlType, list[ColumnRef]]], side: int, own: SqlType
) -> int | None:
    """The place in the key of a column that is one of it, with its own type."""
    if not isinstance(output.source, int):
        return None
    ref = query.head[_copied(query, output.source)]
    return next((i for i, (type_, refs) in enumerate(keys) if refs[side] == ref and type_ == own), None)


def _side(
    join: Join,
    atom: int,
    keys: Sequence[tuple[SqlType, list[ColumnRef]]],
    groups: tuple[int, ...],
    own: Sequence[int | Expression],
    compares: Sequence[Scalar],
    first: int,
    are_many: Callable[[Table, tuple[int, ...]], bool],
) -> Side:
    """How the rows of a side are grouped."""
    if not groups:
        return Side((), False)
    query = join.query
    copied = [own[column - first] for column in groups]
    refs = [query.head[_copied(query, one)] for one in copied if isinstance(one, int)]
    shown = {ref.column for ref in refs} | {ref.column for _, both in keys for ref in both if ref.atom == atom}
    table = query.atoms[atom].table
    is_unique = any(shown >= set(key) for key in table.keys)
    fields = {one.position for one in compares if isinstance(one, Field)}
    is_one = is_unique or any(isinstance(one, int) and one in fields for one in copied)
    if len(compares) == 2 and not _go_together(compares) and not is_one:
        return Side(groups, False)
    if is_one or not all(isinstance(one, int) for one in copied):
        return Side(groups, is_one)
    return Side(groups, are_many(table, tuple(sorted(shown))))


def _go_together(bounds: Sequence[Scalar]) -> bool:
    """Whether rows in the order of one bound are in that of the other one: one column, moved by constants."""
    found = {_shifted(one) for one in bounds}
    return len(found) == 1 and None not in found


def _shifted(scalar: Scalar) -> int | None:
    """The column that an expression moves by constants, which keeps its order; None if it is another expression."""
    match scalar:
        case Field():
            return scalar.position
        case Call(function="cast", arguments=(inner,)) if scalar.type.kind in (
            inner.type.kind,
            _WIDER.get(inner.type.kind),
        ):
            return _shifted(inner)
        case Call(function="add", arguments=(one, other)) if _is_shift(one):
            return _shifted(other)
        case Call(function="add" | "subtract", arguments=(one, other)) if _is_shift(other):
            return _shifted(one)
        case Call(function="add_days", arguments=(inner, Constant())):
            return _shifted(inner)
        case Call(function="add_interval", arguments=(inner, Constant(value=0), Constant(value=0), Constant())):
            return _shifted(inner)  # months end on one day, and days of a zone have 23 hours: they may turn the order
        case _:
            return None


def _is_shift(scalar: Scalar) -> bool:
    """Whether an expression is a constant number; infinity would make NaN of some numbers."""
    if isinstance(scalar, Constant) and isinstance(scalar.value, float):
        return isfinite(scalar.value)
    return is_constant(scalar)


def _projected(
    rows: Project,
    join: Join,
    place: int,
    keys: Sequence[tuple[SqlType, ColumnRef]],
    compares: Sequence[Scalar],
    own: Sequence[int | Expression],
) -> Project:
    """The rows of an atom: its key, what is compared, what is read."""
    query = join.query
    atom: Atom = query.atoms[place]
    head: list[ColumnRef] = []

    def at(column: int) -> int:
        """The place in the atom's head of a column of the outer one."""
        ref = ColumnRef(0, column)
        if ref not in head:
            head.append(ref)
        return head.index(ref)

    def over(column: int) -> int:
        return at(query.head[_copied(query, column)].column)

    shown: list[Scalar | Expression | int] = []
    for type_, ref in keys:
        field = Field(at(ref.column), _type(query, ref))
        shown.append(field.position if field.type == type_ else Call("cast", (field,), type_))
    shown += [moved(one, over) for one in compares]
    for one in own:
        if isinstance(one, int):
            shown.append(over(one))
        else:
            assert one.scalar is not None, "a tree was looked for"
            shown.append(Expression(one.text, moved(one.scalar, over)))
    types = [atom.table.columns[ref.column].type for ref in head]
    outputs = tuple(Output(f"c{i}", type_.arrow, i) for i, type_ in enumerate(types))
    single = ConjunctiveQuery(query.sql, (atom,), tuple(head), outputs)
    inputs = tuple(one for one in join.inputs if one.table.name == atom.table.name)
    below = Join(single, tuple(types), inputs)
    sources = [_source(one) for one in shown]
    of = [types[one] if isinstance(one, int) else _scalar(one).type for one in sources]
    named = tuple(Output(f"c{i}", type_.arrow, one) for i, (type_, one) in enumerate(zip(of, sources, strict=True)))
    return Project(below, named, tuple(of))


def _source(shown: Scalar | Expression | int) -> int | Expression:
    match shown:
        case int() | Expression():
            return shown
        case Field():
            return shown.position
        case _:
            return Expression(getattr(shown, "text", "") or "what is compared", shown)


def _scalar(expression: Expression) -> Scalar:
    assert expression.scalar is not None, "a tree was looked for"
    return expression.scalar


def atoms_of(scalar: Scalar, query: ConjunctiveQuery) -> set[int]:
    """The atoms whose columns an expression over the outputs of a join reads."""
    found = set[int]()
    for field in fields_of(scalar):
        source = query.outputs[field.position].source
        if not isinstance(source, int):
            return {0, 1}
        found.add(query.head[source].atom)
    return found
