"""What is drawn of queries from SQL to text: nodes, keys, views and conditions of each plan."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

import livejoin
from conjunctive import bind
from livejoin.catalog import Catalog
from livejoin.plan import Explanation, Statistics, describe, describe_query
from livejoin.sql import bind_query, parse_columns, parse_schema

pytestmark = pytest.mark.nojit

CATALOG = Catalog()
for table in (
    parse_columns("G", "src BIGINT, dst BIGINT"),
    parse_columns("P", "id BIGINT PRIMARY KEY, name STRING, born DATE"),
):
    CATALOG.add(table)


def explained(sql: str, live: bool = True) -> Explanation:
    return describe(bind(sql, CATALOG), live=live)


def tree_of(told: Explanation) -> str:
    """The tree without what is kept for look-ups and counted."""
    (part,) = (part for part in str(told).split("\n\n") if part.startswith(told.plan.kind))
    kept = [line for line in part.splitlines()[1:] if " indexes " not in line and "of the changes" not in line]
    return "\n".join(kept)


def check(sql: str, expected: str, live: bool = True) -> str:
    """Compare the tree; the whole text."""
    told = explained(sql, live)
    assert tree_of(told) == indent(dedent(expected).strip(), "  ")
    return str(told)


def test_one_table() -> None:
    text = check(" SELECT src, dst FROM G\n", "G(dst, src)  V_s")
    assert text.startswith(
        "verdict     A change takes constant time, whatever changes come.\n"
        "            In the papers' words: O(1), q-hierarchical, join tree (livejoin docs glossary).\n\n"
        "SELECT src, dst FROM G\n\nwhat would make it better\n"
    )
    assert "\n\nclass       q-hierarchical conjunctive query; 1 atom\n" in text
    assert "G (src, dst) for G: " in text
    assert "(32 in its record" in text


def test_three_hops() -> None:
    """Appendix D of CROWN: the middle of the path below a generalized root, the filter at the end."""
    text = check(
        "SELECT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d FROM G G1 JOIN G G2 ON G1.dst = G2.src "
        "JOIN G G3 ON G2.dst = G3.src WHERE G3.dst % 10 = 0",
        """
        [G1.dst]  V_s
        ├─ G G1(G1.dst, src)  key (G1.dst)  V_s V_p
        └─ G G2(G1.dst, G2.dst)  key (G1.dst)  V_s V_p V_l
           └─ G G3(G2.dst, G3.dst)  key (G2.dst)  V_s V_p
                  where dst % 10 = 0
        """,
    )
    assert "plan        join tree of height 2" in text


def test_a_star_is_q_hierarchical() -> None:
    text = check(
        "SELECT A.src FROM G A JOIN G B ON A.src = B.src JOIN G C ON A.src = C.src",
        """
        [src]  V_s
        ├─ G A(src)  key (src)  V_s V_p
        ├─ G B(src)  key (src)  V_s V_p
        └─ G C(src)  key (src)  V_s V_p
        """,
    )
    assert "update      O(1) a change, for every change sequence" in text
    assert "nothing was found that would give a better bound" in text


def test_a_product_without_deltas() -> None:
    """The key of a product is empty, and a view without deltas says so."""
    text = check(
        "SELECT G.src, P.name FROM G, P",
        """
        []  V_s
        ├─ G(src)  key ()  V_s V_p
        └─ P(name)  key ()  V_s V_p
        """,
        live=False,
    )
    assert "no deltas (deltas=False)" in text


def test_live_views_are_kept_for_deltas_only() -> None:
    sql = "SELECT A.src FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src"
    assert "V_l" in tree_of(explained(sql))
    assert "V_l" not in tree_of(explained(sql, live=False))


def test_columns_that_only_a_predicate_uses_are_not_kept() -> None:
    text = check(
        "SELECT 1 AS one FROM G JOIN P ON G.src = P.id WHERE P.name LIKE 'x%' AND G.dst > 5",
        """
        [src]  V_s
        ├─ G(src)  key (src)  V_s V_p
        │      where dst > 5
        └─ P(src)  key (src)  V_s V_p
               where name LIKE 'x%'
        """,
    )
    assert "  G (src) for G: " in text
    assert "  P (id) for P: " in text


def test_a_table_of_which_only_the_number_of_rows_counts() -> None:
    assert "  P (no columns) for P: " in str(explained("SELECT src FROM G, P"))


def test_a_triangle_is_one_bag() -> None:
    told = explained(
        "SELECT A.src FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src",
    )
    text = str(told)
    assert told.plan.kind == "bags"
    assert [set(node.atoms) for node in told.plan.nodes] == [{"A", "B", "C"}]
    assert "class       cyclic conjunctive query of width 3/2; 3 atoms" in text
    assert "no  acyclic" in text
    assert "refused" not in text
    assert "state, predicted" not in text


@pytest.mark.parametrize(
    ("sql", "bound", "update", "space"),
    [
        ("SELECT src, min(dst) FROM G GROUP BY src", "O1", "and one look-up in the store above it", "each group, with"),
        ("SELECT src FROM G ORDER BY src LIMIT 3", "O1", "and one look-up in the store above it", "some more rows"),
        (
            "SELECT DISTINCT A.src, B.dst FROM G A, G B WHERE A.dst = B.src",
            "linear",
            "at most O(N) for",
            "distinct row",
        ),
        (
            "SELECT A.src, max(name) FROM G A, P WHERE A.dst = id GROUP BY A.src",
            "FIFO",
            "amortised O(1) for FIFO or insertion-only sequences",
            "each group",
        ),
        (
            "SELECT A.src, min(C.dst) FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src GROUP BY A.src",
            "polynomial",
            "at most O(N^2) for",
            "each group, with",
        ),
        ("SELECT src FROM G UNION ALL SELECT dst FROM G", "O1", "q-hierarchical)", "size of the result"),
    ],
)
def test_a_store_above_a_join_is_part_of_the_promise(sql: str, bound: str, update: str, space: str) -> None:
    """DYN, section 5.1: where the output is not free-connex, a change costs what the join gains and loses."""
    promise = describe_query(bind_query(sql, CATALOG), Statistics()).guarantee
    assert str(promise.bound) == bound
    assert update in promise.update
    assert space in promise.space


@pytest.mark.parametrize(
    ("sql", "bound"),
    [
        ("SELECT R.a, SUM(S.c) FROM R, S WHERE R.b = S.b GROUP BY R.a", "linear"),
        ("SELECT R.a, R.b, SUM(S.c) FROM R, S WHERE R.b = S.b GROUP BY R.a, R.b", "O1"),
        ("SELECT S.b, SUM(S.c) FROM R, S WHERE R.b = S.b GROUP BY S.b", "O1"),
        ("SELECT K.a, SUM(S.c) FROM K, S WHERE K.b = S.b GROUP BY K.a", "O1"),
        ("SELECT R.a, SUM(D.c) FROM R, D WHERE R.b = D.b GROUP BY R.a", "O1"),
    ],
)
def test_an_aggregate_may_change_in_many_rows(sql: str, bound: str) -> None:
    """CROWN, section 7.3: many rows of R may share the key of a changed row of S, unless their key is R's or S static.

    The promise is then the one that a counter would have kept better, and names R.
    """
    catalog = parse_schema(
        """
        CREATE TABLE R (a BIGINT, b BIGINT);
        CREATE TABLE K (a BIGINT, b BIGINT PRIMARY KEY);
        CREATE TABLE S (b BIGINT, c BIGINT);
        CREATE TABLE D (b BIGINT, c BIGINT) TBLPROPERTIES ('livejoin.static' = 'true');
        """
    )
    promise = describe_query(bind_query(sql, catalog), Statistics()).guarantee
    assert str(promise.bound) == bound
    assert ("in all rows of R that share the changed row's key" in promise.update) == (bound == "linear")
    assert ("formulas 10 to 14" in promise.source) == (bound == "linear")


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT src, COLLECT_LIST(dst) AS l FROM G GROUP BY src", "all values of its group"),
        (
            "SELECT src, LISTAGG(CAST(dst AS STRING), ',') WITHIN GROUP (ORDER BY dst) AS l FROM G GROUP BY src",
            "all values",
        ),
        ("SELECT COLLECT_LIST(dst) AS l FROM G", "all values of the list"),
    ],
)
def test_a_list_is_written_anew(sql: str, says: str) -> None:
    """So a change costs more in a larger group, which the verdict says; a percentile does not."""
    database = livejoin.Database()
    database.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    database.apply("G", [(number % 3, number) for number in range(300)])
    text = str(database.explain(sql))
    assert says in " ".join(text.split())
    assert "however large the tables get" not in text
    assert "a list is written anew" in " ".join(text.split())
    same = str(database.explain("SELECT src, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY dst) FROM G GROUP BY src"))
    assert "however large the tables get" in " ".join(same.split())
