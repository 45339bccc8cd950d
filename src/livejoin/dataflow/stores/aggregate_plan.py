"""The plan of a store of groups: which accumulators its aggregates need, and where everything lies.

Aggregates over one argument share accumulators: COUNT, SUM and AVG take a count and a sum, MIN, MAX and everything
DISTINCT one ordered index, all percentiles one that knows ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from livejoin.errors import UnsupportedQueryError
from livejoin.kernels.groups import exact_sum, ordered_index
from livejoin.kernels.groups import layout as g
from livejoin.kernels.values import value_order
from livejoin.query.aggregates import LISTS, AggregateCall
from livejoin.schema import SqlType
from livejoin.words import Words

_WORD_DIGITS = 18  # decimals with more digits take two words
_SIZES = {
    g.COUNT: 1,
    g.SUM: 2,
    g.SUM_WIDE: 3,
    g.SQUARES: 3,
    g.SQUARES_WIDE: 5,
    g.DOUBLE_SUM: 4,
    g.DOUBLE_SQUARES: 1,
    g.TRUE: 1,
    g.INDEX: 1,
    g.MODE: 1,
    g.PAIRS: 1,
    g.PRODUCTS: 1,
    g.CUBES: 1,
    g.FOURTHS: 1,
}
_POWERS = (g.PRODUCTS, g.CUBES, g.FOURTHS)
_RESERVES = (
    {g.INDEX: ordered_index.WORST_CASE}
    | dict.fromkeys((g.DOUBLE_SUM, g.DOUBLE_SQUARES), exact_sum.WORST_CASE)
    | dict.fromkeys(_POWERS, exact_sum.WORST_CASE_OF_POWERS)
    | {g.PAIRS: ordered_index.WORST_CASE_OF_PAIRS, g.MODE: 2 * ordered_index.WORST_CASE_OF_PAIRS}
)
_PAIRS = (g.SUM_WIDE, g.SQUARES_WIDE)
_PLAIN = (g.COUNT, g.SUM, g.SUM_WIDE, g.TRUE)
_ORDERED = ("min", "max", "mode", "array_agg")
_NUMBERS = ("integer", "decimal", "double")
_INTERVALS = ("interval", "months")
_TAKES = (
    dict.fromkeys(("sum", "avg"), (*_NUMBERS, *_INTERVALS))
    | dict.fromkeys(("var_pop", "var_samp"), _NUMBERS)
    | dict.fromkeys(("bool_and", "bool_or"), ("boolean",))
    | dict.fromkeys(("covar_pop", "covar_samp", "moment_3", "moment_4", "percentile_cont"), ("double",))
    | dict.fromkeys(("bit_and", "bit_or", "bit_xor"), ("integer",))
)
_BITS = {"bit_and": g.BITS_AND, "bit_or": g.BITS_OR, "bit_xor": g.BITS_XOR}


@dataclass(frozen=True)
class Accumulator:
    """What is kept for each group of an argument.

    Args:
        argument: The argument's column; of PAIRS that of the first words.
        kind: The kind of accumulator.
        distinct: Whether each value counts once.
        other: The column of the other factor of PRODUCTS, of the second words of PAIRS.
        by_other: Whether it is the other argument whose NULLs do not count.
        size: Words in the group if the kind does not say.
    """

    argument: int
    kind: int
    distinct: bool = False
    other: int | None = None
    by_other: bool = False
    size: int = 0

    @property
    def words(self) -> int:
        """Words in the group."""
        return self.size or _SIZES[self.kind]


@dataclass(frozen=True)
class Line:
    """A line of the values that the kernel reads.

    Args:
        column: The input's column.
        is_pair: Whether its unscaled decimals are brought as two words; this line is the low one, the next the high.
    """

    column: int
    is_pair: bool


@dataclass(frozen=True)
class AggregatePlan:
    """A compiled aggregation; see `livejoin.kernels.groups.layout`.

    Args:
        words: The plan that the kernels read.
        types: Types of the results' columns: the group's, then the calls'.
        groups: Number of the group's columns.
        calls: The aggregates.
        is_global: Whether there is one row even over no rows.
        lines: The lines of the values behind those of the group.
        lists: Whether some call gives lists.
        header_words: Words of the arena's header.
        indexes: Offset in a group and type of the values of each index, and whether they are second words.
    """

    words: Words
    types: tuple[SqlType, ...]
    groups: int
    calls: tuple[AggregateCall, ...]
    is_global: bool
    lines: tuple[Line, ...]
    lists: bool
    header_words: int
    indexes: tuple[tuple[int, SqlType, bool], ...]

    @cached_property
    def result_lines(self) -> tuple[Words, Words]:
        """For each column of the results the line of its word, or of its low one, and its magnitudes' limit.

        A magnitude below the limit fits the result's type, and one word; 0 where the result has one word anyway.
        """
        lines, limits = list(range(self.groups)), [0] * self.groups
        at = self.groups
        for call, result in zip(self.calls, self.words[self.words[g.P_RESULTS] :].reshape(-1, g.RESULT), strict=True):
            lines.append(at)
            limit = 0
            if result[g.C_WIDTH] == 2 and result[g.C_KIND] != g.GIVE_LIST:
                digits = min(call.type.precision, _WORD_DIGITS)
                whole = 1 << 31 if call.type.kind == "months" else 1 << 62
                limit = 10**digits if call.type.kind == "decimal" else whole
            limits.append(limit)
            at += int(result[g.C_WIDTH])
        return np.array(lines, np.int64), np.array(limits, np.int64)

    @cached_property
    def places(self) -> Words:
        """The input's column of each line that the kernel reads; the complement of it for the high word of a pair."""
        places = list(range(self.groups))
        for line in self.lines:
            places += [line.column, ~line.column] if line.is_pair else [line.column]
        return np.array(places, np.int64)

    @cached_property
    def reads_as_given(self) -> bool:
        """Whether the lines are the first columns of the input, in their order."""
        return bool((self.places == np.arange(self.places.shape[0])).all())

    @cached_property
    def line_words(self) -> int:
        """Words of a row that the kernel reads."""
        return int(self.places.shape[0])

    @cached_property
    def width(self) -> int:
        """Words of a group's key and its results."""
        return self.groups + int(self.words[g.P_WORDS])


