"""Exact decimals of up to 38 digits: two words each, and as many as an intermediate result needs.

Law: the result of an operation is its exact result, rounded half up (away from zero) to the scale of the result, or the
code of an error where that has more digits than the precision allows. So sums, products and quotients are computed
exactly and rounded once.

What one word holds is computed with one word; what it does not, in *digits*: magnitudes of base 2**31, the low digit
first, one a word in the work space, where a product of two digits and a carry fit a signed word. Long division is
Knuth's algorithm D (The Art of Computer Programming 2, 4.3.1).
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.numbers.big_integer import below
from livejoin.kernels.numbers.wide import product_wraps, signed_high_product, sum_wraps
from livejoin.kernels.parameters import Words

WORK_WORDS = 48

_BITS = 31
_BASE = 1 << _BITS
_MASK = _BASE - 1
_DIGITS = 9  # decimal digits of a factor or divisor of one digit
_WIDTH = 16  # digits of a magnitude in the work space: 114 decimal digits, a quotient's dividend, take 13
_SMALL = 18  # powers of ten of one word
_LEAST = -(1 << 63)


def _powers() -> tuple[np.ndarray, np.ndarray]:
    """The low and high words of the powers of ten up to 10**38."""
    powers = [10**n for n in range(39)]
    low = np.array([power % (1 << 64) for power in powers], np.uint64).view(np.int64)
    return low, np.array([power >> 64 for power in powers], np.int64)


_LOW, _HIGH = _powers()


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
    limit = _HIGH[precision]
    if over < 0 or over > limit or (over == limit and not below(size, _LOW[precision])):
        return 0, 0, k.DECIMAL_OVERFLOW
    return low, high, k.VALUE


@helper
def _put(w: Words, at: int, low: int, high: int) -> None:
    """Write the magnitude of a number as digits."""
    if high < 0:
        high = ~high + (1 if low == 0 else 0)
        low = -low
    w[at] = low & _MASK
    w[at + 1] = (low >> 31) & _MASK
    w[at + 2] = ((low >> 62) & 3) | ((high & ((1 << 29) - 1)) << 2)
    w[at + 3] = (high >> 29) & _MASK
    w[at + 4] = (high >> 60) & 15
    for i in range(5, _WIDTH):
        w[at + i] = 0


@helper
def _taken(w: Words, at: int, negative: bool, precision: int) -> tuple[int, int, int]:
    """The number that digits stand for."""
    for i in range(5, _WIDTH):
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


@helper
def _length(w: Words, at: int) -> int:
    """Digits up to the highest one that is not 0."""
    length = _WIDTH
    while length > 0 and w[at + length - 1] == 0:
        length -= 1
    return length


@helper
def _times(w: Words, at: int, factor: int) -> None:
    """Multiply by a digit."""
    carry = np.int64(0)
    for i in range(_WIDTH):
        product = w[at + i] * factor + carry
        w[at + i] = product & _MASK
        carry = product >> _BITS


@helper
def _over(w: Words, at: int, divisor: int) -> int:
    """Divide by a digit; the remainder."""
    rest = np.int64(0)
    length = _length(w, at)
    for j in range(length):
        i = at + length - 1 - j
        part = (rest << _BITS) | w[i]
        quotient = part // divisor
        w[i] = quotient
        rest = part - quotient * divisor
    return rest  # type: ignore[return-value]


@helper
def _scale_up(w: Words, at: int, digits: int) -> None:
    while digits > 0:
        step = min(digits, _DIGITS)
        _times(w, at, _LOW[step])
        digits -= step


@helper
def _add_one(w: Words, at: int) -> None:
    for i in range(_WIDTH):
        w[at + i] += 1
        if w[at + i] <= _MASK:
            return
        w[at + i] = 0


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
        step = min(digits - 1, _DIGITS)
        if _over(w, at, _LOW[step]) != 0:
            inexact = True
        digits -= step
    last = _over(w, at, 10)
    beyond = last > 5 or (last == 5 and inexact)
    if _goes_up(how, negative, w[at] & 1 == 1, beyond, last == 5 and not inexact, inexact or last != 0):
        _add_one(w, at)


@helper
def _multiply(w: Words, a: int, b: int, to: int) -> None:
    """Write the product of two magnitudes."""
    n, t = _length(w, a), _length(w, b)
    for i in range(_WIDTH):
        w[to + i] = 0
    for i in range(n):
        carry = np.int64(0)
        for j in range(t):
            product = w[a + i] * w[b + j] + w[to + i + j] + carry
            w[to + i + j] = product & _MASK
            carry = product >> _BITS
        w[to + i + t] = carry


@helper
def _divide(w: Words, u: int, v: int, q: int) -> int:
    """Divide one magnitude by another one, which is not 0; what is left lies at ``u``.

    Divisor and remainder come out multiplied by a digit, which is returned.

    Knuth's algorithm D: both are multiplied so that the divisor's highest digit is at least half the base, each digit
    of the quotient is guessed from two digits by one, and the guess is at most one too large after its correction.
    """
    for i in range(_WIDTH):
        w[q + i] = 0
    n, t = _length(w, u), _length(w, v)
    if n < t:
        return 1
    if t == 1:
        for i in range(n):
            w[q + i] = w[u + i]
        rest = _over(w, q, w[v])
        for i in range(n):
            w[u + i] = 0
        w[u] = rest
        return 1
    factor = _BASE // (w[v + t - 1] + 1)
    _times(w, u, factor)
    _times(w, v, factor)
    top, second = w[v + t - 1], w[v + t - 2]
    for s in range(n - t + 1):
        j = n - t - s
        high = (w[u + j + t] << _BITS) | w[u + j + t - 1]
        guess = high // top
        rest = high - guess * top
        while guess >= _BASE or guess * second > ((rest << _BITS) | w[u + j + t - 2]):
            guess -= 1
            rest += top
            if rest >= _BASE:
                break
        carry = borrow = np.int64(0)
        for i in range(t):
            product = guess * w[v + i] + carry
            carry = product >> _BITS
            left = w[u + j + i] - (product & _MASK) - borrow
            w[u + j + i] = left & _MASK
            borrow = np.int64(1 if left < 0 else 0)
        left = w[u + j + t] - carry - borrow
        w[u + j + t] = left & _MASK
        if left < 0:
            guess -= 1
            carry = np.int64(0)
            for i in range(t):
                total = w[u + j + i] + w[v + i] + carry
                w[u + j + i] = total & _MASK
                carry = total >> _BITS
            w[u + j + t] = (w[u + j + t] + carry) & _MASK
        w[q + j] = guess
    return factor  # type: ignore[no-any-return]


@helper
def _compare(w: Words, a: int, b: int) -> int:
    """-1, 0 or 1 as one magnitude is less than another, equal or greater."""
    for j in range(_WIDTH):
        i = _WIDTH - 1 - j
        if w[a + i] != w[b + i]:
            return -1 if w[a + i] < w[b + i] else 1
    return 0


@helper
def _sum(w: Words, a: int, b: int, same_sign: bool) -> bool:
    """Add two magnitudes, or subtract the less from the greater, into the first; whether the second was greater."""
    carry = np.int64(0)
    if same_sign:
        for i in range(_WIDTH):
            total = w[a + i] + w[b + i] + carry
            w[a + i] = total & _MASK
            carry = total >> _BITS
        return False
    turned: bool = _compare(w, a, b) < 0
    for i in range(_WIDTH):
        left = (w[b + i] - w[a + i] if turned else w[a + i] - w[b + i]) + carry
        w[a + i] = left & _MASK
        carry = left >> _BITS
    return turned


@helper
def _add(
    w: Words, o: int, al: int, ah: int, bl: int, bh: int, sa: int, sb: int, s: int, p: int
) -> tuple[int, int, int]:
    common = max(sa, sb)
    if s == common and common - sa <= _SMALL and common - sb <= _SMALL:
        low, high, fits = al, ah, True
        if common != sa:
            fits = _is_small(al, ah)
            low, high = al * _LOW[common - sa], signed_high_product(al, _LOW[common - sa])
        other, over = bl, bh
        if common != sb:
            fits = fits and _is_small(bl, bh)
            other, over = bl * _LOW[common - sb], signed_high_product(bl, _LOW[common - sb])
        if fits:
            total = low + other
            upper = high + over
            result = upper + (1 if below(total, low) else 0)
            if sum_wraps(high, over, upper) | sum_wraps(upper, result - upper, result) != 0:
                return 0, 0, k.DECIMAL_OVERFLOW
            return checked(total, result, p)
    a, b = o, o + _WIDTH
    _put(w, a, al, ah)
    _put(w, b, bl, bh)
    _scale_up(w, a, common - sa)
    _scale_up(w, b, common - sb)
    negative = ah < 0
    if _sum(w, a, b, negative == (bh < 0)):
        negative = not negative
    return _rescaled(w, a, negative, common, s, p)


@helper
def _rescaled(w: Words, at: int, negative: bool, scale: int, s: int, p: int) -> tuple[int, int, int]:
    """Digits of one scale as a number of another one."""
    if s > scale:
        _scale_up(w, at, s - scale)
    elif s < scale:
        _scale_down(w, at, scale - s, k.HALF_UP, negative)
    return _taken(w, at, negative, p)


@helper
def _product(w: Words, o: int, al: int, ah: int, bl: int, bh: int, drop: int, p: int) -> tuple[int, int, int]:
    if _is_small(al, ah) and _is_small(bl, bh):
        if drop == 0:
            return checked(al * bl, signed_high_product(al, bl), p)
        if 0 < drop <= _SMALL and product_wraps(al, bl) == 0:
            return _rounded(al * bl, _LOW[drop], k.HALF_UP, p)
    a, b, q = o, o + _WIDTH, o + 2 * _WIDTH
    _put(w, a, al, ah)
    _put(w, b, bl, bh)
    _multiply(w, a, b, q)
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
def _quotient(w: Words, o: int, al: int, ah: int, bl: int, bh: int, up: int, p: int, how: int) -> tuple[int, int, int]:
    """``a * 10**up / b``, rounded."""
    if _is_small(al, ah) and _is_small(bl, bh) and 0 <= up <= _SMALL and product_wraps(al, _LOW[up]) == 0:
        value = al * _LOW[up]
        if value != _LEAST:
            return _rounded(-value if bl < 0 else value, -bl if bl < 0 else bl, how, p)
    u, v, q = o, o + _WIDTH, o + 2 * _WIDTH
    _put(w, u, al, ah)
    _put(w, v, bl, bh)
    _scale_up(w, u, up)
    _scale_up(w, v, -up)
    _divide(w, u, v, q)
    if how == k.HALF_UP:
        _times(w, u, 2)
        if _compare(w, u, v) >= 0:
            _add_one(w, q)
    return _taken(w, q, (ah < 0) != (bh < 0), p)


@helper
def _remainder(
    w: Words, o: int, al: int, ah: int, bl: int, bh: int, sa: int, sb: int, s: int, p: int, positive: bool
) -> tuple[int, int, int]:
    """The remainder with the dividend's sign; if ``positive``, a negative one plus the divisor where that is."""
    if sa == sb == s and _is_small(al, ah) and _is_small(bl, bh):
        size = (-al if al < 0 else al) % (-bl if bl < 0 else bl)
        low = -size if al < 0 else size
        if positive and low < 0 < bl:
            low += bl
        return checked(low, low >> 63, p)
    common = max(sa, sb)
    u, v, q = o, o + _WIDTH, o + 2 * _WIDTH
    _put(w, u, al, ah)
    _put(w, v, bl, bh)
    _scale_up(w, u, common - sa)
    _scale_up(w, v, common - sb)
    factor = _divide(w, u, v, q)
    negative = ah < 0
    if positive and negative and bh >= 0 and _length(w, u) > 0:
        _sum(w, u, v, False)
        negative = False
    if factor > 1:
        _over(w, u, factor)
    return _rescaled(w, u, negative, common, s, p)


