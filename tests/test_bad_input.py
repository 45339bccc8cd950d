"""Bad input: a clear error of the tree in `errors.py`, and the state afterwards equals the state before.

`Guarded` holds a filled database and proves after each refusal that nothing changed: versions, results, counts, tables,
invariants, and that a good commit still does what DuckDB says.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin import errors
from oracle import Oracle, assert_same_rows, difference, multiset, signed_multiset
from scenario import Change, ColumnSpec, QuerySpec, Row, TableSpec
from strategies import type_named

G = TableSpec("G", (ColumnSpec("src", type_named("BIGINT")), ColumnSpec("dst", type_named("BIGINT"))))
P = TableSpec(
    "P",
    (
        ColumnSpec("id", type_named("INT")),
        ColumnSpec("name", type_named("STRING"), not_null=True),
        ColumnSpec("price", type_named("DECIMAL(9, 2)")),
        ColumnSpec("born", type_named("DATE")),
        ColumnSpec("tiny", type_named("TINYINT")),
        ColumnSpec("yes", type_named("BOOLEAN")),
        ColumnSpec("ratio", type_named("DOUBLE")),
        ColumnSpec("at", type_named("TIMESTAMP")),
    ),
    primary_key=(0,),
)
VIEWS = {
    "hop2": QuerySpec(
        "SELECT A.src AS a, B.dst AS b FROM G A JOIN G B ON A.dst = B.src",
        "SELECT A.src, B.dst FROM G A, G B WHERE A.dst = B.src",
    ),
    "named": QuerySpec(
        "SELECT src, name, price FROM G, P WHERE dst = id AND tiny < 100",
        "SELECT src, name, price FROM G, P WHERE dst = id AND tiny < 100",
    ),
    "number": QuerySpec("SELECT CAST(name AS INT) AS n FROM P", "SELECT CAST(name AS INT) FROM P"),
}
EDGES: list[Row] = [(1, 2), (2, 3), (2, 3), (None, 1)]


def person(id: Any = 9, name: Any = "9", price: Any = None, **others: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "price": price, "born": None, "tiny": 1, "yes": None, "ratio": None, "at": None} | (
        others
    )


class Guarded:
    """A filled database with three views and a quiet one, and the oracle beside it."""

    def __init__(self) -> None:
        self.db = livejoin.Database()
        self.oracle = Oracle([G, P])
        for table in (G, P):
            self.db.create_table(table.name, table.column_list)
        self.seen: list[pa.Table] = []
        for name, query in VIEWS.items():
            self.db.create_view(name, query.sql).subscribe(self.seen.append)
        self.db.create_view("quiet", VIEWS["hop2"].sql, deltas=False)
        people = [tuple(person(i, str(i), Decimal("1.50")).values()) for i in (1, 2, 3)]
        self.good([Change("G", "insert", e) for e in EDGES] + [Change("P", "insert", p) for p in people])

    def good(self, changes: list[Change]) -> None:
        before = {name: multiset(self.oracle.result(q.plain)) for name, q in VIEWS.items()}
        names = {"G": [c.name for c in G.columns], "P": [c.name for c in P.columns]}
        data: dict[str, list[dict[str, Any]]] = {}
        for change in changes:
            row = dict(zip(names[change.table], change.row, strict=True)) | {"_change_type": change.kind}
            data.setdefault(change.table, []).append(row)
        commit = self.db.apply(data)
        self.oracle.apply(changes)
        for name, query in VIEWS.items():
            expected = difference(multiset(self.oracle.result(query.plain)), before[name])
            assert_same_rows(signed_multiset(commit[name]), expected, name)
        self.seen.clear()
        self.unchanged()

    def unchanged(self) -> None:
        self.db._check()
        assert not self.seen
        assert list(self.db.tables) == ["G", "P"]
        assert list(self.db.views) == [*VIEWS, "quiet"]
        for name, view in self.db.views.items():
            query = VIEWS["hop2" if name == "quiet" else name]
            assert_same_rows(view.to_arrow(), self.oracle.result(query.plain), name)
            assert view.count() == view.to_arrow().num_rows

    def refuses(self, action: Callable[[livejoin.Database], object], error: type[Exception], *parts: str) -> Exception:
        """The action raises exactly this error, whose message has all the parts, and changes nothing."""
        version = self.db.version
        with pytest.raises(error) as caught:
            action(self.db)
        assert type(caught.value) is error
        for part in parts:
            assert part.lower() in str(caught.value).lower(), f"{part!r} is missing in: {caught.value}"
        assert self.db.version == version
        self.unchanged()
        self.good([Change("G", "insert", (3, 1)), Change("G", "delete", (1, 2))])
        self.good([Change("G", "insert", (1, 2)), Change("G", "delete", (3, 1))])
        assert self.db.version == version + 2
        return caught.value


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()


CHANGE = errors.ChangeFormatError
VALUE = errors.ChangeValueError
BAD_DATA = [
    # table, data, error, parts of the message
    pytest.param("G", [(1,)], CHANGE, ["G"], id="too few values"),
    pytest.param("G", [(1, 2, 3)], CHANGE, ["G"], id="too many values"),
    pytest.param("G", [(1, 2), (1, 2, 3)], CHANGE, ["G", "row 1"], id="one tuple is too long"),
    pytest.param("G", [{"src": 1}], CHANGE, ["G", "dst"], id="a key is missing"),
    pytest.param("G", [{"src": 1, "dst": 2}, {"src": 1}], CHANGE, ["G", "dst", "row 1"], id="one dict lacks a key"),
    pytest.param("G", [{"src": 1, "dst": 2, "w": 3}], CHANGE, ["G", "w"], id="an unknown key"),
    pytest.param("G", pa.table({"src": [1]}), CHANGE, ["G", "dst"], id="a column is missing"),
    pytest.param("G", pa.table({"src": [1], "dst": [2], "w": [3]}), CHANGE, ["G", "w"], id="an unknown column"),
    pytest.param("G", 42, CHANGE, ["G", "int"], id="not data at all"),
    pytest.param("G", "text", CHANGE, ["G", "str"], id="a text is not data"),
    pytest.param("G", [1, 2], CHANGE, ["G"], id="numbers are not rows"),
    pytest.param(
        "G",
        [{"src": 1, "dst": 2, "_change_type": "upsert"}],
        CHANGE,
        ["G", "upsert", "_change_type", "update_preimage"],
        id="an unknown change type",
    ),
    pytest.param(
        "G", [{"src": 1, "dst": 2, "_change_type": None}], CHANGE, ["G", "_change_type"], id="a NULL change type"
    ),
    pytest.param(
        "G", [{"src": 1, "dst": 2, "_change_type": "INSERT"}], CHANGE, ["_change_type", "INSERT"], id="case matters"
    ),
    pytest.param(
        "G", pa.table({"src": [1], "dst": [2], "_change_type": [1]}), CHANGE, ["_change_type"], id="an integer as type"
    ),
    pytest.param("G", pa.table({"src": ["1"], "dst": [2]}), VALUE, ["G", "src"], id="a string for a BIGINT"),
    pytest.param("G", [("x", 2)], VALUE, ["G", "src", "x", "row 0"], id="a str for a BIGINT"),
    pytest.param("G", [(1, 2), (1.5, 2)], VALUE, ["G", "src", "1.5", "row 1"], id="a fraction for a BIGINT"),
    pytest.param("G", [(True, 2)], VALUE, ["G", "src", "row 0"], id="a bool for a BIGINT"),
    pytest.param("G", [(1, 2), (2**63, 2)], VALUE, ["src", str(2**63), "row 1", str(2**63 - 1)], id="above BIGINT"),
    pytest.param("G", pa.table({"src": [1], "dst": pa.array([2**63], pa.uint64())}), VALUE, ["dst"], id="uint64"),
    pytest.param("P", [person(2**31)], VALUE, ["P", "id", str(2**31), "row 0"], id="above INT"),
    pytest.param("P", [person(tiny=128)], VALUE, ["P", "tiny", "128", "127"], id="above TINYINT"),
    pytest.param("P", [person(price=Decimal("1.005"))], VALUE, ["price", "1.005"], id="too many decimals"),
    pytest.param("P", [person(price=Decimal("10000000"))], VALUE, ["price", "10000000"], id="too many digits"),
    pytest.param("P", [person(born="yesterday")], VALUE, ["born", "yesterday"], id="a str for a DATE"),
    pytest.param("P", [person(yes=1)], VALUE, ["yes"], id="an int for a BOOLEAN"),
    pytest.param("P", [person(name=5)], VALUE, ["name"], id="an int for a STRING"),
    pytest.param("P", [person(ratio="1")], VALUE, ["ratio"], id="a str for a DOUBLE"),
    pytest.param("P", [person(ratio=2**53 + 1)], VALUE, ["ratio"], id="an int that DOUBLE cannot hold"),
    pytest.param("P", [person(at=5)], VALUE, ["at"], id="an int for a TIMESTAMP"),
    pytest.param("P", [person(id=None)], VALUE, ["P", "id", "NULL", "row 0"], id="NULL in the primary key"),
    pytest.param("P", [person(8), person(name=None)], VALUE, ["name", "NULL", "row 1"], id="NULL in a NOT NULL column"),
    pytest.param("P", [person(1)], errors.DuplicateKeyError, ["P", "id", "1"], id="a key that is taken"),
    pytest.param("P", [person(8), person(8)], errors.DuplicateKeyError, ["P", "8"], id="a key twice"),
    pytest.param(
        "P", [person(8), person(8, "9")], errors.DuplicateKeyError, ["P", "8"], id="a key twice with different rows"
    ),
    pytest.param(
        "P",
        [person(1, "1", Decimal("9.99")) | {"_change_type": "update_postimage"}],
        errors.DuplicateKeyError,
        ["P", "1"],
        id="half an update",
    ),
    pytest.param(
        "G",
        [{"src": 7, "dst": 7, "_change_type": "delete"}],
        errors.AbsentRowError,
        ["G", "7", "row 0"],
        id="an absent row",
    ),
    pytest.param(
        "G",
        [{"src": 1, "dst": 2, "_change_type": "delete"}] * 2,
        errors.AbsentRowError,
        ["G", "src = 1, dst = 2"],
        id="deleted more often than it is there",
    ),
    pytest.param(
        "G",
        [{"src": 1, "dst": 5, "_change_type": "delete"}],
        errors.AbsentRowError,
        ["G"],
        id="absent although both values are known",
    ),
    pytest.param(
        "G",
        [{"src": None, "dst": None, "_change_type": "delete"}],
        errors.AbsentRowError,
        ["G"],
        id="an absent row of NULLs",
    ),
    pytest.param(
        "P",
        [person(1, "1") | {"_change_type": "update_preimage"}, person(1, "2") | {"_change_type": "update_postimage"}],
        errors.AbsentRowError,
        ["P"],
        id="a preimage with another price",
    ),
]


@pytest.mark.parametrize(("table", "data", "error", "parts"), BAD_DATA)
def test_bad_changes(guarded: Guarded, table: str, data: Any, error: type[Exception], parts: list[str]) -> None:
    caught = guarded.refuses(lambda db: db.apply(table, data), error, *parts)
    assert isinstance(caught, errors.ChangeError)


@pytest.mark.parametrize(("table", "data", "error", "parts"), BAD_DATA)
def test_bad_changes_amid_good_ones(
    guarded: Guarded, table: str, data: Any, error: type[Exception], parts: list[str]
) -> None:
    """The same in a commit of which the other table's changes are good, whichever comes first."""
    other = {"G": [(5, 1), (1, 5)]} if table == "P" else {"P": [person(77), person(78)]}
    guarded.refuses(lambda db: db.apply(other | {table: data}), error, *parts)
    guarded.refuses(lambda db: db.apply({table: data} | other), error, *parts)