def aggregate_plan(
    types: Sequence[SqlType], groups: int, calls: Sequence[AggregateCall], is_global: bool, is_signed: bool = False
) -> AggregatePlan:
    """The plan of an aggregation.

    Args:
        types: Types of the input's columns.
        groups: How many of them, the first ones, are the group.
        calls: The aggregates.
        is_global: Whether there is no GROUP BY.
        is_signed: Whether rows may leave before they come inside of a version.

    Raises:
        UnsupportedQueryError: A function that is not defined for its argument's type.
    """
    for call in calls:
        _check_type(call, types)
    wanted = {need for call in calls for need in _needs(call, types)}
    # An index stands before the accumulators that follow what enters and leaves it.
    ordered = sorted(wanted, key=_place)
    offsets: dict[Accumulator, int] = {}
    at = g.RECORD
    for need in ordered:
        offsets[need] = at
        at += need.words
    lines = _lines(ordered)
    ordered.sort(key=_is_plain)  # these stand last, where they lie in a group does not change
    plain = sum(map(_is_plain, ordered))
    accumulators = [_accumulator(need, offsets, lines, groups, calls, types) for need in ordered]
    results = [_result(call, offsets, types) for call in calls]
    result_words = int(sum(result[g.C_WIDTH] for result in results))
    touch_class = (g.T_RESULTS + result_words - 1).bit_length()

    header = np.zeros(g.PLAN, np.int64)
    header[g.P_GROUPS] = groups
    header[g.P_KEY] = at
    header[g.P_RECORD] = at + groups
    header[g.P_OFFSETS] = g.PLAN
    header[g.P_ACCUMULATORS] = g.PLAN + groups
    header[g.P_RESULTS] = header[g.P_ACCUMULATORS_END] = header[g.P_ACCUMULATORS] + g.ACCUMULATOR * len(accumulators)
    header[g.P_RESULTS_END] = header[g.P_RESULTS] + g.RESULT * len(results)
    header[g.P_PLAIN] = header[g.P_ACCUMULATORS_END] - g.ACCUMULATOR * plain
    header[g.P_WORDS] = result_words
    header[g.P_RESERVE] = at + groups + (1 << touch_class) + sum(_RESERVES.get(need.kind, 0) for need in ordered)
    header[g.P_TOUCH_CLASS] = touch_class
    header[g.P_GLOBAL] = int(is_global)
    header[g.P_LISTS] = sum(call.function in LISTS for call in calls)
    header[g.P_ROW_KEY] = g.GROUPS_HEADER
    header[g.P_SCRATCH] = g.GROUPS_HEADER + groups
    header[g.P_WORK] = g.GROUPS_HEADER + groups + result_words
    header[g.P_SIGNED] = int(is_signed)
    work = g.WORK if any(need.kind in _POWERS for need in wanted) else 0
    parts = [header, np.arange(groups), *accumulators, *results]
    return AggregatePlan(
        words=np.concatenate(parts).astype(np.int64),
        types=(*types[:groups], *(call.type for call in calls)),
        groups=groups,
        calls=tuple(calls),
        is_global=is_global,
        lines=lines,
        lists=any(call.function in LISTS for call in calls),
        header_words=g.GROUPS_HEADER + groups + result_words + work,
        indexes=tuple(_indexes(offsets, types)),
    )


