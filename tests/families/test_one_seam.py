"""Families are known outside of them by their protocols alone, and what is explained is what runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import livejoin
from livejoin.database.view import View
from livejoin.dataflow.node import Node
from livejoin.errors import UnsupportedQueryError
from livejoin.families import join_trees
from livejoin.families.bags import plan as bags
from livejoin.families.program import Program
from livejoin.plan import Explanation, Statistics, describe_query
from livejoin.plan.operators import AnyJoin, SelectedOperator, joins_of
from livejoin.plan.query_plan import plan_query, plan_with_reasons
from livejoin.search.algorithm import ALGORITHMS
from livejoin.sql import bind_query, parse_schema
from strategies import IS_FUZZ

SOURCE = Path(livejoin.__file__).parent
# What is no family: how joins lie in an arena, are split into cells, and how compiled ones lie in words.
SHARED_FOLDERS = {"arena", "cells", "layout"}

QUERIES = {
    "one": "SELECT src FROM G",
    "hops": "SELECT A.src, B.src AS b, C.dst FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src",
    "hop5": "SELECT A.src FROM G A, G B, G C, G D, G E WHERE A.dst = B.src AND B.dst = C.src AND C.dst = D.src "
    "AND D.dst = E.src",
    "filtered": "SELECT A.src FROM G A JOIN H ON A.dst = H.id WHERE H.v > 3 AND A.src % 2 = 0",
    "product": "SELECT G.src, H.v FROM G, H",
    "distinct": "SELECT DISTINCT A.src FROM G A JOIN G B ON A.dst = B.src",
    "projected": "SELECT DISTINCT A.src, C.dst FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src",
    "annotated": "SELECT A.src, count(*) AS n, sum(B.dst) AS s FROM G A JOIN G B ON A.dst = B.src GROUP BY A.src",
    "counted": "SELECT count(*) AS n FROM G A JOIN G B ON A.dst = B.src JOIN H ON B.dst = H.id",
    "stored": "SELECT A.src, max(C.dst) AS m FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src GROUP BY A.src",
    "union": "SELECT A.src FROM G A JOIN G B ON A.dst = B.src UNION SELECT id FROM H",
    "twice": "SELECT A.src FROM G A JOIN G B ON A.dst = B.src "
    "EXCEPT ALL SELECT A.src FROM G A JOIN G B ON A.dst = B.src",
    "first": "SELECT A.src, H.v FROM G A JOIN H ON A.dst = H.id ORDER BY v DESC LIMIT 3",
    "triangle": "SELECT A.src FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src",
    "triangles": "SELECT count(*) AS n FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src",
    "square": "SELECT DISTINCT A.src, C.src AS c FROM G A, G B, G C, G D WHERE A.dst = B.src AND B.dst = C.src "
    "AND C.dst = D.src AND D.dst = A.src",
    "lollipop": "SELECT A.src, E.dst AS e, sum(H.v) AS s FROM G A, G B, G C, G D, G E, H WHERE A.dst = B.src "
    "AND B.dst = C.src AND C.dst = A.src AND C.src = D.src AND D.dst = E.src AND E.dst = H.id GROUP BY A.src, E.dst",
    "keyed": "SELECT H.v, S.w FROM G JOIN H ON G.src = H.id JOIN S ON G.dst = S.id",
    "switched": "SELECT S.id, S.w FROM S JOIN G ON G.src = S.id JOIN H ON H.id = S.w",
    "keyed_groups": "SELECT H.v, count(*) AS n, max(S.w) AS m FROM G JOIN H ON G.src = H.id JOIN S ON G.dst = S.id "
    "GROUP BY H.v",
}
STATISTICS = {"G": {"changes": 100, "rows": 1000, "distinct": {"src": 30, "dst": 500}}, "H": {"changes": 3}}


# Joins along keys alone, which the family of foreign keys takes too.
ALONG_KEYS = {"one", "filtered", "first", "keyed", "keyed_groups"}
# Joins with static tables, which the family of view trees takes too.
WITH_STATIC = {"keyed"}
TAKEN: dict[str, Iterable[str]] = {"aju": ALONG_KEYS, "view-tree": WITH_STATIC, "transitions": {"switched"}}
CASES = [(name, algorithm) for name in QUERIES for algorithm in ALGORITHMS if name in TAKEN.get(algorithm, QUERIES)]

CATALOG = parse_schema(
    "CREATE TABLE G (src BIGINT, dst BIGINT); CREATE TABLE H (id BIGINT PRIMARY KEY, v BIGINT);"
    "CREATE TABLE S (id BIGINT PRIMARY KEY, w BIGINT) TBLPROPERTIES ('livejoin.static' = 'true');"
)


def database(threads: int = 1) -> livejoin.Database:
    db = livejoin.Database(threads=threads)
    db.create_table("G", "src BIGINT, dst BIGINT")
    db.create_table("H", "id BIGINT PRIMARY KEY, v BIGINT")
    db.create_table("S", "id BIGINT PRIMARY KEY, w BIGINT", static=True)
    return db


def all_of(told: Explanation) -> list[Explanation]:
    return [told, *told.others]


def programs_of(view: View) -> list[Program | None]:
    """The programs that maintain a view, in the order of its explanations; a join that stands twice runs once.

    Selected rows have none.
    """

    def collect(node: Node) -> Iterator[Program | None]:
        if isinstance(node.plan, AnyJoin):
            yield node.plan.physical
        elif isinstance(node.plan, SelectedOperator):
            yield None
        for one in node.inputs:
            yield from collect(one)

    return list(collect(view._node))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("name", "algorithm"), CASES)
def test_the_plan_that_is_explained_is_the_one_that_runs(name: str, algorithm: Any, threads: int) -> None:
    if threads > 1 and CASES.index((name, algorithm)) % 3 and not IS_FUZZ:
        pytest.skip("for make fuzz")
    if algorithm == "transitions" and threads > 1:
        with pytest.raises(UnsupportedQueryError, match="threads=1"):
            database(threads).explain(QUERIES[name], algorithm=algorithm)
        return
    given = ((None, True), (STATISTICS, True), (STATISTICS, False))
    one = CASES.index((name, algorithm)) % len(given)
    for statistics, deltas in given if IS_FUZZ else given[one : one + 1]:
        db = database(threads)
        before = db.explain(QUERIES[name], algorithm=algorithm, statistics=statistics)
        view = db.create_view("v", QUERIES[name], algorithm=algorithm, statistics=statistics, deltas=deltas)
        runs = [program.digest if program else "" for program in programs_of(view)]
        assert [told.digest for told in all_of(view.explain())] == runs
        if deltas:
            assert [told.digest for told in all_of(before)] == runs
        for told, program in zip(all_of(view.explain()), programs_of(view), strict=True):
            assert [plan.chosen for plan in told.alternatives].count(True) == 1
            chosen = next(plan for plan in told.alternatives if plan.chosen)
            assert chosen.executable
            if program is None:
                assert chosen.title == told.plan.kind == "selected rows"
                continue
            assert (chosen.height, chosen.title) == (told.plan.height, f"{told.plan.kind} of height {told.plan.height}")
            assert not program.line or told.plan.kind == "bags" or chosen.tree == program.line


@pytest.mark.parametrize("algorithm", ["auto", "dyn"])
@pytest.mark.parametrize("name", ["triangle", "square", "lollipop"])
def test_the_tree_over_bags_that_is_drawn_is_the_one_that_runs(name: str, algorithm: Any) -> None:
    """It is chosen among all trees over the bags, by the changes that are expected."""
    for leaf in joins_of(plan_query(bind_query(QUERIES[name], CATALOG), Statistics(), True, algorithm)):
        outer: Any = leaf.physical
        told = describe_query(bind_query(QUERIES[name], CATALOG), Statistics(), algorithm=algorithm)
        assert [node.variables for node in told.plan.nodes] == [node.variables for node in outer.tree.nodes]


@pytest.mark.parametrize(("name", "algorithm"), CASES)
def test_an_explanation_plans_once(monkeypatch: pytest.MonkeyPatch, name: str, algorithm: Any) -> None:
    """It searches for trees and bags as often as the planner does."""
    query = bind_query(QUERIES[name], CATALOG)
    choose, cut = Mock(wraps=join_trees.choose), Mock(wraps=bags.decompose)
    monkeypatch.setattr(join_trees, "choose", choose)
    monkeypatch.setattr(bags, "decompose", cut)
    plan_query(query, Statistics(), True, algorithm)
    planned = choose.call_count, cut.call_count
    searches = algorithm not in ("change-propagation", "aju", "transitions")
    assert (sum(planned) > 0) == searches, "what is counted is the planner's search"
    describe_query(query, Statistics(), True, algorithm=algorithm)
    assert (choose.call_count, cut.call_count) == (2 * planned[0], 2 * planned[1])


def test_the_candidates_that_are_ranked_compile() -> None:
    """Every plan of a family that runs, not only the chosen one, and each in its own way."""
    for name, algorithm in CASES:
        found = plan_with_reasons(bind_query(QUERIES[name], CATALOG), Statistics(), True, algorithm)
        for query, ranked in found.ranked.items():
            for one in ranked:
                for plan in one.candidates.plans:
                    program = plan.compile(True)
                    assert (program.query == query) == (not plan.derived), name
                    assert program.open().count() >= 0, name
                    assert plan.outline(True).nodes, name


@cache
def text_of(path: Path) -> str:
    return path.read_text()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def own_folders() -> set[str]:
    """The folders of the families."""
    return {path.name for path in (SOURCE / "families").iterdir() if (path / "__init__.py").exists()} - SHARED_FOLDERS


def names_of_families() -> set[str]:
    """The classes of plans, joins, candidates and access that are defined in the families' own folders."""
    return {
        node.name
        for folder in own_folders()
        for path in (SOURCE / "families" / folder).rglob("*.py")
        for node in tree_of(path).body
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Plan", "Join", "Candidate", "Access"))
    }


