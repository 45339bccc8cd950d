"""Aggregates as annotations: from the annotated results of a join tree to rows of groups (CROWN, section 7.3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.dataflow.batches import Delta, Rows
from livejoin.kernels.groups import changed as kernel
from livejoin.plan.operators import AnnotatedOperator, Result
from livejoin.state.codec import Codec
from livejoin.state.exact_aggregates import (
    Integers,
    are_small,
    average_double,
    average_unscaled,
    bigint_column,
    bigints,
    decimals,
    integers,
    variance,
)
from livejoin.words import Words

_EXACT_DOUBLE = 1 << 53  # integers up to it are doubles, so that one division of them rounds once
_EXACT_WORD = 1 << 61


def group_rows(plan: AnnotatedOperator, codec: Codec, words: Words) -> Rows:
    """The rows of groups.

    Args:
        plan: The plan.
        codec: The database's codec.
        words: int64 of shape (head columns and words of the annotation, groups).

    Raises:
        CapacityError: A sum or a count does not fit its type.
    """
    groups = len(plan.physical.query.head)
    columns: list[Words | pa.Array] = [words[i] for i in range(groups)]
    columns += [_column(result, plan, words[groups:]) for result in plan.results]
    return Rows(codec, plan.types, columns, words.shape[1])


def empty_group(plan: AnnotatedOperator, codec: Codec) -> Rows:
    """The one row of aggregates over no rows."""
    nothing = np.zeros((plan.physical.columns, 1), np.int64)
    return group_rows(plan, codec, nothing)


def net_changes(plan: AnnotatedOperator, codec: Codec, words: Words, signs: Words, versions: Words) -> Delta:
    """The net change of every group in every version.

    The results of one group alternate between what it was and what it became, so of each version the first counts if
    it takes away and the last if it adds. A group's two rows stand next to each other, the old one first.

    Args:
        plan: The plan.
        codec: The database's codec.
        words: The emitted results in order, as in `group_rows`.
        signs: +1 or -1 of each.
        versions: The version of each, ascending.
    """
    keys, results = len(plan.physical.query.head), versions.shape[0]
    slots = np.zeros(1 << (2 * results).bit_length(), np.int64)
    found = np.empty((kernel.FOUND_FIELDS, results), np.int64)
    groups = made = 0
    for begin in range(0, results, kernel.AT_ONCE):
        groups = kernel.gather_groups(words, keys, signs, versions, begin, slots, found, groups)
    lines = words.shape[0]
    out = np.empty((lines + kernel.CHANGE_LINES, 2 * groups), np.int64)
    for begin in range(0, groups, kernel.AT_ONCE):
        made = kernel.write_changes(words, versions, found, groups, begin, plan.is_global, out, made)
    weights, numbers, of_version = out[lines:, :made]
    return Delta(group_rows(plan, codec, out[:lines, :made]), weights, of_version, numbers)


def _column(result: Result, plan: AnnotatedOperator, annotation: Words) -> Words | pa.Array:
    """The values of one aggregate."""
    kind, type_ = result.kind, result.type
    if kind == "count":
        return bigints(*_sum(plan, annotation, result.sums[0]), "a count")
    number = _sum(plan, annotation, result.sums[0])
    low, high = _sum(plan, annotation, result.sums[1])
    some = (number[0] | number[1]) != 0
    if kind == "sum":
        if type_.kind == "decimal":
            return decimals(low, high, type_, some)
        return bigint_column(low, high, some, "a sum")
    if kind == "avg" and (quick := _quick_average((low, high), number, some, result)) is not None:
        return quick
    present, total = integers(*number), integers(low, high)
    if kind == "avg":
        return _average(total, np.where(some, present, 1), some, result)
    squares = integers(*_sum(plan, annotation, result.sums[2]))
    sample = kind == "var_samp"
    some = present > int(sample)
    values = variance(total, squares, np.where(some, present, 2), result.scale, sample)
    return pa.array(values, mask=~some)


def _quick_average(
    total: tuple[Words, Words], number: tuple[Words, Words], some: npt.NDArray[np.bool_], result: Result
) -> pa.Array | None:
    """The averages of sums and counts of which arithmetic of words and doubles is exact; None where one is not."""
    decimal = result.type.kind == "decimal"
    scale = 10 ** (result.type.scale - result.scale if decimal else result.scale)
    least, most = (_EXACT_WORD // (2 * scale), _EXACT_WORD) if decimal else (_EXACT_DOUBLE, _EXACT_DOUBLE // scale)
    if not (are_small(*total, least) and are_small(*number, most)):
        return None
    low, count = total[0], np.where(some, number[0], 1)
    if not decimal:
        return pa.array(low / (count * scale), mask=~some)
    rounded = np.sign(low) * ((np.abs(low) * (2 * scale) + count) // (2 * count))
    return decimals(rounded, rounded >> 63, result.type, some)


def _average(total: Integers, number: Integers, some: npt.NDArray[np.bool_], result: Result) -> pa.Array:
    if result.type.kind != "decimal":
        return pa.array(average_double(total, number, result.scale), mask=~some)
    unscaled = average_unscaled(total, number, result.type.scale - result.scale)
    low = np.array((unscaled & ((1 << 64) - 1)).tolist(), np.uint64).view(np.int64)
    high = np.array((unscaled >> 64).tolist(), np.int64)
    return decimals(low, high, result.type, some)


def _sum(plan: AnnotatedOperator, annotation: Words, component: int) -> tuple[Words, Words]:
    """The two words of a component."""
    at = int(plan.physical.components[component])
    low = np.ascontiguousarray(annotation[at])
    if plan.physical.query.sums[component].wide:
        return low, np.ascontiguousarray(annotation[at + 1])
    return low, low >> 63
