"""Explanations: class, candidates, suggestions, bags, logs, the strict check."""

from __future__ import annotations

import sys
from fractions import Fraction
from unittest.mock import Mock

import pytest
from problems import problem

from conjunctive import bind
from livejoin import Database
from livejoin.changes import ChangeBatch, read_changes
from livejoin.errors import ChangeFormatError, SchemaError, WeakGuaranteeError
from livejoin.families.bags.update_cost import update_exponent
from livejoin.plan import Explanation, UpdateBound, describe, require
from livejoin.plan.explain.describing.log import describe_log
from livejoin.plan.explain.suggestions.suggestions import suggest
from livejoin.search.statistics import Statistics, given
from livejoin.sql import parse_schema
from livejoin.theory.cyclic.decomposition import decompose
from livejoin.theory.trees.all_trees import all_trees
from livejoin.theory.trees.join_tree import least_height_tree

CATALOG = parse_schema(
    """
    CREATE TABLE G (src BIGINT, dst BIGINT);
    CREATE TABLE R (a BIGINT, b BIGINT);
    CREATE TABLE S (b BIGINT, c BIGINT);
    CREATE TABLE T (c BIGINT, d BIGINT);
    CREATE TABLE city (id BIGINT PRIMARY KEY, name STRING);
    CREATE TABLE visit (person BIGINT, place BIGINT, day DATE);
    """
)
PATH = "SELECT R.a, S.b, S.c, T.d FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c"
TRIANGLE = "SELECT A.src FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src"


def told(sql: str, free: str | None = None, log: list[ChangeBatch] | None = None) -> Explanation:
    return describe(bind(sql, CATALOG), free=None if free is None else frozenset(free.split()), log=log)


def hops(number: int) -> str:
    return "SELECT A0.src FROM G A0 " + " ".join(f"JOIN G A{i} ON A{i - 1}.dst = A{i}.src" for i in range(1, number))


def test_witnesses() -> None:
    found = told(PATH, "a d").query_class
    assert found.name == "acyclic"
    assert (
        found["free-connex"].because
        == "a and d are output, and b and c on the path between them (by R, S and T) are not"
    )
    assert found["free-connex"].atoms == ("R", "S", "T")
    assert found["hierarchical"].variables == ("b", "c")
    assert told(TRIANGLE).query_class["acyclic"].because == "A, B and C form a cycle"
    below = told("SELECT R.a FROM R JOIN S ON R.b = S.b", "a").query_class["q-hierarchical"]
    assert below.because == "a is output and b is not, but every relation with a has b, and S has b alone"


def test_witnesses_of_foreign_keys() -> None:
    joined = told("SELECT V.person FROM visit V JOIN city ON V.place = city.id JOIN visit W ON V.person = W.person")
    found = joined.query_class["foreign-key acyclic"]
    assert (found.holds, found.variables) == (False, ("person",))
    assert found.because == "no primary key joins V with W on person"
    assert "foreign-key acyclic" not in {p.name for p in told(PATH).query_class.properties}


def test_a_query_that_is_not_free_connex_keeps_what_it_needs() -> None:
    found = told(PATH, "a d")
    assert found.executable
    assert found.guarantee.delay.startswith("constant delay a row over the output and b, c,")
    assert {s.kind for s in found.suggestions} == {"primary key", "static table", "append-only table"}


def test_an_output_column_to_add() -> None:
    """CROWN, section 8.1: SNB Q4 is of height 3; returning the message too makes it 2."""
    catalog = parse_schema(
        "CREATE TABLE tag (t BIGINT, n BIGINT); CREATE TABLE mt (m BIGINT, t BIGINT);"
        "CREATE TABLE message (m BIGINT, p BIGINT); CREATE TABLE knows (p BIGINT, f BIGINT);"
    )
    sql = "SELECT tag.n FROM tag, mt, message, knows WHERE tag.t = mt.t AND mt.m = message.m AND message.p = knows.p"
    query = bind(sql, catalog)
    found = describe(query, free=frozenset({"n", "t"}))
    assert (found.guarantee.bound, found.plan.height) == (UpdateBound.LAMBDA, 3)
    added = [s for s in found.suggestions if s.kind == "output column"]
    assert [s.text for s in added] == ["Return m too."]
    assert added[0].guarantee.bound == UpdateBound.FIFO
    again = describe(query, free=frozenset({"n", "t", "m"}))
    assert (again.guarantee.bound, again.plan.height) == (UpdateBound.FIFO, 2)


