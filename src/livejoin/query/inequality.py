"""Which aggregates are those of a join by one comparison, so that they are sums in front of rows of two ordered sides.

    Aggregate COUNT(*), SUM(q.p) BY t.a             groups, calls
      Project                                       q.ts < t.ts
        Join T, Q                                   t.k = q.k, or nothing

The condition compares one value of a row, its *point*, with one value of the other row, its *bound*, or with two of
them, as in ``q.ts BETWEEN t.ts - 5 AND t.ts`` or ``ABS(q.ts - t.ts) <= 5`` (`livejoin.query.differences`). The rows
with bounds are the left side here, whichever FROM names first.
Each column that is read is of one side, and each aggregate is a sum without rounding: COUNT, SUM and AVG of integers
and decimals, BOOL_AND and BOOL_OR.

Law: the aggregates over the sides are those over the join. What is evaluated for rows that meet no other has a value
for each row, and a bound and a point have one but where a number or a time does not fit its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite

from livejoin.query.aggregates import AggregateCall
from livejoin.query.conjunctive import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.query.differences import TURNED, is_constant, taken_apart, unwidened, wider_number
from livejoin.query.filters import conjunction, conjuncts_of
from livejoin.query.relational import Aggregate, Join, Project, Relation
from livejoin.query.scalar import Call, Constant, Expression, Field, Scalar, fields_of, moved
from livejoin.query.total import fails_on_large_numbers_only, is_total
from livejoin.schema import SqlType, Table

_UPPER = ("less", "less_equal")
_SUMS = ("count", "sum", "avg", "bool_and", "bool_or")
_EXACT = ("integer", "decimal")
_WIDER = {"integer": "decimal"}  # kinds whose casts keep the order, beside those to the same kind
_MOST_CALLS = 12  # whose sums a node of the tree has words for

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
class InequalityGroups:
    """Aggregates of a join by one comparison; arguments as of an `InequalityAggregateOperator` of the plan.

    Args:
        left, right: The two sides, a projection of a join of one atom each.
        keys, low, high, goes_together, sides, columns, written: See there.
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

    @property
    def has_key(self) -> bool:
        """Whether an equality joins the sides."""
        return self.keys > 0


