"""Files of CREATE TABLE statements, and the positions of what is wrong in them."""

from __future__ import annotations

import pytest

from livejoin.errors import SchemaError, SqlError, SqlSyntaxError, SqlTypeError, UnsupportedQueryError
from livejoin.sql import parse_schema


def test_statements_comments_and_semicolons() -> None:
    catalog = parse_schema(
        "-- a graph; with a comment\n;CREATE TABLE G (src BIGINT, `a;b` STRING);;\n"
        "/* ; */ CREATE TABLE P (id BIGINT PRIMARY KEY)\n;\n"
    )
    assert [(table.name, [column.name for column in table.columns]) for table in catalog] == [
        ("G", ["src", "a;b"]),
        ("P", ["id"]),
    ]
    assert catalog["P"].primary_key == (0,)


@pytest.mark.parametrize(
    ("marked", "kind", "message"),
    [
        ("CREATE TABLE G (src BIGINT);\nCREATE TABLE H (^dst BLOB)", SqlTypeError, "'dst' has the type BLOB"),
        ("CREATE TABLE G (src BIGINT); CREATE TABLE H (dst BIGINT ^CHECK (dst > 1))", UnsupportedQueryError, "CHECK"),
        ("CREATE TABLE G (src BIGINT);\n\n  ^SELECT src FROM G", UnsupportedQueryError, "found SELECT"),
        ("CREATE TABLE G (src BIGINT);\nCREATE TABLE H ^)", SqlSyntaxError, "does not parse"),
        ("CREATE TABLE G (src BIGINT);\nCREATE TABLE H ('^", SqlSyntaxError, "ends within a string"),
    ],
)
def test_positions_are_those_of_the_whole_text(marked: str, kind: type[SqlError], message: str) -> None:
    sql = marked.replace("^", "")
    with pytest.raises(kind, match=message) as caught:
        parse_schema(sql)
    lines = marked[: marked.index("^")].split("\n")
    assert (caught.value.line, caught.value.column) == (len(lines), len(lines[-1]) + 1)
    assert caught.value.sql == sql


def test_declarations_that_cannot_stand() -> None:
    with pytest.raises(SchemaError, match="line 2 of the schema: table 'g' exists already"):
        parse_schema("CREATE TABLE G (src BIGINT);\nCREATE TABLE g (dst BIGINT);")
    for empty in ("", " ; ;", "-- nothing"):
        with pytest.raises(SchemaError, match="declares no table"):
            parse_schema(empty)
