"""Declarations of tables, and statements: what they give and what they refuse, with positions."""

from __future__ import annotations

import pytest

from livejoin.errors import SchemaError, SqlError, SqlSyntaxError, SqlTypeError, UnknownNameError, UnsupportedQueryError
from livejoin.schema import Column, ForeignKey, SqlType, Table, TableSettings, WindowRange
from livejoin.sql import (
    AlterTable,
    CreateTable,
    CreateView,
    DropTable,
    DropView,
    RefreshTable,
    Statement,
    parse_columns,
    parse_create_table,
    parse_statement,
)
from livejoin.sql.parse.source import Source

BIGINT = SqlType.integer(64)


@pytest.mark.parametrize(
    ("written", "declared"),
    [
        ("BOOLEAN", "BOOLEAN"),
        ("TINYINT", "TINYINT"),
        ("BYTE", "TINYINT"),
        ("SMALLINT", "SMALLINT"),
        ("INT", "INT"),
        ("INTEGER", "INT"),
        ("bigint", "BIGINT"),
        ("LONG", "BIGINT"),
        ("DOUBLE", "DOUBLE"),
        ("DECIMAL", "DECIMAL(10, 0)"),
        ("DECIMAL(5)", "DECIMAL(5, 0)"),
        ("DECIMAL(38, 4)", "DECIMAL(38, 4)"),
        ("NUMERIC(9, 2)", "DECIMAL(9, 2)"),
        ("DATE", "DATE"),
        ("TIMESTAMP", "TIMESTAMP"),
        ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ"),
        ("TIMESTAMP without time zone", "TIMESTAMP"),
        ("STRING", "STRING"),
        ("VARCHAR", "STRING"),
        ("TEXT", "STRING"),
        ("VARCHAR(10)", "VARCHAR(10)"),
        ("TIMESTAMP_LTZ", "TIMESTAMP"),
        ("TIMESTAMPTZ", "TIMESTAMP"),
        ("timestamp with time zone", "TIMESTAMP"),
    ],
)
def test_types(written: str, declared: str) -> None:
    assert [str(column) for column in parse_columns("T", f"a {written}, b {written} NOT NULL").columns] == [
        f"a {declared}",
        f"b {declared} NOT NULL",
    ]


@pytest.mark.parametrize(
    ("columns", "key", "nullable"),
    [
        ("a BIGINT, b BIGINT", (), [True, True]),
        ("a BIGINT PRIMARY KEY, b BIGINT NULL", (0,), [False, True]),
        ("a BIGINT NOT NULL PRIMARY KEY, b BIGINT NOT NULL", (0,), [False, False]),
        ("a BIGINT, b BIGINT, PRIMARY KEY (B, a)", (1, 0), [False, False]),
        ("a BIGINT, b BIGINT, CONSTRAINT pk PRIMARY KEY (b)", (1,), [True, False]),
    ],
)
def test_keys_and_nullability(columns: str, key: tuple[int, ...], nullable: list[bool]) -> None:
    table = parse_columns("T", columns)
    assert table.primary_key == key
    assert [column.nullable for column in table.columns] == nullable


def test_a_table() -> None:
    expected = Table("G", (Column("src", BIGINT), Column("a b", BIGINT)), settings=TableSettings(window_rows=5))
    assert parse_columns("G", "src BIGINT,\n  `a b` BIGINT -- x", TableSettings(window_rows=5)) == expected
    assert parse_create_table("CREATE TABLE `my g` (src BIGINT)").name == "my g"