@dataclass(frozen=True)
class InequalityRows:
    """The rows of a join by one comparison; arguments as of an `InequalityJoinOperator` of the plan.

    Args:
        left, right: The two sides, a projection of a join of one atom each.
        keys, low, high, goes_together, sides, columns: See there; the columns are those of the join.
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
    rest: Expression | None


@dataclass(frozen=True)
class _Compared:
    """A point with its bounds, and the atom of the points."""

    points: int
    point: Scalar
    low: tuple[str, Scalar] | None
    high: tuple[str, Scalar] | None


def _unknown(table: Table, columns: tuple[int, ...]) -> bool | None:
    return None


def inequality_groups(relation: Relation, many: Many = _unknown) -> InequalityGroups | str | None:
    """Aggregates of a join by one comparison; else why they are none, or None where nothing is compared across tables.

    Args:
        relation: A relation.
        many: Which groups are so many that rows are better kept in the order of what is compared than in theirs. Where
            it is unknown, rows within two bounds are taken to be fewer than groups.
    """
    if not isinstance(relation, Aggregate) or not isinstance(relation.input, Project):
        return None
    rows = relation.input
    if not rows.across or rows.predicate is None or not isinstance(rows.input, Join):
        return None
    query = rows.input.query
    if len(query.atoms) != 2 or query.branches:
        return "the join is not one of two relations"
    if rows.predicate.scalar is None:
        return "the condition is one that DuckDB evaluates"
    parts = tuple(each for one in conjuncts_of(rows.predicate.scalar) for each in taken_apart(one))
    compared = _compared(parts, query)
    if isinstance(compared, str):
        return compared
    if reason := _not_summed(relation, rows):
        return reason
    return _of_sides(relation, rows, rows.input, compared, many)


def inequality_rows(rows: Relation) -> InequalityRows | str | None:
    """The rows of a join by one comparison; else why each pair is looked at, or None where none is compared.

    Args:
        rows: A relation.
    """
    if not isinstance(rows, Project) or not rows.across or rows.predicate is None or not isinstance(rows.input, Join):
        return None
    join = rows.input
    if len(join.query.atoms) != 2 or join.query.branches:
        return "the join is not one of two relations"
    if rows.predicate.scalar is None:
        return "the condition is one that DuckDB evaluates"
    parts = tuple(dict.fromkeys(conjuncts_of(rows.predicate.scalar)))
    reasons = []
    for chosen, compared in _comparisons(parts, join.query):
        found = compared if isinstance(compared, str) else _rows_of(rows, join, compared)
        if isinstance(found, str):
            reasons.append(found)
            continue
        rest = tuple(part for i, part in enumerate(parts) if i not in chosen)
        return replace(found, written=_texts([parts[i] for i in sorted(chosen)], rows.across), rest=_rest(rest, rows))
    return reasons[0]


def _comparisons(parts: Sequence[Scalar], query: ConjunctiveQuery) -> Iterator[tuple[frozenset[int], _Compared | str]]:
    """What some of the conjuncts compare, and which these are: two bounds before one, and else why there is nothing."""
    alone = [(frozenset((i,)), _compared(taken_apart(part), query)) for i, part in enumerate(parts)]
    ones = [(chosen, found) for chosen, found in alone if isinstance(found, _Compared)]
    for (one, _), (other, _) in combinations(ones, 2):
        found = _compared([each for i in sorted(one | other) for each in taken_apart(parts[i])], query)
        if isinstance(found, _Compared):
            yield one | other, found
    yield from sorted(ones, key=lambda one: one[1].low is None or one[1].high is None)
    yield from alone[:1]


def _rows_of(rows: Project, join: Join, compared: _Compared) -> InequalityRows | str:
    """The pairs that compare so; or why each pair is looked at."""
    shown = tuple(replace(output, source=i) for i, output in enumerate(join.query.outputs))
    whole = replace(rows, outputs=shown, types=join.types)
    found = _of_sides(Aggregate(whole, len(shown), (), False), whole, join, compared, lambda *_: True)
    if isinstance(found, str):
        return found
    sides = tuple(Side(side.groups, True) for side in found.sides)
    of = found.left, found.right, found.keys, found.low, found.high, found.goes_together
    return InequalityRows(*of, (sides[0], sides[1]), found.columns, rows.across, None)


def _texts(parts: Sequence[Scalar], whole: str) -> str:
    """Some conjuncts of a condition as users wrote them; all of it where one has no text of its own."""
    texts = dict.fromkeys(part.text if isinstance(part, Call) else "" for part in parts)  # BETWEEN is two conjuncts
    return " AND ".join(texts) if all(texts) else whole


def _rest(parts: Sequence[Scalar], rows: Project) -> Expression | None:
    """Conjuncts of the condition of rows as a condition."""
    if not parts:
        return None
    return conjunction(Expression(_texts([part], rows.across), part) for part in parts)


def counted_groups(relation: Relation) -> Iterator[tuple[Table, tuple[int, ...]]]:
    """Sets of columns of base tables, at any depth, whose number of different values says how groups are kept."""
    asked: list[tuple[Table, tuple[int, ...]]] = []

    def ask(table: Table, columns: tuple[int, ...]) -> bool | None:
        asked.append((table, columns))
        return None

    inequality_groups(relation, ask)
    yield from asked
    for one in relation.below:
        yield from counted_groups(one)


def _not_summed(relation: Aggregate, rows: Project) -> str:
    """Why the aggregates are no sums of columns of one side each; empty if they are."""
    for call in relation.calls:
        if not _is_sum(call, rows.types):
            is_rounded = call.function in ("sum", "avg") and not call.distinct
            what = "of doubles is rounded once, over single values" if is_rounded else "is no sum of its rows"
            return f"{'DISTINCT ' if call.distinct else ''}{call.function.upper()} {what}"
    if len(relation.calls) > _MOST_CALLS:
        return f"there are more than {_MOST_CALLS} aggregates"
    for output in rows.outputs:
        if isinstance(output.source, int):
            continue
        if output.source.scalar is None:
            return "a column is one that DuckDB evaluates"
        if not is_total(output.source.scalar):
            is_large = fails_on_large_numbers_only(output.source.scalar)
            what = "may not fit its type in" if is_large else "has no value for"
            return f"{_texts([output.source.scalar], output.name)} {what} some rows, which the comparison may drop"
    return ""


def _is_sum(call: AggregateCall, types: Sequence[SqlType]) -> bool:
    if call.distinct or call.function not in _SUMS:
        return False
    return call.function not in ("sum", "avg") or (call.argument is not None and types[call.argument].kind in _EXACT)


def _compared(parts: Sequence[Scalar], query: ConjunctiveQuery) -> _Compared | str:
    """What a condition compares; or why it is no comparison of a point with one bound or two."""
    found: list[tuple[str, tuple[Scalar, Scalar]]] = []
    for part in parts:
        if not isinstance(part, Call) or part.function not in TURNED:
            return "the condition is no comparison by <, <=, >, >= or BETWEEN"
        of = [_atoms(side, query) for side in part.arguments]
        if sorted(map(sorted, of)) != [[0], [1]]:
            return "a side of the comparison is not of one relation alone"
        one, other = part.arguments
        found.append((part.function, (one, other)) if of[0] == {0} else (TURNED[part.function], (other, one)))
    for sides in zip(*(sides for _, sides in found), strict=True):
        for side in sides:
            if not _may_be_evaluated(side):
                return _not_evaluated(side)
    # Each comparison is of the first atom with the second one.
    for points in (1, 0):
        values = [unwidened(sides[points]) for _, sides in found]
        if any(value != values[0] for value in values):
            continue
        stands = [(TURNED[name] if points == 1 else name, sides[1 - points]) for name, sides in found]
        upper = [one for one in stands if one[0] in _UPPER]
        lower = [one for one in stands if one[0] not in _UPPER]
        if len(upper) < 2 and len(lower) < 2:
            return _Compared(points, values[0], lower[0] if lower else None, upper[0] if upper else None)
    return "there are several comparisons, which are not a lower and an upper bound of one value"


def _not_evaluated(side: Scalar) -> str:
    """Why an expression is not evaluated for rows that may meet no other row."""
    waiting = [side]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, Call):
            continue
        (first, *_) = part.arguments or (part,)
        if part.function == "cast" and first.type.kind == "string" and part.type.kind != "string":
            return (
                f"a STRING is compared as {part.type}, which fails for texts that are none, though their rows may meet "
                f"no other; compare TRY_CAST(... AS {part.type})"
            )
        waiting += part.arguments
    return "a side of the comparison has no value for some rows, which may meet no other row"


def _may_be_evaluated(scalar: Scalar) -> bool:
    """Whether an expression has a value for each row but where a number or a time does not fit."""
    if isinstance(scalar, Call) and scalar.function in ("add_days", "add_interval"):
        first, *others = scalar.arguments
        return _may_be_evaluated(first) and all(isinstance(one, Constant) for one in others)
    if isinstance(scalar, Call) and scalar.function == "cast":
        (inner,) = scalar.arguments
        if {inner.type.kind, scalar.type.kind} <= {"date", "timestamp"}:
            return _may_be_evaluated(inner)
    return fails_on_large_numbers_only(scalar)


def _atoms(scalar: Scalar, query: ConjunctiveQuery) -> set[int]:
    """The atoms whose columns an expression over the outputs of a join reads."""
    found = set[int]()
    for field in fields_of(scalar):
        source = query.outputs[field.position].source
        if not isinstance(source, int):
            return {0, 1}
        found.add(query.head[source].atom)
    return found


def _of_sides(
    relation: Aggregate, rows: Project, join: Join, compared: _Compared, many: Many
) -> InequalityGroups | str:
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
            of_atoms = _atoms(_tree(output), query)
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
    return InequalityGroups(
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
