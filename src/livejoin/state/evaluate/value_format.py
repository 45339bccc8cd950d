"""Values by one format of `format_string` (`livejoin.query.printf`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from livejoin.query.printf import shown
from livejoin.schema import SqlType
from livejoin.state.evaluate.conversions import double_text, float_text, shortest


def value_format(text: str, type: SqlType) -> Callable[..., str]:
    """What shows values of a type by a format.

    Args:
        text: The format of one value, as ``%5d``.
        type: A STRING, BOOLEAN or decimal for ``%s``, an integer, or a DOUBLE or FLOAT.
    """
    spec = shown(text)
    if spec.letter in "dx":
        return lambda value, _: spec.of_integer(value, type.bits)
    if spec.letter in "fe":
        return lambda value, _: spec.of_double(value, shortest)
    as_text: Callable[[Any], str]
    match type.kind:
        case "boolean":
            as_text = _boolean_text
        case "decimal":
            as_text = lambda value: _java_decimal_text(value, type.scale)  # noqa: E731
        case "double":
            as_text = float_text if type.bits else double_text
        case _:
            as_text = str
    return lambda value, _: spec.of_text(as_text(value))


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


def _java_decimal_text(unscaled: int, scale: int) -> str:
    """A decimal as Java's BigDecimal writes it: with a power of ten below 0.000001.

    >>> _java_decimal_text(-1500, 3), _java_decimal_text(12, 10)
    ('-1.500', '1.2E-9')
    """
    digits = str(abs(unscaled))
    sign, power = "-" if unscaled < 0 else "", len(digits) - 1 - scale
    if power < -6:
        return f"{sign}{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}E{power}"
    padded = digits.rjust(scale + 1, "0")
    return f"{sign}{padded[:-scale]}.{padded[-scale:]}" if scale else sign + digits
