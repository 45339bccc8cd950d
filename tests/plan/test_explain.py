"""What `explain` says of a plan, in full."""

from __future__ import annotations

from textwrap import dedent

import pytest

from livejoin.plan import choose_tree, compile_plan, explain
from livejoin.schema import Catalog
from livejoin.sql import bind, parse_columns

pytestmark = pytest.mark.nojit

CATALOG = Catalog()
for table in (
    parse_columns("G", "src BIGINT, dst BIGINT", None),
    parse_columns("P", "id BIGINT PRIMARY KEY, name STRING, born DATE", None),
):
    CATALOG.add(table)

EVERY = "update      O(1) a change, for every change sequence (height 1: the query is q-hierarchical)"
FIFO = (
    "update      O(1) a change while rows leave in the order in which they came, as in a window, or never leave; "
    "else O(lambda), the enclosureness of the change sequence with respect to the tree (height 2)"
)
GROWING = (
    "update      O(1) a change while rows never leave; else O(lambda), the enclosureness of the change sequence with "
    "respect to the tree (height 3)"
)
SPACE = "space       linear in the base rows, whatever the size of the result"
BOTH = "results     constant delay a row, full and delta"


def text_of(sql: str, live: bool = True) -> str:
    query = bind(sql, CATALOG)
    return explain(compile_plan(query, choose_tree(query), live))


def expected(sql: str, atoms: str, height: int, update: str, results: str, tree: str, state: str) -> str:
    head = [
        sql.strip(),
        "",
        f"class       acyclic conjunctive query, all variables kept (bag semantics); {atoms}",
        f"plan        join tree of height {height}, change propagation without joins (CROWN)",
    ]
    parts = [update, results, SPACE, "", "join tree", indented(tree), "", "state", indented(state)]
    return "\n".join([*head, *parts])


def indented(text: str) -> str:
    return "\n".join("  " + line for line in dedent(text).strip().splitlines())


def test_one_table() -> None:
    sql = " SELECT src, dst FROM G\n"
    tree, state = "G(dst, src)  V_s", "G (src, dst) for G: 32 bytes a row, and its share of the indexes"
    assert text_of(sql) == expected(sql, "1 atom", 1, EVERY, BOTH, tree, state)


def test_three_hops() -> None:
    """Appendix D of CROWN: the middle of the path below a generalized root, the filter at the end."""
    sql = (
        "SELECT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d FROM G G1 JOIN G G2 ON G1.dst = G2.src "
        "JOIN G G3 ON G2.dst = G3.src WHERE G3.dst % 10 = 0"
    )
    tree = """
        [G1.dst]  V_s
        ├─ G G1(G1.dst, src)  key (G1.dst)  V_s V_p
        └─ G G2(G1.dst, G2.dst)  key (G1.dst)  V_s V_p V_l
           └─ G G3(G2.dst, G3.dst)  key (G2.dst)  V_s V_p  where "dst" % 10 = 0
    """
    state = "G (src, dst) for G1, G2, G3: 72 bytes a row, and its share of the indexes"
    assert text_of(sql) == expected(sql, "3 atoms", 2, FIFO, BOTH, tree, state)


def test_a_star_is_q_hierarchical() -> None:
    sql = "SELECT A.src FROM G A JOIN G B ON A.src = B.src JOIN G C ON A.src = C.src"
    tree = """
        [src]  V_s
        ├─ G A(src)  key (src)  V_s V_p
        ├─ G B(src)  key (src)  V_s V_p
        └─ G C(src)  key (src)  V_s V_p
    """
    state = "G (src) for A, B, C: 56 bytes a row, and its share of the indexes"
    assert text_of(sql) == expected(sql, "3 atoms", 1, EVERY, BOTH, tree, state)


def test_a_product_without_deltas() -> None:
    """The key of a product is empty, and a view without deltas keeps no live views."""
    sql = "SELECT G.src, P.name FROM G, P"
    tree = """
        []  V_s
        ├─ G(src)  key ()  V_s V_p
        └─ P(name)  key ()  V_s V_p
    """
    state = """
        G (src) for G: 24 bytes a row, and its share of the indexes
        P (name) for P: 24 bytes a row, and its share of the indexes
    """
    results = "results     constant delay a row, full; no deltas (deltas=False)"
    assert text_of(sql, live=False) == expected(sql, "2 atoms", 1, EVERY, results, tree, state)


def test_a_long_path() -> None:
    sql = (
        "SELECT A.src, B.dst, C.dst AS x, D.dst AS y FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src "
        "JOIN G D ON C.dst = D.src JOIN G E ON D.dst = E.src"
    )
    tree = """
        [B.dst]  V_s
        ├─ G B(A.dst, B.dst)  key (B.dst)  V_s V_p V_l
        │  └─ G A(A.dst, src)  key (A.dst)  V_s V_p
        └─ G C(B.dst, C.dst)  key (B.dst)  V_s V_p V_l
           └─ G D(C.dst, D.dst)  key (C.dst)  V_s V_p V_l
              └─ G E(D.dst)  key (D.dst)  V_s V_p
    """
    state = "G (src, dst) for A, B, C, D, E: 120 bytes a row, and its share of the indexes"
    assert text_of(sql) == expected(sql, "5 atoms", 3, GROWING, BOTH, tree, state)


def test_columns_that_only_a_predicate_uses_are_not_kept() -> None:
    sql = "SELECT 1 AS one FROM G JOIN P ON G.src = P.id WHERE P.name LIKE 'x%' AND G.dst > 5"
    tree = """
        [src]  V_s
        ├─ G(src)  key (src)  V_s V_p  where "dst" > 5
        └─ P(src)  key (src)  V_s V_p  where "name" LIKE 'x%'
    """
    state = """
        G (src) for G: 24 bytes a row, and its share of the indexes
        P (id) for P: 24 bytes a row, and its share of the indexes
    """
    assert text_of(sql) == expected(sql, "2 atoms", 1, EVERY, BOTH, tree, state)


def test_a_table_of_which_only_the_number_of_rows_counts() -> None:
    assert "  P (no columns) for P: 16 bytes a row" in text_of("SELECT src FROM G, P")


def test_live_views_are_kept_for_deltas_only() -> None:
    sql = "SELECT A.src FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src"
    assert "V_l" in text_of(sql)
    assert "V_l" not in text_of(sql, live=False)