def test_an_unknown_table(guarded: Guarded) -> None:
    guarded.refuses(lambda db: db.apply("H", [(1, 2)]), errors.SchemaError, "H", "G", "P")
    guarded.refuses(lambda db: db.apply({"G": [(8, 8)], "H": [(1, 2)]}), errors.SchemaError, "H", "G")


def test_a_table_twice(guarded: Guarded) -> None:
    guarded.refuses(lambda db: db.apply({"G": [(8, 8)], "g": [(9, 9)]}), errors.ChangeFormatError, "g", "twice")


def test_an_unknown_way_to_treat_conflicts(guarded: Guarded) -> None:
    with pytest.raises((errors.ChangeError, ValueError), match=r"error.*ignore"):
        guarded.db.apply("G", [(8, 8)], on_conflict="skip")
    guarded.unchanged()


def log(rows: list[tuple[int, int, str, int | None]]) -> pa.Table:
    src, dst, kinds, sequence = zip(*rows, strict=True)
    return pa.table(
        {"src": src, "dst": dst, "_change_type": list(kinds), "_seq": pa.array(sequence, pa.int64())},
    )


@pytest.mark.parametrize("granularity", ["change", "commit"])
def test_bad_replays(guarded: Guarded, granularity: str) -> None:
    def refuse(data: Any, error: type[Exception], *parts: str) -> None:
        guarded.refuses(lambda db: db.replay(data, granularity=granularity), error, *parts)

    refuse({"G": pa.table({"src": [1], "dst": [2]})}, CHANGE, "G", "_seq")
    refuse({"G": log([(8, 8, "insert", 1), (9, 9, "insert", None)])}, CHANGE, "_seq", "NULL")
    refuse({"G": pa.table({"src": [1], "dst": [2], "_seq": ["first"]})}, CHANGE, "_seq")
    refuse({"H": log([(8, 8, "insert", 1)])}, errors.SchemaError, "H")
    refuse({"G": log([(8, 8, "insert", 1), (7, 7, "delete", 2)])}, errors.AbsentRowError, "G", "7")
    refuse({"G": log([(8, 8, "insert", 1), (9, 9, "nonsense", 2)])}, CHANGE, "nonsense")


