"""From a query's relational operators to the operators that maintain it.

A DISTINCT or GROUP BY directly over a join becomes part of the join-tree plan where it can: distinct results and sums
of products need no store of their own if the output is free-connex (CROWN, sections 4 and 7.3). Elsewhere the join is
kept over a free-connex output that contains all columns that are asked for (CROWN, section 7.1), each result once and
annotated with its multiplicity, and a store above it removes duplicates or aggregates (DYN, section 5.1). A
foreign-key join feeds a store with its results as they are, since a change adds and removes few of them (AJU, Corollary
9), also where annotations would do but cost more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypedDict, assert_never

from livejoin.families.cells.partition import Partition
from livejoin.families.output import with_output
from livejoin.families.program import Program
from livejoin.plan import operators
from livejoin.plan.annotation import annotation_of, number_of_results
from livejoin.plan.equal_atoms import Counted, with_counts
from livejoin.plan.join_planner import JoinPlanner
from livejoin.plan.kept_rows import adds_up, is_of_one_table, with_kept_rows
from livejoin.plan.operators import (
    AggregateOperator,
    AnnotatedOperator,
    AsOfOperator,
    BagOperator,
    InequalityAggregateOperator,
    InequalityJoinOperator,
    JoinInput,
    JoinOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RunningOperator,
    SelectedOperator,
    SetOperator,
    StoredOperator,
    ThresholdAggregateOperator,
    ThresholdOperator,
    TopKOperator,
)
from livejoin.plan.own_rows import over_own_rows
from livejoin.plan.powers import BIGINT, POWER, Power, or_zero, power_expression, power_of
from livejoin.plan.restricted_groups import Restricted, restricted
from livejoin.plan.rows_in_time import with_rows_in_time
from livejoin.plan.thresholds import ComparedRows, compared, grouped, with_groups
from livejoin.query import ColumnRef, ConjunctiveQuery, Factor, Output
from livejoin.query.aggregates import AggregateCall
from livejoin.query.inequality import inequality_groups, inequality_rows
from livejoin.query.inequality_sides import InequalitySides, Side, SideColumn
from livejoin.query.keys import determined
from livejoin.query.of_time import is_of_time
from livejoin.query.relational import (
    Aggregate,
    AsOf,
    Distinct,
    Join,
    Numbers,
    Project,
    Ranked,
    Relation,
    Repeated,
    Running,
    SetOperation,
    TopK,
)

_FEW = 0.5  # of the rows of groups: as many are kept as rows and in the join with the groups
_MANY_ROWS = "the rows without the groups are those of a join, of which there may be many more than base rows"


def lower_query(root: Relation, by: JoinPlanner, live: bool) -> Operator:
    """The operators for a query, as `lower`; groups that a join asks for are restricted to those of its own rows."""

    def is_kept(rows: Project) -> bool:
        return _threshold(rows, by) is not None

    root = with_kept_rows(root)
    if by.thresholds:
        root = with_rows_in_time(root, is_kept)
    if not by.restricts:
        return lower(root, by, live)

    def is_worth(found: Restricted) -> bool:
        shares = by.shares(found.join.query)
        return by.delta(found.join.query) is not None and prod(shares[atom] for atom in found.by) <= _FEW

    return lower(over_own_rows(root, is_worth, is_kept), by, live)


def lower(relation: Relation, by: JoinPlanner, live: bool) -> Operator:
    """The operators for a relation.

    Args:
        relation: The relation.
        by: How its joins are maintained.
        live: Whether the relation's deltas are asked for; those below a store are in any case.
    """
    match relation:
        case Join():
            return _scan(relation, relation.query, by, live)
        case Project():
            if threshold := _threshold(relation, by):
                return _shown(threshold, by)
            return _inequality_rows(relation, by) or _computed(relation, lower(relation.input, by, live))
        case Distinct():
            return _distinct(relation, by, live)
        case Aggregate():
            return _aggregate(relation, by, live)
        case SetOperation():
            if relation.kind == "union" and relation.all:
                sides = (lower(relation.left, by, live), lower(relation.right, by, live))
            else:
                sides = (_below(relation.left, by), _below(relation.right, by))
            return SetOperator(relation.kind, relation.all, sides, relation.types)
        case Ranked():
            below = _below(relation.input, by)
            what = (relation.partition, relation.keys, relation.function, relation.limit)
            return RankedOperator(below, *what, relation.types)
        case Running():
            below = _below(relation.input, by)
            return RunningOperator(
                below, relation.partition, relation.keys, relation.frame, relation.calls, relation.types
            )
        case AsOf():
            sides = (_below(relation.left, by), _below(relation.right, by))
            return AsOfOperator(*sides, relation.on, relation.types, relation.written)
        case Repeated():
            return operators.RepeatedOperator(lower(relation.input, by, live), relation.count)
        case Numbers():
            return operators.NumbersOperator(relation.count)
        case TopK():
            below = _below(relation.input, by)
            return TopKOperator(below, relation.keys, relation.limit, relation.offset, relation.types)
        case _:
            assert_never(relation)


def _below(relation: Relation, by: JoinPlanner, passes: bool = False) -> Operator:
    """The operators for a relation that a store reads, so that its rows are not read but where they change.

    Rows of one relation go into the store as they are (docs/decisions/0030): a join of one atom needs no records.

    Args:
        relation: The relation.
        by: How its joins are maintained.
        passes: Whether the store keeps all that has to be kept of rows that their table does not keep.
    """
    match relation:
        case Join() if len(relation.query.atoms) == 1:
            return _selected(relation, by, passes)
        case Project():
            if threshold := _threshold(relation, by):
                return _shown(threshold, by)
            return _inequality_rows(relation, by) or _computed(relation, _below(relation.input, by, passes))
        case Repeated():
            return operators.RepeatedOperator(_below(relation.input, by, passes), relation.count)
        case SetOperation(kind="union", all=True):
            sides = (_below(relation.left, by, passes), _below(relation.right, by, passes))
            return SetOperator("union", True, sides, relation.types)
        case _:
            return lower(relation, by, True)


def _computed(relation: Project, below: Operator, not_summed: str = "") -> Operator:
    if _is_as_it_is(relation, below):
        return below
    found = compared(relation)
    reason = _MANY_ROWS if isinstance(found, ComparedRows) else found or ""
    reason = f"no threshold: {reason}" if reason else _each(not_summed)
    said = {"across": relation.across, "refusal": relation.refusal, "reason": reason, "written": relation.written}
    return ProjectOperator(below, relation.outputs, relation.types, relation.predicate, **said)


def _is_as_it_is(relation: Project, below: Operator) -> bool:
    """Whether a projection gives the rows of the relation below as they are."""
    sources = [output.source for output in relation.outputs]
    return relation.predicate is None and relation.types == below.types and sources == list(range(len(below.types)))


def _threshold(relation: Project, by: JoinPlanner) -> ComparedRows | None:
    """A join with groups in whose place rows are compared with bounds, if there are few enough of them to be kept."""
    found = compared(relation) if by.thresholds else None
    if not isinstance(found, ComparedRows) or not isinstance(found.rows.input, Join):
        return None
    query = found.rows.input.query
    optional = any(branch.kind == "optional" for branch in query.branches)
    is_narrow = (len(query.core) == 1 and not optional) or by.delta(query) is not None
    if is_narrow:
        return _restricted(found) if by.restricts and not found.comparison.startswith("not_") else found
    return found if _threshold(found.rows, by) else None


def _restricted(found: ComparedRows) -> ComparedRows:
    """ComparedRows rows with the bounds of their own keys alone, where these follow from the rows of the same join."""
    join, rows = found.bounds.input, found.rows.input
    assert isinstance(join, Join) and isinstance(rows, Join), "bounds and rows are those of joins"
    own = restricted(rows, join.query.atoms[0], join.inputs[0].relation)
    if own is None:
        return found
    bounds = replace(join, inputs=(replace(join.inputs[0], relation=own.groups),))
    return replace(found, bounds=replace(found.bounds, input=bounds), rows=replace(found.rows, input=own.join))


def _shown(found: ComparedRows, by: JoinPlanner) -> ProjectOperator:
    """The compared rows, as they were asked for (AJU, Theorem 14)."""
    bounds, rows = _below(found.bounds, by), _compared_rows(found.rows, by)
    threshold = ThresholdOperator(bounds, rows, found.keys, found.comparison, found.rows.types, found.written)
    return ProjectOperator(threshold, found.outputs, found.types, None)


def _compared_rows(relation: Project, by: JoinPlanner) -> Operator:
    """The rows that are compared with bounds, which may be compared with others before."""
    if found := _threshold(relation, by):
        return _shown(found, by)
    assert isinstance(relation.input, Join), "what is compared are rows of a join"
    join = relation.input
    return _computed(relation, _selected(join, by) if len(join.query.atoms) == 1 else _read(join, by, False))


def _threshold_group(relation: Aggregate, by: JoinPlanner) -> ThresholdAggregateOperator | None:
    """Aggregates over compared rows, if they are sums that need no row to be moved (AJU, Theorem 15)."""
    found = _threshold(relation.input, by) if isinstance(relation.input, Project) else None
    if found is None or not grouped(relation, found) or _has_rows_that_cross(relation, found):
        return None
    rows = _compared_rows(with_groups(found), by)
    what = (found.keys, found.comparison, relation.groups, relation.calls, relation.is_global, relation.types)
    return ThresholdAggregateOperator(_below(found.bounds, by), rows, *what, found.written)


class _Sides(TypedDict):
    """The arguments of an `InequalityOperator` that say what its two sides are."""

    left: Operator
    right: Operator
    keys: int
    low: str
    high: str
    goes_together: bool
    sides: tuple[Side, Side]
    columns: tuple[SideColumn, ...]
    written: str


def _sides(found: InequalitySides, by: JoinPlanner) -> _Sides:
    """The two sides of a join by one comparison, each maintained below the operator."""
    return _Sides(
        left=_below(found.left, by),
        right=_below(found.right, by),
        keys=found.keys,
        low=found.low,
        high=found.high,
        goes_together=found.goes_together,
        sides=found.sides,
        columns=found.columns,
        written=found.written,
    )


def _has_rows_that_cross(relation: Aggregate, found: ComparedRows) -> bool:
    """Whether few rows cross a bound at once, and their groups are fewer than all groups: a time that goes on.

    Sums in front of rows are kept by group, so that a bound that moves costs something for each group.
    """
    return bool(relation.groups) and found.keys == 0 and is_of_time(found.bounds)


def _inequality_group(relation: Aggregate, found: InequalitySides, by: JoinPlanner) -> InequalityAggregateOperator:
    """Aggregates of a join by one comparison, by sums in front of the rows of its two sides (AJU, Theorem 15)."""
    return InequalityAggregateOperator(
        **_sides(found, by),
        types=relation.types,
        groups=relation.groups,
        calls=relation.calls,
        is_global=relation.is_global,
    )


def _inequality_rows(relation: Project, by: JoinPlanner, not_summed: str = "") -> ProjectOperator | None:
    """The rows of a join by one comparison, of which a changed row meets a run."""
    found = inequality_rows(relation) if by.thresholds else None
    if not isinstance(found, InequalitySides) or not found.keys or not isinstance(relation.input, Join):
        return None
    if by.delta(relation.input.query) is not None:
        return None  # a row has few matches by the equality alone
    pairs = InequalityJoinOperator(**_sides(found, by), types=relation.input.types)
    across, refusal = (found.rest.text, relation.refusal) if found.rest is not None else ("", "")
    said = {"across": across, "refusal": refusal, "reason": _each(not_summed), "written": relation.written}
    return ProjectOperator(pairs, relation.outputs, relation.types, found.rest, **said)


def _each(not_summed: str) -> str:
    """Why each pair is made, for explanations."""
    return f"each pair is made: {not_summed}" if not_summed else ""


def _selected(join: Join, by: JoinPlanner, passes: bool = False) -> Operator:
    """The rows of a join of one atom, as they change; kept here if neither their table nor the store above does."""
    inputs = tuple(_below(one.relation, by, passes) for one in join.inputs)
    rows = SelectedOperator(join.query, join.types, inputs)
    table = join.query.atoms[0].table
    return StoredOperator(rows, f"rows of {table.name}") if table.is_trusted and not (inputs or passes) else rows


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A join with its plan compiled."""

    physical: Program
    partition: Partition | None
    inputs: tuple[JoinInput, ...]


