"""Values as JSON, CSV and people write them, made those of their columns: ``coerce="json"``.

Law: a value becomes the one that it says, or it is refused; only floating-point columns round, to the nearest number,
as every reader of JSON does. What is none of these is left as it is, for `livejoin.changes.convert` to judge. A BOOLEAN
is never a number, nor a number a BOOLEAN, a time or a text.

==========  ========================================================================================================
Column      taken beside what the column takes anyway
==========  ========================================================================================================
BOOLEAN     the texts true and false, in either case
integers    texts of digits, as 12 and -12; whole decimals, and whole floats within 2^53
DECIMAL     texts of numbers; floats, of which the shortest text counts that stands for them, as 1.1 (`repr`)
DOUBLE,     integers, decimals and texts of numbers, also NaN and Infinity: the nearest one, if there is any
FLOAT
DATE        texts as 2024-01-31; midnights, in UTC if they are in a zone, as timestamps or as texts
TIMESTAMP   ISO texts of a date, or of a date and a time, as 2024-01-31T12:30:15.5Z: one with an offset from UTC is the
            instant that it names, one without is in UTC; dates, which are their midnights
==========  ========================================================================================================

TIMESTAMP_NTZ takes the same texts; one with an offset is taken in UTC, as all times with a zone are.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes.encoding import first_failure
from livejoin.changes.source import ARROW_ERRORS
from livejoin.handlers import raised_by_handler
from livejoin.schema import SqlType
from livejoin.shown import shown, shown_scalar

_types = pa.types
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_NOT_FINITE = r"[+-]?(?i:nan|inf|infinity)"
_DAY = r"([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)-[0-9]{2}-[0-9]{2}"  # from the year 1 on
_TIME = r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6}0*)?)?"
_OFFSET = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_MIDNIGHT = r"[ T]00:00(:00(\.0+)?)?(Z|[+-]00(:?00)?)?"
_MOST_DIGITS = 38
_TOO_MANY = "9" * 80 + "." + "9" * 80
_EXACT_IN_DOUBLE = 2**53
_SHORT = 15  # digits that a double always has
_EXACT_POWER = 22  # of ten, that is a double
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_BOUNDS = tuple((bound - _EPOCH) // _MICROSECOND for bound in (dt.datetime.min, dt.datetime.max))


class Misfit(Exception):
    """A value that its column does not take; a signal to the caller, who makes the error.

    Args:
        row: The position of the value.
        value: The value, as it is shown.
    """

    def __init__(self, row: int, value: str) -> None:
        super().__init__(row, value)
        self.row = row
        self.value = value


def coerced_arrow(values: pa.ChunkedArray, type: SqlType) -> pa.ChunkedArray:
    """A valid column, plainly encoded, as `livejoin.changes.convert` takes it.

    Raises:
        Misfit: A value is none of the type.

    Cost: O(values) in Arrow; decimals in texts with an exponent are read one by one.
    """
    given = values.type
    if _types.is_string_view(given) and type.kind in _PYTHON:  # as Polars gives them; Arrow matches no patterns in them
        return _of_texts(values.cast(pa.large_string()), type)
    if _types.is_string(given) or _types.is_large_string(given):
        return _of_texts(values, type)
    match type.kind:
        case "decimal" if _types.is_floating(given):
            found = _short_decimals(values, type) if _types.is_float64(given) else None
            return found if found is not None else _of_texts(values.cast(pa.string()), type, values)
        case "double" if _types.is_decimal(given) or (type.bits and _types.is_integer(given)):
            return _of_texts(values.cast(pa.string()), type, values)
        case "double" if _types.is_integer(given):
            return values.cast(pa.float64(), safe=False)
        case "double" if type.bits and _types.is_float64(given):
            found = values.cast(pa.float32())
            _refuse(pc.and_(pc.is_inf(found), pc.is_finite(values)), values)
            return found
        case "date" if _types.is_timestamp(given):
            return _midnights(values)
        case "timestamp" if _types.is_date(given):
            return values.cast(pa.timestamp("s" if _types.is_date32(given) else "ms"))
        case _:
            return values


def coerced_objects(values: tuple[Any, ...], type: SqlType) -> tuple[Any, ...]:
    """A column of Python objects, as `livejoin.changes.convert` takes it.

    Raises:
        Misfit: A value is none of the type.

    Cost: O(values), one by one; texts together.
    """
    change = _PYTHON.get(type.kind)
    if change is None:
        return values
    changed = list(values)
    texts: dict[int, str] = {}
    for row, value in enumerate(values):
        try:
            found = value if value is None else change(value)
        except MemoryError:
            raise
        except Exception as error:  # an object may be of a sub-class whose methods fail in any way
            if raised_by_handler(error):
                raise
            raise Misfit(row, shown(value)) from error
        changed[row] = found
        if type.kind != "string" and isinstance(found, str):
            texts[row] = found
    if texts:
        rows = [*texts]
        try:
            read = _of_texts(_chunked([*texts.values()]), type).to_pylist()
        except Misfit as error:
            row = rows[error.row]
            raise Misfit(row, shown(values[row])) from error
        for row, value in zip(rows, read, strict=True):
            changed[row] = value
    return tuple(changed)


def _chunked(texts: list[str]) -> pa.ChunkedArray:
    """Texts in Arrow.

    Raises:
        Misfit: A text cannot be encoded.
    """

    def attempt(low: int, high: int) -> pa.Array:
        return pa.array(texts[low:high], pa.string())

    try:
        return pa.chunked_array([attempt(0, len(texts))], pa.string())
    except (*ARROW_ERRORS, UnicodeError) as error:
        row = first_failure(len(texts), attempt)
        raise Misfit(row, shown(texts[row])) from error


def _for_decimal(value: Any) -> Any:
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float):
        return float.__repr__(value)
    return str(value) if isinstance(value, np.floating) and not isinstance(value, np.longdouble) else value


def _for_double(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)  # the nearest one, or an error
    return str(value) if isinstance(value, Decimal) else value


def _for_integer(value: Any) -> Any:
    if isinstance(value, (float, np.floating)) and not isinstance(value, np.longdouble):
        number = float(value)
        if not number.is_integer() or abs(number) > _EXACT_IN_DOUBLE:
            msg = "it may stand for several integers, or for none"
            raise ValueError(msg)
        return int(number)
    if isinstance(value, Decimal):
        if value != value.to_integral_value() or value.adjusted() > _MOST_DIGITS:
            msg = "it is no integer"
            raise ValueError(msg)
        return int(value)
    return value


def _for_date(value: Any) -> Any:
    if not isinstance(value, dt.datetime):
        return value
    if value.tzinfo is not None:
        value = value.astimezone(dt.UTC)
    if value.time() != dt.time() or getattr(value, "nanosecond", 0):
        msg = "it has a time of day"
        raise ValueError(msg)
    return value.date()


def _for_timestamp(value: Any) -> Any:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    return value


def _as_it_is(value: Any) -> Any:
    return value


_PYTHON: dict[str, Callable[[Any], Any]] = {
    "boolean": _as_it_is,
    "integer": _for_integer,
    "decimal": _for_decimal,
    "double": _for_double,
    "date": _for_date,
    "timestamp": _for_timestamp,
}
"""By kind what makes an object that is no text one that `livejoin.changes.convert` takes, or a text."""


def _of_texts(texts: pa.ChunkedArray, type: SqlType, given: pa.ChunkedArray | None = None) -> pa.ChunkedArray:
    """What texts say, as values of a type; texts as they are where the type takes none.

    Args:
        texts: The texts.
        type: The type.
        given: The values that they are texts of, for errors; None if they were given themselves.

    Raises:
        Misfit: One says none.
    """
    given = texts if given is None else given
    match type.kind:
        case "boolean":
            _refuse_others(texts, "(?i:true|false)", given)
            return pc.equal(pc.utf8_lower(texts), "true")
        case "integer":
            _refuse_others(texts, "[+-]?[0-9]+", given)
            return _cast(pc.replace_substring_regex(texts, r"^\+", ""), type, given)
        case "double":
            _refuse_others(texts, f"({_NUMBER}|{_NOT_FINITE})", given)
            found = _cast(texts, type, given)
            _refuse(pc.and_(pc.is_inf(found), pc.invert(pc.match_substring_regex(texts, "[iI]"))), given)
            return found
        case "decimal":
            return _decimals(texts, type, given)
        case "date":
            _refuse_others(texts, f"{_DAY}({_MIDNIGHT})?", given)
            return _cast(pc.utf8_slice_codeunits(texts, 0, 10), type, given)
        case "timestamp":
            return _timestamps(texts, type, given)
        case _:
            return texts


def _decimals(texts: pa.ChunkedArray, type: SqlType, given: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decimals. Arrow wraps numbers of too many digits, and leaves its tables for some exponents: it gets neither."""
    _refuse_others(texts, _NUMBER, given)
    with_exponent = pc.match_substring(texts, "e", ignore_case=True)
    if pc.any(with_exponent).as_py():
        plain = [_without_exponent(text) for text in texts.filter(with_exponent).to_pylist()]
        texts = pc.replace_with_mask(_whole(texts), _whole(with_exponent).fill_null(False), pa.array(plain, texts.type))
        texts = pa.chunked_array([texts])
    before, behind = type.precision - type.scale, type.scale
    _refuse_others(texts, rf"[+-]?0*[0-9]{{0,{before}}}(\.[0-9]{{0,{behind}}}0*)?", given)
    return _cast(pc.replace_substring_regex(texts, r"(\.[0-9]*?)0+$", r"\1"), type, given)


