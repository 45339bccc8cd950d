"""Every query outside is refused with its clause and its exact position; names and types are checked."""

from __future__ import annotations

import pytest
from sql_fixtures import make_catalog

from livejoin.errors import SqlError, SqlSyntaxError, SqlTypeError, UnknownNameError, UnsupportedQueryError
from livejoin.sql import bind_query, parse_columns, parse_statement
from strategies import IS_FUZZ

CATALOG = make_catalog()
CATALOG.add(parse_columns("M", "m DECIMAL(6, 4), big DECIMAL(38, 0)"))

# A ^ marks the position that the error must name; it is not part of the text.
CLAUSES = [
    ("SELECT limit FROM G ^LIMIT 3", "LIMIT"),
    ("SELECT src FROM G ^OFFSET 3", "OFFSET"),
    ("SELECT src FROM G ^SORT BY src", "SORT BY"),
    ("SELECT src FROM G ^CLUSTER BY src", "CLUSTER BY"),
    ("SELECT src FROM G ^DISTRIBUTE BY src", "DISTRIBUTE BY"),
    ("SELECT ^/*+ BROADCAST(G) */ src FROM G", "hint"),
    ("SELECT src FROM G WHERE src IN (SELECT src FROM H ^CLUSTER BY src)", "CLUSTER BY"),
    ("SELECT G.src FROM G, LATERAL (^VALUES (1)) x", "LATERAL"),
    ("SELECT src FROM G ^LATERAL VIEW explode(array(1)) t AS y", "LATERAL VIEW"),
    ("SELECT id FROM ^range(10)", "table function"),
    ("SELECT src FROM G ^TABLESAMPLE (10 ROWS)", "TABLESAMPLE"),
    ("SELECT src FROM G ^WITH (NOLOCK)", "WITH behind a table"),
    ("SELECT * FROM G JOIN H ^PIVOT (sum(src) FOR dst IN (1)) ON G.src = H.src", "PIVOT"),
    ("SELECT src FROM G ^VERSION AS OF 3", "VERSION AS OF"),
    ("SELECT a FROM G AS x(^a, b, c)", "AS"),
    ("SELECT b FROM G AS x(_seq, b)".replace("(_", "(^_"), "AS"),
    ("SELECT src FROM (G JOIN H USING (src)) ^x", "AS"),
    ("SELECT left(s, 1) FROM G ^OUTER JOIN H ON G.src = H.src", "OUTER JOIN"),
    ("SELECT G.src FROM G ^RIGHT SEMI JOIN H ON G.src = H.src", "RIGHT SEMI JOIN"),
    ("SELECT G.src FROM G JOIN K ON K.z = G.src ^RIGHT ANTI JOIN H ON G.src = H.src", "RIGHT ANTI JOIN"),
    ("SELECT G.src FROM G NATURAL ^RIGHT SEMI JOIN H", "NATURAL RIGHT SEMI JOIN"),
    ("SELECT G.src FROM G LEFT JOIN H ON ^G.src < H.src", "<"),
    ("SELECT ^geomean(src) FROM G", "GEOMEAN"),
    ("SELECT src FROM G WHERE ^max(src) > 1", "MAX"),
    ("SELECT ^explode(array(1, 2)) FROM G", "EXPLODE"),
    ("SELECT src FROM G WHERE ^rand() > 0.5", "RAND"),
    ("SELECT src, upper(concat('a', ^uuid())) FROM G", "UUID"),
    ("SELECT src, ^now() FROM G", "NOW"),
    ("SELECT src FROM H WHERE ^current_date > d", "CURRENT_DATE"),
    ("SELECT ^current_timestamp() FROM G", "CURRENT_TIMESTAMP"),
    ("SELECT ^nextval('s') FROM G", "NEXTVAL"),
    ("SELECT src FROM H WHERE d < ^current_date", "CURRENT_DATE"),
    ("SELECT src FROM H WHERE src > 1 AND d > ^current_date() - 7", "CURRENT_DATE"),
    ("SELECT src FROM H WHERE t < ^current_timestamp OR b", "CURRENT_TIMESTAMP"),
    ("SELECT G.src FROM G, K WHERE G.src = K.src AND G.src + K.src > ^rand()", "RAND"),
    ("SELECT count(^G.*) FROM G", "*"),
    ("SELECT src + ^G.* FROM G", "*"),
    ("SELECT src FROM G WHERE dst = 1 AND ^src = ALL (1, 2)", "sub-query"),
    ("^UPDATE G SET src = 1", "UPDATE"),
    ("^CREATE VIEW v AS SELECT src FROM G", "CREATE"),
    ("SELECT G.src FROM G, H WHERE ^array_contains(array(G.src), H.dst)", "ARRAY_CONTAINS"),
    ("SELECT ^* REPLACE (1 AS src) FROM G", "*"),
    ("SELECT ^* EXCEPT (src, dst) FROM G", "*"),
    ("SELECT ^src AS _change_type FROM G", "AS"),
    ("SELECT ^src AS _COMMIT_version FROM G", "AS"),
    ("SELECT src FROM G WHERE src = ^?", "parameter"),
    ("SELECT src FROM G WHERE src = ^:x", "parameter"),
    ("SELECT src FROM G^; SELECT dst FROM G", ";"),
    ("^VALUES (1)", "VALUES"),
    ("^INSERT INTO G VALUES (1, 2)", "INSERT"),
    ("^EXPLAIN SELECT src FROM G", "EXPLAIN"),
    ("SELECT ^current_user() AS u FROM G", "CURRENT_USER"),
    ("SELECT size(^range(src)) AS n FROM G", "RANGE"),
    ("SELECT src FROM G WHERE size(^sequence(1, src)) > 3", "SEQUENCE"),
    ("SELECT size(^generate_series(1, 5)) AS n FROM G", "GENERATE_SERIES"),
    ("SELECT size(^list_resize(array(src), src)) AS n FROM G", "LIST_RESIZE"),
    ("SELECT ^printf('%1000000000d', src) AS t FROM G", "PRINTF"),
    ("SELECT ^printf('%*d', src, dst) AS t FROM G", "PRINTF"),
    ("SELECT ^COLUMNS('c0') AS t FROM G", "COLUMNS"),
    ("SELECT src FROM G WHERE ^COLUMNS('.*') > 0", "COLUMNS"),
    ("SELECT SUM(^COLUMNS('c0')) AS t FROM G", "COLUMNS"),
    ("SELECT ^alias(src) AS t FROM G", "ALIAS"),
    ("SELECT G.src FROM G JOIN H ON ^G.src < H.src", "<"),
    ("SELECT G.src FROM G JOIN H ON G.src = H.src, K WHERE ^1 + G.dst <> K.src", "<>"),
    ("SELECT G.src FROM G JOIN H ON ^NOT G.src <=> H.src", "NOT"),
    ("SELECT G.src FROM G, H WHERE ^G.src BETWEEN H.src AND H.dst", "BETWEEN"),
    ("SELECT G.src FROM G, H WHERE H.b AND ^G.src + 1 = H.src + G.dst", "="),
    ("SELECT G.src FROM G, H WHERE\n  ^G.src = H.src OR G.dst = H.dst", "OR"),
    ("SELECT G.src FROM G, H WHERE ^(G.src, G.dst) <> (H.src, H.dst)", "<>"),
    ("SELECT G.src FROM G, H WHERE ^NOT (G.src = H.src)", "NOT"),
    ("SELECT G.src FROM G, H WHERE ^CASE WHEN G.src = 1 THEN H.b END", "CASE"),
]