def _leaf(join: Join, query: ConjunctiveQuery, by: JoinPlanner, live: bool) -> _Leaf:
    """A query over the atoms of a join, compiled, with the relations that it reads, bags among them."""
    plan = by.plan(query)
    physical = plan.compile(live)
    below = [_below(one.relation, by, is_of_one_table(one.relation)) for one in join.inputs]
    given = [JoinInput(one.table, StoredOperator(b, one.table.name)) for one, b in zip(join.inputs, below, strict=True)]
    bags: list[JoinInput] = []
    for derived in plan.derived:
        program, partition = by.rows(derived)
        bags.append(
            JoinInput(derived.table, BagOperator(derived, program, partition, _named([*given, *bags], derived.query)))
        )
    return _Leaf(physical, by.split(physical), _named([*given, *bags], physical.query))


def _named(given: Sequence[JoinInput], query: ConjunctiveQuery) -> tuple[JoinInput, ...]:
    """The given relations that a query reads."""
    names = {atom.table.name for atom in query.atoms}
    return tuple(one for one in given if one.table.name in names)


def _scan(
    join: Join, query: ConjunctiveQuery, by: JoinPlanner, live: bool, asked: frozenset[str] | None = None
) -> JoinOperator:
    """The results of a query over the atoms of a join."""
    leaf = _leaf(join, query, by, live)
    return JoinOperator(leaf.physical, query, join.types, asked, leaf.partition, leaf.inputs)


