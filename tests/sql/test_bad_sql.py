"""Bad declarations, queries and statements: the error names what, where and what is allowed; nothing changes."""

from __future__ import annotations

import pytest

import livejoin
from guarded import Guarded
from livejoin import errors


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()


@pytest.mark.parametrize(
    ("columns", "error", "parts"),
    [
        ("a BIGINT, A INT", errors.SchemaError, ["a"]),
        ("_change_type STRING", errors.SchemaError, ["_change_type", "reserved"]),
        ("_seq BIGINT", errors.SchemaError, ["_seq", "reserved"]),
        ("a MAP<VARIANT, INT>", errors.SqlTypeError, ["MAP"]),
        ("a DECIMAL(39, 2)", errors.SqlTypeError, ["39"]),
        ("a BIGINT,", errors.SqlSyntaxError, []),
        ("", errors.LivejoinError, ["column"]),
        ("a BIGINT, PRIMARY KEY (b)", errors.LivejoinError, ["b"]),
    ],
)
def test_bad_tables(guarded: Guarded, columns: str, error: type[Exception], parts: list[str]) -> None:
    with pytest.raises(error) as caught:
        guarded.db.create_table("T", columns)
    assert isinstance(caught.value, errors.LivejoinError)
    for part in parts:
        assert part.lower() in str(caught.value).lower()
    guarded.unchanged()


def test_a_table_that_exists(guarded: Guarded) -> None:
    guarded.refuses(lambda db: db.execute("CREATE TABLE g (x INT)"), errors.SchemaError, "g", "exists")


BAD_QUERIES = [
    ("SELECT x FROM G", errors.UnknownNameError, ["x", "src"]),
    ("SELECT src FROM H", errors.UnknownNameError, ["H", "G"]),
    ("SELECT Z.src FROM G", errors.UnknownNameError, ["Z"]),
    ("SELECT src FROM G A, G B", errors.UnknownNameError, ["src", "ambiguous"]),
    ("SELECT A.src FROM G A, G A", errors.UnknownNameError, ["A"]),
    ("SELECT src FROM G WHERE nothere = 1", errors.UnknownNameError, ["nothere"]),
    ("SELECT src FROM G JOIN P ON G.dst = (P.name = 'a')", errors.SqlTypeError, ["BIGINT", "BOOLEAN"]),
    ("SELECT src FROM G WHERE src", errors.SqlTypeError, ["BOOLEAN"]),
    ("SELECT src AS _change_type FROM G", errors.UnsupportedQueryError, ["_change_type", "reserved"]),
    ("SELECT", errors.SqlSyntaxError, ["SELECT list is empty"]),
    ("SELECT src FROM", errors.SqlSyntaxError, []),
    ("SELECT src FROM G WHERE (src = 1", errors.SqlSyntaxError, []),
    ("", errors.SqlSyntaxError, []),
]


@pytest.mark.parametrize(("sql", "error", "parts"), BAD_QUERIES)
def test_bad_queries(guarded: Guarded, sql: str, error: type[Exception], parts: list[str]) -> None:
    guarded.refuses(lambda db: db.create_view("bad", sql), error, *parts)


UNSUPPORTED = [
    ("SELECT A.src FROM G A RIGHT SEMI JOIN G B ON A.dst = B.src", "RIGHT SEMI JOIN"),
    ("SELECT A.src FROM G A LEFT JOIN G B ON A.dst < B.src", "allow_product=True"),
    ("SELECT src FROM G WHERE src IN (SELECT dst, src FROM G)", "sub-query has 2 columns"),
    ("SELECT src FROM G WHERE src = (SELECT MAX(q.src) FROM G q WHERE q.dst < G.dst)", "allow_product=True"),
    ("SELECT q.src FROM P, LATERAL (VALUES (1)) AS q(src)", "LATERAL"),
    ("WITH RECURSIVE q AS (SELECT src FROM G) SELECT src FROM q", "WITH"),
    ("SELECT src FROM G LIMIT 3", "LIMIT"),
    ("SELECT A.src FROM G A JOIN G B ON A.dst < B.src", ""),
    ("SELECT A.src FROM G A JOIN G B ON A.dst = B.src OR A.src = B.dst", ""),
    ("SELECT A.src FROM G A JOIN G B ON A.dst + B.dst = B.src", "allow_product=True"),
    ("SELECT rand() FROM G", ""),
    ("SELECT src FROM G WHERE current_timestamp() > TIMESTAMP '2020-01-01 00:00:00'", ""),
    ("DELETE FROM G", "DELETE"),
    ("SELECT src FROM G; SELECT dst FROM G", ""),
]


@pytest.mark.parametrize(("sql", "part"), UNSUPPORTED)
def test_queries_outside_of_what_is_maintained(guarded: Guarded, sql: str, part: str) -> None:
    """Each names its clause and its position."""
    error = guarded.refuses(lambda db: db.create_view("bad", sql), errors.UnsupportedQueryError, part)
    assert isinstance(error, errors.UnsupportedQueryError)
    assert error.clause
    assert error.line == 1
    assert 1 <= error.column <= len(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT OVERWRITE G VALUES (1, 2)",
        "UPDATE G SET nope = 1",
        "SELECT 1",
        "not sql at all",
        "",
        "DROP TABLE nothere",
    ],
)
def test_bad_statements(guarded: Guarded, sql: str) -> None:
    with pytest.raises(errors.LivejoinError) as caught:
        guarded.db.execute(sql)
    assert str(caught.value)
    guarded.unchanged()


@pytest.mark.parametrize("half", ["\ud800", "\udcff"])
def test_text_that_utf8_cannot_encode(guarded: Guarded, half: str) -> None:
    """Python's strings may hold half a character, from a file name or a careless decoder."""
    for call in (
        lambda db: db.create_view("w", f"SELECT '{half}' AS s FROM G"),
        lambda db: db.create_view("w", f"SELECT src AS `{half}` FROM G"),
        lambda db: db.execute(f"CREATE TABLE `{half}` (a INT)"),
        lambda db: db.create_table("T", f"`{half}` INT"),
        lambda db: db.explain(f"SELECT src FROM G WHERE '{half}' = 'x'"),
    ):
        guarded.refuses(call, errors.SqlSyntaxError, repr(half), "position")


def test_of_a_long_line_the_error_shows_what_is_around_its_place() -> None:
    database = livejoin.Database()
    database.create_table("o", "k INT")
    terms = " OR ".join(["k = 1"] * 3000 + ["kk = 1"] + ["k = 2"] * 60)
    with pytest.raises(errors.SqlError) as caught:
        database.create_view("v", f"SELECT k FROM o WHERE {terms}")
    *_, source, caret = str(caught.value).splitlines()
    assert len(source) < 420
    assert source.startswith("    ... ")
    assert source.endswith(" ...")
    assert source[caret.index("^") :].startswith("kk = 1")
