"""Orders of rows: the keys that they are sorted by, ranks, and aggregates over the rows around each in an order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from livejoin.schema import SqlType

EVERY_ROW = 1 << 60
"""The limit of an order that leaves out the first rows alone."""

RankFunction = Literal["row_number", "rank", "dense_rank"]
EVERY_RANK = (1 << 31) - 1
"""The bound of a rank that keeps all rows."""

RunningFunction = Literal[
    "count",
    "sum",
    "avg",
    "var_pop",
    "var_samp",
    "stddev_pop",
    "stddev_samp",
    "min",
    "max",
    "first",
    "last",
    "first_peer",
    "first_known",
    "last_known",
    "lag",
    "nth",
    "nth_known",
    "ntile",
]


@dataclass(frozen=True)
class SortKey:
    """A column to sort by."""

    column: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class RowsAround:
    """A frame of so many rows before each row to so many behind it; below 0 it begins behind it, or ends before it."""

    before: int
    behind: int


@dataclass(frozen=True)
class RowsUpTo:
    """A frame from the first row of a partition to so many behind each row; below 0 it ends before the row."""

    behind: int


@dataclass(frozen=True)
class RangeAround:
    """A frame of all rows whose one key is within a distance of each row's, in the direction of the order.

    Args:
        begin: The distance from the key of a row to the first one of its frame: days of a date, microseconds of a
            timestamp, units of the last digit of a decimal; below 0 the frame begins before the row.
        end: The distance to the last one.
    """

    begin: int | float
    end: int | float


@dataclass(frozen=True)
class Tiles:
    """The rows of a partition cut into so many runs of about equal length."""

    number: int


RunningFrame: TypeAlias = Literal["rows", "range"] | RowsAround | RowsUpTo | RangeAround | Tiles
"""The rows up to each, or up to the last one with its keys, or some around it, or up to some behind or before it, or
all within a distance; or tiles."""


@dataclass(frozen=True)
class RunningCall:
    """A function over the rows of a partition up to each of them.

    Args:
        function: The function's name; FIRST is the value of the first row, FIRST_PEER that of the first row with the
            row's keys, FIRST_KNOWN that of the first row that has one, LAG that of a row before, NTH that of a row that
            is so many from the first one, NTH_KNOWN that of one among those that have a value. NTILE is the number of
            the row's tile, from 1 on.
        argument: Position of the argument in the input's columns, None for COUNT(*).
        type: The type of the result.
        back: How many rows before, of LAG.
        nth: Which row, of NTH and NTH_KNOWN; the first one is 1.
    """

    function: RunningFunction
    argument: int | None
    type: SqlType
    back: int = 0
    nth: int = 0

    @property
    def others(self) -> float:
        """How many results of other rows depend on a row, on average over the rows that are there; infinity for all.

        MIN, MAX, FIRST and LAST are the value of one row. So n results have n values of n rows: one for each row on
        average, whatever the values are. LAG(x, 3) moves on for 3 rows, and NTH moves on for each row up to its own.
        """
        match self.function:
            case "min" | "max" | "first" | "last" | "first_peer" | "first_known" | "last_known":
                return 1.0
            case "lag":
                return float(abs(self.back))
            case "nth" | "nth_known":
                return float(abs(self.nth))
            case "count" | "sum" | "avg" | "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp" | "ntile":
                return math.inf
            case _:
                assert_never(self.function)

    def combines(self, types: Sequence[SqlType]) -> bool:
        """Whether the results over two runs of rows tell the one over both, to the last bit.

        Sums of doubles depend on the order in which they are added up, as deviations do. NTH counts up to a row.

        Args:
            types: The types of the input's columns.
        """
        match self.function:
            case "count" | "min" | "max" | "first" | "last" | "first_known" | "last_known":
                return True
            case "sum" | "avg":
                assert self.argument is not None
                return types[self.argument].kind != "double"
            case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp" | "nth" | "nth_known":
                return False
            case "first_peer" | "lag" | "ntile":  # of no frame of rows around each
                return False
            case _:
                assert_never(self.function)
