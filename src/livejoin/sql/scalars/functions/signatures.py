"""Functions whose arguments have fixed types, and other families of functions that tables describe completely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from livejoin.query.scalar import Function
from livejoin.schema import SqlType
from livejoin.sql.scalars.operands import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
)


@dataclass(frozen=True)
class Signature:
    """A function whose arguments have fixed types.

    Args:
        function: The function in the tree.
        parameters: The types of the arguments.
        result: The type of the result.
        least: How many arguments are required; all if None.
    """

    function: Function
    parameters: tuple[SqlType, ...]
    result: SqlType
    least: int | None = None


_S: Final = STRING
SIGNATURES: Final[dict[str, Signature]] = {
    **dict.fromkeys(("upper", "ucase"), Signature("upper", (_S,), _S)),
    **dict.fromkeys(("lower", "lcase"), Signature("lower", (_S,), _S)),
    **dict.fromkeys(("trim", "btrim"), Signature("trim", (_S, _S), _S, 1)),
    "ltrim": Signature("trim_left", (_S, _S), _S, 1),
    "rtrim": Signature("trim_right", (_S, _S), _S, 1),
    "right": Signature("right", (_S, INT), _S),
    "replace": Signature("replace", (_S, _S, _S), _S, 2),
    "reverse": Signature("reverse", (_S,), _S),
    "repeat": Signature("repeat", (_S, INT), _S),
    "like": Signature("like", (_S, _S, _S), BOOLEAN, 2),
    "ilike": Signature("like_any_case", (_S, _S, _S), BOOLEAN, 2),
    **dict.fromkeys(("rlike", "regexp", "regexp_like"), Signature("matches", (_S, _S), BOOLEAN)),
    **dict.fromkeys(("startswith",), Signature("starts_with", (_S, _S), BOOLEAN)),
    "endswith": Signature("ends_with", (_S, _S), BOOLEAN),
    "contains": Signature("contains", (_S, _S), BOOLEAN),
    "split_part": Signature("split_part", (_S, _S, INT), _S),
    "translate": Signature("translate", (_S, _S, _S), _S),
    "initcap": Signature("initial_capitals", (_S,), _S),
    "ascii": Signature("ascii", (_S,), INT),
    "levenshtein": Signature("edit_distance", (_S, _S, INT), INT, 2),
    "regexp_extract": Signature("extract_match", (_S, _S, INT), _S, 2),
    "date_format": Signature("format_time", (TIMESTAMP, _S), _S),
    "md5": Signature("md_5", (BINARY,), _S),
    **dict.fromkeys(("sha", "sha1"), Signature("sha_1", (BINARY,), _S)),
    "sha2": Signature("sha_2", (BINARY, INT), _S),
    "crc32": Signature("crc_32", (BINARY,), BIGINT),
    "base64": Signature("base_64", (BINARY,), _S),
    "unhex": Signature("from_hexadecimal", (_S,), BINARY),
    **dict.fromkeys(("sign", "signum"), Signature("sign", (DOUBLE,), DOUBLE)),
    "sqrt": Signature("square_root", (DOUBLE,), DOUBLE),
    "exp": Signature("exponential", (DOUBLE,), DOUBLE),
    "ln": Signature("logarithm", (DOUBLE,), DOUBLE),
    "log10": Signature("logarithm_10", (DOUBLE,), DOUBLE),
    "cbrt": Signature("cube_root", (DOUBLE,), DOUBLE),
    "rint": Signature("nearest_whole", (DOUBLE,), DOUBLE),
    "sin": Signature("sine", (DOUBLE,), DOUBLE),
    "cos": Signature("cosine", (DOUBLE,), DOUBLE),
    "tan": Signature("tangent", (DOUBLE,), DOUBLE),
    "asin": Signature("arc_sine", (DOUBLE,), DOUBLE),
    "acos": Signature("arc_cosine", (DOUBLE,), DOUBLE),
    "atan": Signature("arc_tangent", (DOUBLE,), DOUBLE),
    "atan2": Signature("arc_tangent_2", (DOUBLE, DOUBLE), DOUBLE),
    "sinh": Signature("hyperbolic_sine", (DOUBLE,), DOUBLE),
    "cosh": Signature("hyperbolic_cosine", (DOUBLE,), DOUBLE),
    "tanh": Signature("hyperbolic_tangent", (DOUBLE,), DOUBLE),
    "degrees": Signature("degrees", (DOUBLE,), DOUBLE),
    "radians": Signature("radians", (DOUBLE,), DOUBLE),
    **dict.fromkeys(("power", "pow"), Signature("power", (DOUBLE, DOUBLE), DOUBLE)),
    "isnan": Signature("is_nan", (DOUBLE,), BOOLEAN),
    **dict.fromkeys(("datediff", "date_diff"), Signature("date_difference", (DATE, DATE), INT)),
    "add_months": Signature("add_months", (DATE, INT), DATE),
    "last_day": Signature("last_day", (DATE,), DATE),
    "make_date": Signature("make_date", (INT, INT, INT), DATE),
}
CASTS: Final = {
    "boolean": BOOLEAN,
    "tinyint": TINYINT,
    "smallint": SMALLINT,
    "int": INT,
    "bigint": BIGINT,
    **dict.fromkeys(("float", "real"), FLOAT),
    "double": DOUBLE,
    "decimal": SqlType.decimal(10, 0),
    "date": DATE,
    "timestamp": TIMESTAMP,
    "string": STRING,
    "binary": BINARY,
}
PARTS: Final[dict[str, Function]] = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "day": "day",
    "dayofmonth": "day",
    "dayofweek": "day_of_week",
    "weekday": "weekday",
    "dayofyear": "day_of_year",
    "weekofyear": "week",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
}
ARITHMETIC: Final[dict[str, Function]] = {
    "mod": "remainder",
    "pmod": "positive_remainder",
    "try_add": "try_add",
    "try_subtract": "try_subtract",
    "try_multiply": "try_multiply",
    "try_divide": "try_divide",
    "try_mod": "try_remainder",
}
