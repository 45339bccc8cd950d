"""Every expression of the corpus has Spark's value for each row, or is an error where it is one in Spark.

What differs is in `conformance.value_differences`. Doubles of functions whose last digit the standards leave open are
compared to 15 digits. CI looks at some expressions, ``make conformance`` at all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance import corpus
from conformance.binding import bound
from conformance.corpus import Case, Failure
from conformance.value_differences import DIFFERENCES, ERROR
from livejoin.errors import SqlError
from livejoin.kernels.evaluate import layout as k
from livejoin.query.scalar import Call, Scalar
from livejoin.schema import SqlType, Table
from livejoin.sql.scalars.bind import Unsaid
from livejoin.state.codec import Codec
from livejoin.state.evaluate import Program
from livejoin.words import NULL_CODE, Words

INEXACT = {"exponential", "logarithm", "logarithm_10", "power", "cube_root", "sine"}


def bound_cases() -> Iterator[tuple[Case, Scalar]]:
    """The expressions with values that have a tree of Spark's type."""
    for case in corpus.some():
        if case.values is None:
            continue
        try:
            scalar = bound(case.sql)
        except SqlError:
            continue
        if not isinstance(scalar, Unsaid) and scalar.type == case.sql_type:
            yield case, scalar


def values_of(codec: Codec, type: SqlType, words: Words, statuses: Words) -> list[Any]:
    """The values of a line, with ERROR for errors."""
    if type.kind == "binary":
        there = codec.has_bytes(words)
        values: list[Any] = codec.decode(np.where(there, words, NULL_CODE), type).to_pylist()
    elif type.kind in ("string", "decimal"):
        values = codec.decode(words, type).to_pylist()
    elif type.kind == "double":
        values = words.view(np.float64).tolist()
    else:
        values = [bool(word) for word in words.tolist()] if type.kind == "boolean" else words.tolist()
    return [
        ERROR if status > k.NULL else (None if status == k.NULL else value)
        for value, status in zip(values, statuses.tolist(), strict=True)
    ]


def is_same(theirs: Any, ours: Any, inexact: bool) -> bool:
    if isinstance(theirs, Failure) or ours == ERROR:
        return isinstance(theirs, Failure) and ours == ERROR
    if isinstance(theirs, float) and isinstance(ours, float):
        if inexact and math.isclose(theirs, ours, rel_tol=1e-15 * 4):
            return True
        return theirs == ours or (math.isnan(theirs) and math.isnan(ours))
    return bool(theirs == ours) and (theirs is None) == (ours is None)


def is_inexact(scalar: Scalar) -> bool:
    return isinstance(scalar, Call) and (scalar.function in INEXACT or any(map(is_inexact, scalar.arguments)))


def differences(case: Case, rows: list[dict[str, Any]], ours: list[Any], inexact: bool) -> Iterator[str]:
    """The reasons for the values that differ, and of the first value that differs for none what it is."""
    assert case.values is not None
    for row, theirs, value in zip(rows, case.values, ours, strict=True):
        if is_same(theirs, value, inexact):
            continue
        reason = next((d.reason for d in DIFFERENCES if d.explains(case, row, theirs, value)), "")
        yield reason or f"{case.sql} for { ({name: row[name] for name in case.used}) }: {theirs}, and here {value}"
        if not reason:
            return


def test_values_are_those_of_spark() -> None:
    codec = Codec()
    words = codec.encode(corpus.rows(), Table("corpus", corpus.columns()))
    names = corpus.rows().column_names
    rows = [dict(zip(names, row, strict=True)) for row in zip(*map(_values, names), strict=True)]
    found: Counter[str] = Counter()
    evaluated = 0
    for case, scalar in bound_cases():
        values = Program([scalar], codec).run(words)
        ours = values_of(codec, scalar.type, values.words[0], values.statuses[0])
        found.update(set(differences(case, rows, ours, is_inexact(scalar))))
        evaluated += 1
    expected = {d.reason: d.expressions for d in DIFFERENCES}
    if corpus.EVERY == 1:
        assert dict(found) == expected
    else:
        assert set(found) <= set(expected)
    assert evaluated > 7_500 // corpus.EVERY


def _values(name: str) -> list[Any]:
    """The values of a column, times by their numbers."""
    column = corpus.rows().column(name)
    kind = str(column.type)
    if kind.startswith(("date", "timestamp")):
        column = column.cast("int32" if kind.startswith("date") else "int64")
    values: list[Any] = column.to_pylist()
    return values
