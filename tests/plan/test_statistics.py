"""Statistics: given, observed or unknown, stored and combined."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import livejoin
from conjunctive import bind
from livejoin.catalog import Catalog
from livejoin.changes import read_changes
from livejoin.errors import SchemaError
from livejoin.search.choose import choose_tree
from livejoin.search.problem import expected_changes, problem_of
from livejoin.search.statistics import Figure, Statistics, given, observe, observe_rows
from livejoin.sql import parse_columns
from livejoin.words import NULL_CODE

CATALOG = Catalog()
for table in (
    parse_columns("R", "a BIGINT, b BIGINT"),
    parse_columns("S", "b BIGINT, c STRING"),
    parse_columns("T", "c STRING, d BIGINT"),
):
    CATALOG.add(table)

PATH = bind("SELECT R.a, T.d FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c", CATALOG)


def test_given_figures() -> None:
    found = given(CATALOG, {"r": {"changes": 5, "distinct": {"b, a": 7}}, "S": {"rows": 3, "passing": {"x": 0.5}}})
    assert found.of("R").changes == Figure(5, "given")
    assert found.of("R").distinct_of([1, 0]) == Figure(7, "given")
    assert found.of("S").passing_of("x") == Figure(0.5, "given")
    assert found.of("T").rows == Figure(None, "unknown")


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"X": {}}, "no table 'X'"),
        ({"R": {"size": 3}}, "'size'; allowed are changes, rows, distinct and passing"),
        ({"R": {"rows": -1}}, "rows is -1"),
        ({"R": {"rows": True}}, "rows is True"),
        ({"R": {"rows": float("nan")}}, "rows is nan"),
        ({"R": {"distinct": {"z": 1}}}, "no column 'z'"),
        ({"R": {"passing": {"p": 2}}}, "a share between 0 and 1"),
    ],
)
def test_impossible_figures(figures: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        given(CATALOG, figures)


def test_observed_from_changes() -> None:
    """Distinct keys are counted among the rows that came, without those that cannot join."""
    rows = [(1, 1), (2, 1), (3, 2), (4, None)]
    changes = [{"a": a, "b": b, "_change_type": "insert"} for a, b in rows]
    batch = read_changes(CATALOG["R"], [*changes, {"a": 1, "b": 1, "_change_type": "delete"}])
    found = observe([batch], PATH).of("R")
    assert found.changes == Figure(5, "observed")
    assert found.rows == Figure(3, "observed")
    assert found.distinct == (((1,), Figure(2, "observed")),)


def test_observed_from_rows() -> None:
    """Against Python sets, over one and several columns."""
    chance = np.random.default_rng(1)
    query = bind("SELECT X.a FROM R X JOIN R Y ON X.a = Y.a AND X.b = Y.b JOIN R Z ON Y.b = Z.b", CATALOG)
    words = chance.integers(0, 7, (2, 60))
    found = observe_rows([(CATALOG["R"], words, 99)], query).of("R")
    assert found.rows == Figure(99, "observed")
    assert found.distinct_of([1]) == Figure(len(set(words[1].tolist())), "observed")
    assert found.distinct_of([0, 1]) == Figure(len(set(zip(*words.tolist(), strict=True))), "observed")
    empty = observe_rows([(CATALOG["R"], words[:, :0], 0)], query).of("R")
    assert empty.distinct_of([1]) == Figure(0, "observed")


def test_keys_of_many_rows_are_counted_about() -> None:
    """Linear counting: within a hundredth, of few keys and of many; NULL is none."""
    chance = np.random.default_rng(1)
    query = bind("SELECT X.a FROM R X JOIN R Y ON X.a = Y.a AND X.b = Y.b JOIN R Z ON Y.b = Z.b", CATALOG)
    for keys in (1, 30, 9000, 100_000):
        words = chance.integers(0, keys, (2, 100_000))
        words[1, ::7] = NULL_CODE
        found = observe_rows([(CATALOG["R"], words, 99)], query).of("R")
        pairs = {pair for pair in zip(*words.tolist(), strict=True) if pair[1] != NULL_CODE}
        one, both = found.distinct_of([1]).value, found.distinct_of([0, 1]).value
        assert one == pytest.approx(len({b for _, b in pairs}), rel=0.01)
        assert both == pytest.approx(len(pairs), rel=0.01)


def test_given_figures_go_before_observed_ones() -> None:
    first = given(CATALOG, {"R": {"changes": 5, "distinct": {"a": 1}}})
    second = given(CATALOG, {"R": {"changes": 9, "rows": 2, "distinct": {"a": 8, "b": 4}}, "S": {"rows": 1}})
    both = first.over(second)
    assert both.of("R").changes == Figure(5, "given")
    assert both.of("R").rows == Figure(2, "given")
    assert [both.of("R").distinct_of([c]).value for c in (0, 1)] == [1, 4]
    assert both.of("S").rows == Figure(1, "given")
    assert Statistics().over(both) == both.over(Statistics())


def test_through_json() -> None:
    whole = given(CATALOG, {"R": {"changes": 5, "rows": 2.5, "distinct": {"a,b": 1}, "passing": {"p": 0.25}}, "S": {}})
    assert Statistics.from_plain(json.loads(json.dumps(whole.plain()))) == whole


def test_expected_changes() -> None:
    """Unknown tables change like the known ones on average; a predicate lets a tenth through while it is unknown."""
    query = bind("SELECT R.a FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c WHERE T.d > 1", CATALOG)
    some = given(CATALOG, {"R": {"changes": 30}, "S": {"changes": 10}})
    assert expected_changes(query, Statistics()) == (1.0, 1.0, pytest.approx(0.1))
    assert expected_changes(query, some) == (30, 10, pytest.approx(2.0))
    known = given(CATALOG, {"T": {"passing": {"d > 1": 0.5}}}).over(some)
    assert expected_changes(query, known) == (30, 10, pytest.approx(10.0))


def test_join_keys_of_an_atom() -> None:
    problem = problem_of(PATH, given(CATALOG, {"S": {"rows": 100, "distinct": {"b": 20}}}))
    assert problem.fanout(1, frozenset(["b"])) == 5.0
    assert problem.fanout(1, frozenset(["c"])) == 8.0
    assert problem.flip(1, frozenset(["b"])) == pytest.approx(0.2)


def test_a_loaded_database_has_the_tree_that_statistics_chose(tmp_path: Path) -> None:
    """The statistics are kept, so that the tree and with it the state fit again, also after the tables have changed."""
    for changes in ({"R": 1000, "S": 1, "T": 1}, {"R": 1, "S": 1, "T": 1000}):
        database = livejoin.Database()
        for declared in CATALOG:
            database._contents.add_table(declared)
        statistics = given(CATALOG, {name: {"changes": count} for name, count in changes.items()})
        view = database.create_view("v", PATH.sql, statistics=statistics)
        assert view._joins[0].physical.tree == choose_tree(PATH, statistics)
        chance = random.Random(2)
        database.apply("R", [(i, chance.randrange(5)) for i in range(50)])
        database.save(tmp_path)
        again = livejoin.Database.load(tmp_path).views["v"]
        assert again._joins[0].physical.tree == view._joins[0].physical.tree
        assert again._joins[0].physical.digest == view._joins[0].physical.digest
        assert again.explain() == view.explain()
    assert choose_tree(PATH, statistics) != choose_tree(PATH, given(CATALOG, {"R": {"changes": 1000}}))


def test_rows_that_are_there_are_observed() -> None:
    database = livejoin.Database()
    for declared in CATALOG:
        database._contents.add_table(declared)
    database.apply({"R": [(1, 1), (1, 1), (2, 1)], "S": [(1, "x"), (1, None), (2, "x")]})
    tables = {table.name: table for table in database.create_view("v", PATH.sql).explain().tables}
    assert (tables["R"].rows, tables["R"].rows_known) == (3, "observed")
    assert (tables["T"].rows, tables["T"].rows_known) == (None, "unknown")


def test_a_database_takes_statistics_as_plain_values() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    sql = "SELECT A.src FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src"
    db.create_view("hops", sql, statistics={"G": {"changes": 10}})
    found = db.explain(sql, statistics={"g": {"rows": 1000, "distinct": {"src": 20}}})
    assert (found.tables[0].rows, found.tables[0].rows_known) == (1000, "given")
    with pytest.raises(SchemaError, match=r"have 'row'; allowed are changes, rows, distinct and passing"):
        db.explain(sql, statistics={"G": {"row": 3}})
