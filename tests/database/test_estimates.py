"""Estimates of aggregates: how often their interval has the true value, and what they say of odd data."""

from __future__ import annotations

import math
from random import Random

import pytest

from livejoin import Database, ReadError
from livejoin.errors import ExpressionError, UnknownNameError, UnsupportedQueryError
from oracle import connect
from strategies import seeds

PAIRS = "SELECT a.k AS k, a.v AS x, b.v AS y FROM t a JOIN t b ON a.k = b.k"


def pairs(rows: int = 900) -> Database:
    db, random = Database(), Random(5)
    db.execute("CREATE TABLE t (k INT, v INT)")
    db.create_view("pairs", PAIRS)
    db.apply("t", [(i % 3, random.choice([None, *range(50)])) for i in range(rows)])
    return db


@pytest.mark.parametrize(
    "aggregate", ["AVG(x)", "SUM(x * y)", "COUNT(y)", "COUNT_IF(x < y AND x > 40)", "AVG(x - 2.5)"]
)
def test_intervals_have_the_true_value_as_often_as_they_say(aggregate: str) -> None:
    view = pairs().views["pairs"]
    with connect() as connection:
        connection.register("pairs", view.to_arrow())
        ((truth,),) = connection.sql(f"SELECT {aggregate} FROM pairs").fetchall()
    found = [view.estimate(aggregate, error=0.2, confidence=0.9, seed=seed) for seed in seeds(20, 60)]
    right = sum(one.low <= truth <= one.high for one in found if one.low is not None and one.high is not None)
    least = {20: 13, 60: 46}[len(found)]
    assert right >= least, "of 20 at 0.9 the chance of fewer than 13, of 60 of fewer than 46 is below 1 in 1,000"
    assert all(one.rows == 270_000 and 0 < one.draws <= 100_000 for one in found)
    assert view.estimate(aggregate, seed=3) == view.estimate(aggregate, seed=3)


def test_more_is_drawn_until_the_interval_is_as_narrow_as_asked() -> None:
    view = pairs().views["pairs"]
    wide, narrow = (view.estimate("AVG(x)", error=error, seed=1) for error in (0.1, 0.01))
    assert wide.draws < narrow.draws
    assert narrow.value is not None and narrow.low is not None and narrow.high is not None
    assert (narrow.high - narrow.low) / 2 <= 0.01 * narrow.value
    assert view.estimate("AVG(x)", error=0.0001, seed=1, max_draws=5_000).draws == 5_000


def test_few_rows_are_read_and_no_row_has_no_average() -> None:
    db = pairs(60)
    view = db.views["pairs"]
    found = view.estimate("AVG(x + y)")
    with connect() as connection:
        connection.register("pairs", view.to_arrow())
        ((truth,),) = connection.sql("SELECT AVG(x + y) FROM pairs").fetchall()
    assert found.is_exact and found.value is not None and math.isclose(found.value, truth)
    assert (view.estimate("COUNT(*)").value, view.count()) == (1200, 1200)
    db.execute("DELETE FROM t")
    assert (view.estimate("AVG(x)").value, view.estimate("SUM(x)").value) == (None, None)
    assert view.estimate("COUNT_IF(x = 1)").value == 0


def test_a_condition_that_no_draw_meets_has_an_interval_all_the_same() -> None:
    found = pairs().views["pairs"].estimate("COUNT_IF(x = 12345)", max_draws=1_000)
    assert (found.value, found.low) == (0, 0) and found.high is not None and found.high > 500


@pytest.mark.parametrize("aggregate", ["MAX(x)", "AVG(DISTINCT x)", "x", "AVG(x) + 1", "SUM(*)", "COUNT()", ""])
def test_other_aggregates_are_refused(aggregate: str) -> None:
    with pytest.raises(UnsupportedQueryError, match="cannot be estimated from draws; allowed are AVG"):
        pairs(10).views["pairs"].estimate(aggregate)


def test_wrong_arguments() -> None:
    view = pairs(10).views["pairs"]
    for wrong in ({"error": 0}, {"error": 2.0}, {"confidence": 1.0}, {"max_draws": 0}):
        with pytest.raises(ReadError):
            view.estimate("AVG(x)", **wrong)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="no column 'z'"):
        view.estimate("AVG(z)")
    with pytest.raises(ExpressionError):
        view.estimate("AVG(1 / (x - x))")
