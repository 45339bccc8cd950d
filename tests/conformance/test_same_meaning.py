"""What DuckDB evaluates means there what it means in Spark, value by value; the functions of lists: `tests/spark`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from conformance import corpus
from conformance.binding import bound
from conformance.corpus import Case, Failure
from livejoin.errors import ExpressionError
from livejoin.query.expression import evaluate
from livejoin.schema import Table
from livejoin.sql.names.scope import Relation, Scope, resolve
from livejoin.sql.parse.parse import parse
from livejoin.sql.scalars.bind import Unsaid
from livejoin.sql.scalars.expression import RowType, bind_expression

TABLE = Table("corpus", corpus.columns())
ROW = RowType.of_table(TABLE.columns, TABLE.arrow)
MADE_OF = re.compile(r"\bmd5\(", re.IGNORECASE)


def cases() -> Iterator[tuple[Case, str]]:
    """The expressions of the corpus that DuckDB evaluates, with its texts."""
    for case in corpus.cases():
        if case.values is None or not MADE_OF.search(case.sql) or "||" in case.sql:
            continue
        tree, source = parse(f"SELECT {case.sql} FROM corpus")
        node = resolve(tree.expressions[0].unalias(), Scope.of(Relation(0, "corpus", TABLE)), source)
        try:
            expression, kind = bind_expression(node, ROW, source, 0)
        except Exception as error:
            assert not isinstance(error, AssertionError)
            continue
        if expression.scalar is None:
            assert case.sql_type is not None and kind == case.sql_type.arrow, case.sql
            yield case, expression.text


def test_values_are_those_of_spark() -> None:
    rows = corpus.rows()
    found = list(cases())
    names = {match.group().lower() for case, _ in found for match in MADE_OF.finditer(case.sql)}
    assert names == {"md5("}
    for case, text in found:
        assert case.values is not None
        for i, expected in enumerate(case.values):
            row = rows.slice(i, 1)
            if isinstance(expected, Failure):
                with pytest.raises(ExpressionError):
                    evaluate([text], row)
            else:
                assert evaluate([text], row)[0].to_pylist() == [expected], (case.sql, i)


def test_there_is_no_tree_for_them() -> None:
    """Else the list of what DuckDB evaluates would hold what it never gets."""
    found = list(cases())
    assert len(found) > 3
    assert all(isinstance(bound(case.sql), Unsaid) for case, _ in found)