NAMES = [
    ("SELECT ^foo FROM G", "no column 'foo' is in scope here; in scope: src, dst"),
    ("SELECT src FROM G WHERE dst = 1 AND\n  ^foo = 2", "no column 'foo'"),
    ("SELECT src FROM G WHERE ^G = 3", "'G' is a table here, not a column; write G.column"),
    ("SELECT G.^foo FROM G", "has no column 'foo'; it has src, dst"),
    ("SELECT ^X.src FROM G", "no table or alias 'X' is in scope here; in scope: 'G'"),
    ("SELECT ^X.* FROM G", "no table or alias 'X'"),
    ("SELECT src FROM ^Gx", "there is no table 'Gx'; known tables: 'G', 'H', 'K', 'Odd', 'M'"),
    ("SELECT src FROM ^db.G", "there is no table 'db.G'"),
    ("SELECT ^a.b.c FROM G", "allowed are names of the form column or alias.column"),
    ("SELECT ^src FROM G, H", "column 'src' is ambiguous; write one of G.src, H.src"),
    ("SELECT A.src FROM G A JOIN G B ON A.src = B.src WHERE ^dst = 1", "ambiguous; write one of A.dst, B.dst"),
    ("SELECT G.src FROM G, ^G", "alias 'G' occurs twice"),
    ("SELECT x.src FROM G x JOIN H ^X ON TRUE", "alias 'X' occurs twice"),
    ("SELECT A.src FROM G A JOIN G B USING (^nope)", "no column 'nope'"),
    (
        "SELECT A.src FROM G A, G B JOIN G C ON ^A.src = C.src",
        "no table or alias 'A' is in scope here; in scope: 'B', 'C'",
    ),
    ("SELECT A.src FROM G A JOIN G B ON A.dst = B.src JOIN H USING (^src)", "ambiguous"),
]

