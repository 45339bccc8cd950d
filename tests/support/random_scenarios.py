"""Hypothesis strategy: scenarios with one query of a class, for tests of what holds whatever maintains a view."""

from __future__ import annotations

from functools import partial

from hypothesis import strategies as st

from random_queries import queries
from random_relational import relational_queries
from scenario import Scenario
from strategies import scenarios


def random_scenarios(kind: str, errors: bool = False, max_commits: int = 3) -> st.SearchStrategy[Scenario]:
    """Scenarios with one query of a class, ``joins`` being plain joins."""
    made = queries if kind == "joins" else partial(relational_queries, classes=(kind,))
    sizes = (12, 16, 8, 24, 4)
    return scenarios(
        errors=errors, max_queries=1, max_commits=max_commits, queries=made, max_tables=3, max_columns=3, sizes=sizes
    )
