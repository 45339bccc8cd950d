"""Errors of expressions name the view, and the columns and expressions as their user wrote them."""

from __future__ import annotations

import re

import pytest

import livejoin
from livejoin.errors import ChangeValueError, ExpressionError

RESERVED = 0x7FF94E554C4C0001
FAILING = [
    ("SELECT CAST(s AS INT) AS n FROM T", "'n' for the row (T.s = 'x')"),
    ("SELECT a, CAST(s AS INT) + a FROM T", "'CAST(s AS INT) + a' for the row (T.a = 1, T.s = 'x')"),
    ("SELECT CAST(Y.s AS INT) AS n FROM T X JOIN T Y ON X.a = Y.a", "'n' for the row (Y.s = 'x')"),
    ("SELECT a FROM T WHERE CAST(s AS INT) > 1", "s = 'x'"),
    ("SELECT a, CAST(MAX(s) AS INT) AS n FROM T GROUP BY a", "'n' for the row (1, 'x')"),
    ("SELECT a FROM T GROUP BY a HAVING CAST(MAX(s) AS INT) > 1", "'CAST(MAX(s) AS INT) > 1' for the row (1, 'x')"),
    ("SELECT a, s FROM T ORDER BY CAST(s AS INT) LIMIT 1", "'x'"),
    ("SELECT DISTINCT CAST(s AS INT) AS n FROM T", "'n' for the row"),
    ("SELECT SUM(CAST(s AS INT)) AS n FROM T", "'x'"),
]


@pytest.mark.parametrize(("sql", "part"), FAILING)
def test_a_row_that_an_expression_fails_for(sql: str, part: str) -> None:
    database = livejoin.Database()
    database.create_table("T", "a BIGINT, s STRING")
    view = database.create_view("mine", sql)
    database.apply("T", [(1, "7")])
    before = view.to_arrow()
    with pytest.raises(ExpressionError) as caught:
        database.apply("T", [(1, "x")])
    message = str(caught.value)
    assert message.startswith("view 'mine': ")
    assert part in message
    assert not re.search(r"\bc\d+\b", message), message
    assert view.to_arrow() == before
    database.drop_view("mine")
    database.apply("T", [(1, "x")])
    with pytest.raises(ExpressionError, match=r"^view 'again': "):
        database.create_view("again", sql).to_arrow()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT a + 1 AS n FROM T",
        "SELECT a + 1 AS n, COUNT(*) AS c FROM T GROUP BY a + 1",
        "SELECT MAX(a + 1) AS n FROM T",
        "SELECT a FROM T UNION SELECT a + 1 FROM T",
    ],
)
def test_the_reserved_value_computed(sql: str) -> None:
    database = livejoin.Database()
    database.create_table("T", "a BIGINT, s STRING")
    database.create_view("mine", sql)
    with pytest.raises(ExpressionError, match=rf"^view 'mine': .* {RESERVED}, the one BIGINT that livejoin reserves"):
        database.apply("T", [(RESERVED - 1, "x")])
    with pytest.raises(ChangeValueError, match=rf"^table 'T', row 1 .* value {RESERVED} of column 'a' \(BIGINT\)"):
        database.apply("T", [(1, "x"), (RESERVED, "x")])