def test_a_deletion_before_its_insertion_is_absent_in_a_replay(guarded: Guarded) -> None:
    """Order counts between single changes: a replay that fails at its second change has not applied its first."""
    data = {"G": log([(8, 8, "insert", 3), (8, 8, "delete", 2), (6, 6, "insert", 1)])}
    guarded.refuses(lambda db: db.replay(data, granularity="change"), errors.AbsentRowError, "G", "8")


@pytest.mark.parametrize("same_table", [True, False])
def test_changes_of_equal_sequence_have_no_order(guarded: Guarded, same_table: bool) -> None:
    people = pa.Table.from_pylist([person(55) | {"_seq": 4}], schema=P.arrow.append(pa.field("_seq", pa.int64())))
    data = (
        {"G": log([(8, 8, "insert", 4), (9, 9, "insert", 4)])}
        if same_table
        else {"G": log([(8, 8, "insert", 4)]), "P": people}
    )
    guarded.refuses(lambda db: db.replay(data, granularity="change"), errors.ChangeFormatError, "_seq", "4")


def test_an_unknown_granularity(guarded: Guarded) -> None:
    with pytest.raises((errors.ChangeError, ValueError), match=r"change.*commit|commit.*change"):
        guarded.db.replay({"G": log([(8, 8, "insert", 4)])}, granularity="row")
    guarded.unchanged()