def _is_of_core(query: ConjunctiveQuery, head: Sequence[ColumnRef]) -> bool:
    """Whether some columns are of the core, so that a plan may have distinct or annotated results over them."""
    return all(ref.atom in query.core for ref in head)


def _read(join: Join, by: JoinPlanner, once: bool, factors: tuple[Factor, ...] = ()) -> Operator:
    """The rows of a join of several atoms for a store: each once, or with its multiplicity times some factors."""
    query = join.query
    head = frozenset(query.variable(ref) for ref in query.head)
    kept = None
    if _is_of_core(query, query.head) and (factors or not by.is_fed(query, None)):
        kept = by.output(query, head)
    if kept is None:
        assert not factors, "where atoms are counted, every output is kept, and all atoms are of the core"
        return lower(join, by, True)
    return _distinct_results(join, kept, by, True) if once else _counted(join, kept, by, factors)


def _checked(relation: Relation, by: JoinPlanner, once: bool, not_summed: str = "") -> Operator | None:
    """The rows of a join that conditions across tables are true for, as `_read`; None if it is no such relation.

    Args:
        relation: The relation.
        by: How its joins are maintained.
        once: Whether rows are asked for once each.
        not_summed: Why aggregates over them are no sums in front of rows of two sides; empty where none are asked for.
    """
    if isinstance(relation, Project) and relation.across and isinstance(relation.input, Join):
        if threshold := _threshold(relation, by):
            return _shown(threshold, by)
        rows = _inequality_rows(relation, by, not_summed)
        return rows or _computed(relation, _read(relation.input, by, once), not_summed)
    return None


