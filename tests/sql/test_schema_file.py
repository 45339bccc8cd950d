"""Files of CREATE TABLE statements, and the positions of what is wrong in them."""

from __future__ import annotations

import pytest

from livejoin.errors import SchemaError, SqlError, SqlSyntaxError, SqlTypeError, UnknownNameError, UnsupportedQueryError
from livejoin.sql import parse_schema, parse_schema_text


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
        ("CREATE TABLE G (src BIGINT); CREATE TABLE H (dst BIGINT ^COMMENT 'x')", UnsupportedQueryError, "COMMENT"),
        ("CREATE TABLE G (src BIGINT);\n\n  ^SELECT src FROM G", UnsupportedQueryError, "found SELECT"),
        ("CREATE TABLE G (src BIGINT);\nCREATE VIEW v AS\n SELECT ^dst FROM G;", UnknownNameError, "dst"),
        ("CREATE TABLE G (src BIGINT); CREATE VIEW v AS SELECT src FROM ^v", UnknownNameError, "cannot read itself"),
        (
            "CREATE TABLE G (src BIGINT); CREATE VIEW v (^a) AS SELECT src FROM G",
            UnsupportedQueryError,
            "list of column",
        ),
        ("CREATE TABLE G (src BIGINT);\nCREATE TABLE H ^)", SqlSyntaxError, "which is not expected behind 'H'"),
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


def test_views_stand_among_the_tables() -> None:
    text = parse_schema_text(
        "CREATE TABLE G (src BIGINT, dst BIGINT);\n-- the busy ones\n"
        "create view Degree AS SELECT src, COUNT(*) AS n FROM G GROUP BY src; -- and\n"
        "CREATE VIEW IF NOT EXISTS busy AS\n  SELECT src FROM degree WHERE n > 3 ;\n"
        "CREATE VIEW IF NOT EXISTS busy AS SELECT 1 AS other FROM G"
    )
    assert [table.name for table in text.catalog] == ["G"]
    assert {name: (view.sql, view.reads) for name, view in text.views.items()} == {
        "degree": ("SELECT src, COUNT(*) AS n FROM G GROUP BY src", ()),
        "busy": ("SELECT src FROM degree WHERE n > 3", ("degree",)),
    }


def test_declarations_that_cannot_stand() -> None:
    with pytest.raises(SchemaError, match="line 2 of the schema: table 'g' exists already"):
        parse_schema("CREATE TABLE G (src BIGINT);\nCREATE TABLE g (dst BIGINT);")
    with pytest.raises(SchemaError, match="line 2 of the schema: the name 'g' is taken by a table"):
        parse_schema("CREATE TABLE G (src BIGINT);\nCREATE VIEW g AS SELECT 1 AS one FROM G")
    with pytest.raises(SchemaError, match="line 2 of the schema: the name 'V' is taken by a view"):
        parse_schema("CREATE TABLE G (a INT); CREATE VIEW v AS SELECT a FROM G;\nCREATE VIEW V AS SELECT a FROM G")
    with pytest.raises(SchemaError, match="line 2 of the schema: the name 'v' is taken by a view"):
        parse_schema("CREATE TABLE G (a INT); CREATE VIEW v AS SELECT a FROM G;\nCREATE TABLE v (a INT)")
    for empty in ("", " ; ;", "-- nothing"):
        with pytest.raises(SchemaError, match="declares no table"):
            parse_schema(empty)