def test_an_expression_that_fails_undoes_the_commit(guarded: Guarded) -> None:
    """`CAST(name AS INT)` fails on one row after other views and tables have taken their share of the commit."""
    good_edges = [(3, 1), (7, 1)]
    for data in (
        {"G": good_edges, "P": [person(50, "50"), person(51, "not a number")]},
        {"P": [person(50, "50"), person(51, "not a number")], "G": good_edges},
        {"P": [person(52, "not a number")]},
    ):
        guarded.refuses(lambda db, data=data: db.apply(data), errors.ExpressionError, "number", "not a number")


def test_an_expression_that_fails_undoes_a_replay(guarded: Guarded) -> None:
    names = ["50", "not a number", "51"]
    rows = [person(50 + i, name) | {"_seq": i} for i, name in enumerate(names)]
    people = pa.Table.from_pylist(rows, schema=P.arrow.append(pa.field("_seq", pa.int64())))
    for granularity in ("change", "commit"):
        guarded.refuses(
            lambda db, g=granularity: db.replay({"P": people, "G": log([(8, 8, "insert", 9)])}, granularity=g),
            errors.ExpressionError,
            "not a number",
        )


def test_a_predicate_that_fails_undoes_the_commit() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (id BIGINT, text STRING)")
    plain = db.create_view("plain", "SELECT A.id FROM T A JOIN T B ON A.id = B.id")
    large = db.create_view("large", "SELECT A.id FROM T A JOIN T B ON A.id = B.id WHERE CAST(A.text AS INT) > 5")
    db.apply("T", [(1, "10"), (2, "1")])
    with pytest.raises(errors.ExpressionError, match=r"x1"):
        db.apply("T", [(3, "20"), (4, "x1"), (1, "11")])
    db._check()
    assert db.version == 1
    assert multiset(plain.to_arrow()) == multiset([(1,), (2,)])
    assert multiset(large.to_arrow()) == multiset([(1,)])
    db.apply("T", [(1, "11")])
    assert multiset(large.to_arrow()) == multiset([(1,)] * 4)