@pytest.mark.parametrize(
    ("columns", "keys"),
    [
        ("a INT REFERENCES H(x), b INT", [ForeignKey((0,), "H", ("x",))]),
        ("a INT, b INT NOT NULL REFERENCES `my h`", [ForeignKey((1,), "my h")]),
        ("a INT, b INT FOREIGN KEY REFERENCES H (x) NOT NULL", [ForeignKey((1,), "H", ("x",))]),
        ("a INT CONSTRAINT fk REFERENCES H NOT ENFORCED RELY, b INT", [ForeignKey((0,), "H")]),
        ("a INT REFERENCES H(x) ENFORCED, b INT", [ForeignKey((0,), "H", ("x",), enforced=True)]),
        ("a INT, b INT, FOREIGN KEY (B, a) REFERENCES H (y, x)", [ForeignKey((1, 0), "H", ("y", "x"))]),
        ("a INT, FOREIGN KEY (a) REFERENCES H, b INT REFERENCES K", [ForeignKey((0,), "H"), ForeignKey((1,), "K")]),
        (
            "a INT, b INT, CONSTRAINT f FOREIGN KEY (a) REFERENCES H(x) RELY NOT ENFORCED",
            [ForeignKey((0,), "H", ("x",))],
        ),
        ("a INT REFERENCES H REFERENCES K, b INT", [ForeignKey((0,), "H"), ForeignKey((0,), "K")]),
        ("a INT PRIMARY KEY, b INT REFERENCES T(a)", [ForeignKey((1,), "T", ("a",))]),
    ],
)
def test_foreign_keys(columns: str, keys: list[ForeignKey]) -> None:
    table = parse_columns("T", columns)
    assert table.foreign_keys == tuple(keys)
    assert [column.name for column in table.columns] == ["a", "b"]
    declared = parse_create_table(f"CREATE TABLE T ({columns})")
    assert declared == table


def test_a_foreign_key_leaves_its_columns_nullable() -> None:
    table = parse_columns("T", "a INT REFERENCES H, b INT NOT NULL REFERENCES H, c INT, FOREIGN KEY (c) REFERENCES H")
    assert [column.nullable for column in table.columns] == [True, False, True]


@pytest.mark.parametrize(
    ("properties", "static", "window_rows"),
    [
        ("", False, None),
        ("TBLPROPERTIES ('livejoin.static' = 'true')", True, None),
        ("TBLPROPERTIES (livejoin.static = TRUE)", True, None),
        ("TBLPROPERTIES ('Livejoin.Static' = 'False')", False, None),
        ("TBLPROPERTIES ('livejoin.window_rows' = '20')", False, 20),
        ("TBLPROPERTIES ('livejoin.static' = 'false', 'livejoin.window_rows' = 20)", False, 20),
    ],
)
def test_table_properties(properties: str, static: bool, window_rows: int | None) -> None:
    table = parse_create_table(f"CREATE TABLE T (a INT) {properties}")
    assert (table.static, table.window_rows) == (static, window_rows)


@pytest.mark.parametrize(
    ("marked", "kind"),
    [
        ("TBLPROPERTIES (^'livejoin.static' = 'yes')", SqlTypeError),
        ("TBLPROPERTIES (^'livejoin.static' = 1)", SqlTypeError),
        ("TBLPROPERTIES (^'livejoin.window_rows' = 'many')", SqlTypeError),
        ("TBLPROPERTIES (^'livejoin.window_rows' = '0')", SqlTypeError),
        ("TBLPROPERTIES (^'livejoin.window_rows' = -3)", SqlTypeError),
        ("TBLPROPERTIES (^'delta.x' = '1')", UnsupportedQueryError),
        ("TBLPROPERTIES ('livejoin.static' = 'true', ^'livejoin.statik' = 'true')", UnsupportedQueryError),
        ("TBLPROPERTIES ('livejoin.static' = 'true', ^'LIVEJOIN.static' = 'true')", UnsupportedQueryError),
    ],
)
def test_refused_table_properties(marked: str, kind: type[SqlError]) -> None:
    before = "CREATE TABLE T (a INT) "
    with pytest.raises(SqlError) as caught:
        parse_create_table(before + marked.replace("^", ""))
    assert type(caught.value) is kind, caught.value
    assert caught.value.column == len(before) + marked.index("^") + 1


