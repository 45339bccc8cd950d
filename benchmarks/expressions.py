"""Scalar expressions over words: ``python -m benchmarks.expressions`` prints what a row of a batch costs.

Each expression runs for 1, 10, 1,000 and 100,000 rows by a `Program` over words and by DuckDB over an Arrow table, in
one run, each the best of several calls. Every answer is checked against DuckDB's.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.figures import Figure, report, verify
from livejoin.query.expression import evaluate
from livejoin.query.scalar import Call, Constant, Field, Scalar
from livejoin.schema import Column, SqlType, Table
from livejoin.state.codec import Codec
from livejoin.state.evaluate import Program

ROWS = (1, 10, 1_000, 100_000)

_BOOLEAN, _BIGINT, _DOUBLE, _STRING = SqlType("boolean"), SqlType.integer(64), SqlType("double"), SqlType("string")
_PRICE, _DATE = SqlType.decimal(12, 2), SqlType("date")
_COLUMNS = (("a", _BIGINT), ("b", _BIGINT), ("x", _DOUBLE), ("p", _PRICE), ("d", _DATE), ("s", _STRING))
_TABLE = Table("T", tuple(Column(name, type) for name, type in _COLUMNS))
_A, _B, _X, _P, _D, _S = (Field(i, type) for i, (_, type) in enumerate(_COLUMNS))


@dataclass(frozen=True)
class Measured:
    """An expression, said in two ways.

    Args:
        sql: In DuckDB's SQL.
        scalar: As a tree.
    """

    sql: str
    scalar: Scalar


EXPRESSIONS = (
    Measured(
        "a > 50 AND b <> 3",
        Call(
            "and",
            (
                Call("greater", (_A, Constant(50, _BIGINT)), _BOOLEAN),
                Call("not_equal", (_B, Constant(3, _BIGINT)), _BOOLEAN),
            ),
            _BOOLEAN,
        ),
    ),
    Measured("a + b * 2", Call("add", (_A, Call("multiply", (_B, Constant(2, _BIGINT)), _BIGINT)), _BIGINT)),
    Measured("x * 1.5e0 + x", Call("add", (Call("multiply", (_X, Constant(1.5, _DOUBLE)), _DOUBLE), _X), _DOUBLE)),
    Measured("p * p", Call("multiply", (_P, _P), SqlType.decimal(24, 4))),
    Measured("CAST(year(d) AS INT)", Call("year", (_D,), SqlType.integer(32))),
    Measured("upper(s)", Call("upper", (_S,), _STRING)),
    Measured("s LIKE '%17%'", Call("like", (_S, Constant("%17%", _STRING)), _BOOLEAN)),
)


def rows_of(count: int) -> pa.Table:
    """Random rows; one string in ten is another one."""
    rng = np.random.default_rng(count)
    unscaled = np.stack([rng.integers(0, 10**9, count), np.zeros(count, np.int64)], axis=1)
    prices = pa.Array.from_buffers(_PRICE.arrow, count, [None, pa.py_buffer(unscaled)])
    texts = [f"name {i}" for i in rng.integers(0, max(1, count // 10), count)]
    days = pa.array(rng.integers(0, 20_000, count), pa.int32()).cast(pa.date32())
    numbers = [pa.array(rng.integers(0, 100, count)) for _ in range(2)]
    columns = [*numbers, pa.array(rng.random(count)), prices, days, pa.array(texts)]
    return pa.table(columns, names=[name for name, _ in _COLUMNS])


def measure(counts: Sequence[int] = ROWS) -> list[Figure]:
    """All figures, nanoseconds a row.

    Raises:
        WrongAnswerError: An answer is not DuckDB's.
    """
    codec = Codec()
    figures = []
    for expression in EXPRESSIONS:
        program = Program([expression.scalar], codec)
        for count in counts:
            figures.append(_figure(expression, program, codec, rows_of(count)))
    return figures


def _figure(expression: Measured, program: Program, codec: Codec, rows: pa.Table) -> Figure:
    words = codec.encode(rows, _TABLE)
    ours = codec.decode(program.run(words).words[0], expression.scalar.type).to_pylist()
    theirs = evaluate([expression.sql], rows)[0].to_pylist()
    check = verify(f"{expression.sql} of each row = DuckDB", ours, theirs)
    duckdb = _best(lambda: evaluate([expression.sql], rows))
    each = 1e9 / rows.num_rows
    name = f"{expression.sql}, {rows.num_rows:,} rows"
    return Figure(name, _best(lambda: program.run(words)) * each, "ns/row", check, duckdb * each, "DuckDB")


def _best(call: Callable[[], object]) -> float:
    """Seconds of the fastest of some calls, within a tenth of a second but three at least."""
    best, end = float("inf"), time.perf_counter() + 0.1
    calls = 0
    while calls < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        calls += 1
    return best


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.expressions", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS, help="rows of a batch (1 10 1000 100000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args(arguments)
    return report(lambda: measure(options.rows), "scalar expressions, one thread", 110, options.json, "expressions")


if __name__ == "__main__":
    sys.exit(main())