def test_a_view_whose_expression_fails_on_the_rows_is_not_created() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (id BIGINT, text STRING)")
    db.apply("T", [(1, "10"), (2, "ten")])
    with pytest.raises(errors.ExpressionError, match="ten"):
        db.create_view("numbers", "SELECT id FROM T WHERE CAST(text AS INT) > 5")
    assert list(db.views) == []
    db.apply("T", [{"id": 2, "text": "ten", "_change_type": "delete"}])
    assert db.create_view("numbers", "SELECT id FROM T WHERE CAST(text AS INT) > 5").count() == 1
    db._check()


def test_a_subscriber_that_fails_does_not_undo_the_commit() -> None:
    """The commit is done when subscribers are called: the error is the subscriber's, the state is the new one."""
    db = livejoin.Database()
    db.execute("CREATE TABLE T (id BIGINT)")
    view = db.create_view("all", "SELECT id FROM T")

    def fail(delta: pa.Table) -> None:
        msg = "out of paper"
        raise RuntimeError(msg)

    view.subscribe(fail)
    with pytest.raises(RuntimeError, match="out of paper"):
        db.apply("T", [(1,)])
    assert db.version == 1
    assert view.count() == 1
    db._check()


def test_ignored_conflicts_are_counted(guarded: Guarded) -> None:
    data = {
        "G": [
            {"src": 7, "dst": 7, "_change_type": "delete"},
            {"src": 1, "dst": 2, "_change_type": "delete"},
            {"src": 1, "dst": 2, "_change_type": "delete"},
            {"src": 9, "dst": 9, "_change_type": "insert"},
        ],
        "P": [person(1, "77"), person(60, "60")],
    }
    commit = guarded.db.apply(data, on_conflict="ignore")
    assert commit.ignored == 3
    assert commit.changes == 3
    guarded.seen.clear()
    good = [Change("G", "delete", (1, 2)), Change("G", "insert", (9, 9))]
    guarded.oracle.apply([*good, Change("P", "insert", tuple(person(60, "60").values()))])
    guarded.unchanged()


