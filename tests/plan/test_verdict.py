"""The first lines of an explanation, for queries of every kind; and that text, JSON, page and picture say the same."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from explanations import EFFECTS, EXAMPLE

import tpcds_texts
from livejoin import Database, LivejoinError
from livejoin.errors import WeakGuaranteeError
from livejoin.plan import Explanation, UpdateBound, require
from livejoin.plan.explain.effects.amount import Growth
from livejoin.plan.explain.forms.facts import alternative_line, facts, gain, state_lines
from livejoin.plan.explain.verdict import effect_line, verdict
from livejoin.plan.explain.ways import way_lines
from tpch_rows import QUERIES, schema, statements

MORE = {
    "itself": (
        "SELECT a.ok, b.ok AS other FROM orders a JOIN orders b ON a.ck = b.ck AND a.day < b.day "
        "WHERE a.price > b.price"
    ),
    "windows": (
        "SELECT ok, RANK() OVER (PARTITION BY ck ORDER BY price) AS r, SUM(price) OVER (ORDER BY day) AS s FROM orders"
    ),
    "lag": "SELECT ok, LAG(price) OVER (PARTITION BY ck ORDER BY day) AS p FROM orders",
    "union all": "SELECT ck FROM orders UNION ALL SELECT ck FROM customer",
    "union": "SELECT ck FROM orders WHERE price > 3 UNION SELECT ck FROM customer",
    "except": "SELECT ck FROM customer EXCEPT SELECT ck FROM orders",
    "intersect": "SELECT ck FROM customer INTERSECT ALL SELECT ck FROM orders",
    "static": (
        "SELECT r.name, COUNT(*) AS n FROM customer c JOIN region r ON c.rk = r.rk GROUP BY r.name HAVING COUNT(*) > 2"
    ),
    "all static": "SELECT name FROM region WHERE rk > 3",
    "triangle": (
        "SELECT A.src AS a, B.src AS b, C.src AS c FROM G A, G B, G C "
        "WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src"
    ),
    "outer": "SELECT c.ck, o.ok FROM customer c LEFT JOIN orders o ON c.ck = o.ck",
    "not exists": "SELECT ck FROM customer c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.ck = c.ck)",
    "product": "SELECT c.ck, COUNT(*) AS n FROM customer c, G WHERE G.src > 3 GROUP BY c.ck",
    "more than the mean": "SELECT ok FROM orders o WHERE price > (SELECT AVG(price) FROM orders p WHERE p.ck = o.ck)",
    "first": "SELECT ok, price FROM orders ORDER BY price DESC LIMIT 5",
    "all but the first": "SELECT ok, price FROM orders ORDER BY price DESC OFFSET 5",
    "sorted": "SELECT ok, price FROM orders ORDER BY price DESC",
    "distinct": "SELECT DISTINCT ck FROM orders",
    "constant": "SELECT 1 AS one UNION ALL SELECT ck FROM orders",
}
TABLES = """
CREATE TABLE customer (ck BIGINT PRIMARY KEY, rk BIGINT);
CREATE TABLE orders (ok BIGINT PRIMARY KEY, ck BIGINT, day BIGINT, price BIGINT);
CREATE TABLE G (src BIGINT, dst BIGINT);
CREATE TABLE region (rk BIGINT PRIMARY KEY, name STRING) TBLPROPERTIES ('livejoin.static' = 'true');
"""


def explained() -> dict[str, Explanation]:
    found = {}
    tpch = ";".join(statements(schema(nullable=False)))
    for tables, queries in ((tpch, QUERIES), (tpcds_texts.SCHEMA, tpcds_texts.TEXTS), (TABLES, MORE)):
        db = Database()
        for statement in filter(str.strip, tables.split(";")):
            db.execute(statement)
        for name, sql in queries.items():
            found[name] = db.explain(sql.rstrip().removesuffix(";"))
    return found


@pytest.fixture(scope="module")
def told() -> dict[str, Explanation]:
    return explained()


def test_every_query_has_a_verdict_and_an_effect_of_each_table(told: dict[str, Explanation]) -> None:
    for name, one in told.items():
        first = verdict(one)
        assert first.endswith(".") and "unknown kind" not in first, name
        assert not re.search(r"\b(?:[cvk]\d+|query_\d+)\b", " ".join([first, *map(effect_line, one.effects)])), name
        assert {effect.table for effect in one.effects} == {a.table for a in _atoms(one)} - _derived(one), name


def _atoms(one: Explanation) -> list:  # type: ignore[type-arg]
    return [atom for part in (one, *one.others) for atom in part.atoms]


def _derived(one: Explanation) -> set[str]:
    """Relations of nested queries, and constant rows."""
    known = {effect.table for effect in one.effects}
    return {atom.table for atom in _atoms(one)} - known


def test_what_does_not_grow_is_promised(told: dict[str, Explanation]) -> None:
    """Where no table's change grows with the tables, the plan promises O(1), at least while rows never leave."""
    for name, one in told.items():
        if all(effect.growth == Growth.NONE for effect in one.effects):
            assert max(part.guarantee.bound for part in (one, *one.others)) <= UpdateBound.LAMBDA, name