@pytest.mark.parametrize(
    ("written", "column", "kind", "width"),
    [
        ("seen 3600", "seen", "INT", 3600),
        ("`a b` 7", "`a b`", "BIGINT", 7),
        ("ts 1 HOUR", "ts", "TIMESTAMP", 3_600_000_000),
        ("TS  interval 1 day 6 Hours", "ts", "TIMESTAMP", 108_000_000_000),
        ("ts 5 MICROSECONDS", "ts", "TIMESTAMP", 5),
        ("day 2 WEEKS", "day", "DATE", 14),
    ],
)
def test_a_window_by_range(written: str, column: str, kind: str, width: int) -> None:
    table = parse_create_table(
        f"CREATE TABLE T (x INT, {column} {kind}) TBLPROPERTIES ('livejoin.window_range' = '{written}')"
    )
    assert table.window_range == WindowRange(1, width)
    assert not table.columns[1].nullable


@pytest.mark.parametrize("written", ["'ts'", "'1 HOUR'", "'ts 1 MONTH'", "'ts -1 HOUR'", "'ts 1.5 HOURS'", "5", "''"])
def test_a_range_that_does_not_parse(written: str) -> None:
    with pytest.raises(SqlTypeError, match="'column n UNIT'"):
        parse_create_table(f"CREATE TABLE T (ts TIMESTAMP) TBLPROPERTIES ('livejoin.window_range' = {written})")


def test_a_static_table_has_no_window() -> None:
    with pytest.raises(SchemaError, match="static and has window_rows = 3"):
        parse_columns("T", "a INT", TableSettings(window_rows=3, static=True))
    with pytest.raises(SchemaError, match="static and has window_rows = 3"):
        parse_create_table("CREATE TABLE T (a INT) TBLPROPERTIES ('livejoin.static'=true, 'livejoin.window_rows'=3)")
    assert parse_columns("T", "a INT", TableSettings(static=True)).static


# A ^ marks the position that the error must name; it is not part of the text.
REFUSED = [
    ("a INT, ^b FLOAT(24)", SqlTypeError),
    ("^a VARCHAR(0)", SqlTypeError),
    ("^a STRING(10)", SqlTypeError),
    ("^a CHAR(0)", SqlTypeError),
    ("^a CHAR", SqlTypeError),
    ("^a BINARY(3)", SqlTypeError),
    ("^a ARRAY<INT, INT>", SqlTypeError),
    ("^a STRUCT<x: VARCHAR(3)>", SqlTypeError),
    ("^a MAP<VARIANT, INT>", SqlTypeError),
    ("^a TIMESTAMPTZ(3)", SqlTypeError),
    ("^a INT UNSIGNED", SqlTypeError),
    ("^a DECIMAL(39, 2)", SqlTypeError),
    ("^a DECIMAL(3, 5)", SqlTypeError),
    ("^a", SqlTypeError),
    ("a ^NONSENSE", SqlSyntaxError),
    ("a INT^,", SqlSyntaxError),
    ("a INT ^UNIQUE NULLS NOT DISTINCT", UnsupportedQueryError),
    ("a INT ^COMMENT 'x'", UnsupportedQueryError),
    ("a INT ^GENERATED ALWAYS AS IDENTITY", UnsupportedQueryError),
    ("a INT REFERENCES H(x) ^ON DELETE CASCADE", UnsupportedQueryError),
    ("a INT REFERENCES NORELY(ON1) NOT ENFORCED ^NORELY", UnsupportedQueryError),
    ("a INT REFERENCES H ^DEFERRABLE", UnsupportedQueryError),
    ("a INT REFERENCES ^db.H(x)", UnknownNameError),
    ("a INT REFERENCES H(^'x')", UnsupportedQueryError),
    ("a INT ^REFERENCES H(x, y)", UnsupportedQueryError),
    ("a INT ^REFERENCES H( )", UnsupportedQueryError),
    ("a INT, b INT, FOREIGN KEY (a, b) ^REFERENCES H (x)", UnsupportedQueryError),
    ("a INT, ^FOREIGN KEY (a)", UnsupportedQueryError),
    ("a INT, ^FOREIGN KEY () REFERENCES H(b)", UnsupportedQueryError),
    ("a INT, FOREIGN KEY (^c) REFERENCES H(b)", UnknownNameError),
    ("a INT, FOREIGN KEY (a, ^A) REFERENCES H(b, c)", UnknownNameError),
    ("a INT, FOREIGN KEY (a) REFERENCES H(b) NOT ENFORCED RELY ^MATCH FULL", UnsupportedQueryError),
    ("a INT PRIMARY KEY, CONSTRAINT pk ^PRIMARY KEY (a)", UnsupportedQueryError),
    ("a INT, ^UNIQUE (a) NOT ENFORCED", UnsupportedQueryError),
    ("a INT, UNIQUE (^b)", UnknownNameError),
    ("a INT, UNIQUE (a, ^a)", UnknownNameError),
    ("a INT, ^UNIQUE ()", UnsupportedQueryError),
    ("a INT, ^PRIMARY KEY (a) NOT ENFORCED", UnsupportedQueryError),
    ("a INT PRIMARY KEY, ^b INT PRIMARY KEY", UnsupportedQueryError),
    ('^"a" INT', UnsupportedQueryError),
    ("a INT, PRIMARY KEY (^c)", UnknownNameError),
    ("a INT, PRIMARY KEY (a, ^A)", UnknownNameError),
]