@pytest.mark.parametrize(
    ("columns", "error", "parts"),
    [
        ("a BIGINT, A INT", errors.SchemaError, ["a"]),
        ("_change_type STRING", errors.SchemaError, ["_change_type", "reserved"]),
        ("_seq BIGINT", errors.SchemaError, ["_seq", "reserved"]),
        ("a MAP<STRING, INT>", errors.SqlTypeError, ["MAP"]),
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
    ("SELECT src FROM G JOIN P ON G.dst = P.name", errors.SqlTypeError, ["BIGINT", "STRING"]),
    ("SELECT src FROM G WHERE src", errors.SqlTypeError, ["BOOLEAN"]),
    ("SELECT src AS _change_type FROM G", errors.UnsupportedQueryError, ["_change_type", "reserved"]),
    ("SELECT", errors.UnsupportedQueryError, ["FROM"]),
    ("SELECT src FROM", errors.SqlSyntaxError, []),
    ("SELECT src FROM G WHERE (src = 1", errors.SqlSyntaxError, []),
    ("", errors.SqlSyntaxError, []),
]


@pytest.mark.parametrize(("sql", "error", "parts"), BAD_QUERIES)
def test_bad_queries(guarded: Guarded, sql: str, error: type[Exception], parts: list[str]) -> None:
    guarded.refuses(lambda db: db.create_view("bad", sql), error, *parts)


UNSUPPORTED = [
    ("SELECT src, count(*) FROM G GROUP BY src", "GROUP BY"),
    ("SELECT sum(src) FROM G", "SUM"),
    ("SELECT DISTINCT src FROM G", "DISTINCT"),
    ("SELECT A.src FROM G A LEFT JOIN G B ON A.dst = B.src", "LEFT"),
    ("SELECT A.src FROM G A FULL OUTER JOIN G B ON A.dst = B.src", "FULL"),
    ("SELECT src FROM (SELECT src FROM G) q", "sub-quer"),
    ("SELECT src FROM G WHERE src IN (SELECT dst FROM G)", "sub-quer"),
    ("SELECT src FROM G WHERE EXISTS (SELECT 1 FROM P)", "sub-quer"),
    ("WITH q AS (SELECT src FROM G) SELECT src FROM q", "WITH"),
    ("SELECT src FROM G UNION ALL SELECT dst FROM G", "UNION"),
    ("SELECT src FROM G ORDER BY src", "ORDER BY"),
    ("SELECT src FROM G LIMIT 3", "LIMIT"),
    ("SELECT row_number() OVER (ORDER BY src) FROM G", "window"),
    ("SELECT A.src FROM G A JOIN G B ON A.dst < B.src", ""),
    ("SELECT A.src FROM G A JOIN G B ON A.dst = B.src OR A.src = B.dst", ""),
    ("SELECT A.src FROM G A JOIN G B ON A.dst + 1 = B.src", ""),
    ("SELECT A.src FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src", "cyc"),
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
    ["INSERT INTO G VALUES (1, 2)", "UPDATE G SET src = 1", "SELECT 1", "not sql at all", "", "DROP TABLE nothere"],
)
def test_bad_statements(guarded: Guarded, sql: str) -> None:
    with pytest.raises(errors.LivejoinError) as caught:
        guarded.db.execute(sql)
    assert str(caught.value)
    guarded.unchanged()


def test_times_with_a_zone_are_taken_as_utc() -> None:
    """Spark's `toArrow` gives every TIMESTAMP a zone: the instant counts."""
    db = livejoin.Database()
    db.execute("CREATE TABLE T (at TIMESTAMP)")
    view = db.create_view("all", "SELECT at FROM T")
    instant = datetime(2024, 5, 1, 12, tzinfo=UTC)
    db.apply("T", pa.table({"at": pa.array([instant], pa.timestamp("us", "Europe/Berlin"))}))
    assert view.to_arrow().to_pylist() == [{"at": datetime(2024, 5, 1, 12)}]


def test_the_one_reserved_bigint_is_refused(guarded: Guarded) -> None:
    """One 64-bit pattern stands for NULL inside; the value with these bits is refused and never mistaken."""
    guarded.refuses(lambda db: db.apply("G", [(0x7FF94E554C4C0001, 1)]), errors.ChangeValueError, "reserve")