def test_lines_are_no_longer_than_the_width(told: dict[str, Explanation]) -> None:
    for name, one in told.items():
        for width in (60, 100):
            lines = replace(one, sql="SELECT 1").text(width).splitlines()
            long = [line for line in lines if len(line) > width and max(map(len, line.split())) <= width // 2]
            assert not long, name


def test_all_forms_say_the_same(told: dict[str, Explanation]) -> None:
    for name, one in told.items():
        text, page, value = _plain(one.text(10_000)), _plain(_untagged(one.html())), _strings(one.to_dict())
        for part in (one, *one.others):
            lines = [line for _, own in facts(part) for line in own]
            lines += [property.because for property in part.query_class.properties]
            lines += [s.text for s in part.suggestions] + [gain(s) for s in part.suggestions]
            lines += [*map(alternative_line, part.alternatives), *state_lines(part.tables)]
            lines += [verdict(part), *map(effect_line, part.effects)]
            lines += [line for effect in part.effects for line in way_lines(effect)]
            for line in map(_plain, lines):
                assert line in text, (name, line)
                assert line in page, (name, line)
            for line in (verdict(part), *part.operators, part.reason, *map(effect_line, part.effects)):
                assert line in value, (name, line)


def test_the_picture_has_the_steps_and_the_tables_of_the_query(told: dict[str, Explanation]) -> None:
    for name, one in told.items():
        said = " ".join(text.text or "" for text in ET.fromstring(one.svg()).iter() if text.tag.endswith("}text"))
        for effect in one.effects:
            assert effect.table in said, name
        sql = one.sql.upper()
        for word in ("GROUP BY", "HAVING", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "DISTINCT "):
            if word in sql and "ROLLUP" not in sql and "WITH" not in sql and name not in REWRITTEN:
                assert word.strip() in said, (name, word)
        terms = one.svg(terms=True)
        assert all(html.escape(line.split(":")[0][:20]) in terms for line in one.operators), name


REWRITTEN = {"q11", "q15", "q16", "q22", "customers of both channels", "one row of each channel"}
"""Queries in which a step is another one after its rewrites, as the groups of a sub-query."""


def test_what_grows_above_the_joins_is_seen_at_the_tables(told: dict[str, Explanation]) -> None:
    """The rows of a partition, and those that a mean lets in as it moves."""
    for name in ("windows", "more than the mean"):
        nodes = [node for node in told[name].diagram.nodes if node.kind == "table"]
        assert {node.grows for node in nodes} == {told[name].effects[0].growth}
        assert told[name].effects[0].growth > Growth.NONE
    (check,) = (node for node in told["more than the mean"].diagram.nodes if node.title == "each match is checked")
    assert check.lines == ("o.price > (AVG(price))",)


def test_a_circle_is_drawn_as_its_tables(told: dict[str, Explanation]) -> None:
    nodes = told["triangle"].diagram.nodes
    assert [node.title for node in nodes] == ["result", "G A", "G B", "G C"]
    assert [(link.parent, link.child) for link in told["triangle"].diagram.links] == [(2, 3)]
    terms = told["triangle"].svg(terms=True)
    assert terms.count('class="atom"') == 3 and 'class="bag"' in terms


def test_the_first_lines_do_not_hide_what_is_checked() -> None:
    """The join of the orders of one customer with each other: O(1) in the papers' words, and many rows."""
    db = Database()
    db.execute("CREATE TABLE orders (ok BIGINT PRIMARY KEY, ck BIGINT, day BIGINT, price BIGINT)")
    db.apply("orders", [(i, 1, i, i * 7919 % 1000) for i in range(800)])
    unordered = (
        MORE["itself"].replace("a.day < b.day", "a.day <> b.day").replace("a.price > b.price", "a.price <> b.price")
    )
    said = " ".join(" ".join(db.explain(unordered).text().splitlines()[:4]).split())
    assert "A change of orders meets all rows of orders with the same ck (about 800 rows). Together, as a" in said
    assert "and as b, that is about 1,600 rows. It changes about 1,600 rows of the result." in said
    assert "Each combination of rows that it meets is checked: a.day <> b.day AND a.price <> b.price." in said
    said = " ".join(" ".join(db.explain(MORE["itself"]).text().splitlines()[:4]).split())
    assert "reads about 800 stored rows (1,602 at most): the rows of orders that it meets" in said
    assert "Each combination of rows that it meets is checked: a.price > b.price." in said


def test_the_first_lines_are_sentences(told: dict[str, Explanation]) -> None:
    for name, one in told.items():
        first = verdict(one)
        assert not re.search(r"unknown each|more the rows|and the rows of \w+ per|up to at most|\(\)|, ,", first), (
            name,
            first,
        )
        assert "Keeping the indexes" not in first, name


def test_each_number_of_the_first_line_is_of_the_rows_that_it_names() -> None:
    """What is met of one table is no number of rows of another one; all rows together are called so."""
    db = Database()
    db.execute("CREATE TABLE item (item BIGINT PRIMARY KEY, cat BIGINT)")
    db.execute("CREATE TABLE sale (sid BIGINT PRIMARY KEY, who BIGINT, item BIGINT)")
    db.apply({"item": [(i, i % 5) for i in range(10)], "sale": [(i, i % 4, i % 10) for i in range(120)]})
    join = "FROM sale a JOIN sale b ON a.who = b.who"
    for sql, said in (
        (
            f"SELECT a.sid, b.sid AS other {join}",
            "meets all rows of sale with the same who (about 30 rows). Together, as a and as b, that is about "
            "60 rows. It changes about 60 rows of the result.",
        ),
        (
            f"SELECT i.cat, COUNT(*) AS n {join} JOIN item i ON i.item = b.item GROUP BY i.cat",
            "meets all rows of sale with the same who (about 30 rows). Together, with rows of other tables that "
            "are found from there, that is up to 36 rows on average (at worst 51). "
            "It changes up to 5 rows of the result.",
        ),
        (
            "SELECT i.cat, s.sid FROM item i JOIN sale s ON s.item = i.item WHERE s.who = 3 AND i.cat = 1",
            "A change of item where cat = 1 (1 in 5) costs most: it meets all rows of sale with the same item that fit "
            "the query's conditions (about 3 rows, 6 at most). Over all changes of item, also those that do not fit, a "
            "change meets less than 1 row on average (6 at most), and changes less than 1 row of the result",
        ),
        ("SELECT cat, COUNT(*) AS n FROM item GROUP BY cat", "tables get: it reads 1 stored row, and changes 1 row"),
        (
            "SELECT sid, who FROM sale ORDER BY who, sid LIMIT 3",
            "tables get: it reads 1 stored row, and changes at most 1 row of the result.",
        ),
    ):
        told = db.explain(sql)
        assert said in verdict(told), verdict(told)
        assert told.to_dict()["verdict"] == verdict(told)


def test_what_is_said_of_nothing() -> None:
    db = Database()
    assert verdict(db.explain("SELECT 1 AS one")).startswith("No table of the query changes")
    db.execute("CREATE TABLE r (a BIGINT); CREATE TABLE s (a BIGINT)")
    db.apply({"r": [(1,), (2,)], "s": [(3,)]})
    said = verdict(db.explain("SELECT r.a FROM r JOIN s ON r.a = s.a"))
    assert said == (
        "A change of r costs most: it meets all rows of s with the same a (no row now). It changes no row of the "
        "result now."
    )


def test_where_a_change_goes(told: dict[str, Explanation]) -> None:
    """Each table that is met, one after the other, and what is only asked for."""
    assert [*way_lines(EFFECTS[0])] == ["G, as A: to G B by src (about 8 rows, 500 at most)"]
    (customer,) = (one for one in told["q18"].effects if one.table == "customer")
    assert [*way_lines(customer)] == [
        "customer: to orders by o_custkey; it is only asked whether lineitem has a row",
        "customer: then to their places in an order (an unknown number of stored rows)",
    ]
    (orders,) = (one for one in told["outer"].effects if one.table == "orders")
    assert [*way_lines(orders)] == ["orders, as o: to customer c by ck (at most 1 row)"]
    (only,) = (one for one in told["distinct"].effects)
    assert [*way_lines(only)] == ["orders: to rows equal to it (1 stored row)"]


def test_static_tables_and_parts_of_a_query() -> None:
    assert effect_line(EFFECTS[1]) == "H: never changes (declared static)"
    assert effect_line(EFFECTS[0], read_later=True).endswith("of the result, which are looked for when it is read")
    assert verdict(EXAMPLE).startswith("A change takes constant time while rows leave in the order")


def test_suggestions_that_help_come_first_and_false_ones_not_at_all() -> None:
    db = Database()
    db.execute("CREATE TABLE c (id BIGINT, name STRING); CREATE TABLE o (id BIGINT, cid BIGINT)")
    db.execute("CREATE TABLE l (oid BIGINT, price BIGINT)")
    sql = "SELECT c.name, l.price FROM c JOIN o ON o.cid = c.id JOIN l ON l.oid = o.id"
    kinds = [one.kind for one in db.explain(sql).suggestions]
    assert kinds == sorted(kinds, key=["primary key", "append-only table", "static table"].index)
    texts = [one.text for one in db.explain(sql).suggestions]
    assert "Declare PRIMARY KEY (cid) of o, if it is one." in texts
    db.apply("o", [(i, i % 3) for i in range(30)])
    texts = [one.text for one in db.explain(sql).suggestions]
    assert "Declare PRIMARY KEY (id) of o, if it is one." in texts
    assert "Declare PRIMARY KEY (cid) of o, if it is one." not in texts  # ten orders of each


def test_nothing_is_to_be_declared_of_a_nested_query() -> None:
    db = Database()
    db.execute("CREATE TABLE c (id BIGINT); CREATE TABLE o (id BIGINT, cid BIGINT)")
    told = db.explain("SELECT id FROM o WHERE cid NOT IN (SELECT id FROM c)")
    assert told.suggestions[0].kind == "not null"
    assert not any(" with " in one.text for one in told.suggestions)
    assert "CASE WHEN" not in str(told).split("\n\n")[0]


def test_without_deltas_nothing_is_looked_for() -> None:
    db = Database()
    for statement in filter(str.strip, TABLES.split(";")):
        db.execute(statement)
    told = db.explain(MORE["triangle"].replace(" AND C.dst = A.src", ""), deltas=False)
    assert "which are looked for when it is read" in " ".join(str(told).split())
    assert verdict(told).startswith("A change takes constant time")


def test_refused_queries_have_a_verdict_too() -> None:
    db = Database()
    db.execute("CREATE TABLE orders (ok BIGINT, ck BIGINT)")
    with pytest.raises(LivejoinError):
        db.explain("SELECT ok FROM orders WHERE RAND() > 0.5")


def _plain(text: str) -> str:
    return re.sub(r"[\s\u2502\u2514\u251c\u2500]+", " ", text)


def _untagged(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


def _strings(value: object) -> set[str]:
    if isinstance(value, dict):
        return {text for one in value.values() for text in _strings(one)}
    if isinstance(value, list):
        return {text for one in value for text in _strings(one)}
    return {value} if isinstance(value, str) else set()


def test_what_was_seen_is_not_suggested_away() -> None:
    """Who deletes rows of a table is not told to declare it append-only, nor static who changes it."""
    db = Database()
    db.execute("CREATE TABLE a (x BIGINT, y BIGINT); CREATE TABLE b (x BIGINT, z BIGINT); CREATE TABLE c (z BIGINT)")
    view = db.create_view("v", "SELECT a.y, c.z FROM a JOIN b ON a.x = b.x JOIN c ON b.z = c.z")
    kinds = {"static table", "append-only table"}

    def suggested() -> set[tuple[str, str]]:
        told = view.explain(analyze=True).suggestions
        return {(one.kind, of.table) for one in told for of in one.supposed if one.kind in kinds}

    first = suggested()
    assert {("append-only table", "a"), ("static table", "a")} <= first
    db.apply("a", [(1, 2), (1, 3)])
    assert suggested() == first - {("static table", "a")}
    db.execute("DELETE FROM a WHERE y = 2")
    assert not {("static table", "a"), ("append-only table", "a")} & suggested()
    log = {"a": [{"x": 1, "y": 1, "_change_type": "insert"}, {"x": 1, "y": 1, "_change_type": "delete"}]}
    told = db.explain("SELECT a.y, c.z FROM a JOIN b ON a.x = b.x JOIN c ON b.z = c.z", log=log).suggestions
    assert not {("static table", "a"), ("append-only table", "a")} & {
        (s.kind, of.table) for s in told for of in s.supposed
    }


def test_rows_that_are_looked_up_above_the_joins_have_a_number_of_their_own() -> None:
    """What a change meets is one number in the verdict, in the picture and in the record."""
    db = Database()
    db.execute("CREATE TABLE a (x BIGINT, y BIGINT); CREATE TABLE b (x BIGINT, z BIGINT)")
    db.apply({"a": [(i % 2, i) for i in range(20)], "b": [(i % 2, i) for i in range(60)]})
    told = db.explain("SELECT a.y, b.z FROM a JOIN b ON a.x = b.x ORDER BY b.z LIMIT 5")
    one = next(effect for effect in told.effects if effect.table == "a")
    assert (one.met.expected, one.looked_up.expected) == (30.0, 30.0)
    assert (
        "a: meets about 30 rows, reads about 30 stored rows, changes less than 1 row of the result on average (5 at "
        "most)"
    ) in " ".join(str(told).split())
    assert "a change here meets about 30 rows" in {node.reach for node in told.diagram.nodes}
    found = next(effect for effect in told.to_dict()["effects"] if effect["table"] == "a")
    assert (found["met"]["expected"], found["looked_up"]["expected"]) == (30.0, 30.0)
    itself = db.explain("SELECT p.y, q.y AS w FROM a p JOIN a q ON p.x = q.x")
    assert "a change as p meets about 10 rows" in {node.reach for node in itself.diagram.nodes}
    assert itself.effects[0].met.expected == 20.0


def test_ranks_of_groups_are_no_more_than_there_are_groups() -> None:
    db = Database()
    db.execute("CREATE TABLE o (id BIGINT PRIMARY KEY, c BIGINT)")
    db.apply("o", [(i, i % 100) for i in range(500)])
    told = str(db.explain("SELECT c, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM o GROUP BY c"))
    assert "reads up to 52 stored rows on average (at worst 101)" in " ".join(told.split())


def test_a_window_whose_rows_move_is_no_constant_time() -> None:
    """Its rows behind a change all change: only a bound that says so takes it."""
    db = Database()
    db.execute("CREATE TABLE t (k BIGINT PRIMARY KEY, p BIGINT)")
    told = db.explain("SELECT k, ROW_NUMBER() OVER (PARTITION BY p ORDER BY k) AS n FROM t")
    with pytest.raises(WeakGuaranteeError, match="a window is in the query"):
        require(told, UpdateBound.ALWAYS)
    require(told, UpdateBound.LINEAR)
    assert "rows that are kept in order cost O(log rows) each" in " ".join(str(told).split())


def test_a_condition_is_not_left_out_of_what_is_counted() -> None:
    """Rows can be filtered when they are read, and numbers of rows cannot."""
    db = Database()
    db.execute("CREATE TABLE e (a BIGINT NOT NULL, b BIGINT NOT NULL)")
    circle = "FROM e x JOIN e y ON x.b = y.a JOIN e z ON y.b = z.a AND z.b = x.a"
    kinds = {
        select: {one.kind for one in db.explain(f"SELECT {select} {circle}{group}").suggestions}
        for select, group in (
            ("x.a, y.a AS b, z.a AS c", ""),
            ("COUNT(*) AS n", ""),
            ("x.a, COUNT(*) AS n", " GROUP BY x.a"),
            ("x.a, MAX(y.b) AS m", " GROUP BY x.a"),
        )
    }
    assert [select for select, found in kinds.items() if "shape" in found] == ["x.a, y.a AS b, z.a AS c"]


def test_the_number_of_triangles_meets_rows() -> None:
    """Its bag is joined, though one number is kept: the verdict does not say that nothing is met."""
    db = Database()
    db.execute("CREATE TABLE e (a BIGINT NOT NULL, b BIGINT NOT NULL)")
    db.apply("e", [(i, (i * 7 + j) % 30) for i in range(30) for j in range(6)])
    told = db.explain("SELECT COUNT(*) AS n FROM e x JOIN e y ON x.b = y.a JOIN e z ON y.b = z.a AND z.b = x.a")
    (effect,) = told.effects
    assert effect.met.expected is not None
    assert effect.met.expected > 18  # six as each of three, and those that close a circle
    assert effect.result.most == 1
    assert "however large" not in verdict(told)
