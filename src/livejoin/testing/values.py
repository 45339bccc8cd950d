"""Values as tests compare them: equal where nobody would call them different."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any


def comparable(value: Any, digits: int) -> Any:
    """A value that can be hashed and is equal where the values mean the same.

    Args:
        value: A value of Python, as Arrow gives it.
        digits: The digits of a floating-point number that count.

    >>> comparable(0.1 + 0.2, 9), comparable(float("nan"), 9), comparable(Decimal("1.50"), 9)
    (0.3, 'NaN', Decimal('1.50'))
    """
    match value:
        case float():
            return "NaN" if math.isnan(value) else float(f"{value:.{digits}g}") + 0.0
        case Decimal():
            return value  # equal values have equal hashes, whatever their scale is
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).replace(tzinfo=None)
        case list():
            return tuple(comparable(one, digits) for one in value)
        case dict():
            return tuple((name, comparable(one, digits)) for name, one in value.items())
        case tuple():  # an entry of a MAP, or an interval
            return tuple(comparable(one, digits) for one in value)
        case _:
            return value
