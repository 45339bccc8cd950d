"""Operators over rows that are kept in an order: the first rows, ranks, running aggregates, as-of joins."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from livejoin.plan.identity import Identity, said_keys, said_types
from livejoin.plan.operators.candidates import SHARE
from livejoin.plan.operators.operator import Families, PlanOperator, many
from livejoin.query.orders import (
    EVERY_RANK,
    EVERY_ROW,
    RangeAround,
    RankFunction,
    RowsAround,
    RowsUpTo,
    RunningCall,
    RunningFrame,
    SortKey,
    Tiles,
)
from livejoin.query.relational import AsOfCondition
from livejoin.schema import SqlType
from livejoin.search.algorithm import Algorithm

if TYPE_CHECKING:
    from livejoin.plan.operators import Operator

_LOOK_UP = "(a look-up costs O(log rows))"


@dataclass(frozen=True, eq=False)
class TopKOperator(PlanOperator):
    """The first rows in an order, over an ordered store of rows."""

    input: Operator
    keys: tuple[SortKey, ...]
    limit: int
    offset: int
    types: tuple[SqlType, ...]

    @property
    def kind(self) -> str:
        return "first rows"

    @property
    def below(self) -> tuple[Operator, ...]:
        return (self.input,)

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        return ("first", said_keys(self.keys), self.limit, self.offset, said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        skipped = f" after the first {self.offset}" if self.offset else ""
        some = f"the first {self.limit}{skipped} rows"
        if self.limit >= EVERY_ROW:
            some = f"all rows but the first {self.offset}"
        if self.limit >= EVERY_ROW:
            yield f"{some}: all rows are stored in order, and a row that changes costs O(log rows)"
            return
        yield (
            f"{some}: these and some behind them are stored in order, about one of {SHARE} rows. A row that changes "
            "further behind costs O(1), another one O(log rows), amortised: where so many of the stored ones have gone "
            "that the others may not do, all rows are read again"
        )

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        which = "each row" if self.limit >= EVERY_ROW else "some more rows than the first ones"
        return ((self.input, f"{which}, in order {_LOOK_UP}"),)


@dataclass(frozen=True, eq=False)
class RankedOperator(PlanOperator):
    """The rows of each partition in an order, with their ranks up to a limit behind their columns: an ordered store."""

    input: Operator
    partition: tuple[int, ...]
    keys: tuple[SortKey, ...]
    function: RankFunction
    limit: int
    types: tuple[SqlType, ...]

    @property
    def kind(self) -> str:
        return "rows with ranks"

    @property
    def below(self) -> tuple[Operator, ...]:
        return (self.input,)

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        what = (self.partition, said_keys(self.keys), self.function, self.limit)
        return ("first of each", *what, said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        each = _each(self.partition)
        what = f"{self.function.upper()} of the rows of {each}"
        if not self.keys:
            what = "the number of each copy of a row"
        elif self.limit < EVERY_RANK:
            what = f"{self.function.upper()} up to {self.limit} of {each}"
        elif not self.ranks_all:
            what += " that the rank below keeps"
        advice = "; a bound, as QUALIFY rank <= 10, would leave fewer" if self.ranks_all else ""
        yield (
            f"{what} over an ordered store of all rows: O(log rows) a row that changes, and O(1) for each whose "
            f"rank that changes, which is in the delta{advice}"
        )

    @property
    def ranks_all(self) -> bool:
        """Whether nothing bounds the ranks; without keys they are numbers of equal rows."""
        below = self.input
        is_below_bounded = isinstance(below, RankedOperator) and not below.ranks_all
        return self.limit >= EVERY_RANK and bool(self.keys) and not is_below_bounded

    @property
    def is_limited(self) -> bool:
        """Whether only rows with the first ranks of each partition are kept."""
        return bool(self.keys) and not self.ranks_all

    @property
    def moves(self) -> str:
        return "ranks" if self.ranks_all else ""

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        return ((self.input, f"each row, in the order of its partition {_LOOK_UP}"),)


@dataclass(frozen=True, eq=False)
class RunningOperator(PlanOperator):
    """The rows of each partition in an order, with aggregates of the rows up to each or around it: an ordered store."""

    input: Operator
    partition: tuple[int, ...]
    keys: tuple[SortKey, ...]
    frame: RunningFrame
    calls: tuple[RunningCall, ...]
    types: tuple[SqlType, ...]

    @property
    def kind(self) -> str:
        return "running aggregates"

    @property
    def below(self) -> tuple[Operator, ...]:
        return (self.input,)

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        calls = tuple(
            (call.function, call.argument, call.back, *([call.nth] if call.nth else [])) for call in self.calls
        )
        what = (self.partition, said_keys(self.keys), _said_frame(self.frame), calls)
        return ("running", *what, said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        which, cost = _frame(self.frame, all(call.combines(self.types) for call in self.calls))
        yield (
            f"{many(len(self.calls), 'running function')} {which} of "
            f"{_each(self.partition)}, over an ordered store of all rows: O(log rows) a row that changes, and "
            f"{cost} for each whose results that changes, which is in the delta"
        )

    @property
    def is_behind(self) -> bool:
        """Whether a change may reach all rows behind it in its partition."""
        of_peers = ("lag", "last", "first_peer") if isinstance(self.frame, str) else ()
        all_behind = any(call.function not in of_peers for call in self.calls)
        return all_behind and not isinstance(self.frame, RowsAround | RangeAround | Tiles)

    @property
    def others(self) -> float:
        """How many other rows have results that depend on a row, on average; infinity for all that have it in a frame.

        >>> from livejoin.query.orders import RunningCall
        >>> calls = tuple(RunningCall(one, 0, SqlType("integer")) for one in ("max", "last_known"))
        >>> RunningOperator(None, (), (), "rows", calls, ()).others
        2.0
        """
        lags = [call.others for call in self.calls if call.function == "lag"]
        return max(lags, default=0.0) + sum(call.others for call in self.calls if call.function != "lag")

    @property
    def moves(self) -> str:
        return "running aggregates" if self.is_behind and self.others == math.inf else ""

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        return ((self.input, f"each row with its aggregates, in the order of its partition {_LOOK_UP}"),)


@dataclass(frozen=True, eq=False)
class AsOfOperator(PlanOperator):
    """Each row of the left side with the last row of the right one in front of it: two ordered stores of rows.

    Args:
        left, right: The two sides.
        on: The columns that are compared.
        types: Types of the columns: those of the left side, then those of the right one.
        written: The condition as users wrote it.
    """

    left: Operator
    right: Operator
    on: AsOfCondition
    types: tuple[SqlType, ...]
    written: str

    @property
    def kind(self) -> str:
        return "as-of join"

    @property
    def below(self) -> tuple[Operator, ...]:
        return (self.left, self.right)

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        on = self.on
        what = (on.left_keys, on.right_keys, on.left_time, on.right_time, on.comparison, on.is_optional)
        return ("as of", *what, said_types(self.left.types), said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        nearest = "last" if self.on.comparison.startswith("greater") else "first"
        nulls = ", NULLs where there is none" if self.on.is_optional else ""
        yield (
            f"as-of join: each left row with the {nearest} right row that {self.written} is true for{nulls}, over "
            "ordered stores of both sides: O(log rows) a row that changes, and O(1) for each left row between a right "
            "row that changes and the next one, which is in the delta"
        )

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        ordered = f"each row, in the order of the as-of join {_LOOK_UP}"
        return ((self.left, ordered), (self.right, ordered))


def _each(partition: Sequence[int]) -> str:
    return "each partition" if partition else "the whole"


def _said_frame(frame: RunningFrame) -> str | Identity:
    """What a frame says; the names are part of digests, and not those of classes."""
    match frame:
        case "rows" | "range":
            return frame
        case RowsAround():
            return ("RowsAround", frame.before, frame.behind)
        case RowsUpTo():
            return ("RowsUpTo", frame.behind)
        case RangeAround():
            return ("RangeAround", str(frame.begin), str(frame.end))
        case Tiles():
            return ("Tiles", frame.number)
        case _:
            assert_never(frame)


def _frame(frame: RunningFrame, combines: bool) -> tuple[str, str]:
    """The rows that a frame has, and what each row costs whose result changes, where all calls combine or some do not.

    >>> _frame(RangeAround(-3, 0), combines=False)
    ('over all rows within a distance of each row', 'O(rows of its frame)')
    """
    match frame:
        case "rows":
            return "up to each row", "O(1)"
        case "range":
            return "up to the last row with its keys", "O(1)"
        case RowsAround():
            return "around each row", "O(1)" if combines else f"O({frame.before + frame.behind + 1})"
        case RowsUpTo():
            where = "behind" if frame.behind > 0 else "before"
            return f"up to {many(abs(frame.behind), 'row')} {where} each row", "O(log rows)"
        case RangeAround():
            return "over all rows within a distance of each row", "O(1)" if combines else "O(rows of its frame)"
        case Tiles():
            return f"that cuts the rows into {many(frame.number, 'tile')}", "for each tile, and"
        case _:
            assert_never(frame)
