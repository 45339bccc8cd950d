"""What `livejoin.query.total` says cannot fail fails for no value of the machine, and for none in Spark."""

from __future__ import annotations

from conformance import corpus
from conformance.binding import bound
from conformance.corpus import Failure
from livejoin.errors import SqlError
from livejoin.query.scalar import Call, Scalar
from livejoin.query.total import is_total
from livejoin.sql.scalars.bind import Unsaid
from livejoin.state.evaluate.compile import _call
from livejoin.state.evaluate.compiler import Compiler

# Those whose types tell, where the machine looks at values; `concatenate` fails for strings beyond 64 MiB alone.
BY_TYPES = {
    "like",
    "like_any_case",
    "try_add",
    "try_subtract",
    "try_multiply",
    "try_divide",
    "try_remainder",
    "try_cast",
    "add",
    "subtract",
    "multiply",
    "negate",
    "absolute",
    "cast",
    "concatenate",
}


def _functions(scalar: Scalar) -> set[str]:
    if not isinstance(scalar, Call):
        return set()
    return {scalar.function}.union(*map(_functions, scalar.arguments))


def test_what_is_total_does_not_fail() -> None:
    seen = 0
    for case in corpus.some():
        try:
            scalar = bound(case.sql)
        except SqlError:
            continue
        if isinstance(scalar, Unsaid) or not is_total(scalar):
            continue
        if not _functions(scalar) & BY_TYPES:
            assert not Compiler(_call).value(scalar).fails, case.sql
        assert not any(isinstance(value, Failure) for value in case.values or ()), case.sql
        seen += 1
    assert seen > 100
