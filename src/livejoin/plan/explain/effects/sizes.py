"""How many rows a relation can have: whatever its tables hold, and with the rows that they have now.

A change replaces no more rows than there are, and no more groups than there are different values: a GROUP BY over five
regions changes at most five rows, however many orders a change meets. The values of columns of one table are counted
together; of several tables they are at most the product.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from functools import partial

from livejoin.plan.explain.effects.amount import ONE, Amount
from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.effects.nested import Nested, Origin, is_key, origin_of, read_by
from livejoin.plan.explain.effects.reach import is_optional, reach
from livejoin.plan.operators import (
    AggregateOperator,
    AnnotatedOperator,
    AnyJoin,
    AsOfOperator,
    InequalityAggregateOperator,
    InequalityJoinOperator,
    JoinOperator,
    NumbersOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RepeatedOperator,
    RunningOperator,
    SelectedOperator,
    SetOperator,
    StoredOperator,
    ThresholdAggregateOperator,
    ThresholdOperator,
    TopKOperator,
)
from livejoin.query.orders import EVERY_ROW
from livejoin.schema import Table


def most_rows(plan: Operator) -> float:
    """The most rows that a relation can have, whatever the tables hold; infinity where nothing bounds them."""
    match plan:
        case StoredOperator() | ProjectOperator():
            return most_rows(plan.input)
        case AggregateOperator() | ThresholdAggregateOperator() | InequalityAggregateOperator():
            return math.inf if plan.groups else 1.0
        case AnnotatedOperator():
            return math.inf if plan.asked else 1.0
        case TopKOperator():
            return math.inf if plan.limit >= EVERY_ROW else float(plan.limit)
        case RepeatedOperator():
            return plan.count * most_rows(plan.input)
        case NumbersOperator():
            return float(plan.count)
        case _:
            return math.inf


class Sizes:
    """The most rows and values of relations with the rows that their tables have now; mutable: each is found once.

    Args:
        figures: The known figures of the tables.
    """

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._rows: dict[Operator, float] = {}
        self._values: dict[tuple[Operator, frozenset[int]], float] = {}

    def rows(self, plan: Operator) -> float:
        """The most rows that a relation has now; infinity where that is not known."""
        if plan not in self._rows:
            self._rows[plan] = min(most_rows(plan), self._rows_of(plan))
        return self._rows[plan]

    def values(self, plan: Operator, columns: Iterable[int]) -> float:
        """The most different values that some columns of a relation have now; infinity where that is not known."""
        some = frozenset(columns)
        if not some:
            return 1.0
        if (plan, some) not in self._values:
            self._values[plan, some] = min(self.rows(plan), self._values_of(plan, some))
        return self._values[plan, some]

    def _rows_of(self, plan: Operator) -> float:
        match plan:
            case StoredOperator() | ProjectOperator() | TopKOperator() | RunningOperator():
                return self.rows(plan.input)
            case RepeatedOperator():
                return plan.count * self.rows(plan.input)
            case RankedOperator():
                numbers = plan.function == "row_number" and plan.is_limited  # rows with equal keys have one rank
                ranked = plan.limit * self.values(plan.input, plan.partition) if numbers else math.inf
                return min(ranked, self.rows(plan.input))
            case AsOfOperator():
                return self.rows(plan.left)
            case AggregateOperator():
                return self.values(plan.input, range(plan.groups))
            case ThresholdAggregateOperator():
                return self.rows(plan.rows)
            case InequalityAggregateOperator():
                return self._of_sides(plan, frozenset(range(plan.groups)))
            case InequalityJoinOperator():
                return self.rows(plan.left) * self.rows(plan.right)
            case ThresholdOperator():
                return self.rows(plan.rows)
            case SetOperator():
                every = range(len(plan.types))
                kept = plan.all or plan.is_union_all
                sides = [self.rows(one) if kept else self.values(one, every) for one in plan.inputs]
                return {"except": sides[0], "intersect": min(sides)}.get(plan.operation, sum(sides))
            case SelectedOperator() | JoinOperator() | AnnotatedOperator():
                return self._joined(plan)
            case _:
                return math.inf

    def _of_sides(self, plan: InequalityAggregateOperator | InequalityJoinOperator, some: frozenset[int]) -> float:
        """The different values of some columns of groups: those of one side with each of those of the other one."""
        own = [plan.columns[column] for column in some]
        sides = (self.values(one, {c.column for c in own if c.side == i}) for i, one in enumerate(plan.below))
        return math.prod(sides)

    def _joined(self, plan: AnyJoin | SelectedOperator) -> float:
        """The results of a join: those of its groups, or the rows of a table that meet at most one of each other."""
        query = plan.query
        if query.free is not None and not isinstance(plan, SelectedOperator):
            places = {place for place, ref in enumerate(query.head) if query.variable(ref) in query.free}
            return self.product(plan, places)
        if isinstance(plan, SelectedOperator) and plan.inputs:
            return self.rows(plan.inputs[0])
        derived = self.nested(plan)
        most = math.inf
        for position in query.core:
            table = query.atoms[position].table
            there = derived[table.name].rows if table.name in derived else self._rows_of_table(table)
            each = reach(query, position, None, self._figures, derived).results.most
            most = min(most, math.inf if each is None or there == math.inf else there * each)
        return most

    def _rows_of_table(self, table: Table) -> float:
        there = self._figures.rows(table)
        return math.inf if there is None else there.expected

    def nested(self, plan: AnyJoin | SelectedOperator) -> dict[str, Nested]:
        """What is known of the nested queries whose rows a join reads, by their names in it."""
        return {
            name: Nested(most_rows(one), self.rows(one), partial(self._origin, one), partial(is_key, one))
            for name, one in plan.named
        }

    def _origin(self, plan: Operator, columns: tuple[int, ...]) -> tuple[Origin, Amount] | None:
        found = origin_of(plan, columns)
        if found is None:
            return None
        each = ONE
        if len(found.query.atoms) > 1:
            each = reach(found.query, found.atom, None, self._figures).results
        return found, each if found.is_each else each.bounded()

    def _values_of(self, plan: Operator, some: frozenset[int]) -> float:
        match plan:
            case ProjectOperator():
                places = read_by([plan.outputs[column].source for column in some])
                return math.inf if places is None else self.values(plan.input, places)
            case StoredOperator():
                return self.values(plan.input, some)
            case RepeatedOperator():
                own = some - {len(plan.input.types)}
                return self.values(plan.input, own) * (plan.count if own != some else 1)
            case AggregateOperator():
                return self.values(plan.input, some) if max(some) < plan.groups else math.inf
            case TopKOperator():
                return self.values(plan.input, some)
            case AsOfOperator():
                return self.values(plan.left, some) if max(some) < len(plan.left.types) else math.inf
            case RankedOperator() | RunningOperator():
                return self.values(plan.input, some) if max(some) < len(plan.input.types) else math.inf
            case InequalityAggregateOperator():
                return self._of_sides(plan, some) if max(some) < plan.groups else math.inf
            case InequalityJoinOperator():
                return self._of_sides(plan, some)
            case SetOperator():
                sides = [self.values(one, some) for one in plan.inputs]
                return {"except": sides[0], "intersect": min(sides)}.get(plan.operation, sum(sides))
            case AnnotatedOperator():
                return self.product(plan, some) if max(some) < len(plan.query.head) else math.inf
            case JoinOperator() | SelectedOperator():
                places = read_by([plan.query.outputs[column].source for column in some])
                return math.inf if places is None else self.product(plan, places)
            case _:
                return math.inf

    def product(self, plan: AnyJoin | SelectedOperator, places: Iterable[int]) -> float:
        """The most different values of columns of a join's head: of each atom those of its own, multiplied."""
        columns: dict[int, set[int]] = {}
        for place in places:
            columns.setdefault(plan.query.head[place].atom, set()).add(plan.query.head[place].column)
        return self.combinations(plan, columns)

    def combinations(self, plan: AnyJoin | SelectedOperator, columns: Mapping[int, Collection[int]]) -> float:
        """The most different values of some columns of each of some atoms, multiplied."""
        query = plan.query
        derived = dict(plan.named)
        found = 1.0
        for position, own in columns.items():
            table = query.atoms[position].table
            if table.name in derived:
                one = self.values(derived[table.name], own)
            else:
                known = self._figures.values(table, sorted(own))
                one = math.inf if known is None else known
            found *= one + is_optional(query, position)
        return found
