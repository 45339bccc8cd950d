"""What a change is predicted to touch, by hand; and that it decides between families of which the bounds are equal."""

from __future__ import annotations

import pytest

from livejoin.families.registry import ranked
from livejoin.query import ConjunctiveQuery
from livejoin.search.problem import problem_of
from livejoin.search.statistics import Figure, Statistics, TableStatistics
from livejoin.search.touches import churn
from livejoin.sql import bind_query, parse_schema
from tpch_rows import QUERIES, schema

CATALOG = parse_schema(schema(nullable=False))


def join_of(name: str) -> ConjunctiveQuery:
    """The join of all tables of a query, with its results' multiplicities."""
    return max(bind_query(QUERIES[name].rstrip().removesuffix(";"), CATALOG).joins, key=lambda one: len(one.atoms))


def changes_of(name: str, known: Statistics) -> dict[str, float]:
    query = join_of(name)
    found = churn(query, problem_of(query, known), known)
    return dict(zip((atom.alias for atom in query.atoms), found.problem.weights, strict=True))


def test_tables_change_in_proportion_to_the_rows_that_refer_to_them() -> None:
    weights = changes_of("q09", Statistics())
    assert weights["lineitem"] == 1.0
    assert (weights["orders"], weights["partsupp"], weights["part"]) == (1 / 8, 1 / 8, pytest.approx(0.1 / 64))
    assert (weights["supplier"], weights["nation"]) == (1 / 64, 1 / 512)


def test_known_rows_and_changes_count_more_than_keys() -> None:
    names = {atom.table.name for atom in join_of("q09").atoms}
    rows = Statistics(tuple(TableStatistics(name, rows=Figure(10.0 + len(name), "observed")) for name in sorted(names)))
    assert changes_of("q09", rows)["nation"] == 16.0
    changes = Statistics((TableStatistics("nation", changes=Figure(70.0, "given")),))
    assert changes_of("q09", changes)["lineitem"] == 70.0, "as many as those that are known"


@pytest.mark.parametrize(
    ("name", "family"), [("q07", "ForeignKeys"), ("q09", "ForeignKeys"), ("q03", "Crown"), ("q10", "Crown")]
)
def test_families_are_compared_by_bound_then_by_touches(name: str, family: str) -> None:
    first, *others = ranked(join_of(name), Statistics(), "auto")
    assert type(first.family).__name__ == family
    (other,) = (one for one in others if type(one.family).__name__ in ("Crown", "ForeignKeys"))
    bounds = [one.first.guarantee.bound for one in (first, other)]
    assert bounds[0] < bounds[1] or (bounds[0] == bounds[1] and first.first.touches <= other.first.touches)


def test_a_plan_is_expected_to_take_as_many_visits_as_its_changes_make() -> None:
    query = join_of("q07")
    (plan,) = ranked(query, Statistics(), "aju")
    known = Statistics(tuple(TableStatistics(a.table.name, changes=Figure(10.0, "given")) for a in query.atoms))
    work = plan.first.compile(True).predicted_work(known)
    (again,) = ranked(query, known, "aju")
    assert work == pytest.approx(again.first.propagation * sum(problem_of(query, known).weights))
    assert work > 0.0
