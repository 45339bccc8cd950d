"""Aggregates from exact sums: integers of 128 bits in two words, the low one first.

All results are exact, or rounded once at the end: averages of decimals half away from zero, as in Spark; averages of
integers and variances to the nearest double.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.errors import CapacityError
from livejoin.schema import SqlType
from livejoin.words import CANONICAL_NAN, NULL_CODE, Words

Integers = npt.NDArray[Any]  # Python integers
_EXACT_DOUBLE = 1 << 53
_WORD = (1 << 64) - 1


def integers(low: Words, high: Words) -> Integers:
    """Two-word integers as Python's.

    >>> integers(np.array([-1, 5]), np.array([-1, 1])).tolist()
    [-1, 18446744073709551621]
    """
    whole: Integers = high.astype(object) * (1 << 64) + low.view(np.uint64).astype(object)
    return whole


def are_small(low: Words, high: Words, most: int) -> bool:
    """Whether the absolute values of two-word integers are below a bound, which is at most 2**62.

    >>> are_small(np.array([-3]), np.array([-1]), 4), are_small(np.array([3]), np.array([1]), 4)
    (True, False)
    """
    return bool((high == low >> 63).all() and (low < most).all() and (low > -most).all())


def bigints(low: Words, high: Words, what: str) -> Words:
    """Two-word integers that fit one word.

    Raises:
        CapacityError: A number does not fit; ``what`` names the column.
    """
    wrong = np.flatnonzero(high != low >> 63)
    if wrong.size:
        value = integers(low[wrong[:1]], high[wrong[:1]])[0]
        msg = f"{what} is {value:,}, which BIGINT cannot hold; aggregate a DECIMAL or a DOUBLE instead"
        raise CapacityError(msg)
    return low


def bigint_column(low: Words, high: Words, valid: npt.NDArray[np.bool_], what: str) -> Words | pa.Array:
    """Two-word integers as a BIGINT column, NULL where not ``valid``: words, or Arrow if a value has no word.

    Raises:
        CapacityError: A valid one does not fit; ``what`` names the column.
    """
    values = bigints(np.where(valid, low, 0), np.where(valid, high, 0), what)
    if np.any(valid & (values == NULL_CODE)):
        return pa.array(values, mask=~valid)
    return np.where(valid, values, NULL_CODE)


def interval_column(low: Words, high: Words, valid: npt.NDArray[np.bool_], type_: SqlType, what: str) -> Words:
    """Two-word integers as intervals, NULL where not ``valid``.

    Raises:
        CapacityError: A valid one does not fit; ``what`` names the column.
    """
    bits = 31 if type_.kind == "months" else 63
    fits = (high == low >> 63) & (low >> bits == low >> 63) & (low != NULL_CODE)
    wrong = np.flatnonzero(valid & ~fits)
    if wrong.size:
        value = integers(low[wrong[:1]], high[wrong[:1]])[0]
        unit = "months" if type_.kind == "months" else "microseconds"
        msg = f"{what} is {value:,} {unit}, which {type_} cannot hold"
        raise CapacityError(msg)
    return np.where(valid, low, NULL_CODE)


def decimals(low: Words, high: Words, type_: SqlType, valid: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Two-word unscaled values as decimals of 128 bits; NULL where not ``valid``.

    Raises:
        CapacityError: A value has more digits than the type.
    """
    whole = np.empty((low.shape[0], 2), np.int64)
    whole[:, 0] = low
    whole[:, 1] = high
    mask = None
    if valid is not None and not valid.all():
        whole[~valid] = 0
        mask = pa.py_buffer(np.packbits(valid, bitorder="little"))
    array = pa.Array.from_buffers(pa.decimal128(38, type_.scale), low.shape[0], [mask, pa.py_buffer(whole)])
    try:
        array.validate(full=True)
        return array.cast(type_.arrow)
    except pa.ArrowInvalid as error:
        msg = f"a sum does not fit {type_}: {error}"
        raise CapacityError(msg) from error


def average_double(total: Integers, count: Integers, scale: int) -> npt.NDArray[np.float64]:
    """``total / 10**scale / count`` to the nearest double; counts are not zero."""
    pairs = zip(total.tolist(), (count * 10**scale).tolist(), strict=True)
    return np.fromiter((a / b for a, b in pairs), np.float64, total.shape[0])


def average_unscaled(total: Integers, count: Integers, digits: int) -> Integers:
    """``total * 10**digits / count`` rounded half away from zero; counts are positive.

    >>> average_unscaled(np.array([5, -5], object), np.array([2, 2], object), 0).tolist()
    [3, -3]
    """
    scaled = np.abs(total) * (10**digits * 2) + count
    rounded: Integers = np.where(total < 0, -1, 1).astype(object) * (scaled // (count * 2))
    return rounded


def averages(low: Words, high: Words, counts: Words, argument: SqlType, type_: SqlType) -> Words | pa.Array:
    """The averages of integers and decimals from their exact sums, NULL where the count is 0.

    Args:
        low, high: The sums, unscaled.
        counts: Numbers of values.
        argument: The type of these.
        type_: DOUBLE, or a decimal with more digits behind the point.

    Raises:
        CapacityError: A decimal does not fit.
    """
    valid = counts > 0
    divisor = np.where(valid, counts, 1)
    if type_.kind == "double":
        if are_small(low, high, _EXACT_DOUBLE) and argument.scale == 0:
            return np.where(valid, double_words(low / divisor), NULL_CODE)
        values = average_double(integers(low, high), divisor.astype(object), argument.scale)
        return np.where(valid, double_words(values), NULL_CODE)
    digits = type_.scale - argument.scale
    if are_small(low, high, (1 << 61) // 10**digits) and int(divisor.max(initial=0)) < 1 << 60:
        scaled = (2 * 10**digits * np.abs(low) + divisor) // (2 * divisor)
        whole = np.where(low < 0, -scaled, scaled)
        return decimals(whole, whole >> 63, type_, valid)
    exact = average_unscaled(integers(low, high), divisor.astype(object), digits)
    below = np.array([int(value) & _WORD for value in exact], np.uint64).view(np.int64)
    above = np.array([int(value) >> 64 for value in exact], np.int64)
    return decimals(np.where(valid, below, 0), np.where(valid, above, 0), type_, valid)


def double_words(values: npt.NDArray[np.float64]) -> Words:
    """The words of doubles: one zero, and one NaN."""
    found = (values + 0.0).view(np.int64)
    found[np.isnan(values)] = CANONICAL_NAN
    return found


def variance(total: Integers, squares: Integers, count: Integers, scale: int, sample: bool) -> npt.NDArray[np.float64]:
    """The variance from exact sums, ``(n * sum(x*x) - sum(x)**2) / (n * (n - sample))``; the divisor is not zero."""
    above = (squares * count - total * total).tolist()
    below = (count * (count - int(sample)) * 10 ** (2 * scale)).tolist()
    return np.fromiter((a / b for a, b in zip(above, below, strict=True)), np.float64, total.shape[0])
