"""Tables as texts, and the property of views: what users test their own views by."""

from __future__ import annotations

import random
import sys
from datetime import timedelta
from pathlib import Path

import pytest

import livejoin
from livejoin.errors import ChangeFormatError, SchemaError, UnknownNameError
from livejoin.sql import read_models
from livejoin.testing import check_view, expect, given
from livejoin.testing.generated import _rows
from strategies import IS_FUZZ

EXAMPLES = 8 if IS_FUZZ else 4
SCHEMA = """
    CREATE TABLE orders (
        id BIGINT PRIMARY KEY, customer STRING, amount DECIMAL(10, 2), day DATE, paid BOOLEAN DEFAULT false
    );
    CREATE VIEW totals AS
        SELECT customer, SUM(amount) AS total, MAX(day) AS last, BOOL_OR(paid) AS paid FROM orders GROUP BY customer
"""


@pytest.fixture
def db() -> livejoin.Database:
    """One table and one view."""
    found = livejoin.Database()
    found.execute(SCHEMA)
    return found


def test_tables_and_views_as_texts(db: livejoin.Database) -> None:
    given(
        db,
        orders="""
            id | customer | amount | day        | paid
            ---+----------+--------+------------+-----
            1  | Zoë      | 20.50  | 2024-01-02 | true
            2  | Zoë      | 1      | 2024-01-05 |
            3  | ''       |        |            | false
            4  |          | 7      | 2024-01-01 | false
        """,
    )
    expect(
        db.views["totals"],
        """
            | last       | customer | total | paid  |
            | 2024-01-05 | Zoë      | 21.5  | true  |
            |            | ''       |       | false |
            | 2024-01-01 |          | 7.00  | false |
        """,
    )
    commit = given(
        db,
        orders="""
            ± | id | customer | amount | day        | paid
            - | 2  | Zoë      | 1      | 2024-01-05 |
            + | 5  | "a | b"  | 3      | 2024-02-01 | true
        """,
    )
    delta = """
        ±  | customer | total | last
        -u | Zoë      | 21.50 | 2024-01-05
        +u | Zoë      | 20.50 | 2024-01-02
        +  | "a | b"  | 3     | 2024-02-01
    """
    expect(commit["totals"], delta, of=db.views["totals"])
    expect(commit["totals"], delta)


def test_a_difference_is_shown(db: livejoin.Database) -> None:
    given(db, orders="id | customer | amount\n1 | a | 1\n2 | b | 2")
    with pytest.raises(AssertionError) as told:
        expect(db.views["totals"], "customer | total\na | 1\nb | 3\nb | 3")
    assert str(told.value).splitlines() == [
        "view 'totals' has other rows (customer, total):",
        "  missing   b | 3.00  (2 times)",
        "  too many  b | 2.00",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the text has no line"),
        ("id | customer\n1 | a | b", "3 cells stand under 2 columns"),
        ("id | id\n1 | 2", "has a name twice"),
        ("± | id\n% | 1", "'%' is no kind of a change"),
    ],
)
def test_what_is_no_table_is_refused(db: livejoin.Database, text: str, says: str) -> None:
    with pytest.raises(ChangeFormatError, match=says):
        given(db, orders=text)
    assert db.version == 0


def test_an_expectation_of_a_name_is_refused() -> None:
    with pytest.raises(ChangeFormatError, match=r"expect was given 'v'; give a view, as db.views\['totals'\]"):
        expect("v", "n | 1")  # type: ignore[arg-type]


def test_an_expectation_of_other_columns_is_refused(db: livejoin.Database) -> None:
    with pytest.raises(ChangeFormatError, match="no column 'totl' \\(did you mean 'total'\\?\\)"):
        expect(db.views["totals"], "totl\n1")
    with pytest.raises(ChangeFormatError, match="does not fit"):
        expect(db.views["totals"], "total\nmany")


@pytest.mark.parametrize("against", ["anew", "duckdb"])
def test_a_view_that_is_right_passes(against: str) -> None:
    sql = """
        SELECT o.customer, COUNT(*) AS n, SUM(o.amount) AS s, AVG(l.x) AS x
        FROM orders o LEFT JOIN lines l ON o.id = l.id AND l.b GROUP BY o.customer
    """
    schema = """
        CREATE TABLE orders (id BIGINT PRIMARY KEY, customer STRING, amount DECIMAL(4, 2), at TIMESTAMP);
        CREATE TABLE lines (id INT, x DOUBLE, b BOOLEAN, d DATE, y BINARY)
    """
    check_view(sql, schema, examples=EXAMPLES, against=against)  # type: ignore[arg-type]