@pytest.mark.parametrize(("marked", "kind"), REFUSED)
def test_refused_columns(marked: str, kind: type[SqlError]) -> None:
    columns = marked.replace("^", "")
    with pytest.raises(SqlError) as caught:
        parse_columns("T", columns)
    assert type(caught.value) is kind, caught.value
    before = marked[: marked.index("^")].split("\n")
    assert (caught.value.line, caught.value.column, caught.value.sql) == (len(before), len(before[-1]) + 1, columns)


@pytest.mark.parametrize(
    "written",
    [
        "TIME",
        "HUGEINT",
        "uuid(3)",
        "BLOB",
        "Array<CHAR(3)>",
        "Interval DAY",
        "NCHAR(10)",
        "INT UNSIGNED",
        "struct<x:array<uuid>>",
    ],
)
@pytest.mark.parametrize("behind", ["", " NOT NULL", " PRIMARY KEY", ", b INT"])
def test_a_type_is_named_as_it_was_written(written: str, behind: str) -> None:
    with pytest.raises(SqlTypeError) as caught:
        parse_columns("T", f"k INT, a {written}{behind}")
    assert caught.value.message.startswith(f"column 'a' has the type {written}; allowed are BOOLEAN, ")


@pytest.mark.parametrize("written", ["BIGNT", "UBIGINT", "BIGNT(3)", "UBIGINT NOT NULL", "BIGNT, c INT"])
@pytest.mark.parametrize("before", ["", "k DECIMAL(3, 1), "])
def test_an_unknown_type(written: str, before: str) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse_columns("T", f"{before}a {written}")
    name = "UBIGINT" if written.startswith("U") else "BIGNT"
    said = f"'{name}', behind the column name 'a', is not a known type (did you mean 'BIGINT'?); allowed are B"
    assert caught.value.message.startswith(said)
    assert caught.value.column == len(before) + 3


def test_what_is_no_type_is_not_called_one() -> None:
    for columns in ("a BIGINT DEFAUT 3", "a INT, PRIMARY KEY (a b)"):
        with pytest.raises(SqlSyntaxError, match="is expected"):
            parse_columns("T", columns)


@pytest.mark.parametrize("columns", ["a INT, A BIGINT", "_seq BIGINT", "_change_type STRING"])
def test_names_that_cannot_stand(columns: str) -> None:
    with pytest.raises(SchemaError, match="table 'T'"):
        parse_columns("T", columns)


