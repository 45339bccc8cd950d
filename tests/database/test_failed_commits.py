"""Replays and commits that fail half way through: nothing of them was applied, nobody was told."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import livejoin
from guarded import Guarded, P, person
from livejoin import errors
from oracle import multiset


@pytest.fixture(scope="module")
def guarded() -> Guarded:
    """One for all tests, as none changes it."""
    return Guarded()


CHANGE = errors.ChangeFormatError


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


def test_a_failed_commit_leaves_no_trace_in_the_statistics(guarded: Guarded) -> None:
    def figures() -> dict[str, dict[str, int | float]]:
        return {
            name: {key: view.stats()[key] for key in ("rows", "atom_rows", "commits", "changes", "delta_rows")}
            for name, view in guarded.db.views.items()
        }

    before = figures()
    with pytest.raises(errors.ExpressionError):
        guarded.db.apply({"G": [(3, 1), (7, 1)], "P": [person(51, "not a number")]})
    assert figures() == before


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
    """The commit is done when subscribers are called: the error is the subscriber's, the caller has its commit."""
    db = livejoin.Database()
    db.execute("CREATE TABLE T (id BIGINT)")
    view = db.create_view("all", "SELECT id FROM T")

    def fail(delta: pa.Table) -> None:
        msg = "out of paper"
        raise RuntimeError(msg)

    view.subscribe(fail)
    assert db.apply("T", [(1,)])["all"].num_rows == 1
    assert str(view.last_subscriber_error) == "out of paper"
    assert db.version == 1
    assert view.count() == 1
    db._check()


def test_what_a_window_took_comes_back_as_what_it_was() -> None:
    """A replay that fails takes rows back that the window had taken, each into the atoms of its own."""
    db = livejoin.Database()
    db.create_table("W", "k BIGINT, v BIGINT", window_rows=3)
    db.create_table("T", "k BIGINT, name STRING")
    view = db.create_view("low", "SELECT A.k AS k, B.v AS v FROM W A JOIN W B ON A.k = B.k WHERE A.v < 10 AND B.v < 10")
    db.create_view("numbers", "SELECT CAST(name AS INT) AS n FROM T")
    db.apply("W", [(1, 1), (1, 2), (2, 3)])
    before = multiset(view.to_arrow())
    log = [{"k": 1, "v": 100 + i, "_seq": i} for i in range(3)]
    with pytest.raises(errors.ExpressionError):
        db.replay({"W": log, "T": [{"k": 1, "name": "no number", "_seq": 9}]})
    db._check()
    assert multiset(view.to_arrow()) == before
    commit = db.replay({"W": log[:2]})
    assert multiset(view.to_arrow()) == {(2, 3): 1}
    assert len(commit["low"]) == 4
