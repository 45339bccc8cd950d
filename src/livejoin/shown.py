"""Values as error messages show them: shortened, and without raising another error.

A value may have no Python object (a date after the year 9999), and a Python object may fail to say what it is.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from livejoin.aside import Later
from livejoin.handlers import raised_by_handler

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = Later("pyarrow")  # so that ``livejoin --version`` does without it

_MOST = 80


def shown(value: object) -> str:
    """A Python object, by its `repr`.

    >>> shown("x" * 100)[:5], shown(1.5)
    ("'xxxx", '1.5')
    """
    try:
        return shortened(repr(value))
    except Exception as error:  # whatever a class does in its __repr__
        if raised_by_handler(error):
            raise
        return f"<{type(value).__name__}>"


def shown_scalar(scalar: pa.Scalar) -> str:
    """An Arrow value, by the `repr` of its Python object where it has one.

    >>> shown_scalar(pa.scalar("x")), shown_scalar(pa.scalar(2**60, pa.timestamp("s")))
    ("'x'", '1152921504606846976 (timestamp[s])')
    """
    try:
        return shortened(repr(scalar.as_py()))
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return f"{getattr(scalar, 'value', '?')} ({scalar.type})"


def shown_row(row: pa.Table, most: int) -> str:
    """The first row of a table as text, with at most ``most`` columns; values are written as in SQL.

    >>> shown_row(pa.table({"a": [1], "b": ["x"], "c": [None]}), 2)
    "a = 1, b = 'x', ..."
    >>> shown_row(pa.table({"day": [dt.date(2026, 2, 1)], "price": [Decimal("1.50")], "note": [None]}), 3)
    "day = DATE '2026-02-01', price = 1.50, note = NULL"
    """
    values = [f"{name} = {_in_sql(row.column(i)[0])}" for i, name in enumerate(row.column_names[:most])]
    return ", ".join([*values, *(["..."] if row.num_columns > most else [])])


def _in_sql(scalar: pa.Scalar) -> str:
    """An Arrow value as SQL writes it, as far as a plain literal says it; else by its Python object."""
    try:
        return in_sql(scalar.as_py())
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return shown_scalar(scalar)


def in_sql(value: object) -> str:
    """A Python object as SQL writes it, as far as a plain literal says it; else by its `repr`.

    >>> in_sql(None), in_sql(True), in_sql("Zoë"), in_sql(dt.date(2026, 2, 1))
    ('NULL', 'TRUE', "'Zoë'", "DATE '2026-02-01'")
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case Decimal():
            return f"{value:f}"
        case dt.datetime():
            return f"TIMESTAMP '{value}'"
        case dt.date():
            return f"DATE '{value}'"
        case str():
            return text_literal(shortened(value))
        case bytes():
            return f"X'{shortened(value.hex())}'"
        case _:
            return shown(value)


def text_literal(value: str) -> str:
    """A text as SQL writes it, whatever is in it."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def shortened(text: str, most: int = _MOST) -> str:
    """A text cut to ``most`` characters, with ``...`` at its end if something was cut off."""
    return text if len(text) <= most else text[: most - 3] + "..."


def meant(name: object, known: Iterable[str]) -> str:
    """The known name that somebody may have meant, to stand behind the one that they wrote; empty if there is none.

    >>> meant("oders", ["orders", "lines"]), meant("SUMM", ["sum", "avg"]), meant("x", ["orders"])
    (" (did you mean 'orders'?)", " (did you mean 'sum'?)", '')
    >>> meant("slq", ["sql", "sql_file"])  # of short names, two letters that changed places are much
    " (did you mean 'sql'?)"
    """
    spelled = {one.lower(): one for one in known}
    said = str(name)[:_MOST].lower()
    close = get_close_matches(said, list(spelled), 1, 0.7) or [one for one in spelled if sorted(one) == sorted(said)]
    return f" (did you mean {spelled[close[0]]!r}?)" if close else ""


def counted(number: int, what: str) -> str:
    """How many there are of something, in words.

    >>> counted(1, "batch"), counted(2, "batch"), counted(1500, "row")
    ('1 batch', '2 batches', '1,500 rows')
    """
    plural = "" if number == 1 else "es" if what.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number:,} {what}{plural}"


def type_name(value: Any) -> str:
    """The name of an object's class, with its module where that is not Python's own."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