@pytest.mark.parametrize("columns", ["", "  "])
def test_no_columns(columns: str) -> None:
    with pytest.raises(UnsupportedQueryError, match="needs a list of columns"):
        parse_columns("T", columns)


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("CREATE TABLE G (a BIGINT)", CreateTable(Table("G", (Column("a", BIGINT),)))),
        ("create table if not exists G (a BIGINT);", CreateTable(Table("G", (Column("a", BIGINT),)), True)),
        ("CREATE VIEW v AS SELECT a FROM G;", CreateView("v", "SELECT a FROM G")),
        (
            "CREATE VIEW IF NOT EXISTS `a b` AS\n (SELECT a AS x FROM G)",
            CreateView("a b", "(SELECT a AS x FROM G)", True),
        ),
        (
            "CREATE VIEW v AS WITH x(b) AS (SELECT a FROM G) SELECT b FROM x",
            CreateView("v", "WITH x(b) AS (SELECT a FROM G) SELECT b FROM x"),
        ),
        ("DROP VIEW v", DropView("v")),
        ("DROP VIEW IF EXISTS v", DropView("v", True)),
        ("DROP VIEW v CASCADE", DropView("v", cascade=True)),
        ("DROP VIEW IF EXISTS v RESTRICT", DropView("v", True)),
        ("DROP TABLE IF EXISTS G", DropTable("G", True)),
        ("DROP TABLE G", DropTable("G")),
        ("ALTER TABLE `G h` SET STATIC;", AlterTable("G h", static=True)),
        ("alter table G set dynamic", AlterTable("G", static=False)),
        ("ALTER TABLE G SET TBLPROPERTIES ('livejoin.static' = 'FALSE')", AlterTable("G", static=False)),
        (
            "ALTER TABLE G SET TBLPROPERTIES ('livejoin.append_only' = true, livejoin.static = 'false')",
            AlterTable("G", False, True),
        ),
        ("REFRESH TABLE G", RefreshTable("G")),
    ],
)
def test_statements(sql: str, statement: Statement) -> None:
    assert parse_statement(sql) == statement


