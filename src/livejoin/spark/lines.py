"""Lines of files, strictly: a DECIMAL of CSV is not read through its commas, and a bad line names its bad value.

Spark's reader of CSV drops commas from a DECIMAL, so that ``12,50`` is 1250.00, and rounds what has too many digits
behind the point. So these columns are read as texts, and a text that is no number with so many digits is refused: then
the column is NULL, and `CORRUPT` has the text as it came. What the reader itself refuses comes as a whole line in
`CORRUPT`: the line is read once more, with types and as texts, and a column that has a text and no value is the one
that is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from livejoin.schema import CORRUPT, ORIGIN, REFUSED
from livejoin.schema.names import backticked

Columns = Sequence[tuple[str, str]]
"""Name and SQL type of each column of the files."""
_LONGEST = 100  # characters of a value that are shown


def as_texts(columns: Columns, format_name: str, options: Mapping[str, str]) -> dict[str, str]:
    """The columns that are read as texts, with their types: DECIMAL in CSV, unless ``locale`` says what commas are."""
    if format_name != "csv" or "locale" in map(str.lower, options):
        return {}
    return {name: kind for name, kind in columns if isinstance(T.DataType.fromDDL(kind), T.DecimalType)}


def with_decimals(frame: DataFrame, texts: Mapping[str, str], *, ends: bool) -> DataFrame:
    """A frame with the values of columns that were read as texts.

    Args:
        frame: The frame.
        texts: The columns, with their types.
        ends: Whether a text that is no value ends the query; else the row has the reason in `REFUSED`.
    """
    if not texts:
        return frame
    why = F.coalesce(*(F.when(~_is_exact(name, kind), _fault(name, kind, _text(name))) for name, kind in texts.items()))
    values = {name: _value(name, kind) for name, kind in texts.items()}
    if ends:
        return frame.withColumns(
            {
                name: F.when(_text(name).isNull() | _is_exact(name, texts[name]), value).otherwise(
                    F.raise_error(_fault(name, texts[name], _text(name))).cast(texts[name])
                )
                for name, value in values.items()
            }
        )
    raw = F.coalesce(*(F.when(~_is_exact(name, kind), _text(name)) for name, kind in texts.items()))
    exact = {name: F.when(_is_exact(name, texts[name]), value) for name, value in values.items()}
    refused = F.when(F.col(CORRUPT).isNull(), why)
    return frame.withColumns({**exact, REFUSED: refused, CORRUPT: F.coalesce(F.col(CORRUPT), raw)})


def with_reasons(frame: DataFrame, columns: Columns, format_name: str, options: Mapping[str, str]) -> DataFrame:
    """A frame whose unreadable lines say in `REFUSED` which value is wrong, where it is one."""
    read = F.from_json if format_name == "json" else F.from_csv
    plain = {key: value for key, value in options.items() if key.lower() not in ("mode", "columnnameofcorruptrecord")}
    typed, texts = (
        read(F.col(CORRUPT), ", ".join(f"{backticked(name)} {kind}" for name, kind in said), plain)
        for said in (columns, [(name, "STRING") for name, _ in columns])
    )
    found = []
    for name, kind in columns:
        text = texts.getField(name)
        found.append(F.when(text.isNotNull() & typed.getField(name).isNull(), _fault(name, kind, text)))
    reason = F.when(F.col(CORRUPT).isNotNull(), F.coalesce(*found))
    there = [F.col(REFUSED)] if REFUSED in frame.columns else []
    frame = frame.withColumn(REFUSED, F.coalesce(*there, reason))
    if ORIGIN not in frame.columns:
        return frame
    is_told = reduce(or_, (F.col(name).isNotNull() for name in (CORRUPT, REFUSED)))
    return frame.withColumn(ORIGIN, F.when(is_told, F.col(ORIGIN)))


def _text(name: str) -> Expression:
    return F.col(backticked(name))


def _value(name: str, kind: str) -> Expression:
    return F.expr(f"try_cast({backticked(name)} AS {kind})")


def _is_exact(name: str, kind: str) -> Expression:
    """Whether a text is a number that the type has, digit by digit; NULL of NULL."""
    decimal = T.DataType.fromDDL(kind)
    assert isinstance(decimal, T.DecimalType)
    places = rf"(\.[0-9]{{0,{decimal.scale}}}0*)?"
    is_plain = _text(name).rlike(rf"^[+-]?(?=\.?[0-9])[0-9]*{places}$")
    power = _text(name).rlike(r"^[+-]?[0-9.]+[eE][+-]?[0-9]+$")
    same = _value(name, kind).cast("double") == F.expr(f"try_cast({backticked(name)} AS DOUBLE)")
    return F.when(_text(name).isNotNull(), _value(name, kind).isNotNull() & (is_plain | (power & same)))


def _fault(name: str, kind: str, text: Expression) -> Expression:
    """The reason for a value that is none of its type, in words."""
    shown = F.when(F.length(text) > _LONGEST, F.concat(F.left(text, F.lit(_LONGEST)), F.lit("..."))).otherwise(text)
    begin = f"what came is no row of the table: column {name!r} is {kind}, and came as '"
    return F.concat(F.lit(begin), shown, F.lit("'"))
