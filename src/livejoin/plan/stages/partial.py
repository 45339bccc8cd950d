"""Aggregates in two steps: over the rows of each cell, and over what the cells found.

Law: for every way to put rows into cells, ``second(union of first(cell))`` is the aggregate of all rows, exactly. So a
sum is taken in two steps only where the first one cannot be too large for its type unless the whole is, or be rounded.
The sum of a BIGINT may be: between the steps it is a decimal of 38 digits, which fewer than 2^63 of them cannot exceed.
"""

from __future__ import annotations

from dataclasses import replace

from livejoin.query.aggregates import AggregateCall
from livejoin.query.relational import Aggregate, Relation
from livejoin.schema import SqlType

_AGAIN = ("min", "max", "bool_and", "bool_or", "bit_and", "bit_or")
"""The functions of sets, whose value over the values of parts is that of the whole."""


def in_two_steps(aggregate: Aggregate) -> bool:
    """Whether an aggregate is one of the cells' aggregates, which are as many rows as groups in each cell."""
    return all(_again(call, aggregate.input) is not None for call in aggregate.calls)


def first(aggregate: Aggregate, rows: Relation) -> Aggregate:
    """The aggregate over the rows of a cell, for one for which `in_two_steps`."""
    calls = tuple(replace(call, type=_WIDEST) if _is_wide_sum(call, rows) else call for call in aggregate.calls)
    return replace(aggregate, input=rows, calls=calls)


def second(aggregate: Aggregate, first: Relation) -> Aggregate:
    """The aggregate over the union of what the cells have, for one for which `in_two_steps`.

    Args:
        aggregate: The aggregate, which each cell has over its own rows.
        first: The union.
    """
    calls = []
    for place, call in enumerate(aggregate.calls, aggregate.groups):
        again = _again(call, aggregate.input)
        assert again is not None, "it is taken in two steps"
        calls.append(replace(again, argument=place))
    return Aggregate(first, aggregate.groups, tuple(calls), aggregate.is_global)


def _again(call: AggregateCall, rows: Relation) -> AggregateCall | None:
    """What is done with the values of a call in the cells, over some rows; None if they are not enough."""
    if call.function in _AGAIN:
        return AggregateCall(call.function, 0, False, call.type)
    if call.distinct:
        return None
    if call.function == "bit_xor":
        return AggregateCall("bit_xor", 0, False, call.type)
    if call.function == "count":
        return AggregateCall("sum", 0, False, call.type)
    if _is_wide_sum(call, rows):
        return AggregateCall("sum", 0, False, call.type)
    if call.function == "sum" and call.argument is not None:
        argument = rows.types[call.argument]
        narrow = argument.bits <= 32 if argument.kind == "integer" else argument.kind == "decimal"
        return AggregateCall("sum", 0, False, call.type) if narrow and _has_room(call, argument.precision) else None
    return None


_WIDEST = SqlType.decimal(38, 0)
_WORD = 64  # bits


def _is_wide_sum(call: AggregateCall, rows: Relation) -> bool:
    """Whether a sum of some rows may be too large for its type, and that of all is not."""
    if call.function != "sum" or call.argument is None or call.distinct:
        return False
    argument = rows.types[call.argument]
    return argument.kind == "integer" and argument.bits == _WORD and call.type.kind == "integer"


_ROOM = 10  # more digits that a sum of decimals has, as Spark types it, where there are as many


def _has_room(call: AggregateCall, precision: int) -> bool:
    return call.type.kind != "decimal" or call.type.precision >= precision + _ROOM