def _place(need: Accumulator) -> tuple[int, int, bool, int, int, bool]:
    """The order of accumulators: what changes in an index is known to those that follow it, first to a MODE."""
    first = (g.INDEX, g.MODE).index(need.kind) if need.kind in (g.INDEX, g.MODE) else 2
    other = -1 if need.other is None else need.other
    return need.argument, first, not need.distinct, need.kind, other, need.by_other


def _indexes(offsets: dict[Accumulator, int], types: Sequence[SqlType]) -> Iterator[tuple[int, SqlType, bool]]:
    """The values that indexes hold: the offset of each, their type, and whether they are second words."""
    for need, offset in offsets.items():
        if need.kind in (g.INDEX, g.PAIRS):
            yield offset, types[need.argument], False
        if need.kind == g.MODE:
            yield offset, types[need.argument], True
        if need.kind == g.PAIRS and need.other is not None:
            yield offset, types[need.other], True


def _check_type(call: AggregateCall, types: Sequence[SqlType]) -> None:
    if call.argument is None:
        return
    kind = types[call.argument].kind
    allowed = _TAKES.get(call.function, (kind,))
    if kind not in allowed:
        name = call.function.upper()
        msg = (
            f"{name} of a {types[call.argument]}: allowed are arguments of type {', '.join(allowed)}; cast the argument"
        )
        raise UnsupportedQueryError(msg, clause=name)


def _is_wide(type_: SqlType) -> bool:
    return type_.kind == "decimal" and type_.precision > _WORD_DIGITS


def _is_distinct(call: AggregateCall) -> bool:
    """Whether DISTINCT changes the result."""
    return call.distinct and not replace(call, distinct=False).ignores_copies


def _sum_kind(type_: SqlType) -> int:
    if type_.kind == "double":
        return g.DOUBLE_SUM
    return g.SUM_WIDE if _is_wide(type_) else g.SUM


def _square_kind(type_: SqlType) -> int:
    if type_.kind == "double":
        return g.DOUBLE_SQUARES
    return g.SQUARES_WIDE if _is_wide(type_) else g.SQUARES


def _needs(call: AggregateCall, types: Sequence[SqlType]) -> list[Accumulator]:
    """The accumulators of a call."""
    argument = call.argument
    if argument is None:
        return []
    type_, distinct = types[argument], _is_distinct(call)
    index = [Accumulator(argument, g.INDEX)]
    count = Accumulator(argument, g.COUNT, distinct)
    total = Accumulator(argument, _sum_kind(type_), distinct)
    follow = index if distinct else []
    match call.function:
        case "count":
            return [*follow, count]
        case "sum" | "avg":
            return [*follow, count, total]
        case "var_pop" | "var_samp":
            return [*follow, count, total, Accumulator(argument, _square_kind(type_), distinct)]
        case "covar_pop" | "covar_samp":
            assert call.other is not None, "a covariance is of two arguments"
            other = [Accumulator(call.other, kind) for kind in (g.COUNT, g.DOUBLE_SUM)]
            return [count, total, *other, Accumulator(argument, g.PRODUCTS, other=call.other)]
        case "moment_3":
            return [count, total, Accumulator(argument, g.DOUBLE_SQUARES), Accumulator(argument, g.CUBES)]
        case "moment_4":
            powers = [Accumulator(argument, kind) for kind in (g.DOUBLE_SQUARES, g.CUBES, g.FOURTHS)]
            return [count, total, *powers]
        case "min" | "max":
            return index
        case "min_by" | "max_by" | "list_by":
            return [_pairs(call), *([count] if call.function == "list_by" else [])]
        case "percentile_cont" | "percentile_disc":
            return [*follow, count, _ranks(call)]
        case "mode":
            return [*index, Accumulator(argument, g.MODE)]
        case "bool_and" | "bool_or":
            return [count, Accumulator(argument, g.TRUE)]
        case "bit_and" | "bit_or" | "bit_xor":
            return [*follow, count, _bits(call, type_)]
        case "array_agg":
            return [*index, count, Accumulator(argument, g.COUNT)]


