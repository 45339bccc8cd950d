"""Exact decimals of up to 38 digits: two words each, and as many as an intermediate result needs.

Law: the result of an operation is its exact result, rounded half up (away from zero) to the scale of the result, or the
code of an error where that has more digits than the precision allows. So sums, products and quotients are computed
exactly and rounded once.

What one word holds is computed with one word; what it does not, with digits (`livejoin.kernels.evaluate.digits`).
"""

from __future__ import annotations

from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.digits import (
    DECIMAL_DIGITS,
    POWERS_HIGH,
    POWERS_LOW,
    WIDTH,
    add_one,
    add_or_subtract,
    compare,
    divide,
    divide_by_digit,
    length_of,
    multiply,
    multiply_by_digit,
    put,
    scale_up,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.numbers.big_integer import below
from livejoin.kernels.numbers.wide import product_wraps, signed_high_product, sum_wraps
from livejoin.kernels.parameters import Words

WORK_WORDS = 3 * WIDTH
"""Words of the work space: three magnitudes."""

Number = tuple[int, int]
"""A number of two words, the low one first."""

Scales = tuple[int, int]
"""Digits behind the point, of the first number and of the second one."""

_SMALL = 18  # powers of ten of one word
_LEAST = -(1 << 63)


@inlined
def _is_small(low: int, high: int) -> bool:
    """Whether one word holds a number of two."""
    return high == low >> 63 and low != _LEAST


@helper
def checked(low: int, high: int, precision: int) -> tuple[int, int, int]:
    """A number of two words, or an error if it has more decimal digits."""
    size, over = low, high
    if high < 0:
        size = -low
        over = ~high + (1 if low == 0 else 0)
    limit = POWERS_HIGH[precision]
    if over < 0 or over > limit or (over == limit and not below(size, POWERS_LOW[precision])):
        return 0, 0, k.DECIMAL_OVERFLOW
    return low, high, k.VALUE


@helper
def _taken(w: Words, at: int, negative: bool, precision: int) -> tuple[int, int, int]:
    """The number that digits stand for."""
    for i in range(5, WIDTH):
        if w[at + i] != 0:
            return 0, 0, k.DECIMAL_OVERFLOW
    if w[at + 4] >= 8:
        return 0, 0, k.DECIMAL_OVERFLOW
    low = w[at] | (w[at + 1] << 31) | (w[at + 2] << 62)
    high = (w[at + 2] >> 2) | (w[at + 3] << 29) | (w[at + 4] << 60)
    if negative:
        high = ~high + (1 if low == 0 else 0)
        low = -low
    return checked(low, high, precision)


@inlined
def _goes_up(how: int, negative: bool, odd: bool, beyond_half: bool, half: bool, inexact: bool) -> bool:
    """Whether the magnitude of a rounded number is one more than that of the truncated one."""
    if how == k.HALF_UP:
        return beyond_half or half
    if how == k.HALF_EVEN:
        return beyond_half or (half and odd)
    if how == k.DOWN:
        return False
    return inexact and negative == (how == k.FLOOR)


@helper
def _scale_down(w: Words, at: int, digits: int, how: int, negative: bool) -> None:
    """Divide by a power of ten and round."""
    inexact = False
    while digits > 1:
        step = min(digits - 1, DECIMAL_DIGITS)
        if divide_by_digit(w, at, POWERS_LOW[step]) != 0:
            inexact = True
        digits -= step
    last = divide_by_digit(w, at, 10)
    beyond = last > 5 or (last == 5 and inexact)
    if _goes_up(how, negative, w[at] & 1 == 1, beyond, last == 5 and not inexact, inexact or last != 0):
        add_one(w, at)


@helper
def _add(w: Words, o: int, one: Number, other: Number, scales: Scales, s: int, p: int) -> tuple[int, int, int]:
    (al, ah), (bl, bh), (sa, sb) = one, other, scales
    common = max(sa, sb)
    if s == common and common - sa <= _SMALL and common - sb <= _SMALL:
        low, high, fits = al, ah, True
        if common != sa:
            fits = _is_small(al, ah)
            low, high = al * POWERS_LOW[common - sa], signed_high_product(al, POWERS_LOW[common - sa])
        more, over = bl, bh
        if common != sb:
            fits = fits and _is_small(bl, bh)
            more, over = bl * POWERS_LOW[common - sb], signed_high_product(bl, POWERS_LOW[common - sb])
        if fits:
            total = low + more
            upper = high + over
            result = upper + (1 if below(total, low) else 0)
            if sum_wraps(high, over, upper) | sum_wraps(upper, result - upper, result) != 0:
                return 0, 0, k.DECIMAL_OVERFLOW
            return checked(total, result, p)
    a, b = o, o + WIDTH
    put(w, a, al, ah)
    put(w, b, bl, bh)
    scale_up(w, a, common - sa)
    scale_up(w, b, common - sb)
    negative = ah < 0
    if add_or_subtract(w, a, b, negative == (bh < 0)):
        negative = not negative
    return _rescaled(w, a, negative, common, s, p)


@helper
def _rescaled(w: Words, at: int, negative: bool, scale: int, s: int, p: int) -> tuple[int, int, int]:
    """Digits of one scale as a number of another one."""
    if s > scale:
        scale_up(w, at, s - scale)
    elif s < scale:
        _scale_down(w, at, scale - s, k.HALF_UP, negative)
    return _taken(w, at, negative, p)


@helper
def _product(w: Words, o: int, one: Number, other: Number, drop: int, p: int) -> tuple[int, int, int]:
    (al, ah), (bl, bh) = one, other
    if _is_small(al, ah) and _is_small(bl, bh):
        if drop == 0:
            return checked(al * bl, signed_high_product(al, bl), p)
        if 0 < drop <= _SMALL and product_wraps(al, bl) == 0:
            return _rounded(al * bl, POWERS_LOW[drop], k.HALF_UP, p)
    a, b, q = o, o + WIDTH, o + 2 * WIDTH
    put(w, a, al, ah)
    put(w, b, bl, bh)
    multiply(w, a, b, q)
    return _rescaled(w, q, (ah < 0) != (bh < 0), max(drop, 0), max(-drop, 0), p)


@helper
def _rounded(value: int, divisor: int, how: int, p: int) -> tuple[int, int, int]:
    """A word divided by a positive one, which is at most 10**18, and rounded."""
    negative = value < 0
    size = -value if negative else value
    if size < 0:  # -2**63
        size = (1 << 63) - 1  # no multiple and no half of a power of ten, as 2**63 is none
    quotient = size // divisor
    rest = size - quotient * divisor
    other = divisor - rest
    if _goes_up(how, negative, quotient & 1 == 1, rest > other, rest == other, rest != 0):
        quotient += 1
    if negative:
        quotient = -quotient
    return checked(quotient, quotient >> 63, p)


@helper
def _quotient(w: Words, o: int, one: Number, other: Number, up: int, p: int, how: int) -> tuple[int, int, int]:
    """``one * 10**up / other``, rounded."""
    (al, ah), (bl, bh) = one, other
    if _is_small(al, ah) and _is_small(bl, bh) and 0 <= up <= _SMALL and product_wraps(al, POWERS_LOW[up]) == 0:
        value = al * POWERS_LOW[up]
        if value != _LEAST:
            return _rounded(-value if bl < 0 else value, -bl if bl < 0 else bl, how, p)
    u, v, q = o, o + WIDTH, o + 2 * WIDTH
    put(w, u, al, ah)
    put(w, v, bl, bh)
    scale_up(w, u, up)
    scale_up(w, v, -up)
    divide(w, u, v, q)
    if how == k.HALF_UP:
        multiply_by_digit(w, u, 2)
        if compare(w, u, v) >= 0:
            add_one(w, q)
    return _taken(w, q, (ah < 0) != (bh < 0), p)


@helper
def _remainder(
    w: Words, o: int, one: Number, other: Number, scales: Scales, s: int, p: int, positive: bool
) -> tuple[int, int, int]:
    """The remainder with the dividend's sign; if ``positive``, a negative one plus the divisor where that is."""
    (al, ah), (bl, bh), (sa, sb) = one, other, scales
    if sa == sb == s and _is_small(al, ah) and _is_small(bl, bh):
        size = (-al if al < 0 else al) % (-bl if bl < 0 else bl)
        low = -size if al < 0 else size
        if positive and low < 0 < bl:
            low += bl
        return checked(low, low >> 63, p)
    common = max(sa, sb)
    u, v, q = o, o + WIDTH, o + 2 * WIDTH
    put(w, u, al, ah)
    put(w, v, bl, bh)
    scale_up(w, u, common - sa)
    scale_up(w, v, common - sb)
    factor = divide(w, u, v, q)
    negative = ah < 0
    if positive and negative and bh >= 0 and length_of(w, u) > 0:
        add_or_subtract(w, u, v, False)
        negative = False
    if factor > 1:
        divide_by_digit(w, u, factor)
    return _rescaled(w, u, negative, common, s, p)


@helper
def rescale(w: Words, o: int, one: Number, scale: int, s: int, p: int, how: int, digits: int) -> tuple[int, int, int]:
    """A decimal with so many digits behind the point, which may be less than none, in another scale."""
    low, high = one
    drop = scale - digits
    drop = max(0, drop)
    if _is_small(low, high) and drop <= _SMALL:
        if drop > 0:
            low, high, _ = _rounded(low, POWERS_LOW[drop], how, 38)
        up = s - scale + drop
        if up == 0:
            return checked(low, high, p)
        if 0 < up <= _SMALL:
            return checked(low * POWERS_LOW[up], signed_high_product(low, POWERS_LOW[up]), p)
        scale, drop = scale - drop, 0
    negative = high < 0
    put(w, o, low, high)
    if drop > 0:
        _scale_down(w, o, drop, how, negative)
    return _rescaled(w, o, negative, scale - drop, s, p)


@inlined
def has_one_scale(op: int, x: int, y: int) -> bool:
    """Whether a sum, a product or another scale needs no digits more and no rounding; ``x`` and ``y`` as `decimal`."""
    sa, sb, s = x & 255, (x >> 8) & 255, (x >> 16) & 255
    if op == k.RESCALE:
        return bool(sa == s and y >> 8 >= sa)
    return bool(sa + sb == s if op == k.MULTIPLY_DECIMAL else sa == sb == s)


@inlined
def limit_of(x: int) -> int:
    """The largest word that has the digits of a result, of which ``x`` says the precision as for `decimal`."""
    p = (x >> 24) & 255
    return POWERS_LOW[p] - 1 if p <= _SMALL else (1 << 63) - 1


@helper
def decimal(op: int, w: Words, o: int, one: Number, other: Number, x: int, y: int) -> tuple[int, int, int]:
    """Run an operation.

    Args:
        op: FIRST_DECIMAL or more.
        w, o: A buffer with WORK_WORDS words of work space from an offset on.
        one: The first number, its low word first.
        other: The second one, where there is one.
        x, y: The instruction's numbers.

    Returns:
        The words of the result, and VALUE or the code of an error.
    """
    (al, ah), (bl, bh) = one, other
    sa, sb, s, p = x & 255, (x >> 8) & 255, (x >> 16) & 255, (x >> 24) & 255
    if op <= k.SUBTRACT_DECIMAL:
        if op == k.SUBTRACT_DECIMAL:
            bh = ~bh + (1 if bl == 0 else 0)
            bl = -bl
        return _add(w, o, one, (bl, bh), (sa, sb), s, p)
    if op == k.MULTIPLY_DECIMAL:
        return _product(w, o, one, other, sa + sb - s, p)
    if op == k.RESCALE:
        return rescale(w, o, one, sa, s, p, y & 255, y >> 8)
    if op == k.NEGATE_DECIMAL or (op == k.ABSOLUTE_DECIMAL and ah < 0):
        return -al, ~ah + (1 if al == 0 else 0), k.VALUE
    if op == k.ABSOLUTE_DECIMAL:
        return al, ah, k.VALUE
    if op == k.DECIMAL_TO_INTEGER:
        low, high, _ = rescale(w, o, one, sa, 0, 38, k.DOWN, 0)
        fits = high == low >> 63 and (y == 64 or -(1 << (y - 1)) <= low < 1 << (y - 1))
        return low, high, (k.VALUE if fits else k.CAST_OVERFLOW)
    if bl | bh == 0:
        return 0, 0, (k.DIVISION_BY_ZERO if op <= k.INTEGRAL_DIVIDE_DECIMAL else k.REMAINDER_BY_ZERO)
    if op == k.DIVIDE_DECIMAL:
        return _quotient(w, o, one, other, s - sa + sb, p, k.HALF_UP)
    if op == k.INTEGRAL_DIVIDE_DECIMAL:
        low, high, code = _quotient(w, o, one, other, sb - sa, 38, k.DOWN)
        return low, high, (k.VALUE if code == k.VALUE and high == low >> 63 else k.OVERFLOW)
    return _remainder(w, o, one, other, (sa, sb), s, p, op == k.POSITIVE_REMAINDER_DECIMAL)