def test_keys_static_tables_and_shapes_to_change() -> None:
    found = {s.text: s.guarantee.bound for s in told(hops(5)).suggestions}
    assert found["Declare PRIMARY KEY (src) of G, if it is one."] == UpdateBound.ALWAYS
    assert not any(text.startswith("Leave ") for text in found)  # nobody would, where a declaration does as well
    static = {s.text: s.guarantee.bound for s in told(PATH).suggestions if s.kind == "static table"}
    assert static["Declare R a static table, if it never changes."] == UpdateBound.ALWAYS
    loose = [s for s in told(TRIANGLE).suggestions if "condition" in s.text]
    assert loose[0].guarantee.bound == UpdateBound.FIFO
    assert loose[0].executable


def test_a_suggestion_comes_true() -> None:
    """Declaring what is suggested gives what is promised."""
    for columns in ("src BIGINT PRIMARY KEY, dst BIGINT", "src BIGINT, dst BIGINT PRIMARY KEY"):
        query = bind(hops(5), parse_schema(f"CREATE TABLE G ({columns});"))
        assert describe(query).guarantee.bound == UpdateBound.ALWAYS


def test_two_changes_are_suggested_only_where_one_is_not_enough() -> None:
    query = bind(PATH, CATALOG)
    found = suggest(query, Statistics(), UpdateBound.FIFO)
    assert all(" and " not in s.text for s in found if s.kind in ("primary key", "static table"))


def test_nothing_is_suggested_where_nothing_is_better() -> None:
    assert told("SELECT R.a FROM R JOIN S ON R.b = S.b").suggestions == ()


@pytest.mark.parametrize(
    ("edges", "exponent"),
    [
        (["ab", "bc", "ca"], 1),  # triangle
        (["ab", "bc", "cd", "da"], 1),  # square: two bags
        (["ab", "ac", "bc", "ef", "de", "df", "cd"], 1),  # dumbbell: CROWN, Lemma 7.2
        (["ab", "ac", "ad", "bc", "bd", "cd"], 1),  # K4
        (["abc", "abd", "acd", "bcd"], 1),  # Loomis-Whitney
    ],
)
def test_what_a_change_of_a_bag_costs(edges: list[str], exponent: int) -> None:
    made = problem(edges)
    assert update_exponent(decompose(made.edges), made) == Fraction(exponent)


def test_a_triangle_is_maintained_over_a_bag() -> None:
    found = told(TRIANGLE)
    assert (found.plan.kind, found.executable, found.query_class.width) == ("bags", True, "3/2")
    assert found.guarantee.space.startswith("O(N^(3/2))")
    assert not found.obstacle
    assert found.tables == ()


def test_static_tables_in_a_circle_are_joined_once() -> None:
    """Bags would cost O(N) a change; view trees, which have the better bound, make the join of the static tables."""
    catalog = parse_schema(
        "CREATE TABLE R (a BIGINT); CREATE TABLE S (a BIGINT, b BIGINT) TBLPROPERTIES ('livejoin.static' = 'true');"
        "CREATE TABLE T (b BIGINT, c BIGINT) TBLPROPERTIES ('livejoin.static' = 'true');"
        "CREATE TABLE V (a BIGINT, c BIGINT) TBLPROPERTIES ('livejoin.static' = 'true');"
    )
    query = bind("SELECT R.a FROM R, S, T, V WHERE R.a = S.a AND S.b = T.b AND T.c = V.c AND V.a = R.a", catalog)
    found = describe(query)
    assert found.plan.kind == "view trees"
    assert {plan.guarantee.bound for plan in found.alternatives} == {UpdateBound.ALWAYS, UpdateBound.LINEAR}
    assert found.guarantee.preprocessing == "O(N^(3/2)) for N base rows"
    columns = {"S": "ab", "T": "bc", "V": "ac"}
    small = {n: {"rows": 1000.0, "distinct": dict.fromkeys(columns[n], 500)} for n in columns}
    few = describe(query, given(catalog, small))
    assert few.guarantee.preprocessing == "O(N^(3/2)) for N base rows, here about 8 rows"
    large = {n: {"rows": 100_000.0, "distinct": dict.fromkeys(columns[n], 300)} for n in columns}
    many = describe(query, given(catalog, large))
    assert many.plan.kind == "bags"