def _pairs(call: AggregateCall) -> Accumulator:
    """The pairs of what is ordered by, and the argument."""
    assert call.argument is not None and call.other is not None, "an order is that of another argument"
    return Accumulator(call.other, g.PAIRS, other=call.argument, by_other=call.function == "list_by")


def _ranks(call: AggregateCall) -> Accumulator:
    """The arguments, whose ranks are known."""
    assert call.argument is not None, "a percentile has an argument"
    return Accumulator(call.argument, g.PAIRS, _is_distinct(call))


def _bits(call: AggregateCall, type_: SqlType) -> Accumulator:
    """How many arguments have each bit."""
    assert call.argument is not None, "bits are those of an argument"
    return Accumulator(call.argument, g.BITS, _is_distinct(call), size=type_.bits)


def _is_plain(need: Accumulator) -> bool:
    """Whether a row adds to it without regard to its other accumulators, and without words from the arena."""
    return need.kind in _PLAIN and not need.distinct


def _lines(needs: Sequence[Accumulator]) -> tuple[Line, ...]:
    found = dict.fromkeys(_line(need, needs) for need in needs)
    found |= dict.fromkeys(Line(need.other, False) for need in needs if need.other is not None)
    return tuple(found)


def _line(need: Accumulator, needs: Sequence[Accumulator]) -> Line:
    """What an accumulator reads; a count of arguments that are brought as two words looks at these."""
    is_pair = need.kind in _PAIRS
    if need.kind == g.COUNT:
        is_pair = any(other.kind in _PAIRS and other.argument == need.argument for other in needs)
    return Line(need.argument, is_pair)


def _accumulator(
    need: Accumulator,
    offsets: dict[Accumulator, int],
    lines: Sequence[Line],
    groups: int,
    calls: Sequence[AggregateCall],
    types: Sequence[SqlType],
) -> Words:
    words = np.zeros(g.ACCUMULATOR, np.int64)

    def place(line: Line) -> int:
        """The first word of a line among all words."""
        position = lines.index(line)
        return groups + position + sum(before.is_pair for before in lines[:position])

    own = _line(need, tuple(offsets))
    other = -1 if need.other is None else place(Line(need.other, False))
    words[g.A_KIND] = need.kind
    words[g.A_AT] = offsets[need]
    words[g.A_LINE] = place(own)
    words[g.A_NULL] = other if need.by_other else place(own) + own.is_pair
    words[g.A_DISTINCT] = int(need.distinct)
    words[g.A_OTHER] = other
    if need.kind == g.INDEX:
        is_ordered = any(call.argument == need.argument and call.function in _ORDERED for call in calls)
        words[g.A_DETAIL] = _order(types[need.argument]) if is_ordered else value_order.NUMBER
    elif need.kind == g.PAIRS:
        words[g.A_DETAIL] = _order(types[need.argument])
        words[g.A_OTHER_ORDER] = value_order.NUMBER if need.other is None else _order(types[need.other])
    elif need.kind == g.MODE:
        words[g.A_OTHER_ORDER] = _order(types[need.argument])
    elif need.kind == g.BITS:
        words[g.A_DETAIL] = need.size
    elif need.kind in (g.SUM_WIDE, g.SQUARES, g.SQUARES_WIDE):
        words[g.A_DETAIL] = need.words
    elif need.kind in (g.DOUBLE_SUM, g.DOUBLE_SQUARES, *_POWERS):
        words[g.A_DETAIL] = offsets[Accumulator(need.argument, g.COUNT, need.distinct)]
    return words


def _order(type_: SqlType) -> int:
    if type_.kind == "double":
        return value_order.DOUBLE
    if type_.word_kind == "string":
        return value_order.TEXT
    return value_order.DECIMAL if _is_wide(type_) else value_order.NUMBER


