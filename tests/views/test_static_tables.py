"""Views over static tables: the classes of ICDT 2025, run beside DuckDB, and what follows for tables made of them."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

import livejoin
from livejoin.errors import (
    ChangeError,
    ChangeFormatError,
    ExpressionError,
    PreprocessingLimitError,
    SchemaError,
    SqlSyntaxError,
    UnsupportedQueryError,
)
from livejoin.plan.operators import BagOperator
from livejoin.search.algorithm import Algorithm
from livejoin.search.guarantee import UpdateBound
from livejoin.theory.static.static_dynamic import Tractability, static_dynamic
from oracle import multiset, signed_multiset
from static_lives import FORMS, StaticLife, StaticQuery, random_query, random_snowflake, with_branches
from strategies import seeds

SEED = int(os.environ.get("LIVEJOIN_SEED", "0"))

LINEAR = (
    StaticQuery(("bcd", "bcd", "b", "ad"), "abd", frozenset({0, 1, 2})),
    StaticQuery(("abd", "abd", "abd", "ae", "cd"), "acde", frozenset({0, 1, 2, 3})),
    StaticQuery(("bde", "bde", "e", "bc", "ae"), "abe", frozenset({0, 1, 3})),
    StaticQuery(("ab", "bc", "cd"), "abcd", frozenset({0})),
)


POLYNOMIAL = (
    StaticQuery(("ab", "bc", "ac"), "abc", frozenset({0})),  # the triangle of example 4
    StaticQuery(("ab", "b", "ac", "cd"), "abd", frozenset({0, 1})),  # Q2
    StaticQuery(("i", "ix", "ax", "iy", "by"), "iab", frozenset({0})),  # two paths, not joined as a whole
    StaticQuery(("a", "ax", "xy", "ay"), "a", frozenset({0})),  # a triangle that only counts: width 3/2
    StaticQuery(("i", "ix", "xy", "ya"), "ia", frozenset({0})),  # a bag of a bag
    StaticQuery(("ab", "ax", "xy", "by"), "abxy", frozenset({0})),  # a bag that filters another one
)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("query", POLYNOMIAL, ids=str)
def test_polynomial_queries_are_constant_and_right(query: StaticQuery, threads: int) -> None:
    """Refreshed in between, where what static tables are joined to is made anew."""
    for seed in seeds(1, 3):
        life = StaticLife(query, random.Random(seed), rows=12, threads=threads)
        life.views(*FORMS)
        for _ in range(3):
            life.commit(life.changes())
            life.refresh(life.generator.choice([atom for atom in life.held if atom not in query.dynamic]))
        life.database._check()
    told = {form: life.database.explain(query.sql(form)) for form in FORMS}
    assert {one.guarantee.bound for one in told.values()} == {UpdateBound.ALWAYS}
    assert told["distinct"].plan.kind == "view trees"  # all rows may be those of a join tree


@pytest.mark.parametrize("seed", seeds(1, 60))
def test_random_polynomial_queries(seed: int) -> None:
    """Commits and refreshes, in all forms, of queries for which static tables have to be joined."""
    generator = random.Random(SEED + seed)
    while True:
        query = random_query(generator)
        found = static_dynamic(query.sets, frozenset(query.free), query.dynamic, budget=100)
        if found.tractability is Tractability.POLYNOMIAL:
            break
    life = StaticLife(query, generator, rows=8)
    life.views(*(form for form in FORMS if query.free or form != "distinct"))
    for _ in range(3):
        life.commit(life.changes())
        life.refresh(generator.choice([atom for atom in life.held if atom not in query.dynamic]))
    life.database._check()
    for form in life.before:
        told = life.database.explain(query.sql(form), allow_product=True)
        assert told.guarantee.bound is UpdateBound.ALWAYS, (query, form)


def test_what_static_tables_were_joined_with_is_given_back() -> None:
    """A bag keeps its rows alone, before and behind a refresh, and views share it."""
    life = StaticLife(POLYNOMIAL[1], random.Random(1), values=10, rows=60)
    life.views("distinct", "counts")
    (node,) = [node for node in life.database._contents.graph.nodes if isinstance(node.plan, BagOperator)]
    assert (node.registered, len(node.readers)) == (0, 2)
    life.refresh(2)
    assert node.registered == 0


def test_a_snapshot_of_static_bags(tmp_path: Path) -> None:
    life = StaticLife(POLYNOMIAL[4], random.Random(2), rows=12)
    life.views(*FORMS)
    life.database.save(tmp_path / "kept")
    for trusted in (False, True):
        life.database = livejoin.Database.load(tmp_path / "kept", trusted=trusted)
        before = {atom: list(rows) for atom, rows in life.held.items()}
        life.commit(life.changes())
        life.refresh(2)
        for atom, rows in before.items():
            life._hold(atom, rows)
        life.before = {form: life.expected(form) for form in FORMS}


def test_a_refresh_that_fails_changes_nothing() -> None:
    database = livejoin.Database()
    database.create_table("T", "a INT PRIMARY KEY, b INT", static=True)
    database.create_table("R", "a INT")
    database.apply({"T": [(1, 1), (2, 2)], "R": [(1,), (2,)]})
    view = database.create_view("v", "SELECT R.a, 6 / T.b AS c FROM R JOIN T ON R.a = T.a")
    with pytest.raises(ExpressionError):
        database.refresh("T", [(1, 1), (2, 0)])
    with pytest.raises(ChangeError, match=r"row 2 of the given changes: .*key .*; give one row of each key$"):
        database.refresh("T", [(1, 1), (2, 2), (2, 3), (3, 3)])
    with pytest.raises(ChangeFormatError, match="some go"):
        database.refresh("T", [{"a": 1, "b": 1, "_change_type": "delete"}])
    with pytest.raises(ChangeError, match="not static"):
        database.refresh("R", [(1,)])
    with pytest.raises(ChangeError, match="by refresh"):
        database.apply("T", [(3, 3)])
    with pytest.raises(SchemaError):
        database.refresh("nothing", [])
    assert (database.version, sorted(view.to_arrow().to_pylist(), key=str)) == (
        1,
        [{"a": 1, "c": 6.0}, {"a": 2, "c": 3.0}],
    )
    delta = database.refresh("T", [(2, 2), (1, 3)])["v"]
    assert [(row["_change_type"], row["c"]) for row in delta.to_pylist()] == [("delete", 6.0), ("insert", 2.0)]
    assert database.refresh("T", [(2, 2), (1, 3)])["v"].num_rows == 0
    assert database.refresh("T", [])["v"].num_rows == 2
    database._check()


@pytest.mark.parametrize("query", LINEAR, ids=str)
def test_linear_queries_are_constant_and_right(query: StaticQuery) -> None:
    for seed in seeds(1, 3):
        life = StaticLife(query, random.Random(seed), rows=12)
        life.views(*FORMS)
        for _ in range(5):
            life.commit(life.changes())
        life.database._check()
    for form in FORMS[1:]:
        assert life.database.explain(query.sql(form)).guarantee.bound is UpdateBound.ALWAYS


def test_a_join_that_is_too_large_is_left_to_other_plans_whatever_is_summed() -> None:
    """Few pairs (i, a) are kept of a join of 3 million rows, and with what is added up all of them would be."""
    database, generator = livejoin.Database(), random.Random(1)
    database.create_table("R", "i INT")
    for name, columns in (("S", "i INT, x INT"), ("T", "x INT, a INT, v INT"), ("V", "a INT, b INT")):
        database.create_table(name, columns, static=True)
    database.apply("S", [(i, generator.randrange(3)) for i in range(3000)])
    database.apply("T", [(generator.randrange(3), generator.randrange(3), v) for v in range(3000)])
    database.apply("V", [(a, a) for a in range(3)])
    joined = "FROM R JOIN S ON R.i = S.i JOIN T ON S.x = T.x JOIN V ON V.a = T.a"
    for shown in ("R.i, V.b, T.a", "R.i, V.b, T.a, COUNT(*) AS n", "R.i, V.b, T.a, SUM(T.v) AS s"):
        told = database.explain(f"SELECT {shown} {joined} GROUP BY R.i, V.b, T.a")
        assert told.plan.kind == "join tree", shown
    view = database.create_view("sums", f"SELECT R.i, V.b, T.a, SUM(T.v) AS s {joined} GROUP BY R.i, V.b, T.a")
    assert database.apply("R", [(7,)])["sums"].num_rows == view.count() == 3


def test_what_a_key_determines_is_as_good_as_returned() -> None:
    """Of an order its product is known, so that a path from the product to what suppliers are asked for is safe."""
    database = livejoin.Database()
    database.create_table("orders", "id INT PRIMARY KEY, product INT")
    database.create_table("made_of", "product INT, part INT", static=True)
    database.create_table("supplies", "part INT, supplier INT", static=True)
    database.apply({"made_of": [(1, 10), (1, 11), (2, 11)], "supplies": [(10, 7), (11, 7), (11, 8)]})
    sql = (
        "SELECT o.id, s.supplier, COUNT(*) AS parts FROM orders o JOIN made_of m ON o.product = m.product "
        "JOIN supplies s ON m.part = s.part GROUP BY o.id, s.supplier"
    )
    told = database.explain(sql)
    assert (told.plan.kind, told.guarantee.bound) == ("view trees", UpdateBound.ALWAYS)
    assert not any("over a store" in line for line in told.operators)
    view = database.create_view("v", sql)
    database.apply("orders", [(5, 1), (6, 2)])
    database.apply(
        "orders", [{"id": 5, "product": 1, "_change_type": "delete"}, {"id": 9, "product": 1, "_change_type": "insert"}]
    )
    found = sorted(tuple(row.values()) for row in view.to_arrow().to_pylist())
    assert found == [(6, 7, 1), (6, 8, 1), (9, 7, 2), (9, 8, 1)]
    bag = next(node for node in database._contents.graph.nodes if isinstance(node.plan, BagOperator))
    assert "a refresh of one joins them anew" in str(database.explain())
    assert bag.nbytes > 0


def test_what_is_made_of_static_tables_is_static() -> None:
    """A sub-query over a static table joins two dynamic tables: no change goes through it."""
    database = livejoin.Database()
    database.create_table("T", "a INT, b INT", static=True)
    database.create_table("R", "a INT")
    database.create_table("P", "b INT, c INT")
    nested = "SELECT R.a, q.b FROM R JOIN (SELECT DISTINCT a, b FROM T) q ON R.a = q.a"
    assert database.explain(nested).guarantee.bound is UpdateBound.ALWAYS
    database.create_view("pairs", "SELECT a, MAX(b) AS b FROM T GROUP BY a")
    over = database.explain("SELECT R.a, pairs.b FROM R JOIN pairs ON R.a = pairs.a")
    assert over.guarantee.bound is UpdateBound.ALWAYS
    hard = database.explain("SELECT R.a, P.c FROM R JOIN (SELECT DISTINCT a, b FROM T) q ON R.a = q.a JOIN P USING (b)")
    assert hard.guarantee.bound is UpdateBound.LAMBDA


TRIANGLE = (
    "CREATE TABLE R (a INT, b INT)",
    "CREATE TABLE S (b INT, c INT) TBLPROPERTIES ('livejoin.static' = 'true')",
    "CREATE TABLE T (a INT, c INT) TBLPROPERTIES ('livejoin.static' = 'true')",
)
OF_TRIANGLE = "SELECT R.a, R.b, S.c FROM R JOIN S ON R.b = S.b JOIN T ON T.a = R.a AND T.c = S.c"


def _triangle(even: bool) -> livejoin.Database:
    """A static bag of 100 rows: as many as are expected, or more because all that is joined has one value."""
    db = livejoin.Database()
    for statement in TRIANGLE:
        db.execute(statement)
    single, tail = ((10, 0), []) if even else ((10, 1), [(i, i) for i in range(1000, 1200)])
    db.apply("S", [(i, i if even else 1) for i in range(10)] + tail)
    db.apply("T", [(10 * i + j, i if even else 1) for i in range(10) for j in range(single[0] if even else 1)] + tail)
    return db


def test_a_limit_on_what_static_tables_are_joined_to() -> None:
    """It decides what is planned, in both directions, and stays with a view."""
    db = _triangle(even=True)
    told = db.explain(OF_TRIANGLE, preprocessing_limit=100)
    assert told.plan.static is not None
    (bag,) = told.plan.static.bags
    assert (told.plan.kind, told.plan.static.order, bag.expected, bag.rows) == (
        "view trees",
        "a{b{R, c{S, T}}}",
        100,
        None,
    )
    assert "refused beyond 100 rows" in told.text()
    assert db.explain(OF_TRIANGLE, preprocessing_limit=99).plan.static is None  # auto has other plans
    with pytest.raises(UnsupportedQueryError, match=r"\(the join of S, T\) would have about 100 rows, more than"):
        db.create_view("v", OF_TRIANGLE, algorithm="view-tree", preprocessing_limit=99)
    view = db.create_view("v", OF_TRIANGLE, preprocessing_limit=100)
    (made,) = view.explain().to_dict()["plan"]["static"]["bags"]
    assert made == {"title": "static bag {S, T}", "expected": 100.0, "rows": 100}
    with pytest.raises(SchemaError, match="preprocessing_limit is -1"):
        db.explain(OF_TRIANGLE, preprocessing_limit=-1)


def test_bags_of_one_name_in_two_joins_have_their_own_rows() -> None:
    """The aliases are the same, the tables are not."""
    db = _triangle(even=True)
    db.create_table("U", "b INT, c INT", static=True)
    db.apply("U", [(i, i) for i in range(3)])
    view = db.create_view("v", f"{OF_TRIANGLE} UNION ALL {OF_TRIANGLE.replace('JOIN S ON', 'JOIN U S ON')}")
    told = view.explain()
    bags = [bag for one in (told, *told.others) if one.plan.static for bag in one.plan.static.bags]
    assert [(bag.title, bag.rows) for bag in bags] == [("static bag {S, T}", 100), ("static bag {S, T}", 30)]


def test_a_limit_holds_for_what_static_tables_turn_out_to_be_joined_to(tmp_path: Path) -> None:
    """When a view is made, when another one reads its bag, and at a refresh, also behind a snapshot."""
    db = _triangle(even=False)
    with pytest.raises(
        PreprocessingLimitError,
        match=r"view 'v': static bag .* more than 250 rows, the preprocessing_limit of view 'v'",
    ):
        db.create_view("v", OF_TRIANGLE, preprocessing_limit=250)
    assert not db.views
    db.create_view("v", OF_TRIANGLE, algorithm="view-tree")
    with pytest.raises(PreprocessingLimitError, match="'w'"):
        db.create_view(
            "w", f"SELECT a FROM ({OF_TRIANGLE}) q WHERE a < 5", algorithm="view-tree", preprocessing_limit=260
        )
    assert list(db.views) == ["v"]
    db.create_view("w", OF_TRIANGLE, algorithm="view-tree", preprocessing_limit=320)
    db.save(tmp_path)
    for one in (db, livejoin.Database.load(tmp_path), livejoin.Database.load(tmp_path, trusted=True)):
        with pytest.raises(PreprocessingLimitError, match="more than 320 rows"):
            one.refresh("T", [(i, 1) for i in range(100)])
        assert one.apply("R", [(0, 0), (0, 5)])["w"].num_rows == 2
        one._check()
        one.drop_view("w")
        one.refresh("T", [(i, 1) for i in range(100)])
        assert one.views["v"].to_arrow().num_rows == 2


def test_a_refresh_changes_the_rows_that_differ_alone() -> None:
    """Of a table without a key, with equal rows, strings and NULLs; also where it gives back what it had."""
    db = livejoin.Database()
    db.create_table("T", "a STRING, b DOUBLE", static=True)
    view = db.create_view("v", "SELECT a, b FROM T")
    rows: list[tuple[str | None, float | None]] = [
        ("x", 1.0),
        ("x", 1.0),
        ("x", 1.0),
        (None, None),
        ("y", float("nan")),
    ]
    generator = random.Random(3)
    for number in range(20):
        new = [generator.choice([*rows, ("new", float(number)), (None, 0.0), (None, -0.0)]) for _ in range(8)]
        before = Counter(map(repr, view.to_arrow().to_pylist()))
        commit = db.refresh("T", new)
        wanted = Counter(repr({"a": a, "b": b}).replace("-0.0", "0.0") for a, b in new)
        assert Counter(map(repr, view.to_arrow().to_pylist())) == wanted
        assert commit.changes == ((wanted - before) + (before - wanted)).total()
        rows = new
    assert db.refresh("T", rows).changes == 0
    db._check()


def test_alter_table_and_refresh_table_in_sql() -> None:
    """The plan moves there and back, what is promised holds, and subscribers go on."""
    db = _triangle(even=True)
    view = db.create_view("v", OF_TRIANGLE)
    above = db.create_view("w", "SELECT v.a, COUNT(*) AS n FROM v JOIN S ON v.c = S.c GROUP BY v.a")
    deltas: list[int] = []
    view.subscribe(lambda delta: deltas.append(delta.num_rows))
    db.apply("R", [(0, 0), (1, 0), (25, 2)])
    kept = [sorted(map(str, one.to_arrow().to_pylist())) for one in (view, above)]
    assert view.explain().plan.kind == "view trees"
    db.execute("ALTER TABLE S SET DYNAMIC")
    assert (view.explain().plan.kind, view.explain().guarantee.bound) == ("bags", UpdateBound.LINEAR)
    assert [sorted(map(str, one.to_arrow().to_pylist())) for one in (view, above)] == kept
    commit = db.apply({"S": [(2, 0)], "R": [(3, 2)]})
    assert (commit["v"].num_rows, commit.version, deltas) == (1, 4, [3, 1])
    db.execute("ALTER TABLE S SET TBLPROPERTIES ('livejoin.static' = 'true')")
    assert view.explain().plan.kind == "view trees"
    with pytest.raises(ChangeError, match="SET DYNAMIC"):
        db.apply("S", [(2, 0)])
    commit = db.execute("REFRESH TABLE S", [(2, 0)])
    assert commit is not None and commit["v"].num_rows == 3 and deltas == [3, 1, 3]
    db._check()
    with pytest.raises(ChangeFormatError, match="needs all rows"):
        db.execute("REFRESH TABLE S")
    with pytest.raises(SqlSyntaxError, match="1 values are given, and there are 0 places"):
        db.execute("ALTER TABLE S SET DYNAMIC", [(1, 2)])
    with pytest.raises(SchemaError, match="append_only and static"):
        db.alter_table("S", append_only=True)
    with pytest.raises(SchemaError, match="no table 'Q'"):
        db.execute("ALTER TABLE Q SET STATIC")
    with pytest.raises(SchemaError, match="nothing is to be altered"):
        db.alter_table("S")
    with pytest.raises(SchemaError, match="'v' is a view"):
        db.execute("ALTER TABLE v SET STATIC")
    db.create_view("x", OF_TRIANGLE, algorithm="view-tree")
    with pytest.raises(UnsupportedQueryError, match=r"view 'x' stands in the way: .*Drop it"):
        for name in ("S", "T"):
            db.alter_table(name, static=False)
    db.drop_view("x")
    with pytest.raises(SchemaError, match="static is 'yes'"):
        db.alter_table("S", static="yes")  # type: ignore[arg-type]


def test_an_alter_table_that_fails_changes_nothing() -> None:
    """The bag that the new plan would need is larger than the view allows."""
    db = _triangle(even=False)
    db.execute("ALTER TABLE S SET DYNAMIC")
    view = db.create_view("v", OF_TRIANGLE, preprocessing_limit=250)
    before = db.tables["S"], view.explain().plan
    with pytest.raises(PreprocessingLimitError):
        db.execute("ALTER TABLE S SET STATIC")
    assert (db.tables["S"], view.explain().plan) == before
    assert db.apply({"S": [(1, 1)], "R": [(0, 1)]})["v"].num_rows == 2
    db._check()


def _star(static: bool) -> livejoin.Database:
    """A table of sales with two dimensions, and a column that nothing reads."""
    db = livejoin.Database()
    db.create_table("D", "id INT PRIMARY KEY, name INT", static=static)
    db.create_table("E", "x INT, y INT", static=static)
    db.create_table("sales", "d INT, x INT, y INT, amount INT, unread INT")
    db.apply({"D": [(i, i % 3) for i in range(50)], "E": [(i % 10, i % 7) for i in range(100)]})
    generator = random.Random(5)
    db.apply("sales", [tuple(generator.randrange(n) for n in (60, 12, 7, 3, 100)) for _ in range(3000)])
    return db


def test_nothing_is_kept_that_only_a_change_of_static_tables_needs() -> None:
    """The rows above a static table are listed for a refresh, and forgotten behind it; views are read as before."""
    rows = "SELECT sales.d, sales.x, sales.amount, D.name, E.y FROM sales JOIN D ON sales.d = D.id"
    rows += " JOIN E ON sales.x = E.x AND sales.y = E.y"
    free, fixed = _star(static=False), _star(static=True)
    views = [db.create_view("v", rows, algorithm="crown") for db in (free, fixed)]
    before = views[1].stats()["state_bytes"]
    views[1]._node.wake(static_change=True)
    assert before < 0.95 * views[1].stats()["state_bytes"]
    fixed._contents.graph.rest()
    assert views[1].stats()["state_bytes"] == before
    assert "a refresh first loads the join anew" in views[1].explain().text()
    there = [(i, i % 3) for i in range(50)]
    for old, new in ((there, [(i, 5) for i in range(55)]), ([(i, 5) for i in range(55)], there)):
        delta = fixed.refresh("D", new)["v"]
        changes = [{"id": i, "name": name, "_change_type": "delete"} for i, name in old]
        changes += [{"id": i, "name": name, "_change_type": "insert"} for i, name in new]
        assert signed_multiset(delta) == signed_multiset(free.apply("D", changes)["v"])
    assert multiset(views[1].to_arrow()) == multiset(views[0].to_arrow())
    assert views[1].stats()["state_bytes"] == before
    for row in views[1].sample(20, seed=1).to_pylist():
        assert views[1].multiplicity(row) == views[0].multiplicity(row) > 0
    fixed._check()


@pytest.mark.parametrize("algorithm", ["auto", "aju", "crown"])
def test_a_static_table_above_one_that_changes_and_one_that_does_not(algorithm: Algorithm) -> None:
    """Its rows are there before those of the static table below are, and would not hear of them."""
    db = livejoin.Database()
    for name, columns in (("F", "f INT PRIMARY KEY, b INT"), ("P", "c INT PRIMARY KEY")):
        db.create_table(name, columns)
    for name, columns in (("T", "b INT PRIMARY KEY, c INT, d INT"), ("U", "d INT PRIMARY KEY")):
        db.create_table(name, columns, static=True)
    db.apply({"T": [(1, 1, 1)], "P": [(1,)], "U": [(1,)], "F": [(1, 1)]})
    sql = "SELECT f FROM F JOIN T ON F.b = T.b JOIN P ON T.c = P.c JOIN U ON T.d = U.d"
    view = db.create_view("v", sql, algorithm=algorithm)
    assert view.to_arrow().to_pylist() == [{"f": 1}]
    assert db.apply("P", [{"c": 1, "_change_type": "delete"}])["v"].num_rows == 1
    assert db.refresh("U", [])["v"].num_rows == 0
    assert db.apply("P", [(1,)])["v"].num_rows == 0
    assert db.refresh("U", [(1,)])["v"].num_rows == 1
    db._check()


@pytest.mark.parametrize("seed", seeds(3, 60))
def test_random_snowflakes_with_static_dimensions(seed: int) -> None:
    """Foreign-key joins and join trees, with and without threads, refreshed in between, altered, saved and loaded."""
    generator = random.Random(f"snowflake {SEED} {seed}")
    query = random_snowflake(generator)
    query = with_branches(query, generator) if seed % 3 == 2 else query
    life = StaticLife(query, generator, 8, 10, generator.choice(("auto", "crown")), 1 + seed % 2, keyed=True)
    life.views(*FORMS)
    for step in range(6):
        life.commit(life.changes())
        if (static := life.of("static")) and generator.random() < 0.6:
            life.refresh(generator.choice(static))
        if step == 3:
            life.alter(generator.randrange(len(query.edges)), generator.choice(("static", "dynamic")))
        life.database._check()