def _short_decimals(values: pa.ChunkedArray, type: SqlType) -> pa.ChunkedArray | None:
    """Doubles as decimals, if all have at most 15 digits and fit; else None.

    Two decimals of 15 digits have two nearest doubles, so that the one that a double is nearest to is its shortest
    text. A whole number below 2^53 over a power of ten up to 10^22 is rounded once, to the double nearest to it.
    """
    if type.scale > _EXACT_POWER:
        return None
    whole, power = _whole(values), float(10**type.scale)
    valid = whole.is_valid().to_numpy(zero_copy_only=False)
    numbers = whole.fill_null(0.0).to_numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(numbers * power)
        fits = (np.abs(scaled) < float(10 ** min(_SHORT, type.precision))) & (scaled / power == numbers)
    if not fits.all():
        return None
    words = np.empty((len(whole), 2), np.int64)
    words[:, 0] = scaled
    words[:, 1] = words[:, 0] >> 63
    mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.chunked_array([pa.Array.from_buffers(type.arrow, len(whole), [mask, pa.py_buffer(words)])])


def _without_exponent(text: str) -> str:
    """The number in plain digits; too many of them where it is larger or finer than any DECIMAL.

    >>> _without_exponent("1.5e-3"), len(_without_exponent("1e999999999"))
    ('0.0015', 161)
    """
    mantissa, _, _ = text.lower().partition("e")
    if not mantissa.strip("+-.0"):
        return "0"
    try:
        value = Decimal(text)
    except InvalidOperation:  # an exponent that Python has no decimal for
        return _TOO_MANY
    if abs(value.adjusted()) > _MOST_DIGITS:
        return _TOO_MANY
    return format(value, "f")


