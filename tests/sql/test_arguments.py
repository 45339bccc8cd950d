"""Every function that sqlglot makes a node of keeps all arguments that are written, or is refused."""

from __future__ import annotations

import pytest
from sqlglot import exp

from livejoin import Database
from livejoin.errors import LivejoinError
from livejoin.sql.parse.parse import SparkAnsi, parse

_MOST = 6
_COLUMNS = {"i": "INT", "s": "STRING", "d": "DATE", "z": "TIMESTAMP", "x": "DOUBLE"}
_IGNORED_BY_SPARK = {"unix_timestamp(d, s)", "unix_timestamp(z, s)"}
"""What Spark leaves out too: a format beside what is a time already."""


def _names() -> list[str]:
    return sorted({name.lower() for name in (*SparkAnsi.Parser.FUNCTIONS, *SparkAnsi.Parser.FUNCTION_PARSERS)})


@pytest.mark.parametrize("count", range(1, _MOST + 1))
def test_no_argument_is_left_out(count: int) -> None:
    """A function that lacks a column in its node is none that a view may have."""
    database = Database()
    database.create_table("t", ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items()))
    database.create_table("u", ", ".join(f"mark{place} STRING" for place in range(_MOST)))
    for name in _names():
        marks = [f"mark{place}" for place in range(count)]
        try:
            tree, _ = parse(f"SELECT {name}({', '.join(marks)}) FROM u")
        except LivejoinError:
            continue
        if set(marks) <= {part.name.lower() for part in tree.walk()}:
            continue
        for first in _COLUMNS:
            for rest in _COLUMNS:
                call = f"{name}({', '.join([first, *[rest] * (count - 1)])})"
                if call not in _IGNORED_BY_SPARK:
                    with pytest.raises(LivejoinError):
                        database.create_view("v", f"SELECT {call} AS c FROM t")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("string(i, 1)", "STRING takes 1 argument, and 2 are given"),
        ("mod(i, 2, 3)", "mod takes 2 arguments, and 3 are given"),
        ("lpad(s, 2, 'x', 'y')", "lpad takes 2 to 3 arguments, and 4 are given"),
        ("initcap(s, 'x')", "INITCAP takes 1 argument, and 2 are given"),
        ("position(s, 'x', 1, 1)", "POSITION takes at most 3 arguments"),
        ("collect_list(i, 1)", "COLLECT_LIST"),
        ("map(s)", "MAP is not supported"),
    ],
)
def test_what_is_said(call: str, message: str) -> None:
    database = Database()
    database.create_table("t", "i INT, s STRING")
    with pytest.raises(LivejoinError, match=message):
        database.create_view("v", f"SELECT {call} AS c FROM t")


def test_what_needs_all_its_arguments_has_a_node() -> None:
    tree, _ = parse("SELECT lpad(s, 2, 'x'), mod(i, 2), date_trunc('MONTH', z), ceil(x, 1), initcap(s) FROM t")
    kinds = [type(item) for item in tree.expressions]
    assert kinds == [exp.Pad, exp.Mod, exp.TimestampTrunc, exp.Ceil, exp.Initcap]