def test_tables_that_promise_things_are_kept_to_it() -> None:
    schema = """
        CREATE TABLE s (a INT, b INT) TBLPROPERTIES ('livejoin.static' = 'true');
        CREATE TABLE log (a INT NOT NULL, c INT CHECK (c >= 0)) TBLPROPERTIES ('livejoin.append_only' = 'true');
        CREATE TABLE w (a INT, c INT AS (a + 1)) TBLPROPERTIES ('livejoin.window_rows' = '5');
        CREATE VIEW v AS SELECT a, COUNT(*) AS n FROM log GROUP BY a
    """
    check_view("SELECT v.n, s.b, w.c FROM v JOIN s ON v.a = s.a JOIN w ON w.a = v.a", schema, examples=EXAMPLES)


def test_a_view_that_is_wrong_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    made = livejoin.View.to_arrow
    monkeypatch.setattr(
        livejoin.View, "to_arrow", lambda view: made(view).slice(0, 3) if view.name == "checked" else made(view)
    )
    with pytest.raises(AssertionError, match="after these commits:\n  1\\. t: \\+"):
        check_view("SELECT a FROM t", "CREATE TABLE t (a INT)", examples=30, against="duckdb")


def test_what_cannot_be_checked_is_said() -> None:
    with pytest.raises(UnknownNameError):
        check_view("SELECT b FROM t", "CREATE TABLE t (a INT)")


@pytest.mark.parametrize("against", ["anew", "duckdb"])
def test_a_query_that_fails_on_some_rows_is_found(against: str) -> None:
    sql, schema = "SELECT a / b AS x FROM t", "CREATE TABLE t (a INT, b INT{})"
    with pytest.raises(AssertionError, match=r"on some rows the query has no value.*division by zero"):
        check_view(sql, schema.format(""), against=against)  # type: ignore[arg-type]
    check_view(sql, schema.format(" CHECK (b <> 0)"), examples=EXAMPLES)  # rows that it fails on do not come


def test_hypothesis_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ImportError, match="pip install hypothesis"):
        check_view("SELECT a FROM t", "CREATE TABLE t (a INT)")


def test_a_word_that_is_none_is_refused() -> None:
    with pytest.raises(SchemaError, match="against is 'ducdkb'; allowed are 'anew' and 'duckdb'"):
        check_view("SELECT a FROM t", "CREATE TABLE t (a INT)", against="ducdkb")  # type: ignore[arg-type]


def test_rows_of_empty_cells_are_rows() -> None:
    db = livejoin.Database()
    db.execute("""
        CREATE TABLE t (a INT, b STRING, c INT); CREATE TABLE one (a INT);
        CREATE VIEW v AS SELECT a, b, c FROM t; CREATE VIEW w AS SELECT a FROM one
    """)
    given(db, t="a | b | c\n--|---|--\n | | \n1 | x |\n | y | \n| | | |", one="a\n--\n| |\n1")
    assert sorted(map(str, db.views["v"].to_pylist())) == sorted(
        map(
            str,
            [{"a": None, "b": None, "c": None}] * 2 + [{"a": 1, "b": "x", "c": None}, {"a": None, "b": "y", "c": None}],
        )
    )
    assert len(db.views["w"].to_pylist()) == 2
    expect(db.views["w"], "a\n| |\n1")
    with pytest.raises(AssertionError, match="missing   NULL"):
        expect(db.views["w"], "a\n| |\n| |\n1")
    commit = given(db, t="± | a | b | c\n- | | | \n+ | | |")
    expect(commit["v"], "± | a | b | c")
    given(db, t="± | a | b | c\n- | | |")
    assert len(db.views["v"].to_pylist()) == 3


def test_tables_and_snapshots_are_expected_as_views_are(db: livejoin.Database) -> None:
    given(db, orders="id | customer | amount\n1 | a | 1.5")
    expect(db.tables["orders"], "id | amount | paid\n1 | 1.50 | false")
    with db.snapshot() as at:
        given(db, orders="id | customer | amount\n2 | b | 1")
        expect(at.tables["orders"], "id | customer\n1 | a")
        expect(at.views["totals"], "customer | total\na | 1.5")
        with pytest.raises(AssertionError, match="'totals' at version 1 has other rows"):
            expect(at.views["totals"], "customer\nb")
    with pytest.raises(AssertionError, match="table 'orders' has other rows"):
        expect(db.tables["orders"], "id\n1")