def _timestamps(texts: pa.ChunkedArray, type: SqlType, given: pa.ChunkedArray) -> pa.ChunkedArray:
    _refuse_others(texts, f"{_DAY}({_TIME}{_OFFSET}?)?", given)
    texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})0+", r"\1")
    zoned = pc.match_substring_regex(texts, f":.*{_OFFSET}$")
    if not pc.any(zoned).as_py():
        return _cast(texts, type, given)
    in_utc = pa.timestamp("us", "UTC")
    completed = pc.if_else(
        zoned, texts, pc.binary_join_element_wise(texts, pa.scalar("Z", texts.type), pa.scalar("", texts.type))
    )
    completed = pc.replace_substring_regex(completed, r"^(.{10})Z$", r"\1 00:00Z")

    def attempt(low: int, high: int) -> pa.ChunkedArray:
        return completed.slice(low, high - low).cast(in_utc).cast(pa.timestamp("us"))

    found = _tried(attempt, given)
    micros = found.cast(pa.int64())
    _refuse(pc.or_(pc.less(micros, _BOUNDS[0]), pc.greater(micros, _BOUNDS[1])), given)
    return found


def _midnights(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Timestamps without a time of day as dates."""
    local = values.cast(pa.timestamp(values.type.unit))
    days = local.cast(pa.date32())
    _refuse(pc.not_equal(days.cast(local.type), local), values)
    return days


def _cast(texts: pa.ChunkedArray, type: SqlType, given: pa.ChunkedArray) -> pa.ChunkedArray:
    return _tried(lambda low, high: texts.slice(low, high - low).cast(type.arrow), given)


def _tried(attempt: Callable[[int, int], pa.ChunkedArray], given: pa.ChunkedArray) -> pa.ChunkedArray:
    """All that an attempt gives, or the signal for the first value on which it fails."""
    try:
        return attempt(0, len(given))
    except ARROW_ERRORS as error:
        row = first_failure(len(given), attempt)
        raise Misfit(row, shown_scalar(given[row])) from error


def _refuse_others(texts: pa.ChunkedArray, pattern: str, given: pa.ChunkedArray) -> None:
    """Refuse texts that are not of a pattern."""
    _refuse(pc.invert(pc.match_substring_regex(texts, f"^{pattern}$")), given)


def _refuse(bad: pa.ChunkedArray, given: pa.ChunkedArray) -> None:
    """Refuse the first value that is marked; NULL marks none."""
    if pc.any(bad).as_py():
        row = pc.index(bad, True).as_py()
        raise Misfit(row, shown_scalar(given[row]))


def _whole(values: pa.ChunkedArray) -> pa.Array:
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
