"""The first line of an explanation, and the papers' words with their meanings."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from explanations import EXAMPLE

import livejoin
from conjunctive import bind
from livejoin.families.registry import FAMILIES
from livejoin.plan import Statistics, UpdateBound, describe
from livejoin.plan.explain.glossary import ENTRIES, markdown, words
from livejoin.plan.explain.verdict import verdict
from livejoin.sql import parse_schema

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_made_of_the_entries() -> None:
    assert (DOCS / "glossary.md").read_text() == markdown()
    assert len({entry.word for entry in ENTRIES}) == len({entry.anchor for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("bound", UpdateBound)
def test_every_bound_has_a_verdict_and_words(bound: UpdateBound) -> None:
    told = replace(EXAMPLE, guarantee=replace(EXAMPLE.guarantee, bound=bound))
    assert verdict(told).startswith("A change ")
    assert [entry.word for entry in words(told)][-2:] == ["free-connex", "join tree"]
    assert len(list(words(told))) > 2
    assert str(told).startswith("verdict     A change ")
    assert told.to_dict()["verdict"] == verdict(told)


def test_a_query_that_is_not_maintained() -> None:
    told = replace(EXAMPLE, executable=False, obstacle="nobody knows how")
    assert verdict(told) == "This version does not maintain the query: nobody knows how."


def test_links_of_the_page_lead_to_meanings() -> None:
    page = EXAMPLE.html()
    links = re.findall(r'href="#(livejoin-[^"]*)"', page)
    assert links == re.findall(r'<dt id="(livejoin-[^"]*)"', page)
    assert "livejoin-free-connex" in links


def test_all_classes_and_kinds_of_plans_have_an_entry() -> None:
    catalog = parse_schema(
        "CREATE TABLE G (a BIGINT, b BIGINT); CREATE TABLE K (a BIGINT PRIMARY KEY, b BIGINT);"
        "CREATE TABLE S (b BIGINT, c BIGINT) TBLPROPERTIES ('livejoin.static' = 'true');"
    )
    queries = (
        "SELECT G.a, K.b FROM G JOIN K ON G.b = K.a",
        "SELECT G.a, S.c FROM G JOIN S ON G.b = S.b",
        "SELECT S.b, S.c FROM S JOIN G ON G.a = S.b JOIN K ON K.a = S.c",
        "SELECT A.a FROM G A, G B, G C WHERE A.b = B.a AND B.b = C.a AND C.b = A.a",
    )
    known = {entry.word for entry in ENTRIES}
    kinds = set()
    for query in queries:
        bound = bind(query, catalog)
        assert describe(bound).query_class.name in known
        for family in FAMILIES:
            kinds |= {plan.outline(True).kind for plan in family.candidates(bound, Statistics()).plans}
    of_trees = {"join tree", "T-representation", "chain of joins", "view trees", "bags"}
    assert kinds == of_trees | {"foreign keys", "transition system"}
    assert kinds <= known


def test_windows_of_different_sizes_are_not_first_in_first_out() -> None:
    """A row of the larger window stays while rows of the smaller one that came later leave."""
    db = livejoin.Database()
    db.create_table("R", "a BIGINT, b BIGINT", window_rows=5)
    db.create_table("S", "b BIGINT, c BIGINT", window_rows=50)
    db.create_table("T", "c BIGINT, d BIGINT", window_rows=5)
    db.create_table("G", "src BIGINT, dst BIGINT", window_rows=5)
    several = db.explain("SELECT R.a, T.d FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c").guarantee.update
    assert "R, S and T have no window in common" in several
    assert "as in a window" not in several
    one = db.explain("SELECT A.src FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src").guarantee.update
    assert "as in a window" in one
    for name, columns in (("X", "a BIGINT, b BIGINT"), ("Y", "b BIGINT, c BIGINT"), ("Z", "c BIGINT, d BIGINT")):
        db.create_table(name, f"{columns}, ts BIGINT", window_range=("ts", 10))
    alike = db.explain("SELECT X.a, Z.d FROM X JOIN Y ON X.b = Y.b JOIN Z ON Y.c = Z.c").guarantee.update
    assert "as in a window" in alike


@pytest.mark.parametrize(
    ("keys", "bound", "power"),
    [("PRIMARY KEY", UpdateBound.FIFO, "amortised O(1) for FIFO"), ("", UpdateBound.POLYNOMIAL, "at most O(N^3) for")],
)
def test_primary_keys_of_a_star_bound_what_a_change_brings(keys: str, bound: UpdateBound, power: str) -> None:
    """A row of a dimension meets each row of the facts at most once, and that meets one row of each other one.

    So the results that changes add and remove are no more than what the foreign-key join costs (AJU, Corollary 9).
    """
    db = livejoin.Database()
    db.create_table("fact", "x BIGINT, y BIGINT, z BIGINT, amount BIGINT")
    for name in "xyz":
        db.create_table(f"d{name}", f"{name} BIGINT {keys}, name STRING")
    sql = (
        "SELECT dx.name, dy.name AS b, dz.name AS c, max(amount) AS most FROM fact JOIN dx ON fact.x = dx.x "
        "JOIN dy ON fact.y = dy.y JOIN dz ON fact.z = dz.z GROUP BY dx.name, dy.name, dz.name"
    )
    promise = db.explain(sql).guarantee
    assert promise.bound == bound
    assert power in promise.update
