"""The memory of a view before it is made: the rows that each block keeps, and the words that each of them takes.

The words are those of the layouts in `livejoin.kernels`, with the mean of what hash slots and nodes of trees leave
free. tests/plan/test_memory.py compares them with what is allocated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from livejoin.plan.explain.effects.drawn import Draws
from livejoin.plan.explain.effects.expected_rows import ExpectedRows, is_whole_table
from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.effects.reach import is_optional, reach
from livejoin.plan.explain.effects.sizes import Sizes
from livejoin.plan.explain.memory.bags import bag_part, bag_rows, bag_statistics
from livejoin.plan.explain.memory.outline import ALLOCATED, LEAST, STORED, Memory, MemoryPart, begun
from livejoin.plan.operators import (
    AggregateOperator,
    AnyJoin,
    AsOfOperator,
    BagOperator,
    InequalityAggregateOperator,
    InequalityJoinOperator,
    JoinOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RunningOperator,
    SetOperator,
    ThresholdAggregateOperator,
    ThresholdOperator,
    TopKOperator,
    upwards,
)
from livejoin.plan.operators.candidates import wanted
from livejoin.query.orders import EVERY_ROW
from livejoin.search.statistics import Statistics
from livejoin.words import WORD_BYTES

# Words beside the columns of a row.
_ORDERED = 4.8  # an entry, and its share of the nodes of a tree
_CANDIDATES = 1.2  # times as many rows are kept of an order as are wanted: once to twice when they are loaded
_PARTITIONED = 6.7  # and the blocks of partitions
_AS_OF = 6.1
_SUM = 3.0  # of an entry, and of its share of the nodes
_COUNTED = 4.0  # of a different row: hash slots and what it is in the directory
_GROUP = 4.3  # of a group: rows, touched, count, hash slots
_DOUBLE = 12.0  # an exact sum: a window of a few words
_VALUE = 3.0  # of a value that is kept in order
_PAIR = 5.8  # of a value and what goes with it, as of MAX_BY, and of a value of a percentile
_BOUND = 8.0
_CALL = 2.0  # of a running aggregate

_GROWN = 1.3  # hash tables that grew, and left their old places behind
_OF_STORE = 4_096.0  # as much of a store
_OF_SET = 512.0
_OF_VALUES = ("min", "max", "min_by", "max_by", "array_agg", "list_by", "mode", "percentile_cont", "percentile_disc")


def predicted_memory(plan: Operator, figures: Figures) -> Memory:
    """The memory of each block of a plan that keeps something. Cost: as that of `Sizes`.

    Args:
        plan: The plan of a view.
        figures: The known figures of the tables.
    """
    return Memory(tuple(_Parts(figures).of(plan)))


def predicted_use(plan: Operator, figures: Figures) -> float | None:
    """The bytes that one block is expected to have in use; None if it keeps nothing, or that is not known.

    Args:
        plan: The operator of the block.
        figures: The known figures of the tables.
    """
    return _Parts(figures).part(plan).used if plan.keeps_state else None


class _Parts:
    """The parts of a plan; mutable: what was found once is kept."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._sizes = Sizes(figures)
        self._draws = Draws(figures)
        self.rows = ExpectedRows(figures, self._sizes, self._draws).of

    def of(self, plan: Operator) -> Iterator[MemoryPart]:
        yield from (self.part(one) for one in upwards(plan) if one.keeps_state)

    def part(self, plan: Operator) -> MemoryPart:
        """What one block keeps."""
        if isinstance(plan, AnyJoin):
            return self._join(plan)
        if isinstance(plan, BagOperator):
            return bag_part(plan, self._figures)
        rows, width, of = self._kept(plan)
        least = (_OF_SET, LEAST / 2) if isinstance(plan, SetOperator) else (_OF_STORE, LEAST)
        return _part(plan.kind, of, rows, width, least)

    def _values(self, plan: Operator, columns: list[int]) -> float:
        """The most different values of some columns, of computed ones as rows that are there have them."""
        most, counted = self._sizes.values(plan, columns), self._draws.values((plan,), columns)
        return most if counted is None else min(most, counted)

    def _unequal(self, plan: Operator) -> tuple[float, bool]:
        """The rows of a relation of which equal ones are kept as one, with their number."""
        rows, is_bound = self.rows(plan)
        return min(rows, self._sizes.values(plan, range(len(plan.types)))), is_bound

    def _kept(self, plan: Operator) -> tuple[tuple[float, bool], float, str]:
        """The rows that a store keeps, the words of each, and what they are."""
        match plan:
            case AggregateOperator():
                return self._groups(plan)
            case TopKOperator():
                return self._first(plan), len(plan.input.types) + _ORDERED, "first rows, and some behind them"
            case RankedOperator():
                return self._unequal(plan.input), len(plan.input.types) + _PARTITIONED, "rows in order"
            case RunningOperator():
                added = _CALL * (len(plan.types) - len(plan.input.types))
                return self._unequal(plan.input), len(plan.input.types) + _PARTITIONED + added, "rows in order"
            case AsOfOperator():
                rows = _sum(self.rows(plan.left), self.rows(plan.right))
                return rows, (len(plan.left.types) + len(plan.right.types)) / 2 + _AS_OF, "rows of both sides in order"
            case InequalityAggregateOperator():
                twice = 2 if plan.bounds == 2 and not plan.sides[0].by_row else 1
                rows = _sum(*(self._unequal(plan.left),) * twice, self._unequal(plan.right))
                width = plan.keys + 1 + sum(len(side.groups) for side in plan.sides) / 2 + _ORDERED
                return rows, width + _SUM * (1 + len(plan.calls)), "rows of both sides in order, with sums"
            case InequalityJoinOperator():
                rows = _sum(self.rows(plan.left), self.rows(plan.right))
                width = plan.keys + 1 + sum(len(side.groups) for side in plan.sides) / 2 + _ORDERED
                return rows, width + _SUM, "rows of both sides in order"
            case ThresholdOperator() | ThresholdAggregateOperator():
                rows, bounds = self.rows(plan.rows), self.rows(plan.bounds)
                width = len(plan.rows.types) + _ORDERED + _BOUND * bounds[0] / max(1.0, rows[0])
                return rows, width, "rows in order, and their bounds"
            case SetOperator():
                sides = len(plan.inputs) if plan.operation in ("except", "intersect") else 1
                return self._different(plan), _GROWN * (len(plan.types) + sides + _COUNTED), "different rows"
            case _:
                below, width = plan.below[0], len(plan.types) + STORED
                return self.rows(below), width, "rows"

    def _first(self, plan: TopKOperator) -> tuple[float, bool]:
        """The rows that are kept of an order."""
        rows, is_bound = self._unequal(plan.input)
        if plan.limit >= EVERY_ROW or rows == math.inf:
            return rows, is_bound
        return min(rows, _CANDIDATES * wanted(int(rows), plan.offset + plan.limit)), is_bound

    def _different(self, plan: SetOperator) -> tuple[float, bool]:
        """The different rows of all inputs."""
        sides = []
        for one in plan.inputs:
            rows, is_bound = self.rows(one)
            values = self._sizes.values(one, range(len(one.types)))
            sides.append((min(rows, values), is_bound or rows < values or not is_whole_table(one)))
        found = _sum(*sides)
        counted = self._draws.values(plan.inputs, [*range(len(plan.types))])
        if counted is not None:
            return min(found[0], counted), found[0] < counted
        return found[0], found[1] or len(sides) > 1  # a row may be in several of them

    def _groups(self, plan: AggregateOperator) -> tuple[tuple[float, bool], float, str]:
        """The groups, and where values are kept in order also these."""
        groups = self.rows(plan)
        width, values = plan.groups + _GROUP, 0.0
        ordered = {
            one.argument
            for one in plan.calls
            if one.argument is not None and (one.distinct or one.function in _OF_VALUES)
        }
        pairs = {one.argument for one in plan.calls if one.other is not None or one.function in _PERCENTILES}
        added = {(one.argument, one.function == "count") for one in plan.calls if one.argument not in (*ordered, None)}
        for argument, is_count in added:
            assert argument is not None
            width += 1.0 if is_count else _DOUBLE if plan.input.types[argument].kind == "double" else _SUM
        width *= _GROWN
        for argument in ordered:
            rows, is_bound = self._with_value(plan.input, argument)
            beside = [one.other for one in plan.calls if one.argument == argument and one.other is not None]
            kept = min(rows, self._values(plan.input, [*range(plan.groups), argument, *beside]))
            without = self._without_match(plan.input, [*range(plan.groups), argument])
            values += (kept if without is None else min(kept, without)) * (_PAIR if argument in pairs else _VALUE)
            groups = groups[0], groups[1] or is_bound
        if math.isfinite(values) and math.isfinite(groups[0]) and groups[0]:
            width += values / groups[0]
        what = "groups, with their values in order" if ordered else "groups"
        return (groups[0] if math.isfinite(values) else math.inf, groups[1]), width, what

    def _with_value(self, plan: Operator, column: int) -> tuple[float, bool]:
        """The rows that have a value in a column: those without a match in an outer join have NULL there."""
        whole = self.rows(plan)
        if isinstance(plan, ProjectOperator):
            source = plan.outputs[column].source
            return self._with_value(plan.input, source) if isinstance(source, int) else whole
        if not isinstance(plan, JoinOperator) or not isinstance(place := plan.query.outputs[column].source, int):
            return whole
        query = plan.query
        atom = query.head[place].atom if place < len(query.head) else query.core[0]
        there = self._figures.rows(query.atoms[atom].table)
        if not is_optional(query, atom) or there is None or query.atoms[atom].table.name in dict(plan.named):
            return whole
        each = reach(query, atom, None, self._figures, self._sizes.nested(plan)).results.expected
        return whole if each is None else (min(whole[0], there.expected * each), True)

    def _without_match(self, plan: Operator, columns: list[int]) -> float | None:
        """The most different values of columns where rows without a match in an outer join have NULL in some of them.

        Those rows have as many as the other columns have. None if there are no such columns, or that is not known.
        """
        while isinstance(plan, ProjectOperator):
            sources = [plan.outputs[column].source for column in columns]
            columns = [source for source in sources if isinstance(source, int)]
            if len(columns) < len(sources):
                return None
            plan = plan.input
        if not isinstance(plan, JoinOperator):
            return None
        inside = [column for column in columns if self._is_optional(plan, column)]
        if not inside or len(inside) == len(columns):
            return None
        matched, _ = self._with_value(plan, inside[0])
        return matched + self._sizes.values(plan, [column for column in columns if column not in inside])

    def _is_optional(self, plan: JoinOperator, column: int) -> bool:
        source = plan.query.outputs[column].source
        if not isinstance(source, int) or source >= len(plan.query.head):
            return False
        return is_optional(plan.query, plan.query.head[source].atom)

    def _join(self, plan: AnyJoin) -> MemoryPart:
        below = {one.derived.table.name: one for one in plan.below if isinstance(one, BagOperator)}
        bags = {name: bag_rows(one, self._figures) for name, one in below.items()}
        known = Statistics(tuple(bag_statistics(plan.physical.query, one, self._figures) for one in below.values()))
        kept = plan.physical.footprint(known.over(self._figures.with_shares(plan.physical.query)))
        if not kept:
            return _unknown(plan.kind, f"nothing is predicted for this plan ({plan.kind})")
        derived = dict(plan.named)
        tables = {atom.table.name: atom.table for atom in plan.physical.query.atoms}
        if any(name in bags and bags[name] == math.inf for name in tables):
            return _unknown(plan.kind, "the rows of its tables are not known")
        total, counted, is_bound = 0.0, 0.0, False
        for one in kept:
            name = one.table.name
            if name in bags:
                rows, bound = bags[name], False
            elif name in derived:
                rows, bound = self.rows(derived[name])
            elif name in tables and (there := self._figures.rows(tables[name])) is not None:
                different = self._figures.values(tables[name], range(len(tables[name].columns)))
                rows, bound = min(there.expected, math.inf if different is None else different), False
            else:
                return _unknown(plan.kind, f"the rows of {name} are not known")
            if rows == math.inf:
                return _unknown(plan.kind, f"the rows of {name} are not known")
            total, counted, is_bound = total + rows * (one.record + one.indexes), counted + rows, is_bound or bound
        size, used = begun(counted) + max(LEAST, ALLOCATED * total), begun(counted) + total
        return MemoryPart(plan.kind, "rows of its inputs", counted, is_bound, size, used=used)


_PERCENTILES = ("percentile_cont", "percentile_disc")


def _part(
    name: str, of: str, rows: tuple[float, bool], words: float, least: tuple[float, float] = (_OF_STORE, LEAST)
) -> MemoryPart:
    if rows[0] == math.inf:
        return _unknown(name, "the number of its rows is not known")
    store, smallest = least
    used = store + WORD_BYTES * rows[0] * words
    return MemoryPart(name, of, rows[0], rows[1], max(smallest, ALLOCATED * used), used=used)


def _unknown(name: str, why: str) -> MemoryPart:
    return MemoryPart(name, "rows", None, False, None, why)


def _sum(*rows: tuple[float, bool]) -> tuple[float, bool]:
    return sum(one for one, _ in rows), any(bound for _, bound in rows)