def _result(call: AggregateCall, offsets: dict[Accumulator, int], types: Sequence[SqlType]) -> Words:
    words = np.zeros(g.RESULT, np.int64)
    words[g.C_WIDTH] = 1
    argument = call.argument
    if argument is None:
        words[g.C_KIND], words[g.C_COUNT] = g.GIVE_COUNT, g.R_ROWS
        return words
    type_, distinct = types[argument], _is_distinct(call)
    is_double = type_.kind == "double"
    total = Accumulator(argument, _sum_kind(type_), distinct)
    index = offsets.get(Accumulator(argument, g.INDEX), 0)
    words[g.C_COUNT] = offsets.get(Accumulator(argument, g.COUNT, distinct), 0)
    words[g.C_FIRST] = offsets.get(total, 0)
    words[g.C_FIRST_WORDS] = _SIZES[total.kind]
    words[g.C_UNIT] = exact_sum.UNIT if is_double else 0
    match call.function:
        case "count":
            words[g.C_KIND] = g.GIVE_COUNT
        case "sum":
            words[g.C_KIND] = g.GIVE_DOUBLE if is_double else g.GIVE_SUM
            words[g.C_WIDTH] = 1 if is_double else 2
        case "avg" if call.type.kind in ("decimal", *_INTERVALS):
            words[g.C_KIND], words[g.C_WIDTH] = g.GIVE_AVERAGE, 2
            words[g.C_DETAIL] = call.type.scale - type_.scale
        case "avg":
            words[g.C_KIND] = g.GIVE_QUOTIENT
            words[g.C_DETAIL] = type_.scale
        case "var_pop" | "var_samp":
            squares = Accumulator(argument, _square_kind(type_), distinct)
            words[g.C_KIND] = g.GIVE_VARIANCE
            words[g.C_SECOND], words[g.C_SECOND_WORDS] = offsets[squares], _SIZES[squares.kind]
            words[g.C_DETAIL] = type_.scale
            words[g.C_SAMPLE] = int(call.function == "var_samp")
        case "covar_pop" | "covar_samp":
            assert call.other is not None, "a covariance is of two arguments"
            words[g.C_KIND], words[g.C_DETAIL] = g.GIVE_MOMENT, 2
            words[g.C_SECOND] = offsets[Accumulator(argument, g.PRODUCTS, other=call.other)]
            words[g.C_THIRD] = offsets[Accumulator(call.other, g.DOUBLE_SUM)]
            words[g.C_SAMPLE] = int(call.function == "covar_samp")
        case "moment_3" | "moment_4":
            words[g.C_KIND], words[g.C_DETAIL] = g.GIVE_MOMENT, int(call.function[-1])
            words[g.C_SECOND] = offsets[Accumulator(argument, g.DOUBLE_SQUARES)]
            words[g.C_THIRD] = offsets[Accumulator(argument, g.CUBES)]
            words[g.C_FOURTH] = offsets.get(Accumulator(argument, g.FOURTHS), 0)
        case "min_by" | "max_by":
            words[g.C_KIND] = g.GIVE_BY_LEAST if call.function == "min_by" else g.GIVE_BY_GREATEST
            words[g.C_COUNT] = words[g.C_FIRST] = offsets[_pairs(call)]
        case "percentile_cont" | "percentile_disc":
            words[g.C_KIND] = g.GIVE_BETWEEN if call.function == "percentile_cont" else g.GIVE_VALUE_AT
            words[g.C_FIRST] = offsets[_ranks(call)]
            words[g.C_FRACTION] = np.float64(call.fraction).view(np.int64)
            words[g.C_DESCENDING] = int(call.descending)
        case "mode":
            words[g.C_KIND] = g.GIVE_LAST_BY_LEAST if call.descending else g.GIVE_BY_LEAST
            words[g.C_COUNT] = words[g.C_FIRST] = offsets[Accumulator(argument, g.MODE)]
        case "bit_and" | "bit_or" | "bit_xor":
            words[g.C_KIND], words[g.C_DETAIL] = g.GIVE_BITS, _BITS[call.function]
            words[g.C_FIRST], words[g.C_FIRST_WORDS] = offsets[_bits(call, type_)], type_.bits
        case "list_by":
            words[g.C_KIND], words[g.C_WIDTH], words[g.C_DETAIL] = g.GIVE_LIST, 2, g.SECONDS
            words[g.C_FIRST] = offsets[_pairs(call)]
        case "min" | "max":
            # The link of an index is positive where there are values.
            words[g.C_KIND] = g.GIVE_LEAST if call.function == "min" else g.GIVE_GREATEST
            words[g.C_COUNT] = words[g.C_FIRST] = index
        case "bool_and" | "bool_or":
            words[g.C_KIND] = g.GIVE_ALL if call.function == "bool_and" else g.GIVE_ANY
            words[g.C_FIRST] = offsets[Accumulator(argument, g.TRUE)]
        case "array_agg":
            words[g.C_KIND], words[g.C_WIDTH] = g.GIVE_LIST, 2
            words[g.C_FIRST], words[g.C_SECOND] = index, offsets[Accumulator(argument, g.COUNT)]
            words[g.C_DETAIL] = int(distinct)
    return words