TYPES = [
    ("SELECT 1 FROM H A JOIN H B ON ^A.b = B.src", "A.b = B.src: BOOLEAN and INT have no type in common"),
    ("SELECT 1 FROM G JOIN H ON ^G.src + 1 = H.d", "BIGINT and DATE have no type in common"),
    ("SELECT 1 FROM G JOIN K USING (src) JOIN H ON ^H.d <=> G.dst", "DATE and BIGINT have no type in common"),
    ("SELECT src FROM G WHERE ^src", "has the type int64; a condition is BOOLEAN"),
    ("SELECT src FROM G WHERE dst > 1 AND ^src + 1", "has the type int64"),
    ("SELECT src FROM H WHERE ^b + 1 > 3", "a number is wanted, and BOOLEAN is found"),
    ("SELECT src, ^foo(src) FROM G", "FOO is not supported: livejoin has no such function"),
    ("SELECT src, ^array(1) AS l FROM G", "output column 'l' has the type list"),
]

SYNTAX = [
    ("SELECT ^upper('a', 'b') FROM G", "UPPER takes 1 argument, and 2 are given"),
    ("SELECT ^abs((src), (dst), 1) FROM G", "ABS takes at most 1 argument, and 3 are given"),
    ("SELECT ^concat_ws() FROM G", "CONCAT_WS lacks an argument"),
    ("SELECT ^date_add(src) FROM G", "DATE_ADD lacks an argument"),
    ("SELECT src FROM G WHERE src IN (1 + ^)", "found ')' where a value is expected, behind '+'"),
    ("SELECT src FROM G WHERE src IN (TRUE ^AND )", "AND lacks what stands behind it"),
    ("SELECT src FROM G x ^y", "found 'y', which is not expected behind 'x'"),
    ("SELECT src FROM^", "the text ends where the name of a table"),
    ("SELECT src FROM G WHERE^", "WHERE lacks a condition"),
    ("SELECT (src ^FROM G", "where ')' is expected, which closes the '(' at line 1, column 8"),
    ('SELECT ^"G"."src" FROM G', '"G"."src": double quotes are strings in Spark SQL; names are quoted with backticks'),
    ('SELECT src FROM G WHERE dst = ^"G".src', "write `G`.src\n"),
    ('SELECT ^"G".* FROM G', "write `G`.*\n"),
    ('SELECT ^"s"."G"."a`b" + 1 FROM G', "write `s`.`G`.`a``b`\n"),
    ("SELECT ^'G'.'src' FROM G", "single quotes are strings"),
    ('SELECT A.src FROM G A JOIN G B ON A.src = ^"B".`src`', "write `B`.`src`\n"),
    ("SELECT 'abc FROM G^", "ends within a string"),
    ("SELECT src^, FROM G", "found a comma without an item behind it"),
    ("SELECT G.src FROM G^, WHERE src = 1", "found a comma without an item behind it"),
    ("^SELECT , src FROM G", "found a comma without an item before it"),
    ("SELECT coalesce(src, ^+) AS c FROM G", "found '+' without a value behind it"),
    ("SELECT * FROM VALUES (1, ^+, 2)", "found '+' without a value behind it"),
    ("SELECT G.src FROM G JOIN H ^ON", "ON lacks a condition; write"),
    ("SELECT G.src FROM G JOIN H ^ON WHERE w = 1", "ON lacks a condition"),
    ("SELECT G.src FROM (G JOIN H ^ON) JOIN K ON G.src = z", "ON lacks a condition"),
    ("SELECT G.src FROM G JOIN H ^ON JOIN K ON G.src = z", "ON lacks a condition"),
    ("SELECT G.src FROM G JOIN H ^USING ()", "USING lacks columns; write"),
    ("SELECT G.src FROM G JOIN H ^USING WHERE w = 1", "USING lacks columns"),
    ("SELECT G.src FROM G WHERE src ^IN ()", "IN lacks values"),
    ("^SELECT FROM G", "the SELECT list is empty"),
    ("^SELEC src FROM G", "no statement begins with 'SELEC' (did you mean 'SELECT'?). Allowed are"),
    ("SELECT src FROM G WHERE src = ^= 3", "found '=' where a value is expected, behind '='"),
    ("SELECT src FROM G WHERE src BETWEEN 3^", "BETWEEN lacks two values"),
]


