"""Aggregate functions over the rows of a group, as a query asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from livejoin.query.conjunctive import Product
from livejoin.schema import SqlType

Function = Literal[
    "count",
    "sum",
    "avg",
    "var_pop",
    "var_samp",
    "covar_pop",
    "covar_samp",
    "moment_3",
    "moment_4",
    "min",
    "max",
    "min_by",
    "max_by",
    "percentile_cont",
    "percentile_disc",
    "mode",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "bit_xor",
    "array_agg",
    "list_by",
]
LISTS: tuple[Function, ...] = ("array_agg", "list_by")
"""The functions whose results are lists."""
_ADDED: tuple[Function, ...] = (
    *("count", "sum", "avg", "var_pop", "var_samp", "covar_pop", "covar_samp", "moment_3", "moment_4"),
    *("bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"),
)
_OF_SETS: tuple[Function, ...] = ("min", "max", "min_by", "max_by", "bool_and", "bool_or", "bit_and", "bit_or")


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function over the rows of a group.

    Args:
        function: The function's name; STDDEV is the root of a VARIANCE in a projection above, COUNT(*) has no argument.
            MOMENT_3 and MOMENT_4 are central moments. LIST_BY is the list of the arguments in the order of others. Of
            several MODEs it is the least one. Where several rows have the least value, MIN_BY takes the least argument
            of them, NULL first; where several have the greatest, MAX_BY takes the greatest argument.
        argument: Position of the argument in the input's columns, None for COUNT(*). Rows in which it is NULL do not
            count (ARRAY_AGG keeps them). A FILTER clause is a CASE in the argument.
        distinct: Whether equal values of a group count once.
        type: The type of the result.
        other: Position of a second argument: what MIN_BY, MAX_BY and LIST_BY order by, NULL first; the other one of
            COVAR_POP and COVAR_SAMP, which is NULL where the first is.
        fraction: Which percentile, from 0 to 1.
        descending: Whether a percentile is one of the values in descending order; of a MODE, whether of several it is
            the greatest one.
        product: The argument as a product of one factor an atom of the `Join` below, if it is one and the types of the
            factors allow it: then the sum of the argument is a sum of products. Its value is the argument's, unscaled.
    """

    function: Function
    argument: int | None
    distinct: bool
    type: SqlType
    product: Product | None = None
    other: int | None = None
    fraction: float = 0.0
    descending: bool = False

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of the result."""
        return pa.list_(self.type.arrow) if self.function in LISTS else self.type.arrow

    @property
    def adds_up(self) -> bool:
        """Whether the result follows from sums and counts over the rows of its group, of which each adds its part."""
        return not self.distinct and self.function in _ADDED

    @property
    def ignores_copies(self) -> bool:
        """Whether the result is the same however often a row stands in its group."""
        return self.distinct or self.function in _OF_SETS