@pytest.mark.parametrize(
    ("marked", "clause"),
    [
        ("CREATE OR ^REPLACE TABLE G (a INT)", "REPLACE"),
        ("CREATE ^TEMPORARY TABLE G (a INT)", "TEMPORARY"),
        ("CREATE TABLE G (a INT) ^USING delta PARTITIONED BY (a)", "USING DELTA"),
        ("CREATE TABLE G (a INT) ^COMMENT 'x'", "COMMENT 'x'"),
        ("CREATE TABLE G ^AS SELECT 1", "CREATE TABLE"),
        ("^CREATE TABLE G LIKE H", "CREATE TABLE"),
        ("^CREATE TABLE G", "CREATE TABLE"),
        ("CREATE OR REPLACE VIEW ^IF NOT EXISTS v AS SELECT 1", "IF NOT EXISTS"),
        ("CREATE VIEW v (^x) AS SELECT 1", "CREATE VIEW"),
        ("DROP TABLE G, ^H", "DROP"),
        ("DROP TABLE G ^CASCADE", "CASCADE"),
        ("DROP VIEW v, ^w CASCADE", "DROP"),
        ("^DROP DATABASE x", "DROP DATABASE"),
        ("^CREATE INDEX i ON G(a)", "CREATE INDEX"),
        ("^CREATE VEIW v AS SELECT a FROM G", "CREATE VEIW"),
        ("^CREATE OR REPLACE VEIW v AS SELECT a FROM G", "CREATE VEIW"),
        ("ALTER TABLE G ^ADD PARTITION (x = 1)", "ALTER"),
        ("ALTER TABLE G ^DROP COLUMN x CASCADE", "ALTER"),
        ("ALTER TABLE G ^SET STATIC now", "ALTER"),
        ("ALTER TABLE G ^UNSET TBLPROPERTIES ('livejoin.static')", "ALTER"),
        ("ALTER TABLE IF ^EXISTS G SET STATIC", "ALTER"),
        ("ALTER VIEW v ^AS SELECT 1", "ALTER"),
        ("ALTER TABLE G SET TBLPROPERTIES (^'livejoin.window_rows' = '3')", "livejoin.window_rows"),
        ("^REFRESH FUNCTION f", "REFRESH"),
        ("^SHOW TABLES", "SHOW"),
        ("^SELECT 1", "SELECT"),
        ("DROP TABLE G^; DROP TABLE H", ";"),
    ],
)
def test_refused_statements(marked: str, clause: str) -> None:
    with pytest.raises(UnsupportedQueryError) as caught:
        parse_statement(marked.replace("^", ""))
    assert (caught.value.clause, caught.value.line, caught.value.column) == (clause, 1, marked.index("^") + 1)


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("CREATE VIEW v AS ^SELEC a FROM G", "found 'SELEC' where a query is expected"),
        ("CREATE OR REPLACE VIEW v AS ^SELEC a FROM G", "found 'SELEC' where a query is expected"),
        ("CREATE VIEW IF NOT EXISTS v AS\n^SELEC", "found 'SELEC' where a query is expected"),
        ("CREATE VIEW v AS ^TABLE G", "found 'TABLE' where a query is expected"),
        ("CREATE VIEW v AS ^INSERT INTO G VALUES (1)", "found 'INSERT' where a query is expected"),
        ("CREATE VIEW v AS ^5", "found '5' where a query is expected"),
        ("CREATE VIEW v AS^", "the text ends where a query is expected"),
        ("CREATE VIEW v^", "the text ends where AS and a query are expected"),
        ("CREATE VIEW v ^SELECT a AS b FROM G", "found 'SELECT' where AS and a query are expected"),
        ("CREATE OR REPLACE VIEW v WITH ^x AS (SELECT 1) SELECT 2", "found 'x', which is not expected behind 'WITH'"),
        ("CREATE VIEW v AS SELECT a ^FORM G", "'FORM' is no word of SQL (did you mean 'FROM'?)"),
        ("CREATE OR REPLACE VIEW v AS SELECT a FROM G H ^I J", "found 'I', which is not expected behind 'H'"),
        ("CREATE VIEW v AS SELECT a ^AS 5 FROM G", "AS lacks a name or a type"),
        ("CREATE OR ^REPALCE VIEW v AS SELECT a FROM G", "found 'REPALCE' where REPLACE is expected"),
        ("CREATE ^OR", "OR lacks what stands behind it"),
        ("CREATE VIEW ^AS SELECT a FROM G", "found 'AS' where a name is expected, behind VIEW"),
        ("DROP TABLE IF EXISTS^", "the text ends where a name is expected, behind EXISTS"),
        ("CREATE TABLE G ^a INT", "found 'a', which is not expected behind 'G'"),
    ],
)
def test_a_wrong_word_is_blamed_where_it_stands(marked: str, message: str) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse_statement(marked.replace("^", ""))
    assert caught.value.message.startswith(message)
    assert (caught.value.line, caught.value.column) == Source(marked, ()).position(marked.index("^"))


def test_the_query_of_a_view_is_no_name_that_needs_backticks() -> None:
    for query in ("SELECT ,x a FROM G", "WITH", "SELECT ) a FROM G", "SELECT a, where FROM G"):
        with pytest.raises(SqlSyntaxError) as bare:
            parse_statement(query)
        with pytest.raises(SqlSyntaxError) as caught:
            parse_statement(f"CREATE VIEW v AS {query}")
        assert caught.value.message == bare.value.message


def test_qualified_names_are_not_known() -> None:
    for sql in ("CREATE TABLE db.G (a INT)", "DROP TABLE db.G", "CREATE VIEW db.v AS SELECT 1"):
        with pytest.raises(UnknownNameError, match="allowed is a plain name"):
            parse_statement(sql)


def test_only_create_table_declares_a_table() -> None:
    with pytest.raises(UnsupportedQueryError, match="allowed is CREATE TABLE"):
        parse_create_table("DROP TABLE G")
