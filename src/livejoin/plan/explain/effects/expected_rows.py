"""How many rows a relation is expected to have with the rows that its tables have now."""

from __future__ import annotations

import math

from livejoin.plan.explain.effects.drawn import Draws
from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.effects.reach import reach
from livejoin.plan.explain.effects.sizes import Sizes
from livejoin.plan.operators import (
    AggregateOperator,
    AnyJoin,
    JoinOperator,
    Operator,
    ProjectOperator,
    RepeatedOperator,
    RunningOperator,
    SelectedOperator,
    StoredOperator,
)


class ExpectedRows:
    """The rows of relations; mutable: each number is found once.

    Args:
        figures: The known figures of the tables.
        sizes: The most rows and values of relations.
        draws: The rows that are drawn of relations.
    """

    def __init__(self, figures: Figures, sizes: Sizes, draws: Draws) -> None:
        self._draws = draws
        self._figures = figures
        self._sizes = sizes
        self._rows: dict[Operator, tuple[float, bool]] = {}

    def of(self, plan: Operator) -> tuple[float, bool]:
        """The rows that a relation is expected to have, infinity if unknown, and whether it may have fewer."""
        if plan not in self._rows:
            most = self._sizes.rows(plan)
            found, is_bound = self._expected(plan)
            self._rows[plan] = (most, True) if most < found else (found, is_bound)
        return self._rows[plan]

    def _expected(self, plan: Operator) -> tuple[float, bool]:
        match plan:
            case SelectedOperator() if plan.inputs:
                rows, is_bound = self.of(plan.inputs[0])
                return rows, is_bound or plan.query.atoms[0].predicate is not None
            case SelectedOperator() | JoinOperator():
                return self._joined(plan)
            case ProjectOperator():
                rows, is_bound = self.of(plan.input)
                share = self._draws.share(plan)
                return rows * (1.0 if share is None else share), is_bound or share is None
            case RepeatedOperator():
                rows, is_bound = self.of(plan.input)
                return plan.count * rows, is_bound
            case StoredOperator() | RunningOperator():
                return self.of(plan.input)
            case AggregateOperator() if not plan.groups:
                return 1.0, False
            case AggregateOperator() if (groups := self._draws.of(plan)) is not None:
                return groups.rows, False
            case AggregateOperator():
                rows, _ = self.of(plan.input)
                values = self._sizes.values(plan.input, range(plan.groups))
                return min(rows, values), rows < values or not is_whole_table(plan.input)
            case _:
                return self._sizes.rows(plan), True

    def _joined(self, plan: AnyJoin | SelectedOperator) -> tuple[float, bool]:
        query = plan.query
        derived = self._sizes.nested(plan)
        table = query.atoms[query.core[0]].table
        if table.name in derived:
            return self._sizes.rows(plan), True
        there = self._figures.rows(table)
        if there is None:
            return math.inf, False
        predicate = query.atoms[query.core[0]].predicate
        share = 1.0 if predicate is None else self._figures.share(table, predicate)
        if len(query.atoms) == 1:
            return there.expected * (1.0 if share is None else share), share is None
        each = reach(query, query.core[0], None, self._figures, derived).results
        if each.expected is None:
            return math.inf, False
        return there.expected * each.expected * (1.0 if share is None else share), each.is_bound or share is None


def is_whole_table(plan: Operator) -> bool:
    """Whether it has all rows of a table, so that the values of the table are counted, not bounded."""
    return isinstance(plan, SelectedOperator) and not plan.inputs and plan.query.atoms[0].predicate is None