def _distinct(relation: Distinct, by: JoinPlanner, live: bool) -> Operator:
    if checked := _checked(relation.input, by, True):
        return SetOperator("distinct", False, (checked,), relation.types)
    if not isinstance(relation.input, Join) or len(relation.input.query.atoms) == 1:
        return SetOperator("distinct", False, (_below(relation.input, by),), relation.types)
    query = relation.input.query
    head = frozenset(query.variable(ref) for ref in query.head)
    kept = by.output(query, head) if _is_of_core(query, query.head) else None
    is_kept = kept is not None and kept <= determined(query, head) and _shows(query)
    if kept is not None and is_kept and not by.is_fed(query, with_output(query, kept)):
        return _distinct_results(relation.input, kept, by, live)
    return SetOperator("distinct", False, (_read(relation.input, by, True),), relation.types)


def _aggregate(relation: Aggregate, by: JoinPlanner, live: bool) -> Operator:
    source: Operator
    once = all(call.ignores_copies for call in relation.calls)
    if threshold := _threshold_group(relation, by):
        return threshold
    rows = _threshold(relation.input, by) if isinstance(relation.input, Project) else None
    if rows is not None and _has_rows_that_cross(relation, rows):
        below = _shown(rows, by)
        return AggregateOperator(below, relation.groups, relation.calls, relation.is_global, relation.types)
    pairs = inequality_groups(relation, by.many)
    if isinstance(pairs, InequalitySides) and (by.thresholds or not pairs.has_key):
        return _inequality_group(relation, pairs, by)
    if checked := _checked(relation.input, by, once, pairs if isinstance(pairs, str) else ""):
        source = checked
    elif not isinstance(relation.input, Join) or len(relation.input.query.atoms) == 1:
        source = _below(relation.input, by, adds_up(relation))
    elif by.powers and (power := power_of(relation, relation.input)):
        return _powered(relation, relation.input, power, by)
    else:
        found = with_counts(relation, relation.input) if by.powers and not once else None
        counted = found or Counted(relation, relation.input, ())
        if annotated := _annotated(counted, by, live):
            return annotated
        source = _read(counted.join, by, once, counted.factors)
    return AggregateOperator(
        source, relation.groups, relation.calls, relation.is_global, relation.types, relation.within
    )