def outside() -> Iterator[Path]:
    return (path for path in SOURCE.rglob("*.py") if "families" not in path.relative_to(SOURCE).parts)


def used(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.Name(name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
            case ast.Constant(str(name)) if name.isidentifier():  # an annotation in quotes
                yield name


def test_names_of_programs_stay_in_their_families() -> None:
    assert {"crown", "dyn", "chain", "bags", "foreign_keys", "view_trees"} <= own_folders()
    names = names_of_families()
    assert {
        "CrownPlan",
        "DynPlan",
        "ChainPlan",
        "ForeignKeyPlan",
        "ForeignKeyJoin",
        "BagJoinPlan",
        "BagCandidate",
        "CrownJoin",
        "TreeCandidate",
    } <= names
    written = re.compile("|".join(sorted(names)))
    theirs = {
        str(path.relative_to(SOURCE)): [name for name in used(tree_of(path)) if name in names]
        for path in outside()
        if written.search(text_of(path))
    }
    assert {path: found for path, found in theirs.items() if found} == {}


def test_no_other_package_reaches_into_a_family() -> None:
    private = tuple(f"livejoin.families.{folder}" for folder in own_folders())
    reached = {
        str(path.relative_to(SOURCE))
        for path in outside()
        if "livejoin.families" in text_of(path)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(private)
    }
    assert reached == set()
