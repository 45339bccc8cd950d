"""Which conditions compare rows with the aggregate of a group: joins that a bound of each row's key takes the place of.

A condition across tables like ``x < 0.2 * avg`` is evaluated on each row of the join, so that a group whose aggregate
changes has all its rows evaluated again. Where one side of a comparison is of a relation of groups alone, of which each
row of the others has one at most, and nothing else is read of it, the join with it is a *threshold*: the rows of the
others in the order of the other side, and for each key the bound that its group says (AJU, section 5, join-select).

    Project                              x < 0.2 * avg AND rest
      Join R, groups                     R.k = groups.k

    Threshold x < bound
      bounds: k, 0.2 * avg               of groups
      rows:   k, x, ...                  of R, for which the rest is true

Law: the rows of both are the same, as multisets. Rows of R without a group have no bound, and those of NULL neither.

``NOT COALESCE(least < x, FALSE)``, which NOT EXISTS with one comparison becomes, is a threshold too: its groups are
those of an outer join, and a row without a bound stands in the result.

    Project                              NOT COALESCE(least < x, FALSE) AND rest
      Join R, optional groups            R.k = groups.k
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from livejoin.plan.operators import Comparison
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.query.aggregates import AggregateCall
from livejoin.query.conjunctive import Branch
from livejoin.query.filters import conjunction, conjuncts_of
from livejoin.query.relational import Aggregate, Join, Project, Relation
from livejoin.query.scalar import Call, Constant, Expression, Field, Scalar, fields_of, moved
from livejoin.query.total import fails_on_large_values_only, is_total
from livejoin.schema import SqlType

_TURNED: dict[str, Comparison] = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
_REFUSED: dict[Comparison, Comparison] = {
    "less": "not_less",
    "less_equal": "not_less_equal",
    "greater": "not_greater",
    "greater_equal": "not_greater_equal",
}
_SUMS = ("count", "sum", "avg", "bool_and", "bool_or")
_MOST_CALLS = 12  # whose sums a node of the tree has words for
_EXACT = ("integer", "decimal")


@dataclass(frozen=True)
class ComparedRows:
    """A join with groups in whose place rows are compared with a bound.

    Args:
        bounds: The key's columns and the bound, for each group.
        rows: The key's columns, the one that is compared, then others, of the other atoms.
        keys: How many columns are the key.
        comparison: How a row in the result compares with its bound.
        outputs: The columns that were asked for, over those of ``rows``, and their types.
        types: Types of the outputs.
        written: The condition as users wrote it.
    """

    bounds: Project
    rows: Project
    keys: int
    comparison: Comparison
    outputs: tuple[Output, ...]
    types: tuple[SqlType, ...]
    written: str


def compared(relation: Relation) -> ComparedRows | str | None:
    """A join whose rows are compared with a bound; else why it is none, or None where nothing is compared with groups.

    Args:
        relation: A relation.
    """
    if not isinstance(relation, Project):
        return None
    relation = _merged(relation)
    if not relation.across or not isinstance(relation.input, Join):
        return None
    query = relation.input.query
    single = (branch.atoms[0] for branch in query.branches if branch.kind == "optional" and len(branch.atoms) == 1)
    groups = [atom for atom in (*query.core, *single) if _is_of_groups(relation.input, query.atoms[atom])]
    if not groups:
        return None
    if relation.predicate is None or (scalar := relation.predicate.scalar) is None:
        return "the condition is one that DuckDB evaluates"
    parts = tuple(conjuncts_of(scalar))
    reasons = []
    for part in parts:
        rest = [other for other in parts if other is not part]
        for atom in groups:
            found = _with_bounds(relation, relation.input, part, rest, atom)
            if isinstance(found, ComparedRows):
                return found
            reasons += [found] if found else []
    return reasons[0] if reasons else "no side of a comparison is of the groups alone"


def _merged(relation: Project) -> Project:
    """A condition over what is computed of a join, as of a window function, as one over the join; else itself."""
    below, condition = relation.input, relation.predicate
    if relation.across or condition is None or condition.scalar is None or not isinstance(below, Project):
        return relation
    if below.predicate is not None or below.refusal or not isinstance(below.input, Join):
        return relation
    fields = [
        Field(output.source, below.input.types[output.source])
        if isinstance(output.source, int)
        else output.source.scalar
        for output in below.outputs
    ]
    values = [field for field in fields if field is not None and is_total(field)]
    sources = [output.source for output in relation.outputs]
    trees = [source.scalar for source in sources if not isinstance(source, int)]
    if len(values) < len(fields) or None in trees:
        return relation

    def over(source: int | Expression) -> int | Expression:
        if isinstance(source, int):
            return below.outputs[source].source
        assert source.scalar is not None, "a tree was looked for"
        return Expression(source.text, _substituted(source.scalar, values))

    outputs = tuple(replace(output, source=over(output.source)) for output in relation.outputs)
    merged = Expression(condition.text, _substituted(condition.scalar, values))
    return replace(relation, input=below.input, outputs=outputs, predicate=merged, across=condition.text)


def _substituted(scalar: Scalar, values: Sequence[Scalar]) -> Scalar:
    """An expression with other expressions in place of the columns that it reads."""
    match scalar:
        case Field():
            return values[scalar.position]
        case Call():
            return replace(scalar, arguments=tuple(_substituted(part, values) for part in scalar.arguments))
        case _:
            return scalar


def grouped(relation: Aggregate, found: ComparedRows) -> bool:
    """Whether aggregates over the compared rows are sums that a bound lets in and out as a whole."""
    return (
        len(relation.calls) <= _MOST_CALLS
        and all(_is_sum(call, relation.input.types) for call in relation.calls)
        and all(isinstance(o.source, int) or _is_total(o.source) for o in found.outputs)
    )


def with_groups(found: ComparedRows) -> Project:
    """The compared rows with the columns that are asked for behind the compared one, and no others."""
    below = found.rows
    kept = found.keys + 1
    outputs = [*below.outputs[:kept], *(_over(output, below) for output in found.outputs)]
    named = tuple(replace(output, name=f"c{i}") for i, output in enumerate(outputs))
    return replace(below, outputs=named, types=(*below.types[:kept], *found.types))


def _over(output: Output, below: Project) -> Output:
    """An output over the columns of a projection, over what that reads; these copy columns."""
    copied = [one.source for one in below.outputs]

    def place(column: int) -> int:
        source = copied[column]
        assert isinstance(source, int), "what is not compared is copied"
        return source

    if isinstance(output.source, int):
        return replace(output, source=place(output.source))
    assert output.source.scalar is not None, "expressions without a tree are not moved"
    return replace(output, source=Expression(output.source.text, moved(output.source.scalar, place)))


def _is_sum(call: AggregateCall, types: Sequence[SqlType]) -> bool:
    if call.distinct or call.function not in _SUMS:
        return False
    return call.function not in ("sum", "avg") or (call.argument is not None and types[call.argument].kind in _EXACT)


def _is_total(expression: Expression) -> bool:
    return expression.scalar is not None and is_total(expression.scalar)


def _is_of_groups(join: Join, atom: Atom) -> bool:
    """Whether an atom reads groups with aggregates."""
    relation = next((one.relation for one in join.inputs if one.table.name == atom.table.name), None)
    while isinstance(relation, Project):
        relation = relation.input
    return isinstance(relation, Aggregate) and bool(relation.calls)


def _is_single(join: Join, atom: Atom) -> bool:
    """Whether an atom has one row at most."""
    relation: Relation | None = next(one.relation for one in join.inputs if one.table.name == atom.table.name)
    while isinstance(relation, Project):
        relation = relation.input
    return isinstance(relation, Aggregate) and relation.is_global


def _with_bounds(relation: Project, join: Join, part: Scalar, rest: Sequence[Scalar], place: int) -> ComparedRows | str:
    """The join without an atom of groups, one side of a comparison with which is its bound; or why that cannot be."""
    query, groups = join.query, join.query.atoms[place]
    branch = next((one for one in query.branches if place in one.atoms), None)
    if branch is not None:
        inner = _refused(part)
        if inner is None:
            return "" if rest else "rows without a group may have a bound"
        part = inner
    if not isinstance(part, Call) or part.function not in _TURNED:
        return "" if rest else "the condition is no comparison by <, <=, > or >="
    atoms = [_atoms_of(output, query) for output in query.outputs]
    left, right = ({atom for field in fields_of(side) for atom in atoms[field.position]} for side in part.arguments)
    if (place in left) == (place in right):
        return "" if rest or place not in left else "both sides of the comparison read the groups"
    bound, side = part.arguments if place in left else reversed(part.arguments)
    turned = _TURNED[part.function]
    comparison = turned if place in left else _TURNED[turned]
    if (left if place in left else right) != {place}:
        return f"{groups.alias} is not alone on its side of the comparison"
    read = set[int]()
    for output in relation.outputs:
        if not isinstance(output.source, int) and output.source.scalar is None:
            return "a column is one that DuckDB evaluates"
        read |= {output.source} if isinstance(output.source, int) else {f.position for f in output.source.fields()}
    below = {field.position for one in (side, *rest) for field in fields_of(one)}
    if any(place in atoms[column] for column in read | below):
        return f"the aggregate of {groups.alias} is shown, or read by another condition"
    has_one = branch is None and _is_single(join, groups)
    is_known = is_total(side) or (has_one and fails_on_large_values_only(side))
    if not is_known or not fails_on_large_values_only(bound):
        return "a side of the comparison has no value for some rows, which may be rows without a group"
    if not all(map(fails_on_large_values_only, rest)):
        return "another condition has no value for some rows, which the comparison may drop"
    if branch is not None and not _is_null_of_null(bound):
        return "rows without a group may have a bound"
    pairs = _keys(query, place) if branch is None else _pairs(query, branch)
    if isinstance(pairs, str):
        return pairs
    keys = tuple(inner for _, inner in pairs)
    if not _is_unique(groups, keys) and not _is_single(join, groups):
        return f"a row may have several rows of {groups.alias}"
    types = [groups.table.columns[groups.column_of(variable)].type for variable in keys]
    shown = [_column(query, place, variable) for variable, _ in pairs]
    if types != [query.atoms[ref.atom].table.columns[ref.column].type for ref in shown]:
        return "the key has another type in the groups"
    wider = _wider(bound.type, side.type)
    bounds = _bounds(join, place, keys, (*types, wider), _as(bound, wider))
    columns = sorted(read)
    rows = _rows(relation, join, place, columns, shown, (*types, wider), _as(side, wider), rest)
    at = {column: len(keys) + 1 + i for i, column in enumerate(columns)}
    outputs = tuple(_moved(output, at) for output in relation.outputs)
    stands = comparison if branch is None else _REFUSED[comparison]
    return ComparedRows(bounds, rows, len(keys), stands, outputs, relation.types, relation.across)


def _refused(part: Scalar) -> Scalar | None:
    """The condition that another one refuses, ``NOT COALESCE(c, FALSE)``; else None."""
    match part:
        case Call("not", (Call("coalesce", (inner, Constant(False))),)):
            return inner
        case _:
            return None


def _is_null_of_null(scalar: Scalar) -> bool:
    """Whether an expression over one relation is known to be NULL where all of its columns are."""
    match scalar:
        case Field():
            return True
        case Call("cast" | "negate" | "add" | "subtract" | "multiply"):
            return any(map(_is_null_of_null, scalar.arguments))
        case _:
            return False


def _is_unique(groups: Atom, variables: Sequence[str]) -> bool:
    """Whether no two rows of an atom have the same values of some variables, by a key."""
    columns = {groups.column_of(variable) for variable in variables}
    return any(columns >= set(key) for key in groups.table.keys)


def _atoms_of(output: Output, query: ConjunctiveQuery) -> frozenset[int]:
    """The atoms that an output of a join reads; all of them if it has no tree."""
    if isinstance(output.source, int):
        return frozenset((query.head[output.source].atom,))
    if output.source.scalar is None:
        return frozenset(range(len(query.atoms)))
    return frozenset(query.head[field.position].atom for field in output.source.fields())


def _pairs(query: ConjunctiveQuery, branch: Branch) -> tuple[tuple[str, str], ...] | str:
    """The variables that an optional atom is joined by, those above first; or why the join needs the atom."""
    name = query.atoms[branch.atoms[0]].alias
    place = query.branches.index(branch)
    if any(other.above == place for other in query.branches):
        return f"another relation hangs on {name}"
    return branch.key if branch.above is None else f"{name} hangs on another optional relation"


def _keys(query: ConjunctiveQuery, place: int) -> tuple[tuple[str, str], ...] | str:
    """The variables that an atom of the core is joined by, each twice; or why the join needs the atom."""
    others = [query.edges[atom] for atom in query.core if atom != place]
    if not others:
        return "there is nothing else in the join"
    elsewhere = frozenset[str]().union(*others)
    for branch in query.branches:
        outer = {variable for variable, _ in branch.key}
        if branch.above is None and not any(outer <= edge for edge in others):
            return f"{query.atoms[branch.atoms[0]].alias} hangs on {query.atoms[place].alias}"
    keys = tuple(v for v in query.atoms[place].variables if v in elsewhere)
    if _parts(others) > _parts([*others, query.edges[place]]) - (not keys):
        return f"{query.atoms[place].alias} alone joins the others"
    return tuple((variable, variable) for variable in keys)


def _parts(edges: Iterable[frozenset[str]]) -> int:
    """How many parts edges fall into that have no variable in common."""
    parts: list[frozenset[str]] = []
    for edge in edges:
        joined = [part for part in parts if part & edge]
        parts = [part for part in parts if part not in joined]
        parts.append(edge.union(*joined))
    return len(parts)


def _column(query: ConjunctiveQuery, place: int, variable: str) -> ColumnRef:
    """A column with a variable outside of an atom."""
    atom = next(a for a in query.core if a != place and variable in query.edges[a])
    return ColumnRef(atom, query.atoms[atom].column_of(variable))


def _wider(one: SqlType, other: SqlType) -> SqlType:
    """The type that both sides of a comparison, decimals of one scale among them, are compared in."""
    return one if one.precision >= other.precision else other


def _as(scalar: Scalar, wanted: SqlType) -> Scalar:
    return scalar if scalar.type == wanted else Call("cast", (scalar,), wanted)


def _expression(scalar: Scalar) -> int | Expression:
    return (
        scalar.position if isinstance(scalar, Field) else Expression(getattr(scalar, "text", "") or "the bound", scalar)
    )


def _bounds(join: Join, place: int, keys: Sequence[str], types: tuple[SqlType, ...], bound: Scalar) -> Project:
    """The keys of the groups with their bounds."""
    query, atom = join.query, join.query.atoms[place]
    head = [ColumnRef(0, atom.column_of(variable)) for variable in keys]
    at: dict[int, int] = {}
    for field in fields_of(bound):
        copied = query.outputs[field.position].source
        assert isinstance(copied, int), "what is read of groups are their columns"
        ref = ColumnRef(0, query.head[copied].column)
        if ref not in head:
            head.append(ref)
        at[field.position] = head.index(ref)
    columns = [atom.table.columns[ref.column] for ref in head]
    outputs = tuple(Output(f"c{i}", column.type.arrow, i) for i, column in enumerate(columns))
    single = ConjunctiveQuery(query.sql, (atom,), tuple(head), outputs)
    inputs = tuple(one for one in join.inputs if one.table.name == atom.table.name)
    source = Join(single, tuple(column.type for column in columns), inputs)
    shown = (*range(len(keys)), _expression(moved(bound, at.__getitem__)))
    named = tuple(Output(f"c{i}", type_.arrow, one) for i, (type_, one) in enumerate(zip(types, shown, strict=True)))
    return Project(source, named, types)


def _rows(
    relation: Project,
    join: Join,
    place: int,
    columns: Sequence[int],
    keys: Sequence[ColumnRef],
    types: tuple[SqlType, ...],
    side: Scalar,
    rest: Sequence[Scalar],
) -> Project:
    """The rows of the other atoms that the rest of the condition is true for: key, compared column, columns read."""
    query = join.query

    def elsewhere(atom: int) -> int:
        return atom - (atom > place)

    head = [ref for ref in query.head if ref.atom != place]
    head += [ref for ref in dict.fromkeys(keys) if ref not in head]
    at = {i: head.index(ref) for i, ref in enumerate(query.head) if ref.atom != place}
    needed = sorted({*columns, *(f.position for one in (side, *rest) for f in fields_of(one))})
    outputs = [_moved(query.outputs[column], at) for column in needed]
    outputs += [Output("", query.atoms[r.atom].table.columns[r.column].type.arrow, head.index(r)) for r in keys]
    outputs = [replace(output, name=f"c{i}") for i, output in enumerate(outputs)]
    branches = tuple(
        replace(one, atoms=tuple(map(elsewhere, one.atoms)), above=_above(one, query, place))
        for one in query.branches
        if place not in one.atoms
    )
    atoms = tuple(atom for i, atom in enumerate(query.atoms) if i != place)
    refs = tuple(replace(ref, atom=elsewhere(ref.atom)) for ref in head)
    others = replace(query, atoms=atoms, head=refs, outputs=tuple(outputs), branches=branches)
    names = {atom.table.name for atom in atoms}
    inputs = tuple(one for one in join.inputs if one.table.name in names)
    below = Join(others, (*(join.types[column] for column in needed), *types[:-1]), inputs)
    position = {column: i for i, column in enumerate(needed)}
    first = len(needed)
    shown = (
        *range(first, first + len(keys)),
        _expression(moved(side, position.__getitem__)),
        *(position[column] for column in columns),
    )
    all_types = (*types, *(join.types[column] for column in columns))
    named = tuple(
        Output(f"c{i}", type_.arrow, one) for i, (type_, one) in enumerate(zip(all_types, shown, strict=True))
    )
    predicate = conjunction(
        Expression(getattr(one, "text", "") or "a condition", moved(one, position.__getitem__)) for one in rest
    )
    return replace(
        relation,
        input=below,
        outputs=named,
        types=all_types,
        predicate=predicate,
        across=relation.across if rest else "",
    )


def _above(branch: Branch, query: ConjunctiveQuery, place: int) -> int | None:
    """The branch that another one hangs on, without the one of an atom."""
    if branch.above is None:
        return None
    return branch.above - sum(place in one.atoms for one in query.branches[: branch.above])


def _moved(output: Output, at: dict[int, int]) -> Output:
    if isinstance(output.source, int):
        return replace(output, source=at[output.source])
    assert output.source.scalar is not None, "expressions without a tree are not moved"
    return replace(output, source=Expression(output.source.text, moved(output.source.scalar, at.__getitem__)))