def _powered(relation: Aggregate, join: Join, power: Power, by: JoinPlanner) -> Operator:
    """A count of the results of a join of equal atoms: the numbers of rows with equal columns, to a power, added up."""
    inputs = tuple(_below(one.relation, by, is_of_one_table(one.relation)) for one in join.inputs)
    columns = tuple(power.query.atoms[0].table.columns[ref.column] for ref in power.query.head)
    types = tuple(column.type for column in columns)
    selected = SelectedOperator(power.query, types, inputs, power.aliases)
    numbers = AggregateOperator(
        selected, len(types), (AggregateCall("count", None, False, BIGINT),), False, (*types, BIGINT)
    )
    shown = tuple(replace(power.query.outputs[i], source=i) for i in power.groups)
    outputs = (*shown, power_expression(len(types), power))
    if power.is_whole:
        return ProjectOperator(numbers, outputs, relation.types, None, power.too_large)
    powers = ProjectOperator(numbers, outputs, (*(types[i] for i in power.groups), POWER), None, power.too_large)
    calls = (AggregateCall("sum", relation.groups, False, BIGINT),)
    total = AggregateOperator(powers, relation.groups, calls, relation.is_global, relation.types)
    return ProjectOperator(total, (or_zero(0),), relation.types, None) if relation.is_global else total


def _distinct_results(join: Join, connex: frozenset[str], by: JoinPlanner, live: bool) -> JoinOperator:
    """The distinct values of the head, and perhaps of further variables that the plan needs; rows may be equal."""
    query = join.query
    head = frozenset(query.variable(ref) for ref in query.head)
    return _scan(join, with_output(query, connex), by, live, head)


def _counted(join: Join, connex: frozenset[str], by: JoinPlanner, factors: tuple[Factor, ...]) -> JoinOperator:
    """A join whose results are given once with their multiplicity, if fewer come out than with repetitions."""
    query = join.query
    head = frozenset(query.variable(ref) for ref in query.head)
    is_once = head == query.variables and all(query.is_distinct(a) for a in range(len(query.atoms)))
    if is_once and not factors:
        return _scan(join, query, by, True)
    return _scan(join, replace(with_output(query, connex), sums=(number_of_results(query, factors),)), by, True, head)


def _annotated(counted: Counted, by: JoinPlanner, live: bool) -> AnnotatedOperator | ProjectOperator | None:
    """The plan in which aggregates are annotations, if groups are free-connex columns and calls sums of products.

    Columns that the groups determine may be kept beside them: there are as many groups with them (TPC-H Q10 groups by
    the columns of a customer but the one of its nation). They are left out above.
    """
    relation, join = counted.relation, counted.join
    query = join.query
    places = [output.source for output in query.outputs[: relation.groups]]
    if not all(isinstance(place, int) for place in places):
        return None
    group = tuple(query.head[place] for place in places if isinstance(place, int))
    free = frozenset(query.variable(ref) for ref in group)
    kept = by.output(query, free) if _is_of_core(query, group) else None
    if kept is None or not kept <= determined(query, free):
        return None
    annotation = annotation_of(counted)
    if annotation is None:
        return None
    outputs = tuple(replace(o, source=i) for i, o in enumerate(query.outputs[: relation.groups]))
    grouped = with_output(replace(query, head=group, outputs=outputs, sums=annotation.sums), kept)
    hidden = [query.atoms[ref.atom].table.columns[ref.column] for ref in grouped.head[len(group) :]]
    named = (Output(f"h{i}", column.type.arrow, len(group) + i) for i, column in enumerate(hidden))
    grouped = replace(grouped, outputs=(*outputs, *named))
    if not counted.factors and by.is_fed(query, grouped):
        return None
    leaf = _leaf(join, grouped, by, live)
    types = (*relation.types[: relation.groups], *(c.type for c in hidden), *relation.types[relation.groups :])
    found = AnnotatedOperator(
        leaf.physical, grouped, types, annotation.results, relation.is_global, leaf.partition, leaf.inputs
    )
    if not hidden:
        return found
    shown = [*range(relation.groups), *range(relation.groups + len(hidden), len(types))]
    fields = (Output(field.name, field.type, i) for i, field in zip(shown, relation.schema, strict=True))
    return ProjectOperator(found, tuple(fields), relation.types, None)


def _shows(query: ConjunctiveQuery) -> bool:
    """Whether the outputs show every column of the head as it is, so that distinct results give distinct rows."""
    return {output.source for output in query.outputs} >= set(range(len(query.head)))
