"""Numbers of rows in words, the same ones in every sentence of an explanation.

Of rows that were counted one meets so many *at most*. Where none was counted, the size of the tables is the only bound.
"""

from __future__ import annotations

import math
import re

from livejoin.plan.explain.effects.amount import Amount

_ROUNDED = 10
_EXACT = 10_000  # below it a bound is told to the row


def rows(amount: Amount) -> str:
    """A number of rows; what bounds it is rounded up.

    >>> rows(Amount(1.0, 1.0, True)), rows(Amount(12.34, 500.0)), rows(Amount(None, None))
    ('at most 1 row', 'about 12 rows (500 at most)', 'an unknown number of rows')
    >>> rows(Amount(30.0, 60.0, True, is_size=True))
    'up to 30 rows on average (at worst 60)'
    >>> rows(Amount(725.0, 1449.0, True))
    'up to 725 rows on average (1,449 at most)'
    """
    expected, most = amount.expected, amount.most
    if expected is None:
        return "an unknown number of rows"
    if expected == 0:
        return "no row now" if amount.growth else "no row"
    if most is not None and most <= 1:
        return "1 row" if expected == 1 and not amount.is_bound else "at most 1 row"
    if expected < 1 and not amount.is_bound:
        found = "less than 1 row on average"
    else:
        about = "up to " if amount.is_bound else "" if expected == most and expected < _ROUNDED else "about "
        told = bound(expected) if amount.is_bound else number(expected)
        found = f"{about}{told} {'row' if told == '1' else 'rows'}"
    if most is None or number(most) == number(expected):
        return found
    ends = f"at worst {bound(most)}" if amount.is_size else f"{bound(most)} at most"
    return f"{found}{' on average' if amount.is_bound else ''} ({ends})"


def inside(amount: Amount) -> str:
    """A number of rows as it stands in parentheses.

    >>> inside(Amount(12.34, 500.0))
    'about 12 rows, 500 at most'
    """
    return unbracketed(rows(amount))


def unbracketed(text: str) -> str:
    """A text that ends in parentheses, without them.

    >>> unbracketed("about 12 rows (500 at most)")
    'about 12 rows, 500 at most'
    """
    return text.replace(" (", ", ").removesuffix(")")


def stored(amount: Amount) -> str:
    """A number of rows, of those that are stored above a join.

    >>> stored(Amount(3.0, 3.0, True)), stored(Amount(1.0, 1.0))
    ('up to 3 stored rows', '1 stored row')
    """
    return re.sub(r"\brow", "stored row", rows(amount), count=1)


def number(value: float) -> str:
    """A number with two figures, below ten with one behind the point where there is one.

    >>> number(8123.0), number(2.34), number(3.0), number(0.02), number(1.6e10)
    ('8,100', '2.3', '3', '0.02', '16,000,000,000')
    """
    if value < 1:
        return f"{value:.1g}"
    if value < _ROUNDED:
        return f"{value:.1f}".removesuffix(".0")
    return f"{float(f'{value:.2g}'):,.0f}"


def bound(value: float) -> str:
    """A number that bounds: rounded up, to three figures from 10,000 on, so that a table of 2,000 rows is no 2,010.

    >>> bound(2000.5), bound(101.0), bound(2.34), bound(3.0), bound(81234.0)
    ('2,001', '101', '2.4', '3', '81,300')
    """
    if value < 1:
        return number(value)
    if value < _ROUNDED:
        return number(math.ceil(round(value * 10, 6)) / 10)
    unit = 10.0 ** (math.floor(math.log10(value)) - 2) if value >= _EXACT else 1.0
    return f"{math.ceil(round(value / unit, 6)) * unit:,.0f}"


_BARE = re.compile(r"(?<![\w`])\(([\w.]+)\)")
_WRAPPED = re.compile(r"\(([^()]*)\)")


def readable(condition: str) -> str:
    """A condition without parentheses around a name, and around the whole.

    >>> readable("(vip) IS NULL"), readable("((vip) IS NULL)"), readable("(q > 4) AND (COALESCE(k, 0) = 1)")
    ('vip IS NULL', 'vip IS NULL', '(q > 4) AND (COALESCE(k, 0) = 1)')
    """
    bare = _BARE.sub(r"\1", condition)
    whole = _WRAPPED.fullmatch(bare)
    return bare if whole is None else whole[1]


def one_in(share: float) -> str:
    """A share of changes.

    >>> one_in(0.2), one_in(0.07), one_in(0.8), one_in(0.0)
    ('1 in 5', '1 in 14', '80%', 'none now')
    """
    if share <= 0:
        return "none now"
    return f"{share:.0%}" if share > 1 / 2 else f"1 in {number(round(1 / share))}"


def listed(names: list[str]) -> str:
    """Names with a comma between them, and *and* before the last one.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
