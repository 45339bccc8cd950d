"""Decimals in Debezium's messages: numbers, texts, or their bytes in base 64.

With ``decimal.handling.mode=precise``, the connector's default, a decimal is the base64 text of its unscaled digits, a
big-endian number in two's complement; its scale is that of the column. The text ``"1234"`` may be such bytes, or the
number 1234 of ``decimal.handling.mode=string``. A message without a schema does not say which: that is declared, or
such a message is no row of the table. Law: no decimal is taken for another one.
"""

from __future__ import annotations

from typing import Literal

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

Decimals = Literal["text", "base64"]
DECIMALS = ("text", "base64")
_BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_WHOLE = T.DecimalType(38, 0)
_OF_SIGN = "^(?:(?:00)+(?=[0-7])|(?:FF)+(?=[89A-F]))"  # bytes in front that only repeat the sign
_HEX_DIGITS = "0123456789ABCDEF"
_EXACT_DIGITS = 15  # so many decimal digits come through a double as they are
_MODES = (
    "decimals = 'base64' where the connector's decimal.handling.mode is precise, its default, "
    "or decimals = 'text' where it is string"
)


def decimal_as_written(decimals: Decimals | None) -> T.DataType:
    """The type as which a decimal is read: a text keeps each digit, a variant tells texts from numbers."""
    return T.StringType() if decimals == "text" else T.VariantType()


def decimal(
    written: Expression, kind: T.DecimalType, decimals: Decimals | None, name: str
) -> tuple[Expression, Expression]:
    """A value read as `decimal_as_written`, as a decimal, and why it is none; NULL if it is one, or is NULL itself."""
    if decimals == "text":
        value = written.try_cast(kind)
        return value, F.when(written.isNotNull() & value.isNull(), _no_decimal(name, written, kind))
    text, shown = written.try_cast("string"), F.to_json(written)
    number = text.try_cast(kind)
    # A number with an exponent comes as a double.
    is_rounded = (F.schema_of_variant(written) == "DOUBLE") & (
        F.abs(number.cast("double")) >= 10.0 ** (_EXACT_DIGITS - kind.scale)
    )
    is_text, is_object = shown.startswith('"'), shown.startswith("{")
    is_either = is_text & text.rlike(_BASE64)
    of_object = _scaled(
        F.try_variant_get(written, "$.value", "string"), -F.try_variant_get(written, "$.scale", "int"), kind
    )
    is_number = ~is_rounded & shown.rlike("^-?[0-9]")
    if decimals == "base64":
        value = F.when(is_text, _scaled(text, F.lit(-kind.scale), kind))
    else:
        value = F.when(is_text & ~is_either, number)
    value = value.when(is_object, of_object).when(is_number, number)
    why = F.when(
        is_rounded,
        F.concat(
            F.lit(f"column {name!r} is "),
            shown,
            F.lit(", a number with an exponent and so many digits that it is not read exactly; give decimals = 'text'"),
        ),
    )
    if decimals is None:
        advice = (
            ", a text, and the message does not say whether it is a number or the bytes of one in base64; give "
            f"{_MODES}"
        )
        why = why.when(is_either, F.concat(F.lit(f"column {name!r} is "), shown, F.lit(advice)))
    why = why.otherwise(_no_decimal(name, shown, kind, " in base64" if decimals == "base64" else ""))
    return value, F.when(written.isNotNull() & ~F.is_variant_null(written) & value.isNull(), why)


def _no_decimal(name: str, shown: Expression, kind: T.DecimalType, how: str = "") -> Expression:
    return F.concat(F.lit(f"column {name!r} is "), shown, F.lit(f", which is no {kind.simpleString().upper()}{how}"))


def _scaled(base64: Expression, exponent: Expression, kind: T.DecimalType) -> Expression:
    """Unscaled digits in base64, times ten to some power; NULL if they are none, or do not fit."""
    return F.concat(_unscaled(base64).cast("string"), F.lit("E"), exponent.cast("string")).try_cast(kind)


def _unscaled(base64: Expression) -> Expression:
    """The number whose big-endian bytes in two's complement stand in base64, of up to 38 digits.

    Of a negative number the bits are turned, so that no intermediate value is larger than the number: n = -1 - not(n).
    """
    digits = F.regexp_replace(F.hex(F.unbase64(base64)), _OF_SIGN, "")
    is_negative = digits.rlike("^[89A-F]")
    turned = F.when(is_negative, F.translate(digits, _HEX_DIGITS, _HEX_DIGITS[::-1])).otherwise(digits)
    padded = F.lpad(turned, 32, "0")
    size = F.lit(2**32).cast("decimal(10, 0)")
    found = F.lit(0).cast(_WHOLE)
    for begin in range(1, 32, 8):
        piece = F.conv(F.substring(padded, begin, 8), 16, 10).cast("decimal(10, 0)")
        found = F.try_add(F.try_multiply(found, size), piece)
    signed = F.when(is_negative, F.try_subtract(F.lit(-1).cast(_WHOLE), found)).otherwise(found)
    return F.when(base64.rlike(_BASE64) & F.length(digits).between(1, 32), signed)