@helper
def rescale(
    w: Words, o: int, low: int, high: int, scale: int, s: int, p: int, how: int, digits: int
) -> tuple[int, int, int]:
    """A decimal with so many digits behind the point, which may be less than none, in another scale."""
    drop = scale - digits
    drop = max(0, drop)
    if _is_small(low, high) and drop <= _SMALL:
        if drop > 0:
            low, high, _ = _rounded(low, _LOW[drop], how, 38)
        up = s - scale + drop
        if up == 0:
            return checked(low, high, p)
        if 0 < up <= _SMALL:
            return checked(low * _LOW[up], signed_high_product(low, _LOW[up]), p)
        scale, drop = scale - drop, 0
    negative = high < 0
    _put(w, o, low, high)
    if drop > 0:
        _scale_down(w, o, drop, how, negative)
    return _rescaled(w, o, negative, scale - drop, s, p)


@helper
def decimal(op: int, w: Words, o: int, al: int, ah: int, bl: int, bh: int, x: int, y: int) -> tuple[int, int, int]:
    """Run an operation.

    Args:
        op: FIRST_DECIMAL or more.
        w, o: A buffer with WORK_WORDS words of work space from an offset on.
        al, ah: The first number.
        bl, bh: The second one, where there is one.
        x, y: The instruction's numbers.

    Returns:
        The words of the result, and VALUE or the code of an error.
    """
    sa, sb, s, p = x & 255, (x >> 8) & 255, (x >> 16) & 255, (x >> 24) & 255
    if op <= k.SUBTRACT_DECIMAL:
        if op == k.SUBTRACT_DECIMAL:
            bh = ~bh + (1 if bl == 0 else 0)
            bl = -bl
        return _add(w, o, al, ah, bl, bh, sa, sb, s, p)
    if op == k.MULTIPLY_DECIMAL:
        return _product(w, o, al, ah, bl, bh, sa + sb - s, p)
    if op == k.RESCALE:
        return rescale(w, o, al, ah, sa, s, p, y & 255, y >> 8)
    if op == k.NEGATE_DECIMAL or (op == k.ABSOLUTE_DECIMAL and ah < 0):
        return -al, ~ah + (1 if al == 0 else 0), k.VALUE
    if op == k.ABSOLUTE_DECIMAL:
        return al, ah, k.VALUE
    if op == k.DECIMAL_TO_INTEGER:
        low, high, _ = rescale(w, o, al, ah, sa, 0, 38, k.DOWN, 0)
        fits = high == low >> 63 and (y == 64 or -(1 << (y - 1)) <= low < 1 << (y - 1))
        return low, high, (k.VALUE if fits else k.CAST_OVERFLOW)
    if bl | bh == 0:
        return 0, 0, (k.DIVISION_BY_ZERO if op <= k.INTEGRAL_DIVIDE_DECIMAL else k.REMAINDER_BY_ZERO)
    if op == k.DIVIDE_DECIMAL:
        return _quotient(w, o, al, ah, bl, bh, s - sa + sb, p, k.HALF_UP)
    if op == k.INTEGRAL_DIVIDE_DECIMAL:
        low, high, code = _quotient(w, o, al, ah, bl, bh, sb - sa, 38, k.DOWN)
        return low, high, (k.VALUE if code == k.VALUE and high == low >> 63 else k.OVERFLOW)
    return _remainder(w, o, al, ah, bl, bh, sa, sb, s, p, op == k.POSITIVE_REMAINDER_DECIMAL)