def refusal(marked: str) -> tuple[SqlError, str, int]:
    sql = marked.replace("^", "")
    with pytest.raises(SqlError) as caught:
        bind_query(sql, CATALOG)
    return caught.value, sql, marked.index("^")


def offset_of(error: SqlError) -> int:
    return sum(len(line) + 1 for line in error.sql.split("\n")[: error.line - 1]) + error.column - 1


@pytest.mark.parametrize(("marked", "clause"), CLAUSES)
def test_clauses_outside(marked: str, clause: str) -> None:
    error, sql, offset = refusal(marked)
    assert type(error) is UnsupportedQueryError, error
    assert (error.clause, offset_of(error), error.sql) == (clause, offset, sql), error


@pytest.mark.parametrize(
    ("cases", "kind"), [(NAMES, UnknownNameError), (TYPES, SqlTypeError), (SYNTAX, SqlSyntaxError)]
)
def test_names_types_and_syntax(cases: list[tuple[str, str]], kind: type[SqlError]) -> None:
    for marked, message in cases:
        error, sql, offset = refusal(marked)
        assert type(error) is kind, error
        assert message in str(error)
        assert (offset_of(error), error.sql) == (offset, sql), error


def test_the_message_shows_line_and_caret() -> None:
    error, _, _ = refusal("SELECT src\nFROM G\n  ^SORT BY src")
    *shown, see = str(error).splitlines()[1:]
    assert shown == ["  at line 3, column 3:", "      SORT BY src", "      ^"]
    assert see == "  see: livejoin docs refused"


NESTS = [
    ("SELECT * FROM (", ") q"),
    ("SELECT 1 AS one FROM (SELECT * FROM (", ") q) p"),
    ("WITH w AS (", ")\nSELECT * FROM w"),
    ("SELECT src FROM K WHERE EXISTS (", ")"),
    ("SELECT src FROM K WHERE src IN (", ")"),
    ("SELECT src, (", ") AS s FROM K"),
    ("SELECT src FROM K UNION ALL (", ")"),
    ("SELECT * FROM K, LATERAL (", ") q"),
    ("SELECT 1 AS o FROM K SEMI JOIN (", ") q ON TRUE"),
]


@pytest.mark.parametrize(("before", "behind"), NESTS, ids=[before for before, _ in NESTS])
def test_the_caret_is_at_the_same_place_in_a_query_around(before: str, behind: str) -> None:
    marks = [marked for marked, _ in (*CLAUSES, *NAMES, *TYPES)]
    step = 1 if IS_FUZZ else 3
    for marked in marks[NESTS.index((before, behind)) % step :: step]:
        alone, sql, offset = refusal(marked)
        try:
            bind_query(before + sql + behind, CATALOG)
        except SqlError as error:
            is_of_more = error.message != alone.message  # of the text around, as of a value that it compares
            is_in_condition = "CURRENT_" in error.message and "WHERE" in before  # then the caret is at its beginning
            assert is_of_more or is_in_condition or offset_of(error) == len(before) + offset, error


def test_an_empty_text() -> None:
    for sql in ("", "  ", ";", "-- nothing"):
        with pytest.raises(SqlSyntaxError, match="empty"):
            bind_query(sql, CATALOG)


def test_positions_count_characters_and_not_bytes() -> None:
    error, _, _ = refusal("SELECT 'äöü€😀', ^foo FROM G")
    assert (error.line, error.column) == (1, 17)


def test_values_as_a_sub_query() -> None:
    for marked in (
        "src IN (VALUES (1))",
        "src NOT IN (VALUES (1), (2))",
        "EXISTS (VALUES (1))",
        "src = ALL (VALUES (1))",
    ):
        error, _, _ = refusal(f"SELECT src FROM G WHERE ^{marked}")
        assert type(error) is UnsupportedQueryError
        assert "IN (SELECT * FROM VALUES (1), (2) AS v(x))" in str(error)
        assert "DuckDB" not in str(error)


@pytest.mark.parametrize(
    "sql", ["SHOW TABLES", "ANALYZE t", "VACUUM t", "DROP t", "CREATE FOO x", "OPTIMIZE t", "COPY t FROM 'x'"]
)
def test_statements_that_no_parser_knows_are_refused_without_a_word_of_sqlglot(
    sql: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    word = sql.partition(" ")[0]
    with pytest.raises(UnsupportedQueryError, match=f"{word}( TABLE| FOO| T)? is not supported.*\\. Allowed are"):
        parse_statement(sql)
    with pytest.raises(UnsupportedQueryError, match=word):
        bind_query(sql, CATALOG)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")
