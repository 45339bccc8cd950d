"""Calls of functions by Spark's name and arguments, recovered from sqlglot's nodes.

sqlglot has own nodes for many functions, one node for several names, and adds arguments to some. This module undoes
that, so that one table (`livejoin.sql.scalars.functions.by_name`) can go by Spark's names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from livejoin.sql.parse.parse import NAME, UNIT
from livejoin.sql.scalars.time_window import FIELDS, field_of

_THIS = ("this",)
_TWO = ("this", "expression")
_NODES: dict[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    exp.Abs: ("abs", _THIS),
    exp.Acos: ("acos", _THIS),
    exp.AddMonths: ("add_months", _TWO),
    exp.Ascii: ("ascii", _THIS),
    exp.Asin: ("asin", _THIS),
    exp.Atan2: ("atan2", _TWO),
    exp.Atan: ("atan", _THIS),
    exp.BitLength: ("bit_length", _THIS),
    exp.BitwiseAnd: ("&", _TWO),
    exp.BitwiseCount: ("bit_count", _THIS),
    exp.BitwiseLeftShift: ("shiftleft", _TWO),
    exp.BitwiseNot: ("~", _THIS),
    exp.BitwiseOr: ("|", _TWO),
    exp.BitwiseRightShift: ("shiftright", _TWO),
    exp.BitwiseXor: ("^", _TWO),
    exp.Cbrt: ("cbrt", _THIS),
    exp.Ceil: ("ceil", ("this", "decimals")),
    exp.Contains: ("contains", _TWO),
    exp.Cos: ("cos", _THIS),
    exp.Cosh: ("cosh", _THIS),
    exp.DateFromUnixDate: ("date_from_unix_date", _THIS),
    exp.Day: ("day", _THIS),
    exp.DayOfMonth: ("day", _THIS),
    exp.DayOfWeek: ("dayofweek", _THIS),
    exp.DayOfYear: ("dayofyear", _THIS),
    exp.Degrees: ("degrees", _THIS),
    exp.EndsWith: ("endswith", _TWO),
    exp.EqualNull: ("equal_null", _TWO),
    exp.Exp: ("exp", _THIS),
    exp.Floor: ("floor", ("this", "decimals")),
    exp.Hex: ("hex", _THIS),
    exp.Hour: ("hour", _THIS),
    exp.Initcap: ("initcap", _THIS),
    exp.IsNan: ("isnan", _THIS),
    exp.LastDay: ("last_day", _THIS),
    exp.Levenshtein: ("levenshtein", ("this", "expression", "ins_cost")),
    exp.Left: ("left", _TWO),
    exp.Length: ("length", _THIS),
    exp.Ln: ("ln", _THIS),
    exp.Log: ("log", _TWO),
    exp.Lower: ("lower", _THIS),
    exp.Minute: ("minute", _THIS),
    exp.Month: ("month", _THIS),
    exp.Nanvl: ("nanvl", _TWO),
    exp.Negative: ("negative", _THIS),
    exp.NextDay: ("next_day", _TWO),
    exp.Nullif: ("nullif", _TWO),
    exp.Nvl2: ("nvl2", ("this", "true", "false")),
    exp.Pi: ("pi", ()),
    exp.Pow: ("power", _TWO),
    exp.Quarter: ("quarter", _THIS),
    exp.Radians: ("radians", _THIS),
    exp.RegexpExtract: ("regexp_extract", ("this", "expression", "group")),
    exp.RegexpLike: ("rlike", _TWO),
    exp.RegexpReplace: ("regexp_replace", ("this", "expression", "replacement", "position")),
    exp.Repeat: ("repeat", ("this", "times")),
    exp.Replace: ("replace", ("this", "expression", "replacement")),
    exp.Reverse: ("reverse", _THIS),
    exp.Right: ("right", _TWO),
    exp.Rint: ("rint", _THIS),
    exp.Round: ("round", ("this", "decimals")),
    exp.SafeAdd: ("try_add", _TWO),
    exp.SafeDivide: ("try_divide", _TWO),
    exp.SafeMultiply: ("try_multiply", _TWO),
    exp.SafeSubtract: ("try_subtract", _TWO),
    exp.Second: ("second", _THIS),
    exp.Sign: ("sign", _THIS),
    exp.Sin: ("sin", _THIS),
    exp.Sinh: ("sinh", _THIS),
    exp.Space: ("space", _THIS),
    exp.SplitPart: ("split_part", ("this", "delimiter", "part_index")),
    exp.Sqrt: ("sqrt", _THIS),
    exp.StartsWith: ("startswith", _TWO),
    exp.StrPosition: ("locate", ("substr", "this", "position")),
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.Tan: ("tan", _THIS),
    exp.Tanh: ("tanh", _THIS),
    exp.Translate: ("translate", ("this", "from_", "to")),
    exp.Unhex: ("unhex", _THIS),
    exp.MD5: ("md5", _THIS),
    exp.SHA: ("sha1", _THIS),
    exp.SHA2: ("sha2", ("this", "length")),
    exp.ToBase64: ("base64", _THIS),
    exp.UnixDate: ("unix_date", _THIS),
    exp.UnixMicros: ("unix_micros", _THIS),
    exp.UnixMillis: ("unix_millis", _THIS),
    exp.UnixSeconds: ("unix_seconds", _THIS),
    exp.Upper: ("upper", _THIS),
    exp.WeekOfYear: ("weekofyear", _THIS),
    exp.Year: ("year", _THIS),
}
_OWN_MARKS = {
    "safe",
    "ignore_nulls",
    "coalesce",
    "is_left",
    "zone",
    "returns_list_for_maps",
    "big_int",
    "flatten",
    "null_if_pos_overflow",
}
"""Arguments that sqlglot adds by itself, and that say nothing of what was written."""


@dataclass(frozen=True)
class Called:
    """A call of a function of Spark's.

    Args:
        name: The function's name in lower case.
        arguments: The arguments.
    """

    name: str
    arguments: tuple[exp.Expr, ...]


def called(node: exp.Expr) -> Called | None:
    """The call of a node; None if the node is none, or has an argument that is not known here."""
    match node:
        case exp.Dot() if field_of(node) in FIELDS:
            return Called(f"{node.this.name.lower()}().{field_of(node)}", tuple(node.this.expressions))
        case exp.Anonymous():
            return Called(node.name.lower(), tuple(node.expressions))
        case exp.TsOrDsAdd():
            return _days_added(node)
        case exp.DateDiff() if not node.args.get("unit"):
            return Called("datediff", (undated(node.this), undated(node.expression)))
        case exp.TimestampTrunc() | exp.DateTrunc():
            return _truncation(node)
        case exp.Trim() if not _unknown(node, ("this", "expression", "position")):
            side = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get((node.text("position") or "").upper(), "trim")
            return Called(side, _given(node, _TWO))
        case exp.Pad():
            name = "lpad" if node.args.get("is_left") else "rpad"
            return Called(name, _given(node, ("this", "expression", "fill_pattern")))
        case exp.Coalesce() | exp.Greatest() | exp.Least():
            return Called(node.key, (node.this, *node.expressions))
        case exp.Trim():
            return None
        case exp.Bracket(this=exp.RegexpSplit()):
            return _part_of_split(node)
        case exp.TimeToStr() if _written(node) == "date_format":
            return _formatted(node)
        case exp.Concat() | exp.ConcatWs() | exp.DecodeCase():
            return Called(
                {"decodecase": "decode", "concatws": "concat_ws"}.get(node.key, node.key), tuple(node.expressions)
            )
        case exp.Log() if _written(node) in ("log10", "log2"):
            return Called(_written(node), (node.expression,))
        case exp.Chr():
            return Called("chr", tuple(node.expressions))
        case exp.StrPosition() if _written(node) not in ("", "instr", "locate", "position"):
            return Called(_written(node), ())
    entry = _NODES.get(type(node))
    if entry is None or _unknown(node, entry[1]):
        return None
    name, keys = entry
    return Called(name, tuple(map(undated, _given(node, keys))))


def _written(node: exp.Expr) -> str:
    """The written name of a call, in lower case; empty for functions with a syntax of their own."""
    return str(node.meta.get(NAME, "")).lower()


def _given(node: exp.Expr, keys: Sequence[str]) -> tuple[exp.Expr, ...]:
    return tuple(node.args[key] for key in keys if isinstance(node.args.get(key), exp.Expr))


def _unknown(node: exp.Expr, keys: Sequence[str]) -> bool:
    """Whether a node has an argument besides the known ones; sqlglot adds one to INITCAP."""
    own = _OWN_MARKS | ({"expression"} if isinstance(node, exp.Initcap) else set())
    return any(value and key not in own and key not in keys for key, value in node.args.items())


def undated(node: exp.Expr) -> exp.Expr:
    """An argument without the conversion to a date that sqlglot adds."""
    return node.this if isinstance(node, exp.TsOrDsToDate) and not node.args.get("safe") else node


def _days_added(node: exp.TsOrDsAdd) -> Called:
    """DATE_ADD or DATE_SUB; sqlglot writes the latter as a product with -1."""
    days = node.expression
    if (
        isinstance(days, exp.Mul)
        and isinstance(days.expression, exp.Neg)
        and isinstance(days.expression.this, exp.Literal)
        and "start" not in days.expression.this.meta
    ):
        inner = days.this
        return Called("date_sub", (node.this, inner.this if isinstance(inner, exp.Paren) else inner))
    return Called("date_add", (node.this, days))


def _part_of_split(node: exp.Bracket) -> Called | None:
    """``split(text, pattern)[number]``; a limit of -1 equals none."""
    split, limit = node.this, node.this.args.get("limit")
    if node.args.get("offset") or len(node.expressions) != 1 or (limit is not None and limit.sql() != "-1"):
        return None
    return Called("split()[]", (split.this, split.expression, node.expressions[0]))


def _formatted(node: exp.TimeToStr) -> Called | None:
    """DATE_FORMAT with the pattern as it was written."""
    pattern, time = node.meta.get(UNIT), node.this
    if pattern is None:
        return None
    return Called(
        "date_format", (time.this if isinstance(time, exp.TimeStrToTime) else time, exp.Literal.string(pattern))
    )


def _truncation(node: exp.Expr) -> Called | None:
    """TRUNC or DATE_TRUNC with the unit as it was written."""
    if node.meta.get(UNIT) is None:
        return None
    unit = exp.Literal.string(node.meta[UNIT])
    if isinstance(node, exp.DateTrunc):
        return Called("trunc", (node.this, unit))
    return Called("date_trunc", (unit, node.this))