def test_the_line_of_names_alone_expects_no_row(db: livejoin.Database) -> None:
    expect(db.views["totals"], "customer | total")
    with pytest.raises(ChangeFormatError, match=r"the first one has the names .* also where there is no row"):
        expect(db.views["totals"], "")
    given(db, orders="id | customer\n1 | a")
    with pytest.raises(AssertionError, match="too many  a"):
        expect(db.views["totals"], "customer")


def test_cells_of_lists_structs_and_maps_are_json() -> None:
    db = livejoin.Database()
    db.execute("""
        CREATE TABLE t (id INT, a ARRAY<STRING>, s STRUCT<x: DECIMAL(5, 2), d: DATE>, m MAP<STRING, INT>);
        CREATE VIEW v AS SELECT id, a, s, m FROM t
    """)
    text = """
        id | a           | s                             | m
        1  | ["a", "b"] | {"x": 1.5, "d": "2026-01-01"} | {"b": 2, "a": 1}
        2  |             | {"x": null, "d": null}        | {}
    """
    commit = given(db, t=text)
    expect(db.views["v"], text)
    expect(db.tables["t"], text)
    expect(commit["v"], text, of=db.views["v"])
    with pytest.raises(AssertionError, match="missing   1"):
        expect(db.views["v"], 'id | a\n1 | ["a"]\n2 |')
    with pytest.raises(ChangeFormatError, match="'a' does not fit ARRAY<STRING>"):
        expect(db.views["v"], "id | a\n1 | [a")


def test_views_of_a_folder_are_checked_over_one_another(tmp_path: Path) -> None:
    (tmp_path / "paid.sql").write_text("SELECT customer, amount FROM {{ source('shop', 'orders') }} WHERE paid")
    (tmp_path / "sums.sql").write_text("SELECT customer, SUM(amount) AS s FROM {{ ref('paid') }} GROUP BY customer")
    models = read_models(tmp_path)
    schema = SCHEMA.split(";", maxsplit=1)[0]
    check_view(models["sums"], schema, views=models, examples=EXAMPLES)
    with pytest.raises(UnknownNameError, match="no table 'paid'"):
        check_view(models["sums"], schema)


def test_a_view_that_reads_the_time_is_checked_while_it_moves() -> None:
    sql = "SELECT k, COUNT(*) AS n FROM t WHERE at > now() - INTERVAL '1' HOUR GROUP BY k"
    schema = "CREATE TABLE t (k INT, at TIMESTAMP)"
    check_view(sql, schema, examples=3 * EXAMPLES)
    with pytest.raises(SchemaError, match="against='duckdb' has another now"):
        check_view(sql, schema, against="duckdb")


def test_time_that_moves_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = livejoin.Database.advance
    monkeypatch.setattr(livejoin.Database, "advance", lambda db, time: moved(db, time - timedelta(days=9)))
    monkeypatch.setattr(livejoin.View, "to_arrow", lambda view: view.schema.empty_table())
    with pytest.raises(AssertionError, match=r"the delta is .*(?s:.*)1\. t: \+") as told:
        check_view("SELECT k FROM t WHERE at > now()", "CREATE TABLE t (k INT, at TIMESTAMP)")
    assert told.value.__cause__ is None  # nothing but the message
    assert not getattr(told.value, "__notes__", [])


def test_rows_of_all_types_are_made_up() -> None:
    schema = """
        CREATE TABLE t (
            k INT, a ARRAY<INT>, s STRUCT<x: DOUBLE, y: ARRAY<DATE>>, m MAP<STRING, DECIMAL(3, 1)>, v VARIANT,
            i INTERVAL DAY TO SECOND, y INTERVAL YEAR TO MONTH
        )
    """
    check_view("SELECT k, a, s, m, v, i, y FROM t WHERE k > 0", schema, examples=2 * EXAMPLES)
    made = []
    for kind in (
        "ARRAY<INT>",
        "STRUCT<x: INT>",
        "MAP<STRING, INT>",
        "INTERVAL DAY TO SECOND",
        "INTERVAL YEAR TO MONTH",
    ):
        db = livejoin.Database()
        db.execute(f"CREATE TABLE t (x {kind} NOT NULL)")
        made.append({str(row["x"]) for n in range(20) for row in _rows(db.tables["t"], random.Random(n), 3)})
    assert all(len(values) > 2 for values in made), made
