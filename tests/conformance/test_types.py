"""Every expression of the corpus has the type that Spark gives it, or is refused where Spark refuses it.

What differs is in `conformance.differences`, expression by expression with the reason, and so is how many expressions
the tree of scalars has no way to say; both lists are exact. CI looks at some expressions, ``make conformance`` at all.
"""

from __future__ import annotations

from collections import Counter

import pytest

from conformance import corpus, differences
from conformance.binding import bound
from livejoin.errors import SqlError
from livejoin.sql.scalars.bind import Unsaid


def _said(sql: str) -> str | Unsaid:
    """What livejoin says of an expression: its type as Spark writes it, REFUSED, or what it cannot say."""
    try:
        found = bound(sql)
    except SqlError:
        return differences.REFUSED
    return found if isinstance(found, Unsaid) else str(found.type).lower().replace(", ", ",")


def _sparks(case: corpus.Case) -> str:
    if case.refusal:
        return differences.REFUSED
    if case.type.startswith("interval "):  # whose fields are no part of its type here
        is_months = case.type.endswith(("year", "month"))
        return "interval year to month" if is_months else "interval day to second"
    return case.type


@pytest.mark.parametrize("group", corpus.groups())
def test_types_are_those_of_spark(group: str) -> None:
    found = {}
    unsaid: Counter[str] = Counter()
    for case in corpus.some():
        if case.group != group:
            continue
        said = _said(case.sql)
        if isinstance(said, Unsaid):
            unsaid[said.what] += 1
        elif said != _sparks(case):
            found[case.sql] = (_sparks(case), said)
    if corpus.EVERY == 1:
        assert found == differences.of(group)
        assert dict(unsaid) == differences.UNSAID[group]
    else:
        assert found.items() <= differences.of(group).items()
        assert unsaid <= Counter(differences.UNSAID[group])


def test_every_difference_is_one_of_the_corpus() -> None:
    known = {case.sql for case in corpus.cases()}
    listed = [sql for difference in differences.DIFFERENCES for sql in difference.expressions]
    assert len(listed) == len(set(listed))
    assert set(listed) <= known


def test_the_corpus_has_a_value_or_error_for_each_row() -> None:
    """The fixture is read whole: as many values as rows, and of the type's kind."""
    rows = corpus.rows().num_rows
    cases = corpus.cases()
    assert len(cases) > 5000
    for case in cases:
        assert case.values is None or len(case.values) == rows