def changes(table: str, rows: list[tuple[int, ...]], signs: list[int], start: int, step: int) -> ChangeBatch:
    declared = CATALOG[table]
    kinds = {1: "insert", -1: "delete"}
    data = [
        {c.name: v for c, v in zip(declared.columns, row, strict=True)}
        | {"_change_type": kinds[sign], "_seq": start + step * i}
        for i, (row, sign) in enumerate(zip(rows, signs, strict=True))
    ]
    return read_changes(declared, data)


def test_the_figures_of_a_log() -> None:
    """Example 6.5 in small: one row of R encloses three of S; the tree of height 1 does not mind, the other does."""
    long = changes("R", [(1, 1), (1, 1)], [1, -1], 0, 100)
    short = changes("S", [(1, i // 2) for i in range(6)], [1, -1] * 3, 10, 10)
    two = told("SELECT R.a, S.c FROM R JOIN S ON R.b = S.b", log=[long, short]).log
    assert two is not None
    assert (two.changes, two.lifespans, two.pattern) == (8, 4, "mixed")
    assert (two.enclosure, two.largest) == (1.5, 3)
    assert (two.tree_enclosure, two.tree_largest) == (1.0, 0)
    found = told(PATH, log=[long, short]).log
    assert found is not None
    assert found.tree_enclosure == 1.0
    alone = told("SELECT R.a FROM R", log=[long]).log
    assert alone is not None
    assert (alone.pattern, alone.enclosure) == ("first-in-first-out", 1.0)


def test_crossing_lifespans_of_a_branching_tree() -> None:
    """The example of docs/decisions/0007: lambda_T is 1, and the work grows with the pairs."""
    catalog = parse_schema(
        "CREATE TABLE R (a BIGINT, w BIGINT); CREATE TABLE S (a BIGINT, b BIGINT, c BIGINT);"
        "CREATE TABLE T (b BIGINT, i BIGINT); CREATE TABLE U (c BIGINT, i BIGINT);"
    )
    query = bind("SELECT R.w, T.i, U.i AS j FROM R, S, T, U WHERE R.a = S.a AND S.b = T.b AND S.c = U.c", catalog)
    tree = next(tree for tree in all_trees(query.edges) if str(tree) == "0{1{2, 3}}")
    steps = [("U", (1, i), 1) for i in range(8)] + [("S", (1, 1, 1), 1)] + [("R", (1, i), 1) for i in range(8)]
    steps += [step for i in range(8) for step in (("T", (1, i), 1), ("U", (1, i), -1))]
    kinds = {1: "insert", -1: "delete"}
    log = [
        read_changes(
            catalog[name],
            [
                dict(zip(catalog[name].arrow.names, row, strict=True), _change_type=kinds[sign], _seq=at)
                for at, (table, row, sign) in enumerate(steps)
                if table == name
            ],
        )
        for name in "RSTU"
    ]
    found = describe_log(log, query, tree)
    assert (found.pattern, found.tree_largest) == ("first-in-first-out", 1)
    assert found.crossing_largest == 8
    assert describe_log(log, query, least_height_tree(query.edges)).crossing_enclosure is None


def test_a_log_gives_the_changes() -> None:
    log = [changes("R", [(1, 1)] * 20, [1, -1] * 10, 0, 2), changes("T", [(1, 1)], [1], 1, 1)]
    found = told(PATH, log=log)
    assert {t.name: (t.changes, t.changes_known) for t in found.tables}["R"] == (20, "observed")
    assert next(plan.tree for plan in found.alternatives if plan.chosen) == "[b]{R, S{T}}"


def test_logs_of_several_tables_need_an_order() -> None:
    log = [read_changes(CATALOG[name], [(1, 1)]) for name in ("R", "S")]
    with pytest.raises(ChangeFormatError, match="'_seq'"):
        told(PATH, log=log)


def test_strict() -> None:
    found = told(PATH)
    require(found, UpdateBound.FIFO)
    require(found, UpdateBound.LAMBDA)
    with pytest.raises(WeakGuaranteeError, match=r"not q-hierarchical, R has b without c, .* Declare PRIMARY KEY"):
        require(found, UpdateBound.ALWAYS)
    require(told(TRIANGLE), UpdateBound.LINEAR)
    with pytest.raises(WeakGuaranteeError, match="the query is cyclic, A, B and C form a cycle"):
        require(told(TRIANGLE), UpdateBound.FIFO)


def test_a_bounded_search_says_so() -> None:
    """The trees of a star are too many to look at all; the search for the bound and the cost has an answer anyway."""
    sql = "SELECT A0.src FROM G A0 " + " ".join(f"JOIN G A{i} ON A0.src = A{i}.src" for i in range(1, 12))
    found = told(sql)
    assert not found.search.complete
    assert "there are more" in found.search.note
    assert found.guarantee.bound == UpdateBound.ALWAYS
    assert told(PATH).search.note == "5 join trees compared, all that there are"


def test_suggestions_for_a_grid_of_twelve_atoms_are_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of it is edge covers of variables, for the preprocessing of static tables: 150,000 by a full search."""
    catalog = parse_schema("".join(f"CREATE TABLE T{i} (a INT, b INT, c INT, d INT);" for i in range(12)))
    across = [f"T{i}.b = T{i + 1}.a" for i in range(11) if i % 4 != 3]
    down = [f"T{i}.d = T{i + 4}.c" for i in range(8)]
    tables = ", ".join(f"T{i}" for i in range(12))
    widths = sys.modules["livejoin.theory.static.preprocessing_width"]
    covers = Mock(wraps=vars(widths)["fractional_edge_cover"])
    monkeypatch.setattr(widths, "fractional_edge_cover", covers)
    found = describe(bind(f"SELECT * FROM {tables} WHERE {' AND '.join(across + down)}", catalog))
    assert {suggestion.kind for suggestion in found.suggestions} == {"static table"}
    assert 0 < covers.call_count < 15_000


def test_a_declaration_can_be_supposed_and_nothing_is_declared() -> None:
    db = Database()
    db.execute(
        "CREATE TABLE o (oid BIGINT, cid BIGINT); CREATE TABLE l (oid BIGINT, i BIGINT); CREATE TABLE c (cid BIGINT)"
    )
    sql = "SELECT o.cid, l.i FROM o JOIN l ON l.oid = o.oid JOIN c ON c.cid = o.cid"
    tried = [one for one in db.explain(sql).to_dict()["suggestions"] if one["suppose"]]
    assert {one["kind"] for one in tried} >= {"primary key", "static table"}
    for one in tried:
        found = db.explain(sql, suppose=one["suppose"])
        assert found.guarantee.bound < db.explain(sql).guarantee.bound
        assert all(supposed["table"] in one["for_real"] for supposed in one["suppose"])
    assert db.tables["o"].primary_key == ()
    db.apply(
        {"o": [(k, k % 3) for k in range(30)], "l": [(k % 30, k) for k in range(60)], "c": [(k,) for k in range(3)]}
    )
    now = {one.table: one.result.expected for one in db.explain(sql).effects}
    static = db.explain(sql, suppose=[{"table": "c", "kind": "static table"}])
    found = {one.table: one.result.expected for one in static.effects if one.table != "c"}
    assert found == {"o": now["o"], "l": now["l"]}
    with pytest.raises(SchemaError, match=r"did you mean 'o'|not there"):
        db.explain(sql, suppose=[{"table": "oo", "kind": "static table"}])
    with pytest.raises(SchemaError, match="allowed are dicts as"):
        db.explain(sql, suppose=[{"table": "o"}])
